// What the writer makes of counters: samples joined with their launches, windows without kernel records, times and
// graphs for the choice of what to sample.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "inject/clock.h"
#include "tests/inject/writer_parts.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CUptiResult CUPTIAPI NextKernel(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  auto* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

class WriterCountersTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kCounterWindow = 2;

  WriterCountersTest() {
    parts_.cupti.cuptiActivityGetNextRecord = NextKernel;
    EXPECT_TRUE(needs_.Allocate({}, {}));
    EXPECT_TRUE(deny_.Allocate(1024, {"users_*"}));
    parts_.needs = &needs_;
    parts_.deny = &deny_;
    parts_.graphs = &graphs_;
    parts_.MakeWriter();
    parts_.writer->window_kinds().Set(1, WindowKind::kTiming);
    parts_.writer->window_kinds().Set(kCounterWindow, WindowKind::kCounters);
  }

  template <typename Event>
  static void Queue(EventType type, const Event& event, ThreadQueues* queues) {
    auto* room = queues->Current()->queue.Reserve<Event>(type);
    ASSERT_NE(room, nullptr);
    *room = event;
    queues->Current()->queue.Commit();
  }
  void QueueLaunch(uint32_t correlation_id, uint32_t window_id = kCounterWindow, uint32_t grid = 1,
                   uint32_t result = 0) {
    LaunchEvent event;
    event.enter_monotonic_ns = 1'600 + 16 * correlation_id;
    event.correlation_id = correlation_id;
    event.context_id = 1;
    event.window_id = window_id;
    event.result = result;
    event.parameters.readable = 1;
    event.parameters.grid = {grid, 1, 1};
    Queue(EventType::kLaunch, event, &parts_.queues);
  }
  void QueueGraphLaunch(uint32_t correlation_id, uint32_t graph_exec_id, uint32_t window_id = kCounterWindow) {
    GraphLaunchEvent event;
    event.enter_monotonic_ns = 1'600 + 16 * correlation_id;
    event.correlation_id = correlation_id;
    event.context_id = 1;
    event.window_id = window_id;
    event.graph_exec_id = graph_exec_id;
    Queue(EventType::kGraphLaunch, event, &parts_.queues);
  }
  void QueueRange(uint32_t session_id, uint32_t order, uint32_t correlation_id, uint32_t flags = 0) {
    Queue(EventType::kRange, RangeEvent{session_id, order, correlation_id, flags}, &parts_.queues);
  }
  // Graph 1 with one kernel of the function, and what it was cloned into, executable graph 2.
  void QueueGraph(uint32_t function_index) {
    GraphNodeEvent node;
    node.node_id = 11;
    node.graph_id = 1;
    node.parameters.readable = 1;
    node.parameters.function_index = function_index;
    Queue(EventType::kGraphNode, node, &parts_.queues);
    GraphNodeEvent clone;
    clone.node_id = 21;
    clone.original_node_id = 11;
    clone.graph_id = 2;
    Queue(EventType::kGraphNode, clone, &parts_.queues);
    Queue(EventType::kGraphExec, GraphExecEvent{0, 2, 1}, &parts_.queues);
  }
  uint32_t Function(const char* name) {
    static int handles[64];
    return parts_.functions.Find(&handles[functions_made_++], nullptr, name);
  }
  static CounterValuesItem Values(uint32_t session_id, const std::vector<uint32_t>& orders) {
    CounterValuesItem item{session_id, 7, kCounterWindow, 1, {}};
    for (const uint32_t order : orders) item.ranges.push_back({order, 0, {100.0 + order, 0.5}});
    return item;
  }
  struct Kernel {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint32_t correlation_id = 1;
    uint32_t graph_id = 0;
  };
  // Records of "axpy" on device 2, grid 8, block 64, 1,024 bytes of dynamic shared memory.
  void CompleteKernels(const std::vector<Kernel>& kernels) {
    CompletedBuffer discarded;
    uint8_t* data = parts_.buffers->Take(false, &discarded);
    ASSERT_NE(data, nullptr);
    size_t used = 0;
    for (const Kernel& one : kernels) {
      CUpti_ActivityKernel10 kernel;
      std::memset(&kernel, 0, sizeof(kernel));
      kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      kernel.start = one.start_ns;
      kernel.end = one.end_ns;
      kernel.correlationId = one.correlation_id;
      kernel.graphId = one.graph_id;
      kernel.deviceId = 2;
      kernel.gridX = 8;
      kernel.gridY = 1;
      kernel.gridZ = 1;
      kernel.blockX = 64;
      kernel.blockY = 1;
      kernel.blockZ = 1;
      kernel.dynamicSharedMemory = 1024;
      kernel.clusterX = 4;
      kernel.clusterY = 1;
      kernel.clusterZ = 1;
      kernel.name = "axpy";
      std::memcpy(data + used, &kernel, sizeof(kernel));
      used += sizeof(kernel);
    }
    ASSERT_TRUE(parts_.buffers->Complete({data, used, nullptr, 0}));
  }
  // As a launch callback makes it, which knows no cluster where the function requires one.
  static uint64_t KeyOfAxpy() {
    SamplingKeyParts key;
    key.name_hash = SamplingNameHash("axpy");
    key.device_id = 2;
    key.grid = {8, 1, 1};
    key.block = {64, 1, 1};
    key.dynamic_shared_memory_bytes = 1024;
    return SamplingKey(key);
  }
  gpuexec::v1::Packet RunToTheEnd() {
    parts_.writer->Finish(1, {});
    parts_.writer->Run();
    return parts_.AllPackets();
  }

  WriterParts parts_;
  SamplingNeeds needs_;
  SamplingDenyList deny_;
  GraphSamplingTable graphs_;
  size_t functions_made_ = 0;
};

