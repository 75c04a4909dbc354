// The program with and without the library, in every situation of its life: what it writes, how it ends, and what its
// process looks like then (folder, open files, signals, limits, variables: PrintState of the fake host).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <ostream>
#include <set>
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

class HostUnchanged : public CaptureTest {
 protected:
  // Runs the program bare and with the library, both with `both` in their environment; returns what the second left.
  Capture ExpectSame(const Arguments& arguments, const fakes::Environment& both = {},
                     const fakes::Environment& with_us = {}) {
    const testing::CommandResult bare = RunBare(arguments, both);
    std::filesystem::remove(File("gpu.log"));
    fakes::Environment environment = Injected(both);
    for (const auto& [name, value] : with_us) environment[name] = value;
    const fakes::HostRun run(arguments, environment, folder().path());
    const std::string what = ::testing::PrintToString(arguments);
    EXPECT_EQ(run.result.exit_code, bare.exit_code) << what;
    EXPECT_EQ(run.result.signal, bare.signal) << what;
    EXPECT_EQ(run.result.out, bare.out) << what;
    EXPECT_EQ(run.result.err, bare.err) << what;
    EXPECT_THAT(Violations(run.log), IsEmpty()) << what;
    EXPECT_THAT(bare.out + bare.err, Not(IsEmpty())) << what << ": nothing was compared";
    return {run.result, run.log, ReadTrace(File("trace.pb"))};
  }
};

struct Life {
  const char* name;
  Arguments arguments;
  fakes::Environment both = {};
  fakes::Environment with_us = {};
  // A child leaves by exit(): not under AddressSanitizer (run_host.h).
  bool child_exits = false;
  // A sanitizer writes of it, with numbers that differ from run to run.
  bool crashes = false;

  friend void PrintTo(const Life& life, std::ostream* out) { *out << life.name; }
};

class HostLife : public HostUnchanged, public ::testing::WithParamInterface<Life> {};

TEST_P(HostLife, IsTheSameWithAndWithoutUs) {
  const Life& life = GetParam();
  if (life.child_exits && !fakes::kForkedChildMayExit) GTEST_SKIP() << "AddressSanitizer: see run_host.h";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (life.crashes) GTEST_SKIP() << "the sanitizer has a handler for it";
#endif
  Arguments arguments = life.arguments;
  arguments.push_back("state=1");
  const Capture capture = ExpectSame(arguments, life.both, life.with_us);
  EXPECT_THAT(capture.log.Of("injection"), Not(IsEmpty())) << "the library was not there";
}

const auto name_of = [](const auto& instance) { return instance.param.name; };

