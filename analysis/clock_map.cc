#include "analysis/clock_map.h"

#include <iterator>

namespace gx::analysis {

bool ClockMap::Add(uint64_t cupti_ns, uint64_t monotonic_ns) {
  if (cupti_ns == 0 || monotonic_ns == 0) {
    ++refused_count_;
    return false;
  }
  const auto next = pairs_.lower_bound(OnCupti{cupti_ns});
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
  low_ = high_ = Pair{};
  if (pairs_.size() > kMaxPairs) {
    for (auto pair = pairs_.begin(); pair != pairs_.end() && ++pair != pairs_.end();) pair = pairs_.erase(pair);
  }
  return true;
}

std::optional<uint64_t> ClockMap::ToMonotonic(uint64_t cupti_ns) const { return Map(OnCupti{cupti_ns}, OnMonotonic{}); }

std::optional<uint64_t> ClockMap::ToCupti(uint64_t monotonic_ns) const {
  return Map(OnMonotonic{monotonic_ns}, OnCupti{});
}

template <typename From, typename To>
std::optional<uint64_t> ClockMap::Map(From from, To to) const {
  if (pairs_.empty()) return std::nullopt;
  Pair low = low_;
  double pace = low_to_high_pace_[From::kPace];
  if (from.ns < from.Of(low_) || from.ns >= from.Of(high_)) {
    // One pair: both clocks count nanoseconds, so they run at one pace.
    low = *pairs_.begin();
    pace = 1.0;
    if (pairs_.size() > 1) {
      // The pair at or before the time and the one after it; the first or last two for times outside them.
      auto after = pairs_.upper_bound(from);
      const bool between = after != pairs_.begin() && after != pairs_.end();
      if (after == pairs_.begin()) ++after;
      if (after == pairs_.end()) --after;
      low = *std::prev(after);
      const auto length_from = static_cast<double>(from.Of(*after) - from.Of(low));
      const auto length_to = static_cast<double>(to.Of(*after) - to.Of(low));
      pace = length_to / length_from;
      if (between) {
        low_ = low;
        high_ = *after;
        low_to_high_pace_[From::kPace] = pace;
        low_to_high_pace_[To::kPace] = length_from / length_to;
      }
    }
  }
  const uint64_t low_from_ns = from.Of(low);
  const uint64_t low_to_ns = to.Of(low);
  // Differences, not absolute times, pass through floating point: a double holds a day of nanoseconds exactly.
  const bool before = from.ns < low_from_ns;
  const double distance = static_cast<double>(before ? low_from_ns - from.ns : from.ns - low_from_ns) * pace;
  constexpr double kMaxDistance = 9e18;
  if (distance > kMaxDistance) return std::nullopt;
  const auto step_ns = static_cast<uint64_t>(distance + 0.5);
  if (before) {
    if (step_ns > low_to_ns) return std::nullopt;
    return low_to_ns - step_ns;
  }
  if (step_ns > UINT64_MAX - low_to_ns) return std::nullopt;
  return low_to_ns + step_ns;
}

}  // namespace gx::analysis
