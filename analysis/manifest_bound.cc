#include "analysis/manifest_bound.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "analysis/format.h"
#include "analysis/ladder_samples.h"
#include "analysis/manifest/check_coordinates.h"
#include "analysis/manifest/derive.h"
#include "analysis/manifest/extent.h"
#include "analysis/manifest/machine_model.h"
#include "analysis/manifest/operation_work.h"
#include "analysis/manifest_machine.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr double kNsPerSecond = 1e9;
// Named in a message.
constexpr size_t kMaxNamed = 4;
constexpr size_t kMaxLineColumns = 120;

std::string SizeText(const model::GridDimensions& size) { return absl::StrCat(size.x, "x", size.y, "x", size.z); }

// Empty: agrees, or one of both does not say.
std::string ExtentContradiction(absl::string_view field, bool stated, const v1::Extent& extent,
                                const std::optional<Dim>& traced) {
  if (!stated || !traced.has_value()) return "";
  const std::string manifest = SizeText(DimensionsOf(extent));
  const std::string launch = absl::StrCat(traced->x, "x", traced->y, "x", traced->z);
  if (manifest == launch) return "";
  return absl::StrCat("schedule.", field, ": the manifest has ", manifest, ", the launch ", launch);
}

std::string CountContradiction(absl::string_view field, bool stated, int64_t value, std::optional<uint64_t> traced) {
  if (!stated || !traced.has_value() || (value >= 0 && static_cast<uint64_t>(value) == *traced)) return "";
  return absl::StrCat("schedule.", field, ": the manifest has ", value, ", the launch ", *traced);
}

std::vector<std::string> LaunchContradictions(const v1::Manifest& manifest, const TracedKernel& kernel) {
  const v1::Schedule& schedule = manifest.schedule();
  const LaunchConfiguration& launch = kernel.launch;
  std::optional<uint64_t> shared_bytes;
  if (launch.dynamic_shared_memory_bytes.has_value() && launch.static_shared_memory_bytes.has_value()) {
    shared_bytes = *launch.dynamic_shared_memory_bytes + *launch.static_shared_memory_bytes;
  }
  std::vector<std::string> found = {
      ExtentContradiction("grid", schedule.has_grid(), schedule.grid(), launch.grid),
      ExtentContradiction("block", schedule.has_block(), schedule.block(), launch.block),
      ExtentContradiction("cluster", schedule.has_cluster(), schedule.cluster(), launch.cluster.value_or(Dim{1, 1, 1})),
      CountContradiction("registers_per_thread", schedule.has_registers_per_thread(), schedule.registers_per_thread(),
                         launch.registers_per_thread),
      CountContradiction("shared_memory_per_block_bytes", schedule.has_shared_memory_per_block_bytes(),
                         schedule.shared_memory_per_block_bytes(), shared_bytes),
  };
  const std::string& symbol = manifest.dispatch().kernel_symbol();
  if (!symbol.empty() && symbol != kernel.mangled_name && symbol != kernel.full_name) {
    found.push_back(absl::StrCat("dispatch.kernel_symbol: the manifest has ", Quoted(Printable(symbol)),
                                 ", the kernel is ", Quoted(kernel.full_name)));
  }
  found.erase(std::remove(found.begin(), found.end(), ""), found.end());
  return found;
}

// "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum" -> "bf16".
std::set<std::string> CountedTensorTypes(const std::vector<CountedMetric>& counters) {
  std::set<std::string> types;
  for (const CountedMetric& metric : counters) {
    if (!absl::StartsWith(metric.name, "sm__ops_path_tensor_") || !absl::EndsWith(metric.name, ".sum") ||
        !(metric.median > 0)) {
      continue;
    }
    constexpr absl::string_view kSource = "src_";
    const size_t begin = absl::string_view(metric.name).find(kSource);
    if (begin == absl::string_view::npos) continue;
    const std::string rest = metric.name.substr(begin + kSource.size());
    types.insert(Printable(rest.substr(0, rest.find_first_of("_."))));
  }
  return types;
}

