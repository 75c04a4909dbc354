// From what the planner, the deny list and CUPTI say to what the trace says of it. Pure.
#ifndef GPUEXEC_INJECT_COUNTER_RECORDS_H_
#define GPUEXEC_INJECT_COUNTER_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "inject/counter_planner.h"
#include "inject/event.h"
#include "inject/range_verdict.h"
#include "inject/record.h"
#include "inject/sampling_deny_list.h"
#include "inject/sampling_needs.h"
#include "inject/self_stats.h"

namespace gx::inject {

CounterGroupKind ToCounterGroupKind(GroupKind kind);
MetricDropReason ToMetricDropReason(DropReason reason);
// Nothing for kNone. Never throws, as MakeDenial and AccountOf: they are asked in callbacks.
std::optional<CounterDenialReason> ToCounterDenialReason(DenyReason reason) noexcept;

// Groups of a device have numbers of their own in the trace.
constexpr uint64_t CounterGroupIid(uint32_t device_id, uint32_t group) {
  return uint64_t{device_id} * kMaxSampledGroups + group + 1;
}
CounterGroupRecord MakeCounterGroup(uint64_t iid, const PlannedGroup& group, uint64_t device_id, std::string_view chip);
// `group_iids`: one for each group of the plan. `requested`: as DescribeSamplingSettings states GPUEXEC_COUNTERS.
CounterPlanRecord MakeCounterPlan(const CounterPlan& plan, std::span<const uint64_t> group_iids, uint64_t device_id,
                                  std::string_view requested, std::string_view chip, uint64_t planning_ns);

// The launch's function is denied, or its graph as a whole. Without times.
DenialEvent MakeDenial(DeviceWork work, uint32_t function_index, uint32_t graph_exec_id, DenyReason reason) noexcept;

// What becomes of a range: the flags of its sample, and the counters that it adds to, each once.
struct RangeAccount {
  uint64_t flags = 0;  // Bits kCounter*.
  std::span<const StatId> stats;
};
RangeAccount AccountOf(RangeVerdict verdict) noexcept;

// --------------------------------------------------------------------------------------------- access to counters

// What this process shows of its right to read counters. Nothing: not known.
struct CounterPermissions {
  // RmProfilingAdminOnly: the driver keeps counters for administrators.
  std::optional<bool> admin_only;
  // CAP_SYS_ADMIN, effective; and whether the process could ever have it, which a container does not allow by default.
  std::optional<bool> has_sys_admin;
  std::optional<bool> may_have_sys_admin;
};
// `driver_params`: content of /proc/driver/nvidia/params; `process_status`: of /proc/self/status. Either may be empty,
// or anything.
CounterPermissions ReadCounterPermissions(std::string_view driver_params, std::string_view process_status);

// The call of CUPTI that told.
struct CounterCall {
  std::string_view name;         // "cuptiRangeProfilerEnable"
  int result = 0;                // CUptiResult
  std::string_view result_text;  // CUPTI's own; "": there is none.
};

// Whether a CUptiResult says that the device's counters are not to be had here, rather than that something went wrong.
bool SaysAccess(int cupti_result);
// What a CUptiResult says of a device's counters; a code that says nothing of them is kUnsupported.
CounterAccessState AccessStateOf(int cupti_result);
// The counter that a device in this state adds to; nothing for kAllowed and kOff.
std::optional<StatId> StatOf(CounterAccessState state);

// Each says in its text what is lost, what was seen, and how to allow it; kAllowed needs no words.
CounterAccessRecord MakeCounterAccess(uint64_t device_id, const CounterCall& call,
                                      const CounterPermissions& permissions, uint64_t monotonic_ns);
// Counters need CUPTI 13.0 (CUPTI_API_VERSION 130000). `version_text`: CuptiVersionText of the one in use.
inline constexpr uint32_t kMinCounterCuptiVersion = 130000;
CounterAccessRecord MakeCuptiTooOld(uint64_t device_id, std::string_view version_text, std::string_view cupti_path,
                                    uint64_t monotonic_ns);
// Likewise of a version with a fault that windows of counters would meet (cupti_traps.h).
CounterAccessRecord MakeCuptiFaulty(uint64_t device_id, std::string_view version_text, std::string_view cupti_path,
                                    uint64_t monotonic_ns);
// `problem`: one sentence without its full stop, which says what is missing.
CounterAccessRecord MakeNoLibrary(uint64_t device_id, std::string_view problem, uint64_t monotonic_ns);
// `why`: what the device is or how it is shared ("MIG", "vGPU"); "": CUPTI did not say.
CounterAccessRecord MakeDeviceUnsupported(uint64_t device_id, std::string_view why, uint64_t monotonic_ns);
// Only rank 0 of a job takes them.
CounterAccessRecord MakeLeftToRankZero(uint64_t device_id, std::string_view rank, uint64_t monotonic_ns);
CounterAccessRecord MakeCountersOff(uint64_t device_id, uint64_t monotonic_ns);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COUNTER_RECORDS_H_
