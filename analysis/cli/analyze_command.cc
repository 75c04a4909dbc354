#include "analysis/cli/analyze_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "analysis/cli/analyze_options.h"
#include "analysis/cli/output.h"
#include "analysis/cli/progress_bar.h"
#include "analysis/cli/report_file.h"
#include "analysis/cli/terminal.h"
#include "analysis/machine_file.h"
#include "analysis/manifest/message_file.h"
#include "analysis/manifest_bound.h"
#include "analysis/manifest_emit.h"
#include "analysis/manifest_kernel.h"
#include "analysis/printable.h"
#include "analysis/report_builder.h"
#include "analysis/report_csv.h"
#include "analysis/report_json.h"
#include "analysis/report_proto.h"
#include "analysis/report_text.h"
#include "analysis/text_table.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_reader.h"

namespace gx::analysis {
namespace {

constexpr char kCommand[] = "gx-analyze";

// What goes to a terminal is coloured and fits its window; what goes anywhere else is complete.
TextStyle StyleFor(const std::string& path, const AnalyzeOptions& options) {
  const bool wide = options.wide;
  TextStyle style;
  style.sections = options.sections;
  style.wide = wide;
  if (!path.empty() || !IsTerminal(STDOUT_FILENO)) return style;
  style.colour = ColourWanted(path);
  if (!wide) style.max_table_columns = TerminalColumns(STDOUT_FILENO);
  return style;
}

std::string Extension(OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return ".json";
    case OutputFormat::kCsv:
      return ".csv";
    case OutputFormat::kText:
      break;
  }
  return ".txt";
}

bool Named(const std::vector<Section>& sections, Section section) {
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

// The request with rows by signature, as a report's message has them.
ReportRequest BySignature(ReportRequest request) {
  request.grouping = Grouping{};
  return request;
}

absl::StatusOr<std::string> Json(const std::vector<TraceModel>& models, const ReportRequest& request,
                                 const Report& report) {
  if (request.grouping == Grouping{}) return ReportJson(ReportMessage(report, nullptr));
  return ReportJson(ReportMessage(BuildReport(models, BySignature(request)), &report));
}

std::string Csv(const Report& report, const std::vector<Section>& sections) {
  if (Named(sections, Section::kCounters)) return ReportCountersCsv(report);
  if (Named(sections, Section::kApi)) return ReportApiCsv(report);
  return Named(sections, Section::kSamples) ? ReportSamplesCsv(report) : ReportCsv(report);
}

// Of everything, whatever the text is to show. False: it was meant to be written and could not be. The one beside a
// trace is a convenience, so that is no failure.
bool WriteWholeReport(const std::vector<TraceModel>& models, const AnalyzeOptions& options,
                      const ReportRequest& request) {
  const bool beside = options.report_file.empty();
  if (options.no_report_file || (beside && models.size() > 1)) return true;
  ReportRequest whole = BySignature(request);
  whole.sort = SortKey::kTotal;
  whole.top = 0;
  whole.filter = NameFilter();
  whole.ladders_of.reset();
  const std::string path = beside ? ReportPathBeside(models.front().path) : options.report_file;
  const absl::Status status = WriteReportFile(path, ReportMessage(BuildReport(models, whole), nullptr));
  if (status.ok()) return true;
  Complain(kCommand, absl::StrCat("no report file: ", status.message(),
                                  beside ? " (--report names another, --no-report asks for none)" : ""));
  return beside;
}

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// One search for each device of each trace.
absl::StatusOr<MachinesOfDevices> FindMachines(const std::vector<TraceModel>& models, const std::string& option) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  MachinesOfDevices machines;
  for (size_t i = 0; i < models.size(); ++i) {
    const MachineSearch search{.machine_option = option,
                               .trace_path = models[i].path,
                               .xdg_cache_home = Environment("XDG_CACHE_HOME"),
                               .home = Environment("HOME"),
                               .shipped_folder = error ? "" : ShippedMachineFolder(program)};
    for (const auto& [device_id, device] : models[i].devices) {
      absl::StatusOr<FoundMachine> found = FindMachineFile(search, device);
      if (!found.ok()) return found.status();
      // Where it lies says nothing that its name does not.
      if (!search.shipped_folder.empty()) {
        const std::string folder = absl::StrCat(search.shipped_folder, "/");
        if (absl::StartsWith(found->path, folder)) found->path = found->path.substr(folder.size());
        for (std::string& note : found->notes) absl::StrReplaceAll({{folder, ""}}, &note);
      }
      machines.emplace(std::pair(i, device_id), *std::move(found));
    }
  }
  return machines;
}

int Fail(const absl::Status& status) {
  Complain(kCommand, status.message());
  return kExitUnreadable;
}

absl::Status NoSuchKernel(const AnalyzeOptions& options) {
  return absl::NotFoundError(absl::StrCat("--kernel '", Printable(options.kernel.expression()),
                                          "' matches no kernel with a time in the trace"));
}

// "x.textproto" -> "x.observation.textproto"; another name keeps all of it.
std::string ObservationPath(const std::string& manifest_path) {
  constexpr absl::string_view kEnd = ".textproto";
  const absl::string_view stem = absl::StripSuffix(manifest_path, kEnd);
  return absl::StrCat(stem, ".observation", kEnd);
}

// Every file that will be written, in order. `traces`: those named, less reports.
std::vector<NamedFile> Outputs(const AnalyzeOptions& options, const std::vector<NamedFile>& traces) {
  std::vector<NamedFile> files;
  if (options.emit_manifest) {
    if (options.output.empty()) return files;
    return {{"--output", options.output}, {"the observation of --output", ObservationPath(options.output)}};
  }
  if (!options.no_report_file) {
    if (!options.report_file.empty()) {
      files.push_back({"--report", options.report_file});
    } else if (traces.size() == 1) {
      files.push_back({"the report beside the trace, but for --no-report", ReportPathBeside(traces.front().path)});
    }
  }
  if (options.output.empty()) return files;
  if (options.formats.size() == 1) files.push_back({"--output", options.output});
  for (const OutputFormat format : options.formats) {
    if (options.formats.size() > 1) files.push_back({"--output", absl::StrCat(options.output, Extension(format))});
  }
  return files;
}

// Before anything is written. `machines`: found without being named.
absl::Status CheckFiles(const AnalyzeOptions& options, const MachinesOfDevices& machines) {
  std::vector<NamedFile> inputs;
  for (const std::string& trace : options.traces) {
    // A pattern may name an older report, too, which is left out and replaced.
    if (!IsReportFile(trace)) inputs.push_back({"trace", trace});
  }
  const std::vector<NamedFile> outputs = Outputs(options, inputs);
  if (!options.machine.empty()) inputs.push_back({"--machine", options.machine});
  if (!options.manifest.empty()) inputs.push_back({"--manifest", options.manifest});
  for (const auto& [device, found] : machines) {
    if (found.machine.has_value()) inputs.push_back({"the machine file", found.path});
  }
  return CheckOutputs(inputs, outputs);
}

// The heaviest kernel that --kernel matches, for gx-model.
int EmitManifest(const TraceModel& model, const AnalyzeOptions& options) {
  const std::vector<TracedKernel> kernels = FindKernels(model, options.kernel);
  if (kernels.empty()) {
    return Fail(NoSuchKernel(options));
  }
  if (kernels.size() > 1) {
    constexpr size_t kMaxLine = 120;
    Complain(kCommand,
             absl::StrCat("--kernel matches ", kernels.size(),
                          " signatures; this is the one with most time: ", CutText(KernelLine(kernels[0]), kMaxLine),
                          "; the next is ", CutText(KernelLine(kernels[1]), kMaxLine)));
  }
  const EmittedKernel emitted = EmitKernel(model, kernels[0]);
  if (absl::Status status = WriteOutput(options.output, ManifestText(emitted)); !status.ok()) {
    return Fail(absl::UnknownError(absl::StrCat("the manifest could not be written: ", status.message())));
  }
  if (options.output.empty()) {
    Complain(kCommand, "the observation is not shown: --output X.textproto writes X.observation.textproto, too");
    return kExitReport;
  }
  const absl::Status status = WriteOutput(ObservationPath(options.output), ObservationText(emitted));
  return status.ok()
             ? kExitReport
             : Fail(absl::UnknownError(absl::StrCat("the observation could not be written: ", status.message())));
}

}  // namespace

