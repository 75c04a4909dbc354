// What CUPTI's Range Profiler does on the GPU at hand, one row a fact: what the sampler of the injection library rests
// on. Run again with every new CUPTI. Uses the library's own session code; no injection.
//
//   gx-counter-facts [--cupti PATH] [--only NAME] [--list]
//
// Each fact is tried in a process of its own, because some of them leave CUPTI unusable. Rows: fact, value, unit, what
// it means. Exit code 0: every fact was tried, 1: some process died or hung (its row says so).
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "inject/counter_config.h"
#include "inject/counter_planner.h"
#include "inject/cupti_api.h"
#include "inject/cupti_params.h"
#include "inject/metric_catalog.h"
#include "inject/range_session.h"
#include "tests/gpu/counter_facts_kernels.h"

namespace {

using gx::inject::CounterPlan;
using gx::inject::CuptiApi;
using gx::inject::GroupKind;
using gx::inject::PlannedGroup;
using gx::inject::ProfilerHostApi;
using gx::inject::RangeProfilerApi;
using gx::inject::RangeSession;
using gx::inject::RangeValues;
using gx::inject::SamplingWatchdog;

std::string g_cupti_path;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
void Row(const std::string& fact, double value, const char* unit, const std::string& text = "") {
  std::printf("%-44s %14.6g %-6s %s\n", fact.c_str(), value, unit, text.c_str());
  std::fflush(stdout);
}
void Must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

// CUPTI, the plan of `core`, and two arrays of 2^26 floats.
struct Lab {
  static constexpr size_t kElements = size_t{1} << 26;
  CuptiApi cupti;
  ProfilerHostApi host;
  RangeProfilerApi range;
  SamplingWatchdog watchdog;
  CounterPlan plan;
  std::string chip;
  CUcontext context = nullptr;
  float* x = nullptr;
  float* y = nullptr;

  explicit Lab(bool with_plan = true, bool with_profiler = true) {
    std::vector<std::string> problems;
    if (!gx::inject::LoadCupti(g_cupti_path, &cupti, &problems) ||
        (with_profiler && (!gx::inject::LoadProfilerHost(cupti.path, &host, &problems) ||
                           !gx::inject::LoadRangeProfiler(cupti.path, &range, &problems)))) {
      for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
      std::exit(3);
    }
    Must(cudaMalloc(&x, kElements * sizeof(float)), "cudaMalloc");
    Must(cudaMalloc(&y, kElements * sizeof(float)), "cudaMalloc");
    Must(cudaMemset(x, 0, kElements * sizeof(float)), "cudaMemset");
    Must(cudaMemset(y, 0, kElements * sizeof(float)), "cudaMemset");
    Must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    context = Current();
    if (!with_profiler) return;
    GX_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
    const CUptiResult result = range.cuptiProfilerInitialize(&initialize);
    if (result != CUPTI_SUCCESS) Row("cuptiProfilerInitialize", result, "code");
    GX_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, name);
    name.deviceIndex = 0;
    if (range.cuptiDeviceGetChipName(&name) == CUPTI_SUCCESS) chip = name.pChipName;
    if (!with_plan) return;
    std::string problem;
    const auto catalog = gx::inject::MetricCatalog::Open(host, chip, {}, &problem);
    if (catalog == nullptr) {
      std::printf("%s\n", problem.c_str());
      std::exit(3);
    }
    plan = gx::inject::PlanCounters({.set = gx::inject::CounterSet::kCore, .metrics = {}}, catalog->Oracle());
  }

  static CUcontext Current() {
    CUcontext current = nullptr;
    const auto get = reinterpret_cast<decltype(&cuCtxGetCurrent)>(Driver("cuCtxGetCurrent"));
    if (get != nullptr) (void)get(&current);
    return current;
  }
  static void* Driver(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library == nullptr ? nullptr : dlsym(library, name);
  }
  const PlannedGroup& Group(GroupKind kind) const {
    for (const PlannedGroup& group : plan.groups) {
      if (group.kind == kind && !group.is_spare) return group;
    }
    std::printf("no such group\n");
    std::exit(3);
  }
  RangeSession::Options Options(const std::vector<std::string>& metrics, uint32_t max_ranges = 64) const {
    RangeSession::Options options;
    options.context = context;
    options.chip = chip;
    options.metrics = metrics;
    options.max_ranges = max_ranges;
    return options;
  }
  bool Opened(RangeSession* session, const RangeSession::Options& options) const {
    const RangeSession::Failure failure = session->Open(options);
    if (failure.failed()) Row(std::string("  failed: ") + failure.call, failure.result, "code");
    return !failure.failed();
  }
  void LaunchAxpy(cudaStream_t stream = nullptr) const { ::LaunchAxpy(kElements, x, y, stream); }
};

double Value(const std::vector<std::string>& metrics, const std::vector<RangeValues>& values, size_t index,
             const char* metric) {
  if (index >= values.size()) return std::nan("");
  const auto at = std::find(metrics.begin(), metrics.end(), metric);
  return at == metrics.end() ? std::nan("") : values[index].values[static_cast<size_t>(at - metrics.begin())];
}

long long CyclesOf(double seconds) { return static_cast<long long>(seconds * 1.98e9); }

struct Timed {
  double push = 0, launch = 0, pop = 0;
};
template <typename Launch>
Timed Range(RangeSession* session, Launch&& launch, bool wait = true) {
  Timed timed;
  double begin = Now();
  const int pushed = session->Push();
  timed.push = Now() - begin;
  begin = Now();
  launch();
  timed.launch = Now() - begin;
  if (wait) (void)cudaStreamSynchronize(nullptr);
  begin = Now();
  const int popped = session->Pop();
  timed.pop = Now() - begin;
  if (pushed != 0 || popped != 0) Row("  push or pop failed", pushed != 0 ? pushed : popped, "code");
  return timed;
}

long ResidentKilobytes() {
  FILE* file = std::fopen("/proc/self/statm", "re");
  long total = 0, resident = 0;
  if (file == nullptr) return 0;
  (void)!std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// ------------------------------------------------------------------------------------------------ facts
void Loading() {
  Must(cudaFree(nullptr), "cudaFree");
  std::vector<std::string> problems;
  CuptiApi cupti;
  ProfilerHostApi host;
  RangeProfilerApi range;
  double begin = Now();
  const bool have_cupti = gx::inject::LoadCupti(g_cupti_path, &cupti, &problems);
  Row("load.cupti", (Now() - begin) * 1e3, "ms", cupti.path);
  if (!have_cupti) return;
  long before = ResidentKilobytes();
  begin = Now();
  const bool have_host = gx::inject::LoadProfilerHost(cupti.path, &host, &problems);
  Row("load.nvperf_host", (Now() - begin) * 1e3, "ms", have_host ? "loaded" : problems.back());
  begin = Now();
  const bool have_range = gx::inject::LoadRangeProfiler(cupti.path, &range, &problems);
  Row("load.nvperf_target", (Now() - begin) * 1e3, "ms", have_range ? "loaded" : problems.back());
  Row("load.resident", static_cast<double>(ResidentKilobytes() - before) / 1024.0, "MiB");
  GX_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  begin = Now();
  const CUptiResult result = range.cuptiProfilerInitialize(&initialize);
  Row("load.initialize", (Now() - begin) * 1e3, "ms", "result " + std::to_string(result));
  GX_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, name);
  begin = Now();
  const CUptiResult named = range.cuptiDeviceGetChipName(&name);
  Row("load.chip_name", (Now() - begin) * 1e3, "ms", named == CUPTI_SUCCESS ? name.pChipName : "failed");
  GX_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.cuDevice = 0;
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  begin = Now();
  const CUptiResult asked = range.cuptiProfilerDeviceSupported(&supported);
  Row("load.device_supported", (Now() - begin) * 1e3, "ms",
      "result " + std::to_string(asked) + ", level " + std::to_string(supported.isSupported));
  GX_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, availability);
  availability.ctx = Lab::Current();
  begin = Now();
  const CUptiResult sized = range.cuptiProfilerGetCounterAvailability(&availability);
  std::vector<uint8_t> image(availability.counterAvailabilityImageSize);
  availability.pCounterAvailabilityImage = image.data();
  const CUptiResult filled = range.cuptiProfilerGetCounterAvailability(&availability);
  Row("load.availability", (Now() - begin) * 1e3, "ms",
      "results " + std::to_string(sized) + " " + std::to_string(filled) + ", " + std::to_string(image.size()) +
          " bytes");
  std::string problem;
  begin = Now();
  const auto catalog =
      gx::inject::MetricCatalog::Open(host, named == CUPTI_SUCCESS ? name.pChipName : "GH100", {}, &problem);
  Row("plan.open", (Now() - begin) * 1e3, "ms", problem);
  if (catalog == nullptr) return;
  begin = Now();
  const CounterPlan plan =
      gx::inject::PlanCounters({.set = gx::inject::CounterSet::kCore, .metrics = {}}, catalog->Oracle());
  Row("plan.core", (Now() - begin) * 1e3, "ms", std::to_string(plan.groups.size()) + " groups");
  for (const PlannedGroup& group : plan.groups) {
    Row("plan.group " + group.name, static_cast<double>(group.metrics.size()), "names", group.is_spare ? "spare" : "");
  }
  const auto narrowed = gx::inject::MetricCatalog::Open(host, name.pChipName, image, &problem);
  if (narrowed == nullptr) return;
  const CounterPlan with_image =
      gx::inject::PlanCounters({.set = gx::inject::CounterSet::kCore, .metrics = {}}, narrowed->Oracle());
  Row("plan.same_with_availability", with_image.groups == plan.groups, "bool");
}

