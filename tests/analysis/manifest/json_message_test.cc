#include "analysis/manifest/json_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Manifest;
using gpuexec::v1::Observation;
using testing::EqualsProto;
using testing::FromText;
using testing::IsOk;

constexpr size_t kPlenty = 1000;

template <typename Message = Manifest>
Message Parsed(absl::string_view json) {
  Message message;
  EXPECT_THAT(ParseJsonMessage(json, kPlenty, &message), IsOk()) << json;
  return message;
}

std::string Refusal(absl::string_view json, size_t max_elements = kPlenty) {
  Manifest message;
  const absl::Status status = ParseJsonMessage(json, max_elements, &message);
  EXPECT_FALSE(status.ok()) << json;
  return std::string(status.message());
}

TEST(JsonMessage, ReadsEveryKindOfField) {
  EXPECT_THAT(Parsed(R"({
    "case_id": "a", "label": "CLAIM_LABEL_ILLUSTRATIVE",
    "operation": {"causal": true, "dropout_ratio": 0.5, "tensor": [{"shape": ["1", 2], "stride": []}]},
    "warp_request": [{"name": "w", "active_mask": 4294967295}, {}],
    "dispatch": {"flag": ["x", ""]}
  })"),
              EqualsProto(R"pb(
                case_id: "a"
                label: CLAIM_LABEL_ILLUSTRATIVE
                operation {
                  causal: true
                  dropout_ratio: 0.5
                  tensor { shape: [ 1, 2 ] }
                }
                warp_request { name: "w" active_mask: 4294967295 }
                warp_request {}
                dispatch { flag: "x" flag: "" })pb"));
}

TEST(JsonMessage, TakesBothFormsOfAFieldName) {
  EXPECT_THAT(Parsed(R"({"caseId": "a", "machine": {"smCount": 3}})"),
              EqualsProto("case_id: 'a' machine { sm_count: 3 }"));
}

TEST(JsonMessage, NullLeavesAFieldUnset) {
  EXPECT_THAT(Parsed(R"({"case_id": null, "machine": {"sm_count": null}, "gemm": null})"), EqualsProto("machine {}"));
}

