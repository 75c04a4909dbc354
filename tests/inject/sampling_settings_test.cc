#include "inject/sampling_settings.h"

#include <gtest/gtest.h>

#include <random>

namespace gx::inject {
namespace {

using Problems = std::vector<std::string>;

struct Parsed {
  SamplingSettings settings;
  Problems problems;
};

Parsed Parse(const std::vector<std::string>& environment) {
  Parsed parsed;
  parsed.settings = ParseSamplingSettings(environment, &parsed.problems);
  return parsed;
}

TEST(SamplingSettings, SampleCoreWithinFivePerCentUnlessToldOtherwise) {
  const Parsed parsed = Parse({});
  EXPECT_EQ(parsed.settings.counters.set, CounterSet::kCore);
  EXPECT_TRUE(parsed.settings.counters.metrics.empty());
  EXPECT_FALSE(parsed.settings.counters_are_set);
  EXPECT_FALSE(Parse({"GPUEXEC_COUNTERS=cores"}).settings.counters_are_set);
  EXPECT_TRUE(Parse({"GPUEXEC_COUNTERS=core"}).settings.counters_are_set);
  EXPECT_EQ(parsed.settings.budget_ratio, 0.05);
  EXPECT_EQ(parsed.settings.replay, ReplayMode::kOff);
  EXPECT_TRUE(parsed.settings.deny.empty());
  EXPECT_EQ(parsed.problems, Problems{});
}

TEST(SamplingSettings, KnowTheSets) {
  const std::pair<const char*, CounterSet> rows[] = {{"off", CounterSet::kOff},
                                                     {"light", CounterSet::kLight},
                                                     {"core", CounterSet::kCore},
                                                     {"lean", CounterSet::kLean},
                                                     {"full", CounterSet::kFull}};
  for (const auto& [text, set] : rows) {
    const Parsed parsed = Parse({std::string("GPUEXEC_COUNTERS=") + text});
    EXPECT_EQ(parsed.settings.counters.set, set);
    EXPECT_TRUE(parsed.settings.counters.metrics.empty());
    EXPECT_EQ(parsed.problems, Problems{});
  }
}

TEST(SamplingSettings, TakeAListOfMetricsAsItIs) {
  const Parsed parsed = Parse({"GPUEXEC_COUNTERS=dram__bytes.sum,sm__cycles_active.avg,nonsense"});
  EXPECT_EQ(parsed.settings.counters.metrics,
            (std::vector<std::string>{"dram__bytes.sum", "sm__cycles_active.avg", "nonsense"}));
  EXPECT_EQ(parsed.problems, Problems{});
}

TEST(SamplingSettings, SayWhatWasWrongWithTheCounters) {
  const std::string expected = " (expected off, light, core, lean, full, or metrics separated by commas)";
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS="}).problems,
            Problems{"GPUEXEC_COUNTERS is empty: the default was used" + expected + "."});
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS"}).problems,
            Problems{"GPUEXEC_COUNTERS is empty: the default was used" + expected + "."});
  EXPECT_EQ(
      Parse({"GPUEXEC_COUNTERS=cores"}).problems,
      Problems{"GPUEXEC_COUNTERS=\"cores\" is not valid: the default was used" + expected + " (did you mean core?)."});
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS=everything"}).problems,
            Problems{"GPUEXEC_COUNTERS=\"everything\" is not valid: the default was used" + expected + "."});
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS=cores"}).settings.counters.set, CounterSet::kCore);
}

TEST(SamplingSettings, ReadTheBudget) {
  const std::pair<const char*, double> rows[] = {{"5", 0.05},    {"5%", 0.05},         {"0.5", 0.005},
                                                 {"100", 1.0},   {"2.5 %", 0.025},     {".5", 0.005},
                                                 {"1e-400", -1}, {"0.0001%", 0.000001}};
  for (const auto& [text, ratio] : rows) {
    const Parsed parsed = Parse({std::string("GPUEXEC_BUDGET=") + text});
    if (ratio < 0) {
      EXPECT_EQ(parsed.problems.size(), 1u) << text;
    } else {
      EXPECT_EQ(parsed.problems, Problems{}) << text;
      EXPECT_DOUBLE_EQ(parsed.settings.budget_ratio.value_or(-1), ratio) << text;
    }
  }
  EXPECT_EQ(Parse({"GPUEXEC_BUDGET=off"}).settings.budget_ratio, std::nullopt);
}

