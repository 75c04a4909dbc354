// How every function of the fake libcupti begins, and how it reaches the driver. Linked into libcupti only.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_CLIENT_CALL_H_
#define GPUEXEC_TESTS_FAKES_FAKE_CLIENT_CALL_H_

#include <cupti.h>

#include <cstdint>

#include "tests/fakes/fake_gpu.h"

namespace gx::fakes {

// [MT] The fake driver of this process; null where there is none.
const GpuDriver* FindDriver();

// [MT] Says why a call must not do its work: a forked child, FAKE_FAIL. Does not return where FAKE_HANG says so.
CUptiResult BeginCall(const char* function, uint64_t argument = 0);

// [MT] As BeginCall, for functions whose FAKE_FAIL argument is the number of the call, from 1.
CUptiResult BeginCountedCall(const char* function, bool logged);

// [MT] Whether FAKE_FAIL made any of those fail: the calls after it cannot be in the right order any more.
bool AnyCountedCallFailed();

}  // namespace gx::fakes

#define GX_EXPORT extern "C" __attribute__((visibility("default")))

#endif  // GPUEXEC_TESTS_FAKES_FAKE_CLIENT_CALL_H_
