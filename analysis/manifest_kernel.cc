#include "analysis/manifest_kernel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/kernel_name.h"
#include "analysis/launch_configuration.h"
#include "analysis/usual_records.h"

namespace gx::analysis {
namespace {

std::string DimText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return "unknown";
  std::string text = absl::StrCat(dim->x);
  if (dim->y > 1 || dim->z > 1) absl::StrAppend(&text, "x", dim->y);
  if (dim->z > 1) absl::StrAppend(&text, "x", dim->z);
  return text;
}

}  // namespace

std::string KernelLine(const TracedKernel& kernel) {
  std::string line =
      absl::StrCat(kernel.full_name, "  grid ", DimText(kernel.launch.grid), ", block ", DimText(kernel.launch.block));
  if (kernel.launch.cluster.has_value()) absl::StrAppend(&line, ", cluster ", DimText(kernel.launch.cluster));
  return line;
}

std::vector<TracedKernel> FindKernels(const TraceModel& model, const NameFilter& kernels) {
  const UsualRecords records(model);
  std::map<uint32_t, TracedKernel> by_signature;
  for (const Cell& cell : model.cells) {
    if (cell.key.signature == kNone) continue;
    TracedKernel& kernel = by_signature[cell.key.signature];
    kernel.kernel_count += cell.kernel_count;
    kernel.total_ns += cell.clean.total_ns() + cell.not_clean.total_ns();
    kernel.clean.push_back(&cell.clean);
    kernel.clean_count += cell.clean.count();
  }
  std::vector<std::pair<std::string, TracedKernel>> found;
  for (auto& [signature, kernel] : by_signature) {
    const SignatureEntry& entry = model.signatures[signature];
    kernel.signature = signature;
    kernel.device_id = entry.definition.device_id();
    kernel.mangled_name = std::string(model.FunctionName(entry));
    kernel.full_name = FullKernelName(kernel.mangled_name);
    if (kernel.full_name.empty()) kernel.full_name = "(name unknown)";
    kernel.launch = ConfigurationOf(model, entry, records.Of(entry));
    std::string line = KernelLine(kernel);
    if (!kernels.Matches(kernel.full_name) && !kernels.Matches(line)) continue;
    found.emplace_back(std::move(line), std::move(kernel));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.second.total_ns, a.first, a.second.signature) <
           std::tuple(a.second.total_ns, b.first, b.second.signature);
  });
  std::vector<TracedKernel> result;
  result.reserve(found.size());
  for (auto& [line, kernel] : found) result.push_back(std::move(kernel));
  return result;
}

bool IsSameCase(const TracedKernel& a, const TracedKernel& b) {
  return a.mangled_name == b.mangled_name && a.launch.grid == b.launch.grid && a.launch.block == b.launch.block &&
         a.launch.cluster == b.launch.cluster &&
         a.launch.dynamic_shared_memory_bytes == b.launch.dynamic_shared_memory_bytes;
}

}  // namespace gx::analysis
