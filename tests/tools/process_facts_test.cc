#include "tools/run/process_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gx::tools {
namespace {

TEST(ProcessStat, ReadsParentAndStartBehindANameOfAnyKind) {
  const auto stat = ParseProcessStat(
      "812 (a) Z (b c) S 411 812 400 34816 812 4194304 95 0 0 0 1 2 3 4 20 0 1 0 123456 2600000 200\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, 411);
  EXPECT_EQ(stat->start_ticks, 123456u);
  EXPECT_EQ(stat->name, "a) Z (b c");
  EXPECT_FALSE(stat->is_zombie);
}

TEST(ProcessStat, KnowsZombies) {
  const auto stat = ParseProcessStat("1 (x) Z 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->is_zombie);
}

TEST(ProcessStat, CutTextIsNoStat) {
  for (const char* text :
       {"", "1", "1 (x", "1 x) S 1", ")(", "1 (x) S 1 2 3", "1 (x) S a 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

TEST(ProcessStat, ReadsItsOwn) {
  const auto text = ReadProcFile(::getpid(), "stat", 4096);
  ASSERT_TRUE(text);
  const auto stat = ParseProcessStat(*text);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, ::getppid());
  EXPECT_FALSE(ReadProcFile(::getpid(), "no such file", 10));
}

TEST(ProcessMaps, FindsDriverLibraryAndDevice) {
  const ProcessMaps maps = ParseProcessMaps(
      "7f00-7f01 r-xp 00000000 fe:00 12   /usr/lib/libcuda.so.580.159.04\n"
      "7f02-7f03 r-xp 00000000 fe:00 13   /opt/my gx/libgpuexec_inject.so (deleted)\n"
      "7f04-7f05 rw-s 00000000 00:05 14   /dev/nvidia0\n");
  EXPECT_EQ(maps.libcuda, "/usr/lib/libcuda.so.580.159.04");
  EXPECT_TRUE(maps.has_library);
  EXPECT_TRUE(maps.has_device);
}

TEST(ProcessMaps, TheRuntimeIsNotTheDriver) {
  const ProcessMaps maps = ParseProcessMaps(
      "7f00-7f01 r-xp 00000000 fe:00 12   /usr/lib/libcudart.so.13\n"
      "7f00-7f01 r-xp 00000000 fe:00 12   /usr/lib/libcudadebugger.so.1\n"
      "7f00-7f01 rw-p 00000000 00:00 0    [heap]\n"
      "7f00-7f01 rw-p 00000000 00:00 0\n");
  EXPECT_EQ(maps.libcuda, "");
  EXPECT_FALSE(maps.has_library);
  EXPECT_FALSE(maps.has_device);
}

TEST(ProcessEnvironment, VariablesAreFoundByTheirWholeName) {
  const std::string text("AB=1\0A=2\0C=", 12);
  EXPECT_EQ(FindInEnvironment(text, "A"), "2");
  EXPECT_EQ(FindInEnvironment(text, "C"), "");
  EXPECT_EQ(FindInEnvironment(text, "B"), std::nullopt);
}

}  // namespace
}  // namespace gx::tools
