// How many signatures a second go through the ladder: evidence, rungs, terms, intervals, what-ifs, findings, from a
// model of a trace in memory. The signatures and their samples are those of a run on an H200, with its machine file.
//   ladder_benchmark
//   GX_TRACE=trace.pb ladder_benchmark      # of another run on an H200
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/machine_file.h"
#include "analysis/report_builder.h"
#include "analysis/report_sections.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_reader.h"

namespace gx::analysis {
namespace {

struct Run {
  TraceModel model;
  ReportRequest request;
};

// Null: the trace or the machine file cannot be read, or does not match.
std::unique_ptr<Run> ReadRun() {
  const char* const trace = std::getenv("GX_TRACE");
  auto reader = TraceReader::Open(trace != nullptr ? trace : GX_COUNTED_TRACE);
  if (!reader.ok()) return nullptr;
  auto model = ImportTrace(reader->get(), {}, [](uint64_t, uint64_t) {});
  if (!model.ok()) return nullptr;
  auto run = std::make_unique<Run>(Run{*std::move(model), {}});
  run->request.ladder_machines.emplace();
  for (const auto& [device_id, device] : run->model.devices) {
    MachineSearch search;
    search.machine_option = GX_MACHINE_FILE;
    auto found = FindMachineFile(search, device);
    if (!found.ok() || !found->machine.has_value()) return nullptr;
    run->request.ladder_machines->emplace(std::pair(size_t{0}, device_id), *std::move(found));
  }
  return run;
}

// Items are signatures that get a ladder.
void BM_Ladders(benchmark::State& state) {
  const std::unique_ptr<Run> run = ReadRun();
  if (run == nullptr) return state.SkipWithError("the trace or its machine file could not be read");
  int64_t signatures = 0;
  for (auto _ : state) {
    const LadderSection section = BuildLadders(run->model, 0, run->request);
    if (section.rows.empty()) return state.SkipWithError("no signature has a ladder");
    signatures += static_cast<int64_t>(section.rows.size());
    benchmark::DoNotOptimize(section);
  }
  state.SetItemsProcessed(signatures);
}
BENCHMARK(BM_Ladders)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gx::analysis
