#include "analysis/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {
namespace {

TEST(Printable, PlainTextAndUtf8StayAsTheyAre) {
  EXPECT_EQ(Printable("void axpy<float>(int, T*)"), "void axpy<float>(int, T*)");
  EXPECT_EQ(Printable("/home/\xc3\xa4/\xe2\x82\xac \xf0\x9f\x98\x80"), "/home/\xc3\xa4/\xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(Printable, ControlBytesBecomeEscapes) {
  EXPECT_EQ(Printable("a\nb\tc\rd\x1b[31m\x7f"), "a\\nb\\tc\\x0dd\\x1b[31m\\x7f");
  EXPECT_EQ(Printable(absl::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("back\\slash"), "back\\\\slash");
}

TEST(Printable, ControlsWrittenAsUtf8BecomeEscapes) {
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "C1 control sequence introducer";
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
}

TEST(Printable, BytesThatAreNotUtf8BecomeEscapes) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong slash";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82") << "cut sequence";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, NoByteMakesItsWayToATerminalUnescaped) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = Printable(std::string(1, static_cast<char>(byte)));
    for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << "byte " << byte;
  }
}

}  // namespace
}  // namespace gx::analysis
