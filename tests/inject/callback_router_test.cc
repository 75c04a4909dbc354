#include "inject/callback_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "inject/launch_parameters.h"
#include "inject/self_stats.h"
#include "inject/state.h"
#include "tests/fakes/fake_cubin.h"
#include "tests/inject/fake_cupti_table.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kLaunchCbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr uint32_t kContext = 105;  // On device 1.

using Event = std::variant<LaunchEvent, GraphLaunchEvent, GraphNodeEvent, GraphExecEvent, ContextEvent, ModuleEvent,
                           SynchronizationEvent>;

template <typename T>
T ReadAs(const uint8_t* data) {
  T event;
  std::memcpy(&event, data, sizeof(event));
  return event;
}

std::vector<bool>& RegionCalls() {
  static std::vector<bool> calls;
  return calls;
}
std::function<void()>& BeforeUnloadBody() {
  static std::function<void()> body;
  return body;
}

class CallbackRouterTest : public ::testing::Test {
 public:
  CallbackRouterTest() : cupti_(MakeFakeCupti()) {
    Stats().Reset();
    g_state.store(State::kCapturing);
    RegionCalls().clear();
    BeforeUnloadBody() = nullptr;
    EXPECT_TRUE(queues_.Allocate(uint64_t{8} << 20));
    EXPECT_TRUE(functions_.Allocate(uint64_t{4} << 20));
    queues_.ForgetCurrent();
    parts_.cupti = &cupti_;
    parts_.queues = &queues_;
    parts_.functions = &functions_;
    parts_.contexts = &contexts_;
    parts_.gate = &gate_;
    parts_.window_id = &window_id_;
    parts_.profiler_region = [](bool start) { RegionCalls().push_back(start); };
    parts_.before_unload = [] {
      if (BeforeUnloadBody()) BeforeUnloadBody()();
    };
    router_.Attach(parts_);
    launch_.gridDimX = 8;
    launch_.gridDimY = 1;
    launch_.gridDimZ = 1;
    launch_.blockDimX = 256;
    launch_.blockDimY = 1;
    launch_.blockDimZ = 1;
    launch_.sharedMemBytes = 512;
    launch_.f = FakeHandle<CUfunction>(0x700);
    launch_.hStream = FakeHandle<CUstream>(7);
  }
  ~CallbackRouterTest() override {
    g_state.store(State::kOff);
    queues_.ForgetCurrent();
  }

  // One side of a driver call.
  void Side(CUpti_ApiCallbackSite site, uint32_t cbid, const void* parameters, CUresult result = CUDA_SUCCESS) {
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.functionName = "any";
    data.functionParams = parameters;
    data.functionReturnValue = &result;
    data.symbolName = symbol_;
    data.context = FakeHandle<CUcontext>(kContext);
    data.contextUid = kContext;
    data.correlationId = correlation_id_;
    CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
  }
  void Enter(uint32_t cbid, const void* parameters = nullptr) { Side(CUPTI_API_ENTER, cbid, parameters); }
  void Exit(uint32_t cbid, const void* parameters = nullptr, CUresult result = CUDA_SUCCESS) {
    Side(CUPTI_API_EXIT, cbid, parameters, result);
  }
  void Launch(CUresult result = CUDA_SUCCESS) {
    ++correlation_id_;
    Enter(kLaunchCbid, &launch_);
    Exit(kLaunchCbid, &launch_, result);
  }
  void Resource(uint32_t cbid, void* descriptor, uint32_t context = kContext) {
    CUpti_ResourceData data{};
    data.context = FakeHandle<CUcontext>(context);
    data.resourceDescriptor = descriptor;
    CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
  }
  void Node(uint32_t cbid, uintptr_t node, uintptr_t graph, uintptr_t original_node = 0, uintptr_t original_graph = 0,
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL) {
    CUpti_GraphData data{};
    data.node = FakeHandle<CUgraphNode>(node);
    data.graph = FakeHandle<CUgraph>(graph);
    data.originalNode = FakeHandle<CUgraphNode>(original_node);
    data.originalGraph = FakeHandle<CUgraph>(original_graph);
    data.nodeType = type;
    Resource(cbid, &data);
  }
  void ExecCreated(uintptr_t exec, uintptr_t graph) {
    CUpti_GraphData data{};
    data.graphExec = FakeHandle<CUgraphExec>(exec);
    data.graph = FakeHandle<CUgraph>(graph);
    Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, &data);
  }

  // Everything queued since the last call, of every thread.
  std::vector<Event> Events() {
    std::vector<Event> events;
    queues_.ForEach([&](ThreadState& thread) {
      thread.queue.Drain([&](EventType type, const uint8_t* data, uint32_t) {
        switch (type) {
          case EventType::kLaunch:
            events.emplace_back(ReadAs<LaunchEvent>(data));
            break;
          case EventType::kGraphLaunch:
            events.emplace_back(ReadAs<GraphLaunchEvent>(data));
            break;
          case EventType::kGraphNode:
            events.emplace_back(ReadAs<GraphNodeEvent>(data));
            break;
          case EventType::kGraphExec:
            events.emplace_back(ReadAs<GraphExecEvent>(data));
            break;
          case EventType::kContext:
            events.emplace_back(ReadAs<ContextEvent>(data));
            break;
          case EventType::kModule:
            events.emplace_back(ReadAs<ModuleEvent>(data));
            break;
          case EventType::kSynchronization:
            events.emplace_back(ReadAs<SynchronizationEvent>(data));
            break;
          default:
            ADD_FAILURE() << "an event of an unexpected type";
        }
      });
    });
    return events;
  }
  template <typename T>
  T OnlyEvent() {
    const std::vector<Event> events = Events();
    EXPECT_THAT(events, SizeIs(1));
    if (events.size() != 1 || !std::holds_alternative<T>(events[0])) {
      ADD_FAILURE() << "not one event of this type";
      return {};
    }
    return std::get<T>(events[0]);
  }
  uint64_t Stat(StatId id) { return Stats().Get(id); }

  // Uses up every slot with threads that live until the end of `body`, which runs on a thread without a queue.
  void OnThreadWithoutQueue(const std::function<void()>& body) {
    constexpr uint32_t kSlots = ThreadQueues::kLargeSlots + ThreadQueues::kSmallSlots;
    std::latch taken(kSlots);
    std::latch done(1);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kSlots; ++i) {
      threads.emplace_back([&] {
        (void)queues_.Current();
        taken.count_down();
        done.wait();
      });
    }
    taken.wait();
    std::thread(body).join();
    done.count_down();
    for (std::thread& thread : threads) thread.join();
  }

  CuptiApi cupti_;
  ThreadQueues queues_;
  FunctionTable functions_;
  ContextTable contexts_;
  ProbeGate gate_;
  std::atomic<uint32_t> window_id_{3};
  CallbackRouter::Parts parts_;
  CallbackRouter router_;
  const char* symbol_ = "axpy";
  uint32_t correlation_id_ = 40;
  cuLaunchKernel_params launch_{};
};

