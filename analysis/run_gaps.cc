#include "analysis/run_gaps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace gx::analysis {

void IdleSum::Add(uint64_t length_ns) {
  ++gap_count;
  total_ns += length_ns;
  longest_ns = std::max(longest_ns, length_ns);
}

void IdleSum::Add(const IdleSum& other) {
  gap_count += other.gap_count;
  total_ns += other.total_ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
}

std::vector<std::pair<uint64_t, uint64_t>> MergedSpans(std::vector<std::pair<uint64_t, uint64_t>> spans) {
  std::erase_if(spans, [](const auto& span) { return span.second < span.first; });
  std::sort(spans.begin(), spans.end());
  size_t kept = 0;
  for (const auto& span : spans) {
    if (kept > 0 && span.first <= spans[kept - 1].second) {
      spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
  return spans;
}

void HostWaits::Add(uint64_t start_ns, uint64_t end_ns) {
  if (end_ns <= start_ns) return;
  answer_from_ns_ = answer_before_ns_ = 0;
  auto place = stretches_.upper_bound(start_ns);
  if (place != stretches_.begin() && std::prev(place)->second >= start_ns) {
    --place;
    place->second = std::max(place->second, end_ns);
  } else {
    place = stretches_.emplace_hint(place, start_ns, end_ns);
  }
  for (auto next = std::next(place); next != stretches_.end() && next->first <= place->second;) {
    place->second = std::max(place->second, next->second);
    next = stretches_.erase(next);
  }
  if (stretches_.size() > kMaxStretches) stretches_.erase(stretches_.begin());
}

std::optional<uint64_t> HostWaits::WaitsUntil(uint64_t ns) const {
  if (ns < answer_from_ns_ || ns >= answer_before_ns_) {
    const auto after = stretches_.upper_bound(ns);
    answer_before_ns_ = after == stretches_.end() ? UINT64_MAX : after->first;
    const bool any = after != stretches_.begin();
    answer_from_ns_ = any ? std::prev(after)->first : 0;
    // 0: none (a stretch ends after it began).
    stretch_end_ns_ = any ? std::prev(after)->second : 0;
  }
  if (stretch_end_ns_ == 0 || stretch_end_ns_ < ns) return std::nullopt;
  return stretch_end_ns_;
}

size_t IdleGaps::BucketOf(uint64_t delay_ns) {
  // The three bits after the leading one.
  const auto doublings = static_cast<size_t>(std::bit_width(delay_ns | 1) - 1);
  const uint64_t fraction = doublings >= 3 ? delay_ns >> (doublings - 3) : delay_ns << (3 - doublings);
  return doublings * 8 + (fraction & 7);
}

void IdleGaps::Add(const Gap& gap, const HostWaits& waits, absl::Span<const std::pair<uint64_t, uint64_t>> untimed) {
  uint64_t length_ns = gap.end_ns - gap.begin_ns;
  bool around_window = false;
  auto window =
      std::lower_bound(untimed.begin(), untimed.end(), gap.begin_ns,
                       [](const std::pair<uint64_t, uint64_t>& span, uint64_t ns) { return span.second < ns; });
  for (; window != untimed.end() && window->first <= gap.end_ns; ++window) {
    const uint64_t begin_ns = std::max(window->first, gap.begin_ns);
    const uint64_t end_ns = std::min(window->second, gap.end_ns);
    if (begin_ns > end_ns) continue;
    around_window = true;
    length_ns -= std::min(length_ns, end_ns - begin_ns);
  }
  const auto add = [&](GapCause cause) { time_.by_cause[static_cast<size_t>(cause)].Add(length_ns); };
  if (around_window) {
    if (length_ns > 0) add(GapCause::kWindowSwitch);
    return;
  }
  if (gap.inside_launch) return add(GapCause::kInsideGraph);
  const bool launched_before = gap.launch_ns.has_value() && *gap.launch_ns <= gap.begin_ns;
  const std::optional<uint64_t> waits_until_ns = waits.WaitsUntil(gap.begin_ns);
  if (!launched_before && waits_until_ns.has_value()) {
    // Nothing is asked for while the host waits: it was before.
    return add(*waits_until_ns >= gap.end_ns ? GapCause::kQueued : GapCause::kSynchronization);
  }
  if (gap.before_copy) return add(GapCause::kBeforeCopy);
  // After its kernel: the clocks do not agree to that, or it is another launch.
  if (!gap.launch_ns.has_value() || *gap.launch_ns > gap.end_ns) return add(GapCause::kUnknown);
  const size_t bucket = BucketOf(gap.end_ns - *gap.launch_ns);
  if (launched_before) {
    (gap.before_graph_node ? early_graphs_ : early_kernels_)[bucket].Add(length_ns);
    return;
  }
  // A graph takes longer from its call to its first node.
  if (!gap.before_graph_node) {
    ++late_delays_[bucket];
    ++late_count_;
  }
  if (gap.after_copy_to_host) return add(GapCause::kAfterCopyToHost);
  add(gap.before_graph_node ? GapCause::kGraphLate : GapCause::kHostLate);
}

std::optional<size_t> IdleGaps::LateBucket(double part) const {
  if (late_count_ < kMinLateLaunches) return std::nullopt;
  const double wanted = part * static_cast<double>(late_count_);
  uint64_t seen = 0;
  size_t bucket = 0;
  while (bucket + 1 < kBuckets) {
    seen += late_delays_[bucket];
    if (static_cast<double>(seen) >= wanted) break;
    ++bucket;
  }
  return bucket;
}

IdleTime IdleGaps::Finish() const {
  IdleTime time = time_;
  const std::optional<size_t> limit = LateBucket(0.9);
  if (const std::optional<size_t> middle = LateBucket(0.5); middle.has_value()) {
    time.launch_delay_ns = std::exp2((static_cast<double>(*middle) + 0.5) / 8);
  }
  const auto sum = [&time](GapCause cause) -> IdleSum& { return time.by_cause[static_cast<size_t>(cause)]; };
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const bool late = limit.has_value() && bucket <= *limit;
    sum(late ? GapCause::kHostLate : GapCause::kQueued).Add(early_kernels_[bucket]);
    sum(late ? GapCause::kGraphLate : GapCause::kQueued).Add(early_graphs_[bucket]);
  }
  return time;
}

}  // namespace gx::analysis
