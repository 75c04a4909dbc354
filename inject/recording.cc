#include "inject/recording.h"

#include "inject/clock.h"

namespace gx::inject {
namespace {

// Each stands alone: one that is refused does not stop the others. The kernel kind comes first, and CONCURRENT_KERNEL
// rather than KERNEL: the latter serialises kernels and gives graph kernels no times (CUPTI release notes, known
// issues).
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};
constexpr const char* kKindNames[] = {"CONCURRENT_KERNEL", "MEMCPY",  "MEMCPY2", "MEMSET",
                                      "OVERHEAD",          "RUNTIME", "DRIVER"};

}  // namespace

bool Recording::IsWanted(uint32_t kind) const noexcept {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overhead_;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return api_;
    default:
      return true;
  }
}

void Recording::EnableKinds() {
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    if (!IsWanted(kKinds[i])) continue;
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

// The present window ends, one of another kind begins. One thread at a time.
void Recording::ReplaceWindow(WindowKind kind) {
  const WindowKind before = kind_.load(std::memory_order_relaxed);
  const uint64_t begin_ns = MonotonicNs();
  // Between two windows of the region a launch, should there be one, still belongs to the first.
  if (kind == WindowKind::kOff) window_id_.store(0, std::memory_order_release);
  if (timing_ && kind == WindowKind::kTiming) EnableKinds();
  if (timing_ && before == WindowKind::kTiming) DisableKinds();
  const uint64_t end_ns = MonotonicNs();
  if (any_window_) {
    window_.end_monotonic_ns = kind == WindowKind::kTiming ? begin_ns : end_ns;
    writer_->Post(window_);
  }
  any_window_ = true;
  window_ = {};
  window_.window_id = ++last_window_id_;
  window_.kind = kind;
  window_.begin_monotonic_ns = end_ns;
  window_.switch_cost_ns = end_ns - begin_ns;
  writer_->window_kinds().Set(last_window_id_, kind);
  writer_->Post(window_);
  kind_.store(kind, std::memory_order_release);
  if (kind != WindowKind::kOff) window_id_.store(last_window_id_, std::memory_order_release);
}

void Recording::Switch(bool on) {
  wish_.store(on ? Wish::kOn : Wish::kOff, std::memory_order_seq_cst);
  FollowWishes();
}

// One switch at a time, and no lock is held across CUPTI: who comes while one is under way leaves its wish to whoever
// is at it. Of several wishes the last one counts: the program races with itself, and the order is undefined anyway.
void Recording::FollowWishes() {
  while (wish_.load(std::memory_order_seq_cst) != Wish::kNone) {
    if (switching_.exchange(true, std::memory_order_seq_cst)) return;
    const Wish wish = wish_.exchange(Wish::kNone, std::memory_order_seq_cst);
    const bool is_on = kind_.load(std::memory_order_relaxed) != WindowKind::kOff;
    if (wish != Wish::kNone && ((wish == Wish::kOn) != is_on || !any_window_)) {
      ReplaceWindow(wish == Wish::kOn ? WindowKind::kTiming : WindowKind::kOff);
    }
    switching_.store(false, std::memory_order_seq_cst);
  }
}

bool Recording::SwitchTo(WindowKind from, WindowKind to) {
  if (from == WindowKind::kOff || to == WindowKind::kOff || from == to) return false;
  if (switching_.exchange(true, std::memory_order_seq_cst)) return false;
  const bool possible = kind_.load(std::memory_order_relaxed) == from;
  if (possible) {
    // Only where CUPTI holds a buffer: see flusher.cc.
    if (timing_ && to == WindowKind::kCounters && buffers_ != nullptr && buffers_->lent() != 0 &&
        cupti_->cuptiActivityFlushAll(0) != CUPTI_SUCCESS) {
      Stats().Add(StatId::kCuptiErrors);
    }
    ReplaceWindow(to);
  }
  switching_.store(false, std::memory_order_seq_cst);
  FollowWishes();
  return possible;
}

}  // namespace gx::inject
