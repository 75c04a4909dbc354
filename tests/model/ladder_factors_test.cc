#include "analysis/model/ladder_factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

constexpr FactorSet Only(ExcessFactor factor) { return FactorSet::Of(factor); }

TEST(LadderFactors, AStridedReadNeedsOneSectorOfEightLanesNotEight) {
  // 1,024 warps read 4 bytes a lane, 32 bytes apart: 32 sectors a request where 4 would do.
  CountedWork counted{.dram_read_bytes = 1024 * 32 * 32, .l2_sectors = 1024 * 32, .l1_wavefronts = 1024 * 8};
  RequestedWork requested{.global_data_bytes = 1024 * 128,
                          .global_sectors = 1024 * 32,
                          .global_instructions = 1024,
                          .requested_read_bytes = 1024 * 128};
  const CountedWork left = WorkWithout(counted, requested, Only(ExcessFactor::kUncoalesced));
  EXPECT_EQ(left.dram_read_bytes, 1024 * 128);
  EXPECT_EQ(left.l2_sectors, 1024 * 4);
  EXPECT_EQ(left.l1_wavefronts, 1024);
  const UsefulRatios ratios = RatiosWithout(counted, requested, Only(ExcessFactor::kUncoalesced));
  EXPECT_EQ(ratios.dram, 0.125);
  EXPECT_EQ(ratios.l2, 0.125);
  EXPECT_EQ(ratios.issue, 1);
}

TEST(LadderFactors, ACoalescedReadThatHitsTheCacheLosesNothing) {
  // Every lane's bytes are used, and DRAM reads less than was asked for.
  CountedWork counted{.dram_read_bytes = 1000, .l2_sectors = 400, .l1_wavefronts = 100};
  RequestedWork requested{
      .global_data_bytes = 12800, .global_sectors = 400, .global_instructions = 100, .requested_read_bytes = 12800};
  const UsefulRatios ratios = RatiosWithout(counted, requested, FactorSet::All());
  EXPECT_EQ(ratios.dram, 1);
  EXPECT_EQ(ratios.l2, 1);
  EXPECT_EQ(ratios.l1, 1);
}

TEST(LadderFactors, WhatDramStillReadsPassesL2AndBulkCopiesStay) {
  CountedWork counted{.dram_read_bytes = 6400, .l2_sectors = 1000};
  RequestedWork requested{.global_data_bytes = 3200,
                          .global_sectors = 800,  // an eighth of the bytes
                          .requested_read_bytes = 9600,
                          .l2_fixed_sectors = 200};
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kUncoalesced)).l2_sectors, 200 + 800 * 0.125);
  counted.dram_read_bytes = 16000;
  requested.requested_read_bytes = 16000;
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kUncoalesced)).l2_sectors, 500);
}

TEST(LadderFactors, ConflictsAreWavefrontsAboveInstructionsAndBytes) {
  // Column access of a 32 x 32 tile: 32 wavefronts an instruction; and 16 bytes a lane, which need four.
  CountedWork counted{.l1_wavefronts = 3200 + 50};
  RequestedWork requested{.shared_wavefronts = 3200, .shared_instructions = 100, .shared_data_bytes = 12800};
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kConflicts)).l1_wavefronts, 100 + 50);
  requested.shared_data_bytes = 51200;
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kConflicts)).l1_wavefronts, 400 + 50);
}

TEST(LadderFactors, SpillsLeaveEveryLevelThatTheyReach) {
  CountedWork counted{.dram_read_bytes = 16000,
                      .dram_write_bytes = 16000,
                      .l2_sectors = 2000,
                      .l1_wavefronts = 1000,
                      .instructions = 900,
                      .lsu_instructions = 500};
  RequestedWork requested{.local_instructions = 300, .local_sectors = 1200, .local_miss_ratio = 0.5};
  const CountedWork left = WorkWithout(counted, requested, Only(ExcessFactor::kSpills));
  EXPECT_EQ(left.instructions, 600);
  EXPECT_EQ(left.lsu_instructions, 200);
  EXPECT_EQ(left.l1_wavefronts, 1000 - 300);  // four sectors a wavefront
  EXPECT_EQ(left.l2_sectors, 2000 - 600);
  EXPECT_DOUBLE_EQ(left.dram_read_bytes, 16000 * 0.7);
  EXPECT_DOUBLE_EQ(left.dram_write_bytes, 16000 * 0.7);
  // The ends of its interval: none of them leave L1, and all.
  requested.local_miss_ratio = 0;
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kSpills)).dram_read_bytes, 16000);
  requested.local_miss_ratio = 1;
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kSpills)).l2_sectors, 800);
}

