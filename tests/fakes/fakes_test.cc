// The fakes' own test, with a minimal client (probe_injection.cc): what the client is told must be what the fakes did,
// and nothing that it did not ask for may reach it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/fakes/fake_cubin.h"
#include "tests/fakes/fake_scenario.h"
#include "tests/fakes/run_host.h"
#include "tests/support/temp_dir.h"

namespace gx::fakes {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FakesTest : public ::testing::Test {
 protected:
  HostRun Run(const std::vector<std::string>& arguments, Environment environment = {}) {
    environment["CUDA_INJECTION64_PATH"] = GX_FAKES_DIR "/libprobe_injection.so";
    environment["PROBE_OUTPUT"] = folder_.File("probe.txt");
    environment.try_emplace("PROBE_CUPTI", GX_FAKES_DIR "/libcupti.so.13");
    HostRun run(arguments, environment, folder_.path());
    seen_ = ReadFakeLog(folder_.File("probe.txt"));
    return run;
  }
  // What the probe was told.
  FakeLog seen_;
  testing::TempDir folder_;
};

std::multiset<std::string> Kernels(const FakeLog& log) {
  std::multiset<std::string> kernels;
  for (const LogEntry& entry : log.Of("kernel")) {
    std::string text;
    for (const char* key : {"correlation", "start", "end", "name", "grid", "graph", "node"}) {
      text += entry.Text(key) + " ";
    }
    kernels.insert(text);
  }
  return kernels;
}

TEST(FakeCubin, GivesBackTheKernelsItWasBuiltFrom) {
  KernelCode kernel{.name = "_Z4axpyv", .attributes = {}, .code = std::string("\0code", 5)};
  kernel.attributes.registers_per_thread = 77;
  const std::string image = BuildCubin({kernel, {.name = "other", .attributes = {}, .code = "x"}});
  std::vector<KernelCode> kernels;
  EXPECT_EQ(ParseCubin(image.data(), &kernels), image.size());
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[0].name, "_Z4axpyv");
  EXPECT_EQ(kernels[0].code, kernel.code);
  EXPECT_EQ(kernels[0].attributes.registers_per_thread, 77u);
}

TEST(FakeScenario, RefusesWhatItDoesNotKnow) {
  std::vector<std::string> problems;
  ParseScenario({"FAKE_CUPTI_VERSOIN=26", "FAKE_GPU_DEVICES=two", "HOME=/"}, &problems);
  EXPECT_THAT(problems, SizeIs(2));
}

