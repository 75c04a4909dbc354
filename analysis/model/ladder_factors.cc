#include "analysis/model/ladder_factors.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kLineBytes = 128;  // a wavefront moves one at most
constexpr double kSectorsPerLine = kLineBytes / kSectorBytes;
constexpr double kWarpLanes = 32;

double Less(double value, double taken) { return std::max(0.0, value - taken); }

// Sectors of local memory that go on to L2.
double LocalL2Sectors(const RequestedWork& requested) {
  const double stored = std::min(requested.local_store_sectors, requested.local_sectors);
  return stored + (requested.local_sectors - stored) * requested.local_miss_ratio;
}

// 1 where nothing was counted: nothing can be saved of nothing.
double Ratio(double left, double counted) { return counted > 0 ? std::clamp(left / counted, 0.0, 1.0) : 1; }

}  // namespace

absl::string_view ExcessFactorName(ExcessFactor factor) noexcept {
  switch (factor) {
    case ExcessFactor::kUncoalesced:
      return "uncoalesced";
    case ExcessFactor::kConflicts:
      return "bank conflicts";
    case ExcessFactor::kSpills:
      return "spills";
    case ExcessFactor::kDivergence:
      return "divergence";
    case ExcessFactor::kWriteBack:
      return "write-back excess";
  }
  return "";
}

absl::Status CheckWork(const CountedWork& counted, const RequestedWork& requested) {
  struct Field {
    absl::string_view name;
    double value;
  };
  const Field fields[] = {
      {"dram_read_bytes", counted.dram_read_bytes},
      {"dram_write_bytes", counted.dram_write_bytes},
      {"l2_sectors", counted.l2_sectors},
      {"l2_sm_sectors", counted.l2_sm_sectors},
      {"l2_written_sectors", counted.l2_written_sectors},
      {"l1_wavefronts", counted.l1_wavefronts},
      {"instructions", counted.instructions},
      {"lsu_instructions", counted.lsu_instructions},
      {"global_data_bytes", requested.global_data_bytes},
      {"global_sectors", requested.global_sectors},
      {"global_instructions", requested.global_instructions},
      {"global_store_sectors", requested.global_store_sectors},
      {"requested_read_bytes", requested.requested_read_bytes},
      {"stored_bytes", requested.stored_bytes},
      {"l2_fixed_sectors", requested.l2_fixed_sectors},
      {"shared_wavefronts", requested.shared_wavefronts},
      {"shared_instructions", requested.shared_instructions},
      {"shared_data_bytes", requested.shared_data_bytes},
      {"local_instructions", requested.local_instructions},
      {"local_sectors", requested.local_sectors},
      {"local_store_sectors", requested.local_store_sectors},
      {"local_miss_ratio", requested.local_miss_ratio},
      {"warp_instructions", requested.warp_instructions},
      {"thread_instructions", requested.thread_instructions},
  };
  for (const Field& field : fields) {
    if (absl::Status status = CheckNotNegative(field.name, field.value); !status.ok()) return status;
  }
  if (requested.local_miss_ratio <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("local_miss_ratio: got ", requested.local_miss_ratio, ", expected 0 to 1"));
}

