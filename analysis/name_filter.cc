#include "analysis/name_filter.h"

#include <regex.h>

#include <array>
#include <cctype>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/printable.h"

namespace gx::analysis {

struct NameFilter::Compiled {
  regex_t expression{};
  bool usable = false;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (usable) ::regfree(&expression);
  }
};

absl::StatusOr<NameFilter> NameFilter::Compile(const std::string& expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the expression has ", expression.size(), " bytes; at most ",
                                                   kMaxExpressionBytes, " are accepted"));
  }
  // Any number after a brace, wherever it stands: nested repetitions multiply.
  for (size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] != '{') continue;
    unsigned count = 0;
    for (size_t k = i + 1; k < expression.size() && expression[k] != '}'; ++k) {
      const bool digit = std::isdigit(static_cast<unsigned char>(expression[k])) != 0;
      count = digit ? count * 10 + static_cast<unsigned>(expression[k] - '0') : 0;
      if (count > kMaxRepetition) {
        return absl::InvalidArgumentError(
            absl::StrCat("repetitions in '", Printable(expression), "' may count to at most ", kMaxRepetition));
      }
    }
  }
  auto compiled = std::make_shared<Compiled>();
  const int code = ::regcomp(&compiled->expression, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    std::array<char, 256> text{};
    ::regerror(code, &compiled->expression, text.data(), text.size());
    return absl::InvalidArgumentError(
        absl::StrCat("'", Printable(expression), "' is no POSIX extended regular expression: ", text.data()));
  }
  compiled->usable = true;
  NameFilter filter;
  filter.expression_ = expression;
  filter.compiled_ = std::move(compiled);
  return filter;
}

bool NameFilter::Matches(const std::string& name) const {
  return compiled_ == nullptr || ::regexec(&compiled_->expression, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace gx::analysis
