#include "inject/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "inject/nearest_name.h"
#include "inject/path_name.h"

namespace gx::inject {
namespace {

constexpr std::string_view kPrefix = "GPUEXEC_";
// Queues and buffers below this do not hold one CUPTI buffer and one queue.
constexpr uint64_t kMaxMemoryBytes = uint64_t{64} << 30;
constexpr uint64_t kMinMemoryBytes = uint64_t{8} << 20;
constexpr uint64_t kNsPerSecond = 1'000'000'000;
// A name further away than this was not mistyped, it is another name.
constexpr size_t kMaxTypos = 3;
// Of a value that is quoted in a problem.
constexpr size_t kMaxQuotedBytes = 80;

// ------------------------------------------------------------------------------------- values, as text and as numbers

std::optional<uint64_t> ParseDigits(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "256M" -> bytes.
std::optional<uint64_t> ParseSize(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned shift = 0;
  switch (text.back()) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) text.remove_suffix(1);
  const std::optional<uint64_t> value = ParseDigits(text);
  if (!value || *value > (UINT64_MAX >> shift)) return std::nullopt;
  return *value << shift;
}

// "1.5" -> nanoseconds; digits below a nanosecond are dropped.
// About three years: sums of such times and a clock stay far from overflow.
constexpr uint64_t kMaxSeconds = 100'000'000;

std::optional<uint64_t> ParseSeconds(std::string_view text) {
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  if (whole.empty() && decimals.empty()) return std::nullopt;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(decimals.begin(), decimals.end(), is_digit)) return std::nullopt;
  const std::optional<uint64_t> seconds = whole.empty() ? 0 : ParseDigits(whole);
  if (!seconds || *seconds > kMaxSeconds) return std::nullopt;
  uint64_t fraction_ns = 0;
  for (size_t i = 0; i < 9; ++i) {
    fraction_ns = fraction_ns * 10 + (i < decimals.size() ? static_cast<uint64_t>(decimals[i] - '0') : 0);
  }
  return *seconds * kNsPerSecond + fraction_ns;
}

std::string SecondsText(uint64_t ns) {
  std::string text = std::to_string(ns / kNsPerSecond);
  if (ns % kNsPerSecond == 0) return text;
  std::string decimals = std::to_string(kNsPerSecond + ns % kNsPerSecond).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text + "." + decimals;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  if (text == "1" || text == "on") return true;
  if (text == "0" || text == "off") return false;
  return std::nullopt;
}

std::string SwitchText(bool value) { return value ? "on" : "off"; }

bool SetIf(const std::optional<uint64_t>& value, uint64_t* field) {
  if (value) *field = *value;
  return value.has_value();
}

bool SetIf(const std::optional<bool>& value, bool* field) {
  if (value) *field = *value;
  return value.has_value();
}

bool SetText(std::string_view value, std::string* field) {
  field->assign(value);
  return true;
}

// -------------------------------------------------------------------------------------------------- the variables

// Everything that is known of one variable. Set is given a value that is not empty; null: sampling_settings.h reads it.
struct Variable {
  std::string_view name;
  std::string_view values;    // for HelpText
  std::string_view meaning;   // for HelpText
  std::string_view expected;  // for problems
  bool (*set)(std::string_view value, Config* config);
  std::string (*describe)(const Config& config);
};

constexpr std::string_view kExpectedSwitch = "1, 0, on or off";
constexpr std::string_view kExpectedSeconds = "seconds such as 30 or 0.5";
template <size_t index>
std::string DescribeSampling(const Config& config) {
  return DescribeSamplingSettings(config.sampling)[index].second;
}

constexpr std::string_view kExpectedText = "a value that is not empty";

constexpr auto kVariables = std::to_array<Variable>({
    {"GPUEXEC_OUTPUT", "PATTERN", "path of the trace; %p pid, %h host, %r rank, %% a per cent sign", kExpectedText,
     [](std::string_view value, Config* config) { return SetText(value, &config->output); },
     [](const Config& config) { return config.output; }},
    {"GPUEXEC_ENABLE", "1, 0", "0 turns the library off altogether", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->enable); },
     [](const Config& config) { return SwitchText(config.enable); }},
    {"GPUEXEC_MEMORY", "BYTES", "host memory for queues and buffers (K, M, G; at least 8M)",
     "bytes such as 256M, at least 8M",
     [](std::string_view value, Config* config) {
       const std::optional<uint64_t> bytes = ParseSize(value);
       return bytes && *bytes >= kMinMemoryBytes && *bytes <= kMaxMemoryBytes && SetIf(bytes, &config->memory_bytes);
     },
     [](const Config& config) { return std::to_string(config.memory_bytes); }},
    {"GPUEXEC_MAX_BYTES", "BYTES", "size of the trace after which only summaries are kept (K, M, G; 0: no limit)",
     "bytes such as 4G, or 0 for no limit",
     [](std::string_view value, Config* config) { return SetIf(ParseSize(value), &config->max_bytes); },
     [](const Config& config) { return std::to_string(config.max_bytes); }},
    {"GPUEXEC_REGION", "all, cuda", "cuda: record only between cudaProfilerStart and cudaProfilerStop", "all or cuda",
     [](std::string_view value, Config* config) {
       if (value != "cuda" && value != "all") return false;
       config->region_cuda = value == "cuda";
       return true;
     },
     [](const Config& config) { return std::string(config.region_cuda ? "cuda" : "all"); }},
    {"GPUEXEC_START_AFTER", "SECONDS", "time from initialisation until recording begins", kExpectedSeconds,
     [](std::string_view value, Config* config) { return SetIf(ParseSeconds(value), &config->start_after_ns); },
     [](const Config& config) { return SecondsText(config.start_after_ns); }},
    {"GPUEXEC_DURATION", "SECONDS", "time of recording, then off (0: no limit)", kExpectedSeconds,
     [](std::string_view value, Config* config) { return SetIf(ParseSeconds(value), &config->duration_ns); },
     [](const Config& config) { return SecondsText(config.duration_ns); }},
    {"GPUEXEC_YIELD", "1, 0", "1: detach when another CUPTI client appears", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->yield); },
     [](const Config& config) { return SwitchText(config.yield); }},
    {"GPUEXEC_NVTX", "on, off", "NVTX ranges", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->nvtx); },
     [](const Config& config) { return SwitchText(config.nvtx); }},
    {"GPUEXEC_TIMING", "on, off", "times of kernels and copies; off: launches only", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->timing); },
     [](const Config& config) { return SwitchText(config.timing); }},
    {"GPUEXEC_COUNTERS", "SET, METRICS", "hardware counters: off, light, core, lean, full, or metrics by name", "",
     nullptr, DescribeSampling<0>},
    {"GPUEXEC_BUDGET", "PERCENT, off", "share of the run that counters may cost", "", nullptr, DescribeSampling<1>},
    {"GPUEXEC_REPLAY", "MODE", "off, or run rare launches again for their counters: single, multi passes", "", nullptr,
     DescribeSampling<2>},
    {"GPUEXEC_COUNTERS_DENY", "NAMES", "kernels that are never counted: names with * and ?, by commas", "", nullptr,
     DescribeSampling<3>},
    {"GPUEXEC_API", "on, off", "every call of the CUDA runtime and driver; makes every launch dearer", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->api); },
     [](const Config& config) { return SwitchText(config.api); }},
    {"GPUEXEC_OVERHEAD", "on, off", "what CUPTI says of its own overhead; makes every launch dearer", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->overhead); },
     [](const Config& config) { return SwitchText(config.overhead); }},
    {"GPUEXEC_NVML", "on, off", "clock, power and temperature samples", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->nvml); },
     [](const Config& config) { return SwitchText(config.nvml); }},
    {"GPUEXEC_OCCUPANCY", "on, off", "the driver's occupancy and function attributes", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->occupancy); },
     [](const Config& config) { return SwitchText(config.occupancy); }},
    {"GPUEXEC_EXIT_WAIT", "SECONDS", "time that the end of the process may wait for the device and the last records",
     kExpectedSeconds,
     [](std::string_view value, Config* config) { return SetIf(ParseSeconds(value), &config->exit_wait_ns); },
     [](const Config& config) { return SecondsText(config.exit_wait_ns); }},
    {"GPUEXEC_CUPTI", "PATH", "libcupti to use; empty: the copy in the process, else a search", kExpectedText,
     [](std::string_view value, Config* config) { return SetText(value, &config->cupti_path); },
     [](const Config& config) { return config.cupti_path; }},
    {"GPUEXEC_LOG", "PATH, stderr", "log of the library itself; empty: none", kExpectedText,
     [](std::string_view value, Config* config) { return SetText(value, &config->log); },
     [](const Config& config) { return config.log; }},
    {"GPUEXEC_HELP", "1, 0", "1: list the variables to stderr once", kExpectedSwitch,
     [](std::string_view value, Config* config) { return SetIf(ParseSwitch(value), &config->help); },
     [](const Config& config) { return SwitchText(config.help); }},
});