CountedWork WorkWithout(const CountedWork& counted, const RequestedWork& requested, FactorSet removed) noexcept {
  CountedWork left = counted;
  double shared_wavefronts = std::min(requested.shared_wavefronts, counted.l1_wavefronts);
  double local_wavefronts =
      std::min(requested.local_sectors / kSectorsPerLine, counted.l1_wavefronts - shared_wavefronts);
  double global_wavefronts = counted.l1_wavefronts - shared_wavefronts - local_wavefronts;

  double local_written = std::min(requested.local_store_sectors, counted.l2_written_sectors);
  double global_written = std::min(requested.global_store_sectors, counted.l2_written_sectors - local_written);
  const double other_written = counted.l2_written_sectors - local_written - global_written;

  if (removed.Contains(ExcessFactor::kSpills)) {
    local_wavefronts = 0;
    local_written = 0;
    left.instructions = Less(left.instructions, requested.local_instructions);
    left.lsu_instructions = Less(left.lsu_instructions, requested.local_instructions);
    // Of all of L2's sectors the same share as of those of SMs: some pass its halves' fabric and are counted twice.
    const double l2_sectors = LocalL2Sectors(requested);
    const double of = counted.l2_sm_sectors > 0 ? counted.l2_sm_sectors : counted.l2_sectors;
    const double l2_share = of > 0 ? std::min(1.0, l2_sectors / of) : 0;
    // Of DRAM, the same share as of L2, at most the bytes themselves.
    const double dram_bytes = left.dram_read_bytes + left.dram_write_bytes;
    const double dram_share = dram_bytes > 0 ? std::min(l2_share, l2_sectors * kSectorBytes / dram_bytes) : 0;
    left.l2_sectors *= 1 - l2_share;
    left.dram_read_bytes *= 1 - dram_share;
    left.dram_write_bytes *= 1 - dram_share;
  }
  if (removed.Contains(ExcessFactor::kUncoalesced) && requested.global_sectors > 0) {
    const double filled = std::min(1.0, requested.global_data_bytes / (kSectorBytes * requested.global_sectors));
    global_written *= filled;
    left.dram_read_bytes = std::min(left.dram_read_bytes, requested.requested_read_bytes);
    const double fixed = std::min(requested.l2_fixed_sectors, left.l2_sectors);
    const double coalesced = fixed + filled * (left.l2_sectors - fixed);
    // What DRAM still reads passes L2.
    left.l2_sectors = std::min(left.l2_sectors, std::max(coalesced, left.dram_read_bytes / kSectorBytes));
    global_wavefronts =
        std::min(global_wavefronts, std::max(requested.global_instructions, requested.global_data_bytes / kLineBytes));
  }
  if (removed.Contains(ExcessFactor::kConflicts)) {
    shared_wavefronts =
        std::min(shared_wavefronts, std::max(requested.shared_instructions, requested.shared_data_bytes / kLineBytes));
  }
  left.l1_wavefronts = shared_wavefronts + local_wavefronts + global_wavefronts;
  left.l2_written_sectors = local_written + global_written + other_written;
  if (removed.Contains(ExcessFactor::kDivergence) && requested.warp_instructions > 0) {
    left.instructions *= std::min(1.0, requested.thread_instructions / (kWarpLanes * requested.warp_instructions));
  }
  if (removed.Contains(ExcessFactor::kWriteBack)) {
    left.dram_write_bytes = std::min(left.dram_write_bytes, requested.stored_bytes);
  }
  return left;
}

UsefulRatios RatiosWithout(const CountedWork& counted, const RequestedWork& requested, FactorSet removed) noexcept {
  const CountedWork left = WorkWithout(counted, requested, removed);
  UsefulRatios ratios;
  ratios.dram = Ratio(left.dram_read_bytes + left.dram_write_bytes, counted.dram_read_bytes + counted.dram_write_bytes);
  ratios.l2 = Ratio(left.l2_sectors, counted.l2_sectors);
  ratios.l2_in = Ratio(left.l2_written_sectors, counted.l2_written_sectors);
  ratios.l1 = Ratio(left.l1_wavefronts, counted.l1_wavefronts);
  ratios.issue = Ratio(left.instructions, counted.instructions);
  ratios.lsu = Ratio(left.lsu_instructions, counted.lsu_instructions);
  if (removed.Contains(ExcessFactor::kDivergence) && requested.warp_instructions > 0) {
    ratios.arithmetic = Ratio(requested.thread_instructions, kWarpLanes * requested.warp_instructions);
  }
  return ratios;
}