int RunAnalyze(const std::vector<std::string>& arguments) {
  const absl::StatusOr<AnalyzeOptions> options = ParseAnalyzeOptions(arguments);
  if (!options.ok()) {
    Complain(kCommand, options.status().message());
    return kExitUsage;
  }
  if (!options->explanation.empty()) {
    return WriteOutput("", options->explanation).ok() ? kExitReport : kExitUnreadable;
  }
  if (options->help || options->version) {
    const std::string text = options->help ? AnalyzeHelp() : absl::StrCat("gx-analyze ", GPUEXEC_VERSION, "\n");
    return WriteOutput("", text).ok() ? kExitReport : kExitUnreadable;
  }

  if (absl::Status status = CheckFiles(*options, {}); !status.ok()) {
    Complain(kCommand, status.message());
    return kExitUsage;
  }
  ImportOptions import_options;
  import_options.dimensions = DimensionsFor(options->report);
  // Counters and ladders are of signatures, whatever the rows are.
  import_options.dimensions.signature = true;
  std::vector<TraceModel> models;
  for (const std::string& path : options->traces) {
    if (IsReportFile(path)) {
      // As a pattern for traces names them, too.
      Complain(kCommand, absl::StrCat(Printable(path), ": left out, as it is a report and no trace"));
      continue;
    }
    absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
    if (!reader.ok()) {
      Complain(kCommand, reader.status().message());
      return kExitUnreadable;
    }
    ProgressBar progress(STDERR_FILENO, path);
    absl::StatusOr<TraceModel> model =
        ImportTrace(reader->get(), import_options,
                    [&progress](uint64_t read_bytes, uint64_t size_bytes) { progress.Update(read_bytes, size_bytes); });
    if (!model.ok()) {
      Complain(kCommand, model.status().message());
      return kExitUnreadable;
    }
    models.push_back(*std::move(model));
  }
  if (models.empty()) return kExitUnreadable;
  if (options->emit_manifest) return EmitManifest(models.front(), *options);

  ReportRequest request = options->report;
  if (IsKernelAlone(*options)) {
    request.ladders_of.emplace();
    for (size_t i = 0; i < models.size(); ++i) {
      for (const TracedKernel& kernel : FindKernels(models[i], options->kernel)) {
        request.ladders_of->emplace(i, kernel.signature);
      }
    }
    if (request.ladders_of->empty()) return Fail(NoSuchKernel(*options));
  }
  if (!options->manifest.empty()) {
    gpuexec::v1::Manifest manifest;
    if (absl::Status status = ReadMessageFile(options->manifest, &manifest); !status.ok()) return Fail(status);
    absl::StatusOr<ManifestBounds> bounds = BoundsOfManifest(manifest, options->kernel, models);
    if (!bounds.ok()) return Fail(bounds.status());
    request.manifest_bounds = *std::move(bounds);
  }
  const bool counted =
      std::any_of(models.begin(), models.end(), [](const TraceModel& model) { return model.counters.any(); });
  if (counted || !options->machine.empty() || !options->manifest.empty() ||
      Named(options->sections, Section::kLadder)) {
    absl::StatusOr<MachinesOfDevices> machines = FindMachines(models, options->machine);
    if (!machines.ok()) {
      Complain(kCommand, machines.status().message());
      return kExitUnreadable;
    }
    if (absl::Status status = CheckFiles(*options, *machines); !status.ok()) {
      Complain(kCommand, status.message());
      return kExitUsage;
    }
    request.ladder_machines = *std::move(machines);
  }
  // First: whoever reads the text may not read all of it.
  if (!WriteWholeReport(models, *options, request)) return kExitUnreadable;
  const Report report = BuildReport(models, request);
  for (const OutputFormat format : options->formats) {
    const bool several = options->formats.size() > 1;
    const std::string path = several ? absl::StrCat(options->output, Extension(format)) : options->output;
    absl::StatusOr<std::string> text = format == OutputFormat::kJson  ? Json(models, request, report)
                                       : format == OutputFormat::kCsv ? Csv(report, options->sections)
                                                                      : ReportText(report, StyleFor(path, *options));
    absl::Status status = text.status();
    if (status.ok()) status = WriteOutput(path, *text);
    if (!status.ok()) {
      Complain(kCommand, absl::StrCat("the report could not be written: ", status.message()));
      return kExitUnreadable;
    }
  }
  return report.data_lost ? kExitDataLost : kExitReport;
}

}  // namespace gx::analysis
