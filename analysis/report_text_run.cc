#include "analysis/report_text_run.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "analysis/format.h"

namespace gx::analysis {
namespace {

// 1.23e15 -> "1,230 TFLOP/s": three digits are enough of an estimate.
std::string FlopsPerSecond(double flops_per_second) {
  return absl::StrCat(FormatDecimal(flops_per_second / 1e12, flops_per_second < 1e13 ? 2 : 0), " TFLOP/s");
}

std::string DeviceName(uint64_t device_id) {
  return device_id == UINT64_MAX ? std::string("device ?") : absl::StrCat("device ", device_id);
}

std::string IdleText(const DeviceIdle& idle) {
  std::vector<std::string> causes;
  for (const IdleCauseRow& row : idle.causes) {
    causes.push_back(absl::StrCat(row.text, " ", FormatNs(static_cast<double>(row.total_ns)), " (",
                                  FormatRatio(row.span_ratio), ", ", Plural(row.gap_count, "gap"), ", longest ",
                                  FormatNs(static_cast<double>(row.longest_ns)), ")"));
  }
  return absl::StrJoin(causes, "; ");
}

std::string LaunchText(const LaunchVerdict& launches) {
  std::string text;
  switch (launches.verdict) {
    case LaunchBound::kUnknown:
      return absl::StrCat("unknown: ", launches.no_graph);
    case LaunchBound::kNo:
      text = "no";
      break;
    case LaunchBound::kPartly:
      text = "partly";
      break;
    case LaunchBound::kYes:
      text = "yes";
      break;
  }
  absl::StrAppend(&text, ": ", DeviceName(launches.device_id), " waited ", FormatRatio(launches.host_late_ratio),
                  " of first start to last end for launches");
  if (launches.launch_period_ns.has_value() && launches.kernel_ns.has_value()) {
    absl::StrAppend(&text, "; mean from launch to launch ", FormatNs(*launches.launch_period_ns), ", of a kernel ",
                    FormatNs(*launches.kernel_ns));
  }
  if (launches.graph.has_value()) {
    absl::StrAppend(&text, "; a graph in place of single launches would save ", FormatNs(launches.graph->low_ns),
                    " to ", FormatNs(launches.graph->high_ns),
                    " (the latter if all that the host does between is launching; estimated from ",
                    Plural(launches.graph->gap_count, "gap"), " and ", FormatNs(launches.graph->node_ns),
                    " a node; recording costs some of it)");
  } else if (launches.verdict != LaunchBound::kNo) {
    absl::StrAppend(&text, "; what a graph would save is not estimated: ", launches.no_graph);
  }
  return text;
}

std::string UseText(const std::optional<double>& busy, const std::optional<double>& timed, absl::string_view of) {
  if (!busy.has_value() || !timed.has_value()) return absl::StrCat("unknown of ", of);
  return absl::StrCat(FormatRatio(*busy), " of ", of, " while busy, ", FormatRatio(*timed), " with idle time");
}

std::string TensorText(const TensorUse& tensor) {
  if (tensor.paths.empty()) {
    return absl::StrCat("no floating-point operations of tensor cores; unmeasured for ",
                        FormatRatio(tensor.unmeasured_ratio), " of kernel time");
  }
  std::vector<std::string> paths;
  double low_flops = 0;
  double high_flops = 0;
  for (const TensorPathUse& path : tensor.paths) {
    low_flops += path.low_flops;
    high_flops += path.high_flops;
    paths.push_back(absl::StrCat(path.path, " ", FormatRatio(path.flops / tensor.flops)));
  }
  return absl::StrCat(
      UseText(tensor.theoretical_busy_ratio, tensor.theoretical_timed_ratio, "the theoretical dense peak"), "; ",
      UseText(tensor.empirical_busy_ratio, tensor.empirical_timed_ratio, "what the machine file sustains"), "; ",
      FlopsPerSecond(tensor.flops / static_cast<double>(tensor.busy_ns) * 1e9), " while busy (",
      absl::StrJoin(paths, ", "), "), from the least to the most counted ",
      FlopsPerSecond(low_flops / static_cast<double>(tensor.busy_ns) * 1e9), " to ",
      FlopsPerSecond(high_flops / static_cast<double>(tensor.busy_ns) * 1e9),
      "; of operations that ran, counted of a few launches; unmeasured for ", FormatRatio(tensor.unmeasured_ratio),
      " of kernel time");
}

std::string CoverageText(const SignatureCoverage& coverage) {
  const std::string text = absl::StrCat(
      Plural(coverage.main_count, "signature"), " of ", FormatCount(coverage.signature_count),
      coverage.main_count == 1 ? " makes " : " make ", FormatRatio(coverage.main_ratio), " of kernel time");
  if (coverage.counted_ratio == 0) return absl::StrCat(text, "; none has counters");
  return absl::StrCat(text, ", ", FormatCount(coverage.main_counted_count), " of them with counters; counters are of ",
                      FormatRatio(coverage.counted_ratio), " of kernel time");
}

}  // namespace

void WriteRunExplanation(const RunExplanation& run, TextWriter* out) {
  for (const DeviceIdle& idle : run.idle) {
    if (idle.causes.empty()) continue;
    out->WrappedField(absl::StrCat("idle, ", DeviceName(idle.device_id)), IdleText(idle));
  }
  if (!run.idle.empty()) out->WrappedField("launch-bound", LaunchText(run.launches));
  if (run.tensor.has_value()) out->WrappedField("tensor (MFU)", TensorText(*run.tensor));
  if (run.coverage.has_value()) out->WrappedField("signatures", CoverageText(*run.coverage));
  if (run.fusable_count > 0 || run.unjudged_neighbours_ratio.value_or(0) > 0) {
    out->WrappedField("fusable",
                      absl::StrCat(Plural(run.fusable_count, "pair"), " of neighbouring signatures by bytes; ",
                                   FormatRatio(run.unjudged_neighbours_ratio.value_or(0)),
                                   " of neighbouring launches are not judged, as bytes of one were not counted",
                                   run.chain_count < run.fusable_count
                                       ? absl::StrCat("; in a row they make ", Plural(run.chain_count, "chain"))
                                       : ""));
  }
  size_t number = 0;
  for (const RunFinding& finding : run.findings) {
    ++number;
    out->WrappedField(number == 1 ? "findings" : "",
                      absl::StrCat(number, ". ", finding.text, finding.advice.empty() ? "" : ": ", finding.advice));
  }
}

}  // namespace gx::analysis
