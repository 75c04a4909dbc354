#include "inject/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "inject/self_stats.h"
#include "inject/trace_encoder.h"
#include "tests/support/temp_dir.h"

namespace gx::inject {
namespace {

namespace fs = std::filesystem;
using ::gx::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kPid = 12;

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// What an ended process left: a real frame.
std::string OldTrace() {
  TraceEncoder encoder;
  encoder.AddName(1, "old");
  return std::string(encoder.FinishFrame());
}

// The number of the descriptor that is open on `path`, -1 for none.
int DescriptorOf(const std::string& path) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

// The wait status of a child that runs `scene` and leaves with what it returns.
int InChild(const std::function<int()>& scene) {
  const pid_t child = fork();
  if (child == 0) _exit(scene());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class TraceFileTest : public ::testing::Test {
 protected:
  TraceFileTest() { Stats().Reset(); }
  ~TraceFileTest() override { file_.Close(); }

  std::string Path(const std::string& name = "trace.pb") const { return dir_.File(name); }
  bool Open(const std::string& path) { return file_.Open(path, kPid, &problem_); }

  // Opening is refused with a text that names the path, says `what` and what to do, and nothing was made or changed.
  void ExpectRefused(const std::string& path, const std::string& what) {
    EXPECT_FALSE(Open(path));
    EXPECT_FALSE(file_.is_open());
    EXPECT_THAT(problem_, AllOf(HasSubstr("\"" + path + "\""), HasSubstr(what), HasSubstr("; ")));
  }

  TempDir dir_;
  TraceFile file_;
  std::string problem_;
};

TEST_F(TraceFileTest, IsMadePrivateAndHoldsTheFramesInOrder) {
  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_TRUE(file_.is_open());
  EXPECT_EQ(file_.path(), Path());
  EXPECT_TRUE(file_.Write("first"));
  EXPECT_TRUE(file_.Write("second"));
  EXPECT_TRUE(file_.Write(""));
  EXPECT_EQ(Read(Path()), "firstsecond");
  EXPECT_EQ(file_.size_bytes(), 11u);
  EXPECT_EQ(fs::status(Path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(problem_, IsEmpty());
}

TEST_F(TraceFileTest, SitsAtAHighDescriptorThatExecCloses) {
  ASSERT_TRUE(Open(Path())) << problem_;
  const int descriptor = DescriptorOf(Path());
  EXPECT_GE(descriptor, 200);
  EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(TraceFileTest, MakesMissingFoldersPrivate) {
  const std::string path = dir_.File("a/b//c/trace.pb");
  ASSERT_TRUE(Open(path)) << problem_;
  EXPECT_TRUE(file_.Write("x"));
  EXPECT_EQ(Read(path), "x");
  EXPECT_EQ(fs::status(dir_.File("a/b")).permissions(), fs::perms::owner_all);
}

TEST_F(TraceFileTest, ReplacesTheTraceOfAnEndedProcess) {
  Put(Path(), OldTrace() + OldTrace());
  fs::permissions(Path(), fs::perms(0644));
  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_EQ(file_.path(), Path());
  EXPECT_TRUE(file_.Write("new"));
  EXPECT_EQ(Read(Path()), "new");
  EXPECT_EQ(fs::status(Path()).permissions(), fs::perms(0600));
  EXPECT_EQ(Stats().Get(StatId::kOutputNameTaken), 0u);
}

TEST_F(TraceFileTest, ReplacesAnEmptyFile) {
  Put(Path(), "");
  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_EQ(file_.path(), Path());
}

TEST_F(TraceFileTest, LeavesAFileThatIsNoTraceAloneAndAddsThePid) {
  const std::vector<std::string> foreign = {"precious", "\x0A", OldTrace().substr(0, 10),
                                            std::string("\x0A\x05\x05\x05\x05\x05\x0DGXF2", 11), " " + OldTrace()};
  for (const std::string& content : foreign) {
    Put(Path(), content);
    TraceFile file;
    ASSERT_TRUE(file.Open(Path(), kPid, &problem_)) << problem_;
    EXPECT_EQ(file.path(), Path("trace.12.pb"));
    EXPECT_THAT(problem_, AllOf(HasSubstr("\"" + Path() + "\" belongs to"), HasSubstr("\"" + file.path() + "\"")));
    EXPECT_EQ(Read(Path()), content);
    file.Close();
  }
  EXPECT_EQ(Stats().Get(StatId::kOutputNameTaken), foreign.size());
}

TEST_F(TraceFileTest, LeavesALiveTraceOfAnotherProcessAlone) {
  int ready[2];
  int finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const pid_t other = fork();
  if (other == 0) {
    close(finish[1]);
    TraceFile file;
    std::string problem;
    const bool opened = file.Open(Path(), 7, &problem) && file.Write(OldTrace());
    char byte = opened ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(2);
    // Until the other end is closed.
    [[maybe_unused]] const ssize_t ended = read(finish[0], &byte, 1);
    _exit(0);
  }
  close(finish[0]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');

  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_EQ(file_.path(), Path("trace.12.pb"));
  EXPECT_TRUE(file_.Write("mine"));
  EXPECT_EQ(Read(Path()), OldTrace());
  EXPECT_EQ(Stats().Get(StatId::kOutputNameTaken), 1u);

  close(finish[1]);
  ASSERT_EQ(waitpid(other, nullptr, 0), other);
  TraceFile next;
  ASSERT_TRUE(next.Open(Path(), 13, &problem_)) << problem_;
  EXPECT_EQ(next.path(), Path()) << "the process is gone: its trace is replaced";
  next.Close();
}

TEST_F(TraceFileTest, CountsUpWhereThePidIsTakenToo) {
  Put(Path("trace.pb"), "precious");
  Put(Path("trace.12.pb"), "precious");
  Put(Path("trace.12.2.pb"), "precious");
  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_EQ(file_.path(), Path("trace.12.3.pb"));
}

TEST_F(TraceFileTest, SaysSoWhereEveryNameIsTaken) {
  Put(Path("trace"), "precious");
  Put(Path("trace.12"), "precious");
  for (int i = 2; i <= 200; ++i) Put(Path("trace.12." + std::to_string(i)), "precious");
  ExpectRefused(Path("trace"), "belong to live traces");
}

TEST_F(TraceFileTest, NeverFollowsASymbolicLink) {
  Put(dir_.File("target"), OldTrace());
  fs::create_symlink(dir_.File("target"), Path());
  ExpectRefused(Path(), "symbolic link");
  EXPECT_EQ(Read(dir_.File("target")), OldTrace());

  fs::create_symlink(dir_.File("not there"), Path("dangling.pb"));
  ExpectRefused(Path("dangling.pb"), "symbolic link");
  EXPECT_FALSE(fs::exists(dir_.File("not there")));
}

TEST_F(TraceFileTest, RefusesAPipeWithoutWaitingForItsReader) {
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  ExpectRefused(Path(), "named pipe");
}

TEST_F(TraceFileTest, RefusesFoldersAndDevices) {
  ExpectRefused(dir_.path(), "a folder");
  ExpectRefused(dir_.path() + "/", "names no file");
  ExpectRefused("", "names no file");
  ExpectRefused("/dev/null", "a device");
  ExpectRefused("/dev/full", "a device");
}

TEST_F(TraceFileTest, SaysWhyAFolderCannotBeMade) {
  Put(dir_.File("file"), "x");
  EXPECT_FALSE(Open(dir_.File("file/trace.pb")));
  EXPECT_THAT(problem_, AllOf(HasSubstr(dir_.File("file")), HasSubstr("errno"), HasSubstr("GPUEXEC_OUTPUT")));

  EXPECT_FALSE(Open("/proc/nowhere/trace.pb"));
  EXPECT_THAT(problem_, AllOf(HasSubstr("/proc/nowhere"), HasSubstr("No such file"), HasSubstr("GPUEXEC_OUTPUT")));
}

TEST_F(TraceFileTest, SaysWhyAFileCannotBeMade) {
  EXPECT_FALSE(Open("/proc/trace.pb"));
  EXPECT_THAT(problem_, AllOf(HasSubstr("\"/proc/trace.pb\""), HasSubstr("errno"), HasSubstr("GPUEXEC_OUTPUT")));
  const std::string long_name = dir_.File(std::string(300, 'x'));
  ExpectRefused(long_name, "File name too long");
}

TEST_F(TraceFileTest, LeavesATraceOfAnotherUserAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  Put(Path(), OldTrace());
  ASSERT_EQ(chown(Path().c_str(), 12345, 12345), 0);
  ASSERT_TRUE(Open(Path())) << problem_;
  EXPECT_EQ(file_.path(), Path("trace.12.pb"));
  EXPECT_EQ(Read(Path()), OldTrace());
}

TEST_F(TraceFileTest, StopsForGoodWhenTheHostClosesItsDescriptor) {
  ASSERT_TRUE(Open(Path())) << problem_;
  ASSERT_TRUE(file_.Write("first"));
  const int descriptor = DescriptorOf(Path());
  close(descriptor);
  EXPECT_FALSE(file_.Write("second"));
  EXPECT_EQ(Stats().Get(StatId::kOutputReplacedByHost), 1u);

  // Also not when our file turns up there again.
  const int again = open(Path().c_str(), O_WRONLY | O_APPEND);
  ASSERT_EQ(dup2(again, descriptor), descriptor);
  EXPECT_FALSE(file_.Write("third"));
  EXPECT_EQ(Stats().Get(StatId::kOutputReplacedByHost), 1u);
  EXPECT_EQ(Stats().Get(StatId::kWriteFailed), 2u);
  EXPECT_EQ(Stats().Get(StatId::kBytesLostOnWrite), 11u);
  EXPECT_EQ(Read(Path()), "first");
  close(again);
}

TEST_F(TraceFileTest, NeverTouchesAFileThatTheHostOpenedAtItsDescriptor) {
  ASSERT_TRUE(Open(Path())) << problem_;
  ASSERT_TRUE(file_.Write("first"));
  const int descriptor = DescriptorOf(Path());
  const int database = open(dir_.File("database").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(dup2(database, descriptor), descriptor);

  EXPECT_FALSE(file_.Write("second"));
  EXPECT_EQ(Stats().Get(StatId::kOutputReplacedByHost), 1u);
  EXPECT_EQ(Read(dir_.File("database")), "");
  file_.Close();
  EXPECT_NE(fcntl(descriptor, F_GETFD), -1) << "the host's descriptor was closed";
  EXPECT_EQ(Read(Path()), "first");
  close(descriptor);
  close(database);
}

TEST_F(TraceFileTest, CutsALostFrameBackAndTriesTheNextOne) {
  // The kernel's default for this signal is to end the process: the test lives only if it is held back.
  ASSERT_NE(signal(SIGXFSZ, SIG_DFL), SIG_ERR);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(Open(Path())) << problem_;
  ASSERT_TRUE(file_.Write("12345678"));

  rlimit small = before;
  small.rlim_cur = 12;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_FALSE(file_.Write("abcdefgh")) << "four of the eight bytes fit";
  EXPECT_EQ(Read(Path()), "12345678");
  EXPECT_TRUE(file_.Write("ijkl")) << "a smaller frame fits";
  EXPECT_FALSE(file_.Write("m"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(file_.Write("nop"));

  EXPECT_EQ(Read(Path()), "12345678ijklnop");
  EXPECT_EQ(file_.size_bytes(), 15u);
  EXPECT_EQ(Stats().Get(StatId::kWriteFailed), 2u);
  EXPECT_EQ(Stats().Get(StatId::kBytesLostOnWrite), 9u);
}

TEST_F(TraceFileTest, AFrameWithoutAFileIsLostAndCounted) {
  EXPECT_FALSE(file_.Write("frame"));
  EXPECT_EQ(Stats().Get(StatId::kWriteFailed), 1u);
  EXPECT_EQ(Stats().Get(StatId::kBytesLostOnWrite), 5u);
  EXPECT_EQ(Stats().Get(StatId::kOutputReplacedByHost), 0u);
}

TEST_F(TraceFileTest, AChildThatAbandonsItTakesNeitherFileNorLock) {
  ASSERT_TRUE(Open(Path())) << problem_;
  ASSERT_TRUE(file_.Write("parent"));
  EXPECT_EQ(InChild([this] {
              file_.AbandonInChild();
              if (file_.is_open() || DescriptorOf(Path()) != -1) return 1;
              if (file_.Write("child")) return 2;
              // Its own file, because the parent's is locked still.
              if (!file_.Open(Path(), 99, &problem_) || file_.path() != Path("trace.99.pb")) return 3;
              return file_.Write("child") ? 0 : 4;
            }),
            0);
  EXPECT_EQ(Read(Path("trace.99.pb")), "child");
  EXPECT_TRUE(file_.Write(" again"));
  EXPECT_EQ(Read(Path()), "parent again");

  TraceFile newcomer;
  ASSERT_TRUE(newcomer.Open(Path(), kPid, &problem_)) << problem_;
  EXPECT_EQ(newcomer.path(), Path("trace.12.pb")) << "the parent's lock went with the child";
  newcomer.Close();
}

TEST_F(TraceFileTest, AClosedTraceIsReplacedByTheNextProcess) {
  ASSERT_TRUE(Open(Path())) << problem_;
  ASSERT_TRUE(file_.Write(OldTrace()));
  file_.Close();
  EXPECT_FALSE(file_.is_open());
  TraceFile next;
  ASSERT_TRUE(next.Open(Path(), kPid, &problem_)) << problem_;
  EXPECT_EQ(next.path(), Path());
  EXPECT_EQ(Read(Path()), "");
  next.Close();
}

TEST_F(TraceFileTest, OfManyProcessesAtOnceEachHasItsOwnFile) {
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  int start[2];
  int written[2];
  int finish[2];
  ASSERT_EQ(pipe(start), 0);
  ASSERT_EQ(pipe(written), 0);
  ASSERT_EQ(pipe(finish), 0);
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    close(finish[1]);
    char byte;
    [[maybe_unused]] const ssize_t started = read(start[0], &byte, 1);
    TraceFile file;
    std::string problem;
    // One pid for all: processes of several containers may share it.
    const bool good = file.Open(Path(), kPid, &problem) && file.Write("frame of " + std::to_string(i));
    // All stay alive until all have written.
    if (write(written[1], "x", 1) != 1) _exit(2);
    [[maybe_unused]] const ssize_t finished = read(finish[0], &byte, 1);
    _exit(good ? 0 : 1);
  }
  ASSERT_EQ(write(start[1], "12345678", kProcesses), kProcesses);
  for (int i = 0; i < kProcesses; ++i) {
    char byte;
    ASSERT_EQ(read(written[0], &byte, 1), 1);
  }
  close(finish[1]);
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::vector<std::string> contents;
  for (const std::string& name : Names(dir_.path())) contents.push_back(Read(Path(name)));
  std::sort(contents.begin(), contents.end());
  std::vector<std::string> expected;
  for (int i = 0; i < kProcesses; ++i) expected.push_back("frame of " + std::to_string(i));
  EXPECT_EQ(contents, expected);
}

}  // namespace
}  // namespace gx::inject
