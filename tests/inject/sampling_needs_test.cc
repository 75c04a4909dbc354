#include "inject/sampling_needs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "inject/self_stats.h"

namespace gx::inject {
namespace {

constexpr GroupKind kKinds[] = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
constexpr uint32_t kLight = 0;
constexpr uint32_t kSass = 1;
constexpr uint32_t kTensor = 2;

class SamplingNeedsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(needs_.Allocate({.capacity = 64, .functions = 64}, kKinds)); }

  // A signature with its launches and timings.
  uint32_t Add(uint64_t key, uint32_t function, uint64_t time_ns, int launches = 1) {
    uint32_t place = SamplingNeeds::kNone;
    for (int i = 0; i < launches; ++i) {
      place = needs_.Find(key, function);
      needs_.AddTime(key, time_ns, true);
    }
    return place;
  }

  SamplingNeeds needs_;
};

TEST(SamplingKey, TellsLaunchesApartByEveryPart) {
  const SamplingKeyParts base = {.name_hash = 1,
                                 .device_id = 0,
                                 .grid = {2, 3, 4},
                                 .block = {5, 6, 7},
                                 .cluster = {1, 1, 1},
                                 .dynamic_shared_memory_bytes = 1024};
  std::vector<SamplingKeyParts> parts(13, base);
  parts[1].name_hash = 2;
  parts[2].device_id = 1;
  parts[3].grid.x = 9;
  parts[4].grid.y = 9;
  parts[5].grid.z = 9;
  parts[6].block.x = 9;
  parts[7].block.y = 9;
  parts[8].block.z = 9;
  parts[9].cluster.x = 2;
  parts[10].cluster.y = 2;
  parts[11].cluster.z = 2;
  parts[12].dynamic_shared_memory_bytes = 0;
  std::map<uint64_t, int> keys;
  for (const SamplingKeyParts& one : parts) ++keys[SamplingKey(one)];
  EXPECT_EQ(keys.size(), parts.size());
  EXPECT_EQ(SamplingKey(base), SamplingKey(base));
}

TEST_F(SamplingNeedsTest, WantsNothingBeforeItHasRanked) {
  const uint32_t place = Add(1, 1, 1000);
  EXPECT_FALSE(needs_.Wants(place, kLight));
  needs_.Rank();
  EXPECT_TRUE(needs_.Wants(place, kLight));
}

TEST_F(SamplingNeedsTest, WantsThreeSamplesOfEachGroup) {
  const uint32_t place = Add(1, 1, 1000);
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kLight].ranges, 3u);
  EXPECT_FALSE(needs_.Record(place, kLight, SampleOutcome::kValid));
  EXPECT_FALSE(needs_.Record(place, kLight, SampleOutcome::kValid));
  EXPECT_EQ(needs_.Summarise().groups[kLight].ranges, 1u);
  EXPECT_TRUE(needs_.Wants(place, kLight));
  EXPECT_TRUE(needs_.Record(place, kLight, SampleOutcome::kValid));
  EXPECT_FALSE(needs_.Wants(place, kLight));
  EXPECT_EQ(needs_.Summarise().groups[kLight].signatures, 0u);
  EXPECT_EQ(needs_.Samples(place, kLight), 3u);
}

TEST_F(SamplingNeedsTest, WantsPatchedCodeOnlyOfFunctionsThatHaveGraduated) {
  const uint32_t place = Add(1, 7, 1000);
  const uint32_t other = Add(2, 8, 1000);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(place, kSass));
  EXPECT_EQ(needs_.Summarise().groups[kSass].signatures, 0u);
  needs_.Graduate(7);
  (void)needs_.Record(place, kLight, SampleOutcome::kFirstOfSession);
  EXPECT_TRUE(needs_.HasGraduated(7));
  EXPECT_TRUE(needs_.Wants(place, kSass));
  EXPECT_FALSE(needs_.Wants(other, kSass));
  EXPECT_EQ(needs_.Summarise().groups[kSass].signatures, 1u);
}

