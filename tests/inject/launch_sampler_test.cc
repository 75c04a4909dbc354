#include "inject/launch_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "inject/record.h"
#include "inject/self_stats.h"
#include "tests/inject/fake_range_profiler_table.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kHour = 3'600'000'000'000;
constexpr uint32_t kContextId = 5;
constexpr uint32_t kDevice = 1;
const auto kContext = reinterpret_cast<CUcontext>(uintptr_t{105});
const auto kOtherContext = reinterpret_cast<CUcontext>(uintptr_t{106});
const auto kStream = reinterpret_cast<CUstream>(uintptr_t{0x500});
constexpr GroupKind kKinds[] = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
constexpr uint32_t kHardwareGroup = 0;
constexpr uint32_t kSassGroup = 1;
constexpr uint32_t kGraphExec = 33;

using Event = std::variant<RangeEvent, DenialEvent>;

class LaunchSamplerTest : public ::testing::Test {
 protected:
  LaunchSamplerTest() : range_api_(MakeFakeRangeProfiler()), host_(MakeFakeProfilerHost()) {
    cuda_ = MakeFakeSamplingDriver();
    Stats().Reset();
    EXPECT_TRUE(queues_.Allocate(uint64_t{8} << 20));
    EXPECT_TRUE(functions_.Allocate(uint64_t{4} << 20));
    queues_.ForgetCurrent();
    EXPECT_TRUE(needs_.Allocate({.capacity = 64, .functions = kSampledFunctions}, kKinds));
    EXPECT_TRUE(deny_.Allocate(kSampledFunctions, {"users_*"}));
    contexts_.Add(kContextId, kDevice, kContext);
    contexts_.Add(kContextId + 1, kDevice, kOtherContext);
    streams_->Add(kContext, kStream);
    LaunchSampler::Parts parts;
    parts.cuda = &cuda_;
    parts.queues = &queues_;
    parts.functions = &functions_;
    parts.contexts = &contexts_;
    parts.streams = streams_.get();
    parts.behaviour = &behaviour_;
    parts.graphs = graphs_.get();
    parts.captures = &captures_;
    parts.contents = &contents_;
    parts.hold = &hold_;
    parts.needs = &needs_;
    parts.deny = &deny_;
    parts.watchdog = &watchdog_;
    parts.tally = &tally_;
    parts.window_id = &window_id_;
    parts_ = parts;
    sampler_.Attach(parts);
    FakeCurrentContexts() = {kContext};
    kernel_ = Kernel("_Z4gemmPf", 0x700);
    AddTime(kernel_);
    needs_.Rank();
  }
  ~LaunchSamplerTest() override {
    ExpectReleased();
    EXPECT_THAT(fake_.Violations(), IsEmpty());
    FakeCurrentContexts().clear();
    queues_.ForgetCurrent();
  }

  LaunchToSample Kernel(const char* name, uintptr_t handle) {
    LaunchToSample launch;
    launch.context = kContext;
    launch.context_id = kContextId;
    launch.correlation_id = static_cast<uint32_t>(handle);
    launch.stream = kStream;
    launch.parameters.readable = 1;
    launch.parameters.grid = {8, 1, 1};
    launch.parameters.block = {256, 1, 1};
    launch.parameters.function_index = functions_.Find(reinterpret_cast<const void*>(handle), kContext, name);
    return launch;
  }
  LaunchToSample Graph() {
    LaunchToSample launch;
    launch.work = DeviceWork::kGraph;
    launch.context = kContext;
    launch.context_id = kContextId;
    launch.correlation_id = 77;
    launch.stream = kStream;
    launch.graph_exec_id = kGraphExec;
    return launch;
  }
  uint64_t KeyOf(const LaunchToSample& launch) {
    if (launch.work == DeviceWork::kGraph) return GraphSamplingKey(kDevice, launch.graph_exec_id);
    const FunctionInfo& info = functions_.Get(launch.parameters.function_index);
    SamplingKeyParts parts;
    parts.name_hash = SamplingNameHash({info.name, info.name_bytes});
    parts.device_id = kDevice;
    parts.grid = launch.parameters.grid;
    parts.block = launch.parameters.block;
    return SamplingKey(parts);
  }
  uint32_t PlaceOf(const LaunchToSample& launch) {
    return needs_.Find(KeyOf(launch), launch.work == DeviceWork::kGraph ? GraphFunction(launch.graph_exec_id)
                                                                        : launch.parameters.function_index);
  }
  // As if it had been timed: it is short, and its deadline the shortest.
  void AddTime(const LaunchToSample& launch) {
    (void)PlaceOf(launch);
    for (int i = 0; i < 20; ++i) needs_.AddTime(KeyOf(launch), 1000, true);
  }
  // Timed, and of those that matter.
  LaunchToSample Wanted(LaunchToSample launch) {
    AddTime(launch);
    needs_.Rank();
    return launch;
  }

  // As after a range of hardware counters that was the first of its session.
  void Graduate(const LaunchToSample& launch, uint32_t function) {
    needs_.Graduate(function);
    (void)needs_.Record(PlaceOf(launch), kHardwareGroup, SampleOutcome::kFirstOfSession);
  }

  void Arm(uint32_t group = kHardwareGroup, uint32_t max_ranges = kMaxSessionRanges, bool with_event = true) {
    session_ = std::make_unique<RangeSession>(host_, range_api_, &watchdog_);
    RangeSession::Options options;
    options.context = kContext;
    options.chip = "GH100";
    options.metrics = {"a.sum"};
    options.max_ranges = max_ranges;
    ASSERT_FALSE(session_->Open(options).failed());
    armed_ = std::make_unique<ArmedSession>();
    armed_->context = kContext;
    armed_->context_id = kContextId;
    armed_->device_id = kDevice;
    armed_->session_id = 9;
    armed_->window_id = window_id_.load();
    armed_->session = session_.get();
    if (with_event) {
      ASSERT_EQ(cuda_.cuEventCreate(&armed_->done, 0), CUDA_SUCCESS);
    }
    ArmedSession* const sessions[] = {armed_.get()};
    sampler_.Arm(group, kKinds[group], sessions);
    sampler_.Allow(1000, kHour, 0, UINT32_MAX);
  }
  void Close() {
    values_.clear();
    EXPECT_TRUE(sampler_.Disarm(0));
    EXPECT_FALSE(session_->Close(&values_, nullptr).failed());
  }

