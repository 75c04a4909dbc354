#include "analysis/run_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report_text_run.h"
#include "analysis/run_coverage.h"
#include "analysis/text_writer.h"

namespace gx::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Ids(const RunExplanation& run) {
  std::vector<std::string> ids;
  for (const RunFinding& finding : RunFindings(run)) ids.push_back(finding.id);
  return ids;
}

// 1 s with timings, of which the device waits for launches and in synchronizations.
RunExplanation RunOf(LaunchBound verdict, uint64_t late_ns, uint64_t synchronization_ns) {
  RunExplanation run;
  run.launches.verdict = verdict;
  run.launches.host_late_ns = late_ns;
  run.launches.host_late_ratio = static_cast<double>(late_ns) / 1e9;
  DeviceIdle idle;
  idle.span_ns = 1'000'000'000;
  idle.busy_ns = 400'000'000;
  idle.causes.push_back({"host_late", "", 100, late_ns, late_ns / 100, run.launches.host_late_ratio});
  idle.causes.push_back({"synchronization", "", 10, synchronization_ns, synchronization_ns / 10,
                         static_cast<double>(synchronization_ns) / 1e9});
  run.idle.push_back(idle);
  return run;
}

FusableChain Chain(const std::vector<std::string>& names) {
  FusableChain chain;
  for (const std::string& name : names) {
    chain.signatures.push_back(static_cast<uint32_t>(chain.signatures.size()));
    chain.names.push_back(name);
    chain.grids.emplace_back("8");
  }
  chain.chain_count = 100;
  chain.stored_bytes.assign(names.size() - 1, 1 << 20);
  chain.loaded_multiples.assign(names.size() - 1, 1);
  chain.time_ns = 4000;
  chain.dram_bytes = 8 << 20;
  chain.saved_dram_bytes = 2 << 20;
  chain.fused_time_ns = 3000;
  chain.saved_ns = 1000;
  chain.saved_run_ns = 100'000'000;
  return chain;
}

TEST(RunFindingsTest, ALaunchBoundRunIsToldSoFirst) {
  const RunExplanation run = RunOf(LaunchBound::kYes, 250'000'000, 300'000'000);
  EXPECT_THAT(Ids(run), ElementsAre("run.launch_bound", "run.idle.synchronization"));
  EXPECT_THAT(RunFindings(run)[0].text, HasSubstr("250 ms (25.0 % of first start to last end)"));
  EXPECT_THAT(RunFindings(run)[0].advice, HasSubstr("CUDA graph"));
}

TEST(RunFindingsTest, WhatIsLittleOrWithoutAVerdictGetsNoLine) {
  EXPECT_THAT(Ids(RunOf(LaunchBound::kNo, 10'000'000, 40'000'000)), IsEmpty());
  RunExplanation few = RunOf(LaunchBound::kUnknown, 0, 300'000'000);
  EXPECT_THAT(Ids(few), IsEmpty());
}

TEST(RunFindingsTest, OneGapThatIsMostOfItIsSaidToBe) {
  RunExplanation run = RunOf(LaunchBound::kNo, 10'000'000, 300'000'000);
  EXPECT_THAT(RunFindings(run)[0].advice, HasSubstr(".item()"));
  run.idle[0].causes[1].longest_ns = 200'000'000;
  EXPECT_THAT(RunFindings(run)[0].advice, HasSubstr("one gap is most of that"));
}

TEST(RunFindingsTest, GraphsThatComeLateAreNotAdvisedToBecomeGraphs) {
  RunExplanation run = RunOf(LaunchBound::kYes, 250'000'000, 0);
  run.idle[0].causes[0].id = "graph_late";
  EXPECT_THAT(RunFindings(run)[0].advice, HasSubstr("more work into each graph"));
}

