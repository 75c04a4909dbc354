#include "inject/replay_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "inject/clock.h"
#include "inject/counter_records.h"
#include "inject/state.h"
#include "tests/inject/fake_range_profiler_table.h"
#include "tests/inject/writer_parts.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kContextId = 5;
constexpr uint32_t kDevice = 1;
constexpr uint32_t kFunction = 9;
constexpr uint32_t kCorrelation = 41;
const auto kContext = reinterpret_cast<CUcontext>(uintptr_t{105});
constexpr GroupKind kKinds[] = {GroupKind::kHardware, GroupKind::kSass};

size_t used_mib = 1024;

class ReplaySamplerTest : public ::testing::Test {
 protected:
  ReplaySamplerTest() : range_(MakeFakeRangeProfiler()), host_(MakeFakeProfilerHost()) {
    cuda_ = MakeFakeSamplingDriver();
    used_mib = 1024;
    cuda_.cuMemGetInfo_v2 = [](size_t* free_bytes, size_t* total_bytes) {
      *total_bytes = size_t{64} << 30;
      *free_bytes = *total_bytes - (used_mib << 20);
      return CUDA_SUCCESS;
    };
    EXPECT_TRUE(needs_.Allocate({.capacity = 64, .functions = 64}, kKinds));
    parts_.contexts.Add(kContextId, kDevice, kContext);
    writer_ = &parts_.MakeWriter();
    recording_.Attach(&parts_.cupti, writer_, {});
    recording_.Switch(true);
    AttachAgain();
    FakeCurrentContexts() = {kContext};
    thread_ = parts_.queues.Current();
    place_ = needs_.Find(77, kFunction);
    launch_.context = kContext;
    launch_.context_id = kContextId;
    launch_.correlation_id = kCorrelation;
    launch_.parameters.readable = 1;
    launch_.parameters.function_index = kFunction;
  }
  ~ReplaySamplerTest() override {
    ExpectNothingHeld();
    EXPECT_THAT(fake_.Violations(), IsEmpty());
    EXPECT_FALSE(watchdog_.Check(MonotonicNs() + 3'600'000'000'000).has_value()) << "a call is still watched";
    FakeCurrentContexts().clear();
    g_state.store(State::kOff);
  }

  // A new run.
  void AttachAgain() {
    ReplaySampler::Parts parts;
    parts.cuda = &cuda_;
    parts.queues = &parts_.queues;
    parts.contexts = &parts_.contexts;
    parts.streams = streams_.get();
    parts.behaviour = &behaviour_;
    parts.memory = &memory_;
    parts.captures = &captures_;
    parts.hold = &hold_;
    parts.recording = &recording_;
    parts.writer = writer_;
    parts.needs = &needs_;
    parts.watchdog = &watchdog_;
    parts.tally = &tally_;
    parts.start_monotonic_ns = MonotonicNs();
    replays_ = std::make_unique<ReplaySampler>();
    replays_->Attach(parts, needs_.places());
    replays_->AddDevice(kDevice);
  }
  void GivePlan(ReplayMode mode = ReplayMode::kMulti) {
    ReplaySampler::Plan plan;
    plan.host = &host_;
    plan.range = &range_;
    plan.chip = "GH100";
    plan.groups.resize(2);
    plan.groups[0].metrics = {"cycles.avg", "a.sum"};
    plan.groups[1].kind = GroupKind::kSass;
    plan.groups[1].metrics = {"sass_bytes.sum"};
    plan.configs = PlanReplay(mode, plan.groups, [](const auto&) { return std::optional(2); });
    replays_->SetPlan(std::move(plan));
  }
  void ExpectNothingHeld() {
    EXPECT_FALSE(hold_.held());
    EXPECT_FALSE(captures_.busy());
    EXPECT_EQ(captures_.longer_wait_ns(), 0u);
    EXPECT_NE(recording_.window_kind(), WindowKind::kCounters);
    EXPECT_EQ(thread_->replayed_correlation_id, 0u);
  }
  bool Before() { return replays_->Before(thread_, launch_, place_, kFunction); }
  // The whole of one launch that is replayed.
  void Replay(uint32_t result = 0) {
    ASSERT_TRUE(Before());
    if (result == 0) FakeReplayedLaunch();
    replays_->After(thread_, result);
  }
  std::vector<RangeEvent> Ranges() {
    std::vector<RangeEvent> events;
    thread_->queue.Drain([&](EventType type, const uint8_t* data, uint32_t bytes) {
      RangeEvent event;
      EXPECT_EQ(type, EventType::kRange);
      EXPECT_GE(bytes, sizeof(event));
      std::memcpy(&event, data, sizeof(event));
      events.push_back(event);
    });
    return events;
  }
  // Ends the writer, which then has what was posted.
  gpuexec::v1::Packet Written() {
    LaunchEvent event;
    event.correlation_id = kCorrelation;
    event.context_id = kContextId;
    event.window_id = 1;
    if (auto* room = thread_->queue.Reserve<LaunchEvent>(EventType::kLaunch)) {
      *room = event;
      thread_->queue.Commit();
    }
    writer_->Finish(1, {});
    writer_->Run();
    return parts_.AllPackets();
  }

