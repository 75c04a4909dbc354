#include "inject/range_verdict.h"

namespace gx::inject {
namespace {

// While a range is being opened; no thread has this number.
constexpr uint64_t kOpening = UINT64_MAX;

uint32_t Of(const std::array<uint32_t, kDeviceWorks>& counts, DeviceWork work) {
  return counts[static_cast<uint8_t>(work)];
}

}  // namespace

std::string_view RangeVerdictName(RangeVerdict verdict) {
  switch (verdict) {
    case RangeVerdict::kValid:
      return "valid";
    case RangeVerdict::kValidFirst:
      return "valid, first of its session";
    case RangeVerdict::kCallFailed:
      return "a call of CUPTI failed";
    case RangeVerdict::kNotCompleted:
      return "the launch did not complete in time";
    case RangeVerdict::kNoLaunch:
      return "the launch was refused";
    case RangeVerdict::kCaptureBegan:
      return "a capture began, or the region ended";
    case RangeVerdict::kForeignLaunch:
      return "another thread launched";
    case RangeVerdict::kSeveralLaunches:
      return "more than one launch";
    case RangeVerdict::kCopy:
      return "a copy";
    case RangeVerdict::kMemset:
      return "a memset";
    case RangeVerdict::kModuleLoad:
      return "a module was loaded";
  }
  return "unknown";
}

RangeVerdict JudgeRange(const RangeFacts& facts) noexcept {
  if (facts.push_failed || facts.pop_failed) return RangeVerdict::kCallFailed;
  if (!facts.launched || !facts.launch_accepted) return RangeVerdict::kNoLaunch;
  if (!facts.completed_in_time) return RangeVerdict::kNotCompleted;
  if (facts.capture_began || facts.window_ended) return RangeVerdict::kCaptureBegan;
  if (Of(facts.foreign, DeviceWork::kKernel) != 0 || Of(facts.foreign, DeviceWork::kGraph) != 0) {
    return RangeVerdict::kForeignLaunch;
  }
  if (Of(facts.own_extra, DeviceWork::kKernel) != 0 || Of(facts.own_extra, DeviceWork::kGraph) != 0) {
    return RangeVerdict::kSeveralLaunches;
  }
  const auto any = [&](DeviceWork work) { return Of(facts.foreign, work) != 0 || Of(facts.own_extra, work) != 0; };
  if (any(DeviceWork::kCopy)) return RangeVerdict::kCopy;
  if (any(DeviceWork::kMemset)) return RangeVerdict::kMemset;
  if (any(DeviceWork::kModuleLoad)) return RangeVerdict::kModuleLoad;
  return facts.first_of_session ? RangeVerdict::kValidFirst : RangeVerdict::kValid;
}

void RangeContents::EnterCall(DeviceWork work, uint64_t thread) noexcept {
  // Either Open sees this call under way, or this call sees the range.
  under_way_.fetch_add(1, std::memory_order_seq_cst);
  const uint64_t owner = owner_.load(std::memory_order_seq_cst);
  if (owner == 0) return;
  (owner == thread ? own_ : foreign_)[static_cast<uint8_t>(work)].fetch_add(1, std::memory_order_relaxed);
}

bool RangeContents::Open(uint64_t owner) noexcept {
  uint64_t nobody = 0;
  if (!owner_.compare_exchange_strong(nobody, kOpening, std::memory_order_seq_cst)) return false;
  for (uint32_t work = 0; work < kDeviceWorks; ++work) {
    own_[work].store(0, std::memory_order_relaxed);
    foreign_[work].store(0, std::memory_order_relaxed);
  }
  capture_.store(false, std::memory_order_relaxed);
  owner_.store(owner, std::memory_order_seq_cst);
  if (under_way_.load(std::memory_order_seq_cst) == 0) return true;
  owner_.store(0, std::memory_order_seq_cst);
  return false;
}

void RangeContents::CaptureBegan() noexcept {
  if (is_open()) capture_.store(true, std::memory_order_relaxed);
}

void RangeContents::Close(RangeFacts* facts) noexcept {
  owner_.store(0, std::memory_order_seq_cst);
  for (uint32_t work = 0; work < kDeviceWorks; ++work) {
    facts->own_extra[work] = own_[work].load(std::memory_order_relaxed);
    facts->foreign[work] = foreign_[work].load(std::memory_order_relaxed);
  }
  facts->capture_began = capture_.load(std::memory_order_relaxed);
}

}  // namespace gx::inject
