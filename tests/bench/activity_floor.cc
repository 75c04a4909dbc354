// The least that a CUPTI library can do which has every kernel timed: kernel activity is on, buffers are thrown away
// unread. What it adds to a launch is CUPTI's own cost, the floor under every tool that times kernels.
// libgx_activity_floor.so is loaded by CUDA_INJECTION64_PATH as gpuexec's library is. A library to measure against,
// nothing to use.
//
//   GX_FLOOR_CUPTI=PATH    the libcupti to use (default: libcupti.so.13, where the loader looks)
//   GX_FLOOR=activity      kernel activity alone (the default)
//           =callbacks     callbacks of launches alone, which return at once
//           =both
//           =domain        kernel activity, and callbacks of every call of the driver, which return at once
//           =nothing       attached as a subscriber, nothing else
//   GX_FLOOR_ALSO=1,2      other kinds beside that, by CUpti_ActivityKind's numbers: what do they add?
//   GX_FLOOR_FLUSH_MS=500  a thread that asks for complete buffers so often
//   GX_FLOOR_TOGGLE_MS=N   N ms later the kernel kind is switched off and on again, as windows of counters do
//   GX_FLOOR_DUTY_MS=A,B   kernel activity for A ms, detached for B ms (cuptiFinalize, in a callback at the return of a
//                          call of the program, as CUPTI's guide asks), and so on; "duty CYCLES RECORDS" on stderr
//   GX_FLOOR_PROFILER_MS=A,B  cuptiProfilerInitialize after A ms, given up B ms later (0: never), and so on
//   GX_FLOOR_CLOCK=1       callbacks read the clock
//   GX_FLOOR_REQUIRED=1    ends the program where that cannot be had: a figure without it would be one of nothing
#include <cupti.h>
#include <cupti_profiler_target.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <thread>

namespace {

// As large as gpuexec's, so that as many come back per second.
constexpr size_t kBufferBytes = size_t{1} << 20;

void CUPTIAPI Requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI Completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

bool g_reads_clock = false;
volatile int64_t g_clock_sum = 0;

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
  if (!g_reads_clock) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  g_clock_sum = now.tv_nsec;
}

// What a mode that detaches rests on: does a program with many threads live through it, and are records lost?
struct Duty {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;
  // 0: stay. 1: the next call that returns is to detach. 2: one does. 3: it has.
  std::atomic<int> detach{0};
  std::atomic<uint64_t> cycles{0};
  std::atomic<uint64_t> records{0};
};
// Never destroyed: threads of the program may still be in a callback.
Duty& g_duty = *new Duty;

void CUPTIAPI CountRecords(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (valid_bytes != 0 && g_duty.next(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) g_duty.records.fetch_add(1);
  }
  std::free(buffer);
}

void CUPTIAPI OnDutyCall(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) return;
  int wanted = 1;
  if (!g_duty.detach.compare_exchange_strong(wanted, 2)) return;
  const CUptiResult result = g_duty.finalize();
  if (result != CUPTI_SUCCESS) std::fprintf(stderr, "activity floor: cuptiFinalize: %d\n", static_cast<int>(result));
  g_duty.detach.store(3);
}

CUptiResult AttachForDuty() {
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = g_duty.subscribe(&subscriber, OnDutyCall, nullptr);
  if (result == CUPTI_SUCCESS) result = g_duty.register_callbacks(Requested, CountRecords);
  if (result == CUPTI_SUCCESS) result = g_duty.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  // The runtime's calls and the driver's: whichever returns first.
  if (result == CUPTI_SUCCESS) result = g_duty.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  if (result == CUPTI_SUCCESS) result = g_duty.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  return result;
}

void RunDuty(int attached_ms, int detached_ms) {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(attached_ms));
    g_duty.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    g_duty.detach.store(1);
    while (g_duty.detach.load() != 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(detached_ms));
    g_duty.detach.store(0);
    const CUptiResult result = AttachForDuty();
    if (result != CUPTI_SUCCESS) {
      std::fprintf(stderr, "activity floor: CUPTI error %d on attaching again\n", static_cast<int>(result));
      std::_Exit(3);
    }
    g_duty.cycles.fetch_add(1);
  }
}

void SayDuty() {
  std::fprintf(stderr, "duty %llu %llu\n", static_cast<unsigned long long>(g_duty.cycles.load()),
               static_cast<unsigned long long>(g_duty.records.load()));
}

double MsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Hardware counters made ready, as they are before a session, and given up again. Says how long each call took.
void ReadyCounters(decltype(&cuptiProfilerInitialize) begin, decltype(&cuptiProfilerDeInitialize) end, int after_ms,
                   int for_ms) {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    CUpti_Profiler_Initialize_Params ready = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE, nullptr};
    auto called = std::chrono::steady_clock::now();
    CUptiResult result = begin(&ready);
    std::fprintf(stderr, "profiler ready: %d, %.2f ms\n", static_cast<int>(result), MsSince(called));
    if (result != CUPTI_SUCCESS || for_ms == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(for_ms));
    CUpti_Profiler_DeInitialize_Params given_up = {CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE, nullptr};
    called = std::chrono::steady_clock::now();
    result = end(&given_up);
    std::fprintf(stderr, "profiler given up: %d, %.2f ms\n", static_cast<int>(result), MsSince(called));
  }
}

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) std::fprintf(stderr, "activity floor: libcupti has no %s\n", name);
  return *function != nullptr;
}

