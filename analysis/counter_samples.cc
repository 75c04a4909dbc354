#include "analysis/counter_samples.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "analysis/model/quantile.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::CounterBatch;

bool Has(uint64_t flags, CounterBatch::Flag flag) { return (flags & static_cast<uint64_t>(flag)) != 0; }

}  // namespace

bool ReadsHighInFirstRange(absl::string_view metric) {
  // Spellings of chips: dram__bytes_write, dram__bytes_op_write, fbpa__dram_write_bytes; dram__bytes holds them too.
  // Peaks and rates of the clock hold no traffic.
  if (absl::StrContains(metric, "peak_sustained")) return false;
  for (const absl::string_view counter :
       {"dram__bytes.", "dram__bytes_write.", "dram__bytes_op_write.", "dram__sectors.", "dram__sectors_write.",
        "dram__sectors_op_write.", "fbpa__dram_write_bytes.", "fbpa__dram_sectors."}) {
    if (absl::StartsWith(metric, counter)) return true;
  }
  return false;
}

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
    return 0;
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
    kept_.push_back({{row.enter_monotonic_ns, row.launch_number}, first, {row.values.begin(), row.values.end()}});
    return row.values.size();
  }
  const uint64_t place = Random(drawn_from_);
  if (place < kMaxKept) {
    Kept& kept = kept_[place];
    kept.launch = {row.enter_monotonic_ns, row.launch_number};
    kept.first_of_session = first;
    kept.values.assign(row.values.begin(), row.values.end());
  }
  return 0;
}

std::vector<CounterSamples::Launch> CounterSamples::KeptLaunches() const {
  std::vector<Launch> launches;
  for (const Kept& kept : kept_) launches.push_back(kept.launch);
  std::sort(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
    return a.enter_monotonic_ns != b.enter_monotonic_ns ? a.enter_monotonic_ns < b.enter_monotonic_ns
                                                        : a.launch_number < b.launch_number;
  });
  return launches;
}

CounterFigures CounterSamples::Figures(size_t metric, absl::string_view name) const {
  const Extremes& extremes = extremes_[metric];
  CounterFigures figures;
  const bool leave_out = ReadsHighInFirstRange(name);
  figures.first_only = leave_out && extremes.later.value_count == 0 && extremes.first.value_count > 0;
  figures.first_left_out = leave_out && !figures.first_only && extremes.first.value_count > 0;
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
  for (const Kept& kept : kept_) {
    if (kept.first_of_session ? !use_first : !use_later) continue;
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
