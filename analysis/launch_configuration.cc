#include "analysis/launch_configuration.h"

#include <optional>

#include "analysis/launch_residency.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

template <typename T>
void KeepIfSame(std::optional<T>* kept, const std::optional<T>& other) {
  if (*kept != other) kept->reset();
}

}  // namespace

LaunchConfiguration ConfigurationOf(const TraceModel& model, const SignatureEntry& entry, uint32_t attributes) {
  LaunchConfiguration launch;
  launch.from_activity = entry.from_activity;
  if (!entry.defined) return launch;
  const pb::Signature& signature = entry.definition;
  launch.grid = Dim{signature.grid_x(), signature.grid_y(), signature.grid_z()};
  launch.block = Dim{signature.block_x(), signature.block_y(), signature.block_z()};
  if (signature.cluster_x() != 0) {
    launch.cluster = Dim{signature.cluster_x(), signature.cluster_y(), signature.cluster_z()};
  }
  launch.dynamic_shared_memory_bytes = signature.dynamic_shared_memory_bytes();
  launch.graph_node = signature.graph_node();
  launch.cooperative = signature.cooperative();
  launch.programmatic = signature.programmatic();
  if (signature.has_driver_occupancy() && signature.driver_occupancy().result() == 0) {
    launch.driver_occupancy_blocks_per_sm = signature.driver_occupancy().max_active_blocks_per_multiprocessor();
  }
  const pb::KernelAttributes* record = attributes == kNone ? nullptr : &model.attributes.at(attributes);
  const pb::Function* function = entry.from_activity ? nullptr : model.functions.Get(signature.function_iid());
  if (function != nullptr && function->has_attributes() && function->attributes().result() == 0) {
    launch.function_registers_per_thread = function->attributes().registers_per_thread();
    launch.static_shared_memory_bytes = function->attributes().static_shared_memory_bytes();
    launch.local_memory_per_thread_bytes = function->attributes().local_memory_per_thread_bytes();
  } else if (record != nullptr) {
    // The function was gone before its attributes could be read.
    launch.static_shared_memory_bytes = record->static_shared_memory_bytes();
    launch.local_memory_per_thread_bytes = record->local_memory_per_thread_bytes();
  }
  launch.registers_per_thread = launch.function_registers_per_thread;
  if (record != nullptr) {
    launch.registers_per_thread = record->registers_per_thread();
    launch.shared_memory_executed_bytes = record->shared_memory_executed_bytes();
  }
  const auto device = model.devices.find(signature.device_id());
  launch.residency =
      ResidencyOf({.launch = &launch,
                   .signature = &signature,
                   .function = function != nullptr && function->has_attributes() ? &function->attributes() : nullptr,
                   .record = record,
                   .device = device == model.devices.end() ? nullptr : &device->second.attributes()});
  return launch;
}

void KeepCommon(LaunchConfiguration* kept, const LaunchConfiguration& other) {
  KeepIfSame(&kept->grid, other.grid);
  KeepIfSame(&kept->block, other.block);
  KeepIfSame(&kept->cluster, other.cluster);
  KeepIfSame(&kept->registers_per_thread, other.registers_per_thread);
  KeepIfSame(&kept->function_registers_per_thread, other.function_registers_per_thread);
  KeepIfSame(&kept->static_shared_memory_bytes, other.static_shared_memory_bytes);
  KeepIfSame(&kept->dynamic_shared_memory_bytes, other.dynamic_shared_memory_bytes);
  KeepIfSame(&kept->local_memory_per_thread_bytes, other.local_memory_per_thread_bytes);
  KeepIfSame(&kept->shared_memory_executed_bytes, other.shared_memory_executed_bytes);
  KeepIfSame(&kept->driver_occupancy_blocks_per_sm, other.driver_occupancy_blocks_per_sm);
  KeepCommon(&kept->residency, other.residency);
  kept->graph_node = kept->graph_node || other.graph_node;
  kept->cooperative = kept->cooperative || other.cooperative;
  kept->programmatic = kept->programmatic || other.programmatic;
  kept->from_activity = kept->from_activity || other.from_activity;
}

}  // namespace gx::analysis