void Sessions() {
  Lab lab;
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor}) {
    const PlannedGroup& group = lab.Group(kind);
    const std::string at = "session." + group.name + ".";
    for (int round = 0; round < 2; ++round) {
      RangeSession session(lab.host, lab.range, &lab.watchdog);
      double begin = Now();
      if (!lab.Opened(&session, lab.Options(group.metrics, 256))) return;
      const std::string round_text = round == 0 ? "first" : "second";
      Row(at + "enable", static_cast<double>(session.costs().enable_ns) / 1e6, "ms", round_text);
      Row(at + "start", static_cast<double>(session.costs().start_ns) / 1e6, "ms", round_text);
      double push = 0, launch = 0, pop = 0;
      const int kSmall = 50;
      for (int i = 0; i < kSmall; ++i) {
        const Timed timed = Range(&session, [] { LaunchEmpty(nullptr); });
        push += timed.push, launch += timed.launch, pop += timed.pop;
      }
      Row(at + "empty.push", push / kSmall * 1e3, "ms");
      Row(at + "empty.launch", launch / kSmall * 1e3, "ms");
      Row(at + "empty.pop", pop / kSmall * 1e3, "ms");
      push = launch = pop = 0;
      for (int i = 0; i < 5; ++i) {
        const Timed timed = Range(&session, [&] { lab.LaunchAxpy(); });
        push += timed.push, launch += timed.launch, pop += timed.pop;
      }
      Row(at + "axpy.push", push / 5 * 1e3, "ms");
      Row(at + "axpy.launch", launch / 5 * 1e3, "ms");
      Row(at + "axpy.pop", pop / 5 * 1e3, "ms");
      std::vector<RangeValues> values;
      std::vector<double> none;
      begin = Now();
      const RangeSession::Failure failure = session.Close(&values, &none);
      Row(at + "close", (Now() - begin) * 1e3, "ms", "result " + std::to_string(failure.result));
      Row(at + "stop", static_cast<double>(session.costs().stop_ns) / 1e6, "ms");
      Row(at + "decode", static_cast<double>(session.costs().decode_ns) / 1e6, "ms",
          std::to_string(values.size()) + " ranges");
      Row(at + "disable", static_cast<double>(session.costs().disable_ns) / 1e6, "ms");
      size_t unavailable = 0;
      for (const RangeValues& read : values) {
        unavailable += static_cast<size_t>(
            std::count_if(read.values.begin(), read.values.end(), [](double v) { return std::isnan(v); }));
      }
      Row(at + "nan", static_cast<double>(unavailable), "values");
      if (kind == GroupKind::kHardware) {
        for (size_t i = 50; i < 52; ++i) {
          Row(at + "axpy.inst_executed", Value(group.metrics, values, i, "smsp__inst_executed.sum"), "inst",
              "52,428,800 expected");
          Row(at + "axpy.dram_write", Value(group.metrics, values, i, "dram__bytes_write.sum"), "byte");
        }
      } else if (kind == GroupKind::kSass) {
        Row(at + "axpy.inst_executed", Value(group.metrics, values, 50, "smsp__sass_inst_executed.sum"), "inst",
            "52,428,800 expected");
        Row(at + "axpy.ffma", Value(group.metrics, values, 50, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
            "inst", "67,108,864 expected");
      }
    }
  }
}

void FirstRange() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  lab.LaunchAxpy();
  Must(cudaDeviceSynchronize(), "sync");
  RangeSession session(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(&session, lab.Options(group.metrics))) return;
  for (int i = 0; i < 6; ++i) (void)Range(&session, [&] { lab.LaunchAxpy(); });
  std::vector<RangeValues> values;
  (void)session.Close(&values, nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    for (const std::string& metric : group.metrics) {
      if (metric == "dram__bytes_write.sum" || metric == "dram__bytes_read.sum") {
        Row("first_range." + std::to_string(i) + "." + metric, Value(group.metrics, values, i, metric.c_str()), "byte");
      }
    }
  }
}

void Names() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  // Equal names, with the raw calls.
  RangeSession session(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(&session, lab.Options(group.metrics))) return;
  std::vector<RangeValues> values;
  for (int i = 0; i < 3; ++i) (void)Range(&session, [&] { lab.LaunchAxpy(); });
  (void)session.Close(&values, nullptr);
  Row("names.unique", static_cast<double>(values.size()), "ranges", "3 pushed");
}

