#include "analysis/machine_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "analysis/counter_check.h"
#include "analysis/machine_ceilings.h"
#include "analysis/manifest/message_file.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

// Figures are written with all digits of a double, so only the last ones may differ.
constexpr double kRelativeTolerance = 1e-9;
constexpr double kNsPerSecond = 1e9;
constexpr uint64_t kMaxSectorsPerRequest = 32;
constexpr char kMeasureAgain[] = "measure again with 'gx-kernels --ceilings -o FILE'";

bool IsNear(double expected, double got, double scale) {
  return std::isfinite(got) && std::fabs(got - expected) <= kRelativeTolerance * scale;
}

std::string Number(double value) { return absl::StrFormat("%.17g", value); }

absl::Status Wrong(absl::string_view where, absl::string_view expected, absl::string_view got) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": expected ", expected, ", got ", got));
}

// What a GPU may be measured at, with room to spare: figures that follow from such samples are finite, and short enough
// to print.
constexpr absl::string_view kDurations = "durations of 0.001 to 1e+15 ns";
constexpr absl::string_view kClocks = "clocks of 1e+06 to 1e+12 Hz";
bool IsDuration(double ns) { return ns >= 1e-3 && ns <= 1e15; }
bool IsClock(double hz) { return hz >= 1e6 && hz <= 1e12; }
bool IsCount(double count) { return count >= 0 && count <= 1e30; }

absl::Status DoesNotFollow(absl::string_view where, double expected, double got) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": expected ", Number(expected), ", which follows from the samples, got ", Number(got),
                   ": the figure was changed, or is of another program; ", kMeasureAgain));
}

double Median(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return model::SortedQuantile(sorted, 0.5).value_or(0);
}

bool HasClocks(const v1::SlopePoint& point) { return point.sm_clock_hz_size() > 0; }

double MedianCycles(const v1::SlopePoint& point) {
  std::vector<double> cycles;
  for (int i = 0; i < point.duration_ns_size(); ++i) {
    cycles.push_back(point.duration_ns(i) / kNsPerSecond * point.sm_clock_hz(i));
  }
  return Median(cycles);
}

absl::Status CheckPoint(const std::string& where, const v1::SlopePoint& point) {
  if (!IsCount(point.work()) || point.work() == 0) {
    return Wrong(where, "work above 0, at most 1e+30", Number(point.work()));
  }
  if (point.duration_ns().empty()) return Wrong(where, "a sample or more", "none");
  if (HasClocks(point) && point.sm_clock_hz_size() != point.duration_ns_size()) {
    return Wrong(where, absl::StrCat("no clock or one a sample (", point.duration_ns_size(), ")"),
                 absl::StrCat(point.sm_clock_hz_size()));
  }
  for (const double ns : point.duration_ns()) {
    if (!IsDuration(ns)) return Wrong(where, kDurations, Number(ns));
  }
  for (const double hz : point.sm_clock_hz()) {
    if (!IsClock(hz)) return Wrong(where, kClocks, Number(hz));
  }
  return absl::OkStatus();
}

absl::Status CheckSlope(const std::string& where, const v1::Slope& slope) {
  if (slope.point_size() < 2) return Wrong(where, "two points or more", absl::StrCat(slope.point_size()));
  for (int i = 0; i < slope.point_size(); ++i) {
    const std::string point = absl::StrCat(where, ".point[", i, "]");
    if (absl::Status status = CheckPoint(point, slope.point(i)); !status.ok()) return status;
    if (i > 0 && !(slope.point(i).work() > slope.point(i - 1).work())) {
      return Wrong(point, absl::StrCat("work above ", Number(slope.point(i - 1).work())),
                   Number(slope.point(i).work()));
    }
  }
  const v1::SlopePoint& first = slope.point(0);
  const v1::SlopePoint& last = slope.point(slope.point_size() - 1);
  const double first_ns = Median(first.duration_ns());
  const double last_ns = Median(last.duration_ns());
  const double work = last.work() - first.work();
  if (!(last_ns > first_ns)) {
    return Wrong(where, absl::StrCat("more work to take longer than ", Number(first_ns), " ns"), Number(last_ns));
  }
  const double per_second = work / (last_ns - first_ns) * kNsPerSecond;
  if (!IsNear(per_second, slope.work_per_second(), per_second)) {
    return DoesNotFollow(where + ".work_per_second", per_second, slope.work_per_second());
  }
  const double fixed_ns = first_ns - first.work() * (last_ns - first_ns) / work;
  if (!IsNear(fixed_ns, slope.fixed_ns(), last_ns))
    return DoesNotFollow(where + ".fixed_ns", fixed_ns, slope.fixed_ns());
  if (!slope.has_work_per_sm_cycle()) return absl::OkStatus();
  if (!HasClocks(first) || !HasClocks(last)) {
    return Wrong(where + ".work_per_sm_cycle", "clocks beside the samples", "none");
  }
  const double cycles = MedianCycles(last) - MedianCycles(first);
  if (!(cycles > 0)) return Wrong(where, "more work to take more cycles", Number(cycles));
  if (!IsNear(work / cycles, slope.work_per_sm_cycle(), work / cycles)) {
    return DoesNotFollow(where + ".work_per_sm_cycle", work / cycles, slope.work_per_sm_cycle());
  }
  return absl::OkStatus();
}

