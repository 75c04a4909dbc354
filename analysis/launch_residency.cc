#include "analysis/launch_residency.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/occupancy_step_up.h"
#include "analysis/model/sm_limits.h"
#include "analysis/model/waves.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

LaunchResidency Unavailable(absl::string_view why) {
  LaunchResidency residency;
  residency.unavailable = std::string(why);
  return residency;
}

// A trace's numbers are unsigned; what is too large for the model is refused there by name.
int64_t Signed(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value > kMax ? kMax : value);
}

std::optional<int64_t> IfThere(bool has, uint64_t value) {
  if (!has) return std::nullopt;
  return Signed(value);
}

absl::StatusOr<model::SmLimits> LimitsOf(const pb::DeviceAttributes& device) {
  const auto table = model::FindSmLimits({static_cast<int>(Signed(device.compute_capability_major())),
                                          static_cast<int>(Signed(device.compute_capability_minor()))});
  if (!table.ok()) return table.status();
  const pb::DeviceAttributes& d = device;
  model::DeviceSmValues values;
  values.warp_threads_count = IfThere(d.has_warp_size_threads(), d.warp_size_threads());
  values.max_threads_per_block_count = IfThere(d.has_max_threads_per_block(), d.max_threads_per_block());
  values.max_threads_per_sm_count = IfThere(d.has_max_threads_per_multiprocessor(), d.max_threads_per_multiprocessor());
  values.max_blocks_per_sm_count = IfThere(d.has_max_blocks_per_multiprocessor(), d.max_blocks_per_multiprocessor());
  values.registers_per_sm_count =
      IfThere(d.has_max_registers_per_multiprocessor(), d.max_registers_per_multiprocessor());
  values.max_registers_per_block_count = IfThere(d.has_max_registers_per_block(), d.max_registers_per_block());
  values.shared_memory_per_sm_bytes =
      IfThere(d.has_max_shared_memory_per_multiprocessor_bytes(), d.max_shared_memory_per_multiprocessor_bytes());
  values.shared_memory_per_block_bytes =
      IfThere(d.has_max_shared_memory_per_block_bytes(), d.max_shared_memory_per_block_bytes());
  values.shared_memory_per_block_optin_bytes =
      IfThere(d.has_max_shared_memory_per_block_optin_bytes(), d.max_shared_memory_per_block_optin_bytes());
  values.reserved_shared_memory_per_block_bytes =
      IfThere(d.has_reserved_shared_memory_per_block_bytes(), d.reserved_shared_memory_per_block_bytes());
  return model::ApplyDeviceValues(**table, values);
}

absl::StatusOr<int64_t> ProductOf(absl::string_view quantity, const Dim& dim) {
  auto product = model::CheckedProduct(quantity, Signed(dim.x), Signed(dim.y));
  if (product.ok()) product = model::CheckedProduct(quantity, *product, Signed(dim.z));
  return product;
}

// The function's own preference; where its attributes could not be read, what the record says was asked for.
int64_t FunctionCarveoutPercent(const ResidencyInput& facts) {
  if (facts.function != nullptr) return facts.function->preferred_shared_memory_carveout();
  if (facts.record != nullptr && facts.record->has_shared_memory_carveout_requested()) {
    return Signed(facts.record->shared_memory_carveout_requested());
  }
  return model::kCarveoutDefaultPercent;
}

// CUfunc_cache (cuda.h). Counts where no carve-out is preferred.
model::CachePreference CachePreferenceOf(const pb::KernelAttributes* record) {
  switch (record == nullptr ? 0 : record->cache_config_requested()) {
    case 1:
      return model::CachePreference::kSharedMemory;
    case 2:
      return model::CachePreference::kL1;
    case 3:
      return model::CachePreference::kEqual;
    default:
      return model::CachePreference::kNone;
  }
}

absl::StatusOr<model::LaunchResources> ResourcesOf(const ResidencyInput& facts) {
  const LaunchConfiguration& launch = *facts.launch;
  model::LaunchResources resources;
  const auto threads = ProductOf("threads of a block", *launch.block);
  if (!threads.ok()) return threads.status();
  resources.threads_per_block_count = *threads;
  resources.registers_per_thread_count = Signed(*launch.registers_per_thread);
  resources.static_shared_memory_bytes = Signed(*launch.static_shared_memory_bytes);
  resources.dynamic_shared_memory_bytes = Signed(*launch.dynamic_shared_memory_bytes);
  resources.carveout_percent = FunctionCarveoutPercent(facts);
  resources.cache_preference = CachePreferenceOf(facts.record);
  if (facts.device->has_multiprocessor_count()) resources.sm_count = Signed(facts.device->multiprocessor_count());
  if (launch.cluster.has_value()) {
    const auto blocks = ProductOf("blocks of a cluster", *launch.cluster);
    if (!blocks.ok()) return blocks.status();
    resources.cluster_blocks_count = *blocks;
    if (facts.record != nullptr && facts.record->max_potential_cluster_size() != 0) {
      resources.max_potential_cluster_blocks_count = Signed(facts.record->max_potential_cluster_size());
    }
    if (facts.record != nullptr && facts.record->max_active_clusters() != 0) {
      resources.max_active_clusters_count = Signed(facts.record->max_active_clusters());
    }
  }
  return resources;
}

