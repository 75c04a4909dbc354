#include "analysis/model/ladder_what_if.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

WhatIf After(const LadderInput& input, const LadderChange& change) {
  const Ladder ladder = Computed(input);
  const absl::StatusOr<WhatIf> result = ComputeWhatIf(input, ladder, change);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : WhatIf{};
}

TEST(WhatIfVectors, ACoalescedReadIsBoundByDramStill) {
  LadderChange change{.only_removes_work = true};
  change.resources = LadderResources{Resource(ResourceKind::kDram, 11000, 11000, 11125, 0.92),
                                     Resource(ResourceKind::kL1Data, 7000, 7000, 7000)};
  const WhatIf result = After(Strided(), change);
  EXPECT_NEAR(result.time_ns, 13375, 1);
  EXPECT_NEAR(result.interval_ns.low, 11894, 1);
  EXPECT_NEAR(result.interval_ns.high, 17919, 1);
  EXPECT_EQ(result.binding, ResourceKind::kDram);
}

TEST(WhatIfVectors, RemovingConflictsUnderABusyDramGainsNothing) {
  LadderChange change{.only_removes_work = true};
  change.resources = LadderResources{Resource(ResourceKind::kDram, 28000, 28000, 28300, 0.92),
                                     Resource(ResourceKind::kL1Data, 8000, 8000, 8000)};
  EXPECT_NEAR(After(ConflictsUnderDram(), change).time_ns, 31200, 1);

  const WhatIf bound = After(ConflictsThatBind(), change);
  EXPECT_NEAR(bound.time_ns, 32920, 1);
  EXPECT_NEAR(bound.interval_ns.low, 29103, 1);
  EXPECT_NEAR(bound.interval_ns.high, 37540, 1);
  EXPECT_EQ(bound.binding, ResourceKind::kDram);
}

TEST(WhatIfVectors, LessDramBringsHiddenIdleSmsBack) {
  LadderChange change{.only_removes_work = true};
  change.resources =
      LadderResources{Resource(ResourceKind::kDram, 18000, 18000, 18175, 0.92), Even(ResourceKind::kIssue, 2000)};
  const WhatIf result = After(HalfGrid(), change);
  EXPECT_NEAR(result.time_ns, 25800, 1);
  EXPECT_EQ(result.binding, std::nullopt);
}

TEST(WhatIfVectors, AnExactGridHasNoIdleSms) {
  LadderChange change;
  change.resources = LadderResources{Even(ResourceKind::kIssue, 12000)};
  change.uncontended_ns = 0.72 * 12400 * 132 / 133;
  change.idle_ratio = 0;
  change.uncontended_idle_ratio = 0;
  EXPECT_NEAR(After(SlotsPlusOne(), change).time_ns, 13238, 1);
}

TEST(WhatIfVectors, MoreWarpsHideLatencyUntilDramBinds) {
  struct Case {
    double factor;
    double time_ns;
    std::optional<ResourceKind> binding;
  };
  for (const Case& c :
       {Case{2, 26500, std::nullopt}, Case{4, 13750, std::nullopt}, Case{8, 9233, ResourceKind::kDram}}) {
    const WhatIf result = After(Latency(), {.uncontended_ns = 50500 / c.factor});
    EXPECT_NEAR(result.time_ns, c.time_ns, 1) << c.factor;
    EXPECT_EQ(result.binding, c.binding) << c.factor;
  }
}

TEST(LadderWhatIf, NoIntervalBeginsBelowTheBoundOfWhatIsLeft) {
  const LadderInput input = TracedCopy();
  const Ladder ladder = Computed(input);
  const auto after = ComputeWhatIf(input, ladder, {});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(after->interval_ns.low, ladder.rungs.Ns(Rung::kBusiest));
}

}  // namespace
}  // namespace gx::model
