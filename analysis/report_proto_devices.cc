// Devices: what they are, what they did, and which machine file speaks for them.
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillLimits(const DeviceSection& d, pb::DeviceLimits* message) {
  message->set_label(pb::CLAIM_LABEL_SOURCE_REPORTED);
  if (d.compute_capability_major) message->set_compute_capability_major(*d.compute_capability_major);
  if (d.compute_capability_minor) message->set_compute_capability_minor(*d.compute_capability_minor);
  if (d.multiprocessor_count) message->set_multiprocessor_count(*d.multiprocessor_count);
  if (d.total_memory_bytes > 0) message->set_total_memory_bytes(d.total_memory_bytes);
  if (d.l2_cache_bytes) message->set_l2_cache_bytes(*d.l2_cache_bytes);
  if (d.max_sm_clock_hz) message->set_max_sm_clock_hz(*d.max_sm_clock_hz);
  if (d.max_memory_clock_hz) message->set_max_memory_clock_hz(*d.max_memory_clock_hz);
  if (d.power_limit_milliwatts) message->set_power_limit_milliwatts(*d.power_limit_milliwatts);
  if (d.ecc_enabled) message->set_ecc_enabled(*d.ecc_enabled);
  if (d.mig_enabled) message->set_mig_enabled(*d.mig_enabled);
  if (d.mps_enabled) message->set_mps_enabled(*d.mps_enabled);
  if (d.virtualization_mode) message->set_virtualization_mode(*d.virtualization_mode);
}

void FillRange(const MinMedianMax& range, pb::SampleRange* message) {
  message->set_min(range.min);
  message->set_median(range.median);
  message->set_max(range.max);
}

void FillSamples(const DeviceSection& d, pb::DeviceSamples* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  message->set_sample_count(d.sample_count);
  if (d.sm_clock_hz) FillRange(*d.sm_clock_hz, message->mutable_sm_clock_hz());
  if (d.memory_clock_hz) FillRange(*d.memory_clock_hz, message->mutable_memory_clock_hz());
  if (d.power_milliwatts) FillRange(*d.power_milliwatts, message->mutable_power_milliwatts());
  if (d.temperature_celsius) FillRange(*d.temperature_celsius, message->mutable_temperature_celsius());
  message->set_throttle_sample_count(d.throttle_sample_count);
  for (const ThrottleReason& reason : d.throttle_reasons) {
    pb::ThrottleReasonReport* row = message->add_throttle_reason();
    row->set_reason(reason.words);
    row->set_sample_count(reason.sample_count);
  }
}

void FillActivity(const DeviceSection& d, pb::DeviceActivity* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  message->set_kernel_busy_ns(d.kernel_busy_ns);
  message->set_copy_busy_ns(d.copy_busy_ns);
  message->set_busy_ns(d.busy_ns);
  message->set_span_ns(d.span_ns);
  message->set_untimed_ns(d.untimed_ns);
  message->set_idle_ns(d.idle_ns);
  message->set_busy_of_wall_ratio(d.busy_of_wall_ratio);
  message->set_busy_of_timed_ratio(d.busy_of_timed_ratio);
}

void FillMachine(const MachineUse& use, pb::MachineUse* message) {
  for (const std::string& note : use.notes) message->add_note(note);
  if (!use.found) {
    message->set_match(pb::MachineUse::MATCH_NONE);
    message->set_label(pb::CLAIM_LABEL_UNMEASURED);
    return;
  }
  message->set_match(use.same_device ? pb::MachineUse::MATCH_SAME_DEVICE : pb::MachineUse::MATCH_SAME_PRODUCT);
  message->set_label(use.same_device ? pb::CLAIM_LABEL_LOCALLY_MEASURED : pb::CLAIM_LABEL_SOURCE_REPORTED);
  message->set_path(use.path);
  if (use.start_realtime_ns) message->set_start_realtime_ns(*use.start_realtime_ns);
  message->set_driver_version(use.driver_version);
  for (const std::string& difference : use.differences) message->add_difference(difference);
}

}  // namespace

void FillDevice(const DeviceSection& device, pb::ReportDevice* message) {
  if (!device.unknown) {
    message->set_device_id(device.device_id);
    FillLimits(device, message->mutable_limits());
  }
  message->set_name(device.name);
  message->set_uuid(device.uuid);
  message->set_pci_bus_id(device.pci_bus_id);
  if (device.sample_count > 0) FillSamples(device, message->mutable_samples());
  if (device.active) FillActivity(device, message->mutable_activity());
  if (device.machine.has_value()) FillMachine(*device.machine, message->mutable_machine());
}

}  // namespace gx::analysis
