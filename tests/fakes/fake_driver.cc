#include "tests/fakes/fake_driver.h"

#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_scenario.h"

namespace gx::fakes {
namespace {

constexpr size_t kRecordNameBytes = 4096;
constexpr uint32_t kDefaultStreamId = 7;
constexpr uint32_t kMaxDynamicSharedMemoryBytes = 227 * 1024;
constexpr size_t kMaxQueuedWork = 1024;  // About what a real channel takes before a launch blocks.

template <typename Handle, typename T>
Handle ToHandle(T* object) {
  return reinterpret_cast<Handle>(object);
}

template <typename T, typename Handle>
T* FromHandle(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

uint64_t ThreadId() { return static_cast<uint64_t>(gettid()); }

std::vector<Context*>& CurrentStack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

void SleepUntilGpu(uint64_t instant_ns) {
  for (uint64_t now = GpuNowNs(); now < instant_ns; now = GpuNowNs()) {
    const uint64_t left_ns = std::min<uint64_t>(instant_ns - now, 50'000'000);
    timespec pause{0, static_cast<long>(left_ns)};
    nanosleep(&pause, nullptr);
  }
}

void LogShape(LogLine* line, const LaunchShape& shape) {
  line->Add("grid", shape.grid[0], shape.grid[1], shape.grid[2])
      .Add("block", shape.block[0], shape.block[1], shape.block[2])
      .Add("cluster", shape.cluster[0], shape.cluster[1], shape.cluster[2])
      .Add("preferred_cluster", shape.preferred_cluster[0], shape.preferred_cluster[1], shape.preferred_cluster[2])
      .Add("dynamic", shape.dynamic_shared_memory_bytes)
      .Add("cooperative", uint64_t{shape.cooperative})
      .Add("programmatic", uint64_t{shape.programmatic});
  if (shape.carveout_given) line->Add("carveout", std::to_string(shape.carveout_percent));
}

void LogKernel(const Work& work) {
  LogLine line("kernel");
  line.Add("correlation", work.correlation_id)
      .Add("device", work.device_id)
      .Add("context", work.context_id)
      .Add("stream", work.stream_id)
      .Add("start", work.start_ns)
      .Add("end", work.end_ns)
      .Add("graph", work.graph_exec_id)
      .Add("node", work.graph_node_id)
      .Add("name", work.name)
      .Add("registers", work.attributes.registers_per_thread)
      .Add("static", work.attributes.static_shared_memory_bytes)
      .Add("local", work.attributes.local_memory_per_thread_bytes);
  LogShape(&line, work.shape);
}

void LogTransfer(const Work& work) {
  LogLine("transfer")
      .Add("kind", static_cast<uint64_t>(work.kind))
      .Add("correlation", work.correlation_id)
      .Add("device", work.device_id)
      .Add("context", work.context_id)
      .Add("stream", work.stream_id)
      .Add("start", work.start_ns)
      .Add("end", work.end_ns)
      .Add("bytes", work.size_bytes)
      .Add("copy_kind", work.copy_kind)
      .Add("source_kind", work.source_memory_kind)
      .Add("destination_kind", work.destination_memory_kind)
      .Add("source_device", work.source_device_id)
      .Add("destination_device", work.destination_device_id);
}

EndsBy EndOf(const std::string& kernel) {
  if (kernel.find(kSpinUntilLaunch) != std::string::npos) return EndsBy::kLaunch;
  return kernel.find(kSpinUntilHost) != std::string::npos ? EndsBy::kHost : EndsBy::kTime;
}

}  // namespace

FakeDriver& FakeDriver::Get() {
  static auto& driver = *new FakeDriver();
  return driver;
}

int& FakeDriver::CallbackDepth() {
  thread_local int depth = 0;
  return depth;
}

int& FakeDriver::LaunchCallbackDepth() {
  thread_local int depth = 0;
  return depth;
}

CUresult FakeDriver::Usable() const {
  // As the real one: a child of a process that has initialised CUDA cannot use it.
  return initialized_pid_.load() == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

// The library named by CUDA_INJECTION64_PATH, as the driver loads it: a failure is not reported to anybody.
void FakeDriver::InjectTools() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char* problem = library == nullptr ? dlerror() : nullptr;
  auto* initialize = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  const int answer = initialize == nullptr ? 0 : initialize();
  LogLine("injection")
      .Add("pid", static_cast<uint64_t>(getpid()))
      .Add("loaded", uint64_t{library != nullptr})
      .Add("found", uint64_t{initialize != nullptr})
      .Add("answer", static_cast<uint64_t>(answer))
      .Add("problem", problem == nullptr ? "" : problem);
}

CUresult FakeDriver::Init() {
  const pid_t owner = initialized_pid_.load();
  if (owner != 0 && owner != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  std::call_once(init_once_, [this] {
    // Tools come first and find a driver that is not ready: only queries that need no device work for them.
    InjectTools();
    initialized_pid_.store(getpid());
    Resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr, nullptr, nullptr);
  });
  return GetScenario().device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

void FakeDriver::Resource(uint32_t callback_id, Context* context, Stream* stream, void* descriptor) {
  if (GpuObserver* watcher = observer()) {
    watcher->OnResource(callback_id, ToHandle<CUcontext>(context), ToHandle<CUstream>(stream), descriptor);
  }
}

// ------------------------------------------------------------------------------------------------- contexts

Stream* FakeDriver::NewStream(Context* context, uint32_t id) {
  Stream* stream = streams_.Take();
  stream->id = id;
  stream->context = context;
  return stream;
}

Context* FakeDriver::CurrentContext() {
  auto& stack = CurrentStack();
  if (stack.empty() || !contexts_.IsAlive(stack.back())) return nullptr;
  return stack.back();
}

CUresult FakeDriver::NewContext(int device, bool primary, Context** result) {
  if (device < 0 || device >= GetScenario().device_count) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = contexts_.Take();
  context->id = next_context_id_++;
  context->device = device;
  context->primary = primary;
  context->default_stream = NewStream(context, kDefaultStreamId);
  LogLine("context")
      .Add("id", context->id)
      .Add("device", static_cast<uint64_t>(device))
      .Add("pid", static_cast<uint64_t>(getpid()));
  *result = context;
  return CUDA_SUCCESS;
}

CUresult FakeDriver::CreateContext(int device, CUcontext* result) {
  Context* context = nullptr;
  {
    std::lock_guard lock(mutex_);
    const CUresult made = NewContext(device, false, &context);
    if (made != CUDA_SUCCESS) return made;
  }
  CurrentStack().push_back(context);
  *result = ToHandle<CUcontext>(context);
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr, nullptr);
  return CUDA_SUCCESS;
}

// Requires the lock.
void FakeDriver::ReleaseContext(Context* context) {
  std::vector<Module*> modules;
  for (const void* handle : modules_.alive()) {
    auto* module = const_cast<Module*>(static_cast<const Module*>(handle));
    if (module->context == context) modules.push_back(module);
  }
  for (Module* module : modules) ReleaseModule(module);
  std::vector<Stream*> streams;
  for (const void* handle : streams_.alive()) {
    auto* stream = const_cast<Stream*>(static_cast<const Stream*>(handle));
    if (stream->context == context) streams.push_back(stream);
  }
  for (Stream* stream : streams) streams_.Release(stream);
  contexts_.Release(context);
}

CUresult FakeDriver::DestroyContext(CUcontext handle) {
  auto* context = FromHandle<Context>(handle);
  std::vector<Module*> modules;
  {
    std::lock_guard lock(mutex_);
    if (!contexts_.IsAlive(context)) return CUDA_ERROR_INVALID_CONTEXT;
    for (const void* module : modules_.alive()) {
      auto* candidate = const_cast<Module*>(static_cast<const Module*>(module));
      if (candidate->context == context) modules.push_back(candidate);
    }
  }
  WaitContextIdle(handle);
  Resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr, nullptr);
  for (Module* module : modules) {
    CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
    Resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, context, nullptr, &data);
  }
  std::lock_guard lock(mutex_);
  ReleaseContext(context);
  std::erase(CurrentStack(), context);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::RetainPrimary(int device, CUcontext* result) {
  Context* context = nullptr;
  bool created = false;
  {
    std::lock_guard lock(mutex_);
    context = primaries_[device];
    if (context == nullptr) {
      const CUresult made = NewContext(device, true, &context);
      if (made != CUDA_SUCCESS) return made;
      primaries_[device] = context;
      created = true;
    }
    ++primary_users_[device];
  }
  *result = ToHandle<CUcontext>(context);
  if (created) Resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr, nullptr);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::ReleasePrimary(int device) {
  Context* context = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (primaries_[device] == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_users_[device] > 0) return CUDA_SUCCESS;
    context = primaries_[device];
    primaries_[device] = nullptr;
  }
  return DestroyContext(ToHandle<CUcontext>(context));
}

