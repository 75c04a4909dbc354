// Matchers for absl::Status and absl::StatusOr (the Abseil of Debian 12, 20220623, has none).
//
//   EXPECT_THAT(Open(path), StatusIs(absl::StatusCode::kNotFound, HasSubstr("a.pb")));
//   EXPECT_THAT(reader->Next(&packet), IsOkAndHolds(true));
//   GX_ASSERT_OK_AND_ASSIGN(auto reader, TraceReader::Open(path));
#ifndef GPUEXEC_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define GPUEXEC_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gx::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return arg.ok();
}

MATCHER_P2(StatusIs, code, message_matcher,
           std::string(negation ? "is not" : "is") + " a status of code " + absl::StatusCodeToString(code)) {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(status.message()), result_listener);
}

MATCHER_P(StatusIs, code,
          std::string(negation ? "is not" : "is") + " a status of code " + absl::StatusCodeToString(code)) {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code;
}

MATCHER_P(IsOkAndHolds, value_matcher, "is OK and holds a value that matches") {
  *result_listener << GetStatus(arg).ToString();
  if (!arg.ok()) return false;
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace gx::testing

#define GX_TESTING_CONCAT_INNER(a, b) a##b
#define GX_TESTING_CONCAT(a, b) GX_TESTING_CONCAT_INNER(a, b)
#define GX_ASSERT_OK_AND_ASSIGN(declaration, expression)                 \
  auto GX_TESTING_CONCAT(gx_status_or_, __LINE__) = (expression);        \
  ASSERT_TRUE(GX_TESTING_CONCAT(gx_status_or_, __LINE__).ok())           \
      << GX_TESTING_CONCAT(gx_status_or_, __LINE__).status().ToString(); \
  declaration = std::move(*GX_TESTING_CONCAT(gx_status_or_, __LINE__))

#endif  // GPUEXEC_TESTS_SUPPORT_STATUS_MATCHERS_H_
