// gx-kernels: runs the demo cases, prints what each one is expected to do and whether its numbers are right.
// Exit code: 0 all right, 1 a case failed or no device answers, 2 wrong usage.
#include <cuda_runtime.h>
#include <getopt.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/case_list.h"
#include "kernels/ceilings.h"
#include "kernels/kernel_case.h"
#include "kernels/pairs/pair.h"

namespace {

using gx::kernels::AllCases;
using gx::kernels::Case;
using gx::kernels::CaseRun;
using gx::kernels::DefaultCases;
using gx::kernels::PairCases;

constexpr char kUsage[] =
    "usage: gx-kernels [--list | --json] [--all] [--case NAME]... [--size N] [--repeat N]\n"
    "\n"
    "Small CUDA programs with answers known on paper. Each prints what it is expected to do (launches, bytes, FLOP,\n"
    "kernels by shape), checks its numbers against a reference in double precision, and says PASS, FAIL or SKIP.\n"
    "\n"
    "  --list        names the cases that would run, and what --size and --repeat mean for each\n"
    "  --json        all cases, or those of --case, and the pairs, for programs: kernels, paper values, what is "
    "expected\n"
    "  --all         runs every case: those of a plain run, and the pairs of a defect and its cure (about a minute)\n"
    "  --case NAME   runs this case only; may be given again, or as a list: axpy,triad; pairs: all cases of pairs\n"
    "  --ceilings    no cases: measures what the GPU sustains; see gx-kernels --ceilings --help\n"
    "  --size N      instead of each case's own size\n"
    "  --repeat N    instead of each case's own number of repetitions\n"
    "\n"
    "examples:\n"
    "  gx-kernels\n"
    "  gx-kernels --case launch_storm --size 1000000\n"
    "  gx-kernels --case stride_defect,stride_cure\n"
    "  CUDA_INJECTION64_PATH=libgpuexec_inject.so gx-kernels --case axpy,graph_replay\n"
    "\n"
    "exit code: 0 all right, 1 a case failed or there is no device, 2 wrong usage\n";

struct Options {
  bool list = false;
  bool json = false;
  bool all = false;
  std::vector<const Case*> cases;
  std::optional<uint64_t> size;
  std::optional<uint64_t> repeat;
};

const Case* FindCase(std::string_view name) {
  for (const Case* known : AllCases()) {
    if (known->name == name) return known;
  }
  return nullptr;
}

// Adds the cases of a comma-separated list; false after saying which name is unknown.
bool AddCases(std::string_view list, std::vector<const Case*>* cases) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    const Case* found = FindCase(name);
    if (found != nullptr) {
      cases->push_back(found);
    } else if (name == "pairs") {
      cases->insert(cases->end(), PairCases().begin(), PairCases().end());
    } else {
      std::fprintf(stderr, "gx-kernels: no case named '%s'; see gx-kernels --list --all\n", std::string(name).c_str());
      return false;
    }
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// A whole number from 1 to 10^12; false after saying what is wrong.
bool ParseCount(const char* option, const char* text, std::optional<uint64_t>* value) {
  uint64_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc() || rest != end || number < 1 || number > 1'000'000'000'000) {
    std::fprintf(stderr, "gx-kernels: %s wants a whole number from 1 to 1000000000000, got '%s'\n", option, text);
    return false;
  }
  *value = number;
  return true;
}

// Unset: the exit code is in *exit_code.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code) {
  static const option kOptions[] = {
      {"list", no_argument, nullptr, 'l'},       {"json", no_argument, nullptr, 'j'},
      {"all", no_argument, nullptr, 'a'},        {"case", required_argument, nullptr, 'c'},
      {"size", required_argument, nullptr, 's'}, {"repeat", required_argument, nullptr, 'r'},
      {"help", no_argument, nullptr, 'h'},       {nullptr, 0, nullptr, 0}};
  Options options;
  *exit_code = 2;
  for (int letter = 0; (letter = getopt_long(argc, argv, "hljac:s:r:", kOptions, nullptr)) != -1;) {
    switch (letter) {
      case 'l':
        options.list = true;
        break;
      case 'j':
        options.json = true;
        break;
      case 'a':
        options.all = true;
        break;
      case 'c':
        if (!AddCases(optarg, &options.cases)) return std::nullopt;
        break;
      case 's':
        if (!ParseCount("--size", optarg, &options.size)) return std::nullopt;
        break;
      case 'r':
        if (!ParseCount("--repeat", optarg, &options.repeat)) return std::nullopt;
        break;
      case 'h':
        std::fputs(kUsage, stdout);
        *exit_code = 0;
        return std::nullopt;
      default:
        std::fputs("gx-kernels: see gx-kernels --help\n", stderr);
        return std::nullopt;
    }
  }
  if (optind != argc) {
    std::fprintf(stderr, "gx-kernels: unexpected argument '%s'; see gx-kernels --help\n", argv[optind]);
    return std::nullopt;
  }
  if (options.all && !options.cases.empty()) {
    std::fputs("gx-kernels: --all and --case exclude each other\n", stderr);
    return std::nullopt;
  }
  if (options.cases.empty()) options.cases = options.all || options.json ? AllCases() : DefaultCases();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (gx::kernels::WantsCeilings(argc, argv)) return gx::kernels::RunCeilings(argc, argv);
  int exit_code = 0;
  const std::optional<Options> options = ParseOptions(argc, argv, &exit_code);
  if (!options.has_value()) return exit_code;
  if (options->json) {
    std::fputs(gx::kernels::ListAsJson(options->cases, options->size, options->repeat).c_str(), stdout);
    return 0;
  }
  if (options->list) {
    std::fputs(gx::kernels::ListAsText(options->cases).c_str(), stdout);
    return 0;
  }
  cudaDeviceProp device = {};
  const cudaError_t found = cudaGetDeviceProperties(&device, 0);
  if (found != cudaSuccess) {
    std::fprintf(stderr, "gx-kernels: no CUDA device answers: %s (%s)\n", cudaGetErrorName(found),
                 cudaGetErrorString(found));
    return 1;
  }
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const Case* one : options->cases) {
    CaseRun run(*one, options->size.value_or(one->default_size), options->repeat.value_or(one->default_repeat), device);
    one->run(run);
    if (!run.Finish()) {
      ++failed;
      // A sticky error (a kernel that faulted) spoils every later case; an ordinary one is forgotten here.
      (void)cudaGetLastError();
    } else if (run.skipped()) {
      ++skipped;
    } else {
      ++passed;
    }
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed == 0 ? 0 : 1;
}