// What is missing for the model to say anything; empty where nothing is.
std::string MissingFact(const ResidencyInput& facts) {
  if (facts.device == nullptr || !facts.device->has_compute_capability_major() ||
      !facts.device->has_compute_capability_minor()) {
    return "the device's compute capability is not known";
  }
  const LaunchConfiguration& launch = *facts.launch;
  if (!launch.grid.has_value() || !launch.block.has_value()) return "the launch's grid and block are not known";
  if (!launch.registers_per_thread.has_value()) return "the kernel's registers are not known";
  if (!launch.static_shared_memory_bytes.has_value()) return "the kernel's static shared memory is not known";
  if (!launch.dynamic_shared_memory_bytes.has_value()) return "the launch's dynamic shared memory is not known";
  return "";
}

// What it cannot say of the launch the exact rules refuse in words.
void AddFirstOrder(const model::SmLimits& limits, const model::LaunchResources& resources, LaunchResidency* residency) {
  int64_t shared_bytes = 0;
  if (__builtin_add_overflow(resources.static_shared_memory_bytes, resources.dynamic_shared_memory_bytes,
                             &shared_bytes)) {
    return;
  }
  const auto occupancy = model::FirstOrderOccupancy(model::FirstOrderBudget(limits),
                                                    {.threads_per_block_count = resources.threads_per_block_count,
                                                     .registers_per_thread_count = resources.registers_per_thread_count,
                                                     .shared_memory_per_block_bytes = shared_bytes});
  if (!occupancy.ok()) return;
  residency->first_order_blocks_per_sm = static_cast<uint64_t>(occupancy->blocks_per_sm_count);
  residency->first_order_occupancy_ratio = occupancy->occupancy_ratio;
  residency->first_order_limiters = occupancy->limiters.ToString();
}

absl::Status AddWaves(const LaunchConfiguration& launch, const model::LaunchResources& resources,
                      LaunchResidency* residency) {
  if (!resources.sm_count.has_value()) return absl::NotFoundError("the device's number of SMs is not known");
  const auto blocks = model::GridBlockCount({Signed(launch.grid->x), Signed(launch.grid->y), Signed(launch.grid->z)});
  if (!blocks.ok()) return blocks.status();
  const auto waves = model::ComputeWaves({.grid_block_count = *blocks,
                                          .sm_count = *resources.sm_count,
                                          .blocks_per_sm = Signed(*residency->blocks_per_sm),
                                          .blocks_per_cluster = resources.cluster_blocks_count,
                                          .max_active_cluster_count = resources.max_active_clusters_count});
  if (!waves.ok()) return waves.status();
  residency->slot_count = static_cast<uint64_t>(waves->slot_count);
  residency->waves = waves->fractional_wave_count;
  if (!waves->one_wave) residency->tail_fill_ratio = waves->tail_fill_ratio;
  residency->slots_are_upper_bound = waves->slot_source == model::SlotSource::kClusterUpperBound;
  return absl::OkStatus();
}

// Of what the SM was really set to; where the record's figure cannot be, of what was asked for.
absl::StatusOr<model::ExactOccupancy> OccupancyOf(const ResidencyInput& facts, const model::SmLimits& limits,
                                                  model::LaunchResources* resources, std::string* unavailable) {
  // The launch's own preference wins over the function's.
  if (facts.signature != nullptr && facts.signature->has_preferred_shared_memory_carveout()) {
    resources->carveout_percent = facts.signature->preferred_shared_memory_carveout();
  }
  if (facts.record != nullptr && facts.record->shared_memory_executed_bytes() != 0) {
    resources->carveout_executed_bytes = Signed(facts.record->shared_memory_executed_bytes());
    auto executed = model::ComputeExactOccupancy(limits, *resources);
    if (executed.ok()) return executed;
    *unavailable = absl::StrCat("the carve-out of the record: ", executed.status().message());
    resources->carveout_executed_bytes.reset();
  }
  return model::ComputeExactOccupancy(limits, *resources);
}

