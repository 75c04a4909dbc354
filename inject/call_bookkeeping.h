// What the program's driver calls say about where hardware counters may be sampled: captures, streams, contexts,
// memory. Runs inside CUPTI's callbacks, on the thread that makes the call, only while counters are sampled. No
// allocation, no lock; waits in one place, bounded: a capture that begins while counter work is under way.
#ifndef GPUEXEC_INJECT_CALL_BOOKKEEPING_H_
#define GPUEXEC_INJECT_CALL_BOOKKEEPING_H_

#include <cstdint>

#include "inject/capture_gate.h"
#include "inject/context_behaviour.h"
#include "inject/context_table.h"
#include "inject/cuda_api.h"
#include "inject/cupti_api.h"
#include "inject/launch_parameters.h"
#include "inject/range_verdict.h"
#include "inject/replay_memory.h"
#include "inject/stream_table.h"
#include "inject/thread_queue.h"

namespace gx::inject {

class CallBookkeeping {
 public:
  // Each may be null: then it is not kept.
  struct Parts {
    const ContextTable* contexts = nullptr;
    CaptureGate* captures = nullptr;
    RangeContents* contents = nullptr;
    StreamTable* streams = nullptr;
    ContextBehaviour* behaviour = nullptr;
    ReplayMemory* replay = nullptr;
    // Asked about streams that are destroyed; null, or without cuStreamQuery: a stream may always have been left busy.
    const CudaApi* cuda = nullptr;
    // CUPTI cannot count in green contexts.
    bool avoids_green_contexts = false;
    uint64_t capture_wait_ns = kCaptureWaitNs;
  };

  void Attach(const Parts& parts) noexcept { parts_ = parts; }

  // Around a call. `thread` may be null: a thread without a queue.
  void OnEnter(ThreadState* thread, CallInfo call, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void OnExit(ThreadState* thread, CallInfo call, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  // A stream or context is about to be destroyed. For the latter: after ContextTable::Remove.
  void OnStreamDestroyed(const void* stream) noexcept;
  void OnContextDestroyed(const void* context) noexcept;

 private:
  void OnStreamGoes(const CUpti_CallbackData& data) noexcept;
  void OnMemory(CallInfo call, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void OnPeerAccess(uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void NotePeer(const void* context) noexcept;
  void NoteReplay(ReplayObstacle obstacle) noexcept;
  bool IsOwnDevice(int device, const CUpti_CallbackData& data) const noexcept;
  bool AnyContextLives() const noexcept;

  Parts parts_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CALL_BOOKKEEPING_H_
