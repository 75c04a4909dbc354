#include "tests/conformance/batch_decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace gx::testing {
namespace {

using namespace gx::inject;
namespace v1 = gpuexec::v1;

using Unsigned = google::protobuf::RepeatedField<uint64_t>;
using Signed = google::protobuf::RepeatedField<int64_t>;

// Plain columns: none is zero for all, one is the same for all, else one a record.
uint64_t At(const Unsigned& column, uint64_t count, uint64_t i) {
  if (column.empty()) return 0;
  if (column.size() == 1) return column[0];
  EXPECT_EQ(static_cast<uint64_t>(column.size()), count);
  return static_cast<uint64_t>(column.size()) == count ? column[static_cast<int>(i)] : 0;
}

// Columns of differences: none, or one a record.
template <typename Column>
uint64_t DeltaAt(const Column& column, uint64_t count, uint64_t i) {
  if (column.empty()) return 0;
  EXPECT_EQ(static_cast<uint64_t>(column.size()), count);
  return static_cast<uint64_t>(column.size()) == count ? static_cast<uint64_t>(column[static_cast<int>(i)]) : 0;
}

}  // namespace

std::vector<LaunchRecord> Decode(const v1::LaunchBatch& batch) {
  std::vector<LaunchRecord> records;
  uint64_t enter_ns = batch.base_enter_monotonic_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < batch.count(); ++i) {
    const uint64_t before_ns = enter_ns;
    enter_ns += DeltaAt(batch.enter_delta(), batch.count(), i) * batch.enter_unit_ns();
    EXPECT_GE(enter_ns, before_ns) << "a difference without sign went round";
    correlation_id += DeltaAt(batch.correlation_delta(), batch.count(), i);
    records.push_back({.thread_id = batch.thread_id(),
                       .window_id = batch.window_id(),
                       .enter_monotonic_ns = enter_ns,
                       .correlation_id = correlation_id,
                       .track_iid = At(batch.track_iid(), batch.count(), i),
                       .signature_iid = At(batch.signature_iid(), batch.count(), i),
                       .graph_exec_id = At(batch.graph_exec_id(), batch.count(), i),
                       .result = At(batch.result(), batch.count(), i)});
  }
  return records;
}

std::vector<KernelRecord> Decode(const v1::KernelBatch& batch) {
  std::vector<KernelRecord> records;
  const bool has_start = batch.timing() != v1::KernelBatch::TIMING_MISSING;
  const bool has_end = has_start && batch.timing() != v1::KernelBatch::TIMING_UNFINISHED;
  if (!has_start) {
    EXPECT_EQ(batch.base_start_ns(), 0u);
    EXPECT_EQ(batch.start_delta_size(), 0);
  }
  if (!has_end) {
    EXPECT_EQ(batch.duration_delta_size(), 0);
  }
  uint64_t before_ns = batch.base_start_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  uint64_t graph_node_id = 0;
  std::map<uint64_t, uint64_t> last_duration;  // attributes -> steps
  for (uint64_t i = 0; i < batch.count(); ++i) {
    const uint64_t attributes_iid = At(batch.attributes_iid(), batch.count(), i);
    last_duration[attributes_iid] += DeltaAt(batch.duration_delta(), batch.count(), i);
    const uint64_t start_ns = before_ns + DeltaAt(batch.start_delta(), batch.count(), i) * batch.start_unit_ns();
    const uint64_t duration_ns = last_duration[attributes_iid] * batch.duration_unit_ns();
    const uint64_t end_ns =
        batch.timing() == v1::KernelBatch::TIMING_INVALID ? start_ns - duration_ns : start_ns + duration_ns;
    before_ns = has_end ? end_ns : start_ns;
    correlation_id += DeltaAt(batch.correlation_delta(), batch.count(), i);
    graph_node_id += DeltaAt(batch.graph_node_delta(), batch.count(), i);
    records.push_back({.start_ns = has_start ? start_ns : 0,
                       .end_ns = has_end ? end_ns : 0,
                       .correlation_id = correlation_id,
                       .track_iid = At(batch.track_iid(), batch.count(), i),
                       .attributes_iid = attributes_iid,
                       .graph_id = At(batch.graph_id(), batch.count(), i),
                       .graph_node_id = graph_node_id});
  }
  return records;
}

