// How long waves, rooflines and peaks take, which a report computes for every signature of a run. One iteration is a
// million of them. Occupancy, in the same program: occupancy_benchmark.cc.
//   model_benchmark
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "analysis/model/peaks.h"
#include "analysis/model/roofline.h"
#include "analysis/model/waves.h"

namespace gx::model {
namespace {

constexpr size_t kMillion = 1'000'000;
// Inputs are made before the clock runs and reused in turn; a power of two.
constexpr size_t kInputs = 1 << 12;

void AMillionWaves(benchmark::State& state) {
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
BENCHMARK(AMillionWaves)->Unit(benchmark::kMillisecond);

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
void AMillionSignaturesThroughTheRoofline(benchmark::State& state) {
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
BENCHMARK(AMillionSignaturesThroughTheRoofline)->Unit(benchmark::kMillisecond);

// The last path of the table's last capability: what a search costs at most.
void AMillionPeaks(benchmark::State& state) {
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
BENCHMARK(AMillionPeaks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gx::model
