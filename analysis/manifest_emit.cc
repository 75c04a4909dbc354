#include "analysis/manifest_emit.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "analysis/kernel_name.h"
#include "analysis/ladder_samples.h"
#include "analysis/manifest_machine.h"
#include "analysis/model/peaks.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "google/protobuf/text_format.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr double kSecondsPerNs = 1e-9;
constexpr double kFlopsPerFma = 2;

const CountedMetric* Find(const std::vector<CountedMetric>& counters, absl::string_view name) {
  for (const CountedMetric& metric : counters) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

// Counts of a trace may be anything.
std::optional<int64_t> WholeCount(double value) {
  constexpr double kLimit = 9e18;
  if (!(value >= 0 && value <= kLimit)) return std::nullopt;
  return static_cast<int64_t>(std::llround(value));
}

void SetExtent(const std::optional<Dim>& dim, v1::Extent* extent) {
  extent->set_x(static_cast<int64_t>(dim->x));
  extent->set_y(static_cast<int64_t>(dim->y));
  extent->set_z(static_cast<int64_t>(dim->z));
}

// "gemm_bf16-grid-2x66x1-block-384x1x1": letters, digits and a few signs, so that it goes anywhere.
std::string CaseId(const TracedKernel& kernel) {
  constexpr size_t kMaxName = 80;
  std::string id = ShortKernelName(kernel.full_name).substr(0, kMaxName);
  for (char& c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && c != '_' && c != '.') c = '-';
  }
  const auto add = [&id](absl::string_view what, const std::optional<Dim>& dim) {
    if (dim.has_value()) absl::StrAppend(&id, "-", what, "-", dim->x, "x", dim->y, "x", dim->z);
  };
  add("grid", kernel.launch.grid);
  add("block", kernel.launch.block);
  return id;
}

// "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum" -> "tensor_bf16_fp32"; without a destination the usual one. "":
// no path that has a rate.
std::string TensorPathOf(absl::string_view metric) {
  if (!absl::ConsumePrefix(&metric, "sm__ops_path_tensor_") || !absl::ConsumeSuffix(&metric, ".sum")) return "";
  const auto word_after = [metric](absl::string_view mark) {
    const size_t at = metric.find(mark);
    if (at == absl::string_view::npos) return absl::string_view();
    const absl::string_view rest = metric.substr(at + mark.size());
    return rest.substr(0, rest.find('_'));
  };
  const absl::string_view source = word_after("src_");
  absl::string_view destination = word_after("dst_");
  if (destination.empty()) destination = source == "int8" ? "int32" : source == "fp64" ? "fp64" : "fp32";
  std::string path = absl::StrCat("tensor_", source, "_", destination);
  return model::ParseRatePath(path).ok() ? path : "";
}

class Emitter {
 public:
  Emitter(const TraceModel& model, const TracedKernel& kernel) : model_(model), kernel_(kernel) {
    const auto by_signature = SeriesBySignature(model.counters);
    if (const auto series = by_signature.find(kernel.signature); series != by_signature.end()) {
      counters_ = CountersOf(model.counters, series->second);
      is_mixed_ = !MixedWorkOf(model.counters, series->second).empty();
    }
    const std::vector<uint64_t> picked = DurationSamples::Pick(kernel.clean, kMaxEmittedSamples);
    samples_ns_.assign(picked.begin(), picked.end());
  }

  EmittedKernel Emit() {
    FillManifest();
    FillObservation();
    return std::move(out_);
  }

 private:
  void ManifestNote(std::string note) { out_.manifest_notes.push_back(std::move(note)); }
  void ObservationNote(std::string note) { out_.observation_notes.push_back(std::move(note)); }

  std::string DriverVersion() const {
    return model_.header.has_value() ? Printable(model_.header->driver_version()) : "";
  }
  std::string CudaVersion() const {
    const uint64_t version = model_.header.has_value() ? model_.header->cuda_driver_api_version() : 0;
    return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
  }
  std::optional<uint64_t> SharedBytes() const {
    const LaunchConfiguration& launch = kernel_.launch;
    if (!launch.dynamic_shared_memory_bytes.has_value() || !launch.static_shared_memory_bytes.has_value()) {
      return std::nullopt;
    }
    return *launch.dynamic_shared_memory_bytes + *launch.static_shared_memory_bytes;
  }
  std::optional<double> MedianNs() const {
    if (samples_ns_.empty()) return std::nullopt;
    return model::SortedQuantile(samples_ns_, 0.5);
  }

