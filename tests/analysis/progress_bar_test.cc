#include "analysis/cli/progress_bar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/pseudo_terminal.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trace_builder.h"

namespace gx::analysis {
namespace {

TEST(ProgressTextTest, ShowsHowFarReadingHasCome) {
  EXPECT_EQ(ProgressText("a.pb", 1, 2, 80), "reading a.pb [===============               ]  50 %");
  EXPECT_EQ(ProgressText("a.pb", 0, 0, 80), "reading a.pb [                              ]   0 %");
  EXPECT_EQ(ProgressText("a.pb", 9, 3, 80), "reading a.pb [==============================] 100 %");
}

TEST(ProgressTextTest, ALongPathIsCutAtItsBeginning) {
  const std::string text = ProgressText("/a/very/long/path/to/a/trace/of/rank/17/trace.pb", 1, 2, 70);
  EXPECT_LE(text.size(), 70u);
  EXPECT_NE(text.find("...of/rank/17/trace.pb ["), std::string::npos) << text;
}

TEST(ProgressTextTest, IsShorterThanTheTerminalHoweverNarrow) {
  for (size_t columns = 0; columns < 130; ++columns) {
    const std::string text = ProgressText("/some/folder/trace.pb", 2, 3, columns);
    EXPECT_LE(text.size(), columns == 0 ? 0 : columns - 1) << text;
  }
  EXPECT_EQ(ProgressText("/some/folder/trace.pb", 1, 2, 40), "reading ...ce.pb [=======       ]  50 %");
}

uint64_t g_now_ns = 0;
uint64_t Now() { return g_now_ns; }

TEST(ProgressBarTest, AppearsOnATerminalAfterAQuietSecondAndLeavesNothingBehind) {
  gx::testing::PseudoTerminal terminal(50);
  if (!terminal.ok()) GTEST_SKIP() << "this system has no pseudo terminals";
  g_now_ns = 5'000'000'000;
  {
    ProgressBar bar(terminal.slave(), "a.pb", Now);
    g_now_ns += ProgressBar::kQuietNs - 1;
    bar.Update(1, 4);
    EXPECT_EQ(terminal.Read(), "");
    g_now_ns += 1;
    bar.Update(2, 4);
    EXPECT_EQ(terminal.Read(), "\rreading a.pb [============            ]  50 %\x1b[K");
    g_now_ns += ProgressBar::kRedrawNs - 1;
    bar.Update(3, 4);
    EXPECT_EQ(terminal.Read(), "") << "redrawn too soon";
  }
  EXPECT_EQ(terminal.Read(), "\r\x1b[K");
}

TEST(ProgressBarTest, DrawsNothingWhereThereIsNoTerminal) {
  const gx::testing::TempDir dir;
  const int descriptor = ::open(dir.File("out").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(descriptor, 0);
  {
    ProgressBar bar(descriptor, "a.pb");
    bar.Update(1, 2);
  }
  ::close(descriptor);
  EXPECT_EQ(gx::testing::ReadFile(dir.File("out")), "");
}

}  // namespace
}  // namespace gx::analysis
