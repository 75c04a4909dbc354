#include "inject/window_clocks.h"

#include <algorithm>
#include <utility>

namespace gx::inject {

void WindowClocks::SetWindow(const WindowRecord& window) {
  if (window.kind == WindowKind::kOff) return;
  const auto known =
      std::find_if(windows_.begin(), windows_.end(), [&](const Window& other) { return other.id == window.window_id; });
  if (known != windows_.end()) {
    known->end_ns = window.end_monotonic_ns;
    return;
  }
  // Both notes of a window that was pushed out long ago: its end says nothing new.
  if (window.end_monotonic_ns) return;
  Window opened;
  opened.id = window.window_id;
  opened.begin_ns = window.begin_monotonic_ns;
  windows_.push_back(std::move(opened));
  if (windows_.size() > kMaxWindows) {
    Append(windows_.front(), &pushed_out_);
    windows_.pop_front();
  }
}

void WindowClocks::AddReading(const DeviceSampleRecord& reading) {
  for (auto window = windows_.rbegin(); window != windows_.rend(); ++window) {
    if (reading.monotonic_ns < window->begin_ns) continue;
    if (window->end_ns && reading.monotonic_ns > *window->end_ns) return;
    Device& device = window->devices[reading.device_id];
    device.sm_clock_hz.Add(reading.sm_clock_hz);
    device.memory_clock_hz.Add(reading.memory_clock_hz);
    if (reading.throttle_reasons_mask) {
      device.throttle_reasons_mask = device.throttle_reasons_mask.value_or(0) | *reading.throttle_reasons_mask;
    }
    ++device.reading_count;
    return;
  }
}

void WindowClocks::Append(const Window& window, std::vector<WindowClocksRecord>* records) {
  for (const auto& [device_id, device] : window.devices) {
    WindowClocksRecord record;
    record.window_id = window.id;
    record.device_id = device_id;
    record.sm_clock_hz = device.sm_clock_hz.Value();
    record.memory_clock_hz = device.memory_clock_hz.Value();
    record.throttle_reasons_mask = device.throttle_reasons_mask;
    record.reading_count = device.reading_count;
    records->push_back(std::move(record));
  }
}

std::vector<WindowClocksRecord> WindowClocks::TakeClosed() {
  std::vector<WindowClocksRecord> records = std::exchange(pushed_out_, {});
  while (!windows_.empty() && windows_.front().seen_closed) {
    Append(windows_.front(), &records);
    windows_.pop_front();
  }
  for (Window& window : windows_) window.seen_closed = window.end_ns.has_value();
  return records;
}

std::vector<WindowClocksRecord> WindowClocks::TakeAll() {
  std::vector<WindowClocksRecord> records = std::exchange(pushed_out_, {});
  for (const Window& window : windows_) Append(window, &records);
  windows_.clear();
  return records;
}

}  // namespace gx::inject