TEST_F(SamplingNeedsTest, WantsTensorGroupsOnlyWhereTheTensorPipeWasAtWork) {
  const uint32_t place = Add(1, 1, 1000);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(place, kTensor));
  needs_.SetTensorActive(place);
  EXPECT_TRUE(needs_.Wants(place, kTensor)) << "as far as is known it never gets patched code";
  needs_.Graduate(1);
  (void)needs_.Record(place, kLight, SampleOutcome::kValid);
  EXPECT_FALSE(needs_.Wants(place, kTensor)) << "patched code may still say that it was packed arithmetic";
  (void)needs_.Record(place, kSass, SampleOutcome::kValid);
  EXPECT_TRUE(needs_.Wants(place, kTensor));
  const uint32_t without = Add(2, 2, 1000);
  needs_.Rank();
  needs_.SetTensorActive(without);
  needs_.Graduate(2);
  (void)needs_.Record(without, kLight, SampleOutcome::kValid);
  EXPECT_FALSE(needs_.Wants(without, kTensor));
  needs_.GiveUpGroup(kSass);
  EXPECT_TRUE(needs_.Wants(without, kTensor)) << "there will be none";
}

TEST_F(SamplingNeedsTest, ATensorGroupThatIsForAllTakesTheOthersWhileItMay) {
  ASSERT_TRUE(needs_.SetGroups(kKinds, 1u << kTensor));
  const uint32_t place = Add(1, 1, 1000);
  const uint32_t gemm = Add(2, 2, 1000);
  needs_.Rank();
  needs_.SetTensorActive(gemm);
  (void)needs_.Record(gemm, kSass, SampleOutcome::kValid);
  needs_.SetForAll(false);
  EXPECT_FALSE(needs_.Wants(place, kTensor));
  EXPECT_TRUE(needs_.Wants(gemm, kTensor));
  EXPECT_EQ(needs_.Summarise().groups[kTensor].signatures, 1u);
  needs_.SetForAll(true);
  EXPECT_TRUE(needs_.Wants(place, kTensor));
  EXPECT_EQ(needs_.Summarise().groups[kTensor].ranges, 6u);
  needs_.SetTensorPathKnown(gemm);
  EXPECT_TRUE(needs_.Wants(gemm, kTensor)) << "for its other counters";
}

TEST_F(SamplingNeedsTest, WhatOnlyTheBeginningLaunchedIsNotWaitedForLong) {
  const auto launch = [&](uint64_t key) { return Add(key, static_cast<uint32_t>(key), 1000); };
  const auto waited_for = [&] { return needs_.Summarise().groups[kLight].signatures; };
  const uint32_t once = launch(1);
  (void)launch(2);
  needs_.Rank();
  EXPECT_EQ(waited_for(), 2u);
  for (int i = 0; i < 4; ++i) needs_.Rank();
  EXPECT_EQ(waited_for(), 0u) << "neither has come again";
  EXPECT_TRUE(needs_.Wants(once, kLight)) << "if it comes, it is sampled";
  needs_.Rank();
  (void)launch(2);
  for (int i = 0; i < 8; ++i) needs_.Rank();
  EXPECT_EQ(waited_for(), 1u);
  for (int i = 0; i < 100; ++i) needs_.Rank();
  EXPECT_EQ(waited_for(), 0u);
}

TEST_F(SamplingNeedsTest, AGraphDoesNotWaitForPatchedCodeThatItNeverGets) {
  const uint32_t graph = Add(1, 1, 1000);
  needs_.Rank();
  (void)needs_.Record(graph, kLight, SampleOutcome::kValid);
  needs_.SetTensorActive(graph);
  EXPECT_TRUE(needs_.Wants(graph, kTensor));
  EXPECT_EQ(needs_.WillLack(kSass), 0u);
}