  // A launch of the program, as the callbacks around the driver's function see it.
  void Launch(const LaunchToSample& launch, uint32_t result = 0, const std::function<void()>& driver = {}) {
    ThreadState* const thread = queues_.Current();
    ASSERT_NE(thread, nullptr);
    (void)hold_.Enter(thread);
    if (sampler_.wants_launches()) {
      sampler_.Before(thread, launch);
    } else {
      sampler_.BeforeOther(thread, launch.work);
    }
    if (driver) driver();
    sampler_.After(thread, result);
    hold_.Leave(thread);
  }
  void Other(DeviceWork work) {
    ThreadState* const thread = queues_.Current();
    (void)hold_.Enter(thread);
    sampler_.BeforeOther(thread, work);
    sampler_.After(thread, 0);
    hold_.Leave(thread);
  }

  static std::vector<Event> Drain(ThreadState* thread) {
    std::vector<Event> events;
    thread->queue.Drain([&](EventType type, const uint8_t* data, uint32_t) {
      if (type == EventType::kRange) {
        RangeEvent event;
        std::memcpy(&event, data, sizeof(event));
        events.emplace_back(event);
      } else if (type == EventType::kDenial) {
        DenialEvent event;
        std::memcpy(&event, data, sizeof(event));
        events.emplace_back(event);
      }
    });
    return events;
  }
  std::vector<RangeEvent> Ranges() {
    std::vector<RangeEvent> ranges;
    denials_.clear();
    for (const Event& event : Drain(queues_.Current())) {
      if (const auto* range = std::get_if<RangeEvent>(&event)) ranges.push_back(*range);
      if (const auto* denial = std::get_if<DenialEvent>(&event)) denials_.push_back(*denial);
    }
    return ranges;
  }

  static uint64_t Skips() {
    uint64_t skips = Stats().Get(StatId::kCounterSkippedTableFull);
    for (auto id = static_cast<uint32_t>(StatId::kCounterSkippedBusy);
         id <= static_cast<uint32_t>(StatId::kCounterSkippedContext); ++id) {
      skips += Stats().Get(static_cast<StatId>(id));
    }
    return skips;
  }
  // Nothing of ours is left in anybody's way.
  void ExpectReleased() {
    EXPECT_FALSE(captures_.busy());
    EXPECT_FALSE(hold_.held());
    EXPECT_FALSE(contents_.is_open());
    EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
    EXPECT_FALSE(sampler_.range_open());
    ThreadState* const thread = queues_.Current();
    EXPECT_EQ(thread->watched_calls, 0);
    EXPECT_FALSE(thread->call_is_sampled);
    // No call is left noted as under way: a range can be opened.
    EXPECT_TRUE(contents_.Open(1));
    RangeFacts facts;
    contents_.Close(&facts);
    const auto stuck = watchdog_.Check(MonotonicNs() + kHour);
    EXPECT_FALSE(stuck.has_value());
  }
  // The launch had no range, and counted under `reason` alone; null: under nothing.
  void ExpectLeftAlone(const StatId* reason) {
    EXPECT_EQ(fake_.pushes, 0u);
    EXPECT_EQ(Skips(), reason == nullptr ? 0u : 1u);
    if (reason != nullptr) {
      EXPECT_EQ(Stats().Get(*reason), 1u) << static_cast<uint32_t>(*reason);
    }
    EXPECT_THAT(Ranges(), IsEmpty());
    ExpectReleased();
  }
  void ExpectSkipped(const LaunchToSample& launch, StatId reason) {
    Launch(launch);
    ExpectLeftAlone(&reason);
  }

  CudaApi cuda_;
  RangeProfilerApi range_api_;
  ProfilerHostApi host_;
  FakeProfiler& fake_ = TheFakeProfiler();
  FakeSamplingDriver& driver_ = TheFakeDriver();
  ThreadQueues queues_;
  FunctionTable functions_;
  ContextTable contexts_;
  std::unique_ptr<StreamTable> streams_ = std::make_unique<StreamTable>();
  ContextBehaviour behaviour_;
  std::unique_ptr<GraphSamplingTable> graphs_ = std::make_unique<GraphSamplingTable>();
  CaptureGate captures_;
  RangeContents contents_;
  LaunchHold hold_{kHour};
  SamplingNeeds needs_;
  SamplingDenyList deny_;
  SamplingWatchdog watchdog_;
  SamplingTally tally_;
  std::atomic<uint32_t> window_id_{4};
  LaunchSampler::Parts parts_;
  LaunchSampler sampler_;
  std::unique_ptr<RangeSession> session_;
  std::unique_ptr<ArmedSession> armed_;
  LaunchToSample kernel_;
  std::vector<RangeValues> values_;
  std::vector<DenialEvent> denials_;
};

// ---------------------------------------------------------------------------------------------- a sampled launch

TEST_F(LaunchSamplerTest, WithoutASessionNothingIsDone) {
  EXPECT_FALSE(sampler_.wants_launches());
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, ALaunchIsSampledAndItsRangeGoesIntoItsQueue) {
  Arm();
  bool pushed_before = false;
  Launch(kernel_, 0, [&] {
    pushed_before = fake_.Count("RangeProfilerPushRange") == 1 && fake_.Count("RangeProfilerPopRange") == 0;
    EXPECT_FALSE(hold_.held()) << "others launch again";
    EXPECT_TRUE(captures_.busy());
    EXPECT_TRUE(contents_.is_open());
  });
  EXPECT_TRUE(pushed_before);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  const auto ranges = Ranges();
  ASSERT_THAT(ranges, SizeIs(1));
  EXPECT_EQ(ranges[0].session_id, 9u);
  EXPECT_EQ(ranges[0].range_order, 0u);
  EXPECT_EQ(ranges[0].correlation_id, kernel_.correlation_id);
  EXPECT_EQ(ranges[0].flags, kCounterFirstOfSession);
  EXPECT_THAT(denials_, IsEmpty());
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kValidFirst);
  EXPECT_EQ(armed_->ranges[0].place, PlaceOf(kernel_));
  EXPECT_EQ(tally_.samples.load(), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamples), 1u);
  EXPECT_EQ(Skips(), 0u);
  EXPECT_NE(tally_.cost_ns.load(), 0u);
  EXPECT_EQ(tally_.cost_ns.load(), tally_.hardware_range_ns.value() + armed_->idle_wait_ns)
      << "one range is all there was, and counts once";
  EXPECT_EQ(tally_.sass_range_ns.value(), 0u);
  ExpectReleased();
}