// A second group on the same object.
void Regroup() {
  Lab lab;
  const std::vector<std::string> first = {"smsp__inst_executed.sum", "sm__cycles_active.avg"};
  const std::vector<std::string> second = {"dram__bytes.sum", "sm__cycles_active.avg"};
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = lab.context;
  if (lab.range.cuptiRangeProfilerEnable(&enable) != CUPTI_SUCCESS) return;
  int round = 0;
  for (const std::vector<std::string>& metrics : {first, second}) {
    int result = 0;
    const char* call = "";
    auto config = gx::inject::CounterConfig::Make(lab.host, lab.range, lab.chip, metrics, &result, &call);
    if (config == nullptr) return;
    auto names = config->MetricPointers();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = enable.pRangeProfilerObject;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = size.maxNumRangeTreeNodes = 8;
    (void)lab.range.cuptiRangeProfilerGetCounterDataSize(&size);
    auto* image = new std::vector<uint8_t>(size.counterDataSize);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
    initialize.pRangeProfilerObject = enable.pRangeProfilerObject;
    initialize.counterDataSize = image->size();
    initialize.pCounterData = image->data();
    (void)lab.range.cuptiRangeProfilerCounterDataImageInitialize(&initialize);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = enable.pRangeProfilerObject;
    set.configSize = config->image().size();
    set.pConfig = config->image().data();
    set.counterDataImageSize = image->size();
    set.pCounterDataImage = image->data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 8;
    set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
    const CUptiResult configured = lab.range.cuptiRangeProfilerSetConfig(&set);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = enable.pRangeProfilerObject;
    const CUptiResult started = lab.range.cuptiRangeProfilerStart(&start);
    for (int i = 0; i < 2; ++i) {
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
      push.pRangeProfilerObject = enable.pRangeProfilerObject;
      push.pRangeName = "same";
      (void)lab.range.cuptiRangeProfilerPushRange(&push);
      lab.LaunchAxpy();
      Must(cudaDeviceSynchronize(), "sync");
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
      pop.pRangeProfilerObject = enable.pRangeProfilerObject;
      (void)lab.range.cuptiRangeProfilerPopRange(&pop);
    }
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = enable.pRangeProfilerObject;
    (void)lab.range.cuptiRangeProfilerStop(&stop);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = enable.pRangeProfilerObject;
    (void)lab.range.cuptiRangeProfilerDecodeData(&decode);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = image->data();
    info.counterDataImageSize = image->size();
    (void)lab.range.cuptiRangeProfilerGetCounterDataInfo(&info);
    std::vector<double> values;
    (void)config->Evaluate(*image, 0, names, &values);
    const std::string at = round++ == 0 ? "regroup.first." : "regroup.second.";
    Row(at + "configured", configured, "code", "started " + std::to_string(started));
    Row(at + "ranges", static_cast<double>(info.numTotalRanges), "ranges", "2 pushed under one name");
    Row(at + metrics[0], values.empty() ? std::nan("") : values[0], "");
    (void)config.release();
  }
}

void Waits() {
  Lab lab;
  cudaStream_t other;
  Must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "stream");
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
    const PlannedGroup& group = lab.Group(kind);
    const std::string at = "waits." + group.name + ".";
    // Does the opening wait for a busy context?
    LaunchSpin(CyclesOf(0.5), other);
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    double begin = Now();
    if (!lab.Opened(&session, lab.Options(group.metrics))) return;
    Row(at + "open_while_busy_0.5s", (Now() - begin) * 1e3, "ms",
        "enable " + std::to_string(session.costs().enable_ns / 1000000) + " start " +
            std::to_string(session.costs().start_ns / 1000000));
    Must(cudaDeviceSynchronize(), "sync");
    LaunchSpin(CyclesOf(0.05), other);
    Timed timed = Range(&session, [] { LaunchEmpty(nullptr); });
    Row(at + "push_while_busy_50ms", timed.push * 1e3, "ms");
    Must(cudaDeviceSynchronize(), "sync");
    timed = Range(
        &session, [] { LaunchSpin(CyclesOf(0.3), nullptr); }, false);
    Row(at + "long_0.3s.push", timed.push * 1e3, "ms");
    Row(at + "long_0.3s.launch", timed.launch * 1e3, "ms");
    Row(at + "long_0.3s.pop", timed.pop * 1e3, "ms");
    Must(cudaDeviceSynchronize(), "sync");
    // Stream query inside a range, instead of a wait in pop.
    (void)session.Push();
    LaunchSpin(CyclesOf(0.1), nullptr);
    begin = Now();
    while (cudaStreamQuery(nullptr) == cudaErrorNotReady) usleep(50);
    Row(at + "polled_0.1s", (Now() - begin) * 1e3, "ms");
    begin = Now();
    (void)session.Pop();
    Row(at + "pop_after_polling", (Now() - begin) * 1e3, "ms");
    LaunchSpin(CyclesOf(0.2), other);
    std::vector<RangeValues> values;
    begin = Now();
    (void)session.Close(&values, nullptr);
    Row(at + "close_while_busy_0.2s", (Now() - begin) * 1e3, "ms",
        "stop " + std::to_string(session.costs().stop_ns / 1000000) + " disable " +
            std::to_string(session.costs().disable_ns / 1000000));
    Must(cudaDeviceSynchronize(), "sync");
  }
}

// Sessions opened and closed by another thread than the one that launches.
void Threads() {
  Lab lab;
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
    const PlannedGroup& group = lab.Group(kind);
    const std::string at = "threads." + group.name + ".";
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    std::atomic<bool> opened{false};
    std::atomic<int> failed{0};
    double slowest_launch = 0;
    std::thread opener([&] {
      Must(cudaSetDevice(0), "device");
      Must(cudaFree(nullptr), "free");
      const RangeSession::Failure failure = session.Open(lab.Options(group.metrics));
      failed = failure.result;
      opened = true;
    });
    size_t launches = 0;
    while (!opened) {
      const double begin = Now();
      LaunchEmpty(nullptr);
      slowest_launch = std::max(slowest_launch, Now() - begin);
      ++launches;
    }
    opener.join();
    Row(at + "open_result", failed, "code",
        "opened on another thread, " + std::to_string(launches) + " launches meanwhile");
    Row(at + "slowest_launch_while_opening", slowest_launch * 1e3, "ms");
    Must(cudaDeviceSynchronize(), "sync");
    for (int i = 0; i < 3; ++i) (void)Range(&session, [&] { lab.LaunchAxpy(); });
    std::atomic<bool> closed{false};
    std::vector<RangeValues> values;
    slowest_launch = 0;
    std::thread closer([&] {
      Must(cudaSetDevice(0), "device");
      failed = session.Close(&values, nullptr).result;
      closed = true;
    });
    while (!closed) {
      const double begin = Now();
      LaunchEmpty(nullptr);
      slowest_launch = std::max(slowest_launch, Now() - begin);
    }
    closer.join();
    Must(cudaDeviceSynchronize(), "sync");
    Row(at + "close_result", failed, "code");
    Row(at + "slowest_launch_while_closing", slowest_launch * 1e3, "ms");
    Row(at + "ranges", static_cast<double>(values.size()), "ranges", "3 pushed on the launching thread");
    Row(at + "inst",
        Value(group.metrics, values, 1,
              kind == GroupKind::kSass ? "smsp__sass_inst_executed.sum" : "smsp__inst_executed.sum"),
        "inst");
  }
}

// A range that is left, and ended later by another thread once its launch is done.
void Recovery() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  RangeSession session(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(&session, lab.Options(group.metrics))) return;
  (void)session.Push();
  LaunchSpin(CyclesOf(0.3), nullptr);
  // The program goes on meanwhile.
  double begin = Now();
  for (int i = 0; i < 100; ++i) LaunchEmpty(nullptr);
  Row("recovery.100_launches_in_open_range", (Now() - begin) * 1e3, "ms");
  Must(cudaDeviceSynchronize(), "sync");
  int popped = -1, closed = -1;
  std::vector<RangeValues> values;
  std::thread([&] {
    Must(cudaSetDevice(0), "device");
    popped = session.Pop();
    closed = session.Close(&values, nullptr).result;
  }).join();
  Row("recovery.pop_on_other_thread", popped, "code");
  Row("recovery.close", closed, "code");
  RangeSession next(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(&next, lab.Options(group.metrics))) return;
  (void)Range(&next, [&] { lab.LaunchAxpy(); });
  values.clear();
  (void)next.Close(&values, nullptr);
  Row("recovery.next_session_inst", Value(group.metrics, values, 0, "smsp__inst_executed.sum"), "inst",
      "52,428,800 expected");
}

void Left() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  auto* session = new RangeSession(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(session, lab.Options(group.metrics))) return;
  (void)session->Push();
  LaunchSpin(CyclesOf(0.01), nullptr);
  Must(cudaDeviceSynchronize(), "sync");
  session->Abandon();
  RangeSession next(lab.host, lab.range, &lab.watchdog);
  const RangeSession::Failure failure = next.Open(lab.Options(group.metrics));
  Row("left.second_session_result", failure.result, "code", failure.call == nullptr ? "" : failure.call);
  Row("left.process_ends", 1, "bool", "with a range and a session left open");
}