std::vector<MemoryRecord> Decode(const v1::MemoryBatch& batch) {
  std::vector<MemoryRecord> records;
  uint64_t before_ns = batch.base_start_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  uint64_t graph_node_id = 0;
  const uint64_t count = batch.count();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t start_ns = before_ns + DeltaAt(batch.start_delta(), count, i) * batch.start_unit_ns();
    before_ns = start_ns + At(batch.duration(), count, i) * batch.duration_unit_ns();
    correlation_id += DeltaAt(batch.correlation_delta(), count, i);
    graph_node_id += DeltaAt(batch.graph_node_delta(), count, i);
    records.push_back({.kind = static_cast<MemoryKind>(batch.kind()),
                       .start_ns = start_ns,
                       .end_ns = before_ns,
                       .correlation_id = correlation_id,
                       .track_iid = At(batch.track_iid(), count, i),
                       .size_bytes = At(batch.size_bytes(), count, i),
                       .copy_kind = At(batch.copy_kind(), count, i),
                       .source_memory_kind = At(batch.source_memory_kind(), count, i),
                       .destination_memory_kind = At(batch.destination_memory_kind(), count, i),
                       .source_device_id = At(batch.source_device_id(), count, i),
                       .destination_device_id = At(batch.destination_device_id(), count, i),
                       .graph_id = At(batch.graph_id(), count, i),
                       .graph_node_id = graph_node_id});
  }
  return records;
}

std::vector<SynchronizationRecord> Decode(const v1::SynchronizationBatch& batch) {
  std::vector<SynchronizationRecord> records;
  uint64_t start_ns = batch.base_start_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < batch.count(); ++i) {
    start_ns += DeltaAt(batch.start_delta_ns(), batch.count(), i);
    correlation_id += DeltaAt(batch.correlation_delta(), batch.count(), i);
    records.push_back({.start_ns = start_ns,
                       .end_ns = start_ns + At(batch.duration_ns(), batch.count(), i),
                       .correlation_id = correlation_id,
                       .type = At(batch.type(), batch.count(), i),
                       .track_iid = At(batch.track_iid(), batch.count(), i)});
  }
  return records;
}

std::vector<OverheadRecord> Decode(const v1::OverheadBatch& batch) {
  std::vector<OverheadRecord> records;
  uint64_t start_ns = batch.base_start_ns();
  for (uint64_t i = 0; i < batch.count(); ++i) {
    start_ns += DeltaAt(batch.start_delta_ns(), batch.count(), i);
    records.push_back({.start_ns = start_ns,
                       .end_ns = start_ns + At(batch.duration_ns(), batch.count(), i),
                       .kind = At(batch.kind(), batch.count(), i),
                       .thread_id = At(batch.thread_id(), batch.count(), i)});
  }
  return records;
}

std::vector<ApiCallRecord> Decode(const v1::ApiCallBatch& batch) {
  std::vector<ApiCallRecord> records;
  uint64_t start_ns = batch.base_start_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < batch.count(); ++i) {
    start_ns += DeltaAt(batch.start_delta_ns(), batch.count(), i);
    correlation_id += DeltaAt(batch.correlation_delta(), batch.count(), i);
    records.push_back({.thread_id = batch.thread_id(),
                       .start_ns = start_ns,
                       .end_ns = start_ns + At(batch.duration_ns(), batch.count(), i),
                       .correlation_id = correlation_id,
                       .function_iid = At(batch.function_iid(), batch.count(), i),
                       .result = At(batch.result(), batch.count(), i)});
  }
  return records;
}

