// gx-run around the fake host: the program is what it would be without, and what is said of it is true.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int kRunFailed = 125;

class GxRun : public CaptureTest {
 protected:
  // What a shell under the fakes has, without anything of gpuexec.
  fakes::Environment Environment(const fakes::Environment& more = {}) const {
    fakes::Environment environment =
        fakes::HostEnvironment(folder().path(), {{"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.13"},
                                                 {"PATH", "/usr/bin:/bin"},
                                                 {"TMPDIR", folder().path()},
                                                 {"GPUEXEC_OUTPUT", File("trace.pb")}});
    for (const auto& [name, value] : more) environment[name] = value;
    return environment;
  }

  std::vector<std::string> Command(const std::vector<std::string>& words, const fakes::Environment& more = {}) const {
    std::vector<std::string> command = {"/usr/bin/env", "-i"};
    for (const auto& [name, value] : Environment(more)) command.push_back(name + "=" + value);
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }

  testing::CommandResult Bare(const std::vector<std::string>& program, const fakes::Environment& more = {}) const {
    return testing::RunCommand(Command(program, more));
  }

  testing::CommandResult Under(const std::vector<std::string>& options, const std::vector<std::string>& program,
                               const fakes::Environment& more = {}) const {
    std::vector<std::string> words = {GX_RUN};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), program.begin(), program.end());
    return testing::RunCommand(Command(words, more));
  }

  static std::vector<std::string> Host(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GX_FAKE_HOST);
    return arguments;
  }

  static std::vector<std::string> Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

  // A copy of gx-run with `library` beside it; "": with none.
  std::string CopyWith(const std::string& library) const {
    fs::create_directories(File("copy/bin"));
    fs::copy_file(GX_RUN, File("copy/bin/gx-run"), fs::copy_options::overwrite_existing);
    if (!library.empty()) fs::copy_file(library, File("copy/bin/libgpuexec_inject.so"));
    return File("copy/bin/gx-run");
  }
};

// ------------------------------------------------------------------------------------------------- the program

TEST_F(GxRun, OutputAndEndAreThoseOfTheBareProgram) {
  std::vector<std::vector<std::string>> programs = {
      Host({"none"}),
      Host({"launch", "n=100", "threads=2"}),
      Host({"launch", "n=100", "exit=17"}),
      Host({"launch", "n=100", "exit=_exit"}),
      Host({"launch", "n=100", "exit=abort"}),
      Host({"launch", "n=100", "exit=kill"}),
      Host({"graph", "nodes=5", "replays=5"}),
      Host({"fork", "when=after", "child=idle"}),
      Shell("printf 'no line feed, \\001 and \\377'; exit 3"),
      Shell("kill -SEGV $$"),
      Shell("kill -TERM $$"),
  };
  for (const auto& program : programs) {
    const std::string what = ::testing::PrintToString(program);
    const testing::CommandResult bare = Bare(program);
    const testing::CommandResult under = Under({"-q", "--"}, program);
    EXPECT_EQ(under.exit_code, bare.exit_code) << what << under.err;
    EXPECT_EQ(under.signal, bare.signal) << what << under.err;
    EXPECT_EQ(under.out, bare.out) << what;
    EXPECT_THAT(under.err, StartsWith(bare.err)) << what;
  }
}

TEST_F(GxRun, NothingIsSaidQuietlyWhereAllIsWell) {
  const testing::CommandResult under = Under({"--quiet"}, Host({"launch", "n=100"}));
  EXPECT_EQ(under.out, "launched 100\n");
  EXPECT_EQ(under.err, "leaving\n");
  EXPECT_THAT(ReadTrace(File("trace.pb")).launches, SizeIs(100));
  EXPECT_THAT(Files("gx-run."), IsEmpty()) << "its own log is gone";
}

TEST_F(GxRun, StandardInputReachesTheProgram) {
  const testing::CommandResult under = testing::RunCommand(Command(Shell("echo hello | '" GX_RUN "' -q cat")));
  EXPECT_EQ(under.out, "hello\n");
}

