// CUPTI returns each of its error codes from each of its functions in turn, and functions that never come back: the
// program is what it is without the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Arguments = std::vector<std::string>;

// CUPTI_ERROR_INVALID_CHIP_NAME, the last one of cupti_result.h (13.0), and some room.
constexpr int kLastCode = 50;

// All of CUptiResult but success, and some that no header knows.
std::vector<int> ErrorCodes() {
  std::vector<int> codes;
  for (int code = 1; code <= kLastCode; ++code) codes.push_back(code);
  codes.push_back(999);  // CUPTI_ERROR_UNKNOWN
  return codes;
}

class ErrorCodeTest : public CaptureTest {
 protected:
  // With the library, as it is without.
  fakes::HostRun ExpectBare(const Arguments& arguments, const testing::CommandResult& bare,
                            const fakes::Environment& environment, const std::string& what) {
    std::filesystem::remove(File("gpu.log"));
    fakes::HostRun run(arguments, Injected(environment), folder().path());
    EXPECT_EQ(run.result.exit_code, bare.exit_code) << what;
    EXPECT_EQ(run.result.signal, bare.signal) << what;
    EXPECT_EQ(run.result.out, bare.out) << what;
    EXPECT_EQ(run.result.err, bare.err) << what;
    return run;
  }
};

class EveryErrorCode : public ErrorCodeTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryErrorCode, LeavesTheProgramAsItIs) {
  const Arguments arguments = {"graph", "nodes=2", "replays=2", "state=1"};
  const testing::CommandResult bare = RunBare(arguments);
  for (const int code : ErrorCodes()) {
    const std::string failure = std::string(GetParam()) + "=" + std::to_string(code);
    const fakes::HostRun run =
        ExpectBare(arguments, bare, {{"FAKE_FAIL", failure}, {"GPUEXEC_EXIT_WAIT", "0.1"}}, failure);
    EXPECT_THAT(Violations(run.log), IsEmpty()) << failure;
    const TraceView trace = ReadTrace(File("trace.pb"));
    EXPECT_EQ(trace.cut_bytes, 0u) << failure;
    if (HasFailure()) return;
  }
}

const auto name_of = [](const auto& instance) { return std::string(instance.param); };

INSTANTIATE_TEST_SUITE_P(Of, EveryErrorCode,
                         ::testing::Values("cuptiGetVersion", "cuptiSubscribe_v2", "cuptiEnableCallback",
                                           "cuptiActivityRegisterCallbacks", "cuptiActivityEnable",
                                           "cuptiActivityDisable", "cuptiActivityFlushAll",
                                           "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords",
                                           "cuptiGetTimestamp", "cuptiGetStreamIdEx", "cuptiGetDeviceId",
                                           "cuptiGetContextId", "cuptiGetGraphId", "cuptiGetGraphNodeId",
                                           "cuptiGetGraphExecId"),
                         name_of);

TEST_F(ErrorCodeTest, EveryCodeOfTheOldSubscribeLeavesTheProgramAsItIs) {
  const Arguments arguments = {"launch", "n=5", "state=1"};
  const testing::CommandResult bare = RunBare(arguments);
  for (const int code : ErrorCodes()) {
    const std::string failure = "cuptiSubscribe=" + std::to_string(code);
    ExpectBare(
        arguments, bare,
        {{"FAKE_FAIL", failure}, {"FAKE_CUPTI_VERSION", "28"}, {"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.12"}},
        failure);
    EXPECT_THAT(ReadTrace(File("trace.pb")).diagnostics, HasSubstr("error " + std::to_string(code))) << failure;
  }
}

// Functions of counters, with codes that are told apart and one that nobody knows.
class CounterErrorCode : public ErrorCodeTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(CounterErrorCode, LeavesTheProgramAsItIs) {
  const Arguments arguments = {"sampled", "ms=1400", "state=1"};
  const testing::CommandResult bare = RunBare(arguments);
  for (const int code : {8, 26, 35, 45, 60}) {
    const std::string failure = std::string(GetParam()) + "=" + std::to_string(code);
    const fakes::HostRun run =
        ExpectBare(arguments, bare, {{"FAKE_FAIL", failure}, {"GPUEXEC_BUDGET", "off"}}, failure);
    EXPECT_THAT(run.log.Of("cupti", "function", GetParam()), Not(IsEmpty())) << failure << ": it was not called";
    const TraceView trace = ReadTrace(File("trace.pb"));
    EXPECT_THAT(trace.kernels, Not(IsEmpty())) << failure;
    ASSERT_TRUE(trace.trailer.has_value()) << failure;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CounterErrorCode,
                         ::testing::Values("cuptiProfilerInitialize", "cuptiProfilerDeviceSupported",
                                           "cuptiProfilerHostInitialize", "cuptiRangeProfilerEnable",
                                           "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
                                           "cuptiRangeProfilerPushRange"),
                         name_of);

// A function that never comes back, called by a thread of ours. Those that begin a session, or that callbacks call, run
// on the program's threads and are not among them: nobody else can make those calls (README.md).
class Blocked : public ErrorCodeTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Blocked, ACallOfAThreadOfOursDoesNotHoldTheProgramUp) {
  const Arguments arguments = {"launch", "n=100", "state=1", "sleep_ms=300"};
  const testing::CommandResult bare = RunBare(arguments);
  const fakes::HostRun run =
      ExpectBare(arguments, bare, {{"FAKE_HANG", GetParam()}, {"GPUEXEC_EXIT_WAIT", "0.2"}}, GetParam());
  EXPECT_THAT(run.log.Of("hangs"), SizeIs(Gt(0u))) << "it was not called";
  EXPECT_EQ(ReadTrace(File("trace.pb")).cut_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(In, Blocked,
                         ::testing::Values("cuptiActivityFlushAll", "cuptiActivityGetNextRecord",
                                           "cuptiActivityGetNumDroppedRecords", "cuFuncGetAttribute",
                                           "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuDeviceGetName",
                                           "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "nvmlInit_v2",
                                           "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetClockInfo",
                                           "nvmlDeviceGetPowerUsage"),
                         name_of);

}  // namespace
}  // namespace gx::e2e
