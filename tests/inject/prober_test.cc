#include "inject/prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "inject/self_stats.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kGenerousNs = 30'000'000'000;
const auto kFunction = reinterpret_cast<CUfunction>(uintptr_t{0x100});
const auto kKernel = reinterpret_cast<CUkernel>(uintptr_t{0x200});
const auto kContext = reinterpret_cast<CUcontext>(uintptr_t{0x300});

// A driver that knows one function, and one kernel that is it.
struct FakeDriver {
  std::atomic<int> calls{0};
  std::atomic<int> pushed{0};
  std::atomic<int> popped{0};
  std::atomic<CUcontext> current{nullptr};
  std::atomic<CUcontext> context_of_calls{nullptr};
  std::atomic<int> block_threads{0};
  std::atomic<size_t> dynamic_bytes{0};
  std::atomic<CUfunction_attribute> refused{CU_FUNC_ATTRIBUTE_MAX};
  std::atomic<bool> occupancy_refused{false};
};
FakeDriver* g_driver = nullptr;

void Called() {
  g_driver->calls.fetch_add(1);
  g_driver->context_of_calls = g_driver->current.load();
}

CudaApi MakeCuda() {
  CudaApi cuda;
  cuda.cuFuncGetAttribute = [](int* value, CUfunction_attribute attribute, CUfunction function) {
    Called();
    if (function != kFunction) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == g_driver->refused) return CUDA_ERROR_INVALID_VALUE;
    *value = 1000 + static_cast<int>(attribute);
    return CUDA_SUCCESS;
  };
  cuda.cuFuncGetName = [](const char** name, CUfunction function) {
    if (function != kFunction) return CUDA_ERROR_INVALID_HANDLE;
    *name = "named_by_the_driver";
    return CUDA_SUCCESS;
  };
  cuda.cuKernelGetFunction = [](CUfunction* function, CUkernel kernel) {
    if (kernel != kKernel) return CUDA_ERROR_INVALID_HANDLE;
    *function = kFunction;
    return CUDA_SUCCESS;
  };
  cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int block_threads, size_t bytes) {
    Called();
    g_driver->block_threads = block_threads;
    g_driver->dynamic_bytes = bytes;
    if (g_driver->occupancy_refused) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 7;
    return CUDA_SUCCESS;
  };
  cuda.cuCtxPushCurrent_v2 = [](CUcontext context) {
    g_driver->pushed.fetch_add(1);
    g_driver->current = context;
    return CUDA_SUCCESS;
  };
  cuda.cuCtxPopCurrent_v2 = [](CUcontext* context) {
    g_driver->popped.fetch_add(1);
    *context = g_driver->current.exchange(nullptr);
    return CUDA_SUCCESS;
  };
  return cuda;
}

class ProberTest : public ::testing::Test {
 protected:
  ProberTest() : cuda_(MakeCuda()) {
    g_driver = &driver_;
    Stats().Reset();
    EXPECT_TRUE(functions_.Allocate(uint64_t{4} << 20));
    parts_.cuda = &cuda_;
    parts_.functions = &functions_;
    parts_.gate = &gate_;
  }
  ~ProberTest() override { Stop(); }

  void Start() {
    prober_.Attach(parts_);
    thread_ = std::thread([this] { prober_.Run(); });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    prober_.Stop();
    thread_.join();
  }
  // Everything asked so far has been answered.
  std::vector<ProbeAnswer> Answers() {
    prober_.Mark(++ticket_);
    EXPECT_TRUE(WaitUntil([&] { return prober_.done_ticket() == ticket_; }, kGenerousNs));
    return prober_.TakeAnswers();
  }
  uint32_t Known(const void* handle, const char* name = "axpy") { return functions_.Find(handle, kContext, name); }

  FakeDriver driver_;
  CudaApi cuda_;
  FunctionTable functions_;
  ProbeGate gate_;
  Prober::Parts parts_;
  Prober prober_;
  std::thread thread_;
  uint32_t ticket_ = 0;
};

