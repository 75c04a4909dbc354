// A synthetic stream shaped like eager PyTorch: one host thread, one stream, about 600 kernels a step, launches 4 to 8
// us apart, some ten correlation ids a launch at most, 30 signatures, durations in steps of 32 ns. Deterministic.
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

  // `start_step_ns`: granularity of kernel starts (32 as durations, or 1).
  explicit EagerStream(uint64_t start_step_ns) : start_step_ns_(start_step_ns) {}

  Step Next() {
    Step step;
    host_ns_ += 4'000 + Below(4'000);
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
    const uint64_t start_ns = (earliest_ns + Below(1'000)) / start_step_ns_ * start_step_ns_;
    const uint64_t end_ns = start_ns + 32 * (40 + 13 * signature + Below(20));
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
  uint64_t start_step_ns_;
  uint64_t host_ns_ = 5'000'000'000'000;
  uint64_t device_ns_ = 0;
  uint64_t correlation_id_ = 1'000'000;
  uint64_t index_ = 0;
};

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_EAGER_STREAM_H_
