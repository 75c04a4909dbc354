#include "inject/call_bookkeeping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "inject/call_result.h"
#include "inject/self_stats.h"

namespace gx::inject {
namespace {

template <typename HandleType>
HandleType Fake(uintptr_t number) {
  return reinterpret_cast<HandleType>(number);
}
template <typename Params>
Params Zeroed() {
  Params params;
  std::memset(static_cast<void*>(&params), 0, sizeof(params));
  return params;
}

constexpr uint32_t kContextId = 105;
constexpr uint32_t kDevice = 1;
const auto kContext = Fake<CUcontext>(0xA00);
const auto kPeer = Fake<CUcontext>(0xB00);
const auto kThird = Fake<CUcontext>(0xC00);

std::map<CUstream, CUresult>& Answers() {
  static std::map<CUstream, CUresult> answers;
  return answers;
}

class CallBookkeepingTest : public ::testing::Test {
 protected:
  CallBookkeepingTest() {
    Stats().Reset();
    Answers().clear();
    cuda_.cuStreamQuery = [](CUstream stream) {
      const auto found = Answers().find(stream);
      return found == Answers().end() ? CUDA_SUCCESS : found->second;
    };
    thread_->thread_id = 7;
    contexts_.Add(kContextId, kDevice, kContext);
    parts_.contexts = &contexts_;
    parts_.captures = &captures_;
    parts_.contents = &contents_;
    parts_.streams = streams_.get();
    parts_.behaviour = &behaviour_;
    parts_.replay = &replay_;
    parts_.cuda = &cuda_;
    books_.Attach(parts_);
  }

  CUpti_CallbackData Data(const void* params, const CUresult* result) const {
    CUpti_CallbackData data{};
    data.functionParams = params;
    data.functionReturnValue = const_cast<CUresult*>(result);
    data.context = context_;
    data.contextUid = context_id_;
    return data;
  }
  void Enter(uint32_t cbid, const void* params = nullptr) {
    books_.OnEnter(state_, ClassifyCall(cbid), cbid, Data(params, nullptr));
  }
  void Exit(uint32_t cbid, const void* params = nullptr, CUresult result = CUDA_SUCCESS) {
    books_.OnExit(state_, ClassifyCall(cbid), cbid, Data(params, &result));
  }
  void Call(uint32_t cbid, const void* params = nullptr, CUresult result = CUDA_SUCCESS) {
    Enter(cbid, params);
    Exit(cbid, params, result);
  }

  void BeginCapture(CUstream stream, CUresult result = CUDA_SUCCESS) {
    auto params = Zeroed<cuStreamBeginCapture_v2_params>();
    params.hStream = stream;
    Call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &params, result);
  }
  void EndCapture(CUstream stream, CUresult result = CUDA_SUCCESS) {
    auto params = Zeroed<cuStreamEndCapture_params>();
    params.hStream = stream;
    Call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &params, result);
  }
  void CreateStream(CUstream stream) {
    auto params = Zeroed<cuStreamCreate_params>();
    params.phStream = &stream;
    Call(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, &params);
  }
  void DestroyStream(CUstream stream, CUresult result = CUDA_SUCCESS) {
    auto params = Zeroed<cuStreamDestroy_v2_params>();
    params.hStream = stream;
    Call(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &params, result);
  }
  void SetAccess(std::vector<CUmemAccessDesc> accesses) {
    auto params = Zeroed<cuMemSetAccess_params>();
    params.desc = accesses.data();
    params.count = accesses.size();
    Call(CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess, &params);
  }
  static CUmemAccessDesc Access(int device, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE) {
    auto access = Zeroed<CUmemAccessDesc>();
    access.location.type = type;
    access.location.id = device;
    access.flags = flags;
    return access;
  }
  DenyReason Denied(const void* context = kContext) const { return DenyByBehaviour(behaviour_.Of(context)); }

  ContextTable contexts_;
  CaptureGate captures_;
  RangeContents contents_;
  std::unique_ptr<StreamTable> streams_ = std::make_unique<StreamTable>();
  ContextBehaviour behaviour_;
  ReplayMemory replay_;
  CudaApi cuda_;
  CallBookkeeping::Parts parts_;
  CallBookkeeping books_;
  std::unique_ptr<ThreadState> thread_ = std::make_unique<ThreadState>();
  ThreadState* state_ = thread_.get();
  CUcontext context_ = kContext;
  uint32_t context_id_ = kContextId;
};

