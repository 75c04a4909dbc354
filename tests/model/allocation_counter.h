// How often code takes memory from the heap. allocation_counter.cc, which belongs to the sources of a test that
// includes this, replaces the program's global operator new. For programs of one thread.
#ifndef GPUEXEC_TESTS_MODEL_ALLOCATION_COUNTER_H_
#define GPUEXEC_TESTS_MODEL_ALLOCATION_COUNTER_H_

#include <gtest/gtest.h>

#include <cstdint>

namespace gx::model {

// Since the program's start.
int64_t AllocationCount() noexcept;

// Of `call`, which returns whether it went well; the test fails where it did not.
template <typename Call>
int64_t AllocationsOf(Call call) {
  const int64_t before = AllocationCount();
  const bool good = call();
  const int64_t count = AllocationCount() - before;
  EXPECT_TRUE(good);
  return count;
}

}  // namespace gx::model

#endif  // GPUEXEC_TESTS_MODEL_ALLOCATION_COUNTER_H_
