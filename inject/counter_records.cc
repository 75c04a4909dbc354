#include "inject/counter_records.h"

#include <algorithm>
#include <charconv>

namespace gx::inject {
namespace {

// CUptiResult, as far as it says something of counters (cupti_result.h).
constexpr int kHardwareBusy = 26;
constexpr int kNotSupported = 27;
constexpr int kVirtualizedNotSupported = 33;
constexpr int kInsufficientPrivileges = 35;
constexpr int kOldProfilerApiInitialized = 36;
constexpr int kLegacyNotSupported = 38;
constexpr int kMultipleSubscribers = 39;
constexpr int kVirtualizedInsufficientPrivileges = 40;
constexpr int kConfidentialNotSupported = 41;
constexpr int kCmpNotSupported = 42;
constexpr int kMigNotSupported = 43;
constexpr int kSliNotSupported = 44;
constexpr int kWslNotSupported = 45;

constexpr unsigned kCapSysAdmin = 21;  // linux/capability.h

// The rest of the line that begins with `key`; "" where there is none.
std::string_view LineOf(std::string_view text, std::string_view key) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with(key)) {
      std::string_view value = line.substr(key.size());
      while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
      return value;
    }
    begin = end + 1;
  }
  return {};
}

std::optional<uint64_t> Number(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> SysAdminOf(std::string_view process_status, std::string_view key) {
  const std::optional<uint64_t> mask = Number(LineOf(process_status, key), 16);
  if (!mask) return std::nullopt;
  return (*mask >> kCapSysAdmin & 1) != 0;
}

std::string Lost(uint64_t device_id) {
  return "no hardware counters of device " + std::to_string(device_id) + " (launches and times are recorded): ";
}

std::string Told(const CounterCall& call) {
  return std::string(call.name) + " returned error " + std::to_string(call.result) +
         (call.result_text.empty() ? "" : " (" + std::string(call.result_text) + ")");
}

// What this machine shows of the reason.
std::string Seen(const CounterPermissions& permissions) {
  if (!permissions.admin_only) return "/proc/driver/nvidia/params does not say RmProfilingAdminOnly here";
  if (!*permissions.admin_only) {
    return "/proc/driver/nvidia/params says RmProfilingAdminOnly: 0, so that it is not this driver that keeps them: "
           "the "
           "host of a virtual machine may";
  }
  std::string text = "/proc/driver/nvidia/params says RmProfilingAdminOnly: 1, and this process ";
  if (!permissions.has_sys_admin) return text + "does not show its capabilities";
  if (*permissions.has_sys_admin) {
    return text + "has CAP_SYS_ADMIN, which counts outside user namespaces only (a rootless container is one)";
  }
  text += "lacks CAP_SYS_ADMIN";
  if (permissions.may_have_sys_admin && !*permissions.may_have_sys_admin) {
    text += ", which its container or service does not allow it";
  }
  return text;
}

constexpr std::string_view kHowToAllow =
    "to allow them, load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0 (as root: a line \"options "
    "nvidia "
    "NVreg_RestrictProfilingToAdminUsers=0\" in /etc/modprobe.d, then restart), or give the process CAP_SYS_ADMIN (run "
    "it "
    "as root; docker run --cap-add=SYS_ADMIN); GPUEXEC_COUNTERS=off does without";

CounterAccessRecord Refused(uint64_t device_id, CounterAccessState state, uint64_t monotonic_ns, std::string text) {
  CounterAccessRecord record;
  record.device_id = device_id;
  record.state = state;
  record.monotonic_ns = monotonic_ns;
  record.text = std::move(text);
  return record;
}

}  // namespace

CounterGroupKind ToCounterGroupKind(GroupKind kind) {
  switch (kind) {
    case GroupKind::kHardware:
      return CounterGroupKind::kHardware;
    case GroupKind::kSass:
      return CounterGroupKind::kSass;
    case GroupKind::kTensor:
      return CounterGroupKind::kTensor;
    case GroupKind::kPcie:
      return CounterGroupKind::kPcie;
    case GroupKind::kNvlink:
      return CounterGroupKind::kNvlink;
    case GroupKind::kDevice:
      return CounterGroupKind::kDevice;
  }
  return CounterGroupKind::kHardware;
}

