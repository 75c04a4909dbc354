#include "analysis/run_findings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/count_bound.h"
#include "analysis/format.h"

namespace gx::analysis {
namespace {

struct CauseFinding {
  absl::string_view cause;
  absl::string_view text;
  absl::string_view advice;
};
// "Device 0 was idle 1.2 s (12 % of first start to last end, 300 gaps) " and this. What launches are to blame for is
// told with the verdict; what is not the program's is told nowhere here.
constexpr CauseFinding kCauseFindings[] = {
    {"synchronization", "after the host had waited for it: the next launch came only then",
     "wait for the device more rarely: no .item(), no print of a tensor and no cudaDeviceSynchronize in each step; or "
     "queue the next step before the wait"},
    {"after_copy_to_host", "after a copy to the host: the next launch came only then",
     "copy results less often, or into pinned memory on another stream, with an event in place of the wait"},
    {"before_copy", "and a copy or fill ended that",
     "prepare data on another thread, and copy it from pinned memory, asynchronously, while kernels of the step before "
     "run"},
    {"queued", "though the launch call was over: kernels waited for the stream's order, an event or their own start",
     "fewer and longer kernels, programmatic dependent launch, or fewer dependencies between streams"},
    {"inside_graph", "between nodes of graphs", "fewer and longer nodes, or independent branches in the graph"},
    {"unknown", "and the trace does not tell why", ""},
};

constexpr absl::string_view kOneGap =
    "one gap is most of that: see what the program did then (start-up, compilation, a checkpoint, loading)";

std::string DeviceName(uint64_t device_id) {
  return device_id == UINT64_MAX ? std::string("device ?") : absl::StrCat("device ", device_id);
}

std::string Of(uint64_t ns, double ratio) {
  return absl::StrCat(FormatNs(static_cast<double>(ns)), " (", FormatRatio(ratio), " of first start to last end)");
}

// Whether late launches of graphs are most of what a device waited for.
bool IsOfGraphs(const RunExplanation& run) {
  uint64_t single_ns = 0;
  uint64_t graph_ns = 0;
  for (const DeviceIdle& idle : run.idle) {
    if (idle.device_id != run.launches.device_id) continue;
    for (const IdleCauseRow& row : idle.causes) {
      if (row.id == "host_late") single_ns = row.total_ns;
      if (row.id == "graph_late") graph_ns = row.total_ns;
    }
  }
  return graph_ns > single_ns;
}

void AddLaunchBound(const LaunchVerdict& launches, bool of_graphs, std::vector<RunFinding>* findings) {
  if (launches.verdict != LaunchBound::kYes && launches.verdict != LaunchBound::kPartly) return;
  RunFinding finding;
  finding.id = launches.verdict == LaunchBound::kYes ? "run.launch_bound" : "run.partly_launch_bound";
  finding.text = absl::StrCat(launches.verdict == LaunchBound::kYes ? "launch-bound: " : "partly launch-bound: ",
                              DeviceName(launches.device_id), " waited ",
                              Of(launches.host_late_ns, launches.host_late_ratio), " for launches");
  if (launches.launch_period_ns.has_value() && launches.kernel_ns.has_value()) {
    absl::StrAppend(&finding.text, "; a launch came every ", FormatNs(*launches.launch_period_ns),
                    " on average and a kernel takes ", FormatNs(*launches.kernel_ns));
  }
  finding.advice = of_graphs
                       ? "put more work into each graph, or several steps into one: the device waits for their launches"
                   : launches.verdict == LaunchBound::kYes
                       ? "launch the step as a CUDA graph, or fuse small kernels; faster kernels alone save little here"
                       : "a CUDA graph for the part of many small kernels, or fewer of them";
  if (launches.graph.has_value()) {
    absl::StrAppend(&finding.advice, "; a graph saves ", FormatNs(launches.graph->low_ns), " to ",
                    FormatNs(launches.graph->high_ns),
                    ", estimated; the latter if all that the host does between is launching");
    finding.saved_ns = launches.graph->high_ns;
  }
  findings->push_back(std::move(finding));
}

void AddIdle(const DeviceIdle& idle, std::vector<RunFinding>* findings) {
  for (const IdleCauseRow& row : idle.causes) {
    if (row.span_ratio < kWorthALine) continue;
    for (const CauseFinding& words : kCauseFindings) {
      if (words.cause != row.id) continue;
      // What is said of many gaps does not help there.
      const bool is_one_gap = 2 * row.longest_ns > row.total_ns;
      findings->push_back(
          {.id = absl::StrCat("run.idle.", row.id),
           .text = absl::StrCat(DeviceName(idle.device_id), " was idle ", Of(row.total_ns, row.span_ratio), " in ",
                                Plural(row.gap_count, "gap"), ", the longest of ",
                                FormatNs(static_cast<double>(row.longest_ns)), ", ", words.text),
           .advice = std::string(is_one_gap ? kOneGap : words.advice),
           .saved_ns = std::nullopt});
      if (row.id != "unknown") findings->back().saved_ns = static_cast<double>(row.total_ns);
    }
  }
}

// Of several counts: their sum may be more than 64 bits hold.
std::string Bytes(double count) { return FormatBytes(static_cast<uint64_t>(std::min(count, kCountEnd))); }

std::string KernelText(const FusableChain& chain, size_t place) {
  return absl::StrCat(chain.names[place], " (grid ", chain.grids[place], ")");
}

void AddFusable(const FusableChain& chain, double kernel_ns, std::vector<RunFinding>* findings) {
  if (!chain.saved_run_ns.has_value() || *chain.saved_run_ns < kFusionWorthALine * kernel_ns) return;
  RunFinding finding;
  finding.id = "run.fusable";
  finding.saved_ns = chain.saved_run_ns;
  const std::string times =
      absl::StrCat(" ", FormatCount(chain.chain_count), " times, copies and fills between them unseen, and ");
  if (chain.signatures.size() == 2) {
    const uint64_t multiple = chain.loaded_multiples[0];
    finding.text = absl::StrCat(KernelText(chain, 1), " follows ", KernelText(chain, 0), times, "loads ",
                                multiple == 1 ? std::string("what that stores, by bytes: ")
                                              : absl::StrCat(multiple, " times the bytes it stores: "),
                                Bytes(chain.stored_bytes[0]));
  } else {
    finding.text =
        absl::StrCat(chain.signatures.size(), " kernels follow one another", times,
                     "each loads the bytes that the one before stores, or a multiple: ", KernelText(chain, 0));
    for (size_t place = 1; place < chain.signatures.size(); ++place) {
      const uint64_t multiple = chain.loaded_multiples[place - 1];
      absl::StrAppend(&finding.text, "; ", KernelText(chain, place), " loads ",
                      multiple == 1 ? std::string() : absl::StrCat(multiple, " times "),
                      Bytes(chain.stored_bytes[place - 1]));
    }
  }
  absl::StrAppend(&finding.text, "; of ", Bytes(chain.dram_bytes), " to and from DRAM ", Bytes(chain.saved_dram_bytes),
                  " would not move if fused");
  finding.advice = absl::StrCat(
      "may be fused, if each reads the result of the one before and nothing else does, which the trace cannot tell: "
      "predicted ",
      FormatNs(*chain.fused_time_ns), " instead of ", FormatNs(chain.time_ns), ", ", FormatNs(*chain.saved_run_ns),
      " in all", chain.shares_kernel ? "; savings of chains that share a kernel do not add" : "");
  findings->push_back(std::move(finding));
}

}  // namespace

std::vector<RunFinding> RunFindings(const RunExplanation& run) {
  std::vector<RunFinding> findings;
  // Too little for any verdict.
  if (run.launches.verdict == LaunchBound::kUnknown && run.launches.host_late_ratio == 0) return findings;
  AddLaunchBound(run.launches, IsOfGraphs(run), &findings);
  double busy_ns = 0;
  for (const DeviceIdle& idle : run.idle) {
    AddIdle(idle, &findings);
    busy_ns += static_cast<double>(idle.busy_ns);
  }
  for (const FusableChain& chain : run.chains) AddFusable(chain, busy_ns, &findings);
  std::stable_sort(findings.begin(), findings.end(), [](const RunFinding& a, const RunFinding& b) {
    return a.saved_ns.value_or(0) > b.saved_ns.value_or(0);
  });
  // Whoever is launch-bound reads that before anything about kernels.
  std::stable_partition(findings.begin(), findings.end(),
                        [](const RunFinding& finding) { return finding.id == "run.launch_bound"; });
  return findings;
}

}  // namespace gx::analysis