TEST_F(LaunchSamplerTest, TheFirstOfASessionDoesNotCountAndThreeMoreAreEnough) {
  Arm();
  for (int i = 0; i < 6; ++i) Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 4u);
  EXPECT_EQ(needs_.Samples(PlaceOf(kernel_), kHardwareGroup), 3u);
  EXPECT_TRUE(needs_.HasGraduated(kernel_.parameters.function_index));
  const auto ranges = Ranges();
  ASSERT_THAT(ranges, SizeIs(4));
  EXPECT_EQ(ranges[3].flags, 0u);
  EXPECT_EQ(ranges[3].range_order, 3u);
  Close();
  EXPECT_THAT(values_, SizeIs(4));
}

TEST_F(LaunchSamplerTest, WithoutAnEventTheStreamIsAsked) {
  Arm(kHardwareGroup, kMaxSessionRanges, false);
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  Launch(kernel_);
  EXPECT_EQ(tally_.samples.load(), 1u);
  driver_.AnswerEvent(CUDA_SUCCESS);
}

TEST_F(LaunchSamplerTest, WhereNoEventCanBeRecordedTheStreamIsAsked) {
  Arm();
  driver_.event_record = CUDA_ERROR_INVALID_HANDLE;
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  Launch(kernel_);
  EXPECT_EQ(tally_.samples.load(), 1u);
}

TEST_F(LaunchSamplerTest, WhereNothingIsTimedEveryLaunchIsCounted) {
  parts_.count_launches = true;
  sampler_.Attach(parts_);
  EXPECT_TRUE(sampler_.wants_launches());
  EXPECT_FALSE(sampler_.armed());
  const LaunchToSample fresh = Kernel("_Z5freshv", 0x800);
  const uint32_t before = needs_.signatures();
  Launch(fresh);
  EXPECT_EQ(needs_.signatures(), before + 1);
  ExpectLeftAlone(nullptr);
}

// ---------------------------------------------------------------------------------------------- launches left alone

TEST_F(LaunchSamplerTest, ADeniedNameIsToldOnceAndLeftAlone) {
  Arm();
  const LaunchToSample nccl = Wanted(Kernel("_Z21ncclDevKernel_Genericv", 0x701));
  Launch(nccl);
  EXPECT_THAT(Ranges(), IsEmpty());
  ASSERT_THAT(denials_, SizeIs(1));
  EXPECT_EQ(denials_[0].function_index, nccl.parameters.function_index);
  EXPECT_EQ(denials_[0].context_id, 0u) << "in every context";
  EXPECT_EQ(denials_[0].reason, static_cast<uint32_t>(CounterDenialReason::kName));
  const StatId reason = StatId::kCounterSkippedDeniedName;
  ExpectLeftAlone(&reason);
  Launch(nccl);
  EXPECT_THAT(Ranges(), IsEmpty());
  EXPECT_THAT(denials_, IsEmpty()) << "written once";
}

TEST_F(LaunchSamplerTest, AUsersPatternDenies) {
  Arm();
  ExpectSkipped(Wanted(Kernel("users_own", 0x702)), StatId::kCounterSkippedDeniedUser);
}

TEST_F(LaunchSamplerTest, ACooperativeLaunchIsToldOnceAndLeftAlone) {
  Arm();
  LaunchToSample cooperative = Wanted(Kernel("_Z4gridv", 0x703));
  cooperative.parameters.cooperative = 1;
  Launch(cooperative);
  EXPECT_THAT(Ranges(), IsEmpty());
  ASSERT_THAT(denials_, SizeIs(1));
  EXPECT_EQ(denials_[0].reason, static_cast<uint32_t>(CounterDenialReason::kCooperative));
  const StatId reason = StatId::kCounterSkippedCooperative;
  ExpectLeftAlone(&reason);
  EXPECT_FALSE(deny_.exhausted());
}

TEST_F(LaunchSamplerTest, AContextThatMayWaitForOthersIsLeftAlone) {
  for (const ContextTrait trait : {ContextTrait::kPeerAccess, ContextTrait::kIpcMemory, ContextTrait::kSymmetricHeap}) {
    behaviour_.Forget(kContext);
    Stats().Reset();
    Arm();
    behaviour_.Note(kContext, trait);
    ExpectSkipped(kernel_, StatId::kCounterSkippedPeerMemory);
    Close();
  }
}

TEST_F(LaunchSamplerTest, WhatIsNotWantedIsLeftAlone) {
  Arm();
  Launch(Kernel("_Z5freshv", 0x704));
  ExpectLeftAlone(nullptr);
  // Beyond the rank that there is budget for.
  sampler_.Allow(1000, kHour, 0, 0);
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, PatchedCodeIsTriedOnlyOnWhatHasGraduated) {
  Arm(kSassGroup);
  ExpectSkipped(kernel_, StatId::kCounterSkippedNotGraduated);
  Graduate(kernel_, kernel_.parameters.function_index);
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_NE(tally_.sass_range_ns.value(), 0u);
  EXPECT_EQ(tally_.hardware_range_ns.value(), 0u);
  EXPECT_EQ(tally_.cost_ns.load(), tally_.sass_range_ns.value() + armed_->idle_wait_ns);
}

TEST_F(LaunchSamplerTest, PatchedCodeIsTriedOnlyOnWhatHasCompletedInThisShape) {
  needs_.Graduate(kernel_.parameters.function_index);  // By a launch of another one.
  Arm(kSassGroup);
  ExpectSkipped(kernel_, StatId::kCounterSkippedNotGraduated);
}

TEST_F(LaunchSamplerTest, AFunctionDoesNotGraduateByAnotherOneOfItsName) {
  Graduate(kernel_, kernel_.parameters.function_index);
  const LaunchToSample namesake = Kernel("_Z4gemmPf", 0x7ff);
  ASSERT_NE(namesake.parameters.function_index, kernel_.parameters.function_index);
  ASSERT_EQ(KeyOf(namesake), KeyOf(kernel_));
  Arm(kSassGroup);
  ExpectSkipped(namesake, StatId::kCounterSkippedNotGraduated);
}

