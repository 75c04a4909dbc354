#include "analysis/cli/analyze_options.h"

#include <getopt.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/ladder_explain.h"
#include "analysis/printable.h"
#include "analysis/report_names.h"

namespace gx::analysis {
namespace {

absl::Status Usage(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (gx-analyze --help shows the options)"));
}

absl::Status ParseFormats(absl::string_view text, std::vector<OutputFormat>* formats) {
  formats->clear();
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    OutputFormat format = OutputFormat::kText;
    if (word == "json") {
      format = OutputFormat::kJson;
    } else if (word == "csv") {
      format = OutputFormat::kCsv;
    } else if (word != "text") {
      return Usage(absl::StrCat("--format: '", Printable(word), "' is not one of text, json, csv"));
    }
    if (std::find(formats->begin(), formats->end(), format) == formats->end()) formats->push_back(format);
  }
  return absl::OkStatus();
}

absl::Status ParseGrouping(absl::string_view text, Grouping* grouping) {
  *grouping = Grouping{.signature = false};
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    if (!AddGroupingWord(word, grouping)) {
      return Usage(absl::StrCat("--by: '", Printable(word), "' is not one of signature, name, nvtx, stream, device"));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseSections(absl::string_view text, std::vector<Section>* sections) {
  sections->clear();
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    const std::optional<Section> section = SectionFromWord(word);
    if (!section.has_value()) {
      return Usage(
          absl::StrCat("--section: '", Printable(word), "' is not one of ", absl::StrJoin(AllSectionWords(), ", ")));
    }
    if (std::find(sections->begin(), sections->end(), *section) == sections->end()) sections->push_back(*section);
  }
  return absl::OkStatus();
}

enum Option : int {
  kFormat = 1,
  kTop,
  kSort,
  kFilter,
  kBy,
  kSection,
  kMachine,
  kKernel,
  kManifest,
  kEmitManifest,
  kExplain,
  kWide,
  kOutput,
  kReport,
  kNoReport,
  kHelp,
  kVersion
};
constexpr option kOptions[] = {
    {"format", required_argument, nullptr, kFormat},
    {"top", required_argument, nullptr, kTop},
    {"sort", required_argument, nullptr, kSort},
    {"filter", required_argument, nullptr, kFilter},
    {"by", required_argument, nullptr, kBy},
    {"section", required_argument, nullptr, kSection},
    {"machine", required_argument, nullptr, kMachine},
    {"wide", no_argument, nullptr, kWide},
    {"output", required_argument, nullptr, kOutput},
    {"report", required_argument, nullptr, kReport},
    {"no-report", no_argument, nullptr, kNoReport},
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {"kernel", required_argument, nullptr, kKernel},
    {"manifest", required_argument, nullptr, kManifest},
    {"emit-manifest", no_argument, nullptr, kEmitManifest},
    {"explain", required_argument, nullptr, kExplain},
    {nullptr, 0, nullptr, 0},
};

absl::Status ParseTop(const std::string& text, std::optional<size_t>* top) {
  uint64_t count = 0;
  if (!absl::SimpleAtoi(text, &count)) {
    return Usage(absl::StrCat("--top: '", Printable(text), "' is not a number of rows (0 shows all)"));
  }
  *top = static_cast<size_t>(count);
  return absl::OkStatus();
}

absl::Status ParseSort(const std::string& text, SortKey* sort) {
  const std::optional<SortKey> key = SortKeyFromWord(text);
  if (!key.has_value()) {
    return Usage(absl::StrCat("--sort: '", Printable(text), "' is not one of ", absl::StrJoin(AllSortWords(), ", ")));
  }
  *sort = *key;
  return absl::OkStatus();
}

absl::Status ParseFilter(absl::string_view option, const std::string& text, NameFilter* filter) {
  absl::StatusOr<NameFilter> compiled = NameFilter::Compile(text);
  if (!compiled.ok()) return Usage(absl::StrCat(option, ": ", compiled.status().message()));
  *filter = *std::move(compiled);
  return absl::OkStatus();
}

// `found` as getopt_long names it.
absl::Status MissingValue(int found) {
  for (const option& known : kOptions) {
    if (known.name != nullptr && known.val == found) return Usage(absl::StrCat("--", known.name, " needs a value"));
  }
  return Usage(absl::StrCat("-", std::string(1, static_cast<char>(found)), " needs a value"));
}

// One option that has the value it needs.
absl::Status Apply(int found, const std::string& argument, AnalyzeOptions* options, std::optional<size_t>* top) {
  switch (found) {
    case kFormat:
      return ParseFormats(argument, &options->formats);
    case kTop:
      return ParseTop(argument, top);
    case kSort:
      return ParseSort(argument, &options->report.sort);
    case kFilter:
      return ParseFilter("--filter", argument, &options->report.filter);
    case kBy:
      return ParseGrouping(argument, &options->report.grouping);
    case kSection:
      return ParseSections(argument, &options->sections);
    case kMachine:
      if (argument.empty()) return Usage("--machine: the name is empty");
      options->machine = argument;
      break;
    case kKernel:
      return ParseFilter("--kernel", argument, &options->kernel);
    case kManifest:
      if (argument.empty()) return Usage("--manifest: the name is empty");
      options->manifest = argument;
      break;
    case kEmitManifest:
      options->emit_manifest = true;
      break;
    case kExplain: {
      absl::StatusOr<std::string> text = ExplainLadderWord(argument);
      if (!text.ok()) return Usage(absl::StrCat("--explain: ", text.status().message()));
      options->explanation = *std::move(text);
      break;
    }
    case 'w':
    case kWide:
      options->wide = true;
      break;
    case 'o':
    case kOutput:
      if (argument.empty()) return Usage("--output: the name is empty");
      options->output = argument;
      break;
    case kReport:
      if (argument.empty()) return Usage("--report: the name is empty");
      options->report_file = argument;
      break;
    case kNoReport:
      options->no_report_file = true;
      break;
    case 'h':
    case kHelp:
      options->help = true;
      break;
    case kVersion:
      options->version = true;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// --kernel with what it is for.
absl::Status CheckManifestOptions(const AnalyzeOptions& options) {
  const bool wanted = options.emit_manifest || !options.manifest.empty();
  if (options.emit_manifest && !options.manifest.empty()) {
    return Usage("--manifest and --emit-manifest exclude each other: one reads a manifest, the other writes one");
  }
  if (wanted && options.kernel.matches_all()) {
    return Usage(absl::StrCat(options.emit_manifest ? "--emit-manifest" : "--manifest",
                              " needs --kernel REGEX: a manifest is of one kernel"));
  }
  if (IsKernelAlone(options)) {
    if (!options.sections.empty() && options.sections != std::vector<Section>{Section::kLadder}) {
      return Usage("--kernel alone shows ladders: --section takes no other part then; --filter is for all parts");
    }
    if (options.formats != std::vector<OutputFormat>{OutputFormat::kText}) {
      return Usage("--kernel alone shows ladders as text: --filter is for json and csv");
    }
  }
  if (options.emit_manifest && options.traces.size() > 1) {
    return Usage(absl::StrCat("--emit-manifest takes one trace, got ", options.traces.size()));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsKernelAlone(const AnalyzeOptions& options) {
  return !options.kernel.matches_all() && !options.emit_manifest && options.manifest.empty();
}

absl::StatusOr<AnalyzeOptions> ParseAnalyzeOptions(const std::vector<std::string>& arguments) {
  // getopt_long wants writable strings and argv[0].
  std::vector<std::string> copies = {"gx-analyze"};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(copies.size());

  AnalyzeOptions options;
  std::optional<size_t> top;
  ::optind = 0;  // GNU: start anew.
  ::opterr = 0;
  while (true) {
    const int index_before = std::max(1, ::optind);
    // A colon in front: a missing argument is told apart from an unknown option.
    const int found = ::getopt_long(argc, argv.data(), ":ho:w", kOptions, nullptr);
    if (found == -1) break;
    if (found == ':') return MissingValue(::optopt);
    if (found == '?') {
      // getopt moves operands behind options: the offending word is the one just passed.
      const size_t at = static_cast<size_t>(std::max(1, std::max(index_before, ::optind - 1)));
      return Usage(absl::StrCat("unknown option '", Printable(argv[std::min(at, copies.size() - 1)]), "'"));
    }
    const std::string argument = ::optarg == nullptr ? "" : ::optarg;
    if (absl::Status status = Apply(found, argument, &options, &top); !status.ok()) return status;
    if (options.help || options.version || !options.explanation.empty()) return options;
  }
  for (int i = ::optind; i < argc; ++i) options.traces.emplace_back(argv[static_cast<size_t>(i)]);
  if (options.traces.empty()) return Usage("no trace is named");
  if (absl::Status status = CheckManifestOptions(options); !status.ok()) return status;
  if (IsKernelAlone(options)) options.sections = {Section::kLadder};
  if (options.formats.size() > 1 && options.output.empty()) {
    return Usage("several formats need --output PREFIX (PREFIX.txt, PREFIX.json, PREFIX.csv are written)");
  }
  if (options.no_report_file && !options.report_file.empty()) {
    return Usage("--report and --no-report exclude each other");
  }
  const auto named = [&options](Section section) {
    return std::find(options.sections.begin(), options.sections.end(), section) != options.sections.end();
  };
  const bool csv =
      std::find(options.formats.begin(), options.formats.end(), OutputFormat::kCsv) != options.formats.end();
  const int tables =
      named(Section::kCounters) + named(Section::kSamples) + named(Section::kKernels) + named(Section::kApi);
  if (csv && tables > 1) {
    return Usage("CSV holds one table: --section counters, samples, kernels or api, not several of them");
  }
  const bool text_only = options.formats == std::vector<OutputFormat>{OutputFormat::kText};
  options.report.top = top.value_or(text_only ? kDefaultTextTop : 0);
  return options;
}

std::string AnalyzeHelp() {
  return absl::StrCat(
      R"(usage: gx-analyze [options] trace.pb [more.pb ...]

Prints what a traced CUDA program ran: what was lost first, where the trace comes from, the run, the kernels.
Several traces (the ranks of one job) make one report, with a column for the process.

  --format LIST    text, json or csv; several, separated by commas, need --output. Default: text
  -o, --output F   write to the file F; with several formats to F.txt, F.json, F.csv. Default: standard output
  --report FILE    where the whole report goes as a protobuf (gpuexec/v1/report.proto), whatever is asked for of the
                   text. Default: X.report.pb beside the trace X.pb; of several traces only where FILE is given. Only
                   reports are overwritten, never a trace
  --no-report      write no such file
  --by LIST        what a row stands for: signature (function and launch values), name, nvtx, stream, device,
                   or several of them, separated by commas. Default: signature
  --sort KEY       )",
      absl::StrJoin(AllSortWords(), ", "), R"(. Default: total
  --section LIST   of the text only these parts: losses, provenance, run, counters, samples, kernels, ladder, api. Losses
                   of data are shown in any case. counters shows hardware counters by signature, group and metric (in the
                   whole report they are a paragraph), samples which launches they were taken of; with --format csv
                   they are the table in place of the kernels', and samples holds every value that was counted. ladder
                   splits each kernel's time into terms that sum to it, with their evidence (in the whole report, where
                   there are counters: a table and the heaviest kernels). api is a table of the calls of the CUDA
                   runtime and driver, where the run had GPUEXEC_API=on
  --explain TERM   what a word of the ladder means, how it is computed and what cures it; no trace is read
  --machine FILE   for the ladder: what the GPU sustains, as gx-kernels --ceilings wrote it. Default: machine.pb beside
                   the trace, else one of the device in gpuexec/ in the user's cache folder, else one that gpuexec comes
                   with
  --manifest FILE  with --kernel: the work that kernel is asked for, as gx-model reads it (gpuexec/v1/manifest.proto).
                   Its lower bound on the device of the trace becomes R0 of the ladder. A manifest that states another
                   device, launch, kernel or type is refused
  --emit-manifest  with --kernel, in place of a report: that kernel as a manifest for gx-model, filled with what the trace
                   knows. With --output X.textproto also X.observation.textproto, with samples and counters
  --kernel REGEX   the kernel of these two: its full name matches, or "NAME  grid 2x66, block 384" does. --manifest takes
                   one launch shape, and refuses several; --emit-manifest takes the one with most time. Without either:
                   the ladder of each kernel that matches, in depth, as text
  --top N          show N rows; 0: all. Default: )",
      kDefaultTextTop, R"( in text, all where json or csv is asked for
  --filter REGEX   only kernels whose full demangled name matches (POSIX extended regular expression)
  -w, --wide       full kernel names, settings of the capture, bookkeeping counters; the table is not made to fit a
                   terminal
  -h, --help       this text
  --version        the version

examples
  gx-analyze trace.pb                                  the report, on a terminal
  gx-analyze --by nvtx,name --top 10 trace.pb          the ten heaviest (range, kernel) pairs
  gx-analyze --filter 'gemm|cutlass' --wide trace.pb   matrix products only, with full names
  gx-analyze --format json trace.pb | jq '.signature[0]'
                                                       for programs: the report as protobuf JSON
  gx-analyze --format text,json,csv -o run7 trace.pb   run7.txt, run7.json, run7.csv
  gx-analyze --by device rank*.pb                      all ranks together
  gx-analyze --section counters --top 3 trace.pb       hardware counters of the three heaviest signatures
  gx-analyze --format csv --section samples trace.pb   every sample and metric on a line, for programs

Medians are of clean calls: not the first )",
      kWarmUpLaunches, R"( of a signature, not the first after a module load, not overlapping
another kernel. Fewer than )",
      kMinCleanSamples, R"( clean calls give no verdict (measured_insufficient).

environment
  NO_COLOR         set to anything: no colours. They are used on a terminal only.

exit codes
  0  report made
  1  report made, but the trace lacks data or holds invalid records (the report begins with them)
  2  wrong usage
  3  a trace or manifest could not be read, the manifest is of another kernel, or the report could not be written (but for that beside the trace: a line on standard
     error says so)
)");
}

}  // namespace gx::analysis
