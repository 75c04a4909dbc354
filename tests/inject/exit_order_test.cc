#include "inject/exit_order.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace gx::inject {
namespace {

void Nothing() {}

TEST(ExitOrder, RegistersSoOftenAndNoMore) {
  ExitOrder order(Nothing);
  for (uint32_t i = 0; i < ExitOrder::kMaxRegistrations; ++i) ASSERT_TRUE(order.Renew()) << i;
  EXPECT_TRUE(order.exhausted());
  EXPECT_FALSE(order.Renew());
}

TEST(ExitOrder, TheLastRegistrationRunsFirst) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The exit code tells which of the two ran first.
    static ExitOrder order([] { _exit(3); });
    (void)order.Renew();
    (void)std::atexit([] { _exit(4); });
    (void)order.Renew();
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(ExitOrder, RegistersNothingDuringAFork) {
  ExitOrder order(Nothing);
  order.BeforeFork();
  EXPECT_FALSE(order.Renew());
  order.BeforeFork();
  order.AfterFork();
  EXPECT_FALSE(order.Renew()) << "of another thread";
  order.AfterFork();
  EXPECT_TRUE(order.Renew());
}

TEST(ExitOrder, AForkWaitsForARegistrationUnderWay) {
  ExitOrder order(Nothing);
  std::atomic<bool> ends{false};
  std::thread renewing([&] {
    while (!ends.load() && !order.exhausted()) (void)order.Renew();
  });
  for (int i = 0; i < 100; ++i) {
    order.BeforeFork();
    EXPECT_FALSE(order.Renew());
    order.AfterFork();
  }
  ends.store(true);
  renewing.join();
}

}  // namespace
}  // namespace gx::inject