TEST_F(LaunchSamplerTest, ALaunchOfPatchedCodeIsWatched) {
  Graduate(kernel_, kernel_.parameters.function_index);
  Arm(kSassGroup);
  std::optional<StuckCall> stuck;
  Launch(kernel_, 0, [&] { stuck = watchdog_.Check(MonotonicNs() + kHour); });
  ASSERT_TRUE(stuck.has_value());
  EXPECT_EQ(stuck->call, SamplingCall::kPatchedLaunch);
}

TEST_F(LaunchSamplerTest, WhereACaptureIsOpenNothingIsSampled) {
  Arm();
  (void)captures_.Begin(1);
  ExpectSkipped(kernel_, StatId::kCounterSkippedCapture);
  captures_.End(1);
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
}

TEST_F(LaunchSamplerTest, InAnotherWindowThanItsSessionsNothingIsSampled) {
  Arm();
  window_id_ = 5;
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
  window_id_ = 0;  // Outside every region.
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
  window_id_ = 4;
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
}

TEST_F(LaunchSamplerTest, AWindowThatEndsMeanwhileMakesTheRangeVoid) {
  Arm();
  Launch(kernel_, 0, [&] { window_id_ = 5; });
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCaptureBegan);
  EXPECT_EQ(armed_->ranges[0].flags, kCounterVoid);
  EXPECT_EQ(tally_.samples.load(), 0u);
  EXPECT_EQ(needs_.Samples(PlaceOf(kernel_), kHardwareGroup), 0u);
}

TEST_F(LaunchSamplerTest, ACaptureThatHasWaitedTooLongMeetsNoCallOfOurs) {
  Arm();
  uint64_t queries = 0;
  Launch(kernel_, 0, [&] {
    // A launch that itself took so long: patched code, or a module that was loaded.
    EXPECT_TRUE(captures_.Begin(1, MonotonicNs() - kCaptureWaitNs));
    queries = driver_.queries;
  });
  EXPECT_EQ(driver_.queries, queries);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 0u);
  EXPECT_TRUE(armed_->abandoned.load());
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCaptureBegan);
  EXPECT_EQ(Stats().Get(StatId::kCounterCompletionDeadlines), 0u);
  DenyReason reason = DenyReason::kNone;
  (void)deny_.Find(kernel_.parameters.function_index, &reason);
  EXPECT_EQ(reason, DenyReason::kNone) << "it is not the function's fault";
  EXPECT_EQ(tally_.hardware_range_ns.value(), 0u);
  captures_.End(1);
  session_->Abandon();
}

TEST_F(LaunchSamplerTest, ARefusedLaunchIsNotPoppedEitherWhereACaptureHasWaitedTooLong) {
  Arm();
  Launch(kernel_, CUDA_ERROR_INVALID_VALUE, [&] { EXPECT_TRUE(captures_.Begin(1, MonotonicNs() - kCaptureWaitNs)); });
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 0u);
  EXPECT_TRUE(armed_->abandoned.load());
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kNoLaunch);
  captures_.End(1);
  session_->Abandon();
}

TEST_F(LaunchSamplerTest, ACaptureThatHasJustBegunIsServedAsUsual) {
  Arm();
  Launch(kernel_, 0, [&] { EXPECT_TRUE(captures_.Begin(1)); });
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  EXPECT_FALSE(armed_->abandoned.load());
  captures_.End(1);
}

TEST_F(LaunchSamplerTest, WaitsForTheDeviceAreWatched) {
  for (const auto& [query, call] :
       {std::pair("cuStreamQuery", SamplingCall::kQueryStream), std::pair("cuEventQuery", SamplingCall::kQueryEvent)}) {
    SamplingWatchdog watchdog;
    parts_.watchdog = &watchdog;
    sampler_.Attach(parts_);
    Arm();
    std::optional<StuckCall> stuck;
    driver_.inside_query = [&, wanted = query](const char* asked) {
      if (!stuck && std::string_view(asked) == wanted) stuck = watchdog.Check(MonotonicNs() + kHour);
    };
    Launch(kernel_);
    driver_.inside_query = nullptr;
    ASSERT_TRUE(stuck.has_value()) << query;
    EXPECT_EQ(stuck->call, call);
    EXPECT_FALSE(watchdog.Check(MonotonicNs() + kHour).has_value()) << "left";
    Close();
  }
  parts_.watchdog = &watchdog_;
  sampler_.Attach(parts_);
}

TEST_F(LaunchSamplerTest, ADrainHoldsLaunchesWhileItWaits) {
  Arm();
  sampler_.Allow(1000, kHour, 1'000'000'000, UINT32_MAX);
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  int questions = 0;
  int held = 0;
  driver_.inside_query = [&](const char*) {
    if (captures_.busy() && hold_.held()) ++held;
    if (++questions == 5) driver_.Answer(kStream, CUDA_SUCCESS);
  };
  uint64_t before = 0;
  Launch(kernel_, 0, [&] {
    EXPECT_FALSE(hold_.held());
    before = static_cast<uint64_t>(questions);
    driver_.inside_query = nullptr;
  });
  EXPECT_EQ(static_cast<uint64_t>(held), before) << "from the first question on";
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterDrains), 1u);
}

TEST_F(LaunchSamplerTest, ADrainEndsItsHoldAtItsLimit) {
  Arm();
  sampler_.Allow(1000, kHour, 2'000'000, UINT32_MAX);
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  ExpectSkipped(kernel_, StatId::kCounterSkippedBusy);
  EXPECT_EQ(tally_.busy_skips.load(), 1u);
}