OneMoreBlock StepUpOf(const model::OccupancyStepUp& step) {
  const auto unsigned_of = [](const std::optional<int64_t>& value) {
    return value.has_value() && *value >= 0 ? std::optional<uint64_t>(static_cast<uint64_t>(*value)) : std::nullopt;
  };
  return {.is_possible = step.is_possible,
          .threads_per_block = unsigned_of(step.threads_per_block_count),
          .registers_per_thread = unsigned_of(step.registers_per_thread_count),
          .shared_memory_bytes = unsigned_of(step.shared_memory_per_block_bytes),
          .carveout_bytes = unsigned_of(step.carveout_bytes)};
}

}  // namespace

LaunchResidency ResidencyOf(const ResidencyInput& facts) {
  if (const std::string missing = MissingFact(facts); !missing.empty()) return Unavailable(missing);
  const auto limits = LimitsOf(*facts.device);
  if (!limits.ok()) return Unavailable(limits.status().message());
  auto resources = ResourcesOf(facts);
  if (!resources.ok()) return Unavailable(resources.status().message());
  LaunchResidency residency;
  AddFirstOrder(*limits, *resources, &residency);
  if (const auto requested = model::ComputeExactOccupancy(*limits, *resources); requested.ok()) {
    residency.requested_blocks_per_sm = static_cast<uint64_t>(requested->blocks_per_sm_count);
  }
  const auto occupancy = OccupancyOf(facts, *limits, &*resources, &residency.unavailable);
  if (!occupancy.ok()) {
    residency.unavailable = std::string(occupancy.status().message());
    return residency;
  }
  if (occupancy->blocks_per_sm_count == 0) {
    residency.unavailable =
        absl::StrCat("the model holds no block of it: ", model::DescribeRefusals(*limits, *resources, *occupancy));
    return residency;
  }
  residency.blocks_per_sm = static_cast<uint64_t>(occupancy->blocks_per_sm_count);
  residency.occupancy_ratio = occupancy->occupancy_ratio;
  residency.limiters = occupancy->limiters.ToString();
  if (occupancy->next_limit_blocks_count.has_value()) {
    residency.next_blocks_per_sm = static_cast<uint64_t>(*occupancy->next_limit_blocks_count);
    residency.next_limiters = occupancy->next_limiters.ToString();
  }
  residency.one_more_block = StepUpOf(model::ComputeOccupancyStepUp(*limits, *resources, *occupancy));
  const absl::Status waves = AddWaves(*facts.launch, *resources, &residency);
  if (!waves.ok()) residency.unavailable = absl::StrCat("waves: ", waves.message());
  return residency;
}

std::optional<std::string> DriverDisagreement(const LaunchConfiguration& launch) {
  const std::optional<uint64_t>& driver = launch.driver_occupancy_blocks_per_sm;
  const std::optional<uint64_t>& modelled = launch.residency.requested_blocks_per_sm;
  if (!driver.has_value() || !modelled.has_value() || *driver == *modelled) return std::nullopt;
  return absl::StrCat("the driver holds ", *driver, " blocks an SM, the model ", *modelled);
}

void KeepCommon(LaunchResidency* kept, const LaunchResidency& other) {
  const auto keep = [](auto* mine, const auto& theirs) {
    if (*mine != theirs) mine->reset();
  };
  if (kept->unavailable.empty()) kept->unavailable = other.unavailable;
  keep(&kept->blocks_per_sm, other.blocks_per_sm);
  keep(&kept->requested_blocks_per_sm, other.requested_blocks_per_sm);
  keep(&kept->occupancy_ratio, other.occupancy_ratio);
  keep(&kept->first_order_blocks_per_sm, other.first_order_blocks_per_sm);
  keep(&kept->first_order_occupancy_ratio, other.first_order_occupancy_ratio);
  keep(&kept->first_order_limiters, other.first_order_limiters);
  keep(&kept->limiters, other.limiters);
  keep(&kept->next_limiters, other.next_limiters);
  keep(&kept->next_blocks_per_sm, other.next_blocks_per_sm);
  keep(&kept->one_more_block, other.one_more_block);
  keep(&kept->slot_count, other.slot_count);
  keep(&kept->waves, other.waves);
  keep(&kept->tail_fill_ratio, other.tail_fill_ratio);
  kept->slots_are_upper_bound =
      kept->slot_count.has_value() && (kept->slots_are_upper_bound || other.slots_are_upper_bound);
}

}  // namespace gx::analysis
