// A CuptiApi whose functions answer from their arguments: the id of a handle is its address. For tests and benchmarks
// of what calls CUPTI; one per process, reset by MakeFakeCupti. Calls may come from several threads.
#ifndef GPUEXEC_TESTS_INJECT_FAKE_CUPTI_TABLE_H_
#define GPUEXEC_TESTS_INJECT_FAKE_CUPTI_TABLE_H_

#include <atomic>
#include <cstdint>

#include "inject/cupti_api.h"

namespace gx::inject {

template <typename HandleType>
HandleType FakeHandle(uintptr_t number) {
  return reinterpret_cast<HandleType>(number);
}

struct FakeCupti {
  std::atomic<uint32_t> stream_id_calls{0};
  std::atomic<uint32_t> graph_exec_id_calls{0};
  std::atomic<uint32_t> enabled_callbacks{0};
  // Callback ids and activity kinds that are refused; 0: none.
  std::atomic<uint32_t> refused_callback{0};
  std::atomic<uint64_t> refused_kinds_mask{0};
  std::atomic<uint64_t> enabled_kinds_mask{0};
  std::atomic<bool> ids_refused{false};
  // Called inside cuptiGetStreamIdEx: what a call of ours into CUPTI may provoke.
  void (*inside_stream_id)() = nullptr;
};

inline FakeCupti& TheFakeCupti() {
  static FakeCupti fake;
  return fake;
}

inline CuptiApi MakeFakeCupti() {
  FakeCupti& fake = TheFakeCupti();
  fake.stream_id_calls = 0;
  fake.graph_exec_id_calls = 0;
  fake.enabled_callbacks = 0;
  fake.refused_callback = 0;
  fake.refused_kinds_mask = 0;
  fake.enabled_kinds_mask = 0;
  fake.ids_refused = false;
  fake.inside_stream_id = nullptr;

  CuptiApi api;
  api.version = 130001;
  api.cuptiEnableCallback = [](uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    FakeCupti& cupti = TheFakeCupti();
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == cupti.refused_callback) return CUPTI_ERROR_NOT_SUPPORTED;
    cupti.enabled_callbacks.fetch_add(1);
    return CUPTI_SUCCESS;
  };
  api.cuptiActivityEnable = [](CUpti_ActivityKind kind) {
    FakeCupti& cupti = TheFakeCupti();
    const uint64_t bit = uint64_t{1} << static_cast<uint32_t>(kind);
    if ((cupti.refused_kinds_mask & bit) != 0) return CUPTI_ERROR_NOT_COMPATIBLE;
    cupti.enabled_kinds_mask.fetch_or(bit);
    return CUPTI_SUCCESS;
  };
  api.cuptiActivityDisable = [](CUpti_ActivityKind kind) {
    TheFakeCupti().enabled_kinds_mask.fetch_and(~(uint64_t{1} << static_cast<uint32_t>(kind)));
    return CUPTI_SUCCESS;
  };
  api.cuptiActivityGetNumDroppedRecords = [](CUcontext, uint32_t, size_t* dropped) {
    *dropped = 0;
    return CUPTI_SUCCESS;
  };
  api.cuptiActivityGetNextRecord = [](uint8_t*, size_t, CUpti_Activity**) { return CUPTI_ERROR_MAX_LIMIT_REACHED; };
  api.cuptiGetTimestamp = [](uint64_t* timestamp) {
    *timestamp = 1;
    return CUPTI_SUCCESS;
  };
  api.cuptiGetContextId = [](CUcontext context, uint32_t* id) {
    if (TheFakeCupti().ids_refused) return CUPTI_ERROR_INVALID_CONTEXT;
    *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context));
    return CUPTI_SUCCESS;
  };
  // Contexts 100 to 199 belong to device 1, and so on.
  api.cuptiGetDeviceId = [](CUcontext context, uint32_t* id) {
    *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) / 100);
    return CUPTI_SUCCESS;
  };
  // A thread's own default stream is 1000 further.
  api.cuptiGetStreamIdEx = [](CUcontext, CUstream stream, uint8_t per_thread, uint32_t* id) {
    FakeCupti& cupti = TheFakeCupti();
    cupti.stream_id_calls.fetch_add(1);
    if (cupti.inside_stream_id != nullptr) cupti.inside_stream_id();
    if (cupti.ids_refused) return CUPTI_ERROR_INVALID_STREAM;
    *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream)) + (per_thread != 0 ? 1000 : 0);
    return CUPTI_SUCCESS;
  };
  api.cuptiGetGraphId = [](CUgraph graph, uint32_t* id) {
    *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(graph));
    return CUPTI_SUCCESS;
  };
  api.cuptiGetGraphExecId = [](CUgraphExec graph, uint32_t* id) {
    TheFakeCupti().graph_exec_id_calls.fetch_add(1);
    *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(graph));
    return CUPTI_SUCCESS;
  };
  api.cuptiGetGraphNodeId = [](CUgraphNode node, uint64_t* id) {
    *id = reinterpret_cast<uintptr_t>(node);
    return CUPTI_SUCCESS;
  };
  return api;
}

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_INJECT_FAKE_CUPTI_TABLE_H_
