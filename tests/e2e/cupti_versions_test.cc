// The record layout is chosen at run time by the CUPTI that is there; others than 12.8 to 13.x are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "gpuexec/v1/cupti_traps.pb.h"
#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Version {
  const char* number;
  const char* library;
  uint64_t record_version;

  friend void PrintTo(const Version& version, std::ostream* out) { *out << version.number; }
};

class CuptiVersions : public CaptureTest, public ::testing::WithParamInterface<Version> {};

TEST_P(CuptiVersions, EveryFieldIsReadInItsLayout) {
  const Version version = GetParam();
  const Capture capture = Run({"every"}, {{"FAKE_CUPTI_VERSION", version.number},
                                          {"GPUEXEC_CUPTI", std::string(GX_FAKES_DIR "/") + version.library}});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(std::to_string(capture.trace.header.cupti_api_version()), version.number);
  EXPECT_EQ(capture.trace.header.kernel_record_version(), version.record_version);
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  // Its known faults: of those that end with 12.8, with 13.0 and with 13.4 in turn.
  const auto& traps = capture.trace.header.cupti_trap();
  const auto has = [&traps](v1::CuptiTrap trap) { return std::find(traps.begin(), traps.end(), trap) != traps.end(); };
  const int number = std::stoi(version.number);
  EXPECT_EQ(has(v1::CUPTI_TRAP_NULL_BUFFER), number == 26);
  EXPECT_EQ(has(v1::CUPTI_TRAP_DISABLING_KERNELS), number <= 130'000);
  EXPECT_EQ(has(v1::CUPTI_TRAP_LONG_TRACES), number <= 130'400);
  for (const KernelRow& kernel : capture.trace.kernels) EXPECT_FALSE(kernel.attributes.device_launched());
}

INSTANTIATE_TEST_SUITE_P(Supported, CuptiVersions,
                         ::testing::Values(Version{"26", "libcupti.so.12", 9}, Version{"27", "libcupti.so.12", 9},
                                           Version{"28", "libcupti.so.12", 9}, Version{"130000", "libcupti.so.13", 10},
                                           Version{"130001", "libcupti.so.13", 10},
                                           // Later than any header here: records with bytes that nobody knows.
                                           Version{"130100", "libcupti.so.13", 10},
                                           Version{"130401", "libcupti.so.13", 10},
                                           Version{"139900", "libcupti.so.13", 10}),
                         [](const auto& instance) { return std::string("Version") + instance.param.number; });

class RefusedCupti : public CaptureTest {};

TEST_F(RefusedCupti, ACuptiOutsideTheSupportedRangeIsRefusedByNameAndTheProgramRuns) {
  for (const char* version : {"18", "24", "140000"}) {
    const Capture capture =
        Run({"launch", "n=10"}, {{"FAKE_CUPTI_VERSION", version}, {"GPUEXEC_LOG", File("log.txt")}});
    EXPECT_EQ(capture.result.exit_code, 0);
    EXPECT_EQ(capture.result.out, "launched 10\n");
    EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiSubscribe_v2"), IsEmpty()) << version;
    EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiActivityEnable"), IsEmpty()) << version;
    EXPECT_THAT(capture.trace.diagnostics, HasSubstr(GX_FAKES_DIR "/libcupti.so.13")) << version;
    EXPECT_THAT(capture.trace.diagnostics, HasSubstr("12.8 to 13.x")) << version;
  }
}

}  // namespace
}  // namespace gx::e2e
