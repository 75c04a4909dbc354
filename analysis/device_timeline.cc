#include "analysis/device_timeline.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gx::analysis {
namespace {

bool Earlier(const TimelineItem& a, const TimelineItem& b) {
  // Copies and kernels of one instant in a fixed order: equal traces give equal reports.
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns < b.end_ns;
}

}  // namespace

void DeviceTimeline::Union::Add(uint64_t start_ns, uint64_t end_ns_in) {
  if (end_ns_in <= end_ns) return;
  busy_ns += end_ns_in - std::max(start_ns, end_ns);
  end_ns = end_ns_in;
}

void DeviceTimeline::Add(const TimelineItem& item) {
  any_ = true;
  first_start_ns_ = std::min(first_start_ns_, item.start_ns);
  last_end_ns_ = std::max(last_end_ns_, item.end_ns);
  if (any_released_ && item.start_ns < released_ns_) {
    ++late_count_;
    if (!item.is_copy) sink_->OnOrderedKernel(item, TimelineClass::kLate, false);
    return;
  }
  newest_start_ns_ = std::max(newest_start_ns_, item.start_ns);
  held_.push_back(item);
  if (held_.size() < next_sort_) return;
  SortHeld();
  const uint64_t horizon_ns = newest_start_ns_ > kWindowNs ? newest_start_ns_ - kWindowNs : 0;
  const auto keep = std::lower_bound(held_.begin(), held_.end(), horizon_ns,
                                     [](const TimelineItem& held, uint64_t ns) { return held.start_ns < ns; });
  auto count = static_cast<size_t>(keep - held_.begin());
  if (held_.size() - count > kMaxHeld) count = held_.size() - kMaxHeld;
  Release(count);
  // Sorting again only after as many new items as are held keeps the cost of one item constant.
  next_sort_ = held_.size() + std::max(kMinBatch, held_.size());
}

void DeviceTimeline::Finish() {
  SortHeld();
  Release(held_.size());
  Decide(TimelineClass::kAlone);
}

// Each buffer of CUPTI's is nearly in order, so what is new is a few long runs: merged in pairs they take as many
// passes as the logarithm of their number. Equal items keep their order.
void DeviceTimeline::SortHeld() {
  const auto at = [this](size_t index) { return held_.begin() + static_cast<std::ptrdiff_t>(index); };
  run_ends_.clear();
  for (size_t i = sorted_ + 1; i <= held_.size(); ++i) {
    if (i == held_.size() || Earlier(held_[i], held_[i - 1])) run_ends_.push_back(i);
  }
  while (run_ends_.size() > 1) {
    merged_.clear();
    merged_.reserve(held_.size() - sorted_);
    size_t begin = sorted_;
    size_t kept = 0;
    for (size_t run = 0; run < run_ends_.size(); run += 2) {
      const size_t middle = run_ends_[run];
      const size_t end = run + 1 < run_ends_.size() ? run_ends_[run + 1] : middle;
      std::merge(at(begin), at(middle), at(middle), at(end), std::back_inserter(merged_), Earlier);
      run_ends_[kept++] = end;
      begin = end;
    }
    run_ends_.resize(kept);
    std::copy(merged_.begin(), merged_.end(), at(sorted_));
  }
  if (sorted_ > 0 && sorted_ < held_.size() && Earlier(held_[sorted_], held_[sorted_ - 1])) {
    // What is earlier than all that is new stays where it is.
    std::inplace_merge(std::upper_bound(held_.begin(), at(sorted_), held_[sorted_], Earlier), at(sorted_), held_.end(),
                       Earlier);
  }
  sorted_ = held_.size();
}

void DeviceTimeline::Release(size_t count) {
  if (count == 0) return;
  std::sort(module_loads_.begin(), module_loads_.end());
  for (size_t i = 0; i < count; ++i) Sweep(held_[i]);
  released_ns_ = held_[count - 1].start_ns;
  any_released_ = true;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
  sorted_ = held_.size();
}

void DeviceTimeline::Sweep(const TimelineItem& item) {
  if (gaps_ != nullptr && all_.end_ns > 0 && item.start_ns > all_.end_ns) gaps_->OnGap(last_, item);
  if (item.end_ns > all_.end_ns) last_ = item;
  all_.Add(item.start_ns, item.end_ns);
  if (item.is_copy) {
    copies_.Add(item.start_ns, item.end_ns);
    return;
  }
  const bool first_after_load = TakeModuleLoad(item.start_ns);
  if (item.start_ns < kernels_.end_ns) {
    if (has_candidate_ && candidate_.end_ns > item.start_ns) Decide(TimelineClass::kOverlapped);
    Decide(TimelineClass::kAlone);
    sink_->OnOrderedKernel(item, TimelineClass::kOverlapped, first_after_load);
  } else {
    Decide(TimelineClass::kAlone);
    candidate_ = item;
    candidate_first_after_load_ = first_after_load;
    has_candidate_ = true;
  }
  kernels_.Add(item.start_ns, item.end_ns);
}

void DeviceTimeline::Decide(TimelineClass timeline_class) {
  if (!has_candidate_) return;
  has_candidate_ = false;
  sink_->OnOrderedKernel(candidate_, timeline_class, candidate_first_after_load_);
}

bool DeviceTimeline::TakeModuleLoad(uint64_t start_ns) {
  const auto after = std::upper_bound(module_loads_.begin(), module_loads_.end(), start_ns);
  if (after == module_loads_.begin()) return false;
  module_loads_.erase(module_loads_.begin(), after);
  return true;
}

}  // namespace gx::analysis
