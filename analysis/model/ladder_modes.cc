#include "analysis/model/ladder_modes.h"

#include <algorithm>
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
  const auto all = static_cast<double>(sorted_ns.size());
  std::vector<double> sums = {0};
  for (const double ns : sorted_ns) sums.push_back(sums.back() + ns);
  const auto is_small = [&](const TimeMode& mode) {
    const double launches = static_cast<double>(mode.end - mode.begin) / all;
    const double time = (sums[mode.end] - sums[mode.begin]) / sums.back();
    return launches < kModeShare && (launches < kLeastModeShare || time < kModeTimeShare);
  };
  while (modes->size() > 1) {
    size_t smallest = modes->size();
    for (size_t i = 0; i < modes->size(); ++i) {
      if (!is_small((*modes)[i])) continue;
      if (smallest < modes->size() &&
          (*modes)[i].end - (*modes)[i].begin >= (*modes)[smallest].end - (*modes)[smallest].begin) {
        continue;
      }
      smallest = i;
    }
    if (smallest == modes->size()) return;
    const TimeMode small = (*modes)[smallest];
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

std::vector<TimeMode> SplitModesByWork(absl::Span<const double> sorted_ns, absl::Span<const TimeMode> modes,
                                       std::vector<double> work_ns) {
  const double least = kModeShare * static_cast<double>(sorted_ns.size());
  std::sort(work_ns.begin(), work_ns.end());
  std::vector<TimeMode> split;
  for (const TimeMode& mode : modes) {
    TimeMode rest = mode;
    std::optional<double> last_ns;
    for (const double ns : work_ns) {
      // Of this mode, and of no other.
      const std::optional<size_t> nearest = NearestMode(modes, ns);
      if (!nearest.has_value() || modes[*nearest].begin != mode.begin) continue;
      if (last_ns.has_value() && ns / *last_ns > kModeGapRatio) {
        // The widest gap with a launch on either side of it between the two.
        size_t cut = rest.begin;
        double widest = 0;
        for (size_t i = rest.begin + 1; i < rest.end; ++i) {
          if (sorted_ns[i] < *last_ns || sorted_ns[i - 1] > ns) continue;
          const double gap = sorted_ns[i] / sorted_ns[i - 1];
          if (gap <= widest) continue;
          widest = gap;
          cut = i;
        }
        if (static_cast<double>(cut - rest.begin) >= least && static_cast<double>(rest.end - cut) >= least) {
          split.push_back({.begin = rest.begin, .end = cut});
          rest.begin = cut;
        }
      }
      last_ns = ns;
    }
    split.push_back({.begin = rest.begin, .end = rest.end});
  }
  for (TimeMode& mode : split) {
    mode.median_ns = SortedQuantile(sorted_ns.subspan(mode.begin, mode.end - mode.begin), 0.5).value_or(0);
  }
  return split;
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