TEST_F(CallbackRouterTest, ALaunchIsRecordedWhenItReturns) {
  const uint64_t before_ns = MonotonicNs();
  Enter(kLaunchCbid, &launch_);
  EXPECT_THAT(Events(), IsEmpty());
  const uint64_t entered_ns = MonotonicNs();
  Exit(kLaunchCbid, &launch_);
  const auto event = OnlyEvent<LaunchEvent>();
  EXPECT_GE(event.enter_monotonic_ns, before_ns);
  EXPECT_LE(event.enter_monotonic_ns, entered_ns) << "the time of the entry, not of the return";
  EXPECT_EQ(event.correlation_id, 40u);
  EXPECT_EQ(event.context_id, kContext);
  EXPECT_EQ(event.stream_id, 7u);
  EXPECT_EQ(event.window_id, 3u);
  EXPECT_EQ(event.result, 0u);
  EXPECT_EQ(event.parameters.readable, 1);
  EXPECT_EQ(event.parameters.grid, (Dim3{8, 1, 1}));
  EXPECT_EQ(event.parameters.block, (Dim3{256, 1, 1}));
  EXPECT_EQ(event.parameters.dynamic_shared_memory_bytes, 512u);
  const FunctionInfo& function = functions_.Get(event.parameters.function_index);
  EXPECT_EQ(function.handle, launch_.f);
  EXPECT_EQ(std::string(function.name, function.name_bytes), "axpy");
  EXPECT_EQ(Stat(StatId::kLaunchesSeen), 1u);
}