constexpr std::array<std::string_view, kVariables.size()> kNames = [] {
  std::array<std::string_view, kVariables.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kVariables[i].name;
  return names;
}();

std::string Quoted(std::string_view value) {
  if (value.size() <= kMaxQuotedBytes) return "\"" + std::string(value) + "\"";
  return "\"" + std::string(value.substr(0, kMaxQuotedBytes)) + "...\"";
}

std::string UnknownVariable(std::string_view name) {
  std::string problem(name.substr(0, kMaxQuotedBytes));
  problem += " is not a variable of gpuexec and was ignored";
  const std::string_view nearest = NearestName(name, kNames, kMaxTypos);
  if (!nearest.empty()) problem += " (did you mean " + std::string(nearest) + "?)";
  return problem + ".";
}

struct Entry {
  std::string_view name;
  std::string_view value;
};

Entry SplitEntry(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return {entry, {}};
  return {entry.substr(0, equals), entry.substr(equals + 1)};
}

// Hosts and ranks are parts of a name: they must not lead to another folder.
std::string NamePart(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// In the order in which FindRank prefers them.
constexpr std::array<std::string_view, 6> kRankNames = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                        "PMI_RANK", "SLURM_PROCID",         "MV2_COMM_WORLD_RANK"};
// How many processes the job has.
constexpr std::array<std::string_view, 5> kWorldSizeNames = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                             "SLURM_NTASKS", "MV2_COMM_WORLD_SIZE"};
// Facts about the job that help to put several traces together.
constexpr std::array<std::string_view, 17> kOtherRankNames = {"LOCAL_RANK",
                                                              "WORLD_SIZE",
                                                              "LOCAL_WORLD_SIZE",
                                                              "GROUP_RANK",
                                                              "NODE_RANK",
                                                              "OMPI_COMM_WORLD_LOCAL_RANK",
                                                              "OMPI_COMM_WORLD_SIZE",
                                                              "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                              "PMI_SIZE",
                                                              "SLURM_LOCALID",
                                                              "SLURM_NTASKS",
                                                              "SLURM_NODEID",
                                                              "SLURM_JOB_ID",
                                                              "MV2_COMM_WORLD_LOCAL_RANK",
                                                              "MV2_COMM_WORLD_SIZE",
                                                              "MASTER_ADDR",
                                                              "MASTER_PORT"};

