// Any packet's batches: every claimed record is either visited or counted as lost, in bounded work.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "analysis/columns.h"
#include "analysis/frame_walk.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"
#include "tests/fuzz/require.h"

namespace {

using gx::analysis::DecodedBatch;

// `visited` is a reference: it is counted while `decoded` is made. `size_bytes` is the packet's: no record without a
// byte for it, but for the few of a batch of constants.
void Check(const DecodedBatch& decoded, uint64_t claimed, const uint64_t& visited, uint64_t size_bytes) {
  GX_FUZZ_REQUIRE(decoded.record_count == visited);
  GX_FUZZ_REQUIRE(visited <= std::max(size_bytes, gx::analysis::kMaxConstantRecords));
  GX_FUZZ_REQUIRE(decoded.problem.ok() == (decoded.lost_count == 0));
  // A refused batch may hold more values than it claims records.
  GX_FUZZ_REQUIRE(decoded.record_count + decoded.lost_count >= claimed);
  if (decoded.problem.ok()) GX_FUZZ_REQUIRE(decoded.record_count == claimed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // As the reader does before it parses.
  const auto field_count = gx::analysis::CountFields(bytes, gx::analysis::TraceReader::kMaxPacketFields);
  if (!field_count.has_value() || *field_count > gx::analysis::TraceReader::kMaxPacketFields) return 0;
  gpuexec::v1::Packet packet;
  if (!packet.ParseFromArray(data, static_cast<int>(size))) return 0;
  uint64_t visited = 0;
  const auto count = [&visited](const auto&) { ++visited; };
  for (const auto& batch : packet.launch_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachLaunch(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.kernel_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachKernel(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.memory_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachMemory(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.synchronization_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachSynchronization(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.overhead_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachOverhead(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.api_call_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachApiCall(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.nvtx_event_batch()) {
    visited = 0;
    Check(gx::analysis::ForEachNvtxEvent(batch, count), batch.count(), visited, size);
  }
  for (const auto& batch : packet.counter_batch()) {
    visited = 0;
    const auto check_values = [&](const gx::analysis::CounterSampleRow& row) {
      ++visited;
      GX_FUZZ_REQUIRE(row.values.size() == batch.metric_count());
      GX_FUZZ_REQUIRE(row.values.size() <= gx::analysis::kMaxCounterMetrics);
    };
    Check(gx::analysis::ForEachCounterSample(batch, check_values), batch.count(), visited, size);
  }
  for (const auto& summary : packet.kernel_summary()) {
    visited = 0;
    const auto claimed = static_cast<uint64_t>(std::max(summary.bucket_size(), summary.bucket_count_size()));
    Check(gx::analysis::ForEachDurationBucket(summary, count), claimed, visited, size);
  }
  return 0;
}