double RatioOf(const UsefulRatios& ratios, ResourceKind kind) noexcept {
  switch (kind) {
    case ResourceKind::kDram:
      return ratios.dram;
    case ResourceKind::kL2Lookup:
    case ResourceKind::kL2DataOut:
    case ResourceKind::kL2Fabric:
    case ResourceKind::kSmPort:
      return ratios.l2;
    case ResourceKind::kL2DataIn:
      return ratios.l2_in;
    case ResourceKind::kL1Data:
      return ratios.l1;
    case ResourceKind::kIssue:
      return ratios.issue;
    case ResourceKind::kLsuPipe:
      return ratios.lsu;
    case ResourceKind::kAluPipe:
    case ResourceKind::kFmaPipe:
    case ResourceKind::kXuPipe:
    case ResourceKind::kFp64Pipe:
      return ratios.arithmetic;
    case ResourceKind::kL2Atomics:
    case ResourceKind::kTensorOperations:
    case ResourceKind::kTensorPipe:
      break;
  }
  return 1;
}

double RatioOf(const UsefulRatios& ratios, const LadderResource& resource) noexcept {
  return resource.only_useful ? 1 : RatioOf(ratios, resource.kind);
}

LadderResources ResourcesWithout(const LadderResources& resources, const UsefulRatios& ratios) {
  LadderResources left = resources;
  for (LadderResource& resource : left) {
    const double ratio = RatioOf(ratios, resource);
    resource.work_ns *= ratio;
    if (resource.busiest_ns.has_value())
      *resource.busiest_ns = std::max(*resource.busiest_ns * ratio, resource.work_ns);
    if (resource.useful_ns.has_value()) *resource.useful_ns = std::min(*resource.useful_ns, resource.work_ns);
  }
  return left;
}

void SetUseful(const UsefulRatios& without_all, LadderResources* resources) {
  for (LadderResource& resource : *resources) {
    resource.useful_ns = resource.work_ns * RatioOf(without_all, resource);
  }
}

absl::StatusOr<Excess> ExcessOf(absl::Span<const LadderResource> resources, const CountedWork& counted,
                                const RequestedWork& requested) {
  if (absl::Status status = CheckResources(resources); !status.ok()) return status;
  if (absl::Status status = CheckWork(counted, requested); !status.ok()) return status;
  const auto rung_without = [&](FactorSet removed) {
    const UsefulRatios ratios = RatiosWithout(counted, requested, removed);
    double ns = 0;
    for (const LadderResource& resource : resources) {
      ns = std::max(ns, resource.work_ns * RatioOf(ratios, resource));
    }
    return ns;
  };
  // All subsets, also of factors that change nothing by themselves: one may show only where another is gone.
  std::array<double, size_t{1} << kExcessFactorCount> figures = {};
  for (size_t subset = 0; subset < figures.size(); ++subset) {
    FactorSet removed;
    for (size_t i = 0; i < kExcessFactorCount; ++i) {
      if ((subset >> i & 1) != 0) removed = removed.With(static_cast<ExcessFactor>(i));
    }
    figures[subset] = rung_without(removed);
  }
  const absl::StatusOr<Shapley> shapley = ShapleyValues(figures);
  if (!shapley.ok()) return shapley.status();
  Excess excess;
  excess.ns = shapley->total;
  for (size_t i = 0; i < kExcessFactorCount; ++i) {
    const auto factor = static_cast<ExcessFactor>(i);
    const UsefulRatios alone = RatiosWithout(counted, requested, FactorSet::Of(factor));
    const bool changes = std::any_of(resources.begin(), resources.end(), [&](const LadderResource& resource) {
      return resource.work_ns > 0 && RatioOf(alone, resource) < 1;
    });
    if (!changes && shapley->factors[i].value == 0) continue;
    excess.shares.push_back({factor, shapley->factors[i].value, shapley->factors[i].solo});
  }
  return excess;
}

}  // namespace gx::model
