#include "analysis/manifest/derive_cases.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/manifest/extent.h"
#include "analysis/model/banks.h"
#include "analysis/model/check.h"
#include "analysis/model/divergence.h"
#include "analysis/model/element.h"
#include "analysis/model/fusion.h"
#include "analysis/model/gemm.h"
#include "analysis/model/pointwise.h"
#include "analysis/model/roofline.h"
#include "analysis/model/schedules.h"
#include "analysis/model/sectors.h"
#include "analysis/model/tile_access.h"
#include "analysis/model/tile_stage.h"
#include "analysis/model/warp_access.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using model::CeilingKind;

// A tile of a block is swept request by request: no more of them for all cases of a manifest together.
constexpr int64_t kMaxTileRequests = 1 << 17;

// Evaluates each case of a list and keeps the answers; names have to be there and different.
template <typename Cases, typename Evaluate>
void ForEach(absl::string_view list, const Cases& cases, FaultLog* log, const Evaluate& evaluate) {
  std::set<std::string> names;
  for (int i = 0; i < cases.size(); ++i) {
    const std::string& name = cases.Get(i).name();
    const std::string where = absl::StrCat(list, "[", i, "]", name.empty() ? "" : absl::StrCat(" ", Quoted(name)));
    if (name.empty()) {
      log->Fault(where, "has no name");
    } else if (!names.insert(name).second) {
      log->Fault(where, "the name is given twice");
    } else if (const absl::Status status = evaluate(cases.Get(i)); !status.ok()) {
      log->Fault(where, status.message());
    }
  }
}

v1::RoofKind RoofKindOf(CeilingKind kind) {
  switch (kind) {
    case CeilingKind::kTheoretical:
      return v1::ROOF_KIND_THEORETICAL;
    case CeilingKind::kEmpirical:
      return v1::ROOF_KIND_EMPIRICAL;
    default:
      return v1::ROOF_KIND_UNSPECIFIED;
  }
}

absl::Status GivenTwice(absl::string_view what, absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", Quoted(name), " is given twice"));
}

template <typename T>
int64_t Or(bool has, T value, int64_t otherwise) {
  return has ? static_cast<int64_t>(value) : otherwise;
}

// WarpRequest and BankCase say in the same words which addresses a warp accesses.
template <typename Case>
absl::StatusOr<model::WarpAccess> WarpAccessOf(const Case& lanes) {
  const int64_t per_lane = Or(lanes.has_elements_per_lane(), lanes.elements_per_lane(), 1);
  const uint32_t mask = lanes.has_active_mask() ? lanes.active_mask() : model::kAllLanes;
  if (lanes.lane_address_bytes().empty()) {
    return model::StridedAccess({.base_bytes = lanes.base_bytes(),
                                 .element_bytes = lanes.element_bytes(),
                                 .elements_per_lane = per_lane,
                                 .stride_elements = Or(lanes.has_stride_elements(), lanes.stride_elements(), per_lane),
                                 .active_mask = mask});
  }
  if (lanes.has_stride_elements() || lanes.base_bytes() != 0) {
    return absl::InvalidArgumentError("lane_address_bytes: got base or stride as well, expected one of both");
  }
  // Checked apart, so that the product below cannot overflow.
  for (const int64_t part : {lanes.element_bytes(), per_lane}) {
    if (absl::Status status = model::CheckRange("bytes_per_lane", part, 1, model::kMaxBytesPerLane); !status.ok()) {
      return status;
    }
  }
  const std::vector<int64_t> addresses(lanes.lane_address_bytes().begin(), lanes.lane_address_bytes().end());
  absl::StatusOr<model::WarpAccess> access = model::ListedAccess(addresses, lanes.element_bytes() * per_lane);
  if (access.ok()) access->active_mask &= mask;
  return access;
}

struct OperandBits {
  int64_t a = 0;
  int64_t b = 0;
};

template <typename Case>
absl::StatusOr<OperandBits> ElementBitsOf(const Case& item) {
  const auto a = model::ElementBits("a_element_bytes", item.a_element_bytes());
  if (!a.ok()) return a.status();
  const auto b = model::ElementBits("b_element_bytes", item.b_element_bytes());
  if (!b.ok()) return b.status();
  return OperandBits{*a, *b};
}

