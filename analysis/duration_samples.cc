#include "analysis/duration_samples.h"

#include <algorithm>
#include <utility>

#include "analysis/model/quantile.h"

namespace gx::analysis {
namespace {

// Value at zero-based position `position` of the sequence in which each duration stands `weight` times.
template <typename Weighted>
double ValueAt(const std::vector<Weighted>& sorted, double position) {
  double passed = 0;
  for (const Weighted& item : sorted) {
    passed += item.weight;
    if (position < passed - 0.5 / 1024) return static_cast<double>(item.duration_ns);
  }
  return sorted.empty() ? 0 : static_cast<double>(sorted.back().duration_ns);
}

template <typename Weighted>
double Quantile(const std::vector<Weighted>& sorted, uint64_t count, double ratio) {
  return model::QuantileOf(count, ratio, [&sorted](double position) { return ValueAt(sorted, position); }).value_or(0);
}

}  // namespace

void DurationSamples::Add(uint64_t duration_ns) {
  ++count_;
  total_ns_ += duration_ns;
  min_ns_ = std::min(min_ns_, duration_ns);
  max_ns_ = std::max(max_ns_, duration_ns);
  if (reservoir_.empty()) {
    ++count_by_duration_[duration_ns];
    if (count_by_duration_.size() > kMaxDistinct) StartSampling();
    return;
  }
  const uint64_t place = Random(count_);
  if (place < kReservoirSize) reservoir_[place] = duration_ns;
}

void DurationSamples::StartSampling() {
  // Algorithm R over the counted durations, as if they had come one after the other.
  std::vector<std::pair<uint64_t, uint64_t>> counted(count_by_duration_.begin(), count_by_duration_.end());
  std::sort(counted.begin(), counted.end());
  count_by_duration_ = {};
  reservoir_.reserve(kReservoirSize);
  uint64_t seen = 0;
  for (const auto& [duration_ns, times] : counted) {
    for (uint64_t i = 0; i < times; ++i) {
      ++seen;
      if (reservoir_.size() < kReservoirSize) {
        reservoir_.push_back(duration_ns);
      } else if (const uint64_t place = Random(seen); place < kReservoirSize) {
        reservoir_[place] = duration_ns;
      }
    }
  }
}

uint64_t DurationSamples::Random(uint64_t below) {
  // SplitMix64 (Steele, Lea, Flood 2014). The bias of the remainder is below 2^-20 for any count that can occur.
  random_state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = random_state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) % below;
}

std::vector<DurationSamples::Weighted> DurationSamples::Sorted(std::span<const DurationSamples* const> groups) {
  std::vector<Weighted> sorted;
  for (const DurationSamples* group : groups) {
    if (group->exact()) {
      for (const auto& [duration_ns, times] : group->count_by_duration_) {
        sorted.push_back({duration_ns, static_cast<double>(times)});
      }
    } else {
      const double weight = static_cast<double>(group->count_) / static_cast<double>(group->reservoir_.size());
      for (const uint64_t duration_ns : group->reservoir_) sorted.push_back({duration_ns, weight});
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Weighted& a, const Weighted& b) { return a.duration_ns < b.duration_ns; });
  return sorted;
}

DurationSummary DurationSamples::Summarise(std::span<const DurationSamples* const> groups) {
  DurationSummary summary;
  summary.min_ns = UINT64_MAX;
  for (const DurationSamples* group : groups) {
    if (group->count_ == 0) continue;
    summary.count += group->count_;
    summary.total_ns += group->total_ns_;
    summary.min_ns = std::min(summary.min_ns, group->min_ns_);
    summary.max_ns = std::max(summary.max_ns, group->max_ns_);
    summary.sample_count += group->exact() ? group->count_ : group->reservoir_.size();
  }
  if (summary.count == 0) {
    summary.min_ns = 0;
    return summary;
  }
  const std::vector<Weighted> sorted = Sorted(groups);
  summary.median_ns = Quantile(sorted, summary.count, 0.5);
  summary.p5_ns = Quantile(sorted, summary.count, 0.05);
  summary.p95_ns = Quantile(sorted, summary.count, 0.95);
  return summary;
}

std::vector<uint64_t> DurationSamples::Pick(std::span<const DurationSamples* const> groups, size_t max_count) {
  uint64_t count = 0;
  for (const DurationSamples* group : groups) count += group->count_;
  const size_t picked = static_cast<size_t>(std::min<uint64_t>(count, max_count));
  const double step = static_cast<double>(count) / static_cast<double>(std::max<size_t>(1, picked));
  std::vector<uint64_t> durations_ns;
  double passed = 0;
  for (const Weighted& item : Sorted(groups)) {
    passed += item.weight;
    // The k-th picked one covers [k, k + 1) steps, and is the duration in the middle.
    while (durations_ns.size() < picked && (static_cast<double>(durations_ns.size()) + 0.5) * step < passed) {
      durations_ns.push_back(item.duration_ns);
    }
  }
  return durations_ns;
}

}  // namespace gx::analysis
