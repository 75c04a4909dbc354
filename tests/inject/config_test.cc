#include "inject/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// Every setting as DescribeConfig states it: whole configurations are compared by it.
const std::vector<std::pair<std::string, std::string>> kDefaults = {
    {"GPUEXEC_OUTPUT", "trace.pb"},
    {"GPUEXEC_ENABLE", "on"},
    {"GPUEXEC_MEMORY", "268435456"},
    {"GPUEXEC_MAX_BYTES", "4294967296"},
    {"GPUEXEC_REGION", "all"},
    {"GPUEXEC_START_AFTER", "0"},
    {"GPUEXEC_DURATION", "0"},
    {"GPUEXEC_YIELD", "off"},
    {"GPUEXEC_NVTX", "on"},
    {"GPUEXEC_TIMING", "on"},
    {"GPUEXEC_COUNTERS", "core"},
    {"GPUEXEC_BUDGET", "5"},
    {"GPUEXEC_REPLAY", "off"},
    {"GPUEXEC_COUNTERS_DENY", ""},
    {"GPUEXEC_API", "off"},
    {"GPUEXEC_OVERHEAD", "off"},
    {"GPUEXEC_NVML", "on"},
    {"GPUEXEC_OCCUPANCY", "on"},
    {"GPUEXEC_EXIT_WAIT", "2"},
    {"GPUEXEC_CUPTI", ""},
    {"GPUEXEC_LOG", ""},
    {"GPUEXEC_HELP", "off"},
};

TEST(Config, AnEmptyEnvironmentGivesTheDefaults) {
  const Config config = ParseConfig({});
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(DescribeConfig(config), kDefaults);
}

TEST(Config, VariablesOfOthersAreNotLookedAt) {
  const Config config = ParseConfig({"PATH=/bin", "XGPUEXEC_OUTPUT=a", "GPUEXEC=1", "gpuexec_output=b", "", "="});
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(DescribeConfig(config), kDefaults);
}

struct ValueCase {
  std::string variable;
  std::string value;
  std::string described;
};

class ValidValues : public ::testing::TestWithParam<ValueCase> {};

TEST_P(ValidValues, ChangeTheirOwnSettingAlone) {
  const ValueCase& c = GetParam();
  const Config config = ParseConfig({c.variable + "=" + c.value});
  EXPECT_THAT(config.problems, IsEmpty());
  auto expected = kDefaults;
  const auto setting =
      std::find_if(expected.begin(), expected.end(), [&c](const auto& pair) { return pair.first == c.variable; });
  ASSERT_NE(setting, expected.end());
  setting->second = c.described;
  EXPECT_EQ(DescribeConfig(config), expected);
}