void Foreign() {
  Lab lab;
  float* copy = nullptr;
  Must(cudaMalloc(&copy, Lab::kElements * sizeof(float)), "malloc");
  cudaStream_t other;
  Must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "stream");
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
    const PlannedGroup& group = lab.Group(kind);
    const char* inst = kind == GroupKind::kSass ? "smsp__sass_inst_executed.sum" : "smsp__inst_executed.sum";
    const std::string at = "foreign." + group.name + ".";
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(group.metrics))) return;
    (void)Range(&session, [&] { lab.LaunchAxpy(); });
    (void)Range(&session, [&] { lab.LaunchAxpy(); });
    // A copy of another thread while the range is open.
    double copy_time = 0;
    (void)Range(&session, [&] {
      std::thread([&] {
        const double begin = Now();
        (void)cudaMemcpyAsync(copy, lab.x, Lab::kElements * sizeof(float), cudaMemcpyDeviceToDevice, other);
        (void)cudaStreamSynchronize(other);
        copy_time = Now() - begin;
      }).join();
      lab.LaunchAxpy();
    });
    // A launch of another thread.
    double launch_time = 0;
    (void)Range(&session, [&] {
      lab.LaunchAxpy();
      std::thread([&] {
        const double begin = Now();
        lab.LaunchAxpy(other);
        launch_time = Now() - begin;
      }).join();
    });
    Must(cudaDeviceSynchronize(), "sync");
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row(at + "alone.inst", Value(group.metrics, values, 1, inst), "inst");
    Row(at + "with_copy.inst", Value(group.metrics, values, 2, inst), "inst",
        "copy took " + std::to_string(copy_time * 1e3) + " ms");
    Row(at + "with_launch.inst", Value(group.metrics, values, 3, inst), "inst",
        "its launch took " + std::to_string(launch_time * 1e3) + " ms");
    if (kind == GroupKind::kHardware) {
      Row(at + "alone.dram", Value(group.metrics, values, 1, "dram__bytes.sum"), "byte");
      Row(at + "with_copy.dram", Value(group.metrics, values, 2, "dram__bytes.sum"), "byte");
      Row(at + "with_launch.dram", Value(group.metrics, values, 3, "dram__bytes.sum"), "byte");
    }
  }
}

void Graphs() {
  Lab lab;
  cudaStream_t stream;
  Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  Must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int i = 0; i < 20; ++i) lab.LaunchAxpy(stream);
  Must(cudaStreamEndCapture(stream, &graph), "capture");
  Must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
    const PlannedGroup& group = lab.Group(kind);
    const char* inst = kind == GroupKind::kSass ? "smsp__sass_inst_executed.sum" : "smsp__inst_executed.sum";
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(group.metrics))) return;
    Timed timed;
    for (int i = 0; i < 3; ++i) {
      timed = Range(&session, [&] {
        (void)cudaGraphLaunch(exec, stream);
        (void)cudaStreamSynchronize(stream);
      });
    }
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row("graph." + group.name + ".inst", Value(group.metrics, values, 1, inst) / 52428800, "x", "20 expected");
    Row("graph." + group.name + ".launch_and_wait", timed.launch * 1e3, "ms");
  }
}

void Peaks() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  RangeSession session(lab.host, lab.range, &lab.watchdog);
  RangeSession::Options options = lab.Options(group.metrics);
  options.extra_metrics = {"dram__bytes.sum.peak_sustained",
                           "lts__t_sectors.sum.peak_sustained",
                           "smsp__inst_executed.sum.peak_sustained",
                           "l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained",
                           "sm__inst_executed_pipe_lsu.sum.peak_sustained",
                           "dram__cycles_elapsed.avg.per_second",
                           "lts__cycles_elapsed.avg.per_second"};
  if (!lab.Opened(&session, options)) return;
  (void)Range(&session, [&] { lab.LaunchAxpy(); });
  std::vector<RangeValues> values;
  std::vector<double> extra;
  (void)session.Close(&values, &extra);
  for (size_t i = 0; i < extra.size(); ++i) Row("peaks." + options.extra_metrics[i], extra[i], "");
  if (extra.empty()) Row("peaks.evaluated", 0, "bool");
}

void Streams() {
  Lab lab(false);
  const auto query = reinterpret_cast<decltype(&cuStreamQuery)>(Lab::Driver("cuStreamQuery"));
  const auto record_context = reinterpret_cast<CUresult (*)(CUcontext, CUevent)>(Lab::Driver("cuCtxRecordEvent"));
  std::vector<cudaStream_t> streams(32);
  for (cudaStream_t& stream : streams) Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (const cudaStream_t stream : streams) LaunchEmpty(stream);
  Must(cudaDeviceSynchronize(), "sync");
  double begin = Now();
  for (int i = 0; i < 100; ++i) {
    for (const cudaStream_t stream : streams) (void)query(stream);
  }
  Row("streams.query_each_of_32", (Now() - begin) / 3200 * 1e6, "us");
  CUevent event = nullptr;
  const auto create = reinterpret_cast<decltype(&cuEventCreate)>(Lab::Driver("cuEventCreate"));
  const auto query_event = reinterpret_cast<decltype(&cuEventQuery)>(Lab::Driver("cuEventQuery"));
  (void)create(&event, CU_EVENT_DISABLE_TIMING);
  Row("streams.context_event_exists", record_context != nullptr, "bool");
  if (record_context == nullptr) return;
  begin = Now();
  CUresult recorded = CUDA_SUCCESS;
  for (int i = 0; i < 100; ++i) recorded = record_context(lab.context, event);
  Row("streams.context_event.record", (Now() - begin) / 100 * 1e6, "us", "result " + std::to_string(recorded));
  Must(cudaDeviceSynchronize(), "sync");
  LaunchSpin(CyclesOf(0.1), streams[3]);
  recorded = record_context(lab.context, event);
  begin = Now();
  while (query_event(event) == CUDA_ERROR_NOT_READY) usleep(100);
  Row("streams.context_event.ready_after_busy_0.1s", (Now() - begin) * 1e3, "ms", "result " + std::to_string(recorded));
}

// What an event of the whole context covers that no stream handle tells.
void PerThread() {
  Lab lab(false);
  const auto record_context = reinterpret_cast<CUresult (*)(CUcontext, CUevent)>(Lab::Driver("cuCtxRecordEvent"));
  const auto create = reinterpret_cast<decltype(&cuEventCreate)>(Lab::Driver("cuEventCreate"));
  const auto query = reinterpret_cast<decltype(&cuEventQuery)>(Lab::Driver("cuEventQuery"));
  if (record_context == nullptr) return;
  CUevent event = nullptr;
  (void)create(&event, CU_EVENT_DISABLE_TIMING);
  const auto wait = [&](const std::string& fact) {
    double begin = Now();
    const CUresult recorded = record_context(lab.context, event);
    Row("context_event." + fact + ".record", (Now() - begin) * 1e6, "us", "result " + std::to_string(recorded));
    while (query(event) == CUDA_ERROR_NOT_READY) usleep(20);
    Row("context_event." + fact + ".ready_after", (Now() - begin) * 1e3, "ms");
  };
  wait("idle");
  wait("idle_again");
  std::thread([] {
    (void)cudaSetDevice(0);
    LaunchSpin(CyclesOf(0.05), cudaStreamPerThread);
  }).join();
  wait("other_threads_own_stream_50ms");
  cudaStream_t gone;
  Must(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking), "stream");
  LaunchSpin(CyclesOf(0.05), gone);
  (void)cudaStreamDestroy(gone);
  wait("destroyed_stream_50ms");
  // Whether it orders anything: work in one stream behind the event of a context that is busy in another.
  cudaStream_t busy, free_stream;
  Must(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking), "stream");
  Must(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking), "stream");
  LaunchSpin(CyclesOf(0.1), busy);
  (void)record_context(lab.context, event);
  double begin = Now();
  LaunchEmpty(free_stream);
  (void)cudaStreamSynchronize(free_stream);
  Row("context_event.other_stream_waits", (Now() - begin) * 1e3, "ms", "0.1 s if it orders streams");
  (void)cudaDeviceSynchronize();
}

