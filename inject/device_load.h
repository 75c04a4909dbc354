// How busy kernels keep the device while the program runs as it does without counters: from the durations of timed
// kernels, of the last five seconds or so of timing windows. Kernels that overlap count twice, and kernels whose
// records have not come yet not at all. One thread.
#ifndef GPUEXEC_INJECT_DEVICE_LOAD_H_
#define GPUEXEC_INJECT_DEVICE_LOAD_H_

#include <algorithm>
#include <cstdint>

namespace gx::inject {

class DeviceLoad {
 public:
  // A piece of a timing window, of about a quarter of a second, and what kernels of all `devices` took in it.
  // The first pieces do not count: into them fall records of launches from before.
  void Add(uint64_t elapsed_ns, uint64_t kernels_ns, uint32_t devices) noexcept {
    if (pieces_ < kSkippedPieces) {
      ++pieces_;
      return;
    }
    elapsed_ns_ = elapsed_ns_ * kFade + static_cast<double>(elapsed_ns) * std::max(devices, 1u);
    kernels_ns_ = kernels_ns_ * kFade + static_cast<double>(kernels_ns);
  }
  // 0 as long as nothing is known.
  uint32_t busy_permille() const noexcept {
    if (!(elapsed_ns_ > 0)) return 0;
    return static_cast<uint32_t>(std::min(kernels_ns_ / elapsed_ns_, 1.0) * 1000);
  }

 private:
  // Records come by the buffer, of some 8,000 kernels (CUPTI 13.0): of less than a few buffers' time the load would
  // depend on when it is asked for.
  static constexpr double kFade = 0.95;
  static constexpr uint32_t kSkippedPieces = 2;
  uint32_t pieces_ = 0;
  double elapsed_ns_ = 0;
  double kernels_ns_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_DEVICE_LOAD_H_
