#include "analysis/manifest/model_text.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/manifest/evidence_record.h"
#include "analysis/manifest/model_report.h"
#include "analysis/printable.h"
#include "analysis/text_table.h"
#include "analysis/text_writer.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr char kAbsent[] = "absent";

constexpr size_t kMaxTextColumns = 600;

// Text of a file: printable, and cut so that one name cannot make every line of a table as long.
std::string Shown(absl::string_view text, size_t width = 100) { return CutText(Printable(text), width); }

std::string Count(int64_t count) { return count < 0 ? absl::StrCat(count) : FormatCount(static_cast<uint64_t>(count)); }
std::string Percent(double ratio) { return absl::StrCat(ShortestDouble(100 * ratio), " %"); }
// The ratio of two counts is their quotient rounded once: 14 of 25 is 56 %, where 100 x 0.56 is not quite.
std::string Percent(double ratio, double part, double whole) {
  return part / whole == ratio ? absl::StrCat(ShortestDouble(100 * part / whole), " %") : Percent(ratio);
}
std::string Percent(double ratio, int64_t part, int64_t whole) {
  return Percent(ratio, static_cast<double>(part), static_cast<double>(whole));
}
std::string Plurals(int64_t count, absl::string_view singular) {
  return count < 0 ? absl::StrCat(count, " ", singular, "s") : Plural(static_cast<uint64_t>(count), singular);
}
std::string Seconds(double seconds) { return absl::StrCat(ShortestDouble(seconds), " s"); }

// "0.002 s (2.00 ms)"; below 1 ns there are no such words.
std::string SecondsInWords(double seconds) {
  return absl::StrCat(Seconds(seconds),
                      seconds >= 1e-9 && seconds < 1e9 ? absl::StrCat(" (", FormatNs(seconds * 1e9), ")") : "");
}

// Only a theoretical roof is a limit.
std::string RateWords(v1::RoofKind kind, double seconds) {
  if (kind == v1::ROOF_KIND_THEORETICAL) return absl::StrCat("at least ", SecondsInWords(seconds));
  return absl::StrCat(SecondsInWords(seconds), " at the ",
                      kind == v1::ROOF_KIND_EMPIRICAL ? "empirical rate" : "stated rate");
}

template <typename Strings>
std::string Joined(const Strings& strings, absl::string_view separator) {
  return absl::StrJoin(strings, separator,
                       [](std::string* out, const std::string& text) { absl::StrAppend(out, Shown(text)); });
}

std::string SizeText(const v1::Extent& extent) {
  std::string text = absl::StrCat(extent.has_x() ? extent.x() : 1);
  if (extent.has_y() || extent.has_z()) absl::StrAppend(&text, " x ", extent.has_y() ? extent.y() : 1);
  if (extent.has_z()) absl::StrAppend(&text, " x ", extent.z());
  return text;
}

class ModelText {
 public:
  ModelText(const v1::Manifest& manifest, const v1::ModelReport& report, bool colour)
      : manifest_(manifest), report_(report), derived_(report.derived()), out_(colour) {}

  std::string Write() {
    WriteProblems();
    WriteCase();
    WriteGridAndOccupancy();
    WriteAccess();
    WriteTilesAndWork();
    WriteSchedules();
    WriteRoofline();
    WriteReconciliation();
    WriteProvenance();
    return out_.Take();
  }

 private:
  void Problem(Colour colour, absl::string_view kind, const std::string& text) {
    out_.Line(absl::StrCat("  ", out_.Paint(colour, kind), " ", text));
  }

