#include "analysis/model/ladder_modes.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/quantile.h"

namespace gx::model {
namespace {

// Between the last duration of a mode and the first of the next one.
double GapRatio(absl::Span<const double> sorted_ns, const TimeMode& left, const TimeMode& right) {
  return sorted_ns[right.begin] / sorted_ns[left.end - 1];
}

// Too small to be a mode: the launches that it lacks are many. One that is left over joins a neighbour.
void MergeSmall(absl::Span<const double> sorted_ns, std::vector<TimeMode>* modes) {
  const double least = kModeShare * static_cast<double>(sorted_ns.size());
  while (modes->size() > 1) {
    size_t smallest = 0;
    for (size_t i = 1; i < modes->size(); ++i) {
      if ((*modes)[i].end - (*modes)[i].begin < (*modes)[smallest].end - (*modes)[smallest].begin) smallest = i;
    }
    const TimeMode small = (*modes)[smallest];
    if (static_cast<double>(small.end - small.begin) >= least) return;
    bool joins_left = smallest > 0;
    if (smallest > 0 && smallest + 1 < modes->size()) {
      joins_left =
          GapRatio(sorted_ns, (*modes)[smallest - 1], small) <= GapRatio(sorted_ns, small, (*modes)[smallest + 1]);
    }
    if (joins_left) {
      (*modes)[smallest - 1].end = small.end;
    } else {
      (*modes)[smallest + 1].begin = small.begin;
    }
    modes->erase(modes->begin() + static_cast<std::ptrdiff_t>(smallest));
  }
}

}  // namespace

absl::StatusOr<std::vector<TimeMode>> FindTimeModes(absl::Span<const double> sorted_ns) {
  std::vector<TimeMode> modes;
  for (size_t i = 0; i < sorted_ns.size(); ++i) {
    if (absl::Status status = CheckPositive("duration", sorted_ns[i]); !status.ok()) return status;
    if (i > 0 && sorted_ns[i] < sorted_ns[i - 1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("durations: got ", sorted_ns[i], " after ", sorted_ns[i - 1], ", expected ascending order"));
    }
    if (i == 0 || sorted_ns[i] / sorted_ns[i - 1] > kModeGapRatio) modes.push_back({.begin = i});
    modes.back().end = i + 1;
  }
  MergeSmall(sorted_ns, &modes);
  for (TimeMode& mode : modes) {
    mode.median_ns = *SortedQuantile(sorted_ns.subspan(mode.begin, mode.end - mode.begin), 0.5);
  }
  return modes;
}

std::optional<size_t> NearestMode(absl::Span<const TimeMode> modes, double sample_ns) {
  if (!(sample_ns > 0)) return std::nullopt;
  std::optional<size_t> nearest;
  double least = 0;
  for (size_t i = 0; i < modes.size(); ++i) {
    const double distance = std::fabs(std::log(sample_ns / modes[i].median_ns));
    if (nearest.has_value() && distance >= least) continue;
    nearest = i;
    least = distance;
  }
  return nearest;
}

std::vector<size_t> ModesOfInstructions(absl::Span<const std::optional<double>> mode_instructions,
                                        double sample_instructions) {
  std::vector<size_t> modes;
  for (size_t i = 0; i < mode_instructions.size(); ++i) {
    if (!mode_instructions[i].has_value()) continue;
    const double count = *mode_instructions[i];
    if (!IsMixedWork(std::fmin(count, sample_instructions), std::fmax(count, sample_instructions))) modes.push_back(i);
  }
  return modes;
}

bool IsMixedWork(double min_count, double max_count) noexcept {
  return max_count - min_count > kSameWorkRatio * max_count;
}

}  // namespace gx::model
