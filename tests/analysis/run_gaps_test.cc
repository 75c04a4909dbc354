#include "analysis/run_gaps.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace gx::analysis {
namespace {

using Spans = std::vector<std::pair<uint64_t, uint64_t>>;

// Sum of all causes but `cause`.
uint64_t Others(const IdleTime& time, GapCause cause) {
  uint64_t total_ns = 0;
  for (const IdleSum& sum : time.by_cause) total_ns += sum.total_ns;
  return total_ns - time.Of(cause).total_ns;
}

void ExpectOnly(const Gap& gap, const HostWaits& waits, const Spans& untimed, GapCause cause, uint64_t total_ns) {
  IdleGaps gaps;
  gaps.Add(gap, waits, untimed);
  const IdleTime time = gaps.Finish();
  EXPECT_EQ(time.Of(cause).total_ns, total_ns);
  EXPECT_EQ(time.Of(cause).longest_ns, total_ns);
  EXPECT_EQ(Others(time, cause), 0u);
}

TEST(IdleGapsTest, ALaunchCallAfterTheDeviceRanDryIsTheHostsDelay) {
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .launch_ns = 5000}, {}, {}, GapCause::kHostLate, 8000);
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .before_graph_node = true, .launch_ns = 5000}, {}, {},
             GapCause::kGraphLate, 8000);
}

TEST(IdleGapsTest, AHostThatWaitedAsTheDeviceRanDryIsTheCause) {
  HostWaits waits;
  waits.Add(500, 1500);
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .launch_ns = 5000}, waits, {}, GapCause::kSynchronization, 8000);
  // It began to wait later.
  ExpectOnly({.begin_ns = 400, .end_ns = 9000, .launch_ns = 5000}, waits, {}, GapCause::kHostLate, 8600);
  // The launch had been made: waiting did no harm.
  ExpectOnly({.begin_ns = 1000, .end_ns = 1400, .launch_ns = 100}, waits, {}, GapCause::kQueued, 400);
  // It waits on: the fill had been asked for before.
  ExpectOnly({.begin_ns = 1000, .end_ns = 1400, .before_copy = true}, waits, {}, GapCause::kQueued, 400);
}

TEST(IdleGapsTest, CopiesAndGraphsHaveCausesOfTheirOwn) {
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .before_copy = true}, {}, {}, GapCause::kBeforeCopy, 8000);
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .after_copy_to_host = true, .launch_ns = 5000}, {}, {},
             GapCause::kAfterCopyToHost, 8000);
  ExpectOnly({.begin_ns = 1000, .end_ns = 2000, .before_graph_node = true, .inside_launch = true, .launch_ns = 10}, {},
             {}, GapCause::kInsideGraph, 1000);
}

TEST(IdleGapsTest, WithoutALaunchCallTheCauseIsUnknown) {
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000}, {}, {}, GapCause::kUnknown, 8000);
  ExpectOnly({.begin_ns = 1000, .end_ns = 9000, .launch_ns = 9001}, {}, {}, GapCause::kUnknown, 8000);
}

TEST(IdleGapsTest, WindowsWithoutRecordsAreNoIdleTimeAndWhatIsAroundThemIsOurs) {
  const Gap gap{.begin_ns = 1000, .end_ns = 9000, .launch_ns = 8000};
  ExpectOnly(gap, {}, {{2000, 7000}}, GapCause::kWindowSwitch, 3000);
  ExpectOnly(gap, {}, {{0, 10}, {500, 1500}, {8500, 9500}}, GapCause::kWindowSwitch, 7000);
  ExpectOnly(gap, {}, {{0, 999}, {9001, 9999}}, GapCause::kHostLate, 8000);
  IdleGaps gaps;
  gaps.Add(gap, {}, Spans{{0, 10000}});
  EXPECT_EQ(gaps.Finish().Of(GapCause::kWindowSwitch).gap_count, 0u);
}

