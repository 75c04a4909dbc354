#include "analysis/model/ladder_changes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

absl::Status CheckFactor(absl::string_view field, double factor) {
  if (std::isfinite(factor) && factor >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": got ", factor, ", expected a finite number, 1 or more"));
}

void Scale(double ratio, LadderResource* resource) {
  resource->work_ns *= ratio;
  if (resource->useful_ns.has_value()) resource->useful_ns = std::min(*resource->useful_ns * ratio, resource->work_ns);
  if (resource->busiest_ns.has_value())
    resource->busiest_ns = std::max(*resource->busiest_ns * ratio, resource->work_ns);
}

void SpreadEvenly(ResourceScope scope, LadderResources* resources) {
  for (LadderResource& resource : *resources) {
    if (ScopeOf(resource.kind) == scope && resource.busiest_ns.has_value()) resource.busiest_ns = resource.work_ns;
  }
}

absl::Status CheckBlocks(absl::string_view least_field, int64_t least, absl::string_view most_field, int64_t most) {
  if (absl::Status status = CheckPositive(least_field, least); !status.ok()) return status;
  return CheckRange(most_field, most, least, std::numeric_limits<int64_t>::max(),
                    absl::StrCat("at least ", least_field));
}

}  // namespace

std::optional<double> UncontendedNs(const Ladder& ladder, std::optional<double> uncontended_ratio) {
  if (!ladder.uncontended_ns.has_value() || !uncontended_ratio.has_value()) return std::nullopt;
  return ladder.active_cycles_ns->mean * *uncontended_ratio;
}

LadderChange WithoutFactors(const LadderInput& input, const UsefulRatios& without, std::optional<double> uncontended_ns,
                            bool costs_occupancy) {
  LadderChange change;
  change.resources = ResourcesWithout(input.resources, without);
  change.uncontended_ns = uncontended_ns;
  change.only_removes_work = !costs_occupancy;
  return change;
}

absl::StatusOr<LadderChange> FullLastWave(const LadderInput& input, const Ladder& ladder, int64_t block_count,
                                          int64_t kept_block_count) {
  absl::Status status = CheckBlocks("kept_block_count", kept_block_count, "block_count", block_count);
  if (!status.ok()) return status;
  const double kept = static_cast<double>(kept_block_count) / static_cast<double>(block_count);
  LadderChange change{.resources = input.resources, .only_removes_work = true};
  for (LadderResource& resource : *change.resources) Scale(kept, &resource);
  SpreadEvenly(ResourceScope::kSm, &*change.resources);
  if (ladder.uncontended_ns.has_value()) change.uncontended_ns = *ladder.uncontended_ns * kept;
  change.idle_ratio = 0;
  change.uncontended_idle_ratio = 0;
  return change;
}

absl::StatusOr<LadderChange> FilledDevice(const LadderInput& input, const Ladder& ladder, int64_t block_count,
                                          int64_t filled_block_count) {
  absl::Status status = CheckBlocks("block_count", block_count, "filled_block_count", filled_block_count);
  if (!status.ok()) return status;
  LadderChange change{.resources = input.resources, .only_removes_work = true};
  SpreadEvenly(ResourceScope::kSm, &*change.resources);
  if (ladder.uncontended_ns.has_value() && ladder.active_cycles_ns->mean > 0) {
    // The busy SMs' own time, which more blocks share.
    change.uncontended_ns = *ladder.uncontended_ns * (ladder.active_cycles_ns->max / ladder.active_cycles_ns->mean) *
                            (static_cast<double>(block_count) / static_cast<double>(filled_block_count));
  }
  change.idle_ratio = 0;
  change.uncontended_idle_ratio = 0;
  return change;
}

absl::StatusOr<LadderChange> OtherOccupancy(const Ladder& ladder, double warps, double warps_then) {
  if (absl::Status status = CheckPositive("warps", warps); !status.ok()) return status;
  if (absl::Status status = CheckPositive("warps_then", warps_then); !status.ok()) return status;
  LadderChange change;
  if (ladder.uncontended_ns.has_value()) change.uncontended_ns = *ladder.uncontended_ns * (warps / warps_then);
  change.only_removes_work = warps_then >= warps;
  return change;
}

absl::StatusOr<LadderChange> LoadsInFlight(const Ladder& ladder, const WarpShares& shares, double latency_ratio,
                                           double loads) {
  if (absl::Status status = CheckFactor("loads", loads); !status.ok()) return status;
  LadderChange change{.only_removes_work = true};
  change.uncontended_ns = UncontendedNs(ladder, UncontendedRatio(shares, latency_ratio, {.loads_in_flight = loads}));
  return change;
}

LadderChange BarriersSplit(const Ladder& ladder, const WarpShares& shares, double latency_ratio) {
  LadderChange change{.drops_sync = true, .only_removes_work = true};
  change.uncontended_ns = UncontendedNs(ladder, UncontendedRatio(shares, latency_ratio, {.drops_sync = true}));
  return change;
}