TEST(SamplingSettings, RefuseBudgetsThatAreNone) {
  const std::string expected = " (expected a percentage of the time above 0 and up to 100, such as 5 or 0.5, or off).";
  for (const std::string value : {"0", "-1", "100.1", "nan", "inf", "1e1", "5x", "%", " 5", "0x5", "five", "1,5"}) {
    const Parsed parsed = Parse({"GPUEXEC_BUDGET=" + value});
    EXPECT_EQ(parsed.problems,
              Problems{"GPUEXEC_BUDGET=\"" + value + "\" is not valid: the default was used" + expected});
    EXPECT_EQ(parsed.settings.budget_ratio, 0.05);
  }
  EXPECT_EQ(Parse({"GPUEXEC_BUDGET="}).problems, Problems{"GPUEXEC_BUDGET is empty: the default was used" + expected});
}

TEST(SamplingSettings, ReadTheReplayMode) {
  EXPECT_EQ(Parse({"GPUEXEC_REPLAY=off"}).settings.replay, ReplayMode::kOff);
  EXPECT_EQ(Parse({"GPUEXEC_REPLAY=single"}).settings.replay, ReplayMode::kSingle);
  EXPECT_EQ(Parse({"GPUEXEC_REPLAY=multi"}).settings.replay, ReplayMode::kMulti);
  EXPECT_EQ(Parse({"GPUEXEC_REPLAY=on"}).problems,
            Problems{"GPUEXEC_REPLAY=\"on\" is not valid: the default was used (expected off, single or multi)."});
  EXPECT_EQ(Parse({"GPUEXEC_REPLAY="}).problems,
            Problems{"GPUEXEC_REPLAY is empty: the default was used (expected off, single or multi)."});
}

TEST(SamplingSettings, KeepTheGlobsThatAreFineAndNameTheOthers) {
  const Parsed parsed = Parse({"GPUEXEC_COUNTERS_DENY=my_spin*, halo_?x ,,a::b,*,f(int),na\nme"});
  EXPECT_EQ(parsed.settings.deny, (std::vector<std::string>{"my_spin*", "halo_?x"}));
  const std::string allowed = " is in no mangled name (expected letters, digits, _ $ . % and the wildcards * and ?).";
  EXPECT_EQ(
      parsed.problems,
      (Problems{"GPUEXEC_COUNTERS_DENY: \"\" was ignored: it is empty.",
                "GPUEXEC_COUNTERS_DENY: \"a::b\" was ignored: \":\"" + allowed,
                "GPUEXEC_COUNTERS_DENY: \"*\" was ignored: it names every kernel (GPUEXEC_COUNTERS=off samples none).",
                "GPUEXEC_COUNTERS_DENY: \"f(int)\" was ignored: \"(\"" + allowed,
                "GPUEXEC_COUNTERS_DENY: \"na?me\" was ignored: \"?\"" + allowed}));
}