// What the work's tensor operations are of: "tensor_bf16_fp32" -> "bf16".
std::string TypeContradiction(const v1::RooflineCase& work, const std::vector<CountedMetric>& counters) {
  const std::set<std::string> counted = CountedTensorTypes(counters);
  if (work.work().empty() || counted.empty()) return "";
  std::vector<std::string> paths;
  for (const v1::RooflineCase::Work& part : work.work()) {
    absl::string_view path = part.path();
    paths.push_back(Quoted(Printable(path)));
    if (!absl::ConsumePrefix(&path, "tensor_")) continue;
    if (counted.count(std::string(path.substr(0, path.find('_')))) > 0) return "";
  }
  return absl::StrCat("type: the manifest's work is on ", absl::StrJoin(paths, ", "),
                      ", the kernel's tensor operations were counted as ", absl::StrJoin(counted, ", "));
}

absl::Status Refused(const v1::Manifest& manifest, const TracedKernel& kernel,
                     const std::vector<std::string>& contradictions) {
  return absl::InvalidArgumentError(absl::StrCat(
      "manifest ", Quoted(Printable(manifest.case_id())), " is not of ", CutText(KernelLine(kernel), kMaxLineColumns),
      ": ", absl::StrJoin(contradictions, "; "), ". Another coordinate is another case"));
}

absl::Status FirstFault(const v1::Manifest& manifest, const FaultLog& log) {
  const ManifestFault& fault = log.faults.front();
  return absl::InvalidArgumentError(absl::StrCat(
      "manifest ", Quoted(Printable(manifest.case_id())), ": ", Printable(fault.where), ": ", Printable(fault.text),
      log.faults.size() > 1 ? absl::StrCat(" (and ", log.faults.size() - 1, " more; gx-model shows them)") : ""));
}

// What is wrong with the manifest by itself.
absl::Status CheckManifest(const v1::Manifest& manifest) {
  FaultLog log;
  if (manifest.case_id().empty()) log.Fault("case_id", "not stated");
  CheckCoordinates(manifest, &log);
  if (manifest.dispatch().has_launch_count() && manifest.dispatch().launch_count() > 1) {
    log.Fault("dispatch.launch_count",
              absl::StrCat("got ", manifest.dispatch().launch_count(),
                           ", expected 1: the work of several launches is no bound of one kernel"));
  }
  return log.faults.empty() ? absl::OkStatus() : FirstFault(manifest, log);
}

absl::StatusOr<ManifestBound> BoundOf(const v1::Manifest& manifest, const OperationWork& work, const TraceModel& model,
                                      const TracedKernel& kernel) {
  const auto by_signature = SeriesBySignature(model.counters);
  const auto series = by_signature.find(kernel.signature);
  const std::vector<CountedMetric> counters =
      series == by_signature.end() ? std::vector<CountedMetric>() : CountersOf(model.counters, series->second);
  const v1::Machine machine = TracedMachine(model, kernel.device_id, counters);
  std::vector<std::string> contradictions = MachineContradictions(manifest.machine(), machine);
  const std::string type = TypeContradiction(work.work, counters);
  if (!type.empty()) contradictions.push_back(type);
  if (!contradictions.empty()) return Refused(manifest, kernel, contradictions);

  v1::Manifest only;
  *only.mutable_machine() = machine;
  *only.add_roofline() = work.work;
  FaultLog log;
  MachineModel evaluated(only.machine(), nullptr, &log);
  const v1::Derived derived = Derive(only, &evaluated, &log);
  if (!log.faults.empty()) return FirstFault(manifest, log);
  if (!(derived.lower_bound_seconds() > 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("manifest ", Quoted(Printable(manifest.case_id())), ": its lower bound is 0"));
  }
  ManifestBound bound;
  bound.ns = derived.lower_bound_seconds() * kNsPerSecond;
  bound.case_id = Printable(manifest.case_id());
  bound.kernel = KernelLine(kernel);
  const auto& binding = derived.roofline(0).binding();
  bound.binding = Printable(absl::StrJoin(binding, " + "));
  for (const v1::RooflineCase::Work& part : work.work.work()) {
    bound.notes.push_back(
        absl::StrCat(FormatCount(static_cast<uint64_t>(part.flops())), " FLOP on ", Printable(part.path())));
  }
  for (const v1::RooflineCase::Traffic& part : work.work.traffic()) {
    bound.notes.push_back(absl::StrCat(FormatCount(static_cast<uint64_t>(part.bytes())), " bytes of device memory"));
  }
  for (const std::string& note : work.notes) bound.notes.push_back(Printable(note));
  if (counters.empty() && !work.work.work().empty()) {
    bound.notes.emplace_back("the kernel's types were not counted: whether the manifest's are the same is not known");
  }
  return bound;
}

