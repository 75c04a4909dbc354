#include "inject/call_bookkeeping.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "inject/call_result.h"
#include "inject/context_idle.h"
#include "inject/self_stats.h"

namespace gx::inject {
namespace {

template <typename Params>
const Params* As(const void* parameters) noexcept {
  return static_cast<const Params*>(parameters);
}

uint64_t ThreadId(const ThreadState* thread) noexcept {
  if (thread != nullptr) return thread->thread_id.load(std::memory_order_relaxed);
  return static_cast<uint64_t>(syscall(SYS_gettid));
}

// A handle of a stream is one stream's in the process, whichever context is current; the names of default streams are
// the context's, and the thread's.
uint64_t CaptureKey(const ThreadState* thread, CallInfo call, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  const CUstream stream = StreamOf(cbid, data.functionParams);
  if (IsThreadsOwnStream(call, stream)) {
    return CaptureGate::StreamKey(data.context, CU_STREAM_PER_THREAD, ThreadId(thread));
  }
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return CaptureGate::StreamKey(data.context, nullptr, 0);
  return CaptureGate::StreamKey(nullptr, stream, 0);
}

// The context that a cuCtxSynchronize waits for.
const void* SynchronizedContext(uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  if (cbid != CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2) return data.context;
  if (data.functionParams == nullptr) return nullptr;
  const CUcontext named = As<cuCtxSynchronize_v2_params>(data.functionParams)->ctx;
  return named == nullptr ? data.context : named;
}

}  // namespace

void CallBookkeeping::OnEnter(ThreadState* thread, CallInfo call, uint32_t cbid,
                              const CUpti_CallbackData& data) noexcept {
  if (BringsDeviceWork(call.kind)) {
    if (parts_.streams != nullptr && IsThreadsOwnStream(call, StreamOf(cbid, data.functionParams))) {
      parts_.streams->NotePerThread(data.context, ThreadId(thread));
    }
    return;
  }
  switch (call.kind) {
    case CallKind::kCaptureBegin:
      if (parts_.captures != nullptr && parts_.captures->Begin(CaptureKey(thread, call, cbid, data))) {
        Stats().Add(StatId::kCounterCapturesWaited);
        (void)WaitUntil([&] { return !parts_.captures->busy(); },
                        std::max(parts_.capture_wait_ns, parts_.captures->longer_wait_ns()));
      }
      // Nothing where the range was done in time.
      if (parts_.contents != nullptr) parts_.contents->CaptureBegan();
      break;
    case CallKind::kStreamDestroy:
      if (parts_.streams != nullptr) OnStreamGoes(data);
      break;
    case CallKind::kSynchronize:
      if (parts_.streams != nullptr && thread != nullptr) {
        thread->left_busy_before = parts_.streams->LeftBusy(SynchronizedContext(cbid, data));
      }
      break;
    default:
      break;
  }
}

void CallBookkeeping::OnExit(ThreadState* thread, CallInfo call, uint32_t cbid,
                             const CUpti_CallbackData& data) noexcept {
  const CUresult result = ResultOf(data);
  switch (call.kind) {
    case CallKind::kCaptureBegin:
      if (parts_.captures != nullptr && result != CUDA_SUCCESS) {
        parts_.captures->End(CaptureKey(thread, call, cbid, data));
      }
      break;
    case CallKind::kCaptureEnd:
      if (parts_.captures != nullptr && CaptureHasEnded(result)) {
        parts_.captures->End(CaptureKey(thread, call, cbid, data));
      }
      break;
    case CallKind::kUnload:
      // Of the context that was the last, or its reset.
      if (parts_.captures != nullptr && !AnyContextLives()) parts_.captures->ForgetAll();
      break;
    case CallKind::kStreamCreate:
      if (parts_.streams != nullptr && result == CUDA_SUCCESS && data.functionParams != nullptr) {
        // The first member of all their blocks.
        const CUstream* stream = As<cuStreamCreate_params>(data.functionParams)->phStream;
        if (stream != nullptr) parts_.streams->Add(data.context, *stream);
      }
      break;
    case CallKind::kStreamDestroy:
      // It is no longer known, and may go on working.
      if (parts_.streams != nullptr && result != CUDA_SUCCESS) parts_.streams->NoteLeftBusy(data.context);
      break;
    case CallKind::kSynchronize:
      if (parts_.streams != nullptr && thread != nullptr) {
        if (result == CUDA_SUCCESS) {
          parts_.streams->Synchronised(SynchronizedContext(cbid, data), thread->left_busy_before);
        }
        thread->left_busy_before = 0;
      }
      break;
    case CallKind::kGreenContext:
      if (parts_.streams != nullptr && result == CUDA_SUCCESS) parts_.streams->NoteGreenContext();
      if (parts_.avoids_green_contexts && parts_.behaviour != nullptr && result == CUDA_SUCCESS) {
        parts_.behaviour->Note(nullptr, ContextTrait::kGreenContext);
      }
      break;
    case CallKind::kPeerAccess:
      if (result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) OnPeerAccess(cbid, data);
      break;
    default:
      if (result == CUDA_SUCCESS) OnMemory(call, cbid, data);
      break;
  }
}

void CallBookkeeping::OnStreamGoes(const CUpti_CallbackData& data) noexcept {
  if (data.functionParams == nullptr) return;
  // Both blocks hold the stream alone.
  const CUstream stream = As<cuStreamDestroy_v2_params>(data.functionParams)->hStream;
  const void* const context = parts_.streams->ContextOf(stream);
  if (context == nullptr) return;
  if (parts_.cuda != nullptr && parts_.captures != nullptr && parts_.captures->Enter()) {
    LetStreamGo(*parts_.cuda, parts_.streams, context, stream);
    parts_.captures->Leave();
  } else {
    parts_.streams->NoteLeftBusy(context);
  }
  // Now, not when the call returns: by then another thread's new stream may have the handle.
  parts_.streams->Remove(stream);
}

void CallBookkeeping::OnMemory(CallInfo call, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  switch (call.kind) {
    case CallKind::kIpcOpen: {
      NoteReplay(ReplayObstacle::kIpc);
      // The other calls do not say in which contexts the memory will be mapped.
      const bool in_context = cbid == CUPTI_DRIVER_TRACE_CBID_cuIpcGetMemHandle ||
                              cbid == CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle ||
                              cbid == CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2 ||
                              cbid == CUPTI_DRIVER_TRACE_CBID_cuImportExternalMemory;
      if (parts_.behaviour != nullptr) {
        parts_.behaviour->Note(in_context ? data.context : nullptr, ContextTrait::kIpcMemory);
      }
      break;
    }
    case CallKind::kMulticast:
      NoteReplay(ReplayObstacle::kPeer);
      if (parts_.behaviour != nullptr) parts_.behaviour->Note(nullptr, ContextTrait::kSymmetricHeap);
      break;
    case CallKind::kManagedMemory:
      NoteReplay(ReplayObstacle::kManaged);
      break;
    case CallKind::kHostMemory:
      NoteReplay(ReplayObstacle::kHostMapped);
      break;
    case CallKind::kPoolMemory:
      NoteReplay(ReplayObstacle::kPool);
      break;
    case CallKind::kHostWork:
      if (cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphicsMapResources ||
          cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphicsMapResources_ptsz) {
        NoteReplay(ReplayObstacle::kIpc);
      }
      break;
    default:
      break;
  }
}

void CallBookkeeping::OnPeerAccess(uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  if (data.functionParams == nullptr) return NotePeer(nullptr);
  const CUmemAccessDesc* accesses = nullptr;
  size_t count = 0;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess:
      // Both: kernels of one wait for what those of the other write.
      NotePeer(data.context);
      NotePeer(As<cuCtxEnablePeerAccess_params>(data.functionParams)->peerContext);
      return;
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
      const CUmemAllocationProp* prop = As<cuMemCreate_params>(data.functionParams)->prop;
      if (prop == nullptr) return;
      if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        if (!IsOwnDevice(prop->location.id, data)) NotePeer(nullptr);
        // That CUPTI restores what is mapped piece by piece is written nowhere.
        NoteReplay(ReplayObstacle::kUnknown);
      } else {
        NoteReplay(ReplayObstacle::kHostMapped);
      }
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess:
      accesses = As<cuMemSetAccess_params>(data.functionParams)->desc;
      count = As<cuMemSetAccess_params>(data.functionParams)->count;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemPoolSetAccess:
      accesses = As<cuMemPoolSetAccess_params>(data.functionParams)->map;
      count = As<cuMemPoolSetAccess_params>(data.functionParams)->count;
      break;
    default:
      return;
  }
  if (accesses == nullptr) return;
  // The driver has accepted the list, so all of it can be read. Access for the current device alone is how memory is
  // mapped piece by piece on one device.
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& access = accesses[i];
    if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
    if (!IsOwnDevice(access.location.id, data)) return NotePeer(nullptr);
  }
}

