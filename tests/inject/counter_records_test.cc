#include "inject/counter_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// ------------------------------------------------------------------------------------------------------ plans

TEST(CounterRecords, EveryKindOfGroupHasItsOwn) {
  const std::vector<std::pair<GroupKind, CounterGroupKind>> cases = {
      {GroupKind::kHardware, CounterGroupKind::kHardware}, {GroupKind::kSass, CounterGroupKind::kSass},
      {GroupKind::kTensor, CounterGroupKind::kTensor},     {GroupKind::kPcie, CounterGroupKind::kPcie},
      {GroupKind::kNvlink, CounterGroupKind::kNvlink},     {GroupKind::kDevice, CounterGroupKind::kDevice},
  };
  for (const auto& [kind, expected] : cases) EXPECT_EQ(ToCounterGroupKind(kind), expected) << GroupKindName(kind);
}

TEST(CounterRecords, EveryReasonToDropAMetricHasItsOwn) {
  const std::vector<std::pair<DropReason, MetricDropReason>> cases = {
      {DropReason::kMalformed, MetricDropReason::kMalformed},
      {DropReason::kRepeated, MetricDropReason::kRepeated},
      {DropReason::kTooMany, MetricDropReason::kTooMany},
      {DropReason::kDoesNotExist, MetricDropReason::kDoesNotExist},
      {DropReason::kSeveralPasses, MetricDropReason::kSeveralPasses},
      {DropReason::kRefused, MetricDropReason::kRefused},
      {DropReason::kNotAsked, MetricDropReason::kNotAsked},
  };
  for (const auto& [reason, expected] : cases) EXPECT_EQ(ToMetricDropReason(reason), expected);
}

TEST(CounterRecords, EveryReasonToDenyHasItsOwn) {
  const std::vector<std::pair<DenyReason, std::optional<CounterDenialReason>>> cases = {
      {DenyReason::kNone, std::nullopt},
      {DenyReason::kName, CounterDenialReason::kName},
      {DenyReason::kUserPattern, CounterDenialReason::kUser},
      {DenyReason::kCooperative, CounterDenialReason::kCooperative},
      {DenyReason::kPeerAccess, CounterDenialReason::kPeerMemory},
      {DenyReason::kIpcMemory, CounterDenialReason::kIpcMemory},
      {DenyReason::kSymmetricHeap, CounterDenialReason::kSymmetricHeap},
      {DenyReason::kGreenContext, CounterDenialReason::kGreenContext},
      {DenyReason::kDeadline, CounterDenialReason::kDeadline},
      {DenyReason::kTableFull, CounterDenialReason::kTableFull},
  };
  for (const auto& [reason, expected] : cases) {
    EXPECT_EQ(ToCounterDenialReason(reason), expected) << DenyReasonName(reason);
  }
}

TEST(CounterRecords, AGroupKeepsItsMetricsInTheirOrder) {
  PlannedGroup group;
  group.name = "light+.2";
  group.kind = GroupKind::kTensor;
  group.is_spare = true;
  group.metrics = {"b.sum", "a.sum"};
  const CounterGroupRecord record = MakeCounterGroup(9, group, 2, "GH100");
  EXPECT_EQ(record.iid, 9u);
  EXPECT_EQ(record.name, "light+.2");
  EXPECT_EQ(record.kind, CounterGroupKind::kTensor);
  EXPECT_EQ(record.device_id, 2u);
  EXPECT_EQ(record.chip, "GH100");
  EXPECT_THAT(record.metrics, ElementsAre("b.sum", "a.sum"));
  EXPECT_TRUE(record.spare);
}

TEST(CounterRecords, APlanNamesItsGroupsAndWhatWasDropped) {
  CounterPlan plan;
  plan.groups.resize(2);
  plan.dropped = {{"x.sum", DropReason::kDoesNotExist, "not on this chip"}};
  const uint64_t iids[] = {4, 5};
  const CounterPlanRecord record = MakeCounterPlan(plan, iids, 1, "core", "GH100", 77);
  EXPECT_EQ(record.device_id, 1u);
  EXPECT_EQ(record.requested, "core");
  EXPECT_EQ(record.chip, "GH100");
  EXPECT_THAT(record.group_iids, ElementsAre(4u, 5u));
  ASSERT_EQ(record.dropped.size(), 1u);
  EXPECT_EQ(record.dropped[0].name, "x.sum");
  EXPECT_EQ(record.dropped[0].reason, MetricDropReason::kDoesNotExist);
  EXPECT_EQ(record.dropped[0].text, "not on this chip");
  EXPECT_FALSE(record.failed);
  EXPECT_EQ(record.planning_ns, 77u);
}

