// The smallest injection library: subscribes, enables everything that the fakes can report, and appends what it was
// told to the file PROBE_OUTPUT, one line per fact. It is the fakes' own test: what a client sees must be what the
// fakes' log says that they did.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/fakes/probe_counters.h"

namespace {

void Finish();

int output = -1;
void* library = nullptr;

#define GX_PROBE_FUNCTIONS(X)       \
  X(cuptiSubscribe)                 \
  X(cuptiEnableDomain)              \
  X(cuptiEnableCallback)            \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable)            \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)     \
  X(cuptiActivityGetNumDroppedRecords)

struct Table {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_PROBE_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
} table;

__attribute__((format(printf, 1, 2))) void Report(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  [[maybe_unused]] const ssize_t written = write(output, line, static_cast<size_t>(length));
}

void OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& api = *static_cast<const CUpti_CallbackData*>(data);
    const bool is_exit = api.callbackSite == CUPTI_API_EXIT;
    if (!is_exit) *api.correlationData = api.correlationId * 3ull;
    if (is_exit && gx::fakes::ProbeCountersWanted()) gx::fakes::ProbePop(Report);
    Report("api site=%d id=%u function=%s correlation=%u context=%u symbol=%s data_kept=%d result=%d\n",
           static_cast<int>(is_exit), id, api.functionName, api.correlationId, api.contextUid,
           api.symbolName == nullptr ? "-" : api.symbolName,
           static_cast<int>(*api.correlationData == api.correlationId * 3ull),
           is_exit ? static_cast<int>(*static_cast<CUresult*>(api.functionReturnValue)) : 0);
    if (!is_exit && gx::fakes::ProbeCountersWanted()) {
      gx::fakes::ProbePush(library, api.context, api.symbolName, Report);
      // Its own end comes before that of what the first session made.
      static const int registered = atexit(Finish);
      if (registered != 0) Report("atexit failed\n");
    }
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    Report("resource id=%u\n", id);
  }
}

void OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *size = 16 * 1024;
  *max_records = 0;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
}

void OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (table.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      Report("record kind=%d\n", static_cast<int>(record->kind));
      continue;
    }
    const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    Report("kernel correlation=%u start=%llu end=%llu name=%s grid=%d,%d,%d graph=%u node=%llu\n", kernel.correlationId,
           static_cast<unsigned long long>(kernel.start), static_cast<unsigned long long>(kernel.end), kernel.name,
           kernel.gridX, kernel.gridY, kernel.gridZ, kernel.graphId,
           static_cast<unsigned long long>(kernel.graphNodeId));
  }
  free(buffer);
}

void Finish() {
  static bool finished = false;
  if (std::exchange(finished, true)) return;
  if (gx::fakes::ProbeCountersWanted()) gx::fakes::ProbeFinishCounters(Report);
  if (table.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != CUPTI_SUCCESS) return;
  size_t dropped = 0;
  table.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  Report("finished dropped=%zu\n", dropped);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = getenv("PROBE_OUTPUT");
  const char* cupti = getenv("PROBE_CUPTI");
  if (path == nullptr || cupti == nullptr) return 0;
  output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  library = dlopen(cupti, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    Report("no cupti\n");
    return 0;
  }
#define GX_GET(name) table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name));
  GX_PROBE_FUNCTIONS(GX_GET)
#undef GX_GET
  CUpti_SubscriberHandle handle = nullptr;
  const CUptiResult subscribed = table.cuptiSubscribe(&handle, OnCallback, nullptr);
  Report("subscribed %d\n", static_cast<int>(subscribed));
  if (subscribed != CUPTI_SUCCESS) return 1;
  // One id on its own: nothing else of the driver domain may ever arrive.
  table.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  table.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
  table.cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RESOURCE);
  table.cuptiActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted);
  // Counters and kernel records disturb each other.
  const bool both = getenv("PROBE_BOTH") != nullptr;
  if (both || !gx::fakes::ProbeCountersWanted()) {
    const CUptiResult enabled = table.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    Report("enabled %d\n", static_cast<int>(enabled));
  }
  atexit(Finish);
  return 1;
}
