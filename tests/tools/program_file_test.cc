#include "tools/run/program_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace gx::tools {
namespace {

TEST(ProgramFile, IsFoundAsExecFindsIt) {
  const testing::TempDir folder;
  std::ofstream(folder.File("tool")) << "#!/bin/sh\n";
  EXPECT_EQ(FindProgram("tool", folder.path()), "") << "not executable yet";
  ASSERT_EQ(::chmod(folder.File("tool").c_str(), 0700), 0);
  EXPECT_EQ(FindProgram("tool", "/nowhere:" + folder.path()), folder.path() + "/tool");
  EXPECT_EQ(FindProgram("./tool", "/nowhere"), "./tool");
  EXPECT_EQ(FindProgram("sh", std::nullopt), "/bin/sh");
  EXPECT_EQ(FindProgram("tool", ""), "");
}

TEST(ProgramFile, AScriptIsJudgedByItsInterpreter) {
  EXPECT_EQ(InterpreterOf("#!/bin/sh\necho"), "/bin/sh");
  EXPECT_EQ(InterpreterOf("#! \t/usr/bin/env python3"), "/usr/bin/env");
  EXPECT_EQ(InterpreterOf("#!\n/bin/sh"), "");
  EXPECT_EQ(InterpreterOf("# /bin/sh"), "");
  EXPECT_EQ(InterpreterOf(""), "");
  const testing::TempDir folder;
  std::ofstream(folder.File("tool")) << "#!/bin/sh\n";
  EXPECT_EQ(LookAtProgram(folder.File("tool")).path, "/bin/sh");
}

TEST(ProgramFile, AnOrdinaryProgramIsNeitherStaticNorPrivileged) {
  const ProgramFile file = LookAtProgram("/bin/sh");
  EXPECT_EQ(file.path, "/bin/sh");
  EXPECT_FALSE(file.is_static);
  EXPECT_FALSE(file.is_privileged);
}

TEST(ProgramFile, APrivilegedProgramIsKnown) {
  const testing::TempDir folder;
  std::ofstream(folder.File("tool")) << "text";
  ASSERT_EQ(::chmod(folder.File("tool").c_str(), 04700), 0);
  EXPECT_TRUE(LookAtProgram(folder.File("tool")).is_privileged);
}

TEST(ProgramFile, WhatIsNotThereHasNoPath) {
  EXPECT_EQ(LookAtProgram("").path, "");
  EXPECT_EQ(LookAtProgram("/nowhere/tool").path, "");
  EXPECT_EQ(LookAtProgram("/").path, "");
}

}  // namespace
}  // namespace gx::tools
