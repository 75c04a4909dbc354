#include "analysis/counter_check.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "analysis/machine_file.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr char kUnmeasuredName[] = "counter checks";
constexpr double kWarpThreads = 32;

std::string TextOf(const v1::MachineDevice& device) {
  return absl::StrCat(Printable(device.name()), device.uuid().empty() ? "" : " ", Printable(device.uuid()));
}

// nullptr: the trace does not say.
const v1::Device* DeviceOf(const TraceModel& trace, uint64_t context_id) {
  const auto context = trace.contexts.find(context_id);
  if (context == trace.contexts.end()) return trace.devices.size() == 1 ? &trace.devices.begin()->second : nullptr;
  const auto device = trace.devices.find(context->second.device_id());
  return device == trace.devices.end() ? nullptr : &device->second;
}

// A file without a UUID is of a product.
bool IsDevice(const v1::MachineDevice& machine, const v1::Device* device) {
  if (device == nullptr) return false;
  const MachineMatch match = MatchMachine(machine, *device);
  return match == MachineMatch::kSameDevice || (match == MachineMatch::kSameProduct && machine.uuid().empty());
}

}  // namespace

std::optional<double> CounterErrorRatio(double expected, absl::Span<const double> counted) {
  std::vector<double> sorted(counted.begin(), counted.end());
  std::sort(sorted.begin(), sorted.end());
  const std::optional<double> median = model::SortedQuantile(sorted, 0.5);
  if (!median.has_value()) return std::nullopt;
  if (*median == expected) return 0;
  const double ratio = *median / expected - 1;
  // An expectation of 0, or what a double cannot hold.
  return std::isfinite(ratio) ? std::optional<double>(ratio) : std::nullopt;
}

