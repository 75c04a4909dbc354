// Devices: what they are, their clocks, how long they were busy.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/throttle_reasons.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

template <typename T>
std::optional<T> OptionalOf(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

// "GPU-8c5d..-....", the form that nvidia-smi prints.
std::string UuidText(const std::string& uuid) {
  if (uuid.size() != 16) return Printable(uuid);
  std::string text = "GPU-";
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", static_cast<unsigned char>(uuid[i]));
  }
  return text;
}

std::optional<MinMedianMax> Spread(const DurationSamples& samples) {
  if (samples.count() == 0) return std::nullopt;
  const DurationSamples* group = &samples;
  const DurationSummary summary = DurationSamples::Summarise({&group, 1});
  return MinMedianMax{summary.min_ns, summary.median_ns, summary.max_ns};
}

}  // namespace

std::vector<DeviceSection> BuildDevices(const TraceModel& model, const RunSection& run) {
  std::set<uint64_t> ids;
  for (const auto& [id, device] : model.devices) ids.insert(id);
  for (const auto& [id, activity] : model.activity_by_device) ids.insert(id);
  for (const auto& [id, clocks] : model.clocks_by_device) ids.insert(id);
  std::vector<DeviceSection> sections;
  for (const uint64_t id : ids) {
    DeviceSection section;
    section.device_id = id;
    section.unknown = id == UINT64_MAX;
    if (const auto found = model.devices.find(id); found != model.devices.end()) {
      const pb::Device& device = found->second;
      const pb::DeviceAttributes& attributes = device.attributes();
      section.name = Printable(device.name());
      section.uuid = UuidText(device.uuid());
      section.pci_bus_id = Printable(device.pci_bus_id());
      section.compute_capability_major =
          OptionalOf(attributes.has_compute_capability_major(), attributes.compute_capability_major());
      section.compute_capability_minor =
          OptionalOf(attributes.has_compute_capability_minor(), attributes.compute_capability_minor());
      section.multiprocessor_count =
          OptionalOf(attributes.has_multiprocessor_count(), attributes.multiprocessor_count());
      section.total_memory_bytes = device.total_memory_bytes();
      section.l2_cache_bytes = OptionalOf(attributes.has_l2_cache_bytes(), attributes.l2_cache_bytes());
      section.max_sm_clock_hz = OptionalOf(device.has_max_sm_clock_hz(), device.max_sm_clock_hz());
      section.max_memory_clock_hz = OptionalOf(device.has_max_memory_clock_hz(), device.max_memory_clock_hz());
      section.power_limit_milliwatts = OptionalOf(device.has_power_limit_milliwatts(), device.power_limit_milliwatts());
      section.ecc_enabled = OptionalOf(device.has_ecc_enabled(), device.ecc_enabled());
      section.mig_enabled = OptionalOf(device.has_mig_enabled(), device.mig_enabled());
      section.mps_enabled = OptionalOf(device.has_mps_enabled(), device.mps_enabled());
      section.virtualization_mode = OptionalOf(device.has_virtualization_mode(), device.virtualization_mode());
    }
    if (const auto found = model.clocks_by_device.find(id); found != model.clocks_by_device.end()) {
      const ClockSamples& clocks = found->second;
      section.sample_count = clocks.sample_count;
      section.sm_clock_hz = Spread(clocks.sm_clock_hz);
      section.memory_clock_hz = Spread(clocks.memory_clock_hz);
      section.power_milliwatts = Spread(clocks.power_milliwatts);
      section.temperature_celsius = Spread(clocks.temperature_celsius);
      section.throttle_sample_count = clocks.throttle_sample_count;
      for (size_t bit = 0; bit < clocks.throttle_count_by_bit.size(); ++bit) {
        if (const uint64_t count = clocks.throttle_count_by_bit[bit]; count > 0) {
          section.throttle_reasons.push_back({ThrottleReasonWords(bit), count});
        }
      }
    }
    if (const auto found = model.activity_by_device.find(id); found != model.activity_by_device.end()) {
      const DeviceActivity& activity = found->second;
      section.active = true;
      section.kernel_busy_ns = activity.kernel_busy_ns;
      section.copy_busy_ns = activity.copy_busy_ns;
      section.busy_ns = activity.busy_ns;
      section.span_ns = activity.last_end_ns - std::min(activity.first_start_ns, activity.last_end_ns);
      section.untimed_ns = std::min(activity.untimed_ns, section.span_ns);
      section.idle_ns = section.span_ns - std::min(section.span_ns, section.busy_ns);
      section.idle_ns -= std::min(section.idle_ns, section.untimed_ns);
      const auto of = [&activity](uint64_t ns) {
        return ns == 0 ? 0.0 : static_cast<double>(activity.busy_ns) / static_cast<double>(ns);
      };
      section.busy_of_wall_ratio = of(run.recorded_ns());
      section.busy_of_timed_ratio = of(run.timed_ns());
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace gx::analysis
