#include "tests/gpu/host_lives_client.h"

#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tests/gpu/host_lives_state.h"

namespace gx::lives {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr char kName[] = "gx-host-lives";
// Where no libcupti is mapped: where toolkits have it, then wherever the loader finds one.
constexpr const char* kPlaces[] = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                   "/usr/local/cuda/lib64/libcupti.so", "libcupti.so.13", "libcupti.so.12",
                                   "libcupti.so"};

struct Functions {
  decltype(::cuptiSubscribe)* subscribe = nullptr;
  decltype(::cuptiSubscribe_v2)* subscribe_v2 = nullptr;  // Of CUDA 13.
  decltype(::cuptiEnableDomain)* enable_domain = nullptr;
  decltype(::cuptiActivityRegisterCallbacks)* register_callbacks = nullptr;
  decltype(::cuptiActivityEnable)* enable = nullptr;
  decltype(::cuptiActivityDisable)* disable = nullptr;
  decltype(::cuptiActivityFlushAll)* flush_all = nullptr;
  decltype(::cuptiActivityGetNextRecord)* next_record = nullptr;
};

Functions cupti;
std::atomic<uint64_t> callbacks{0};
std::atomic<uint64_t> records{0};
std::atomic<uint64_t> foreign{0};
std::atomic<uint64_t> foreign_kernels{0};
std::mutex lent_mutex;

// Buffers that were given out and are not back. Never destroyed: buffers may come while the program ends.
std::set<const uint8_t*>& Lent() {
  static auto& lent = *new std::set<const uint8_t*>;
  return lent;
}

template <typename Function>
bool Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

// The libcupti that the process has. Empty: none.
std::string MappedCupti() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find("/libcupti.so", path) != std::string::npos) return line.substr(path);
  }
  return {};
}

bool Tell(const char* function, CUptiResult result) {
  Note(std::string("client ") + function + " " + std::to_string(static_cast<int>(result)));
  return result == CUPTI_SUCCESS;
}

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_ENTER || call->functionName == nullptr) return;
  if (std::string_view(call->functionName).starts_with("cuLaunchKernel")) callbacks.fetch_add(1);
}

void CUPTIAPI Requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
  const std::lock_guard lock(lent_mutex);
  Lent().insert(*buffer);
}

void CUPTIAPI Completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  bool own = false;
  {
    const std::lock_guard lock(lent_mutex);
    own = Lent().erase(buffer) != 0;
  }
  uint64_t kernels = 0;
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL;
  }
  (own ? records : foreign_kernels).fetch_add(kernels);
  if (own) {
    std::free(buffer);
  } else {
    foreign.fetch_add(1);
  }
}

}  // namespace

bool LoadClient() {
  const std::string mapped = MappedCupti();
  void* library = mapped.empty() ? nullptr : dlopen(mapped.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* place : kPlaces) {
    if (library == nullptr) library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return false;
  Note("client uses " + (mapped.empty() ? std::string("its own choice") : mapped));
  (void)Find(library, "cuptiSubscribe_v2", &cupti.subscribe_v2);
  return Find(library, "cuptiSubscribe", &cupti.subscribe) &&
         Find(library, "cuptiEnableDomain", &cupti.enable_domain) &&
         Find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
         Find(library, "cuptiActivityEnable", &cupti.enable) && Find(library, "cuptiActivityDisable", &cupti.disable) &&
         Find(library, "cuptiActivityFlushAll", &cupti.flush_all) &&
         Find(library, "cuptiActivityGetNextRecord", &cupti.next_record);
}

bool Subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cupti.subscribe_v2 != nullptr) {
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = kName;
    if (!Tell("subscribe_v2", cupti.subscribe_v2(&subscriber, OnCall, nullptr, &parameters))) return false;
  } else if (!Tell("subscribe", cupti.subscribe(&subscriber, OnCall, nullptr))) {
    return false;
  }
  return Tell("enable_domain", cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
}

uint64_t launch_callbacks() { return callbacks.load(); }

bool TakeBuffers() { return Tell("register", cupti.register_callbacks(Requested, Completed)); }

void SwitchKernelRecords(bool on) {
  (void)Tell(on ? "enable" : "disable", on ? cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                                           : cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

void Flush() {
  (void)Tell("flush", cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  Note("client_records " + std::to_string(records.load()));
  Note("client_foreign_buffers " + std::to_string(foreign.load()));
  Note("client_foreign_records " + std::to_string(foreign_kernels.load()));
}

uint64_t own_records() { return records.load(); }

}  // namespace gx::lives
