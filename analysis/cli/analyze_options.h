// gx-analyze's command line -> options. Pure (getopt_long's own state is reset for each call); one thread.
#ifndef GPUEXEC_ANALYSIS_CLI_ANALYZE_OPTIONS_H_
#define GPUEXEC_ANALYSIS_CLI_ANALYZE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/report_builder.h"

namespace gx::analysis {

enum class OutputFormat { kText, kJson, kCsv };

struct AnalyzeOptions {
  bool help = false;
  bool version = false;
  // Of a word of the ladder; empty: none was asked for.
  std::string explanation;
  std::vector<std::string> traces;
  std::vector<OutputFormat> formats = {OutputFormat::kText};
  // One format: the file's name. Several: a prefix that ".txt", ".json", ".csv" are added to. "": stdout.
  std::string output;
  ReportRequest report;
  // Of the text; empty: all. CSV holds the counters where they are named and kernels are not.
  std::vector<Section> sections;
  // Of the ladder; "": it is looked for.
  std::string machine;
  bool wide = false;
  // Of the binary report; "": beside the trace, where there is one trace.
  std::string report_file;
  bool no_report_file = false;
  // Which kernels (manifest_kernel.h): the one that --manifest or --emit-manifest is of, else those whose ladders are
  // shown.
  NameFilter kernel;
  // The work that the kernel is asked for, whose lower bound is R0 of its ladder; "": none.
  std::string manifest;
  // In place of a report: the kernel as a manifest and an observation for gx-model.
  bool emit_manifest = false;
};

// --kernel with neither: the ladders of those kernels are the text.
bool IsKernelAlone(const AnalyzeOptions& options);

// Rows shown where --top is not given: of text; the other forms hold all.
inline constexpr size_t kDefaultTextTop = 40;

// InvalidArgument: one line that says what is wrong.
absl::StatusOr<AnalyzeOptions> ParseAnalyzeOptions(const std::vector<std::string>& arguments);

// What --help prints.
std::string AnalyzeHelp();

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_ANALYZE_OPTIONS_H_
