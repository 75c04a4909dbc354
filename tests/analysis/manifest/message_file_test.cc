#include "analysis/manifest/message_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gpuexec/v1/manifest.pb.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Manifest;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using testing::IsOk;

constexpr char kText[] = "case_id: 'a' machine { sm_count: 3 }";
constexpr char kJson[] = R"({"case_id": "a", "machine": {"sm_count": "3"}})";

std::string Binary() { return FromText<Manifest>(kText).SerializeAsString(); }

std::string Refusal(absl::string_view name, absl::string_view bytes) {
  Manifest message;
  const absl::Status status = ParseMessageBytes(name, bytes, &message);
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

TEST(MessageFile, TheExtensionSaysTheForm) {
  struct Row {
    const char* name;
    std::string bytes;
  };
  for (const Row& row : {Row{"a.textproto", kText}, Row{"a.txtpb", kText}, Row{"a.pbtxt", kText}, Row{"a.json", kJson},
                         Row{"a.pb", Binary()}, Row{"a.binpb", Binary()}}) {
    Manifest message;
    EXPECT_THAT(ParseMessageBytes(row.name, row.bytes, &message), IsOk()) << row.name;
    EXPECT_THAT(message, EqualsProto(kText)) << row.name;
  }
}

TEST(MessageFile, WithoutAKnownExtensionTheContentsSayIt) {
  for (const std::string& bytes : {std::string(kText), absl::StrCat("# comment\n", kText), std::string(kJson),
                                   absl::StrCat("\n  ", kJson), Binary()}) {
    Manifest message;
    EXPECT_THAT(ParseMessageBytes("-", bytes, &message), IsOk());
    EXPECT_THAT(message, EqualsProto(kText));
  }
}

TEST(MessageFile, AnErrorNamesFileLineAndColumn) {
  EXPECT_EQ(Refusal("a.textproto", "case_id: 'a'\nmachine { sms: 3 }"),
            "a.textproto:2:14: Message type \"gpuexec.v1.Machine\" has no field named \"sms\".");
  EXPECT_EQ(Refusal("a.textproto", "machine { sm_count: many }"), "a.textproto:1:21: Expected integer, got: many");
  EXPECT_EQ(Refusal("a.json", "{\n \"case_id\": 3}"), "a.json:2:13: case_id: expected a string, got 3");
  EXPECT_EQ(Refusal("a.pb", "no such message"), "a.pb: expected a binary gpuexec.v1.Manifest, got bytes that are none");
}

TEST(MessageFile, AnErrorHoldsNoControlBytesAndIsShort) {
  const std::string refusal =
      Refusal("\x1b[2J.textproto", absl::StrCat("case_id: 'a'\n", std::string(100000, 'z'), ": 1"));
  EXPECT_THAT(refusal, ::testing::StartsWith("\\x1b[2J.textproto:2:"));
  EXPECT_LT(refusal.size(), 400u);
}

TEST(MessageFile, EmptyAndOversizedFilesAreRefused) {
  EXPECT_EQ(Refusal("a.textproto", " \n"), "a.textproto: expected a gpuexec.v1.Manifest, got an empty file");
  EXPECT_EQ(Refusal("a.textproto", std::string(kMaxMessageFileBytes + 1, '#')),
            "a.textproto: expected at most 16 MiB, got more");
}

TEST(MessageFile, TextThatIsNoUtf8IsRefusedInEveryForm) {
  const std::string expected = "gpuexec.v1.Manifest.case_id: expected text in UTF-8, got bytes that are none";
  EXPECT_EQ(Refusal("a.textproto", "case_id: '\\377'"), "a.textproto: " + expected);
  EXPECT_EQ(Refusal("a.json", "{\"case_id\": \"\xFF\"}"), "a.json: " + expected);
  EXPECT_EQ(Refusal("a.pb", "\x0A\x01\xFF"), "a.pb: " + expected);
  // Overlong, a surrogate, beyond U+10FFFF, cut.
  for (const char* bytes : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_THAT(Refusal("a.json", absl::StrCat("{\"case_id\": \"", bytes, "\"}")), HasSubstr("UTF-8"));
  }
  Manifest message;
  EXPECT_THAT(ParseMessageBytes("a.json", "{\"case_id\": \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"}", &message), IsOk());
}

TEST(MessageFile, ManyEmptyMessagesAreRefusedBeforeTheyAreMade) {
  std::string text;
  std::string json = "{\"gemm\": [{}";
  std::string binary;
  for (size_t i = 0; i <= 2 * kMaxMessageElements; ++i) {
    text += "gemm{}";
    json += ",{}";
    binary += std::string("\x7A\x00", 2);  // Field 15, length 0.
  }
  json += "]}";
  EXPECT_EQ(Refusal("a.textproto", text), "a.textproto: expected at most 20000 messages and strings");
  EXPECT_THAT(Refusal("a.json", json), HasSubstr("more messages and strings than a manifest can have"));
  EXPECT_EQ(Refusal("a.pb", binary), "a.pb: expected at most 20000 messages and strings");
  // Fields of no name would be kept as they are.
  std::string unknown;
  for (size_t i = 0; i <= kMaxMessageElements; ++i) unknown += std::string("\xA2\x3F\x00", 3);
  EXPECT_EQ(Refusal("a.pb", unknown), "a.pb: expected at most 20000 messages and strings");
}

TEST(MessageFile, AStringBeyondItsMessageIsRefusedWithoutAWordFromProtobuf) {
  // Dispatch of 4 bytes, in it a string of 6 that reaches into what follows, where it is no UTF-8.
  ::testing::internal::CaptureStderr();
  const std::string refusal = Refusal("a.pb", "\x2A\x04\x0A\x06xx\xFF\xFF\xFF\xFF");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(refusal, "a.pb: expected a binary gpuexec.v1.Dispatch, got bytes that are none");
}

TEST(MessageFile, BinaryOfANewerVersionIsRead) {
  // Field 1012 of length 1.
  Manifest message;
  EXPECT_THAT(ParseMessageBytes("a.pb", Binary() + std::string("\xA2\x3F\x01x", 4), &message), IsOk());
  EXPECT_EQ(message.case_id(), "a");
}

TEST(MessageFile, NestingIsBounded) {
  Refusal("a.textproto", std::string(100000, '{'));
  std::string groups(100000, '\x0B');  // Starts of group 1.
  Refusal("a.pb", groups);
}

TEST(MessageFile, ReadsFilesAndSaysWhichCannotBeRead) {
  const testing::TempDir dir;
  ASSERT_TRUE(testing::WriteFile(dir.File("a.json"), kJson));
  Manifest message;
  EXPECT_THAT(ReadMessageFile(dir.File("a.json"), &message), IsOk());
  EXPECT_THAT(message, EqualsProto(kText));
  EXPECT_THAT(ReadMessageFile(dir.File("none"), &message).message(), HasSubstr("none: No such file or directory"));
  EXPECT_THAT(ReadMessageFile(dir.path(), &message).message(), HasSubstr("Is a directory"));
}

TEST(MessageFile, AFileWithoutAnEndIsGivenUp) {
  Manifest message;
  EXPECT_THAT(ReadMessageFile("/dev/zero", &message).message(), HasSubstr("expected at most 16 MiB"));
}

}  // namespace
}  // namespace gx::analysis