TEST_F(ProberTest, EveryAttributeOfAFunctionIsAskedInItsContext) {
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  const auto& answer = std::get<FunctionAnswer>(answers[0]);
  EXPECT_EQ(answer.function_iid, 5u);
  EXPECT_EQ(answer.name, "") << "the callback named it";
  const FunctionAttributesRecord& out = answer.attributes;
  const auto want = [](CUfunction_attribute attribute) { return static_cast<uint64_t>(1000 + attribute); };
  EXPECT_EQ(out.result, 0u);
  EXPECT_EQ(out.registers_per_thread, want(CU_FUNC_ATTRIBUTE_NUM_REGS));
  EXPECT_EQ(out.static_shared_memory_bytes, want(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  EXPECT_EQ(out.constant_memory_bytes, want(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  EXPECT_EQ(out.local_memory_per_thread_bytes, want(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  EXPECT_EQ(out.max_threads_per_block, want(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  EXPECT_EQ(out.ptx_version, want(CU_FUNC_ATTRIBUTE_PTX_VERSION));
  EXPECT_EQ(out.binary_version, want(CU_FUNC_ATTRIBUTE_BINARY_VERSION));
  EXPECT_EQ(out.max_dynamic_shared_memory_bytes, want(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EXPECT_EQ(out.preferred_shared_memory_carveout,
            static_cast<int64_t>(want(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)));
  EXPECT_TRUE(out.cluster_size_must_be_set);
  EXPECT_EQ(out.required_cluster.x, want(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
  EXPECT_EQ(out.required_cluster.y, want(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT));
  EXPECT_EQ(out.required_cluster.z, want(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH));
  EXPECT_TRUE(out.non_portable_cluster_size_allowed);
  EXPECT_EQ(driver_.context_of_calls.load(), kContext);
  EXPECT_EQ(driver_.pushed.load(), driver_.popped.load());
  EXPECT_EQ(driver_.current.load(), nullptr);
}

TEST_F(ProberTest, AKernelIsAskedThroughItsFunction) {
  Start();
  prober_.Ask({{5, Known(kKernel, nullptr)}}, {});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  const auto& answer = std::get<FunctionAnswer>(answers[0]);
  EXPECT_EQ(answer.attributes.result, 0u);
  EXPECT_NE(answer.attributes.registers_per_thread, 0u);
  EXPECT_EQ(answer.name, "named_by_the_driver");
}

TEST_F(ProberTest, AnAttributeThatIsRefusedDoesNotHideTheOthers) {
  driver_.refused = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  const auto& attributes = std::get<FunctionAnswer>(answers[0]).attributes;
  EXPECT_EQ(attributes.result, static_cast<uint64_t>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(attributes.required_cluster.x, 0u);
  EXPECT_NE(attributes.registers_per_thread, 0u);
  EXPECT_EQ(Stats().Get(StatId::kFunctionAttributesUnavailable), 1u);
}

TEST_F(ProberTest, OccupancyIsAskedWithTheLaunchsBlockAndMemory) {
  Start();
  prober_.Ask({}, {{9, Known(kFunction), 256, 4096}});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  const auto& answer = std::get<OccupancyAnswer>(answers[0]);
  EXPECT_EQ(answer.signature_iid, 9u);
  EXPECT_EQ(answer.occupancy.result, 0u);
  EXPECT_EQ(answer.occupancy.max_active_blocks_per_multiprocessor, 7u);
  EXPECT_EQ(driver_.block_threads.load(), 256);
  EXPECT_EQ(driver_.dynamic_bytes.load(), 4096u);
}

TEST_F(ProberTest, ARefusedOccupancyIsAnAnswerWithItsResult) {
  driver_.occupancy_refused = true;
  Start();
  prober_.Ask({}, {{9, Known(kFunction), 256, 0}});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(std::get<OccupancyAnswer>(answers[0]).occupancy.result, static_cast<uint64_t>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(Stats().Get(StatId::kOccupancyUnavailable), 1u);
}

TEST_F(ProberTest, NothingIsAskedWhileTheGateIsShutAndAllOfItAfterwards) {
  ASSERT_TRUE(gate_.Shut(kGenerousNs));
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {{9, Known(kFunction), 256, 0}});
  prober_.Mark(++ticket_);
  EXPECT_FALSE(WaitUntil([&] { return prober_.done_ticket() == ticket_; }, 20'000'000));
  EXPECT_EQ(driver_.calls.load(), 0);
  gate_.Open();
  EXPECT_THAT(Answers(), SizeIs(2));
}

TEST_F(ProberTest, AHandleOfAnEarlierEpochIsNotTouchedUntilALaunchUsesItAgain) {
  const uint32_t index = Known(kFunction);
  functions_.NewEpoch();
  Start();
  prober_.Ask({{5, index}}, {{9, index, 256, 0}});
  EXPECT_THAT(Answers(), IsEmpty());
  EXPECT_EQ(driver_.calls.load(), 0);
  EXPECT_EQ(Known(kFunction), index);  // The same name and code: the handle still means this function.
  std::vector<ProbeAnswer> answers;
  EXPECT_TRUE(WaitUntil(
      [&] {
        for (ProbeAnswer& answer : Answers()) answers.push_back(std::move(answer));
        return answers.size() >= 2;
      },
      uint64_t{10} * 1'000'000'000));
  EXPECT_GT(driver_.calls.load(), 0);
}

TEST_F(ProberTest, WhatIsNeverConfirmedIsCountedAtTheEnd) {
  const uint32_t index = Known(kFunction);
  functions_.NewEpoch();
  Start();
  prober_.Ask({{5, index}}, {{9, index, 256, 0}});
  EXPECT_THAT(Answers(), IsEmpty());
  Stop();
  EXPECT_EQ(Stats().Get(StatId::kFunctionAttributesUnavailable), 1u);
  EXPECT_EQ(Stats().Get(StatId::kOccupancyUnavailable), 1u);
}

TEST_F(ProberTest, AskingCanBeSwitchedOff) {
  parts_.ask_functions = false;
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {{9, Known(kFunction), 256, 0}});
  EXPECT_THAT(Answers(), IsEmpty());
  EXPECT_EQ(driver_.calls.load(), 0);
}

TEST_F(ProberTest, ADriverWithoutTheFunctionsIsNotCalled) {
  cuda_ = CudaApi();
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {{9, Known(kFunction), 256, 0}});
  EXPECT_THAT(Answers(), IsEmpty());
}

TEST_F(ProberTest, ADeviceIsAnsweredWithWhatTheDriverKnows) {
  cuda_.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
  };
  cuda_.cuDeviceGetName = [](char* name, int, CUdevice) {
    std::snprintf(name, 8, "A GPU");
    return CUDA_SUCCESS;
  };
  Start();
  prober_.AskDevice(3);
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(std::get<DeviceRecord>(answers[0]).device_id, 3u);
  EXPECT_EQ(std::get<DeviceRecord>(answers[0]).name, "A GPU");
}

TEST_F(ProberTest, AnswersComeInTheOrderOfTheQuestionsAndAreTold) {
  static std::atomic<int> told{0};
  told = 0;
  parts_.answered = [] { told.fetch_add(1); };
  Start();
  for (uint64_t i = 1; i <= 50; ++i) prober_.Ask({{i, Known(kFunction)}}, {});
  const auto answers = Answers();
  ASSERT_THAT(answers, SizeIs(50));
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(std::get<FunctionAnswer>(answers[i]).function_iid, i + 1);
  EXPECT_EQ(told.load(), 50);
}

TEST_F(ProberTest, NoDriverCallRunsWhileAHostUnloads) {
  Start();
  for (int i = 0; i < 300; ++i) {
    prober_.Ask({{1, Known(kFunction)}}, {});
    ASSERT_TRUE(gate_.Shut(kGenerousNs));
    const int before = driver_.calls.load();
    std::this_thread::yield();
    ASSERT_EQ(driver_.calls.load(), before);
    gate_.Open();
  }
  EXPECT_FALSE(Answers().empty());
}

TEST_F(ProberTest, StopsWithQuestionsLeft) {
  ASSERT_TRUE(gate_.Shut(kGenerousNs));
  Start();
  prober_.Ask({{5, Known(kFunction)}}, {});
  Stop();
  EXPECT_EQ(driver_.calls.load(), 0);
}

}  // namespace
}  // namespace gx::inject
