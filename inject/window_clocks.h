// Readings of clocks (NVML, about one a second for each device) -> the clocks of each window and device, once the
// window is closed and its last reading has had time to come. Windows without a reading have none. Pure; one thread.
#ifndef GPUEXEC_INJECT_WINDOW_CLOCKS_H_
#define GPUEXEC_INJECT_WINDOW_CLOCKS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "inject/record.h"

namespace gx::inject {

class WindowClocks {
 public:
  // Windows that wait for their end or for late readings; the oldest go first, as they are.
  static constexpr size_t kMaxWindows = 64;

  // Opens a window, or closes it where its end is given. Windows in which nothing is recorded are left out.
  void SetWindow(const WindowRecord& window);
  // Goes to the window that was open at its time. What was read in none is for nobody.
  void AddReading(const DeviceSampleRecord& reading);
  // Windows that were closed before the last call, by window and device. Called about as often as readings are
  // collected: a reading that was under way when its window closed is here by then.
  std::vector<WindowClocksRecord> TakeClosed();
  // All that is known, open windows included: the end of the run.
  std::vector<WindowClocksRecord> TakeAll();

 private:
  struct Mean {
    uint64_t sum = 0;
    uint64_t count = 0;
    void Add(const std::optional<uint64_t>& value) {
      if (!value) return;
      sum += *value;
      ++count;
    }
    std::optional<uint64_t> Value() const {
      return count == 0 ? std::nullopt : std::optional<uint64_t>((sum + count / 2) / count);
    }
  };
  struct Device {
    Mean sm_clock_hz;
    Mean memory_clock_hz;
    std::optional<uint64_t> throttle_reasons_mask;
    uint64_t reading_count = 0;
  };
  struct Window {
    uint64_t id = 0;
    uint64_t begin_ns = 0;
    std::optional<uint64_t> end_ns;
    bool seen_closed = false;  // By TakeClosed.
    std::map<uint64_t, Device> devices;
  };
  static void Append(const Window& window, std::vector<WindowClocksRecord>* records);

  std::deque<Window> windows_;  // In the order of their beginnings.
  std::vector<WindowClocksRecord> pushed_out_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_WINDOW_CLOCKS_H_
