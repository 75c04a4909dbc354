// What the words of a ladder mean, the one place where that is written: terms, rungs, kinds of excess work. Says for
// each what it is, its formula, which figures it rests on, how it is computed here, and what usually cures it.
// Constants; any thread.
//
//   std::string text = *ExplainLadderWord("excess");  // also "excess work", "R4", "bank conflicts"
#ifndef GPUEXEC_ANALYSIS_LADDER_EXPLAIN_H_
#define GPUEXEC_ANALYSIS_LADDER_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_rungs.h"
#include "analysis/model/ladder_terms.h"

namespace gx::analysis {

// A figure that a term rests on: a metric, or a part of the machine file or the trace.
struct ExplainedSource {
  // "sm__cycles_active.max"; "(binding).sum": of the resource that binds; "machine file: empty kernels".
  absl::string_view source;
  // Of a metric: the group of counters that has it ("light+"). Empty: no metric.
  absl::string_view group;
};

struct LadderExplanation {
  // As it is printed in a report: "excess work", "R1", "spills".
  absl::string_view word;
  // One word, for the command line: "excess", "r1", "spills".
  absl::string_view key;
  absl::string_view meaning;
  absl::string_view formula;
  absl::Span<const ExplainedSource> sources;
  absl::string_view here;
  // Empty: nothing is wrong with it.
  absl::string_view cure;
};

const LadderExplanation& ExplanationOf(model::TermKind kind);
const LadderExplanation& ExplanationOf(model::Rung rung);
const LadderExplanation& ExplanationOf(model::ExcessFactor factor);

// Terms, rungs, kinds of excess, in this order.
std::vector<const LadderExplanation*> LadderExplanations();

// Several lines of text, for a word or a key in any case. NotFound names all keys.
absl::StatusOr<std::string> ExplainLadderWord(absl::string_view word);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_EXPLAIN_H_
