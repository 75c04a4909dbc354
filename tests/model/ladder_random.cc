#include "tests/model/ladder_random.h"

#include <cmath>
#include <optional>

namespace gx::model {

LadderResource RandomLadders::AnyResource(ResourceKind kind, double time_ns) {
  LadderResource resource;
  resource.kind = kind;
  resource.on_sm_clock = ScopeOf(kind) == ResourceScope::kSm || (kind != ResourceKind::kDram && OneIn(2));
  // Mostly below the time; one in eight near or above it.
  resource.work_ns = OneIn(16) ? 0 : time_ns * (OneIn(20) ? Between(0.9, 1.2) : Between(0, 0.9));
  resource.useful_ns = resource.work_ns * (OneIn(3) ? 1 : Between(0, 1));
  resource.busiest_ns = resource.work_ns * (OneIn(3) ? 1 : Between(1, OneIn(8) ? 3 : 1.1));
  resource.eta_ratio = OneIn(3) ? 1 : Between(0.8, 1);
  return resource;
}

LadderInput RandomLadders::Measured() {
  LadderInput input;
  input.time_ns = std::pow(10, Between(2.5, 7));
  if (OneIn(8)) input.compulsory_ns = input.time_ns * Between(0, 0.5);
  for (uint64_t i = Below(6) + 1; i > 0; --i) {
    input.resources.Set(AnyResource(static_cast<ResourceKind>(Below(kResourceKindCount)), input.time_ns));
  }
  input.clocks.max_hz = 1.98e9;
  input.clocks.timed_hz = OneIn(2) ? 1.98e9 : Between(1.2e9, 2e9);
  input.clocks.counted_hz = OneIn(2) ? 1.98e9 : Between(1.2e9, 1.98e9);
  input.tracing_ns = OneIn(2) ? 0 : input.time_ns * Between(0, 0.1);
  input.launch_ns = OneIn(8) ? 0 : Between(500, 2000);
  if (OneIn(2)) input.idle_launch_ns = *input.launch_ns * Between(0, 1.5);
  // One in six: counters of another regime.
  const double active_ns =
      OneIn(6) ? input.time_ns * Between(0, 2) : std::fmax(0, input.time_ns * Between(0.95, 1.02) - *input.launch_ns);
  const double active_cycles = active_ns * *input.clocks.timed_hz / 1e9;
  const double mean = OneIn(3) ? Between(0, 1) : Between(0.95, 1);
  input.active = ActiveCycles{.max = active_cycles, .mean = active_cycles * mean};
  input.no_issue_cycles = active_cycles * Between(0, 1);
  input.uncontended_ratio = OneIn(10) ? 1 : Between(0, 1);
  input.assumes_unloaded_latency = OneIn(4);
  input.sync_ratio = OneIn(3) ? 0 : Between(0, 1);
  input.queue_ratio = OneIn(3) ? 0 : Between(0, 1 - *input.sync_ratio);
  return input;
}

LadderInput RandomLadders::Any() {
  LadderInput input = Measured();
  const auto drop = [this](std::optional<double>* value) {
    if (OneIn(4)) value->reset();
  };
  if (OneIn(4)) {
    for (LadderResource& resource : input.resources) resource.useful_ns.reset();
  }
  for (LadderResource& resource : input.resources) {
    drop(&resource.busiest_ns);
    drop(&resource.eta_ratio);
  }
  if (OneIn(12)) input.resources = {};
  drop(&input.clocks.timed_hz);
  drop(&input.clocks.counted_hz);
  drop(&input.tracing_ns);
  drop(&input.launch_ns);
  if (OneIn(8)) input.active.reset();
  drop(&input.no_issue_cycles);
  drop(&input.uncontended_ratio);
  drop(&input.sync_ratio);
  drop(&input.queue_ratio);
  return input;
}

}  // namespace gx::model
