#include "inject/launch_parameters.h"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace gx::inject {
namespace {

const auto kFunction = reinterpret_cast<CUfunction>(uintptr_t{0x1000});
const auto kKernel = reinterpret_cast<CUkernel>(uintptr_t{0x2000});
const auto kStream = reinterpret_cast<CUstream>(uintptr_t{0x3000});
const auto kGraphExec = reinterpret_cast<CUgraphExec>(uintptr_t{0x4000});

template <typename T>
T Zeroed() {
  T value;
  std::memset(static_cast<void*>(&value), 0, sizeof(value));
  return value;
}

// Any block or node that names its dimensions as CUDA does.
template <typename T>
void FillDimensions(T* in) {
  in->gridDimX = 1;
  in->gridDimY = 2;
  in->gridDimZ = 3;
  in->blockDimX = 4;
  in->blockDimY = 5;
  in->blockDimZ = 6;
  in->sharedMemBytes = 7;
}

void ExpectDimensions(const LaunchCall& call) {
  EXPECT_EQ(call.parameters.readable, 1);
  EXPECT_EQ(call.parameters.grid, (Dim3{1, 2, 3}));
  EXPECT_EQ(call.parameters.block, (Dim3{4, 5, 6}));
  EXPECT_EQ(call.parameters.dynamic_shared_memory_bytes, 7u);
}

void ExpectNothing(const LaunchCall& call) {
  EXPECT_EQ(call.parameters.readable, 0);
  EXPECT_EQ(call.parameters.grid, Dim3{});
  EXPECT_EQ(call.function, nullptr);
}

std::vector<uint32_t> Followed() {
  std::vector<uint32_t> all;
  for (const uint32_t* cbid = FollowedCalls(); *cbid != 0; ++cbid) all.push_back(*cbid);
  return all;
}

TEST(FollowedCalls, AndThoseOfCountersAreTheOnesThatAreClassified) {
  std::vector<uint32_t> all = Followed();
  for (const uint32_t* cbid = CounterCalls(); *cbid != 0; ++cbid) all.push_back(*cbid);
  const std::set<uint32_t> followed(all.begin(), all.end());
  EXPECT_EQ(followed.size(), all.size()) << "one stands twice";
  for (uint32_t cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE + 100; ++cbid) {
    EXPECT_EQ(ClassifyCall(cbid).kind != CallKind::kNone, followed.count(cbid) == 1) << cbid;
  }
}

TEST(FollowedCalls, WithoutAParameterBlockNothingIsRead) {
  for (const uint32_t cbid : Followed()) ExpectNothing(ReadLaunchCall(cbid, nullptr));
}

TEST(ClassifyCall, OnlyThePtszVariantsUseThePerThreadStream) {
  EXPECT_FALSE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel).per_thread_stream);
  EXPECT_TRUE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz).per_thread_stream);
  EXPECT_TRUE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz).per_thread_stream);
  EXPECT_TRUE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz).per_thread_stream);
  EXPECT_FALSE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch).per_thread_stream);
  EXPECT_TRUE(ClassifyCall(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz).per_thread_stream);
}

TEST(ClassifyCall, TheCallsOfCountersAreWhatTheyAre) {
  const std::vector<std::pair<CallKind, std::vector<uint32_t>>> rows = {
      {CallKind::kCopy,
       {CUPTI_DRIVER_TRACE_CBID_cuMemcpy, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer, CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemcpyAtoA_v2}},
      {CallKind::kMemset,
       {CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2, CUPTI_DRIVER_TRACE_CBID_cuMemsetD16_v2_ptds,
        CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8Async_ptsz}},
      {CallKind::kHostWork,
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2,
        CUPTI_DRIVER_TRACE_CBID_cuStreamWriteValue64, CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync,
        CUPTI_DRIVER_TRACE_CBID_cuGraphUpload, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams}},
      {CallKind::kModuleLoad,
       {CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
        CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
        CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile}},
      {CallKind::kStreamCreate, {CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority}},
      {CallKind::kPrimaryRetain, {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain}},
      {CallKind::kStreamDestroy, {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2}},
      {CallKind::kSynchronize, {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2}},
      {CallKind::kPeerAccess, {CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess, CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess}},
      {CallKind::kStreamSynchronize,
       {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz}},
      {CallKind::kEventSynchronize, {CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize}},
      {CallKind::kStreamWaitEvent,
       {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz}},
      {CallKind::kNone,
       {CUPTI_DRIVER_TRACE_CBID_cuEventRecord, CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,
        CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2}},
  };
  for (const auto& [kind, cbids] : rows) {
    for (const uint32_t cbid : cbids) EXPECT_EQ(ClassifyCall(cbid).kind, kind) << cbid;
  }
}

