#include "analysis/model/roofline.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

// Refusals of one part name it. The check comes first, so that the good path builds no text.
absl::Status Named(absl::string_view kind_of_part, absl::string_view name, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(kind_of_part, " '", name, "': ", status.message()));
}

absl::Status CheckFinite(absl::string_view quantity, double value) {
  if (std::isfinite(value)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(quantity, ": beyond the range of a double"));
}

// `bound_kind` is kUnspecified before the first ceiling.
absl::Status CheckKind(absl::string_view kind_of_part, absl::string_view name, CeilingKind kind,
                       CeilingKind* bound_kind) {
  if (kind != CeilingKind::kTheoretical && kind != CeilingKind::kEmpirical) {
    return absl::InvalidArgumentError(absl::StrCat(
        kind_of_part, " '", name, "': kind: got ", CeilingKindName(kind), ", expected theoretical or empirical",
        kind == CeilingKind::kAchieved ? " (an achieved rate bounds nothing)" : ""));
  }
  if (*bound_kind == CeilingKind::kUnspecified) *bound_kind = kind;
  if (kind == *bound_kind) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(kind_of_part, " '", name, "': kind: got ", CeilingKindName(kind),
                                                 ", expected ", CeilingKindName(*bound_kind),
                                                 " (one bound, one kind of ceiling)"));
}

// The rate of the compute roof for all paths together.
std::optional<double> ComputeRoof(absl::Span<const ComputePath> paths, const RooflineBound& bound) {
  if (paths.size() == 1) return paths[0].flops_per_second;
  if (bound.flops > 0) return static_cast<double>(bound.flops) / bound.compute_seconds;
  return std::nullopt;
}

}  // namespace

absl::string_view CeilingKindName(CeilingKind kind) noexcept {
  switch (kind) {
    case CeilingKind::kTheoretical:
      return "theoretical";
    case CeilingKind::kEmpirical:
      return "empirical";
    case CeilingKind::kAchieved:
      return "achieved";
    case CeilingKind::kUnspecified:
      break;
  }
  return "unspecified";
}

absl::StatusOr<double> RidgeFlopsPerByte(double flops_per_second, double bytes_per_second) {
  if (absl::Status status = CheckPositive("flops_per_second", flops_per_second); !status.ok()) return status;
  if (absl::Status status = CheckPositive("bytes_per_second", bytes_per_second); !status.ok()) return status;
  const double ridge = flops_per_second / bytes_per_second;
  if (absl::Status status = CheckFinite("ridge_flops_per_byte", ridge); !status.ok()) return status;
  return ridge;
}

absl::StatusOr<double> AttainableFlopsPerSecond(double flops_per_second, double bytes_per_second,
                                                double intensity_flops_per_byte) {
  if (absl::Status status = CheckPositive("flops_per_second", flops_per_second); !status.ok()) return status;
  if (absl::Status status = CheckPositive("bytes_per_second", bytes_per_second); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("intensity_flops_per_byte", intensity_flops_per_byte); !status.ok()) {
    return status;
  }
  return std::min(flops_per_second, bytes_per_second * intensity_flops_per_byte);
}

absl::StatusOr<std::optional<double>> IntensityFlopsPerByte(int64_t flops, int64_t bytes) {
  if (absl::Status status = CheckNotNegative("flops", flops); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("bytes", bytes); !status.ok()) return status;
  if (bytes == 0) return std::optional<double>();
  return std::optional<double>(static_cast<double>(flops) / static_cast<double>(bytes));
}

absl::StatusOr<double> ComputeTimeSeconds(int64_t flops, double flops_per_second) {
  if (absl::Status status = CheckNotNegative("flops", flops); !status.ok()) return status;
  if (absl::Status status = CheckPositive("flops_per_second", flops_per_second); !status.ok()) return status;
  const double seconds = static_cast<double>(flops) / flops_per_second;
  if (absl::Status status = CheckFinite("compute time", seconds); !status.ok()) return status;
  return seconds;
}

absl::StatusOr<double> MemoryTimeSeconds(int64_t bytes, double bytes_per_second) {
  if (absl::Status status = CheckNotNegative("bytes", bytes); !status.ok()) return status;
  if (absl::Status status = CheckPositive("bytes_per_second", bytes_per_second); !status.ok()) return status;
  const double seconds = static_cast<double>(bytes) / bytes_per_second;
  if (absl::Status status = CheckFinite("memory time", seconds); !status.ok()) return status;
  return seconds;
}

