#include "inject/sampling_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "inject/nearest_name.h"

namespace gx::inject {
namespace {

constexpr size_t kMaxQuotedBytes = 80;
constexpr size_t kMaxTypos = 2;

constexpr std::string_view kCounters = "GPUEXEC_COUNTERS";
constexpr std::string_view kBudget = "GPUEXEC_BUDGET";
constexpr std::string_view kReplay = "GPUEXEC_REPLAY";
constexpr std::string_view kDeny = "GPUEXEC_COUNTERS_DENY";

constexpr std::string_view kExpectedCounters = "off, light, core, lean, full, or metrics separated by commas";
constexpr std::string_view kExpectedBudget = "a percentage of the time above 0 and up to 100, such as 5 or 0.5, or off";
constexpr std::string_view kExpectedReplay = "off, single or multi";
constexpr std::string_view kExpectedDeny = "kernel names separated by commas, * and ? for any characters";

constexpr std::array<std::string_view, 5> kSetNames = {"off", "light", "core", "lean", "full"};

// Values come from outside: what is quoted must not end a line or move a cursor.
std::string Quoted(std::string_view value) {
  std::string text = "\"";
  for (const char c : value.substr(0, kMaxQuotedBytes)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (value.size() > kMaxQuotedBytes ? "...\"" : "\"");
}

std::string IsEmpty(std::string_view name, std::string_view expected) {
  return std::string(name) + " is empty: the default was used (expected " + std::string(expected) + ").";
}

std::string IsNotValid(std::string_view name, std::string_view value, std::string_view expected,
                       const std::string& hint = "") {
  return std::string(name) + "=" + Quoted(value) + " is not valid: the default was used (expected " +
         std::string(expected) + ")" + hint + ".";
}

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Calls visit(part) for every part between commas.
template <typename Visit>
void ForEachPart(std::string_view text, Visit&& visit) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    visit(Trimmed(text.substr(begin, comma - begin)));
    begin = comma + 1;
  }
}

constexpr bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '%' || c == '*' || c == '?';
}

// Why a glob is refused; "" for a good one.
std::string WhyNotAGlob(std::string_view glob) {
  if (glob.empty()) return "it is empty";
  if (glob.size() > kMaxDenyGlobBytes) return "it is longer than " + std::to_string(kMaxDenyGlobBytes) + " bytes";
  const auto bad = std::find_if_not(glob.begin(), glob.end(), IsNameByte);
  if (bad != glob.end()) {
    return Quoted({&*bad, 1}) + " is in no mangled name (expected letters, digits, _ $ . % and the wildcards * and ?)";
  }
  if (std::all_of(glob.begin(), glob.end(), [](char c) { return c == '*' || c == '?'; })) {
    return "it names every kernel (GPUEXEC_COUNTERS=off samples none)";
  }
  return "";
}

std::string BudgetText(const std::optional<double>& ratio) {
  if (!ratio) return "off";
  std::array<char, 32> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), *ratio * 100, std::chars_format::general, 6);
  return error == std::errc() ? std::string(digits.data(), end) : "";
}

std::string_view ReplayText(ReplayMode mode) {
  switch (mode) {
    case ReplayMode::kOff:
      return "off";
    case ReplayMode::kSingle:
      return "single";
    case ReplayMode::kMulti:
      return "multi";
  }
  return "off";
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

std::string SetCounters(std::string_view value, SamplingSettings* settings) {
  if (value.empty()) return IsEmpty(kCounters, kExpectedCounters);
  if (!ParseCounterSet(value) && value.find("__") == std::string_view::npos) {
    // Every metric has two underscores in its name: this was meant to be a set.
    const std::string_view nearest = NearestName(value, kSetNames, kMaxTypos);
    return IsNotValid(kCounters, value, kExpectedCounters,
                      nearest.empty() ? "" : " (did you mean " + std::string(nearest) + "?)");
  }
  settings->counters = ParseCounterRequest(value);
  settings->counters_are_set = true;
  return "";
}

std::string SetBudget(std::string_view value, SamplingSettings* settings) {
  if (value.empty()) return IsEmpty(kBudget, kExpectedBudget);
  if (value == "off") {
    settings->budget_ratio.reset();
    return "";
  }
  std::string_view number = value;
  if (number.ends_with('%')) number = Trimmed(number.substr(0, number.size() - 1));
  double percent = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), percent, std::chars_format::fixed);
  // The comparisons refuse what is not a number as well.
  if (error != std::errc() || end != number.data() + number.size() || !(percent > 0 && percent <= 100)) {
    return IsNotValid(kBudget, value, kExpectedBudget);
  }
  settings->budget_ratio = percent / 100;
  return "";
}