  WriterParts parts_;
  RangeProfilerApi range_;
  ProfilerHostApi host_;
  CudaApi cuda_;
  FakeProfiler& fake_ = TheFakeProfiler();
  Writer* writer_ = nullptr;
  Recording recording_;
  std::unique_ptr<StreamTable> streams_ = std::make_unique<StreamTable>();
  ContextBehaviour behaviour_;
  ReplayMemory memory_;
  CaptureGate captures_;
  LaunchHold hold_;
  SamplingNeeds needs_;
  SamplingWatchdog watchdog_;
  SamplingTally tally_;
  std::unique_ptr<ReplaySampler> replays_;
  ThreadState* thread_ = nullptr;
  uint32_t place_ = 0;
  LaunchToSample launch_;
};

TEST_F(ReplaySamplerTest, WhileALaunchIsReplayedOthersAreHeldAndNothingIsTimed) {
  GivePlan();
  ASSERT_TRUE(Before());
  EXPECT_TRUE(hold_.held());
  EXPECT_TRUE(captures_.busy());
  EXPECT_GT(captures_.longer_wait_ns(), kCaptureWaitNs) << "passes may take longer than a capture waits as a rule";
  EXPECT_EQ(recording_.window_kind(), WindowKind::kCounters);
  EXPECT_EQ(thread_->replayed_correlation_id, kCorrelation);
  EXPECT_EQ(fake_.Calls().back(), "RangeProfilerStart");
  EXPECT_FALSE(replays_->Before(thread_, launch_, place_, kFunction)) << "one at a time";
  FakeReplayedLaunch();
  replays_->After(thread_, 0);
  ExpectNothingHeld();
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_EQ(fake_.OpenObjects(), 0u);
}

TEST_F(ReplaySamplerTest, EachGroupHasASessionOfItsOwnWithItsOwnValues) {
  GivePlan();
  Replay();
  EXPECT_EQ(needs_.Samples(place_, 0), 1u);
  EXPECT_EQ(needs_.Samples(place_, 1), 1u);
  const auto packet = Written();
  ASSERT_EQ(packet.counter_session_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const auto& session = packet.counter_session(i);
    EXPECT_EQ(session.session_id(), static_cast<uint64_t>(i + 1));
    EXPECT_EQ(session.group_iid(), CounterGroupIid(kDevice, static_cast<uint32_t>(i)));
    EXPECT_EQ(session.outcome(), gpuexec::v1::CounterSession::OUTCOME_COMPLETE);
    EXPECT_EQ(session.range_count(), 1u);
    EXPECT_TRUE(session.has_end_monotonic_ns());
  }
  EXPECT_EQ(packet.counter_session(1).enable_ns() + packet.counter_session(1).start_ns(), 0u) << "costs are told once";
  ASSERT_EQ(packet.counter_batch_size(), 2);
  EXPECT_THAT(packet.counter_batch(0).integer_value(), ElementsAre(10, 5));
  EXPECT_THAT(packet.counter_batch(1).integer_value(), ElementsAre(14));
  for (const auto& batch : packet.counter_batch()) {
    EXPECT_THAT(batch.flags(), ElementsAre(kCounterReplayed));
    EXPECT_EQ(batch.base_correlation_id(), kCorrelation);
  }
}