INSTANTIATE_TEST_SUITE_P(Config, ValidValues,
                         ::testing::ValuesIn(std::vector<ValueCase>{
                             {"GPUEXEC_OUTPUT", "/tmp/%h.%p.pb", "/tmp/%h.%p.pb"},
                             {"GPUEXEC_OUTPUT", "a=b", "a=b"},
                             {"GPUEXEC_ENABLE", "0", "off"},
                             {"GPUEXEC_ENABLE", "1", "on"},
                             {"GPUEXEC_ENABLE", "off", "off"},
                             {"GPUEXEC_MEMORY", "8M", "8388608"},
                             {"GPUEXEC_MEMORY", "8388608", "8388608"},
                             {"GPUEXEC_MEMORY", "9000K", "9216000"},
                             {"GPUEXEC_MEMORY", "1g", "1073741824"},
                             {"GPUEXEC_MAX_BYTES", "0", "0"},
                             {"GPUEXEC_MAX_BYTES", "1k", "1024"},
                             {"GPUEXEC_MAX_BYTES", "10m", "10485760"},
                             {"GPUEXEC_MAX_BYTES", "18446744073709551615", "18446744073709551615"},
                             {"GPUEXEC_REGION", "cuda", "cuda"},
                             {"GPUEXEC_REGION", "all", "all"},
                             {"GPUEXEC_START_AFTER", "30", "30"},
                             {"GPUEXEC_START_AFTER", "0.5", "0.5"},
                             {"GPUEXEC_START_AFTER", ".25", "0.25"},
                             {"GPUEXEC_START_AFTER", "3.", "3"},
                             {"GPUEXEC_START_AFTER", "0.0000000019", "0.000000001"},
                             {"GPUEXEC_DURATION", "1.000000001", "1.000000001"},
                             {"GPUEXEC_DURATION", "100000000.999999999", "100000000.999999999"},
                             {"GPUEXEC_YIELD", "1", "on"},
                             {"GPUEXEC_NVTX", "off", "off"},
                             {"GPUEXEC_TIMING", "off", "off"},
                             {"GPUEXEC_COUNTERS", "off", "off"},
                             {"GPUEXEC_COUNTERS", "full", "full"},
                             {"GPUEXEC_COUNTERS", "dram__bytes.sum,sm__cycles_active.avg",
                              "dram__bytes.sum,sm__cycles_active.avg"},
                             {"GPUEXEC_BUDGET", "0.5%", "0.5"},
                             {"GPUEXEC_BUDGET", "off", "off"},
                             {"GPUEXEC_REPLAY", "multi", "multi"},
                             {"GPUEXEC_COUNTERS_DENY", "my_*, other_?", "my_*,other_?"},
                             {"GPUEXEC_API", "on", "on"},
                             {"GPUEXEC_OVERHEAD", "on", "on"},
                             {"GPUEXEC_NVML", "0", "off"},
                             {"GPUEXEC_OCCUPANCY", "off", "off"},
                             {"GPUEXEC_EXIT_WAIT", "0", "0"},
                             {"GPUEXEC_EXIT_WAIT", "10", "10"},
                             {"GPUEXEC_CUPTI", "/opt/libcupti.so.13", "/opt/libcupti.so.13"},
                             {"GPUEXEC_LOG", "stderr", "stderr"},
                             {"GPUEXEC_HELP", "1", "on"},
                         }));