TEST_F(SamplingNeedsTest, CountsWhatPatchedCodeWillHaveToDo) {
  const uint32_t place = Add(1, 1, 1000);
  const uint32_t given_up = Add(2, 2, 1000);
  needs_.Rank();
  needs_.GiveUp(given_up);
  EXPECT_EQ(needs_.WillLack(kSass), 3u) << "once it has completed";
  (void)needs_.Record(place, kLight, SampleOutcome::kValid);
  needs_.Graduate(1);
  EXPECT_EQ(needs_.WillLack(kSass), 3u);
  (void)needs_.Record(place, kSass, SampleOutcome::kValid);
  EXPECT_EQ(needs_.WillLack(kSass), 2u);
  needs_.GiveUpGroup(kSass);
  EXPECT_EQ(needs_.WillLack(kSass), 0u);
}

// Twenty signatures of equal time; the last one executes nine times as much as the others.
TEST_F(SamplingNeedsTest, WhatIsDearWithPatchedCodeComesLast) {
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < 20; ++i) places.push_back(Add(i + 1, i + 1, 1000));
  const uint32_t dear = places.back();
  for (const uint32_t place : places) {
    needs_.SetWarpInstructions(place, place == dear ? 90e6 : 10e6);
    (void)needs_.Record(place, kLight, SampleOutcome::kValid);
  }
  for (uint32_t i = 0; i < 20; ++i) needs_.Graduate(i + 1);
  needs_.Rank();
  SamplingNeeds::Summary summary = needs_.Summarise();
  EXPECT_FALSE(needs_.Wants(dear, kSass));
  EXPECT_TRUE(needs_.Lacks(dear, kSass)) << "where it is asked for by itself";
  EXPECT_TRUE(needs_.Wants(dear, kLight)) << "hardware counters cost the same for all";
  EXPECT_EQ(summary.groups[kSass].signatures, 19u);
  EXPECT_NEAR(summary.groups[kSass].share_ratio, 0.95, 1e-9);
  for (const uint32_t place : places) {
    if (place == dear) continue;
    EXPECT_TRUE(needs_.Wants(place, kSass));
    for (int i = 0; i < 3; ++i) (void)needs_.Record(place, kSass, SampleOutcome::kValid);
  }
  summary = needs_.Summarise();
  EXPECT_TRUE(needs_.Wants(dear, kSass));
  EXPECT_EQ(summary.groups[kSass].signatures, 1u);
  EXPECT_EQ(summary.groups[kSass].ranges, 3u);
}

TEST_F(SamplingNeedsTest, WhatIsDearWaitsForNothingThatIsNotLaunched) {
  constexpr uint32_t kOthers = 9;
  for (uint32_t i = 0; i <= kOthers; ++i) {
    const uint32_t place = Add(i + 1, i + 1, 1000);
    needs_.SetWarpInstructions(place, i == kOthers ? 990e6 : 10e6);
    (void)needs_.Record(place, kLight, SampleOutcome::kValid);
    needs_.Graduate(i + 1);
  }
  const uint32_t dear = needs_.Find(kOthers + 1, kOthers + 1);
  needs_.Rank();
  (void)needs_.Summarise();
  EXPECT_FALSE(needs_.Wants(dear, kSass));
  (void)needs_.Find(kOthers + 1, kOthers + 1);  // It alone is launched.
  needs_.Rank();
  (void)needs_.Summarise();
  EXPECT_TRUE(needs_.Wants(dear, kSass));
}

TEST_F(SamplingNeedsTest, WhatIsDearWaitsForNothingThatHardlyMatters) {
  const uint32_t large = Add(1, 1, 100'000);
  const uint32_t small = Add(2, 2, 300);
  const uint32_t dear = Add(3, 3, 1'000);
  for (const uint32_t place : {large, small, dear}) {
    needs_.SetWarpInstructions(place, place == dear ? 90e6 : 10e6);
    (void)needs_.Record(place, kLight, SampleOutcome::kValid);
  }
  for (uint32_t function = 1; function <= 3; ++function) needs_.Graduate(function);
  needs_.SetSharePercent(100);
  needs_.Rank();
  (void)needs_.Summarise();
  EXPECT_FALSE(needs_.Wants(dear, kSass));
  for (int i = 0; i < 3; ++i) (void)needs_.Record(large, kSass, SampleOutcome::kValid);
  (void)needs_.Summarise();
  EXPECT_TRUE(needs_.Wants(dear, kSass)) << "0.3 % of the time are left of the others";
}

TEST_F(SamplingNeedsTest, NothingIsDearWhereLaunchesStandForTime) {
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t place = 0;
    for (uint32_t n = 0; n < (i == 0 ? 1u : 100u); ++n) place = needs_.Find(i + 1, i + 1);
    needs_.SetWarpInstructions(place, i == 0 ? 1e9 : 1e6);
    (void)needs_.Record(place, kLight, SampleOutcome::kValid);
    needs_.Graduate(i + 1);
  }
  needs_.SetSharePercent(100);
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kSass].signatures, 4u);
}

