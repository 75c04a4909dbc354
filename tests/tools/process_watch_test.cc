#include "tools/run/process_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gx::tools {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A child that has a child; both sleep until they are killed.
class Family {
 public:
  Family() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::setpgid(0, 0);
      if (::fork() == 0) {
        [[maybe_unused]] const ssize_t ignored = ::write(ends[1], "x", 1);
      }
      while (true) ::pause();
    }
    char ready = 0;
    EXPECT_EQ(::read(ends[0], &ready, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Family() { End(); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  pid_t child() const { return child_; }
  void End() {
    if (child_ <= 0) return;
    ::kill(-child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
};

TEST(ProcessWatch, SeesTheProgramAndItsChildren) {
  Family family;
  ProcessWatch watch(family.child());
  watch.Look();
  watch.Look();
  EXPECT_EQ(watch.look_count(), 2);
  EXPECT_EQ(watch.process_count(), 2);
  ASSERT_THAT(watch.Seen(), SizeIs(2));
  for (const SeenProcess& process : watch.Seen()) {
    EXPECT_TRUE(process.is_alive && process.is_readable);
    EXPECT_EQ(process.libcuda, "");
    EXPECT_EQ(process.injection, std::nullopt);
  }
}

TEST(ProcessWatch, ForgetsWhatHasEndedWithoutCuda) {
  Family family;
  ProcessWatch watch(family.child());
  watch.Look();
  family.End();
  // The grandchild is somebody else's to bury, at some time.
  for (int i = 0; i < 200 && !watch.Seen().empty(); ++i) {
    ::usleep(10'000);
    watch.Look();
  }
  EXPECT_THAT(watch.Seen(), IsEmpty());
  EXPECT_EQ(watch.process_count(), 2);
}

TEST(ProcessWatch, LooksOftenWhileARunIsYoungAndRarelyWhereLookingIsDear) {
  EXPECT_EQ(NextLookMs(0, 100), 20);
  EXPECT_EQ(NextLookMs(1'000, 100), 100);
  EXPECT_EQ(NextLookMs(3'600'000, 100), 1000);
  EXPECT_EQ(NextLookMs(3'600'000, 50'000), 5'000) << "50 ms every 5 s: 1 % of a core";
  EXPECT_EQ(NextLookMs(0, 50'000), 5'000);
}

}  // namespace
}  // namespace gx::tools
