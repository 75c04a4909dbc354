// Ladders of a report as plain data: what report_ladder.cc computes (report_sections.h) and report_text_ladder writes.
#ifndef GPUEXEC_ANALYSIS_REPORT_LADDER_H_
#define GPUEXEC_ANALYSIS_REPORT_LADDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_factors.h"

namespace gx::analysis {

struct LadderRow {
  // Index in TraceModel::signatures, as KernelGroup::signature and SignatureCounters::signature.
  uint32_t signature = 0;
  std::string full_name;
  std::string short_name;
  // "64x256".
  std::string grid;
  std::string block;
  // Of the process's kernel time.
  double share_ratio = 0;
  uint64_t clean_count = 0;
  model::Ladder ladder;
  // Of ladder.terms, in their order: they sum to the time, which is whole here.
  std::array<int64_t, model::kTermCount> whole_ns = {};
  int64_t time_ns = 0;
  std::optional<model::Excess> excess;
  // One line each.
  std::vector<std::string> unmeasured;
  std::vector<std::string> notes;
};

struct LadderSection {
  size_t process = 0;  // Index in Report::processes.
  // The machine file of each device, or that there is none; how they differ.
  std::vector<std::string> machine_lines;
  // Heaviest first, filtered, cut to the number asked for.
  std::vector<LadderRow> rows;
  size_t matched_count = 0;
  // Why others have no ladder; signatures that match the filter.
  uint64_t few_clean_count = 0;
  uint64_t uncounted_count = 0;
  // One line each: signatures whose figures are none of a launch.
  std::vector<std::string> refused;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_LADDER_H_