TEST_F(ReplaySamplerTest, WhatItCostsIsSpent) {
  GivePlan();
  Replay();
  EXPECT_GT(tally_.cost_ns.load(), 0u);
  EXPECT_EQ(tally_.samples.load(), 2u);
  EXPECT_EQ(tally_.last_session_id.load(), 2u);
}

TEST_F(ReplaySamplerTest, AReplayedFunctionHasEndedAlone) {
  GivePlan();
  EXPECT_FALSE(needs_.HasGraduated(kFunction));
  Replay();
  EXPECT_TRUE(needs_.HasGraduated(kFunction));
}

TEST_F(ReplaySamplerTest, InSinglePassesPatchedCodeComesAfterHardware) {
  GivePlan(ReplayMode::kSingle);
  Replay();
  EXPECT_EQ(needs_.Samples(place_, 0), 1u);
  EXPECT_EQ(needs_.Samples(place_, 1), 0u);
  Replay();
  EXPECT_EQ(needs_.Samples(place_, 0), 1u);
  EXPECT_EQ(needs_.Samples(place_, 1), 1u);
}

TEST_F(ReplaySamplerTest, NothingIsReplayedOnceNoGroupLacksSamples) {
  GivePlan();
  for (int i = 0; i < 3; ++i) Replay();
  EXPECT_FALSE(Before());
  EXPECT_EQ(Stats().Get(StatId::kCounterReplaysRefused), 0u);
}

TEST_F(ReplaySamplerTest, ALaunchThatTheDriverRefusedHasNoSample) {
  GivePlan();
  Replay(700);
  EXPECT_THAT(Ranges(), IsEmpty());
  EXPECT_EQ(needs_.Samples(place_, 0), 0u);
  EXPECT_FALSE(needs_.HasGraduated(kFunction));
  EXPECT_FALSE(replays_->is_off());
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidLaunchRefused), 1u);
}

TEST_F(ReplaySamplerTest, AHoldThatWasBrokenMakesTheSampleVoid) {
  GivePlan();
  ASSERT_TRUE(Before());
  FakeReplayedLaunch();
  hold_.Release();  // The watchdog's.
  const uint64_t next = hold_.Hold();
  replays_->After(thread_, 0);
  EXPECT_THAT(Ranges(), IsEmpty());
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidRanges), 1u);
  EXPECT_TRUE(hold_.held()) << "it is another's by now";
  hold_.Release(next);
}

TEST_F(ReplaySamplerTest, AHeldLaunchThatWentOnMakesTheSampleVoid) {
  GivePlan();
  ASSERT_TRUE(Before());
  FakeReplayedLaunch();
  // As if another thread had waited for its limit.
  hold_.Release();
  const uint64_t brief = hold_.HoldFor(1);
  ASSERT_NE(brief, 0u);
  std::thread([&] {
    ThreadState* const other = parts_.queues.Current();
    EXPECT_GT(hold_.Enter(other), 0u);
    hold_.Leave(other);
  }).join();
  hold_.Release(brief);
  replays_->After(thread_, 0);
  EXPECT_THAT(Ranges(), IsEmpty());
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidRanges), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidForeignLaunch), 1u);
}

TEST_F(ReplaySamplerTest, TheFirstLaunchesAreCandidates) {
  GivePlan();
  for (uint32_t i = 0; i < kRareLaunches; ++i) EXPECT_TRUE(replays_->IsCandidate(place_)) << i;
  EXPECT_FALSE(replays_->IsCandidate(place_));
  EXPECT_TRUE(replays_->IsCandidate(place_ == 0 ? 1 : 0)) << "another signature";
  EXPECT_FALSE(replays_->IsCandidate(needs_.places())) << "no place";
}

// ---------------------------------------------------------------------------------------------- the plan

TEST_F(ReplaySamplerTest, ALaunchWaitsForThePlan) {
  std::thread sampler([this] {
    while (!replays_->plan_wanted()) std::this_thread::yield();
    GivePlan();
  });
  EXPECT_TRUE(Before());
  sampler.join();
  EXPECT_FALSE(replays_->plan_wanted());
  FakeReplayedLaunch();
  replays_->After(thread_, 0);
}

