#include "inject/context_idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CUstream Stream(uintptr_t number) { return reinterpret_cast<CUstream>(number); }
const auto kContext = reinterpret_cast<CUcontext>(uintptr_t{0xA00});
const auto kOther = reinterpret_cast<CUcontext>(uintptr_t{0xB00});
constexpr uint64_t kThread = 7;

// What the driver says of each stream; CUDA_SUCCESS of those not named. And which it was asked about.
std::map<CUstream, CUresult>& Answers() {
  static std::map<CUstream, CUresult> answers;
  return answers;
}
std::vector<CUstream>& Asked() {
  static std::vector<CUstream> asked;
  return asked;
}

class ContextIdleTest : public ::testing::Test {
 protected:
  ContextIdleTest() {
    Answers().clear();
    Asked().clear();
    cuda_.cuStreamQuery = [](CUstream stream) {
      Asked().push_back(stream);
      const auto found = Answers().find(stream);
      return found == Answers().end() ? CUDA_SUCCESS : found->second;
    };
  }
  Readiness Ask(uint64_t thread = kThread) {
    Asked().clear();
    return AskContext(cuda_, *streams_, kContext, thread);
  }

  CudaApi cuda_;
  std::unique_ptr<StreamTable> streams_ = std::make_unique<StreamTable>();
};

TEST_F(ContextIdleTest, AStreamIsReadyBusyOrInError) {
  EXPECT_EQ(AskStream(cuda_, Stream(16)), Readiness::kReady);
  Answers()[Stream(16)] = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(AskStream(cuda_, Stream(16)), Readiness::kNotReady);
  for (const CUresult error : {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
    Answers()[Stream(16)] = error;
    EXPECT_EQ(AskStream(cuda_, Stream(16)), Readiness::kError) << error;
  }
  cuda_.cuStreamQuery = nullptr;
  EXPECT_EQ(AskStream(cuda_, Stream(17)), Readiness::kError) << "a driver without the function";
}

TEST_F(ContextIdleTest, EveryStreamOfTheContextAndTheLegacyStreamAreAsked) {
  streams_->Add(kContext, Stream(16));
  streams_->Add(kContext, Stream(17));
  streams_->Add(kOther, Stream(18));
  Answers()[Stream(18)] = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(Ask(), Readiness::kReady);
  EXPECT_THAT(Asked(), ElementsAre(CU_STREAM_LEGACY, Stream(16), Stream(17)));
}

TEST_F(ContextIdleTest, NothingIsAskedBehindTheFirstBusyStream) {
  streams_->Add(kContext, Stream(16));
  streams_->Add(kContext, Stream(17));
  Answers()[Stream(16)] = CUDA_ERROR_NOT_READY;
  Answers()[Stream(17)] = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_EQ(Ask(), Readiness::kNotReady);
  EXPECT_THAT(Asked(), ElementsAre(CU_STREAM_LEGACY, Stream(16)));
  Answers()[CU_STREAM_LEGACY] = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(Ask(), Readiness::kNotReady);
  EXPECT_THAT(Asked(), ElementsAre(CU_STREAM_LEGACY));
}

TEST_F(ContextIdleTest, AnErrorOfAnyStreamIsTheAnswer) {
  streams_->Add(kContext, Stream(16));
  streams_->Add(kContext, Stream(17));
  Answers()[Stream(17)] = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_EQ(Ask(), Readiness::kError);
}

TEST_F(ContextIdleTest, AThreadAsksItsOwnDefaultStreamWhereItUsesIt) {
  streams_->NotePerThread(kContext, kThread);
  Answers()[CU_STREAM_PER_THREAD] = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(Ask(), Readiness::kNotReady);
  EXPECT_THAT(Asked(), ElementsAre(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD));
  Answers().clear();
  EXPECT_EQ(Ask(), Readiness::kReady);
}

// A driver's events: what each waits behind, by its number.
struct FakeEvents {
  std::vector<CUstream> recorded;
  std::vector<CUevent> destroyed;
  CUresult create_result = CUDA_SUCCESS;
  CUresult record_result = CUDA_SUCCESS;
};
FakeEvents& Events() {
  static FakeEvents events;
  return events;
}
void AddEvents(CudaApi* cuda) {
  Events() = {};
  cuda->cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(Events().recorded.size() + 1);
    return Events().create_result;
  };
  cuda->cuEventRecord = [](CUevent, CUstream stream) {
    Events().recorded.push_back(stream);
    return Events().record_result;
  };
  // An event is done when its stream is.
  cuda->cuEventQuery = [](CUevent event) {
    const auto found = Answers().find(Events().recorded.at(reinterpret_cast<uintptr_t>(event) - 1));
    return found == Answers().end() ? CUDA_SUCCESS : found->second;
  };
  cuda->cuEventDestroy_v2 = [](CUevent event) {
    Events().destroyed.push_back(event);
    return CUDA_SUCCESS;
  };
}