std::optional<std::string_view> FindVariable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& text : environment) {
    const Entry entry = SplitEntry(text);
    if (entry.name == name && text.size() > name.size()) return entry.value;
  }
  return std::nullopt;
}

}  // namespace

Config ParseConfig(const std::vector<std::string>& environment) {
  Config config;
  std::array<bool, kVariables.size()> seen = {};
  for (const std::string& text : environment) {
    if (!text.starts_with(kPrefix)) continue;
    const Entry entry = SplitEntry(text);
    const auto found = std::find(kNames.begin(), kNames.end(), entry.name);
    if (found == kNames.end()) {
      config.problems.push_back(UnknownVariable(entry.name));
      continue;
    }
    const auto index = static_cast<size_t>(found - kNames.begin());
    const Variable& variable = kVariables[index];
    if (variable.set == nullptr) continue;
    const std::string name(variable.name);
    if (seen[index]) {
      // As getenv does it.
      config.problems.push_back(name + " is set more than once: the first value was used.");
      continue;
    }
    seen[index] = true;
    if (entry.value.empty()) {
      config.problems.push_back(name + " is empty: the default was used (expected " + std::string(variable.expected) +
                                ").");
    } else if (!variable.set(entry.value, &config)) {
      config.problems.push_back(name + "=" + Quoted(entry.value) + " is not valid: the default was used (expected " +
                                std::string(variable.expected) + ").");
    }
  }
  config.sampling = ParseSamplingSettings(environment, &config.problems);
  return config;
}