void CallBookkeeping::NotePeer(const void* context) noexcept {
  NoteReplay(ReplayObstacle::kPeer);
  if (parts_.behaviour != nullptr) parts_.behaviour->Note(context, ContextTrait::kPeerAccess);
}

void CallBookkeeping::NoteReplay(ReplayObstacle obstacle) noexcept {
  if (parts_.replay != nullptr) parts_.replay->Note(obstacle);
}

// Without a current context no device is its own.
bool CallBookkeeping::IsOwnDevice(int device, const CUpti_CallbackData& data) const noexcept {
  uint32_t own = 0;
  return data.context != nullptr && parts_.contexts != nullptr && parts_.contexts->Device(data.contextUid, &own) &&
         device >= 0 && static_cast<uint32_t>(device) == own;
}

bool CallBookkeeping::AnyContextLives() const noexcept {
  bool any = parts_.contexts == nullptr;
  if (!any) parts_.contexts->ForEach([&](void*) { any = true; });
  return any;
}

void CallBookkeeping::OnStreamDestroyed(const void* stream) noexcept {
  // Not the default streams: their handles name others' too.
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return;
  if (parts_.captures != nullptr) parts_.captures->StreamDestroyed(CaptureGate::StreamKey(nullptr, stream, 0));
  if (parts_.streams != nullptr) parts_.streams->Remove(stream);
}

void CallBookkeeping::OnContextDestroyed(const void* context) noexcept {
  if (parts_.streams != nullptr) {
    if (parts_.captures != nullptr) {
      parts_.streams->ForEach(context, [&](const void* stream) {
        parts_.captures->StreamDestroyed(CaptureGate::StreamKey(nullptr, stream, 0));
        return true;
      });
    }
    parts_.streams->RemoveContext(context);
  }
  if (parts_.behaviour != nullptr) parts_.behaviour->Forget(context);
  if (parts_.captures != nullptr && !AnyContextLives()) parts_.captures->ForgetAll();
}

}  // namespace gx::inject
