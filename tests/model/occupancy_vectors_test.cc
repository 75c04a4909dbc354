// The exact model against answers of cuda_occupancy.h that were written down, for builds without a CUDA toolkit.
// occupancy_vectors.tsv says how they were made.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {
namespace {

std::string LimitText(const std::optional<int64_t>& limit) { return limit.has_value() ? absl::StrCat(*limit) : "-"; }

// In the order and with the names of the file.
std::string LimitersText(LimiterSet limiters) {
  std::vector<std::string> names;
  if (limiters.Has(OccupancyLimiter::kWarps)) names.emplace_back("warps");
  if (limiters.Has(OccupancyLimiter::kRegisters)) names.emplace_back("regs");
  if (limiters.Has(OccupancyLimiter::kSharedMemory)) names.emplace_back("smem");
  if (limiters.Has(OccupancyLimiter::kBlocks)) names.emplace_back("blocks");
  if (limiters.Has(OccupancyLimiter::kBarriers)) names.emplace_back("barriers");
  return absl::StrJoin(names, "+");
}

int64_t Number(const std::string& text) {
  int64_t value = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &value)) << text;
  return value;
}

TEST(OccupancyVectors, EveryRecordedAnswerIsOurs) {
  std::ifstream in(GX_SOURCE_DIR "/tests/model/occupancy_vectors.tsv");
  ASSERT_TRUE(in);
  std::string line;
  int rows = 0;
  int differences = 0;
  int refused = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    ASSERT_EQ(cells.size(), 16U) << line;
    const auto compute_capability = ParseComputeCapability(cells[0]);
    ASSERT_TRUE(compute_capability.ok()) << line;
    const auto limits = FindSmLimits(*compute_capability);
    ASSERT_TRUE(limits.ok()) << limits.status();
    const auto result = ComputeExactOccupancy(**limits, {.threads_per_block_count = Number(cells[1]),
                                                         .registers_per_thread_count = Number(cells[2]),
                                                         .static_shared_memory_bytes = Number(cells[3]),
                                                         .dynamic_shared_memory_bytes = Number(cells[4]),
                                                         .carveout_percent = Number(cells[5]),
                                                         .barriers_per_block_count = Number(cells[6])});
    ASSERT_TRUE(result.ok()) << result.status() << " for " << line;
    const std::vector<std::string> ours = {
        absl::StrCat(result->blocks_per_sm_count),
        LimitersText(result->limiters),
        absl::StrCat(result->allocated_registers_per_block_count),
        absl::StrCat(result->allocated_shared_memory_per_block_bytes),
        LimitText(result->limits[OccupancyLimiter::kWarps]),
        LimitText(result->limits[OccupancyLimiter::kRegisters]),
        LimitText(result->limits[OccupancyLimiter::kSharedMemory]),
        LimitText(result->limits[OccupancyLimiter::kBlocks]),
        LimitText(result->limits[OccupancyLimiter::kBarriers]),
    };
    const std::vector<std::string> expected(cells.begin() + 7, cells.end());
    if (ours != expected && ++differences <= 10) {
      ADD_FAILURE() << line << "\nours: " << absl::StrJoin(ours, " ");
    }
    if (result->blocks_per_sm_count == 0) ++refused;
    ++rows;
  }
  EXPECT_EQ(differences, 0) << "of " << rows;
  EXPECT_GE(rows, 2000);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace gx::model
