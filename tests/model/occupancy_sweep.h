// What gx-occupancy-sweep (tests/gpu) printed on a device, and the exact occupancy model's answer to each line of it.
#ifndef GPUEXEC_TESTS_MODEL_OCCUPANCY_SWEEP_H_
#define GPUEXEC_TESTS_MODEL_OCCUPANCY_SWEEP_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {

// One configuration and the runtime's answer (cudaOccupancyMaxActiveBlocksPerMultiprocessor).
struct SweepPoint {
  std::string kernel;
  int64_t registers_per_thread_count = 0;
  int64_t static_shared_memory_bytes = 0;
  int64_t kernel_max_threads_count = 0;
  int64_t barriers_count = 0;
  int64_t max_dynamic_shared_memory_bytes = 0;
  int64_t carveout_percent = -1;
  int64_t dynamic_shared_memory_bytes = 0;
  int64_t threads_per_block_count = 0;
  // Absent: the runtime returned an error, whose name is `error`.
  std::optional<int64_t> blocks_per_sm_count;
  std::string error;
  int64_t line = 0;
};

// cudaOccupancyMaxActiveClusters.
struct ClusterPoint {
  std::string kernel;
  int64_t registers_per_thread_count = 0;
  int64_t static_shared_memory_bytes = 0;
  int64_t dynamic_shared_memory_bytes = 0;
  int64_t threads_per_block_count = 0;
  int64_t blocks_per_cluster_count = 0;
  int64_t blocks_per_sm_count = 0;
  std::optional<int64_t> active_clusters_count;
  std::string error;
  int64_t line = 0;
};

struct Sweep {
  std::string device;
  int64_t driver_version = 0;
  int64_t runtime_version = 0;
  int64_t sm_count = 0;
  // The table's row with the device's own values in it.
  SmLimits limits;
  std::vector<SweepPoint> points;
  std::vector<ClusterPoint> clusters;
};

[[nodiscard]] absl::StatusOr<Sweep> ReadSweep(std::istream& in);

// Why the two answers differ: "line 12: registers_60: 256 threads ...: runtime 3, model 4 (registers)". Absent: they
// agree. Like the runtime, the model does not look at the kernel's own launch bound (kernel_max_threads_count), above
// which a launch is refused whatever the occupancy.
[[nodiscard]] std::optional<std::string> Difference(const Sweep& sweep, const SweepPoint& point);
[[nodiscard]] std::optional<std::string> Difference(const Sweep& sweep, const ClusterPoint& point);

}  // namespace gx::model

#endif  // GPUEXEC_TESTS_MODEL_OCCUPANCY_SWEEP_H_
