#include "inject/record_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::inject {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint32_t kThread = 7;
constexpr uint32_t kContext = 1;
constexpr uint32_t kStream = 3;

// A second is two rounds of flushing.
class RecordWatchTest : public ::testing::Test {
 protected:
  void Launch(uint64_t enter_ns, uint32_t stream = kStream, uint64_t kernels = 1) {
    watch_.OnLaunch(kThread, kContext, stream, enter_ns, kernels);
  }
  void Wait(uint32_t stream = kStream) { watch_.OnWait(kThread, kContext, stream, false); }
  std::optional<RecordGapRecord> JudgeAt(uint64_t second, uint64_t losses = 0) {
    return watch_.Judge(second * kSecond, second * 2, losses);
  }
  // Of five seconds in a row.
  bool EverOpens(uint64_t losses = 0) {
    for (uint64_t second = 10; second < 15; ++second) {
      if (JudgeAt(second, losses)) return true;
    }
    return false;
  }
  RecordWatch watch_;
};

TEST_F(RecordWatchTest, AKernelThatEndedWithoutARecordOpensAGapFromItsLaunchOn) {
  Launch(5 * kSecond);
  Launch(6 * kSecond);
  Wait();
  EXPECT_FALSE(JudgeAt(6));
  const auto gap = JudgeAt(7);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->gap_id, 1u);
  EXPECT_EQ(gap->begin_monotonic_ns, 5 * kSecond);
  EXPECT_FALSE(gap->end_monotonic_ns);
  EXPECT_EQ(gap->kernel_count, 2u);
  EXPECT_TRUE(watch_.is_open());
  EXPECT_FALSE(JudgeAt(8)) << "told once";
}

TEST_F(RecordWatchTest, ARecordEndsIt) {
  Launch(5 * kSecond);
  Wait();
  (void)JudgeAt(6);
  ASSERT_TRUE(JudgeAt(7));
  Launch(8 * kSecond);
  watch_.OnKernel();
  const auto gap = JudgeAt(9);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->gap_id, 1u);
  EXPECT_EQ(gap->begin_monotonic_ns, 5 * kSecond);
  EXPECT_EQ(gap->end_monotonic_ns, 9 * kSecond);
  EXPECT_EQ(gap->kernel_count, 1u);
  EXPECT_FALSE(watch_.is_open());
}

TEST_F(RecordWatchTest, ALaterGapIsAnotherOne) {
  for (uint64_t second : {5, 15}) {
    Launch(second * kSecond);
    Wait();
    (void)JudgeAt(second + 1);
    ASSERT_TRUE(JudgeAt(second + 2));
    watch_.OnKernel();
    ASSERT_TRUE(JudgeAt(second + 3));
  }
  Launch(25 * kSecond);
  Wait();
  (void)JudgeAt(26);
  EXPECT_EQ(JudgeAt(27)->gap_id, 3u);
}

TEST_F(RecordWatchTest, NothingIsSaidOfKernelsThatMayStillRun) {
  Launch(5 * kSecond);
  EXPECT_FALSE(EverOpens()) << "nobody waited";
  Wait(kStream + 1);
  EXPECT_FALSE(EverOpens()) << "for another stream";
  watch_.OnWait(kThread, kContext + 1, kStream, true);
  EXPECT_FALSE(EverOpens()) << "for another context";
  watch_.OnWait(kThread + 1, kContext, kStream, true);
  EXPECT_FALSE(EverOpens()) << "a thread that launched nothing";
  watch_.OnWait(kThread, kContext, kStream + 1, true);
  EXPECT_TRUE(EverOpens()) << "for all of its context";
}

TEST_F(RecordWatchTest, NothingIsSaidBeforeCuptiWasAskedTwice) {
  Launch(5 * kSecond);
  Wait();
  EXPECT_FALSE(watch_.Judge(6 * kSecond, 3, 0));
  EXPECT_FALSE(watch_.Judge(60 * kSecond, 4, 0));
  EXPECT_TRUE(watch_.Judge(61 * kSecond, 5, 0));
}

