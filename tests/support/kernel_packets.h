// Kernels of a traced run as the text of a packet: launches 10 us apart on track 1, in window 1, each of 4,000 ns.
#ifndef GPUEXEC_TESTS_SUPPORT_KERNEL_PACKETS_H_
#define GPUEXEC_TESTS_SUPPORT_KERNEL_PACKETS_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace gx::testing {

// `signature`: also the iid of the kernels' attributes. `first_id`: correlation id of the first launch, which enters at
// 10,000 ns times that. Each kernel takes `longer_by_ns` more than the one before.
inline std::string KernelPackets(int signature, int count, int first_id = 1, int longer_by_ns = 0) {
  std::string launches =
      absl::StrCat("launch_batch { count: ", count, " window_id: 1 base_enter_monotonic_ns: ", first_id * 10000,
                   " base_correlation_id: ", first_id, " track_iid: 1 ");
  std::string kernels =
      absl::StrCat("kernel_batch { count: ", count, " timing: TIMING_COMPLETE base_start_ns: ", first_id * 10000 + 2000,
                   " start_unit_ns: 1 duration_unit_ns: 1 base_correlation_id: ", first_id, " track_iid: 1 ");
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&launches, "enter_delta: ", i == 0 ? 0 : 10000, " correlation_delta: ", i == 0 ? 0 : 1,
                    " signature_iid: ", signature, " ");
    absl::StrAppend(&kernels, "start_delta: ", i == 0 ? 0 : 10000, " duration_delta: ", i == 0 ? 4000 : longer_by_ns,
                    " correlation_delta: ", i == 0 ? 0 : 1, " attributes_iid: ", signature, " ");
  }
  return launches + "} " + kernels + "}";
}

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_KERNEL_PACKETS_H_
