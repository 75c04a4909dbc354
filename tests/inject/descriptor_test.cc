#include "inject/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace gx::inject {
namespace {

using ::gx::testing::TempDir;

TEST(MoveHigh, TakesANumberThatHostsDoNotUseAndClosesTheLowOne) {
  const int low = open("/dev/null", O_WRONLY);
  ASSERT_GE(low, 0);
  ASSERT_LT(low, kLowestDescriptor);
  const int high = MoveHigh(low);
  EXPECT_GE(high, kLowestDescriptor);
  EXPECT_NE(fcntl(high, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(fcntl(low, F_GETFD), -1);
  EXPECT_EQ(MoveHigh(high), high);
  close(high);
}

TEST(MoveHigh, KeepsTheLowOneWhereTheProcessMayNotHaveAHighOne) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  const int low = open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(MoveHigh(low), low);
  EXPECT_NE(fcntl(low, F_GETFD), -1);
  close(low);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(MoveHigh, PassesAFailedOpenThrough) { EXPECT_EQ(MoveHigh(-1), -1); }

TEST(FileIdentity, TellsFilesApartAndSeesThatADescriptorIsGone) {
  const TempDir dir;
  const int a = open(dir.File("a").c_str(), O_WRONLY | O_CREAT, 0600);
  const int b = open(dir.File("b").c_str(), O_WRONLY | O_CREAT, 0600);
  FileIdentity identity;
  ASSERT_TRUE(IdentityOf(a, &identity));
  EXPECT_TRUE(HasIdentity(a, identity));
  EXPECT_FALSE(HasIdentity(b, identity));
  close(a);
  EXPECT_FALSE(HasIdentity(a, identity));
  EXPECT_FALSE(HasIdentity(-1, identity));
  close(b);
}

class SignalHeldBackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_), 0);
    close(ends_[0]);
  }
  void TearDown() override { close(ends_[1]); }
  int unread_pipe() const { return ends_[1]; }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(SignalHeldBackTest, LetsAWriteFailWithoutTheSignal) {
  signal(SIGPIPE, SIG_DFL);
  {
    const SignalHeldBack no_sigpipe(SIGPIPE);
    EXPECT_EQ(write(unread_pipe(), "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  EXPECT_EQ(errno, EPIPE);
  // Still here, and nothing waits to strike later.
  sigset_t mask;
  sigset_t pending;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
  EXPECT_EQ(sigismember(&mask, SIGPIPE), 0);
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(SignalHeldBackTest, LeavesASignalOfTheHostPending) {
  sigset_t sigpipe;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr), 0);
  ASSERT_EQ(raise(SIGPIPE), 0);
  {
    const SignalHeldBack no_sigpipe(SIGPIPE);
    EXPECT_EQ(write(unread_pipe(), "x", 1), -1);
  }
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  int taken = 0;
  sigwait(&sigpipe, &taken);
  pthread_sigmask(SIG_UNBLOCK, &sigpipe, nullptr);
}

}  // namespace
}  // namespace gx::inject