std::vector<CounterChecks::Answer> CounterChecks::AnswersOf(const v1::KernelCounts& counts) {
  std::vector<Answer> answers;
  const auto add = [&answers](bool is_known, double expected, absl::string_view metric, std::vector<Term> terms = {},
                              absl::string_view per = "") {
    if (!is_known) return;
    Answer& answer = answers.emplace_back();
    answer.metric = metric;
    answer.terms = std::move(terms);
    if (answer.terms.empty()) answer.terms.push_back({metric});
    answer.per = per;
    answer.expected = expected;
  };
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  add(counts.has_blocks(), number(counts.blocks()), "gr__ctas_launched.sum");
  add(counts.has_fp64_flop(), number(counts.fp64_flop()), "fp64_flop",
      {{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"},
       {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"},
       {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2}});
  add(counts.has_fp32_flop(), number(counts.fp32_flop()), "fp32_flop",
      {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"},
       {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"},
       {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2}});
  add(counts.has_fp16_flop(), number(counts.fp16_flop()), "fp16_flop",
      {{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 2},
       {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 2},
       {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 4}});
  add(counts.has_bf16_tensor_flop(), number(counts.bf16_tensor_flop()),
      "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum");
  if (counts.has_threads_per_instruction()) {
    const double threads = number(counts.threads_per_instruction());
    add(true, threads, "threads_per_instruction", {{"smsp__sass_thread_inst_executed.sum"}},
        "smsp__sass_inst_executed.sum");
    // Where all threads are in everything nothing else can be.
    answers.back().is_approximate = threads != kWarpThreads;
  }
  add(counts.has_global_load_bytes(), number(counts.global_load_bytes()), "smsp__sass_data_bytes_mem_global_op_ld.sum");
  add(counts.has_global_store_bytes(), number(counts.global_store_bytes()),
      "smsp__sass_data_bytes_mem_global_op_st.sum");
  add(counts.has_global_load_sectors(), number(counts.global_load_sectors()),
      "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum");
  add(counts.has_global_store_sectors(), number(counts.global_store_sectors()),
      "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum");
  // No case with both has other requests to L1.
  add(counts.has_global_load_sectors() && counts.has_global_store_sectors(),
      number(counts.global_load_sectors()) + number(counts.global_store_sectors()), "l1tex__t_sectors.sum");
  add(counts.has_l2_sectors(), number(counts.l2_sectors()), "lts__t_sectors_srcunit_tex.sum");
  add(counts.has_shared_bytes(), number(counts.shared_bytes()), "smsp__sass_data_bytes_mem_shared.sum");
  add(counts.has_shared_load_wavefronts(), number(counts.shared_load_wavefronts()),
      "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum");
  add(counts.has_shared_store_wavefronts(), number(counts.shared_store_wavefronts()),
      "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum");
  add(counts.has_shared_load_wavefronts() && counts.has_shared_store_wavefronts(),
      number(counts.shared_load_wavefronts()) + number(counts.shared_store_wavefronts()),
      "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
  add(counts.has_shared_conflicts(), number(counts.shared_conflicts()),
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum");
  for (const bool is_read : {true, false}) {
    const bool is_known = is_read ? counts.has_dram_read_bytes() : counts.has_dram_write_bytes();
    if (!is_known) continue;
    add(true, number(is_read ? counts.dram_read_bytes() : counts.dram_write_bytes()),
        is_read ? "dram__bytes_read.sum" : "dram__bytes_write.sum");
    answers.back().is_approximate = true;
  }
  return answers;
}

absl::StatusOr<CounterChecks> CounterChecks::Of(const v1::KernelList& known) {
  CounterChecks checks;
  std::set<std::string> kernels;
  for (const v1::KernelCase& one : known.cases()) {
    if (!one.has_counts()) continue;
    const std::string name = Printable(one.name());
    if (name.empty() || one.kernels_size() != 1 || one.kernels(0).empty() || one.counts().blocks() <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("case '", name, "': expected a name and counts of its one kernel, with blocks, got ",
                       Plural(static_cast<uint64_t>(one.kernels_size()), "kernel"), ", ", one.counts().blocks(),
                       " blocks: print the list with 'gx-kernels --json'"));
    }
    if (!kernels.insert(one.kernels(0)).second) {
      return absl::InvalidArgumentError(absl::StrCat("case '", name, "': expected a kernel of its own, got '",
                                                     Printable(one.kernels(0)), "', which another case has, too"));
    }
    KnownCase& which = checks.cases_.emplace_back();
    which.name = name;
    which.size = static_cast<uint64_t>(std::max<int64_t>(one.size(), 0));
    which.kernel = one.kernels(0);
    which.blocks = static_cast<uint64_t>(one.counts().blocks());
    which.answers = AnswersOf(one.counts());
    for (const Answer& answer : which.answers) {
      if (answer.expected >= 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("case '", name, "', ", answer.metric, ": expected a count of 0 or more, got ", answer.expected));
    }
  }
  if (checks.cases_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected cases with counts, got ", Plural(static_cast<uint64_t>(known.cases_size()), "case"),
                     " without: 'gx-kernels --json --case pairs' of this version prints them"));
  }
  return checks;
}

void CounterChecks::AddSamples(const v1::CounterGroup& group, absl::Span<const CounterSamples::Sample* const> samples,
                               KnownCase* which) {
  const auto find = [&group](absl::string_view counter) {
    const auto found = std::find(group.metric().begin(), group.metric().end(), counter);
    return static_cast<size_t>(found - group.metric().begin());
  };
  const size_t none = static_cast<size_t>(group.metric_size());
  for (Answer& answer : which->answers) {
    std::vector<std::pair<size_t, double>> terms;
    for (const Term& term : answer.terms) terms.emplace_back(find(term.counter), term.factor);
    const size_t per = answer.per.empty() ? none : find(answer.per);
    // Counters of several groups are of several launches: then they make up nothing.
    const bool has_all = std::all_of(terms.begin(), terms.end(), [&](const auto& term) { return term.first < none; });
    if (!has_all || (!answer.per.empty() && per == none)) continue;
    for (const CounterSamples::Sample* sample : samples) {
      double value = 0;
      for (const auto& [index, factor] : terms) value += factor * sample->values[index];
      if (per != none) value /= sample->values[per];
      if (!(std::isfinite(value) && value >= 0)) continue;
      const bool is_first = (sample->flags & v1::CounterBatch::FLAG_FIRST_OF_SESSION) != 0;
      (is_first ? answer.first : answer.later).push_back(value);
    }
  }
}

absl::StatusOr<uint64_t> CounterChecks::AddSeries(const TraceModel& trace, const CounterSeries& series,
                                                  const v1::MachineDevice& device, KnownCase* which) {
  const SignatureEntry& entry = trace.signatures[series.signature];
  const auto group = trace.counters.groups.find(series.group_iid);
  // The importer keeps a series of a group that it knows, with as many values.
  if (group == trace.counters.groups.end() ||
      series.samples.metric_count() != static_cast<size_t>(group->second.metric_size())) {
    return 0;
  }
  std::vector<const CounterSamples::Sample*> samples;
  uint64_t other_count = 0;
  for (const CounterSamples::Sample* sample : series.samples.Kept()) {
    if ((sample->flags & v1::CounterBatch::FLAG_VOID) != 0) continue;
    if (IsDevice(device, DeviceOf(trace, sample->context_id))) {
      samples.push_back(sample);
    } else {
      ++other_count;
    }
  }
  if (samples.empty()) {
    if (other_count == 0) return 0;
    return absl::FailedPreconditionError(absl::StrCat(Printable(trace.path), ": expected launches of ",
                                                      Printable(which->kernel), " on the device of the machine file (",
                                                      TextOf(device), "), got ", other_count,
                                                      " on others or on one that the trace does not tell"));
  }
  const v1::Signature& shape = entry.definition;
  const double blocks =
      static_cast<double>(shape.grid_x()) * static_cast<double>(shape.grid_y()) * static_cast<double>(shape.grid_z());
  if (blocks != static_cast<double>(which->blocks)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(trace.path), ": expected ", Printable(which->kernel), " with ", which->blocks,
        " blocks, got a grid of ", shape.grid_x(), "x", shape.grid_y(), "x", shape.grid_z(), ": the case '",
        which->name, "' has to be listed and run with the same --size (the list has ", which->size, ")"));
  }
  // Any bytes in a trace, text in a machine file.
  which->mangled_name = Printable(trace.FunctionName(entry));
  AddSamples(group->second, samples, which);
  return samples.size();
}

