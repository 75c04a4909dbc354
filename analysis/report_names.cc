#include "analysis/report_names.h"

#include <array>
#include <utility>

namespace gx::analysis {
namespace {

constexpr std::array<std::pair<absl::string_view, bool Grouping::*>, 5> kGroupings = {{
    {"signature", &Grouping::signature},
    {"name", &Grouping::name},
    {"nvtx", &Grouping::nvtx},
    {"stream", &Grouping::stream},
    {"device", &Grouping::device},
}};

constexpr std::array<std::pair<absl::string_view, SortKey>, 6> kSortKeys = {{
    {"total", SortKey::kTotal},
    {"calls", SortKey::kCalls},
    {"median", SortKey::kMedian},
    {"max", SortKey::kMax},
    {"overlap", SortKey::kOverlap},
    {"name", SortKey::kName},
}};

constexpr std::array<std::pair<absl::string_view, Section>, 8> kSections = {{
    {"losses", Section::kLosses},
    {"provenance", Section::kProvenance},
    {"run", Section::kRun},
    {"counters", Section::kCounters},
    {"samples", Section::kSamples},
    {"kernels", Section::kKernels},
    {"ladder", Section::kLadder},
    {"api", Section::kApi},
}};

}  // namespace

std::vector<absl::string_view> GroupingWords(const Grouping& grouping) {
  std::vector<absl::string_view> words;
  for (const auto& [word, member] : kGroupings) {
    if (grouping.*member) words.push_back(word);
  }
  return words;
}

bool AddGroupingWord(absl::string_view word, Grouping* grouping) {
  for (const auto& [known, member] : kGroupings) {
    if (word != known) continue;
    grouping->*member = true;
    return true;
  }
  return false;
}

std::optional<Section> SectionFromWord(absl::string_view word) {
  for (const auto& [known, section] : kSections) {
    if (word == known) return section;
  }
  return std::nullopt;
}

std::vector<absl::string_view> AllSectionWords() {
  std::vector<absl::string_view> words;
  for (const auto& [word, section] : kSections) words.push_back(word);
  return words;
}

absl::string_view SortWord(SortKey key) {
  for (const auto& [word, known] : kSortKeys) {
    if (key == known) return word;
  }
  return "";
}

std::optional<SortKey> SortKeyFromWord(absl::string_view word) {
  for (const auto& [known, key] : kSortKeys) {
    if (word == known) return key;
  }
  return std::nullopt;
}

std::vector<absl::string_view> AllSortWords() {
  std::vector<absl::string_view> words;
  for (const auto& [word, key] : kSortKeys) words.push_back(word);
  return words;
}

absl::string_view VerdictWord(const KernelGroup& group) {
  return group.measured_insufficient() ? "measured_insufficient" : "measured";
}

absl::string_view BasisWord(MedianBasis basis) {
  switch (basis) {
    case MedianBasis::kClean:
      return "clean";
    case MedianBasis::kFewClean:
      return "few_clean";
    case MedianBasis::kNotClean:
      return "not_clean";
    case MedianBasis::kBuckets:
      return "buckets";
    case MedianBasis::kNone:
      break;
  }
  return "none";
}

}  // namespace gx::analysis
