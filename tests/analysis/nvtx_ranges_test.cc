#include "analysis/nvtx_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Batch = gpuexec::v1::NvtxEventBatch;

class NvtxRangesTest : public ::testing::Test {
 protected:
  void Event(uint64_t thread, uint64_t ns, Batch::Kind kind, uint64_t name = 0, uint64_t range = 0,
             uint64_t domain = 1) {
    NvtxEventRow row;
    row.thread_id = thread;
    row.monotonic_ns = ns;
    row.kind = kind;
    row.name_iid = name;
    row.range_id = range;
    row.domain_iid = domain;
    ranges_.Add(row);
  }
  // Names of the ranges open on the thread.
  std::vector<uint64_t> Names(uint64_t thread, uint64_t ns) {
    std::vector<uint64_t> names;
    for (const auto& [domain, name] : ranges_.Ranges(ranges_.PathAt(thread, ns))) names.push_back(name);
    return names;
  }
  NvtxRanges ranges_;
};

TEST_F(NvtxRangesTest, RangesNestAndEndWithTheirPop) {
  Event(1, 10, Batch::KIND_PUSH, 100);
  Event(1, 20, Batch::KIND_PUSH, 101);
  Event(1, 30, Batch::KIND_POP);
  Event(1, 40, Batch::KIND_POP);
  EXPECT_THAT(Names(1, 9), IsEmpty());
  EXPECT_THAT(Names(1, 10), ElementsAre(100));
  EXPECT_THAT(Names(1, 25), ElementsAre(100, 101));
  EXPECT_THAT(Names(1, 31), ElementsAre(100));
  EXPECT_THAT(Names(1, 41), IsEmpty());
}

TEST_F(NvtxRangesTest, OnOneStepOfTheClockALaunchIsAfterThePushAndBeforeThePop) {
  Event(1, 16, Batch::KIND_PUSH, 100);
  EXPECT_THAT(Names(1, 16), ElementsAre(100));
  Event(1, 32, Batch::KIND_POP);
  EXPECT_THAT(Names(1, 32), ElementsAre(100));
  EXPECT_THAT(Names(1, 48), IsEmpty());
  // The launch has room only between a push and its pop.
  Event(1, 64, Batch::KIND_PUSH, 101);
  Event(1, 64, Batch::KIND_POP);
  EXPECT_THAT(Names(1, 64), ElementsAre(101));
  EXPECT_THAT(Names(1, 65), IsEmpty());
  // A range that makes way for the next one.
  Event(1, 80, Batch::KIND_PUSH, 102);
  Event(1, 96, Batch::KIND_POP);
  Event(1, 96, Batch::KIND_PUSH, 103);
  EXPECT_THAT(Names(1, 95), ElementsAre(102));
  EXPECT_THAT(Names(1, 96), ElementsAre(103));
  EXPECT_THAT(Names(1, 97), ElementsAre(103));
}

TEST_F(NvtxRangesTest, ThreadsDoNotShareRanges) {
  Event(1, 10, Batch::KIND_PUSH, 100);
  Event(2, 10, Batch::KIND_PUSH, 200);
  EXPECT_THAT(Names(1, 20), ElementsAre(100));
  EXPECT_THAT(Names(2, 20), ElementsAre(200));
  EXPECT_THAT(Names(3, 20), IsEmpty());
}

TEST_F(NvtxRangesTest, EachDomainHasItsOwnStack) {
  Event(1, 10, Batch::KIND_PUSH, 100, 0, 1);
  Event(1, 20, Batch::KIND_PUSH, 200, 0, 2);
  Event(1, 30, Batch::KIND_POP, 0, 0, 1);
  EXPECT_THAT(Names(1, 25), ElementsAre(100, 200));
  EXPECT_THAT(Names(1, 35), ElementsAre(200));
}

TEST_F(NvtxRangesTest, AStartedRangeMayEndOnAnotherThread) {
  Event(1, 10, Batch::KIND_START, 100, 7);
  Event(1, 20, Batch::KIND_PUSH, 101);
  Event(2, 30, Batch::KIND_END, 0, 7);
  EXPECT_THAT(Names(1, 25), ElementsAre(100, 101));
  EXPECT_THAT(Names(1, 31), ElementsAre(101));
  EXPECT_THAT(Names(2, 25), IsEmpty());
}

TEST_F(NvtxRangesTest, ThePopDoesNotCloseAStartedRange) {
  Event(1, 10, Batch::KIND_START, 100, 7);
  Event(1, 20, Batch::KIND_POP);
  EXPECT_THAT(Names(1, 25), ElementsAre(100));
  EXPECT_EQ(ranges_.unmatched_count(), 1u);
}

TEST_F(NvtxRangesTest, EndsAndPopsWithoutARangeAreCountedAndChangeNothing) {
  Event(1, 10, Batch::KIND_POP);
  Event(1, 20, Batch::KIND_END, 0, 99);
  Event(1, 30, Batch::KIND_MARK, 100);
  EXPECT_THAT(Names(1, 40), IsEmpty());
  EXPECT_EQ(ranges_.unmatched_count(), 2u);
  EXPECT_EQ(ranges_.event_count(), 3u);
}

TEST_F(NvtxRangesTest, TheSameRangesHaveTheSamePath) {
  Event(1, 10, Batch::KIND_PUSH, 100);
  Event(1, 20, Batch::KIND_POP);
  Event(1, 30, Batch::KIND_PUSH, 100);
  Event(2, 10, Batch::KIND_PUSH, 100);
  EXPECT_EQ(ranges_.PathAt(1, 15), ranges_.PathAt(1, 35));
  EXPECT_EQ(ranges_.PathAt(1, 15), ranges_.PathAt(2, 15));
}

TEST_F(NvtxRangesTest, RangesThatNestTooDeepAreCountedAndTheirPopsCloseNoOther) {
  for (uint64_t i = 0; i < NvtxRanges::kMaxDepth + 10; ++i) Event(1, i, Batch::KIND_PUSH, i + 1);
  EXPECT_EQ(ranges_.unopened_count(), 10u);
  for (uint64_t i = 0; i < 10; ++i) Event(1, 1000 + i, Batch::KIND_POP);
  EXPECT_EQ(Names(1, 2000).size(), NvtxRanges::kMaxDepth);
  Event(1, 3000, Batch::KIND_POP);
  EXPECT_EQ(Names(1, 3001).size(), NvtxRanges::kMaxDepth - 1);
}

TEST_F(NvtxRangesTest, AnEndToldAfterALaterEventKeepsTimesInOrder) {
  Event(1, 10, Batch::KIND_START, 100, 7);
  Event(1, 50, Batch::KIND_PUSH, 101);
  Event(2, 30, Batch::KIND_END, 0, 7);  // Drained later than the push.
  EXPECT_THAT(Names(1, 20), ElementsAre(100));
  EXPECT_THAT(Names(1, 60), ElementsAre(101));
}

}  // namespace
}  // namespace gx::analysis