  void WriteProblems() {
    out_.Heading("MISMATCHES AND REFUSALS");
    bool any = false;
    for (const v1::Mismatch& mismatch : report_.mismatch()) {
      Problem(Colour::kRed, "mismatch",
              absl::StrCat(Shown(mismatch.field(), kMaxTextColumns), ": expected ",
                           Shown(mismatch.expected(), kMaxTextColumns), ", derived ",
                           Shown(mismatch.derived(), kMaxTextColumns)));
      any = true;
    }
    for (const v1::Fault& fault : report_.fault()) {
      Problem(Colour::kRed, "refused",
              absl::StrCat(Shown(fault.where(), kMaxTextColumns), ": ", Shown(fault.text(), kMaxTextColumns)));
      any = true;
    }
    for (const std::string& refusal : report_.reconciliation().refusal()) {
      Problem(Colour::kRed, "observation refused", Shown(refusal, kMaxTextColumns));
      any = true;
    }
    if (report_.reconciliation().model_violation()) {
      Problem(Colour::kRed, "model violation",
              "the observed median is below the lower bound: the model, its inputs or the observation is wrong");
      any = true;
    }
    const std::string compared = Plural(static_cast<uint64_t>(report_.compared_count()), "expected value");
    if (report_.compared_count() == 0) {
      out_.Line(any ? "  no expected values were compared" : "  none; no expected values were compared");
    } else if (report_.mismatch().empty()) {
      out_.Line(absl::StrCat(any ? "  " : "  none: ", compared, report_.compared_count() == 1 ? " is" : " are",
                             " exactly what is derived"));
    } else {
      out_.Line(absl::StrCat("  ", Count(report_.mismatch_size()), " of ", compared, " ",
                             report_.mismatch_size() == 1 ? "differs" : "differ"));
    }
    for (const std::string& note : report_.note()) Problem(Colour::kDim, "note", Shown(note, kMaxTextColumns));
  }

  void WriteCase() {
    out_.Heading("CASE");
    out_.Field("case", Shown(report_.case_id(), kMaxTextColumns));
    out_.Field("label",
               absl::StrCat(LabelWord(report_.label()), "; what is derived from it is analytical, never measured"));
    out_.Field("description", Shown(manifest_.description(), kMaxTextColumns));
    out_.Field("operation", Shown(manifest_.operation().semantic_equation(), kMaxTextColumns));
    const std::vector<std::string> missing = model::MissingParts(DispatchKeyFrom(report_.dispatch_key()));
    out_.Field("dispatch key",
               missing.empty() ? DispatchText() : absl::StrCat("not exact: lacks ", Joined(missing, ", ")));
    if (!report_.device().empty()) {
      out_.Field("machine", absl::StrCat(Shown(report_.device()), " (--device, in place of the manifest's machine)"));
    } else {
      out_.Field("machine", Shown(manifest_.machine().gpu_model()));
    }
    const v1::Schedule& schedule = manifest_.schedule();
    std::vector<std::string> parts;
    if (schedule.has_block()) parts.push_back(absl::StrCat("block of ", SizeText(schedule.block()), " threads"));
    if (schedule.has_cluster()) parts.push_back(absl::StrCat("cluster of ", SizeText(schedule.cluster()), " blocks"));
    if (schedule.has_tile()) {
      parts.push_back(
          absl::StrCat("tile ", schedule.tile().m(), " x ", schedule.tile().n(), " x ", schedule.tile().k()));
    }
    if (schedule.has_stage_count()) parts.push_back(Plurals(schedule.stage_count(), "stage"));
    if (schedule.has_registers_per_thread()) {
      parts.push_back(absl::StrCat(Plurals(schedule.registers_per_thread(), "register"), " a thread"));
    }
    if (schedule.has_shared_memory_per_block_bytes()) {
      parts.push_back(absl::StrCat(Count(schedule.shared_memory_per_block_bytes()), " B of shared memory a block"));
    }
    out_.Field("schedule", absl::StrJoin(parts, ", "));
  }

  std::string DispatchText() const {
    const v1::DispatchKey& key = report_.dispatch_key();
    std::string text = absl::StrCat(Shown(key.framework()), ", ", Shown(key.route()), ", ", Shown(key.backend()), ", ",
                                    Shown(key.kernel_symbol()));
    for (const auto& tensor : key.tensor()) {
      absl::StrAppend(&text, "; ", Shown(tensor.name()), " ", Shown(tensor.dtype()), " [",
                      absl::StrJoin(tensor.shape(), ","), "] strides [", absl::StrJoin(tensor.stride(), ","), "]");
    }
    if (!key.flag().empty()) absl::StrAppend(&text, "; ", Joined(key.flag(), " "));
    return text;
  }

