// gx-machine: shows a machine file, and adds to it what tracing costs and what counters are worth. Options and exit
// codes only; what is done is in analysis/tracing_bias.h, counter_check.h, machine_identity.h and machine_text.h. See
// gx-machine
// --help.
#include <getopt.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "analysis/cli/output.h"
#include "analysis/counter_check.h"
#include "analysis/machine_file.h"
#include "analysis/machine_identity.h"
#include "analysis/machine_text.h"
#include "analysis/manifest/message_file.h"
#include "analysis/printable.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_model.h"
#include "analysis/trace_reader.h"
#include "analysis/tracing_bias.h"
#include "gpuexec/v1/kernel_list.pb.h"
#include "gpuexec/v1/machine.pb.h"

namespace {

using gpuexec::v1::MachineFile;
using gx::analysis::Complain;
using gx::analysis::Printable;

constexpr char kCommand[] = "gx-machine";
constexpr int kOk = 0;
constexpr int kNoMatch = 1;
constexpr int kUsage = 2;
constexpr int kUnreadable = 3;

constexpr char kHelp[] =
    R"(usage: gx-machine show FILE
       gx-machine merge --machine FILE [--traced FILE --trace FILE] [--known FILE --counted FILE ...] -o FILE
                        [--anonymous]

Machine files hold what a GPU sustains, as 'gx-kernels --ceilings' measured it (gpuexec.v1.MachineFile).

show    prints one as a table.
merge   adds to one, in place of what it has of the same kind:
        what tracing costs, from a second run of the same kernels under injection (--traced, --trace);
        how far hardware counters are off, from traces of cases whose answers are known (--known, --counted).
        Either, or both.

  --machine FILE   of 'gx-kernels --ceilings -o FILE'
  --traced FILE    of 'gx-kernels --ceilings=kernels -o FILE' under injection, on the same device
  --trace FILE     the trace that this second run left
  --known FILE     of 'gx-kernels --json --case pairs', by the gx-kernels whose runs were counted
  --counted FILE   a trace of such cases with GPUEXEC_COUNTERS=lean, on the same device; may be given again and again
  -o, --output F   the machine file with all of it; none of the others
  --anonymous      leaves out UUID, PCI address and folders of the command line, for a file that goes to others: it is
                   taken for every device of the same product, and what tracing costs can be added no more

  -h, --help       this text

Exit status: 0 done, 1 the files do not belong together, 2 wrong usage, 3 a file could not be read or written.

Example:
  gx-kernels --ceilings -o measured.pb
  CUDA_INJECTION64_PATH=libgpuexec_inject.so GPUEXEC_COUNTERS=off GPUEXEC_OUTPUT=bias.pb \
      gx-kernels --ceilings=kernels -o traced.pb
  gx-kernels --json --case pairs > known.json
  CUDA_INJECTION64_PATH=libgpuexec_inject.so GPUEXEC_COUNTERS=lean GPUEXEC_OUTPUT=counted.pb \
      gx-kernels --case bank_conflict_defect --repeat 10000
  gx-machine merge --machine measured.pb --traced traced.pb --trace bias.pb --known known.json --counted counted.pb \
      -o machine.pb
)";

struct Options {
  bool help = false;
  bool anonymous = false;
  std::string machine;
  std::string traced;
  std::string trace;
  std::string known;
  std::vector<std::string> counted;
  std::string output;
  // Command first.
  std::vector<std::string> operands;
};

int Usage(absl::string_view problem) {
  Complain(kCommand, absl::StrCat(problem, "\nTry gx-machine --help."));
  return kUsage;
}

int Fail(int exit_code, absl::string_view problem) {
  Complain(kCommand, problem);
  return exit_code;
}

// InvalidArgument: what is wrong with the command line.
absl::StatusOr<Options> Parse(int argc, char** argv) {
  constexpr int kMachine = 1;
  constexpr int kTraced = 2;
  constexpr int kTrace = 3;
  constexpr int kAnonymous = 4;
  constexpr int kKnown = 5;
  constexpr int kCounted = 6;
  static const option kOptions[] = {
      {"help", no_argument, nullptr, 'h'},
      {"output", required_argument, nullptr, 'o'},
      {"machine", required_argument, nullptr, kMachine},
      {"traced", required_argument, nullptr, kTraced},
      {"trace", required_argument, nullptr, kTrace},
      {"known", required_argument, nullptr, kKnown},
      {"counted", required_argument, nullptr, kCounted},
      {"anonymous", no_argument, nullptr, kAnonymous},
      {nullptr, 0, nullptr, 0},
  };
  Options options;
  // Ours says what is wrong: getopt's own message would print the argument as it is.
  opterr = 0;
  while (true) {
    const int before = std::max(optind, 1);
    const int got = ::getopt_long(argc, argv, ":ho:", kOptions, nullptr);
    if (got == -1) break;
    std::string* value = nullptr;
    switch (got) {
      case 'h':
        options.help = true;
        return options;
      case kAnonymous:
        options.anonymous = true;
        continue;
      case 'o':
        value = &options.output;
        break;
      case kMachine:
        value = &options.machine;
        break;
      case kTraced:
        value = &options.traced;
        break;
      case kTrace:
        value = &options.trace;
        break;
      case kKnown:
        value = &options.known;
        break;
      case kCounted:
        // The one option that may be repeated.
        value = &options.counted.emplace_back();
        break;
      default: {
        // getopt moves operands behind options: the offending word is the one just passed.
        const char* word = argv[std::min(std::max(before, optind - 1), argc - 1)];
        return absl::InvalidArgumentError(
            absl::StrCat("'", Printable(word), got == ':' ? "' needs a file" : "' is not an option"));
      }
    }
    if (*optarg == '\0') return absl::InvalidArgumentError("the name of a file is empty");
    if (!value->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("an option was given twice: '", Printable(*value), "' and '", Printable(optarg), "'"));
    }
    *value = optarg;
  }
  options.operands.assign(argv + optind, argv + argc);
  return options;
}