INSTANTIATE_TEST_SUITE_P(Ends, HostLife,
                         ::testing::Values(Life{"Return", {"launch", "n=200"}},
                                           Life{"Code", {"launch", "n=200", "exit=17"}},
                                           Life{"UnderscoreExit", {"launch", "n=200", "exit=_exit"}},
                                           Life{"QuickExit", {"launch", "n=200", "exit=quick_exit"}},
                                           Life{"Abort", {"launch", "n=200", "exit=abort"}},
                                           Life{"Exception", {"launch", "n=200", "exit=throw"}},
                                           Life{"Crash", {"launch", "n=200", "exit=crash"}, {}, {}, false, true},
                                           Life{"Sigkill", {"launch", "n=200", "exit=kill"}},
                                           Life{"Sigterm", {"launch", "n=200", "exit=term"}},
                                           Life{"SigtermWhileLaunching", {"waiting"}},
                                           Life{"SigtermHandled", {"waiting", "handler=1"}}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Device, HostLife,
    ::testing::Values(
        Life{"IllegalAccess", {"broken", "sync=0"}}, Life{"IllegalAccessNoticedAtTheEnd", {"broken"}},
        Life{"IllegalAccessThenAbort", {"broken", "exit=abort", "sync=0"}},
        Life{"OutOfMemory", {"full"}, {{"FAKE_FAIL", "cuMemAlloc_v2=2"}}}, Life{"RefusedLaunches", {"failing"}},
        Life{"ExitWhileKernelsRun", {"launch", "n=40", "kernel_us=2000", "sync=0"}},
        Life{"UnderscoreExitWhileKernelsRun", {"launch", "n=40", "kernel_us=2000", "sync=0", "exit=_exit"}},
        Life{"ExitWhileAKernelRunsForEver",
             {"launch", "n=3", "kernel_us=3000000", "sync=0"},
             {},
             {{"GPUEXEC_EXIT_WAIT", "0.2"}}},
        Life{"SixtyFourThreads", {"launch", "n=100", "threads=64"}}, Life{"Resets", {"again"}},
        Life{"ResetsWithCounters", {"reset", "ms=300"}}, Life{"Contexts", {"pair", "across=contexts", "ms=300"}},
        Life{"Devices", {"pair", "across=devices", "ms=300"}},
        Life{"NoDevice", {"launch"}, {{"FAKE_GPU_DEVICES", "0"}}},
        Life{"StubAnswer", {"launch"}, {{"FAKE_FAIL", "cuInit=34"}}},
        Life{"NotPermitted", {"sampled", "ms=800"}, {{"FAKE_CUPTI_COUNTERS", "denied"}}},
        Life{"OtherSubscriber", {"launch", "n=50"}, {{"FAKE_CUPTI_SUBSCRIBER", "Nsight Systems"}}},
        Life{"UnknownVariables", {"launch", "n=50"}, {}, {{"GPUEXEC_NO_SUCH", "1"}, {"GPUEXEC_", ""}}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Children, HostLife,
    ::testing::Values(Life{"ForkedIdle", {"fork", "when=after", "child=idle"}},
                      Life{"ForkedIdleBefore", {"fork", "when=before", "child=idle"}},
                      Life{"ForkedExit", {"fork", "when=after", "child=exit"}, {}, {}, true},
                      Life{"ForkedCuda", {"fork", "when=after", "child=cuda"}, {}, {}, true},
                      Life{"ForkedCudaBefore", {"fork", "when=before", "child=cuda"}, {}, {}, true},
                      Life{"ExecutedCuda", {"children", "how=exec", "child=cuda"}},
                      Life{"ExecutedHelper", {"children", "how=exec", "child=none"}},
                      Life{"ExecutedBeforeCuda", {"children", "how=exec", "child=cuda", "cuda=0"}},
                      Life{"SpawnedCuda", {"children", "how=spawn", "child=cuda"}},
                      Life{"SpawnedHelper", {"children", "how=spawn", "child=none"}},
                      Life{"SpawnedBeforeCuda", {"children", "how=spawn", "child=cuda", "cuda=0"}},
                      Life{"Shell", {"children", "how=system", "child=cuda"}},
                      Life{"ShellAndHelper", {"children", "how=system", "child=none"}},
                      Life{"WorkersThatEnd", {"workers", "stop=close"}},
                      Life{"WorkersThatExit", {"workers", "stop=close", "leave=exit"}, {}, {}, true},
                      Life{"WorkersThatAreTerminated", {"workers", "stop=term"}},
                      Life{"WorkersThatAreKilled", {"workers", "stop=kill"}},
                      Life{"WorkersFromBeforeCuda", {"workers", "stop=term", "when=before"}}),
    name_of);

TEST_F(HostUnchanged, ThreadsThatLaunchAtOnceLoseNothing) {
  const Capture capture = ExpectSame({"launch", "n=100", "threads=64"});
  EXPECT_THAT(capture.trace.launches, SizeIs(6400));
  EXPECT_THAT(capture.trace.kernels, SizeIs(6400));
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
}

TEST_F(HostUnchanged, WhatRanBeforeAnIllegalAccessIsInTheTrace) {
  const Capture capture = ExpectSame({"broken", "sync=0"});
  EXPECT_THAT(capture.result.out, HasSubstr("synchronize 700\n"));
  std::multiset<uint64_t> results;
  for (const LaunchRow& launch : capture.trace.launches) results.insert(launch.record.result);
  EXPECT_EQ(results.count(0), 11u) << "the one that did it among them";
  EXPECT_EQ(results.count(700), 1u) << "refused, with what the program was told";
  EXPECT_THAT(capture.trace.kernels, SizeIs(11));
  ASSERT_TRUE(capture.trace.trailer.has_value());
}

TEST_F(HostUnchanged, WorkersLeaveTheTraceToTheirParent) {
  const Capture capture = ExpectSame({"workers", "stop=term"});
  EXPECT_THAT(capture.trace.kernels, SizeIs(110));
  EXPECT_EQ(capture.trace.sequence_gaps, 0u);
  EXPECT_THAT(Files("trace"), SizeIs(1));
}

// Programs that a traced one starts are traced in files of their own, and those that use no CUDA not at all.
TEST_F(HostUnchanged, SpawnedProgramsWriteATraceEachAndHelpersNone) {
  for (const char* how : {"how=exec", "how=spawn", "how=system"}) {
    ExpectSame({"children", how, "child=none"});
    EXPECT_THAT(Files("trace"), SizeIs(1)) << how;
    ExpectSame({"children", how, "child=cuda"}, {}, {{"GPUEXEC_OUTPUT", File("all.%p.pb")}});
    ASSERT_THAT(Files("all."), SizeIs(2)) << how;
    size_t launches = 0;
    for (const std::string& file : Files("all.")) {
      const TraceView trace = ReadTrace(File(file));
      EXPECT_THAT(trace.Complaints(), IsEmpty()) << how;
      launches += trace.launches.size();
      std::filesystem::remove(File(file));
    }
    EXPECT_EQ(launches, 15u) << how;
  }
}

TEST_F(HostUnchanged, WithoutADriverTheProgramSaysSoItself) {
  // Preloaded, since there is no driver that would load it.
  std::filesystem::create_directory(File("empty"));
  const fakes::Environment both = {{"LD_LIBRARY_PATH", File("empty")}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const Capture preloaded = ExpectSame({"launch"}, both, {{"LD_PRELOAD", GX_INJECT_LIBRARY}});
  EXPECT_FALSE(preloaded.trace.exists);
#endif
  const Capture capture = ExpectSame({"launch"}, both);
  EXPECT_EQ(capture.result.exit_code, 98);
  EXPECT_THAT(capture.result.err, HasSubstr("no driver"));
  EXPECT_FALSE(capture.trace.exists);
}

TEST_F(HostUnchanged, AStubDriverWithoutFunctionsAnswersAsItDoesWithoutUs) {
  const Capture capture = ExpectSame({"launch", "state=1"}, {{"LD_LIBRARY_PATH", GX_FAKES_DIR "/stub:" GX_FAKES_DIR}});
  EXPECT_EQ(capture.result.exit_code, 3);
  EXPECT_THAT(capture.result.out, HasSubstr("cuInit(0) failed: 34"));
}

TEST_F(HostUnchanged, NvtxWithoutCudaIsAnsweredAndRecordsNothing) {
  const Capture capture = ExpectSame({"none", "state=1"}, {}, {{"NVTX_INJECTION64_PATH", GX_INJECT_LIBRARY}});
  EXPECT_FALSE(capture.trace.exists);
}

// ------------------------------------------------------------------------------------------------ where the trace goes

TEST_F(HostUnchanged, AnOutputThatIsAFolderAPipeADeviceOrNowhereIsRefused) {
  std::filesystem::create_directory(File("folder.pb"));
  ASSERT_EQ(mkfifo(File("pipe.pb").c_str(), 0600), 0);
  std::filesystem::create_directory(File("locked"));
  std::filesystem::permissions(File("locked"), std::filesystem::perms::owner_read);
  const std::string long_name(300, 'n');
  for (const std::string& output :
       {File("folder.pb"), File("pipe.pb"), std::string("/dev/full"), std::string("/dev/null/x"),
        std::string("/proc/nowhere/trace.pb"), File("locked/trace.pb"), File(long_name), std::string("/")}) {
    SCOPED_TRACE(output);
    ExpectSame({"launch", "n=100", "state=1"}, {}, {{"GPUEXEC_OUTPUT", output}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(File("folder.pb")));
  EXPECT_TRUE(std::filesystem::is_fifo(File("pipe.pb")));
  std::filesystem::permissions(File("locked"), std::filesystem::perms::owner_all);
}

// What is opened first gets the number of what was closed: it must not be the trace.
TEST_F(HostUnchanged, ClosedStandardFilesStayClosed) {
  const auto run = [&](const fakes::Environment& environment) {
    std::string line;
    for (const std::string& word :
         fakes::HostCommand({"launch", "n=50", "exit=9"}, fakes::HostEnvironment(folder().path(), environment))) {
      line += "'" + word + "' ";
    }
    return testing::RunCommand({"/bin/sh", "-c", line + "<&- >&- 2>&-; echo ended with $?"});
  };
  const testing::CommandResult bare = run({});
  const testing::CommandResult with_us = run(Injected());
  EXPECT_EQ(bare.out, "ended with 9\n");
  EXPECT_EQ(with_us.out, bare.out);
  EXPECT_EQ(with_us.err, bare.err);
  const TraceView trace = ReadTrace(File("trace.pb"));
  EXPECT_THAT(trace.kernels, SizeIs(50)) << "and no word of the program in between";
  EXPECT_EQ(trace.cut_bytes, 0u);
}

TEST_F(HostUnchanged, WithFewDescriptorsTheProgramAndTheTraceAreWhole) {
  const Capture capture = ExpectSame({"launch", "n=100", "file_limit=64"});
  EXPECT_THAT(capture.trace.kernels, SizeIs(100));
}

// The program's own limit: SIGXFSZ would end it, because of bytes that are not its own.
TEST_F(HostUnchanged, ALimitOnTheSizeOfFilesIsTheProgramsAndCutsTheTrace) {
  const Capture capture = ExpectSame({"launch", "n=40000", "threads=3", "small_files=1"},
                                     {{"FAKE_GPU_LOG", "/dev/null"}}, {{"GPUEXEC_EXIT_WAIT", "5"}});
  EXPECT_LE(std::filesystem::file_size(File("trace.pb")), 1u << 20);
  EXPECT_EQ(capture.trace.cut_bytes, 0u) << "whole frames";
  EXPECT_THAT(capture.trace.launches, Not(IsEmpty()));
  EXPECT_FALSE(capture.trace.trailer.has_value());
}

TEST_F(HostUnchanged, ARelativeOutputIsWhereTheProgramBegan) {
  std::filesystem::create_directory(File("began"));
  const Capture capture =
      ExpectSame({"launch", "n=10", "cd=" + File("began"), "state=1"}, {}, {{"GPUEXEC_OUTPUT", "here.pb"}});
  EXPECT_TRUE(std::filesystem::exists(File("began/here.pb")));
}

}  // namespace
}  // namespace gx::e2e