// An H200's counts of spill_defect (kernels/pairs): L1 writes through, so every local store is a sector that L2 takes
// in, and its fabric makes half as many again.
TEST(LadderFactors, SpilledStoresAllReachL2) {
  const CountedWork counted{.dram_write_bytes = 66737920,
                            .l2_sectors = 371981805,
                            .l2_sm_sectors = 247616172,
                            .l2_written_sectors = 247616172 - 1441484};
  const RequestedWork requested{.global_store_sectors = 168960,
                                .local_sectors = 492180480,
                                .local_store_sectors = 246005760,
                                .local_miss_ratio = 0.0055};
  const CountedWork left = WorkWithout(counted, requested, Only(ExcessFactor::kSpills));
  EXPECT_NEAR(left.l2_written_sectors, 168928, 1);
  EXPECT_LT(left.l2_sectors, 0.002 * counted.l2_sectors);
  EXPECT_LT(left.dram_write_bytes, 0.002 * counted.dram_write_bytes);
  const UsefulRatios ratios = RatiosWithout(counted, requested, Only(ExcessFactor::kSpills));
  EXPECT_EQ(RatioOf(ratios, ResourceKind::kL2DataIn), left.l2_written_sectors / counted.l2_written_sectors);
}

TEST(LadderFactors, StoresThatFillTheirSectorsLeaveL2LessToTakeIn) {
  const CountedWork counted{.l2_sectors = 1000, .l2_sm_sectors = 1000, .l2_written_sectors = 500};
  // 100 of the sectors written are of atomics or bulk copies.
  const RequestedWork requested{.global_data_bytes = 6400, .global_sectors = 800, .global_store_sectors = 400};
  EXPECT_EQ(WorkWithout(counted, requested, Only(ExcessFactor::kUncoalesced)).l2_written_sectors, 100 + 400 * 0.25);
}

TEST(LadderFactors, NothingIsLessOfWhatCountsUsefulWorkAlone) {
  LadderResource lanes = Even(ResourceKind::kFp64Pipe, 100);
  lanes.only_useful = true;
  LadderResources resources = {lanes, Even(ResourceKind::kAluPipe, 100)};
  SetUseful({.arithmetic = 0.25}, &resources);
  EXPECT_EQ(resources.Find(ResourceKind::kFp64Pipe)->useful_ns, 100);
  EXPECT_EQ(resources.Find(ResourceKind::kAluPipe)->useful_ns, 25);
  const RequestedWork requested{.warp_instructions = 1000, .thread_instructions = 8000};
  EXPECT_EQ(ExcessOf(absl::MakeConstSpan(&lanes, 1), {.instructions = 1000}, requested)->ns, 0);
}

TEST(LadderFactors, DivergenceIsOfIssueAndArithmetic) {
  CountedWork counted{.instructions = 1000};
  RequestedWork requested{.warp_instructions = 1000, .thread_instructions = 8000};
  const UsefulRatios ratios = RatiosWithout(counted, requested, Only(ExcessFactor::kDivergence));
  EXPECT_EQ(ratios.issue, 0.25);
  EXPECT_EQ(ratios.arithmetic, 0.25);
  EXPECT_EQ(RatioOf(ratios, ResourceKind::kXuPipe), 0.25);
  EXPECT_EQ(RatioOf(ratios, ResourceKind::kTensorPipe), 1);
  EXPECT_EQ(RatioOf(ratios, ResourceKind::kL2Atomics), 1);
}

TEST(LadderFactors, DramNeedNotBeWrittenMoreThanIsStored) {
  CountedWork counted{.dram_read_bytes = 100, .dram_write_bytes = 400};
  EXPECT_EQ(WorkWithout(counted, {.stored_bytes = 300}, Only(ExcessFactor::kWriteBack)).dram_write_bytes, 300);
  EXPECT_EQ(WorkWithout(counted, {.stored_bytes = 500}, Only(ExcessFactor::kWriteBack)).dram_write_bytes, 400);
}

TEST(LadderFactors, UsefulIsWhatIsLeftWithoutAllAndTheLadderKeepsItsOrder) {
  LadderResources resources = {Resource(ResourceKind::kDram, 0, 800, 820, 0.9), Even(ResourceKind::kIssue, 100)};
  UsefulRatios ratios{.dram = 0.25, .issue = 0.5};
  SetUseful(ratios, &resources);
  EXPECT_EQ(*resources.Find(ResourceKind::kDram)->useful_ns, 200);
  EXPECT_EQ(*resources.Find(ResourceKind::kIssue)->useful_ns, 50);
  const LadderResources left = ResourcesWithout(resources, ratios);
  EXPECT_EQ(left.Find(ResourceKind::kDram)->work_ns, 200);
  EXPECT_EQ(*left.Find(ResourceKind::kDram)->busiest_ns, 205);
  EXPECT_EQ(*left.Find(ResourceKind::kDram)->useful_ns, 200);
  EXPECT_TRUE(CheckResources(left).ok());
}