  void WriteGridAndOccupancy() {
    if (!derived_.has_grid() && !derived_.has_occupancy() && !derived_.has_exact_occupancy()) return;
    out_.Heading("GRID, OCCUPANCY, WAVES");
    const v1::Derived::Grid& grid = derived_.grid();
    std::vector<std::string> parts;
    if (grid.has_tile_m_count()) {
      parts.push_back(absl::StrCat(Count(grid.tile_m_count()), " x ", Plurals(grid.tile_n_count(), "output tile")));
    }
    if (grid.has_block_count()) parts.push_back(Plurals(grid.block_count(), "block"));
    out_.Field("grid", absl::StrJoin(parts, ", "));
    if (grid.has_issued_m()) {
      const v1::MatrixProduct& size = manifest_.operation().matrix_product();
      const auto area = [](int64_t m, int64_t n) { return static_cast<double>(m) * static_cast<double>(n); };
      out_.Field("tiles cover", absl::StrCat(Count(grid.issued_m()), " x ", Count(grid.issued_n()), ", of which ",
                                             Percent(grid.tile_efficiency_ratio(), area(size.m(), size.n()),
                                                     area(grid.issued_m(), grid.issued_n())),
                                             " is the result"));
    }
    for (const v1::Derived::ProgramTile& tile : derived_.program()) {
      out_.Field("program",
                 absl::StrCat(Shown(tile.name()), ": tile ", tile.tile_m(), ", ", tile.tile_n(), "; from row ",
                              Count(tile.first_row()), ", column ", Count(tile.first_column()), ": ",
                              Count(tile.valid_rows()), " x ", Count(tile.valid_columns()), " inside"));
    }
    WriteOccupancyTable();
  }

  // Two columns where both kinds of occupancy are there.
  void WriteOccupancyTable() {
    struct Kind {
      const char* title;
      const v1::Derived::Occupancy* occupancy;
      const v1::Derived::Waves* waves;
    };
    std::vector<Kind> kinds;
    if (derived_.has_occupancy()) {
      kinds.push_back({"first order", &derived_.occupancy(), derived_.has_waves() ? &derived_.waves() : nullptr});
    }
    if (derived_.has_exact_occupancy()) {
      kinds.push_back(
          {"exact rules", &derived_.exact_occupancy(), derived_.has_exact_waves() ? &derived_.exact_waves() : nullptr});
    }
    if (kinds.empty()) return;
    TextTable table;
    table.Add({.title = "", .right = false});
    for (const Kind& kind : kinds) table.Add({.title = kind.title});
    bool any_row_of_waves = false;
    const auto row = [&](absl::string_view title, const auto& text_of) {
      std::vector<std::string> cells;
      bool any = false;
      for (const Kind& kind : kinds) {
        cells.push_back(text_of(kind));
        any |= !cells.back().empty();
      }
      if (!any) return;
      table.Put(std::string(title));
      for (std::string& cell : cells) table.Put(cell.empty() ? "-" : std::move(cell));
    };
    const auto limit = [&row](absl::string_view title, auto has, auto get) {
      row(title, [has, get](const Kind& kind) {
        return (kind.occupancy->*has)() ? Count((kind.occupancy->*get)()) : std::string();
      });
    };
    using O = v1::Derived::Occupancy;
    limit("blocks by block slots", &O::has_blocks_by_block_slots, &O::blocks_by_block_slots);
    limit("blocks by threads", &O::has_blocks_by_threads, &O::blocks_by_threads);
    limit("blocks by warps", &O::has_blocks_by_warps, &O::blocks_by_warps);
    limit("blocks by registers", &O::has_blocks_by_registers, &O::blocks_by_registers);
    limit("blocks by shared memory", &O::has_blocks_by_shared_memory, &O::blocks_by_shared_memory);
    limit("blocks by barriers", &O::has_blocks_by_barriers, &O::blocks_by_barriers);
    limit("blocks by virtual resources", &O::has_blocks_by_virtual_resources, &O::blocks_by_virtual_resources);
    limit("resident blocks per SM", &O::has_resident_blocks_per_sm, &O::resident_blocks_per_sm);
    row("limited by", [](const Kind& kind) { return Joined(kind.occupancy->limiter(), " + "); });
    row("next limit", [](const Kind& kind) {
      return kind.occupancy->has_next_limit_blocks_per_sm()
                 ? absl::StrCat(Count(kind.occupancy->next_limit_blocks_per_sm()), " by ",
                                Joined(kind.occupancy->next_limiter(), " + "))
                 : std::string();
    });
    limit("active warps per SM", &O::has_active_warps_per_sm, &O::active_warps_per_sm);
    row("occupancy", [](const Kind& kind) {
      const double ratio = kind.occupancy->occupancy_ratio();
      const auto warps = static_cast<double>(kind.occupancy->active_warps_per_sm());
      // Of the warps that an SM has room for, which is a whole number.
      return ratio > 0 ? Percent(ratio, warps, std::round(warps / ratio)) : Percent(ratio);
    });
    const auto wave = [&row, &any_row_of_waves](absl::string_view title, const auto& text_of) {
      row(title, [&](const Kind& kind) {
        any_row_of_waves |= kind.waves != nullptr;
        return kind.waves == nullptr ? std::string() : std::string(text_of(*kind.waves));
      });
    };
    using W = v1::Derived::Waves;
    wave("concurrent block slots", [](const W& waves) {
      return absl::StrCat(waves.slots_are_upper_bound() ? "at most " : "", Count(waves.slot_count()));
    });
    wave("waves", [](const W& waves) { return Count(waves.wave_count()); });
    wave("blocks in the last wave", [](const W& waves) { return Count(waves.last_wave_block_count()); });
    wave("fill of the last wave", [](const W& waves) {
      return waves.has_last_wave_fill_ratio()
                 ? Percent(waves.last_wave_fill_ratio(), waves.last_wave_block_count(), waves.slot_count())
                 : "";
    });
    const auto blocks = static_cast<double>(derived_.grid().block_count());
    wave("mean fill of the waves", [blocks](const W& waves) {
      return waves.has_mean_fill_ratio()
                 ? Percent(waves.mean_fill_ratio(), blocks,
                           static_cast<double>(waves.slot_count()) * static_cast<double>(waves.wave_count()))
                 : "";
    });
    Table(table);
    if (derived_.has_exact_occupancy()) WriteExact(derived_.exact_occupancy());
    out_.Line("  Occupancy is residency, not utilization; waves are arithmetic over slots, not a timeline.");
  }

