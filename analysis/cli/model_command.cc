#include "analysis/cli/model_command.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/cli/model_options.h"
#include "analysis/cli/output.h"
#include "analysis/format.h"
#include "analysis/manifest/message_file.h"
#include "analysis/manifest/model_report.h"
#include "analysis/manifest/model_text.h"
#include "analysis/model/products.h"
#include "analysis/printable.h"
#include "analysis/text_table.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr char kCommand[] = "gx-model";

std::string DeviceTable() {
  TextTable table;
  table.Add({.title = "name", .right = false});
  table.Add({.title = "class", .right = false});
  for (const char* title : {"capability", "SMs", "boost", "memory TB/s", "L2"}) table.Add({.title = title});
  table.Add({.title = "source", .right = false});
  for (const model::Product& product : model::Products()) {
    table.Put(Printable(product.name));
    table.Put(std::string(model::ProductClassName(product.product_class)));
    table.Put(product.compute_capability.ToString());
    table.Put(absl::StrCat(product.sm_count));
    table.Put(FormatHz(product.boost_clock_hz));
    table.Put(FormatDecimal(product.memory_bytes_per_second / 1e12, 3));
    table.Put(FormatBytes(static_cast<uint64_t>(product.l2_bytes)));
    table.Put(absl::StrCat(Printable(product.source), " (", model::SourceKindName(product.source_kind),
                           product.conflict ? "; sources disagree" : "", ")"));
  }
  std::string text;
  for (const std::string& line : table.Lines(0)) absl::StrAppend(&text, line, "\n");
  return text;
}

absl::StatusOr<std::string> Render(const v1::Manifest& manifest, const v1::ModelReport& report, ModelFormat format,
                                   bool colour) {
  std::string text;
  switch (format) {
    case ModelFormat::kJson: {
      google::protobuf::util::JsonPrintOptions options;
      options.add_whitespace = true;
      options.preserve_proto_field_names = true;
      const auto status = google::protobuf::util::MessageToJsonString(report, &text, options);
      if (!status.ok()) return absl::InternalError(Printable(status.ToString()));
      return text;
    }
    case ModelFormat::kBinary:
      if (!report.SerializeToString(&text)) return absl::InternalError("the report does not fit into one message");
      return text;
    case ModelFormat::kTextproto: {
      google::protobuf::TextFormat::Printer printer;
      printer.SetUseShortRepeatedPrimitives(true);
      if (!printer.PrintToString(report, &text)) return absl::InternalError("the report could not be printed");
      return absl::StrCat("# proto-file: gpuexec/v1/model_report.proto\n# proto-message: ModelReport\n\n", text);
    }
    case ModelFormat::kText:
      break;
  }
  return ModelReportText(manifest, report, colour);
}

int ExitCode(const v1::ModelReport& report, bool fail_on_mismatch) {
  if (fail_on_mismatch && report.compared_count() == 0) {
    Complain(kCommand, absl::StrCat("--fail-on-mismatch: no expected values were compared",
                                    report.device().empty() ? "" : ": --device takes another machine than theirs"));
    return kModelMismatch;
  }
  if (!report.fault().empty() || !report.reconciliation().refusal().empty()) return kModelMismatch;
  const bool differs = !report.mismatch().empty() || report.reconciliation().model_violation();
  return fail_on_mismatch && differs ? kModelMismatch : kModelReport;
}

int Fail(const absl::Status& status) {
  Complain(kCommand, status.message());
  return kModelUnusable;
}

int Write(const std::string& path, const std::string& text) {
  const absl::Status status = WriteOutput(path, text);
  if (status.ok()) return kModelReport;
  return Fail(absl::UnknownError(absl::StrCat("the report could not be written: ", status.message())));
}

std::string ManifestPath(const ModelOptions& options) {
  return options.manifest == "-" ? "/dev/stdin" : options.manifest;
}

// The report must not take the place of what it is made of.
absl::Status CheckOutput(const ModelOptions& options) {
  if (options.output.empty()) return absl::OkStatus();
  std::vector<NamedFile> inputs = {{"manifest", ManifestPath(options)}};
  if (!options.observation.empty()) inputs.push_back({"--observation", options.observation});
  return CheckOutputs(inputs, {{"--output", options.output}});
}

}  // namespace

int RunModel(const std::vector<std::string>& arguments) {
  const absl::StatusOr<ModelOptions> options = ParseModelOptions(arguments);
  if (!options.ok()) return Fail(options.status());
  if (options->help) return Write("", ModelHelp());
  if (options->version) return Write("", absl::StrCat(kCommand, " ", GPUEXEC_VERSION, "\n"));
  if (options->list_devices) return Write(options->output, DeviceTable());

  if (absl::Status status = CheckOutput(*options); !status.ok()) return Fail(status);
  v1::Manifest manifest;
  if (absl::Status status = ReadMessageFile(ManifestPath(*options), &manifest); !status.ok()) return Fail(status);
  ModelRequest request;
  v1::Observation observation;
  if (!options->observation.empty()) {
    if (absl::Status status = ReadMessageFile(options->observation, &observation); !status.ok()) return Fail(status);
    request.observation = &observation;
  }
  std::optional<model::ProductMatch> match;
  if (!options->device.empty()) {
    const absl::StatusOr<model::ProductMatch> found = model::FindProduct(options->device);
    if (!found.ok()) {
      return Fail(absl::NotFoundError(absl::StrCat("--device: ", Printable(found.status().message()))));
    }
    match = *found;
    request.device = match->product;
  }

  v1::ModelReport report = BuildModelReport(manifest, request);
  if (match.has_value() && !match->remark.empty()) {
    report.add_note(absl::StrCat("--device: ", match->remark));
  }
  const absl::StatusOr<std::string> text = Render(manifest, report, options->format, ColourWanted(options->output));
  if (!text.ok()) return Fail(text.status());
  const int written = Write(options->output, *text);
  return written != kModelReport ? written : ExitCode(report, options->fail_on_mismatch);
}

}  // namespace gx::analysis