TEST(JsonMessage, EscapesAreUndone) {
  EXPECT_EQ(Parsed(R"({"case_id": "\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00"})").case_id(),
            "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(JsonMessage, NumbersAreExact) {
  const Manifest manifest = Parsed(R"({"tile_stage": [{"a_element_bytes": 9223372036854775807,
    "b_element_bytes": "-9223372036854775808", "accumulator_element_bytes": 1.2e1}]})");
  EXPECT_EQ(manifest.tile_stage(0).a_element_bytes(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(manifest.tile_stage(0).b_element_bytes(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(manifest.tile_stage(0).accumulator_element_bytes(), 12);
  const Observation observation = Parsed<Observation>(
      R"({"timing": {"sample_seconds": [0.16049382716049382, 1e-3, "NaN", "-Infinity", "2.5", -0, 7]}})");
  EXPECT_EQ(observation.timing().sample_seconds(0), 52.0 / 324);
  EXPECT_EQ(observation.timing().sample_seconds(1), 0.001);
  EXPECT_TRUE(std::isnan(observation.timing().sample_seconds(2)));
  EXPECT_EQ(observation.timing().sample_seconds(3), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(observation.timing().sample_seconds(4), 2.5);
  EXPECT_EQ(observation.timing().sample_seconds(6), 7);
}

TEST(JsonMessage, EnumsAreNamesOrNumbers) {
  EXPECT_EQ(Parsed(R"({"label": 2})").label(), gpuexec::v1::CLAIM_LABEL_ILLUSTRATIVE);
  EXPECT_EQ(Refusal(R"({"label": "measured"})"),
            "1:11: label: expected CLAIM_LABEL_UNSPECIFIED, CLAIM_LABEL_ANALYTICAL, CLAIM_LABEL_ILLUSTRATIVE, "
            "CLAIM_LABEL_SOURCE_REPORTED, CLAIM_LABEL_LOCALLY_MEASURED, CLAIM_LABEL_UNMEASURED, got \"measured\"");
  EXPECT_THAT(Refusal(R"({"label": 77})"), ::testing::EndsWith("got 77"));
}

TEST(JsonMessage, ReadsWhatProtobufWrites) {
  const Manifest manifest = FromText<Manifest>(R"(
    case_id: "c\303\251\n" label: CLAIM_LABEL_ANALYTICAL
    operation { tensor { name: "A" shape: [4096, -1] stride: [1] } dropout_ratio: 1e-300 causal: false }
    machine { sm_count: 9223372036854775807 compute_roof { path: "p" flops_per_second: 1.5e+300 } }
    warp_request { name: "<w>" active_mask: 4294967295 lane_address_bytes: [0, 4] }
    expected { waves { last_wave_fill_ratio: 0.16049382716049382 } lower_bound_seconds: inf })");
  for (const bool keep_names : {false, true}) {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = keep_names;
    std::string json;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(manifest, &json, options).ok());
    EXPECT_THAT(Parsed(json), EqualsProto(manifest));
  }
}

TEST(JsonMessage, ARefusalSaysWhereWhatWasExpectedAndWhatIsThere) {
  EXPECT_EQ(Refusal("{\n  \"case_id\": 7\n}"), "2:14: case_id: expected a string, got 7");
  EXPECT_EQ(Refusal("{\n  \"machine\": {\n    \"sms\": 3}}"), "3:5: Machine has no field 'sms'");
  EXPECT_EQ(Refusal(R"({"machine": {"sm_count": 1.5}})"),
            "1:26: sm_count: expected a whole number of 64 bits, got 1.5");
  EXPECT_EQ(Refusal(R"({"machine": {"sm_count": 9223372036854775808}})"),
            "1:26: sm_count: expected a whole number of 64 bits, got 9223372036854775808");
  EXPECT_EQ(Refusal(R"({"warp_request": [{"active_mask": -1}]})"),
            "1:35: active_mask: expected a whole number from 0 to 4294967295, got -1");
  EXPECT_EQ(Refusal(R"({"operation": {"causal": 1}})"), "1:26: causal: expected true or false, got 1");
  EXPECT_EQ(Refusal(R"({"operation": {"dropout_ratio": 1e999}})"), "1:33: dropout_ratio: expected a number, got 1e999");
  EXPECT_EQ(Refusal(R"({"machine": 3})"), "1:13: expected a Machine in {}, got '3'");
  EXPECT_EQ(Refusal(R"({"gemm": {}})"), "1:10: expected a list of gemm in [], got '{'");
  EXPECT_EQ(Refusal(R"({"case_id": "a", "case_id": "b"})"), "1:18: case_id is given twice");
  EXPECT_EQ(Refusal(R"({"case_id": "a", "caseId": "b"})"), "1:18: case_id is given twice");
  EXPECT_EQ(Refusal(R"({"case_id" "a"})"), "1:12: expected ':', got '\"a\"'");
  EXPECT_EQ(Refusal(R"({"case_id": "a"} x)"), "1:18: expected the end of the file, got 'x'");
  EXPECT_EQ(Refusal(R"({"case_id": "a",})"), "1:17: expected a string, got '}'");
  EXPECT_EQ(Refusal(R"({"case_id": "a)"), "1:13: expected the end of a string, got the end of the file");
  EXPECT_EQ(Refusal(""), "1:1: expected a Manifest in {}, got the end of the file");
  EXPECT_EQ(Refusal("[]"), "1:1: expected a Manifest in {}, got '['");
  EXPECT_EQ(Refusal(R"({"gemm": [null]})"), "1:11: expected a GemmCase in {}, got 'null'");
}

TEST(JsonMessage, IsStrict) {
  for (const char* number : {"01", "+1", ".5", "1.", "0x10", "1e", "--1", "1_000", "Infinity", "NaN", "true"}) {
    EXPECT_THAT(Refusal(absl::StrCat(R"({"operation": {"dropout_ratio": )", number, "}}")),
                ::testing::HasSubstr("dropout_ratio: expected a number"))
        << number;
  }
  for (const char* text :
       {R"("\x")", R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\u12g4")", "\"a\nb\"", "'a'"}) {
    Refusal(absl::StrCat(R"({"case_id": )", text, "}"));
  }
  Refusal("{/* no comments */}");
}

TEST(JsonMessage, SaysNothingThatATerminalWouldObey) {
  const std::string refusal = Refusal(absl::StrCat("{\"case_id\": \x1b[2J\"}"));
  EXPECT_THAT(refusal, ::testing::HasSubstr("\\x1b"));
  EXPECT_EQ(refusal.find('\x1b'), std::string::npos);
}

TEST(JsonMessage, MakesNoMoreMessagesAndStringsThanAllowed) {
  EXPECT_THAT(Parsed(R"({"dispatch": {"flag": ["a"]}})"), EqualsProto("dispatch { flag: 'a' }"));
  EXPECT_EQ(Refusal(R"({"dispatch": {"flag": ["a"]}})", 2), "1:27: more messages and strings than a manifest can have");
  EXPECT_THAT(Refusal(R"({"gemm": [{},{},{}]})", 3), ::testing::HasSubstr("more messages and strings"));
}

}  // namespace
}  // namespace gx::analysis