  void FillManifest() {
    v1::Manifest& manifest = out_.manifest;
    manifest.set_case_id(CaseId(kernel_));
    if (is_mixed_) {
      const std::string mixed =
          "mixed work: launches of this signature did different work, and samples and counts are of all of them";
      ManifestNote(mixed);
      ObservationNote(mixed);
    }
    manifest.set_label(v1::CLAIM_LABEL_ANALYTICAL);
    manifest.set_description(absl::StrCat("launch of ", Printable(model_.path), ", written by gx-analyze"));
    v1::Dispatch* dispatch = manifest.mutable_dispatch();
    dispatch->set_driver_version(DriverVersion());
    dispatch->set_cuda_version(CudaVersion());
    dispatch->set_kernel_symbol(Printable(kernel_.mangled_name));
    dispatch->set_launch_count(1);
    if (kernel_.launch.graph_node) {
      dispatch->set_route("graph");
    } else {
      ManifestNote("dispatch.route: eager, compiled or library, a trace does not tell");
    }
    ManifestNote("dispatch.framework, compiler, backends, stream, flags");
    *manifest.mutable_machine() = TracedMachine(model_, kernel_.device_id, counters_);
    FillSchedule(manifest.mutable_schedule());
    ManifestNote("operation: its equation, shapes, types and numerical reference");
    FillWork();
    if (kernel_.launch.driver_occupancy_blocks_per_sm.has_value() && manifest.schedule().has_grid()) {
      // The driver's answer: gx-model compares its own.
      manifest.mutable_expected()->mutable_exact_occupancy()->set_resident_blocks_per_sm(
          static_cast<int64_t>(*kernel_.launch.driver_occupancy_blocks_per_sm));
    }
  }

  void FillSchedule(v1::Schedule* schedule) {
    const LaunchConfiguration& launch = kernel_.launch;
    if (launch.grid.has_value()) SetExtent(launch.grid, schedule->mutable_grid());
    if (launch.block.has_value()) SetExtent(launch.block, schedule->mutable_block());
    if (launch.cluster.has_value()) SetExtent(launch.cluster, schedule->mutable_cluster());
    if (launch.registers_per_thread.has_value()) {
      schedule->set_registers_per_thread(static_cast<int64_t>(*launch.registers_per_thread));
    } else {
      ManifestNote("schedule.registers_per_thread: the function's attributes could not be read");
    }
    if (const auto shared = SharedBytes(); shared.has_value()) {
      schedule->set_shared_memory_per_block_bytes(static_cast<int64_t>(*shared));
    } else {
      ManifestNote("schedule.shared_memory_per_block_bytes: static shared memory is not known");
    }
    const v1::Signature& signature = model_.signatures[kernel_.signature].definition;
    const v1::Function* function = model_.functions.Get(signature.function_iid());
    if (signature.has_preferred_shared_memory_carveout()) {
      SetCarveout(signature.preferred_shared_memory_carveout(), schedule);
    } else if (function != nullptr && function->has_attributes() && function->attributes().result() == 0) {
      SetCarveout(function->attributes().preferred_shared_memory_carveout(), schedule);
    }
    ManifestNote("schedule.tile, stages, warp roles, address maps, synchronization, barriers of a block");
  }

  static void SetCarveout(int64_t percent, v1::Schedule* schedule) {
    constexpr int64_t kMaxPercent = 100;
    if (percent >= 0 && percent <= kMaxPercent) schedule->set_carveout_percent(percent);
  }

  // Operations by path, from the hardware's counts of tensor operations and patched code's of threads.
  std::vector<std::pair<std::string, double>> CountedOperations() {
    std::vector<std::pair<std::string, double>> work;
    for (const CountedMetric& metric : counters_) {
      const std::string path = TensorPathOf(metric.name);
      if (path.empty() || !(metric.median > 0)) continue;
      const auto known =
          std::find_if(work.begin(), work.end(), [&path](const auto& part) { return part.first == path; });
      // One metric counts all instructions of a path, another some of them: the larger holds the other.
      if (known == work.end()) {
        work.emplace_back(path, metric.median);
      } else {
        known->second = std::max(known->second, metric.median);
      }
    }
    for (const auto& [path, letter] : {std::pair("fp64", "d"), std::pair("fp32", "f"), std::pair("fp16", "h")}) {
      double sum = 0;
      for (const auto& [op, flops] : {std::pair("fma", kFlopsPerFma), std::pair("add", 1.0), std::pair("mul", 1.0)}) {
        const CountedMetric* metric =
            Find(counters_, absl::StrCat("smsp__sass_thread_inst_executed_op_", letter, op, "_pred_on.sum"));
        if (metric != nullptr) sum += flops * metric->median;
      }
      if (letter[0] == 'h') sum *= 2;  // Packed in pairs.
      if (sum > 0) work.emplace_back(path, sum);
    }
    return work;
  }

