#include "kernels/pairs/pair_run.h"

#include <cmath>
#include <string>

namespace gx::kernels {

bool ExpectOnPaper(CaseRun& run, const std::optional<Expectation>& paper, std::string_view sizes) {
  if (!paper.has_value()) {
    run.Fail("--size must be " + std::string(sizes) + ", got " + std::to_string(run.size()));
    return false;
  }
  run.Expect(*paper);
  return true;
}

bool WaitForLaunches(CaseRun& run, uint64_t r) {
  return (r + 1) % kLaunchesAhead != 0 || run.Ok(cudaDeviceSynchronize(), "waiting for the launches queued");
}

void CheckFloats(CaseRun& run, std::string_view what, const std::vector<float>& got,
                 const std::function<double(uint64_t)>& reference, double tolerance) {
  run.CheckValues(
      what, (got.size() + kCheckedEvery - 1) / kCheckedEvery,
      [&](uint64_t i) { return double{got[i * kCheckedEvery]}; },
      [&](uint64_t i) { return reference(i * kCheckedEvery); }, tolerance);
  uint64_t unwritten = 0;
  for (const float value : got) unwritten += std::isnan(value) ? 1 : 0;
  run.CheckEqual(std::string(what) + ": values that nobody wrote", unwritten, 0);
}

void CheckWords(CaseRun& run, std::string_view what, const std::vector<uint32_t>& got,
                const std::function<uint32_t(uint64_t)>& reference) {
  run.CheckValues(
      what, got.size(), [&](uint64_t i) { return double{static_cast<double>(got[i])}; },
      [&](uint64_t i) { return static_cast<double>(reference(i)); }, 0);
}

float RandomSmallFloat(uint64_t seed, uint64_t index) {
  return (static_cast<float>(RandomBits(seed, index) >> 24) - 128.0f) / 128.0f;
}

}  // namespace gx::kernels
