#include "inject/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/inject/writer_parts.h"

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Window = gpuexec::v1::Window;

constexpr uint64_t kAllKinds = uint64_t{1} << CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL |
                               uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMCPY | uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMCPY2 |
                               uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMSET | uint64_t{1} << CUPTI_ACTIVITY_KIND_OVERHEAD;

class RecordingTest : public ::testing::Test {
 protected:
  void Attach(bool timing, bool overhead = true) {
    recording_.Attach(&parts_.cupti, &parts_.MakeWriter(), {.timing = timing, .overhead = overhead});
  }
  gpuexec::v1::Packet Written() {
    parts_.writer->WriteReasonOnly(1, {});
    return parts_.AllPackets();
  }

  WriterParts parts_;
  Recording recording_;
};

TEST_F(RecordingTest, NothingIsRecordedBeforeTheFirstSwitch) {
  Attach(true);
  EXPECT_EQ(recording_.window_id().load(), 0u);
}

TEST_F(RecordingTest, SwitchingOnEnablesEveryKindAndOpensAWindow) {
  Attach(true);
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_id().load(), 1u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), kAllKinds);
  const auto packet = Written();
  ASSERT_EQ(packet.window_size(), 1);
  EXPECT_EQ(packet.window(0).window_id(), 1u);
  EXPECT_EQ(packet.window(0).kind(), Window::KIND_TIMING);
  EXPECT_FALSE(packet.window(0).has_end_monotonic_ns());
}

TEST_F(RecordingTest, TheOverheadKindIsOnOnlyWhereItIsAskedFor) {
  Attach(true, false);
  recording_.Switch(true);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), kAllKinds & ~(uint64_t{1} << CUPTI_ACTIVITY_KIND_OVERHEAD));
  recording_.Switch(false);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
}

TEST_F(RecordingTest, CallsOfRuntimeAndDriverAreRecordedOnlyWhereTheyAreAskedFor) {
  recording_.Attach(&parts_.cupti, &parts_.MakeWriter(), {.timing = true, .api = true, .overhead = true});
  recording_.Switch(true);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(),
            kAllKinds | uint64_t{1} << CUPTI_ACTIVITY_KIND_RUNTIME | uint64_t{1} << CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
}

TEST_F(RecordingTest, SwitchingOffClosesTheWindowAndDisablesTheKinds) {
  Attach(true);
  recording_.Switch(true);
  recording_.Switch(false);
  EXPECT_EQ(recording_.window_id().load(), 0u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  const auto packet = Written();
  ASSERT_EQ(packet.window_size(), 3);
  EXPECT_EQ(packet.window(1).window_id(), 1u);
  EXPECT_GE(packet.window(1).end_monotonic_ns(), packet.window(1).begin_monotonic_ns());
  EXPECT_EQ(packet.window(2).window_id(), 2u);
  EXPECT_EQ(packet.window(2).kind(), Window::KIND_OFF);
  EXPECT_GE(packet.window(2).begin_monotonic_ns(), packet.window(1).end_monotonic_ns());
}

TEST_F(RecordingTest, ASwitchToWhatIsSoAlreadyDoesNothing) {
  Attach(true);
  recording_.Switch(true);
  recording_.Switch(true);
  recording_.Switch(false);
  recording_.Switch(false);
  EXPECT_EQ(Written().window_size(), 3);
}

TEST_F(RecordingTest, BeginningOffIsAWindowToo) {
  Attach(true);
  recording_.Switch(false);
  EXPECT_EQ(recording_.window_id().load(), 0u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_id().load(), 2u);
  const auto packet = Written();
  ASSERT_EQ(packet.window_size(), 3);
  EXPECT_EQ(packet.window(0).kind(), Window::KIND_OFF);
  EXPECT_EQ(packet.window(2).kind(), Window::KIND_TIMING);
}

TEST_F(RecordingTest, EveryKindIsRefusedAloneAndNamed) {
  for (const auto& [kind, name] : std::vector<std::pair<CUpti_ActivityKind, std::string>>{
           {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL"},
           {CUPTI_ACTIVITY_KIND_MEMCPY, "MEMCPY"},
           {CUPTI_ACTIVITY_KIND_MEMCPY2, "MEMCPY2"},
           {CUPTI_ACTIVITY_KIND_MEMSET, "MEMSET"},
           {CUPTI_ACTIVITY_KIND_OVERHEAD, "OVERHEAD"}}) {
    WriterParts parts;
    Recording recording;
    TheFakeCupti().refused_kinds_mask = uint64_t{1} << kind;
    recording.Attach(&parts.cupti, &parts.MakeWriter(), {.timing = true, .overhead = true});
    recording.Switch(true);
    EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), kAllKinds & ~(uint64_t{1} << kind)) << name;
    EXPECT_NE(recording.window_id().load(), 0u);
    EXPECT_EQ(Stats().Get(StatId::kActivityKindsRefused), 1u);
    recording.Switch(false);
    EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
    EXPECT_EQ(Stats().Get(StatId::kCuptiErrors), 0u) << "a refused kind is not disabled";
    parts.writer->WriteReasonOnly(1, {});
    const auto packet = parts.AllPackets();
    ASSERT_EQ(packet.diagnostic_size(), 1);
    EXPECT_THAT(packet.diagnostic(0).text(), AllOf(HasSubstr("kind " + name + ":"), HasSubstr("error")));
  }
}