  void FillWork() {
    v1::RooflineCase work;
    work.set_name("counted");
    for (const auto& [path, operations] : CountedOperations()) {
      const std::optional<int64_t> flops = WholeCount(operations);
      if (!flops.has_value() || *flops == 0) continue;
      v1::RooflineCase::Work* part = work.add_work();
      part->set_path(path);
      part->set_flops(*flops);
    }
    const CountedMetric* bytes = Find(counters_, "dram__bytes.sum");
    const std::optional<int64_t> dram_bytes = bytes == nullptr ? std::nullopt : WholeCount(bytes->median);
    if (dram_bytes.value_or(0) > 0 && out_.manifest.machine().memory_roof_size() > 0) {
      v1::RooflineCase::Traffic* traffic = work.add_traffic();
      traffic->set_level("dram");
      traffic->set_bytes(*dram_bytes);
    } else {
      ManifestNote(bytes == nullptr ? "bytes of device memory: dram__bytes.sum was not counted"
                                    : "bytes of device memory: none counted, or the memory's rate is not known");
    }
    if (work.work().empty()) ManifestNote("FLOP: neither tensor operations nor patched code (sass+) were counted");
    if (work.work().empty() && work.traffic().empty()) return;
    *out_.manifest.add_roofline() = work;
    out_.manifest.set_lower_bound_case(work.name());
    ManifestNote(
        "roofline 'counted' is what this implementation did, so its bound is R2's and no R0: put the bytes and "
        "FLOP in that the operation needs");
  }

  void FillObservation() {
    v1::Observation& observation = out_.observation;
    const v1::Manifest& manifest = out_.manifest;
    observation.set_label(v1::CLAIM_LABEL_LOCALLY_MEASURED);
    observation.set_case_id(manifest.case_id());
    v1::Hardware* hardware = observation.mutable_hardware();
    hardware->set_gpu_model(manifest.machine().gpu_model());
    hardware->set_compute_capability(manifest.machine().compute_capability());
    if (const auto device = model_.devices.find(kernel_.device_id); device != model_.devices.end()) {
      if (const auto bytes = WholeCount(static_cast<double>(device->second.total_memory_bytes()));
          bytes.value_or(0) > 0) {
        hardware->set_memory_capacity_bytes(*bytes);
      }
    }
    for (const v1::MemoryRoof& roof : manifest.machine().memory_roof()) {
      hardware->set_memory_bytes_per_second(roof.bytes_per_second());
      hardware->set_memory_bandwidth_reference(roof.source());
    }
    ObservationNote("hardware: clock and power policy, what else ran on the device");
    v1::Software* software = observation.mutable_software();
    software->set_driver_version(DriverVersion());
    software->set_cuda_version(CudaVersion());
    ObservationNote("software: framework and compiler");
    observation.mutable_dispatch_key()->set_kernel_symbol(manifest.dispatch().kernel_symbol());
    observation.mutable_dispatch_key()->set_route(manifest.dispatch().route());
    observation.set_kernel_symbol(manifest.dispatch().kernel_symbol());
    ObservationNote(
        "dispatch_key: framework, backend, route unless a graph, shapes, strides and types of tensors; "
        "selected_backend");
    FillLaunch(&observation);
    v1::Timing* timing = observation.mutable_timing();
    for (const double ns : samples_ns_) timing->add_sample_seconds(ns * kSecondsPerNs);
    timing->set_method(absl::StrCat("CUPTI kernel records of windows without counters; clean launches, ascending, ",
                                    kernel_.clean_count > samples_ns_.size()
                                        ? absl::StrCat(samples_ns_.size(), " that stand for ", kernel_.clean_count)
                                        : absl::StrCat("all ", kernel_.clean_count)));
    timing->set_warm_up_count(kWarmUpLaunches);
    timing->set_profiled_run(!counters_.empty());
    if (samples_ns_.size() < kMinCleanSamples) {
      ObservationNote(
          absl::StrCat("samples: ", samples_ns_.size(), " clean launches, ", kMinCleanSamples, " are asked for"));
    }
    FillProfiler(observation.mutable_profiler());
    FillResult(&observation);
    ObservationNote("numerical_check: the result against a reference. Without it nothing here counts as measured");
  }

  void FillLaunch(v1::Observation* observation) const {
    const v1::Schedule& schedule = out_.manifest.schedule();
    v1::Launch* launch = observation->mutable_launch();
    if (schedule.has_grid()) *launch->mutable_grid() = schedule.grid();
    if (schedule.has_block()) *launch->mutable_block() = schedule.block();
    if (schedule.has_cluster()) *launch->mutable_cluster() = schedule.cluster();
    if (schedule.has_registers_per_thread()) launch->set_registers_per_thread(schedule.registers_per_thread());
    if (schedule.has_shared_memory_per_block_bytes()) {
      launch->set_shared_memory_per_block_bytes(schedule.shared_memory_per_block_bytes());
    }
    const LaunchConfiguration& traced = kernel_.launch;
    v1::CompilerReport* compiler = observation->mutable_compiler_report();
    if (traced.function_registers_per_thread.has_value()) {
      compiler->set_registers_per_thread(static_cast<int64_t>(*traced.function_registers_per_thread));
    }
    if (traced.static_shared_memory_bytes.has_value()) {
      compiler->set_static_shared_memory_bytes(static_cast<int64_t>(*traced.static_shared_memory_bytes));
    }
    if (traced.local_memory_per_thread_bytes.has_value()) {
      compiler->set_local_memory_per_thread_bytes(static_cast<int64_t>(*traced.local_memory_per_thread_bytes));
    }
  }