TEST(ClassifyCall, WorkIsWhatRunsOnADevice) {
  for (const CallKind kind : {CallKind::kLaunch, CallKind::kGraphLaunch, CallKind::kCopy, CallKind::kMemset,
                              CallKind::kHostWork, CallKind::kModuleLoad}) {
    EXPECT_TRUE(BringsDeviceWork(kind));
  }
  for (const CallKind kind : {CallKind::kNone, CallKind::kGraphAddNode, CallKind::kUnload, CallKind::kCaptureBegin,
                              CallKind::kStreamCreate, CallKind::kPeerAccess, CallKind::kPoolMemory}) {
    EXPECT_FALSE(BringsDeviceWork(kind));
  }
}

template <typename Params>
Params WithStream(CUstream Params::*member) {
  auto in = Zeroed<Params>();
  in.*member = kStream;
  return in;
}

TEST(StreamOf, ReadsTheStreamThatACallNames) {
  const auto copy = WithStream(&cuMemcpyHtoDAsync_v2_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, &copy), kStream);
  const auto own_copy = WithStream(&cuMemcpyHtoDAsync_v2_ptsz_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz, &own_copy), kStream);
  const auto batch = WithStream(&cuMemcpyBatchAsync_v2_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2, &batch), kStream);
  const auto set = WithStream(&cuMemsetD2D32Async_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D32Async, &set), kStream);
  const auto host = WithStream(&cuLaunchHostFunc_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, &host), kStream);
  const auto wait = WithStream(&cuStreamWaitValue32_v2_params::stream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2, &wait), kStream);
  const auto launch = WithStream(&cuLaunchKernel_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch), kStream);
  const auto graph = WithStream(&cuGraphLaunch_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph), kStream);
  const auto begin = WithStream(&cuStreamBeginCaptureToGraph_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, &begin), kStream);
  const auto end = WithStream(&cuStreamEndCapture_params::hStream);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &end), kStream);
}

// Capture calls are read through one block.
static_assert(offsetof(cuStreamBeginCapture_params, hStream) == offsetof(cuStreamEndCapture_params, hStream));
static_assert(offsetof(cuStreamBeginCapture_v2_params, hStream) == offsetof(cuStreamEndCapture_params, hStream));
static_assert(offsetof(cuStreamBeginCaptureToGraph_params, hStream) == offsetof(cuStreamEndCapture_params, hStream));

TEST(StreamOf, CallsWithoutAStreamOrABlockNameNone) {
  const auto copy = Zeroed<cuMemcpyHtoD_v2_params>();
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, &copy), nullptr);
  EXPECT_EQ(StreamOf(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, &copy), nullptr);
  for (const uint32_t cbid : Followed()) EXPECT_EQ(StreamOf(cbid, nullptr), nullptr);
  for (const uint32_t* cbid = CounterCalls(); *cbid != 0; ++cbid) EXPECT_EQ(StreamOf(*cbid, nullptr), nullptr);
}

TEST(StreamOf, AThreadsOwnStreamIsNamedOrTheDefaultOfSomeCalls) {
  const CallInfo plain{CallKind::kCopy, false};
  const CallInfo own{CallKind::kCopy, true};
  EXPECT_FALSE(IsThreadsOwnStream(plain, nullptr));
  EXPECT_TRUE(IsThreadsOwnStream(own, nullptr));
  for (const CallInfo call : {plain, own}) {
    EXPECT_TRUE(IsThreadsOwnStream(call, CU_STREAM_PER_THREAD));
    EXPECT_FALSE(IsThreadsOwnStream(call, CU_STREAM_LEGACY));
    EXPECT_FALSE(IsThreadsOwnStream(call, kStream));
  }
}

TEST(ReadLaunchCall, ReadsCuLaunchKernelAndItsPerThreadVariant) {
  auto in = Zeroed<cuLaunchKernel_params>();
  FillDimensions(&in);
  in.f = kFunction;
  in.hStream = kStream;
  for (const uint32_t cbid : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz}) {
    const LaunchCall call = ReadLaunchCall(cbid, &in);
    ExpectDimensions(call);
    EXPECT_EQ(call.function, kFunction);
    EXPECT_EQ(call.stream, kStream);
    EXPECT_EQ(call.parameters.cooperative, 0);
    EXPECT_EQ(call.parameters.carveout, kNoCarveout);
  }
}