std::string Lines(const std::vector<const TracedKernel*>& kernels) {
  std::vector<std::string> lines;
  for (const TracedKernel* kernel : kernels) {
    if (lines.size() == kMaxNamed) break;
    lines.push_back(CutText(KernelLine(*kernel), kMaxLineColumns));
  }
  const size_t more = kernels.size() - lines.size();
  return absl::StrCat(absl::StrJoin(lines, "; "), more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

}  // namespace

std::string ManifestSource(const ManifestBound& bound) {
  return absl::StrCat("manifest ", Quoted(bound.case_id), ": ", bound.binding);
}

std::string ManifestLine(const ManifestBound& bound) {
  return absl::StrCat(Quoted(bound.case_id), ": R0 ", FormatNs(bound.ns), ", ", bound.binding, " binds; of ",
                      CutText(bound.kernel, kMaxLineColumns), "; ", absl::StrJoin(bound.notes, "; "));
}

absl::StatusOr<ManifestBounds> BoundsOfManifest(const v1::Manifest& manifest, const NameFilter& kernels,
                                                absl::Span<const TraceModel> models) {
  if (absl::Status status = CheckManifest(manifest); !status.ok()) return status;
  const absl::StatusOr<OperationWork> work = WorkOfOperation(manifest);
  if (!work.ok()) {
    return absl::Status(work.status().code(), absl::StrCat("manifest ", Quoted(Printable(manifest.case_id())), ": ",
                                                           Printable(work.status().message())));
  }
  std::vector<std::vector<TracedKernel>> found;
  std::vector<std::pair<size_t, const TracedKernel*>> matched;
  for (const TraceModel& model : models) found.push_back(FindKernels(model, kernels));
  for (size_t process = 0; process < found.size(); ++process) {
    for (const TracedKernel& kernel : found[process]) matched.emplace_back(process, &kernel);
  }
  if (matched.empty()) {
    return absl::NotFoundError(
        absl::StrCat("--kernel '", Printable(kernels.expression()), "' matches no kernel with a time in the trace"));
  }
  std::vector<std::pair<size_t, const TracedKernel*>> fitting;
  for (const auto& match : matched) {
    if (LaunchContradictions(manifest, *match.second).empty()) fitting.push_back(match);
  }
  if (fitting.empty()) {
    return Refused(manifest, *matched.front().second, LaunchContradictions(manifest, *matched.front().second));
  }
  std::vector<const TracedKernel*> cases;
  for (const auto& [process, kernel] : fitting) {
    const bool known =
        std::any_of(cases.begin(), cases.end(), [k = kernel](const TracedKernel* c) { return IsSameCase(*c, *k); });
    if (!known) cases.push_back(kernel);
  }
  if (cases.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--kernel '", Printable(kernels.expression()), "' matches ", cases.size(),
        " launch shapes, and a manifest is of one: state schedule.grid and block in it, or match one of these lines: ",
        Lines(cases)));
  }
  ManifestBounds bounds;
  for (const auto& [process, kernel] : fitting) {
    absl::StatusOr<ManifestBound> bound = BoundOf(manifest, *work, models[process], *kernel);
    if (!bound.ok()) return bound.status();
    bounds.emplace(std::pair(process, kernel->signature), *std::move(bound));
  }
  return bounds;
}

}  // namespace gx::analysis
