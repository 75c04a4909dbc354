// What the program's own thread allocates in our callbacks: nothing, from the first launch on. Every function that
// allocates is counted on the thread that asks, as the C library has no hook of its own any more.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "inject/callback_router.h"
#include "inject/self_stats.h"
#include "inject/state.h"
#include "inject/thread_queue.h"
#include "tests/inject/fake_cupti_table.h"

namespace {
thread_local uint64_t g_allocation_count = 0;
}

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

// operator new comes here, too.
void* malloc(size_t size) {
  ++g_allocation_count;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++g_allocation_count;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++g_allocation_count;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++g_allocation_count;
  return __libc_memalign(alignment, size);
}
}

namespace gx::inject {
namespace {

class LaunchAllocationsTest : public ::testing::Test {
 protected:
  LaunchAllocationsTest() {
    EXPECT_TRUE(queues_.Allocate(uint64_t{96} << 20));
    EXPECT_TRUE(functions_.Allocate(uint64_t{32} << 20));
    CallbackRouter::Parts parts;
    parts.cupti = &cupti_;
    parts.queues = &queues_;
    parts.functions = &functions_;
    parts.contexts = &contexts_;
    parts.gate = &gate_;
    parts.window_id = &window_id_;
    router_.Attach(parts);
    g_state.store(State::kCapturing);
  }

  // Allocations of this thread in `count` launches of 30 functions.
  uint64_t AllocationsOfLaunches(uint64_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < 30; ++i) names.push_back("_ZN2at6native6kernelIfLi" + std::to_string(i) + "EEEvPf");
    cuLaunchKernel_params launch{};
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = 256;
    launch.blockDimY = launch.blockDimZ = 1;
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.functionParams = &launch;
    data.functionReturnValue = &result;
    data.contextUid = 1;
    const uint64_t before = g_allocation_count;
    for (uint64_t i = 0; i < count; ++i) {
      launch.f = FakeHandle<CUfunction>(0x7f0000001000 + i % 30 * 64);
      data.symbolName = names[i % 30].c_str();
      ++data.correlationId;
      for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
        data.callbackSite = site;
        CallbackRouter::Callback(&router_, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
      }
    }
    return g_allocation_count - before;
  }

  uint64_t QueuedEvents() {
    uint64_t events = 0;
    queues_.ForEach(
        [&](ThreadState& thread) { thread.queue.Drain([&](EventType, const uint8_t*, uint32_t) { ++events; }); });
    return events;
  }

  CuptiApi cupti_ = MakeFakeCupti();
  ThreadQueues queues_;
  FunctionTable functions_;
  ContextTable contexts_;
  ProbeGate gate_;
  std::atomic<uint32_t> window_id_{1};
  CallbackRouter router_;
};

TEST_F(LaunchAllocationsTest, TheCounterSeesNewAndMalloc) {
  const uint64_t before = g_allocation_count;
  const std::vector<int> one(100);
  EXPECT_EQ(one.size(), 100u);
  EXPECT_GT(g_allocation_count, before);
}

TEST_F(LaunchAllocationsTest, RecordedLaunchesAllocateNothing) {
  EXPECT_EQ(AllocationsOfLaunches(2'000), 0u);
  EXPECT_GE(QueuedEvents(), 2'000u);
}

TEST_F(LaunchAllocationsTest, LaunchesOutsideEveryWindowAllocateNothing) {
  window_id_ = 0;
  EXPECT_EQ(AllocationsOfLaunches(2'000), 0u);
}

TEST_F(LaunchAllocationsTest, TheFirstLaunchesOfANewThreadAllocateNothing) {
  uint64_t allocations = UINT64_MAX;
  std::thread([&] { allocations = AllocationsOfLaunches(100); }).join();
  EXPECT_EQ(allocations, 0u);
  EXPECT_GE(QueuedEvents(), 100u);
}

}  // namespace
}  // namespace gx::inject
