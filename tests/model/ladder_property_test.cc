// What holds for every ladder, over random input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_interval.h"
#include "analysis/model/ladder_what_if.h"
#include "tests/model/ladder_cases.h"
#include "tests/model/ladder_random.h"

namespace gx::model {
namespace {

constexpr int kLadders = 200'000;
// Of the time: what adding fifteen terms can round.
constexpr double kTolerance = 1e-12;

TEST(LadderProperties, TermsAreNotNegativeAndSumToTheTime) {
  RandomLadders random(11);
  for (int i = 0; i < kLadders; ++i) {
    const Ladder ladder = Computed(random.Any());
    double sum = 0;
    for (const LadderTerm& term : ladder.terms) {
      ASSERT_GE(term.ns, 0) << i;
      sum += term.ns;
    }
    ASSERT_NEAR(sum, ladder.time_ns, kTolerance * ladder.time_ns) << i;
    double by_class = 0;
    for (size_t c = 0; c < kTermClassCount; ++c) by_class += ladder.ClassNs(static_cast<TermClass>(c));
    ASSERT_NEAR(by_class, ladder.time_ns, kTolerance * ladder.time_ns) << i;
  }
}

// Any double at any place: refused, or a ladder like any other.
TEST(LadderProperties, ExtremeInputIsRefusedOrSumsToo) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kExtremes[] = {0,     -0.0,  -1,       1,      1e-320,    1e-300,     1e9,
                                  1e150, 1e300, 1.79e308, -1e300, kInfinity, -kInfinity, kNan};
  RandomLadders random(17);
  const auto spoil = [&](double* value) {
    if (random.OneIn(20)) *value = kExtremes[random.Below(std::size(kExtremes))];
  };
  const auto spoil_optional = [&](std::optional<double>* value) {
    if (value->has_value()) spoil(&**value);
  };
  int accepted = 0;
  for (int i = 0; i < kLadders; ++i) {
    LadderInput input = random.Any();
    spoil(&input.time_ns);
    spoil(&input.clocks.max_hz);
    for (LadderResource& resource : input.resources) {
      spoil(&resource.work_ns);
      for (auto* value : {&resource.useful_ns, &resource.busiest_ns, &resource.eta_ratio}) spoil_optional(value);
    }
    for (auto* value :
         {&input.compulsory_ns, &input.clocks.timed_hz, &input.clocks.counted_hz, &input.tracing_ns, &input.launch_ns,
          &input.no_issue_cycles, &input.uncontended_ratio, &input.sync_ratio, &input.queue_ratio}) {
      spoil_optional(value);
    }
    if (input.active.has_value()) spoil(&input.active->max);
    const auto ladder = ComputeLadder(input);
    if (!ladder.ok()) continue;
    ++accepted;
    double sum = 0;
    for (const LadderTerm& term : ladder->terms) {
      ASSERT_GE(term.ns, 0) << i;
      sum += term.ns;
    }
    ASSERT_LE(std::fabs(sum - ladder->time_ns), kTolerance * ladder->time_ns) << i;
    const auto result = ComputeWhatIf(input, *ladder, {});
    if (result.ok() && result->no_prediction == NoPrediction::kNone) {
      ASSERT_TRUE(std::isfinite(result->time_ns)) << i;
    }
  }
  EXPECT_GT(accepted, kLadders / 8);
}

TEST(LadderProperties, RungsAscendAndTheResidualIsWhatIsAboveTheFirst) {
  RandomLadders random(12);
  int residuals = 0;
  for (int i = 0; i < kLadders; ++i) {
    const LadderInput input = random.Any();
    const Ladder ladder = Computed(input);
    double below = 0;
    for (size_t rung = 0; rung < kRungCount; ++rung) {
      if (!ladder.rungs.values[rung].has_value()) continue;
      ASSERT_GE(ladder.rungs.values[rung]->ns, below) << i << ' ' << rung;
      below = ladder.rungs.values[rung]->ns;
    }
    ASSERT_EQ(ladder.residual_ns.has_value(), ladder.rungs.at(Rung::kUseful).has_value()) << i;
    if (!ladder.residual_ns.has_value()) continue;
    ++residuals;
    ASSERT_GE(*ladder.residual_ns, input.time_ns - ladder.rungs.Ns(Rung::kUseful)) << i;
    if (!ladder.violation.has_value()) {
      ASSERT_NEAR(*ladder.residual_ns, ladder.time_ns - ladder.Term(TermKind::kUseful).ns, kTolerance * ladder.time_ns);
    }
  }
  EXPECT_GT(residuals, kLadders / 2);
}

TEST(LadderProperties, AWhatIfOfNoChangeIsTheTimeItself) {
  RandomLadders random(13);
  int predictions = 0;
  for (int i = 0; i < kLadders; ++i) {
    const LadderInput input = random.Any();
    const Ladder ladder = Computed(input);
    const auto same = ComputeWhatIf(input, ladder, {});
    ASSERT_TRUE(same.ok()) << same.status();
    if (same->no_prediction != NoPrediction::kNone) continue;
    ++predictions;
    // Thirteen terms, added up in another order.
    ASSERT_NEAR(same->time_ns, ladder.time_ns, 10 * kTolerance * ladder.time_ns) << i;
  }
  EXPECT_GT(predictions, kLadders / 4);
}

LadderChange Scaled(const LadderInput& input, RandomLadders* random) {
  LadderChange change{.resources = input.resources};
  for (LadderResource& resource : *change.resources) {
    const double ratio = random->OneIn(3) ? 1 : random->Between(0, 1);
    resource.work_ns *= ratio;
    if (resource.busiest_ns.has_value()) *resource.busiest_ns = resource.work_ns * (*resource.busiest_ns > 0 ? 1 : 0);
    resource.useful_ns.reset();
  }
  return change;
}

TEST(LadderProperties, RemovingWorkNeverTakesLongerAndThePredictionIsInItsInterval) {
  RandomLadders random(14);
  int faster = 0;
  for (int i = 0; i < kLadders; ++i) {
    const LadderInput input = random.Any();
    const Ladder ladder = Computed(input);
    LadderChange change = Scaled(input, &random);
    const auto free = ComputeWhatIf(input, ladder, change);
    change.only_removes_work = true;
    const auto capped = ComputeWhatIf(input, ladder, change);
    ASSERT_TRUE(free.ok() && capped.ok()) << free.status();
    if (free->no_prediction != NoPrediction::kNone) continue;
    // By itself, not by the cap.
    ASSERT_LE(free->time_ns, ladder.time_ns * (1 + kTolerance)) << i;
    ASSERT_LE(capped->time_ns, ladder.time_ns) << i;
    for (const auto& result : {*free, *capped}) {
      ASSERT_LE(result.interval_ns.low, result.time_ns) << i;
      ASSERT_GE(result.interval_ns.high, result.time_ns * (1 - kTolerance)) << i;
    }
    faster += capped->time_ns < ladder.time_ns * 0.99 ? 1 : 0;
  }
  EXPECT_GT(faster, kLadders / 8);
}

TEST(LadderProperties, TheMoreOfOneResourceIsRemovedTheShorter) {
  RandomLadders random(15);
  for (int i = 0; i < kLadders / 10; ++i) {
    const LadderInput input = random.Any();
    if (input.resources.empty()) continue;
    const Ladder ladder = Computed(input);
    const size_t scaled = random.Below(input.resources.size());
    double before = ladder.time_ns;
    for (double ratio = 0.9; ratio > 0; ratio -= 0.2) {
      LadderChange change{.resources = input.resources, .only_removes_work = true};
      LadderResource& resource = *(change.resources->begin() + scaled);
      resource.work_ns *= ratio;
      if (resource.busiest_ns.has_value()) *resource.busiest_ns *= ratio;
      resource.useful_ns.reset();
      const auto result = ComputeWhatIf(input, ladder, change);
      ASSERT_TRUE(result.ok()) << result.status();
      if (result->no_prediction != NoPrediction::kNone) break;
      ASSERT_LE(result->time_ns, before * (1 + kTolerance)) << i << ' ' << ratio;
      before = result->time_ns;
    }
  }
}

TEST(LadderProperties, EveryPointIsInItsInterval) {
  RandomLadders random(16);
  for (int i = 0; i < kLadders / 10; ++i) {
    const LadderInput input = random.Any();
    LadderInput low = input;
    LadderInput high = input;
    for (LadderInput* counters : {&low, &high}) {
      const double factor = counters == &low ? 0.97 : 1.03;
      for (LadderResource& resource : counters->resources) {
        resource.work_ns *= factor;
        if (resource.useful_ns.has_value()) *resource.useful_ns *= factor;
        if (resource.busiest_ns.has_value()) *resource.busiest_ns *= factor;
        if (resource.useful_ns.has_value()) resource.useful_ns = std::min(*resource.useful_ns, resource.work_ns);
        if (resource.busiest_ns.has_value()) resource.busiest_ns = std::max(*resource.busiest_ns, resource.work_ns);
      }
      if (counters->active.has_value()) counters->active->max *= 1.03;
    }
    const auto intervals = ComputeLadderIntervals(input, {input.time_ns * 0.98, input.time_ns * 1.05}, low, high);
    ASSERT_TRUE(intervals.ok()) << intervals.status();
    const Ladder ladder = Computed(input);
    for (size_t term = 0; term < kTermCount; ++term) {
      ASSERT_LE(intervals->terms[term].low, ladder.terms[term].ns) << i;
      ASSERT_GE(intervals->terms[term].high, ladder.terms[term].ns) << i;
    }
    ASSERT_EQ(intervals->residual_ns.has_value(), ladder.residual_ns.has_value()) << i;
    if (intervals->violation_is_certain && ladder.rungs.Ns(Rung::kBusiest) > 0) {
      ASSERT_TRUE(ladder.violation.has_value()) << i;
    }
  }
}

}  // namespace
}  // namespace gx::model
