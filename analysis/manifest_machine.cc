#include "analysis/manifest_machine.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/manifest/fault_log.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr char kDramPeak[] = "dram__bytes.sum.peak_sustained";
constexpr char kDramClock[] = "dram__cycles_elapsed.avg.per_second";
constexpr double kBitsPerByte = 8;
// Transfers of a bus of graphics memory in one cycle of the clock that the driver states.
constexpr double kTransfersPerClock = 2;

const CountedMetric* Find(const std::vector<CountedMetric>& counters, absl::string_view name) {
  for (const CountedMetric& metric : counters) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

// Values of a trace may be anything.
bool IsCount(uint64_t value) { return value > 0 && value <= INT64_MAX; }

void AddMemoryRoof(double bytes_per_second, std::string source, v1::Machine* machine) {
  if (!(std::isfinite(bytes_per_second) && bytes_per_second > 0)) return;
  v1::MemoryRoof* roof = machine->add_memory_roof();
  roof->set_level("dram");
  roof->set_bytes_per_second(bytes_per_second);
  roof->set_kind(v1::ROOF_KIND_THEORETICAL);
  roof->set_source(std::move(source));
}

// As the ladder has it: bytes a cycle from CUPTI, at the clock that was counted. Else from the width of the bus.
void SetMemoryRate(const TraceModel& model, const v1::Device& device, const std::vector<CountedMetric>& counters,
                   v1::Machine* machine) {
  const uint64_t driver_hz =
      device.has_max_memory_clock_hz() ? device.max_memory_clock_hz() : device.attributes().memory_clock_rate_hz();
  if (const auto peaks = model.counters.peaks.find(device.device_id()); peaks != model.counters.peaks.end()) {
    const CountedMetric* clock = Find(counters, kDramClock);
    const double hz = clock != nullptr && clock->median > 0 ? clock->median : static_cast<double>(driver_hz);
    for (const v1::DevicePeaks::Peak& peak : peaks->second.peak()) {
      if (peak.metric() != kDramPeak || !(peak.value() > 0) || hz == 0) continue;
      return AddMemoryRoof(peak.value() * hz,
                           absl::StrCat(kDramPeak, clock != nullptr ? " x counted memory clock" : " x memory clock"),
                           machine);
    }
  }
  const uint64_t width_bits = device.attributes().memory_bus_width_bits();
  AddMemoryRoof(kTransfersPerClock * static_cast<double>(driver_hz) * static_cast<double>(width_bits) / kBitsPerByte,
                "memory clock x bus width x 2", machine);
}

void Compare(absl::string_view field, const std::string& stated, const std::string& traced,
             std::vector<std::string>* out) {
  if (stated.empty() || stated == traced) return;
  out->push_back(absl::StrCat("machine.", field, ": the manifest has ", Quoted(Printable(stated)),
                              ", the device of the trace ",
                              traced.empty() ? "does not say" : absl::StrCat("is ", Quoted(Printable(traced)))));
}

}  // namespace

v1::Machine TracedMachine(const TraceModel& model, uint64_t device_id, const std::vector<CountedMetric>& counters) {
  v1::Machine machine;
  const auto found = model.devices.find(device_id);
  if (found == model.devices.end()) return machine;
  const v1::Device& device = found->second;
  const v1::DeviceAttributes& about = device.attributes();
  machine.set_gpu_model(Printable(device.name()));
  if (about.has_compute_capability_major() && about.compute_capability_major() > 0) {
    machine.set_compute_capability(
        absl::StrCat(about.compute_capability_major(), ".", about.compute_capability_minor()));
  }
  const auto count = [](uint64_t value, auto set) {
    if (IsCount(value)) set(static_cast<int64_t>(value));
  };
  count(about.multiprocessor_count(), [&](int64_t value) { machine.set_sm_count(value); });
  count(about.warp_size_threads(), [&](int64_t value) { machine.set_warp_size_threads(value); });
  count(about.max_threads_per_multiprocessor(), [&](int64_t value) { machine.set_max_resident_threads(value); });
  count(about.max_blocks_per_multiprocessor(), [&](int64_t value) { machine.set_max_resident_blocks(value); });
  count(about.max_registers_per_multiprocessor(), [&](int64_t value) { machine.set_register_count(value); });
  count(about.max_shared_memory_per_multiprocessor_bytes(),
        [&](int64_t value) { machine.set_shared_memory_bytes(value); });
  const uint64_t sm_hz = device.has_max_sm_clock_hz() ? device.max_sm_clock_hz() : about.clock_rate_hz();
  if (sm_hz > 0) machine.set_sm_clock_hz(static_cast<double>(sm_hz));
  const uint64_t memory_hz =
      device.has_max_memory_clock_hz() ? device.max_memory_clock_hz() : about.memory_clock_rate_hz();
  if (memory_hz > 0) machine.set_memory_clock_hz(static_cast<double>(memory_hz));
  SetMemoryRate(model, device, counters, &machine);
  return machine;
}

std::vector<std::string> MachineContradictions(const v1::Machine& stated, const v1::Machine& traced) {
  std::vector<std::string> out;
  Compare("gpu_model", stated.gpu_model(), traced.gpu_model(), &out);
  Compare("compute_capability", stated.compute_capability(), traced.compute_capability(), &out);
  if (stated.has_sm_count()) {
    Compare("sm_count", absl::StrCat(stated.sm_count()),
            traced.has_sm_count() ? absl::StrCat(traced.sm_count()) : std::string(), &out);
  }
  return out;
}

}  // namespace gx::analysis