TEST(RunFindingsTest, FusionIsWorthALineFromHalfAPerCentOfBusyTime) {
  RunExplanation run = RunOf(LaunchBound::kNo, 0, 0);
  run.chains.push_back(Chain({"scale", "clamp"}));
  run.chains[0].saved_run_ns = 1'900'000;
  EXPECT_THAT(Ids(run), IsEmpty());
  run.chains[0].saved_run_ns = 2'100'000;
  EXPECT_THAT(Ids(run), ElementsAre("run.fusable"));
  const RunFinding finding = RunFindings(run)[0];
  EXPECT_THAT(finding.text, HasSubstr("clamp (grid 8) follows scale (grid 8) 100 times"));
  EXPECT_THAT(finding.text, HasSubstr("loads what that stores, by bytes: 1 MiB; of 8 MiB to and from DRAM 2 MiB"));
  EXPECT_THAT(finding.advice, HasSubstr("may be fused, if"));
  EXPECT_THAT(finding.advice, HasSubstr("which the trace cannot tell"));
  EXPECT_THAT(finding.advice, HasSubstr("predicted 3.00 us instead of 4.00 us, 2.10 ms in all"));
  EXPECT_THAT(finding.advice, Not(HasSubstr("do not add")));
}

TEST(RunFindingsTest, AChainIsOneFindingWithEachOfItsKernels) {
  RunExplanation run = RunOf(LaunchBound::kNo, 0, 0);
  run.chains.push_back(Chain({"scale", "clamp", "add"}));
  run.chains[0].loaded_multiples[1] = 2;
  run.chains[0].shares_kernel = true;
  ASSERT_THAT(Ids(run), ElementsAre("run.fusable"));
  const RunFinding finding = RunFindings(run)[0];
  EXPECT_THAT(finding.text, HasSubstr("3 kernels follow one another 100 times"));
  EXPECT_THAT(finding.text,
              HasSubstr("scale (grid 8); clamp (grid 8) loads 1 MiB; add (grid 8) loads 2 times 1 MiB; of 8 MiB"));
  EXPECT_THAT(finding.advice, HasSubstr("savings of chains that share a kernel do not add"));
}

TEST(RunFindingsTest, TheTextTellsPairsAndTheChainsThatTheyMake) {
  RunExplanation run;
  run.fusable_count = run.chain_count = 2;
  TextWriter apart(false);
  WriteRunExplanation(run, &apart);
  EXPECT_THAT(apart.Take(), Not(HasSubstr("in a row")));
  run.chain_count = 1;
  TextWriter row(false);
  WriteRunExplanation(run, &row);
  const std::string text = row.Take();
  EXPECT_THAT(text, HasSubstr("2 pairs of neighbouring signatures by bytes"));
  EXPECT_THAT(text, HasSubstr("in a row they make 1 chain"));
}

TEST(RunFindingsTest, WithoutAPredictionFusionGetsNoLine) {
  RunExplanation run = RunOf(LaunchBound::kNo, 0, 0);
  run.chains.push_back(Chain({"scale", "clamp"}));
  run.chains[0].fused_time_ns.reset();
  run.chains[0].saved_ns.reset();
  run.chains[0].saved_run_ns.reset();
  EXPECT_THAT(Ids(run), IsEmpty());
}

TEST(CoverageOfTest, CountsTheHeaviestUntilTheyMakeNinetyFivePerCent) {
  const auto coverage = CoverageOf({{10, false}, {600, true}, {0, true}, {350, false}, {40, true}}, 1000);
  ASSERT_TRUE(coverage.has_value());
  EXPECT_EQ(coverage->signature_count, 4u);
  EXPECT_EQ(coverage->main_count, 2u);
  EXPECT_DOUBLE_EQ(coverage->main_ratio, 0.95);
  EXPECT_EQ(coverage->main_counted_count, 1u);
  EXPECT_DOUBLE_EQ(coverage->counted_ratio, 0.64);
  EXPECT_FALSE(CoverageOf({}, 0).has_value());
}

}  // namespace
}  // namespace gx::analysis
