#include "analysis/run_tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace gx::analysis {
namespace {

// As RooflinePathRow has it, and the metric's name around it.
constexpr absl::string_view kRowPrefix = "tensor ";
constexpr absl::string_view kMetricPrefix = "sm__ops_path_tensor_";
constexpr absl::string_view kPipeCycles = "sm__pipe_tensor_cycles_active.sum";

// Work on the tensor pipe that is no floating-point operation of tensor cores: packed half precision, integers.
bool IsOtherPipeWork(absl::string_view name) {
  if (absl::StartsWith(name, kMetricPrefix)) return absl::StrContains(name, "src_int");
  return absl::StartsWith(name, "smsp__sass_thread_inst_executed_op_h") && absl::EndsWith(name, "_pred_on.sum");
}

std::optional<double> UseOf(double flops, const std::vector<TensorPathUse>& paths, uint64_t time_ns,
                            std::optional<double> TensorPathUse::*rate) {
  if (time_ns == 0) return std::nullopt;
  if (flops == 0) return 0;
  double needed_ns = 0;
  for (const TensorPathUse& path : paths) {
    if (!(path.*rate).has_value() || !(*(path.*rate) > 0)) return std::nullopt;
    needed_ns += path.flops / *(path.*rate) * 1e9;
  }
  const double ratio = needed_ns / static_cast<double>(time_ns);
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

}  // namespace

TensorSignature TensorWorkOf(const RooflineFacts& facts, absl::Span<const CountedRange> counters) {
  TensorSignature signature;
  const std::optional<RooflineRow> roofline = RooflineOf(facts);
  if (roofline.has_value()) {
    for (const RooflinePathRow& row : roofline->paths) {
      absl::string_view path = row.path;
      if (!absl::ConsumePrefix(&path, kRowPrefix)) continue;
      TensorPathUse use;
      use.path = std::string(path);
      use.flops = row.flops;
      use.low_flops = row.flops;
      use.high_flops = row.flops;
      if (row.theoretical.has_value()) use.theoretical_flops_per_second = row.theoretical->per_second;
      if (row.empirical.has_value()) use.empirical_flops_per_second = row.empirical->per_second;
      const std::string metric = absl::StrCat(kMetricPrefix, path, ".sum");
      const auto counted = std::find_if(counters.begin(), counters.end(),
                                        [&metric](const CountedRange& counter) { return counter.name == metric; });
      if (counted != counters.end()) {
        use.low_flops = std::min(counted->min, use.flops);
        use.high_flops = std::max(counted->max, use.flops);
      }
      signature.paths.push_back(std::move(use));
    }
  }
  std::optional<double> cycles;
  bool other_work = false;
  for (const CountedRange& counter : counters) {
    if (counter.name == kPipeCycles && !cycles.has_value()) cycles = counter.median;
    other_work |= IsOtherPipeWork(counter.name) && counter.median > 0;
  }
  signature.is_counted = !signature.paths.empty() || (cycles.has_value() && (*cycles == 0 || other_work));
  return signature;
}

std::optional<TensorUse> AddUpTensorUse(absl::Span<const TensorSignature> signatures, const TensorTime& time) {
  if (time.kernel_ns == 0 || time.busy_ns == 0) return std::nullopt;
  std::map<std::string, TensorPathUse> by_path;
  TensorUse use;
  uint64_t counted_ns = 0;
  for (const TensorSignature& signature : signatures) {
    if (!signature.is_counted) continue;
    counted_ns += signature.total_ns;
    const auto kernels = static_cast<double>(signature.kernel_count);
    for (const TensorPathUse& path : signature.paths) {
      TensorPathUse& sum = by_path[path.path];
      sum.path = path.path;
      sum.flops += path.flops * kernels;
      sum.low_flops += path.low_flops * kernels;
      sum.high_flops += path.high_flops * kernels;
      // The same on all devices of a kind.
      sum.theoretical_flops_per_second = path.theoretical_flops_per_second;
      sum.empirical_flops_per_second = path.empirical_flops_per_second;
      use.flops += path.flops * kernels;
    }
  }
  if (counted_ns == 0) return std::nullopt;
  for (auto& [name, path] : by_path) use.paths.push_back(std::move(path));
  std::stable_sort(use.paths.begin(), use.paths.end(),
                   [](const TensorPathUse& a, const TensorPathUse& b) { return a.flops > b.flops; });
  use.busy_ns = time.busy_ns;
  use.timed_ns = time.timed_ns;
  use.theoretical_busy_ratio = UseOf(use.flops, use.paths, time.busy_ns, &TensorPathUse::theoretical_flops_per_second);
  use.theoretical_timed_ratio =
      UseOf(use.flops, use.paths, time.timed_ns, &TensorPathUse::theoretical_flops_per_second);
  use.empirical_busy_ratio = UseOf(use.flops, use.paths, time.busy_ns, &TensorPathUse::empirical_flops_per_second);
  use.empirical_timed_ratio = UseOf(use.flops, use.paths, time.timed_ns, &TensorPathUse::empirical_flops_per_second);
  use.unmeasured_ratio =
      1 - static_cast<double>(std::min(counted_ns, time.kernel_ns)) / static_cast<double>(time.kernel_ns);
  return use;
}

}  // namespace gx::analysis