TEST_F(LaunchSamplerTest, WhereAnotherHoldsLaunchesNoDrainBegins) {
  Arm();
  sampler_.Allow(1000, kHour, 1'000'000'000, UINT32_MAX);
  ThreadState* const thread = queues_.Current();
  (void)hold_.Enter(thread);
  const uint64_t ticket = hold_.Hold();
  ASSERT_NE(ticket, 0u);
  sampler_.Before(thread, kernel_);
  sampler_.After(thread, 0);
  hold_.Leave(thread);
  EXPECT_TRUE(hold_.held());
  EXPECT_EQ(driver_.queries, 0u);
  hold_.Release(ticket);
  const StatId reason = StatId::kCounterSkippedBusy;
  ExpectLeftAlone(&reason);
}

TEST_F(LaunchSamplerTest, AnIdleWaitIsBilledAndNoPartOfWhatARangeCosts) {
  Arm();
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  const uint64_t begin_ns = MonotonicNs();
  driver_.inside_query = [&](const char*) {
    if (MonotonicNs() - begin_ns > 2'000'000) driver_.Answer(kStream, CUDA_SUCCESS);
  };
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_GE(armed_->idle_wait_ns, 2'000'000u);
  EXPECT_EQ(tally_.cost_ns.load(), tally_.hardware_range_ns.value() + armed_->idle_wait_ns);
}

TEST_F(LaunchSamplerTest, WhatTheLaunchTakesAnywayIsNotBilled) {
  needs_.AddTime(KeyOf(kernel_), kHour * 1000, true);
  needs_.Rank();
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  uint64_t asked_ns = 0;
  driver_.inside_query = [&](const char* call) {
    if (std::string_view(call) != "cuEventQuery") return;
    if (asked_ns == 0) asked_ns = MonotonicNs();
    if (MonotonicNs() - asked_ns > 3'000'000) driver_.AnswerEvent(CUDA_SUCCESS);
  };
  const uint64_t begin_ns = MonotonicNs();
  Launch(kernel_);
  const uint64_t took_ns = MonotonicNs() - begin_ns;
  EXPECT_GE(armed_->completion_wait_ns, 3'000'000u);
  EXPECT_LE(tally_.cost_ns.load() + armed_->completion_wait_ns, took_ns);
}

TEST_F(LaunchSamplerTest, WhereKernelsAreNotTimedNoneIsTakenForAShortOne) {
  EXPECT_EQ(LaunchSampler::LaunchLimitNs(DeviceWork::kKernel, true, 0), kMaxCompletionLimitNs);
  EXPECT_EQ(LaunchSampler::LaunchLimitNs(DeviceWork::kKernel, false, 0), kUnknownCompletionLimitNs);
  EXPECT_EQ(LaunchSampler::LaunchLimitNs(DeviceWork::kKernel, false, 1000), kMinCompletionLimitNs);
  EXPECT_EQ(LaunchSampler::LaunchLimitNs(DeviceWork::kGraph, false, 1000), kMaxCompletionLimitNs);
}

TEST_F(LaunchSamplerTest, ACaptureThatBeginsWhileStreamsAreBusyIsNotWaitedFor) {
  Arm();
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  driver_.inside_query = [&](const char*) {
    if (captures_.captures() == 0) {
      EXPECT_TRUE(captures_.Begin(1)) << "told to wait";
    }
  };
  ExpectSkipped(kernel_, StatId::kCounterSkippedCapture);
  EXPECT_EQ(tally_.busy_skips.load(), 0u);
  driver_.inside_query = nullptr;
  captures_.End(1);
}

TEST_F(LaunchSamplerTest, ABusyStreamAtTheDeadlineIsASkipAfterWhichItStaysAway) {
  Arm();
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  ExpectSkipped(kernel_, StatId::kCounterSkippedBusy);
  EXPECT_EQ(tally_.busy_skips.load(), 1u);
  EXPECT_GE(tally_.cost_ns.load(), kIdleLimitNs) << "the program waited";
  EXPECT_GE(armed_->idle_wait_ns, kIdleLimitNs);
  driver_.Answer(kStream, CUDA_SUCCESS);
  const uint64_t queries = driver_.queries;
  Launch(kernel_);
  EXPECT_EQ(driver_.queries, queries) << "not even asked";
  EXPECT_EQ(fake_.pushes, 0u);
}

TEST_F(LaunchSamplerTest, AStreamThatBecomesIdleInTimeIsWaitedFor) {
  Arm();
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  int questions = 0;
  driver_.inside_query = [&](const char*) {
    if (++questions == 5) driver_.Answer(kStream, CUDA_SUCCESS);
  };
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_EQ(Skips(), 0u);
}

TEST_F(LaunchSamplerTest, AStreamThatIsBusyAgainOnceLaunchesAreHeldIsASkip) {
  Arm();
  driver_.inside_query = [&](const char*) {
    if (hold_.held()) driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  };
  ExpectSkipped(kernel_, StatId::kCounterSkippedBusy);
}

TEST_F(LaunchSamplerTest, AContextWithADoubtIsNotDrained) {
  Arm();
  streams_->NoteGreenContext();
  ExpectSkipped(kernel_, StatId::kCounterSkippedContext);
  EXPECT_EQ(tally_.busy_skips.load(), 0u) << "the schedule would allow drains";
}

TEST_F(LaunchSamplerTest, AnotherThreadsCallUnderWayIsASkipAfterWhichItStaysAway) {
  Arm();
  ThreadState* other = nullptr;
  std::thread([&] { other = queues_.Current(); }).join();
  (void)hold_.Enter(other);
  Launch(kernel_);
  EXPECT_EQ(Stats().Get(StatId::kCounterSkippedBusy), 1u);
  EXPECT_EQ(Skips(), 1u);
  const uint64_t queries = driver_.queries;
  Launch(kernel_);
  EXPECT_EQ(driver_.queries, queries);
  hold_.Leave(other);
  EXPECT_EQ(fake_.pushes, 0u);
}

TEST_F(LaunchSamplerTest, WhileAnotherHoldsLaunchesNoRangeBegins) {
  Arm();
  // The call was already on its way when the hold began.
  driver_.inside_query = [&](const char*) {
    if (!hold_.held()) {
      EXPECT_TRUE(hold_.Hold());
    }
  };
  Launch(kernel_);
  EXPECT_TRUE(hold_.held()) << "it is not ours to release";
  hold_.Release();
  driver_.inside_query = nullptr;
  const StatId reason = StatId::kCounterSkippedBusy;
  ExpectLeftAlone(&reason);
}

TEST_F(LaunchSamplerTest, WhileAnotherThreadsRangeIsOpenNoRangeBegins) {
  Arm();
  Launch(kernel_, 0, [&] {
    std::thread([&] {
      FakeCurrentContexts() = {kContext};
      Launch(kernel_);
    }).join();
  });
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSkippedRangeOpen), 1u);
  EXPECT_EQ(Skips(), 1u);
  // The other thread's launch was in the range.
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kForeignLaunch);
}

TEST_F(LaunchSamplerTest, AContextWithoutASessionIsLeftAlone) {
  Arm();
  LaunchToSample elsewhere = kernel_;
  elsewhere.context = kOtherContext;
  elsewhere.context_id = kContextId + 1;
  ExpectSkipped(elsewhere, StatId::kCounterSkippedContext);
}