// ------------------------------------------------------------------------------------------------------ captures
TEST_F(CallBookkeepingTest, TheGateIsShutFromBeforeACaptureToItsEnd) {
  auto params = Zeroed<cuStreamBeginCapture_v2_params>();
  params.hStream = Fake<CUstream>(16);
  Enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &params);
  EXPECT_FALSE(captures_.is_open()) << "before the driver begins it";
  Exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &params);
  EXPECT_FALSE(captures_.is_open());
  EndCapture(Fake<CUstream>(16), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_TRUE(captures_.is_open());
}

TEST_F(CallBookkeepingTest, ACaptureThatWasRefusedIsNotOpen) {
  BeginCapture(Fake<CUstream>(16), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_TRUE(captures_.is_open());
}

TEST_F(CallBookkeepingTest, AnEndThatEndsNothingLeavesTheCaptureOpen) {
  BeginCapture(Fake<CUstream>(16));
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD}) {
    EndCapture(Fake<CUstream>(16), result);
    EXPECT_FALSE(captures_.is_open()) << result;
  }
  EndCapture(Fake<CUstream>(17));
  EXPECT_FALSE(captures_.is_open()) << "another stream's";
}

TEST_F(CallBookkeepingTest, ACaptureMayEndUnderAnotherContextAndOnAnotherThread) {
  BeginCapture(Fake<CUstream>(16));
  context_ = kPeer;
  state_ = nullptr;
  EndCapture(Fake<CUstream>(16));
  EXPECT_TRUE(captures_.is_open());
}

TEST_F(CallBookkeepingTest, EveryWayToBeginACaptureOnThisThreadsOwnStreamIsEndedByEveryWay) {
  struct Way {
    uint32_t begin;
    CUstream stream;
  };
  const Way ways[] = {
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, nullptr},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, nullptr},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, nullptr},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, CU_STREAM_PER_THREAD},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, CU_STREAM_PER_THREAD},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CU_STREAM_PER_THREAD},
  };
  for (const Way& way : ways) {
    for (const bool by_name : {false, true}) {
      auto begin = Zeroed<cuStreamBeginCaptureToGraph_params>();
      begin.hStream = way.stream;
      Call(way.begin, &begin);
      EXPECT_FALSE(captures_.is_open());
      auto end = Zeroed<cuStreamEndCapture_params>();
      Call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &end);
      EXPECT_FALSE(captures_.is_open()) << "the legacy stream is another";
      end.hStream = by_name ? CU_STREAM_PER_THREAD : nullptr;
      thread_->thread_id = 8;
      Call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, &end);
      EXPECT_FALSE(captures_.is_open()) << "another thread's stream is another";
      thread_->thread_id = 7;
      Call(by_name ? CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture : CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
           &end);
      EXPECT_TRUE(captures_.is_open());
    }
  }
}

TEST_F(CallBookkeepingTest, ThreadsWithoutAQueueHaveStreamsOfTheirOwn) {
  state_ = nullptr;
  auto params = Zeroed<cuStreamBeginCapture_v2_ptsz_params>();
  Call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, &params);
  auto end = Zeroed<cuStreamEndCapture_params>();
  std::thread([&] { Call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, &end); }).join();
  EXPECT_FALSE(captures_.is_open());
  Call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, &end);
  EXPECT_TRUE(captures_.is_open());
}

TEST_F(CallBookkeepingTest, ACaptureThatBeginsWaitsForCounterWork) {
  parts_.capture_wait_ns = 3'600'000'000'000;
  books_.Attach(parts_);
  ASSERT_TRUE(captures_.Enter());
  std::atomic<bool> left{false};
  std::atomic<bool> early{false};
  std::thread capturing([&] {
    BeginCapture(Fake<CUstream>(16));
    early = !left.load();
  });
  while (captures_.is_open()) std::this_thread::yield();
  left = true;
  captures_.Leave();
  capturing.join();
  EXPECT_FALSE(early.load());
  EXPECT_EQ(Stats().Get(StatId::kCounterCapturesWaited), 1u);
}

