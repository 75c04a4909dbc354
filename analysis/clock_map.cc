#include "analysis/clock_map.h"

#include <algorithm>

namespace gx::analysis {

bool ClockMap::Add(uint64_t cupti_ns, uint64_t monotonic_ns) {
  if (cupti_ns == 0 || monotonic_ns == 0) {
    ++refused_count_;
    return false;
  }
  const auto next = std::lower_bound(pairs_.begin(), pairs_.end(), cupti_ns,
                                     [](const Pair& pair, uint64_t cupti) { return pair.cupti_ns < cupti; });
  const bool after_next = next != pairs_.end() && next->monotonic_ns <= monotonic_ns;
  const bool before_previous = next != pairs_.begin() && std::prev(next)->monotonic_ns >= monotonic_ns;
  const bool same_cupti = next != pairs_.end() && next->cupti_ns == cupti_ns;
  if (after_next || before_previous || same_cupti) {
    // The same pair twice is no contradiction (the header's start pair is often the first sample too).
    const bool repeated = same_cupti && next->monotonic_ns == monotonic_ns;
    if (!repeated) ++refused_count_;
    return repeated;
  }
  pairs_.insert(next, Pair{cupti_ns, monotonic_ns});
  if (pairs_.size() > kMaxPairs) {
    size_t kept = 0;
    for (size_t i = 0; i < pairs_.size(); i += 2) pairs_[kept++] = pairs_[i];
    pairs_.resize(kept);
  }
  last_segment_ = 0;
  return true;
}

std::optional<uint64_t> ClockMap::ToMonotonic(uint64_t cupti_ns) const {
  return Map(cupti_ns, &Pair::cupti_ns, &Pair::monotonic_ns);
}

std::optional<uint64_t> ClockMap::ToCupti(uint64_t monotonic_ns) const {
  return Map(monotonic_ns, &Pair::monotonic_ns, &Pair::cupti_ns);
}

std::optional<uint64_t> ClockMap::Map(uint64_t from_ns, uint64_t Pair::*from, uint64_t Pair::*to) const {
  if (pairs_.empty()) return std::nullopt;
  Pair low = pairs_.front();
  // One pair: both clocks count nanoseconds, so they run at one pace.
  double pace = 1.0;
  if (pairs_.size() > 1) {
    size_t segment = last_segment_;
    const bool found =
        segment + 1 < pairs_.size() && pairs_[segment].*from <= from_ns && from_ns < pairs_[segment + 1].*from;
    if (!found) {
      const auto above = std::upper_bound(pairs_.begin(), pairs_.end(), from_ns,
                                          [from](uint64_t value, const Pair& pair) { return value < pair.*from; });
      const auto index = static_cast<size_t>(above - pairs_.begin());
      segment = std::min(index == 0 ? 0 : index - 1, pairs_.size() - 2);
      last_segment_ = segment;
    }
    low = pairs_[segment];
    const Pair& high = pairs_[segment + 1];
    pace = static_cast<double>(high.*to - low.*to) / static_cast<double>(high.*from - low.*from);
  }
  // Differences, not absolute times, pass through floating point: a double holds a day of nanoseconds exactly.
  const bool before = from_ns < low.*from;
  const double distance = static_cast<double>(before ? low.*from - from_ns : from_ns - low.*from) * pace;
  constexpr double kMaxDistance = 9e18;
  if (distance > kMaxDistance) return std::nullopt;
  const auto step_ns = static_cast<uint64_t>(distance + 0.5);
  if (before) {
    if (step_ns > low.*to) return std::nullopt;
    return low.*to - step_ns;
  }
  if (step_ns > UINT64_MAX - low.*to) return std::nullopt;
  return low.*to + step_ns;
}

}  // namespace gx::analysis