TEST_F(WriterCountersTest, LaunchesOfCounterWindowsOweNoKernel) {
  QueueGraph(Function("axpy"));
  QueueLaunch(1, 1);
  QueueLaunch(2);
  QueueGraphLaunch(3, 2);
  (void)RunToTheEnd();
  EXPECT_EQ(parts_.writer->kernels_expected(), 1u) << "of the timing window alone";
}

TEST_F(WriterCountersTest, ASampleIsItsLaunchWithItsValues) {
  QueueLaunch(1);
  QueueRange(5, 3, 2, kCounterFirstOfSession);
  QueueLaunch(2);
  CounterGroupRecord group;
  group.iid = 7;
  group.name = "light";
  group.metrics = {"a.sum", "b.avg"};
  parts_.writer->PostCounters(group);
  CounterValuesItem values = Values(5, {3});
  values.ranges[0].flags = kCounterAfterSwitch;
  parts_.writer->PostCounters(values);
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_group_size(), 1);
  EXPECT_EQ(packet.counter_group(0).name(), "light");
  ASSERT_EQ(packet.counter_batch_size(), 1);
  const auto& batch = packet.counter_batch(0);
  EXPECT_EQ(batch.count(), 1u);
  EXPECT_EQ(batch.group_iid(), 7u);
  EXPECT_EQ(batch.session_id(), 5u);
  EXPECT_EQ(batch.window_id(), kCounterWindow);
  EXPECT_EQ(batch.context_id(), 1u);
  EXPECT_EQ(batch.base_correlation_id(), 2u);
  EXPECT_EQ(batch.base_enter_monotonic_ns(), 1'632u);
  EXPECT_THAT(batch.thread_id(), ElementsAre(parts_.queues.Current()->thread_id.load()));
  EXPECT_THAT(batch.signature_iid(), ElementsAre(1u));
  EXPECT_EQ(batch.base_range_order(), 3u);
  EXPECT_THAT(batch.launch_number(), ElementsAre(2u)) << "the second of its signature";
  EXPECT_THAT(batch.flags(), ElementsAre(kCounterFirstOfSession | kCounterAfterSwitch));
  EXPECT_THAT(batch.integer_value(), ElementsAre(103));
  EXPECT_THAT(batch.real_value(), ElementsAre(0.5));
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 0u);
}

