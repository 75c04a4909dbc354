// Roofline: what rates of arithmetic and of data movement allow, per instruction path and per memory level. A bound, no
// forecast: the distance to it has causes that the bound does not know (too few blocks, latency, synchronisation).
//
// Sources: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
// Architectures" (2009); Yang et al., "Hierarchical Roofline Performance Analysis for Deep Learning Applications"
// (2020) for several levels; Chowdhery et al., "PaLM" (2022) for model FLOPs utilization.
//
// A bound is the largest of its parts: movement and arithmetic may overlap ideally, and so may different pipes. Each
// level has its own bytes, hence its own intensity and its own ridge. Parts that cannot overlap (two data types on one
// pipe) are one path to this function: add their times first.
//
// Theoretical and empirical ceilings are different claims, and an achieved rate is no ceiling at all: every rate says
// which it is, and a bound made of more than one kind is refused.
//
// Any thread. Nothing allocates where nothing is wrong and there are at most kInlinedParts paths and levels.
//
//   const ComputePath path{"fp32", 120'000'000'000, 300e12, CeilingKind::kTheoretical};
//   const MemoryLevel dram{"dram", 3'000'000'000, 1.5e12, CeilingKind::kTheoretical};
//   ComputeRooflineBound({&path, 1}, {&dram, 1})->bound_seconds;  // 0.002, dram binds
#ifndef GPUEXEC_ANALYSIS_MODEL_ROOFLINE_H_
#define GPUEXEC_ANALYSIS_MODEL_ROOFLINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gx::model {

enum class CeilingKind : uint8_t {
  kUnspecified,  // refused
  kTheoretical,  // what the architecture allows at a stated clock
  kEmpirical,    // what a characterisation benchmark sustained on the machine
  kAchieved,     // what an application got: a point under the roof, refused as a ceiling
};

// "theoretical", "empirical", "achieved", "unspecified".
absl::string_view CeilingKindName(CeilingKind kind) noexcept;

// Rates are finite and above 0, intensities finite, 0 or above, everywhere in this file.
[[nodiscard]] absl::StatusOr<double> RidgeFlopsPerByte(double flops_per_second, double bytes_per_second);
// min(flops_per_second, bytes_per_second * intensity).
[[nodiscard]] absl::StatusOr<double> AttainableFlopsPerSecond(double flops_per_second, double bytes_per_second,
                                                              double intensity_flops_per_byte);
// Absent where no byte moves: no number would be right.
[[nodiscard]] absl::StatusOr<std::optional<double>> IntensityFlopsPerByte(int64_t flops, int64_t bytes);
// The ridge itself counts as compute-bound.
constexpr bool IsComputeBound(double intensity_flops_per_byte, double ridge_flops_per_byte) noexcept {
  return intensity_flops_per_byte >= ridge_flops_per_byte;
}
[[nodiscard]] absl::StatusOr<double> ComputeTimeSeconds(int64_t flops, double flops_per_second);
[[nodiscard]] absl::StatusOr<double> MemoryTimeSeconds(int64_t bytes, double bytes_per_second);

// Work of one instruction path and its ceiling. The ceiling has to be of the data types and the pipe that do the work.
struct ComputePath {
  absl::string_view name = {};
  int64_t flops = 0;
  double flops_per_second = 0;
  CeilingKind kind = CeilingKind::kUnspecified;
};

// Bytes through one memory boundary and the bandwidth of the same boundary.
struct MemoryLevel {
  absl::string_view name = {};
  int64_t bytes = 0;
  double bytes_per_second = 0;
  CeilingKind kind = CeilingKind::kUnspecified;
};

struct PathBound {
  double seconds = 0;
  // As long as the bound (all that tie bind; nothing binds a bound of 0).
  bool binds = false;
};

struct LevelBound {
  double seconds = 0;
  bool binds = false;
  // FLOP of all paths over this level's bytes; absent for a level without bytes or a bound without paths.
  std::optional<double> intensity_flops_per_byte;
  // Where this level's roof meets the compute roof. Of several paths the compute roof is that of their mix: all FLOP
  // over the longest path. Absent without paths, and for several paths without any FLOP.
  std::optional<double> ridge_flops_per_byte;
  // Against this level alone: intensity >= ridge. False where either is absent.
  bool compute_bound = false;
};

inline constexpr size_t kInlinedParts = 8;

struct RooflineBound {
  // The kind of every ceiling in it.
  CeilingKind kind = CeilingKind::kUnspecified;
  double bound_seconds = 0;
  // The longest path, the longest level; 0 without any.
  double compute_seconds = 0;
  double memory_seconds = 0;
  int64_t flops = 0;
  // In the order given.
  absl::InlinedVector<PathBound, kInlinedParts> paths;
  absl::InlinedVector<LevelBound, kInlinedParts> levels;
  // FLOP over bound_seconds: the roof above this work. Absent without FLOP.
  std::optional<double> attainable_flops_per_second;
};

// Parts whose times differ by less than this share of the bound tie: what rounding of a product of rates can make.
inline constexpr double kTieRelative = 1e-12;

// At least one path or level; any number of them.
[[nodiscard]] absl::StatusOr<RooflineBound> ComputeRooflineBound(absl::Span<const ComputePath> paths,
                                                                 absl::Span<const MemoryLevel> levels);

// An achieved point below (or, where the model is wrong, above) a roof.
struct Headroom {
  // The kind of the roof.
  CeilingKind roof_kind = CeilingKind::kUnspecified;
  double observed_seconds = 0;
  double bound_seconds = 0;
  // Observed less bound. Negative: the observation violates the bound; never clamped.
  double residual_seconds = 0;
  // Bound over observed: achieved rate over the roof above it. Above 1 in a violation.
  double roof_ratio = 0;
  // FLOP over observed time; absent without FLOP.
  std::optional<double> achieved_flops_per_second;
  bool violates_bound = false;
};

// Refuses a bound that ComputeRooflineBound cannot have made: a negative time or a negative count.
[[nodiscard]] absl::StatusOr<Headroom> ComputeHeadroom(const RooflineBound& bound, double observed_seconds);

// Work done in a time, with the ceiling of the path that did it: a kernel, or a run of them. An item may have time
// without FLOP (a copy: the path stood idle), but no FLOP without time.
struct AchievedWork {
  int64_t flops = 0;
  double seconds = 0;
  double peak_flops_per_second = 0;
  CeilingKind peak_kind = CeilingKind::kUnspecified;
};

struct FlopsUtilization {
  CeilingKind peak_kind = CeilingKind::kUnspecified;
  double flops = 0;
  // Sum of peak x time.
  double peak_flops = 0;
  // The first over the second: MFU. Above 1 where work, time or peak is wrong; never clamped.
  double ratio = 0;
};

// Over one path, or over several kernels and paths that ran one after the other: each is weighed by what its own peak
// could have done in its time. Times that overlap would count twice. At least one item with time.
[[nodiscard]] absl::StatusOr<FlopsUtilization> ComputeFlopsUtilization(absl::Span<const AchievedWork> work);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_ROOFLINE_H_
