#include "inject/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "inject/self_stats.h"
#include "inject/state.h"
#include "tests/inject/fake_range_profiler_table.h"
#include "tests/inject/writer_parts.h"

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Access = gpuexec::v1::CounterAccess;
using Denial = gpuexec::v1::CounterDenial;
using SessionProto = gpuexec::v1::CounterSession;
using WindowProto = gpuexec::v1::Window;

// No test ends by one of these.
constexpr uint64_t kHour = 3'600'000'000'000;
constexpr uint64_t kPatienceNs = 30'000'000'000;

// Contexts 100 to 199 are of device 1, and so on; ids are addresses.
constexpr uint32_t kContext = 105;
CUcontext Context(uint32_t id) { return reinterpret_cast<CUcontext>(uintptr_t{id}); }
const auto kStream = reinterpret_cast<CUstream>(uintptr_t{0x500});

std::atomic<int>& Loads() {
  static std::atomic<int> loads{0};
  return loads;
}
std::string& LoadProblem() {
  static std::string problem;
  return problem;
}

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() {
    range_ = MakeFakeRangeProfiler();
    host_ = MakeFakeProfilerHost();
    cuda_ = MakeFakeSamplingDriver();
    Loads() = 0;
    LoadProblem().clear();
    g_state.store(State::kCapturing);
    EXPECT_TRUE(needs_.Allocate({.capacity = 64, .functions = kSampledFunctions}, {}));
    EXPECT_TRUE(deny_.Allocate(kSampledFunctions, {}));
    writer_parts_.config.sampling.counters = {.set = CounterSet::kLight, .metrics = {}};
    writer_parts_.config.sampling.budget_ratio.reset();
    writer_parts_.needs = &needs_;
    writer_parts_.deny = &deny_;
    writer_parts_.graphs = graphs_.get();
    writer_ = &writer_parts_.MakeWriter();
    recording_.Attach(&writer_parts_.cupti, writer_, {});
    recording_.Switch(true);
    AddContext(kContext);
    streams_->Add(Context(kContext), kStream);
    kernel_ = Kernel("_Z4gemmPf", 0x700, kContext);
  }
  ~SamplerTest() override {
    if (thread_.joinable()) Finish();
    EXPECT_THAT(fake_.Violations(), IsEmpty());
    EXPECT_FALSE(hold_.held());
    EXPECT_FALSE(captures_.busy());
    EXPECT_FALSE(contents_.is_open());
    EXPECT_FALSE(launches_.armed());
    g_state.store(State::kOff);
    FakeCurrentContexts().clear();
  }

  void AddContext(uint32_t id) { writer_parts_.contexts.Add(id, id / 100, Context(id)); }
  LaunchToSample Kernel(const char* name, uintptr_t handle, uint32_t context) {
    LaunchToSample launch;
    launch.context = Context(context);
    launch.context_id = context;
    launch.stream = kStream;
    launch.parameters.readable = 1;
    launch.parameters.grid = {8, 1, 1};
    launch.parameters.block = {256, 1, 1};
    launch.parameters.function_index =
        writer_parts_.functions.Find(reinterpret_cast<const void*>(handle), Context(context), name);
    return launch;
  }
  // It is launched, as if it had been timed in the first window.
  void Time(const LaunchToSample& launch) {
    const FunctionInfo& info = writer_parts_.functions.Get(launch.parameters.function_index);
    SamplingKeyParts parts;
    parts.name_hash = SamplingNameHash({info.name, info.name_bytes});
    parts.device_id = launch.context_id / 100;
    parts.grid = launch.parameters.grid;
    parts.block = launch.parameters.block;
    (void)needs_.Find(SamplingKey(parts), launch.parameters.function_index);
    for (int i = 0; i < 20; ++i) needs_.AddTime(SamplingKey(parts), 1000, true);
    Launch(launch);
    Stats().Add(StatId::kLaunchesSeen);
  }

  void Attach() {
    LaunchSampler::Parts launches;
    launches.cuda = &cuda_;
    launches.queues = &writer_parts_.queues;
    launches.functions = &writer_parts_.functions;
    launches.contexts = &writer_parts_.contexts;
    launches.streams = streams_.get();
    launches.behaviour = &behaviour_;
    launches.graphs = graphs_.get();
    launches.captures = &captures_;
    launches.contents = &contents_;
    launches.hold = &hold_;
    launches.needs = &needs_;
    launches.deny = &deny_;
    launches.watchdog = &watchdog_;
    launches.tally = &tally_;
    launches.window_id = &recording_.window_id();
    launches_.Attach(launches);
    Sampler::Parts parts;
    parts.config = &writer_parts_.config;
    parts.cupti = &writer_parts_.cupti;
    parts.cuda = &cuda_;
    parts.queues = &writer_parts_.queues;
    parts.contexts = &writer_parts_.contexts;
    parts.streams = streams_.get();
    parts.behaviour = &behaviour_;
    parts.captures = &captures_;
    parts.hold = &hold_;
    parts.recording = &recording_;
    parts.writer = writer_;
    parts.needs = &needs_;
    parts.deny = &deny_;
    parts.watchdog = &watchdog_;
    parts.tally = &tally_;
    parts.launches = &launches_;
    parts.load_apis = [](const std::string&, ProfilerHostApi* host, RangeProfilerApi* range,
                         std::vector<std::string>* problems) {
      Loads().fetch_add(1);
      if (!LoadProblem().empty()) {
        problems->push_back(LoadProblem());
        return false;
      }
      *host = host_;
      *range = range_;
      return true;
    };
    parts.start_monotonic_ns = MonotonicNs();
    sampler_->Attach(parts);
  }
  void Start() {
    thread_ = std::thread([this] {
      sampler_->Run();
      ends_with_current_ = FakeCurrentContexts();
      sampler_->MarkFinished();
    });
  }
  // With a kernel to be sampled.
  void StartTimed() {
    Attach();
    Time(kernel_);
    Start();
  }
  void Finish() {
    sampler_->Finish();
    thread_.join();
    EXPECT_TRUE(sampler_->finished());
    EXPECT_THAT(ends_with_current_, IsEmpty()) << "a context was left current";
  }
  // Ends everything and reads the trace.
  gpuexec::v1::Packet Written() {
    if (thread_.joinable()) Finish();
    writer_->Finish(1, {});
    writer_->Run();
    return writer_parts_.AllPackets();
  }

  // While the program launches what is not to be sampled.
  static bool Eventually(const std::function<bool()>& done) {
    return WaitUntil(
        [&] {
          Stats().Add(StatId::kLaunchesSeen);
          return done();
        },
        kPatienceNs);
  }
  bool EventuallyIn(WindowKind kind) {
    return Eventually([&] { return recording_.window_kind() == kind; });
  }
  bool EventuallyArmed() {
    return Eventually([&] { return launches_.armed(); });
  }

  // A launch of the program, as the callbacks around the driver's function see it. Events are the writer's, later.
  void Launch(const LaunchToSample& launch, const std::function<void()>& driver = {}, uint32_t result = 0) {
    FakeCurrentContexts() = {launch.context};
    ThreadState* const thread = writer_parts_.queues.Current();
    (void)hold_.Enter(thread);
    LaunchToSample numbered = launch;
    numbered.correlation_id = ++correlation_id_;
    if (launches_.wants_launches()) {
      launches_.Before(thread, numbered);
    } else {
      launches_.BeforeOther(thread, launch.work);
    }
    const uint32_t window_id = recording_.window_id().load();
    if (driver) driver();
    launches_.After(thread, result);
    hold_.Leave(thread);
    auto* event = thread->queue.Reserve<LaunchEvent>(EventType::kLaunch);
    if (event == nullptr) return;
    event->enter_monotonic_ns = MonotonicNs();
    event->correlation_id = numbered.correlation_id;
    event->context_id = launch.context_id;
    event->window_id = window_id;
    event->result = result;
    event->parameters = launch.parameters;
    thread->queue.Commit();
  }
  bool LaunchUntil(const std::function<bool()>& done) {
    return Eventually([&] {
      // Outside counter windows a launch is timed.
      if (!done()) Launch(kernel_);
      if (!launches_.armed()) Time(kernel_);
      return done();
    });
  }
  uint64_t Pushes() {
    const std::lock_guard lock(fake_.mutex);
    return fake_.pushes;
  }
  static const SessionProto* SessionWith(const gpuexec::v1::Packet& packet, SessionProto::Outcome outcome) {
    for (const auto& session : packet.counter_session()) {
      if (session.outcome() == outcome) return &session;
    }
    return nullptr;
  }
  static std::vector<std::string> Texts(const gpuexec::v1::Packet& packet) {
    std::vector<std::string> texts;
    for (const auto& diagnostic : packet.diagnostic()) texts.push_back(diagnostic.text());
    return texts;
  }
  void ExpectOff(const gpuexec::v1::Packet& packet, Access::State state, const std::string& words) {
    ASSERT_EQ(packet.counter_access_size(), 1);
    EXPECT_EQ(packet.counter_access(0).state(), state);
    EXPECT_EQ(packet.counter_access(0).device_id(), 1u);
    EXPECT_THAT(packet.counter_access(0).text(), HasSubstr(words));
    EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming) << "tracing goes on";
    EXPECT_EQ(fake_.OpenObjects(), 0u);
    EXPECT_EQ(fake_.HostObjects(), 0u);
  }

  inline static RangeProfilerApi range_;
  inline static ProfilerHostApi host_;
  WriterParts writer_parts_;
  FakeProfiler& fake_ = TheFakeProfiler();
  FakeSamplingDriver& driver_ = TheFakeDriver();
  CudaApi cuda_;
  Writer* writer_ = nullptr;
  Recording recording_;
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
  LaunchSampler launches_;
  std::unique_ptr<Sampler> sampler_ = std::make_unique<Sampler>();
  std::thread thread_;
  std::vector<CUcontext> ends_with_current_;
  LaunchToSample kernel_;
  uint32_t correlation_id_ = 0;
};

