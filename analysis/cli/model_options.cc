#include "analysis/cli/model_options.h"

#include <getopt.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/manifest/message_file.h"
#include "analysis/model/evidence.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

absl::Status Usage(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (gx-model --help shows the options)"));
}

enum Option : int { kObservation = 1, kFailOnMismatch, kFormat, kOutput, kDevice, kListDevices, kHelp, kVersion };
constexpr option kOptions[] = {
    {"observation", required_argument, nullptr, kObservation},
    {"fail-on-mismatch", no_argument, nullptr, kFailOnMismatch},
    {"format", required_argument, nullptr, kFormat},
    {"output", required_argument, nullptr, kOutput},
    {"device", required_argument, nullptr, kDevice},
    {"list-devices", no_argument, nullptr, kListDevices},
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

absl::Status ParseFormat(absl::string_view word, ModelFormat* format) {
  if (word == "text") {
    *format = ModelFormat::kText;
  } else if (word == "json") {
    *format = ModelFormat::kJson;
  } else if (word == "pb") {
    *format = ModelFormat::kBinary;
  } else if (word == "textproto") {
    *format = ModelFormat::kTextproto;
  } else {
    return Usage(absl::StrCat("--format: '", Printable(word), "' is not one of text, json, pb, textproto"));
  }
  return absl::OkStatus();
}

// `found` as getopt_long names it.
absl::Status MissingValue(int found) {
  for (const option& known : kOptions) {
    if (known.name != nullptr && known.val == found) return Usage(absl::StrCat("--", known.name, " needs a value"));
  }
  return Usage(absl::StrCat("-", std::string(1, static_cast<char>(found)), " needs a value"));
}

absl::Status SetName(absl::string_view option_name, const std::string& argument, std::string* name) {
  if (argument.empty()) return Usage(absl::StrCat("--", option_name, ": the name is empty"));
  *name = argument;
  return absl::OkStatus();
}

// One option that has the value it needs.
absl::Status Apply(int found, const std::string& argument, ModelOptions* options) {
  switch (found) {
    case kObservation:
      return SetName("observation", argument, &options->observation);
    case kFailOnMismatch:
      options->fail_on_mismatch = true;
      break;
    case kFormat:
      return ParseFormat(argument, &options->format);
    case 'o':
    case kOutput:
      return SetName("output", argument, &options->output);
    case kDevice:
      return SetName("device", argument, &options->device);
    case kListDevices:
      options->list_devices = true;
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

absl::StatusOr<ModelOptions> ParseModelOptions(const std::vector<std::string>& arguments) {
  // getopt_long wants writable strings and argv[0].
  std::vector<std::string> copies = {"gx-model"};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(copies.size());

  ModelOptions options;
  ::optind = 0;  // GNU: start anew.
  ::opterr = 0;
  while (true) {
    const int index_before = std::max(1, ::optind);
    // A colon in front: a missing argument is told apart from an unknown option.
    const int found = ::getopt_long(argc, argv.data(), ":ho:", kOptions, nullptr);
    if (found == -1) break;
    if (found == ':') return MissingValue(::optopt);
    if (found == '?') {
      // getopt moves operands behind options: the offending word is the one just passed.
      const size_t at = static_cast<size_t>(std::max(1, std::max(index_before, ::optind - 1)));
      return Usage(absl::StrCat("unknown option '", Printable(argv[std::min(at, copies.size() - 1)]), "'"));
    }
    const std::string argument = ::optarg == nullptr ? "" : ::optarg;
    if (absl::Status status = Apply(found, argument, &options); !status.ok()) return status;
    if (options.help || options.version) return options;
  }
  if (argc - ::optind > 1) {
    return Usage(absl::StrCat("one manifest at a time: '", Printable(argv[static_cast<size_t>(::optind) + 1]),
                              "' is one too many"));
  }
  if (argc > ::optind) options.manifest = argv[static_cast<size_t>(::optind)];
  if (options.list_devices) {
    if (!options.manifest.empty()) return Usage("--list-devices takes no manifest");
    return options;
  }
  if (options.manifest.empty()) return Usage("no manifest is named");
  return options;
}

std::string ModelHelp() {
  return absl::StrCat(
      R"(usage: gx-model [options] MANIFEST

Evaluates the analytical model on an execution manifest (one operation, dispatch, machine and schedule) and prints what
follows: grid, occupancy, waves, memory access, tile work, fusion, roofline bounds. With an observation, checks whether
it may be called measured and puts it beside the lower bound. Needs no GPU.

MANIFEST is a gpuexec.v1.Manifest as textproto, protobuf JSON or binary, by its extension (.textproto, .json, .pb) or
else by its contents; - is standard input; at most )",
      kMaxMessageFileBytes >> 20, R"( MiB. The fields are described in share/gpuexec/proto/gpuexec/v1.

  --observation F      evidence bundle of this case (gpuexec.v1.Observation, same forms)
  --fail-on-mismatch   exit with 1 where the manifest's expected values are not what is derived, where none was compared
                       (none is stated, or --device is given), or where the observation is below the lower bound
  --format FORM        text, json, pb or textproto (the last three: gpuexec.v1.ModelReport). Default: text
  -o, --output F       write to the file F. Default: standard output
  --device NAME        take SMs, limits and roofs from this product instead of the manifest's machine
  --list-devices       the products that --device knows
  -h, --help           this text
  --version            the version

An observation that says locally_measured is refused, with every fault in a line of its own, unless it has )",
      model::kMinRawSamples, R"( raw
samples or more, the exact dispatch key, backend and kernel, a reference with tolerance and error, and the profiler's
command, report and counters. The template says unmeasured, and nothing is put in its place.

examples (in share/gpuexec/examples)
  gx-model gemm_4096_bf16.textproto
  gx-model --observation observation_unmeasured.textproto --fail-on-mismatch gemm_4096_bf16.textproto
  gx-model --device 'H100 SXM' --format json gemm_4096_bf16.textproto | jq .derived.waves

environment
  NO_COLOR             set to anything: no colours. They are used on a terminal only.

exit codes
  0  report made
  1  report made, but the model refuses part of the manifest, or the observation is refused; with --fail-on-mismatch
     also where something differs (above). The report begins with it
  2  wrong usage, the manifest or the observation could not be read, or the report could not be written
)");
}

}  // namespace gx::analysis