absl::StatusOr<RooflineBound> ComputeRooflineBound(absl::Span<const ComputePath> paths,
                                                   absl::Span<const MemoryLevel> levels) {
  if (paths.empty() && levels.empty()) {
    return absl::InvalidArgumentError("roofline: got no path and no level, expected at least one");
  }
  RooflineBound bound;
  bound.paths.reserve(paths.size());
  for (const ComputePath& path : paths) {
    const absl::StatusOr<double> seconds = ComputeTimeSeconds(path.flops, path.flops_per_second);
    if (!seconds.ok()) return Named("path", path.name, seconds.status());
    if (absl::Status status = CheckKind("path", path.name, path.kind, &bound.kind); !status.ok()) return status;
    const absl::StatusOr<int64_t> flops = CheckedSum("flops of all paths", bound.flops, path.flops);
    if (!flops.ok()) return flops.status();
    bound.flops = *flops;
    bound.paths.push_back({*seconds, false});
    bound.compute_seconds = std::max(bound.compute_seconds, bound.paths.back().seconds);
  }
  const std::optional<double> roof = ComputeRoof(paths, bound);
  bound.levels.reserve(levels.size());
  for (const MemoryLevel& level : levels) {
    const absl::StatusOr<double> seconds = MemoryTimeSeconds(level.bytes, level.bytes_per_second);
    if (!seconds.ok()) return Named("level", level.name, seconds.status());
    if (absl::Status status = CheckKind("level", level.name, level.kind, &bound.kind); !status.ok()) return status;
    LevelBound& result = bound.levels.emplace_back();
    result.seconds = *seconds;
    if (roof.has_value()) {
      const absl::StatusOr<double> ridge = RidgeFlopsPerByte(*roof, level.bytes_per_second);
      if (!ridge.ok()) return Named("level", level.name, ridge.status());
      result.ridge_flops_per_byte = *ridge;
    }
    if (level.bytes > 0 && !paths.empty()) {
      result.intensity_flops_per_byte = static_cast<double>(bound.flops) / static_cast<double>(level.bytes);
    }
    result.compute_bound = result.intensity_flops_per_byte.has_value() && result.ridge_flops_per_byte.has_value() &&
                           IsComputeBound(*result.intensity_flops_per_byte, *result.ridge_flops_per_byte);
    bound.memory_seconds = std::max(bound.memory_seconds, result.seconds);
  }

  bound.bound_seconds = std::max(bound.compute_seconds, bound.memory_seconds);
  if (bound.bound_seconds > 0) {
    const double tie_seconds = bound.bound_seconds * (1 - kTieRelative);
    for (PathBound& path : bound.paths) path.binds = path.seconds >= tie_seconds;
    for (LevelBound& level : bound.levels) level.binds = level.seconds >= tie_seconds;
    if (bound.flops > 0) {
      bound.attainable_flops_per_second = static_cast<double>(bound.flops) / bound.bound_seconds;
      absl::Status status = CheckFinite("attainable_flops_per_second", *bound.attainable_flops_per_second);
      if (!status.ok()) return status;
    }
  }
  return bound;
}

absl::StatusOr<Headroom> ComputeHeadroom(const RooflineBound& bound, double observed_seconds) {
  if (absl::Status status = CheckPositive("observed_seconds", observed_seconds); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("bound_seconds", bound.bound_seconds); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("flops", bound.flops); !status.ok()) return status;
  Headroom headroom;
  headroom.roof_kind = bound.kind;
  headroom.observed_seconds = observed_seconds;
  headroom.bound_seconds = bound.bound_seconds;
  headroom.residual_seconds = observed_seconds - bound.bound_seconds;
  headroom.roof_ratio = bound.bound_seconds / observed_seconds;
  if (absl::Status status = CheckFinite("roof_ratio", headroom.roof_ratio); !status.ok()) return status;
  if (bound.flops > 0) {
    headroom.achieved_flops_per_second = static_cast<double>(bound.flops) / observed_seconds;
    absl::Status status = CheckFinite("achieved_flops_per_second", *headroom.achieved_flops_per_second);
    if (!status.ok()) return status;
  }
  headroom.violates_bound = observed_seconds < bound.bound_seconds;
  return headroom;
}

absl::StatusOr<FlopsUtilization> ComputeFlopsUtilization(absl::Span<const AchievedWork> work) {
  FlopsUtilization result;
  for (size_t i = 0; i < work.size(); ++i) {
    const AchievedWork& item = work[i];
    absl::Status status = CheckNotNegative("flops", item.flops);
    if (status.ok()) status = CheckNotNegative("seconds", item.seconds);
    if (status.ok()) status = CheckPositive("peak_flops_per_second", item.peak_flops_per_second);
    if (!status.ok()) return Named("work", absl::StrCat(i), status);
    // Work without time has no rate; its FLOP would count and its peak would not.
    if (item.flops > 0 && item.seconds == 0) {
      return Named("work", absl::StrCat(i),
                   absl::InvalidArgumentError(
                       absl::StrCat("seconds: got 0 with ", item.flops, " FLOP, expected a finite number above 0")));
    }
    status = CheckKind("work", absl::StrCat(i), item.peak_kind, &result.peak_kind);
    if (!status.ok()) return status;
    result.flops += static_cast<double>(item.flops);
    result.peak_flops += item.peak_flops_per_second * item.seconds;
  }
  if (!(result.peak_flops > 0)) {
    return absl::InvalidArgumentError("work: got no item with time, expected at least one");
  }
  result.ratio = result.flops / result.peak_flops;
  if (absl::Status status = CheckFinite("peak_flops", result.peak_flops); !status.ok()) return status;
  if (absl::Status status = CheckFinite("ratio", result.ratio); !status.ok()) return status;
  return result;
}

}  // namespace gx::model
