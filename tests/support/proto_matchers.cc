#include "tests/support/proto_matchers.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/textproto.h"

namespace gx::testing {

std::string TextDiff(absl::string_view expected, absl::string_view got) {
  std::vector<absl::string_view> a = absl::StrSplit(expected, '\n');
  std::vector<absl::string_view> b = absl::StrSplit(got, '\n');
  // What is common at both ends says nothing; the middle is shown whole.
  size_t begin = 0;
  while (begin < a.size() && begin < b.size() && a[begin] == b[begin]) ++begin;
  size_t a_end = a.size();
  size_t b_end = b.size();
  while (a_end > begin && b_end > begin && a[a_end - 1] == b[b_end - 1]) {
    --a_end;
    --b_end;
  }
  std::string diff;
  if (begin < a_end || begin < b_end) absl::StrAppend(&diff, "at line ", begin + 1, ":\n");
  for (size_t i = begin; i < a_end; ++i) absl::StrAppend(&diff, "- ", a[i], "\n");
  for (size_t i = begin; i < b_end; ++i) absl::StrAppend(&diff, "+ ", b[i], "\n");
  return diff;
}

std::string EqualsProtoMatcher::ExpectedText(const google::protobuf::Message& like) const {
  if (expected_ != nullptr) return ToText(*expected_);
  std::unique_ptr<google::protobuf::Message> parsed(like.New());
  ParseText(text_, parsed.get());
  return ToText(*parsed);
}

bool EqualsProtoMatcher::MatchAndExplain(const google::protobuf::Message& got, std::ostream* listener) const {
  const std::string diff = TextDiff(ExpectedText(got), ToText(got));
  if (!diff.empty() && listener != nullptr) *listener << "whose text differs (- expected, + got) " << diff;
  return diff.empty();
}

void EqualsProtoMatcher::DescribeTo(std::ostream* out) const {
  *out << "equals the message " << (expected_ != nullptr ? ToText(*expected_) : text_);
}

void EqualsProtoMatcher::DescribeNegationTo(std::ostream* out) const {
  *out << "differs from the message " << (expected_ != nullptr ? ToText(*expected_) : text_);
}

}  // namespace gx::testing