// ---------------------------------------------------------------------------------------------- a window

TEST_F(SamplerTest, NothingIsLoadedBeforeTheFirstLaunch) {
  Attach();
  Start();
  EXPECT_EQ(Loads(), 0);
  Finish();
  EXPECT_EQ(Loads(), 0);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  EXPECT_THAT(Written().counter_access(), IsEmpty());
}

TEST_F(SamplerTest, AWindowOpensTakesItsSamplesAndCloses) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(recording_.window_kind(), WindowKind::kCounters);
  EXPECT_EQ(TheFakeCupti().enabled_kinds_mask.load(), 0u) << "no activity beside counters";
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 4; }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming)) << "nothing is lacking";
  EXPECT_NE(TheFakeCupti().enabled_kinds_mask.load(), 0u);
  ASSERT_TRUE(Eventually([&] { return !launches_.armed() && fake_.OpenObjects() == 0; }));
  EXPECT_FALSE(launches_.wants_launches()) << "they are counted until the first window";
  const auto packet = Written();
  EXPECT_EQ(driver_.EventsLiving(), 1) << "the one for asking the context";
  EXPECT_EQ(fake_.HostObjects(), 0u);
  ASSERT_EQ(packet.counter_access_size(), 1);
  EXPECT_EQ(packet.counter_access(0).state(), Access::STATE_ALLOWED);
  ASSERT_EQ(packet.counter_plan_size(), 1);
  EXPECT_EQ(packet.counter_plan(0).chip(), "GH100");
  ASSERT_GE(packet.counter_group_size(), 1);
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_COMPLETE);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 4u);
  EXPECT_EQ(session->context_id(), kContext);
  EXPECT_EQ(session->window_id(), 2u);
  EXPECT_NE(session->enable_ns(), 0u);
  EXPECT_NE(session->disable_ns(), 0u);
  uint64_t samples = 0;
  for (const auto& batch : packet.counter_batch()) samples += batch.count();
  EXPECT_EQ(samples, 4u);
  EXPECT_EQ(packet.device_peaks_size(), 1);
  EXPECT_EQ(Stats().Get(StatId::kCounterSessions), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamples), 4u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsFailed), 0u);
  EXPECT_NE(tally_.rotation_ns.value(), 0u);
  EXPECT_LE(tally_.rotation_ns.value(), tally_.cost_ns.load()) << "what the program waited, and no more";
}