absl::Status CheckValues(const std::string& where, const v1::ValueCheck& check) {
  // Written so that a NaN does not hold.
  const bool holds = check.value_count() > 0 && check.largest_error() >= 0 &&
                     check.largest_error() <= check.allowed_error() && std::isfinite(check.allowed_error());
  if (holds) return absl::OkStatus();
  return Wrong(where + ".check", absl::StrCat("values with an error of at most ", Number(check.allowed_error())),
               absl::StrCat(check.value_count(), " with ", Number(check.largest_error()),
                            ": a benchmark with wrong results is no ceiling"));
}

absl::Status CheckDevice(const v1::MachineDevice& device) {
  if (device.name().empty()) return Wrong("device.name", "a name", "none");
  const v1::DeviceAttributes& attributes = device.attributes();
  if (attributes.compute_capability_major() == 0) return Wrong("device.attributes", "a compute capability", "none");
  if (attributes.multiprocessor_count() == 0) return Wrong("device.attributes", "a number of SMs", "none");
  return absl::OkStatus();
}

absl::Status CheckCeiling(int index, const v1::Ceiling& ceiling) {
  const std::string where = absl::StrCat("ceiling[", index, "] (", Printable(ceiling.variant()), ")");
  if (ceiling.resource() == 0 || ceiling.path() == 0 || ceiling.unit() == 0) {
    return Wrong(where, "resource, path and unit", "one unset");
  }
  if (ceiling.resource() == v1::CEILING_RESOURCE_DRAM && !ceiling.has_read_share_ratio()) {
    return Wrong(where + ".read_share_ratio", "a share, as this is of DRAM", "none");
  }
  if (ceiling.has_read_share_ratio() && !(ceiling.read_share_ratio() >= 0 && ceiling.read_share_ratio() <= 1)) {
    return Wrong(where + ".read_share_ratio", "0 to 1", Number(ceiling.read_share_ratio()));
  }
  if (ceiling.has_memory_clock_hz() && !IsClock(ceiling.memory_clock_hz())) {
    return Wrong(where + ".memory_clock_hz", kClocks, Number(ceiling.memory_clock_hz()));
  }
  if (absl::Status status = CheckSlope(where + ".slope", ceiling.slope()); !status.ok()) return status;
  return CheckValues(where, ceiling.check());
}

absl::Status CheckLatency(int index, const v1::Latency& latency) {
  const std::string where = absl::StrCat("latency[", index, "]");
  if (latency.level() == 0) return Wrong(where + ".level", "a level", "none");
  if (latency.sectors_per_request() < 1 || latency.sectors_per_request() > kMaxSectorsPerRequest) {
    return Wrong(where + ".sectors_per_request", absl::StrCat("1 to ", kMaxSectorsPerRequest),
                 absl::StrCat(latency.sectors_per_request()));
  }
  for (const double cycles : latency.line_cycles()) {
    if (!IsCount(cycles) || cycles == 0) return Wrong(where + ".line_cycles", "above 0, at most 1e+30", Number(cycles));
  }
  if (absl::Status status = CheckSlope(where + ".slope", latency.slope()); !status.ok()) return status;
  return CheckValues(where, latency.check());
}

absl::Status CheckShape(const std::string& where, const v1::KernelShape& shape) {
  if (shape.kernel().empty()) return Wrong(where + ".kernel", "a name", "none");
  if (shape.grid_x() == 0 || shape.block_x() == 0) {
    return Wrong(where, "a grid and a block of 1 or more", absl::StrCat(shape.grid_x(), " and ", shape.block_x()));
  }
  return absl::OkStatus();
}

absl::Status CheckTiming(int index, const v1::KernelTiming& timing) {
  const std::string where = absl::StrCat("kernel_timing[", index, "]");
  if (absl::Status status = CheckShape(where + ".shape", timing.shape()); !status.ok()) return status;
  if (timing.resident_blocks() == 0) return Wrong(where + ".resident_blocks", "1 or more", "0");
  return CheckSlope(where + ".slope", timing.slope());
}

