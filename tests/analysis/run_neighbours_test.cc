#include "analysis/run_neighbours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

constexpr double kMiB = 1024 * 1024;

// 4 TB/s whatever the mix.
pb::MachineFile Machine() {
  pb::MachineFile machine;
  pb::Ceiling* ceiling = machine.add_ceiling();
  ceiling->set_resource(pb::CEILING_RESOURCE_DRAM);
  ceiling->set_read_share_ratio(0.5);
  ceiling->mutable_slope()->set_work_per_second(4e12);
  return machine;
}

// Reads 256 MiB, writes 256 MiB, at 90 % of that rate.
NeighbourKernel Pass(const pb::MachineFile* machine) {
  NeighbourKernel kernel;
  kernel.name = "pass";
  kernel.kernel_count = 100;
  kernel.stored_bytes = 256 * kMiB;
  kernel.loaded_bytes = 256 * kMiB;
  kernel.dram_read_bytes = 256 * kMiB;
  kernel.dram_write_bytes = 256 * kMiB;
  kernel.time_ns = 512 * kMiB / 4e12 * 1e9 / 0.9;
  kernel.is_elementwise = true;
  kernel.machine = machine;
  return kernel;
}

FusableNeighbours Find(const NeighbourKernel& producer, const NeighbourKernel& consumer, uint64_t count = 100) {
  const std::map<uint32_t, NeighbourKernel> kernels = {{1, producer}, {2, consumer}};
  return FindFusable(kernels, std::vector<NeighbourCount>{{1, 2, count}});
}

TEST(FindFusableTest, TwoPassesOverTheSameBytesSaveARoundTripAndAtMostOnePass) {
  const pb::MachineFile machine = Machine();
  const NeighbourKernel pass = Pass(&machine);
  const FusableNeighbours found = Find(pass, pass);
  ASSERT_EQ(found.pairs.size(), 1u);
  const FusablePair& pair = found.pairs[0];
  EXPECT_EQ(pair.loaded_multiple, 1u);
  EXPECT_DOUBLE_EQ(pair.dram_bytes, 1024 * kMiB);
  EXPECT_DOUBLE_EQ(pair.saved_dram_bytes, 512 * kMiB);
  ASSERT_TRUE(pair.saved_ns.has_value());
  EXPECT_DOUBLE_EQ(*pair.saved_ns, pass.time_ns);
  EXPECT_DOUBLE_EQ(*pair.saved_run_ns, 100 * pass.time_ns);
  EXPECT_NEAR(*pair.consumer_dram_ratio, 0.9, 1e-9);
  EXPECT_EQ(found.unjudged_ratio, 0);
}

TEST(FindFusableTest, AConsumerWithASecondInputSavesItsOneInput) {
  const pb::MachineFile machine = Machine();
  NeighbourKernel sum = Pass(&machine);
  sum.loaded_bytes = 512 * kMiB;
  sum.dram_read_bytes = 512 * kMiB;
  const FusableNeighbours found = Find(Pass(&machine), sum);
  ASSERT_EQ(found.pairs.size(), 1u);
  EXPECT_EQ(found.pairs[0].loaded_multiple, 2u);
  EXPECT_DOUBLE_EQ(found.pairs[0].saved_dram_bytes, 512 * kMiB);
}

