// The fake CUPTI's host objects and the configuration images made of them, as the range profiler sees them.
// [MT] One registry per process.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_PROFILER_HOST_H_
#define GPUEXEC_TESTS_FAKES_FAKE_PROFILER_HOST_H_

#include <cupti_profiler_host.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/fake_metrics.h"

namespace gx::fakes {

// What a configuration image asks for. Images name their configuration; it lives for ever.
struct CounterSetup {
  uint64_t host_id = 0;  // The host object that made it.
  std::vector<std::string> metrics;
  std::vector<size_t> passes;  // The pass of each metric.
  size_t pass_count = 0;
  bool has_sass = false;
  size_t sass_pass = 0;
};

// Null: no image of ours.
std::shared_ptr<const CounterSetup> ReadConfigImage(const uint8_t* image, size_t image_bytes);

// Whether the image is what cuptiProfilerGetCounterAvailability gave.
inline constexpr char kAvailabilityImage[] = "fake counter availability";

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_PROFILER_HOST_H_
