#include "inject/range_verdict.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <thread>

namespace gx::inject {
namespace {

RangeFacts Good() {
  RangeFacts facts;
  facts.launched = true;
  facts.launch_accepted = true;
  facts.completed_in_time = true;
  return facts;
}

uint32_t& Of(std::array<uint32_t, kDeviceWorks>& counts, DeviceWork work) { return counts[static_cast<uint8_t>(work)]; }

TEST(JudgeRange, ARangeWithItsOneLaunchIsValid) {
  EXPECT_EQ(JudgeRange(Good()), RangeVerdict::kValid);
  RangeFacts graph = Good();
  graph.target = DeviceWork::kGraph;
  EXPECT_EQ(JudgeRange(graph), RangeVerdict::kValid);
  RangeFacts first = Good();
  first.first_of_session = true;
  EXPECT_EQ(JudgeRange(first), RangeVerdict::kValidFirst);
}

struct Fault {
  const char* what;
  std::function<void(RangeFacts*)> add;
  RangeVerdict verdict;
};

// In the order in which they count.
const Fault kFaults[] = {
    {"push", [](RangeFacts* facts) { facts->push_failed = true; }, RangeVerdict::kCallFailed},
    {"pop", [](RangeFacts* facts) { facts->pop_failed = true; }, RangeVerdict::kCallFailed},
    {"no launch", [](RangeFacts* facts) { facts->launched = false; }, RangeVerdict::kNoLaunch},
    {"refused", [](RangeFacts* facts) { facts->launch_accepted = false; }, RangeVerdict::kNoLaunch},
    {"late", [](RangeFacts* facts) { facts->completed_in_time = false; }, RangeVerdict::kNotCompleted},
    {"capture", [](RangeFacts* facts) { facts->capture_began = true; }, RangeVerdict::kCaptureBegan},
    {"foreign kernel", [](RangeFacts* facts) { Of(facts->foreign, DeviceWork::kKernel) = 1; },
     RangeVerdict::kForeignLaunch},
    {"foreign graph", [](RangeFacts* facts) { Of(facts->foreign, DeviceWork::kGraph) = 947; },
     RangeVerdict::kForeignLaunch},
    {"own kernel", [](RangeFacts* facts) { Of(facts->own_extra, DeviceWork::kKernel) = 1; },
     RangeVerdict::kSeveralLaunches},
    {"own graph", [](RangeFacts* facts) { Of(facts->own_extra, DeviceWork::kGraph) = 1; },
     RangeVerdict::kSeveralLaunches},
    {"own copy", [](RangeFacts* facts) { Of(facts->own_extra, DeviceWork::kCopy) = 1; }, RangeVerdict::kCopy},
    {"foreign copy", [](RangeFacts* facts) { Of(facts->foreign, DeviceWork::kCopy) = 1; }, RangeVerdict::kCopy},
    {"own memset", [](RangeFacts* facts) { Of(facts->own_extra, DeviceWork::kMemset) = 1; }, RangeVerdict::kMemset},
    {"foreign memset", [](RangeFacts* facts) { Of(facts->foreign, DeviceWork::kMemset) = 1; }, RangeVerdict::kMemset},
    {"own module", [](RangeFacts* facts) { Of(facts->own_extra, DeviceWork::kModuleLoad) = 1; },
     RangeVerdict::kModuleLoad},
    {"foreign module", [](RangeFacts* facts) { Of(facts->foreign, DeviceWork::kModuleLoad) = 1; },
     RangeVerdict::kModuleLoad},
};

TEST(JudgeRange, AWindowThatEndedVoidsARangeAsACaptureDoes) {
  RangeFacts facts = Good();
  facts.window_ended = true;
  EXPECT_EQ(JudgeRange(facts), RangeVerdict::kCaptureBegan);
}

TEST(JudgeRange, EachFaultVoidsARange) {
  for (const Fault& fault : kFaults) {
    RangeFacts facts = Good();
    fault.add(&facts);
    EXPECT_EQ(JudgeRange(facts), fault.verdict) << fault.what;
    EXPECT_FALSE(IsValid(JudgeRange(facts))) << fault.what;
    facts.first_of_session = true;
    EXPECT_EQ(JudgeRange(facts), fault.verdict) << fault.what;
  }
}

TEST(JudgeRange, OfTwoFaultsTheEarlierIsNamed) {
  for (const Fault& one : kFaults) {
    for (const Fault& other : kFaults) {
      RangeFacts facts = Good();
      one.add(&facts);
      other.add(&facts);
      EXPECT_EQ(JudgeRange(facts), std::min(one.verdict, other.verdict)) << one.what << ", " << other.what;
    }
  }
}

TEST(JudgeRange, EveryVerdictHasItsText) {
  std::set<std::string_view> texts;
  for (uint8_t verdict = 0; verdict < kRangeVerdicts; ++verdict) {
    texts.insert(RangeVerdictName(static_cast<RangeVerdict>(verdict)));
  }
  EXPECT_EQ(texts.size(), kRangeVerdicts);
  EXPECT_EQ(texts.count("unknown"), 0u);
}

TEST(RangeContents, CountsWhatIsCalledWhileItIsOpenByWhom) {
  RangeContents contents;
  contents.EnterCall(DeviceWork::kKernel, 1);
  contents.LeaveCall();
  ASSERT_TRUE(contents.Open(1));
  EXPECT_TRUE(contents.is_open());
  contents.EnterCall(DeviceWork::kKernel, 2);
  contents.LeaveCall();
  contents.EnterCall(DeviceWork::kCopy, 1);
  contents.LeaveCall();
  contents.CaptureBegan();
  RangeFacts facts = Good();
  contents.Close(&facts);
  EXPECT_FALSE(contents.is_open());
  EXPECT_EQ(Of(facts.foreign, DeviceWork::kKernel), 1u);
  EXPECT_EQ(Of(facts.foreign, DeviceWork::kCopy), 0u);
  EXPECT_EQ(Of(facts.own_extra, DeviceWork::kCopy), 1u);
  EXPECT_TRUE(facts.capture_began);
}

TEST(RangeContents, StartsAfresh) {
  RangeContents contents;
  ASSERT_TRUE(contents.Open(1));
  contents.EnterCall(DeviceWork::kMemset, 2);
  contents.LeaveCall();
  contents.CaptureBegan();
  RangeFacts facts = Good();
  contents.Close(&facts);
  contents.CaptureBegan();
  ASSERT_TRUE(contents.Open(1));
  contents.Close(&facts);
  EXPECT_EQ(JudgeRange(facts), RangeVerdict::kValid);
}

TEST(RangeContents, DoesNotOpenWhileACallIsUnderWayOrARangeIsOpen) {
  RangeContents contents;
  contents.EnterCall(DeviceWork::kKernel, 2);
  EXPECT_FALSE(contents.Open(1));
  EXPECT_FALSE(contents.is_open());
  contents.LeaveCall();
  ASSERT_TRUE(contents.Open(1));
  EXPECT_FALSE(contents.Open(2));
  RangeFacts facts;
  contents.Close(&facts);
  EXPECT_TRUE(contents.Open(2));
}

// A call that runs between Open and Close is either the reason that Open failed, or is counted.
TEST(RangeContents, NoCallOfAnotherThreadGoesUnnoticed) {
  RangeContents contents;
  std::atomic<bool> stop{false};
  std::atomic<bool> in_range{false};
  std::atomic<uint64_t> seen_in_range{0};
  std::thread other([&] {
    while (!stop.load()) {
      contents.EnterCall(DeviceWork::kKernel, 2);
      // The work reaches the device here.
      if (in_range.load()) seen_in_range.fetch_add(1);
      contents.LeaveCall();
      std::this_thread::yield();
    }
  });
  uint64_t opened = 0;
  uint64_t counted = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (!contents.Open(1)) continue;
    const uint64_t before = seen_in_range.load();
    ++opened;
    in_range.store(true);
    if (i % 64 == 0) std::this_thread::yield();
    in_range.store(false);
    RangeFacts facts = Good();
    contents.Close(&facts);
    counted += Of(facts.foreign, DeviceWork::kKernel);
    const bool something_ran = seen_in_range.load() != before;
    if (something_ran) {
      EXPECT_EQ(JudgeRange(facts), RangeVerdict::kForeignLaunch);
    }
  }
  stop.store(true);
  other.join();
  EXPECT_GT(opened, 0u);
  EXPECT_GE(counted, seen_in_range.load());
}

}  // namespace
}  // namespace gx::inject