absl::Status CheckRate(int index, const v1::LaunchRate& rate) {
  const std::string where = absl::StrCat("launch_rate[", index, "]");
  if (rate.kind() == 0) return Wrong(where + ".kind", "a kind", "none");
  return CheckSlope(where + ".slope", rate.slope());
}

absl::Status CheckBias(int index, const v1::TracingBias& bias) {
  const std::string where = absl::StrCat("tracing_bias[", index, "]");
  if (absl::Status status = CheckShape(where + ".shape", bias.shape()); !status.ok()) return status;
  for (const double value : {bias.untraced_ns(), bias.traced_ns()}) {
    if (!IsDuration(value)) return Wrong(where, kDurations, Number(value));
  }
  if (!bias.has_recorded()) return absl::OkStatus();
  if (bias.recorded().kernel_count() == 0) return Wrong(where + ".recorded", "a kernel or more", "none");
  for (const double value : {bias.recorded().p5_ns(), bias.recorded().median_ns(), bias.recorded().p95_ns()}) {
    if (!IsDuration(value)) return Wrong(where + ".recorded", kDurations, Number(value));
  }
  return absl::OkStatus();
}

absl::Status CheckCounter(int index, const v1::CounterCheck& check) {
  const std::string where = absl::StrCat("counter_check[", index, "]");
  if (check.metric().empty()) return Wrong(where + ".metric", "a name", "none");
  if (check.case_name().empty()) return Wrong(where + ".case_name", "a name", "none");
  if (!IsCount(check.expected())) {
    return Wrong(where + ".expected", "0 to 1e+30", Number(check.expected()));
  }
  if (check.counted().empty()) return Wrong(where + ".counted", "a sample or more", "none");
  for (const double value : check.counted()) {
    if (!IsCount(value)) return Wrong(where + ".counted", "0 to 1e+30", Number(value));
  }
  const std::optional<double> error = CounterErrorRatio(check.expected(), check.counted());
  if (error.has_value() != check.has_error_ratio()) {
    return Wrong(where + ".error_ratio", error.has_value() ? Number(*error) : "none, as 0 was expected and not counted",
                 check.has_error_ratio() ? Number(check.error_ratio()) : "none");
  }
  if (error.has_value() && !IsNear(*error, check.error_ratio(), 1 + std::fabs(*error))) {
    return DoesNotFollow(where + ".error_ratio", *error, check.error_ratio());
  }
  return absl::OkStatus();
}