TEST_F(CallBookkeepingTest, ACaptureThatHasWaitedLongEnoughVoidsTheOpenRange) {
  parts_.capture_wait_ns = 0;
  books_.Attach(parts_);
  ASSERT_TRUE(captures_.Enter());
  ASSERT_TRUE(contents_.Open(9));
  BeginCapture(Fake<CUstream>(16));
  RangeFacts facts;
  contents_.Close(&facts);
  EXPECT_TRUE(facts.capture_began);
}

TEST_F(CallBookkeepingTest, ACaptureEndsWithItsStreamItsContextOrTheLastContext) {
  BeginCapture(Fake<CUstream>(16));
  books_.OnStreamDestroyed(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(captures_.is_open());
  books_.OnStreamDestroyed(Fake<CUstream>(16));
  EXPECT_TRUE(captures_.is_open());

  contexts_.Add(kContextId + 1, kDevice, kPeer);
  CreateStream(Fake<CUstream>(17));
  BeginCapture(Fake<CUstream>(17));
  books_.OnContextDestroyed(kPeer);
  EXPECT_FALSE(captures_.is_open());
  books_.OnContextDestroyed(kContext);
  EXPECT_TRUE(captures_.is_open());

  BeginCapture(CU_STREAM_PER_THREAD);
  contexts_.Remove(kContextId + 1);
  books_.OnContextDestroyed(kPeer);
  EXPECT_FALSE(captures_.is_open()) << "a context lives";
  contexts_.Remove(kContextId);
  books_.OnContextDestroyed(kContext);
  EXPECT_TRUE(captures_.is_open());
}

TEST_F(CallBookkeepingTest, AfterAResetOfTheLastContextNoCaptureIsOpen) {
  BeginCapture(CU_STREAM_PER_THREAD);
  Call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
  EXPECT_FALSE(captures_.is_open());
  contexts_.Remove(kContextId);
  Call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2);
  EXPECT_TRUE(captures_.is_open());
}

TEST(CallResult, WithoutAReturnValueACallSucceeded) {
  const CUpti_CallbackData none{};
  EXPECT_EQ(ResultOf(none), CUDA_SUCCESS);
}

// ------------------------------------------------------------------------------------------------------ streams
TEST_F(CallBookkeepingTest, EveryWayToMakeAStreamIsKept) {
  uintptr_t next = 16;
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority,
        CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate}) {
    auto stream = Fake<CUstream>(next++);
    // The first member of each block.
    CUstream* block[8] = {&stream};
    Enter(cbid, block);
    EXPECT_EQ(streams_->ContextOf(stream), nullptr);
    Exit(cbid, block);
    EXPECT_EQ(streams_->ContextOf(stream), kContext) << cbid;
    auto refused = Fake<CUstream>(next++);
    block[0] = &refused;
    Call(cbid, block, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(streams_->ContextOf(refused), nullptr);
  }
  EXPECT_EQ(offsetof(cuStreamCreate_params, phStream), 0u);
  EXPECT_EQ(offsetof(cuStreamCreateWithPriority_params, phStream), 0u);
  EXPECT_EQ(offsetof(cuGreenCtxStreamCreate_params, phStream), 0u);
  Call(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, nullptr);
  auto nowhere = Zeroed<cuStreamCreate_params>();
  Call(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, &nowhere);
  EXPECT_EQ(streams_->Count(kContext), 3u);
}

TEST_F(CallBookkeepingTest, AStreamThatIsDoneGoesWithoutADoubt) {
  CreateStream(Fake<CUstream>(16));
  DestroyStream(Fake<CUstream>(16));
  EXPECT_EQ(streams_->Count(kContext), 0u);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
}