TEST_F(SamplingNeedsTest, NothingIsDearWhereInstructionsWereNotCounted) {
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t place = Add(i + 1, i + 1, i == 0 ? 1 : 1000);
    (void)needs_.Record(place, kLight, SampleOutcome::kValid);
    needs_.Graduate(i + 1);
  }
  needs_.SetSharePercent(100);
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kSass].signatures, 4u);
}

TEST_F(SamplingNeedsTest, TakesAnotherShareFromTheNextRankOn) {
  const uint32_t large = Add(1, 1, 9'700);
  const uint32_t small = Add(2, 2, 300);
  needs_.SetSharePercent(96);
  needs_.Rank();
  EXPECT_TRUE(needs_.Wants(large, kLight));
  EXPECT_FALSE(needs_.Wants(small, kLight));
  needs_.SetSharePercent(99);
  EXPECT_FALSE(needs_.Wants(small, kLight));
  needs_.Rank();
  EXPECT_TRUE(needs_.Wants(small, kLight));
}

TEST_F(SamplingNeedsTest, PicksTheSignaturesThatMakeUpNinetyNinePerCent) {
  const uint32_t large = Add(1, 1, 9'000);
  const uint32_t small = Add(2, 2, 900);
  const uint32_t tiny = Add(3, 3, 100);
  needs_.Rank();
  EXPECT_TRUE(needs_.Wants(large, kLight));
  EXPECT_TRUE(needs_.Wants(small, kLight));
  EXPECT_FALSE(needs_.Wants(tiny, kLight));
  EXPECT_EQ(needs_.Summarise().ranked, 2u);
}

TEST_F(SamplingNeedsTest, PicksWhatComesLateByItsShareOfLate) {
  const uint32_t early = Add(1, 1, 1'000'000'000, 100);
  needs_.Rank();
  // Less than 1 per cent of the whole run, all of the last seconds.
  const uint32_t late = Add(2, 2, 100'000, 1);
  for (int i = 0; i < 200; ++i) {
    Add(2, 2, 400'000, 10);
    needs_.Rank();
  }
  EXPECT_TRUE(needs_.Wants(late, kLight));
  EXPECT_GT(needs_.Summarise().groups[kLight].share_ratio, 0.5);
  // And what was there before remains.
  EXPECT_TRUE(needs_.Wants(early, kLight));
}

TEST_F(SamplingNeedsTest, NothingFadesWhileNothingIsTimed) {
  Add(1, 1, 1'000'000'000, 10);
  for (int i = 0; i < 200; ++i) needs_.Rank();
  const uint32_t small = Add(2, 2, 1'000'000);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(small, kLight));
}

TEST_F(SamplingNeedsTest, RanksByTimeAndLimitsByRanges) {
  const uint32_t b = Add(2, 2, 3'000);
  const uint32_t a = Add(1, 1, 5'000);
  const uint32_t c = Add(3, 3, 2'000);
  needs_.Rank();
  EXPECT_EQ(needs_.RankLimit(kLight, 100), UINT32_MAX);
  EXPECT_EQ(needs_.RankLimit(kLight, 9), UINT32_MAX);
  const uint32_t two = needs_.RankLimit(kLight, 8);
  EXPECT_TRUE(needs_.Wants(a, kLight, two));
  EXPECT_TRUE(needs_.Wants(b, kLight, two));
  EXPECT_FALSE(needs_.Wants(c, kLight, two));
  // At least one.
  const uint32_t one = needs_.RankLimit(kLight, 0);
  EXPECT_TRUE(needs_.Wants(a, kLight, one));
  EXPECT_FALSE(needs_.Wants(b, kLight, one));
  // Those that are done do not count.
  for (int i = 0; i < 3; ++i) needs_.Record(a, kLight, SampleOutcome::kValid);
  EXPECT_TRUE(needs_.Wants(b, kLight, needs_.RankLimit(kLight, 3)));
  EXPECT_FALSE(needs_.Wants(c, kLight, needs_.RankLimit(kLight, 3)));
}

TEST_F(SamplingNeedsTest, GivesAPairUpAfterEightVoidRangesInARow) {
  const uint32_t place = Add(1, 1, 1000);
  needs_.Graduate(1);
  needs_.Rank();
  for (int i = 0; i < 7; ++i) needs_.Record(place, kLight, SampleOutcome::kVoid);
  needs_.Record(place, kLight, SampleOutcome::kValid);
  for (int i = 0; i < 7; ++i) needs_.Record(place, kLight, SampleOutcome::kVoid);
  EXPECT_TRUE(needs_.Wants(place, kLight));
  // The first of a session is used up as well.
  needs_.Record(place, kLight, SampleOutcome::kFirstOfSession);
  EXPECT_FALSE(needs_.Wants(place, kLight));
  EXPECT_EQ(needs_.Samples(place, kLight), 1u);
  EXPECT_EQ(needs_.Summarise().groups[kLight].ranges, 0u);
  EXPECT_TRUE(needs_.Wants(place, kSass));
}

TEST_F(SamplingNeedsTest, GivesUpGroupsAndFunctions) {
  const uint32_t place = Add(1, 1, 1000);
  const uint32_t other = Add(2, 2, 1000);
  needs_.Graduate(1);
  needs_.Graduate(2);
  for (const uint32_t signature : {place, other}) {
    (void)needs_.Record(signature, kLight, SampleOutcome::kFirstOfSession);
  }
  needs_.Rank();
  needs_.GiveUpFunction(1);
  EXPECT_FALSE(needs_.Wants(place, kLight));
  EXPECT_FALSE(needs_.Wants(place, kSass));
  EXPECT_TRUE(needs_.Wants(other, kLight));
  needs_.GiveUpGroup(kLight);
  EXPECT_FALSE(needs_.Wants(other, kLight));
  EXPECT_TRUE(needs_.Wants(other, kSass));
  EXPECT_TRUE(needs_.Summarise().groups[kLight].given_up);
  EXPECT_FALSE(needs_.Summarise().groups[kSass].given_up);
}

TEST_F(SamplingNeedsTest, TellsHowMuchOfTheTimeHasItsCleanTimings) {
  Add(1, 1, 300, 20);
  Add(2, 2, 200, 19);
  needs_.AddTime(2, 200, false);
  needs_.Rank();
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_ratio, 0.6);
  EXPECT_EQ(needs_.Summarise().known_time_ns, 10'000u);
  needs_.AddTime(2, 200, true);
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_ratio, 1.0);
}

TEST_F(SamplingNeedsTest, TellsOfHowManyLaunchesAnyTimingIsKnown) {
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_launch_ratio, 1) << "none is known to lack any";
  Add(1, 1, 300, 30);
  for (int i = 0; i < 10; ++i) (void)needs_.Find(2, 2);
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_launch_ratio, 1) << "as of the last ranks";
  needs_.Rank();
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_launch_ratio, 0.75);
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_ratio, 1) << "of the time that is known";
  for (int i = 0; i < 5; ++i) {
    (void)needs_.Find(1, 1);
    needs_.Rank();
  }
  EXPECT_DOUBLE_EQ(needs_.Summarise().timed_launch_ratio, 1) << "the other one is launched no more";
}

TEST_F(SamplingNeedsTest, LaunchesStandForTimeWhereNothingIsTimed) {
  uint32_t often = 0;
  for (int i = 0; i < 1000; ++i) often = needs_.Find(1, 1);
  const uint32_t once = needs_.Find(2, 2);
  needs_.Rank();
  EXPECT_TRUE(needs_.Wants(often, kLight));
  EXPECT_FALSE(needs_.Wants(once, kLight));
  EXPECT_EQ(needs_.Summarise().timed_ratio, 0);
  // The first timing changes the measure.
  needs_.AddTime(2, 5'000, true);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(often, kLight));
  EXPECT_TRUE(needs_.Wants(once, kLight));
}

TEST_F(SamplingNeedsTest, DoesNotWaitForSignaturesThatAreNotLaunchedAnyMore) {
  uint32_t place = SamplingNeeds::kNone;
  for (int i = 0; i < 20; ++i) {
    place = Add(1, 1, 1000);
    needs_.Rank();
  }
  for (int i = 0; i < 19; ++i) needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kLight].signatures, 1u);
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kLight].signatures, 0u);
  // If it comes all the same it is welcome.
  EXPECT_TRUE(needs_.Wants(place, kLight));
  needs_.Find(1, 1);
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().groups[kLight].signatures, 1u);
}

