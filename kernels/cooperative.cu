// A cooperative launch: all blocks are resident at once and meet at grid-wide barriers.
#include <cooperative_groups.h>

#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 256;
constexpr unsigned kBlocks = 64;
}  // namespace

// Each step, every element becomes the sum of itself and the element that the opposite end held before the step: right
// only if every block has finished step s before any block begins step s + 1.
__global__ void CooperativeKernel(uint32_t count, uint32_t steps, uint32_t* from, uint32_t* to) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (uint32_t s = 0; s < steps; ++s) {
    for (uint32_t i = static_cast<uint32_t>(grid.thread_rank()); i < count; i += gridDim.x * blockDim.x) {
      to[i] = from[i] * 3 + from[count - 1 - i];
    }
    grid.sync();
    uint32_t* swap = from;
    from = to;
    to = swap;
  }
}

namespace {

void RunCooperative(CaseRun& run) {
  if (run.device().major < 6) return run.Skip("needs compute capability 6.0");
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  constexpr uint32_t kSteps = 10;  // even: the result is back in the first array
  if (n < 1 || n > (uint64_t{1} << 28)) return run.Fail("--size must be 1 to 268435456 elements");
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = repeat * kSteps * n * 2 * sizeof(uint32_t);
  run.Expect(expect);

  std::vector<uint32_t> start(n);
  for (uint64_t i = 0; i < n; ++i) start[i] = RandomBits(9, i);
  DeviceArray<uint32_t> from(run, n);
  DeviceArray<uint32_t> to(run, n);
  if (!from || !to) return;
  GX_STEP(run.Upload(from.data(), start.data(), from.bytes()));
  GX_STEP(run.Poison(to.data(), to.bytes()));
  LaunchShape shape{dim3(kBlocks), dim3(kBlockThreads)};
  shape.cooperative = true;
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_STEP(run.Launch(CooperativeKernel, shape, nullptr, static_cast<uint32_t>(n), kSteps, from.data(), to.data()));
  }
  std::vector<uint32_t> got(n);
  GX_STEP(run.Download(got.data(), from.data(), from.bytes()));
  std::vector<uint32_t> reference = start;
  std::vector<uint32_t> next(n);
  for (uint64_t s = 0; s < repeat * kSteps; ++s) {
    for (uint64_t i = 0; i < n; ++i) next[i] = reference[i] * 3 + reference[n - 1 - i];
    reference.swap(next);
  }
  run.CheckValues(
      "values", n, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return static_cast<double>(reference[i]); }, 0);
}

}  // namespace

const Case kCooperativeCase = {
    "cooperative", "a cooperative launch with grid-wide barriers", "elements", 65536, "launches", 5, RunCooperative};

}  // namespace gx::kernels
