#include "analysis/manifest/machine_model.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/model/peaks.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using model::CeilingKind;
using v1::Provenance;

CeilingKind KindFrom(v1::RoofKind kind) {
  switch (kind) {
    case v1::ROOF_KIND_THEORETICAL:
      return CeilingKind::kTheoretical;
    case v1::ROOF_KIND_EMPIRICAL:
      return CeilingKind::kEmpirical;
    default:
      return CeilingKind::kUnspecified;
  }
}

constexpr absl::string_view kSmTable = "limits of the compute capability";

// The source of a table's rate, with what is to be known of it.
std::string SourceText(absl::string_view source, model::SourceKind kind, bool conflict, absl::string_view note) {
  return absl::StrCat(source, " (", model::SourceKindName(kind), conflict ? "; sources disagree" : "", ")",
                      note.empty() ? "" : ": ", note);
}

// For a message: a few names are enough.
void AddKnown(absl::string_view name, std::vector<std::string>* known) {
  constexpr size_t kMaxKnown = 8;
  if (known->size() < kMaxKnown) known->push_back(Quoted(name));
}

absl::StatusOr<MachineRoof> NoEmpiricalRoof(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("a product has no empirical roof of ", Quoted(name)));
}

}  // namespace

MachineModel::MachineModel(const v1::Machine& machine, const model::Product* device, FaultLog* log)
    : machine_(machine), device_(device) {
  device_ != nullptr ? UseProduct(log) : UseManifest(log);
}

void MachineModel::Remember(absl::string_view name, std::string value, Provenance::Origin origin,
                            absl::string_view source) {
  // A path or level may have a theoretical and an empirical roof: the source tells them apart.
  if (!remembered_.emplace(name, source).second) return;
  Provenance& item = provenance_.emplace_back();
  item.set_name(std::string(name));
  item.set_value(std::move(value));
  item.set_origin(origin);
  item.set_source(std::string(source));
}

void MachineModel::UseProduct(FaultLog* log) {
  const std::string source = SourceText(device_->source, device_->source_kind, device_->conflict, device_->note);
  sm_count_ = device_->sm_count;
  Remember("sm_count", absl::StrCat(device_->sm_count), Provenance::ORIGIN_DEVICE, source);
  Remember("compute_capability", device_->compute_capability.ToString(), Provenance::ORIGIN_DEVICE, source);
  const auto row = log->Take("machine.compute_capability", model::FindSmLimits(device_->compute_capability));
  if (!row.has_value()) return;
  limits_ = **row;
  budget_ = model::FirstOrderBudget(*limits_);
  const auto remember = [this](absl::string_view name, int64_t value) {
    Remember(name, absl::StrCat(value), Provenance::ORIGIN_TABLE,
             absl::StrCat(kSmTable, " ", device_->compute_capability.ToString()));
  };
  remember("max_resident_threads", limits_->max_threads_per_sm_count);
  remember("max_resident_warps", limits_->max_warps_per_sm_count());
  remember("max_resident_blocks", limits_->max_blocks_per_sm_count);
  remember("register_count", limits_->registers_per_sm_count);
  remember("shared_memory_bytes", limits_->shared_memory_per_sm_bytes);
}