TEST_F(CallbackRouterTest, ARefusedLaunchIsRecordedWithItsResult) {
  Launch(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(OnlyEvent<LaunchEvent>().result, static_cast<uint32_t>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(Stat(StatId::kLaunchesFailed), 1u);
  EXPECT_EQ(Stat(StatId::kLaunchesSeen), 0u);
}

TEST_F(CallbackRouterTest, ALaunchOutsideEveryWindowIsCountedOnly) {
  window_id_ = 0;
  Launch();
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(Stat(StatId::kLaunchesOutsideRegion), 1u);
}

TEST_F(CallbackRouterTest, ALaunchBelongsToTheWindowThatItWasEnteredIn) {
  Enter(kLaunchCbid, &launch_);
  window_id_ = 0;  // Closed by another thread meanwhile.
  Exit(kLaunchCbid, &launch_);
  EXPECT_EQ(OnlyEvent<LaunchEvent>().window_id, 3u);

  Enter(kLaunchCbid, &launch_);
  window_id_ = 5;
  Exit(kLaunchCbid, &launch_);
  EXPECT_THAT(Events(), IsEmpty()) << "no window was open when it was entered";
  EXPECT_EQ(Stat(StatId::kLaunchesOutsideRegion), 1u);
}

TEST_F(CallbackRouterTest, AGraphLaunchBelongsToTheWindowThatItWasEnteredIn) {
  cuGraphLaunch_params graph{};
  Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
  window_id_ = 0;
  Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
  EXPECT_EQ(OnlyEvent<GraphLaunchEvent>().window_id, 3u);
}

TEST_F(CallbackRouterTest, ALaunchWhoseEntryWasNotSeenIsNotRecorded) {
  Exit(kLaunchCbid, &launch_);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(CallbackRouterTest, UnreadableParametersAreCountedAndTheLaunchIsKept) {
  Enter(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice, &launch_);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice, &launch_);
  const auto event = OnlyEvent<LaunchEvent>();
  EXPECT_EQ(event.parameters.readable, 0);
  EXPECT_EQ(event.parameters.function_index, 0u);
  EXPECT_EQ(Stat(StatId::kLaunchParametersUnreadable), 1u);
}

TEST_F(CallbackRouterTest, AFullFunctionTableIsCountedAndTheLaunchIsKept) {
  launch_.f = nullptr;  // As good as a full table: no function is found.
  Launch();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().parameters.function_index, 0u);
  EXPECT_EQ(Stat(StatId::kFunctionTableFull), 1u);
}

TEST_F(CallbackRouterTest, AFullQueueLosesLaunchesAndCountsThem) {
  for (int i = 0; i < 1'000; ++i) Launch();
  const uint64_t dropped = Stat(StatId::kLaunchesDroppedQueueFull);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(Events().size() + dropped, 1'000u);
  Launch();
  EXPECT_THAT(Events(), SizeIs(1)) << "it goes on after a drain";
}

TEST_F(CallbackRouterTest, NothingIsRecordedBeforeAndAfterCapturing) {
  for (const State state : {State::kOff, State::kStarting, State::kDraining, State::kDisabled, State::kForked}) {
    g_state.store(state);
    Launch();
  }
  g_state.store(State::kCapturing);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(CallbackRouterTest, CallbacksWithoutDataAreIgnored) {
  CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCbid, nullptr);
  Resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, nullptr);
  Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, nullptr);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(CallbackRouterTest, AStreamsIdIsAskedForOnceUntilAStreamIsDestroyed) {
  Launch();
  Launch();
  EXPECT_EQ(TheFakeCupti().stream_id_calls, 1u);
  Resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, nullptr);
  Launch();
  EXPECT_EQ(TheFakeCupti().stream_id_calls, 2u);
}

TEST_F(CallbackRouterTest, ThePerThreadStreamIsAnotherThanTheDefaultStream) {
  launch_.hStream = nullptr;
  Launch();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().stream_id, 0u);
  Enter(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &launch_);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &launch_);
  EXPECT_EQ(OnlyEvent<LaunchEvent>().stream_id, 1000u);
  launch_.hStream = CU_STREAM_PER_THREAD;
  Launch();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().stream_id, 1000u + 2u);
}

TEST_F(CallbackRouterTest, AStreamThatCuptiDoesNotKnowIsUnknown) {
  TheFakeCupti().ids_refused = true;
  Launch();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().stream_id, kUnknownStream);
}

TEST_F(CallbackRouterTest, WhatOurOwnCallsProvokeIsIgnored) {
  static CallbackRouterTest* self = nullptr;
  self = this;
  TheFakeCupti().inside_stream_id = [] {
    self->Enter(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, nullptr);
    self->Exit(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, nullptr);
  };
  Launch();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().correlation_id, correlation_id_);
  EXPECT_EQ(Stat(StatId::kLaunchesSeen), 1u);
}

TEST_F(CallbackRouterTest, AGraphLaunchIsRecordedWithItsGraphAskedForOnce) {
  cuGraphLaunch_params graph{};
  graph.hGraph = FakeHandle<CUgraphExec>(88);
  graph.hStream = FakeHandle<CUstream>(9);
  for (int i = 0; i < 2; ++i) {
    Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
    const auto event = OnlyEvent<GraphLaunchEvent>();
    EXPECT_EQ(event.graph_exec_id, 88u);
    EXPECT_EQ(event.stream_id, 9u);
    EXPECT_EQ(event.correlation_id, 40u);
    EXPECT_EQ(event.context_id, kContext);
  }
  EXPECT_EQ(TheFakeCupti().graph_exec_id_calls, 1u);
  EXPECT_EQ(Stat(StatId::kGraphLaunchesSeen), 2u);
  CUpti_GraphData gone{};
  Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, &gone);
  Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
  EXPECT_EQ(TheFakeCupti().graph_exec_id_calls, 2u) << "another graph may have that handle now";
}

TEST_F(CallbackRouterTest, ACapturedLaunchBecomesANodeWithItsParameters) {
  window_id_ = 0;  // Nodes are recorded all the same: the graph may run later.
  Enter(kLaunchCbid, &launch_);
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0x1'0000'0005, 6);
  Exit(kLaunchCbid, &launch_);
  const auto node = OnlyEvent<GraphNodeEvent>();
  EXPECT_EQ(node.node_id, 0x1'0000'0005u);
  EXPECT_EQ(node.graph_id, 6u);
  EXPECT_EQ(node.context_id, kContext);
  EXPECT_EQ(node.parameters.grid, (Dim3{8, 1, 1}));
  EXPECT_NE(node.parameters.function_index, 0u);
  EXPECT_EQ(node.updated, 0u);
  EXPECT_EQ(Stat(StatId::kLaunchesCaptured), 1u);
  EXPECT_EQ(Stat(StatId::kLaunchesSeen), 0u);
}