// What our calls on one thread do to a capture of another, in the global mode.
void Captures() {
  for (const char* what : {"none", "query_legacy", "query_other", "open", "push", "pop", "close"}) {
    Lab lab;
    const PlannedGroup& group = lab.Group(GroupKind::kHardware);
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    const std::string name = what;
    const bool needs_open = name == "push" || name == "pop" || name == "close";
    if (needs_open && !lab.Opened(&session, lab.Options(group.metrics))) return;
    if (name == "pop") (void)session.Push();
    cudaStream_t stream, other;
    Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    Must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "stream");
    Must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    LaunchEmpty(stream);
    int result = 0;
    std::thread([&] {
      (void)cudaSetDevice(0);
      std::vector<RangeValues> values;
      if (name == "query_legacy") result = cudaStreamQuery(cudaStreamLegacy);
      if (name == "query_other") result = cudaStreamQuery(other);
      if (name == "open") result = session.Open(lab.Options(group.metrics)).result;
      if (name == "push") result = session.Push();
      if (name == "pop") result = session.Pop();
      if (name == "close") result = session.Close(&values, nullptr).result;
    }).join();
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    Row("capture." + name, ended, "code", "result of the call " + std::to_string(result));
    (void)cudaGetLastError();
    if (name == "push") (void)session.Pop();
    if (session.is_open()) {
      std::vector<RangeValues> values;
      (void)session.Close(&values, nullptr);
    }
  }
}

void Tracing() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  const auto measure = [&](const char* name) {
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(group.metrics))) return;
    for (int i = 0; i < 2; ++i) (void)Range(&session, [&] { lab.LaunchAxpy(); });
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row(std::string("tracing.") + name + ".inst", Value(group.metrics, values, 1, "smsp__inst_executed.sum"), "inst");
  };
  (void)lab.cupti.cuptiActivityRegisterCallbacks(
      [](uint8_t** buffer, size_t* size, size_t* records) {
        *size = 1 << 20;
        *records = 0;
        *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
      },
      [](CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); });
  measure("never");
  (void)lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  measure("on");
  (void)lab.cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  measure("off_again");
  (void)lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
  (void)lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
  (void)lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  (void)lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  measure("copies_and_synchronization_on");
}

void OutsideRanges() {
  Lab lab;
  const auto launches = [&] {
    const double begin = Now();
    for (int i = 0; i < 20000; ++i) LaunchEmpty(nullptr);
    (void)cudaDeviceSynchronize();
    return (Now() - begin) / 20000 * 1e6;
  };
  (void)launches();
  for (int round = 0; round < 3; ++round) {
    Row("outside.no_session", launches(), "us");
    for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
      const PlannedGroup& group = lab.Group(kind);
      RangeSession session(lab.host, lab.range, &lab.watchdog);
      if (!lab.Opened(&session, lab.Options(group.metrics))) return;
      Row("outside.session_open_" + group.name, launches(), "us");
      (void)Range(&session, [] { LaunchEmpty(nullptr); });
      Row("outside.session_used_" + group.name, launches(), "us");
      std::vector<RangeValues> values;
      (void)session.Close(&values, nullptr);
    }
  }
}

// Whether streams still run side by side: two kernels of 20 ms, one in each.
void Concurrency() {
  Lab lab;
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  const auto both = [&] {
    const double begin = Now();
    for (const cudaStream_t stream : streams) LaunchSpin(CyclesOf(0.02), stream);
    (void)cudaDeviceSynchronize();
    return (Now() - begin) * 1e3;
  };
  (void)both();
  Row("concurrency.no_session", both(), "ms", "20 side by side, 40 one after the other");
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass}) {
    const PlannedGroup& group = lab.Group(kind);
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(group.metrics, 8))) return;
    Row("concurrency.session_open_" + group.name, both(), "ms");
    (void)Range(&session, [] { LaunchEmpty(nullptr); });
    Row("concurrency.session_used_" + group.name, both(), "ms");
    (void)session.Push();
    Row("concurrency.range_open_" + group.name, both(), "ms");
    (void)session.Pop();
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
  }
}

// Whether the calls that come before a session disturb a capture of another thread.
void Preparation() {
  Lab lab(false, false);
  std::vector<std::string> problems;
  if (!gx::inject::LoadProfilerHost(lab.cupti.path, &lab.host, &problems) ||
      !gx::inject::LoadRangeProfiler(lab.cupti.path, &lab.range, &problems)) {
    return;
  }
  for (const char* what : {"initialize", "chip_name", "device_supported", "plan", "enable_tracing"}) {
    cudaStream_t stream;
    Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    Must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    LaunchEmpty(stream);
    int result = 0;
    std::thread([&] {
      const std::string name = what;
      if (name == "initialize") {
        GX_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, params);
        result = lab.range.cuptiProfilerInitialize(&params);
      } else if (name == "chip_name") {
        GX_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, params);
        result = lab.range.cuptiDeviceGetChipName(&params);
        if (result == CUPTI_SUCCESS) lab.chip = params.pChipName;
      } else if (name == "device_supported") {
        GX_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, params);
        params.api = CUPTI_PROFILER_RANGE_PROFILING;
        result = lab.range.cuptiProfilerDeviceSupported(&params);
      } else if (name == "plan") {
        std::string problem;
        const auto catalog = gx::inject::MetricCatalog::Open(lab.host, lab.chip, {}, &problem);
        result = catalog == nullptr || !catalog->Passes({"sm__cycles_active.avg"}) ? 1 : 0;
      } else {
        result = lab.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
        (void)lab.cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY);
      }
    }).join();
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    Row(std::string("capture_meets.") + what, ended, "code", "result of the call " + std::to_string(result));
    (void)cudaGetLastError();
  }
}

void Contexts() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, CUctxCreateParams*, unsigned, CUdevice)>(Lab::Driver("cuCtxCreate_v4"));
  const auto set = reinterpret_cast<decltype(&cuCtxSetCurrent)>(Lab::Driver("cuCtxSetCurrent"));
  CUcontext second = nullptr;
  if (create == nullptr || create(&second, nullptr, 0, 0) != CUDA_SUCCESS) return;
  (void)set(lab.context);
  RangeSession one(lab.host, lab.range, &lab.watchdog);
  if (!lab.Opened(&one, lab.Options(group.metrics))) return;
  (void)set(second);
  RangeSession two(lab.host, lab.range, &lab.watchdog);
  RangeSession::Options options = lab.Options(group.metrics);
  options.context = second;
  RangeSession::Failure failure = two.Open(options);
  Row("contexts.second_on_one_device", failure.result, "code", failure.call == nullptr ? "" : failure.call);
  (void)set(lab.context);
  (void)Range(&one, [&] { lab.LaunchAxpy(); });
  std::vector<RangeValues> values;
  failure = one.Close(&values, nullptr);
  Row("contexts.first_close", failure.result, "code", failure.call == nullptr ? "" : failure.call);
  Row("contexts.first_inst", Value(group.metrics, values, 0, "smsp__inst_executed.sum"), "inst");
  (void)set(second);
  values.clear();
  if (two.is_open()) Row("contexts.second_close", two.Close(&values, nullptr).result, "code");
  RangeSession three(lab.host, lab.range, &lab.watchdog);
  failure = three.Open(options);
  Row("contexts.second_alone", failure.result, "code");
}

