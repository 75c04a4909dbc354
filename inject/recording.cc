#include "inject/recording.h"

#include "inject/clock.h"

namespace gx::inject {
namespace {

// Each stands alone: one that is refused does not stop the others. The kernel kind comes first, and CONCURRENT_KERNEL
// rather than KERNEL: the latter serialises kernels and gives graph kernels no times (CUPTI release notes, known
// issues).
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_OVERHEAD,
};
constexpr const char* kKindNames[] = {"CONCURRENT_KERNEL", "MEMCPY",  "MEMCPY2", "MEMSET",
                                      "SYNCHRONIZATION",   "OVERHEAD"};

}  // namespace

void Recording::EnableKinds() {
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    const CUptiResult result = cupti_->cuptiActivityEnable(kKinds[i]);
    if (result == CUPTI_SUCCESS) {
      enabled_mask_ |= 1u << i;
      continue;
    }
    Stats().Add(StatId::kActivityKindsRefused);
    writer_->Post(KindRefusedItem{kKindNames[i], static_cast<int>(result)});
  }
}

void Recording::DisableKinds() {
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    if ((enabled_mask_ & (1u << i)) == 0) continue;
    if (cupti_->cuptiActivityDisable(kKinds[i]) != CUPTI_SUCCESS) Stats().Add(StatId::kCuptiErrors);
  }
  enabled_mask_ = 0;
}

void Recording::Switch(bool on) {
  // One switch at a time; a second thread's wish while one is under way is a program racing with itself: the later one
  // is dropped, as the order of the two is undefined anyway. No lock is held across CUPTI.
  if (switching_.exchange(true, std::memory_order_acquire)) return;
  if (on != on_ || !any_window_) {
    const uint64_t begin_ns = MonotonicNs();
    if (!on) window_id_.store(0, std::memory_order_release);
    if (timing_ && on) EnableKinds();
    if (timing_ && !on) DisableKinds();
    const uint64_t end_ns = MonotonicNs();
    if (any_window_) {
      window_.end_monotonic_ns = on ? begin_ns : end_ns;
      writer_->Post(window_);
    }
    any_window_ = true;
    on_ = on;
    window_ = {};
    window_.window_id = ++last_window_id_;
    window_.kind = on ? WindowKind::kTiming : WindowKind::kOff;
    window_.begin_monotonic_ns = end_ns;
    window_.switch_cost_ns = end_ns - begin_ns;
    writer_->Post(window_);
    if (on) window_id_.store(last_window_id_, std::memory_order_release);
  }
  switching_.store(false, std::memory_order_release);
}

}  // namespace gx::inject
