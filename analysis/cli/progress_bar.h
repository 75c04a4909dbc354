// A progress bar on standard error, drawn only where that is a terminal and reading takes longer than a second. Owned
// by one thread.
#ifndef GPUEXEC_ANALYSIS_CLI_PROGRESS_BAR_H_
#define GPUEXEC_ANALYSIS_CLI_PROGRESS_BAR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {

uint64_t MonotonicNowNs();

// The bar's text: "reading a.pb [=====     ]  50 %", shorter than `columns`. Pure.
std::string ProgressText(absl::string_view label, uint64_t done, uint64_t total, size_t columns);

class ProgressBar {
 public:
  static constexpr uint64_t kQuietNs = 1'000'000'000;
  static constexpr uint64_t kRedrawNs = 100'000'000;

  // descriptor: where to draw; nothing is drawn where it is no terminal.
  ProgressBar(int descriptor, absl::string_view label, uint64_t (*now_ns)() = MonotonicNowNs);
  // Removes the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(uint64_t done, uint64_t total);

 private:
  const int descriptor_;
  const bool terminal_;
  const std::string label_;
  uint64_t (*const now_ns_)();
  const uint64_t start_ns_;
  uint64_t drawn_ns_ = 0;
  bool visible_ = false;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_PROGRESS_BAR_H_
