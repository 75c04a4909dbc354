// Section 3 of the report: the run as a whole, and what its launches became.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

std::string CopyKindWords(uint32_t kind, uint32_t copy_kind) {
  if (kind == pb::MemoryBatch::KIND_MEMSET) return "fill";
  if (kind == pb::MemoryBatch::KIND_MEMCPY_PEER) return "peer to peer";
  // CUpti_ActivityMemcpyKind.
  switch (copy_kind) {
    case 1:
      return "host to device";
    case 2:
      return "device to host";
    case 3:
      return "host to array";
    case 4:
      return "array to host";
    case 5:
      return "array to array";
    case 6:
      return "array to device";
    case 7:
      return "device to array";
    case 8:
      return "device to device";
    case 9:
      return "host to host";
    case 10:
      return "peer to peer";
    default:
      return absl::StrCat("kind ", copy_kind);
  }
}

}  // namespace

RunSection BuildRun(const TraceModel& model) {
  RunSection run;
  const uint64_t begin_ns = model.header.has_value() ? model.header->start().monotonic_ns() : 0;
  const uint64_t end_ns = model.trailer.has_value() ? model.trailer->end().monotonic_ns() : 0;
  if (begin_ns > 0 && end_ns > begin_ns) {
    run.wall_ns = end_ns - begin_ns;
    run.wall_from_trailer = true;
  } else if (model.last_monotonic_ns > model.first_monotonic_ns) {
    run.wall_ns = model.last_monotonic_ns - model.first_monotonic_ns;
  }
  const uint64_t first_ns = begin_ns > 0 ? begin_ns : model.first_monotonic_ns;
  if (model.summaries_begin_monotonic_ns > 0) {
    run.single_records_end_ns =
        model.summaries_begin_monotonic_ns - std::min(model.summaries_begin_monotonic_ns, first_ns);
  }
  const Accounting& accounting = model.accounting;
  run.kernel_launches = accounting.launches;
  run.graph_launches = accounting.graph_launches;
  run.refused_launches = accounting.refused_launches;
  run.summarised_launches = accounting.summarised_launches;
  run.summarised_kernels = accounting.summarised_kernels;
  run.kernels = accounting.kernel_records() + accounting.summarised_kernels - accounting.kernels_of_cupti;
  if (model.last_launch_ns > model.first_launch_ns) {
    run.launch_span_ns = model.last_launch_ns - model.first_launch_ns;
    // Between n launches lie n - 1 intervals.
    const uint64_t launches = accounting.launches + accounting.graph_launches + accounting.refused_launches;
    run.launches_per_second = static_cast<double>(launches - 1) * 1e9 / static_cast<double>(run.launch_span_ns);
  }
  for (const auto& [id, window] : model.windows) {
    run.window_switch_ns += window.switch_cost_ns();
    const uint64_t window_end_ns = window.has_end_monotonic_ns() ? window.end_monotonic_ns() : model.last_monotonic_ns;
    if (window_end_ns <= window.begin_monotonic_ns()) continue;
    const uint64_t length_ns = window_end_ns - window.begin_monotonic_ns();
    if (window.kind() == pb::Window::KIND_OFF) run.off_windows_ns += length_ns;
    if (window.kind() == pb::Window::KIND_COUNTERS) run.counter_windows_ns += length_ns;
    if (window.kind() != pb::Window::KIND_OFF && window.kind() != pb::Window::KIND_COUNTERS) continue;
    const uint64_t recorded_end_ns = first_ns + run.recorded_ns();
    const uint64_t from_ns = std::max(first_ns, window.begin_monotonic_ns());
    const uint64_t to_ns = std::min(recorded_end_ns, window_end_ns);
    if (to_ns > from_ns) run.untimed_windows_ns += to_ns - from_ns;
  }
  for (const auto& [kind, totals] : model.copies) {
    run.copies.push_back({CopyKindWords(kind.first, kind.second), totals.count, totals.size_bytes, totals.total_ns});
  }
  run.synchronization_count = model.synchronization_count;
  run.synchronization_ns = model.synchronization_ns;
  run.overhead_count = model.overhead_count;
  run.overhead_ns = model.overhead_ns;
  run.nvtx_event_count = model.nvtx_event_count;
  return run;
}

AccountingSection BuildAccounting(const TraceModel& model) {
  const Accounting& a = model.accounting;
  AccountingSection section;
  section.launches = a.launches;
  section.graph_launches = a.graph_launches;
  section.untimed_launches = a.untimed_launches;
  section.counter_window_launches = a.counter_window_launches;
  section.kernel_records = a.kernel_records();
  section.kernels_joined = a.kernels_joined;
  section.kernels_joined_to_graphs = a.kernels_joined_to_graphs;
  section.kernels_without_launch = a.kernels_without_launch;
  section.kernels_device_launched = a.kernels_device_launched;
  section.kernels_of_cupti = a.kernels_of_cupti;
  section.kernels_untimed = a.kernels_untimed;
  section.kernels_unfinished = a.kernels_unfinished;
  section.kernels_invalid = a.kernels_invalid;
  section.kernels_signature_from_activity = a.kernels_signature_from_activity;
  section.launches_without_kernel = a.launches_without_kernel;
  section.kernels_taken = CountKernelsTaken(model);
  section.replays_complete = a.replays_complete;
  section.replays_short = a.replays_short;
  section.replays_long = a.replays_long;
  section.replays_unchecked = a.replays_unchecked;
  section.replay_kernels_missing = a.replay_kernels_missing;
  section.signature_disagreements = CountSignatureDisagreements(model, 0, nullptr);
  section.summarised_kernels = a.summarised_kernels;
  section.summarised_launches = a.summarised_launches;
  return section;
}

}  // namespace gx::analysis
