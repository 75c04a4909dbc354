// What the fake GPU is told to do: the FAKE_* variables of the environment, read once per process and per library.
// Shared by the fake libcuda, libcupti and libnvidia-ml. Immutable after the first call: usable from any thread.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_SCENARIO_H_
#define GPUEXEC_TESTS_FAKES_FAKE_SCENARIO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::fakes {

// One entry of FAKE_FAIL: `function=code`, or `function:argument=code` for one value of the call's deciding argument
// (the activity kind of cuptiActivityEnable, the callback id of cuptiEnableCallback, ...).
struct FailureRule {
  std::string function;
  bool any_argument = true;
  uint64_t argument = 0;
  int code = 0;
};

// FAKE_HANG: the n-th call of a function never returns, or every one.
struct HangRule {
  std::string function;
  uint64_t call_number = 0;  // From 1; 0: every call.
};

struct Scenario {
  // FAKE_GPU_LOG: file that receives one line per fact (see fake_log.h). Empty: no log.
  std::string log_path;
  // FAKE_GPU_DEVICES: how many devices there are.
  int device_count = 2;
  // FAKE_GPU_USED_MIB: memory in use, of each device.
  uint64_t memory_used_mib = 1024;
  // FAKE_FAIL: comma-separated FailureRules.
  std::vector<FailureRule> failures;

  // FAKE_CUPTI_VERSION: what cuptiGetVersion answers; also selects the record layouts.
  uint32_t cupti_version = 130001;
  // FAKE_CUPTI_SUBSCRIBER: name of a tool that holds the subscription already.
  std::string other_subscriber;
  // FAKE_CUPTI_DROP: that many kernel records are dropped, and reported by cuptiActivityGetNumDroppedRecords.
  uint64_t drop_count = 0;
  // FAKE_CUPTI_ZERO_TIMES: every n-th kernel record has start = end = 0. 0: none.
  uint64_t zero_times_every = 0;
  // FAKE_CUPTI_BACKWARDS: every n-th kernel record has its end before its start. 0: none.
  uint64_t backwards_every = 0;
  // FAKE_CUPTI_DISAGREE: every n-th kernel record states another grid than its launch. 0: none.
  uint64_t disagree_every = 0;
  // FAKE_CUPTI_STRANGE: every n-th kernel record is preceded by a record of a kind that nobody enabled. 0: none.
  uint64_t strange_every = 0;
  // FAKE_CUPTI_LANES: buffers that are filled side by side; records go to the launching thread's lane. Default: one for
  // all threads before CUPTI 13.0, several since.
  uint32_t lane_count = 0;
  // FAKE_CUPTI_SHUFFLE=1: records go to lanes in turn, and each buffer is delivered in reverse order.
  bool shuffle = false;
  // FAKE_CUPTI_THREADS: threads that deliver completed buffers.
  uint32_t delivery_thread_count = 3;
  // FAKE_CUPTI_REUSE_NAMES=1: a record's name points into the module, whose memory is used again after its unload.
  bool reuse_names = false;
  // FAKE_HANG: comma-separated HangRules.
  std::vector<HangRule> hangs;
  // FAKE_CUPTI_COUNTERS=denied: calls that need permission for counters are refused; =unsupported: the device has none.
  bool counters_denied = false;
  bool counters_unsupported = false;
  // FAKE_CUPTI_START_US, FAKE_CUPTI_RANGE_US: what starting a session and pushing a range of hardware counters take.
  uint64_t counter_start_us = 2000;
  uint64_t counter_range_us = 100;
  // FAKE_CUPTI_FLUSH_HANGS=1: cuptiActivityFlushAll never returns.
  bool flush_hangs = false;
};

// [MT] The process's scenario.
const Scenario& GetScenario();

// Pure: reads a scenario from NAME=VALUE strings. An unknown FAKE_ variable or a bad value ends up in `problems`.
Scenario ParseScenario(const std::vector<std::string>& environment, std::vector<std::string>* problems);

// [MT] The code that `function` must return instead of doing its work; 0: none. Every function of the fakes asks once a
// call: where FAKE_HANG names it, this never returns.
int InjectedFailure(const char* function);
int InjectedFailure(const char* function, uint64_t argument);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_SCENARIO_H_
