#include "analysis/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gx::analysis {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CutTextTest, WhatFitsStaysAndWhatIsCutEndsInDots) {
  EXPECT_EQ(CutText("kernel", 6), "kernel");
  EXPECT_EQ(CutText("kernels", 6), "ker...");
  EXPECT_EQ(CutText("kernels", 2), "..");
  EXPECT_EQ(CutText("kernels", 0), "");
}

TEST(CutTextTest, CountsCharactersAndNeverCutsThroughOne) {
  EXPECT_EQ(CutText("\u00e4\u00f6\u00fc\u00df", 4), "\u00e4\u00f6\u00fc\u00df");
  EXPECT_EQ(CutText("\u00e4\u00f6\u00fc\u00df\u20ac", 4), "\u00e4...");
  EXPECT_EQ(TextWidth("\u20ac5"), 2u);
}

TEST(WrapTextTest, BreaksBehindCommasAndAtSpacesAndCutsNoWord) {
  EXPECT_THAT(WrapText("short", 10), ElementsAre("short"));
  EXPECT_THAT(WrapText("", 10), ElementsAre(""));
  EXPECT_THAT(WrapText("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("push 20 ms, pop 11.2 ms", 13), ElementsAre("push 20 ms,", "pop 11.2 ms"));
  EXPECT_THAT(WrapText("a, bcdefg hijklm", 14), ElementsAre("a, bcdefg", "hijklm")) << "the comma comes too early";
  EXPECT_THAT(WrapText("averylongword and more", 5), ElementsAre("averylongword", "and", "more"));
}

TextTable Table() {
  TextTable table;
  table.Add({.title = "calls"});
  table.Add({.title = "min", .leave_out_rank = 2});
  table.Add({.title = "share", .leave_out_rank = 1});
  table.Add({.title = "name", .right = false, .min_width = 6});
  for (const char* cell : {"1", "2 ns", "3 %", "short", "400", "5 ns", "66 %", "a_longer_name"}) table.Put(cell);
  return table;
}

TEST(TextTableTest, ColumnsAreAlignedAndAsWideAsTheyNeed) {
  EXPECT_THAT(Table().Lines(0), ElementsAre("  calls   min  share  name",   //
                                            "      1  2 ns    3 %  short",  //
                                            "    400  5 ns   66 %  a_longer_name"));
  EXPECT_THAT(Table().LeftOut(0), IsEmpty());
}

TEST(TextTableTest, CellsAreCutBeforeTheTableIsTooWide) {
  EXPECT_THAT(Table().Lines(28), ElementsAre("  calls   min  share  name",   //
                                             "      1  2 ns    3 %  short",  //
                                             "    400  5 ns   66 %  a_l..."));
  EXPECT_THAT(Table().LeftOut(28), IsEmpty());
}

TEST(TextTableTest, ColumnsAreLeftOutByRankWhereCuttingIsNotEnough) {
  EXPECT_THAT(Table().LeftOut(27), ElementsAre("min"));
  EXPECT_THAT(Table().LeftOut(21), ElementsAre("min", "share"));
  EXPECT_THAT(Table().Lines(21), ElementsAre("  calls  name",   //
                                             "      1  short",  //
                                             "    400  a_longer_..."));
}

TEST(TextTableTest, NoLineIsEverWiderThanTheTerminal) {
  for (size_t width = 1; width < 60; ++width) {
    EXPECT_THAT(Table().Lines(width), Each(SizeIs(::testing::Le(width)))) << width;
  }
}

}  // namespace
}  // namespace gx::analysis