TEST_F(CallbackRouterTest, ANodeThatIsAddedIsDescribedAndNotCountedAsALaunch) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = FakeHandle<CUfunction>(0x700);
  params.gridDimX = 3;
  cuGraphAddKernelNode_v2_params add{};
  add.nodeParams = &params;
  Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, &add);
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 5, 6);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, &add);
  EXPECT_EQ(OnlyEvent<GraphNodeEvent>().parameters.grid.x, 3u);
  EXPECT_EQ(Stat(StatId::kLaunchesCaptured), 0u);
}

TEST_F(CallbackRouterTest, AnAddThatWasRefusedMakesNoNode) {
  cuGraphAddKernelNode_v2_params add{};
  Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, &add);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, &add, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(CallbackRouterTest, NewParametersOfANodeAreAnUpdate) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.gridDimX = 9;
  cuGraphKernelNodeSetParams_v2_params set{};
  set.nodeParams = &params;
  Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2, &set);
  Node(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, 5, 6);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2, &set);
  const auto node = OnlyEvent<GraphNodeEvent>();
  EXPECT_EQ(node.updated, 1u);
  EXPECT_EQ(node.parameters.grid.x, 9u);
}

TEST_F(CallbackRouterTest, ANodeMadeOutsideTheFollowedCallsIsWrittenAtTheNextEvent) {
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 5, 6, 0, 0, CU_GRAPH_NODE_TYPE_MEMCPY);
  EXPECT_THAT(Events(), IsEmpty());
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 7, 6, 0, 0, CU_GRAPH_NODE_TYPE_MEMSET);
  const auto first = OnlyEvent<GraphNodeEvent>();
  EXPECT_EQ(first.node_id, 5u);
  EXPECT_EQ(first.node_type, static_cast<uint32_t>(CU_GRAPH_NODE_TYPE_MEMCPY));
  Launch();
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(std::get<GraphNodeEvent>(events[0]).node_id, 7u);
  EXPECT_TRUE(std::holds_alternative<LaunchEvent>(events[1]));
}

TEST_F(CallbackRouterTest, InstantiationWritesEachNodeOnce) {
  // As CUPTI tells it: each node of the copy is created, then cloned from its original.
  for (uintptr_t i = 0; i < 3; ++i) {
    Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 200 + i, 60);
    Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 200 + i, 60, 100 + i, 6);
  }
  // And one of the driver's own at the end.
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 299, 60, 0, 0, CU_GRAPH_NODE_TYPE_EMPTY);
  ExecCreated(60, 6);
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(4));
  for (size_t i = 0; i < 3; ++i) {
    const auto& node = std::get<GraphNodeEvent>(events[i]);
    EXPECT_EQ(node.node_id, 200 + i);
    EXPECT_EQ(node.original_node_id, 100 + i);
    EXPECT_EQ(node.graph_id, 60u);
  }
  const auto& exec = std::get<GraphExecEvent>(events[3]);
  EXPECT_EQ(exec.graph_exec_id, 60u);
  EXPECT_EQ(exec.graph_id, 6u);
}

TEST_F(CallbackRouterTest, AnExecutableGraphWithoutAnOriginalTakesThatOfItsNodes) {
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 200, 60, 100, 6);
  ExecCreated(60, 0);
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 300, 61, 100, 8);
  ExecCreated(61, 0);
  ExecCreated(62, 0);
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_EQ(std::get<GraphExecEvent>(events[1]).graph_id, 6u);
  EXPECT_EQ(std::get<GraphExecEvent>(events[3]).graph_id, 8u);
  EXPECT_EQ(std::get<GraphExecEvent>(events[4]).graph_id, 0u) << "nothing was cloned into it";
}

TEST_F(CallbackRouterTest, WithoutCuptisGraphFunctionsGraphsAreNotFollowed) {
  cupti_.cuptiGetGraphNodeId = nullptr;
  Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 5, 6);
  Launch();
  EXPECT_TRUE(std::holds_alternative<LaunchEvent>(Events().at(0)));
}

TEST_F(CallbackRouterTest, ContextsAreKnownWhileTheirLaunchesAreQueued) {
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
  const auto created = OnlyEvent<ContextEvent>();
  EXPECT_EQ(created.context_id, kContext);
  EXPECT_EQ(created.device_id, 1u);
  EXPECT_EQ(created.destroyed, 0u);
  const auto living = [&] {
    std::vector<void*> contexts;
    contexts_.ForEach([&](void* context) { contexts.push_back(context); });
    return contexts;
  };
  EXPECT_THAT(living(), SizeIs(1));
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr);
  EXPECT_EQ(OnlyEvent<ContextEvent>().destroyed, 1u);
  EXPECT_THAT(living(), IsEmpty());
  uint32_t device_id = 0;
  EXPECT_TRUE(contexts_.Device(kContext, &device_id));
  EXPECT_EQ(device_id, 1u);
}

TEST_F(CallbackRouterTest, AContextThatCuptiDoesNotKnowIsCounted) {
  TheFakeCupti().ids_refused = true;
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(Stat(StatId::kCuptiErrors), 1u);
}