// ---------------------------------------------------------------------------------------------- two passes

class SamplerPairTest : public SamplerTest {
 protected:
  SamplerPairTest() {
    writer_parts_.config.sampling.counters = {.set = CounterSet::kOff,
                                              .metrics = {"smsp__inst_executed.sum", "smsp__sass_inst_executed.sum"}};
  }
  // Sessions of the trace that have ended, by group, in order.
  static std::vector<std::pair<std::string, SessionProto::Outcome>> Ended(const gpuexec::v1::Packet& packet) {
    std::map<uint64_t, std::string> names;
    for (const auto& group : packet.counter_group()) names[group.iid()] = group.name();
    std::vector<std::pair<std::string, SessionProto::Outcome>> ended;
    for (const auto& session : packet.counter_session()) {
      if (session.outcome() == SessionProto::OUTCOME_UNSPECIFIED) continue;
      ended.emplace_back(names[session.group_iid()], session.outcome());
    }
    return ended;
  }
};

TEST_F(SamplerPairTest, OneSessionCountsBothGroups) {
  StartTimed();
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 8 && fake_.OpenObjects() == 0; }));
  const auto packet = Written();
  EXPECT_THAT(Ended(packet), ElementsAre(Pair("user", SessionProto::OUTCOME_COMPLETE),
                                         Pair("user_sass", SessionProto::OUTCOME_COMPLETE)));
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamples), 8u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterNanValues), 0u);
  uint64_t samples = 0;
  for (const auto& batch : packet.counter_batch()) samples += batch.count();
  EXPECT_EQ(samples, 8u);
}