TEST(MergedSpansTest, AreDisjointAndOfTheSameTime) {
  struct Case {
    Spans spans;
    Spans merged;
  };
  const Case cases[] = {
      {{}, {}},
      {{{5, 9}, {1, 3}}, {{1, 3}, {5, 9}}},
      {{{1, 5}, {3, 9}, {9, 12}}, {{1, 12}}},
      {{{1, 100}, {2, 3}, {4, 5}, {101, 102}}, {{1, 100}, {101, 102}}},
      {{{9, 1}, {4, 4}}, {{4, 4}}},
      {{{0, UINT64_MAX}, {7, UINT64_MAX}}, {{0, UINT64_MAX}}},
  };
  for (const Case& one : cases) EXPECT_EQ(MergedSpans(one.spans), one.merged);
}

// Were each of them taken off, more would be than the gap has.
TEST(IdleGapsTest, WindowsThatOverlapAreTakenOffOnce) {
  const Gap gap{.begin_ns = 1000, .end_ns = 9000, .launch_ns = 8000};
  Spans nested;
  for (uint64_t i = 0; i < 1000; ++i) nested.emplace_back(2000 + i, 7000 - i);
  ExpectOnly(gap, {}, MergedSpans(nested), GapCause::kWindowSwitch, 3000);
}

// Launches into an idle device took 4 us to start. One that was entered just before its gap began took as long and is
// late as well; one that was entered long before was queued.
TEST(IdleGapsTest, ALaunchCallThatCameTooLateForItsKernelIsLateAsWell) {
  IdleGaps gaps;
  for (uint64_t i = 0; i < IdleGaps::kMinLateLaunches; ++i) {
    gaps.Add({.begin_ns = 1000, .end_ns = 6000, .launch_ns = 2000}, {}, {});
  }
  gaps.Add({.begin_ns = 3000, .end_ns = 6000, .launch_ns = 2100}, {}, {});
  gaps.Add({.begin_ns = 101'000, .end_ns = 102'000, .launch_ns = 2000}, {}, {});
  const IdleTime time = gaps.Finish();
  EXPECT_EQ(time.Of(GapCause::kHostLate).gap_count, IdleGaps::kMinLateLaunches + 1);
  EXPECT_EQ(time.Of(GapCause::kHostLate).total_ns, IdleGaps::kMinLateLaunches * 5000 + 3000);
  EXPECT_EQ(time.Of(GapCause::kQueued).total_ns, 1000u);
  ASSERT_TRUE(time.launch_delay_ns.has_value());
  EXPECT_NEAR(*time.launch_delay_ns, 4000, 400);
}

TEST(IdleGapsTest, WithFewLateLaunchesNothingIsGuessedFromTheirDelay) {
  IdleGaps gaps;
  gaps.Add({.begin_ns = 1000, .end_ns = 6000, .launch_ns = 2000}, {}, {});
  gaps.Add({.begin_ns = 8000, .end_ns = 9000, .launch_ns = 7900}, {}, {});
  const IdleTime time = gaps.Finish();
  EXPECT_EQ(time.Of(GapCause::kQueued).total_ns, 1000u);
  EXPECT_EQ(time.launch_delay_ns, std::nullopt);
}

TEST(HostWaitsTest, IsAUnionInAnyOrder) {
  HostWaits waits;
  waits.Add(50, 60);
  waits.Add(10, 20);
  waits.Add(18, 40);
  waits.Add(55, 58);
  waits.Add(70, 70);
  EXPECT_EQ(waits.WaitsUntil(9), std::nullopt);
  EXPECT_EQ(waits.WaitsUntil(10), 40u);
  EXPECT_EQ(waits.WaitsUntil(40), 40u);
  EXPECT_EQ(waits.WaitsUntil(41), std::nullopt);
  EXPECT_EQ(waits.WaitsUntil(57), 60u);
  EXPECT_EQ(waits.WaitsUntil(70), std::nullopt);
  waits.Add(35, 52);
  EXPECT_EQ(waits.WaitsUntil(10), 60u);
}

}  // namespace
}  // namespace gx::analysis