TEST(FindFusableTest, WithoutAMachineFileTheBytesAloneAreTold) {
  const FusableNeighbours found = Find(Pass(nullptr), Pass(nullptr));
  ASSERT_EQ(found.pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(found.pairs[0].saved_dram_bytes, 512 * kMiB);
  EXPECT_EQ(found.pairs[0].saved_ns.has_value(), false);
}

TEST(FindFusableTest, NothingIsSaidWithoutTheEvidence) {
  const pb::MachineFile machine = Machine();
  const NeighbourKernel pass = Pass(&machine);
  NeighbourKernel other = pass;
  other.loaded_bytes = 262 * kMiB;
  EXPECT_TRUE(Find(pass, other).pairs.empty());
  other = pass;
  other.is_elementwise = false;
  EXPECT_TRUE(Find(pass, other).pairs.empty());
  // Not bound by DRAM.
  other = pass;
  other.time_ns = 3 * pass.time_ns;
  EXPECT_TRUE(Find(pass, other).pairs.empty());
  EXPECT_TRUE(Find(pass, pass, kMinPairs - 1).pairs.empty());
  EXPECT_TRUE(Find(pass, pass, 49).pairs.empty());
  EXPECT_EQ(Find(pass, pass, 50).pairs.size(), 1u);
}

TEST(FindFusableTest, AKernelThatIsRunInALoopIsNoPairWithItself) {
  const pb::MachineFile machine = Machine();
  const std::map<uint32_t, NeighbourKernel> kernels = {{1, Pass(&machine)}};
  EXPECT_TRUE(FindFusable(kernels, std::vector<NeighbourCount>{{1, 1, 99}}).pairs.empty());
  EXPECT_EQ(FindFusable(kernels, std::vector<NeighbourCount>{{1, 1, 60}}).pairs.size(), 1u);
}

TEST(FindFusableTest, NeighboursWithoutCountsAreNotJudgedAndSaidToBe) {
  const pb::MachineFile machine = Machine();
  NeighbourKernel uncounted = Pass(&machine);
  uncounted.loaded_bytes.reset();
  const FusableNeighbours found = Find(Pass(&machine), uncounted);
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_EQ(found.unjudged_ratio, 1);
  EXPECT_EQ(FindFusable({}, {}).unjudged_ratio.has_value(), false);
}

TEST(FindFusableTest, WhatIsNoCountIsNotJudged) {
  const pb::MachineFile machine = Machine();
  constexpr std::optional<double> NeighbourKernel::*kCounts[] = {
      &NeighbourKernel::stored_bytes, &NeighbourKernel::loaded_bytes, &NeighbourKernel::dram_read_bytes,
      &NeighbourKernel::dram_write_bytes};
  for (const double value :
       {1.5e308, 0x1p63, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const auto count : kCounts) {
      NeighbourKernel odd = Pass(&machine);
      odd.*count = value;
      for (const FusableNeighbours& found : {Find(odd, Pass(&machine)), Find(Pass(&machine), odd), Find(odd, odd)}) {
        EXPECT_TRUE(found.pairs.empty()) << value;
        EXPECT_EQ(found.unjudged_ratio, 1) << value;
      }
    }
  }
}

TEST(FindFusableTest, FiguresOfTheLargestCountsAreNumbers) {
  pb::MachineFile machine = Machine();
  machine.mutable_ceiling(0)->mutable_slope()->set_work_per_second(std::numeric_limits<double>::denorm_min());
  NeighbourKernel most = Pass(&machine);
  for (auto* bytes : {&most.stored_bytes, &most.loaded_bytes, &most.dram_read_bytes, &most.dram_write_bytes}) {
    *bytes = std::nextafter(0x1p63, 0);
  }
  const FusableNeighbours found = Find(most, most);
  ASSERT_EQ(found.pairs.size(), 1u);
  const FusablePair& pair = found.pairs[0];
  for (const double figure : {pair.stored_bytes, pair.loaded_bytes, pair.dram_bytes, pair.saved_dram_bytes,
                              pair.producer_dram_ratio.value_or(0), pair.consumer_dram_ratio.value_or(0),
                              pair.saved_ns.value_or(0), pair.saved_run_ns.value_or(0), found.chains.at(0).time_ns,
                              found.chains.at(0).dram_bytes, found.chains.at(0).fused_time_ns.value_or(0)}) {
    EXPECT_TRUE(std::isfinite(figure) && figure >= 0) << figure;
  }
}

// A step of three passes, run 100 times: the first follows the last of the step before 99 times.
TEST(FindFusableTest, ThePairThatClosesALoopIsLeftOut) {
  const pb::MachineFile machine = Machine();
  std::map<uint32_t, NeighbourKernel> kernels;
  for (const uint32_t signature : {1, 2, 3}) kernels.emplace(signature, Pass(&machine));
  struct Case {
    std::vector<NeighbourCount> neighbours;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
  };
  const Case cases[] = {
      {{{1, 2, 100}, {2, 1, 99}}, {{1, 2}}},
      // As many, where the last step was not recorded to its end: the order of first launches.
      {{{2, 1, 100}, {1, 2, 100}}, {{1, 2}}},
      {{{3, 1, 99}, {1, 2, 100}, {2, 3, 100}}, {{1, 2}, {2, 3}}},
      // No cycle.
      {{{1, 2, 100}, {2, 3, 100}, {1, 3, 60}}, {{1, 2}, {2, 3}, {1, 3}}},
  };
  for (const Case& one : cases) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (const FusablePair& pair : FindFusable(kernels, one.neighbours).pairs) {
      pairs.emplace_back(pair.producer_signature, pair.consumer_signature);
    }
    EXPECT_EQ(pairs, one.pairs);
  }
}