TEST_F(WriterCountersTest, AGraphLaunchIsSampledAsAWhole) {
  QueueGraphLaunch(1, 9);
  QueueRange(5, 0, 2);
  QueueGraphLaunch(2, 9);
  parts_.writer->PostCounters(Values(5, {0}));
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 1);
  EXPECT_THAT(packet.counter_batch(0).graph_exec_id(), ElementsAre(9u));
  EXPECT_THAT(packet.counter_batch(0).launch_number(), ElementsAre(2u));
  for (const uint64_t iid : packet.counter_batch(0).signature_iid()) EXPECT_EQ(iid, 0u);
}

TEST_F(WriterCountersTest, LaunchesAreNumberedBySignatureAndRefusedOnesNotAtAll) {
  QueueLaunch(1, 1, 1);
  QueueLaunch(2, kCounterWindow, 2);
  QueueLaunch(2, kCounterWindow, 2);
  QueueLaunch(3, kCounterWindow, 1, 9);
  QueueRange(5, 0, 4);
  QueueLaunch(4, kCounterWindow, 1);
  QueueRange(5, 1, 5);
  QueueLaunch(5, kCounterWindow, 2);
  parts_.writer->PostCounters(Values(5, {0, 1}));
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 1);
  EXPECT_THAT(packet.counter_batch(0).signature_iid(), ElementsAre(1u, 2u));
  EXPECT_THAT(packet.counter_batch(0).launch_number(), ElementsAre(2u, 3u));
}

TEST_F(WriterCountersTest, ARangeIsOfTheNextLaunchOfItsOwnThread) {
  QueueRange(5, 0, 2);
  std::thread([&] {
    QueueLaunch(1, kCounterWindow, 4);
    parts_.queues.ForgetCurrent();
  }).join();
  QueueLaunch(2, kCounterWindow, 1);
  parts_.writer->PostCounters(Values(5, {0}));
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 1);
  EXPECT_EQ(packet.counter_batch(0).base_correlation_id(), 2u);
  EXPECT_THAT(packet.counter_batch(0).thread_id(), ElementsAre(parts_.queues.Current()->thread_id.load()));
}

TEST_F(WriterCountersTest, AReplayedLaunchHasARangeInASessionOfEachGroup) {
  QueueRange(5, 0, 1, kCounterReplayed);
  QueueRange(6, 0, 1, kCounterReplayed);
  QueueLaunch(1);
  QueueLaunch(2);
  parts_.writer->PostCounters(Values(5, {0}));
  parts_.writer->PostCounters(Values(6, {0}));
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 2);
  for (const auto& batch : packet.counter_batch()) {
    EXPECT_EQ(batch.count(), 1u);
    EXPECT_EQ(batch.base_correlation_id(), 1u);
    EXPECT_THAT(batch.flags(), ElementsAre(kCounterReplayed));
  }
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 0u);
}

TEST_F(WriterCountersTest, RangesOfALaunchThatFoundNoRoomAreNotTheNextOnes) {
  QueueRange(5, 0, 1);
  QueueRange(6, 0, 1);
  QueueRange(7, 0, 2);  // Launch 1 is missing.
  QueueLaunch(2);
  for (const uint32_t session : {5u, 6u, 7u}) parts_.writer->PostCounters(Values(session, {0}));
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 1);
  EXPECT_EQ(packet.counter_batch(0).session_id(), 7u);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 2u);
}

TEST_F(WriterCountersTest, ValuesWhoseLaunchFoundNoRoomInItsQueueBelongToNoOther) {
  QueueRange(5, 0, 2);
  QueueLaunch(3);  // Launch 2 is missing.
  QueueLaunch(4);
  parts_.writer->PostCounters(Values(5, {0}));
  const auto packet = RunToTheEnd();
  EXPECT_EQ(packet.counter_batch_size(), 0);
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 1u);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 0u) << "counted once";
}

