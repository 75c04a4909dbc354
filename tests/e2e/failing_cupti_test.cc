// CUPTI and the driver refuse one thing after another: what is left is recorded, what is lost is named, and the program
// never notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FailingCupti : public CaptureTest {};

struct RefusedKind {
  int kind;
  const char* name;

  friend void PrintTo(const RefusedKind& refused, std::ostream* out) { *out << refused.name; }
};

class RefusedKindTest : public CaptureTest, public ::testing::WithParamInterface<RefusedKind> {};

TEST_P(RefusedKindTest, TheOtherKindsStandAlone) {
  const int kind = GetParam().kind;
  const Capture capture = Run(
      {"memory"}, {{"FAKE_FAIL", "cuptiActivityEnable:" + std::to_string(kind) + "=21"}, {"GPUEXEC_OVERHEAD", "on"}});
  EXPECT_EQ(capture.result.out, "copied 3\n");
  EXPECT_EQ(capture.trace.Stat(v1::STAT_ACTIVITY_KINDS_REFUSED), 1u);
  EXPECT_THAT(capture.trace.launches, SizeIs(1));
  const auto has_memory = [&](inject::MemoryKind wanted) {
    for (const MemoryRow& row : capture.trace.memory) {
      if (row.record.kind == wanted) return true;
    }
    return false;
  };
  EXPECT_EQ(capture.trace.kernels.size(), kind == 10 ? 0u : 1u);
  EXPECT_EQ(has_memory(inject::MemoryKind::kMemcpy), kind != 1);
  EXPECT_EQ(has_memory(inject::MemoryKind::kMemset), kind != 2);
  EXPECT_EQ(has_memory(inject::MemoryKind::kMemcpyPeer), kind != 22);
  EXPECT_THAT(capture.trace.synchronizations, Not(IsEmpty()));
  EXPECT_EQ(capture.trace.overheads.empty(), kind == 17);
}

INSTANTIATE_TEST_SUITE_P(Every, RefusedKindTest,
                         ::testing::Values(RefusedKind{1, "Memcpy"}, RefusedKind{2, "Memset"},
                                           RefusedKind{10, "ConcurrentKernel"}, RefusedKind{17, "Overhead"},
                                           RefusedKind{22, "PeerMemcpy"}),
                         [](const auto& instance) { return instance.param.name; });

// Each function in turn returns CUPTI_ERROR_UNKNOWN from its first call to its last.
class FailingFunction : public CaptureTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(FailingFunction, TheProgramRunsAsIfNothingWere) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"launch", "n=50"}, {"graph", "nodes=3", "replays=3"}, {"modules", "loops=2"}}) {
    const testing::CommandResult bare = RunBare(arguments);
    const Capture capture = Run(arguments, {{"FAKE_FAIL", GetParam() + "=999"}, {"GPUEXEC_EXIT_WAIT", "0.2"}});
    EXPECT_EQ(capture.result.exit_code, bare.exit_code);
    EXPECT_EQ(capture.result.signal, bare.signal);
    EXPECT_EQ(capture.result.out, bare.out);
    EXPECT_EQ(capture.result.err, bare.err);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, FailingFunction,
    ::testing::Values("cuptiGetVersion", "cuptiSubscribe_v2", "cuptiEnableCallback", "cuptiActivityRegisterCallbacks",
                      "cuptiActivityEnable", "cuptiActivityDisable", "cuptiActivityFlushAll",
                      "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords", "cuptiGetTimestamp",
                      "cuptiGetStreamIdEx", "cuptiGetDeviceId", "cuptiGetContextId", "cuptiGetGraphId",
                      "cuptiGetGraphNodeId", "cuptiGetGraphExecId", "cuptiActivitySetAttribute", "cuDriverGetVersion",
                      "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid_v2", "cuDeviceGetPCIBusId",
                      "cuDeviceTotalMem_v2", "cuDeviceGetAttribute", "cuFuncGetAttribute", "cuFuncGetName",
                      "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
                      "nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetClockInfo",
                      "nvmlDeviceGetPowerUsage"),
    [](const auto& instance) { return instance.param; });

TEST_F(FailingCupti, AnotherSubscriberIsNamedAndKeepsTheProgramUntouched) {
  const Capture capture = Run({"launch", "n=10"}, {{"FAKE_CUPTI_SUBSCRIBER", "Nsight Systems"}});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("Nsight Systems"));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SUBSCRIBE_REFUSED), 1u);
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiActivityEnable"), IsEmpty());
  EXPECT_THAT(capture.log.Of("buffer"), IsEmpty());
}