TEST_F(ReplaySamplerTest, WithoutAPlanNobodyWaits) {
  replays_->GiveUp();
  EXPECT_FALSE(Before());
  EXPECT_TRUE(replays_->is_off());
  EXPECT_FALSE(replays_->IsCandidate(place_));
}

TEST_F(ReplaySamplerTest, ADeviceWhoseGroupsAreNotInTheTraceIsLeftAlone) {
  GivePlan();
  parts_.contexts.Remove(kContextId);
  launch_.context_id = kContextId + 7;
  parts_.contexts.Add(launch_.context_id, kDevice + 1, kContext);
  EXPECT_FALSE(Before());
  replays_->AddDevice(kDevice + 1);
  Replay();
}

// ---------------------------------------------------------------------------------------------- what speaks against it

TEST_F(ReplaySamplerTest, RefusalsAreCountedEachTimeAndToldOnce) {
  GivePlan();
  memory_.Note(ReplayObstacle::kManaged);
  EXPECT_FALSE(Before());
  EXPECT_FALSE(Before());
  EXPECT_EQ(Stats().Get(StatId::kCounterReplaysRefused), 2u);
  const auto packet = Written();
  ASSERT_EQ(packet.diagnostic_size(), 1);
  EXPECT_THAT(packet.diagnostic(0).text(), HasSubstr("managed memory"));
  EXPECT_THAT(fake_.Calls(), IsEmpty());
}

TEST_F(ReplaySamplerTest, MuchMemoryIsRefusedAndLessIsNot) {
  GivePlan();
  used_mib = 2049;
  EXPECT_FALSE(Before());
  EXPECT_EQ(Stats().Get(StatId::kCounterReplaysRefused), 1u);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  ExpectNothingHeld();
  used_mib = 2048;
  Replay();
}

TEST_F(ReplaySamplerTest, WhereSomethingElseCanRunOnlyFunctionsThatEndedAloneAreReplayed) {
  GivePlan();
  const auto stream = reinterpret_cast<CUstream>(uintptr_t{0x500});
  launch_.stream = stream;
  EXPECT_FALSE(Before()) << "beside the default stream";
  launch_.stream = CU_STREAM_PER_THREAD;
  EXPECT_FALSE(Before());
  launch_.stream = nullptr;
  streams_->Add(kContext, stream);
  EXPECT_FALSE(Before()) << "beside another stream";
  EXPECT_EQ(Stats().Get(StatId::kCounterReplaysRefused), 3u);
  needs_.Graduate(kFunction);
  Replay();
}

TEST_F(ReplaySamplerTest, ASecondContextOfTheDeviceCanRunBeside) {
  GivePlan();
  parts_.contexts.Add(kContextId + 1, kDevice + 1, reinterpret_cast<void*>(uintptr_t{205}));
  Replay();
  parts_.contexts.Add(kContextId + 2, kDevice, reinterpret_cast<void*>(uintptr_t{106}));
  launch_.parameters.function_index = kFunction + 1;
  EXPECT_FALSE(replays_->Before(thread_, launch_, place_, kFunction + 1));
}

TEST_F(ReplaySamplerTest, WhatIsSaidOfNoLaunchIsNotARefusal) {
  GivePlan();
  ASSERT_FALSE(captures_.Begin(1));
  EXPECT_FALSE(Before()) << "a capture";
  captures_.End(1);
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kTiming, WindowKind::kCounters));
  EXPECT_FALSE(Before()) << "a counter window";
  ASSERT_TRUE(recording_.SwitchTo(WindowKind::kCounters, WindowKind::kTiming));
  tally_.open_sessions = 1;
  EXPECT_FALSE(Before()) << "a session that was left open";
  tally_.open_sessions = 0;
  recording_.Switch(false);
  EXPECT_FALSE(Before()) << "nothing is recorded";
  recording_.Switch(true);
  ASSERT_TRUE(hold_.Hold());
  EXPECT_FALSE(Before()) << "the sampler changes windows";
  EXPECT_TRUE(hold_.held()) << "its hold is not ours";
  hold_.Release();
  FakeCurrentContexts() = {reinterpret_cast<CUcontext>(uintptr_t{106})};
  EXPECT_FALSE(Before()) << "another context is current";
  FakeCurrentContexts() = {kContext};
  watchdog_.TurnOff();
  EXPECT_FALSE(Before()) << "sampling is over";
  EXPECT_EQ(Stats().Get(StatId::kCounterReplaysRefused), 0u);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
}

