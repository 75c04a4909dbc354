// One signature may hide different work (the same grid, other arguments): its durations then have modes. Each mode gets
// a ladder of its own, and each counter sample joins the mode it belongs to; counters of one mode with the time of
// another would explain what never ran.
//
// ns. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_MODES_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_MODES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace gx::model {

// Two neighbouring durations further apart than this are a gap between modes, if enough launches lie on either side.
inline constexpr double kModeGapRatio = 1.15;
// Of the launches; or of their time, where a few of them are other work: products of a training step that share a grid
// and a block were 5 % of a signature's launches and 12 % of its time on an H200.
inline constexpr double kModeShare = 0.1;
inline constexpr double kModeTimeShare = 0.1;
// Fewer launches than this are stragglers, however long they take.
inline constexpr double kLeastModeShare = 0.02;
// Counts that differ by no more are of the same work.
inline constexpr double kSameWorkRatio = 0.02;

struct TimeMode {
  // Of the sorted durations: [begin, end).
  size_t begin = 0;
  size_t end = 0;
  double median_ns = 0;
};

// Durations in ascending order, above 0. A group between gaps that is too small to be a mode belongs to the neighbour
// across the smaller gap. One mode at least; none without durations.
[[nodiscard]] absl::StatusOr<std::vector<TimeMode>> FindTimeModes(absl::Span<const double> sorted_ns);

// Modes split further where samples show that their launches did different work: `work_ns` are the durations of the
// kinds of work that were counted, above 0. Between two of them that lie in one mode, further apart than kModeGapRatio,
// the durations are parted at their widest gap, unless too few would lie on a side.
[[nodiscard]] std::vector<TimeMode> SplitModesByWork(absl::Span<const double> sorted_ns,
                                                     absl::Span<const TimeMode> modes, std::vector<double> work_ns);

// The mode that a hardware sample belongs to: the nearest, as a ratio, to its own duration (longest-active SM and
// launch). 0 or more modes, with medians above 0; absent without modes or with a duration that is not above 0.
[[nodiscard]] std::optional<size_t> NearestMode(absl::Span<const TimeMode> modes, double sample_ns);

// The modes that a sample of patched code belongs to, whose duration is not its own: those whose instruction count (of
// their hardware samples; absent where a mode has none) is within kSameWorkRatio of the sample's. None: the sample is
// of other work. More than one: the same work at two speeds.
[[nodiscard]] std::vector<size_t> ModesOfInstructions(absl::Span<const std::optional<double>> mode_instructions,
                                                      double sample_instructions);

// Whether counts spread so far that the work differed: (max - min) / max above kSameWorkRatio.
[[nodiscard]] bool IsMixedWork(double min_count, double max_count) noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_MODES_H_