TEST_F(CallbackRouterTest, AContextTableWithoutRoomForgetsTheOldest) {
  for (uint32_t i = 0; i <= ContextTable::kSize; ++i) contexts_.Add(i, i + 1, FakeHandle<void*>(i + 1));
  uint32_t device_id = 0;
  EXPECT_FALSE(contexts_.Device(0, &device_id));
  EXPECT_TRUE(contexts_.Device(ContextTable::kSize, &device_id));
  EXPECT_EQ(device_id, ContextTable::kSize + 1);
}

TEST_F(CallbackRouterTest, AModuleGivesItsFunctionsTheirCode) {
  const std::string cubin = fakes::BuildCubin({{"axpy", {}, "code"}});
  CUpti_ModuleResourceData module{};
  module.moduleId = 17;
  module.pCubin = cubin.data();
  module.cubinSize = cubin.size();
  Resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, &module);
  const auto loaded = OnlyEvent<ModuleEvent>();
  EXPECT_EQ(loaded.module_id, 17u);
  EXPECT_EQ(loaded.cubin_bytes, cubin.size());
  EXPECT_NE(loaded.cubin_hash, 0u);
  EXPECT_EQ(loaded.unloaded, 0u);
  Launch();
  EXPECT_TRUE(functions_.Get(OnlyEvent<LaunchEvent>().parameters.function_index).has_code);

  const uint32_t epoch = functions_.epoch();
  Resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &module);
  EXPECT_EQ(OnlyEvent<ModuleEvent>().unloaded, 1u);
  EXPECT_GT(functions_.epoch(), epoch);
}

TEST_F(CallbackRouterTest, AModuleWithoutACubinIsRecorded) {
  CUpti_ModuleResourceData module{};
  module.moduleId = 18;
  Resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, &module);
  EXPECT_EQ(OnlyEvent<ModuleEvent>().cubin_hash, 0u);
}

