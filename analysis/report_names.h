// The words that reports and options use for groupings, sections, sort keys and verdicts. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_NAMES_H_
#define GPUEXEC_ANALYSIS_REPORT_NAMES_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/report.h"

namespace gx::analysis {

// "signature", "name", "nvtx", "stream", "device", in this order.
std::vector<absl::string_view> GroupingWords(const Grouping& grouping);
// Adds what the word says; false: no such word.
bool AddGroupingWord(absl::string_view word, Grouping* grouping);

// "losses", "provenance", "run", "counters", "kernels".
std::optional<Section> SectionFromWord(absl::string_view word);
std::vector<absl::string_view> AllSectionWords();

absl::string_view SortWord(SortKey key);
std::optional<SortKey> SortKeyFromWord(absl::string_view word);
// "total, calls, ..." for help and errors.
std::vector<absl::string_view> AllSortWords();

// "measured" or "measured_insufficient".
absl::string_view VerdictWord(const KernelGroup& group);
// "clean", "few_clean", "not_clean", "none".
absl::string_view BasisWord(MedianBasis basis);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_NAMES_H_