TEST_F(CallBookkeepingTest, AStreamThatIsBusyLeavesADoubtInItsOwnContext) {
  for (const CUresult answer : {CUDA_ERROR_NOT_READY, CUDA_ERROR_LAUNCH_FAILED}) {
    context_ = kContext;
    CreateStream(Fake<CUstream>(16));
    Answers()[Fake<CUstream>(16)] = answer;
    context_ = kPeer;
    DestroyStream(Fake<CUstream>(16));
    EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kLeftBusy);
    EXPECT_EQ(streams_->DoubtOf(kPeer, 7), IdleDoubt::kNone);
    context_ = kContext;
    Call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, nullptr, CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kLeftBusy);
    Call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
    EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
  }
}

TEST_F(CallBookkeepingTest, WhileACaptureIsOpenNoStreamIsAsked) {
  CreateStream(Fake<CUstream>(16));
  BeginCapture(Fake<CUstream>(17));
  static bool asked = false;
  cuda_.cuStreamQuery = [](CUstream) {
    asked = true;
    return CUDA_SUCCESS;
  };
  DestroyStream(Fake<CUstream>(16));
  EXPECT_FALSE(asked);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kLeftBusy);
}

TEST_F(CallBookkeepingTest, AStreamThatIsNotKnownIsNotAsked) {
  Answers()[Fake<CUstream>(16)] = CUDA_ERROR_NOT_READY;
  DestroyStream(Fake<CUstream>(16));
  DestroyStream(nullptr);
  Call(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, nullptr);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
}

TEST_F(CallBookkeepingTest, ADestructionThatWasRefusedLeavesADoubt) {
  CreateStream(Fake<CUstream>(16));
  DestroyStream(Fake<CUstream>(16), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kLeftBusy);
}

TEST_F(CallBookkeepingTest, ASynchronisationMayNameItsContext) {
  streams_->NoteLeftBusy(kPeer);
  streams_->NoteLeftBusy(kContext);
  auto params = Zeroed<cuCtxSynchronize_v2_params>();
  params.ctx = kPeer;
  Call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, &params);
  EXPECT_EQ(streams_->DoubtOf(kPeer, 7), IdleDoubt::kNone);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kLeftBusy);
  params.ctx = nullptr;
  Call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, &params);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
}

TEST_F(CallBookkeepingTest, WorkInAThreadsOwnDefaultStreamIsNotedBeforeTheCall) {
  auto copy = Zeroed<cuMemcpyAsync_params>();
  auto launch = Zeroed<cuLaunchKernel_params>();
  struct Row {
    uint32_t cbid;
    const void* params;
    CUstream stream;
    bool own;
  };
  const Row rows[] = {
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, &copy, nullptr, false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, &copy, Fake<CUstream>(16), false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, &copy, CU_STREAM_PER_THREAD, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz, &copy, nullptr, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz, &copy, CU_STREAM_LEGACY, false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz, &copy, Fake<CUstream>(16), false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2, nullptr, nullptr, false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2_ptds, nullptr, nullptr, true},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, nullptr, false},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, CU_STREAM_PER_THREAD, true},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &launch, nullptr, true},
  };
  for (const Row& row : rows) {
    streams_ = std::make_unique<StreamTable>();
    parts_.streams = streams_.get();
    books_.Attach(parts_);
    copy.hStream = row.stream;
    launch.hStream = row.stream;
    Enter(row.cbid, row.params);
    EXPECT_EQ(streams_->UsesPerThread(kContext, 7), row.own) << row.cbid << " " << row.stream;
    EXPECT_EQ(streams_->DoubtOf(kContext, 8), row.own ? IdleDoubt::kPerThread : IdleDoubt::kNone);
  }
}

