#include "tools/run/run_options.h"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/printable.h"

namespace gx::tools {
namespace {

using analysis::Printable;

constexpr char kHelp[] =
    R"(usage: gx-run [options] [--] program [arguments]

Runs a program under gpuexec, then says what was recorded, in which processes, and shows a summary of it on standard
error. The program is not changed: its input, output, signals and exit code are what they would be without gx-run.

  -o, --output F       where traces go; %p pid, %h host, %r rank, %% a per cent sign. Default: GPUEXEC_OUTPUT, else
                       trace.pb. Of several processes at once the later ones add their pid to the name; name them
                       trace.%p.pb where one process follows another
  --counters LIST      hardware counters: off, light, core, lean, full, or metrics by name, with commas. Default: core
  --budget PERCENT     share of the run that counters may cost, such as 5 or 5%; off: no limit. Default: 5
  --timing on|off      times of kernels and copies; off: launches only. Default: on
  --api on|off         every call of the CUDA runtime and driver, which makes launches dearer. Default: off
  --region cuda|all    cuda: record between cudaProfilerStart and cudaProfilerStop only. Default: all
  --start-after S      record from S seconds after CUDA's start on
  --duration S         record for S seconds, then no more
  -q, --quiet          no list of traces and no summary where all is well
  --replace-injection  where CUDA_INJECTION64_PATH names another library (a profiler that runs already): take its place
  --anyway             run the program even where the library cannot be loaded
  -h, --help           this text
  --version            the version

Any GPUEXEC_ variable of the environment holds as well (GPUEXEC_HELP=1 lists them); an option wins over its variable.

examples
  gx-run python3 train.py                             trace.pb, and a summary
  gx-run -o trace.%p.pb -- torchrun --nproc-per-node 8 train.py
                                                      a trace for each rank
  gx-run --start-after 60 --duration 30 -- ./server   half a minute, once it is warm
  gx-run --counters off -q -- make test               times alone, and no word if all is well

exit code
  the program's; where a signal ended it, the same signal ends gx-run. 125: gx-run itself failed and the program was not
  run; 126: the program cannot be executed; 127: there is no such program
)";

absl::Status Usage(absl::string_view option, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(option, " '", Printable(value), "': expected ", expected));
}

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Digits with at most one point, as the library reads seconds.
bool IsDecimal(absl::string_view text) {
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  return std::count(text.begin(), text.end(), '.') <= 1 && std::any_of(text.begin(), text.end(), is_digit) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return c == '.' || is_digit(c); });
}

// About three years, as the library has it (inject/config.cc).
constexpr double kMaxSeconds = 1e8;

absl::StatusOr<std::string> Seconds(absl::string_view option, absl::string_view value) {
  double seconds = 0;
  if (!IsDecimal(value) || !absl::SimpleAtod(value, &seconds) || seconds > kMaxSeconds) {
    return Usage(option, value, "seconds such as 30 or 0.5, up to 100000000");
  }
  return std::string(value);
}

absl::StatusOr<std::string> Budget(absl::string_view value) {
  if (value == "off") return std::string(value);
  absl::string_view number = value;
  if (absl::EndsWith(number, "%")) number.remove_suffix(1);
  double percent = 0;
  if (!IsDecimal(number) || !absl::SimpleAtod(number, &percent) || percent <= 0 || percent > 100) {
    return Usage("--budget", value, "a percentage above 0 and up to 100, such as 5 or 0.5%, or off");
  }
  return std::string(number);
}

absl::StatusOr<std::string> Counters(absl::string_view value) {
  if (IsOneOf(value, {"off", "light", "core", "lean", "full"})) return std::string(value);
  for (const absl::string_view metric : absl::StrSplit(value, ',')) {
    // Every metric of CUPTI names its unit so: sm__cycles_active.avg. Whether the chip has it the library says.
    if (!absl::StrContains(metric, "__")) {
      return Usage("--counters", value, "off, light, core, lean, full, or metrics such as sm__cycles_active.avg");
    }
  }
  return std::string(value);
}

absl::StatusOr<std::string> Word(absl::string_view option, absl::string_view value,
                                 std::initializer_list<absl::string_view> words, absl::string_view expected) {
  if (!IsOneOf(value, words)) return Usage(option, value, expected);
  return std::string(value);
}

}  // namespace