void MachineModel::UseManifest(FaultLog* log) {
  if (machine_.has_sm_count()) {
    sm_count_ = machine_.sm_count();
    Remember("sm_count", absl::StrCat(machine_.sm_count()), Provenance::ORIGIN_MANIFEST, "");
  }
  std::optional<model::SmBudget> table;
  std::string table_source;
  if (!machine_.compute_capability().empty()) {
    const auto capability =
        log->Take("machine.compute_capability", model::ParseComputeCapability(machine_.compute_capability()));
    if (capability.has_value()) {
      Remember("compute_capability", capability->ToString(), Provenance::ORIGIN_MANIFEST, "");
      const auto row = log->Take("machine.compute_capability", model::FindSmLimits(*capability));
      if (row.has_value()) {
        table = model::FirstOrderBudget(**row);
        table_source = absl::StrCat(kSmTable, " ", capability->ToString());
        model::DeviceSmValues stated;
        if (machine_.has_warp_size_threads()) stated.warp_threads_count = machine_.warp_size_threads();
        if (machine_.has_max_resident_threads()) stated.max_threads_per_sm_count = machine_.max_resident_threads();
        if (machine_.has_max_resident_blocks()) stated.max_blocks_per_sm_count = machine_.max_resident_blocks();
        if (machine_.has_register_count()) stated.registers_per_sm_count = machine_.register_count();
        if (machine_.has_shared_memory_bytes()) stated.shared_memory_per_sm_bytes = machine_.shared_memory_bytes();
        // The rules know warps as threads / 32: fewer of them are fewer threads, or the exact limit would be above the
        // first-order one.
        const int64_t threads = stated.max_threads_per_sm_count.value_or((*row)->max_threads_per_sm_count);
        const int64_t warps = machine_.max_resident_warps();
        if (machine_.has_max_resident_warps() && warps > 0 && warps < threads / model::kWarpThreadsCount) {
          stated.max_threads_per_sm_count = warps * model::kWarpThreadsCount;
          log->notes.push_back(absl::StrCat("machine.max_resident_warps is ", warps, ": the exact rules take ",
                                            warps * model::kWarpThreadsCount, " resident threads"));
        }
        limits_ = log->Take("machine", model::ApplyDeviceValues(**row, stated));
      }
    }
  }
  // The manifest's own value, else the table's.
  const auto take = [&](absl::string_view name, bool stated, int64_t value, std::optional<int64_t> of_table) {
    if (stated) {
      Remember(name, absl::StrCat(value), Provenance::ORIGIN_MANIFEST, "");
      return value;
    }
    if (of_table.has_value()) {
      Remember(name, absl::StrCat(*of_table), Provenance::ORIGIN_TABLE, table_source);
      return *of_table;
    }
    missing_.push_back(absl::StrCat("machine.", name));
    return int64_t{0};
  };
  const auto of = [&table](int64_t model::SmBudget::*field) {
    return table.has_value() ? std::optional<int64_t>((*table).*field) : std::nullopt;
  };
  model::SmBudget budget;
  if (machine_.has_max_resident_threads() || table.has_value()) {
    budget.max_threads_count =
        take("max_resident_threads", machine_.has_max_resident_threads(), machine_.max_resident_threads(),
             table.has_value() ? table->max_threads_count : std::nullopt);
  }
  budget.max_warps_count = take("max_resident_warps", machine_.has_max_resident_warps(), machine_.max_resident_warps(),
                                of(&model::SmBudget::max_warps_count));
  budget.max_blocks_count = take("max_resident_blocks", machine_.has_max_resident_blocks(),
                                 machine_.max_resident_blocks(), of(&model::SmBudget::max_blocks_count));
  budget.registers_count = take("register_count", machine_.has_register_count(), machine_.register_count(),
                                of(&model::SmBudget::registers_count));
  budget.shared_memory_bytes = take("shared_memory_bytes", machine_.has_shared_memory_bytes(),
                                    machine_.shared_memory_bytes(), of(&model::SmBudget::shared_memory_bytes));
  // Every GPU with CUDA has warps of 32.
  if (machine_.has_warp_size_threads()) {
    budget.warp_threads_count = machine_.warp_size_threads();
    Remember("warp_size_threads", absl::StrCat(machine_.warp_size_threads()), Provenance::ORIGIN_MANIFEST, "");
  }
  if (missing_.empty()) budget_ = budget;
}

absl::StatusOr<MachineRoof> MachineModel::ComputeRoofOfTable(absl::string_view path) {
  const absl::StatusOr<model::RatePath> rate_path = model::ParseRatePath(path);
  if (!rate_path.ok()) return rate_path.status();
  model::PeakInput input{.path = *rate_path};
  if (device_ != nullptr) {
    input.compute_capability = device_->compute_capability;
    input.product_class = device_->product_class;
    input.table_sm_count = device_->sm_count;
    input.table_clock_hz = device_->boost_clock_hz;
  } else {
    input.compute_capability = limits_->compute_capability;
    input.product_class = model::ProductClassOfName(machine_.gpu_model());
    input.device.source = "manifest";
    if (machine_.has_sm_count()) input.device.sm_count = machine_.sm_count();
    if (machine_.has_sm_clock_hz()) input.device.sm_clock_hz = machine_.sm_clock_hz();
  }
  const absl::StatusOr<model::Peak> peak = model::ComputePeak(input);
  if (!peak.ok()) return peak.status();
  const std::string rate =
      absl::StrCat(FormatDecimal(peak->operations_per_clock_per_sm.value, 3), " per clock and SM x ",
                   FormatDecimal(peak->sm_count.value, 0), " SMs x ", FormatHz(peak->clock_hz.value));
  Remember(
      absl::StrCat("compute_roof ", path), absl::StrCat(ShortestDouble(peak->operations_per_second), " FLOP/s"),
      device_ != nullptr ? Provenance::ORIGIN_DEVICE : Provenance::ORIGIN_TABLE,
      absl::StrCat("theoretical, ", rate, "; ",
                   SourceText(peak->operations_per_clock_per_sm.source,
                              peak->source_kind.value_or(model::SourceKind::kUnsourced), peak->conflict, peak->note)));
  return MachineRoof{peak->operations_per_second, CeilingKind::kTheoretical};
}

