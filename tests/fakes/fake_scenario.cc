#include "tests/fakes/fake_scenario.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "tests/fakes/fake_log.h"

namespace gx::fakes {
namespace {

constexpr size_t kMaxHangRules = 8;

bool ParseNumber(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
bool StoreNumber(std::string_view text, T* target) {
  uint64_t value = 0;
  if (!ParseNumber(text, &value)) return false;
  *target = static_cast<T>(value);
  return true;
}

bool StoreText(std::string_view text, std::string* target) {
  *target = std::string(text);
  return true;
}

bool ParseFailure(std::string_view text, FailureRule* rule) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  if (!StoreNumber(text.substr(equals + 1), &rule->code)) return false;
  std::string_view function = text.substr(0, equals);
  if (const size_t colon = function.find(':'); colon != std::string_view::npos) {
    rule->any_argument = false;
    if (!ParseNumber(function.substr(colon + 1), &rule->argument)) return false;
    function = function.substr(0, colon);
  }
  rule->function = std::string(function);
  return true;
}

bool ParseFailures(std::string_view text, std::vector<FailureRule>* rules) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    FailureRule rule;
    if (!ParseFailure(text.substr(0, comma), &rule)) return false;
    rules->push_back(std::move(rule));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

bool ParseHangs(std::string_view text, std::vector<HangRule>* rules) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    const size_t colon = entry.find(':');
    HangRule rule{std::string(entry.substr(0, colon)), 0};
    if (rule.function.empty()) return false;
    if (colon != std::string_view::npos && !ParseNumber(entry.substr(colon + 1), &rule.call_number)) return false;
    rules->push_back(std::move(rule));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

bool ParseCounters(std::string_view text, Scenario* scenario) {
  scenario->counters_denied = text == "denied";
  scenario->counters_unsupported = text == "unsupported";
  return scenario->counters_denied || scenario->counters_unsupported;
}

using Setter = std::function<bool(std::string_view, Scenario*)>;

struct Variable {
  std::string_view name;
  Setter set;
};

const std::vector<Variable>& Variables() {
  static const auto& variables = *new std::vector<Variable>{
      {"FAKE_GPU_LOG", [](std::string_view v, Scenario* s) { return StoreText(v, &s->log_path); }},
      {"FAKE_GPU_DEVICES", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->device_count); }},
      {"FAKE_FAIL", [](std::string_view v, Scenario* s) { return ParseFailures(v, &s->failures); }},
      {"FAKE_CUPTI_VERSION", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->cupti_version); }},
      {"FAKE_CUPTI_SUBSCRIBER", [](std::string_view v, Scenario* s) { return StoreText(v, &s->other_subscriber); }},
      {"FAKE_CUPTI_DROP", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->drop_count); }},
      {"FAKE_CUPTI_ZERO_TIMES", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->zero_times_every); }},
      {"FAKE_CUPTI_BACKWARDS", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->backwards_every); }},
      {"FAKE_CUPTI_DISAGREE", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->disagree_every); }},
      {"FAKE_CUPTI_STRANGE", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->strange_every); }},
      {"FAKE_CUPTI_LANES", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->lane_count); }},
      {"FAKE_CUPTI_SHUFFLE", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->shuffle); }},
      {"FAKE_CUPTI_THREADS", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->delivery_thread_count); }},
      {"FAKE_CUPTI_REUSE_NAMES", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->reuse_names); }},
      {"FAKE_HANG", [](std::string_view v, Scenario* s) { return ParseHangs(v, &s->hangs); }},
      {"FAKE_CUPTI_COUNTERS", ParseCounters},
      {"FAKE_CUPTI_START_US", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->counter_start_us); }},
      {"FAKE_GPU_USED_MIB", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->memory_used_mib); }},
      {"FAKE_CUPTI_RANGE_US", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->counter_range_us); }},
      {"FAKE_CUPTI_FLUSH_HANGS", [](std::string_view v, Scenario* s) { return StoreNumber(v, &s->flush_hangs); }},
  };
  return variables;
}

// A test with a misspelt scenario would test nothing: end the process at once, loudly.
const Scenario* ReadScenario() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  std::vector<std::string> problems;
  auto* scenario = new Scenario(ParseScenario(environment, &problems));
  for (const std::string& problem : problems) std::fprintf(stderr, "fake GPU: %s\n", problem.c_str());
  if (!problems.empty()) std::_Exit(97);
  return scenario;
}

const FailureRule* FindFailure(const char* function, const uint64_t* argument) {
  for (const FailureRule& rule : GetScenario().failures) {
    if (rule.function != function) continue;
    if (rule.any_argument || (argument != nullptr && rule.argument == *argument)) return &rule;
  }
  return nullptr;
}

void HangIfAsked(const char* function) {
  const std::vector<HangRule>& hangs = GetScenario().hangs;
  if (hangs.empty()) return;
  static std::atomic<uint64_t> counts[kMaxHangRules];
  for (size_t i = 0; i < hangs.size() && i < kMaxHangRules; ++i) {
    if (hangs[i].function != function) continue;
    const uint64_t number = counts[i].fetch_add(1) + 1;
    if (hangs[i].call_number != 0 && hangs[i].call_number != number) continue;
    LogLine("hangs").Add("function", function);
    while (true) pause();
  }
}

}  // namespace

Scenario ParseScenario(const std::vector<std::string>& environment, std::vector<std::string>* problems) {
  Scenario scenario;
  for (const std::string& entry : environment) {
    const std::string_view text = entry;
    if (!text.starts_with("FAKE_")) continue;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    bool known = false;
    for (const Variable& variable : Variables()) {
      if (variable.name != text.substr(0, equals)) continue;
      known = true;
      if (!variable.set(text.substr(equals + 1), &scenario)) problems->push_back("bad value: " + entry);
    }
    if (!known) problems->push_back("unknown variable: " + entry);
  }
  if (scenario.lane_count == 0) scenario.lane_count = scenario.cupti_version < 130000 ? 1 : 4;
  if (scenario.delivery_thread_count == 0) problems->push_back("FAKE_CUPTI_THREADS must be at least 1");
  return scenario;
}

const Scenario& GetScenario() {
  static const Scenario* const scenario = ReadScenario();
  return *scenario;
}

int InjectedFailure(const char* function) {
  HangIfAsked(function);
  const FailureRule* rule = FindFailure(function, nullptr);
  return rule == nullptr ? 0 : rule->code;
}

int InjectedFailure(const char* function, uint64_t argument) {
  HangIfAsked(function);
  const FailureRule* rule = FindFailure(function, &argument);
  return rule == nullptr ? 0 : rule->code;
}

}  // namespace gx::fakes