MetricDropReason ToMetricDropReason(DropReason reason) {
  switch (reason) {
    case DropReason::kMalformed:
      return MetricDropReason::kMalformed;
    case DropReason::kRepeated:
      return MetricDropReason::kRepeated;
    case DropReason::kTooMany:
      return MetricDropReason::kTooMany;
    case DropReason::kDoesNotExist:
      return MetricDropReason::kDoesNotExist;
    case DropReason::kSeveralPasses:
      return MetricDropReason::kSeveralPasses;
    case DropReason::kRefused:
      return MetricDropReason::kRefused;
    case DropReason::kNotAsked:
      return MetricDropReason::kNotAsked;
  }
  return MetricDropReason::kRefused;
}

std::optional<CounterDenialReason> ToCounterDenialReason(DenyReason reason) noexcept {
  switch (reason) {
    case DenyReason::kNone:
      return std::nullopt;
    case DenyReason::kName:
      return CounterDenialReason::kName;
    case DenyReason::kUserPattern:
      return CounterDenialReason::kUser;
    case DenyReason::kCooperative:
      return CounterDenialReason::kCooperative;
    case DenyReason::kPeerAccess:
      return CounterDenialReason::kPeerMemory;
    case DenyReason::kIpcMemory:
      return CounterDenialReason::kIpcMemory;
    case DenyReason::kSymmetricHeap:
      return CounterDenialReason::kSymmetricHeap;
    case DenyReason::kGreenContext:
      return CounterDenialReason::kGreenContext;
    case DenyReason::kDeadline:
      return CounterDenialReason::kDeadline;
    case DenyReason::kTableFull:
      return CounterDenialReason::kTableFull;
  }
  return std::nullopt;
}

CounterGroupRecord MakeCounterGroup(uint64_t iid, const PlannedGroup& group, uint64_t device_id,
                                    std::string_view chip) {
  CounterGroupRecord record;
  record.iid = iid;
  record.name = group.name;
  record.kind = ToCounterGroupKind(group.kind);
  record.device_id = device_id;
  record.chip = chip;
  record.metrics = group.metrics;
  record.spare = group.is_spare;
  return record;
}

CounterPlanRecord MakeCounterPlan(const CounterPlan& plan, std::span<const uint64_t> group_iids, uint64_t device_id,
                                  std::string_view requested, std::string_view chip, uint64_t planning_ns) {
  CounterPlanRecord record;
  record.device_id = device_id;
  record.requested = requested;
  record.chip = chip;
  record.group_iids.assign(group_iids.begin(), group_iids.end());
  for (const DroppedMetric& metric : plan.dropped) {
    record.dropped.push_back({metric.name, ToMetricDropReason(metric.reason), metric.text});
  }
  record.failed = plan.failed || plan.groups.empty();
  record.planning_ns = planning_ns;
  return record;
}

DenialEvent MakeDenial(DeviceWork work, uint32_t function_index, uint32_t graph_exec_id, DenyReason reason) noexcept {
  DenialEvent event;
  // Of a graph the function is a number of our own.
  if (work == DeviceWork::kGraph) {
    event.graph_exec_id = graph_exec_id;
  } else {
    event.function_index = function_index;
  }
  event.reason = static_cast<uint32_t>(ToCounterDenialReason(reason).value_or(CounterDenialReason::kFailed));
  return event;
}

