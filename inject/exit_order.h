// Keeps a function first among those that the C library calls at the program's end, which come in the reverse order of
// their registration. A library that another thread of ours calls registers the destructors of what it makes at first
// use: later than we did, so that they would run before our end has waited for that thread, and under its feet.
// Measured on an H200 (CUPTI 13.0): 3 of 31 programs that ended while their first sessions were opened crashed.
#ifndef GPUEXEC_INJECT_EXIT_ORDER_H_
#define GPUEXEC_INJECT_EXIT_ORDER_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

class ExitOrder {
 public:
  // What is made at first use is made after a few sessions; a registration takes 32 bytes that are never given back.
  static constexpr uint32_t kMaxRegistrations = 512;

  // `at_exit` returns at once when it is called again. Must live as long as the process.
  explicit constexpr ExitOrder(void (*at_exit)()) noexcept : at_exit_(at_exit) {}

  // Registers it once more. False: that was done too often, the C library has no memory, or the process forks just now.
  // One thread.
  bool Renew() noexcept;
  // Around a fork, for pthread_atfork: none is made meanwhile. The C library's lock of that list would stay taken in
  // the child (found with a probe: it hung in its next exit), as it is held over an allocation that waits for the fork.
  void BeforeFork() noexcept;
  void AfterFork() noexcept { forks_.fetch_sub(1, std::memory_order_seq_cst); }
  bool exhausted() const noexcept { return registrations_.load(std::memory_order_relaxed) >= kMaxRegistrations; }

 private:
  void (*at_exit_)();
  std::atomic<uint32_t> registrations_{0};
  std::atomic<bool> renewing_{false};
  std::atomic<int32_t> forks_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_EXIT_ORDER_H_