absl::StatusOr<RunOptions> ParseRunOptions(const std::vector<std::string>& arguments) {
  enum Option { kCounters = 1, kBudget, kTiming, kApi, kRegion, kStartAfter, kDuration, kReplace, kAnyway, kVersion };
  static const option kOptions[] = {
      {"help", no_argument, nullptr, 'h'},
      {"version", no_argument, nullptr, kVersion},
      {"quiet", no_argument, nullptr, 'q'},
      {"output", required_argument, nullptr, 'o'},
      {"counters", required_argument, nullptr, kCounters},
      {"budget", required_argument, nullptr, kBudget},
      {"timing", required_argument, nullptr, kTiming},
      {"api", required_argument, nullptr, kApi},
      {"region", required_argument, nullptr, kRegion},
      {"start-after", required_argument, nullptr, kStartAfter},
      {"duration", required_argument, nullptr, kDuration},
      {"replace-injection", no_argument, nullptr, kReplace},
      {"anyway", no_argument, nullptr, kAnyway},
      {nullptr, 0, nullptr, 0},
  };
  std::vector<std::string> words = {"gx-run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());

  RunOptions options;
  // 0: start anew. '+': what follows the program is the program's. Ours says what is wrong: getopt's own message would
  // print the argument as it is.
  optind = 0;
  opterr = 0;
  while (true) {
    const int before = std::max(optind, 1);
    const int got = ::getopt_long(argc, argv.data(), "+:hqo:", kOptions, nullptr);
    if (got == -1) break;
    const absl::string_view value = optarg == nullptr ? "" : optarg;
    const char* variable = nullptr;
    absl::StatusOr<std::string> setting = std::string(value);
    switch (got) {
      case 'h':
        options.help = true;
        return options;
      case kVersion:
        options.version = true;
        return options;
      case 'q':
        options.quiet = true;
        continue;
      case kReplace:
        options.replace_injection = true;
        continue;
      case kAnyway:
        options.anyway = true;
        continue;
      case 'o':
        variable = "GPUEXEC_OUTPUT";
        if (value.empty() || absl::EndsWith(value, "/")) setting = Usage("--output", value, "the path of a file");
        break;
      case kCounters:
        variable = "GPUEXEC_COUNTERS";
        setting = Counters(value);
        break;
      case kBudget:
        variable = "GPUEXEC_BUDGET";
        setting = Budget(value);
        break;
      case kTiming:
        variable = "GPUEXEC_TIMING";
        setting = Word("--timing", value, {"on", "off"}, "on or off");
        break;
      case kApi:
        variable = "GPUEXEC_API";
        setting = Word("--api", value, {"on", "off"}, "on or off");
        break;
      case kRegion:
        variable = "GPUEXEC_REGION";
        setting = Word("--region", value, {"cuda", "all"}, "cuda or all");
        break;
      case kStartAfter:
        variable = "GPUEXEC_START_AFTER";
        setting = Seconds("--start-after", value);
        break;
      case kDuration:
        variable = "GPUEXEC_DURATION";
        setting = Seconds("--duration", value);
        break;
      default: {
        const std::string& word = words[static_cast<size_t>(std::min(std::max(before, optind - 1), argc - 1))];
        return absl::InvalidArgumentError(
            absl::StrCat("'", Printable(word), got == ':' ? "' needs a value" : "' is not an option of gx-run"));
      }
    }
    if (!setting.ok()) return setting.status();
    const auto is_set = [&](const auto& earlier) { return earlier.first == variable; };
    if (std::any_of(options.settings.begin(), options.settings.end(), is_set)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", Printable(words[static_cast<size_t>(before)]), "' sets what another option has set"));
    }
    options.settings.emplace_back(variable, *std::move(setting));
  }
  options.command.assign(std::next(words.begin(), optind), words.end());
  if (options.command.empty()) return absl::InvalidArgumentError("expected a program to run");
  if (options.command[0].empty()) return absl::InvalidArgumentError("the program's name is empty");
  return options;
}

std::string RunHelp() { return kHelp; }

}  // namespace gx::tools
