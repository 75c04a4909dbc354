// Any bytes as a buffer of activity records, with a walk that knows the sizes and with one that lies: nothing is read
// behind the buffer, every record of a sound walk is visited, and every walk ends.
//
// The input: a byte that picks CUPTI's version and the walk, then the buffer; of a lying walk, first 8 steps of a byte,
// in units of the records' alignment.
#include <cupti.h>
#include <cupti_activity_deprecated.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "inject/activity_decoder.h"
#include "tests/fuzz/require.h"

namespace {

using gx::inject::ActivityDecoder;
using gx::inject::ActivityVisitor;
using gx::inject::CuptiApi;

constexpr uint32_t kVersions[] = {26, 130000, 139900};  // 12.8, 13.0 and one to come.
constexpr size_t kStepCount = 8;
constexpr ptrdiff_t kStepBytes = 8;
// A lying walk goes on for as long as it is let.
constexpr size_t kMaxSteps = 100000;

struct Walk {
  bool lies = false;
  bool old_layouts = false;
  int8_t steps[kStepCount] = {};
  size_t step_count = 0;
};
Walk g_walk;

size_t RecordBytes(uint32_t kind) {
  const bool old = g_walk.old_layouts;
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return old ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return old ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    default:
      return 16;
  }
}

uint32_t KindAt(const uint8_t* at) {
  uint32_t kind = 0;
  std::memcpy(&kind, at, sizeof(kind));
  return kind;
}

CUptiResult CUPTIAPI NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  auto* const last = reinterpret_cast<uint8_t*>(*record);
  if (g_walk.lies) {
    GX_FUZZ_REQUIRE(g_walk.step_count < kMaxSteps);
    // An address is made of a number: it need not lie in the buffer.
    const auto from = reinterpret_cast<uintptr_t>(last == nullptr ? buffer : last);
    const ptrdiff_t step = g_walk.steps[g_walk.step_count++ % kStepCount] * kStepBytes;
    *record = reinterpret_cast<CUpti_Activity*>(from + static_cast<uintptr_t>(step));
    return CUPTI_SUCCESS;
  }
  const size_t at = last == nullptr ? 0 : static_cast<size_t>(last - buffer) + RecordBytes(KindAt(last));
  if (valid_bytes - at < sizeof(uint32_t) || valid_bytes - at < RecordBytes(KindAt(buffer + at))) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}

// Uses what it is given, so that nothing is left unread.
class Visitor : public ActivityVisitor {
 public:
  void OnKernel(const gx::inject::KernelActivity& kernel) override {
    Add(kernel.end_ns - kernel.start_ns + kernel.graph_node_id + kernel.correlation_id);
    GX_FUZZ_REQUIRE(kernel.values.reserved == 0);
    GX_FUZZ_REQUIRE(!g_walk.old_layouts || kernel.values.device_launched == 0);
  }
  void OnMemory(const gx::inject::MemoryActivity& memory) override {
    Add(memory.record.size_bytes + memory.record.graph_node_id + memory.stream_id);
  }
  void OnOverhead(const gx::inject::OverheadRecord& overhead) override { Add(overhead.kind + overhead.thread_id); }
  void OnApiCall(gx::inject::ApiDomain domain, uint32_t cbid, const gx::inject::ApiCallRecord& call) override {
    Add(static_cast<uint32_t>(domain) + cbid + call.end_ns - call.start_ns + call.result + call.correlation_id);
  }
  void OnUnknown(uint32_t kind) override { Add(kind); }

  size_t count() const { return count_; }

 private:
  void Add(uint64_t value) {
    sum_ = sum_ + value;
    ++count_;
  }

  size_t count_ = 0;
  volatile uint64_t sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = *data++;
  --size;
  g_walk = {};
  CuptiApi cupti;
  cupti.version = kVersions[(choice >> 1) % 3];
  cupti.cuptiActivityGetNextRecord = NextRecord;
  g_walk.old_layouts = cupti.version < 130000;
  g_walk.lies = (choice & 1) != 0;
  if (g_walk.lies) {
    if (size < kStepCount) return 0;
    std::memcpy(g_walk.steps, data, kStepCount);
    data += kStepCount;
    size -= kStepCount;
  }
  // Of the exact size: what is behind it is not ours.
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[size]);
  if (size != 0) std::memcpy(buffer.get(), data, size);
  const ActivityDecoder decoder(&cupti);
  Visitor visitor;
  const bool complete = decoder.Decode(buffer.get(), size, &visitor);
  GX_FUZZ_REQUIRE(complete || g_walk.lies);
  g_walk.step_count = 0;
  GX_FUZZ_REQUIRE(decoder.Count(buffer.get(), size) == visitor.count());
  return 0;
}
