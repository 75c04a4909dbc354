// How fast gx-analyze reads: a trace file of an eager program, from bytes to the model, and the parts of that way.
// Run by hand: build/tests/bench/analyze_benchmark
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "analysis/columns.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"
#include "inject/trace_encoder.h"
#include "tests/support/eager_stream.h"

namespace gx {
namespace {

constexpr uint64_t kKernels = 4'000'000;

void AddDefinitions(inject::TraceEncoder* encoder) {
  inject::HeaderRecord header;
  header.pid = 7;
  header.start = {5'000'000'000'000 + 1'700'000'000'000'000'000, 5'000'000'000'000, 5'000'000'000'000, 1};
  encoder->SetHeader(header);
  encoder->AddTrack({.iid = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  inject::WindowRecord window;
  window.window_id = 1;
  encoder->AddWindow(window);
  for (uint64_t i = 1; i <= 30; ++i) {
    encoder->AddName(i, "kernel_" + std::to_string(i));
    inject::FunctionRecord function;
    function.iid = i;
    function.name_iid = i;
    encoder->AddFunction(function);
    inject::SignatureRecord signature;
    signature.iid = i;
    signature.function_iid = i;
    encoder->AddSignature(signature);
    inject::KernelAttributesRecord attributes;
    attributes.iid = i;
    attributes.name_iid = i;
    encoder->AddKernelAttributes(attributes);
  }
}

// Written once; kernels come one frame after their launches, as in a capture.
const std::string& TracePath() {
  static const std::string* const kPath = [] {
    auto* path = new std::string(std::filesystem::temp_directory_path() / "gpuexec_analyze_benchmark.pb");
    std::ofstream out(*path, std::ios::binary);
    inject::TraceEncoder encoder;
    AddDefinitions(&encoder);
    testing::EagerStream stream(testing::EagerStream::kBusyCoarseClock);
    std::vector<inject::KernelRecord> kernels;
    for (uint64_t i = 0; i < kKernels; ++i) {
      const testing::EagerStream::Step step = stream.Next();
      encoder.AddLaunch(step.launch);
      kernels.push_back(step.kernel);
      if (kernels.size() == 50'000) {
        out << encoder.FinishFrame();
        for (const inject::KernelRecord& kernel : kernels) encoder.AddKernel(kernel);
        kernels.clear();
      }
    }
    out << encoder.FinishFrame();
    for (const inject::KernelRecord& kernel : kernels) encoder.AddKernel(kernel);
    encoder.SetTrailer(1, {});
    out << encoder.FinishFrame();
    return path;
  }();
  return *kPath;
}

void BM_ReadPackets(benchmark::State& state) {
  for (auto _ : state) {
    auto reader = analysis::TraceReader::Open(TracePath());
    if (!reader.ok()) return state.SkipWithError("the trace could not be opened");
    gpuexec::v1::Packet packet;
    while (*(*reader)->Next(&packet)) benchmark::DoNotOptimize(packet);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kKernels));
}
BENCHMARK(BM_ReadPackets)->Unit(benchmark::kMillisecond);

void BM_ReadColumns(benchmark::State& state) {
  for (auto _ : state) {
    auto reader = analysis::TraceReader::Open(TracePath());
    if (!reader.ok()) return state.SkipWithError("the trace could not be opened");
    gpuexec::v1::Packet packet;
    uint64_t sum = 0;
    while (*(*reader)->Next(&packet)) {
      for (const auto& batch : packet.launch_batch()) {
        analysis::ForEachLaunch(batch, [&](const analysis::LaunchRow& row) { sum += row.correlation_id; });
      }
      for (const auto& batch : packet.kernel_batch()) {
        analysis::ForEachKernel(batch, [&](const analysis::KernelRow& row) { sum += row.duration_ns; });
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kKernels));
}
BENCHMARK(BM_ReadColumns)->Unit(benchmark::kMillisecond);

void BM_Import(benchmark::State& state) {
  for (auto _ : state) {
    auto reader = analysis::TraceReader::Open(TracePath());
    if (!reader.ok()) return state.SkipWithError("the trace could not be opened");
    const auto model = analysis::ImportTrace(reader->get(), {}, [](uint64_t, uint64_t) {});
    if (!model.ok() || model->accounting.kernels_joined != kKernels) return state.SkipWithError("kernels were lost");
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kKernels));
}
BENCHMARK(BM_Import)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gx
