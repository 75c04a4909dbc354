#include "inject/flusher.h"

#include "inject/clock.h"
#include "inject/clock_sync.h"

namespace gx::inject {
namespace {

// Timings reach the file within a second of the device going idle: two flushes a second.
constexpr uint64_t kFlushPeriodNs = 500'000'000;
constexpr uint64_t kClockPeriodNs = 1'000'000'000;
// CUPTI's flag of cuptiActivityFlushAll: 0 returns full buffers whose records are complete, 1 everything.
constexpr uint32_t kFlushCompleted = 0;
constexpr uint32_t kFlushForced = CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;

}  // namespace

void Flusher::Flush(uint32_t flag) noexcept {
  if (parts_.cupti->cuptiActivityFlushAll(flag) != CUPTI_SUCCESS) {
    Stats().Add(StatId::kCuptiErrors);
  } else {
    parts_.buffers->NoteFlushed();
  }
}

bool Flusher::KernelsOwed() const noexcept {
  // More came than was expected where graphs run kernels that no callback told of: then how many are owed is not known.
  return parts_.writer->kernels_received() != parts_.writer->kernels_expected();
}

void Flusher::SwitchWindows(uint64_t now_ns) {
  const Config& config = *parts_.config;
  if (config.region_cuda || (config.start_after_ns == 0 && config.duration_ns == 0)) return;
  const uint64_t begin_ns = parts_.start_monotonic_ns + config.start_after_ns;
  if (!started_ && now_ns >= begin_ns) {
    started_ = true;
    // Without a delay the session itself has switched on.
    if (config.start_after_ns != 0) parts_.recording->Switch(true);
  }
  if (started_ && !duration_over_ && config.duration_ns != 0 && now_ns >= begin_ns + config.duration_ns) {
    duration_over_ = true;
    parts_.recording->Switch(false);
  }
}

void Flusher::Run() {
  uint64_t next_flush_ns = MonotonicNs() + kFlushPeriodNs;
  uint64_t next_clock_ns = MonotonicNs() + kClockPeriodNs;
  while (!finish_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.count();
    const uint64_t now_ns = MonotonicNs();
    SwitchWindows(now_ns);
    if (parts_.tick != nullptr) parts_.tick();
    if (now_ns >= next_clock_ns) {
      parts_.writer->Post(ReadClockPair(parts_.cupti));
      next_clock_ns = now_ns + kClockPeriodNs;
    }
    if (now_ns >= next_flush_ns) {
      // Only where CUPTI holds a buffer: a flush in a process that never used the device has been seen to hang
      // (HPCToolkit/hpctoolkit#295).
      if (parts_.buffers->lent() != 0) {
        Flush(kFlushCompleted);
      } else {
        parts_.buffers->NoteFlushed();
      }
      next_flush_ns = now_ns + kFlushPeriodNs;
    }
    const Config& config = *parts_.config;
    uint64_t wait_ns = kFlushPeriodNs / 5;
    if (!started_ && config.start_after_ns != 0) wait_ns = std::min<uint64_t>(wait_ns, 10'000'000);
    if (started_ && !duration_over_ && config.duration_ns != 0) wait_ns = std::min<uint64_t>(wait_ns, 10'000'000);
    wake_.WaitFor(seen, wait_ns);
  }
  bool waited = false;
  if (parts_.buffers->lent() != 0) {
    Flush(kFlushCompleted);
    // Give the writer a moment to count what came: then a program that has synchronised, as most have, owes nothing and
    // needs no waiting.
    (void)WaitUntil([this] { return !KernelsOwed() || give_up_.load(std::memory_order_acquire); }, 20'000'000);
    if (KernelsOwed() && !give_up_.load(std::memory_order_acquire) && parts_.cuda->cuCtxSynchronize != nullptr &&
        parts_.cuda->cuCtxPushCurrent_v2 != nullptr && parts_.cuda->cuCtxPopCurrent_v2 != nullptr) {
      // A kernel that never ends keeps us here; the ending thread has a deadline and goes on without us.
      waited = true;
      parts_.contexts->ForEach([this, &waited](void* context) {
        if (give_up_.load(std::memory_order_acquire)) return;
        // A thread that destroys a context now shuts the gate first, and waits for us for a bounded time.
        if (!parts_.gate->Enter()) {
          waited = false;
          return;
        }
        if (parts_.cuda->cuCtxPushCurrent_v2(static_cast<CUcontext>(context)) == CUDA_SUCCESS) {
          waited = parts_.cuda->cuCtxSynchronize() == CUDA_SUCCESS && waited;
          CUcontext popped = nullptr;
          (void)parts_.cuda->cuCtxPopCurrent_v2(&popped);
        }
        parts_.gate->Leave();
      });
    }
  }
  device_idle_.store(true, std::memory_order_release);
  if (give_up_.load(std::memory_order_acquire)) return;
  ForcedFlush(waited);
}

void Flusher::ForcedFlush(bool all_ended) noexcept {
  if (parts_.buffers->lent() != 0) Flush(kFlushForced);
  if (all_ended) parts_.buffers->NoteAllEnded();
  flushed_.store(true, std::memory_order_release);
}

void Flusher::Finish() noexcept {
  finish_.store(true, std::memory_order_release);
  wake_.Signal();
}

void Flusher::StopWaiting() noexcept {
  give_up_.store(true, std::memory_order_release);
  wake_.Signal();
}

}  // namespace gx::inject
