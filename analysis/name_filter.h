// A POSIX extended regular expression over names. std::regex recurses once per character and overflows the stack on
// long input; regcomp does not. Copies share the compiled expression; one thread.
#ifndef GPUEXEC_ANALYSIS_NAME_FILTER_H_
#define GPUEXEC_ANALYSIS_NAME_FILTER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace gx::analysis {

class NameFilter {
 public:
  // Longer expressions are refused: the automaton of a bounded repetition grows with its bounds.
  static constexpr size_t kMaxExpressionBytes = 4096;
  // The largest count in braces ("a{1,1000}"), for the same reason.
  static constexpr unsigned kMaxRepetition = 255;

  // InvalidArgument, with what regcomp says.
  static absl::StatusOr<NameFilter> Compile(const std::string& expression);

  // Matches every name.
  NameFilter() = default;

  bool Matches(const std::string& name) const;
  bool matches_all() const { return compiled_ == nullptr; }
  const std::string& expression() const { return expression_; }

 private:
  struct Compiled;
  std::string expression_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_NAME_FILTER_H_
