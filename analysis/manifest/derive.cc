#include "analysis/manifest/derive.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/manifest/derive_cases.h"
#include "analysis/manifest/extent.h"
#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/occupancy_step_up.h"
#include "analysis/model/tile_grid.h"
#include "analysis/model/waves.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using model::OccupancyLimiter;

void SetLimits(const model::BlockLimits& limits, v1::Derived::Occupancy* out) {
  const auto set = [&limits, out](OccupancyLimiter limiter, void (v1::Derived::Occupancy::*setter)(int64_t)) {
    if (limits[limiter].has_value()) (out->*setter)(*limits[limiter]);
  };
  set(OccupancyLimiter::kBlocks, &v1::Derived::Occupancy::set_blocks_by_block_slots);
  set(OccupancyLimiter::kThreads, &v1::Derived::Occupancy::set_blocks_by_threads);
  set(OccupancyLimiter::kWarps, &v1::Derived::Occupancy::set_blocks_by_warps);
  set(OccupancyLimiter::kRegisters, &v1::Derived::Occupancy::set_blocks_by_registers);
  set(OccupancyLimiter::kSharedMemory, &v1::Derived::Occupancy::set_blocks_by_shared_memory);
  set(OccupancyLimiter::kBarriers, &v1::Derived::Occupancy::set_blocks_by_barriers);
  set(OccupancyLimiter::kVirtualResources, &v1::Derived::Occupancy::set_blocks_by_virtual_resources);
}

// What both kinds of occupancy have under the same names.
template <typename Result>
v1::Derived::Occupancy OccupancyOf(const Result& result) {
  v1::Derived::Occupancy out;
  SetLimits(result.limits, &out);
  out.set_resident_blocks_per_sm(result.blocks_per_sm_count);
  for (const OccupancyLimiter limiter : model::kOccupancyLimiters) {
    if (result.limiters.Has(limiter)) out.add_limiter(std::string(model::ToString(limiter)));
    if (result.next_limiters.Has(limiter)) out.add_next_limiter(std::string(model::ToString(limiter)));
  }
  if (result.next_limit_blocks_count.has_value()) out.set_next_limit_blocks_per_sm(*result.next_limit_blocks_count);
  out.set_active_warps_per_sm(result.active_warps_count);
  out.set_occupancy_ratio(result.occupancy_ratio);
  return out;
}

v1::Derived::StepUp StepUpOf(const model::OccupancyStepUp& step) {
  v1::Derived::StepUp out;
  out.set_resident_blocks_per_sm(step.blocks_per_sm_count);
  out.set_is_possible(step.is_possible);
  if (step.threads_per_block_count.has_value()) out.set_threads_per_block(*step.threads_per_block_count);
  if (step.registers_per_thread_count.has_value()) out.set_registers_per_thread(*step.registers_per_thread_count);
  if (step.shared_memory_per_block_bytes.has_value()) {
    out.set_shared_memory_per_block_bytes(*step.shared_memory_per_block_bytes);
  }
  if (step.carveout_bytes.has_value()) out.set_carveout_bytes(*step.carveout_bytes);
  if (step.barriers_per_block_count.has_value()) out.set_barriers_per_block(*step.barriers_per_block_count);
  return out;
}

// The coordinates that occupancy and waves rest on.
class Coordinates {
 public:
  Coordinates(const v1::Manifest& manifest, MachineModel* machine, FaultLog* log)
      : manifest_(manifest), schedule_(manifest.schedule()), machine_(*machine), log_(*log) {}

  void Derive(v1::Derived* derived) {
    if (schedule_.has_cluster()) {
      cluster_blocks_ = log_.Take("schedule.cluster", ExtentVolume("cluster", schedule_.cluster())).value_or(0);
    }
    DeriveGrid(derived);
    if (!schedule_.has_block()) {
      if (manifest_.has_machine() && manifest_.has_schedule()) {
        log_.notes.emplace_back("no occupancy: schedule.block is not stated");
      }
      return;
    }
    threads_ = log_.Take("schedule.block", ExtentVolume("block", schedule_.block()));
    if (!threads_.has_value()) return;
    DeriveOccupancy(derived);
    DeriveExactOccupancy(derived);
    DeriveWaves(derived);
  }