int Show(const Options& options) {
  if (options.anonymous || !options.counted.empty() ||
      !(options.machine + options.traced + options.trace + options.known + options.output).empty()) {
    return Usage("show takes no options");
  }
  if (options.operands.size() != 2) {
    return Usage(absl::StrCat("show: expected one machine file, got ", options.operands.size() - 1));
  }
  const absl::StatusOr<MachineFile> machine = gx::analysis::ReadMachineFile(options.operands[1]);
  if (!machine.ok()) return Fail(kUnreadable, machine.status().message());
  const absl::Status written = gx::analysis::WriteOutput("", gx::analysis::MachineFileText(*machine));
  return written.ok() ? kOk : Fail(kUnreadable, written.message());
}

// Complete or not at all.
absl::Status WriteMachineFile(const std::string& path, const MachineFile& machine) {
  const std::string part = path + ".part";
  std::string bytes;
  if (!machine.SerializeToString(&bytes)) return absl::InternalError("the file does not fit into one message");
  // For others to read: it names no program.
  constexpr mode_t kMode = 0644;
  absl::Status status = gx::analysis::WriteOutput(part, bytes, kMode);
  std::error_code error;
  if (status.ok()) {
    std::filesystem::rename(part, path, error);
    if (error) status = absl::UnknownError(absl::StrCat(Printable(path), ": ", error.message()));
  }
  std::error_code ignored;
  if (!status.ok()) std::filesystem::remove(part, ignored);
  return status;
}

// "": the options of merge go together.
std::string MergeProblem(const Options& options) {
  if (options.operands.size() != 1) {
    return absl::StrCat("merge: expected options alone, got also '", Printable(options.operands[1]), "'");
  }
  if (options.machine.empty()) return "merge needs --machine FILE";
  if (options.output.empty()) return "merge needs -o FILE";
  if (options.traced.empty() != options.trace.empty()) {
    return absl::StrCat("merge needs ", options.traced.empty() ? "--traced" : "--trace", " FILE as well");
  }
  if (options.known.empty() != options.counted.empty()) {
    return absl::StrCat("merge needs ", options.known.empty() ? "--known" : "--counted", " FILE as well");
  }
  if (options.traced.empty() && options.known.empty()) {
    return "merge needs something to add: --traced and --trace, or --known and --counted";
  }
  std::vector<std::string> inputs = {options.machine, options.traced, options.trace, options.known};
  inputs.insert(inputs.end(), options.counted.begin(), options.counted.end());
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (!input.empty() && std::filesystem::equivalent(options.output, input, ignored)) {
      return absl::StrCat("-o: '", Printable(options.output), "' is one of the files to merge");
    }
  }
  return "";
}

// What is damaged is said.
absl::StatusOr<gx::analysis::TraceModel> ReadTrace(const std::string& path) {
  const auto reader = gx::analysis::TraceReader::Open(path);
  if (!reader.ok()) return reader.status();
  auto trace = gx::analysis::ImportTrace(reader->get(), {}, [](uint64_t, uint64_t) {});
  if (trace.ok() && trace->damage_count + trace->undecodable_record_count > 0) {
    Complain(kCommand, absl::StrCat(Printable(path),
                                    ": parts are damaged or missing (gx-analyze tells which): "
                                    "medians are of the records that are left"));
  }
  return trace;
}

// Exit code.
int AddTracing(const Options& options, MachineFile* machine) {
  const absl::StatusOr<MachineFile> traced = gx::analysis::ReadMachineFile(options.traced);
  if (!traced.ok()) return Fail(kUnreadable, traced.status().message());
  const auto trace = ReadTrace(options.trace);
  if (!trace.ok()) return Fail(kUnreadable, trace.status().message());
  if (const absl::Status status = gx::analysis::AddTracingBias(*traced, machine); !status.ok()) {
    return Fail(kNoMatch, absl::StrCat("--machine ", Printable(options.machine), ", --traced ",
                                       Printable(options.traced), ": ", status.message()));
  }
  if (const absl::Status status = gx::analysis::AddRecordedDurations(*trace, machine); !status.ok()) {
    return Fail(kNoMatch, absl::StrCat("--trace ", status.message()));
  }
  return kOk;
}