// PC sampling of a context, in continuous mode with every stall reason.
class PcSampler {
 public:
  explicit PcSampler(const std::string& cupti_path) {
    void* const library = dlopen(cupti_path.c_str(), RTLD_NOW);
#define GX_FIND(name) name##_ = reinterpret_cast<decltype(&name)>(dlsym(library, #name))
    GX_FIND(cuptiPCSamplingEnable);
    GX_FIND(cuptiPCSamplingSetConfigurationAttribute);
    GX_FIND(cuptiPCSamplingGetData);
    GX_FIND(cuptiPCSamplingGetNumStallReasons);
    GX_FIND(cuptiPCSamplingGetStallReasons);
    GX_FIND(cuptiPCSamplingDisable);
#undef GX_FIND
    for (size_t i = 0; i < records_.size(); ++i) {
      records_[i].size = sizeof(CUpti_PCSamplingPCData);
      records_[i].stallReason = &reasons_[i * 64];
    }
    data_.size = sizeof(data_);
    data_.collectNumPcs = records_.size();
    data_.pPcData = records_.data();
  }

  // Keeps the results: it may run inside a callback.
  void Start(CUcontext context) {
    context_ = context;
    CUpti_PCSamplingEnableParams enable{};
    enable.size = CUpti_PCSamplingEnableParamsSize;
    enable.ctx = context;
    enabled_ = cuptiPCSamplingEnable_(&enable);
    if (enabled_ != CUPTI_SUCCESS) return;
    CUpti_PCSamplingGetNumStallReasonsParams count{};
    count.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
    count.ctx = context;
    count.numStallReasons = &reason_count_;
    (void)cuptiPCSamplingGetNumStallReasons_(&count);
    for (size_t i = 0; i < reason_count_; ++i) {
      names_.push_back(static_cast<char*>(std::calloc(1, CUPTI_STALL_REASON_STRING_SIZE)));
    }
    indexes_.resize(reason_count_);
    CUpti_PCSamplingGetStallReasonsParams get{};
    get.size = CUpti_PCSamplingGetStallReasonsParamsSize;
    get.ctx = context;
    get.numStallReasons = reason_count_;
    get.stallReasons = names_.data();
    get.stallReasonIndex = indexes_.data();
    (void)cuptiPCSamplingGetStallReasons_(&get);
    CUpti_PCSamplingConfigurationInfo info[4]{};
    info[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    info[0].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    info[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    info[1].attributeData.samplingDataBufferData.samplingDataBuffer = &data_;
    info[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON;
    info[2].attributeData.stallReasonData.stallReasonCount = reason_count_;
    info[2].attributeData.stallReasonData.pStallReasonIndex = indexes_.data();
    info[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    info[3].attributeData.samplingPeriodData.samplingPeriod = 12;
    CUpti_PCSamplingConfigurationInfoParams params{};
    params.size = CUpti_PCSamplingConfigurationInfoParamsSize;
    params.ctx = context;
    params.numAttributes = 4;
    params.pPCSamplingConfigurationInfo = info;
    configured_ = cuptiPCSamplingSetConfigurationAttribute_(&params);
  }

  void Report(const std::string& at) const {
    Row(at + "enable", enabled_, "code", std::to_string(reason_count_) + " stall reasons");
    Row(at + "configure", configured_, "code");
  }

  void Read(const std::string& fact) {
    CUpti_PCSamplingGetDataParams get{};
    get.size = CUpti_PCSamplingGetDataParamsSize;
    get.ctx = context_;
    get.pcSamplingData = &data_;
    const CUptiResult result = cuptiPCSamplingGetData_(&get);
    Row(fact, static_cast<double>(data_.totalSamples), "count",
        "result " + std::to_string(result) + ", dropped " + std::to_string(data_.droppedSamples));
  }

  void Stop(const std::string& at) {
    CUpti_PCSamplingDisableParams disable{};
    disable.size = CUpti_PCSamplingDisableParamsSize;
    disable.ctx = context_;
    Row(at + "disable", cuptiPCSamplingDisable_(&disable), "code");
  }

 private:
#define GX_DECLARE(name) decltype(&::name) name##_ = nullptr
  GX_DECLARE(cuptiPCSamplingEnable);
  GX_DECLARE(cuptiPCSamplingSetConfigurationAttribute);
  GX_DECLARE(cuptiPCSamplingGetData);
  GX_DECLARE(cuptiPCSamplingGetNumStallReasons);
  GX_DECLARE(cuptiPCSamplingGetStallReasons);
  GX_DECLARE(cuptiPCSamplingDisable);
#undef GX_DECLARE
  CUcontext context_ = nullptr;
  int enabled_ = -1;
  int configured_ = -1;
  size_t reason_count_ = 0;
  std::vector<char*> names_;
  std::vector<uint32_t> indexes_;
  std::vector<CUpti_PCSamplingPCData> records_ = std::vector<CUpti_PCSamplingPCData>(1000);
  std::vector<CUpti_PCSamplingStallReason> reasons_ = std::vector<CUpti_PCSamplingStallReason>(1000 * 64);
  CUpti_PCSamplingData data_{};
};

// Which comes first decides what PC sampling and counters do to each other.
enum class PcOrder { kAlone, kCountersFirst, kSamplingFirst, kInCallback };
void PcSampling(PcOrder order) {
  static PcSampler* sampler = nullptr;
  const std::string at = order == PcOrder::kAlone           ? "pc_sampling_alone."
                         : order == PcOrder::kCountersFirst ? "pc_sampling_after_counters."
                         : order == PcOrder::kSamplingFirst ? "counters_beside_pc_sampling."
                                                            : "pc_sampling_from_context_callback.";
  if (order == PcOrder::kInCallback) {
    // As an injected library does it: before the context's first module is loaded.
    CuptiApi cupti;
    std::vector<std::string> problems;
    if (!gx::inject::LoadCupti(g_cupti_path, &cupti, &problems)) return;
    sampler = new PcSampler(cupti.path);
    CUpti_SubscriberHandle subscriber = nullptr;
    (void)cupti.cuptiSubscribe(
        &subscriber,
        [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
          sampler->Start(static_cast<const CUpti_ResourceData*>(data)->context);
        },
        nullptr);
    (void)cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    Must(cudaFree(nullptr), "cudaFree");
  }
  Lab lab(order != PcOrder::kAlone, order != PcOrder::kAlone);
  const auto count = [&](const char* name) {
    if (order == PcOrder::kAlone) return;
    const PlannedGroup& group = lab.Group(GroupKind::kHardware);
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(group.metrics))) return;
    for (int i = 0; i < 2; ++i) (void)Range(&session, [&] { lab.LaunchAxpy(); });
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row(at + name + ".inst", Value(group.metrics, values, 1, "smsp__inst_executed.sum"), "inst", "52,428,800 expected");
  };
  const auto work = [&] {
    for (int i = 0; i < 300; ++i) lab.LaunchAxpy();
    Must(cudaDeviceSynchronize(), "sync");
  };
  if (order == PcOrder::kCountersFirst) count("counters_before");
  if (order != PcOrder::kInCallback) {
    sampler = new PcSampler(lab.cupti.path);
    sampler->Start(lab.context);
  }
  sampler->Report(at);
  work();
  sampler->Read(at + "samples");
  count("counters_meanwhile");
  work();
  sampler->Read(at + "samples_after_counters");
  sampler->Stop(at);
  count("counters_afterwards");
}

// What a session costs by its number of ranges, and by how often it is started.
void Costs() {
  Lab lab;
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor}) {
    const PlannedGroup& group = lab.Group(kind);
    for (const uint32_t ranges : {256u, 8u, 16u, 32u, 64u, 128u, 256u}) {
      RangeSession session(lab.host, lab.range, &lab.watchdog);
      if (!lab.Opened(&session, lab.Options(group.metrics, ranges))) return;
      for (int i = 0; i < 4; ++i) (void)Range(&session, [] { LaunchEmpty(nullptr); });
      std::vector<RangeValues> values;
      (void)session.Close(&values, nullptr);
      const gx::inject::RangeSessionCosts& costs = session.costs();
      Row("costs." + group.name + ".ranges_" + std::to_string(ranges), static_cast<double>(costs.start_ns) / 1e6, "ms",
          "start; enable " + std::to_string(costs.enable_ns / 1000) + " stop " + std::to_string(costs.stop_ns / 1000) +
              " decode " + std::to_string(costs.decode_ns / 1000) + " disable " +
              std::to_string(costs.disable_ns / 1000) + " us");
    }
  }
  // With fewer metrics.
  for (const size_t count : {size_t{3}, size_t{10}, size_t{30}}) {
    std::vector<std::string> metrics = lab.Group(GroupKind::kHardware).metrics;
    metrics.resize(std::min(metrics.size(), count));
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(metrics, 64))) return;
    (void)Range(&session, [] { LaunchEmpty(nullptr); });
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row("costs.metrics_" + std::to_string(count), static_cast<double>(session.costs().start_ns) / 1e6, "ms", "start");
  }
}