TEST_F(GxRun, FilesSignalsAndFolderAreThoseOfTheBareProgram) {
  const std::vector<std::string> program =
      Shell("ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; pwd; cut -d ' ' -f 5,6 /proc/$$/stat");
  EXPECT_EQ(Under({"-q"}, program).out, Bare(program).out);
  const std::string ignoring = "trap '' HUP PIPE; exec ";
  const std::string look = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
  EXPECT_EQ(testing::RunCommand(Command(Shell(ignoring + "'" GX_RUN "' -q " + look))).out,
            testing::RunCommand(Command(Shell(ignoring + look))).out);
}

TEST_F(GxRun, ClosedStandardFilesStayClosed) {
  // Where each is open it is written down.
  const std::string program =
      "sh -c 'for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && echo $i; done >>" + File("open") + "; exit 6' <&- >&- 2>&-";
  const testing::CommandResult under = testing::RunCommand(Command(Shell("'" GX_RUN "' -q " + program)));
  EXPECT_EQ(under.exit_code, 6);
  std::stringstream open;
  open << std::ifstream(File("open")).rdbuf();
  fs::remove(File("open"));
  testing::RunCommand(Command(Shell(program)));
  std::stringstream bare;
  bare << std::ifstream(File("open")).rdbuf();
  EXPECT_EQ(open.str(), bare.str());
}

TEST_F(GxRun, ThereIsNoSuchProgram) {
  const testing::CommandResult under = Under({"--"}, {"no-such-program", "x"});
  EXPECT_EQ(under.exit_code, 127);
  EXPECT_EQ(under.err, "gx-run: no-such-program: no such program (No such file or directory)\n");
  EXPECT_EQ(under.out, "");
}

TEST_F(GxRun, TheProgramCannotBeExecuted) {
  std::ofstream(File("notes.txt")) << "my notes";
  const testing::CommandResult under = Under({}, {File("notes.txt")});
  EXPECT_EQ(under.exit_code, 126);
  EXPECT_EQ(under.err, "gx-run: " + File("notes.txt") + " cannot be executed: Permission denied\n");
}

TEST_F(GxRun, WrongUsageRunsNothing) {
  const testing::CommandResult under = Under({"--budget", "much"}, Shell("echo ran"));
  EXPECT_EQ(under.exit_code, kRunFailed);
  EXPECT_EQ(under.out, "");
  EXPECT_THAT(under.err, AllOf(HasSubstr("--budget 'much'"), HasSubstr("gx-run --help")));
}

TEST_F(GxRun, HelpGoesToStandardOutput) {
  const testing::CommandResult under = Under({"--help"}, {});
  EXPECT_EQ(under.exit_code, 0);
  EXPECT_THAT(under.out, AllOf(HasSubstr("usage: gx-run"), HasSubstr("examples"), HasSubstr("--start-after")));
  EXPECT_EQ(under.err, "");
}

// ---------------------------------------------------------------------------------------------------- signals

TEST_F(GxRun, SignalsSentToItReachTheProgramWhichDecides) {
  for (const std::string signal : {"TERM", "HUP", "INT", "QUIT", "USR1", "USR2"}) {
    // The program has its parent signalled, first by a process of the group, then by one outside.
    for (const std::string sender : {"", "setsid "}) {
      const testing::CommandResult under =
          Under({"-q"}, Shell("trap 'echo got " + signal + "; exit 9' " + signal + "; " + sender + "sh -c 'kill -" +
                              signal + " '$PPID; while :; do sleep 0.05; done"));
      EXPECT_EQ(under.out, "got " + signal + "\n") << sender << under.err;
      EXPECT_EQ(under.exit_code, 9) << sender << signal;
    }
  }
}

TEST_F(GxRun, EndsByTheSignalThatEndedTheProgram) {
  const testing::CommandResult under =
      Under({"-q"}, Shell("setsid sh -c 'kill -TERM '$PPID; while :; do sleep 0.05; done"));
  EXPECT_EQ(under.signal, SIGTERM);
}

