#include "analysis/model/ladder_rungs.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

template <typename DurationOf>
RungValue Largest(absl::Span<const LadderResource> resources, const DurationOf& duration_of) {
  RungValue value;
  for (const LadderResource& resource : resources) {
    const double ns = duration_of(resource);
    if (ns <= value.ns) continue;
    value.ns = ns;
    value.binding = resource.kind;
  }
  if (!value.binding.has_value()) return value;
  for (const LadderResource& resource : resources) {
    if (resource.kind == *value.binding) continue;
    if (duration_of(resource) >= kCoLimiterRatio * value.ns) value.co_limiters.Add(resource.kind);
  }
  return value;
}

}  // namespace

absl::string_view RungName(Rung rung) noexcept {
  switch (rung) {
    case Rung::kCompulsory:
      return "R0";
    case Rung::kUseful:
      return "R1";
    case Rung::kWork:
      return "R2";
    case Rung::kClock:
      return "R3";
    case Rung::kBusiest:
      return "R4";
    case Rung::kCeiling:
      return "R5";
  }
  return "";
}

absl::StatusOr<Rungs> ComputeRungs(absl::Span<const LadderResource> resources, const RungInput& input) {
  if (absl::Status status = CheckResources(resources); !status.ok()) return status;
  const double clock_ratio = input.clock_ratio.value_or(1);
  if (!(std::isfinite(clock_ratio) && clock_ratio >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("clock_ratio: got ", clock_ratio, ", expected 1 or more"));
  }
  if (input.compulsory_ns.has_value()) {
    if (absl::Status status = CheckNotNegative("compulsory_ns", *input.compulsory_ns); !status.ok()) return status;
  }
  Rungs rungs;
  if (resources.empty()) return rungs;
  rungs.clock_measured = input.clock_ratio.has_value();
  bool useful_measured = true;
  for (const LadderResource& resource : resources) {
    useful_measured = useful_measured && resource.useful_ns.has_value();
  }
  const auto set = [&](Rung rung, const auto& duration_of) {
    rungs.values[static_cast<size_t>(rung)] = Largest(resources, duration_of);
  };
  if (useful_measured) set(Rung::kUseful, [](const LadderResource& r) { return *r.useful_ns; });
  set(Rung::kWork, [](const LadderResource& r) { return r.work_ns; });
  set(Rung::kClock, [=](const LadderResource& r) { return r.work_ns * (r.on_sm_clock ? clock_ratio : 1); });
  set(Rung::kBusiest, [=](const LadderResource& r) { return BusiestAtClockNs(r, clock_ratio); });
  set(Rung::kCeiling, [=](const LadderResource& r) { return SustainedNs(r, clock_ratio); });
  if (!std::isfinite(rungs.Ns(Rung::kCeiling))) {
    return absl::OutOfRangeError("R5: beyond the range of a double");
  }
  for (const LadderResource& resource : resources) {
    if (rungs.at(Rung::kBusiest)->binding == resource.kind) {
      rungs.assumes_equal_blocks = resource.assumes_equal_blocks;
      rungs.busiest_measured = resource.busiest_ns.has_value();
    }
    if (rungs.at(Rung::kCeiling)->binding == resource.kind) rungs.ceiling_measured = resource.eta_ratio.has_value();
  }
  if (useful_measured && input.compulsory_ns.has_value()) {
    const double useful_ns = rungs.Ns(Rung::kUseful);
    rungs.compulsory_capped = *input.compulsory_ns > useful_ns;
    rungs.values[static_cast<size_t>(Rung::kCompulsory)] = RungValue{std::min(*input.compulsory_ns, useful_ns)};
  }
  return rungs;
}

}  // namespace gx::model
