// Known faults of CUPTI releases: the rows of proto/gpuexec/v1/cupti_traps.proto.
// Versions are those of cuptiGetVersion. Pure.
#ifndef GPUEXEC_TOOLS_DOCTOR_CUPTI_TRAPS_H_
#define GPUEXEC_TOOLS_DOCTOR_CUPTI_TRAPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gx::doctor {

inline constexpr int64_t kCupti128 = 26;  // CUDA 12.8; 27 is 12.9, 28 is 12.9 update 1
inline constexpr int64_t kCupti129 = 27;
inline constexpr int64_t kCupti130 = 130000;  // From 13.0 on: major * 10000 + minor * 100 + update
inline constexpr int64_t kCupti140 = 140000;  // The first that is not supported.

struct CuptiTrap {
  // First and last version that have it.
  int64_t first;
  int64_t last;
  // Something is missing because of it that another libcupti would give; otherwise gpuexec avoids it, or shows it.
  bool needs_action;
  absl::string_view fault;
  absl::string_view here;
  absl::string_view source;
};

absl::Span<const CuptiTrap> CuptiTraps();
std::vector<CuptiTrap> TrapsOf(int64_t version);

// 12.8 to 13.x: what the injection library accepts.
bool IsSupportedCupti(int64_t version);
// "13.0.1" for 130001, "12.8" for 26.
std::string CuptiVersionText(int64_t version);
// Of the CUDA release that it came with, as the driver counts: 13000 for 130001, 12080 for 26. 0: not known.
int64_t CudaVersionOfCupti(int64_t version);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_CUPTI_TRAPS_H_
