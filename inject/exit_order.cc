#include "inject/exit_order.h"

#include <cstdlib>

namespace gx::inject {

bool ExitOrder::Renew() noexcept {
  if (registrations_.fetch_add(1, std::memory_order_relaxed) >= kMaxRegistrations) {
    registrations_.store(kMaxRegistrations, std::memory_order_relaxed);
    return false;
  }
  return std::atexit(at_exit_) == 0;
}

}  // namespace gx::inject