TEST_F(WriterCountersTest, LaunchesWhoseSessionNeverEndedAreCountedAtTheEnd) {
  QueueRange(5, 0, 1);
  QueueLaunch(1);
  QueueRange(5, 1, 2);
  QueueLaunch(2);
  QueueRange(6, 0, 3);
  QueueLaunch(3);
  parts_.writer->PostCounters(Values(5, {1}));
  CounterSessionRecord session;
  session.session_id = 5;
  session.end_monotonic_ns = 100;
  session.outcome = CounterOutcome::kAbandoned;
  parts_.writer->PostCounters(session);
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_batch_size(), 1);
  EXPECT_EQ(packet.counter_batch(0).count(), 1u);
  ASSERT_EQ(packet.counter_session_size(), 1);
  EXPECT_EQ(Stats().Get(StatId::kCounterRangesLost), 1u) << "session 6; who ended session 5 has counted its range";
}

TEST_F(WriterCountersTest, ValuesOfTheLastMomentAreWritten) {
  std::thread writer([&] { parts_.writer->Run(); });
  for (uint32_t i = 0; i < 500; ++i) {
    QueueRange(1 + i / 100, i % 100, i + 1);
    QueueLaunch(i + 1);
    if (i % 100 != 99) continue;
    std::vector<uint32_t> orders;
    for (uint32_t order = 0; order < 100; ++order) orders.push_back(order);
    parts_.writer->PostCounters(Values(1 + i / 100, orders));
  }
  parts_.writer->Finish(1, {});
  writer.join();
  uint64_t samples = 0;
  const auto packet = parts_.AllPackets();
  for (const auto& batch : packet.counter_batch()) samples += batch.count();
  EXPECT_EQ(samples, 500u);
}

TEST_F(WriterCountersTest, WhatIsKnownOfCountersIsInTheTrace) {
  CounterAccessRecord access;
  access.state = CounterAccessState::kNotPermitted;
  access.text = "no permission";
  parts_.writer->PostCounters(access);
  CounterPlanRecord plan;
  plan.requested = "core";
  parts_.writer->PostCounters(plan);
  DevicePeaksRecord peaks;
  peaks.peaks = {{"dram__bytes.sum.peak_sustained", 1504, "", {}}};
  parts_.writer->PostCounters(peaks);
  QueueLaunch(1);
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_access_size(), 1);
  EXPECT_EQ(packet.counter_access(0).text(), "no permission");
  ASSERT_EQ(packet.counter_plan_size(), 1);
  EXPECT_EQ(packet.counter_plan(0).requested(), "core");
  ASSERT_EQ(packet.device_peaks_size(), 1);
  EXPECT_EQ(packet.device_peaks(0).peak(0).value(), 1504);
}

TEST_F(WriterCountersTest, CountersAloneMakeNoFileButAReasonWritesThem) {
  CounterAccessRecord access;
  access.text = "no permission";
  parts_.writer->PostCounters(access);
  parts_.writer->WriteReasonOnly(2, {});
  EXPECT_EQ(parts_.AllPackets().counter_access_size(), 1);
}

