// What a ladder says in words: only what figures back, most valuable first.
#include "analysis/ladder_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_resource.h"

namespace gx::analysis {
namespace {

using model::ResourceKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Case {
  LadderFacts facts;
  LadderEvidence evidence;
  LadderLaunch launch;
};

// DRAM for `dram_ns` of 10 us; SMs active for the rest, and alike.
Case Bound(double dram_ns) {
  Case one;
  one.evidence.input.time_ns = 10000;
  one.evidence.input.resources = {{.kind = ResourceKind::kDram,
                                   .on_sm_clock = false,
                                   .useful_ns = dram_ns,
                                   .work_ns = dram_ns,
                                   .busiest_ns = dram_ns}};
  one.evidence.input.clocks = {.max_hz = 2e9, .timed_hz = 2e9, .counted_hz = 2e9};
  one.evidence.input.active = model::ActiveCycles{.max = 20000, .mean = 20000};
  return one;
}

std::vector<LadderFinding> FindingsOf(const Case& one) {
  LadderFigures figures;
  const auto ladder = model::ComputeLadder(one.evidence.input);
  EXPECT_TRUE(ladder.ok()) << ladder.status();
  figures.ladder = *ladder;
  figures.what_ifs = LadderWhatIfs(one.evidence, *ladder, one.launch, 10);
  return LadderFindings({one.facts, one.evidence, one.launch, 10}, figures);
}

TEST(LadderFindingsTest, AKernelAtItsRoofIsSaidToBe) {
  const auto findings = FindingsOf(Bound(9500));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "ladder.at_roof");
  EXPECT_THAT(findings[0].text, HasSubstr("dram takes 95.0 % of the time"));
}

TEST(LadderFindingsTest, ARoofOfOneBusyInstanceIsCuredBySpreadingItsWork) {
  Case one = Bound(5000);
  one.evidence.input.resources = {
      {.kind = ResourceKind::kDram, .on_sm_clock = false, .useful_ns = 5000, .work_ns = 5000, .busiest_ns = 9500}};
  const auto findings = FindingsOf(one);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "ladder.at_roof");
  EXPECT_THAT(findings[0].advice, HasSubstr("work spread evenly"));
}

// A reduction that stores 4 KB, while 25 MB of the launches before are written back.
TEST(LadderFindingsTest, WhatOthersLeftInL2IsNothingThatThisKernelCanSave) {
  for (const double stored_bytes : {4e3, 2e7}) {
    Case one = Bound(9000);
    one.evidence.input.resources = {
        {.kind = ResourceKind::kDram, .on_sm_clock = false, .useful_ns = 5000, .work_ns = 9000, .busiest_ns = 9000}};
    one.evidence.counted = model::CountedWork{.dram_read_bytes = 2e7, .dram_write_bytes = 25e6};
    one.evidence.requested = model::RequestedWork{.requested_read_bytes = 2e7, .stored_bytes = stored_bytes};
    one.evidence.excess =
        model::Excess{.ns = 4000, .shares = {{.factor = model::ExcessFactor::kWriteBack, .ns = 4000, .solo_ns = 4000}}};
    const auto ladder = model::ComputeLadder(one.evidence.input);
    ASSERT_TRUE(ladder.ok()) << ladder.status();
    LadderFigures figures;
    figures.ladder = *ladder;
    figures.excess = one.evidence.excess;
    figures.what_ifs = LadderWhatIfs(one.evidence, *ladder, one.launch, 10);
    const auto findings = LadderFindings({one.facts, one.evidence, one.launch, 10}, figures);
    const auto found = std::find_if(findings.begin(), findings.end(), [](const LadderFinding& finding) {
      return finding.id == "ladder.excess.write_back";
    });
    ASSERT_NE(found, findings.end());
    const bool own = stored_bytes > 1e6;
    EXPECT_THAT(found->advice, HasSubstr(own ? "streaming stores" : "launches before left in L2"));
    EXPECT_EQ(found->saved_run_ns.has_value(), own);
    EXPECT_EQ(FindWhatIf(figures.what_ifs, "no_write_back_excess") != nullptr, own);
  }
}