TEST_F(SamplerPairTest, AFirstPassThatCannotBeReadIsTheFirstGroupsFault) {
  StartTimed();
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 3; }));
  fake_.Fail("RangeProfilerStop", CUPTI_ERROR_UNKNOWN);
  ASSERT_TRUE(LaunchUntil([&] { return Stats().Get(StatId::kCounterSessionsFailed) == 1; }));
  fake_.Succeed();
  ASSERT_TRUE(LaunchUntil([&] { return fake_.Count("RangeProfilerEnable") == 2 && launches_.armed(); }));
  const auto packet = Written();
  const auto ended = Ended(packet);
  ASSERT_THAT(ended, SizeIs(Ge(1u)));
  EXPECT_EQ(ended[0], std::pair(std::string("user"), SessionProto::OUTCOME_FAILED));
  EXPECT_EQ(std::count(ended.begin(), ended.end(), ended[0]), 1) << "told once";
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerPairTest, ASecondPassThatDoesNotStartIsTheSecondGroupsFault) {
  StartTimed();
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 3; }));
  fake_.Fail("RangeProfilerStart", CUPTI_ERROR_UNKNOWN);
  ASSERT_TRUE(LaunchUntil([&] { return Stats().Get(StatId::kCounterSessionsFailed) == 1; }));
  fake_.Succeed();
  ASSERT_TRUE(LaunchUntil([&] { return fake_.OpenObjects() == 0 && recording_.window_kind() == WindowKind::kTiming; }));
  const auto packet = Written();
  const auto ended = Ended(packet);
  ASSERT_THAT(ended, SizeIs(Ge(2u)));
  EXPECT_EQ(ended[0], std::pair(std::string("user"), SessionProto::OUTCOME_COMPLETE));
  EXPECT_EQ(ended[1], std::pair(std::string("user_sass"), SessionProto::OUTCOME_FAILED));
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerPairTest, WherePassesComeInAnotherOrderEachGroupHasItsOwnSession) {
  fake_.nan_metrics.insert("smsp__inst_executed.sum");
  for (const char* anchor : {"sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.avg.per_second"}) {
    fake_.nan_metrics.insert(anchor);
  }
  StartTimed();
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 8 && fake_.OpenObjects() == 0; }));
  (void)Written();
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 2u);
}

TEST_F(SamplerTest, FinishReadsTheOpenSession) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 2; }));
  const auto packet = Written();
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_COMPLETE);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 2u);
  EXPECT_EQ(fake_.OpenObjects(), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerTest, ALaunchThatWasRefusedHasNoValuesAndNoneAreLost) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(Eventually([&] {
    if (Pushes() == 0) Launch(kernel_, {}, CUDA_ERROR_INVALID_VALUE);
    return Pushes() != 0;
  }));
  const auto packet = Written();
  EXPECT_EQ(Stats().Get(StatId::kCounterVoidLaunchRefused), 1u);
  EXPECT_EQ(packet.counter_batch_size(), 0);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerTest, ValuesThatAreUnavailableAreCounted) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  {
    const std::lock_guard lock(fake_.mutex);
    fake_.nan_metrics = {fake_.last_metrics.front()};
  }
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 2; }));
  Finish();
  EXPECT_EQ(Stats().Get(StatId::kCounterNanValues), 2u);
}

TEST_F(SamplerTest, ABusyDeviceIsLeftAloneUntilItIsQuiet) {
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  std::atomic<int> asked{0};
  driver_.inside_query = [&](const char*) {
    EXPECT_TRUE(hold_.held() && captures_.busy()) << "only asked while nothing is launched, and no capture begins";
    if (asked.fetch_add(1) == 100) driver_.Answer(kStream, CUDA_SUCCESS);
  };
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return asked.load() > 2; }));
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  ASSERT_TRUE(EventuallyArmed());
  driver_.inside_query = nullptr;
  EXPECT_NE(tally_.cost_ns.load(), 0u) << "launches were held";
}

TEST_F(SamplerTest, ADeviceThatStaysBusyIsTriedAgainAndKeepsItsTimings) {
  std::atomic<int> holds{0};
  driver_.Answer(kStream, CUDA_ERROR_NOT_READY);
  driver_.inside_query = [&](const char*) { holds.fetch_add(1); };
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return holds.load() != 0; }));
  Launch(kernel_);  // Held, and then let go.
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_EQ(Pushes(), 0u);
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterNotQuiet) != 0; }));
  EXPECT_THAT(Texts(Written()), ElementsAre(HasSubstr("not idle in time")));
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
}

TEST_F(SamplerTest, ASessionThatCannotBeClosedIsClosedLaterAndTimingComesBackAtOnce) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 3; }));
  // Another one holds launches from the last sample on: the window cannot be closed quietly.
  ASSERT_TRUE(Eventually([&] {
    Launch(kernel_, [&] {
      if (Pushes() == 4 && !hold_.held()) {
        EXPECT_TRUE(hold_.Hold());
      }
    });
    return hold_.held() && Pushes() == 4;
  }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  EXPECT_EQ(fake_.OpenObjects(), 1u) << "not touched while the device may be at work";
  EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
  hold_.Release();
  ASSERT_TRUE(Eventually([&] { return fake_.OpenObjects() == 0; }));
  const auto packet = Written();
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_COMPLETE);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 4u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsAbandoned), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerTest, ForASessionThatWasLeftOpenNothingIsHeldBeyondTheBudget) {
  writer_parts_.config.sampling.budget_ratio = 0.0001;  // But for the first round.
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 3; }));
  ASSERT_TRUE(Eventually([&] {
    Launch(kernel_, [&] {
      if (Pushes() == 4 && !hold_.held()) {
        EXPECT_TRUE(hold_.Hold());
      }
    });
    return hold_.held() && Pushes() == 4;
  }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  tally_.Spend(kHour);
  hold_.Release();
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 100; }));
  EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
  EXPECT_NE(SessionWith(Written(), SessionProto::OUTCOME_COMPLETE), nullptr) << "at the end";
}

