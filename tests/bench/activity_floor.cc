// The least that a CUPTI library can do which has every kernel timed: kernel activity is on, buffers are thrown away
// unread. What it adds to a launch is CUPTI's own cost, the floor under every tool that times kernels.
// libgx_activity_floor.so is loaded by CUDA_INJECTION64_PATH as gpuexec's library is. A library to measure against,
// nothing to use.
//
//   GX_FLOOR_CUPTI=PATH    the libcupti to use (default: libcupti.so.13, where the loader looks)
//   GX_FLOOR=activity      kernel activity alone (the default)
//           =callbacks     callbacks of launches alone, which return at once
//           =both
//           =nothing       attached as a subscriber, nothing else
//   GX_FLOOR_ALSO=1,2      other kinds beside that, by CUpti_ActivityKind's numbers: what do they add?
//   GX_FLOOR_FLUSH_MS=500  a thread that asks for complete buffers so often
//   GX_FLOOR_TOGGLE_MS=N   N ms later the kernel kind is switched off and on again, as windows of counters do
//   GX_FLOOR_CLOCK=1       callbacks read the clock
//   GX_FLOOR_REQUIRED=1    ends the program where that cannot be had: a figure without it would be one of nothing
#include <cupti.h>
#include <dlfcn.h>

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
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  if (!Find(library, "cuptiActivityRegisterCallbacks", &register_callbacks) ||
      !Find(library, "cuptiActivityEnable", &enable) || !Find(library, "cuptiSubscribe", &subscribe) ||
      !Find(library, "cuptiActivityFlushAll", &flush) || !Find(library, "cuptiActivityDisable", &disable) ||
      !Find(library, "cuptiEnableCallback", &enable_callback)) {
    return Refuse();
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
  if (both || std::strcmp(mode, "activity") == 0) {
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
