// The fake libcupti: the exported CUPTI functions, and the observer that turns what the fake driver reports into the
// callbacks and records that a client has enabled; nothing that is not enabled ever reaches a client.
//
// GX_FAKE_CUPTI_12 builds the library of CUDA 12, which lacks the functions that came with 13.0.
#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "tests/fakes/fake_activity.h"
#include "tests/fakes/fake_client_call.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/fake_log.h"
#ifndef GX_FAKE_CUPTI_12
#include "tests/fakes/fake_range_profiler.h"
#endif
#include "tests/fakes/fake_records.h"
#include "tests/fakes/fake_scenario.h"

struct CUpti_Subscriber_st {
  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
};

namespace gx::fakes {
namespace {

constexpr size_t kCallbackIdCount = 1024;  // More than any domain has.

// The one client, and what it has switched on.
class CallbackTable final : public GpuObserver {
 public:
  static CallbackTable& Get() {
    static auto& table = *new CallbackTable();
    return table;
  }

  CUptiResult Subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata, const char* name) {
    if (handle == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!GetScenario().other_subscriber.empty() || subscribed_.exchange(true)) {
      return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    std::strncpy(subscriber_.name, (std::string("CUPTI for ") + (name == nullptr ? "?" : name)).c_str(),
                 sizeof(subscriber_.name) - 1);
    callback_ = callback;
    userdata_ = userdata;
    *handle = &subscriber_;
    return CUPTI_SUCCESS;
  }

  CUptiResult Unsubscribe(CUpti_SubscriberHandle handle) {
    if (!IsSubscriber(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
    for (auto& domain : enabled_) {
      for (auto& flag : domain) flag.store(false);
    }
    subscribed_.store(false);
    return CUPTI_SUCCESS;
  }

  CUptiResult Enable(bool enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    if (!IsSubscriber(handle) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE ||
        id >= kCallbackIdCount) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    enabled_[domain][id].store(enable);
    return CUPTI_SUCCESS;
  }

  CUptiResult EnableDomain(bool enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
    for (uint32_t id = 1; id < kCallbackIdCount; ++id) {
      const CUptiResult result = Enable(enable, handle, domain, id);
      if (result != CUPTI_SUCCESS) return result;
    }
    return CUPTI_SUCCESS;
  }

  const char* SubscriberName() const {
    const std::string& other = GetScenario().other_subscriber;
    return other.empty() ? subscriber_.name : other.c_str();
  }

  void OnApi(ApiCall* call, bool is_exit) override {
    RecordCall(call, is_exit);
    if (!enabled_[CUPTI_CB_DOMAIN_DRIVER_API][call->callback_id].load()) return;
    CUpti_CallbackData data{};
    data.callbackSite = is_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER;
    data.functionName = call->function_name;
    data.functionParams = call->params;
    data.functionReturnValue = is_exit ? &call->result : nullptr;
    data.symbolName = call->symbol_name;
    data.context = call->context;
    data.contextUid = call->context_id;
    data.correlationData = &call->observer_data;
    data.correlationId = call->correlation_id;
    const bool is_launch = std::strstr(call->function_name, "Launch") != nullptr;
    Call(CUPTI_CB_DOMAIN_DRIVER_API, call->callback_id, &data, is_launch);
  }

  void OnResource(uint32_t callback_id, CUcontext context, CUstream stream, void* descriptor) override {
    if (enabled_[CUPTI_CB_DOMAIN_RESOURCE][callback_id].load()) {
      CUpti_ResourceData data{};
      data.context = context;
      data.resourceHandle.stream = stream;
      data.resourceDescriptor = descriptor;
      Call(CUPTI_CB_DOMAIN_RESOURCE, callback_id, &data, false);
    }
#ifndef GX_FAKE_CUPTI_12
    uint32_t context_id = 0;
    if (callback_id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING && FindDriver()->context_id(context, &context_id)) {
      CheckNoSession(context_id);
    }
#endif
  }

  void OnSynchronized(uint32_t callback_id, CUcontext context, CUstream stream) override {
    if (!enabled_[CUPTI_CB_DOMAIN_SYNCHRONIZE][callback_id].load()) return;
    CUpti_SynchronizeData data{context, stream};
    Call(CUPTI_CB_DOMAIN_SYNCHRONIZE, callback_id, &data, false);
  }

  bool OnQueued(const Work& work) override {
    const bool traced = ActivityEngine::Get().IsEnabled(RecordKind(work.kind));
#ifndef GX_FAKE_CUPTI_12
    CountInOpenRanges(work, traced && work.kind == WorkKind::kKernel);
#endif
    return traced;
  }

  void OnWork(const Work& work) override { ActivityEngine::Get().Add(work); }

  bool BlocksLaunches([[maybe_unused]] uint32_t context_id) override {
#ifdef GX_FAKE_CUPTI_12
    return false;
#else
    return RangeBlocksLaunches(context_id);
#endif
  }

  CUptiResult Name(uint32_t callback_id, const char** name) {
    if (callback_id >= names_.size()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = names_[callback_id].load();
    return *name == nullptr ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
  }

 private:
  // A record of the call, where kind DRIVER is on, and the function's name, for whoever asks.
  void RecordCall(ApiCall* call, bool is_exit) {
    if (!is_exit) {
      call->enter_ns = GpuNowNs();
      return;
    }
    if (call->callback_id < names_.size()) names_[call->callback_id].store(call->function_name);
    Work work;
    work.kind = WorkKind::kDriverCall;
    work.correlation_id = call->correlation_id;
    work.start_ns = call->enter_ns;
    work.end_ns = GpuNowNs();
    work.type = call->callback_id;
    work.value = static_cast<uint32_t>(call->result);
    ActivityEngine::Get().Add(work);
  }

  bool IsSubscriber(CUpti_SubscriberHandle handle) const { return handle == &subscriber_ && subscribed_.load(); }

  void Call(CUpti_CallbackDomain domain, uint32_t callback_id, const void* data, bool is_launch) {
    FindDriver()->enter_callback(is_launch);
    callback_(userdata_, domain, callback_id, data);
    FindDriver()->leave_callback(is_launch);
  }

  std::atomic<bool> subscribed_{false};
  CUpti_Subscriber_st subscriber_{};
  CUpti_CallbackFunc callback_ = nullptr;
  void* userdata_ = nullptr;
  std::atomic<bool> enabled_[CUPTI_CB_DOMAIN_SIZE][kCallbackIdCount] = {};
  // Of functions that were called; literals.
  std::array<std::atomic<const char*>, kCallbackIdCount> names_{};
};

// As BeginCall, for calls that belong into the log.
CUptiResult BeginLogged(const char* function, uint64_t argument = 0) {
  const CUptiResult result = BeginCall(function, argument);
  LogLine("cupti")
      .Add("function", function)
      .Add("argument", argument)
      .Add("result", static_cast<uint64_t>(result))
      .Add("pid", static_cast<uint64_t>(getpid()));
  if (result == CUPTI_SUCCESS && FindDriver() != nullptr) FindDriver()->attach(&CallbackTable::Get());
  return result;
}

CUptiResult FoundOr(bool found, CUptiResult otherwise) { return found ? CUPTI_SUCCESS : otherwise; }

}  // namespace
}  // namespace gx::fakes

using namespace gx::fakes;  // NOLINT: the rest of this file is the C interface.

#define GX_BEGIN(...)                                                                 \
  if (const CUptiResult refused = BeginCall(__VA_ARGS__); refused != CUPTI_SUCCESS) { \
    return refused;                                                                   \
  }
#define GX_BEGIN_LOGGED(...)                                                            \
  if (const CUptiResult refused = BeginLogged(__VA_ARGS__); refused != CUPTI_SUCCESS) { \
    return refused;                                                                     \
  }

GX_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  GX_BEGIN("cuptiGetVersion");
  *version = GetScenario().cupti_version;
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  GX_BEGIN("cuptiGetTimestamp");
  *timestamp = GpuNowNs();
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return CUPTI_ERROR_INVALID_PARAMETER;
  return CallbackTable::Get().Name(cbid, name);
}

GX_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "no error" : "an error of the fake";
  return CUPTI_SUCCESS;
}

// ----------------------------------------------------------------------------------------------- callbacks

GX_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata) {
  GX_BEGIN_LOGGED("cuptiSubscribe");
  return CallbackTable::Get().Subscribe(handle, callback, userdata, nullptr);
}