TEST_F(SamplerTest, AnAbandonedSessionIsReadOnceTheDeviceIsQuiet) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  driver_.AnswerEvent(CUDA_ERROR_NOT_READY);
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 1; }));
  ASSERT_TRUE(Eventually([&] { return fake_.OpenObjects() == 0; }));
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  const auto packet = Written();
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_ABANDONED);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 1u);
  EXPECT_EQ(fake_.Count("RangeProfilerPopRange"), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsAbandoned), 1u);
  ASSERT_EQ(packet.counter_denial_size(), 1);
  EXPECT_EQ(packet.counter_denial(0).reason(), Denial::REASON_DEADLINE);
}

// ---------------------------------------------------------------------------------------------- contexts

TEST_F(SamplerTest, AContextThatEndsHasItsSessionReadBefore) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 2; }));
  sampler_->BeforeContextEnds();
  EXPECT_EQ(fake_.OpenObjects(), 0u);
  EXPECT_FALSE(launches_.armed());
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  writer_parts_.contexts.Remove(kContext);
  sampler_->AfterContextEnds();
  const auto packet = Written();
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_COMPLETE);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 2u);
  EXPECT_EQ(Stats().Get(StatId::kUnloadWaitTimedOut), 0u);
}

TEST_F(SamplerTest, NoSessionIsOpenedWhileAContextEnds) {
  Attach();
  Time(kernel_);
  sampler_->BeforeContextEnds();
  Start();
  // It is asked again and again.
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 20; }));
  EXPECT_EQ(Loads(), 0);
  sampler_->AfterContextEnds();
  ASSERT_TRUE(EventuallyArmed());
}

TEST_F(SamplerTest, AContextWithASessionThatWasLeftOpenIsWaitedForToo) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 3; }));
  ASSERT_TRUE(Eventually([&] {
    Launch(kernel_, [&] {
      if (Pushes() == 4 && !hold_.held()) {
        EXPECT_TRUE(hold_.Hold());
      }
    });
    return hold_.held() && Pushes() == 4;
  }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  sampler_->BeforeContextEnds();
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u) << "the context may live on";
  writer_parts_.contexts.Remove(kContext);
  sampler_->AfterContextEnds();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterRangesLost) == 4; }));
  hold_.Release();
  EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
  const auto packet = Written();
  EXPECT_NE(SessionWith(packet, SessionProto::OUTCOME_CONTEXT_GONE), nullptr);
  EXPECT_EQ(Stats().Get(StatId::kUnloadWaitTimedOut), 0u);
}

TEST_F(SamplerTest, ASessionWhoseContextLivesOnIsNotGivenUp) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 2; }));
  ASSERT_TRUE(hold_.Hold());  // It cannot be closed now.
  sampler_->BeforeContextEnds({.context = nullptr, .device = 1});
  EXPECT_EQ(fake_.OpenObjects(), 1u);
  sampler_->AfterContextEnds({.context = nullptr, .device = 1});
  hold_.Release();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("RangeProfilerStop") == 1; }));
  const auto packet = Written();
  const SessionProto* const session = SessionWith(packet, SessionProto::OUTCOME_COMPLETE);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->range_count(), 2u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
}

TEST_F(SamplerTest, TheEndOfAnotherContextClosesNothing) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  for (const ContextEnd& end : {ContextEnd{.context = Context(kContext + 1)}, ContextEnd{.device = 0}}) {
    sampler_->BeforeContextEnds(end);
    EXPECT_TRUE(launches_.armed());
    EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
    sampler_->AfterContextEnds(end);
  }
  EXPECT_EQ(Stats().Get(StatId::kUnloadWaitTimedOut), 0u);
}

TEST_F(SamplerTest, ANewContextAtTheSameAddressIsNotTheOneOfTheSession) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 2; }));
  ASSERT_TRUE(hold_.Hold());
  sampler_->BeforeContextEnds();
  writer_parts_.contexts.Remove(kContext);
  writer_parts_.contexts.Add(kContext + 1, 1, Context(kContext));
  sampler_->AfterContextEnds();
  hold_.Release();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterRangesLost) == 2; }));
  Finish();
  EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
}

TEST_F(SamplerTest, OnceCapturingIsOffNothingIsAskedOfTheDevice) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  g_state.store(State::kDisabled);
  Finish();
  EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u);
  EXPECT_EQ(fake_.Count("RangeProfilerDisable"), 0u);
}

TEST_F(SamplerTest, AContextThatIsGoneBeforeThePlanDoesNotEndSampling) {
  writer_parts_.contexts.Remove(kContext);
  StartTimed();
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 20; }));
  AddContext(kContext + 1);
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(Loads(), 1);
}

