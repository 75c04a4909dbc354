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

// Null where they could not be read: the function was gone, or the driver refused.
const pb::FunctionAttributes* AttributesOf(const TraceModel& model, const SignatureEntry& entry) {
  if (entry.from_activity) return nullptr;
  const pb::Function* function = model.functions.Get(entry.definition.function_iid());
  const bool known = function != nullptr && function->has_attributes() && function->attributes().result() == 0;
  return known ? &function->attributes() : nullptr;
}

// As the launch asked; else as the function requires (__cluster_dims__); else as the record shows.
std::optional<Dim> ClusterOf(const pb::Signature& signature, const pb::FunctionAttributes* function,
                             const pb::KernelAttributes* record) {
  if (signature.cluster_x() != 0) return Dim{signature.cluster_x(), signature.cluster_y(), signature.cluster_z()};
  if (function != nullptr && function->required_cluster_x() != 0) {
    return Dim{function->required_cluster_x(), function->required_cluster_y(), function->required_cluster_z()};
  }
  // 0,0,0 without a cluster; 1,1,1 says no more than that.
  if (record != nullptr && record->cluster_x() * record->cluster_y() * record->cluster_z() > 1) {
    return Dim{record->cluster_x(), record->cluster_y(), record->cluster_z()};
  }
  return std::nullopt;
}

LaunchResidency ResidencyOfLaunch(const TraceModel& model, const SignatureEntry& entry,
                                  const pb::KernelAttributes* record, const LaunchConfiguration& launch) {
  const auto device = model.devices.find(entry.definition.device_id());
  return ResidencyOf({.launch = &launch,
                      .signature = &entry.definition,
                      .function = AttributesOf(model, entry),
                      .record = record,
                      .device = device == model.devices.end() ? nullptr : &device->second.attributes()});
}

}  // namespace

LaunchConfiguration ConfigurationOf(const TraceModel& model, const SignatureEntry& entry, uint32_t attributes) {
  LaunchConfiguration launch;
  launch.from_activity = entry.from_activity;
  if (!entry.defined) return launch;
  const pb::Signature& signature = entry.definition;
  launch.grid = Dim{signature.grid_x(), signature.grid_y(), signature.grid_z()};
  launch.block = Dim{signature.block_x(), signature.block_y(), signature.block_z()};
  launch.dynamic_shared_memory_bytes = signature.dynamic_shared_memory_bytes();
  launch.graph_node = signature.graph_node();
  launch.cooperative = signature.cooperative();
  launch.programmatic = signature.programmatic();
  if (signature.has_driver_occupancy() && signature.driver_occupancy().result() == 0) {
    launch.driver_occupancy_blocks_per_sm = signature.driver_occupancy().max_active_blocks_per_multiprocessor();
  }
  const pb::KernelAttributes* record = attributes == kNone ? nullptr : &model.attributes.at(attributes);
  const pb::FunctionAttributes* function = AttributesOf(model, entry);
  if (function != nullptr) {
    launch.function_registers_per_thread = function->registers_per_thread();
    launch.static_shared_memory_bytes = function->static_shared_memory_bytes();
    launch.local_memory_per_thread_bytes = function->local_memory_per_thread_bytes();
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
  launch.cluster = ClusterOf(signature, function, record);
  launch.residency = ResidencyOfLaunch(model, entry, record, launch);
  return launch;
}

LaunchResidency ResidencyWith(const TraceModel& model, const SignatureEntry& entry, uint32_t attributes,
                              uint64_t registers_per_thread) {
  LaunchConfiguration launch = ConfigurationOf(model, entry, attributes);
  launch.registers_per_thread = registers_per_thread;
  return ResidencyOfLaunch(model, entry, attributes == kNone ? nullptr : &model.attributes.at(attributes), launch);
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