  void WriteExact(const v1::Derived::Occupancy& exact) {
    if (exact.has_refusal()) out_.Field("no block fits", Shown(exact.refusal(), kMaxTextColumns));
    if (exact.has_allocated_registers_per_block()) {
      out_.Field("allocated a block",
                 absl::StrCat(Count(exact.allocated_registers_per_block()), " registers, ",
                              Count(exact.allocated_shared_memory_per_block_bytes()), " B of shared memory"));
    }
    if (exact.has_carveout_bytes()) {
      out_.Field("carve-out", absl::StrCat(Count(exact.carveout_bytes()), " B of shared memory an SM"));
    }
    if (!exact.has_step_up()) return;
    const v1::Derived::StepUp& step = exact.step_up();
    std::vector<std::string> parts;
    if (step.has_threads_per_block())
      parts.push_back(absl::StrCat("threads a block <= ", Count(step.threads_per_block())));
    if (step.has_registers_per_thread()) {
      parts.push_back(absl::StrCat("registers a thread <= ", Count(step.registers_per_thread())));
    }
    std::vector<std::string> memory;
    if (step.has_shared_memory_per_block_bytes()) {
      memory.push_back(absl::StrCat("shared memory a block <= ", Count(step.shared_memory_per_block_bytes()), " B"));
    }
    // In place of less shared memory.
    if (step.has_carveout_bytes()) {
      memory.push_back(absl::StrCat("a carve-out of ", Count(step.carveout_bytes()), " B"));
    }
    if (!memory.empty()) parts.push_back(absl::StrJoin(memory, " or "));
    if (step.has_barriers_per_block())
      parts.push_back(absl::StrCat("barriers a block <= ", Count(step.barriers_per_block())));
    out_.Field("one more block",
               !step.is_possible()
                   ? "is not possible by changing the block"
                   : absl::StrCat(Count(step.resident_blocks_per_sm()),
                                  " per SM, once all that limits has given way: ", absl::StrJoin(parts, ", ")));
  }