TEST(FakeScenario, ReadsFailuresWithAndWithoutArgument) {
  std::vector<std::string> problems;
  const Scenario scenario = ParseScenario({"FAKE_FAIL=cuptiActivityEnable:10=21,cuptiSubscribe=39"}, &problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_THAT(scenario.failures, SizeIs(2));
  EXPECT_EQ(scenario.failures[0].argument, 10u);
  EXPECT_EQ(scenario.failures[0].code, 21);
  EXPECT_TRUE(scenario.failures[1].any_argument);
}

TEST_F(FakesTest, TheClientIsLoadedAndGetsEveryKernelAsItWas) {
  const HostRun run = Run({"launch", "n=500", "threads=3", "streams=2"});
  EXPECT_EQ(run.result.exit_code, 0) << run.result.err;
  EXPECT_EQ(run.result.out, "launched 1500\n");
  EXPECT_THAT(run.log.Of("injection", "answer", "1"), SizeIs(1));
  EXPECT_THAT(run.log.Of("kernel"), SizeIs(1500));
  EXPECT_EQ(Kernels(seen_), Kernels(run.log));
}

TEST_F(FakesTest, OnlyEnabledCallbacksArrive) {
  const HostRun run = Run({"every"});
  EXPECT_EQ(run.result.exit_code, 0) << run.result.err;
  const auto calls = seen_.Of("api");
  // Four launches by plain cuLaunchKernel, each with entry and exit.
  EXPECT_THAT(calls, SizeIs(8));
  for (const LogEntry& call : calls) {
    EXPECT_EQ(call.Text("function"), "cuLaunchKernel");
    EXPECT_EQ(call.Text("data_kept"), "1");
  }
}

TEST_F(FakesTest, KernelsOfAReplayCarryTheLaunchAndTheirNode) {
  const HostRun run = Run({"graph", "nodes=5", "replays=7"});
  EXPECT_EQ(run.result.out, "replayed 7 x 5\n") << run.result.err;
  EXPECT_EQ(Kernels(seen_), Kernels(run.log));
  std::set<std::string> launches;
  std::set<std::string> nodes;
  for (const LogEntry& kernel : seen_.Of("kernel")) {
    launches.insert(kernel.Text("correlation"));
    nodes.insert(kernel.Text("node"));
  }
  EXPECT_THAT(launches, SizeIs(7));
  EXPECT_THAT(nodes, SizeIs(5));
}

TEST_F(FakesTest, ShuffledBuffersHoldTheSameKernels) {
  const HostRun run = Run({"launch", "n=300"}, {{"FAKE_CUPTI_SHUFFLE", "1"}});
  EXPECT_EQ(Kernels(seen_), Kernels(run.log));
}

TEST_F(FakesTest, RecordsOfEveryVersionAreWalkedByTheirOwnSize) {
  for (const char* version : {"26", "28", "130000", "130001", "130100", "130400"}) {
    testing::TempDir folder;
    const HostRun run = Run({"launch", "n=50"}, {{"FAKE_CUPTI_VERSION", version},
                                                 {"FAKE_GPU_LOG", folder.File("gpu.log")},
                                                 {"PROBE_OUTPUT", folder.File("probe.txt")}});
    EXPECT_EQ(ReadFakeLog(folder.File("gpu.log")).Of("kernel").size(), 50u) << version;
  }
  EXPECT_THAT(seen_.Of("kernel"), SizeIs(300));
}

TEST_F(FakesTest, DroppedRecordsAreReportedAsDropped) {
  Run({"launch", "n=50"}, {{"FAKE_CUPTI_DROP", "20"}});
  EXPECT_THAT(seen_.Of("kernel"), SizeIs(30));
  EXPECT_THAT(seen_.Of("finished", "dropped", "20"), SizeIs(1));
}

TEST_F(FakesTest, ARefusedKindGivesNoRecords) {
  const HostRun run = Run({"launch", "n=50"}, {{"FAKE_FAIL", "cuptiActivityEnable:10=21"}});
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_THAT(seen_.Of("kernel"), IsEmpty());
  EXPECT_THAT(seen_.Of("api"), SizeIs(100));
}

TEST_F(FakesTest, AnotherSubscriberKeepsTheClientOut) {
  Run({"launch", "n=5"}, {{"FAKE_CUPTI_SUBSCRIBER", "Nsight Systems"}});
  EXPECT_THAT(seen_.Of("subscribed"), SizeIs(1));
  EXPECT_THAT(seen_.Of("api"), IsEmpty());
}

TEST_F(FakesTest, AKernelThatRunsAtTheEndIsUnfinished) {
  Run({"launch", "n=1", "kernel_us=3000000", "sync=0"});
  const auto kernels = seen_.Of("kernel");
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_NE(kernels[0].Number("start"), 0u);
  EXPECT_EQ(kernels[0].Number("end"), 0u);
}

TEST_F(FakesTest, ARefusedLaunchReachesTheClientWithItsResult) {
  const HostRun run = Run({"failing"});
  EXPECT_EQ(run.result.out, "refused with 1\nrefused with 1\nrefused with 1\n");
  EXPECT_THAT(seen_.Of("api", "result", "1"), SizeIs(3));
  EXPECT_THAT(seen_.Of("kernel"), SizeIs(3));
}

TEST_F(FakesTest, AForkedChildOfAUserOfCudaCannotUseIt) {
  if (!kForkedChildMayExit) GTEST_SKIP() << "AddressSanitizer: see run_host.h";
  const HostRun run = Run({"fork", "when=after", "child=cuda"});
  EXPECT_THAT(run.result.out, HasSubstr("child: cuInit 3\n"));
  EXPECT_THAT(run.result.out, HasSubstr("parent launched 20\n"));
}

TEST_F(FakesTest, TheCuptiOfCuda12LacksWhatCameWith13) {
  void* const old_library = dlopen(GX_FAKES_DIR "/libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
  void* const new_library = dlopen(GX_FAKES_DIR "/libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(old_library, nullptr) << dlerror();
  ASSERT_NE(new_library, nullptr) << dlerror();
  EXPECT_NE(dlsym(old_library, "cuptiSubscribe"), nullptr);
  EXPECT_EQ(dlsym(old_library, "cuptiSubscribe_v2"), nullptr);
  EXPECT_NE(dlsym(new_library, "cuptiSubscribe_v2"), nullptr);
}

}  // namespace
}  // namespace gx::fakes