int Refuse() {
  if (std::getenv("GX_FLOOR_REQUIRED") != nullptr) std::_Exit(3);
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("GX_FLOOR_CUPTI");
  void* library = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "activity floor: %s\n", dlerror());
    return Refuse();
  }
  const char* mode = std::getenv("GX_FLOOR");
  if (mode == nullptr) mode = "activity";
  const bool both = std::strcmp(mode, "both") == 0;
  const bool domain = std::strcmp(mode, "domain") == 0;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiEnableDomain) enable_domain;
  if (!Find(library, "cuptiActivityRegisterCallbacks", &register_callbacks) ||
      !Find(library, "cuptiActivityEnable", &enable) || !Find(library, "cuptiSubscribe", &subscribe) ||
      !Find(library, "cuptiActivityFlushAll", &flush) || !Find(library, "cuptiActivityDisable", &disable) ||
      !Find(library, "cuptiEnableDomain", &enable_domain) || !Find(library, "cuptiEnableCallback", &enable_callback)) {
    return Refuse();
  }
  if (const char* duty = std::getenv("GX_FLOOR_DUTY_MS")) {
    int attached_ms = 0;
    int detached_ms = 0;
    if (std::sscanf(duty, "%d,%d", &attached_ms, &detached_ms) != 2 ||
        !Find(library, "cuptiSubscribe", &g_duty.subscribe) ||
        !Find(library, "cuptiEnableDomain", &g_duty.enable_domain) ||
        !Find(library, "cuptiActivityRegisterCallbacks", &g_duty.register_callbacks) ||
        !Find(library, "cuptiActivityEnable", &g_duty.enable) ||
        !Find(library, "cuptiActivityFlushAll", &g_duty.flush) ||
        !Find(library, "cuptiActivityGetNextRecord", &g_duty.next) ||
        !Find(library, "cuptiFinalize", &g_duty.finalize) || AttachForDuty() != CUPTI_SUCCESS) {
      return Refuse();
    }
    std::atexit(SayDuty);
    std::thread(RunDuty, attached_ms, detached_ms).detach();
    return 1;
  }
  g_reads_clock = std::getenv("GX_FLOOR_CLOCK") != nullptr;
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = subscribe(&subscriber, OnCall, nullptr);
  if (both || std::strcmp(mode, "callbacks") == 0) {
    for (const CUpti_CallbackId id :
         {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz}) {
      if (result == CUPTI_SUCCESS) result = enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }
  if (domain && result == CUPTI_SUCCESS) result = enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (both || domain || std::strcmp(mode, "activity") == 0) {
    if (result == CUPTI_SUCCESS) result = register_callbacks(Requested, Completed);
    if (result == CUPTI_SUCCESS) result = enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    const char* also = std::getenv("GX_FLOOR_ALSO");
    while (also != nullptr && *also != '\0' && result == CUPTI_SUCCESS) {
      char* end = nullptr;
      result = enable(static_cast<CUpti_ActivityKind>(std::strtol(also, &end, 10)));
      also = *end == ',' ? end + 1 : end;
    }
    if (const char* toggle = std::getenv("GX_FLOOR_TOGGLE_MS")) {
      std::thread([enable, disable, toggle_ms = std::atoi(toggle)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(toggle_ms));
        if (disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS ||
            enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
          std::fprintf(stderr, "activity floor: the kernel kind cannot be switched\n");
        }
      }).detach();
    }
    if (const char* profiler = std::getenv("GX_FLOOR_PROFILER_MS")) {
      int after_ms = 0;
      int for_ms = 0;
      decltype(&cuptiProfilerInitialize) begin;
      decltype(&cuptiProfilerDeInitialize) end;
      if (std::sscanf(profiler, "%d,%d", &after_ms, &for_ms) != 2 ||
          !Find(library, "cuptiProfilerInitialize", &begin) || !Find(library, "cuptiProfilerDeInitialize", &end)) {
        return Refuse();
      }
      std::thread(ReadyCounters, begin, end, after_ms, for_ms).detach();
    }
    const char* period = std::getenv("GX_FLOOR_FLUSH_MS");
    if (period != nullptr) {
      std::thread([flush, period_ms = std::atoi(period)] {
        for (;;) {
          std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
          flush(0);
        }
      }).detach();
    }
  }
  if (result == CUPTI_SUCCESS) return 1;
  std::fprintf(stderr, "activity floor: CUPTI error %d\n", static_cast<int>(result));
  return Refuse();
}
