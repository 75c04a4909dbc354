// What the functions cost that a report calls for every signature of a run. One iteration is a million evaluations, so
// a time in seconds is "seconds per million". Run by hand: build/tests/bench/model_benchmark
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/peaks.h"
#include "analysis/model/roofline.h"
#include "analysis/model/sm_limits.h"
#include "analysis/model/waves.h"

namespace gx::model {
namespace {

constexpr size_t kMillion = 1'000'000;
// Inputs are made before the clock runs and reused in turn; a power of two.
constexpr size_t kInputs = 1 << 12;

// Launches that fit on an SM of 9.0, as they come in a run.
std::vector<LaunchResources> Launches() {
  std::mt19937_64 random(1);
  std::vector<LaunchResources> launches(kInputs);
  for (LaunchResources& launch : launches) {
    launch.threads_per_block_count = 32 * static_cast<int64_t>(1 + random() % 16);
    launch.registers_per_thread_count = static_cast<int64_t>(16 + random() % 112);
    launch.static_shared_memory_bytes = static_cast<int64_t>(random() % 16'384);
    launch.dynamic_shared_memory_bytes = static_cast<int64_t>(random() % 65'536);
    launch.carveout_percent = random() % 2 == 0 ? kCarveoutDefaultPercent : static_cast<int64_t>(random() % 101);
  }
  return launches;
}

void OccupancyFirstOrder(benchmark::State& state) {
  const SmBudget budget = FirstOrderBudget(**FindSmLimits({9, 0}));
  std::vector<BlockDemand> demands;
  for (const LaunchResources& launch : Launches()) {
    demands.push_back({launch.threads_per_block_count, launch.registers_per_thread_count,
                       launch.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes});
  }
  for (auto _ : state) {
    int64_t blocks = 0;
    for (size_t i = 0; i < kMillion; ++i) {
      const auto occupancy = FirstOrderOccupancy(budget, demands[i % kInputs]);
      if (!occupancy.ok()) return state.SkipWithError("refused");
      blocks += occupancy->blocks_per_sm_count;
    }
    benchmark::DoNotOptimize(blocks);
  }
}
BENCHMARK(OccupancyFirstOrder)->Unit(benchmark::kSecond);

void OccupancyExact(benchmark::State& state) {
  const SmLimits& limits = **FindSmLimits({9, 0});
  const std::vector<LaunchResources> launches = Launches();
  for (auto _ : state) {
    int64_t blocks = 0;
    for (size_t i = 0; i < kMillion; ++i) {
      const auto occupancy = ComputeExactOccupancy(limits, launches[i % kInputs]);
      if (!occupancy.ok()) return state.SkipWithError("refused");
      blocks += occupancy->blocks_per_sm_count;
    }
    benchmark::DoNotOptimize(blocks);
  }
}
BENCHMARK(OccupancyExact)->Unit(benchmark::kSecond);

void WavesOfGrids(benchmark::State& state) {
  std::mt19937_64 random(2);
  std::vector<WaveInput> inputs(kInputs);
  for (WaveInput& input : inputs) {
    input.grid_block_count = static_cast<int64_t>(random() % 100'000);
    input.sm_count = 132;
    input.blocks_per_sm = static_cast<int64_t>(1 + random() % 16);
  }
  for (auto _ : state) {
    int64_t sum = 0;
    for (size_t i = 0; i < kMillion; ++i) {
      const auto waves = ComputeWaves(inputs[i % kInputs]);
      if (!waves.ok()) return state.SkipWithError("refused");
      sum += waves->wave_count;
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(WavesOfGrids)->Unit(benchmark::kSecond);

struct Signature {
  ComputePath paths[2];
  MemoryLevel levels[3];
};

std::vector<Signature> Signatures() {
  constexpr CeilingKind kKind = CeilingKind::kTheoretical;
  std::mt19937_64 random(3);
  const auto work = [&] { return static_cast<int64_t>(random() % 100'000'000'000); };
  std::vector<Signature> signatures;
  for (size_t i = 0; i < kInputs; ++i) {
    signatures.push_back(
        {{{"tensor_bf16_fp32", work(), 1070e12, kKind}, {"fp32", work() / 10, 67e12, kKind}},
         {{"l1", work(), 33e12, kKind}, {"l2", work() / 2, 15e12, kKind}, {"dram", work() / 4, 4.8e12, kKind}}});
  }
  return signatures;
}

// A signature on two paths and three levels: its bound, and the observed time against it.
void RooflineOfSignatures(benchmark::State& state) {
  const std::vector<Signature> signatures = Signatures();
  for (auto _ : state) {
    double sum = 0;
    for (size_t i = 0; i < kMillion; ++i) {
      const Signature& signature = signatures[i % kInputs];
      const auto bound = ComputeRooflineBound(signature.paths, signature.levels);
      if (!bound.ok()) return state.SkipWithError("refused");
      const auto headroom = ComputeHeadroom(*bound, 0.01);
      if (!headroom.ok()) return state.SkipWithError("refused");
      sum += headroom->roof_ratio;
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(RooflineOfSignatures)->Unit(benchmark::kSecond);

// The last path of the table's last capability: what a search costs at most.
void PeakOfAPath(benchmark::State& state) {
  PeakInput input;
  input.compute_capability = {12, 0};
  input.product_class = ProductClass::kGeForce;
  input.path = kTensorInt8Int32;
  input.table_sm_count = 170;
  input.table_clock_hz = 2.407e9;
  for (auto _ : state) {
    double sum = 0;
    for (size_t i = 0; i < kMillion; ++i) {
      benchmark::DoNotOptimize(input);
      const auto peak = ComputePeak(input);
      if (!peak.ok()) return state.SkipWithError("refused");
      sum += peak->operations_per_second;
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(PeakOfAPath)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace gx::model