RangeAccount AccountOf(RangeVerdict verdict) noexcept {
  static constexpr StatId kSample[] = {StatId::kCounterSamples};
  static constexpr StatId kMissed[] = {StatId::kCounterCompletionDeadlines};
  // The error of CUPTI, besides. That its values are missing is counted where they are missed.
  static constexpr StatId kFailed[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidCallFailed,
                                       StatId::kCuptiErrors};
  static constexpr StatId kRefused[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidLaunchRefused};
  static constexpr StatId kCapture[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidCapture};
  static constexpr StatId kForeign[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidForeignLaunch};
  static constexpr StatId kSeveral[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidSeveralLaunches};
  static constexpr StatId kCopy[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidCopy};
  static constexpr StatId kMemset[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidMemset};
  static constexpr StatId kModuleLoad[] = {StatId::kCounterVoidRanges, StatId::kCounterVoidModuleLoad};
  switch (verdict) {
    case RangeVerdict::kValid:
      return {0, kSample};
    case RangeVerdict::kValidFirst:
      return {kCounterFirstOfSession, kSample};
    case RangeVerdict::kNotCompleted:
      return {kCounterVoid, kMissed};
    case RangeVerdict::kNoLaunch:
      return {kCounterVoid, kRefused};
    case RangeVerdict::kCaptureBegan:
      return {kCounterVoid, kCapture};
    case RangeVerdict::kForeignLaunch:
      return {kCounterVoid, kForeign};
    case RangeVerdict::kSeveralLaunches:
      return {kCounterVoid, kSeveral};
    case RangeVerdict::kCopy:
      return {kCounterVoid, kCopy};
    case RangeVerdict::kMemset:
      return {kCounterVoid, kMemset};
    case RangeVerdict::kModuleLoad:
      return {kCounterVoid, kModuleLoad};
    case RangeVerdict::kCallFailed:
      break;
  }
  return {kCounterVoid, kFailed};
}

CounterPermissions ReadCounterPermissions(std::string_view driver_params, std::string_view process_status) {
  CounterPermissions permissions;
  if (const auto admin_only = Number(LineOf(driver_params, "RmProfilingAdminOnly:"), 10)) {
    permissions.admin_only = *admin_only != 0;
  }
  permissions.has_sys_admin = SysAdminOf(process_status, "CapEff:");
  permissions.may_have_sys_admin = SysAdminOf(process_status, "CapBnd:");
  return permissions;
}

bool SaysAccess(int cupti_result) {
  switch (cupti_result) {
    case kHardwareBusy:
    case kNotSupported:
    case kVirtualizedNotSupported:
    case kInsufficientPrivileges:
    case kOldProfilerApiInitialized:
    case kLegacyNotSupported:
    case kMultipleSubscribers:
    case kVirtualizedInsufficientPrivileges:
    case kConfidentialNotSupported:
    case kCmpNotSupported:
    case kMigNotSupported:
    case kSliNotSupported:
    case kWslNotSupported:
      return true;
    default:
      return false;
  }
}

CounterAccessState AccessStateOf(int cupti_result) {
  switch (cupti_result) {
    case 0:
      return CounterAccessState::kAllowed;
    case kInsufficientPrivileges:
    case kVirtualizedInsufficientPrivileges:
      return CounterAccessState::kNotPermitted;
    case kHardwareBusy:
    case kOldProfilerApiInitialized:
    case kMultipleSubscribers:
      return CounterAccessState::kHeldByOther;
    default:
      return CounterAccessState::kUnsupported;
  }
}

std::optional<StatId> StatOf(CounterAccessState state) {
  switch (state) {
    case CounterAccessState::kAllowed:
    case CounterAccessState::kOff:
      return std::nullopt;
    case CounterAccessState::kNotPermitted:
      return StatId::kCounterPermissionRefused;
    case CounterAccessState::kUnsupported:
    case CounterAccessState::kNoLibrary:
    case CounterAccessState::kHeldByOther:
      break;
  }
  return StatId::kCounterUnsupported;
}