TEST(Config, NumbersAreInTheUnitOfTheirField) {
  const Config config = ParseConfig({"GPUEXEC_MEMORY=64M", "GPUEXEC_MAX_BYTES=2G", "GPUEXEC_START_AFTER=1.5",
                                     "GPUEXEC_DURATION=20", "GPUEXEC_EXIT_WAIT=0.25"});
  EXPECT_EQ(config.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(config.max_bytes, uint64_t{2} << 30);
  EXPECT_EQ(config.start_after_ns, 1'500'000'000u);
  EXPECT_EQ(config.duration_ns, 20'000'000'000u);
  EXPECT_EQ(config.exit_wait_ns, 250'000'000u);
}

class BadValues : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(BadValues, KeepTheDefaultAndAreNamed) {
  const auto& [variable, value] = GetParam();
  const Config config = ParseConfig({variable + "=" + value});
  EXPECT_EQ(DescribeConfig(config), kDefaults);
  EXPECT_THAT(config.problems, ElementsAre(AllOf(HasSubstr(variable), HasSubstr("default"), HasSubstr("expected"))));
  EXPECT_THAT(config.problems, ElementsAre(HasSubstr(value.empty() ? "empty" : "\"" + value + "\"")));
}

std::vector<std::pair<std::string, std::string>> AllBadValues() {
  std::vector<std::pair<std::string, std::string>> cases;
  for (const auto& [name, value] : kDefaults) cases.emplace_back(name, "");
  for (const char* name : {"GPUEXEC_ENABLE", "GPUEXEC_YIELD", "GPUEXEC_NVTX", "GPUEXEC_TIMING", "GPUEXEC_API",
                           "GPUEXEC_OVERHEAD", "GPUEXEC_NVML", "GPUEXEC_OCCUPANCY", "GPUEXEC_HELP"}) {
    for (const char* value : {"2", "yes", "ON", " 1", "1 ", "-1", "00"}) cases.emplace_back(name, value);
  }
  for (const char* value : {"cores", "OFF", "1"}) cases.emplace_back("GPUEXEC_COUNTERS", value);
  for (const char* value : {"0", "101", "on", "-5", "5.5.5"}) cases.emplace_back("GPUEXEC_BUDGET", value);
  for (const char* value : {"on", "1", "Single"}) cases.emplace_back("GPUEXEC_REPLAY", value);
  for (const char* name : {"GPUEXEC_MEMORY", "GPUEXEC_MAX_BYTES"}) {
    for (const char* value : {"M", "-1", "+9000000", "1.5G", "16 M", "16MB", "16T", "0x10", "1e9", "M16",
                              "99999999999G", "18446744073709551616"}) {
      cases.emplace_back(name, value);
    }
  }
  for (const char* value : {"0", "1M", "8388607", "8191K"}) cases.emplace_back("GPUEXEC_MEMORY", value);
  for (const char* value : {"CUDA", "cuda ", "none", "1"}) cases.emplace_back("GPUEXEC_REGION", value);
  for (const char* name : {"GPUEXEC_START_AFTER", "GPUEXEC_DURATION", "GPUEXEC_EXIT_WAIT"}) {
    for (const char* value :
         {".", "-1", "+1", "1s", "1e3", "1,5", "1.5.5", "inf", "nan", "1. 5", "18446744074", "99999999999999999999"}) {
      cases.emplace_back(name, value);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Config, BadValues, ::testing::ValuesIn(AllBadValues()));

TEST(Config, AnUnknownVariableIsNamedWithTheOneThatWasMeant) {
  EXPECT_THAT(ParseConfig({"GPUEXEC_OUTPT=x"}).problems,
              ElementsAre(AllOf(HasSubstr("GPUEXEC_OUTPT "), HasSubstr("GPUEXEC_OUTPUT?"))));
  EXPECT_THAT(ParseConfig({"GPUEXEC_MAXBYTES=1"}).problems, ElementsAre(HasSubstr("GPUEXEC_MAX_BYTES?")));
  EXPECT_THAT(ParseConfig({"GPUEXEC_NVTX"}).problems, ElementsAre(HasSubstr("empty")));
}

TEST(Config, AnUnknownVariableLikeNoOtherIsNamedAlone) {
  for (const std::string name : {"GPUEXEC_STALLS", "GPUEXEC_SOMETHING_ELSE"}) {
    const Config config = ParseConfig({name + "=1"});
    EXPECT_EQ(DescribeConfig(config), kDefaults);
    ASSERT_THAT(config.problems, ElementsAre(HasSubstr(name))) << name;
    EXPECT_THAT(config.problems[0], Not(HasSubstr("did you mean"))) << name;
  }
}

TEST(Config, AKernelNameThatCannotBeIsIgnoredAndTheOthersStay) {
  const Config config = ParseConfig({"GPUEXEC_COUNTERS_DENY=good_*,bad name,*"});
  EXPECT_THAT(config.sampling.deny, ElementsAre("good_*"));
  EXPECT_THAT(config.problems, ElementsAre(AllOf(HasSubstr("GPUEXEC_COUNTERS_DENY"), HasSubstr("\"bad name\"")),
                                           AllOf(HasSubstr("GPUEXEC_COUNTERS_DENY"), HasSubstr("\"*\""))));
}

TEST(Config, CountersAreOnWithoutTiming) {
  const Config config = ParseConfig({"GPUEXEC_TIMING=off"});
  EXPECT_FALSE(config.timing);
  EXPECT_EQ(config.sampling.counters.set, CounterSet::kCore);
}

TEST(Config, AVariableOfSamplingThatIsSetTwiceHasItsFirstValue) {
  const Config config = ParseConfig({"GPUEXEC_COUNTERS=off", "GPUEXEC_COUNTERS=full"});
  EXPECT_EQ(config.sampling.counters.set, CounterSet::kOff);
  EXPECT_THAT(config.problems, ElementsAre(HasSubstr("more than once")));
}

TEST(Config, EveryProblemIsOneSentence) {
  const Config config =
      ParseConfig({"GPUEXEC_A=1", "GPUEXEC_MEMORY=x", "GPUEXEC_LOG=", "GPUEXEC_NVTX=on", "GPUEXEC_NVTX=off"});
  EXPECT_EQ(config.problems.size(), 4u);
  for (const std::string& problem : config.problems) {
    EXPECT_EQ(problem.back(), '.') << problem;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
  }
}

TEST(Config, AVariableSetTwiceHasItsFirstValue) {
  const Config config = ParseConfig({"GPUEXEC_REGION=cuda", "GPUEXEC_REGION=all"});
  EXPECT_TRUE(config.region_cuda);
  EXPECT_THAT(config.problems, ElementsAre(HasSubstr("more than once")));
}

TEST(Config, AnEndlessValueIsQuotedInPart) {
  const Config config =
      ParseConfig({"GPUEXEC_MEMORY=" + std::string(1'000'000, '9'), "GPUEXEC_" + std::string(1'000'000, 'X') + "=1"});
  ASSERT_EQ(config.problems.size(), 2u);
  for (const std::string& problem : config.problems) EXPECT_LT(problem.size(), 300u);
}

TEST(Config, IsReadFromTheProcess) {
  ASSERT_EQ(setenv("GPUEXEC_REGION", "cuda", 1), 0);
  ASSERT_EQ(setenv("GPUEXEC_OUTPUT", "x.%p.pb", 1), 0);
  const Config config = ReadConfig();
  EXPECT_TRUE(config.region_cuda);
  EXPECT_EQ(config.output, "x.%p.pb");
  unsetenv("GPUEXEC_REGION");
  unsetenv("GPUEXEC_OUTPUT");
}

TEST(HelpText, NamesEveryVariableWithItsDefaultAndEndsWithAnExample) {
  const std::string help = HelpText();
  size_t at = 0;
  for (const auto& [name, value] : kDefaults) {
    const size_t found = help.find("  " + name + " ", at);
    ASSERT_NE(found, std::string::npos) << name << " is missing or out of order";
    const size_t described = help.find("default: " + (value.empty() ? "(empty)" : value) + "\n", found);
    ASSERT_NE(described, std::string::npos) << name;
    at = described;
  }
  const size_t example = help.rfind("Example:\n");
  ASSERT_NE(example, std::string::npos);
  EXPECT_THAT(help.substr(example), AllOf(HasSubstr("CUDA_INJECTION64_PATH="), HasSubstr("GPUEXEC_OUTPUT=")));
}

TEST(HelpText, FitsATerminal) {
  const std::string help = HelpText();
  for (size_t begin = 0; begin < help.size();) {
    const size_t end = help.find('\n', begin);
    ASSERT_NE(end, std::string::npos) << "the last line has no end";
    EXPECT_LE(end - begin, 120u) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(ExpandOutputPattern, ReplacesWhatItKnowsAndKeepsTheRest) {
  struct Case {
    std::string pattern;
    std::string path;
  };
  for (const Case& c : std::vector<Case>{{"trace.pb", "trace.pb"},
                                         {"%h/%p.%r.pb", "node7/123.4.pb"},
                                         {"%%p", "%p"},
                                         {"%%%p", "%123"},
                                         {"%x%p", "%x123"},
                                         {"a%", "a%"},
                                         {"", ""},
                                         {"%p%p", "123123"}}) {
    EXPECT_EQ(ExpandOutputPattern(c.pattern, 123, "node7", "4"), c.path) << c.pattern;
  }
  EXPECT_EQ(ExpandOutputPattern("t%r.pb", 1, "h", ""), "t.pb");
}

TEST(ExpandOutputPattern, HostAndRankCannotLeadToAnotherFolder) {
  EXPECT_EQ(ExpandOutputPattern("%h-%r.pb", 1, "../../etc", "/x"), ".._.._etc-_x.pb");
}

TEST(AddPidToPath, PutsThePidBeforeTheExtension) {
  EXPECT_EQ(AddPidToPath("dir/trace.pb", 12), "dir/trace.12.pb");
  EXPECT_EQ(AddPidToPath("dir.d/trace", 12), "dir.d/trace.12");
  EXPECT_EQ(AddPidToPath("trace", UINT64_MAX), "trace.18446744073709551615");
}

TEST(IsLaterRank, IsOneOfSeveralAndNotTheFirst) {
  const auto later = [](const std::vector<std::string>& environment) {
    std::vector<std::pair<std::string, std::string>> variables;
    const std::string rank = FindRank(environment, &variables);
    return IsLaterRank(rank, variables);
  };
  for (const char* size :
       {"WORLD_SIZE=8", "OMPI_COMM_WORLD_SIZE=8", "PMI_SIZE=8", "SLURM_NTASKS=8", "MV2_COMM_WORLD_SIZE=8"}) {
    EXPECT_TRUE(later({"RANK=3", size})) << size;
    EXPECT_FALSE(later({"RANK=0", size})) << size;
    EXPECT_FALSE(later({size})) << "nobody knows which rank it is: " << size;
  }
  EXPECT_TRUE(later({"SLURM_NTASKS=2", "SLURM_PROCID=1"}));
  EXPECT_TRUE(later({"SLURM_NTASKS=1", "RANK=7", "WORLD_SIZE=8"})) << "one task starts several ranks";
  EXPECT_FALSE(later({"RANK=3"})) << "of how many is not known";
  EXPECT_FALSE(later({"RANK=3", "WORLD_SIZE=1"}));
  EXPECT_FALSE(later({"RANK=x", "WORLD_SIZE=8"}));
  EXPECT_FALSE(later({"RANK=3", "WORLD_SIZE=8x"}));
  EXPECT_FALSE(later({}));
}

TEST(FindRank, TakesTheFirstKnownVariableThatIsSet) {
  EXPECT_EQ(FindRank({}, nullptr), "");
  EXPECT_EQ(FindRank({"SLURM_PROCID=3"}, nullptr), "3");
  EXPECT_EQ(FindRank({"MV2_COMM_WORLD_RANK=6", "SLURM_PROCID=5", "PMI_RANK=4", "PMIX_RANK=3", "OMPI_COMM_WORLD_RANK=2",
                      "RANK=1"},
                     nullptr),
            "1");
  EXPECT_EQ(FindRank({"MV2_COMM_WORLD_RANK=6", "SLURM_PROCID=5", "PMI_RANK=4", "PMIX_RANK=3"}, nullptr), "3");
  EXPECT_EQ(FindRank({"RANK=", "PMI_RANK=4"}, nullptr), "4");
  EXPECT_EQ(FindRank({"RANK", "RANKING=2", "MY_RANK=3"}, nullptr), "");
}

TEST(FindRank, CollectsEveryKnownVariable) {
  std::vector<std::pair<std::string, std::string>> all;
  EXPECT_EQ(FindRank({"WORLD_SIZE=8", "HOME=/", "RANK=1", "LOCAL_RANK=0", "SLURM_PROCID=1"}, &all), "1");
  EXPECT_THAT(
      all, ElementsAre(Pair("RANK", "1"), Pair("SLURM_PROCID", "1"), Pair("LOCAL_RANK", "0"), Pair("WORLD_SIZE", "8")));
}

}  // namespace
}  // namespace gx::inject
