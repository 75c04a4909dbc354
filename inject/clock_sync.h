// The same instant on the four clocks of a trace.
#ifndef GPUEXEC_INJECT_CLOCK_SYNC_H_
#define GPUEXEC_INJECT_CLOCK_SYNC_H_

#include "inject/cupti_api.h"
#include "inject/record.h"

namespace gx::inject {

// Reads the host clocks before and after CUPTI's, up to three times, and keeps the closest reading: a pause between the
// reads would shift the whole trace. `cupti` may be null.
ClockPairRecord ReadClockPair(const CuptiApi* cupti) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CLOCK_SYNC_H_