CounterAccessRecord MakeCounterAccess(uint64_t device_id, const CounterCall& call,
                                      const CounterPermissions& permissions, uint64_t monotonic_ns) {
  const CounterAccessState state = AccessStateOf(call.result);
  std::string text;
  switch (state) {
    case CounterAccessState::kAllowed:
      break;
    case CounterAccessState::kNotPermitted:
      text = Lost(device_id) + Told(call);
      if (call.result == kVirtualizedInsufficientPrivileges) {
        text +=
            "; the virtual GPU has no counters unless its host allows it: to allow them, the host's administrator "
            "sets the plugin parameter enable_profiling=1 of this vGPU; GPUEXEC_COUNTERS=off does without";
      } else {
        text += "; " + Seen(permissions) + "; " + std::string(kHowToAllow);
      }
      break;
    case CounterAccessState::kHeldByOther:
      text = Lost(device_id) + Told(call) +
             "; another tool holds the device's counters (Nsight Compute, DCGM, another profiler in this process): "
             "stop it, "
             "or \"dcgmi profile --pause\", or set GPUEXEC_COUNTERS=off";
      break;
    case CounterAccessState::kUnsupported:
    case CounterAccessState::kNoLibrary:
    case CounterAccessState::kOff:
      text = Lost(device_id) + Told(call) + "; GPUEXEC_COUNTERS=off does not try";
      break;
  }
  CounterAccessRecord record = Refused(device_id, state, monotonic_ns, std::move(text));
  record.cupti_result = static_cast<uint64_t>(std::max(call.result, 0));
  return record;
}

CounterAccessRecord MakeCuptiTooOld(uint64_t device_id, std::string_view version_text, std::string_view cupti_path,
                                    uint64_t monotonic_ns) {
  return Refused(device_id, CounterAccessState::kNoLibrary, monotonic_ns,
                 Lost(device_id) + "CUPTI " + std::string(version_text) + " at " + std::string(cupti_path) +
                     " is too old for them, they need CUPTI 13.0 to 13.x; set GPUEXEC_CUPTI to the path of such a "
                     "libcupti.so");
}

CounterAccessRecord MakeCuptiFaulty(uint64_t device_id, std::string_view version_text, std::string_view cupti_path,
                                    uint64_t monotonic_ns) {
  return Refused(
      device_id, CounterAccessState::kNoLibrary, monotonic_ns,
      Lost(device_id) + "CUPTI " + std::string(version_text) + " at " + std::string(cupti_path) +
          " may deadlock where their windows switch kernel records off (release notes of 13.0 update 1); set "
          "GPUEXEC_CUPTI to the path of a later libcupti.so, 13.0.1 to 13.x");
}

CounterAccessRecord MakeNoLibrary(uint64_t device_id, std::string_view problem, uint64_t monotonic_ns) {
  return Refused(device_id, CounterAccessState::kNoLibrary, monotonic_ns,
                 Lost(device_id) + std::string(problem) +
                     "; libnvperf_host.so and libnvperf_target.so are part of a CUDA toolkit and lie beside its "
                     "libcupti.so, which GPUEXEC_CUPTI can name");
}

CounterAccessRecord MakeDeviceUnsupported(uint64_t device_id, std::string_view why, uint64_t monotonic_ns) {
  return Refused(device_id, CounterAccessState::kUnsupported, monotonic_ns,
                 Lost(device_id) + "CUPTI cannot count on it" + (why.empty() ? "" : " (" + std::string(why) + ")"));
}

CounterAccessRecord MakeLeftToRankZero(uint64_t device_id, std::string_view rank, uint64_t monotonic_ns) {
  return Refused(device_id, CounterAccessState::kOff, monotonic_ns,
                 Lost(device_id) + "this is rank " + std::string(rank) +
                     " of a job, where rank 0 alone takes them, because every rank would make all the others wait; "
                     "GPUEXEC_COUNTERS=core (or another set) makes every rank take its own");
}

CounterAccessRecord MakeCountersOff(uint64_t device_id, uint64_t monotonic_ns) {
  return Refused(device_id, CounterAccessState::kOff, monotonic_ns, Lost(device_id) + "GPUEXEC_COUNTERS=off");
}

}  // namespace gx::inject