TEST_F(SamplerTest, AContextThatMayWaitForOthersIsNeverSampledAndThatIsTold) {
  behaviour_.Note(Context(kContext), ContextTrait::kPeerAccess);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("ProfilerDeviceSupported") != 0; }));
  // Looked at: the note is in the sampler's queue.
  ASSERT_TRUE(Eventually([&] {
    bool noted = false;
    writer_parts_.queues.ForEach(
        [&](ThreadState& state) { noted |= &state != writer_parts_.queues.Current() && !state.queue.empty(); });
    return noted;
  }));
  const auto packet = Written();
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
  ASSERT_EQ(packet.counter_denial_size(), 1) << "once";
  EXPECT_EQ(packet.counter_denial(0).reason(), Denial::REASON_PEER_MEMORY);
  EXPECT_EQ(packet.counter_denial(0).context_id(), kContext);
  EXPECT_EQ(packet.counter_denial(0).function_iid(), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterNoContext), 1u);
  EXPECT_THAT(Texts(packet), ElementsAre(HasSubstr("another device's memory")));
}

TEST_F(SamplerTest, ContextsOfOneDeviceTakeTurns) {
  AddContext(kContext + 1);
  writer_parts_.config.sampling.counters = {
      .set = CounterSet::kOff, .metrics = {"sm__cycles_elapsed.max", "pcie__read_bytes.sum", "dram__bytes.sum"}};
  StartTimed();
  std::vector<CUcontext> contexts;
  const auto open_context = [&]() -> CUcontext {
    const std::lock_guard lock(fake_.mutex);
    return fake_.objects.empty() ? nullptr : fake_.objects.begin()->second.context;
  };
  ASSERT_TRUE(Eventually([&] {
    const CUcontext open = open_context();
    if (open != nullptr && (contexts.empty() || contexts.back() != open)) contexts.push_back(open);
    LaunchToSample here = kernel_;
    here.context = open == nullptr ? Context(kContext) : open;
    here.context_id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(here.context));
    Launch(here);
    const std::lock_guard lock(fake_.mutex);
    EXPECT_LE(fake_.objects.size(), 1u) << "one session at a time on a device";
    return contexts.size() >= 2;
  }));
  EXPECT_NE(contexts[0], contexts[1]);
}

TEST_F(SamplerTest, ADeviceOfAnotherChipIsNotSampledAndThatIsTold) {
  AddContext(205);
  fake_.chips[2] = "GB100";
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(fake_.OpenObjects(), 1u);
  const auto packet = Written();
  ASSERT_EQ(packet.counter_access_size(), 2);
  EXPECT_THAT(packet.counter_access(0).text(), HasSubstr("GB100"));
  EXPECT_EQ(packet.counter_access(0).state(), Access::STATE_UNSUPPORTED);
  EXPECT_EQ(packet.counter_access(0).device_id(), 2u);
}

TEST_F(SamplerTest, EachDeviceHasASessionOfItsOwn) {
  AddContext(205);
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(fake_.OpenObjects(), 2u);
  Finish();
  EXPECT_EQ(fake_.OpenObjects(), 0u);
}

TEST_F(SamplerTest, ARefusalOfOneDeviceClosesWhatTheOtherHad) {
  AddContext(205);
  std::atomic<int> starts{0};
  fake_.inside = [&](const std::string& call) {
    if (call == "RangeProfilerStart" && starts.fetch_add(1) == 1) {
      fake_.Fail("RangeProfilerStart", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    }
  };
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return starts.load() == 2; }));
  ASSERT_TRUE(Eventually([&] { return fake_.OpenObjects() == 0 && !launches_.armed(); }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  EXPECT_TRUE(watchdog_.off());
}

// ---------------------------------------------------------------------------------------------- no counters

TEST_F(SamplerTest, AnOldCuptiIsToldAndNothingIsLoaded) {
  writer_parts_.cupti.version = 120600;
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterUnsupported) == 1; }));
  ExpectOff(Written(), Access::STATE_NO_LIBRARY, "13.0");
  EXPECT_EQ(Loads(), 0);
}

TEST_F(SamplerTest, AMissingLibraryIsTold) {
  LoadProblem() = "no hardware counters: nothing there";
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterUnsupported) == 1; }));
  EXPECT_TRUE(Eventually([&] { return !launches_.wants_launches(); })) << "nothing will be counted";
  ExpectOff(Written(), Access::STATE_NO_LIBRARY, "nothing there");
}

TEST_F(SamplerTest, ADeviceThatCannotBeCountedIsTold) {
  fake_.support = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterUnsupported) == 1; }));
  ExpectOff(Written(), Access::STATE_UNSUPPORTED, "");
}

TEST_F(SamplerTest, ARefusalAtTheStartIsToldAndEndsSamplingButNotTracing) {
  fake_.Fail("RangeProfilerStart", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterPermissionRefused) == 1; }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  EXPECT_TRUE(Eventually([&] { return !launches_.wants_launches(); })) << "nothing will be counted";
  const auto packet = Written();
  ExpectOff(packet, Access::STATE_NOT_PERMITTED, "RmProfilingAdminOnly");
  EXPECT_EQ(packet.counter_access(0).cupti_result(), static_cast<uint64_t>(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES));
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsFailed), 0u) << "it is no fault";
  EXPECT_THAT(Texts(packet), IsEmpty()) << "and told once";
  EXPECT_EQ(Stats().Get(StatId::kCounterSessions), 0u) << "none was opened";
  EXPECT_THAT(packet.counter_session(), IsEmpty());
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 1u) << "not tried again";
}

