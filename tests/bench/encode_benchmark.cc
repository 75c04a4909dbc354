// How fast records become frames, and how many bytes a kernel takes, on a synthetic stream shaped like eager PyTorch.
//   encode_benchmark --benchmark_counters_tabular=true
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "inject/trace_encoder.h"
#include "tests/support/eager_stream.h"

namespace gx::testing {
namespace {

// Launch and kernel records to frames of 1 MiB pending. One item is one kernel with its launch.
void EncodeEagerStream(benchmark::State& state, const EagerStream::Shape& shape) {
  EagerStream stream(shape);
  std::vector<EagerStream::Step> steps(200'000);
  for (EagerStream::Step& step : steps) step = stream.Next();

  inject::TraceEncoder encoder;
  uint64_t written_bytes = 0;
  for (auto _ : state) {
    for (const EagerStream::Step& step : steps) {
      encoder.AddLaunch(step.launch);
      encoder.AddKernel(step.kernel);
      if (encoder.PendingBytes() >= (size_t{1} << 20)) written_bytes += encoder.FinishFrame().size();
    }
    written_bytes += encoder.FinishFrame().size();
  }
  const auto kernels = static_cast<double>(state.iterations()) * static_cast<double>(steps.size());
  state.SetItemsProcessed(static_cast<int64_t>(kernels));
  state.counters["bytes_per_kernel"] = static_cast<double>(written_bytes) / kernels;
}
BENCHMARK_CAPTURE(EncodeEagerStream, busy, EagerStream::kBusy)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(EncodeEagerStream, busy_coarse_clock, EagerStream::kBusyCoarseClock)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(EncodeEagerStream, held_up, EagerStream::kHeldUp)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gx::testing