template <typename Elements, typename Check>
absl::Status CheckEach(const Elements& elements, const Check& check) {
  for (int i = 0; i < elements.size(); ++i) {
    if (absl::Status status = check(i, elements[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// The 32 digits of a UUID, in lower case; "" where there are not as many.
std::string UuidDigits(absl::string_view text) {
  // "GPU-" and "MIG-" are no digits of it.
  const size_t dash = text.find('-');
  if (dash == 3) text.remove_prefix(4);
  std::string digits;
  for (const char c : text) {
    if (absl::ascii_isxdigit(static_cast<unsigned char>(c)))
      digits += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return digits.size() == 32 ? digits : "";
}

// Of the 16 bytes of a trace; "" where there are not as many, or all are 0.
std::string UuidDigitsOfBytes(const std::string& bytes) {
  if (bytes.size() != 16 || bytes.find_first_not_of('\0') == std::string::npos) return "";
  std::string digits;
  for (const char c : bytes) absl::StrAppendFormat(&digits, "%02x", static_cast<unsigned char>(c));
  return digits;
}

// As nvidia-smi shows it, less what stands before the digits.
std::string GroupedUuid(const std::string& digits) {
  return absl::StrCat(digits.substr(0, 8), "-", digits.substr(8, 4), "-", digits.substr(12, 4), "-",
                      digits.substr(16, 4), "-", digits.substr(20));
}

// A file's name out of a device's, which may hold anything.
std::string FileNameOf(absl::string_view device_name) {
  constexpr size_t kMaxBytes = 128;
  std::string name(device_name.substr(0, kMaxBytes));
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  }
  if (absl::StartsWith(name, ".")) name[0] = '_';
  return name;
}

// "" where neither variable names a folder.
std::string CacheFolder(const MachineSearch& search) {
  if (search.xdg_cache_home.has_value() && absl::StartsWith(*search.xdg_cache_home, "/")) return *search.xdg_cache_home;
  if (search.home.has_value() && absl::StartsWith(*search.home, "/")) return absl::StrCat(*search.home, "/.cache");
  return "";
}

// Both known and equal.
template <typename Value>
bool Agree(bool known, const Value& left, const Value& right) {
  return known && left == right;
}

void AddDifference(absl::string_view what, double scale, absl::string_view unit, bool known, uint64_t machine,
                   uint64_t device, std::vector<std::string>* lines) {
  if (!known || machine == device) return;
  lines->push_back(absl::StrFormat("%s: %.6g %s in the machine file, %.6g %s in the trace", what,
                                   static_cast<double>(machine) / scale, unit, static_cast<double>(device) / scale,
                                   unit));
}

std::string DeviceText(const std::string& name) { return name.empty() ? "an unknown device" : Printable(name); }

// Why a file that can be read is not taken; "": it is.
std::string Objection(const v1::MachineFile& machine, const v1::Device& device) {
  if (!machine.run().injection_path().empty()) {
    return absl::StrCat("was measured under injection (", Printable(machine.run().injection_path()),
                        "), so its figures are no ceilings; measure without CUDA_INJECTION64_PATH");
  }
  if (MatchMachine(machine.device(), device) == MachineMatch::kOtherDevice) {
    return absl::StrCat("is of ", DeviceText(machine.device().name()), " (", Printable(machine.device().uuid()),
                        "), the trace's device ", device.device_id(), " is ", DeviceText(device.name()),
                        ", and name, compute capability, SMs, L2 and memory bus are not all the same");
  }
  return "";
}

}  // namespace

absl::Status CheckMachineFile(const v1::MachineFile& machine) {
  if (machine.format_version() != kMachineFormatVersion) {
    return Wrong("format_version", absl::StrCat(kMachineFormatVersion),
                 absl::StrCat(machine.format_version(), ": no machine file, or one of another version of gpuexec; ",
                              kMeasureAgain));
  }
  for (const absl::Status& status :
       {CheckDevice(machine.device()), CheckEach(machine.ceiling(), CheckCeiling),
        CheckEach(machine.latency(), CheckLatency), CheckEach(machine.kernel_timing(), CheckTiming),
        CheckEach(machine.launch_rate(), CheckRate), CheckEach(machine.tracing_bias(), CheckBias),
        CheckEach(machine.counter_check(), CheckCounter)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::MachineFile> ReadMachineFile(const std::string& path) {
  if (absl::EndsWith(path, ".json")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path),
                     ": expected a machine file as 'gx-kernels --ceilings' writes it with -o, got JSON by its name"));
  }
  v1::MachineFile machine;
  if (absl::Status status = ReadMessageFile(path, &machine); !status.ok()) return status;
  if (absl::Status status = CheckMachineFile(machine); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(Printable(path), ": ", status.message()));
  }
  return machine;
}

MachineMatch MatchMachine(const v1::MachineDevice& machine, const v1::Device& device) {
  const std::string digits = UuidDigitsOfBytes(device.uuid());
  if (!digits.empty() && digits == UuidDigits(machine.uuid())) return MachineMatch::kSameDevice;
  const v1::DeviceAttributes& left = machine.attributes();
  const v1::DeviceAttributes& right = device.attributes();
  const bool same =
      Agree(!machine.name().empty(), machine.name(), device.name()) &&
      Agree(left.has_compute_capability_major() && right.has_compute_capability_major(),
            left.compute_capability_major(), right.compute_capability_major()) &&
      Agree(left.has_compute_capability_minor() && right.has_compute_capability_minor(),
            left.compute_capability_minor(), right.compute_capability_minor()) &&
      Agree(left.has_multiprocessor_count() && right.has_multiprocessor_count(), left.multiprocessor_count(),
            right.multiprocessor_count()) &&
      Agree(left.has_l2_cache_bytes() && right.has_l2_cache_bytes(), left.l2_cache_bytes(), right.l2_cache_bytes()) &&
      Agree(left.has_memory_bus_width_bits() && right.has_memory_bus_width_bits(), left.memory_bus_width_bits(),
            right.memory_bus_width_bits());
  return same ? MachineMatch::kSameProduct : MachineMatch::kOtherDevice;
}

std::vector<std::string> MachineDifferences(const v1::MachineFile& machine, const v1::Device& device,
                                            absl::string_view driver_version) {
  constexpr double kMilliwattsPerWatt = 1e3;
  constexpr double kHzPerMhz = 1e6;
  const v1::MachineDevice& measured = machine.device();
  std::vector<std::string> lines;
  AddDifference("power limit", kMilliwattsPerWatt, "W",
                measured.has_power_limit_milliwatts() && device.has_power_limit_milliwatts(),
                measured.power_limit_milliwatts(), device.power_limit_milliwatts(), &lines);
  AddDifference("greatest SM clock", kHzPerMhz, "MHz", measured.has_max_sm_clock_hz() && device.has_max_sm_clock_hz(),
                measured.max_sm_clock_hz(), device.max_sm_clock_hz(), &lines);
  AddDifference("greatest memory clock", kHzPerMhz, "MHz",
                measured.has_max_memory_clock_hz() && device.has_max_memory_clock_hz(), measured.max_memory_clock_hz(),
                device.max_memory_clock_hz(), &lines);
  if (measured.has_ecc_enabled() && device.has_ecc_enabled() && measured.ecc_enabled() != device.ecc_enabled()) {
    lines.push_back(absl::StrCat("ECC: ", measured.ecc_enabled() ? "on" : "off", " in the machine file, ",
                                 device.ecc_enabled() ? "on" : "off", " in the trace"));
  }
  const std::string& measured_driver = machine.software().driver_version();
  if (!measured_driver.empty() && !driver_version.empty() && measured_driver != driver_version) {
    lines.push_back(absl::StrCat("driver: ", Printable(measured_driver), " in the machine file, ",
                                 Printable(driver_version), " in the trace"));
  }
  return lines;
}

std::vector<std::string> MachineFileCandidates(const MachineSearch& search, const v1::Device& device) {
  if (!search.machine_option.empty()) return {search.machine_option};
  std::vector<std::string> candidates;
  const size_t slash = search.trace_path.rfind('/');
  candidates.push_back(slash == std::string::npos ? "machine.pb"
                                                  : absl::StrCat(search.trace_path.substr(0, slash + 1), "machine.pb"));
  const std::string cache = CacheFolder(search);
  const std::string digits = UuidDigitsOfBytes(device.uuid());
  if (!cache.empty() && !digits.empty()) {
    const bool is_mig = device.has_mig_enabled() && device.mig_enabled();
    candidates.push_back(absl::StrCat(cache, "/gpuexec/", is_mig ? "MIG-" : "GPU-", GroupedUuid(digits), ".pb"));
  }
  if (device.name().empty()) return candidates;
  const std::string name = FileNameOf(device.name()) + ".pb";
  if (!cache.empty()) candidates.push_back(absl::StrCat(cache, "/gpuexec/", name));
  if (!search.shipped_folder.empty()) candidates.push_back(absl::StrCat(search.shipped_folder, "/", name));
  return candidates;
}

std::string ShippedMachineFolder(absl::string_view program_path) {
  const size_t slash = program_path.rfind('/');
  if (slash == absl::string_view::npos) return "";
  return absl::StrCat(program_path.substr(0, slash), "/../share/gpuexec/machines");
}

absl::StatusOr<FoundMachine> FindMachineFile(const MachineSearch& search, const v1::Device& device) {
  FoundMachine found;
  std::optional<FoundMachine> first;
  for (const std::string& path : MachineFileCandidates(search, device)) {
    const bool asked_for = !search.machine_option.empty();
    std::error_code error;
    // A pipe or folder of that name is nothing that was put there to be found.
    if (!asked_for && !std::filesystem::is_regular_file(path, error)) continue;
    absl::StatusOr<v1::MachineFile> machine = ReadMachineFile(path);
    if (!machine.ok()) {
      if (asked_for) return machine.status();
      found.notes.push_back(std::string(machine.status().message()));
      continue;
    }
    if (const std::string objection = Objection(*machine, device); !objection.empty()) {
      const std::string note = absl::StrCat(Printable(path), ": ", objection);
      if (asked_for) return absl::FailedPreconditionError(note);
      found.notes.push_back(note);
      continue;
    }
    const bool complete = FitTracingCost(*machine).has_value() && EmptyKernelNs(*machine, {}).has_value();
    if (!complete && !asked_for && first.has_value()) continue;
    found.match = MatchMachine(machine->device(), device);
    found.machine = *std::move(machine);
    found.path = path;
    if (!complete && !asked_for) {
      first = found;
      continue;
    }
    if (first.has_value()) {
      found.notes.push_back(
          absl::StrCat(Printable(first->path), ": not taken, as it has no tracing or no empty kernels"));
    }
    return found;
  }
  if (first.has_value()) return *std::move(first);
  found.notes.push_back(absl::StrCat("no machine file of device ", device.device_id(), " (", DeviceText(device.name()),
                                     "): 'gx-kernels --ceilings -o machine.pb' on it makes one; it is found beside the "
                                     "trace, in the user's cache folder, or by --machine FILE"));
  return found;
}

}  // namespace gx::analysis
