// The one clock of gx-run. Any thread.
#ifndef GPUEXEC_TOOLS_RUN_CLOCK_H_
#define GPUEXEC_TOOLS_RUN_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace gx::tools {

inline int64_t NowUs() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

inline int64_t NowMs() { return NowUs() / 1000; }

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_CLOCK_H_
