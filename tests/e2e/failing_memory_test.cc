// The library's own allocations fail, one after another: std::bad_alloc is thrown in each place where it can be, behind
// every entry point, callback and thread. The program never notices. (libmeddler.so: tests/fakes/meddler.cc.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Not;
using Arguments = std::vector<std::string>;

struct Meddled {
  testing::CommandResult result;
  uint64_t allocations = 0;
  uint64_t failed = 0;
};

class MeddlerTest : public CaptureTest {
 protected:
  Meddled RunMeddled(const Arguments& arguments, fakes::Environment environment) {
    std::filesystem::remove(File("report.txt"));
    environment["LD_PRELOAD"] = GX_MEDDLER;
    environment["MEDDLE_REPORT"] = File("report.txt");
    environment["FAKE_GPU_LOG"] = File("gpu.log");
    Meddled meddled;
    meddled.result = fakes::HostRun(arguments, Injected(environment), folder().path()).result;
    std::ifstream report(File("report.txt"));
    std::string word;
    report >> word >> meddled.allocations >> word >> word >> meddled.failed;
    return meddled;
  }

  // What there is of a trace is whole, or says that something went wrong; where there is none, the log says it.
  void ExpectNothingIsLostSilently(uint64_t n) {
    const TraceView trace = ReadTrace(File("trace.pb"));
    EXPECT_EQ(trace.cut_bytes, 0u) << n;
    const bool told = trace.Stat(v1::STAT_BOUNDARY_EXCEPTIONS) != 0 || !trace.Complaints().empty();
    // Without its end a trace is reported as cut.
    if (trace.trailer.has_value() && !told) {
      EXPECT_EQ(trace.launches.size(), trace.Stat(v1::STAT_LAUNCHES_SEEN)) << n;
      EXPECT_EQ(trace.kernels.size(), trace.Stat(v1::STAT_KERNEL_RECORDS)) << n;
    }
    std::ifstream file(File("log.txt"));
    const std::string log{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // Until the settings are read nobody knows where the log is.
    if (!trace.exists && !log.empty()) ++told_by_log_;
    if (!trace.exists && log.empty()) ++untold_;
    std::filesystem::remove(File("trace.pb"));
    std::filesystem::remove(File("log.txt"));
  }

  void ExpectBare(const Meddled& meddled, const testing::CommandResult& bare, const std::string& what) {
    EXPECT_EQ(meddled.result.exit_code, bare.exit_code) << what;
    EXPECT_EQ(meddled.result.signal, bare.signal) << what;
    EXPECT_EQ(meddled.result.out, bare.out) << what;
    EXPECT_EQ(meddled.result.err, bare.err) << what;
  }

  // Runs without a trace: with a line in the log, and without.
  uint64_t told_by_log_ = 0;
  uint64_t untold_ = 0;
};

struct Program {
  const char* name;
  Arguments arguments;
  // Every one of the first allocations fails once; then each in growing distances.
  uint64_t dense;

  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }
};

class FailingMemory : public MeddlerTest, public ::testing::WithParamInterface<Program> {};

TEST_P(FailingMemory, OneAllocationAfterAnotherIsRefusedAndTheProgramIsTheSame) {
  const Program& program = GetParam();
  const testing::CommandResult bare = RunBare(program.arguments);
  const fakes::Environment quick = {{"GPUEXEC_EXIT_WAIT", "0.3"}, {"GPUEXEC_LOG", File("log.txt")}};
  const auto with = [&](const std::string& plan) {
    fakes::Environment environment = quick;
    environment["MEDDLE_ALLOCATION"] = plan;
    return environment;
  };
  const Meddled all = RunMeddled(program.arguments, with("1000000000"));
  ExpectBare(all, bare, "no failure");
  ASSERT_THAT(all.allocations, Gt(200u)) << "the library was not there, or was not recognised";
  uint64_t refused = 0;
  for (uint64_t n = 1; n <= all.allocations; n += n <= program.dense ? 1 : std::max<uint64_t>(1, n / 16)) {
    const Meddled meddled = RunMeddled(program.arguments, with(std::to_string(n)));
    ExpectBare(meddled, bare, "allocation " + std::to_string(n));
    refused += meddled.failed;
    if (meddled.failed != 0) ExpectNothingIsLostSilently(n);
    if (HasFailure()) return;
  }
  EXPECT_THAT(refused, Gt(program.dense / 2));
  EXPECT_THAT(told_by_log_, Gt(0u));
  EXPECT_LT(untold_, 50u) << "settings take no more allocations than that";
}