// Whoever uses it still holds a handle of what is gone; the next context is likely to have the same one.
CUresult FakeDriver::ResetPrimary(int device) {
  if (device < 0 || device >= GetScenario().device_count) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = nullptr;
  {
    std::lock_guard lock(mutex_);
    context = primaries_[device];
    primaries_[device] = nullptr;
    primary_users_[device] = 0;
  }
  return context == nullptr ? CUDA_SUCCESS : DestroyContext(ToHandle<CUcontext>(context));
}

CUresult FakeDriver::SetCurrent(CUcontext handle) {
  std::lock_guard lock(mutex_);
  auto& stack = CurrentStack();
  if (handle != nullptr && !contexts_.IsAlive(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty()) stack.pop_back();
  if (handle != nullptr) stack.push_back(FromHandle<Context>(handle));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::PushCurrent(CUcontext handle) {
  std::lock_guard lock(mutex_);
  if (!contexts_.IsAlive(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  CurrentStack().push_back(FromHandle<Context>(handle));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::PopCurrent(CUcontext* handle) {
  auto& stack = CurrentStack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = ToHandle<CUcontext>(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUcontext FakeDriver::Current() {
  std::lock_guard lock(mutex_);
  return ToHandle<CUcontext>(CurrentContext());
}

bool FakeDriver::ContextId(CUcontext handle, uint32_t* id) {
  std::lock_guard lock(mutex_);
  const Context* context = handle == nullptr ? CurrentContext() : FromHandle<Context>(handle);
  if (!contexts_.IsAlive(context)) return false;
  *id = context->id;
  return true;
}

bool FakeDriver::ContextDevice(CUcontext handle, uint32_t* device) {
  std::lock_guard lock(mutex_);
  const Context* context = handle == nullptr ? CurrentContext() : FromHandle<Context>(handle);
  if (!contexts_.IsAlive(context)) return false;
  *device = static_cast<uint32_t>(context->device);
  return true;
}

// -------------------------------------------------------------------------------------------------- streams

// Requires the lock. Null where the handle is not alive.
Stream* FakeDriver::FindStream(Context* context, CUstream handle, bool per_thread) {
  if (handle == CU_STREAM_PER_THREAD || (per_thread && handle == nullptr)) {
    Stream*& stream = context->per_thread_streams[gettid()];
    if (stream == nullptr) stream = NewStream(context, next_stream_id_++);
    return stream;
  }
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return context->default_stream;
  return streams_.IsAlive(handle) ? FromHandle<Stream>(handle) : nullptr;
}

CUresult FakeDriver::CreateStream(CUstream* result) {
  Stream* stream = nullptr;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    stream = NewStream(context, next_stream_id_++);
  }
  *result = ToHandle<CUstream>(stream);
  Resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, stream->context, stream, nullptr);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::DestroyStream(CUstream handle) {
  auto* stream = FromHandle<Stream>(handle);
  {
    std::lock_guard lock(mutex_);
    if (!streams_.IsAlive(stream)) return CUDA_ERROR_INVALID_HANDLE;
  }
  Resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream->context, stream, nullptr);
  std::lock_guard lock(mutex_);
  // A real one lives on until its work is done.
  if (!stream->waiting.empty()) LogViolation("a stream is destroyed while a kernel waits in it");
  uint64_t& busy_until_ns = stream->context->destroyed_streams_busy_until_ns;
  busy_until_ns = std::max(busy_until_ns, stream->busy_until_ns);
  for (const void* handle_of_event : events_.alive()) {
    auto* event = const_cast<Event*>(static_cast<const Event*>(handle_of_event));
    if (event->stream == stream) event->behind_waiting = false;
  }
  streams_.Release(stream);
  return CUDA_SUCCESS;
}

bool FakeDriver::StreamId(CUcontext handle, CUstream stream, bool per_thread, uint32_t* id) {
  std::lock_guard lock(mutex_);
  Context* context = handle == nullptr ? CurrentContext() : FromHandle<Context>(handle);
  if (!contexts_.IsAlive(context)) return false;
  const Stream* found = FindStream(context, stream, per_thread);
  if (found == nullptr) return false;
  *id = found->id;
  return true;
}

// --------------------------------------------------------------------------------------------- the time line

std::optional<uint64_t> FakeDriver::IdleAt(const Stream& stream) {
  if (!stream.waiting.empty()) return std::nullopt;
  return stream.busy_until_ns;
}

std::optional<uint64_t> FakeDriver::IdleAt(const Context* context) const {
  uint64_t idle_at_ns = context->destroyed_streams_busy_until_ns;
  for (const void* handle : streams_.alive()) {
    const auto* stream = static_cast<const Stream*>(handle);
    if (stream->context != context) continue;
    const std::optional<uint64_t> stream_idle_at_ns = IdleAt(*stream);
    if (!stream_idle_at_ns.has_value()) return std::nullopt;
    idle_at_ns = std::max(idle_at_ns, *stream_idle_at_ns);
  }
  return idle_at_ns;
}

// On the realtime clock: the wait that every sanitizer understands.
void FakeDriver::WaitForRelease(std::unique_lock<std::mutex>* lock) {
  released_.wait_until(*lock, std::chrono::system_clock::now() + std::chrono::milliseconds(20));
}

void FakeDriver::EndReport() {
  std::lock_guard lock(mutex_);
  --reporting_;
  released_.notify_all();
}

void FakeDriver::WaitStreamIdle(const Stream* stream) {
  std::optional<uint64_t> idle_at_ns;
  {
    std::unique_lock lock(mutex_);
    while (streams_.IsAlive(stream) && !(idle_at_ns = IdleAt(*stream)).has_value()) WaitForRelease(&lock);
    while (reporting_ != 0) WaitForRelease(&lock);
  }
  SleepUntilGpu(idle_at_ns.value_or(0));
}

void FakeDriver::WaitContextIdle(CUcontext handle) {
  const auto* context = FromHandle<Context>(handle);
  while (true) {
    uint64_t idle_at_ns = 0;
    {
      std::unique_lock lock(mutex_);
      while (true) {
        if (!contexts_.IsAlive(context)) return;
        const std::optional<uint64_t> known = IdleAt(context);
        idle_at_ns = known.value_or(0);
        if (known.has_value() && reporting_ == 0) break;
        WaitForRelease(&lock);
      }
      if (idle_at_ns <= GpuNowNs()) return;
    }
    SleepUntilGpu(idle_at_ns);
  }
}

void FakeDriver::Schedule(Stream* stream, uint64_t duration_ns, EndsBy ends_by, Work work, std::vector<Work>* known) {
  work.device_id = static_cast<uint32_t>(stream->context->device);
  work.context_id = stream->context->id;
  work.stream_id = stream->id;
  work.start_ns = GpuNowNs();
  QueuedWork queued;
  queued.work = work;
  queued.ends_by = ends_by;
  queued.duration_ns = duration_ns;
  queued.order = next_order_++;
  stream->waiting.push_back(queued);
  Advance(stream, known);
}

void FakeDriver::Advance(Stream* stream, std::vector<Work>* known) {
  while (!stream->waiting.empty()) {
    QueuedWork& first = stream->waiting.front();
    if (!first.is_running) first.work.start_ns = std::max(first.work.start_ns, stream->busy_until_ns);
    first.is_running = true;
    if (first.ends_by != EndsBy::kTime && first.released_ns == 0) return;
    Work work = first.work;
    work.end_ns = first.ends_by == EndsBy::kTime
                      ? work.start_ns + first.duration_ns - first.duration_ns % kGpuClockStepNs
                      : std::max(work.start_ns, first.released_ns) + kGpuClockStepNs;
    const uint64_t order = first.order;
    stream->waiting.pop_front();
    stream->busy_until_ns = work.end_ns;
    stream->queued_ends_ns.push_back(work.end_ns);
    known->push_back(work);
    if (work.name != nullptr && std::strstr(work.name, kReleaseKernel) != nullptr) {
      Release(EndsBy::kLaunch, order, work.start_ns, known);
    }
  }
}

void FakeDriver::Release(EndsBy ends_by, uint64_t order, uint64_t instant_ns, std::vector<Work>* known) {
  std::vector<Stream*> changed;
  for (const void* handle : streams_.alive()) {
    auto* stream = const_cast<Stream*>(static_cast<const Stream*>(handle));
    bool any = false;
    for (QueuedWork& queued : stream->waiting) {
      const bool meant = ends_by == EndsBy::kTicket ? queued.order == order : queued.order < order;
      if (queued.ends_by != ends_by || !meant || queued.released_ns != 0) continue;
      queued.released_ns = instant_ns;
      any = true;
    }
    if (any) changed.push_back(stream);
  }
  for (Stream* stream : changed) Advance(stream, known);
  if (!changed.empty()) released_.notify_all();
}

void FakeDriver::AskObserver(Work* work) {
  work->queued = true;
  if (GpuObserver* watcher = observer()) work->traced = watcher->OnQueued(*work);
}

void FakeDriver::Report(const std::vector<Work>& known) {
  for (const Work& work : known) {
    if (work.kind == WorkKind::kHostFunction) continue;
    if (work.kind == WorkKind::kKernel) {
      LogKernel(work);
    } else {
      LogTransfer(work);
    }
    if (GpuObserver* watcher = observer()) watcher->OnWork(work);
  }
}

CUresult FakeDriver::SynchronizeStream(CUstream handle, bool per_thread, uint32_t correlation_id) {
  Work work;
  Context* context = nullptr;
  const Stream* target = nullptr;
  {
    std::lock_guard lock(mutex_);
    context = CurrentContext();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Stream* stream = FindStream(context, handle, per_thread);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) {
      stream->capture_invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    target = stream;
    work.stream_id = stream->id;
    work.context_id = context->id;
    work.device_id = static_cast<uint32_t>(context->device);
  }
  work.kind = WorkKind::kSynchronization;
  work.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  work.correlation_id = correlation_id;
  work.start_ns = GpuNowNs();
  WaitStreamIdle(target);
  work.end_ns = GpuNowNs();
  if (GpuObserver* watcher = observer()) {
    watcher->OnSynchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, ToHandle<CUcontext>(context), handle);
    watcher->OnWork(work);
  }
  return CUDA_SUCCESS;
}

CUresult FakeDriver::SynchronizeContext(uint32_t correlation_id) {
  Work work;
  Context* context = nullptr;
  {
    std::lock_guard lock(mutex_);
    context = CurrentContext();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    for (const void* handle : streams_.alive()) {
      auto* stream = const_cast<Stream*>(static_cast<const Stream*>(handle));
      if (stream->context != context) continue;
      if (stream->capture != nullptr) {
        stream->capture_invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
    }
    work.context_id = context->id;
    work.device_id = static_cast<uint32_t>(context->device);
  }
  work.kind = WorkKind::kSynchronization;
  work.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  work.stream_id = static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  work.correlation_id = correlation_id;
  work.start_ns = GpuNowNs();
  WaitContextIdle(ToHandle<CUcontext>(context));
  work.end_ns = GpuNowNs();
  if (GpuObserver* watcher = observer()) {
    watcher->OnSynchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, ToHandle<CUcontext>(context), nullptr);
    watcher->OnWork(work);
  }
  return CUDA_SUCCESS;
}

// Requires the lock. What a capture of global mode forbids ends it, as with the real driver.
bool FakeDriver::EndGlobalCaptures(const char* what) {
  bool any = false;
  for (const void* handle : streams_.alive()) {
    auto* stream = const_cast<Stream*>(static_cast<const Stream*>(handle));
    if (stream->capture == nullptr || stream->capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL) continue;
    stream->capture_invalidated = true;
    any = true;
  }
  if (any) LogViolation(std::string(what) + " during a stream capture");
  return any;
}

CUresult FakeDriver::QueryStream(CUstream handle) {
  std::lock_guard lock(mutex_);
  Context* context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Stream* stream = FindStream(context, handle, false);
  if (stream == nullptr) {
    LogViolation("cuStreamQuery of a stream that does not live");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture != nullptr) {
    LogViolation("cuStreamQuery of a stream that captures");
    stream->capture_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (stream == context->default_stream && EndGlobalCaptures("cuStreamQuery of the default stream")) {
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  const std::optional<uint64_t> idle_at_ns = IdleAt(*stream);
  return idle_at_ns.has_value() && *idle_at_ns <= GpuNowNs() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult FakeDriver::CreateEvent(CUevent* result) {
  std::lock_guard lock(mutex_);
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *result = ToHandle<CUevent>(events_.Take());
  return CUDA_SUCCESS;
}

CUresult FakeDriver::RecordEvent(CUevent handle, CUstream stream_handle) {
  std::lock_guard lock(mutex_);
  Context* context = CurrentContext();
  Stream* stream = context == nullptr ? nullptr : FindStream(context, stream_handle, false);
  if (!events_.IsAlive(handle) || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    LogViolation("cuEventRecord in a stream that captures");
    return CUDA_ERROR_NOT_SUPPORTED;  // Of this driver: it captures kernels only.
  }
  auto* event = FromHandle<Event>(handle);
  event->stream = stream;
  event->context = nullptr;
  event->done_ns = stream->busy_until_ns;
  event->behind_waiting = !stream->waiting.empty();
  return CUDA_SUCCESS;
}

CUresult FakeDriver::RecordContextEvent(CUcontext context_handle, CUevent handle) {
  std::lock_guard lock(mutex_);
  if (!contexts_.IsAlive(context_handle)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!events_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  auto* context = FromHandle<Context>(context_handle);
  bool captures = false;
  for (const void* stream_handle : streams_.alive()) {
    auto* stream = const_cast<Stream*>(static_cast<const Stream*>(stream_handle));
    if (stream->context != context || stream->capture == nullptr) continue;
    stream->capture_invalidated = true;
    captures = true;
  }
  if (captures) {
    LogViolation("cuCtxRecordEvent during a stream capture");
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  auto* event = FromHandle<Event>(handle);
  const std::optional<uint64_t> idle_at_ns = IdleAt(context);
  event->stream = nullptr;
  event->context = context;
  event->done_ns = idle_at_ns.value_or(0);
  event->behind_waiting = !idle_at_ns.has_value();
  return CUDA_SUCCESS;
}

CUresult FakeDriver::QueryEvent(CUevent handle) {
  std::lock_guard lock(mutex_);
  if (!events_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (EndGlobalCaptures("cuEventQuery")) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const auto* event = FromHandle<Event>(handle);
  std::optional<uint64_t> done_ns = event->done_ns;
  // What was unknown then is known once nothing waits any more; later work counts, too.
  if (event->behind_waiting && event->context != nullptr) {
    done_ns = contexts_.IsAlive(event->context) ? IdleAt(event->context) : 0;
  } else if (event->behind_waiting) {
    done_ns = IdleAt(*event->stream);
  }
  return done_ns.has_value() && *done_ns <= GpuNowNs() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult FakeDriver::DestroyEvent(CUevent handle) {
  std::lock_guard lock(mutex_);
  if (!events_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  events_.Release(FromHandle<Event>(handle));
  return CUDA_SUCCESS;
}

// -------------------------------------------------------------------------------------------------- modules

// Requires the lock. Null: the image is no cubin.
Module* FakeDriver::NewModule(Context* context, const void* image) {
  std::vector<KernelCode> kernels;
  const uint64_t image_bytes = ParseCubin(image, &kernels);
  if (image_bytes == 0) return nullptr;
  Module* module = modules_.Take();
  module->id = next_module_id_++;
  module->context = context;
  module->image.assign(static_cast<const char*>(image), image_bytes);
  for (const KernelCode& kernel : kernels) {
    Function* function = functions_.Take();
    function->module = module;
    function->attributes = kernel.attributes;
    function->name = kernel.name;
    if (GetScenario().reuse_names) {
      // One piece of memory per handle: the next function with this handle writes over it.
      static auto& memory = *new std::map<Function*, char*>();
      char*& text = memory[function];
      if (text == nullptr) text = new char[kRecordNameBytes];
      function->record_name = text;
    } else {
      // Lives for ever, as CUPTI's names do.
      static auto& names = *new std::deque<std::string>();
      function->record_name = names.emplace_back(kRecordNameBytes, '\0').data();
    }
    std::strncpy(function->record_name, kernel.name.c_str(), kRecordNameBytes - 1);
    function->record_name[kRecordNameBytes - 1] = '\0';
    module->functions.push_back(function);
  }
  LogLine("module").Add("id", module->id).Add("bytes", image_bytes);
  return module;
}

// Requires the lock.
void FakeDriver::ReleaseModule(Module* module) {
  for (Function* function : module->functions) functions_.Release(function);
  modules_.Release(module);
}

CUresult FakeDriver::LoadModule(const void* image, CUmodule* result) {
  Module* module = nullptr;
  Work overhead;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    module = NewModule(context, image);
    if (module == nullptr) return CUDA_ERROR_INVALID_IMAGE;
    overhead.context_id = context->id;
    overhead.device_id = static_cast<uint32_t>(context->device);
  }
  *result = ToHandle<CUmodule>(module);
  CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
  Resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, module->context, nullptr, &data);
  // CUPTI patches the code of a module that it traces, and says what that cost.
  overhead.kind = WorkKind::kOverhead;
  overhead.type = CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION;
  overhead.start_ns = GpuNowNs();
  overhead.end_ns = overhead.start_ns + kGpuClockStepNs;
  if (GpuObserver* watcher = observer()) watcher->OnWork(overhead);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::UnloadModule(CUmodule handle) {
  auto* module = FromHandle<Module>(handle);
  {
    std::lock_guard lock(mutex_);
    if (!modules_.IsAlive(module)) return CUDA_ERROR_INVALID_HANDLE;
  }
  CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
  Resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module->context, nullptr, &data);
  std::lock_guard lock(mutex_);
  ReleaseModule(module);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::GetFunction(CUmodule handle, const char* name, CUfunction* result) {
  std::lock_guard lock(mutex_);
  if (!modules_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  for (Function* function : FromHandle<Module>(handle)->functions) {
    if (function->name != name) continue;
    *result = ToHandle<CUfunction>(function);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult FakeDriver::LoadLibrary(const void* image, CUlibrary* result) {
  Module* module = nullptr;
  {
    std::lock_guard lock(mutex_);
    module = NewModule(nullptr, image);
    if (module == nullptr) return CUDA_ERROR_INVALID_IMAGE;
    Library* library = libraries_.Take();
    library->module = module;
    for (Function* function : module->functions) {
      Kernel* kernel = kernels_.Take();
      kernel->function = function;
      library->kernels[function->name] = kernel;
    }
    *result = ToHandle<CUlibrary>(library);
  }
  CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
  Resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, FromHandle<Context>(Current()), nullptr, &data);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::UnloadLibrary(CUlibrary handle) {
  auto* library = FromHandle<Library>(handle);
  {
    std::lock_guard lock(mutex_);
    if (!libraries_.IsAlive(library)) return CUDA_ERROR_INVALID_HANDLE;
  }
  Module* module = library->module;
  CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
  Resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, FromHandle<Context>(Current()), nullptr, &data);
  std::lock_guard lock(mutex_);
  for (const auto& [name, kernel] : library->kernels) kernels_.Release(kernel);
  ReleaseModule(module);
  libraries_.Release(library);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::GetKernel(CUlibrary handle, const char* name, CUkernel* result) {
  std::lock_guard lock(mutex_);
  if (!libraries_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  const auto& kernels = FromHandle<Library>(handle)->kernels;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *result = ToHandle<CUkernel>(found->second);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::GetKernelFunction(CUkernel handle, CUfunction* result) {
  std::lock_guard lock(mutex_);
  if (!kernels_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  *result = ToHandle<CUfunction>(FromHandle<Kernel>(handle)->function);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::GetFunctionModule(CUfunction handle, CUmodule* result) {
  std::lock_guard lock(mutex_);
  const Function* function = ResolveFunction(handle, false);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *result = ToHandle<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

// Requires the lock.
Function* FakeDriver::ResolveFunction(CUfunction handle, bool accept_kernel) {
  if (functions_.IsAlive(handle)) return FromHandle<Function>(handle);
  if (accept_kernel && kernels_.IsAlive(handle)) return FromHandle<Kernel>(handle)->function;
  return nullptr;
}

bool FakeDriver::DescribeFunction(CUfunction handle, bool accept_kernel, FunctionAttributes* attributes,
                                  const char** name) {
  std::lock_guard lock(mutex_);
  const Function* function = ResolveFunction(handle, accept_kernel);
  if (function == nullptr) return false;
  if (attributes != nullptr) *attributes = function->attributes;
  if (name != nullptr) *name = function->name.c_str();
  return true;
}

// ------------------------------------------------------------------------------------------------- launches

CUresult FakeDriver::CheckShape(const Function* function, const LaunchShape& shape) {
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  if (threads == 0 || blocks == 0 || threads > function->attributes.max_threads_per_block ||
      shape.dynamic_shared_memory_bytes > kMaxDynamicSharedMemoryBytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void FakeDriver::WaitForRoom(CUstream handle, bool per_thread) {
  uint64_t room_at_ns = 0;
  {
    std::unique_lock lock(mutex_);
    Context* context = CurrentContext();
    Stream* stream = context == nullptr ? nullptr : FindStream(context, handle, per_thread);
    if (stream == nullptr) return;
    while (streams_.IsAlive(stream) && stream->waiting.size() >= kMaxQueuedWork) WaitForRelease(&lock);
    auto& ends_ns = stream->queued_ends_ns;
    const uint64_t now_ns = GpuNowNs();
    while (!ends_ns.empty() && ends_ns.front() <= now_ns) ends_ns.pop_front();
    if (ends_ns.size() >= kMaxQueuedWork) room_at_ns = ends_ns[ends_ns.size() - kMaxQueuedWork];
  }
  SleepUntilGpu(room_at_ns);
}

CUresult FakeDriver::Launch(const char* api, CUfunction handle, const LaunchShape& shape, CUstream stream_handle,
                            bool per_thread, uint32_t correlation_id) {
  WaitForRoom(stream_handle, per_thread);
  std::vector<Work> known;
  const Stream* blocking = nullptr;
  Node* captured = nullptr;
  CUresult result = CUDA_SUCCESS;
  std::string name;
  uint32_t stream_id = 0;
  uint32_t context_id = 0;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    const Function* function = ResolveFunction(handle, true);
    Stream* stream = context == nullptr ? nullptr : FindStream(context, stream_handle, per_thread);
    if (context == nullptr) {
      result = CUDA_ERROR_INVALID_CONTEXT;
    } else if (function == nullptr || stream == nullptr) {
      result = CUDA_ERROR_INVALID_HANDLE;
    } else {
      result = CheckShape(function, shape);
      name = function->name;
      stream_id = stream->id;
      context_id = context->id;
    }
    if (result == CUDA_SUCCESS && stream->capture != nullptr) {
      captured = NewNode(stream->capture, const_cast<Function*>(function), shape, nullptr);
    } else if (result == CUDA_SUCCESS) {
      Work work;
      work.correlation_id = correlation_id;
      work.context_id = context_id;
      work.name = function->record_name;
      work.shape = shape;
      work.attributes = function->attributes;
      AskObserver(&work);
      Schedule(stream, function->attributes.duration_ns, EndOf(name), work, &known);
      blocking = stream;
    }
  }
  {
    LogLine line("launch");
    line.Add("api", api)
        .Add("thread", ThreadId())
        .Add("correlation", correlation_id)
        .Add("context", context_id)
        .Add("stream", stream_id)
        .Add("result", static_cast<uint64_t>(result))
        .Add("captured", uint64_t{captured != nullptr})
        .Add("name", name);
    LogShape(&line, shape);
  }
  if (captured != nullptr) {
    NodeCreated(captured);
  } else if (result == CUDA_SUCCESS) {
    Report(known);
    if (GpuObserver* watcher = observer(); watcher != nullptr && watcher->BlocksLaunches(context_id)) {
      WaitStreamIdle(blocking);
    }
  }
  return result;
}

CUresult FakeDriver::QueueTransfer(Work work, CUstream stream_handle) {
  std::vector<Work> known;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Stream* stream = FindStream(context, stream_handle, false);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // Of this driver: it captures kernels only.
    work.context_id = context->id;
    AskObserver(&work);
    // 1 byte a nanosecond, and a step for the way.
    Schedule(stream, kGpuClockStepNs + work.size_bytes, EndsBy::kTime, work, &known);
  }
  Report(known);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::QueueHostFunction(CUstream stream_handle, CUhostFn function, void* data) {
  std::vector<Work> known;
  uint64_t ticket = 0;
  Stream* stream = nullptr;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    stream = context == nullptr ? nullptr : FindStream(context, stream_handle, false);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    ticket = next_order_;
    Work work;
    work.kind = WorkKind::kHostFunction;
    Schedule(stream, 0, EndsBy::kTicket, work, &known);
  }
  std::thread([this, stream, ticket, function, data] {
    uint64_t start_ns = 0;
    {
      std::unique_lock lock(mutex_);
      while (stream->waiting.front().order != ticket) WaitForRelease(&lock);
      start_ns = stream->waiting.front().work.start_ns;
    }
    SleepUntilGpu(start_ns);
    function(data);
    std::vector<Work> released;
    {
      std::lock_guard lock(mutex_);
      Release(EndsBy::kTicket, ticket, GpuNowNs(), &released);
      ++reporting_;
    }
    Report(released);
    EndReport();
  }).detach();
  return CUDA_SUCCESS;
}

void FakeDriver::SetHostFlag() {
  std::vector<Work> known;
  {
    std::lock_guard lock(mutex_);
    Release(EndsBy::kHost, next_order_, GpuNowNs(), &known);
    ++reporting_;
  }
  Report(known);
  EndReport();
}

// --------------------------------------------------------------------------------------------------- graphs

// Requires the lock.
Node* FakeDriver::NewNode(Graph* graph, Function* function, const LaunchShape& shape, Node* original) {
  Node* node = nodes_.Take();
  node->id = next_node_id_++;
  node->function = function;
  node->shape = shape;
  node->graph = graph;
  node->original = original;
  graph->nodes.push_back(node);
  return node;
}

void FakeDriver::NodeCreated(Node* node) {
  CUpti_GraphData data{};
  data.graph = ToHandle<CUgraph>(node->graph);
  data.node = ToHandle<CUgraphNode>(node);
  data.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
  LogLine line("node");
  line.Add("id", node->id).Add("graph", node->graph->id).Add("name", node->function->name);
  if (node->original != nullptr) line.Add("original", node->original->id);
  LogShape(&line, node->shape);
  Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node->graph->context, nullptr, &data);
  if (node->original == nullptr) return;
  data.originalNode = ToHandle<CUgraphNode>(node->original);
  data.originalGraph = ToHandle<CUgraph>(node->original->graph);
  Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node->graph->context, nullptr, &data);
}

CUresult FakeDriver::CreateGraph(CUgraph* result) {
  Graph* graph = nullptr;
  {
    std::lock_guard lock(mutex_);
    graph = graphs_.Take();
    graph->id = next_graph_id_++;
    graph->context = CurrentContext();
  }
  *result = ToHandle<CUgraph>(graph);
  CUpti_GraphData data{};
  data.graph = *result;
  Resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph->context, nullptr, &data);
  return CUDA_SUCCESS;
}

// Requires the lock.
void FakeDriver::ReleaseGraph(Graph* graph) {
  for (Node* node : graph->nodes) nodes_.Release(node);
  graphs_.Release(graph);
}

CUresult FakeDriver::DestroyGraph(CUgraph handle) {
  {
    std::lock_guard lock(mutex_);
    if (!graphs_.IsAlive(handle)) return CUDA_ERROR_INVALID_VALUE;
  }
  CUpti_GraphData data{};
  data.graph = handle;
  Resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, FromHandle<Graph>(handle)->context, nullptr, &data);
  std::lock_guard lock(mutex_);
  ReleaseGraph(FromHandle<Graph>(handle));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::BeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  {
    std::lock_guard lock(mutex_);
    if (!streams_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (FromHandle<Stream>(handle)->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  }
  CUgraph graph = nullptr;
  const CUresult result = CreateGraph(&graph);
  std::lock_guard lock(mutex_);
  FromHandle<Stream>(handle)->capture = FromHandle<Graph>(graph);
  FromHandle<Stream>(handle)->capture_invalidated = false;
  FromHandle<Stream>(handle)->capture_mode = mode;
  return result;
}

CUresult FakeDriver::EndCapture(CUstream handle, CUgraph* result) {
  std::lock_guard lock(mutex_);
  if (!streams_.IsAlive(handle)) return CUDA_ERROR_INVALID_HANDLE;
  auto* stream = FromHandle<Stream>(handle);
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  *result = ToHandle<CUgraph>(stream->capture);
  stream->capture = nullptr;
  return stream->capture_invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

bool FakeDriver::AnyCapture() {
  std::lock_guard lock(mutex_);
  return std::any_of(streams_.alive().begin(), streams_.alive().end(),
                     [](const void* handle) { return static_cast<const Stream*>(handle)->capture != nullptr; });
}

void FakeDriver::InvalidateCaptures(const char* what) {
  std::lock_guard lock(mutex_);
  for (const void* handle : streams_.alive()) {
    auto* stream = const_cast<Stream*>(static_cast<const Stream*>(handle));
    if (stream->capture == nullptr) continue;
    stream->capture_invalidated = true;
    LogViolation(std::string(what) + " during a stream capture");
  }
}

CUresult FakeDriver::AddKernelNode(CUgraph graph, CUfunction handle, const LaunchShape& shape, CUgraphNode* result) {
  Node* node = nullptr;
  {
    std::lock_guard lock(mutex_);
    Function* function = ResolveFunction(handle, true);
    if (!graphs_.IsAlive(graph) || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult shape_result = CheckShape(function, shape);
    if (shape_result != CUDA_SUCCESS) return shape_result;
    node = NewNode(FromHandle<Graph>(graph), function, shape, nullptr);
  }
  *result = ToHandle<CUgraphNode>(node);
  NodeCreated(node);
  return CUDA_SUCCESS;
}

// As the real one (seen with CUPTI 13.0): the whole graph is cloned, the clone's nodes are the ones that run, the
// executable graph has the clone's id, and the driver adds a node of its own that is a clone of nothing.
CUresult FakeDriver::Instantiate(CUgraph handle, CUgraphExec* result) {
  GraphExec* exec = nullptr;
  Node* own_node = nullptr;
  Graph* original = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!graphs_.IsAlive(handle)) return CUDA_ERROR_INVALID_VALUE;
    original = FromHandle<Graph>(handle);
    exec = execs_.Take();
    exec->clone = graphs_.Take();
    exec->clone->id = next_graph_id_++;
    exec->clone->context = original->context;
    for (Node* node : original->nodes) NewNode(exec->clone, node->function, node->shape, node);
    own_node = nodes_.Take();
    own_node->id = next_node_id_++;
    own_node->graph = exec->clone;
    exec->id = exec->clone->id;
  }
  *result = ToHandle<CUgraphExec>(exec);
  CUpti_GraphData data{};
  data.graph = handle;
  Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, original->context, nullptr, &data);
  data.graph = ToHandle<CUgraph>(exec->clone);
  data.originalGraph = handle;
  Resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, original->context, nullptr, &data);
  Resource(CUPTI_CBID_RESOURCE_GRAPH_CLONED, original->context, nullptr, &data);
  for (Node* node : exec->clone->nodes) NodeCreated(node);
  data = CUpti_GraphData{};
  data.graph = ToHandle<CUgraph>(exec->clone);
  data.node = ToHandle<CUgraphNode>(own_node);
  data.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;  // What CUPTI 13.0 says of every node.
  Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, original->context, nullptr, &data);
  data = CUpti_GraphData{};
  data.graph = handle;
  data.graphExec = *result;
  LogLine("exec").Add("id", exec->id).Add("graph", original->id).Add("nodes", exec->clone->nodes.size());
  Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, original->context, nullptr, &data);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::DestroyExec(CUgraphExec handle) {
  auto* exec = FromHandle<GraphExec>(handle);
  {
    std::lock_guard lock(mutex_);
    if (!execs_.IsAlive(handle)) return CUDA_ERROR_INVALID_VALUE;
  }
  CUpti_GraphData data{};
  data.graphExec = handle;
  Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, exec->clone->context, nullptr, &data);
  std::lock_guard lock(mutex_);
  ReleaseGraph(exec->clone);
  execs_.Release(exec);
  return CUDA_SUCCESS;
}

CUresult FakeDriver::SetExecNodeParams(CUgraphExec exec_handle, CUgraphNode node_handle, CUfunction function_handle,
                                       const LaunchShape& shape) {
  Node* clone = nullptr;
  {
    std::lock_guard lock(mutex_);
    Function* function = ResolveFunction(function_handle, true);
    if (!execs_.IsAlive(exec_handle) || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (Node* node : FromHandle<GraphExec>(exec_handle)->clone->nodes) {
      if (node->original == FromHandle<Node>(node_handle)) clone = node;
    }
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    clone->function = function;
    clone->shape = shape;
  }
  if (GetScenario().cupti_version >= 130000) {  // The callback is new in 13.0.
    CUpti_GraphData data{};
    data.graph = ToHandle<CUgraph>(clone->graph);
    data.node = ToHandle<CUgraphNode>(clone);
    data.originalNode = node_handle;
    data.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
    data.graphExec = exec_handle;
    Resource(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, clone->graph->context, nullptr, &data);
  }
  return CUDA_SUCCESS;
}

CUresult FakeDriver::LaunchGraph(const char* api, CUgraphExec handle, CUstream stream_handle, bool per_thread,
                                 uint32_t correlation_id) {
  WaitForRoom(stream_handle, per_thread);
  std::vector<Work> known;
  const Stream* blocking = nullptr;
  uint32_t exec_id = 0;
  uint32_t stream_id = 0;
  uint32_t context_id = 0;
  CUresult result = CUDA_SUCCESS;
  {
    std::lock_guard lock(mutex_);
    Context* context = CurrentContext();
    Stream* stream = context == nullptr ? nullptr : FindStream(context, stream_handle, per_thread);
    if (context == nullptr) {
      result = CUDA_ERROR_INVALID_CONTEXT;
    } else if (!execs_.IsAlive(handle) || stream == nullptr) {
      result = CUDA_ERROR_INVALID_HANDLE;
    } else {
      const auto* exec = FromHandle<GraphExec>(handle);
      exec_id = exec->id;
      stream_id = stream->id;
      context_id = context->id;
      blocking = stream;
      for (const Node* node : exec->clone->nodes) {
        Work work;
        work.context_id = context_id;
        work.correlation_id = correlation_id;
        work.graph_exec_id = exec->id;
        work.graph_node_id = node->id;
        work.name = node->function->record_name;
        work.shape = node->shape;
        work.attributes = node->function->attributes;
        AskObserver(&work);
        Schedule(stream, node->function->attributes.duration_ns, EndOf(node->function->name), work, &known);
      }
    }
  }
  LogLine("graph_launch")
      .Add("api", api)
      .Add("thread", ThreadId())
      .Add("correlation", correlation_id)
      .Add("stream", stream_id)
      .Add("exec", exec_id)
      .Add("result", static_cast<uint64_t>(result));
  Report(known);
  if (GpuObserver* watcher = observer();
      blocking != nullptr && watcher != nullptr && watcher->BlocksLaunches(context_id)) {
    WaitStreamIdle(blocking);
  }
  return result;
}

bool FakeDriver::GraphId(CUgraph handle, uint32_t* id) {
  std::lock_guard lock(mutex_);
  if (!graphs_.IsAlive(handle)) return false;
  *id = FromHandle<Graph>(handle)->id;
  return true;
}

bool FakeDriver::GraphNodeId(CUgraphNode handle, uint64_t* id) {
  std::lock_guard lock(mutex_);
  if (!nodes_.IsAlive(handle)) return false;
  *id = FromHandle<Node>(handle)->id;
  return true;
}

bool FakeDriver::GraphExecId(CUgraphExec handle, uint32_t* id) {
  std::lock_guard lock(mutex_);
  if (!execs_.IsAlive(handle)) return false;
  *id = FromHandle<GraphExec>(handle)->id;
  return true;
}

}  // namespace gx::fakes
