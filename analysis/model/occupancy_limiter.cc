#include "analysis/model/occupancy_limiter.h"

#include "absl/strings/str_cat.h"

namespace gx::model {

absl::string_view ToString(OccupancyLimiter limiter) {
  switch (limiter) {
    case OccupancyLimiter::kBlocks:
      return "blocks";
    case OccupancyLimiter::kThreads:
      return "threads";
    case OccupancyLimiter::kWarps:
      return "warps";
    case OccupancyLimiter::kRegisters:
      return "registers";
    case OccupancyLimiter::kSharedMemory:
      return "shared_memory";
    case OccupancyLimiter::kBarriers:
      return "barriers";
    case OccupancyLimiter::kVirtualResources:
      return "virtual_resources";
  }
  return "unknown";
}

std::string LimiterSet::ToString() const {
  if (empty()) return "none";
  std::string text;
  for (const OccupancyLimiter limiter : kOccupancyLimiters) {
    if (Has(limiter)) absl::StrAppend(&text, text.empty() ? "" : " + ", model::ToString(limiter));
  }
  return text;
}

LimitSummary SummariseLimits(const BlockLimits& limits) {
  LimitSummary summary;
  for (const OccupancyLimiter limiter : kOccupancyLimiters) {
    const std::optional<int64_t>& limit = limits[limiter];
    if (!limit.has_value()) continue;
    if (summary.limiters.empty() || *limit < summary.blocks_count) {
      if (!summary.limiters.empty()) {
        summary.next_blocks_count = summary.blocks_count;
        summary.next_limiters = summary.limiters;
      }
      summary.blocks_count = *limit;
      summary.limiters = {limiter};
    } else if (*limit == summary.blocks_count) {
      summary.limiters.Add(limiter);
    } else if (!summary.next_blocks_count.has_value() || *limit < *summary.next_blocks_count) {
      summary.next_blocks_count = *limit;
      summary.next_limiters = {limiter};
    } else if (*limit == *summary.next_blocks_count) {
      summary.next_limiters.Add(limiter);
    }
  }
  return summary;
}

}  // namespace gx::model
