// The rungs of the ladder from below: R0 compulsory, R1 useful, R2 counted work, R3 at the clock of the run, R4 of the
// busiest instance, R5 at sustained rates. Each is the maximum over resources and names the one that binds. R1 <= .. <=
// R5 by construction; R1 to R4 are lower bounds of the kernel's time if counts, peaks and clocks are right, R5 is what
// the best known code reaches.
//
// A maximum is no sum: resources may all be busy at once. Those that come close to the binding one are its co-limiters:
// removing work of the binding one alone gains no more than up to the next.
//
// ns. Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_RUNGS_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_RUNGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/ladder_resource.h"

namespace gx::model {

enum class Rung : uint8_t { kCompulsory, kUseful, kWork, kClock, kBusiest, kCeiling };  // R0 to R5
inline constexpr size_t kRungCount = 6;

// "R0" to "R5".
absl::string_view RungName(Rung rung) noexcept;

// Share of the binding resource's duration from which another one is named beside it.
inline constexpr double kCoLimiterRatio = 0.6;

struct RungValue {
  double ns = 0;
  // Absent for R0, which is of the operation and not of a resource, and where nothing is counted above 0.
  std::optional<ResourceKind> binding = std::nullopt;
  ResourceSet co_limiters = {};
};

struct Rungs {
  // R0: none stated, or R1 unmeasured. R1: some resource's useful share is unmeasured. All: no resource.
  std::array<std::optional<RungValue>, kRungCount> values = {};
  // What R3, R4 and R5 stand on: a timed clock; the binding resource's busiest instance; its sustained rate. Where it
  // is missing the rung equals the one below.
  bool clock_measured = false;
  bool busiest_measured = false;
  bool ceiling_measured = false;
  // R4's binding resource has its busiest instance from the assumption that blocks are equal: R4 is no bound then, and
  // a time below it says that they are not.
  bool assumes_equal_blocks = false;
  // R0 was stated above R1 (data that were in the cache already, another operation) and is taken as R1.
  bool compulsory_capped = false;

  const std::optional<RungValue>& at(Rung rung) const { return values[static_cast<size_t>(rung)]; }
  // 0 where absent.
  double Ns(Rung rung) const { return at(rung).has_value() ? at(rung)->ns : 0; }
};

struct RungInput {
  // Maximum over timed SM clock, 1 or more. Absent: the clock of the timed launches is unmeasured and taken as maximum.
  std::optional<double> clock_ratio = std::nullopt;
  // From a manifest or a recognised operation.
  std::optional<double> compulsory_ns = std::nullopt;
};

[[nodiscard]] absl::StatusOr<Rungs> ComputeRungs(absl::Span<const LadderResource> resources, const RungInput& input);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_RUNGS_H_
