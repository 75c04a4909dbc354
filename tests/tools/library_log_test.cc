#include "tools/run/library_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(LibraryLog, SaysWhichProcessesRecordWhere) {
  const auto processes = ReadLibraryLog(
      "gpuexec 12: gpuexec 0.1.0 records to /x/t.%p.pb (CUPTI 13.0.1 at /c/libcupti.so.13)\n"
      "gpuexec 7: gpuexec 0.1.0 records to /x/t.%p.pb (CUPTI 13.0.1 at /c/libcupti.so.13)\n"
      "gpuexec 12: GPUEXEC_X is not a variable of gpuexec and was ignored.\n"
      "gpuexec 7: trace is written to /x/t.7.pb\n"
      "gpuexec 12: trace is written to /x/t.12.pb\n"
      "gpuexec 12: GPUEXEC_X is not a variable of gpuexec and was ignored.\n");
  ASSERT_THAT(processes, SizeIs(2));
  EXPECT_EQ(processes[0].pid, 12);
  EXPECT_TRUE(processes[0].records);
  EXPECT_EQ(processes[0].reason, "");
  EXPECT_THAT(processes[0].traces, ElementsAre("/x/t.12.pb"));
  EXPECT_THAT(processes[0].notes, ElementsAre("GPUEXEC_X is not a variable of gpuexec and was ignored."));
  EXPECT_EQ(processes[1].pid, 7);
  EXPECT_THAT(processes[1].traces, ElementsAre("/x/t.7.pb"));
}

TEST(LibraryLog, SaysWhyNothingIsRecorded) {
  const auto processes = ReadLibraryLog("gpuexec 9: gpuexec 0.1.0 records nothing: no libcupti was found\n");
  ASSERT_THAT(processes, SizeIs(1));
  EXPECT_FALSE(processes[0].records);
  EXPECT_EQ(processes[0].reason, "no libcupti was found");
}

TEST(LibraryLog, LinesOfAnotherFormAreLeftOut) {
  EXPECT_THAT(ReadLibraryLog(""), IsEmpty());
  EXPECT_THAT(ReadLibraryLog("hello\ngpuexec\ngpuexec : x\ngpuexec 99999999999999999999: x\ngpuexec x: y\ngpuexec 5"),
              IsEmpty());
}

TEST(LibraryLog, HoldsAFewNotesOfAProcessWithoutControlBytes) {
  std::string text = "gpuexec 3: \x1b[2J\n";
  for (int i = 0; i < 1000; ++i) text += "gpuexec 3: note " + std::to_string(i) + "\n";
  const auto processes = ReadLibraryLog(text);
  ASSERT_THAT(processes, SizeIs(1));
  EXPECT_THAT(processes[0].notes, SizeIs(kMaxNotes));
  EXPECT_EQ(processes[0].notes[0], "\\x1b[2J");
}

}  // namespace
}  // namespace gx::tools