FusedMember Member(double time_ns, double removed_bytes, bool is_elementwise = true, double dram_ratio = 0.9) {
  return {.time_ns = time_ns,
          .dram_bytes = 100,
          .removed_bytes = removed_bytes,
          .is_elementwise = is_elementwise,
          .dram_ratio = dram_ratio};
}

TEST(FusedTimeTest, ElementwiseKernelsPayForTheirBytesAtTheirOwnRate) {
  // Two that read and write as much, one after another: half of either goes.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 50), Member(1000, 50)}), 1000);
  // A second operand stays: 2/3 of three reads and a write.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 50), Member(1500, 40)}), 1500);
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 20), Member(1500, 20)}), 800 + 1200);
  // The one in the middle moves nothing more.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 40), Member(900, 100), Member(1000, 40)}), 1200);
}

TEST(FusedTimeTest, OnePassTakesNoLessThanTheLongestKernelAndNoMoreThanAllOfThem) {
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 90), Member(400, 90)}), 1000);
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 0), Member(400, 0)}), 1400);
  EXPECT_DOUBLE_EQ(FusedTimeNs({}), 0);
}

TEST(FusedTimeTest, LaunchAndDrainArePaidOnce) {
  std::vector<FusedMember> members = {Member(1100, 20), Member(1100, 20), Member(1100, 20)};
  for (FusedMember& member : members) member.launch_ns = 100;
  EXPECT_DOUBLE_EQ(FusedTimeNs(members), 3 * 800 + 100);
}

TEST(FusedTimeTest, AFirstKernelOfAnotherKindSavesWhatItsStoresTakeOfDram) {
  // At 60 % of the rate that DRAM sustains: 20 of 100 bytes take 12 % of its time.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 20, false, 0.6), Member(500, 50)}), 880 + 250);
  // Never more than at its own rate: a rate of the machine file is beaten.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 20, false, 1.1), Member(500, 50)}), 800 + 250);
  // Not bound by DRAM, it hides its stores.
  EXPECT_DOUBLE_EQ(FusedTimeNs(std::vector<FusedMember>{Member(1000, 20, false, 0.4), Member(500, 50)}), 1000 + 250);
}

// Three passes of 256 MiB in and out as those of an H200, 100 times.
FusableNeighbours FindThree(const NeighbourKernel& pass, uint64_t first_pair, uint64_t second_pair) {
  std::map<uint32_t, NeighbourKernel> kernels;
  for (const uint32_t signature : {1, 2, 3}) {
    kernels.emplace(signature, pass);
    kernels.at(signature).name = std::string(1, static_cast<char>('a' + signature - 1));
  }
  return FindFusable(kernels, std::vector<NeighbourCount>{{1, 2, first_pair}, {2, 3, second_pair}});
}