TEST_F(RecordingTest, TheRefusalIsExplainedInCuptisOwnWords) {
  parts_.cupti.cuptiGetResultString = [](CUptiResult, const char** text) {
    *text = "CUPTI_ERROR_NOT_COMPATIBLE";
    return CUPTI_SUCCESS;
  };
  TheFakeCupti().refused_kinds_mask = uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMSET;
  Attach(true);
  recording_.Switch(true);
  EXPECT_THAT(Written().diagnostic(0).text(), HasSubstr("CUPTI_ERROR_NOT_COMPATIBLE"));
}

TEST_F(RecordingTest, WithoutTimingWindowsOpenAndNoKindIsEnabled) {
  Attach(false);
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_id().load(), 1u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
}

TEST_F(RecordingTest, ACounterWindowHasNoKindEnabledAndItsLaunchesAreRecorded) {
  Attach(true);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kOff);
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_EQ(recording_.window_kind(), WindowKind::kCounters);
  EXPECT_EQ(recording_.window_id().load(), 2u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming));
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_EQ(recording_.window_id().load(), 3u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), kAllKinds);
  EXPECT_EQ(parts_.writer->window_kinds().Find(1), WindowKind::kTiming);
  EXPECT_EQ(parts_.writer->window_kinds().Find(2), WindowKind::kCounters);
  EXPECT_EQ(parts_.writer->window_kinds().Find(3), WindowKind::kTiming);
  const auto packet = Written();
  ASSERT_EQ(packet.window_size(), 5);
  EXPECT_EQ(packet.window(1).kind(), Window::KIND_TIMING);
  EXPECT_EQ(packet.window(2).kind(), Window::KIND_COUNTERS);
  EXPECT_GE(packet.window(2).begin_monotonic_ns(), packet.window(1).end_monotonic_ns());
  EXPECT_EQ(packet.window(3).window_id(), 2u);
  EXPECT_GE(packet.window(3).end_monotonic_ns(), packet.window(3).begin_monotonic_ns());
  EXPECT_EQ(packet.window(4).kind(), Window::KIND_TIMING);
  EXPECT_GE(packet.window(4).begin_monotonic_ns(), packet.window(3).end_monotonic_ns());
}

TEST_F(RecordingTest, AChangeFromAnotherKindThanThePresentOneDoesNothing) {
  Attach(true);
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters)) << "no window yet";
  recording_.Switch(true);
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming));
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kTiming));
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kOff));
  recording_.Switch(false);
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters)) << "the region is off";
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kOff, WindowKind::kCounters));
  EXPECT_EQ(Written().window_size(), 3);
}

TEST_F(RecordingTest, TheProgramsOwnSwitchEndsACounterWindow) {
  Attach(true);
  recording_.Switch(true);
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kCounters) << "the region is on already";
  recording_.Switch(false);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kOff);
  EXPECT_EQ(recording_.window_id().load(), 0u);
  EXPECT_FALSE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming)) << "the sampler hears of it";
  recording_.Switch(true);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), kAllKinds);
}

TEST_F(RecordingTest, WithoutTimingWindowsTakeTurnsAllTheSame) {
  Attach(false);
  recording_.Switch(true);
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming));
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  EXPECT_EQ(recording_.window_id().load(), 3u);
}

// What a flush or an enable of CUPTI finds, and does, while a switch is under way.
struct Inside {
  int flushes = 0;
  uint64_t kinds_at_flush = 0;
  Recording* recording = nullptr;
  bool second_switch = true;
};
Inside& TheInside() {
  static Inside inside;
  return inside;
}