TEST_F(LaunchSamplerTest, AContextThatIsNotCurrentIsLeftAlone) {
  Arm();
  FakeCurrentContexts() = {kOtherContext};
  ExpectSkipped(kernel_, StatId::kCounterSkippedContext);
  FakeCurrentContexts() = {kContext};
}

TEST_F(LaunchSamplerTest, AFunctionBeyondTheTablesIsLeftAlone) {
  Arm();
  LaunchToSample beyond = kernel_;
  beyond.parameters.function_index = kSampledKernels;
  ExpectSkipped(beyond, StatId::kCounterSkippedTableFull);
}

TEST_F(LaunchSamplerTest, WhatCannotBeReadIsLeftAlone) {
  Arm();
  LaunchToSample unreadable = kernel_;
  unreadable.parameters = {};
  Launch(unreadable);
  LaunchToSample unknown_context = kernel_;
  unknown_context.context_id = 99;
  Launch(unknown_context);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, AFullSessionAsksForAttention) {
  Arm(kHardwareGroup, 1);
  Launch(kernel_);
  EXPECT_TRUE(sampler_.needs_attention());
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_EQ(Skips(), 0u);
}

TEST_F(LaunchSamplerTest, WhatTheScheduleDoesNotAllowIsLeftAlone) {
  Arm();
  sampler_.Allow(0, kHour, 0, UINT32_MAX);
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
  sampler_.Allow(1000, 0, 0, UINT32_MAX);
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
  sampler_.Allow(1000, kHour, 0, UINT32_MAX);
  sampler_.Forbid();
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
  sampler_.Allow(2, kHour, 0, UINT32_MAX);
  for (int i = 0; i < 4; ++i) Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 2u);
}

TEST_F(LaunchSamplerTest, TheBudgetIsWhatIsSpentFromNowOn) {
  Arm();
  tally_.Spend(1'000'000'000);
  sampler_.Allow(1000, 1'000'000, 0, UINT32_MAX);
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  tally_.Spend(1'000'000);
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
  sampler_.Allow(1000, UINT64_MAX, 0, UINT32_MAX);
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 2u);
}

TEST_F(LaunchSamplerTest, OnceTheWatchdogHasSwitchedOffNothingIsSampled) {
  Arm();
  watchdog_.TurnOff();
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, AnArmedSamplerNoMoreBeginsNoRange) {
  Arm();
  EXPECT_TRUE(sampler_.Disarm(0));
  Launch(kernel_);
  ExpectLeftAlone(nullptr);
}

// ---------------------------------------------------------------------------------------------- what becomes of it

TEST_F(LaunchSamplerTest, ALaunchThatIsRefusedMakesItsRangeVoid) {
  Arm();
  Launch(kernel_, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kNoLaunch);
  EXPECT_EQ(armed_->ranges[0].flags, kCounterVoid);
  EXPECT_EQ(tally_.samples.load(), 0u);
  EXPECT_FALSE(needs_.HasGraduated(kernel_.parameters.function_index));
  EXPECT_THAT(Ranges(), IsEmpty()) << "there is no launch to join it with";
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidRanges), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidLaunchRefused), 1u);
}

TEST_F(LaunchSamplerTest, CallsInsideTheLaunchAreOfItsRangeAndBalance) {
  const std::pair<DeviceWork, RangeVerdict> cases[] = {{DeviceWork::kKernel, RangeVerdict::kSeveralLaunches},
                                                       {DeviceWork::kGraph, RangeVerdict::kSeveralLaunches},
                                                       {DeviceWork::kCopy, RangeVerdict::kCopy},
                                                       {DeviceWork::kMemset, RangeVerdict::kMemset},
                                                       {DeviceWork::kModuleLoad, RangeVerdict::kModuleLoad}};
  Arm();
  uint32_t order = 0;
  for (const auto& [work, verdict] : cases) {
    Launch(kernel_, 0, [&, inner = work] {
      inner == DeviceWork::kKernel ? Launch(kernel_) : Other(inner);
      Other(inner);
    });
    EXPECT_EQ(armed_->ranges[order].verdict, verdict);
    ++order;
    ExpectReleased();
  }
  EXPECT_EQ(fake_.pushes, 5u);
}

TEST_F(LaunchSamplerTest, AnotherThreadsWorkMakesTheRangeVoid) {
  Arm();
  for (const DeviceWork work : {DeviceWork::kGraph, DeviceWork::kCopy, DeviceWork::kMemset}) {
    Launch(kernel_, 0, [&] { std::thread([&] { Other(work); }).join(); });
  }
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kForeignLaunch);
  EXPECT_EQ(armed_->ranges[1].verdict, RangeVerdict::kCopy);
  EXPECT_EQ(armed_->ranges[2].verdict, RangeVerdict::kMemset);
  EXPECT_EQ(tally_.samples.load(), 0u);
  const auto ranges = Ranges();
  ASSERT_THAT(ranges, SizeIs(3));
  EXPECT_EQ(ranges[2].flags, kCounterVoid);
}

TEST_F(LaunchSamplerTest, CallsThatBeganInAWindowMayEndBehindIt) {
  Arm();
  ThreadState* const thread = queues_.Current();
  (void)hold_.Enter(thread);
  sampler_.BeforeOther(thread, DeviceWork::kCopy);
  EXPECT_TRUE(sampler_.Disarm(0));
  sampler_.BeforeOther(thread, DeviceWork::kKernel);
  sampler_.After(thread, 0);
  sampler_.After(thread, 0);
  hold_.Leave(thread);
  ExpectReleased();
}

TEST_F(LaunchSamplerTest, ACallWhoseThreadEndedStandsInNobodysWayForGood) {
  Arm();
  std::thread([&] { sampler_.BeforeOther(queues_.Current(), DeviceWork::kCopy); }).join();
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 0u) << "it may be under way";
  Close();
  // The kernel may know the thread for a moment longer.
  RangeFacts unused;
  while (!contents_.Open(1)) {
    queues_.CollectEndedThreads();
    Arm();
    Close();
  }
  contents_.Close(&unused);
  Arm();
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
}