TEST_F(CallbackRouterTest, AnUnloadAsksFirstThenShutsTheGateUntilItReturns) {
  bool gate_was_open = false;
  BeforeUnloadBody() = [&] { gate_was_open = !gate_.is_shut(); };
  const uint32_t epoch = functions_.epoch();
  Enter(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
  EXPECT_TRUE(gate_was_open);
  EXPECT_TRUE(gate_.is_shut());
  EXPECT_GT(functions_.epoch(), epoch);
  const uint32_t during = functions_.epoch();
  Exit(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
  EXPECT_FALSE(gate_.is_shut());
  EXPECT_GT(functions_.epoch(), during);
}

TEST_F(CallbackRouterTest, AThreadWithoutAQueueShutsTheGateForItsUnload) {
  OnThreadWithoutQueue([&] {
    ASSERT_EQ(queues_.Current(), nullptr);
    const uint32_t epoch = functions_.epoch();
    Enter(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
    EXPECT_TRUE(gate_.is_shut());
    EXPECT_GT(functions_.epoch(), epoch);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
    EXPECT_FALSE(gate_.is_shut());
    Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
    EXPECT_TRUE(gate_.is_shut());
    Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
    EXPECT_FALSE(gate_.is_shut());
    Exit(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
    EXPECT_THAT(RegionCalls(), SizeIs(1));
  });
}

TEST_F(CallbackRouterTest, AThreadWithoutAQueueLosesItsLaunchesAndCountsThem) {
  OnThreadWithoutQueue([&] {
    Launch();
    cuGraphLaunch_params graph{};
    Enter(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
    Node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 5, 6);
  });
  EXPECT_EQ(Stat(StatId::kLaunchesDroppedNoQueue), 2u);
  EXPECT_EQ(Stat(StatId::kGraphTableFull), 1u);
}

TEST_F(CallbackRouterTest, TheGateIsShutFromTheBeginningOfACaptureToItsEnd) {
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  EXPECT_TRUE(gate_.is_shut());
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
  EXPECT_TRUE(gate_.is_shut());
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_FALSE(gate_.is_shut());
}

TEST_F(CallbackRouterTest, ACaptureThatDidNotBeginLeavesTheGateOpen) {
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, nullptr, CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(gate_.is_shut());
}

TEST_F(CallbackRouterTest, EndingACaptureThatIsNotOpenDoesNotOpenTheGateOfAnother) {
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD}) {
    Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, nullptr, result);
    EXPECT_TRUE(gate_.is_shut()) << result;
  }
}

TEST_F(CallbackRouterTest, ProfilerStartTakesEffectAfterItAndStopBeforeIt) {
  Enter(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  EXPECT_THAT(RegionCalls(), IsEmpty());
  Exit(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  EXPECT_EQ(RegionCalls(), std::vector<bool>({true}));
  Enter(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  EXPECT_EQ(RegionCalls(), std::vector<bool>({true, false}));
  Exit(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  EXPECT_THAT(RegionCalls(), SizeIs(2));
}

TEST_F(CallbackRouterTest, WhatTheHostWaitsForIsTimedByCuptisClock) {
  static uint64_t clock_ns;
  clock_ns = 1'000;
  cupti_.cuptiGetTimestamp = [](uint64_t* timestamp) {
    *timestamp = clock_ns += 10;
    return CUPTI_SUCCESS;
  };
  parts_.times_synchronization = true;
  router_.Attach(parts_);
  struct Row {
    uint32_t cbid;
    const void* parameters;
    uint32_t type;
    uint32_t stream_id;
  };
  const cuStreamSynchronize_params stream{FakeHandle<CUstream>(7)};
  const cuStreamWaitEvent_params wait{FakeHandle<CUstream>(9), nullptr, 0};
  const cuStreamSynchronize_ptsz_params own{nullptr};
  for (const Row& row : {Row{CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, nullptr, 4, kUnknownStream},
                         Row{CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &stream, 3, 7},
                         Row{CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, &own, 3, 1'000},
                         Row{CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, nullptr, 1, kUnknownStream},
                         Row{CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &wait, 2, 9}}) {
    const uint64_t before_ns = clock_ns;
    ++correlation_id_;
    Enter(row.cbid, row.parameters);
    // Failed or not: the time is gone.
    Exit(row.cbid, row.parameters, CUDA_ERROR_LAUNCH_FAILED);
    const auto event = OnlyEvent<SynchronizationEvent>();
    EXPECT_EQ(event.start_ns, before_ns + 10);
    EXPECT_EQ(event.end_ns, before_ns + 20);
    EXPECT_EQ(event.type, row.type);
    EXPECT_EQ(event.stream_id, row.stream_id) << row.cbid;
    EXPECT_EQ(event.context_id, kContext);
    EXPECT_EQ(event.correlation_id, correlation_id_);
  }
}

TEST_F(CallbackRouterTest, WaitsThatBeginOrEndOutsideEveryWindowAreNotRecorded) {
  constexpr auto kSynchronize = CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize;
  Enter(kSynchronize);
  Exit(kSynchronize);
  EXPECT_THAT(Events(), IsEmpty()) << "timings are off";
  parts_.times_synchronization = true;
  router_.Attach(parts_);
  Exit(kSynchronize);
  window_id_.store(0);
  Enter(kSynchronize);
  window_id_.store(4);
  Exit(kSynchronize);
  Enter(kSynchronize);
  window_id_.store(0);
  Exit(kSynchronize);
  EXPECT_THAT(Events(), IsEmpty());
  window_id_.store(5);
  Exit(kSynchronize);
  EXPECT_THAT(Events(), IsEmpty()) << "the call that was left out is over";
}

TEST_F(CallbackRouterTest, AFullQueueLosesWaitsAndCountsThem) {
  parts_.times_synchronization = true;
  router_.Attach(parts_);
  constexpr int kCalls = 3'000;
  for (int i = 0; i < kCalls; ++i) {
    Enter(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
    Exit(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
  }
  const uint64_t dropped = Stat(StatId::kSynchronizationsDropped);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(Events().size() + dropped, uint64_t{kCalls});
}

TEST_F(CallbackRouterTest, AnExceptionEndsCapturingAndReachesNobody) {
  parts_.profiler_region = [](bool) { throw std::runtime_error("no memory"); };
  router_.Attach(parts_);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  EXPECT_EQ(Stat(StatId::kBoundaryExceptions), 1u);
  EXPECT_FALSE(Capturing());
}

// One call of each kind that brings work to a device.
constexpr uint32_t kWorkCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,       CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc,     CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData};

TEST_F(CallbackRouterTest, CallsThatBringWorkAreSeenUnderWay) {
  LaunchHold hold;
  parts_.hold = &hold;
  router_.Attach(parts_);
  for (const uint32_t cbid : kWorkCalls) {
    Enter(cbid);
    EXPECT_TRUE(hold.CallsUnderWay(queues_, nullptr)) << cbid;
    EXPECT_FALSE(hold.CallsUnderWay(queues_, queues_.Current())) << cbid;
    Exit(cbid);
    EXPECT_FALSE(hold.CallsUnderWay(queues_, nullptr)) << cbid;
  }
  for (const uint32_t cbid : {CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2,
                              CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync}) {
    Enter(cbid);
    EXPECT_FALSE(hold.CallsUnderWay(queues_, nullptr)) << cbid;
    Exit(cbid);
  }
}

TEST_F(CallbackRouterTest, ACallInsideACallLeavesTheOuterOneUnderWay) {
  LaunchHold hold;
  parts_.hold = &hold;
  router_.Attach(parts_);
  Enter(kLaunchCbid, &launch_);
  Enter(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
  EXPECT_TRUE(hold.CallsUnderWay(queues_, nullptr));
  Exit(kLaunchCbid, &launch_);
  EXPECT_FALSE(hold.CallsUnderWay(queues_, nullptr));
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(CallbackRouterTest, AHeldLaunchBelongsToTheWindowThatIsOpenWhenItGoesOn) {
  LaunchHold hold(3'600'000'000'000);
  parts_.hold = &hold;
  router_.Attach(parts_);
  ASSERT_TRUE(hold.Hold());
  std::latch begun(1);
  std::thread program([&] {
    begun.count_down();
    Launch();
  });
  begun.wait();
  window_id_ = 4;
  hold.Release();
  program.join();
  EXPECT_EQ(OnlyEvent<LaunchEvent>().window_id, 4u);
}

TEST_F(CallbackRouterTest, AThreadWithoutAQueueIsHeldAndSeenToo) {
  LaunchHold hold(0);
  parts_.hold = &hold;
  router_.Attach(parts_);
  OnThreadWithoutQueue([&] {
    ASSERT_EQ(queues_.Current(), nullptr);
    for (const uint32_t cbid : kWorkCalls) {
      Enter(cbid);
      EXPECT_TRUE(hold.CallsUnderWay(queues_, nullptr)) << cbid;
      Exit(cbid);
      EXPECT_FALSE(hold.CallsUnderWay(queues_, nullptr)) << cbid;
    }
    ASSERT_TRUE(hold.Hold());
    Enter(kLaunchCbid, &launch_);
    EXPECT_EQ(hold.overrun_count(), 1u) << "it waited for the limit";
  });
}

TEST_F(CallbackRouterTest, WhatMovesMemoryIsACopyInARange) {
  LaunchHold hold;
  RangeContents contents;
  const auto sampler = std::make_unique<LaunchSampler>();
  LaunchSampler::Parts sampled;
  sampled.queues = &queues_;
  sampled.contents = &contents;
  sampler->Attach(sampled);
  sampler->Arm(0, GroupKind::kHardware, {});
  parts_.hold = &hold;
  parts_.sampler = sampler.get();
  router_.Attach(parts_);
  const auto copies_of = [&](uint32_t cbid) {
    EXPECT_TRUE(contents.Open(1));
    Enter(cbid);
    EXPECT_EQ(queues_.Current()->call_node_type, 0u) << cbid;
    Exit(cbid);
    RangeFacts facts;
    contents.Close(&facts);
    return facts.foreign[static_cast<size_t>(DeviceWork::kCopy)];
  };
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync,
        CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync, CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync}) {
    EXPECT_EQ(copies_of(cbid), 1u) << cbid;
  }
  EXPECT_EQ(copies_of(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc), 0u);
  EXPECT_EQ(copies_of(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2), 0u);
}

TEST_F(CallbackRouterTest, WithoutAHoldNoCallIsMarked) {
  for (const uint32_t cbid : kWorkCalls) {
    Enter(cbid);
    EXPECT_EQ(queues_.Current()->in_device_call.load(), 0u) << cbid;
    Exit(cbid);
  }
}

TEST_F(CallbackRouterTest, WhatCallsAndResourcesSayIsKeptWhereItIsWanted) {
  CaptureGate captures;
  RangeContents contents;
  auto streams = std::make_unique<StreamTable>();
  ContextBehaviour behaviour;
  ReplayMemory replay;
  parts_.captures = &captures;
  parts_.contents = &contents;
  parts_.streams = streams.get();
  parts_.behaviour = &behaviour;
  parts_.replay = &replay;
  router_.Attach(parts_);
  const auto context = FakeHandle<CUcontext>(kContext);
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);

  auto stream = FakeHandle<CUstream>(16);
  cuStreamCreate_params create{};
  create.phStream = &stream;
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, &create);
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, &create);
  EXPECT_EQ(streams->ContextOf(stream), context);

  ASSERT_TRUE(contents.Open(9));
  cuStreamBeginCapture_v2_params begin{};
  begin.hStream = stream;
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  EXPECT_FALSE(captures.is_open());
  EXPECT_TRUE(gate_.is_shut()) << "the prober's gate as before";
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  RangeFacts facts;
  contents.Close(&facts);
  EXPECT_TRUE(facts.capture_began);

  Exit(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged);
  EXPECT_TRUE(replay.Has(ReplayObstacle::kManaged));
  Exit(CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2);
  EXPECT_TRUE(behaviour.Of(context).ipc_memory);

  CUpti_ResourceData data{};
  data.context = context;
  data.resourceHandle.stream = stream;
  CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, &data);
  EXPECT_EQ(streams->ContextOf(stream), nullptr);
  EXPECT_TRUE(captures.is_open()) << "a capture goes with its stream";

  streams->Add(context, stream);
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr);
  EXPECT_EQ(streams->Count(context), 0u);
  EXPECT_FALSE(behaviour.Of(context).ipc_memory);
  EXPECT_TRUE(replay.Has(ReplayObstacle::kManaged));
}

TEST_F(CallbackRouterTest, AContextThatCuptiDoesNotKnowAnyMoreIsForgottenAllTheSame) {
  ContextBehaviour behaviour;
  parts_.behaviour = &behaviour;
  router_.Attach(parts_);
  const auto context = FakeHandle<CUcontext>(kContext);
  behaviour.Note(context, ContextTrait::kPeerAccess);
  TheFakeCupti().ids_refused = true;
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
  EXPECT_TRUE(behaviour.Of(context).peer_access);
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr);
  EXPECT_FALSE(behaviour.Of(context).peer_access);
}

// As "+" before and "-" after the call, with the context's address or the device.
std::vector<std::string>& ContextEnds() {
  static std::vector<std::string> ends;
  return ends;
}

TEST_F(CallbackRouterTest, OnlyTheLastReferenceToAPrimaryContextIsItsEnd) {
  ContextEnds().clear();
  parts_.context_ends = [](bool before, ContextEnd end) {
    ContextEnds().push_back((before ? "+" : "-") + (end.context == nullptr
                                                        ? std::to_string(end.device)
                                                        : std::to_string(reinterpret_cast<uintptr_t>(end.context))));
  };
  router_.Attach(parts_);
  constexpr uint32_t kRelease = CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2;
  const cuDevicePrimaryCtxRetain_params retain{nullptr, 1};
  const cuDevicePrimaryCtxRelease_v2_params release{1};
  const auto call = [&](uint32_t cbid, const void* parameters, CUresult result = CUDA_SUCCESS) {
    Enter(cbid, parameters);
    Exit(cbid, parameters, result);
    return std::exchange(ContextEnds(), {});
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, &retain), IsEmpty());
  }
  EXPECT_THAT(call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, &retain, CUDA_ERROR_INVALID_DEVICE), IsEmpty());
  EXPECT_THAT(call(kRelease, &release, CUDA_ERROR_INVALID_CONTEXT), IsEmpty());
  EXPECT_THAT(call(kRelease, &release), IsEmpty()) << "another one has it";
  EXPECT_THAT(call(kRelease, &release), ElementsAre("+1", "-1"));
  EXPECT_THAT(call(kRelease, &release), ElementsAre("+1", "-1")) << "of references that were not seen";

  (void)call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, &retain);
  (void)call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, &retain);
  const cuDevicePrimaryCtxReset_v2_params reset{1};
  EXPECT_THAT(call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2, &reset), ElementsAre("+1", "-1"));
  EXPECT_THAT(call(kRelease, &release), ElementsAre("+1", "-1")) << "what a reset leaves is not known";
  const cuCtxDestroy_v2_params destroy{FakeHandle<CUcontext>(77)};
  EXPECT_THAT(call(CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, &destroy), ElementsAre("+77", "-77"));
  EXPECT_THAT(call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, nullptr), IsEmpty());
}

