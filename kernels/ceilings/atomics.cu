// Atomic additions in L2: to one address, to one line a warp, to as many addresses as there are lanes.
#include "kernels/ceilings/bench.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kUnroll = 8;

}  // namespace

// Each lane adds 1 to counters[global lane & mask], `additions` times. In assembly without a result: the compiler would
// add up a warp's additions to one address by itself.
__global__ void __launch_bounds__(kBlockThreads)
    AtomicKernel(uint32_t* __restrict__ counters, uint32_t mask, uint32_t additions, ClockProbe* probe) {
  StartClock(probe);
  uint32_t* address = counters + ((blockIdx.x * kBlockThreads + threadIdx.x) & mask);
#pragma unroll kUnroll
  for (uint32_t i = 0; i < additions; ++i) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(address) : "memory");
  EndClock(probe);
}

void MeasureAtomics(Bench& bench) {
  bench.Begin("l2 atomics");
  const uint64_t grid = bench.ResidentBlocks(reinterpret_cast<const void*>(AtomicKernel), kBlockThreads, 0);
  if (grid == 0) return;
  const uint64_t lanes = grid * kBlockThreads;
  struct Pattern {
    const char* name;
    uint32_t mask;
  };
  for (const Pattern& pattern :
       {Pattern{"one_address", 0}, Pattern{"one_line", 31}, Pattern{"one_MiB", (1u << 18) - 1}}) {
    bench.Begin(std::string("l2 atomics ") + pattern.name);
    const BenchArray<uint32_t> counters(bench, uint64_t{pattern.mask} + 1);
    if (!counters) continue;
    Workload workload;
    workload.launch = [&](uint64_t additions) {
      // Cleared before each launch, so that the last one's additions are what is found.
      return bench.Ok(cudaMemsetAsync(counters.data(), 0, counters.bytes(), bench.stream()), "cudaMemsetAsync") &&
             bench.Launch(AtomicKernel, grid, kBlockThreads, 0, counters.data(), pattern.mask,
                          static_cast<uint32_t>(additions), bench.probe());
    };
    // One addition of every lane at a time: to one address 270,336 of them take more than half a millisecond on an
    // H200.
    workload.work = [&](uint64_t additions) { return static_cast<double>(additions * lanes); };
    workload.first_units = 2;
    // Additions are posted: a block may leave before its own are done, and the clock is still that of its work.
    const std::optional<Measured> measured = bench.Measure(workload);
    if (!measured) continue;
    std::vector<uint32_t> got(counters.count());
    if (!bench.Download(got.data(), counters.data(), counters.bytes())) continue;
    Ceiling ceiling;
    ceiling.resource = ceiling_resource::kL2Atomic;
    ceiling.path = ceiling_path::kThread;
    ceiling.unit = work_unit::kOperation;
    ceiling.variant = std::string("red_add_u32_") + pattern.name;
    ceiling.points = measured->points;
    ceiling.access_bytes = sizeof(uint32_t);
    ceiling.footprint_bytes = counters.bytes();
    ceiling.grid_blocks = grid;
    ceiling.block_threads = kBlockThreads;
    ceiling.check = Bench::Compare(
        got.size(), [&](uint64_t i) { return static_cast<double>(got[i]); },
        [&](uint64_t i) {
          const uint64_t addresses = counters.count();
          const uint64_t lanes_here = lanes / addresses + (i < lanes % addresses ? 1 : 0);
          return static_cast<double>(static_cast<uint32_t>(lanes_here * measured->large_units));
        },
        0);
    bench.AddCeiling(ceiling);
  }
}

}  // namespace gx::kernels
