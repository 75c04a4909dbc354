#include "analysis/model/ladder_top.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {

LadderTop ComputeLadderTop(const LadderTopInput& input) noexcept {
  LadderTop top;
  double left_ns = std::max(0.0, input.time_ns - input.floor_ns);
  const auto take = [&left_ns](double wanted_ns) {
    const double taken_ns = std::min(wanted_ns, left_ns);
    left_ns -= taken_ns;
    return taken_ns;
  };
  top.tracing_ns = take(input.tracing_ns);
  top.launch_ns = take(input.launch_ns);
  const double idle_ns = std::max(0.0, input.idle_ns - input.uneven_sm_ns);
  top.idle_ns = take(idle_ns);
  top.hidden_idle_ns = idle_ns - top.idle_ns;
  top.active_ns = input.floor_ns + left_ns;
  return top;
}

absl::StatusOr<IdleCauses> SplitIdle(const IdleCauseInput& input) {
  if (absl::Status status = CheckNotNegative("idle_ns", input.idle_ns); !status.ok()) return status;
  if (absl::Status status = CheckPositive("unit_count", input.unit_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("place_count", input.place_count); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("block_ns", input.block_ns); !status.ok()) return status;
  if (!(input.last_wave_empty_ratio >= 0 && input.last_wave_empty_ratio <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("last_wave_empty_ratio: got ", input.last_wave_empty_ratio, ", expected 0 to 1"));
  }
  IdleCauses causes;
  if (input.unit_count < input.place_count) {
    causes.unfilled_ns = input.idle_ns;
    return causes;
  }
  causes.tail_ns = std::min(input.idle_ns, input.block_ns * input.last_wave_empty_ratio);
  causes.imbalance_ns = input.idle_ns - causes.tail_ns;
  return causes;
}

}  // namespace gx::model
