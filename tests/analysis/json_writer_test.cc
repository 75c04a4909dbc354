#include "analysis/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace gx::analysis {
namespace {

TEST(JsonWriterTest, WritesNestedObjectsAndArrays) {
  JsonWriter json;
  json.BeginObject();
  json.Member("a", uint64_t{1});
  json.Key("b");
  json.BeginArray();
  json.Value(true);
  json.Value(2.5);
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Member("c", std::optional<uint64_t>());
  json.EndObject();
  EXPECT_EQ(json.Take(), "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    2.5,\n    {}\n  ],\n  \"c\": null\n}\n");
}

TEST(JsonWriterTest, EscapesWhatJsonMustNotHold) {
  EXPECT_EQ(JsonWriter::Quoted("a\"b\\c\n\x01\x7f"), "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\"");
  EXPECT_EQ(JsonWriter::Quoted("é"), "\"é\"");
}

TEST(JsonWriterTest, NumbersThatAreNoneAreNull) {
  JsonWriter json;
  json.BeginArray();
  json.Value(std::nan(""));
  json.Value(HUGE_VAL);
  json.Value(UINT64_MAX);
  json.EndArray();
  EXPECT_EQ(json.Take(), "[\n  null,\n  null,\n  18446744073709551615\n]\n");
}

}  // namespace
}  // namespace gx::analysis
