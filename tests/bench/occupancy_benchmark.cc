// How long an occupancy takes: one item is one launch. A million of them should stay well under a second.
//   model_benchmark --benchmark_filter=Exact
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/occupancy_step_up.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {
namespace {

constexpr size_t kLaunches = 1'000'000;

std::vector<LaunchResources> Launches() {
  std::mt19937_64 random(1);
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  std::vector<LaunchResources> launches(kLaunches);
  for (LaunchResources& launch : launches) {
    launch.threads_per_block_count = 32 * draw(1, 32);
    launch.registers_per_thread_count = draw(16, 255);
    launch.static_shared_memory_bytes = draw(0, 1) * draw(0, 8'192);
    launch.dynamic_shared_memory_bytes = draw(0, 1) * draw(0, 200'000);
    launch.carveout_percent = draw(0, 3) == 0 ? draw(0, 100) : kCarveoutDefaultPercent;
    launch.sm_count = 132;
  }
  return launches;
}

template <typename Evaluate>
void Run(benchmark::State& state, Evaluate evaluate) {
  const SmLimits limits = **FindSmLimits({9, 0});
  const std::vector<LaunchResources> launches = Launches();
  for (auto _ : state) {
    for (const LaunchResources& launch : launches) benchmark::DoNotOptimize(evaluate(limits, launch));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(launches.size()));
}

void AMillionFirstOrder(benchmark::State& state) {
  Run(state, [](const SmLimits& limits, const LaunchResources& launch) {
    return FirstOrderOccupancy(FirstOrderBudget(limits),
                               {launch.threads_per_block_count, launch.registers_per_thread_count,
                                launch.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes})
        ->blocks_per_sm_count;
  });
}
BENCHMARK(AMillionFirstOrder)->Unit(benchmark::kMillisecond);

void AMillionExact(benchmark::State& state) {
  Run(state, [](const SmLimits& limits, const LaunchResources& launch) {
    return ComputeExactOccupancy(limits, launch)->blocks_per_sm_count;
  });
}
BENCHMARK(AMillionExact)->Unit(benchmark::kMillisecond);

void AMillionExactWithStepUp(benchmark::State& state) {
  Run(state, [](const SmLimits& limits, const LaunchResources& launch) {
    return ComputeOccupancyStepUp(limits, launch, *ComputeExactOccupancy(limits, launch)).blocks_per_sm_count;
  });
}
BENCHMARK(AMillionExactWithStepUp)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gx::model