void SetScheduleCost(const model::GemmSchedule& schedule, const model::ScheduleCost& cost,
                     v1::Derived::ScheduleCost* out) {
  out->set_tile_m(schedule.block_m);
  out->set_tile_n(schedule.block_n);
  out->set_stage_count(schedule.stage_count);
  out->set_group_m(schedule.order.group_m);
  out->set_split_k(schedule.split_k);
  out->set_useful_flops_ratio(cost.useful_flops_ratio);
  out->set_operand_read_bytes(cost.operand_read_bytes);
  out->set_output_write_bytes(cost.output_write_bytes);
  out->set_reduction_bytes(cost.reduction_bytes);
  out->set_pointwise_bytes(cost.pointwise_bytes);
  out->set_total_bytes(cost.total_bytes);
  out->set_saved_round_trip_bytes(cost.saved_round_trip_bytes);
  out->set_workspace_bytes(cost.workspace_bytes);
  if (cost.wave_operand_bytes.has_value()) out->set_wave_operand_bytes(*cost.wave_operand_bytes);
  if (cost.block_count.has_value()) out->set_block_count(*cost.block_count);
  out->set_launch_count(cost.launch_count);
  out->set_staging_bytes(cost.resources.staging_bytes);
  out->set_registers_per_thread(cost.resources.registers_per_thread);
  out->set_registers_spill(cost.resources.registers_spill);
  out->set_resident_blocks_per_sm(cost.resources.blocks_per_sm_count);
  for (const model::OccupancyLimiter limiter : model::kOccupancyLimiters) {
    if (cost.resources.limiters.Has(limiter)) out->add_limiter(std::string(model::ToString(limiter)));
  }
  out->set_occupancy_ratio(cost.resources.occupancy_ratio);
  if (cost.waves.has_value()) {
    out->set_wave_count(cost.waves->wave_count);
    if (cost.waves->tail_fill_ratio.has_value()) out->set_last_wave_fill_ratio(*cost.waves->tail_fill_ratio);
  }
  if (cost.persistent_waves.has_value()) {
    out->set_busiest_block_tile_count(cost.persistent_waves->busiest_cta_tile_count);
  }
}

class CaseList {
 public:
  CaseList(const v1::Manifest& manifest, MachineModel* machine, v1::Derived* derived, FaultLog* log)
      : manifest_(manifest), machine_(*machine), out_(*derived), log_(*log) {}

  void Evaluate() {
    const auto run = [this](absl::string_view list, const auto& cases, auto member) {
      ForEach(list, cases, &log_, [this, member](const auto& item) { return (this->*member)(item); });
    };
    run("warp_request", manifest_.warp_request(), &CaseList::Warp);
    run("tile_access", manifest_.tile_access(), &CaseList::Tile);
    run("bank_case", manifest_.bank_case(), &CaseList::Bank);
    run("tile_stage", manifest_.tile_stage(), &CaseList::Stage);
    run("gemm", manifest_.gemm(), &CaseList::Gemm);
    run("pointwise", manifest_.pointwise(), &CaseList::Pointwise);
    run("fusion", manifest_.fusion(), &CaseList::Fusion);
    run("pointwise_chain", manifest_.pointwise_chain(), &CaseList::Chain);
    run("divergence", manifest_.divergence(), &CaseList::Divergence);
    run("roofline", manifest_.roofline(), &CaseList::Roofline);
    if (!manifest_.has_schedule_comparison()) return;
    if (const absl::Status status = Schedules(manifest_.schedule_comparison()); !status.ok()) {
      log_.Fault("schedule_comparison", status.message());
    }
  }

 private:
  absl::Status Warp(const v1::WarpRequest& request) {
    const auto access = WarpAccessOf(request);
    if (!access.ok()) return access.status();
    const auto count =
        model::CountSectors(*access, Or(request.has_sector_bytes(), request.sector_bytes(), model::kSectorBytes));
    if (!count.ok()) return count.status();
    v1::Derived::Access* out = out_.add_warp_request();
    out->set_name(request.name());
    out->set_request_count(count->active_lane_count > 0 ? 1 : 0);
    out->set_useful_bytes(count->requested_bytes);
    out->set_sector_count(count->sector_count);
    out->set_transferred_bytes(count->transferred_bytes());
    if (count->sector_efficiency().has_value()) out->set_efficiency_ratio(*count->sector_efficiency());
    return absl::OkStatus();
  }