 private:
  bool has_tiles() const { return manifest_.operation().has_matrix_product() && schedule_.has_tile(); }

  void DeriveGrid(v1::Derived* derived) {
    if (has_tiles()) {
      const v1::MatrixProduct& size = manifest_.operation().matrix_product();
      const auto grid = log_.Take(
          "schedule.tile",
          model::MakeTileGrid(
              {.m = size.m(), .n = size.n(), .block_m = schedule_.tile().m(), .block_n = schedule_.tile().n()}));
      if (grid.has_value()) {
        tile_count_ = grid->tile_count;
        v1::Derived::Grid* out = derived->mutable_grid();
        out->set_tile_m_count(grid->tile_m_count);
        out->set_tile_n_count(grid->tile_n_count);
        out->set_issued_m(grid->issued_m);
        out->set_issued_n(grid->issued_n);
        out->set_tile_efficiency_ratio(grid->tile_efficiency_ratio());
        DerivePrograms(manifest_, *grid, derived, &log_);
      }
    } else if (!manifest_.program().empty()) {
      log_.notes.emplace_back("no program: operation.matrix_product or schedule.tile is not stated");
    }
    if (schedule_.has_grid()) {
      grid_blocks_ = log_.Take("schedule.grid", model::GridBlockCount(DimensionsOf(schedule_.grid())));
      if (grid_blocks_.has_value() && tile_count_.has_value() && *grid_blocks_ != *tile_count_) {
        log_.notes.push_back(absl::StrCat("schedule.grid has ", *grid_blocks_, " blocks for ", *tile_count_,
                                          " output tiles: a block works on several tiles, or several on one"));
      }
    } else {
      grid_blocks_ = tile_count_;
    }
    if (grid_blocks_.has_value()) derived->mutable_grid()->set_block_count(*grid_blocks_);
  }

  void DeriveOccupancy(v1::Derived* derived) {
    if (!machine_.budget().has_value()) {
      log_.notes.push_back(absl::StrCat("no occupancy: not stated are ", absl::StrJoin(machine_.missing(), ", ")));
      return;
    }
    if (!schedule_.has_registers_per_thread()) {
      log_.notes.emplace_back("schedule.registers_per_thread is not stated: registers are taken not to limit");
    }
    const auto occupancy = log_.Take(
        "occupancy",
        model::FirstOrderOccupancy(*machine_.budget(),
                                   {.threads_per_block_count = *threads_,
                                    .registers_per_thread_count = schedule_.registers_per_thread(),
                                    .shared_memory_per_block_bytes = schedule_.shared_memory_per_block_bytes()}));
    if (!occupancy.has_value()) return;
    *derived->mutable_occupancy() = OccupancyOf(*occupancy);
    // Where the exact rules are known they say why.
    if (occupancy->blocks_per_sm_count == 0 && !machine_.limits().has_value()) {
      log_.Fault("occupancy", "not one block fits on an SM");
    }
  }

  void DeriveExactOccupancy(v1::Derived* derived) {
    if (!machine_.limits().has_value() || cluster_blocks_ == 0) return;
    model::LaunchResources launch{.threads_per_block_count = *threads_,
                                  .registers_per_thread_count = schedule_.registers_per_thread(),
                                  .dynamic_shared_memory_bytes = schedule_.shared_memory_per_block_bytes(),
                                  .cluster_blocks_count = cluster_blocks_};
    if (schedule_.has_barriers_per_block()) launch.barriers_per_block_count = schedule_.barriers_per_block();
    if (schedule_.has_carveout_percent()) launch.carveout_percent = schedule_.carveout_percent();
    const auto exact = log_.Take("exact_occupancy", model::ComputeExactOccupancy(*machine_.limits(), launch));
    if (!exact.has_value()) return;
    v1::Derived::Occupancy out = OccupancyOf(*exact);
    if (exact->blocks_per_sm_count == 0) {
      out.set_refusal(model::DescribeRefusals(*machine_.limits(), launch, *exact));
      log_.Fault("exact_occupancy", absl::StrCat("not one block fits: ", out.refusal()));
    } else {
      out.set_allocated_registers_per_block(exact->allocated_registers_per_block_count);
      out.set_allocated_shared_memory_per_block_bytes(exact->allocated_shared_memory_per_block_bytes);
      if (exact->carveout_used_bytes.has_value()) out.set_carveout_bytes(*exact->carveout_used_bytes);
      *out.mutable_step_up() = StepUpOf(model::ComputeOccupancyStepUp(*machine_.limits(), launch, *exact));
    }
    *derived->mutable_exact_occupancy() = out;
  }