absl::StatusOr<MachineRoof> MachineModel::ComputeRoof(absl::string_view path, v1::RoofKind kind) {
  if (device_ != nullptr) {
    return kind == v1::ROOF_KIND_EMPIRICAL ? NoEmpiricalRoof(path) : ComputeRoofOfTable(path);
  }
  std::vector<std::string> known;
  for (const v1::ComputeRoof& roof : machine_.compute_roof()) {
    AddKnown(roof.path(), &known);
    if (roof.path() != path || (kind != v1::ROOF_KIND_UNSPECIFIED && roof.kind() != kind)) continue;
    const CeilingKind ceiling = KindFrom(roof.kind());
    Remember(absl::StrCat("compute_roof ", path), absl::StrCat(ShortestDouble(roof.flops_per_second()), " FLOP/s"),
             Provenance::ORIGIN_MANIFEST,
             absl::StrCat(model::CeilingKindName(ceiling), roof.source().empty() ? "" : ", ", roof.source()));
    return MachineRoof{roof.flops_per_second(), ceiling};
  }
  std::string table_too;
  if (limits_.has_value() && kind != v1::ROOF_KIND_EMPIRICAL) {
    absl::StatusOr<MachineRoof> roof = ComputeRoofOfTable(path);
    if (roof.ok()) return roof;
    table_too = absl::StrCat("; the table of peaks: ", roof.status().message());
  }
  return absl::NotFoundError(absl::StrCat("path ", Quoted(path), ": machine.compute_roof has ",
                                          known.empty() ? "none" : absl::StrJoin(known, ", "), table_too));
}

absl::StatusOr<MachineRoof> MachineModel::MemoryRoof(absl::string_view level, v1::RoofKind kind) {
  const std::string name = absl::StrCat("memory_roof ", level);
  if (device_ == nullptr) {
    std::vector<std::string> known;
    for (const v1::MemoryRoof& roof : machine_.memory_roof()) {
      AddKnown(roof.level(), &known);
      if (roof.level() != level || (kind != v1::ROOF_KIND_UNSPECIFIED && roof.kind() != kind)) continue;
      const CeilingKind ceiling = KindFrom(roof.kind());
      Remember(name, absl::StrCat(ShortestDouble(roof.bytes_per_second()), " B/s"), Provenance::ORIGIN_MANIFEST,
               absl::StrCat(model::CeilingKindName(ceiling), roof.source().empty() ? "" : ", ", roof.source()));
      return MachineRoof{roof.bytes_per_second(), ceiling};
    }
    return absl::NotFoundError(absl::StrCat("level ", Quoted(level), ": machine.memory_roof has ",
                                            known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
  const bool empirical = kind == v1::ROOF_KIND_EMPIRICAL;
  if (level == "dram") {
    if (empirical) return NoEmpiricalRoof(level);
    Remember(name, absl::StrCat(ShortestDouble(device_->memory_bytes_per_second), " B/s"), Provenance::ORIGIN_DEVICE,
             absl::StrCat("theoretical, at the pins; ",
                          SourceText(device_->source, device_->source_kind, device_->conflict, device_->note)));
    return MachineRoof{device_->memory_bytes_per_second, CeilingKind::kTheoretical};
  }
  std::optional<model::OnChipMemory> memory;
  if (level == "l1") memory = model::OnChipMemory::kL1Load;
  if (level == "l2") memory = model::OnChipMemory::kL2Read;
  if (level == "shared") memory = model::OnChipMemory::kShared;
  if (!memory.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("level ", Quoted(level), ": a product has dram, l2, l1 and shared"));
  }
  const absl::StatusOr<model::MemoryRate> rate = model::FindMemoryRate(device_->compute_capability, *memory);
  if (!rate.ok() && !empirical) return rate.status();
  if (empirical && (!rate.ok() || rate->kind != CeilingKind::kEmpirical)) return NoEmpiricalRoof(level);
  const double units = rate->per_sm ? static_cast<double>(device_->sm_count) : 1;
  const double per_second = rate->bytes_per_clock * units * device_->boost_clock_hz;
  Remember(name, absl::StrCat(ShortestDouble(per_second), " B/s"), Provenance::ORIGIN_TABLE,
           absl::StrCat(model::CeilingKindName(rate->kind), ", ", FormatDecimal(rate->bytes_per_clock, 3),
                        " B per clock", rate->per_sm ? " and SM" : "", " at ", FormatHz(device_->boost_clock_hz), "; ",
                        SourceText(rate->source, rate->source_kind, rate->conflict, rate->note)));
  return MachineRoof{per_second, rate->kind};
}

}  // namespace gx::analysis
