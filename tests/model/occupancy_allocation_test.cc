// The functions that a report calls for each signature take no memory from the heap, whether the launch fits or not.
#include <gtest/gtest.h>

#include <cstdint>

#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/occupancy_step_up.h"
#include "analysis/model/sm_limits.h"
#include "tests/model/allocation_counter.h"

namespace gx::model {
namespace {

TEST(OccupancyAllocation, NoneForAnyLaunchThatIsValid) {
  const absl::Span<const SmLimits> known = KnownSmLimits();
  int64_t blocks = 0;
  int64_t refused = 0;
  bool ok = true;
  const int64_t before = AllocationCount();
  for (const SmLimits& table : known) {
    ok = ok && ApplyDeviceValues(table, {.max_blocks_per_sm_count = 16, .registers_per_sm_count = 65536}).ok();
    for (int64_t threads = 1; threads <= 1100; threads += 37) {
      for (int64_t bytes = 0; bytes < 300'000; bytes += 9'973) {
        const LaunchResources launch = {.threads_per_block_count = threads,
                                        .registers_per_thread_count = threads % 256,
                                        .dynamic_shared_memory_bytes = bytes,
                                        .carveout_percent = bytes % 101,
                                        .cluster_blocks_count = 1 + bytes % 2,
                                        .sm_count = 132};
        const auto found = FindSmLimits(table.compute_capability);
        const auto exact = ComputeExactOccupancy(**found, launch);
        const auto first_order = FirstOrderOccupancy(FirstOrderBudget(**found), {threads, threads % 256, bytes});
        ok = ok && exact.ok() && first_order.ok();
        if (!ok) break;
        const OccupancyStepUp step = ComputeOccupancyStepUp(**found, launch, *exact);
        blocks += step.blocks_per_sm_count;
        if (!exact->refusals.empty()) ++refused;
      }
    }
  }
  const int64_t after = AllocationCount();
  EXPECT_EQ(after - before, 0);
  EXPECT_TRUE(ok);
  EXPECT_GT(blocks, 0);
  EXPECT_GT(refused, 0);

  // And the count counts: an error has a message.
  EXPECT_FALSE(ComputeExactOccupancy(known[0], {}).ok());
  EXPECT_GT(AllocationCount(), after);
}

}  // namespace
}  // namespace gx::model