TEST(CounterRecords, APlanWithoutAGroupHasFailed) {
  EXPECT_TRUE(MakeCounterPlan({}, {}, 0, "core", "GH100", 0).failed);
  CounterPlan plan;
  plan.groups.resize(1);
  plan.failed = true;
  EXPECT_TRUE(MakeCounterPlan(plan, {}, 0, "core", "GH100", 0).failed);
}

// ------------------------------------------------------------------------------------------------------ ranges

TEST(AccountOf, OnlyWhatWasNotTheLaunchAloneIsVoid) {
  for (uint32_t i = 0; i < kRangeVerdicts; ++i) {
    const auto verdict = static_cast<RangeVerdict>(i);
    const RangeAccount account = AccountOf(verdict);
    EXPECT_EQ((account.flags & kCounterVoid) == 0, IsValid(verdict)) << RangeVerdictName(verdict);
    ASSERT_FALSE(account.stats.empty());
    EXPECT_EQ(account.stats[0] == StatId::kCounterSamples, IsValid(verdict)) << RangeVerdictName(verdict);
    EXPECT_EQ((account.flags & kCounterFirstOfSession) != 0, verdict == RangeVerdict::kValidFirst);
  }
}

TEST(AccountOf, AVoidRangeIsCountedInTheTotalAndByWhatMadeItVoid) {
  const std::pair<RangeVerdict, StatId> cases[] = {
      {RangeVerdict::kNoLaunch, StatId::kCounterVoidLaunchRefused},
      {RangeVerdict::kCaptureBegan, StatId::kCounterVoidCapture},
      {RangeVerdict::kForeignLaunch, StatId::kCounterVoidForeignLaunch},
      {RangeVerdict::kSeveralLaunches, StatId::kCounterVoidSeveralLaunches},
      {RangeVerdict::kCopy, StatId::kCounterVoidCopy},
      {RangeVerdict::kMemset, StatId::kCounterVoidMemset},
      {RangeVerdict::kModuleLoad, StatId::kCounterVoidModuleLoad},
  };
  for (const auto& [verdict, reason] : cases) {
    EXPECT_THAT(AccountOf(verdict).stats, ElementsAre(StatId::kCounterVoidRanges, reason)) << RangeVerdictName(verdict);
  }
  EXPECT_THAT(AccountOf(RangeVerdict::kCallFailed).stats,
              ElementsAre(StatId::kCounterVoidRanges, StatId::kCounterVoidCallFailed, StatId::kCuptiErrors));
  EXPECT_THAT(AccountOf(RangeVerdict::kNotCompleted).stats, ElementsAre(StatId::kCounterCompletionDeadlines));
}

// ------------------------------------------------------------------------------------------------------ denials