TEST_F(GxRun, TheProgramOutlivesAKilledGxRun) {
  const testing::CommandResult under = Under({"-q"}, Shell("kill -KILL $PPID; sleep 0.3; echo alive"));
  EXPECT_EQ(under.signal, SIGKILL);
  EXPECT_EQ(under.out, "alive\n");
}

// gx-run in the foreground of a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    child_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~Terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    if (master_ >= 0) ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool ok() const { return child_ > 0; }
  void Type(const std::string& keys) { EXPECT_EQ(::write(master_, keys.data(), keys.size()), ssize_t(keys.size())); }
  // Until `text` was shown, or all programs on the terminal are gone.
  bool WaitFor(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
      char chunk[4096];
      const ssize_t got = ::read(master_, chunk, sizeof(chunk));
      if (got <= 0) return false;
      shown_.append(chunk, static_cast<size_t>(got));
    }
    return true;
  }
  // waitpid's status of gx-run.
  int End() {
    WaitFor("never shown");
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return status;
  }
  const std::string& shown() const { return shown_; }

 private:
  int master_ = -1;
  pid_t child_ = -1;
  std::string shown_;
};

TEST_F(GxRun, AnInterruptFromTheTerminalReachesTheProgramOnce) {
  Terminal terminal(Command(
      {GX_RUN, "-q", "/bin/sh", "-c",
       "n=0; trap 'n=$((n + 1))' INT; echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo interrupts: $n"}));
  ASSERT_TRUE(terminal.ok());
  ASSERT_TRUE(terminal.WaitFor("ready"));
  terminal.Type("\x03");
  const int status = terminal.End();
  EXPECT_THAT(terminal.shown(), HasSubstr("interrupts: 1\r\n"));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(GxRun, AnInterruptLeavesAGoodTrace) {
  Terminal terminal(Command({GX_RUN, GX_FAKE_HOST, "launch", "n=100", "sleep_ms=60000"}));
  ASSERT_TRUE(terminal.ok());
  ASSERT_TRUE(terminal.WaitFor("leaving"));
  ::usleep(2'500'000);
  terminal.Type("\x03");
  const int status = terminal.End();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  const TraceView trace = ReadTrace(File("trace.pb"));
  EXPECT_THAT(trace.launches, SizeIs(100));
  EXPECT_EQ(trace.sequence_gaps, 0u);
  EXPECT_THAT(terminal.shown(), AllOf(HasSubstr("recorded to " + File("trace.pb")), HasSubstr("KERNELS")));
}

// ------------------------------------------------------------------------------------------ variables and library

TEST_F(GxRun, TheProgramFindsTheLibraryAndTheSettings) {
  const std::string library = fs::canonical(GX_INJECT_LIBRARY).string();
  const testing::CommandResult under =
      Under({"-q", "--counters", "off", "--budget", "7%", "--region", "cuda", "--start-after", "0.5", "--duration", "2",
             "--timing", "off", "-o", "x.%p.pb"},
            Shell("echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH $GPUEXEC_COUNTERS $GPUEXEC_BUDGET "
                  "$GPUEXEC_REGION $GPUEXEC_START_AFTER $GPUEXEC_DURATION $GPUEXEC_TIMING $GPUEXEC_OUTPUT"));
  EXPECT_EQ(under.out, library + " " + library + " off 7 cuda 0.5 2 off " + fs::current_path().string() + "/x.%p.pb\n");
}

TEST_F(GxRun, AnNvtxVariableThatIsThereIsKept) {
  const testing::CommandResult under =
      Under({"-q"}, Shell("echo $NVTX_INJECTION64_PATH"), {{"NVTX_INJECTION64_PATH", "/opt/other/libnvtx.so"}});
  EXPECT_EQ(under.out, "/opt/other/libnvtx.so\n");
  EXPECT_THAT(under.err, HasSubstr("NVTX_INJECTION64_PATH names /opt/other/libnvtx.so and is kept"));
}

TEST_F(GxRun, AnotherInjectedLibraryIsNamedAndRefused) {
  const fakes::Environment other = {{"CUDA_INJECTION64_PATH", "/opt/nsight/libToolsInjection64.so"}};
  const testing::CommandResult refused = Under({}, Shell("echo ran"), other);
  EXPECT_EQ(refused.exit_code, kRunFailed);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("/opt/nsight/libToolsInjection64.so"), HasSubstr("--replace-injection")));
  const testing::CommandResult replaced = Under({"-q", "--replace-injection"}, Host({"launch", "n=10"}), other);
  EXPECT_EQ(replaced.out, "launched 10\n");
  EXPECT_THAT(ReadTrace(File("trace.pb")).launches, SizeIs(10));
}