  void FillProfiler(v1::Profiler* profiler) {
    profiler->set_name("gpuexec");
    if (model_.header.has_value()) {
      profiler->set_version(Printable(model_.header->gpuexec_version()));
      std::vector<std::string> words;
      for (const std::string& word : model_.header->command_line()) words.push_back(Printable(word));
      profiler->set_command(absl::StrJoin(words, " "));
    }
    profiler->set_report(Printable(model_.path));
    profiler->set_replay_mode("none");
    std::set<std::string> seen;
    for (const CountedMetric& metric : counters_) {
      // Of several groups with the same metric the first counts, as in the ladder.
      if (!std::isfinite(metric.median) || !seen.insert(metric.name).second) continue;
      v1::Profiler::Counter* counter = profiler->add_counter();
      counter->set_metric(Printable(metric.name));
      counter->set_value(metric.median);
    }
    if (counters_.empty()) {
      ObservationNote("profiler.counter: no counter of this kernel was sampled");
    } else {
      ObservationNote(
          "profiler.counter: medians over launches of the same signature, counted in other launches than those "
          "that are timed; units as in the metrics' names");
    }
  }

  void FillResult(v1::Observation* observation) {
    const std::optional<double> median_ns = MedianNs();
    if (!median_ns.has_value() || !(*median_ns > 0)) return;
    const double seconds = *median_ns * kSecondsPerNs;
    v1::Result* result = observation->mutable_result();
    for (const v1::RooflineCase& work : out_.manifest.roofline()) {
      double flops = 0;
      for (const v1::RooflineCase::Work& part : work.work()) flops += static_cast<double>(part.flops());
      if (flops > 0) result->set_achieved_flops_per_second(flops / seconds);
      for (const v1::RooflineCase::Traffic& part : work.traffic()) {
        result->set_achieved_memory_bytes_per_second(static_cast<double>(part.bytes()) / seconds);
      }
    }
    const CountedMetric* warps = Find(counters_, "sm__warps_active.sum");
    const CountedMetric* cycles = Find(counters_, "sm__cycles_active.avg");
    const v1::Machine& machine = out_.manifest.machine();
    const double slots = machine.has_max_resident_threads() && machine.warp_size_threads() > 0
                             ? static_cast<double>(machine.max_resident_threads() / machine.warp_size_threads())
                             : 0;
    // Of the cycles in which an SM had work.
    const double cycle_slots = cycles == nullptr ? 0 : cycles->median * static_cast<double>(machine.sm_count()) * slots;
    if (warps != nullptr && warps->median > 0 && cycle_slots > 0) {
      result->set_achieved_occupancy_ratio(std::min(1.0, warps->median / cycle_slots));
    } else {
      ObservationNote("result.achieved_occupancy_ratio: sm__warps_active.sum was not counted");
    }
    ObservationNote("result.limiting_resource, dominant_stall: the ladder of the report has them (--section ladder)");
  }

  const TraceModel& model_;
  const TracedKernel& kernel_;
  std::vector<CountedMetric> counters_;
  // Launches of this signature did different work.
  bool is_mixed_ = false;
  std::vector<double> samples_ns_;
  EmittedKernel out_;
};

std::string Commented(absl::string_view head, const std::vector<std::string>& notes,
                      const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string body;
  if (!printer.PrintToString(message, &body)) body = "# could not be printed\n";
  std::string text = absl::StrCat(head, "#\n# Not known to the trace, or to be checked:\n");
  for (const std::string& note : notes) absl::StrAppend(&text, "# - ", note, "\n");
  return absl::StrCat(text, "\n", body);
}

}  // namespace

EmittedKernel EmitKernel(const TraceModel& model, const TracedKernel& kernel) { return Emitter(model, kernel).Emit(); }

std::string ManifestText(const EmittedKernel& emitted) {
  return Commented("# proto-file: gpuexec/v1/manifest.proto\n# proto-message: Manifest\n", emitted.manifest_notes,
                   emitted.manifest);
}

std::string ObservationText(const EmittedKernel& emitted) {
  return Commented("# proto-file: gpuexec/v1/evidence.proto\n# proto-message: Observation\n", emitted.observation_notes,
                   emitted.observation);
}

}  // namespace gx::analysis
