#include "tools/doctor/doctor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace gx::doctor {
namespace {

using ::testing::HasSubstr;

std::vector<Verdict> Some() {
  return {{"driver", Level::kOk, "all fine", {{"path", "/a"}}, {}},
          {"counter-permission", Level::kWarning, "not permitted", {}, {"do this", "or that"}},
          {"mig", Level::kNotApplicable, "no GPU", {}, {}}};
}

TEST(DoctorText, ShowsEachCheckItsEvidenceAndItsFixes) {
  EXPECT_EQ(DoctorText(Some()),
            "ok       driver              all fine\n"
            "           path: /a\n"
            "warning  counter-permission  not permitted\n"
            "           fix: do this\n"
            "           fix: or that\n"
            "n/a      mig                 no GPU\n"
            "\n"
            "degraded: 1 warning, 1 ok, 1 n/a\n");
}

google::protobuf::Struct Parse(const std::string& json) {
  google::protobuf::Struct parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &parsed);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << json;
  return parsed;
}

TEST(DoctorJson, HoldsTheSame) {
  const google::protobuf::Struct parsed = Parse(DoctorJson(Some()));
  EXPECT_EQ(parsed.fields().at("health").string_value(), "degraded");
  EXPECT_EQ(parsed.fields().at("exit_code").number_value(), 1);
  const auto& checks = parsed.fields().at("checks").list_value();
  ASSERT_EQ(checks.values_size(), 3);
  const auto& first = checks.values(0).struct_value().fields();
  EXPECT_EQ(first.at("check").string_value(), "driver");
  EXPECT_EQ(first.at("level").string_value(), "ok");
  EXPECT_EQ(first.at("summary").string_value(), "all fine");
  const auto& evidence = first.at("evidence").list_value().values(0).struct_value().fields();
  EXPECT_EQ(evidence.at("what").string_value(), "path");
  EXPECT_EQ(evidence.at("value").string_value(), "/a");
  const auto& fixes = checks.values(1).struct_value().fields().at("fixes").list_value();
  ASSERT_EQ(fixes.values_size(), 2);
  EXPECT_EQ(fixes.values(1).string_value(), "or that");
}

TEST(DoctorJson, OfNothingIsWellFormed) {
  EXPECT_EQ(Parse(DoctorJson({})).fields().at("health").string_value(), "all well");
}

TEST(DoctorText, NeitherFormPrintsControlBytesOrBytesThatAreNoText) {
  const std::string hostile = "a\x1b[31m\n\t\x7f\xff\xfe\"\\\r" + std::string(1, '\0');
  const std::vector<Verdict> verdicts = {{hostile, Level::kFailure, hostile, {{hostile, hostile}}, {hostile}}};
  for (const std::string& text : {DoctorText(verdicts), DoctorJson(verdicts)}) {
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }))
        << text;
  }
  EXPECT_THAT(Parse(DoctorJson(verdicts))
                  .fields()
                  .at("checks")
                  .list_value()
                  .values(0)
                  .struct_value()
                  .fields()
                  .at("summary")
                  .string_value(),
              HasSubstr("\\x1b[31m"));
}

}  // namespace
}  // namespace gx::doctor