TEST_F(CallbackRouterTest, TheCallsOfCountersAreEnabledForCountersOnly) {
  size_t followed = 0;
  for (const uint32_t* cbid = FollowedCalls(); *cbid != 0; ++cbid) ++followed;
  size_t counters = 0;
  for (const uint32_t* cbid = CounterCalls(); *cbid != 0; ++cbid) ++counters;
  router_.EnableCallbacks(nullptr, true);
  EXPECT_EQ(TheFakeCupti().enabled_callbacks, followed + counters + 12);
  TheFakeCupti().enabled_callbacks = 0;
  TheFakeCupti().refused_callback = CUPTI_DRIVER_TRACE_CBID_cuMulticastCreate;
  router_.EnableCallbacks(nullptr, false);
  EXPECT_EQ(TheFakeCupti().enabled_callbacks, followed + 12);
  EXPECT_EQ(Stat(StatId::kCallbacksRefused), 0u);
  router_.EnableCallbacks(nullptr, true);
  EXPECT_EQ(Stat(StatId::kCallbacksRefused), 1u);
}

TEST_F(CallbackRouterTest, EveryCallbackIsEnabledAndRefusalsAreCounted) {
  size_t followed = 0;
  for (const uint32_t* cbid = FollowedCalls(); *cbid != 0; ++cbid) ++followed;
  TheFakeCupti().refused_callback = CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync;
  router_.EnableCallbacks(nullptr);
  EXPECT_EQ(Stat(StatId::kCallbacksRefused), 1u);
  EXPECT_EQ(TheFakeCupti().enabled_callbacks, followed - 1 + 12);
}