TEST_F(CallBookkeepingTest, GreenContextsLeaveADoubt) {
  Call(CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate, nullptr, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
  Call(CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kGreenContext);
}

// ------------------------------------------------------------------------------------------------------ behaviour
TEST_F(CallBookkeepingTest, PeerAccessCountsForBothContexts) {
  auto params = Zeroed<cuCtxEnablePeerAccess_params>();
  params.peerContext = kPeer;
  Call(CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess, &params, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(Denied(kContext), DenyReason::kNone);
  Call(CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess, &params, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(Denied(kContext), DenyReason::kPeerAccess);
  EXPECT_EQ(Denied(kPeer), DenyReason::kPeerAccess);
  EXPECT_EQ(Denied(kThird), DenyReason::kNone);
  EXPECT_TRUE(replay_.Has(ReplayObstacle::kPeer));
}

TEST_F(CallBookkeepingTest, AccessForTheOwnDeviceAloneIsNoPeerAccess) {
  SetAccess({Access(kDevice)});
  SetAccess({Access(kDevice, CU_MEM_ACCESS_FLAGS_PROT_READ), Access(kDevice + 1, CU_MEM_ACCESS_FLAGS_PROT_NONE)});
  SetAccess({Access(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_LOCATION_TYPE_HOST)});
  SetAccess({});
  auto prop = Zeroed<CUmemAllocationProp>();
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = kDevice;
  auto create = Zeroed<cuMemCreate_params>();
  create.prop = &prop;
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &create);
  EXPECT_EQ(Denied(kContext), DenyReason::kNone);
  const char* why = nullptr;
  EXPECT_FALSE(replay_.MayReplay(1, 2, &why)) << "nobody says that replay restores it";
  EXPECT_FALSE(replay_.Has(ReplayObstacle::kPeer));
}

TEST_F(CallBookkeepingTest, AccessForAnotherDeviceIsPeerAccessOfAllContexts) {
  SetAccess({Access(kDevice), Access(kDevice + 1, CU_MEM_ACCESS_FLAGS_PROT_READ)});
  EXPECT_EQ(Denied(kContext), DenyReason::kPeerAccess);
  EXPECT_EQ(Denied(kThird), DenyReason::kPeerAccess);
}

TEST_F(CallBookkeepingTest, WithoutAContextNoDeviceIsTheOwn) {
  context_ = nullptr;
  context_id_ = 0;
  SetAccess({Access(kDevice)});
  EXPECT_EQ(Denied(kContext), DenyReason::kPeerAccess);
}

TEST_F(CallBookkeepingTest, MemoryOnAnotherDeviceIsPeerAccess) {
  auto prop = Zeroed<CUmemAllocationProp>();
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = kDevice + 1;
  auto create = Zeroed<cuMemCreate_params>();
  create.prop = &prop;
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &create, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Denied(), DenyReason::kNone);
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &create);
  EXPECT_EQ(Denied(), DenyReason::kPeerAccess);
}

TEST_F(CallBookkeepingTest, MemoryOnTheHostIsNoPeerAccessAndNotReplayed) {
  auto prop = Zeroed<CUmemAllocationProp>();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  auto create = Zeroed<cuMemCreate_params>();
  create.prop = &prop;
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &create);
  EXPECT_EQ(Denied(), DenyReason::kNone);
  EXPECT_TRUE(replay_.Has(ReplayObstacle::kHostMapped));
}

TEST_F(CallBookkeepingTest, APoolThatAnotherDeviceMayUseIsPeerAccess) {
  CUmemAccessDesc access = Access(kDevice);
  auto params = Zeroed<cuMemPoolSetAccess_params>();
  params.map = &access;
  params.count = 1;
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemPoolSetAccess, &params);
  EXPECT_EQ(Denied(), DenyReason::kNone);
  access.location.id = kDevice + 1;
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemPoolSetAccess, &params);
  EXPECT_EQ(Denied(), DenyReason::kPeerAccess);
}

TEST_F(CallBookkeepingTest, PeerCallsWhoseParametersAreNotGivenCount) {
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess, nullptr);
  EXPECT_EQ(Denied(kThird), DenyReason::kPeerAccess);
}

TEST_F(CallBookkeepingTest, SharedMemoryCountsForItsContextWhereTheCallSaysWhich) {
  struct Row {
    uint32_t cbid;
    bool process;
  };
  const Row rows[] = {
      {CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle, false},
      {CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2, false},
      {CUPTI_DRIVER_TRACE_CBID_cuIpcGetMemHandle, false},
      {CUPTI_DRIVER_TRACE_CBID_cuImportExternalMemory, false},
      {CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemExportToShareableHandle, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemPoolImportFromShareableHandle, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemPoolExportToShareableHandle, true},
      {CUPTI_DRIVER_TRACE_CBID_cuMemGetHandleForAddressRange, true},
  };
  for (const Row& row : rows) {
    ContextBehaviour behaviour;
    ReplayMemory replay;
    parts_.behaviour = &behaviour;
    parts_.replay = &replay;
    books_.Attach(parts_);
    Call(row.cbid, nullptr, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kContext)), DenyReason::kNone) << row.cbid;
    Call(row.cbid);
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kContext)), DenyReason::kIpcMemory) << row.cbid;
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kThird)), row.process ? DenyReason::kIpcMemory : DenyReason::kNone)
        << row.cbid;
    EXPECT_TRUE(replay.Has(ReplayObstacle::kIpc)) << row.cbid;
  }
}

