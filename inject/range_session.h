// One group of counters armed in one context, in user-range mode: Open, then Push and Pop around launches, then Close,
// which returns what each range counted. Every call of CUPTI is reported to the watchdog.
//
// With `kernel_replay` CUPTI itself puts a range around the one launch between Open and Close, and runs it once for
// each pass: then there is no Push, and Close returns the range as number 0. Never more than one launch: a session that
// was left open over several hung or died (CUPTI 13.0).
//
// With `next_metrics` the session counts one group and then another: a pass each of one configuration.
// A start after a stop runs the next pass, and a range counts what its pass does. A session of its own costs about
// 0.25 s, the next pass some milliseconds (CUPTI 13.0 on an H200). The caller knows that the two groups take two
// passes, the first one first: hardware counters and patched code do.
//
// Facts of CUPTI 13.0 that shape it (measured on an H200): a second group set on the same range profiler object gives
// NaN, so a session ends with Disable; names of ranges must differ inside a session; Push waits for the whole context
// to be idle, without a limit, and Pop for the launch: callers look first. Nothing here waits or decides.
//
// Threads: one at a time, any; the caller sees to it. Push and Pop allocate nothing. The context has to be current on
// the thread that calls Open or Close.
#ifndef GPUEXEC_INJECT_RANGE_SESSION_H_
#define GPUEXEC_INJECT_RANGE_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inject/counter_config.h"
#include "inject/sampling_watchdog.h"

namespace gx::inject {

// What Open, Close and their parts took on the thread that called them.
struct RangeSessionCosts {
  uint64_t enable_ns = 0;  // With the configuration.
  uint64_t start_ns = 0;
  uint64_t stop_ns = 0;
  uint64_t decode_ns = 0;  // With the evaluation.
  uint64_t disable_ns = 0;
};

struct RangeValues {
  uint32_t order = 0;          // Of the range, as pushed, from 0.
  std::vector<double> values;  // In the order of the group's metrics. NaN: unavailable.
};

class RangeSession {
 public:
  struct Options {
    CUcontext context = nullptr;
    std::string chip;
    std::vector<std::string> metrics;
    // Metrics that cost no counter and are read once, of the first range: peaks.
    std::vector<std::string> extra_metrics;
    // Of the second pass; empty: there is none. Not with kernel_replay.
    std::vector<std::string> next_metrics;
    uint32_t max_ranges = 256;
    uint32_t max_next_ranges = 256;  // Of the second pass.
    bool kernel_replay = false;
  };
  // How a sequence of calls ended: the first that failed.
  struct Failure {
    int result = 0;              // CUptiResult; 0: none failed.
    const char* call = nullptr;  // Static storage; a call of CUPTI, or what there was no memory for.
    bool failed() const { return result != 0; }
  };

  RangeSession(const ProfilerHostApi& host, const RangeProfilerApi& range, SamplingWatchdog* watchdog)
      : host_(host), range_(range), watchdog_(watchdog) {}
  RangeSession(const RangeSession&) = delete;
  RangeSession& operator=(const RangeSession&) = delete;
  // Frees nothing that CUPTI may still use: an object that is open is left as it is.
  ~RangeSession();

  Failure Open(const Options& options);
  // Whether another range can be pushed before Close.
  bool HasRoom() const { return next_order() < (pass_ == 0 ? options_.max_ranges : options_.max_next_ranges); }
  // Number of the range that the next Push begins, in this pass. [MT]
  uint32_t next_order() const { return pushed_.load(std::memory_order_relaxed); }
  // CUptiResult.
  int Push() noexcept;
  int Pop() noexcept;
  // Whether EndPass, and then BeginPass, may follow.
  bool HasNextPass() const { return started_ && pass_ == 0 && !options_.next_metrics.empty(); }
  // Stops and reads what the first pass counted, as far as it gets.
  Failure EndPass(std::vector<RangeValues>* values, std::vector<double>* extra_values);
  // Starts the second pass: ranges and costs begin anew. After a failure nothing but Close may follow.
  Failure BeginPass();
  // Stops, reads (the present pass) and disables, as far as it gets: a failure ends neither the reading nor the
  // disabling.
  Failure Close(std::vector<RangeValues>* values, std::vector<double>* extra_values);
  // The range that is open will never be popped: no call of CUPTI for this session any more, its memory stays.
  void Abandon() noexcept;
  bool is_open() const { return object_ != nullptr; }
  // Ranges of this pass that CUPTI says it lost, known after Close.
  uint64_t dropped() const { return dropped_; }

  const RangeSessionCosts& costs() const { return costs_; }
  const std::string& chip() const { return options_.chip; }

 private:
  void Start(Failure* failure);
  void Stop(Failure* failure);
  void Read(std::vector<RangeValues>* values, std::vector<double>* extra_values, Failure* failure);

  const ProfilerHostApi& host_;
  const RangeProfilerApi& range_;
  SamplingWatchdog* watchdog_;
  Options options_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::unique_ptr<CounterConfig> config_;
  std::unique_ptr<std::vector<uint8_t>> counter_data_;
  std::atomic<uint32_t> pushed_{0};
  uint64_t dropped_ = 0;
  bool started_ = false;
  uint32_t pass_ = 0;
  RangeSessionCosts costs_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RANGE_SESSION_H_
