// CUPTI activity records -> plain structs. The only code that knows the layouts of CUPTI's records; the layout is
// chosen by the CUPTI that is loaded, not by the headers of the build. Runs on the writer thread.
//
// Records only ever grow at their end, so a newer CUPTI's record is read through the newest layout known here, and the
// walk from record to record is CUPTI's own (cuptiActivityGetNextRecord), never a sizeof.
#ifndef GPUEXEC_INJECT_ACTIVITY_DECODER_H_
#define GPUEXEC_INJECT_ACTIVITY_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "inject/cupti_api.h"
#include "inject/record.h"

namespace gx::inject {

// What a kernel record says of the launch, as one block of bytes without padding, so that equal values are equal bytes.
struct KernelLaunchValues {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t cluster[3];
  uint32_t registers_per_thread;
  uint32_t static_shared_memory_bytes;
  uint32_t dynamic_shared_memory_bytes;
  uint32_t shared_memory_executed_bytes;
  uint32_t carveout_requested;  // Per cent + 1; 0: none was requested.
  uint32_t cache_config_requested;
  uint32_t cache_config_executed;
  uint32_t local_memory_per_thread_bytes;
  uint32_t launch_type;
  uint32_t channel_type;
  uint32_t device_launched;
  uint32_t max_potential_cluster_size;
  uint32_t max_active_clusters;
  uint32_t shared_memory_limit_config;
  uint32_t reserved;
  uint64_t local_memory_total_bytes;
};
static_assert(sizeof(KernelLaunchValues) == 24 * 4 + 8);

struct KernelActivity {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t correlation_id = 0;
  uint32_t device_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = 0;
  uint32_t graph_id = 0;
  uint64_t graph_node_id = 0;
  const char* name = nullptr;
  KernelLaunchValues values{};
};

struct MemoryActivity {
  MemoryRecord record;  // track_iid not set.
  uint32_t device_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = 0;
};

class ActivityVisitor {
 public:
  virtual ~ActivityVisitor() = default;
  virtual void OnKernel(const KernelActivity& kernel) = 0;
  virtual void OnMemory(const MemoryActivity& memory) = 0;
  virtual void OnOverhead(const OverheadRecord& overhead) = 0;
  // The record's function_iid is not set: `domain` and `cbid` say what was called.
  virtual void OnApiCall(ApiDomain domain, uint32_t cbid, const ApiCallRecord& call) = 0;
  virtual void OnUnknown(uint32_t kind) = 0;
};

class ActivityDecoder {
 public:
  explicit ActivityDecoder(const CuptiApi* cupti)
      : cupti_(cupti), kernel_version_(KernelRecordVersion(cupti->version)) {}

  // Visits every record of a completed buffer, in buffer order. Returns false where the walk ended with an error other
  // than the end of the buffer, or led backwards or to a record that does not lie whole in the buffer.
  bool Decode(uint8_t* buffer, size_t valid_bytes, ActivityVisitor* visitor) const;

  // How many records the buffer holds.
  size_t Count(uint8_t* buffer, size_t valid_bytes) const noexcept;

 private:
  // A step of CUPTI's walk. CUPTI_ERROR_UNKNOWN: it led to a record that cannot be read.
  CUptiResult Next(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) const noexcept;

  const CuptiApi* cupti_;
  uint32_t kernel_version_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_ACTIVITY_DECODER_H_
