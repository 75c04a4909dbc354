// What to leave alone with the libcupti that is loaded, because of its known faults
// (proto/gpuexec/v1/cupti_traps.proto).
#ifndef GPUEXEC_INJECT_CUPTI_TRAPS_H_
#define GPUEXEC_INJECT_CUPTI_TRAPS_H_

#include <cstdint>
#include <vector>

#include "gpuexec/trace_fields.h"

namespace gx::inject {

using fields::CuptiAvoidance;

// Whether a fault of that version of CUPTI (cuptiGetVersion) asks for it. Pure; usable in a callback.
bool Avoids(uint32_t cupti_version, CuptiAvoidance avoidance) noexcept;

// The faults of that version, as values of gpuexec.v1.CuptiTrap. Pure.
std::vector<uint32_t> CuptiTrapsOf(uint32_t cupti_version);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CUPTI_TRAPS_H_