TEST_F(CallBookkeepingTest, MulticastObjectsCountForTheProcess) {
  for (const uint32_t cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuMulticastCreate, CUPTI_DRIVER_TRACE_CBID_cuMulticastAddDevice,
        CUPTI_DRIVER_TRACE_CBID_cuMulticastBindMem, CUPTI_DRIVER_TRACE_CBID_cuMulticastBindAddr}) {
    ContextBehaviour behaviour;
    parts_.behaviour = &behaviour;
    books_.Attach(parts_);
    Call(cbid);
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kThird)), DenyReason::kSymmetricHeap) << cbid;
  }
}

TEST_F(CallBookkeepingTest, GreenContextsCountForTheProcessWhereCuptiCannotCountInThem) {
  for (const bool avoids : {false, true}) {
    ContextBehaviour behaviour;
    parts_.behaviour = &behaviour;
    parts_.avoids_green_contexts = avoids;
    books_.Attach(parts_);
    Call(CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate, nullptr, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kContext)), DenyReason::kNone);
    Call(CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate);
    EXPECT_EQ(DenyByBehaviour(behaviour.Of(kThird)), avoids ? DenyReason::kGreenContext : DenyReason::kNone);
  }
}

TEST_F(CallBookkeepingTest, AContextThatGoesTakesItsBehaviourAlong) {
  Call(CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2);
  books_.OnContextDestroyed(kContext);
  EXPECT_EQ(Denied(), DenyReason::kNone);
}

// ------------------------------------------------------------------------------------------------------ replay
TEST_F(CallBookkeepingTest, MemoryThatReplayCannotRestoreIsNoted) {
  const std::map<uint32_t, ReplayObstacle> rows = {
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, ReplayObstacle::kManaged},
      {CUPTI_DRIVER_TRACE_CBID_cuLibraryGetManaged, ReplayObstacle::kManaged},
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost, ReplayObstacle::kHostMapped},
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2, ReplayObstacle::kHostMapped},
      {CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, ReplayObstacle::kHostMapped},
      {CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, ReplayObstacle::kHostMapped},
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, ReplayObstacle::kPool},
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz, ReplayObstacle::kPool},
      {CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, ReplayObstacle::kPool},
      {CUPTI_DRIVER_TRACE_CBID_cuGraphicsMapResources, ReplayObstacle::kIpc},
  };
  for (const auto& [cbid, obstacle] : rows) {
    ReplayMemory replay;
    parts_.replay = &replay;
    books_.Attach(parts_);
    Call(cbid, nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_FALSE(replay.Has(obstacle)) << cbid;
    Call(cbid);
    EXPECT_TRUE(replay.Has(obstacle)) << cbid;
    EXPECT_EQ(Denied(), DenyReason::kNone) << cbid;
  }
  ReplayMemory plain;
  parts_.replay = &plain;
  books_.Attach(parts_);
  Call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync);
  Call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  EXPECT_TRUE(plain.MayReplay(1, 1, nullptr));
}

TEST_F(CallBookkeepingTest, WithoutPartsNothingIsKept) {
  books_.Attach({});
  for (uint32_t cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; ++cbid) {
    if (ClassifyCall(cbid).kind != CallKind::kNone) Call(cbid);
  }
  books_.OnStreamDestroyed(Fake<CUstream>(16));
  books_.OnContextDestroyed(kContext);
  EXPECT_TRUE(captures_.is_open());
  EXPECT_EQ(Denied(), DenyReason::kNone);
  EXPECT_EQ(streams_->DoubtOf(kContext, 7), IdleDoubt::kNone);
}

}  // namespace
}  // namespace gx::inject