TEST(LadderFactors, TheExcessIsSharedBetweenFactorsThatAreThere) {
  // DRAM 1,000 ns of which coalescing leaves 400; shared memory 800, without conflicts 100.
  const LadderResources resources = {Even(ResourceKind::kDram, 1000), Even(ResourceKind::kL1Data, 800),
                                     Even(ResourceKind::kIssue, 50)};
  CountedWork counted{.dram_read_bytes = 1000, .l1_wavefronts = 800};
  RequestedWork requested{.global_data_bytes = 320,
                          .global_sectors = 10,
                          .requested_read_bytes = 400,
                          .shared_wavefronts = 800,
                          .shared_instructions = 100};
  const auto excess = ExcessOf(resources, counted, requested);
  ASSERT_TRUE(excess.ok()) << excess.status();
  EXPECT_EQ(excess->ns, 600);
  ASSERT_EQ(excess->shares.size(), 2u);
  EXPECT_EQ(excess->shares[0].factor, ExcessFactor::kUncoalesced);
  EXPECT_DOUBLE_EQ(excess->shares[0].ns, 400);
  EXPECT_EQ(excess->shares[0].solo_ns, 200);  // shared memory takes over
  EXPECT_EQ(excess->shares[1].factor, ExcessFactor::kConflicts);
  EXPECT_DOUBLE_EQ(excess->shares[1].ns, 200);
  EXPECT_EQ(excess->shares[1].solo_ns, 0);
}

TEST(LadderFactors, AFactorThatDoesNotBindIsThereWithNothing) {
  const LadderResources resources = {Even(ResourceKind::kDram, 1000), Even(ResourceKind::kL1Data, 800)};
  const auto excess =
      ExcessOf(resources, {.l1_wavefronts = 800}, {.shared_wavefronts = 800, .shared_instructions = 100});
  ASSERT_EQ(excess->shares.size(), 1u);
  EXPECT_EQ(excess->shares[0].ns, 0);
  EXPECT_EQ(excess->ns, 0);
}

TEST(LadderFactors, RemovingMoreNeverLeavesMoreAndTheSharesSumToTheExcess) {
  std::mt19937_64 random(4);
  const auto any = [&random] {
    return random() % 4 == 0 ? 0 : std::pow(10, std::uniform_real_distribution<double>(0, 6)(random));
  };
  for (int i = 0; i < 5'000; ++i) {
    const CountedWork counted{any(), any(), any(), any(), any(), any()};
    RequestedWork requested{any(), any(), any(), any(), any(), any(), any(),
                            any(), any(), any(), any(), 0,     any(), any()};
    requested.local_miss_ratio = std::uniform_real_distribution<double>(0, 1)(random);
    LadderResources resources;
    for (size_t kind = 0; kind < kResourceKindCount; ++kind) {
      if (random() % 2 == 0) resources.Set(Even(static_cast<ResourceKind>(kind), any()));
    }
    for (uint32_t subset = 0; subset < 1U << kExcessFactorCount; ++subset) {
      FactorSet removed;
      for (size_t f = 0; f < kExcessFactorCount; ++f) {
        if ((subset >> f & 1) != 0) removed = removed.With(static_cast<ExcessFactor>(f));
      }
      for (size_t f = 0; f < kExcessFactorCount; ++f) {
        const UsefulRatios less = RatiosWithout(counted, requested, removed);
        const UsefulRatios more = RatiosWithout(counted, requested, removed.With(static_cast<ExcessFactor>(f)));
        for (size_t kind = 0; kind < kResourceKindCount; ++kind) {
          const double before = RatioOf(less, static_cast<ResourceKind>(kind));
          const double after = RatioOf(more, static_cast<ResourceKind>(kind));
          ASSERT_LE(after, before * (1 + 1e-9)) << kind << ' ' << subset << ' ' << f;
          ASSERT_GE(after, 0);
          ASSERT_LE(before, 1);
        }
      }
    }
    LadderResources useful = resources;
    SetUseful(RatiosWithout(counted, requested, FactorSet::All()), &useful);
    ASSERT_TRUE(CheckResources(useful).ok());
    const auto excess = ExcessOf(resources, counted, requested);
    ASSERT_TRUE(excess.ok()) << excess.status();
    double sum = 0;
    for (const ExcessShare& share : excess->shares) {
      ASSERT_GE(share.ns, -1e-9);
      sum += share.ns;
    }
    ASSERT_NEAR(sum, excess->ns, 1e-6);
    if (useful.empty()) continue;
    const auto rungs = ComputeRungs(useful, {});
    ASSERT_NEAR(excess->ns, rungs->Ns(Rung::kWork) - rungs->Ns(Rung::kUseful), 1e-6);
  }
}

TEST(LadderFactors, RefusalsNameTheCount) {
  EXPECT_TRUE(CheckWork({}, {}).ok());
  EXPECT_NE(std::string(CheckWork({.l2_sectors = -1}, {}).message()).find("l2_sectors: got -1"), std::string::npos);
  EXPECT_FALSE(CheckWork({}, {.local_miss_ratio = 1.5}).ok());
  EXPECT_FALSE(CheckWork({}, {.thread_instructions = std::nan("")}).ok());
  EXPECT_FALSE(ExcessOf({}, {.dram_read_bytes = -1}, {}).ok());
}

TEST(LadderFactors, EveryFactorHasAName) {
  for (size_t i = 0; i < kExcessFactorCount; ++i) EXPECT_NE(ExcessFactorName(static_cast<ExcessFactor>(i)), "");
  EXPECT_TRUE(FactorSet().empty());
  EXPECT_TRUE(FactorSet::All().Contains(ExcessFactor::kWriteBack));
}

}  // namespace
}  // namespace gx::model