TEST_F(WriterCountersTest, ItemsBeyondTheRoomAreDroppedAndCounted) {
  for (uint32_t i = 0; i < 1'024; ++i) parts_.writer->PostCounters(CounterPlanRecord{});
  parts_.writer->PostCounters(Values(1, {0, 1, 2}));
  parts_.writer->PostCounters(CounterPlanRecord{});
  EXPECT_EQ(Stats().Get(StatId::kCounterSamplesDropped), 3u);
  EXPECT_EQ(Stats().Get(StatId::kNotesDropped), 1u);
}

TEST_F(WriterCountersTest, ADenialSaysWhatIsNotSampledAndWhy) {
  const uint32_t nccl = Function("ncclDevKernel_AllReduce");
  const uint32_t users = Function("users_kernel");
  const uint32_t late = Function("spin");
  const auto denial = [](uint32_t function, CounterDenialReason reason, uint64_t waited_ns) {
    DenialEvent event;
    event.monotonic_ns = 77;
    event.function_index = function;
    event.waited_ns = waited_ns;
    event.reason = static_cast<uint32_t>(reason);
    return event;
  };
  Queue(EventType::kDenial, denial(nccl, CounterDenialReason::kName, 0), &parts_.queues);
  Queue(EventType::kDenial, denial(users, CounterDenialReason::kUser, 0), &parts_.queues);
  Queue(EventType::kDenial, denial(late, CounterDenialReason::kDeadline, 250'900'000), &parts_.queues);
  DenialEvent all = denial(0, CounterDenialReason::kPeerMemory, 0);
  all.context_id = 4;
  Queue(EventType::kDenial, all, &parts_.queues);
  DenialEvent graph = denial(0, CounterDenialReason::kDeadline, 10'000'000'000);
  graph.graph_exec_id = 33;
  Queue(EventType::kDenial, graph, &parts_.queues);
  QueueLaunch(1);
  const auto packet = RunToTheEnd();
  ASSERT_EQ(packet.counter_denial_size(), 5);
  EXPECT_EQ(packet.counter_denial(0).function_iid(), 1u);
  EXPECT_EQ(packet.counter_denial(0).detail(), "nccl*");
  EXPECT_EQ(packet.counter_denial(0).monotonic_ns(), 77u);
  EXPECT_EQ(packet.counter_denial(1).function_iid(), 2u);
  EXPECT_EQ(packet.counter_denial(1).reason(), gpuexec::v1::CounterDenial::REASON_USER);
  EXPECT_EQ(packet.counter_denial(1).detail(), "users_*");
  EXPECT_EQ(packet.counter_denial(2).function_iid(), 3u);
  EXPECT_EQ(packet.counter_denial(2).detail(), "waited 250 ms");
  EXPECT_EQ(packet.counter_denial(3).function_iid(), 0u);
  EXPECT_EQ(packet.counter_denial(3).context_id(), 4u);
  EXPECT_EQ(packet.counter_denial(3).detail(), "");
  EXPECT_EQ(packet.counter_denial(3).graph_exec_id(), 0u);
  EXPECT_EQ(packet.counter_denial(4).function_iid(), 0u);
  EXPECT_EQ(packet.counter_denial(4).context_id(), 0u);
  EXPECT_EQ(packet.counter_denial(4).graph_exec_id(), 33u);
  EXPECT_EQ(packet.counter_denial(4).detail(), "waited 10000 ms");
  ASSERT_EQ(packet.function_size(), 3) << "defined although none was launched";
}

TEST_F(WriterCountersTest, TimesReachTheSignatureThatLaunchesNameThem) {
  const uint32_t place = needs_.Find(KeyOfAxpy(), 1);
  CompleteKernels({{1'000, 1'100}, {2'000, 2'300}, {3'000, 3'100}});
  CompleteKernels({{4'000, 4'100}, {0, 0}, {5'000, 0}});
  (void)RunToTheEnd();
  EXPECT_EQ(needs_.LongestNs(place), 300u);
  EXPECT_EQ(needs_.signatures(), 1u) << "no other key was made";
  needs_.Rank();
  EXPECT_EQ(needs_.Summarise().known_time_ns, 600u);
}

TEST_F(WriterCountersTest, TimesOfGraphKernelsReachTheirGraph) {
  const uint32_t place = needs_.Find(GraphSamplingKey(2, 6), 1);
  CompleteKernels({{1'000, 1'100, 1, 6}, {1'100, 1'150, 1, 6}, {2'000, 2'010, 2, 6}});
  (void)RunToTheEnd();
  EXPECT_EQ(needs_.LongestNs(place), 150u) << "one launch of the graph, both kernels";
  EXPECT_EQ(needs_.signatures(), 1u);
}

TEST_F(WriterCountersTest, AGraphMayBeSampledWhereItsKernelsMay) {
  QueueGraph(Function("axpy"));
  QueueLaunch(1);
  (void)RunToTheEnd();
  EXPECT_EQ(graphs_.Get(2), GraphSampling::kMay);
  EXPECT_EQ(graphs_.Get(1), GraphSampling::kUnknown);
}

TEST_F(WriterCountersTest, AGraphWithACommunicationKernelIsNeverSampled) {
  QueueGraph(Function("ncclDevKernel_AllReduce"));
  QueueLaunch(1);
  (void)RunToTheEnd();
  EXPECT_EQ(graphs_.Get(2), GraphSampling::kNever);
}

TEST_F(WriterCountersTest, AGraphWhoseKernelHasNoNameYetIsUnknown) {
  QueueGraph(Function(nullptr));
  QueueLaunch(1);
  (void)RunToTheEnd();
  EXPECT_EQ(graphs_.Get(2), GraphSampling::kUnknown);
}

TEST_F(WriterCountersTest, AGraphFollowsTheDenialOfItsKernelAndItsOwnEnd) {
  const uint32_t axpy = Function("axpy");
  std::thread writer([&] { parts_.writer->Run(); });
  const auto comes = [&](GraphSampling sampling) {
    return WaitUntil([&] { return graphs_.Get(2) == sampling; }, 30'000'000'000);
  };
  QueueGraph(axpy);
  EXPECT_TRUE(comes(GraphSampling::kMay));
  deny_.Deny(axpy, "axpy", 0, DenyReason::kDeadline);
  DenialEvent denial;
  denial.function_index = axpy;
  denial.reason = static_cast<uint32_t>(CounterDenialReason::kDeadline);
  Queue(EventType::kDenial, denial, &parts_.queues);
  EXPECT_TRUE(comes(GraphSampling::kNever));
  Queue(EventType::kGraphDestroyed, GraphDestroyedEvent{2, 0}, &parts_.queues);
  EXPECT_TRUE(comes(GraphSampling::kUnknown));
  parts_.writer->Finish(1, {});
  writer.join();
}

TEST_F(WriterCountersTest, AnUpdatedGraphIsLookedAtAgain) {
  QueueGraph(Function("axpy"));
  QueueLaunch(1);
  std::thread writer([&] { parts_.writer->Run(); });
  const auto comes = [&](GraphSampling sampling) {
    return WaitUntil([&] { return graphs_.Get(2) == sampling; }, 30'000'000'000);
  };
  EXPECT_TRUE(comes(GraphSampling::kMay));
  GraphNodeEvent update;
  update.node_id = 21;
  update.updated = 1;
  update.parameters.readable = 1;
  update.parameters.function_index = Function("users_reduce");
  Queue(EventType::kGraphNode, update, &parts_.queues);
  EXPECT_TRUE(comes(GraphSampling::kNever));
  parts_.writer->Finish(1, {});
  writer.join();
}

TEST_F(WriterCountersTest, WithoutSamplingNothingIsAskedOfIt) {
  parts_.needs = nullptr;
  parts_.deny = nullptr;
  parts_.graphs = nullptr;
  parts_.MakeWriter();
  QueueGraph(Function("axpy"));
  QueueRange(5, 0, 1);
  QueueLaunch(1);
  CompleteKernels({{1'000, 1'100}, {1'000, 1'100, 1, 2}});
  DenialEvent denial;
  denial.function_index = 1;
  denial.reason = static_cast<uint32_t>(CounterDenialReason::kName);
  Queue(EventType::kDenial, denial, &parts_.queues);
  Queue(EventType::kGraphDestroyed, GraphDestroyedEvent{2, 0}, &parts_.queues);
  const auto packet = RunToTheEnd();
  EXPECT_EQ(packet.counter_denial_size(), 1);
  EXPECT_EQ(packet.kernel_batch_size(), 1);
  EXPECT_EQ(needs_.signatures(), 0u);
}

TEST_F(WriterCountersTest, ShortEventsAreIgnored) {
  EventQueue& queue = parts_.queues.Current()->queue;
  struct Tiny {
    uint32_t value = 0;
  };
  for (const EventType type : {EventType::kRange, EventType::kDenial}) {
    ASSERT_NE(queue.Reserve<Tiny>(type), nullptr);
    queue.Commit();
  }
  QueueLaunch(1);
  const auto packet = RunToTheEnd();
  EXPECT_EQ(packet.counter_denial_size(), 0);
  EXPECT_EQ(packet.launch_batch_size(), 1);
}

}  // namespace
}  // namespace gx::inject
