// Synthetic streams shaped like eager PyTorch: one host thread, one stream, 30 signatures, some ten correlation ids a
// launch at most. Deterministic.
#ifndef GPUEXEC_TESTS_SUPPORT_EAGER_STREAM_H_
#define GPUEXEC_TESTS_SUPPORT_EAGER_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "inject/record.h"

namespace gx::testing {

class EagerStream {
 public:
  struct Step {
    inject::LaunchRecord launch;
    inject::KernelRecord kernel;
  };

  struct Shape {
    // Granularity of kernel starts and durations.
    uint64_t start_step_ns;
    uint64_t duration_step_ns;
    // Launches are this far apart, and up to as much again.
    uint64_t launch_distance_ns;
  };
  // A fast host: launches 4 to 8 us apart, the device never idle for long.
  static constexpr Shape kBusy = {.start_step_ns = 1, .duration_step_ns = 32, .launch_distance_ns = 4'000};
  static constexpr Shape kBusyCoarseClock = {.start_step_ns = 32, .duration_step_ns = 32, .launch_distance_ns = 4'000};
  // A host that Python holds up, with the figures of a loop measured on an H200: launches 70 us apart on average,
  // kernels of some microseconds, all times in steps of 1 ns.
  static constexpr Shape kHeldUp = {.start_step_ns = 1, .duration_step_ns = 1, .launch_distance_ns = 47'000};

  explicit EagerStream(const Shape& shape) : shape_(shape) {}

  Step Next() {
    Step step;
    host_ns_ += shape_.launch_distance_ns + Below(shape_.launch_distance_ns);
    correlation_id_ += 1 + Below(10);
    const uint64_t signature = 1 + index_++ % 30;
    step.launch = {.thread_id = 4242,
                   .window_id = 1,
                   .enter_monotonic_ns = host_ns_,
                   .correlation_id = correlation_id_,
                   .track_iid = 1,
                   .signature_iid = signature,
                   .graph_exec_id = 0,
                   .result = 0};
    const uint64_t earliest_ns = std::max(device_ns_, host_ns_ + kClockDistanceNs + 2'500);
    const uint64_t start_ns = (earliest_ns + Below(1'000)) / shape_.start_step_ns * shape_.start_step_ns;
    const uint64_t duration_ns = 32 * (40 + 13 * signature + Below(20)) + Below(32);
    const uint64_t end_ns = start_ns + duration_ns / shape_.duration_step_ns * shape_.duration_step_ns;
    step.kernel = {.start_ns = start_ns,
                   .end_ns = end_ns,
                   .correlation_id = correlation_id_,
                   .track_iid = 1,
                   .attributes_iid = signature,
                   .graph_id = 0,
                   .graph_node_id = 0};
    device_ns_ = end_ns;
    return step;
  }

 private:
  static constexpr uint64_t kClockDistanceNs = 1'700'000'000'000'000'000;

  uint64_t Below(uint64_t limit) { return random_() % limit; }

  std::mt19937_64 random_{20};
  Shape shape_;
  uint64_t host_ns_ = 5'000'000'000'000;
  uint64_t device_ns_ = 0;
  uint64_t correlation_id_ = 1'000'000;
  uint64_t index_ = 0;
};

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_EAGER_STREAM_H_