  void WriteAccess() {
    if (derived_.warp_request().empty() && derived_.tile_access().empty() && derived_.bank_case().empty()) return;
    out_.Heading("ACCESS");
    if (!derived_.warp_request().empty() || !derived_.tile_access().empty()) {
      TextTable table;
      table.Add({.title = "global memory", .right = false});
      for (const char* title : {"requests", "useful", "sectors", "transferred", "efficiency"})
        table.Add({.title = title});
      for (const auto* list : {&derived_.warp_request(), &derived_.tile_access()}) {
        for (const v1::Derived::Access& access : *list) {
          table.Put(Shown(access.name()));
          table.Put(Count(access.request_count()));
          table.Put(absl::StrCat(Count(access.useful_bytes()), " B"));
          table.Put(Count(access.sector_count()));
          table.Put(absl::StrCat(Count(access.transferred_bytes()), " B"));
          table.Put(access.has_efficiency_ratio()
                        ? Percent(access.efficiency_ratio(), access.useful_bytes(), access.transferred_bytes())
                        : kAbsent);
        }
      }
      Table(table);
    }
    if (!derived_.bank_case().empty()) {
      if (!derived_.warp_request().empty() || !derived_.tile_access().empty()) out_.Line("");
      TextTable table;
      table.Add({.title = "shared memory", .right = false});
      for (const char* title : {"conflict", "wavefronts", "without conflicts"}) table.Add({.title = title});
      for (const v1::Derived::BankAccess& access : derived_.bank_case()) {
        table.Put(Shown(access.name()));
        table.Put(access.conflict_degree() <= 1 ? "free" : absl::StrCat(access.conflict_degree(), "-way"));
        table.Put(Count(access.wavefront_count()));
        table.Put(Count(access.ideal_wavefront_count()));
      }
      Table(table);
    }
    out_.Line("  Counted at the boundary of the request: caches decide how much of it reaches DRAM.");
  }

  void WriteTilesAndWork() {
    if (derived_.tile_stage().empty() && derived_.gemm().empty() && derived_.pointwise().empty() &&
        derived_.fusion().empty() && derived_.pointwise_chain().empty() && derived_.divergence().empty()) {
      return;
    }
    out_.Heading("TILES, WORK, FUSION");
    for (const v1::Derived::Stage& stage : derived_.tile_stage()) {
      out_.Field("tile stage",
                 absl::StrCat(Shown(stage.name()), ": ", Count(stage.flops()), " FLOP, ", Count(stage.load_bytes()),
                              " B, ", ShortestDouble(stage.intensity_flops_per_byte()), " FLOP/B"));
      out_.Field("", absl::StrCat("staging ", Count(stage.staging_bytes()), " B of shared memory, accumulators ",
                                  Count(stage.accumulator_bytes()), " B"));
    }
    const auto work = [this](absl::string_view kind, const v1::Derived::Work& item) {
      out_.Field(kind,
                 absl::StrCat(Shown(item.name()), ": ", Count(item.flops()), " FLOP, ", Count(item.compulsory_bytes()),
                              " B compulsory, ", ShortestDouble(item.intensity_flops_per_byte()), " FLOP/B"));
      if (item.has_tiled_total_bytes()) {
        out_.Field("", absl::StrCat("without reuse between tiles: ", Count(item.tiled_read_bytes()), " B read, ",
                                    Count(item.tiled_total_bytes()), " B in all, ",
                                    ShortestDouble(item.tiled_intensity_flops_per_byte()), " FLOP/B"));
      }
    };
    for (const v1::Derived::Work& item : derived_.gemm()) work("gemm", item);
    for (const v1::Derived::Work& item : derived_.pointwise()) work("pointwise", item);
    for (const v1::Derived::RoundTrip& trip : derived_.fusion()) {
      out_.Field("fusion",
                 absl::StrCat(Shown(trip.name()), ": ", Count(trip.saved_bytes()),
                              " B removed (one write and one read of ", Count(trip.intermediate_bytes()), " B)"));
      if (trip.has_saved_seconds()) {
        out_.Field("", absl::StrCat("moving them takes ", RateWords(trip.roof_kind(), trip.saved_seconds()),
                                    "; no prediction of what fusing gains"));
      }
    }
    for (const v1::Derived::Chain& chain : derived_.pointwise_chain()) {
      out_.Field("pointwise chain",
                 absl::StrCat(Shown(chain.name()), ": ", Count(chain.unfused_bytes()), " B unfused, ",
                              Count(chain.fused_bytes()), " B fused (ratio ",
                              ShortestDouble(chain.unfused_over_fused()), "), ", Count(chain.saved_launch_count()),
                              chain.saved_launch_count() == 1 ? " launch fewer" : " launches fewer"));
    }
    for (const v1::Derived::DivergedWarp& warp : derived_.divergence()) {
      out_.Field(
          "divergence",
          absl::StrCat(
              Shown(warp.name()), ": ", Plurals(warp.taken_path_count(), "path"),
              warp.has_over_longest() ? absl::StrCat(", ", ShortestDouble(warp.over_longest()), " x the longest") : "",
              warp.has_over_mean() ? absl::StrCat(", ", ShortestDouble(warp.over_mean()), " x the mean lane") : ""));
    }
  }