TEST(MakeDenial, AGraphIsNamedByItselfAndNotByAFunction) {
  const DenialEvent graph = MakeDenial(DeviceWork::kGraph, 70'000, 33, DenyReason::kDeadline);
  EXPECT_EQ(graph.function_index, 0u);
  EXPECT_EQ(graph.graph_exec_id, 33u);
  EXPECT_EQ(graph.context_id, 0u);
  EXPECT_EQ(graph.reason, static_cast<uint32_t>(CounterDenialReason::kDeadline));
}

TEST(MakeDenial, AFunctionIsDeniedInEveryContext) {
  const DenialEvent function = MakeDenial(DeviceWork::kKernel, 7, 0, DenyReason::kCooperative);
  EXPECT_EQ(function.function_index, 7u);
  EXPECT_EQ(function.graph_exec_id, 0u);
  EXPECT_EQ(function.context_id, 0u);
  EXPECT_EQ(function.reason, static_cast<uint32_t>(CounterDenialReason::kCooperative));
}

// ------------------------------------------------------------------------------------------------------ access

constexpr char kParams[] =
    "EnableMSI: 1\n"
    "EnablePCIeGen3: 0\n"
    "RmProfilingAdminOnly: 1\n"
    "PreserveVideoMemoryAllocations: 0\n";
constexpr char kStatusWithout[] =
    "Name:\tpython3\n"
    "CapInh:\t0000000000000000\n"
    "CapPrm:\t00000000a80425fb\n"
    "CapEff:\t00000000a80425fb\n"
    "CapBnd:\t00000000a80425fb\n";
constexpr char kStatusWith[] = "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n";
constexpr char kStatusOrdinaryUser[] = "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n";

TEST(ReadCounterPermissions, ReadsTheDriversParameterAndTheCapability) {
  CounterPermissions permissions = ReadCounterPermissions(kParams, kStatusWithout);
  EXPECT_EQ(permissions.admin_only, true);
  EXPECT_EQ(permissions.has_sys_admin, false);
  EXPECT_EQ(permissions.may_have_sys_admin, false);
  permissions = ReadCounterPermissions("RmProfilingAdminOnly: 0", kStatusOrdinaryUser);
  EXPECT_EQ(permissions.admin_only, false);
  EXPECT_EQ(permissions.has_sys_admin, false);
  EXPECT_EQ(permissions.may_have_sys_admin, true);
  EXPECT_EQ(ReadCounterPermissions(kParams, kStatusWith).has_sys_admin, true);
}

TEST(ReadCounterPermissions, WhatIsNotThereIsNotKnown) {
  for (const char* text :
       {"", "\n", "RmProfilingAdminOnly", "RmProfilingAdminOnly:", "RmProfilingAdminOnly: yes\n",
        "xRmProfilingAdminOnly: 1", "CapEff:\n", "CapEff: 00g0", "CapEff: 11112222333344445", "\0\xff\n\n:"}) {
    const CounterPermissions permissions = ReadCounterPermissions(text, text);
    EXPECT_EQ(permissions.admin_only, std::nullopt) << text;
    EXPECT_EQ(permissions.has_sys_admin, std::nullopt) << text;
    EXPECT_EQ(permissions.may_have_sys_admin, std::nullopt) << text;
  }
}

TEST(AccessStateOf, KnowsWhatCuptiSaysOfCounters) {
  EXPECT_EQ(AccessStateOf(0), CounterAccessState::kAllowed);
  EXPECT_EQ(AccessStateOf(35), CounterAccessState::kNotPermitted);
  EXPECT_EQ(AccessStateOf(40), CounterAccessState::kNotPermitted);
  for (const int result : {26, 36, 39}) EXPECT_EQ(AccessStateOf(result), CounterAccessState::kHeldByOther) << result;
  for (const int result : {2, 11, 27, 33, 38, 41, 42, 43, 44, 45, 46, 999, -1}) {
    EXPECT_EQ(AccessStateOf(result), CounterAccessState::kUnsupported) << result;
  }
}

TEST(StatOf, EveryRefusalIsCounted) {
  EXPECT_EQ(StatOf(CounterAccessState::kAllowed), std::nullopt);
  EXPECT_EQ(StatOf(CounterAccessState::kOff), std::nullopt);
  EXPECT_EQ(StatOf(CounterAccessState::kNotPermitted), StatId::kCounterPermissionRefused);
  for (const CounterAccessState state :
       {CounterAccessState::kUnsupported, CounterAccessState::kNoLibrary, CounterAccessState::kHeldByOther}) {
    EXPECT_EQ(StatOf(state), StatId::kCounterUnsupported);
  }
}

constexpr CounterCall kRefused = {"cuptiRangeProfilerEnable", 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"};

TEST(MakeCounterAccess, AllowedNeedsNoWords) {
  const CounterAccessRecord record = MakeCounterAccess(3, {"cuptiRangeProfilerEnable", 0, ""}, {}, 55);
  EXPECT_EQ(record.device_id, 3u);
  EXPECT_EQ(record.state, CounterAccessState::kAllowed);
  EXPECT_EQ(record.cupti_result, 0u);
  EXPECT_EQ(record.monotonic_ns, 55u);
  EXPECT_THAT(record.text, IsEmpty());
}

TEST(MakeCounterAccess, ARefusalSaysWhatIsLostWhatWasSeenAndHowToAllowIt) {
  const CounterAccessRecord record =
      MakeCounterAccess(3, kRefused, ReadCounterPermissions(kParams, kStatusOrdinaryUser), 55);
  EXPECT_EQ(record.state, CounterAccessState::kNotPermitted);
  EXPECT_EQ(record.cupti_result, 35u);
  EXPECT_EQ(
      record.text,
      "no hardware counters of device 3 (launches and times are recorded): cuptiRangeProfilerEnable returned error 35 "
      "(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES); /proc/driver/nvidia/params says RmProfilingAdminOnly: 1, and this "
      "process lacks CAP_SYS_ADMIN; to allow them, load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0 "
      "(as root: a line \"options nvidia NVreg_RestrictProfilingToAdminUsers=0\" in /etc/modprobe.d, then restart), "
      "or give the process CAP_SYS_ADMIN (run it as root; docker run --cap-add=SYS_ADMIN); GPUEXEC_COUNTERS=off does "
      "without");
}

TEST(MakeCounterAccess, ARefusalSaysOnlyWhatThisMachineShows) {
  struct Case {
    const char* params;
    const char* status;
    std::string seen;
  };
  for (const Case& c : std::vector<Case>{
           {kParams, kStatusWithout, "lacks CAP_SYS_ADMIN, which its container or service does not allow it"},
           {kParams, kStatusWith, "has CAP_SYS_ADMIN, which counts outside user namespaces only"},
           {kParams, "", "does not show its capabilities"},
           {"RmProfilingAdminOnly: 0\n", kStatusWithout, "RmProfilingAdminOnly: 0, so that it is not this driver"},
           {"", kStatusWithout, "/proc/driver/nvidia/params does not say RmProfilingAdminOnly here"}}) {
    const std::string text = MakeCounterAccess(0, kRefused, ReadCounterPermissions(c.params, c.status), 0).text;
    EXPECT_THAT(text, AllOf(HasSubstr(c.seen), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"),
                            HasSubstr("--cap-add=SYS_ADMIN")));
  }
}

TEST(MakeCounterAccess, AVirtualGpuIsAllowedByItsHost) {
  const std::string text = MakeCounterAccess(0, {"cuptiRangeProfilerEnable", 40, ""}, {}, 0).text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("returned error 40;"), HasSubstr("enable_profiling=1"), Not(HasSubstr("modprobe"))));
}

