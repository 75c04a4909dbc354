// What the cases of pairs/ have in common: stating the answer on paper, launching, and checking large outputs.
#ifndef GPUEXEC_KERNELS_PAIRS_PAIR_RUN_H_
#define GPUEXEC_KERNELS_PAIRS_PAIR_RUN_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/kernel_case.h"

namespace gx::kernels {

// Of large outputs every so many values are compared: a reference on one core would take longer than the kernels.
// Prime, so that every lane, warp and position in a tile has its turn.
inline constexpr uint64_t kCheckedEvery = 61;

// For what is known of a launch's counts: 32 neighbouring floats are four sectors of 32 bytes.
inline constexpr uint64_t kWarpThreads = 32;
inline constexpr uint64_t kSectorBytes = 32;
inline constexpr uint64_t kWarpSectors = kWarpThreads * sizeof(float) / kSectorBytes;

// States the answer on paper. Where there is none, that is a failure that names the sizes which the case takes.
[[nodiscard]] bool ExpectOnPaper(CaseRun& run, const std::optional<Expectation>& paper, std::string_view sizes);

// Launches that a case queues before it waits for the device. Without a limit the driver queues about a thousand, half
// a second of these kernels: counters wait for an idle device, and give up on that.
inline constexpr uint64_t kLaunchesAhead = 16;

// After launch `r`, from 0: waits for the device where it is the last of kLaunchesAhead.
[[nodiscard]] bool WaitForLaunches(CaseRun& run, uint64_t r);

// run.repeat() launches on the default stream.
template <typename... Params, typename... Args>
[[nodiscard]] bool LaunchRepeatedly(CaseRun& run, void (*kernel)(Params...), const LaunchShape& shape, Args... args) {
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    if (!run.Launch(kernel, shape, nullptr, args...) || !WaitForLaunches(run, r)) return false;
  }
  return true;
}

// Compares every kCheckedEvery-th value with a reference in double precision, and fails on a NaN anywhere: a value that
// nobody wrote.
void CheckFloats(CaseRun& run, std::string_view what, const std::vector<float>& got,
                 const std::function<double(uint64_t)>& reference, double tolerance);

// Compares every value, exactly.
void CheckWords(CaseRun& run, std::string_view what, const std::vector<uint32_t>& got,
                const std::function<uint32_t(uint64_t)>& reference);

// A whole number of 128ths in [-1, 1): exact in bfloat16, and products and their sums are exact in float up to 2^10, in
// any order. Value i of sequence `seed`.
float RandomSmallFloat(uint64_t seed, uint64_t index);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_PAIRS_PAIR_RUN_H_
