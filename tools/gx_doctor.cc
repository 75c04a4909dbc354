// gx-doctor: what this machine allows gpuexec to record, and what to do about the rest. Options and exit codes only;
// gathering is in tools/doctor/gather.h, judging in tools/doctor/checks.h. See gx-doctor --help.
#include <getopt.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/cli/output.h"
#include "analysis/printable.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/doctor_text.h"
#include "tools/doctor/gather.h"
#include "tools/doctor/own_parts.h"
#include "tools/doctor/verdict.h"

namespace {

using gx::analysis::Complain;
using gx::analysis::Printable;
using gx::doctor::LiveWish;

constexpr char kCommand[] = "gx-doctor";
// Beyond the exit codes of Health.
constexpr int kUsage = 64;

constexpr char kHelp[] = R"(gx-doctor: what this machine allows gpuexec to record, and what to do about the rest

usage: gx-doctor [options] [-- PROGRAM [ARGUMENT]...]

Checks the driver, every libcupti that can be found, the permission to read hardware counters, other profilers, room for
the trace and GPUEXEC_ variables; then, where there is a GPU, runs a small program under the library, first for times,
then for counters. Each check says ok, warning, failure, unknown or n/a, what it saw, and what mends it.

      --json         the same as JSON
      --live         run a program although no GPU is seen
      --no-live      run none
      --library PATH libgpuexec_inject.so to check (default: the one beside this program)
  -h, --help         this text

PROGRAM is run twice instead of gx-kernels' axpy; for counters it has to launch the same kernels for some seconds.

Exit status: 0 all well, 1 degraded (something is missing, in the way or unknown), 2 unusable (no launches and times can
be recorded), 64 wrong usage.

Examples:
  gx-doctor
  gx-doctor --json | python3 -m json.tool
  gx-doctor -- python3 train.py --steps 100
)";

struct Options {
  bool help = false;
  bool json = false;
  LiveWish live = LiveWish::kIfThereIsAGpu;
  std::string library;
  std::vector<std::string> program;
};

// InvalidArgument: what is wrong with the command line.
absl::StatusOr<Options> Parse(int argc, char** argv) {
  constexpr int kJson = 1;
  constexpr int kLive = 2;
  constexpr int kNoLive = 3;
  constexpr int kLibrary = 4;
  static const option kOptions[] = {
      {"help", no_argument, nullptr, 'h'},
      {"json", no_argument, nullptr, kJson},
      {"live", no_argument, nullptr, kLive},
      {"no-live", no_argument, nullptr, kNoLive},
      {"library", required_argument, nullptr, kLibrary},
      {nullptr, 0, nullptr, 0},
  };
  Options options;
  // Ours says what is wrong: getopt's own message would print the argument as it is.
  opterr = 0;
  while (true) {
    const int before = std::max(optind, 1);
    // "+": what is behind the program's name is the program's.
    const int got = ::getopt_long(argc, argv, "+:h", kOptions, nullptr);
    if (got == -1) break;
    switch (got) {
      case 'h':
        options.help = true;
        return options;
      case kJson:
        options.json = true;
        break;
      case kLive:
        options.live = LiveWish::kYes;
        break;
      case kNoLive:
        options.live = LiveWish::kNo;
        break;
      case kLibrary:
        if (*optarg == '\0') return absl::InvalidArgumentError("--library: the name of a file is empty");
        options.library = optarg;
        break;
      default: {
        const char* word = argv[std::min(std::max(before, optind - 1), argc - 1)];
        return absl::InvalidArgumentError(
            absl::StrCat("'", Printable(word), got == ':' ? "' needs a file" : "' is not an option"));
      }
    }
  }
  if (optind < argc && std::string(argv[optind - 1]) != "--") {
    return absl::InvalidArgumentError(absl::StrCat("'", Printable(argv[optind]), "': a program comes behind --"));
  }
  options.program.assign(argv + optind, argv + argc);
  return options;
}

int Run(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == gx::doctor::kLoadInjectionOption) return gx::doctor::LoadInjection(argv[2]);
  absl::StatusOr<Options> options = Parse(argc, argv);
  if (!options.ok()) {
    Complain(kCommand, absl::StrCat(options.status().message(), "\nTry gx-doctor --help."));
    return kUsage;
  }
  if (options->help) return gx::analysis::WriteOutput("", kHelp).ok() ? 0 : kUsage;
  // Whoever started this may ignore it, and then no child's end is told.
  (void)::signal(SIGCHLD, SIG_DFL);
  gx::doctor::GatherOptions gather;
  gather.environment = gx::doctor::Environment::OfProcess();
  gather.library = std::move(options->library);
  gather.live = options->live;
  gather.program = std::move(options->program);
  const std::vector<gx::doctor::Verdict> verdicts = CheckAll(GatherFacts(gather));
  const absl::Status written = gx::analysis::WriteOutput(
      "", options->json ? gx::doctor::DoctorJson(verdicts) : gx::doctor::DoctorText(verdicts));
  if (!written.ok()) Complain(kCommand, written.message());
  return static_cast<int>(gx::doctor::HealthOf(verdicts));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    // Memory ran out, as a rule: the project's own code throws nothing.
    std::cerr << kCommand << ": " << error.what() << "\n";
    return static_cast<int>(gx::doctor::Health::kUnusable);
  }
}