TEST(MakeCounterAccess, CountersThatAnotherToolHoldsNameWhatToStop) {
  const CounterAccessRecord record = MakeCounterAccess(0, {"cuptiRangeProfilerStart", 26, "BUSY"}, {}, 0);
  EXPECT_EQ(record.state, CounterAccessState::kHeldByOther);
  EXPECT_THAT(record.text, AllOf(HasSubstr("cuptiRangeProfilerStart returned error 26 (BUSY)"), HasSubstr("DCGM"),
                                 HasSubstr("dcgmi profile --pause")));
}

TEST(MakeCounterAccess, AnythingElseIsQuoted) {
  const CounterAccessRecord record = MakeCounterAccess(0, {"cuptiProfilerInitialize", 999, "unknown"}, {}, 0);
  EXPECT_EQ(record.state, CounterAccessState::kUnsupported);
  EXPECT_EQ(record.cupti_result, 999u);
  EXPECT_THAT(record.text, HasSubstr("cuptiProfilerInitialize returned error 999 (unknown)"));
}

TEST(CounterAccess, AnOldCuptiIsRefusedByName) {
  const CounterAccessRecord record = MakeCuptiTooOld(1, "12.8", "/opt/libcupti.so.12", 9);
  EXPECT_EQ(record.state, CounterAccessState::kNoLibrary);
  EXPECT_EQ(record.monotonic_ns, 9u);
  EXPECT_THAT(record.text, AllOf(HasSubstr("device 1"), HasSubstr("CUPTI 12.8 at /opt/libcupti.so.12"),
                                 HasSubstr("13.0"), HasSubstr("GPUEXEC_CUPTI")));
}

TEST(CounterAccess, AMissingLibraryAnUnsupportedDeviceAndOffAreSaid) {
  EXPECT_THAT(MakeNoLibrary(0, "libnvperf_target.so was not found", 0).text,
              AllOf(HasSubstr("libnvperf_target.so was not found"), HasSubstr("GPUEXEC_CUPTI")));
  EXPECT_EQ(MakeNoLibrary(0, "x", 0).state, CounterAccessState::kNoLibrary);
  EXPECT_THAT(MakeDeviceUnsupported(2, "MIG", 0).text, AllOf(HasSubstr("device 2"), HasSubstr("(MIG)")));
  EXPECT_THAT(MakeDeviceUnsupported(2, "", 0).text, Not(HasSubstr("()")));
  EXPECT_EQ(MakeDeviceUnsupported(2, "", 0).state, CounterAccessState::kUnsupported);
  EXPECT_EQ(MakeLeftToRankZero(1, "3", 0).state, CounterAccessState::kOff);
  EXPECT_THAT(MakeLeftToRankZero(1, "3", 0).text, HasSubstr("rank 3 of a job"));
  EXPECT_EQ(MakeCountersOff(0, 0).state, CounterAccessState::kOff);
  EXPECT_THAT(MakeCountersOff(0, 0).text, HasSubstr("GPUEXEC_COUNTERS=off"));
}

TEST(CounterAccess, SomeResultsSayThatCountersAreNotToBeHad) {
  // Busy, not supported (in general, on virtual, legacy, CMP, MIG, SLI, WSL devices), privileges, other clients.
  for (const int result : {26, 27, 33, 35, 36, 38, 39, 40, 41, 42, 43, 44, 45}) {
    EXPECT_TRUE(SaysAccess(result)) << result;
    EXPECT_NE(AccessStateOf(result), CounterAccessState::kAllowed) << result;
  }
  for (const int result : {0, 1, 2, 8, 9, 999}) EXPECT_FALSE(SaysAccess(result)) << result;
}

}  // namespace
}  // namespace gx::inject
