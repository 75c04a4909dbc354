#include "tools/run/run_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace gx::tools {
namespace {

using ::gx::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

EnvironmentInput Input(std::vector<std::string> variables) {
  EnvironmentInput input;
  input.variables = std::move(variables);
  input.library = "/gx/lib.so";
  input.folder = "/home/u";
  input.log = "/tmp/log";
  input.is_same_file = [](const std::string& a, const std::string& b) { return a == b || a == "/link/" + b.substr(4); };
  return input;
}

TEST(RunEnvironment, AddsWhatGpuexecNeedsAndKeepsTheRest) {
  const auto plan = PlanRunEnvironment({}, Input({"PATH=/bin", "EMPTY=", "ODD"}));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->variables, UnorderedElementsAre("PATH=/bin", "EMPTY=", "ODD", "CUDA_INJECTION64_PATH=/gx/lib.so",
                                                    "NVTX_INJECTION64_PATH=/gx/lib.so",
                                                    "GPUEXEC_OUTPUT=/home/u/trace.pb", "GPUEXEC_LOG=/tmp/log"));
  EXPECT_EQ(plan->output, "/home/u/trace.pb");
  EXPECT_EQ(plan->log, "/tmp/log");
  EXPECT_THAT(plan->notes, IsEmpty());
}

TEST(RunEnvironment, AnOptionWinsOverItsVariable) {
  RunOptions options;
  options.settings = {{"GPUEXEC_COUNTERS", "off"}, {"GPUEXEC_OUTPUT", "b.pb"}};
  const auto plan =
      PlanRunEnvironment(options, Input({"GPUEXEC_COUNTERS=full", "GPUEXEC_OUTPUT=/a.pb", "GPUEXEC_COUNTERS=lean"}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(FindVariable(plan->variables, "GPUEXEC_COUNTERS"), "off");
  EXPECT_EQ(FindVariable(plan->variables, "GPUEXEC_OUTPUT"), "/home/u/b.pb");
  EXPECT_EQ(std::count(plan->variables.begin(), plan->variables.end(), "GPUEXEC_COUNTERS=lean"), 0);
}

TEST(RunEnvironment, PerCentSignsOfTheFolderAreNoPattern) {
  EnvironmentInput input = Input({"GPUEXEC_OUTPUT=t.%p.pb"});
  input.folder = "/x%p";
  EXPECT_EQ(PlanRunEnvironment({}, input)->output, "/x%%p/t.%p.pb");
}

TEST(RunEnvironment, AnotherInjectionIsRefusedUnlessItHasToGiveWay) {
  const EnvironmentInput input = Input({"CUDA_INJECTION64_PATH=/other.so"});
  EXPECT_THAT(
      PlanRunEnvironment({}, input).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("/other.so"), HasSubstr("--replace-injection"))));
  RunOptions options;
  options.replace_injection = true;
  const auto plan = PlanRunEnvironment(options, input);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(FindVariable(plan->variables, "CUDA_INJECTION64_PATH"), "/gx/lib.so");
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("/other.so")));
}

TEST(RunEnvironment, TheSameLibraryUnderAnotherNameIsNoOther) {
  const auto plan =
      PlanRunEnvironment({}, Input({"CUDA_INJECTION64_PATH=/link/lib.so", "NVTX_INJECTION64_PATH=/link/lib.so"}));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->notes, IsEmpty());
}

TEST(RunEnvironment, AnNvtxVariableIsKeptAndSaid) {
  const auto plan = PlanRunEnvironment({}, Input({"NVTX_INJECTION64_PATH=/nvtx.so"}));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->variables, Contains("NVTX_INJECTION64_PATH=/nvtx.so"));
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("/nvtx.so and is kept")));
}

TEST(RunEnvironment, EmptyVariablesAreNoneAtAll) {
  const auto plan = PlanRunEnvironment(
      {}, Input({"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "GPUEXEC_OUTPUT=", "GPUEXEC_LOG="}));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->variables,
              UnorderedElementsAre("CUDA_INJECTION64_PATH=/gx/lib.so", "NVTX_INJECTION64_PATH=/gx/lib.so",
                                   "GPUEXEC_OUTPUT=/home/u/trace.pb", "GPUEXEC_LOG=/tmp/log"));
}

TEST(RunEnvironment, AUsersLogIsLeftWhereItIs) {
  EXPECT_EQ(PlanRunEnvironment({}, Input({"GPUEXEC_LOG=my.log"}))->log, "/home/u/my.log");
  const auto plan = PlanRunEnvironment({}, Input({"GPUEXEC_LOG=stderr"}));
  EXPECT_EQ(plan->log, "");
  EXPECT_THAT(plan->variables, Contains("GPUEXEC_LOG=stderr"));
}

TEST(RunEnvironment, KnowsThatTheLibraryIsSwitchedOff) {
  EXPECT_TRUE(PlanRunEnvironment({}, Input({"GPUEXEC_ENABLE=0"}))->switched_off);
  EXPECT_FALSE(PlanRunEnvironment({}, Input({"GPUEXEC_ENABLE=1"}))->switched_off);
}

TEST(RunEnvironment, VariablesAreFoundByTheirWholeName) {
  const std::vector<std::string> variables = {"AB=1", "A=2", "A=3", "A"};
  EXPECT_EQ(FindVariable(variables, "A"), "2");
  EXPECT_EQ(FindVariable(variables, "B"), std::nullopt);
}

}  // namespace
}  // namespace gx::tools