TEST_F(ReplaySamplerTest, GraphsAreNotReplayed) {
  GivePlan();
  launch_.work = DeviceWork::kGraph;
  EXPECT_FALSE(Before());
}

// ---------------------------------------------------------------------------------------------- faults and ends

TEST_F(ReplaySamplerTest, EachCallThatFailsEndsReplayAndLeavesNothingHeld) {
  const std::string calls[] = {"RangeProfilerEnable",
                               "ProfilerHostInitialize",
                               "ProfilerHostConfigAddMetrics",
                               "RangeProfilerGetCounterDataSize",
                               "RangeProfilerCounterDataImageInitialize",
                               "RangeProfilerSetConfig",
                               "RangeProfilerStart"};
  for (const std::string& call : calls) {
    fake_.Fail(call, CUPTI_ERROR_UNKNOWN);
    GivePlan();
    EXPECT_FALSE(Before()) << call;
    ExpectNothingHeld();
    EXPECT_EQ(fake_.OpenObjects(), 0u) << call;
    EXPECT_TRUE(replays_->is_off()) << call;
    const auto failure = replays_->TakeFailure();
    ASSERT_TRUE(failure.has_value()) << call;
    EXPECT_EQ(failure->call, "cupti" + call);
    EXPECT_EQ(failure->result, CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(failure->device_id, kDevice);
    EXPECT_FALSE(replays_->TakeFailure().has_value()) << "told once";
    fake_.Succeed();
    AttachAgain();
  }
}

TEST_F(ReplaySamplerTest, AFailureAfterTheLaunchLosesItsSampleAndEndsReplay) {
  for (const std::string call : {"RangeProfilerStop", "RangeProfilerDecodeData", "RangeProfilerGetCounterDataInfo",
                                 "RangeProfilerCounterDataGetRangeInfo", "ProfilerHostEvaluateToGpuValues"}) {
    GivePlan();
    ASSERT_TRUE(Before()) << call;
    FakeReplayedLaunch();
    fake_.Fail(call, CUPTI_ERROR_UNKNOWN);
    replays_->After(thread_, 0);
    fake_.Succeed();
    ExpectNothingHeld();
    EXPECT_TRUE(replays_->is_off()) << call;
    EXPECT_TRUE(replays_->TakeFailure().has_value()) << call;
    AttachAgain();
  }
}

TEST_F(ReplaySamplerTest, AFaultOfOursLeavesNothingHeld) {
  for (const std::string call : {"RangeProfilerSetConfig", "RangeProfilerDecodeData"}) {
    GivePlan();
    fake_.throws_in = call;
    if (Before()) {
      FakeReplayedLaunch();
      replays_->After(thread_, 0);
    }
    fake_.Succeed();
    ExpectNothingHeld();
    EXPECT_THAT(Ranges(), IsEmpty()) << call;
    EXPECT_TRUE(replays_->is_off()) << call;
    AttachAgain();
  }
}

TEST_F(ReplaySamplerTest, NothingIsReplayedWhileAContextEnds) {
  GivePlan();
  replays_->BeforeContextEnds();
  EXPECT_FALSE(Before());
  replays_->AfterContextEnds();
  Replay();
}

TEST_F(ReplaySamplerTest, AContextThatEndsWaitsForTheReplay) {
  GivePlan();
  ASSERT_TRUE(Before());
  std::atomic<bool> ended{false};
  std::thread ending([&] {
    replays_->BeforeContextEnds();
    ended = true;
    replays_->AfterContextEnds();
  });
  FakeReplayedLaunch();
  EXPECT_FALSE(ended);
  replays_->After(thread_, 0);
  ending.join();
  EXPECT_EQ(Stats().Get(StatId::kUnloadWaitTimedOut), 0u);
}

TEST_F(ReplaySamplerTest, AfterTheEndNothingIsReplayed) {
  GivePlan();
  replays_->Finish(0);
  EXPECT_FALSE(replays_->IsCandidate(place_));
  EXPECT_FALSE(Before());
}

}  // namespace
}  // namespace gx::inject