std::string SetReplay(std::string_view value, SamplingSettings* settings) {
  if (value.empty()) return IsEmpty(kReplay, kExpectedReplay);
  for (const ReplayMode mode : {ReplayMode::kOff, ReplayMode::kSingle, ReplayMode::kMulti}) {
    if (value != ReplayText(mode)) continue;
    settings->replay = mode;
    return "";
  }
  return IsNotValid(kReplay, value, kExpectedReplay);
}

std::vector<std::string> SetDeny(std::string_view value, SamplingSettings* settings) {
  std::vector<std::string> problems;
  if (value.empty()) {
    problems.push_back(IsEmpty(kDeny, kExpectedDeny));
    return problems;
  }
  bool too_many = false;
  ForEachPart(value, [&](std::string_view glob) {
    if (too_many) return;
    const std::string why = WhyNotAGlob(glob);
    if (!why.empty()) {
      if (problems.size() < kMaxDenyGlobs) {
        problems.push_back(std::string(kDeny) + ": " + Quoted(glob) + " was ignored: " + why + ".");
      }
    } else if (settings->deny.size() == kMaxDenyGlobs) {
      too_many = true;
      problems.push_back(std::string(kDeny) + " has more than " + std::to_string(kMaxDenyGlobs) +
                         " names: " + Quoted(glob) + " and those after it were ignored.");
    } else {
      settings->deny.emplace_back(glob);
    }
  });
  return problems;
}

SamplingSettings ParseSamplingSettings(const std::vector<std::string>& environment,
                                       std::vector<std::string>* problems) {
  SamplingSettings settings;
  std::array<bool, 4> seen = {};
  // As getenv does it: the first one counts.
  const auto is_first = [&](size_t variable, std::string_view name) {
    if (!std::exchange(seen[variable], true)) return true;
    problems->push_back(std::string(name) + " is set more than once: the first value was used.");
    return false;
  };
  const auto note = [&](std::string problem) {
    if (!problem.empty()) problems->push_back(std::move(problem));
  };
  for (const std::string& text : environment) {
    const size_t equals = text.find('=');
    const std::string_view name = std::string_view(text).substr(0, equals);
    const std::string_view value =
        equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1);
    if (name == kCounters && is_first(0, name)) {
      note(SetCounters(value, &settings));
    } else if (name == kBudget && is_first(1, name)) {
      note(SetBudget(value, &settings));
    } else if (name == kReplay && is_first(2, name)) {
      note(SetReplay(value, &settings));
    } else if (name == kDeny && is_first(3, name)) {
      for (std::string& problem : SetDeny(value, &settings)) note(std::move(problem));
    }
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> DescribeSamplingSettings(const SamplingSettings& settings) {
  const std::string counters = settings.counters.metrics.empty() ? std::string(CounterSetName(settings.counters.set))
                                                                 : Joined(settings.counters.metrics);
  return {{std::string(kCounters), counters},
          {std::string(kBudget), BudgetText(settings.budget_ratio)},
          {std::string(kReplay), std::string(ReplayText(settings.replay))},
          {std::string(kDeny), Joined(settings.deny)}};
}

}  // namespace gx::inject