TEST(LadderFindingsTest, UnevenWorkIsToBeSpreadOverWhatIsUneven) {
  Case one = Bound(5000);
  one.evidence.input.resources = {
      {.kind = ResourceKind::kL2Lookup, .on_sm_clock = false, .useful_ns = 3000, .work_ns = 3000, .busiest_ns = 8000}};
  for (const LadderFinding& finding : FindingsOf(one)) {
    if (finding.id == "ladder.uneven") {
      EXPECT_EQ(finding.advice, "spread atomics and hot addresses");
      return;
    }
  }
  FAIL() << "no finding of uneven slices";
}

TEST(LadderFindingsTest, MuchUnexplainedTimeIsAFindingWithWhatWouldHelp) {
  const auto findings = FindingsOf(Bound(5000));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "ladder.unexplained");
  EXPECT_THAT(findings[0].text, HasSubstr("5.00 us, 50.0 % of the time, is unexplained"));
  EXPECT_THAT(findings[0].advice, HasSubstr("GPUEXEC_COUNTERS=lean"));
}

TEST(LadderFindingsTest, ABrokenBoundIsAllThatIsSaid) {
  const auto findings = FindingsOf(Bound(12000));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "ladder.violation");
  EXPECT_THAT(findings[0].text, HasSubstr("above the time, which cannot be"));
}

TEST(LadderFindingsTest, ABoundWithinTheErrorOfTheClockIsNotCertainlyBroken) {
  for (const bool certain : {false, true}) {
    Case one = Bound(1000);
    const double ns = certain ? 9950 : 9600;
    one.evidence.input.resources = {
        {.kind = ResourceKind::kIssue, .on_sm_clock = true, .useful_ns = ns, .work_ns = ns, .busiest_ns = ns}};
    one.evidence.input.clocks.timed_hz = 1.9e9;
    LadderFigures figures;
    figures.ladder = *model::ComputeLadder(one.evidence.input);
    figures.intervals.emplace().violation_is_certain = true;
    const auto findings = LadderFindings({one.facts, one.evidence, one.launch, 10}, figures);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].id, "ladder.violation");
    EXPECT_THAT(findings[0].text, HasSubstr(certain ? "whatever samples and timings" : "it may be none"));
  }
}

TEST(LadderFindingsTest, NothingIsSaidOfASmallTermOrWithoutCounts) {
  EXPECT_THAT(FindingsOf(Bound(8500)), IsEmpty());
  Case uncounted = Bound(8500);
  uncounted.evidence.input.resources = {};
  uncounted.evidence.input.active.reset();
  EXPECT_THAT(FindingsOf(uncounted), IsEmpty());
}

TEST(LadderFindingsTest, CommunicationIsWaitingForOthers) {
  Case one = Bound(5000);
  one.facts.is_communication = true;
  const auto findings = FindingsOf(one);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "ladder.communication");
}

TEST(LadderFindingsTest, OccupancyThatIsWorthNothingSaysSo) {
  Case one = Bound(9500);
  one.launch.block_count = 100000;
  one.launch.sm_count = 100;
  LaunchResidency& residency = one.launch.configuration.residency;
  residency.blocks_per_sm = 2;
  residency.limiters = "registers";
  residency.occupancy_ratio = 0.25;
  residency.one_more_block.emplace().is_possible = true;
  residency.one_more_block->registers_per_thread = 80;
  // Latency is measured, and does not bind.
  one.evidence.input.uncontended_ratio = 0.1;
  const auto findings = FindingsOf(one);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].id, "ladder.occupancy");
  EXPECT_THAT(findings[0].text,
              HasSubstr("occupancy 25.0 %, limited by registers; 3 blocks an SM instead of 2: at most 80 "
                        "registers a thread; worth nothing: dram binds"));
}

}  // namespace
}  // namespace gx::analysis
