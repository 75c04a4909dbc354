#include "analysis/cli/progress_bar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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
  EXPECT_NE(text.find(".../rank/17/trace.pb"), std::string::npos) << text;
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