// The blocks of the _ptsz variants are read through the other's type.
static_assert(sizeof(cuLaunchKernel_ptsz_params) == sizeof(cuLaunchKernel_params));
static_assert(offsetof(cuLaunchKernel_ptsz_params, hStream) == offsetof(cuLaunchKernel_params, hStream));
static_assert(offsetof(cuLaunchCooperativeKernel_ptsz_params, hStream) ==
              offsetof(cuLaunchCooperativeKernel_params, hStream));
static_assert(offsetof(cuLaunchKernelEx_ptsz_params, f) == offsetof(cuLaunchKernelEx_params, f));
static_assert(offsetof(cuGraphLaunch_ptsz_params, hStream) == offsetof(cuGraphLaunch_params, hStream));

TEST(ReadLaunchCall, ACooperativeLaunchIsCooperative) {
  auto in = Zeroed<cuLaunchCooperativeKernel_params>();
  FillDimensions(&in);
  in.f = kFunction;
  in.hStream = kStream;
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz}) {
    const LaunchCall call = ReadLaunchCall(cbid, &in);
    ExpectDimensions(call);
    EXPECT_EQ(call.parameters.cooperative, 1);
    EXPECT_EQ(call.function, kFunction);
    EXPECT_EQ(call.stream, kStream);
  }
}

class LaunchKernelEx : public ::testing::Test {
 protected:
  LaunchKernelEx() {
    FillDimensions(&config_);
    config_.hStream = kStream;
    in_.f = kFunction;
    in_.config = &config_;
  }
  LaunchCall Read(std::vector<CUlaunchAttribute> attributes) {
    attributes_ = std::move(attributes);
    config_.attrs = attributes_.data();
    config_.numAttrs = static_cast<unsigned>(attributes_.size());
    return ReadLaunchCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &in_);
  }
  static CUlaunchAttribute Attribute(CUlaunchAttributeID id) {
    auto attribute = Zeroed<CUlaunchAttribute>();
    attribute.id = id;
    return attribute;
  }

  CUlaunchConfig config_ = Zeroed<CUlaunchConfig>();
  cuLaunchKernelEx_params in_ = Zeroed<cuLaunchKernelEx_params>();
  std::vector<CUlaunchAttribute> attributes_;
};

TEST_F(LaunchKernelEx, WithoutAttributesHasDimensionsAlone) {
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz}) {
    config_.numAttrs = 3;  // and no array: nothing is read.
    const LaunchCall call = ReadLaunchCall(cbid, &in_);
    ExpectDimensions(call);
    EXPECT_EQ(call.function, kFunction);
    EXPECT_EQ(call.stream, kStream);
    EXPECT_EQ(call.parameters.cluster, Dim3{});
    EXPECT_EQ(call.parameters.programmatic, 0);
    EXPECT_EQ(call.parameters.carveout, kNoCarveout);
  }
}

TEST_F(LaunchKernelEx, WithoutAConfigurationIsUnreadable) {
  in_.config = nullptr;
  const LaunchCall call = ReadLaunchCall(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &in_);
  EXPECT_EQ(call.parameters.readable, 0);
}

TEST_F(LaunchKernelEx, ReadsEveryAttributeThatChangesTheLaunch) {
  auto cooperative = Attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  cooperative.value.cooperative = 1;
  auto cluster = Attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  cluster.value.clusterDim.x = 2;
  cluster.value.clusterDim.y = 3;
  cluster.value.clusterDim.z = 4;
  auto preferred = Attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
  preferred.value.preferredClusterDim.x = 5;
  preferred.value.preferredClusterDim.y = 6;
  preferred.value.preferredClusterDim.z = 7;
  auto carveout = Attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  carveout.value.sharedMemCarveout = 40;
  const LaunchCall call = Read({Attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY), cooperative, cluster, preferred, carveout});
  ExpectDimensions(call);
  EXPECT_EQ(call.parameters.cooperative, 1);
  EXPECT_EQ(call.parameters.cluster, (Dim3{2, 3, 4}));
  EXPECT_EQ(call.parameters.preferred_cluster, (Dim3{5, 6, 7}));
  EXPECT_EQ(call.parameters.carveout, 40);
  EXPECT_EQ(call.parameters.programmatic, 0);
}

TEST_F(LaunchKernelEx, ACarveoutOfTheDriversChoiceIsNotNone) {
  auto carveout = Attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  carveout.value.sharedMemCarveout = static_cast<unsigned>(CU_SHAREDMEM_CARVEOUT_DEFAULT);
  EXPECT_EQ(Read({carveout}).parameters.carveout, -1);
}