TEST(FusableChainTest, PairsThatAlwaysFollowEachOtherAreOneChain) {
  const pb::MachineFile machine = Machine();
  const NeighbourKernel pass = Pass(&machine);
  const FusableNeighbours found = FindThree(pass, 100, 99);
  EXPECT_EQ(found.pairs.size(), 2u);
  ASSERT_EQ(found.chains.size(), 1u);
  const FusableChain& chain = found.chains[0];
  EXPECT_EQ(chain.signatures, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(chain.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(chain.chain_count, 99u);
  EXPECT_EQ(chain.stored_bytes, (std::vector<double>{256 * kMiB, 256 * kMiB}));
  EXPECT_DOUBLE_EQ(chain.time_ns, 3 * pass.time_ns);
  EXPECT_DOUBLE_EQ(chain.dram_bytes, 1536 * kMiB);
  EXPECT_DOUBLE_EQ(chain.saved_dram_bytes, 1024 * kMiB);
  // What is left is what the first reads and the last writes.
  EXPECT_DOUBLE_EQ(*chain.fused_time_ns, pass.time_ns);
  EXPECT_DOUBLE_EQ(*chain.saved_ns, 2 * pass.time_ns);
  EXPECT_DOUBLE_EQ(*chain.saved_run_ns, 99 * 2 * pass.time_ns);
  EXPECT_FALSE(chain.shares_kernel);
}

// 60 of 100, as windows cut the others off: what follows or precedes is never another kernel.
TEST(FusableChainTest, LaunchesWithoutANeighbourDoNotBreakAChain) {
  const pb::MachineFile machine = Machine();
  const FusableNeighbours found = FindThree(Pass(&machine), 60, 60);
  ASSERT_EQ(found.chains.size(), 1u);
  EXPECT_EQ(found.chains[0].chain_count, 60u);
}

TEST(FusableChainTest, APairThatComesNotAlwaysIsAChainOfItsOwn) {
  const pb::MachineFile machine = Machine();
  std::map<uint32_t, NeighbourKernel> kernels;
  for (const uint32_t signature : {1, 2, 3}) kernels.emplace(signature, Pass(&machine));
  // The second is followed by a kernel without counts ten times.
  const FusableNeighbours found =
      FindFusable(kernels, std::vector<NeighbourCount>{{1, 2, 100}, {2, 3, 90}, {2, 4, 10}});
  ASSERT_EQ(found.chains.size(), 2u);
  EXPECT_EQ(found.chains[0].signatures, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(found.chains[1].signatures, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(found.chains[1].chain_count, 90u);
  EXPECT_TRUE(found.chains[0].shares_kernel && found.chains[1].shares_kernel);
}

TEST(FusableChainTest, WithoutAMachineFileThereIsNoPrediction) {
  const FusableNeighbours found = FindThree(Pass(nullptr), 100, 100);
  ASSERT_EQ(found.chains.size(), 1u);
  EXPECT_DOUBLE_EQ(found.chains[0].saved_dram_bytes, 1024 * kMiB);
  EXPECT_FALSE(found.chains[0].fused_time_ns.has_value() || found.chains[0].saved_run_ns.has_value());
}

TEST(FusableChainTest, ALongChainIsCutAndNoPairIsLost) {
  const pb::MachineFile machine = Machine();
  std::map<uint32_t, NeighbourKernel> kernels;
  std::vector<NeighbourCount> neighbours;
  for (uint32_t signature = 0; signature < 20; ++signature) {
    kernels.emplace(signature, Pass(&machine));
    if (signature > 0) neighbours.push_back({signature - 1, signature, 100});
  }
  const FusableNeighbours found = FindFusable(kernels, neighbours);
  size_t pair_count = 0;
  for (const FusableChain& chain : found.chains) {
    EXPECT_LE(chain.signatures.size(), kMaxChain);
    pair_count += chain.stored_bytes.size();
  }
  EXPECT_EQ(pair_count, found.pairs.size());
  EXPECT_EQ(pair_count, 19u);
}

TEST(FusableChainTest, AKernelAfterItselfIsAChainOfTwo) {
  const pb::MachineFile machine = Machine();
  const std::map<uint32_t, NeighbourKernel> kernels = {{1, Pass(&machine)}};
  const FusableNeighbours found = FindFusable(kernels, std::vector<NeighbourCount>{{1, 1, 60}});
  ASSERT_EQ(found.chains.size(), 1u);
  EXPECT_EQ(found.chains[0].signatures, (std::vector<uint32_t>{1, 1}));
  EXPECT_FALSE(found.chains[0].shares_kernel);
}

}  // namespace
}  // namespace gx::analysis
