#include "analysis/counter_samples.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/model/quantile.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::CounterBatch;

bool Has(uint64_t flags, CounterBatch::Flag flag) { return (flags & static_cast<uint64_t>(flag)) != 0; }

CounterSamples::Sample SampleOf(const CounterSampleRow& row) {
  return {row.enter_monotonic_ns,
          row.launch_number,
          row.session_id,
          row.window_id,
          row.context_id,
          row.thread_id,
          row.correlation_id,
          row.range_order,
          row.flags,
          {row.values.begin(), row.values.end()}};
}

}  // namespace

void CounterSamples::Extreme::Add(double value) {
  if (!std::isfinite(value)) {
    ++unavailable_count;
    return;
  }
  min = value_count == 0 ? value : std::min(min, value);
  max = value_count == 0 ? value : std::max(max, value);
  ++value_count;
}

size_t CounterSamples::Add(const CounterSampleRow& row, bool may_keep) {
  ++count_;
  if (Has(row.flags, CounterBatch::FLAG_VOID)) {
    ++void_count_;
    if (!may_keep || void_kept_.size() == kMaxVoidKept) return 0;
    void_kept_.push_back(SampleOf(row));
    return row.values.size() + kOverheadValues;
  }
  const bool first = Has(row.flags, CounterBatch::FLAG_FIRST_OF_SESSION);
  if (first) ++first_count_;
  if (Has(row.flags, CounterBatch::FLAG_AFTER_SWITCH)) ++after_switch_count_;
  if (Has(row.flags, CounterBatch::FLAG_REPLAYED)) ++replayed_count_;
  if (row.enter_monotonic_ns > 0) {
    first_monotonic_ns_ =
        first_monotonic_ns_ == 0 ? row.enter_monotonic_ns : std::min(first_monotonic_ns_, row.enter_monotonic_ns);
    last_monotonic_ns_ = std::max(last_monotonic_ns_, row.enter_monotonic_ns);
  }
  const size_t metric_count = std::min(extremes_.size(), row.values.size());
  for (size_t metric = 0; metric < metric_count; ++metric) {
    Extremes& extremes = extremes_[metric];
    (first ? extremes.first : extremes.later).Add(row.values[metric]);
  }

  ++drawn_from_;
  if (kept_.size() < kMaxKept) {
    if (!may_keep) return 0;
    kept_.push_back(SampleOf(row));
    return row.values.size() + kOverheadValues;
  }
  const uint64_t place = Random(drawn_from_);
  if (place < kMaxKept) kept_[place] = SampleOf(row);
  return 0;
}

std::vector<const CounterSamples::Sample*> CounterSamples::Kept() const {
  std::vector<const Sample*> samples;
  for (const Sample& sample : kept_) samples.push_back(&sample);
  for (const Sample& sample : void_kept_) samples.push_back(&sample);
  std::sort(samples.begin(), samples.end(), [](const Sample* a, const Sample* b) {
    return std::tie(a->enter_monotonic_ns, a->session_id, a->range_order, a->launch_number) <
           std::tie(b->enter_monotonic_ns, b->session_id, b->range_order, b->launch_number);
  });
  return samples;
}

CounterFigures CounterSamples::Figures(size_t metric) const {
  const Extremes& extremes = extremes_[metric];
  CounterFigures figures;
  figures.first_only = extremes.later.value_count == 0 && extremes.first.value_count > 0;
  figures.first_left_out = !figures.first_only && extremes.first.value_count > 0;
  const bool use_later = !figures.first_only;
  const bool use_first = !figures.first_left_out;
  double min = 0;
  double max = 0;
  const auto take = [&](const Extreme& extreme) {
    figures.unavailable_count += extreme.unavailable_count;
    if (extreme.value_count == 0) return;
    min = figures.value_count == 0 ? extreme.min : std::min(min, extreme.min);
    max = figures.value_count == 0 ? extreme.max : std::max(max, extreme.max);
    figures.value_count += extreme.value_count;
  };
  if (use_later) take(extremes.later);
  if (use_first) take(extremes.first);
  if (figures.value_count == 0) return figures;
  figures.min = min;
  figures.max = max;

  std::vector<double> values;
  for (const Sample& kept : kept_) {
    if (Has(kept.flags, CounterBatch::FLAG_FIRST_OF_SESSION) ? !use_first : !use_later) continue;
    if (std::isfinite(kept.values[metric])) values.push_back(kept.values[metric]);
  }
  figures.kept_count = values.size();
  if (values.empty()) return figures;
  std::sort(values.begin(), values.end());
  figures.median = model::SortedQuantile(values, 0.5);
  // Between two values of which the difference is beyond what a double holds.
  if (figures.median.has_value() && !std::isfinite(*figures.median)) figures.median.reset();
  if (figures.value_count >= 2 && figures.median.has_value()) {
    const double range = max - min;
    const double spread = *figures.median != 0 ? range / std::fabs(*figures.median) : range > 0 ? 1.0 : 0.0;
    // Beyond what a double holds.
    if (std::isfinite(spread)) figures.spread_ratio = spread;
  }
  return figures;
}

uint64_t CounterSamples::Random(uint64_t below) {
  // splitmix64; the bias of the remainder is beyond what 128 samples show.
  random_state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = random_state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) % below;
}

}  // namespace gx::analysis