  absl::Status Tile(const v1::TileAccessCase& tile) {
    const model::MatrixView matrix{.rows = tile.rows(),
                                   .columns = tile.columns(),
                                   .row_stride_elements = tile.row_stride_elements(),
                                   .column_stride_elements = tile.column_stride_elements(),
                                   .element_bytes = tile.element_bytes(),
                                   .base_bytes = tile.base_bytes()};
    const model::TileOrigin origin{.row = tile.first_row(), .column = tile.first_column()};
    const model::OwnerMap map{.tile_rows = tile.tile_rows(),
                              .tile_columns = tile.tile_columns(),
                              .elements_per_lane = Or(tile.has_elements_per_lane(), tile.elements_per_lane(), 1),
                              .axis = tile.axis() == v1::TileAccessCase::AXIS_COLUMN ? model::OwnerAxis::kAlongColumn
                                                                                     : model::OwnerAxis::kAlongRow};
    model::SectorTotals totals;
    if (tile.has_request_index()) {
      const auto access = model::TileAccess(matrix, origin, map, tile.request_index());
      if (!access.ok()) return access.status();
      const auto count = model::CountSectors(*access);
      if (!count.ok()) return count.status();
      if (absl::Status status = totals.Add(*count); !status.ok()) return status;
    } else {
      const auto requests = map.RequestCount();
      if (!requests.ok()) return requests.status();
      if (*requests > tile_requests_left_) {
        return absl::ResourceExhaustedError(absl::StrCat("got a tile of ", *requests, " requests, expected at most ",
                                                         kMaxTileRequests,
                                                         " in all cases together (request_index evaluates one)"));
      }
      tile_requests_left_ -= *requests;
      const auto counted = model::CountTileSectors(matrix, origin, map);
      if (!counted.ok()) return counted.status();
      totals = *counted;
    }
    v1::Derived::Access* out = out_.add_tile_access();
    out->set_name(tile.name());
    out->set_request_count(totals.request_count);
    out->set_useful_bytes(totals.requested_bytes);
    out->set_sector_count(totals.sector_count);
    out->set_transferred_bytes(totals.transferred_bytes);
    if (totals.sector_efficiency().has_value()) out->set_efficiency_ratio(*totals.sector_efficiency());
    return absl::OkStatus();
  }

  absl::Status Bank(const v1::BankCase& bank) {
    const auto access = WarpAccessOf(bank);
    if (!access.ok()) return access.status();
    const auto count = model::CountBanks(*access);
    if (!count.ok()) return count.status();
    v1::Derived::BankAccess* out = out_.add_bank_case();
    out->set_name(bank.name());
    out->set_conflict_degree(count->conflict_degree);
    out->set_wavefront_count(count->wavefront_count);
    out->set_ideal_wavefront_count(count->ideal_wavefront_count);
    return absl::OkStatus();
  }

  absl::Status Stage(const v1::TileStageCase& stage) {
    const v1::Tile& tile = stage.has_tile() ? stage.tile() : manifest_.schedule().tile();
    const v1::Schedule& schedule = manifest_.schedule();
    const auto widths = ElementBitsOf(stage);
    if (!widths.ok()) return widths.status();
    const auto result =
        model::EvaluateTileStage({.block_m = tile.m(),
                                  .block_n = tile.n(),
                                  .block_k = tile.k(),
                                  .a_element_bits = widths->a,
                                  .b_element_bits = widths->b,
                                  .accumulator_element_bytes = stage.accumulator_element_bytes(),
                                  .stage_count = Or(stage.has_stage_count(), stage.stage_count(),
                                                    Or(schedule.has_stage_count(), schedule.stage_count(), 1))});
    if (!result.ok()) return result.status();
    v1::Derived::Stage* out = out_.add_tile_stage();
    out->set_name(stage.name());
    out->set_flops(result->flops);
    out->set_load_bytes(result->load_bytes);
    out->set_intensity_flops_per_byte(result->flops_per_byte);
    out->set_staging_bytes(result->staging_bytes);
    out->set_accumulator_bytes(result->accumulator_bytes);
    return absl::OkStatus();
  }

