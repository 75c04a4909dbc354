// The wall between our code and whoever called it through C: CUPTI, the driver, NVTX, libc. Frames of those callers
// cannot be unwound, so nothing may leave.
#ifndef GPUEXEC_INJECT_BOUNDARY_H_
#define GPUEXEC_INJECT_BOUNDARY_H_

#include "inject/self_stats.h"
#include "inject/state.h"

namespace gx::inject {

// Runs `body`; an exception is counted and switches capture off.
template <typename Body>
void Guarded(Body&& body) noexcept {
  try {
    body();
  } catch (...) {
    Stats().Add(StatId::kBoundaryExceptions);
    DisableCapture();
  }
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_BOUNDARY_H_