TEST_F(SamplingNeedsTest, CountsWhatFindsNoPlace) {
  for (uint64_t key = 1; key <= 64; ++key) EXPECT_NE(needs_.Find(key * 7, 1), SamplingNeeds::kNone);
  EXPECT_EQ(needs_.signatures(), 64u);
  EXPECT_EQ(needs_.Find(1000, 1), SamplingNeeds::kNone);
  needs_.AddTime(1001, 5, true);
  EXPECT_EQ(needs_.without_place(), 2u);
  EXPECT_NE(needs_.Find(7, 1), SamplingNeeds::kNone);
  EXPECT_FALSE(needs_.Wants(SamplingNeeds::kNone, kLight));
  EXPECT_FALSE(needs_.Record(SamplingNeeds::kNone, kLight, SampleOutcome::kValid));
  needs_.SetTensorActive(SamplingNeeds::kNone);
}

TEST_F(SamplingNeedsTest, FunctionsBeyondTheTableAreNotSampled) {
  const uint32_t place = Add(1, 64, 1000);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(place, kLight));
  needs_.Graduate(64);
  EXPECT_FALSE(needs_.HasGraduated(64));
}

TEST_F(SamplingNeedsTest, GroupsBeyondTheListAreNotWanted) {
  const uint32_t place = Add(1, 1, 1000);
  needs_.Rank();
  EXPECT_FALSE(needs_.Wants(place, 3));
  EXPECT_FALSE(needs_.Record(place, 3, SampleOutcome::kValid));
  EXPECT_EQ(needs_.RankLimit(3, 10), 0u);
}

