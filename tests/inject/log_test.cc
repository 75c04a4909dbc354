// Log keeps its target for the life of the process, so each test runs its scene in a child process and reads what the
// child left behind.
#include "inject/log.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "tests/support/temp_dir.h"

namespace gx::inject {
namespace {

using ::gx::testing::TempDir;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The wait status of a child that runs `scene` and leaves with 0.
int InChild(const std::function<void()>& scene) {
  const pid_t child = fork();
  if (child == 0) {
    scene();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Log, IsOffUntilItIsOpened) {
  EXPECT_EQ(InChild([] {
              if (LogEnabled()) _exit(1);
              Log("nobody hears %d", 1);
              OpenLog("");
              if (LogEnabled()) _exit(2);
            }),
            0);
}

TEST(Log, AppendsLinesToAPrivateFile) {
  const TempDir dir;
  const std::string path = dir.File("gx.log");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(InChild([&] {
                OpenLog(path);
                if (!LogEnabled()) _exit(1);
                Log("opened %s", "libcupti");
              }),
              0);
  }
  const std::string text = Read(path);
  EXPECT_THAT(text, StartsWith("gpuexec "));
  EXPECT_THAT(text, EndsWith(": opened libcupti\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Log, WritesControlBytesAsQuestionMarks) {
  const TempDir dir;
  const std::string path = dir.File("gx.log");
  EXPECT_EQ(InChild([&] {
              OpenLog(path);
              Log("a%sb", "\x1b[2J\n\r\x7f\t");
            }),
            0);
  EXPECT_THAT(Read(path), EndsWith(": a?[2J????b\n"));
}

TEST(Log, CutsALineAtAThousandBytes) {
  const TempDir dir;
  const std::string path = dir.File("gx.log");
  EXPECT_EQ(InChild([&] {
              OpenLog(path);
              Log("%s", std::string(5'000, 'x').c_str());
            }),
            0);
  EXPECT_EQ(Read(path).size(), 1'000u);
  EXPECT_THAT(Read(path), EndsWith("x\n"));
}

TEST(Log, KeepsErrno) {
  const TempDir dir;
  EXPECT_EQ(InChild([&] {
              OpenLog(dir.File("gx.log"));
              errno = 77;
              Log("text");
              if (errno != 77) _exit(1);
            }),
            0);
}

TEST(Log, StaysOffForASymbolicLinkAFolderAPipeOrAMissingFolder) {
  const TempDir dir;
  const std::string target = dir.File("target");
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, dir.File("link"));
  ASSERT_EQ(mkfifo(dir.File("pipe").c_str(), 0600), 0);
  for (const std::string& path : {dir.File("link"), dir.path(), dir.File("pipe"), dir.File("no/such/gx.log")}) {
    EXPECT_EQ(InChild([&] {
                OpenLog(path);
                Log("text");
                if (LogEnabled()) _exit(1);
              }),
              0)
        << path;
  }
  EXPECT_EQ(Read(target), "precious");
}

TEST(Log, ToStderrWritesTheLineOfTheStartAndNoOther) {
  const TempDir dir;
  EXPECT_EQ(InChild([&] {
              const int descriptor = open(dir.File("stderr").c_str(), O_WRONLY | O_CREAT, 0600);
              dup2(descriptor, STDERR_FILENO);
              OpenLog("stderr");
              Log("before");
              LogStart("started");
              Log("after");
            }),
            0);
  const std::string text = Read(dir.File("stderr"));
  EXPECT_THAT(text, EndsWith(": started\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Log, ToAFileTakesEveryLine) {
  const TempDir dir;
  EXPECT_EQ(InChild([&] {
              OpenLog(dir.File("log"));
              LogStart("started");
              Log("after");
            }),
            0);
  const std::string text = Read(dir.File("log"));
  EXPECT_THAT(text, EndsWith(": after\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Log, ToAPipeThatNobodyReadsDoesNotEndTheHost) {
  EXPECT_EQ(InChild([] {
              signal(SIGPIPE, SIG_DFL);
              int ends[2];
              if (pipe(ends) != 0) _exit(1);
              dup2(ends[1], STDERR_FILENO);
              close(ends[0]);
              close(ends[1]);
              OpenLog("stderr");
              LogStart("hello");
            }),
            0);
}

TEST(Log, DoesNotWriteIntoAFileThatTheHostOpenedAtItsDescriptor) {
  const TempDir dir;
  EXPECT_EQ(InChild([&] {
              const int log_target = open(dir.File("first").c_str(), O_WRONLY | O_CREAT, 0600);
              dup2(log_target, STDERR_FILENO);
              OpenLog("stderr");
              const int database = open(dir.File("database").c_str(), O_WRONLY | O_CREAT, 0600);
              dup2(database, STDERR_FILENO);
              Log("hello");
            }),
            0);
  EXPECT_EQ(Read(dir.File("database")), "");
  EXPECT_THAT(Read(dir.File("first")), Not(HasSubstr("hello")));
}

}  // namespace
}  // namespace gx::inject