TEST_F(SamplerTest, CountersThatAnotherToolHoldsAreWaitedForAndThatIsToldOnce) {
  fake_.Fail("RangeProfilerStart", CUPTI_ERROR_HARDWARE_BUSY);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterUnsupported) == 1; }));
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  const auto packet = Written();
  ExpectOff(packet, Access::STATE_HELD_BY_OTHER, "another tool");
  EXPECT_FALSE(watchdog_.off()) << "it may let go of them";
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsFailed), 0u);
  EXPECT_THAT(Texts(packet), IsEmpty());
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 1u) << "after a minute or so again";
}

TEST_F(SamplerTest, NothingIsAskedOfCuptiWhileACaptureIsOpen) {
  (void)captures_.Begin(1);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Loads() == 1; }));
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 20; }));
  EXPECT_EQ(fake_.Count("ProfilerInitialize"), 0u);
  EXPECT_EQ(fake_.Count("DeviceGetChipName"), 0u);
  captures_.End(1);
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(Loads(), 1);
}

TEST_F(SamplerTest, ACaptureThatBeginsMeanwhileWaitsForOneDeviceOnly) {
  AddContext(205);
  std::atomic<bool> began{false};
  fake_.inside = [&](const std::string& call) {
    if (call == "RangeProfilerStart" && !began.exchange(true)) (void)captures_.Begin(1);
  };
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_EQ(fake_.OpenObjects(), 1u);
  captures_.End(1);
}

TEST_F(SamplerTest, TimingComesBackOnceNoCaptureIsOpen) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  (void)captures_.Begin(1);
  sampler_->BeforeContextEnds();
  writer_parts_.contexts.Remove(kContext);
  sampler_->AfterContextEnds();
  EXPECT_FALSE(launches_.armed());
  EXPECT_EQ(recording_.window_kind(), WindowKind::kCounters) << "kinds are enabled by calls of CUPTI";
  captures_.End(1);
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
}

TEST_F(SamplerTest, ARegionThatIsSwitchedEndsTheWindowEvenIfItIsOpenAgain) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(LaunchUntil([&] { return Pushes() == 1; }));
  const uint32_t window_id = recording_.window_id().load();
  recording_.Switch(false);
  recording_.Switch(true);
  Launch(kernel_);
  EXPECT_EQ(Pushes(), 1u) << "tracing is on";
  ASSERT_TRUE(LaunchUntil([&] { return recording_.window_kind() == WindowKind::kCounters && launches_.armed(); }));
  EXPECT_GT(recording_.window_id().load(), window_id + 2);
}

TEST_F(SamplerTest, ARunWhoseRegionIsNeverOpenSaysSo) {
  recording_.Switch(false);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("ProfilerDeviceSupported") != 0; }));
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 20; }));
  EXPECT_THAT(Texts(Written()), ElementsAre(HasSubstr("region was never open")));
  EXPECT_EQ(Stats().Get(StatId::kCounterRegionOff), 1u);
}

TEST_F(SamplerTest, ThePlanIsGivenUpWhenTheProgramEnds) {
  std::atomic<int> asked{0};
  fake_.inside = [&](const std::string& call) {
    if (call == "ProfilerHostConfigAddMetrics" && asked.fetch_add(1) == 0) sampler_->Finish();
  };
  writer_parts_.config.sampling.counters = {.set = CounterSet::kFull, .metrics = {}};
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return asked.load() != 0; }));
  const auto packet = Written();
  EXPECT_EQ(asked.load(), 1);
  EXPECT_THAT(packet.counter_plan(), IsEmpty());
  EXPECT_EQ(Stats().Get(StatId::kCounterPlansFailed), 0u);
}

TEST_F(SamplerTest, CallbacksOfItsOwnCallsAreNotOfTheProgram) {
  std::atomic<bool> is_inside{false};
  fake_.inside = [&](const std::string& call) {
    if (call == "RangeProfilerStart") is_inside = writer_parts_.queues.Current()->inside;
  };
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  EXPECT_TRUE(is_inside.load());
}

TEST_F(SamplerTest, ARunThatEndsBeforeItsTimingsSaysSo) {
  Attach();
  Time(kernel_);
  // Time that no launch of the first window had.
  needs_.AddTime(0x1234, kHour, false);
  Start();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("ProfilerDeviceSupported") != 0; }));
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 20; }));
  EXPECT_THAT(Texts(Written()), ElementsAre(HasSubstr("when the run ended")));
  EXPECT_EQ(Stats().Get(StatId::kCounterRunTooShort), 1u);
}