TEST_F(GxRun, TheSameLibraryIsNoOther) {
  fs::create_symlink(GX_INJECT_LIBRARY, File("linked.so"));
  const testing::CommandResult under =
      Under({"-q"}, Host({"launch", "n=10"}), {{"CUDA_INJECTION64_PATH", File("linked.so")}});
  EXPECT_EQ(under.err, "leaving\n");
}

TEST_F(GxRun, ALibraryThatIsMissingStopsTheRunBeforeItBegins) {
  const testing::CommandResult under = testing::RunCommand(Command({CopyWith(""), "/bin/sh", "-c", "echo ran"}));
  EXPECT_EQ(under.exit_code, kRunFailed);
  EXPECT_EQ(under.out, "");
  EXPECT_THAT(under.err,
              AllOf(HasSubstr("the program was not run"), HasSubstr("copy/bin/libgpuexec_inject.so cannot be read")));
}

TEST_F(GxRun, ALibraryOfAnotherMachineStopsTheRunBeforeItBegins) {
  const std::string gx_run = CopyWith(GX_INJECT_LIBRARY);
  std::fstream library(File("copy/bin/libgpuexec_inject.so"), std::ios::binary | std::ios::in | std::ios::out);
  library.seekp(18);             // e_machine
  library.write("\x15\x00", 2);  // EM_PPC64
  library.close();
  const testing::CommandResult under = testing::RunCommand(Command({gx_run, "/bin/sh", "-c", "echo ran"}));
  EXPECT_EQ(under.exit_code, kRunFailed);
  EXPECT_EQ(under.out, "");
  EXPECT_THAT(under.err, HasSubstr("built for another machine: PowerPC, 64-bit"));
}

TEST_F(GxRun, ALibraryWithAnUnresolvedSymbolStopsTheRunUnlessItIsWantedAnyway) {
  const std::string gx_run = CopyWith(GX_UNRESOLVED_LIBRARY);
  const testing::CommandResult refused = testing::RunCommand(Command({gx_run, "/bin/sh", "-c", "echo ran"}));
  EXPECT_EQ(refused.exit_code, kRunFailed);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("needs the symbol gx_symbol_that_no_library_has"), HasSubstr("--anyway")));

  std::vector<std::string> words = {gx_run, "--anyway", GX_FAKE_HOST, "launch", "n=10"};
  const testing::CommandResult under = testing::RunCommand(Command(words));
  EXPECT_EQ(under.exit_code, 0);
  EXPECT_EQ(under.out, "launched 10\n");
  EXPECT_THAT(under.err, HasSubstr("nothing was recorded: the library cannot be loaded"));
}

// ---------------------------------------------------------------------------------------------------- afterwards

TEST_F(GxRun, ProvesThatItRecordedAndShowsASummary) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=500"}));
  EXPECT_EQ(under.out, "launched 500\n");
  EXPECT_THAT(under.err, AllOf(ContainsRegex("process [0-9]+ .gx_fake_host. recorded to " + File("trace.pb")),
                               HasSubstr("KERNELS by signature"), HasSubstr("gx-analyze " + File("trace.pb"))));
  EXPECT_THAT(Files("trace"), SizeIs(1)) << "no report unasked";
}

TEST_F(GxRun, SaysThatNoProcessUsedCuda) {
  const testing::CommandResult under = Under({}, Host({"none", "sleep_ms=300"}));
  EXPECT_EQ(under.out, "no CUDA here\n");
  EXPECT_THAT(under.err, AllOf(HasSubstr("nothing was recorded: no process of the run used CUDA"),
                               HasSubstr("1 process seen"), Not(HasSubstr("KERNELS"))));
}