#ifndef GX_FAKE_CUPTI_12
GX_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                                        CUpti_SubscriberParams* params) {
  GX_BEGIN_LOGGED("cuptiSubscribe_v2");
  if (params != nullptr && params->structSize != CUpti_SubscriberParams_STRUCT_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const CUptiResult result =
      CallbackTable::Get().Subscribe(handle, callback, userdata, params == nullptr ? nullptr : params->subscriberName);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params != nullptr &&
      params->oldSubscriberName != nullptr && params->oldSubscriberSize > 0) {
    std::strncpy(params->oldSubscriberName, CallbackTable::Get().SubscriberName(), params->oldSubscriberSize - 1);
    params->oldSubscriberName[params->oldSubscriberSize - 1] = '\0';
  }
  return result;
}
#endif

GX_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  GX_BEGIN_LOGGED("cuptiUnsubscribe");
  return CallbackTable::Get().Unsubscribe(handle);
}

GX_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                          CUpti_CallbackId id) {
  GX_BEGIN_LOGGED("cuptiEnableCallback", static_cast<uint64_t>(domain) * 100'000 + id);
  return CallbackTable::Get().Enable(enable != 0, handle, domain, id);
}

GX_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  GX_BEGIN_LOGGED("cuptiEnableDomain", static_cast<uint64_t>(domain));
  return CallbackTable::Get().EnableDomain(enable != 0, handle, domain);
}

