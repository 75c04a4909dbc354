// Which machine file stands behind the figures of each device.
#include <utility>

#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace {

MachineUse UseOf(const FoundMachine& found, const gpuexec::v1::Device& device, absl::string_view driver_version) {
  MachineUse use;
  for (const std::string& note : found.notes) use.notes.push_back(Printable(note));
  if (!found.machine.has_value()) return use;
  use.found = true;
  use.same_device = found.match == MachineMatch::kSameDevice;
  use.path = Printable(found.path);
  if (found.machine->run().start_realtime_ns() > 0) use.start_realtime_ns = found.machine->run().start_realtime_ns();
  use.driver_version = Printable(found.machine->software().driver_version());
  for (const std::string& line : MachineDifferences(*found.machine, device, driver_version)) {
    use.differences.push_back(Printable(line));
  }
  return use;
}

}  // namespace

void AddMachineUses(const TraceModel& model, size_t process, const ReportRequest& request, ProcessSection* section) {
  if (!request.ladder_machines.has_value()) return;
  for (DeviceSection& device : section->devices) {
    const auto known = model.devices.find(device.device_id);
    if (device.unknown || known == model.devices.end()) continue;
    const auto found = request.ladder_machines->find({process, device.device_id});
    const FoundMachine none;
    device.machine = UseOf(found == request.ladder_machines->end() ? none : found->second, known->second,
                           section->provenance.driver_version);
  }
}

}  // namespace gx::analysis
