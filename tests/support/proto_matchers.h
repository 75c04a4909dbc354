// EXPECT_THAT(packet, EqualsProto("sequence: 3")): compares messages and, where they differ, shows the first line of
// their text forms that does.
#ifndef GPUEXEC_TESTS_SUPPORT_PROTO_MATCHERS_H_
#define GPUEXEC_TESTS_SUPPORT_PROTO_MATCHERS_H_

#include <gmock/gmock.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace gx::testing {

// The lines of `got` that differ from `expected` and the other way round, "" where the texts are the same.
std::string TextDiff(absl::string_view expected, absl::string_view got);

class EqualsProtoMatcher {
 public:
  using is_gtest_matcher = void;
  explicit EqualsProtoMatcher(std::string text) : text_(std::move(text)) {}
  explicit EqualsProtoMatcher(const google::protobuf::Message& expected) : expected_(expected.New()) {
    expected_->CopyFrom(expected);
  }

  bool MatchAndExplain(const google::protobuf::Message& got, std::ostream* listener) const;
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  std::string ExpectedText(const google::protobuf::Message& like) const;
  std::string text_;
  std::shared_ptr<google::protobuf::Message> expected_;
};

inline EqualsProtoMatcher EqualsProto(absl::string_view text) { return EqualsProtoMatcher(std::string(text)); }
inline EqualsProtoMatcher EqualsProto(const google::protobuf::Message& expected) {
  return EqualsProtoMatcher(expected);
}

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_PROTO_MATCHERS_H_