  absl::Status Gemm(const v1::GemmCase& gemm) {
    const v1::MatrixProduct& size = gemm.has_size() ? gemm.size() : manifest_.operation().matrix_product();
    const auto widths = ElementBitsOf(gemm);
    if (!widths.ok()) return widths.status();
    const auto c_bits = model::ElementBits("c_element_bytes", gemm.c_element_bytes());
    if (!c_bits.ok()) return c_bits.status();
    const model::Gemm input{.m = size.m(),
                            .n = size.n(),
                            .k = size.k(),
                            .a_element_bits = widths->a,
                            .b_element_bits = widths->b,
                            .c_element_bits = *c_bits};
    const auto result = model::EvaluateGemm(input);
    if (!result.ok()) return result.status();
    v1::Derived::Work out;
    out.set_name(gemm.name());
    out.set_flops(result->flops);
    out.set_compulsory_bytes(result->compulsory_bytes);
    out.set_intensity_flops_per_byte(result->flops_per_byte);
    if (gemm.has_tile()) {
      const auto tiled = model::EvaluateTiledGemm(input, gemm.tile().m(), gemm.tile().n());
      if (!tiled.ok()) return tiled.status();
      out.set_tiled_read_bytes(tiled->read_bytes);
      out.set_tiled_total_bytes(tiled->total_bytes);
      out.set_tiled_intensity_flops_per_byte(tiled->flops_per_byte);
    }
    *out_.add_gemm() = out;
    return absl::OkStatus();
  }

  absl::Status Pointwise(const v1::PointwiseCase& map) {
    const auto result = model::EvaluatePointwise({.element_count = map.element_count(),
                                                  .flops_per_element = map.flops_per_element(),
                                                  .read_bytes_per_element = map.read_bytes_per_element(),
                                                  .write_bytes_per_element = map.write_bytes_per_element()});
    if (!result.ok()) return result.status();
    v1::Derived::Work* out = out_.add_pointwise();
    out->set_name(map.name());
    out->set_flops(result->flops);
    out->set_compulsory_bytes(result->total_bytes);
    out->set_intensity_flops_per_byte(result->flops_per_byte);
    return absl::OkStatus();
  }

  absl::Status Fusion(const v1::FusionBoundary& boundary) {
    int64_t elements = 1;
    if (boundary.shape().empty()) return absl::InvalidArgumentError("shape: got none, expected the intermediate's");
    for (const int64_t axis : boundary.shape()) {
      if (absl::Status status = model::CheckPositive("shape", axis); !status.ok()) return status;
      const auto product = model::CheckedProduct("shape", elements, axis);
      if (!product.ok()) return product.status();
      elements = *product;
    }
    const auto saved = model::SavedRoundTripBytes(elements, boundary.element_bytes());
    if (!saved.ok()) return saved.status();
    v1::Derived::RoundTrip out;
    out.set_name(boundary.name());
    out.set_intermediate_bytes(*saved / 2);
    out.set_saved_bytes(*saved);
    if (!boundary.level().empty()) {
      const auto roof = machine_.MemoryRoof(boundary.level(), v1::ROOF_KIND_UNSPECIFIED);
      if (!roof.ok()) return roof.status();
      const auto seconds = model::TransferLowerBoundSeconds(*saved, roof->per_second);
      if (!seconds.ok()) return seconds.status();
      out.set_saved_seconds(*seconds);
      out.set_roof_kind(RoofKindOf(roof->kind));
    }
    *out_.add_fusion() = out;
    return absl::OkStatus();
  }

  absl::Status Chain(const v1::PointwiseChainCase& chain) {
    const auto result = model::EvaluateFusedChain({.operation_count = chain.operation_count(),
                                                   .element_count = chain.element_count(),
                                                   .element_bytes = chain.element_bytes(),
                                                   .side_input_bytes = chain.side_input_bytes()});
    if (!result.ok()) return result.status();
    v1::Derived::Chain* out = out_.add_pointwise_chain();
    out->set_name(chain.name());
    out->set_unfused_bytes(result->unfused_bytes);
    out->set_fused_bytes(result->fused_bytes);
    out->set_saved_bytes(result->saved_bytes);
    out->set_saved_launch_count(result->saved_launch_count);
    out->set_unfused_over_fused(result->unfused_over_fused);
    return absl::OkStatus();
  }

