// What the program's own thread allocates in our callbacks: nothing, from the first launch on. Every function that
// allocates is counted on the thread that asks, as the C library has no hook of its own any more.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/bench/launch_calls.h"

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
  // Allocations of this thread in `count` launches, and a wait after each of them where that is asked for.
  uint64_t AllocationsOf(uint64_t count, bool waits = false) {
    LaunchCalls calls(&parts_.router);
    const uint64_t before = g_allocation_count;
    for (uint64_t i = 0; i < count; ++i) {
      calls.Make();
      if (waits) calls.Wait();
    }
    return g_allocation_count - before;
  }

  LaunchParts parts_;
};

TEST_F(LaunchAllocationsTest, TheCounterSeesNewAndMalloc) {
  const uint64_t before = g_allocation_count;
  const std::vector<int> one(100);
  EXPECT_EQ(one.size(), 100u);
  EXPECT_GT(g_allocation_count, before);
}

TEST_F(LaunchAllocationsTest, RecordedLaunchesAllocateNothing) {
  EXPECT_EQ(AllocationsOf(2'000), 0u);
  EXPECT_GE(parts_.Drain(), 2'000u);
}

TEST_F(LaunchAllocationsTest, LaunchesOutsideEveryWindowAllocateNothing) {
  parts_.window_id = 0;
  EXPECT_EQ(AllocationsOf(2'000), 0u);
}

TEST_F(LaunchAllocationsTest, WaitsForTheDeviceAllocateNothing) {
  EXPECT_EQ(AllocationsOf(1'000, true), 0u);
  EXPECT_GE(parts_.Drain(), 2'000u);
}

TEST_F(LaunchAllocationsTest, TheFirstLaunchesOfANewThreadAllocateNothing) {
  uint64_t allocations = UINT64_MAX;
  std::thread([&] { allocations = AllocationsOf(100); }).join();
  EXPECT_EQ(allocations, 0u);
  EXPECT_GE(parts_.Drain(), 100u);
}

}  // namespace
}  // namespace gx::inject