TEST_P(FailingMemory, FromSomeAllocationOnAllAreRefused) {
  const Program& program = GetParam();
  const testing::CommandResult bare = RunBare(program.arguments);
  for (const char* plan : {"1+", "2+", "10+", "30+", "100+", "200+", "300+", "400+", "600+", "1000+", "1/2", "1/3",
                           "5/7", "100/10", "200/50"}) {
    const Meddled meddled = RunMeddled(program.arguments, {{"GPUEXEC_EXIT_WAIT", "0.3"}, {"MEDDLE_ALLOCATION", plan}});
    ExpectBare(meddled, bare, plan);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, FailingMemory,
                         ::testing::Values(Program{"Launch", {"launch", "n=20"}, 120},
                                           Program{"Graph", {"graph", "nodes=3", "replays=2", "build=1"}, 20},
                                           Program{"Modules", {"modules", "loops=2", "n=3"}, 20},
                                           Program{"Nvtx", {"nvtx"}, 20}, Program{"Memory", {"memory"}, 20},
                                           Program{"Again", {"again", "resets=1"}, 20},
                                           Program{"Fork", {"fork", "when=after", "child=idle"}, 20}),
                         [](const auto& instance) { return instance.param.name; });

class SlowDisk : public MeddlerTest {};

TEST_F(SlowDisk, AFullDiskCutsTheTraceAtAFrameAndIsCounted) {
  const Arguments arguments = {"launch", "n=3000", "threads=4"};
  const testing::CommandResult bare = RunBare(arguments);
  for (const char* bytes : {"0", "1", "100", "5000", "50000"}) {
    const Meddled meddled = RunMeddled(arguments, {{"MEDDLE_WRITE", std::string("full:") + bytes}});
    ExpectBare(meddled, bare, bytes);
    const TraceView trace = ReadTrace(File("trace.pb"));
    EXPECT_EQ(trace.cut_bytes, 0u) << bytes;
    EXPECT_FALSE(trace.trailer.has_value()) << bytes;
    std::filesystem::remove(File("trace.pb"));
  }
}

TEST_F(SlowDisk, AWriterThatCannotKeepUpLosesByNameWithinItsMemory) {
  // Every frame takes 50 ms; the program makes far more than the smallest budget holds in that time.
  const Arguments arguments = {"launch", "n=40000", "threads=4"};
  const testing::CommandResult bare = RunBare(arguments, {{"FAKE_GPU_LOG", "/dev/null"}});
  const Meddled meddled =
      RunMeddled(arguments, {{"MEDDLE_WRITE", "slow:50"}, {"GPUEXEC_MEMORY", "16M"}, {"GPUEXEC_EXIT_WAIT", "5"}});
  ExpectBare(meddled, bare, "slow");
  const TraceView trace = ReadTrace(File("trace.pb"));
  const uint64_t lost =
      trace.Stat(v1::STAT_LAUNCHES_DROPPED_QUEUE_FULL) + trace.Stat(v1::STAT_LAUNCHES_DROPPED_NO_QUEUE);
  EXPECT_EQ(trace.launches.size() + lost, 160'000u) << "each is there or counted";
  ASSERT_TRUE(trace.trailer.has_value());
  // The budget, and what the process takes without it: never a queue that grows.
  EXPECT_LT(meddled.result.max_resident_kib, bare.max_resident_kib + 160 * 1024);
}

}  // namespace
}  // namespace gx::e2e