  absl::Status Divergence(const v1::DivergenceCase& divergence) {
    std::vector<double> ratios;
    std::vector<double> costs;
    for (const v1::DivergenceCase::Path& path : divergence.path()) {
      ratios.push_back(path.lane_ratio());
      costs.push_back(path.has_cost() ? path.cost() : 1);
    }
    const auto result = model::EvaluateDivergence(ratios, costs);
    if (!result.ok()) return result.status();
    v1::Derived::DivergedWarp* out = out_.add_divergence();
    out->set_name(divergence.name());
    out->set_taken_path_count(result->taken_path_count);
    if (result->over_longest().has_value()) out->set_over_longest(*result->over_longest());
    if (result->over_mean().has_value()) out->set_over_mean(*result->over_mean());
    return absl::OkStatus();
  }

  absl::Status Roofline(const v1::RooflineCase& roofline) {
    std::vector<model::ComputePath> paths;
    std::set<absl::string_view> path_names;
    for (const v1::RooflineCase::Work& work : roofline.work()) {
      // Two times of one roof would each be shorter than the time of both.
      if (!path_names.insert(work.path()).second) return GivenTwice("path", work.path());
      const auto roof = machine_.ComputeRoof(work.path(), roofline.roof_kind());
      if (!roof.ok()) return roof.status();
      paths.push_back({work.path(), work.flops(), roof->per_second, roof->kind});
    }
    std::vector<model::MemoryLevel> levels;
    std::set<absl::string_view> level_names;
    for (const v1::RooflineCase::Traffic& traffic : roofline.traffic()) {
      if (!level_names.insert(traffic.level()).second) return GivenTwice("level", traffic.level());
      const auto roof = machine_.MemoryRoof(traffic.level(), roofline.roof_kind());
      // Of a product a level's rate may be unknown, or known as a benchmark's result only. Without it the bound is
      // lower, and holds; but a level that no product has, or an empirical bound without its roof, is a mistake.
      const bool may_lack = machine_.has_device() && roofline.roof_kind() != v1::ROOF_KIND_EMPIRICAL &&
                            !absl::IsInvalidArgument(roof.status());
      if (may_lack && (!roof.ok() || roof->kind != CeilingKind::kTheoretical)) {
        log_.notes.push_back(absl::StrCat(
            "roofline ", Quoted(roofline.name()), " is without level ", Quoted(traffic.level()), ": ",
            roof.ok() ? absl::StrCat("its rate is ", model::CeilingKindName(roof->kind), ", the others are theoretical")
                      : std::string(roof.status().message())));
        continue;
      }
      if (!roof.ok()) return roof.status();
      levels.push_back({traffic.level(), traffic.bytes(), roof->per_second, roof->kind});
    }
    const auto bound = model::ComputeRooflineBound(paths, levels);
    if (!bound.ok()) return bound.status();
    v1::Derived::Bounds* out = out_.add_roofline();
    out->set_name(roofline.name());
    out->set_kind(RoofKindOf(bound->kind));
    for (size_t i = 0; i < paths.size(); ++i) {
      v1::Derived::Bounds::Path* path = out->add_path();
      path->set_path(std::string(paths[i].name));
      path->set_seconds(bound->paths[i].seconds);
      if (bound->paths[i].binds) out->add_binding(path->path());
    }
    for (size_t i = 0; i < levels.size(); ++i) {
      const model::LevelBound& part = bound->levels[i];
      v1::Derived::Bounds::Level* level = out->add_level();
      level->set_level(std::string(levels[i].name));
      level->set_seconds(part.seconds);
      if (part.intensity_flops_per_byte.has_value())
        level->set_intensity_flops_per_byte(*part.intensity_flops_per_byte);
      if (part.ridge_flops_per_byte.has_value()) level->set_ridge_flops_per_byte(*part.ridge_flops_per_byte);
      if (part.binds) out->add_binding(level->level());
    }
    out->set_lower_bound_seconds(bound->bound_seconds);
    if (paths.size() == 1 && bound->paths[0].binds) {
      // The roof itself, and not what rounding makes of work over time.
      out->set_attainable_flops_per_second(paths[0].flops_per_second);
    } else if (bound->attainable_flops_per_second.has_value()) {
      out->set_attainable_flops_per_second(*bound->attainable_flops_per_second);
    }
    return absl::OkStatus();
  }