TEST_F(RecordWatchTest, NothingIsSaidWhereRecordsCameSinceTheWait) {
  Launch(5 * kSecond);
  Wait();
  watch_.OnKernel();
  EXPECT_FALSE(EverOpens());
  Wait();
  EXPECT_FALSE(EverOpens()) << "a wait without a launch";
}

TEST_F(RecordWatchTest, ALossThatIsKnownIsTheReason) {
  Launch(5 * kSecond);
  Wait();
  EXPECT_FALSE(EverOpens(1));
  EXPECT_FALSE(watch_.JudgeAtEnd(true, 1));
  watch_.OnKernel();
  (void)JudgeAt(20, 1);
  Launch(21 * kSecond);
  Wait();
  (void)JudgeAt(22, 1);
  EXPECT_TRUE(JudgeAt(23, 1)) << "an old loss is none of this one";
}

TEST_F(RecordWatchTest, AGraphWithoutKernelsOwesNothing) {
  Launch(5 * kSecond, kStream, 0);
  Wait();
  EXPECT_FALSE(EverOpens());
  EXPECT_FALSE(watch_.JudgeAtEnd(true, 0));
}

TEST_F(RecordWatchTest, AtTheEndWhatIsOwedOfAnIdleDeviceIsAGap) {
  Launch(5 * kSecond, kStream, 4);
  EXPECT_FALSE(watch_.JudgeAtEnd(false, 0)) << "it may still run";
  const auto gap = watch_.JudgeAtEnd(true, 0);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->begin_monotonic_ns, 5 * kSecond);
  EXPECT_EQ(gap->kernel_count, 4u);
  EXPECT_FALSE(gap->end_monotonic_ns);
}

TEST_F(RecordWatchTest, AtTheEndAWaitOfTheProgramsIsAsGood) {
  Launch(5 * kSecond);
  Wait();
  EXPECT_TRUE(watch_.JudgeAtEnd(false, 0));
}

TEST_F(RecordWatchTest, AtTheEndAnOpenGapIsToldWithAllThatItLacks) {
  Launch(5 * kSecond);
  Wait();
  (void)JudgeAt(6);
  ASSERT_TRUE(JudgeAt(7));
  Launch(8 * kSecond);
  const auto gap = watch_.JudgeAtEnd(false, 0);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->gap_id, 1u);
  EXPECT_EQ(gap->kernel_count, 2u);
}

TEST_F(RecordWatchTest, AtTheEndASoundRunHasNone) {
  Launch(5 * kSecond);
  Wait();
  watch_.OnKernel();
  EXPECT_FALSE(watch_.JudgeAtEnd(true, 0));
}

TEST(RecordWatchThreads, ThreadsThatEndWithoutAWaitAreNotKeptForEver) {
  RecordWatch watch;
  for (uint32_t thread = 1; thread <= 100'000; ++thread) {
    watch.OnLaunch(thread, 1, 7, thread, 1);
    watch.OnKernel();
  }
  EXPECT_LE(watch.thread_count(), RecordWatch::kMaxThreads + 1);
  watch.OnLaunch(200'000, 1, 7, 200'000, 1);
  const size_t before = watch.thread_count();
  watch.OnWait(200'000, 1, 7, false);
  EXPECT_EQ(watch.thread_count(), before - 1) << "nor one that has waited";
}

TEST(DescribeRecordGap, NamesWhoImportsTheFunction) {
  RecordGapRecord gap;
  gap.kernel_count = 12;
  EXPECT_THAT(DescribeRecordGap(gap), HasSubstr("12 kernels"));
  EXPECT_THAT(DescribeRecordGap(gap), HasSubstr("looks it up at run time"));
  gap.clients = {"/opt/libprofiler.so", "the program itself"};
  EXPECT_THAT(DescribeRecordGap(gap), HasSubstr("/opt/libprofiler.so"));
  EXPECT_THAT(DescribeRecordGap(gap), HasSubstr("the program itself"));
  EXPECT_THAT(DescribeRecordGap(gap), Not(HasSubstr("looks it up")));
  gap.end_monotonic_ns = 5;
  EXPECT_THAT(DescribeRecordGap(gap), HasSubstr("records come again"));
}

}  // namespace
}  // namespace gx::inject