TEST(GraphSamplingKey, TellsDevicesAndGraphsApartAndIsNoKernels) {
  std::map<uint64_t, int> keys;
  for (uint32_t device = 0; device < 3; ++device) {
    for (uint32_t graph = 1; graph < 50; ++graph) ++keys[GraphSamplingKey(device, graph)];
  }
  EXPECT_EQ(keys.size(), 3u * 49u);
  EXPECT_EQ(keys.count(0), 0u);
  EXPECT_EQ(GraphSamplingKey(1, 7), GraphSamplingKey(1, 7));
  SamplingKeyParts kernel;
  kernel.name_hash = SamplingNameHash("kernel");
  kernel.device_id = 1;
  kernel.grid.x = 7;
  EXPECT_EQ(keys.count(SamplingKey(kernel)), 0u);
}

TEST_F(SamplingNeedsTest, KnowsTheLongestLaunchOfASignature) {
  const uint32_t place = needs_.Find(1, 1);
  EXPECT_EQ(needs_.LongestNs(place), 0u) << "none is known";
  needs_.AddTime(1, 500, true);
  needs_.AddTime(1, 9'000, false);  // Not clean, and long all the same.
  needs_.AddTime(1, 700, true);
  needs_.AddTime(2, 1'000'000, true);
  EXPECT_EQ(needs_.LongestNs(place), 9'000u);
  EXPECT_EQ(needs_.LongestNs(SamplingNeeds::kNone), 0u);
  EXPECT_EQ(SamplingNeeds().LongestNs(0), 0u);
}

TEST_F(SamplingNeedsTest, WhereTheTensorPathIsKnownOnlyGroupsThatSawItGoOn) {
  constexpr GroupKind kTwoPaths[] = {GroupKind::kHardware, GroupKind::kTensor, GroupKind::kTensor};
  ASSERT_TRUE(needs_.SetGroups(kTwoPaths));
  const uint32_t place = Add(1, 1, 1000);
  needs_.Rank();
  needs_.SetTensorActive(place);
  EXPECT_TRUE(needs_.Wants(place, 1));
  EXPECT_TRUE(needs_.Wants(place, 2));
  (void)needs_.Record(place, 1, SampleOutcome::kValid);
  needs_.SetTensorPathKnown(place);
  EXPECT_TRUE(needs_.Wants(place, 1)) << "it lacks two more";
  EXPECT_FALSE(needs_.Wants(place, 2)) << "it would count nothing";
  EXPECT_TRUE(needs_.Wants(place, 0));
  EXPECT_EQ(needs_.Summarise().groups[2].signatures, 0u);
  const uint32_t other = Add(2, 2, 1000);
  needs_.Rank();
  needs_.SetTensorActive(other);
  EXPECT_TRUE(needs_.Wants(other, 2)) << "of another signature";
  needs_.SetTensorPathKnown(SamplingNeeds::kNone);  // Nothing happens.
}

TEST_F(SamplingNeedsTest, APairThatIsGivenUpIsCountedOnce) {
  Stats().Reset();
  const uint32_t place = Add(1, 1, 1000);
  needs_.Rank();
  for (int i = 0; i < 7; ++i) (void)needs_.Record(place, kLight, SampleOutcome::kVoid);
  EXPECT_EQ(Stats().Get(StatId::kCounterGivenUp), 0u);
  (void)needs_.Record(place, kLight, SampleOutcome::kFirstOfSession);
  EXPECT_EQ(Stats().Get(StatId::kCounterGivenUp), 1u);
  for (int i = 0; i < 300; ++i) (void)needs_.Record(place, kLight, SampleOutcome::kVoid);
  EXPECT_EQ(Stats().Get(StatId::kCounterGivenUp), 1u);
  // One that has all its samples lacks nothing.
  const uint32_t done = Add(2, 2, 1000);
  for (int i = 0; i < 3; ++i) (void)needs_.Record(done, kLight, SampleOutcome::kValid);
  for (int i = 0; i < 9; ++i) (void)needs_.Record(done, kLight, SampleOutcome::kVoid);
  EXPECT_EQ(Stats().Get(StatId::kCounterGivenUp), 1u);
}

TEST(SamplingNeeds, GroupsThatAreKnownLaterFindWhatWasGatheredBefore) {
  SamplingNeeds needs;
  ASSERT_TRUE(needs.Allocate({.capacity = 64, .functions = 64}, {}));
  EXPECT_EQ(needs.group_count(), 0u);
  const uint32_t place = needs.Find(1, 1);
  for (int i = 0; i < 20; ++i) needs.AddTime(1, 1000, true);
  needs.Rank();
  EXPECT_FALSE(needs.Wants(place, kLight));
  EXPECT_FALSE(needs.Record(place, kLight, SampleOutcome::kValid));
  EXPECT_EQ(needs.Summarise().ranked, 1u);
  EXPECT_EQ(needs.Summarise().timed_ratio, 1.0);
  ASSERT_TRUE(needs.SetGroups(kKinds));
  EXPECT_EQ(needs.group_count(), 3u);
  EXPECT_TRUE(needs.Wants(place, kLight));
  EXPECT_EQ(needs.Summarise().groups[kLight].ranges, 3u);
  // Without memory there are none.
  SamplingNeeds none;
  EXPECT_TRUE(none.SetGroups(kKinds));
  EXPECT_EQ(none.group_count(), 0u);
  EXPECT_FALSE(none.Wants(0, kLight));
}

TEST(SamplingNeeds, WithoutMemoryOfItsOwnItWantsNothing) {
  SamplingNeeds needs;
  EXPECT_EQ(needs.Find(1, 1), SamplingNeeds::kNone);
  EXPECT_FALSE(needs.Wants(0, 0));
  needs.AddTime(1, 1, true);
  needs.SetTensorActive(0);
  needs.Graduate(1);
  needs.Rank();
  EXPECT_EQ(needs.Summarise().ranked, 0u);
}

TEST(SamplingNeeds, RefusesMoreGroupsThanItHasRoomFor) {
  const std::vector<GroupKind> kinds(kMaxSampledGroups + 1, GroupKind::kHardware);
  SamplingNeeds needs;
  EXPECT_FALSE(needs.Allocate({}, kinds));
  EXPECT_EQ(needs.group_count(), kMaxSampledGroups);
  const uint32_t place = needs.Find(1, 1);
  needs.Rank();
  EXPECT_TRUE(needs.Wants(place, kMaxSampledGroups - 1));
  EXPECT_FALSE(needs.Wants(place, kMaxSampledGroups));
}

// Against a plain model: the top share is the smallest number of the heaviest signatures that covers it.
TEST(SamplingNeeds, RanksRandomHistoriesAsAPlainModelDoes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    SamplingNeeds needs;
    ASSERT_TRUE(needs.Allocate({.capacity = 256, .functions = 512}, kKinds));
    const uint64_t signatures = 1 + random() % 200;
    std::vector<std::pair<uint64_t, uint32_t>> weights;  // time, place
    uint64_t total = 0;
    for (uint64_t i = 0; i < signatures; ++i) {
      const uint64_t key = random() | 1;
      const uint64_t time_ns = 1 + (random() >> (20 + random() % 40));
      const uint32_t place = needs.Find(key, static_cast<uint32_t>(i + 1));
      needs.AddTime(key, time_ns, true);
      weights.emplace_back(time_ns, place);
      total += time_ns;
    }
    needs.Rank();
    std::sort(weights.rbegin(), weights.rend());
    double covered = 0;
    uint32_t expected = 0;
    while (expected < weights.size() && covered < 0.99 - 1e-9) {
      covered += static_cast<double>(weights[expected++].first) / static_cast<double>(total);
    }
    EXPECT_EQ(needs.Summarise().ranked, expected);
    for (uint32_t i = 0; i < weights.size(); ++i) {
      const bool tie = i > 0 && expected < weights.size() && weights[i].first == weights[expected].first;
      if (tie) continue;
      EXPECT_EQ(needs.Wants(weights[i].second, kLight), i < expected);
    }
  }
}

TEST(SamplingNeeds, ThreadsShareATable) {
  SamplingNeeds needs;
  ASSERT_TRUE(needs.Allocate({.capacity = 128, .functions = 256}, kKinds));
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t key = 1 + i % 100;
        const uint32_t place = needs.Find(key, static_cast<uint32_t>(key));
        if (needs.Wants(place, kLight)) {
          needs.Record(place, kLight, i % 5 == 0 ? SampleOutcome::kVoid : SampleOutcome::kValid);
          needs.Graduate(static_cast<uint32_t>(key));
        }
        needs.AddTime(key, 100, true);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    needs.Rank();
    needs.Summarise();
    needs.RankLimit(kLight, 50);
  }
  for (std::thread& thread : threads) thread.join();
  needs.Rank();
  EXPECT_EQ(needs.signatures(), 100u);
  EXPECT_EQ(needs.Summarise().known_time_ns, 4u * 20'000u * 100u);
  EXPECT_EQ(needs.without_place(), 0u);
}

}  // namespace
}  // namespace gx::inject