TEST_F(ContextIdleTest, TheWorkOfAStreamThatIsGoneIsWaitedForByAnEvent) {
  AddEvents(&cuda_);
  Answers()[Stream(16)] = CUDA_ERROR_NOT_READY;
  LetStreamGo(cuda_, streams_.get(), kContext, Stream(16));
  EXPECT_THAT(Events().recorded, ElementsAre(Stream(16)));
  EXPECT_EQ(streams_->DoubtOf(kContext, kThread), IdleDoubt::kNone);
  EXPECT_EQ(Ask(), Readiness::kNotReady);
  Answers()[Stream(16)] = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_EQ(Ask(), Readiness::kError);
  EXPECT_THAT(Events().destroyed, IsEmpty());
  Answers()[Stream(16)] = CUDA_SUCCESS;
  EXPECT_EQ(Ask(), Readiness::kReady);
  EXPECT_EQ(Ask(), Readiness::kReady);
  EXPECT_THAT(Events().destroyed, ::testing::SizeIs(1));
}

TEST_F(ContextIdleTest, AStreamThatIsDoneLeavesNothing) {
  AddEvents(&cuda_);
  LetStreamGo(cuda_, streams_.get(), kContext, Stream(16));
  EXPECT_THAT(Events().recorded, IsEmpty());
  EXPECT_EQ(streams_->DoubtOf(kContext, kThread), IdleDoubt::kNone);
}

TEST_F(ContextIdleTest, WhatCannotBeWaitedForIsADoubt) {
  const auto go = [&](uintptr_t stream, CUresult answer) {
    streams_ = std::make_unique<StreamTable>();
    Answers()[Stream(stream)] = answer;
    LetStreamGo(cuda_, streams_.get(), kContext, Stream(stream));
    return streams_->DoubtOf(kContext, kThread);
  };
  EXPECT_EQ(go(16, CUDA_ERROR_NOT_READY), IdleDoubt::kLeftBusy) << "a driver without events";
  AddEvents(&cuda_);
  EXPECT_EQ(go(16, CUDA_ERROR_NOT_READY), IdleDoubt::kNone);
  EXPECT_EQ(go(16, CUDA_ERROR_LAUNCH_FAILED), IdleDoubt::kLeftBusy) << "a stream in error";
  Events().create_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(go(16, CUDA_ERROR_NOT_READY), IdleDoubt::kLeftBusy);
  EXPECT_THAT(Events().destroyed, IsEmpty());
  Events().create_result = CUDA_SUCCESS;
  Events().record_result = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_EQ(go(16, CUDA_ERROR_NOT_READY), IdleDoubt::kLeftBusy);
  EXPECT_THAT(Events().destroyed, ::testing::SizeIs(1)) << "the event that was made goes";
}

TEST_F(ContextIdleTest, WhereThereIsADoubtNothingIsAsked) {
  streams_->NotePerThread(kContext, kThread);
  for (const uint64_t thread : {uint64_t{0}, kThread + 1}) {
    EXPECT_EQ(Ask(thread), Readiness::kError) << thread;
    EXPECT_THAT(Asked(), IsEmpty());
  }
}

}  // namespace
}  // namespace gx::inject
