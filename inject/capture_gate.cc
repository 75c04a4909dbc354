#include "inject/capture_gate.h"

#include "inject/checksum.h"

namespace gx::inject {

uint64_t CaptureGate::StreamKey(const void* context, const void* stream,
                                uint64_t thread_of_per_thread_stream) noexcept {
  const uint64_t words[] = {reinterpret_cast<uintptr_t>(context), reinterpret_cast<uintptr_t>(stream),
                            thread_of_per_thread_stream};
  const uint64_t key = Checksum({reinterpret_cast<const char*>(words), sizeof(words)});
  return key == 0 ? 1 : key;
}

bool CaptureGate::Begin(uint64_t stream, uint64_t now_ns) noexcept {
  // Whoever sees the capture before its time sees that of an earlier one.
  if (captures_.fetch_add(1, std::memory_order_seq_cst) == 0) {
    first_begin_ns_.store(now_ns, std::memory_order_seq_cst);
  }
  bool placed = false;
  for (std::atomic<uint64_t>& open : open_) {
    uint64_t held = open.load(std::memory_order_relaxed);
    if (held != 0 || !open.compare_exchange_strong(held, stream, std::memory_order_seq_cst)) continue;
    placed = true;
    break;
  }
  if (!placed) untracked_.fetch_add(1, std::memory_order_relaxed);
  const bool work = busy();
  if (work) met_work_.fetch_add(1, std::memory_order_relaxed);
  return work && waits_.load(std::memory_order_relaxed);
}

void CaptureGate::End(uint64_t stream) noexcept {
  // A stream may have two entries: a second begin, which the driver refuses, has its own end.
  for (std::atomic<uint64_t>& open : open_) {
    uint64_t held = stream;
    if (!open.compare_exchange_strong(held, 0, std::memory_order_seq_cst)) continue;
    captures_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
}

void CaptureGate::ForgetAll() noexcept {
  for (std::atomic<uint64_t>& open : open_) open.store(0, std::memory_order_seq_cst);
  captures_.store(0, std::memory_order_seq_cst);
}

uint64_t CaptureGate::OpenForNs(uint64_t now_ns) const noexcept {
  if (is_open()) return 0;
  const uint64_t begin_ns = first_begin_ns_.load(std::memory_order_seq_cst);
  return now_ns > begin_ns ? now_ns - begin_ns : 1;
}

bool CaptureGate::Enter() noexcept {
  // No capture waits for a try that is in vain from the start.
  if (!is_open()) return false;
  // Either a capture that begins now sees us busy, or we see the capture.
  busy_.fetch_add(1, std::memory_order_seq_cst);
  if (is_open()) return true;
  Leave();
  return false;
}

}  // namespace gx::inject
