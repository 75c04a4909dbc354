// Compute capability: what a GPU's multiprocessors (SMs) can do, as major.minor (CUDA Programming Guide, "Compute
// Capabilities"). 9.0 is Hopper, 10.0 to 12.1 Blackwell. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_COMPUTE_CAPABILITY_H_
#define GPUEXEC_ANALYSIS_MODEL_COMPUTE_CAPABILITY_H_

#include <compare>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gx::model {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend constexpr auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
  // "9.0".
  std::string ToString() const;
};

// "9.0", "sm_90", "sm_90a", "12.1" -> value. Whether the model knows it is another question (sm_limits.h).
[[nodiscard]] absl::StatusOr<ComputeCapability> ParseComputeCapability(absl::string_view text);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_COMPUTE_CAPABILITY_H_