Config ReadConfig() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return ParseConfig(environment);
}

std::vector<std::pair<std::string, std::string>> DescribeConfig(const Config& config) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Variable& variable : kVariables) settings.emplace_back(variable.name, variable.describe(config));
  return settings;
}

std::string HelpText() {
  const Config defaults;
  size_t name_width = 0;
  size_t values_width = 0;
  for (const Variable& variable : kVariables) {
    name_width = std::max(name_width, variable.name.size());
    values_width = std::max(values_width, variable.values.size());
  }
  const auto padded = [](std::string_view text, size_t width) {
    std::string cell(text);
    cell.resize(std::max(width + 2, cell.size()), ' ');
    return cell;
  };
  std::string text = "gpuexec records what a CUDA program launches. Variables of the environment:\n\n";
  for (const Variable& variable : kVariables) {
    const std::string value = variable.describe(defaults);
    text += "  " + padded(variable.name, name_width) + padded(variable.values, values_width) +
            std::string(variable.meaning) + "\n" + std::string(2 + name_width + 2 + values_width + 2, ' ') +
            "default: " + (value.empty() ? "(empty)" : value) + "\n";
  }
  text +=
      "\nExample:\n"
      "  CUDA_INJECTION64_PATH=/path/to/libgpuexec_inject.so GPUEXEC_OUTPUT=trace.%p.pb python3 train.py\n";
  return text;
}

std::string ExpandOutputPattern(const std::string& pattern, uint64_t pid, const std::string& host,
                                const std::string& rank) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (const char letter = pattern[++i]; letter) {
      case 'p':
        path += std::to_string(pid);
        break;
      case 'h':
        path += NamePart(host);
        break;
      case 'r':
        path += NamePart(rank);
        break;
      case '%':
        path += '%';
        break;
      default:
        path += '%';
        path += letter;
        break;
    }
  }
  return path;
}

std::string AddPidToPath(const std::string& path, uint64_t pid) {
  return InsertBeforeExtension(path, "." + std::to_string(pid));
}

std::string FindRank(const std::vector<std::string>& environment,
                     std::vector<std::pair<std::string, std::string>>* all) {
  std::string rank;
  for (const std::string_view name : kRankNames) {
    const std::optional<std::string_view> value = FindVariable(environment, name);
    if (!value) continue;
    if (rank.empty()) rank = *value;
    if (all != nullptr) all->emplace_back(name, *value);
  }
  if (all == nullptr) return rank;
  for (const std::string_view name : kOtherRankNames) {
    const std::optional<std::string_view> value = FindVariable(environment, name);
    if (value) all->emplace_back(name, *value);
  }
  return rank;
}

bool IsLaterRank(const std::string& rank, const std::vector<std::pair<std::string, std::string>>& variables) {
  const auto number = [](const std::string& text) -> std::optional<uint64_t> {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const bool is_one_of_several = std::any_of(variables.begin(), variables.end(), [&](const auto& variable) {
    const bool is_size =
        std::find(kWorldSizeNames.begin(), kWorldSizeNames.end(), variable.first) != kWorldSizeNames.end();
    return is_size && number(variable.second).value_or(1) > 1;
  });
  return is_one_of_several && number(rank).value_or(0) != 0;
}

}  // namespace gx::inject