TEST_F(GxRun, SaysThatTheLibraryIsSwitchedOff) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=10"}), {{"GPUEXEC_ENABLE", "0"}});
  EXPECT_THAT(under.err, HasSubstr("nothing was recorded: GPUEXEC_ENABLE=0"));
}

TEST_F(GxRun, SaysThatTheEnvironmentWasCleared) {
  const testing::CommandResult under =
      Under({}, Shell("exec env -u CUDA_INJECTION64_PATH '" GX_FAKE_HOST "' launch n=10 sleep_ms=500"));
  EXPECT_EQ(under.out, "launched 10\n");
  EXPECT_THAT(under.err, ContainsRegex("nothing was recorded: 1 process loaded the CUDA driver"));
  EXPECT_THAT(under.err, HasSubstr("without CUDA_INJECTION64_PATH in its environment"));
}

TEST_F(GxRun, PassesOnWhyTheLibraryRecordsNothing) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=10"}), {{"FAKE_CUPTI_SUBSCRIBER", "nsys"}});
  EXPECT_EQ(under.out, "launched 10\n");
  EXPECT_THAT(under.err, AllOf(HasSubstr("nothing was recorded, though the library was loaded"),
                               HasSubstr("it belongs to \"nsys\""), Not(HasSubstr("KERNELS"))));
}

TEST_F(GxRun, PassesOnThatTheTraceCannotBeWritten) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=10"}), {{"GPUEXEC_OUTPUT", "/proc/nowhere/t.pb"}});
  EXPECT_EQ(under.out, "launched 10\n");
  EXPECT_THAT(under.err,
              AllOf(HasSubstr("nothing was recorded"), HasSubstr("cannot make the folder \"/proc/nowhere\"")));
}

TEST_F(GxRun, ListsTheTracesOfAllWorkers) {
  const std::string worker = "'" GX_FAKE_HOST "' launch n=50 & ";
  const testing::CommandResult under = Under({"-o", File("w.%p.pb")}, Shell(worker + worker + "wait"));
  EXPECT_EQ(under.out, "launched 50\nlaunched 50\n");
  const std::vector<std::string> files = Files("w.");
  ASSERT_THAT(files, SizeIs(2));
  for (const std::string& file : files) EXPECT_THAT(under.err, HasSubstr("recorded to " + File(file)));
}

TEST_F(GxRun, SaysThatOneProcessReplacedTheTraceOfAnother) {
  const std::string worker = "'" GX_FAKE_HOST "' launch n=50; ";
  const testing::CommandResult under = Under({"-q"}, Shell(worker + worker));
  EXPECT_THAT(under.err,
              AllOf(HasSubstr(File("trace.pb") + ", was replaced by that of process"), HasSubstr("trace.%p.pb")));
}

TEST_F(GxRun, FindsTheTraceByItsNameWhereTheLogGoesElsewhere) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=50"}), {{"GPUEXEC_LOG", "stderr"}});
  EXPECT_THAT(under.err, AllOf(HasSubstr("found by its name: " + File("trace.pb")), HasSubstr("KERNELS")));
}

TEST_F(GxRun, FindsTheTraceByItsNameWhereTheLogCannotBeWritten) {
  const testing::CommandResult under = Under({}, Host({"launch", "n=50"}), {{"GPUEXEC_LOG", "/proc/nowhere.log"}});
  EXPECT_THAT(under.err, HasSubstr("found by its name: " + File("trace.pb")));
}

TEST_F(GxRun, AUsersLogIsReadFromWhereThisRunBegan) {
  std::ofstream(File("my.log")) << "gpuexec 1: trace is written to /nowhere/old.pb\n";
  const testing::CommandResult under = Under({}, Host({"launch", "n=50"}), {{"GPUEXEC_LOG", File("my.log")}});
  EXPECT_THAT(under.err, AllOf(HasSubstr("recorded to " + File("trace.pb")), Not(HasSubstr("old.pb"))));
}

}  // namespace
}  // namespace gx::e2e