// What each metric of patched code costs a launch of AXPY, alone; and what of the group is dear together.
void Patched() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kSass);
  const auto measure = [&](const std::string& name, const std::vector<std::string>& metrics) {
    RangeSession session(lab.host, lab.range, &lab.watchdog);
    if (!lab.Opened(&session, lab.Options(metrics, 8))) return 0.0;
    (void)Range(&session, [&] { lab.LaunchAxpy(); });
    double launch = 0;
    for (int i = 0; i < 3; ++i) launch += Range(&session, [&] { lab.LaunchAxpy(); }).launch / 3;
    std::vector<RangeValues> values;
    (void)session.Close(&values, nullptr);
    Row("patched." + name, launch * 1e3, "ms");
    return launch;
  };
  (void)measure("all", group.metrics);
  std::vector<std::string> cheap, dear;
  for (const std::string& metric : group.metrics) {
    (measure(metric, {metric}) < 0.002 ? cheap : dear).push_back(metric);
  }
  if (!cheap.empty()) (void)measure("cheap_together_" + std::to_string(cheap.size()), cheap);
  if (!dear.empty()) (void)measure("dear_together_" + std::to_string(dear.size()), dear);
  // What leaving one out saves: they share what they patch.
  std::vector<std::string> left = group.metrics;
  for (const std::string& metric : dear) {
    std::vector<std::string> others = group.metrics;
    std::erase(others, metric);
    (void)measure("without." + metric, others);
  }
  // And several, one after another.
  for (const char* metric :
       {"smsp__sass_thread_inst_executed_pred_on.sum", "smsp__sass_data_bytes_mem_global.sum",
        "smsp__sass_sectors_mem_global.sum", "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
        "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
        "smsp__sass_thread_inst_executed_op_control_pred_on.sum", "smsp__sass_inst_executed_op_global_ld.sum",
        "smsp__sass_inst_executed.sum", "smsp__sass_thread_inst_executed.sum"}) {
    std::erase(left, metric);
    (void)measure(std::string("and_without.") + metric, left);
  }
}

// A session that is stopped, read and started again without a new configuration: what that costs, and whether it
// counts.
void Restart() {
  Lab lab;
  const PlannedGroup& group = lab.Group(GroupKind::kHardware);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = lab.context;
  if (lab.range.cuptiRangeProfilerEnable(&enable) != CUPTI_SUCCESS) return;
  int result = 0;
  const char* call = "";
  auto config = gx::inject::CounterConfig::Make(lab.host, lab.range, lab.chip, group.metrics, &result, &call);
  if (config == nullptr) return;
  auto names = config->MetricPointers();
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = enable.pRangeProfilerObject;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = size.maxNumRangeTreeNodes = 16;
  (void)lab.range.cuptiRangeProfilerGetCounterDataSize(&size);
  std::vector<uint8_t> image(size.counterDataSize);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
  initialize.pRangeProfilerObject = enable.pRangeProfilerObject;
  initialize.counterDataSize = image.size();
  initialize.pCounterData = image.data();
  (void)lab.range.cuptiRangeProfilerCounterDataImageInitialize(&initialize);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
  set.pRangeProfilerObject = enable.pRangeProfilerObject;
  set.configSize = config->image().size();
  set.pConfig = config->image().data();
  set.counterDataImageSize = image.size();
  set.pCounterDataImage = image.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 16;
  set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
  (void)lab.range.cuptiRangeProfilerSetConfig(&set);
  for (int round = 0; round < 4; ++round) {
    const std::string at = "restart.round_" + std::to_string(round) + ".";
    if (round != 0) (void)lab.range.cuptiRangeProfilerCounterDataImageInitialize(&initialize);
    double begin = Now();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = enable.pRangeProfilerObject;
    const CUptiResult started = lab.range.cuptiRangeProfilerStart(&start);
    Row(at + "start", (Now() - begin) * 1e3, "ms", "result " + std::to_string(started));
    for (int i = 0; i < 3; ++i) {
      const std::string name = "r" + std::to_string(round * 16 + i);
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
      push.pRangeProfilerObject = enable.pRangeProfilerObject;
      push.pRangeName = name.c_str();
      (void)lab.range.cuptiRangeProfilerPushRange(&push);
      lab.LaunchAxpy();
      Must(cudaDeviceSynchronize(), "sync");
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
      pop.pRangeProfilerObject = enable.pRangeProfilerObject;
      (void)lab.range.cuptiRangeProfilerPopRange(&pop);
    }
    begin = Now();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = enable.pRangeProfilerObject;
    (void)lab.range.cuptiRangeProfilerStop(&stop);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = enable.pRangeProfilerObject;
    (void)lab.range.cuptiRangeProfilerDecodeData(&decode);
    Row(at + "stop_and_decode", (Now() - begin) * 1e3, "ms");
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = image.data();
    info.counterDataImageSize = image.size();
    (void)lab.range.cuptiRangeProfilerGetCounterDataInfo(&info);
    std::vector<double> values;
    (void)config->Evaluate(image, info.numTotalRanges == 0 ? 0 : info.numTotalRanges - 1, names, &values);
    Row(at + "inst", Value(group.metrics, {{.order = 0, .values = values}}, 0, "smsp__inst_executed.sum"), "inst",
        std::to_string(info.numTotalRanges) + " ranges; 52,428,800 expected");
  }
  (void)config.release();
  std::fflush(stdout);
  _exit(0);  // The image is CUPTI's as long as the object lives.
}