TEST(SamplingSettings, BoundTheGlobs) {
  std::string value;
  for (size_t i = 0; i < kMaxDenyGlobs + 3; ++i) value += (i == 0 ? "k" : ",k") + std::to_string(i);
  const Parsed parsed = Parse({"GPUEXEC_COUNTERS_DENY=" + value});
  EXPECT_EQ(parsed.settings.deny.size(), kMaxDenyGlobs);
  EXPECT_EQ(parsed.problems,
            Problems{"GPUEXEC_COUNTERS_DENY has more than 64 names: \"k64\" and those after it were ignored."});
  const std::string longest(kMaxDenyGlobBytes, 'k');
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS_DENY=" + longest}).problems, Problems{});
  EXPECT_EQ(
      Parse({"GPUEXEC_COUNTERS_DENY=" + longest + "k"}).problems,
      Problems{"GPUEXEC_COUNTERS_DENY: \"" + std::string(80, 'k') + "...\" was ignored: it is longer than 256 bytes."});
  // A list of commas does not become a list of problems without end.
  EXPECT_EQ(Parse({"GPUEXEC_COUNTERS_DENY=" + std::string(100'000, ',')}).problems.size(), kMaxDenyGlobs);
  EXPECT_EQ(
      Parse({"GPUEXEC_COUNTERS_DENY="}).problems,
      Problems{"GPUEXEC_COUNTERS_DENY is empty: the default was used (expected kernel names separated by commas, * "
               "and ? for any characters)."});
}

TEST(SamplingSettings, TheFirstOfTwoValuesCounts) {
  const Parsed parsed =
      Parse({"GPUEXEC_BUDGET=1", "GPUEXEC_REPLAY=single", "GPUEXEC_BUDGET=2", "OTHER=1", "GPUEXEC_COUNTERS_DENYX=1"});
  EXPECT_EQ(parsed.settings.budget_ratio, 0.01);
  EXPECT_EQ(parsed.problems, Problems{"GPUEXEC_BUDGET is set more than once: the first value was used."});
}

TEST(SamplingSettings, AnyTextIsReadOrRefusedInOnePrintableSentence) {
  std::mt19937_64 random(9);
  const std::string_view alphabet = "core,offlight_*?.%05 :()\n\x80=x";
  const std::string_view names[] = {"GPUEXEC_COUNTERS", "GPUEXEC_BUDGET", "GPUEXEC_REPLAY", "GPUEXEC_COUNTERS_DENY"};
  size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string value;
    for (uint64_t length = random() % 12; length > 0; --length) value += alphabet[random() % alphabet.size()];
    const std::string name(names[random() % 4]);
    const Parsed parsed = Parse({name + "=" + value});
    refused += parsed.problems.empty() ? 0 : 1;
    for (const std::string& problem : parsed.problems) {
      EXPECT_TRUE(problem.starts_with(name)) << problem;
      EXPECT_TRUE(problem.ends_with('.')) << problem;
      for (const char c : problem) EXPECT_TRUE(c >= ' ' && c <= '~') << problem;
    }
    const double budget = parsed.settings.budget_ratio.value_or(1);
    EXPECT_TRUE(budget > 0 && budget <= 1) << value;
    for (const std::string& glob : parsed.settings.deny) EXPECT_FALSE(glob.empty());
  }
  EXPECT_GT(refused, 5'000u);
}

TEST(SamplingSettings, ADescriptionGivesTheSameSettings) {
  const std::vector<std::vector<std::string>> environments = {
      {},
      {"GPUEXEC_COUNTERS=off", "GPUEXEC_BUDGET=off", "GPUEXEC_REPLAY=multi"},
      {"GPUEXEC_COUNTERS=dram__bytes.sum,lts__t_bytes.sum", "GPUEXEC_BUDGET=12.5", "GPUEXEC_COUNTERS_DENY=a*,b"},
      {"GPUEXEC_BUDGET=0.01%", "GPUEXEC_REPLAY=single"},
  };
  for (const std::vector<std::string>& environment : environments) {
    const SamplingSettings settings = Parse(environment).settings;
    std::vector<std::string> again;
    for (const auto& [name, value] : DescribeSamplingSettings(settings)) {
      if (!value.empty()) again.push_back(name + "=" + value);
    }
    const Parsed parsed = Parse(again);
    EXPECT_EQ(parsed.problems, Problems{});
    EXPECT_EQ(DescribeSamplingSettings(parsed.settings), DescribeSamplingSettings(settings));
    EXPECT_EQ(parsed.settings.counters.metrics, settings.counters.metrics);
    EXPECT_EQ(parsed.settings.deny, settings.deny);
  }
  EXPECT_EQ(DescribeSamplingSettings({}),
            (std::vector<std::pair<std::string, std::string>>{{"GPUEXEC_COUNTERS", "core"},
                                                              {"GPUEXEC_BUDGET", "5"},
                                                              {"GPUEXEC_REPLAY", "off"},
                                                              {"GPUEXEC_COUNTERS_DENY", ""}}));
}

}  // namespace
}  // namespace gx::inject