absl::StatusOr<uint64_t> CounterChecks::AddTrace(const TraceModel& trace, const v1::MachineDevice& device) {
  uint64_t count = 0;
  for (const CounterSeries& series : trace.counters.series) {
    if (series.is_graph() || series.signature >= trace.signatures.size()) continue;
    const absl::string_view name = trace.FunctionName(trace.signatures[series.signature]);
    for (KnownCase& which : cases_) {
      if (!absl::StrContains(name, which.kernel)) continue;
      const absl::StatusOr<uint64_t> added = AddSeries(trace, series, device, &which);
      if (!added.ok()) return added.status();
      count += *added;
    }
  }
  return count;
}

absl::Status CounterChecks::Finish(v1::MachineFile* machine) const {
  std::vector<v1::CounterCheck> found;
  for (const KnownCase& which : cases_) {
    for (const Answer& answer : which.answers) {
      if (answer.counted().empty()) continue;
      v1::CounterCheck& check = found.emplace_back();
      check.set_metric(std::string(answer.metric));
      check.set_case_name(which.name);
      check.set_case_size(which.size);
      check.set_kernel(which.mangled_name);
      check.set_expected(answer.expected);
      check.mutable_counted()->Assign(answer.counted().begin(), answer.counted().end());
      if (const auto error = CounterErrorRatio(answer.expected, answer.counted()); error.has_value()) {
        check.set_error_ratio(*error);
      }
      check.set_is_approximate(answer.is_approximate);
    }
  }
  if (found.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "expected counted launches of the ", cases_.size(), " cases with known answers, got none in any trace: run '",
        "gx-kernels --case pairs' under injection with GPUEXEC_COUNTERS=lean"));
  }
  machine->mutable_counter_check()->Assign(found.begin(), found.end());
  // gx-kernels could not measure it by itself and said so.
  auto* unmeasured = machine->mutable_unmeasured();
  unmeasured->erase(std::remove_if(unmeasured->begin(), unmeasured->end(),
                                   [](const v1::Unmeasured& one) { return one.what() == kUnmeasuredName; }),
                    unmeasured->end());
  return absl::OkStatus();
}

size_t CounterChecks::known_count() const {
  size_t count = 0;
  for (const KnownCase& which : cases_) count += which.answers.size();
  return count;
}

std::vector<std::string> CounterChecks::Uncounted() const {
  std::vector<std::string> names;
  for (const KnownCase& which : cases_) {
    for (const Answer& answer : which.answers) {
      if (answer.counted().empty()) names.push_back(absl::StrCat(answer.metric, " of ", which.name));
    }
  }
  return names;
}

}  // namespace gx::analysis
