#include "inject/exit_order.h"

#include <cstdlib>

#include "inject/futex.h"

namespace gx::inject {
namespace {

// A registration takes a microsecond; a fork does not wait for a thread that is never run.
constexpr uint64_t kForkWaitNs = 50'000'000;

}  // namespace

bool ExitOrder::Renew() noexcept {
  if (exhausted()) return false;
  renewing_.store(true, std::memory_order_seq_cst);
  bool renewed = false;
  if (forks_.load(std::memory_order_seq_cst) == 0) {
    registrations_.fetch_add(1, std::memory_order_relaxed);
    renewed = std::atexit(at_exit_) == 0;
  }
  renewing_.store(false, std::memory_order_seq_cst);
  return renewed;
}

void ExitOrder::BeforeFork() noexcept {
  forks_.fetch_add(1, std::memory_order_seq_cst);
  (void)WaitUntil([this] { return !renewing_.load(std::memory_order_seq_cst); }, kForkWaitNs);
}

}  // namespace gx::inject
