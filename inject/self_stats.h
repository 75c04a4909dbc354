// Named counters of what was lost, skipped or found odd: the host side of proto/gpuexec/v1/stats.proto, which says what
// each one means. Counting is one relaxed atomic addition and may be done anywhere, also inside a callback.
#ifndef GPUEXEC_INJECT_SELF_STATS_H_
#define GPUEXEC_INJECT_SELF_STATS_H_

#include <atomic>
#include <cstdint>

#include "gpuexec/trace_fields.h"  // generated from proto/: gx::fields::StatId and field numbers

namespace gx::inject {

using fields::StatId;

class SelfStats {
 public:
  // One more than the largest StatId.
  static constexpr uint32_t kSize = fields::kStatIdMax + 1;

  // [MT] Adds to a counter.
  void Add(StatId id, uint64_t amount = 1) noexcept {
    counters_[static_cast<uint32_t>(id)].value.fetch_add(amount, std::memory_order_relaxed);
  }
  // [MT] The present value.
  uint64_t Get(StatId id) const noexcept {
    return counters_[static_cast<uint32_t>(id)].value.load(std::memory_order_relaxed);
  }
  void Reset() noexcept {
    for (Counter& counter : counters_) counter.value.store(0, std::memory_order_relaxed);
  }

 private:
  // A cache line each: the writer counts kernels while the program's threads count launches.
  struct alignas(64) Counter {
    std::atomic<uint64_t> value{0};
  };
  Counter counters_[kSize];
};

// The process's counters. Trivially destructible storage: usable from any thread until the process is gone.
SelfStats& Stats() noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SELF_STATS_H_