TEST_F(CallbackRouterTest, ThreadsThatLaunchAtOnceRecordInTheirOwnOrder) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kLaunches = 100;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kLaunches; ++i) {
        CUpti_CallbackData data{};
        CUresult result = CUDA_SUCCESS;
        cuLaunchKernel_params launch = launch_;
        launch.f = FakeHandle<CUfunction>(0x1000 + i % 10 * 16);
        const std::string name = "f" + std::to_string(i % 10);
        data.functionParams = &launch;
        data.functionReturnValue = &result;
        data.symbolName = name.c_str();
        data.contextUid = t;
        data.correlationId = i;
        data.callbackSite = CUPTI_API_ENTER;
        CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCbid, &data);
        data.callbackSite = CUPTI_API_EXIT;
        CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCbid, &data);
        if (i % 20 == 0) functions_.NewEpoch();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint32_t> next(kThreads);
  for (const Event& event : Events()) {
    const auto& launch = std::get<LaunchEvent>(event);
    EXPECT_EQ(launch.correlation_id, next.at(launch.context_id)++);
    const FunctionInfo& info = functions_.Get(launch.parameters.function_index);
    EXPECT_EQ(std::string(info.name, info.name_bytes), "f" + std::to_string(launch.correlation_id % 10));
  }
  for (const uint32_t count : next) EXPECT_EQ(count, kLaunches);
}

}  // namespace
}  // namespace gx::inject