  absl::Status Schedules(const v1::ScheduleComparison& comparison) {
    const v1::MatrixProduct& size = manifest_.operation().matrix_product();
    const v1::Schedule& schedule = manifest_.schedule();
    const auto widths = ElementBitsOf(comparison);
    if (!widths.ok()) return widths.status();
    const auto c_bits = model::ElementBits("c_element_bytes", comparison.c_element_bytes());
    if (!c_bits.ok()) return c_bits.status();
    const model::ScheduledGemm operation{.gemm = {.m = size.m(),
                                                  .n = size.n(),
                                                  .k = size.k(),
                                                  .a_element_bits = widths->a,
                                                  .b_element_bits = widths->b,
                                                  .c_element_bits = *c_bits},
                                         .accumulator_element_bytes = comparison.accumulator_element_bytes(),
                                         .pointwise_operation_count = comparison.pointwise_operation_count(),
                                         .pointwise_side_input_bytes = comparison.pointwise_side_input_bytes()};
    const absl::StatusOr<int64_t> threads = ExtentVolume("block", schedule.block());
    if (!threads.ok()) return threads.status();
    const model::GemmSchedule baseline{.block_m = schedule.tile().m(),
                                       .block_n = schedule.tile().n(),
                                       .block_k = schedule.tile().k(),
                                       .stage_count = Or(schedule.has_stage_count(), schedule.stage_count(), 1),
                                       .threads_per_block = *threads,
                                       .order = {.group_m = Or(schedule.has_group_m(), schedule.group_m(), 1)},
                                       .split_k = Or(comparison.has_split_k(), comparison.split_k(), 1),
                                       .reduction = comparison.reduction() == v1::ScheduleComparison::REDUCTION_ATOMICS
                                                        ? model::SplitKReduction::kAtomics
                                                        : model::SplitKReduction::kWorkspace,
                                       .persistent = comparison.persistent(),
                                       .fused_pointwise = comparison.fused_pointwise(),
                                       .other_registers_per_thread = comparison.other_registers_per_thread()};
    if (!machine_.sm_count().has_value() || !machine_.budget().has_value()) {
      return absl::InvalidArgumentError("machine: its SMs or what an SM has room for is not stated");
    }
    const auto result =
        model::CompareSchedules(operation, baseline,
                                {.sm_count = *machine_.sm_count(),
                                 .sm = *machine_.budget(),
                                 .exact_limits = machine_.limits().has_value() ? &*machine_.limits() : nullptr});
    if (!result.ok()) return result.status();
    for (const model::ScheduleRow& row : result->rows) {
      v1::Derived::ScheduleCost* out = out_.add_schedule();
      out->set_name(std::string(model::ScheduleKindName(row.kind)));
      if (row.cost.ok()) {
        SetScheduleCost(row.schedule, *row.cost, out);
      } else {
        out->set_absent_because(std::string(row.cost.status().message()));
      }
    }
    return absl::OkStatus();
  }

  const v1::Manifest& manifest_;
  MachineModel& machine_;
  v1::Derived& out_;
  FaultLog& log_;
  int64_t tile_requests_left_ = kMaxTileRequests;
};

}  // namespace

void DerivePrograms(const v1::Manifest& manifest, const model::TileGrid& grid, v1::Derived* derived, FaultLog* log) {
  const v1::Schedule& schedule = manifest.schedule();
  const model::ProgramOrder order{.group_m = schedule.has_group_m() ? schedule.group_m() : 1};
  ForEach("program", manifest.program(), log, [&](const v1::ProgramCase& program) {
    const auto tile = model::DecodeProgramId(grid, program.program_id(), order);
    if (!tile.ok()) return tile.status();
    v1::Derived::ProgramTile* out = derived->add_program();
    out->set_name(program.name());
    out->set_tile_m(tile->pid_m);
    out->set_tile_n(tile->pid_n);
    out->set_first_row(tile->m0);
    out->set_first_column(tile->n0);
    out->set_valid_rows(tile->valid_m);
    out->set_valid_columns(tile->valid_n);
    return absl::OkStatus();
  });
}

void DeriveCases(const v1::Manifest& manifest, MachineModel* machine, v1::Derived* derived, FaultLog* log) {
  CaseList(manifest, machine, derived, log).Evaluate();
}

}  // namespace gx::analysis