  void WriteSchedules() {
    if (derived_.schedule().empty()) return;
    out_.Heading("SCHEDULES side by side");
    TextTable table;
    table.Add({.title = "", .right = false});
    for (const char* title :
         {"tile", "stages", "split", "useful FLOP", "operands read B", "distinct in waves B", "reduction B",
          "pointwise B", "total B", "launches", "blocks", "staging B", "regs", "blocks/SM"}) {
      table.Add({.title = title});
    }
    table.Add({.title = "limited by", .right = false});
    for (const char* title : {"waves", "last fill"}) table.Add({.title = title});
    for (const v1::Derived::ScheduleCost& cost : derived_.schedule()) {
      if (cost.has_absent_because()) continue;
      table.Put(Shown(cost.name()));
      table.Put(absl::StrCat(cost.tile_m(), "x", cost.tile_n()));
      table.Put(Count(cost.stage_count()));
      table.Put(Count(cost.split_k()));
      table.Put(FormatRatio(cost.useful_flops_ratio()));
      table.Put(Count(cost.operand_read_bytes()));
      table.Put(cost.has_wave_operand_bytes() ? Count(cost.wave_operand_bytes()) : "-");
      table.Put(Count(cost.reduction_bytes()));
      table.Put(Count(cost.pointwise_bytes()));
      table.Put(Count(cost.total_bytes()));
      table.Put(Count(cost.launch_count()));
      table.Put(cost.has_block_count() ? Count(cost.block_count()) : "-");
      table.Put(Count(cost.staging_bytes()));
      table.Put(absl::StrCat(cost.registers_per_thread(), cost.registers_spill() ? "+spill" : ""));
      table.Put(Count(cost.resident_blocks_per_sm()));
      table.Put(Joined(cost.limiter(), " + "));
      table.Put(cost.has_wave_count() ? Count(cost.wave_count()) : "-");
      table.Put(cost.has_last_wave_fill_ratio() ? FormatRatio(cost.last_wave_fill_ratio()) : "-");
    }
    Table(table);
    for (const v1::Derived::ScheduleCost& cost : derived_.schedule()) {
      if (cost.has_absent_because()) {
        out_.Line(absl::StrCat("  ", Shown(cost.name()), ": ", Shown(cost.absent_because(), kMaxTextColumns)));
      } else if (cost.has_busiest_block_tile_count()) {
        out_.Line(absl::StrCat("  ", Shown(cost.name()), ": ", Plurals(cost.busiest_block_tile_count(), "tile"),
                               " for the busiest block"));
      }
    }
    out_.Line("  Registers are an estimate from the accumulators; bytes are what blocks ask for, before any cache.");
  }