// ------------------------------------------------------------------------------------------------ activity

GX_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                     CUpti_BuffersCallbackCompleteFunc complete) {
  GX_BEGIN_LOGGED("cuptiActivityRegisterCallbacks");
  return ActivityEngine::Get().Register(request, complete);
}

GX_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  GX_BEGIN_LOGGED("cuptiActivityEnable", static_cast<uint64_t>(kind));
  return ActivityEngine::Get().Enable(kind);
}

GX_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  GX_BEGIN_LOGGED("cuptiActivityDisable", static_cast<uint64_t>(kind));
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && GetScenario().cupti_version == 130000) {
    LogViolation("kernel records are switched off with a CUPTI that may deadlock there");
  }
  return ActivityEngine::Get().Disable(kind);
}

GX_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  GX_BEGIN_LOGGED("cuptiActivityFlushAll", flag);
  while (GetScenario().flush_hangs) pause();
  ActivityEngine::Get().Flush(flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t) {
  GX_BEGIN_LOGGED("cuptiActivityFlushPeriod");
  return CUPTI_SUCCESS;
}

// Walks by the sizes of the version's own records: a client that assumed another layout would go astray.
GX_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  GX_BEGIN("cuptiActivityGetNextRecord");
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint32_t version = GetScenario().cupti_version;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const size_t size_bytes = RecordBytes((*record)->kind, version);
    if (size_bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + size_bytes;
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return RecordBytes((*record)->kind, version) == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped_count) {
  GX_BEGIN("cuptiActivityGetNumDroppedRecords");
  *dropped_count = ActivityEngine::Get().TakeDroppedCount();
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size_bytes, void* value) {
  GX_BEGIN_LOGGED("cuptiActivitySetAttribute", static_cast<uint64_t>(attribute));
  if (size_bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
    ActivityEngine::Get().SetClientZeroesBuffers(*static_cast<const uint8_t*>(value) != 0);
  }
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiFinalize() {
  GX_BEGIN_LOGGED("cuptiFinalize");
  return CUPTI_SUCCESS;
}

// ---------------------------------------------------------------------------------------------- identities

GX_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  GX_BEGIN("cuptiGetContextId");
  return FoundOr(FindDriver()->context_id(context, id), CUPTI_ERROR_INVALID_CONTEXT);
}

GX_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  GX_BEGIN("cuptiGetDeviceId");
  return FoundOr(FindDriver()->context_device(context, id), CUPTI_ERROR_INVALID_CONTEXT);
}

GX_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
  GX_BEGIN("cuptiGetStreamIdEx");
  return FoundOr(FindDriver()->stream_id(context, stream, per_thread != 0, id), CUPTI_ERROR_INVALID_STREAM);
}

GX_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  GX_BEGIN("cuptiGetStreamId");
  return FoundOr(FindDriver()->stream_id(context, stream, false, id), CUPTI_ERROR_INVALID_STREAM);
}

GX_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  GX_BEGIN("cuptiGetGraphId");
  return FoundOr(FindDriver()->graph_id(graph, id), CUPTI_ERROR_INVALID_PARAMETER);
}

GX_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  GX_BEGIN("cuptiGetGraphNodeId");
  return FoundOr(FindDriver()->graph_node_id(node, id), CUPTI_ERROR_INVALID_PARAMETER);
}

GX_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  GX_BEGIN("cuptiGetGraphExecId");
  return FoundOr(FindDriver()->graph_exec_id(exec, id), CUPTI_ERROR_INVALID_PARAMETER);
}