TEST_F(LaunchKernelEx, ProgrammaticLaunchesAreToldBySerializationAndByEvent) {
  auto serialization = Attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(Read({serialization}).parameters.programmatic, 0) << "asked for with 0: off";
  serialization.value.programmaticStreamSerializationAllowed = 1;
  EXPECT_EQ(Read({serialization}).parameters.programmatic, 1);
  EXPECT_EQ(Read({Attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)}).parameters.programmatic, 1);
}

TEST(ReadLaunchCall, OldAndMultiDeviceLaunchesAreUnreadable) {
  const uint64_t block[32] = {};
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunch, CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice}) {
    EXPECT_EQ(ClassifyCall(cbid).kind, CallKind::kLaunch);
    ExpectNothing(ReadLaunchCall(cbid, block));
  }
}

TEST(ReadLaunchCall, AGraphLaunchNamesGraphAndStream) {
  auto in = Zeroed<cuGraphLaunch_params>();
  in.hGraph = kGraphExec;
  in.hStream = kStream;
  for (const uint32_t cbid : {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz}) {
    EXPECT_EQ(ClassifyCall(cbid).kind, CallKind::kGraphLaunch);
    const LaunchCall call = ReadLaunchCall(cbid, &in);
    EXPECT_EQ(call.graph_exec, kGraphExec);
    EXPECT_EQ(call.stream, kStream);
    EXPECT_EQ(call.parameters.readable, 0);
  }
}

// One call that gives a kernel node its parameters, of the first or the second kind.
template <typename Params>
LaunchCall ReadNode(uint32_t cbid, decltype(Params::nodeParams) node) {
  auto in = Zeroed<Params>();
  in.nodeParams = node;
  return ReadLaunchCall(cbid, &in);
}

TEST(ReadLaunchCall, KernelNodesOfTheFirstKindNameAFunction) {
  auto node = Zeroed<CUDA_KERNEL_NODE_PARAMS_v1>();
  FillDimensions(&node);
  node.func = kFunction;
  for (const LaunchCall& call :
       {ReadNode<cuGraphAddKernelNode_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode, &node),
        ReadNode<cuGraphKernelNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams, &node),
        ReadNode<cuGraphExecKernelNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams,
                                                        &node)}) {
    ExpectDimensions(call);
    EXPECT_EQ(call.function, kFunction);
  }
  ExpectNothing(ReadNode<cuGraphAddKernelNode_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode, nullptr));
  ExpectNothing(
      ReadNode<cuGraphKernelNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams, nullptr));
  ExpectNothing(
      ReadNode<cuGraphExecKernelNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams, nullptr));
}

TEST(ReadLaunchCall, KernelNodesOfTheSecondKindNameAFunctionOrAKernel) {
  auto node = Zeroed<CUDA_KERNEL_NODE_PARAMS>();
  FillDimensions(&node);
  const auto read = [&] {
    return std::vector<LaunchCall>{
        ReadNode<cuGraphAddKernelNode_v2_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, &node),
        ReadNode<cuGraphKernelNodeSetParams_v2_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2, &node),
        ReadNode<cuGraphExecKernelNodeSetParams_v2_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
                                                           &node)};
  };
  node.kern = kKernel;
  for (const LaunchCall& call : read()) {
    ExpectDimensions(call);
    EXPECT_EQ(call.function, kKernel);
  }
  node.func = kFunction;
  for (const LaunchCall& call : read()) EXPECT_EQ(call.function, kFunction);
  ExpectNothing(ReadNode<cuGraphAddKernelNode_v2_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, nullptr));
}

TEST(ReadLaunchCall, NodesOfAnyTypeAreReadWhereTheyAreKernels) {
  auto node = Zeroed<CUgraphNodeParams>();
  FillDimensions(&node.kernel);
  node.kernel.kern = kKernel;
  const auto read = [](CUgraphNodeParams* params) {
    return std::vector<LaunchCall>{
        ReadNode<cuGraphAddNode_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode, params),
        ReadNode<cuGraphAddNode_v2_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, params),
        ReadNode<cuGraphNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams, params),
        ReadNode<cuGraphExecNodeSetParams_params>(CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams, params)};
  };
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  for (const LaunchCall& call : read(&node)) {
    ExpectDimensions(call);
    EXPECT_EQ(call.function, kKernel);
  }
  node.type = CU_GRAPH_NODE_TYPE_MEMSET;
  for (const LaunchCall& call : read(&node)) ExpectNothing(call);
  for (const LaunchCall& call : read(nullptr)) ExpectNothing(call);
}

}  // namespace
}  // namespace gx::inject