absl::StatusOr<LadderChange> AtomicsSpread(const LadderInput& input, double privatisation_factor) {
  if (absl::Status status = CheckFactor("privatisation_factor", privatisation_factor); !status.ok()) return status;
  LadderChange change{.resources = input.resources, .only_removes_work = true};
  for (LadderResource& resource : *change.resources) {
    if (resource.kind == ResourceKind::kL2Atomics) Scale(1 / privatisation_factor, &resource);
  }
  SpreadEvenly(ResourceScope::kSlice, &*change.resources);
  return change;
}

absl::StatusOr<LadderChange> OtherTensorPath(const LadderInput& input, double peak_factor,
                                             std::optional<double> eta_ratio) {
  if (absl::Status status = CheckPositive("peak_factor", peak_factor); !status.ok()) return status;
  LadderChange change{.resources = input.resources};
  for (LadderResource& resource : *change.resources) {
    if (resource.kind != ResourceKind::kTensorOperations && resource.kind != ResourceKind::kTensorPipe) continue;
    Scale(1 / peak_factor, &resource);
    resource.eta_ratio = eta_ratio;
  }
  return change;
}

LadderChange NoThrottling() { return {.clock_ratio = 1, .only_removes_work = true}; }

absl::StatusOr<WhatIf> ComputeFused(const FusedInput& input) {
  if (absl::Status status = CheckNotNegative("saved_dram_ns", input.saved_dram_ns); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("saved_l2_ns", input.saved_l2_ns); !status.ok()) return status;
  for (const void* part : {static_cast<const void*>(input.producer), static_cast<const void*>(input.producer_ladder),
                           static_cast<const void*>(input.consumer), static_cast<const void*>(input.consumer_ladder)}) {
    if (part == nullptr) return absl::InvalidArgumentError("fused kernels: got one, expected producer and consumer");
  }
  const Ladder& producer = *input.producer_ladder;
  const Ladder& consumer = *input.consumer_ladder;
  WhatIf result;
  if (producer.violation.has_value() || consumer.violation.has_value()) {
    result.no_prediction = NoPrediction::kViolation;
    return result;
  }
  double sustained_ns[kResourceKindCount] = {};
  for (const LadderInput* kernel : {input.producer, input.consumer}) {
    for (const LadderResource& resource : kernel->resources) {
      double& sum_ns = sustained_ns[static_cast<size_t>(resource.kind)];
      sum_ns += SustainedNs(resource, ClockRatio(kernel->clocks).value_or(1));
    }
  }
  // At the rate that both sustained together.
  const auto save = [&](ResourceKind kind, double saved_ns) {
    double work_ns = 0;
    for (const LadderInput* kernel : {input.producer, input.consumer}) {
      const LadderResource* resource = kernel->resources.Find(kind);
      if (resource != nullptr) work_ns += resource->work_ns;
    }
    if (work_ns > 0) sustained_ns[static_cast<size_t>(kind)] *= 1 - std::min(1.0, saved_ns / work_ns);
  };
  save(ResourceKind::kDram, input.saved_dram_ns);
  save(ResourceKind::kL2Lookup, input.saved_l2_ns);
  double ceiling_ns = 0;
  for (size_t i = 0; i < kResourceKindCount; ++i) {
    if (sustained_ns[i] <= ceiling_ns) continue;
    ceiling_ns = sustained_ns[i];
    result.binding = static_cast<ResourceKind>(i);
  }

  const double alone[] = {std::min(producer.uncontended_ns.value_or(0), producer.active_ns),
                          std::min(consumer.uncontended_ns.value_or(0), consumer.active_ns)};
  const double busy_ns = std::max(producer.floor_ns, alone[0]) + std::max(consumer.floor_ns, alone[1]);
  if (!(busy_ns > 0)) {
    result.no_prediction = NoPrediction::kNoFloor;
    result.binding.reset();
    return result;
  }
  const double active_ns = producer.active_ns + consumer.active_ns;
  const double idle_ns = producer.Term(TermKind::kIdle).ns + consumer.Term(TermKind::kIdle).ns;
  const double there_ratio = active_ns > 0 ? (active_ns + idle_ns) / active_ns : 1;
  const double kappa = std::max(1.0, active_ns / busy_ns);
  const double around_ns = std::max(producer.Term(TermKind::kTracing).ns, consumer.Term(TermKind::kTracing).ns) +
                           std::max(producer.Term(TermKind::kLaunch).ns, consumer.Term(TermKind::kLaunch).ns);
  const double longest_ns = std::max(alone[0], alone[1]);
  const double sum_ns = alone[0] + alone[1];
  const double middle_ns = (longest_ns + sum_ns) / 2;
  const double before_ns = producer.time_ns + consumer.time_ns;
  if (ceiling_ns < middle_ns) result.binding.reset();
  result.time_ns = std::min(before_ns, around_ns + kappa * there_ratio * std::max(ceiling_ns, middle_ns));
  result.interval_ns.low =
      std::min(result.time_ns, kWhatIfLow * (around_ns + there_ratio * std::max(ceiling_ns, longest_ns)));
  result.interval_ns.high =
      std::min(before_ns, kWhatIfHigh * (around_ns + kappa * there_ratio * std::hypot(ceiling_ns, sum_ns)));
  result.without_latency = !producer.uncontended_ns.has_value() || !consumer.uncontended_ns.has_value();
  result.other_regime = producer.other_regime || consumer.other_regime;
  return result;
}

}  // namespace gx::model