TEST_F(FailingCupti, ACuptiWithoutTheNewSubscribeSaysThatSomebodyElseHoldsIt) {
  const Capture capture = Run({"launch", "n=10"}, {{"FAKE_CUPTI_SUBSCRIBER", "cuda-gdb"},
                                                   {"FAKE_CUPTI_VERSION", "26"},
                                                   {"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.12"}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SUBSCRIBE_REFUSED), 1u);
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("error 39"));
}

TEST_F(FailingCupti, WithoutALibcuptiTheProgramRunsAndTheReasonIsWritten) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_CUPTI", "/nonexistent/libcupti.so"}});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_EQ(capture.result.err, "leaving\n");
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("/nonexistent/libcupti.so"));
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("GPUEXEC_CUPTI"));
  ASSERT_TRUE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.trailer->reason(), v1::Trailer::REASON_DISABLED);
}

TEST_F(FailingCupti, ACuptiOnTheLibraryPathIsFoundWithoutASetting) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_CUPTI", ""}});
  EXPECT_EQ(capture.trace.header.cupti_path(), GX_FAKES_DIR "/libcupti.so.13");
  EXPECT_THAT(capture.trace.kernels, SizeIs(10));
}

TEST_F(FailingCupti, ASecondClientIsRefusedAsLongAsWeAreThere) {
  const Capture capture = Run({"profiler", "cupti=" GX_FAKES_DIR "/libcupti.so.13"});
  EXPECT_EQ(capture.result.out, "cuptiSubscribe: 39\n");
  EXPECT_THAT(capture.trace.kernels, SizeIs(2));
}

TEST_F(FailingCupti, LaunchesAreRecordedWithoutTimingsWhereKernelsAreRefused) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_FAIL", "cuptiActivityEnable=21"}});
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_THAT(capture.trace.kernels, IsEmpty());
  // Kernels, two kinds of copies, fills.
  EXPECT_EQ(capture.trace.Stat(v1::STAT_ACTIVITY_KINDS_REFUSED), 4u);
  EXPECT_THAT(capture.trace.diagnostics, Not(IsEmpty()));
}

TEST_F(FailingCupti, AMemoryBudgetThatIsTooSmallLosesByName) {
  // More threads with a buffer each than the budget has buffers.
  const Capture capture = Run(
      {"launch", "n=2000", "threads=12"},
      {{"GPUEXEC_MEMORY", "8M"}, {"GPUEXEC_EXIT_WAIT", "5"}, {"GPUEXEC_COUNTERS", "off"}, {"FAKE_CUPTI_LANES", "12"}});
  EXPECT_EQ(capture.result.out, "launched 24000\n");
  const uint64_t launches_lost =
      capture.trace.Stat(v1::STAT_LAUNCHES_DROPPED_QUEUE_FULL) + capture.trace.Stat(v1::STAT_LAUNCHES_DROPPED_NO_QUEUE);
  EXPECT_EQ(capture.trace.launches.size() + launches_lost, 24'000u);
  // Records of other kinds may be among the lost ones.
  const uint64_t records_lost =
      capture.trace.Stat(v1::STAT_RECORDS_DROPPED_BY_CUPTI) + capture.trace.Stat(v1::STAT_RECORDS_DISCARDED);
  EXPECT_GE(capture.trace.kernels.size() + records_lost, 24'000u);
  EXPECT_GT(capture.trace.Stat(v1::STAT_BUFFERS_REFUSED), 0u);
}

TEST_F(FailingCupti, ACuptiThatCrashesOnNullBuffersIsNeverGivenOne) {
  const Capture capture = Run({"launch", "n=8000", "threads=4"}, {{"GPUEXEC_MEMORY", "8M"},
                                                                  {"GPUEXEC_EXIT_WAIT", "5"},
                                                                  {"FAKE_CUPTI_VERSION", "26"},
                                                                  {"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.12"}});
  EXPECT_EQ(capture.result.out, "launched 32000\n") << "signal " << capture.result.signal;
  EXPECT_EQ(capture.trace.Stat(v1::STAT_BUFFERS_REFUSED), 0u);
}

}  // namespace
}  // namespace gx::e2e