// A cancelled thread must not unwind through our callback: that would end the process.
TEST_F(LaunchSamplerTest, NoWaitIsAPlaceToBeCancelledAt) {
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  uint64_t asked_ns = 0;
  driver_.inside_query = [&](const char* call) {
    if (std::string_view(call) != "cuEventQuery") return;
    if (asked_ns == 0) asked_ns = MonotonicNs();
    // Beyond the time in which it is asked without a nap.
    if (MonotonicNs() - asked_ns > 1'000'000) driver_.AnswerEvent(CUDA_SUCCESS);
  };
  bool is_alive = false;
  std::thread([&] {
    FakeCurrentContexts() = {kContext};
    (void)pthread_cancel(pthread_self());
    Launch(kernel_);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    is_alive = true;
  }).join();
  EXPECT_TRUE(is_alive);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
}

TEST_F(LaunchSamplerTest, EightVoidRangesGiveThePairUp) {
  Arm();
  for (int i = 0; i < 12; ++i) Launch(kernel_, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fake_.pushes, 8u);
  EXPECT_EQ(Stats().Get(StatId::kCounterGivenUp), 1u);
}

TEST_F(LaunchSamplerTest, APushThatFailsLeavesTheLaunchAloneAndEndsTheSession) {
  Arm();
  fake_.Fail("RangeProfilerPushRange", CUPTI_ERROR_UNKNOWN);
  Launch(kernel_);
  EXPECT_TRUE(sampler_.needs_attention());
  EXPECT_EQ(armed_->failed_result, CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCallFailed);
  EXPECT_EQ(armed_->ranges[0].flags, kCounterVoid);
  EXPECT_EQ(Stats().Get(StatId::kCuptiErrors), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidRanges), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidCallFailed), 1u);
  EXPECT_EQ(Skips(), 0u);
  EXPECT_THAT(Ranges(), IsEmpty());
  ExpectReleased();
  fake_.Succeed();
  Launch(kernel_);
  EXPECT_EQ(fake_.Count("RangeProfilerPushRange"), 1u) << "the session is not used any more";
}

TEST_F(LaunchSamplerTest, APopThatFailsMakesTheRangeVoidAndEndsTheSession) {
  Arm();
  Launch(kernel_, 0, [&] { fake_.Fail("RangeProfilerPopRange", CUPTI_ERROR_UNKNOWN); });
  EXPECT_TRUE(sampler_.needs_attention());
  EXPECT_EQ(armed_->failed_result, CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCallFailed);
  EXPECT_EQ(tally_.samples.load(), 0u);
  EXPECT_THAT(Ranges(), SizeIs(1));
  fake_.Succeed();
  Launch(kernel_);
  EXPECT_EQ(fake_.pushes, 1u);
}

TEST_F(LaunchSamplerTest, AMissedDeadlineAbandonsTheSessionAndDeniesTheFunctionForGood) {
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  const uint64_t begin_ns = MonotonicNs();
  Launch(kernel_);
  EXPECT_GE(MonotonicNs() - begin_ns, kMinCompletionLimitNs);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 0u) << "it would block";
  EXPECT_TRUE(armed_->abandoned.load());
  EXPECT_FALSE(armed_->context_lost.load());
  EXPECT_EQ(armed_->abandoned_order, 0u);
  EXPECT_TRUE(sampler_.needs_attention());
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kNotCompleted);
  DenyReason reason = DenyReason::kNone;
  EXPECT_TRUE(deny_.Find(kernel_.parameters.function_index, &reason));
  EXPECT_EQ(reason, DenyReason::kDeadline);
  // The denial comes first: the range's event is the last before the launch's own.
  const auto events = Drain(queues_.Current());
  ASSERT_THAT(events, SizeIs(2));
  ASSERT_TRUE(std::holds_alternative<DenialEvent>(events[0]));
  const auto& denial = std::get<DenialEvent>(events[0]);
  EXPECT_EQ(denial.reason, static_cast<uint32_t>(CounterDenialReason::kDeadline));
  EXPECT_EQ(denial.function_index, kernel_.parameters.function_index);
  EXPECT_GE(denial.waited_ns, kMinCompletionLimitNs);
  ASSERT_TRUE(std::holds_alternative<RangeEvent>(events[1]));
  EXPECT_EQ(std::get<RangeEvent>(events[1]).flags, kCounterVoid);
  EXPECT_EQ(Stats().Get(StatId::kCounterCompletionDeadlines), 1u);
  EXPECT_GE(tally_.cost_ns.load(), kMinCompletionLimitNs);
  EXPECT_EQ(tally_.hardware_range_ns.value(), 0u) << "the next range will not cost as much";
  ExpectReleased();
  // Neither the function nor the session is tried again.
  driver_.AnswerEvent(CUDA_SUCCESS);
  Launch(kernel_);
  const LaunchToSample fresh = Wanted(Kernel("_Z5freshv", 0x705));
  Launch(fresh);
  EXPECT_EQ(fake_.pushes, 1u);
  session_->Abandon();
}

TEST_F(LaunchSamplerTest, AnErrorOfTheDeviceAbandonsTheSessionAndDeniesNothing) {
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_LAUNCH_FAILED);
  Launch(kernel_);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 0u);
  EXPECT_TRUE(armed_->abandoned.load());
  EXPECT_TRUE(armed_->context_lost.load());
  DenyReason reason = DenyReason::kNone;
  (void)deny_.Find(kernel_.parameters.function_index, &reason);
  EXPECT_EQ(reason, DenyReason::kNone);
  EXPECT_THAT(Ranges(), SizeIs(1));
  EXPECT_THAT(denials_, IsEmpty());
  session_->Abandon();
}

TEST_F(LaunchSamplerTest, ACaptureThatBeginsMeanwhileWaitsAndIsServedInTime) {
  needs_.AddTime(KeyOf(kernel_), 1'000'000'000, true);  // A deadline of 10 s.
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  uint64_t capture_ns = 0;
  driver_.inside_query = [&](const char* call) {
    if (capture_ns != 0 || std::string_view(call) != "cuEventQuery") return;
    EXPECT_TRUE(captures_.Begin(1)) << "told to wait";
    capture_ns = MonotonicNs();
  };
  Launch(kernel_);
  EXPECT_LT(MonotonicNs() - capture_ns, kCaptureWaitNs) << "before the capture goes on by itself";
  EXPECT_FALSE(captures_.busy());
  EXPECT_TRUE(armed_->abandoned.load());
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 0u);
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCaptureBegan);
  EXPECT_EQ(Stats().Get(StatId::kCounterCompletionDeadlines), 0u) << "the kernel missed none";
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidRanges), 1u);
  DenyReason reason = DenyReason::kNone;
  (void)deny_.Find(kernel_.parameters.function_index, &reason);
  EXPECT_EQ(reason, DenyReason::kNone);
  EXPECT_THAT(Ranges(), SizeIs(1));
  EXPECT_THAT(denials_, IsEmpty());
  driver_.inside_query = nullptr;
  captures_.End(1);
  session_->Abandon();
}