TEST_F(SamplerTest, APlanThatFailsIsTold) {
  fake_.Fail("ProfilerHostInitialize", CUPTI_ERROR_INVALID_CHIP_NAME);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return Stats().Get(StatId::kCounterPlansFailed) == 1; }));
  const auto packet = Written();
  EXPECT_THAT(Texts(packet), Contains(HasSubstr("GH100")));
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
}

TEST_F(SamplerTest, AGroupWhoseSessionFailsTwiceIsGivenUp) {
  // First in a range, so that it is known at the end of the session; then at its beginning.
  fake_.Fail("RangeProfilerPushRange", CUPTI_ERROR_UNKNOWN);
  StartTimed();
  ASSERT_TRUE(LaunchUntil([&] { return Stats().Get(StatId::kCounterSessionsFailed) == 1; }));
  fake_.Fail("RangeProfilerSetConfig", CUPTI_ERROR_UNKNOWN);
  ASSERT_TRUE(LaunchUntil([&] { return watchdog_.off(); })) << "no group is left";
  const auto packet = Written();
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 2u);
  EXPECT_EQ(fake_.OpenObjects(), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsFailed), 2u);
  EXPECT_THAT(Texts(packet), Contains(HasSubstr("PushRange")));
  EXPECT_THAT(Texts(packet), Contains(HasSubstr("cuptiRangeProfilerSetConfig")));
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
}

TEST_F(SamplerTest, AContextThatCannotBeMadeCurrentIsNoFaultOfTheGroup) {
  cuda_.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; };
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("ProfilerDeviceSupported") != 0; }));
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 60; }));
  Finish();
  EXPECT_EQ(Stats().Get(StatId::kCounterSessionsFailed), 0u);
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
}

TEST_F(SamplerTest, AFaultEndsSamplingAndNothingElse) {
  fake_.throws_in = "RangeProfilerEnable";
  StartTimed();
  EXPECT_TRUE(Eventually([&] { return sampler_->finished(); })) << "by itself";
  thread_.join();
  thread_ = std::thread([] {});
  EXPECT_FALSE(hold_.held()) << "launches go on";
  EXPECT_FALSE(captures_.busy());
  EXPECT_TRUE(watchdog_.off());
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming);
  EXPECT_TRUE(Capturing());
  sampler_->BeforeContextEnds();  // Waits for nobody.
  sampler_->AfterContextEnds();
  EXPECT_EQ(Stats().Get(StatId::kUnloadWaitTimedOut), 0u);
  EXPECT_THAT(Texts(Written()), Contains(HasSubstr("counters are off")));
}

TEST_F(SamplerTest, ACallThatDoesNotComeBackLetsTheProgramGo) {
  StartTimed();
  ASSERT_TRUE(EventuallyArmed());
  ASSERT_TRUE(Eventually([&] { return !hold_.held() && !captures_.busy(); }));
  // A push under a hold, on a thread that never comes back.
  ASSERT_TRUE(hold_.Hold());
  ASSERT_TRUE(captures_.Enter());
  const uint32_t slot =
      watchdog_.Enter(SamplingCall::kPush, MonotonicNs() - 2 * SamplingCallLimitNs(SamplingCall::kPush));
  sampler_->Watch();
  EXPECT_EQ(recording_.window_kind(), WindowKind::kTiming) << "at once, whoever is stuck";
  EXPECT_FALSE(captures_.Begin(1)) << "no capture waits for it";
  captures_.End(1);
  EXPECT_EQ(Stats().Get(StatId::kCounterWatchdogFired), 1u);
  Launch(kernel_);
  EXPECT_EQ(Pushes(), 0u);
  ASSERT_TRUE(EventuallyIn(WindowKind::kTiming));
  sampler_->Watch();
  EXPECT_EQ(Stats().Get(StatId::kCounterWatchdogFired), 1u) << "named once";
  watchdog_.Leave(slot);
  captures_.Leave();
  EXPECT_THAT(Texts(Written()), Contains(HasSubstr("beginning a range has not come back")));
}

TEST_F(SamplerTest, ABudgetThatIsSpentIsTold) {
  writer_parts_.config.sampling.budget_ratio = 0.0001;
  tally_.Spend(kHour);
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return fake_.Count("ProfilerDeviceSupported") != 0; }));
  uint32_t answers = 0;
  ASSERT_TRUE(Eventually([&] { return ++answers > 250; }));
  Finish();
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterBudgetSpent), 1u);
}

TEST_F(SamplerTest, TooManyMissedDeadlinesEndSamplingAndThatIsTold) {
  for (uint32_t i = 1; i <= SamplingDenyList::kMaxMissedDeadlines; ++i) {
    deny_.Deny(100 + i, "_Z4spinPi" + std::to_string(i), 0, DenyReason::kDeadline);
  }
  StartTimed();
  ASSERT_TRUE(Eventually([&] { return watchdog_.off(); }));
  EXPECT_THAT(Texts(Written()), Contains(HasSubstr("did not complete in time")));
}

}  // namespace
}  // namespace gx::inject
