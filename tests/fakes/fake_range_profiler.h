// The fake CUPTI's range profiler: objects, sessions and ranges, with the manners of the real one (README.md).
// [MT] One instance per process, never destroyed.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_RANGE_PROFILER_H_
#define GPUEXEC_TESTS_FAKES_FAKE_RANGE_PROFILER_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/fake_metrics.h"
#include "tests/fakes/fake_profiler_host.h"

namespace gx::fakes {

// Work that starts in a context: counted by the range that is open there. `contaminated`: kernel activity is on.
void CountInOpenRanges(const Work& work, bool contaminated);
// Whether a launch in the context returns only when its kernel has ended: patched code counts it, or it is replayed.
bool RangeBlocksLaunches(uint32_t context_id);
// The context is about to go: with counters armed the real library crashes later.
void CheckNoSession(uint32_t context_id);

// One range of a counter data image.
struct DecodedRange {
  uint64_t object_id = 0;  // The range profiler object that counted it.
  std::shared_ptr<const CounterSetup> setup;
  CountedWork counted;
  bool first = false;
  bool void_values = false;  // NaN for everything.
  bool replayed = false;     // All passes were made.
  size_t pass = 0;           // Otherwise the one that was made.
};
// False: no such image or range.
bool ReadCounterData(const uint8_t* image, size_t image_bytes, size_t range_index, DecodedRange* range);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_RANGE_PROFILER_H_