TEST_F(LaunchSamplerTest, ALaunchThatCompletesWhileACaptureWaitsIsPopped) {
  Arm();
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  int questions = 0;
  driver_.inside_query = [&](const char* call) {
    if (std::string_view(call) != "cuEventQuery") return;
    if (++questions == 1) {
      EXPECT_TRUE(captures_.Begin(1));
      contents_.CaptureBegan();
    }
    if (questions == 3) driver_.AnswerEvent(CUDA_SUCCESS);
  };
  Launch(kernel_);
  driver_.inside_query = nullptr;
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  EXPECT_FALSE(armed_->abandoned.load());
  EXPECT_EQ(armed_->ranges[0].verdict, RangeVerdict::kCaptureBegan);
  captures_.End(1);
}

// ---------------------------------------------------------------------------------------------- graphs

TEST_F(LaunchSamplerTest, AGraphIsSampledAsAWholeWhereItMay) {
  const LaunchToSample graph = Wanted(Graph());
  Arm();
  Launch(graph);
  EXPECT_EQ(fake_.pushes, 0u) << "not known";
  graphs_->Set(kGraphExec, GraphSampling::kMay);
  Launch(graph);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterGraphSamples), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamples), 1u);
  const auto ranges = Ranges();
  ASSERT_THAT(ranges, SizeIs(1));
  EXPECT_EQ(ranges[0].correlation_id, 77u);
  EXPECT_FALSE(needs_.HasGraduated(GraphFunction(kGraphExec)));
}

TEST_F(LaunchSamplerTest, AGraphThatMayNotIsLeftAlone) {
  const LaunchToSample graph = Wanted(Graph());
  Arm();
  graphs_->Set(kGraphExec, GraphSampling::kNever);
  Launch(graph);
  LaunchToSample without_id = graph;
  without_id.graph_exec_id = 0;
  Launch(without_id);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, AGraphThatMayNotBarsNoOtherOneOfItsPlace) {
  const LaunchToSample never = Wanted(Graph());
  graphs_->Set(kGraphExec, GraphSampling::kNever);
  Arm();
  Launch(never);
  LaunchToSample other = Graph();
  other.graph_exec_id = kGraphExec + GraphSamplingTable::kSize;
  ASSERT_EQ(GraphFunction(other.graph_exec_id), GraphFunction(kGraphExec));
  other = Wanted(other);
  graphs_->Set(other.graph_exec_id, GraphSampling::kMay);
  Launch(other);
  EXPECT_EQ(fake_.pushes, 1u);
  EXPECT_FALSE(needs_.Wants(PlaceOf(never), kHardwareGroup)) << "no window is opened for it";
}

TEST_F(LaunchSamplerTest, AGraphThatMissesItsDeadlineBarsNoOtherOneOfItsPlace) {
  LaunchToSample other = Graph();
  other.graph_exec_id = kGraphExec + GraphSamplingTable::kSize;
  deny_.Deny(GraphFunction(kGraphExec), {}, kGraphExec, DenyReason::kDeadline);
  other = Wanted(other);
  graphs_->Set(other.graph_exec_id, GraphSampling::kMay);
  Arm();
  Launch(other);
  EXPECT_EQ(fake_.pushes, 1u);
}

TEST_F(LaunchSamplerTest, AGraphIsNeverSampledWithPatchedCode) {
  const LaunchToSample graph = Wanted(Graph());
  graphs_->Set(kGraphExec, GraphSampling::kMay);
  Graduate(graph, GraphFunction(kGraphExec));
  Arm(kSassGroup);
  Launch(graph);
  ExpectLeftAlone(nullptr);
}

TEST_F(LaunchSamplerTest, GraphsHaveIndexesOfTheirOwn) {
  EXPECT_EQ(GraphFunction(0), kSampledKernels);
  EXPECT_LT(GraphFunction(UINT32_MAX), kSampledFunctions);
  EXPECT_EQ(GraphFunction(GraphSamplingTable::kSize + 1), GraphFunction(1));
}

// ---------------------------------------------------------------------------------------------- threads

// Launches of several threads while windows come and go: what the sampler's thread takes away is in nobody's hands.
TEST_F(LaunchSamplerTest, WindowsComeAndGoUnderLaunches) {
  constexpr int kThreads = 3;
  constexpr int kWindows = 40;
  std::atomic<bool> over{false};
  std::vector<std::thread> program;
  for (int i = 0; i < kThreads; ++i) {
    program.emplace_back([&] {
      FakeCurrentContexts() = {kContext};
      while (!over.load()) Launch(kernel_, 0, [&] { Other(DeviceWork::kCopy); });
      EXPECT_EQ(queues_.Current()->watched_calls, 0);
      EXPECT_FALSE(queues_.Current()->call_is_sampled);
    });
  }
  const auto quiet = [&](const std::function<void()>& body) {
    while (!hold_.Hold()) std::this_thread::yield();
    EXPECT_TRUE(WaitUntil([&] { return !hold_.CallsUnderWay(queues_, nullptr); }, kHour));
    body();
    hold_.Release();
  };
  uint64_t pushed = 0;
  for (int window = 0; window < kWindows; ++window) {
    quiet([&] { Arm(); });
    (void)WaitUntil([&] { return sampler_.range_open() || over.load(); }, 2'000'000);
    EXPECT_TRUE(sampler_.Disarm(kHour));
    quiet([&] {
      const uint32_t ranges = session_->next_order();
      values_.clear();
      EXPECT_FALSE(session_->Close(&values_, nullptr).failed());
      EXPECT_THAT(values_, SizeIs(ranges));
      pushed += ranges;
      (void)cuda_.cuEventDestroy_v2(armed_->done);
      armed_.reset();
      session_.reset();
    });
  }
  over.store(true);
  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(fake_.pushes, pushed);
  EXPECT_EQ(driver_.EventsLiving(), 0);
  EXPECT_EQ(fake_.OpenObjects(), 0u);
}

}  // namespace
}  // namespace gx::inject