// Several groups in one configuration, a pass each: whether a start and a stop run one pass after another, over ranges
// of names of their own, so that a change of group needs no new session. `decode_each`: after every pass, else once.
// `same_names`: of the ranges of every pass.
void SeveralPasses(const char* variant, bool decode_each, bool same_names, bool with_sass, bool all_passes) {
  Lab lab;
  const std::string at = std::string("passes_") + variant + ".";
  std::vector<const PlannedGroup*> groups = {&lab.Group(GroupKind::kHardware), &lab.Group(GroupKind::kTensor)};
  if (with_sass) groups.push_back(&lab.Group(GroupKind::kSass));
  std::vector<std::string> metrics;
  for (const PlannedGroup* group : groups) {
    for (const std::string& metric : group->metrics) {
      if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) metrics.push_back(metric);
    }
  }
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = lab.context;
  if (lab.range.cuptiRangeProfilerEnable(&enable) != CUPTI_SUCCESS) return;
  int result = 0;
  const char* call = "";
  auto config = gx::inject::CounterConfig::Make(lab.host, lab.range, lab.chip, metrics, &result, &call);
  if (config == nullptr) return;
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = config->image().size();
  passes.pConfigImage = const_cast<uint8_t*>(config->image().data());
  (void)lab.host.cuptiProfilerHostGetNumOfPasses(&passes);
  Row(at + "passes", static_cast<double>(passes.numOfPasses), "count", std::to_string(groups.size()) + " groups");
  constexpr size_t kRanges = 32;
  auto names = config->MetricPointers();
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = enable.pRangeProfilerObject;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = size.maxNumRangeTreeNodes = kRanges;
  (void)lab.range.cuptiRangeProfilerGetCounterDataSize(&size);
  std::vector<uint8_t> image(size.counterDataSize);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
  initialize.pRangeProfilerObject = enable.pRangeProfilerObject;
  initialize.counterDataSize = image.size();
  initialize.pCounterData = image.data();
  (void)lab.range.cuptiRangeProfilerCounterDataImageInitialize(&initialize);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
  set.pRangeProfilerObject = enable.pRangeProfilerObject;
  set.configSize = config->image().size();
  set.pConfig = config->image().data();
  set.counterDataImageSize = image.size();
  set.pCounterDataImage = image.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = kRanges;
  set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
  (void)lab.range.cuptiRangeProfilerSetConfig(&set);
  const auto decode = [&](const std::string& when) {
    const double begin = Now();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = enable.pRangeProfilerObject;
    const CUptiResult code = lab.range.cuptiRangeProfilerDecodeData(&params);
    Row(when + "decode", (Now() - begin) * 1e3, "ms",
        "result " + std::to_string(code) + ", dropped " + std::to_string(params.numOfRangeDropped));
  };
  const size_t rounds = all_passes ? passes.numOfPasses + 1 : 1;  // One more: whether it begins again.
  for (size_t pass = 0; pass < rounds; ++pass) {
    const std::string when = at + "pass_" + std::to_string(pass) + ".";
    double begin = Now();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = enable.pRangeProfilerObject;
    const CUptiResult started = lab.range.cuptiRangeProfilerStart(&start);
    Row(when + "start", (Now() - begin) * 1e3, "ms", "result " + std::to_string(started));
    for (size_t i = 0; i < 3; ++i) {
      const std::string name = "r" + std::to_string(same_names ? i : pass * 3 + i);
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
      push.pRangeProfilerObject = enable.pRangeProfilerObject;
      push.pRangeName = name.c_str();
      (void)lab.range.cuptiRangeProfilerPushRange(&push);
      begin = Now();
      lab.LaunchAxpy();
      const double launch = Now() - begin;
      Must(cudaDeviceSynchronize(), "sync");
      GX_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
      pop.pRangeProfilerObject = enable.pRangeProfilerObject;
      const CUptiResult popped = lab.range.cuptiRangeProfilerPopRange(&pop);
      if (i == 2) Row(when + "launch", launch * 1e3, "ms", "pop " + std::to_string(popped));
    }
    begin = Now();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = enable.pRangeProfilerObject;
    const CUptiResult stopped = lab.range.cuptiRangeProfilerStop(&stop);
    Row(when + "stop", (Now() - begin) * 1e3, "ms",
        "result " + std::to_string(stopped) + ", pass " + std::to_string(stop.passIndex) + ", all submitted " +
            std::to_string(stop.isAllPassSubmitted));
    if (decode_each) decode(when);
  }
  if (!decode_each) decode(at);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = image.data();
  info.counterDataImageSize = image.size();
  (void)lab.range.cuptiRangeProfilerGetCounterDataInfo(&info);
  for (size_t i = 0; i < info.numTotalRanges; ++i) {
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, range);
    range.pCounterDataImage = image.data();
    range.counterDataImageSize = image.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    (void)lab.range.cuptiRangeProfilerCounterDataGetRangeInfo(&range);
    std::vector<double> values;
    const int evaluated = config->Evaluate(image, i, names, &values);
    std::string text = "evaluated " + std::to_string(evaluated);
    for (const PlannedGroup* group : groups) {
      size_t known = 0;
      for (size_t m = 0; m < metrics.size(); ++m) {
        const bool in_group =
            std::find(group->metrics.begin(), group->metrics.end(), metrics[m]) != group->metrics.end();
        if (in_group && m < values.size() && !std::isnan(values[m])) ++known;
      }
      text += ", " + group->name + " " + std::to_string(known) + " of " + std::to_string(group->metrics.size());
    }
    Row(at + "range_" + (range.rangeName == nullptr ? "?" : range.rangeName), static_cast<double>(i), "index", text);
    for (const char* metric : {"smsp__inst_executed.sum", "smsp__sass_inst_executed.sum", "dram__bytes_read.sum"}) {
      const double value = Value(metrics, {{.order = 0, .values = values}}, 0, metric);
      if (!std::isnan(value)) Row(at + "range_" + range.rangeName + "." + metric, value, "");
    }
  }
  const double begin = Now();
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
  disable.pRangeProfilerObject = enable.pRangeProfilerObject;
  const CUptiResult disabled = lab.range.cuptiRangeProfilerDisable(&disable);
  Row(at + "disable", (Now() - begin) * 1e3, "ms", "result " + std::to_string(disabled));
}

struct Fact {
  const char* name;
  void (*body)();
};
constexpr Fact kFacts[] = {
    {"loading", Loading},
    {"sessions", Sessions},
    {"first_range", FirstRange},
    {"names", Names},
    {"regroup", Regroup},
    {"waits", Waits},
    {"threads", Threads},
    {"recovery", Recovery},
    {"left", Left},
    {"foreign", Foreign},
    {"graphs", Graphs},
    {"peaks", Peaks},
    {"costs", Costs},
    {"patched", Patched},
    {"restart", Restart},
    {"passes_each", [] { SeveralPasses("each", true, false, true, true); }},
    {"passes_end", [] { SeveralPasses("end", false, false, true, true); }},
    {"passes_same", [] { SeveralPasses("same", true, true, true, true); }},
    {"passes_hardware", [] { SeveralPasses("hardware", true, false, false, true); }},
    {"passes_first", [] { SeveralPasses("first", true, false, true, false); }},
    {"per_thread", PerThread},
    {"streams", Streams},
    {"captures", Captures},
    {"tracing", Tracing},
    {"outside", OutsideRanges},
    {"concurrency", Concurrency},
    {"preparation", Preparation},
    {"contexts", Contexts},
    {"pc_alone", [] { PcSampling(PcOrder::kAlone); }},
    {"pc_callback", [] { PcSampling(PcOrder::kInCallback); }},
    {"pc_before", [] { PcSampling(PcOrder::kCountersFirst); }},
    {"pc_after", [] { PcSampling(PcOrder::kSamplingFirst); }},
};

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--list") {
      for (const Fact& fact : kFacts) std::printf("%s\n", fact.name);
      return 0;
    }
    if (i + 1 < argc && argument == "--cupti") {
      g_cupti_path = argv[++i];
    } else if (i + 1 < argc && argument == "--only") {
      only = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gx-counter-facts [--cupti PATH] [--only NAME] [--list]\n");
      return 2;
    }
  }
  int failed = 0;
  for (const Fact& fact : kFacts) {
    if (!only.empty() && only != fact.name) continue;
    // CUDA does not survive a fork: the child is the first to use it.
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      fact.body();
      std::fflush(stdout);
      std::exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++failed;
    if (WIFSIGNALED(status)) {
      Row(std::string(fact.name) + ".died", WTERMSIG(status), "signal",
          WTERMSIG(status) == SIGALRM ? "hung for 60 s" : "");
    } else {
      Row(std::string(fact.name) + ".failed", WEXITSTATUS(status), "code");
    }
  }
  return failed == 0 ? 0 : 1;
}