  void WriteRoofline() {
    if (derived_.roofline().empty()) return;
    out_.Heading("ROOFLINE");
    for (const v1::Derived::Bounds& bounds : derived_.roofline()) {
      out_.Field("lower bound",
                 absl::StrCat(Shown(bounds.name()), ": ", SecondsInWords(bounds.lower_bound_seconds()), ", ",
                              bounds.binding().empty() ? "nothing binds"
                                                       : absl::StrCat(Joined(bounds.binding(), " + "), " binds")));
      out_.Field("roofs", bounds.kind() == v1::ROOF_KIND_EMPIRICAL ? "empirical" : "theoretical");
      if (bounds.has_attainable_flops_per_second()) {
        out_.Field("attainable", absl::StrCat(ShortestDouble(bounds.attainable_flops_per_second()), " FLOP/s"));
      }
      TextTable table;
      table.Add({.title = "", .right = false});
      for (const char* title : {"at least", "intensity FLOP/B", "ridge FLOP/B"}) table.Add({.title = title});
      for (const v1::Derived::Bounds::Path& path : bounds.path()) {
        table.Put(Shown(path.path()));
        table.Put(Seconds(path.seconds()));
        table.Put("-");
        table.Put("-");
      }
      for (const v1::Derived::Bounds::Level& level : bounds.level()) {
        table.Put(Shown(level.level()));
        table.Put(Seconds(level.seconds()));
        table.Put(level.has_intensity_flops_per_byte() ? ShortestDouble(level.intensity_flops_per_byte()) : "-");
        table.Put(level.has_ridge_flops_per_byte() ? ShortestDouble(level.ridge_flops_per_byte()) : "-");
      }
      Table(table);
    }
    out_.Line("  A bound is not a forecast, and the distance to it is not a cause.");
  }

  void WriteReconciliation() {
    if (!report_.has_reconciliation()) return;
    const v1::Reconciliation& reconciliation = report_.reconciliation();
    out_.Heading("PREDICTED AND OBSERVED");
    out_.Field("status", reconciliation.refusal().empty() ? LabelWord(reconciliation.status())
                                                          : out_.Paint(Colour::kRed, "observation refused"));
    out_.Field("observed median", reconciliation.has_observed_median_seconds()
                                      ? SecondsInWords(reconciliation.observed_median_seconds())
                                      : kAbsent);
    if (reconciliation.has_observed_median_seconds()) {
      out_.Field("samples", absl::StrCat(Count(reconciliation.sample_count()), ", ",
                                         Seconds(reconciliation.observed_min_seconds()), " to ",
                                         Seconds(reconciliation.observed_max_seconds())));
      out_.Field("dispersion",
                 absl::StrCat("median absolute deviation ", Seconds(reconciliation.median_absolute_deviation_seconds()),
                              ", interquartile range ", Seconds(reconciliation.interquartile_range_seconds())));
      out_.Field("tail (p95)", SecondsInWords(reconciliation.p95_seconds()));
    }
    out_.Field("predicted bound",
               reconciliation.has_lower_bound_seconds()
                   ? absl::StrCat(SecondsInWords(reconciliation.lower_bound_seconds()), ", lower bound of roofline '",
                                  Shown(reconciliation.lower_bound_case()), "'")
                   : kAbsent);
    out_.Field("residual", !reconciliation.has_residual_seconds() ? std::string(kAbsent)
                           : reconciliation.model_violation()
                               ? out_.Paint(Colour::kRed, absl::StrCat(Seconds(reconciliation.residual_seconds()),
                                                                       ": below the bound, a model violation"))
                               : SecondsInWords(reconciliation.residual_seconds()));
  }

  void WriteProvenance() {
    if (report_.provenance().empty()) return;
    out_.Heading("PROVENANCE");
    TextTable table;
    table.Add({.title = "value", .right = false});
    table.Add({.title = ""});
    table.Add({.title = "from", .right = false});
    table.Add({.title = "source", .right = false});
    for (const v1::Provenance& item : report_.provenance()) {
      table.Put(Shown(item.name()));
      table.Put(Shown(item.value()));
      table.Put(item.origin() == v1::Provenance::ORIGIN_DEVICE  ? "device"
                : item.origin() == v1::Provenance::ORIGIN_TABLE ? "table"
                                                                : "manifest");
      table.Put(item.source().empty() ? "-" : Shown(item.source(), kMaxTextColumns));
    }
    Table(table);
  }

  void Table(const TextTable& table) {
    for (const std::string& line : table.Lines(0)) out_.Line(line);
  }

  const v1::Manifest& manifest_;
  const v1::ModelReport& report_;
  const v1::Derived& derived_;
  TextWriter out_;
};

}  // namespace

std::string ModelReportText(const v1::Manifest& manifest, const v1::ModelReport& report, bool colour) {
  return ModelText(manifest, report, colour).Write();
}

}  // namespace gx::analysis