  void DeriveWaves(v1::Derived* derived) {
    if (!grid_blocks_.has_value() && !schedule_.has_grid() && !has_tiles()) {
      log_.notes.emplace_back("no waves: neither schedule.grid is stated, nor a matrix product and its tile");
    }
    if (!grid_blocks_.has_value() || cluster_blocks_ == 0) return;
    if (!machine_.sm_count().has_value()) {
      log_.notes.emplace_back("no waves: machine.sm_count is not stated");
      return;
    }
    const auto waves = [this](absl::string_view where, const v1::Derived::Occupancy& occupancy) {
      std::optional<v1::Derived::Waves> out;
      if (occupancy.resident_blocks_per_sm() == 0) {
        log_.notes.push_back(absl::StrCat("no ", where, ": not one block fits on an SM"));
        return out;
      }
      const auto result = log_.Take(where, model::ComputeWaves({.grid_block_count = *grid_blocks_,
                                                                .sm_count = *machine_.sm_count(),
                                                                .blocks_per_sm = occupancy.resident_blocks_per_sm(),
                                                                .blocks_per_cluster = cluster_blocks_}));
      if (!result.has_value()) return out;
      out.emplace();
      out->set_slot_count(result->slot_count);
      out->set_wave_count(result->wave_count);
      out->set_last_wave_block_count(result->last_wave_block_count);
      if (result->tail_fill_ratio.has_value()) out->set_last_wave_fill_ratio(*result->tail_fill_ratio);
      if (result->mean_fill_ratio.has_value()) out->set_mean_fill_ratio(*result->mean_fill_ratio);
      out->set_fractional_wave_count(result->fractional_wave_count);
      if (result->slot_source == model::SlotSource::kClusterUpperBound) out->set_slots_are_upper_bound(true);
      return out;
    };
    if (derived->has_occupancy()) {
      if (const auto out = waves("waves", derived->occupancy()); out.has_value()) *derived->mutable_waves() = *out;
    }
    if (derived->has_exact_occupancy()) {
      if (const auto out = waves("exact_waves", derived->exact_occupancy()); out.has_value()) {
        *derived->mutable_exact_waves() = *out;
      }
    }
  }

  const v1::Manifest& manifest_;
  const v1::Schedule& schedule_;
  MachineModel& machine_;
  FaultLog& log_;
  std::optional<int64_t> tile_count_;
  std::optional<int64_t> grid_blocks_;
  std::optional<int64_t> threads_;
  // 0: refused.
  int64_t cluster_blocks_ = 1;
};

}  // namespace

std::string LowerBoundCase(const v1::Manifest& manifest) {
  if (!manifest.lower_bound_case().empty()) return manifest.lower_bound_case();
  return manifest.roofline().empty() ? "" : manifest.roofline(0).name();
}

v1::Derived Derive(const v1::Manifest& manifest, MachineModel* machine, FaultLog* log) {
  v1::Derived derived;
  Coordinates(manifest, machine, log).Derive(&derived);
  DeriveCases(manifest, machine, &derived, log);
  const std::string bound_case = LowerBoundCase(manifest);
  const auto& bounds = derived.roofline();
  const auto found = std::find_if(bounds.begin(), bounds.end(),
                                  [&bound_case](const auto& bound) { return bound.name() == bound_case; });
  if (found != bounds.end()) {
    derived.set_lower_bound_seconds(found->lower_bound_seconds());
  } else if (!manifest.lower_bound_case().empty()) {
    log->Fault("lower_bound_case", absl::StrCat(Quoted(bound_case), ": no such roofline case has a bound"));
  }
  return derived;
}

}  // namespace gx::analysis