// The first few.
std::string Listed(std::vector<std::string> names) {
  constexpr size_t kMostNamed = 3;
  const bool are_more = names.size() > kMostNamed;
  names.resize(std::min(names.size(), kMostNamed));
  return absl::StrCat(absl::StrJoin(names, ", "), are_more ? ", ..." : "");
}

// Exit code. One trace is in memory at a time.
int AddCounters(const Options& options, MachineFile* machine) {
  gpuexec::v1::KernelList known;
  if (const absl::Status status = gx::analysis::ReadMessageFile(options.known, &known); !status.ok()) {
    return Fail(kUnreadable, status.message());
  }
  absl::StatusOr<gx::analysis::CounterChecks> checks = gx::analysis::CounterChecks::Of(known);
  if (!checks.ok()) {
    return Fail(kNoMatch, absl::StrCat("--known ", Printable(options.known), ": ", checks.status().message()));
  }
  std::vector<std::string> without;
  for (const std::string& path : options.counted) {
    const auto trace = ReadTrace(path);
    if (!trace.ok()) return Fail(kUnreadable, trace.status().message());
    const absl::StatusOr<uint64_t> added = checks->AddTrace(*trace, machine->device());
    if (!added.ok()) return Fail(kNoMatch, absl::StrCat("--counted ", added.status().message()));
    if (*added == 0) without.push_back(Printable(path));
  }
  if (const absl::Status status = checks->Finish(machine); !status.ok()) {
    return Fail(kNoMatch, absl::StrCat("--counted: ", status.message()));
  }
  if (!without.empty()) {
    Complain(kCommand, absl::StrCat(without.size(), " of ", options.counted.size(),
                                    " traces have no counted launch of a case with known answers: ", Listed(without)));
  }
  if (const std::vector<std::string> uncounted = checks->Uncounted(); !uncounted.empty()) {
    Complain(kCommand, absl::StrCat("not counted: ", uncounted.size(), " of ", checks->known_count(),
                                    " known answers: ", Listed(uncounted)));
  }
  return kOk;
}

// What was added, on standard error.
void TellMerged(const Options& options, const MachineFile& machine) {
  std::vector<std::string> parts;
  if (!options.traced.empty()) {
    const auto& biases = machine.tracing_bias();
    const auto recorded =
        std::count_if(biases.begin(), biases.end(), [](const auto& bias) { return bias.has_recorded(); });
    parts.push_back(absl::StrCat("what tracing adds to ", biases.size(), " of ", machine.kernel_timing_size(),
                                 " kernels; ", recorded, " of them with records"));
  }
  if (!options.known.empty()) parts.push_back(absl::StrCat(machine.counter_check_size(), " known answers counted"));
  Complain(kCommand, absl::StrCat(Printable(options.output), ": ", absl::StrJoin(parts, "; ")));
}

int Merge(const Options& options) {
  if (const std::string problem = MergeProblem(options); !problem.empty()) return Usage(problem);
  absl::StatusOr<MachineFile> machine = gx::analysis::ReadMachineFile(options.machine);
  if (!machine.ok()) return Fail(kUnreadable, machine.status().message());
  if (!options.traced.empty()) {
    if (const int exit_code = AddTracing(options, &*machine); exit_code != kOk) return exit_code;
  }
  if (!options.known.empty()) {
    if (const int exit_code = AddCounters(options, &*machine); exit_code != kOk) return exit_code;
  }
  if (options.anonymous) gx::analysis::RemoveMachineIdentity(&*machine);
  if (const absl::Status status = WriteMachineFile(options.output, *machine); !status.ok()) {
    return Fail(kUnreadable, absl::StrCat("the machine file could not be written: ", status.message()));
  }
  TellMerged(options, *machine);
  return kOk;
}

int Run(int argc, char** argv) {
  const absl::StatusOr<Options> options = Parse(argc, argv);
  if (!options.ok()) return Usage(options.status().message());
  if (options->help) return gx::analysis::WriteOutput("", kHelp).ok() ? kOk : kUnreadable;
  if (options->operands.empty()) return Usage("expected a command: show or merge");
  if (options->operands[0] == "show") return Show(*options);
  if (options->operands[0] == "merge") return Merge(*options);
  return Usage(absl::StrCat("'", Printable(options->operands[0]), "' is not a command: expected show or merge"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    // Memory ran out, as a rule: the project's own code throws nothing.
    std::cerr << "gx-machine: " << error.what() << "\n";
    return kUnreadable;
  }
}