TEST_F(RecordingTest, RecordsOfTheEndedWindowAreAskedForWhileItsKindsAreStillOn) {
  TheInside() = {};
  parts_.cupti.cuptiActivityFlushAll = [](uint32_t flag) {
    ++TheInside().flushes;
    TheInside().kinds_at_flush = TheFakeCupti().enabled_kinds_mask.load();
    EXPECT_EQ(flag, 0u);
    return CUPTI_SUCCESS;
  };
  recording_.Attach(&parts_.cupti, &parts_.MakeWriter(), {.timing = true, .overhead = true}, parts_.buffers.get());
  recording_.Switch(true);
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_EQ(TheInside().flushes, 0) << "CUPTI holds no buffer";
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming));
  CompletedBuffer discarded;
  ASSERT_NE(parts_.buffers->Take(false, &discarded), nullptr);
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_EQ(TheInside().flushes, 1);
  EXPECT_EQ(TheInside().kinds_at_flush, kAllKinds);
}

TEST_F(RecordingTest, ARegionThatEndsDuringAChangeEndsRightAfterIt) {
  TheInside() = {};
  TheInside().recording = &recording_;
  parts_.cupti.cuptiActivityDisable = [](CUpti_ActivityKind kind) {
    TheFakeCupti().enabled_kinds_mask.fetch_and(~(uint64_t{1} << static_cast<uint32_t>(kind)));
    // The program's thread, in the middle of it.
    TheInside().recording->Switch(false);
    TheInside().second_switch = TheInside().recording->SwitchTo(WindowKind::kTiming, WindowKind::kCounters);
    return CUPTI_SUCCESS;
  };
  Attach(true);
  recording_.Switch(true);
  EXPECT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_FALSE(TheInside().second_switch) << "another change is under way";
  EXPECT_EQ(recording_.window_kind(), WindowKind::kOff);
  EXPECT_EQ(recording_.window_id().load(), 0u);
  const auto packet = Written();
  ASSERT_EQ(packet.window_size(), 5);
  EXPECT_EQ(packet.window(4).kind(), Window::KIND_OFF);
}

TEST_F(RecordingTest, ASamplerBesideAProgramThatSwitchesLeavesAWholeAnswer) {
  Attach(true);
  recording_.Switch(true);
  // Two notes a switch, and nobody reads them before the end: at most 2 * (42 + 2 * 40) of 256.
  std::thread sampler([&] {
    for (int i = 0; i < 40; ++i) {
      if (!recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters)) continue;
      (void)recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming);
    }
  });
  for (int i = 0; i < 41; ++i) recording_.Switch(i % 2 != 0);
  sampler.join();
  EXPECT_EQ(recording_.window_kind(), WindowKind::kOff) << "the program's last wish was not lost";
  EXPECT_EQ(recording_.window_id().load(), 0u);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  uint64_t opened = 0;
  const auto packet = Written();
  for (const Window& window : packet.window()) {
    if (window.has_end_monotonic_ns()) continue;
    EXPECT_EQ(window.window_id(), ++opened);
    EXPECT_EQ(static_cast<uint32_t>(parts_.writer->window_kinds().Find(static_cast<uint32_t>(opened))),
              static_cast<uint32_t>(window.kind()));
  }
  EXPECT_GE(opened, 2u);
  EXPECT_EQ(Stats().Get(StatId::kNotesDropped), 0u);
}

TEST_F(RecordingTest, ThreadsThatSwitchAtOnceLeaveAWholeAnswer) {
  Attach(true);
  // Two notes a switch at most, and nobody reads them before the end: 43 switches a thread would fill the inbox.
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) recording_.Switch((i + t) % 2 == 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool on = recording_.window_id().load() != 0;
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), on ? kAllKinds : 0u);
  const auto packet = Written();
  // Each window is written when it opens and again with its end; no number is left out, on and off take turns.
  std::vector<Window> last;
  for (const Window& window : packet.window()) {
    if (window.has_end_monotonic_ns()) continue;
    if (!last.empty()) {
      EXPECT_EQ(window.window_id(), last.back().window_id() + 1);
      EXPECT_NE(window.kind(), last.back().kind());
    }
    last.push_back(window);
  }
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back().kind() == Window::KIND_TIMING, on);
  EXPECT_EQ(Stats().Get(StatId::kNotesDropped), 0u);
}

}  // namespace
}  // namespace gx::inject
