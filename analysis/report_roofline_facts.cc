// What rooflines of a report's signatures are made from: its own counters, peaks and times, and machine files.
#include <map>
#include <utility>

#include "analysis/report_roofline.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace {

// Facts of one device of one process.
RooflineFacts DeviceFacts(const ReportRequest& request, const CountersSection& counters, const DeviceSection& device) {
  RooflineFacts facts;
  for (const DevicePeakRow& peak : counters.peaks) {
    if (peak.device_id == device.device_id && peak.per_cycle.has_value()) facts.peaks[peak.metric] = *peak.per_cycle;
  }
  facts.compute_capability_major = device.compute_capability_major.value_or(0);
  facts.compute_capability_minor = device.compute_capability_minor.value_or(0);
  facts.multiprocessor_count = device.multiprocessor_count;
  if (device.max_sm_clock_hz) facts.max_sm_clock_hz = static_cast<double>(*device.max_sm_clock_hz);
  if (device.max_memory_clock_hz) facts.max_memory_clock_hz = static_cast<double>(*device.max_memory_clock_hz);
  if (!request.ladder_machines.has_value()) return facts;
  const auto found = request.ladder_machines->find({counters.process, device.device_id});
  if (found != request.ladder_machines->end() && found->second.machine.has_value()) {
    facts.machine = &*found->second.machine;
    facts.machine_is_of_other_device = found->second.match != MachineMatch::kSameDevice;
  }
  return facts;
}

// Of several groups with the same metric the first one counts.
std::map<std::string, double> MediansOf(const SignatureCounters& counters) {
  std::map<std::string, double> medians;
  for (const CounterGroupRow& group : counters.groups) {
    for (const CounterMetricRow& metric : group.metrics) {
      if (metric.median.has_value()) medians.emplace(metric.name, *metric.median);
    }
  }
  return medians;
}

}  // namespace

void AddRooflines(const ReportRequest& request, Report* report) {
  std::map<std::pair<size_t, uint32_t>, KernelGroup*> groups;
  for (KernelGroup& group : report->kernels) {
    if (group.signature.has_value() && group.basis == MedianBasis::kClean) {
      groups[{group.process, *group.signature}] = &group;
    }
  }
  for (const CountersSection& counters : report->counters) {
    for (const DeviceSection& device : report->processes[counters.process].devices) {
      RooflineFacts facts = DeviceFacts(request, counters, device);
      for (const SignatureCounters& row : counters.signatures) {
        if (!row.signature.has_value() || row.device_id != device.device_id) continue;
        const auto group = groups.find({counters.process, *row.signature});
        if (group == groups.end()) continue;
        facts.time_ns = group->second->durations.median_ns;
        facts.counters = MediansOf(row);
        group->second->roofline = RooflineOf(facts);
      }
    }
  }
}

}  // namespace gx::analysis
