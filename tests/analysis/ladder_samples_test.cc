#include "analysis/ladder_samples.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

// Launches of 1 and of 2 million cycles, in so many series of as many samples as are kept.
CounterModel Model(size_t series_count) {
  CounterModel model;
  pb::CounterGroup group;
  group.set_kind(pb::CounterGroup::KIND_HARDWARE);
  group.add_metric("sm__cycles_active.max");
  model.groups.emplace(1, group);
  for (size_t series = 0; series < series_count; ++series) {
    CounterSeries one{.group_iid = 1, .samples = CounterSamples(1)};
    for (size_t i = 0; i < CounterSamples::kMaxKept; ++i) {
      const std::array<double, 1> values = {i % 2 == 0 ? 1e6 : 2e6};
      CounterSampleRow row;
      row.group_iid = 1;
      row.enter_monotonic_ns = i + 1;
      row.values = values;
      one.samples.Add(row, /*may_keep=*/true);
    }
    model.series.push_back(std::move(one));
  }
  return model;
}

double Fit(size_t series_count) {
  const CounterModel model = Model(series_count);
  std::vector<const CounterSeries*> series;
  for (const CounterSeries& one : model.series) series.push_back(&one);
  const std::vector<model::TimeMode> modes = {{.begin = 0, .end = 10, .median_ns = 600'000},
                                              {.begin = 10, .end = 20, .median_ns = 1'200'000}};
  return FitNsPerCycle(model, series, modes, /*ns_per_cycle=*/0.5, /*launch_ns=*/0);
}

TEST(FitNsPerCycleTest, IsTheClockThatBringsSamplesToTheModes) { EXPECT_DOUBLE_EQ(Fit(1), 0.6); }

// A trace may hold any number of series; the fit of all of their samples would take the square of them.
TEST(FitNsPerCycleTest, ManySeriesAreFittedByAnEvenSpreadOfTheirSamples) { EXPECT_DOUBLE_EQ(Fit(1000), 0.6); }

}  // namespace
}  // namespace gx::analysis