std::vector<NvtxEventRecord> Decode(const v1::NvtxEventBatch& batch) {
  std::vector<NvtxEventRecord> records;
  uint64_t monotonic_ns = batch.base_monotonic_ns();
  for (uint64_t i = 0; i < batch.count(); ++i) {
    const uint64_t before_ns = monotonic_ns;
    monotonic_ns += DeltaAt(batch.time_delta(), batch.count(), i) * batch.time_unit_ns();
    EXPECT_GE(monotonic_ns, before_ns) << "a difference without sign went round";
    records.push_back({.thread_id = batch.thread_id(),
                       .kind = static_cast<NvtxKind>(At(batch.kind(), batch.count(), i)),
                       .monotonic_ns = monotonic_ns,
                       .domain_iid = At(batch.domain_iid(), batch.count(), i),
                       .name_iid = At(batch.name_iid(), batch.count(), i),
                       .range_id = At(batch.range_id(), batch.count(), i),
                       .payload_iid = At(batch.payload_iid(), batch.count(), i)});
  }
  return records;
}

std::vector<CounterSampleRecord> Decode(const v1::CounterBatch& batch) {
  std::vector<CounterSampleRecord> records;
  const uint64_t count = batch.count();
  const uint64_t metric_count = batch.metric_count();
  const std::set<uint64_t> real(batch.real_metric().begin(), batch.real_metric().end());
  EXPECT_EQ(real.size(), static_cast<size_t>(batch.real_metric_size())) << "ascending";
  EXPECT_EQ(static_cast<uint64_t>(batch.real_value_size()), count * real.size());
  EXPECT_EQ(static_cast<uint64_t>(batch.integer_value_size()), count * (metric_count - real.size()));
  if (::testing::Test::HasFailure()) return records;
  uint64_t enter_ns = batch.base_enter_monotonic_ns();
  uint64_t correlation_id = batch.base_correlation_id();
  uint64_t range_order = batch.base_range_order();
  int next_integer = 0;
  int next_real = 0;
  std::map<std::pair<uint64_t, uint64_t>, size_t> last;
  for (uint64_t i = 0; i < count; ++i) {
    enter_ns += DeltaAt(batch.enter_delta(), count, i) * (batch.enter_unit_ns() == 0 ? 1 : batch.enter_unit_ns());
    correlation_id += DeltaAt(batch.correlation_delta(), count, i);
    range_order += DeltaAt(batch.range_order_delta(), count, i);
    CounterSampleRecord record{.group_iid = batch.group_iid(),
                               .session_id = batch.session_id(),
                               .window_id = batch.window_id(),
                               .context_id = batch.context_id(),
                               .thread_id = At(batch.thread_id(), count, i),
                               .enter_monotonic_ns = enter_ns,
                               .correlation_id = correlation_id,
                               .signature_iid = At(batch.signature_iid(), count, i),
                               .graph_exec_id = At(batch.graph_exec_id(), count, i),
                               .range_order = range_order,
                               .launch_number = At(batch.launch_number(), count, i),
                               .flags = At(batch.flags(), count, i),
                               .values = {}};
    const std::pair key(record.signature_iid, record.graph_exec_id);
    const CounterSampleRecord* reference = nullptr;
    if (const auto found = last.find(key); found != last.end()) {
      reference = &records[found->second];
    } else if (!records.empty()) {
      reference = &records.back();
    }
    for (uint64_t metric = 0; metric < metric_count; ++metric) {
      if (real.count(metric) > 0) {
        record.values.push_back(batch.real_value(next_real++));
      } else {
        // In whole numbers: a difference may be beyond 2^53.
        const int64_t base = reference == nullptr ? 0 : static_cast<int64_t>(reference->values[metric]);
        record.values.push_back(static_cast<double>(base + batch.integer_value(next_integer++)));
      }
    }
    last[key] = records.size();
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace gx::testing
