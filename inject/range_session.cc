#include "inject/range_session.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "inject/clock.h"
#include "inject/cupti_params.h"
#include "inject/keep_alive.h"

namespace gx::inject {
namespace {

// One call of CUPTI, reported to the watchdog, its time added where it belongs.
class WatchedCall {
 public:
  WatchedCall(SamplingWatchdog* watchdog, SamplingCall call, uint64_t* cost_ns) noexcept
      : watchdog_(watchdog), cost_ns_(cost_ns), begin_ns_(MonotonicNs()), slot_(watchdog->Enter(call, begin_ns_)) {}
  ~WatchedCall() {
    watchdog_->Leave(slot_);
    if (cost_ns_ != nullptr) *cost_ns_ += MonotonicNs() - begin_ns_;
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  SamplingWatchdog* watchdog_;
  uint64_t* cost_ns_;
  uint64_t begin_ns_;
  uint32_t slot_;
};

// Of the names of ranges, by pass.
constexpr char kRangePrefix[] = {'r', 's'};

// In place of a call's name.
constexpr char kOurMemory[] = "memory for counters";

// The first failure of a sequence.
void Note(RangeSession::Failure* failure, CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS || failure->failed()) return;
  failure->result = result;
  failure->call = call;
}

}  // namespace

RangeSession::~RangeSession() {
  if (object_ != nullptr) Abandon();
}

RangeSession::Failure RangeSession::Open(const Options& options) {
  options_ = options;
  pushed_ = 0;
  dropped_ = 0;
  pass_ = 0;
  costs_ = {};
  Failure failure;
  {
    const WatchedCall watched(watchdog_, SamplingCall::kEnable, &costs_.enable_ns);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = options.context;
    Note(&failure, range_.cuptiRangeProfilerEnable(&enable), "cuptiRangeProfilerEnable");
    if (failure.failed()) return failure;
    object_ = enable.pRangeProfilerObject;
  }
  const auto configure = [&] {
    const WatchedCall watched(watchdog_, SamplingCall::kConfigure, &costs_.enable_ns);
    std::vector<std::string> metrics = options.metrics;
    metrics.insert(metrics.end(), options.next_metrics.begin(), options.next_metrics.end());
    config_ = CounterConfig::Make(host_, range_, options.chip, std::move(metrics), &failure.result, &failure.call);
    if (config_ == nullptr) return;
    std::vector<const char*> names = config_->MetricPointers();
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    // Ranges of the second pass have names of their own.
    const uint32_t next_ranges = options.next_metrics.empty() ? 0 : options.max_next_ranges;
    const uint32_t all_ranges = options.max_ranges + next_ranges;
    size.maxNumOfRanges = all_ranges;
    size.maxNumRangeTreeNodes = all_ranges;
    Note(&failure, range_.cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
    if (failure.failed()) return;
    counter_data_ = std::make_unique<std::vector<uint8_t>>(size.counterDataSize);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
    initialize.pRangeProfilerObject = object_;
    initialize.counterDataSize = counter_data_->size();
    initialize.pCounterData = counter_data_->data();
    Note(&failure, range_.cuptiRangeProfilerCounterDataImageInitialize(&initialize),
         "cuptiRangeProfilerCounterDataImageInitialize");
    if (failure.failed()) return;
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = object_;
    set.configSize = config_->image().size();
    set.pConfig = config_->image().data();
    set.counterDataImageSize = counter_data_->size();
    set.pCounterDataImage = counter_data_->data();
    // Without kernel_replay the launches run as they are, and all groups are of one pass.
    set.range = options.kernel_replay ? CUPTI_AutoRange : CUPTI_UserRange;
    set.replayMode = options.kernel_replay ? CUPTI_KernelReplay : CUPTI_UserReplay;
    set.maxRangesPerPass = std::max(options.max_ranges, next_ranges);
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    Note(&failure, range_.cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
  };
  try {
    configure();
  } catch (const std::bad_alloc&) {
    // The object is enabled: it has to be given back.
    Note(&failure, CUPTI_ERROR_OUT_OF_MEMORY, kOurMemory);
  }
  if (!failure.failed()) Start(&failure);
  if (failure.failed()) {
    std::vector<RangeValues> none;
    (void)Close(&none, nullptr);
  }
  return failure;
}

void RangeSession::Start(Failure* failure) {
  const WatchedCall watched(watchdog_, SamplingCall::kStart, &costs_.start_ns);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
  start.pRangeProfilerObject = object_;
  const CUptiResult result = range_.cuptiRangeProfilerStart(&start);
  Note(failure, result, "cuptiRangeProfilerStart");
  started_ = result == CUPTI_SUCCESS;
}

void RangeSession::Stop(Failure* failure) {
  const WatchedCall watched(watchdog_, SamplingCall::kStop, &costs_.stop_ns);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
  stop.pRangeProfilerObject = object_;
  Note(failure, range_.cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop");
  started_ = false;
}

int RangeSession::Push() noexcept {
  char name[16] = {kRangePrefix[pass_]};
  *std::to_chars(name + 1, name + sizeof(name) - 1, next_order()).ptr = '\0';
  const WatchedCall watched(watchdog_, SamplingCall::kPush, nullptr);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
  push.pRangeProfilerObject = object_;
  push.pRangeName = name;
  const CUptiResult result = range_.cuptiRangeProfilerPushRange(&push);
  // Also where it failed: a name is not used twice.
  ++pushed_;
  return result;
}

int RangeSession::Pop() noexcept {
  const WatchedCall watched(watchdog_, SamplingCall::kPop, nullptr);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
  pop.pRangeProfilerObject = object_;
  return range_.cuptiRangeProfilerPopRange(&pop);
}

RangeSession::Failure RangeSession::EndPass(std::vector<RangeValues>* values, std::vector<double>* extra_values) {
  Failure failure;
  Stop(&failure);
  if (pushed_ != 0) Read(values, extra_values, &failure);
  return failure;
}

RangeSession::Failure RangeSession::BeginPass() {
  pass_ = 1;
  pushed_ = 0;
  dropped_ = 0;
  costs_ = {};
  Failure failure;
  Start(&failure);
  return failure;
}

RangeSession::Failure RangeSession::Close(std::vector<RangeValues>* values, std::vector<double>* extra_values) {
  Failure failure;
  if (object_ == nullptr) return failure;
  const bool was_started = started_;
  if (started_) Stop(&failure);
  if (was_started && (pushed_ != 0 || options_.kernel_replay) && config_ != nullptr)
    Read(values, extra_values, &failure);
  {
    const WatchedCall watched(watchdog_, SamplingCall::kDisable, &costs_.disable_ns);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
    disable.pRangeProfilerObject = object_;
    const CUptiResult result = range_.cuptiRangeProfilerDisable(&disable);
    Note(&failure, result, "cuptiRangeProfilerDisable");
    if (result != CUPTI_SUCCESS) {
      // It may still write to what it was given.
      Abandon();
      return failure;
    }
  }
  object_ = nullptr;
  config_.reset();
  counter_data_.reset();
  return failure;
}

void RangeSession::Read(std::vector<RangeValues>* values, std::vector<double>* extra_values, Failure* failure) {
  {
    const WatchedCall watched(watchdog_, SamplingCall::kDecode, &costs_.decode_ns);
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = object_;
    Note(failure, range_.cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData");
    dropped_ = decode.numOfRangeDropped;
  }
  const WatchedCall watched(watchdog_, SamplingCall::kEvaluate, &costs_.decode_ns);
  GX_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = counter_data_->data();
  info.counterDataImageSize = counter_data_->size();
  Note(failure, range_.cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo");
  std::vector<const char*> names;
  for (const std::string& metric : pass_ == 0 ? options_.metrics : options_.next_metrics) {
    names.push_back(metric.c_str());
  }
  for (size_t i = 0; i < info.numTotalRanges; ++i) {
    GX_CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, range);
    range.pCounterDataImage = counter_data_->data();
    range.counterDataImageSize = counter_data_->size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    const CUptiResult result = range_.cuptiRangeProfilerCounterDataGetRangeInfo(&range);
    Note(failure, result, "cuptiRangeProfilerCounterDataGetRangeInfo");
    if (result != CUPTI_SUCCESS) continue;
    RangeValues read;
    if (options_.kernel_replay) {
      // CUPTI names its ranges itself.
      read.order = static_cast<uint32_t>(i);
    } else {
      if (range.rangeName == nullptr || range.rangeName[0] != kRangePrefix[pass_]) continue;
      const char* const end = range.rangeName + std::strlen(range.rangeName);
      const std::from_chars_result number = std::from_chars(range.rangeName + 1, end, read.order);
      if (number.ec != std::errc() || number.ptr != end || read.order >= pushed_) continue;
    }
    const int evaluated = config_->Evaluate(*counter_data_, i, names, &read.values);
    Note(failure, static_cast<CUptiResult>(evaluated), "cuptiProfilerHostEvaluateToGpuValues");
    if (evaluated != CUPTI_SUCCESS) continue;
    values->push_back(std::move(read));
  }
  if (extra_values == nullptr || options_.extra_metrics.empty() || info.numTotalRanges == 0 || pass_ != 0) return;
  std::vector<const char*> extra;
  for (const std::string& metric : options_.extra_metrics) extra.push_back(metric.c_str());
  // These are a gift: that CUPTI refuses one is no failure of the session.
  if (config_->Evaluate(*counter_data_, 0, extra, extra_values) != CUPTI_SUCCESS) extra_values->clear();
}

void RangeSession::Abandon() noexcept {
  // CUPTI may write to the image and read the configuration as long as the process lives.
  KeepAlive(std::move(config_));
  KeepAlive(std::move(counter_data_));
  object_ = nullptr;
  started_ = false;
}

}  // namespace gx::inject
