#include "analysis/tracing_bias.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr double kNsPerSecond = 1e9;
constexpr char kUnmeasuredName[] = "tracing bias";

bool SameKernel(const v1::KernelTiming& left, const v1::KernelTiming& right) {
  const v1::KernelShape& a = left.shape();
  const v1::KernelShape& b = right.shape();
  return left.in_graph() == right.in_graph() && a.kernel() == b.kernel() && a.grid_x() == b.grid_x() &&
         a.block_x() == b.block_x() && a.dynamic_shared_memory_bytes() == b.dynamic_shared_memory_bytes() &&
         a.cluster_x() == b.cluster_x() && a.chain_steps() == b.chain_steps();
}

// The chain's steps are an argument, which no trace holds; gx-kernels gives each number of them a grid of its own.
bool IsOfShape(const TraceModel& trace, const SignatureEntry& entry, const v1::KernelShape& shape) {
  const v1::Signature& signature = entry.definition;
  return trace.FunctionName(entry) == shape.kernel() && signature.grid_x() == shape.grid_x() &&
         signature.grid_y() == 1 && signature.grid_z() == 1 && signature.block_x() == shape.block_x() &&
         signature.block_y() == 1 && signature.block_z() == 1 &&
         signature.dynamic_shared_memory_bytes() == shape.dynamic_shared_memory_bytes() &&
         signature.cluster_x() == shape.cluster_x();
}

}  // namespace

absl::Status AddTracingBias(const v1::MachineFile& traced, v1::MachineFile* machine) {
  if (!machine->run().injection_path().empty() || traced.run().injection_path().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected a machine file measured without CUDA_INJECTION64_PATH and then one under it, got ",
                     machine->run().injection_path().empty() ? "without" : "under", " and ",
                     traced.run().injection_path().empty() ? "without" : "under"));
  }
  if (machine->device().uuid().empty() || traced.device().uuid() != machine->device().uuid()) {
    return absl::FailedPreconditionError(absl::StrCat("expected two machine files of one device, got '",
                                                      Printable(machine->device().uuid()), "' and '",
                                                      Printable(traced.device().uuid()), "'"));
  }
  std::vector<v1::TracingBias> found;
  for (const v1::KernelTiming& untraced : machine->kernel_timing()) {
    const auto same = std::find_if(traced.kernel_timing().begin(), traced.kernel_timing().end(),
                                   [&](const v1::KernelTiming& timing) { return SameKernel(untraced, timing); });
    if (same == traced.kernel_timing().end()) continue;
    v1::TracingBias& bias = found.emplace_back();
    *bias.mutable_shape() = untraced.shape();
    bias.set_resident_blocks(untraced.resident_blocks());
    bias.set_untraced_ns(kNsPerSecond / untraced.slope().work_per_second());
    bias.set_traced_ns(kNsPerSecond / same->slope().work_per_second());
  }
  if (found.empty()) {
    return absl::FailedPreconditionError(
        "expected kernels of the same shape in both machine files, got none: measure both with all parts or with "
        "--ceilings=kernels");
  }
  machine->mutable_tracing_bias()->Assign(found.begin(), found.end());
  // gx-kernels could not measure it by itself and said so.
  auto* unmeasured = machine->mutable_unmeasured();
  unmeasured->erase(std::remove_if(unmeasured->begin(), unmeasured->end(),
                                   [](const v1::Unmeasured& one) { return one.what() == kUnmeasuredName; }),
                    unmeasured->end());
  return absl::OkStatus();
}

absl::Status AddRecordedDurations(const TraceModel& trace, v1::MachineFile* machine) {
  int matched = 0;
  for (v1::TracingBias& bias : *machine->mutable_tracing_bias()) {
    std::vector<const DurationSamples*> groups;
    for (const Cell& cell : trace.cells) {
      if (cell.key.signature >= trace.signatures.size()) continue;
      if (IsOfShape(trace, trace.signatures[cell.key.signature], bias.shape())) groups.push_back(&cell.clean);
    }
    const DurationSummary summary = DurationSamples::Summarise(groups);
    // The clock's step may be longer than a kernel: then its records say nothing.
    if (summary.count == 0 || summary.p5_ns <= 0) continue;
    v1::RecordedDurations* recorded = bias.mutable_recorded();
    recorded->set_kernel_count(summary.count);
    recorded->set_median_ns(summary.median_ns);
    recorded->set_p5_ns(summary.p5_ns);
    recorded->set_p95_ns(summary.p95_ns);
    ++matched;
  }
  if (matched > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Printable(trace.path), ": expected clean records of the machine file's ", machine->tracing_bias_size(),
      " kernels, got none: the trace has to be that of 'gx-kernels --ceilings=kernels' under injection, and "
      "AddTracingBias comes first"));
}

}  // namespace gx::analysis
