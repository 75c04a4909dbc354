#include "tests/model/ladder_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace gx::model {
namespace {

constexpr double kSmHz = 1.98e9;

}  // namespace

LadderResource Resource(ResourceKind kind, double useful_ns, double work_ns, double busiest_ns, double eta_ratio) {
  LadderResource resource;
  resource.kind = kind;
  resource.on_sm_clock = kind != ResourceKind::kDram;
  resource.useful_ns = useful_ns;
  resource.work_ns = work_ns;
  resource.busiest_ns = busiest_ns;
  resource.eta_ratio = eta_ratio;
  return resource;
}

LadderResource Even(ResourceKind kind, double ns, double eta_ratio) { return Resource(kind, ns, ns, ns, eta_ratio); }

LadderInput Input(double time_ns, LadderResources resources) {
  LadderInput input;
  input.time_ns = time_ns;
  input.resources = std::move(resources);
  input.clocks = {.max_hz = kNanosecondHz, .timed_hz = kNanosecondHz, .counted_hz = kNanosecondHz};
  input.tracing_ns = 0;
  input.launch_ns = 0;
  input.active = ActiveCycles{};
  input.no_issue_cycles = 0;
  input.uncontended_ratio = 0;
  input.sync_ratio = 0;
  input.queue_ratio = 0;
  return input;
}

Ladder Computed(const LadderInput& input) {
  const absl::StatusOr<Ladder> ladder = ComputeLadder(input);
  EXPECT_TRUE(ladder.ok()) << ladder.status();
  return ladder.ok() ? *ladder : Ladder{};
}

LadderInput TracedCopy() {
  const double dram_ns = *WorkNs(2147483648, 1504, 3.199e9);
  const double busiest_ns = *BusiestNs(dram_ns, 23000000, 2147483648.0 / 94);
  LadderResource lookup = Even(ResourceKind::kL2Lookup, *WorkNs(100663296, 282, 1.7095e9), 0.9);
  lookup.on_sm_clock = false;
  const LadderResource issue = Even(ResourceKind::kIssue, *WorkNs(100663296, 528, kSmHz));
  LadderInput input = Input(502000, {Resource(ResourceKind::kDram, dram_ns, dram_ns, busiest_ns, 0.93), lookup, issue});
  input.clocks = {.max_hz = kSmHz, .timed_hz = kSmHz, .counted_hz = kSmHz};
  input.tracing_ns = 14000;
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 963270, .mean = 958320};
  input.uncontended_ratio = 0.12;
  input.no_issue_cycles = 440000 * kSmHz / 1e9;
  input.queue_ratio = 0.9;
  return input;
}

LadderInput Strided() {
  LadderInput input = Input(100000, {Resource(ResourceKind::kDram, 11000, 88000, 89000, 0.92),
                                     Resource(ResourceKind::kL1Data, 7000, 52000, 52000)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 98500, .mean = 97500};
  input.uncontended_ratio = 0.09;
  input.no_issue_cycles = 90000;
  input.queue_ratio = 0.95;
  return input;
}

LadderInput ConflictsUnderDram() {
  LadderInput input = Input(31200, {Resource(ResourceKind::kDram, 28000, 28000, 28300, 0.92),
                                    Resource(ResourceKind::kL1Data, 8000, 14000, 14000)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 30100, .mean = 29600};
  input.uncontended_ratio = 0.2;
  input.no_issue_cycles = 26000;
  input.queue_ratio = 0.8;
  return input;
}

LadderInput ConflictsThatBind() {
  LadderInput input = Input(88000, {Resource(ResourceKind::kDram, 28000, 28000, 28300, 0.92),
                                    Resource(ResourceKind::kL1Data, 8000, 72000, 72000)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 87000, .mean = 85400};
  input.uncontended_ratio = 0.1;
  input.no_issue_cycles = 80000;
  input.queue_ratio = 0.9;
  return input;
}

LadderInput HalfGrid() {
  LadderInput input =
      Input(81000, {Resource(ResourceKind::kDram, 72000, 72000, 72700, 0.92), Even(ResourceKind::kIssue, 2000)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 80000, .mean = 41000};
  input.uncontended_ratio = 0.31;
  input.no_issue_cycles = 39000;
  input.queue_ratio = 0.9;
  return input;
}

LadderInput SlotsPlusOne() {
  LadderInput input = Input(22000, {Resource(ResourceKind::kIssue, 12100, 12100, 15100)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 21000, .mean = 12400};
  input.uncontended_ratio = 0.72;
  input.no_issue_cycles = 600;
  return input;
}

LadderInput Latency() {
  LadderInput input =
      Input(52000, {Resource(ResourceKind::kDram, 7200, 7200, 7500, 0.92), Even(ResourceKind::kIssue, 4100)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 50900, .mean = 50500};
  input.uncontended_ratio = 1;
  input.no_issue_cycles = 46000;
  return input;
}

LadderInput ThrottledGemm() {
  constexpr double kTimedHz = 1.5e9;
  constexpr double kCyclesPerNs = kTimedHz / 1e9;
  const double work_ns = *WorkNs(2 * std::pow(8192, 3), 4096 * 132, kSmHz);
  LadderInput input =
      Input(1410000, {Resource(ResourceKind::kTensorOperations, work_ns, work_ns, work_ns * 1.002, 0.97)});
  input.clocks = {.max_hz = kSmHz, .timed_hz = kTimedHz, .counted_hz = kSmHz};
  input.launch_ns = 1500;
  input.active = ActiveCycles{.max = 1404000 * kCyclesPerNs, .mean = 1398000 * kCyclesPerNs};
  input.uncontended_ratio = std::nullopt;
  input.no_issue_cycles = 1330000 * kCyclesPerNs;
  input.queue_ratio = 0.3;
  input.sync_ratio = 0.1;
  return input;
}

LadderInput HotSlice() {
  LadderInput input =
      Input(39300, {Even(ResourceKind::kIssue, 2300), Resource(ResourceKind::kL2Atomics, 1600, 1600, 37900)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 38200, .mean = 37900};
  input.uncontended_ratio = 0.02;
  input.no_issue_cycles = 35000;
  input.queue_ratio = 0.98;
  return input;
}

LadderInput Tiny() {
  LadderInput input = Input(2016, {Resource(ResourceKind::kDram, 95, 95, 130, 0.92), Even(ResourceKind::kIssue, 40)});
  input.launch_ns = 1050;
  input.active = ActiveCycles{.max = 900, .mean = 840};
  input.uncontended_ratio = 0.95;
  input.no_issue_cycles = 800;
  return input;
}

LadderInput BelowABound() { return Input(20000, {Resource(ResourceKind::kDram, 18000, 24000, 24500, 0.92)}); }

LadderInput OtherRegime() {
  LadderInput input = Latency();
  input.time_ns = 60000;
  input.tracing_ns = 0;
  input.active = ActiveCycles{.max = 29000, .mean = 28800};
  input.no_issue_cycles = 26000;
  return input;
}

}  // namespace gx::model
