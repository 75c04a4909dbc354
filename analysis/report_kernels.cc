// Section 4 of the report: kernels, grouped as asked for.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/kernel_name.h"
#include "analysis/launch_configuration.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/summarised_signatures.h"
#include "analysis/usual_records.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// Kernels of one trace that agree in everything that the model keeps apart.
struct Item {
  const SignatureEntry* signature = nullptr;
  CellKey key;
  const Cell* cell = nullptr;
  const SummarisedKernels* summarised = nullptr;
};

uint64_t TotalNs(const Item& item) {
  return item.cell != nullptr ? item.cell->clean.total_ns() + item.cell->not_clean.total_ns()
                              : item.summarised->total_ns;
}

class ProcessKernels {
 public:
  ProcessKernels(const TraceModel& model, size_t process, const ReportRequest& request)
      : model_(model),
        process_(process),
        request_(request),
        dimensions_(DimensionsFor(request)),
        summarised_signatures_(model),
        records_(model) {}

  void Build(Report* report) {
    GatherItems();
    uint64_t process_total_ns = 0;
    for (const Item& item : items_) process_total_ns += TotalNs(item);
    std::map<Key, std::vector<const Item*>> groups;
    std::map<Key, bool> all_keys;
    for (const Item& item : items_) {
      const Key key = KeyOf(item);
      all_keys.emplace(key, true);
      if (request_.filter.matches_all() ||
          (item.signature != nullptr && request_.filter.Matches(NameOf(*item.signature)))) {
        groups[key].push_back(&item);
      }
    }
    report->kernel_groups_total += all_keys.size();
    for (const auto& [key, items] : groups) report->kernels.push_back(GroupOf(items, process_total_ns));
  }

 private:
  // Function name, signature, device, stream, ranges; "" and kNone where the grouping leaves them out.
  using Key = std::tuple<std::string, const SignatureEntry*, std::optional<uint64_t>, uint32_t, uint32_t, bool>;

  void GatherItems() {
    for (const Cell& cell : model_.cells) {
      // The import may keep apart what this grouping does not ask for.
      const bool known = dimensions_.signature && cell.key.signature != kNone;
      const SignatureEntry* signature = known ? &model_.signatures[cell.key.signature] : nullptr;
      items_.push_back({signature, cell.key, &cell, nullptr});
    }
    for (const SummarisedKernels& summarised : model_.summarised) {
      const bool asked = dimensions_.signature && model_.dimensions.signature;
      const SignatureEntry* signature = asked ? summarised_signatures_.Find(summarised) : nullptr;
      items_.push_back({signature, CellKey{}, nullptr, &summarised});
    }
  }

  const std::string& NameOf(const SignatureEntry& signature) {
    std::string& name = full_names_[&signature];
    if (name.empty()) {
      name = FullKernelName(model_.FunctionName(signature));
      if (name.empty()) name = "(name unknown)";
    }
    return name;
  }

  std::optional<uint64_t> DeviceOf(const Item& item) const {
    if (item.summarised != nullptr) return item.summarised->device_id;
    if (item.key.track != kNone) return model_.tracks.at(item.key.track).device_id();
    if (item.signature != nullptr && item.signature->definition.device_id() != UINT64_MAX) {
      return item.signature->definition.device_id();
    }
    return std::nullopt;
  }

  Key KeyOf(const Item& item) {
    const Grouping& by = request_.grouping;
    Key key("", nullptr, std::nullopt, kNone, NvtxRanges::kNoRange, false);
    if (by.name && item.signature != nullptr) std::get<0>(key) = NameOf(*item.signature);
    if (by.signature) std::get<1>(key) = item.signature;
    if (by.device) std::get<2>(key) = DeviceOf(item);
    if (by.stream) std::get<3>(key) = item.key.track;
    if (by.nvtx) {
      std::get<4>(key) = item.key.nvtx_path;
      std::get<5>(key) = item.key.nvtx_at_capture;
    }
    return key;
  }

  std::string StreamText(const Item& item) const {
    if (item.summarised != nullptr) return "(summarised)";
    if (item.key.track == kNone) return "(unknown)";
    const pb::Track& track = model_.tracks.at(item.key.track);
    return absl::StrCat("device ", track.device_id(), " context ", track.context_id(), " stream ",
                        track.has_stream_id() ? absl::StrCat(track.stream_id()) : std::string("?"));
  }

  std::string NvtxText(const Item& item) const {
    if (item.summarised != nullptr) return "(summarised)";
    if (item.key.nvtx_path == NvtxRanges::kNoRange) return "(no range)";
    std::string text;
    for (const auto& [domain_iid, name_iid] : model_.nvtx.Ranges(item.key.nvtx_path)) {
      if (!text.empty()) text += " > ";
      const auto domain = model_.nvtx_domains.find(domain_iid);
      // 0 and 1 are the default domain.
      if (domain_iid > 1 && domain != model_.nvtx_domains.end()) absl::StrAppend(&text, Printable(domain->second), ":");
      constexpr size_t kMaxRangeName = 256;
      const absl::string_view name = model_.NameOf(name_iid);
      absl::StrAppend(&text, name.empty() ? "(unnamed)" : Printable(name.substr(0, kMaxRangeName)));
    }
    return text;
  }

  KernelGroup GroupOf(const std::vector<const Item*>& items, uint64_t process_total_ns) {
    KernelGroup group;
    group.process = process_;
    std::set<const SignatureEntry*> signatures;
    std::set<std::string> names;
    std::set<std::optional<uint64_t>> devices;
    std::vector<const DurationSamples*> clean;
    std::vector<const DurationSamples*> not_clean;
    uint64_t timed_count = 0;
    SummarisedKernels sums;
    for (const Item* item : items) {
      if (item->signature != nullptr && signatures.insert(item->signature).second) {
        names.insert(NameOf(*item->signature));
        const LaunchConfiguration launch = ConfigurationOf(model_, *item->signature, records_.Of(*item->signature));
        if (signatures.size() == 1) {
          group.launch = launch;
        } else {
          KeepCommon(&group.launch, launch);
        }
        // Launches are not kept apart by stream or range.
        if (!request_.grouping.stream && !request_.grouping.nvtx) {
          group.launches_without_kernel += item->signature->launches_without_kernel;
          group.untimed_launch_count += item->signature->untimed_launch_count;
        }
      }
      devices.insert(DeviceOf(*item));
      group.total_ns += TotalNs(*item);
      if (item->cell != nullptr) {
        const Cell& cell = *item->cell;
        group.calls += cell.kernel_count;
        group.clean_count += cell.clean.count();
        group.warm_up_count += cell.warm_up_count;
        group.overlapping_count += cell.overlapping_count;
        group.late_count += cell.late_count;
        group.next_to_switch_count += cell.next_to_switch_count;
        group.untimed_count += cell.untimed_count;
        group.unfinished_count += cell.unfinished_count;
        group.invalid_count += cell.invalid_count;
        timed_count += cell.clean.count() + cell.not_clean.count();
        clean.push_back(&cell.clean);
        not_clean.push_back(&cell.not_clean);
      } else {
        group.calls += item->summarised->count;
        group.summarised_count += item->summarised->count;
        sums.total_ns += item->summarised->total_ns;
        sums.min_ns = std::min(sums.min_ns, item->summarised->min_ns);
        sums.max_ns = std::max(sums.max_ns, item->summarised->max_ns);
        sums.buckets.Add(item->summarised->buckets);
      }
    }
    group.signature_count = signatures.size();
    if (signatures.size() == 1) {
      group.signature = static_cast<uint32_t>(*signatures.begin() - model_.signatures.data());
    }
    if (names.size() == 1) {
      group.full_name = *names.begin();
      group.short_name = ShortKernelName(group.full_name);
    }
    if (devices.size() == 1) group.device_id = *devices.begin();
    if (request_.grouping.stream) group.stream = StreamText(*items.front());
    if (request_.grouping.nvtx) {
      group.nvtx = NvtxText(*items.front());
      group.nvtx_at_capture = items.front()->key.nvtx_at_capture;
    }
    if (process_total_ns > 0) {
      group.share_ratio = static_cast<double>(group.total_ns) / static_cast<double>(process_total_ns);
    }
    if (timed_count > 0) {
      group.overlapped_ratio = static_cast<double>(group.overlapping_count) / static_cast<double>(timed_count);
    }
    const std::vector<const DurationSamples*>& basis = group.clean_count > 0 ? clean : not_clean;
    group.picked_ns = DurationSamples::Pick(basis, kPickedDurations);
    if (group.clean_count > 0) {
      group.basis = group.clean_count >= kMinCleanSamples ? MedianBasis::kClean : MedianBasis::kFewClean;
      group.durations = DurationSamples::Summarise(clean);
    } else if (timed_count > 0) {
      group.basis = MedianBasis::kNotClean;
      group.durations = DurationSamples::Summarise(not_clean);
    } else if (group.summarised_count > 0) {
      group.basis = MedianBasis::kBuckets;
      group.durations = SummariseBuckets(sums.buckets, group.summarised_count, sums.total_ns, sums.min_ns, sums.max_ns);
    }
    return group;
  }

  const TraceModel& model_;
  const size_t process_;
  const ReportRequest& request_;
  const CellDimensions dimensions_;
  std::vector<Item> items_;
  SummarisedSignatures summarised_signatures_;
  const UsualRecords records_;
  absl::flat_hash_map<const SignatureEntry*, std::string> full_names_;
};

bool Before(const KernelGroup& a, const KernelGroup& b, SortKey sort) {
  switch (sort) {
    case SortKey::kCalls:
      if (a.calls != b.calls) return a.calls > b.calls;
      break;
    case SortKey::kMedian:
      if (a.durations.median_ns != b.durations.median_ns) return a.durations.median_ns > b.durations.median_ns;
      break;
    case SortKey::kMax:
      if (a.durations.max_ns != b.durations.max_ns) return a.durations.max_ns > b.durations.max_ns;
      break;
    case SortKey::kOverlap:
      if (a.overlapped_ratio != b.overlapped_ratio) return a.overlapped_ratio > b.overlapped_ratio;
      break;
    case SortKey::kName:
      if (a.full_name != b.full_name) return a.full_name < b.full_name;
      break;
    case SortKey::kTotal:
      break;
  }
  // Then by total, and by what tells rows apart: equal traces give equal reports.
  if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
  const auto rest = [](const KernelGroup& group) {
    const Dim grid = group.launch.grid.value_or(Dim{});
    const Dim block = group.launch.block.value_or(Dim{});
    return std::tuple(group.process, group.full_name, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                      group.launch.dynamic_shared_memory_bytes.value_or(0), group.launch.graph_node,
                      group.device_id.value_or(UINT64_MAX), group.stream, group.nvtx, group.nvtx_at_capture,
                      group.launch.from_activity, group.calls);
  };
  return rest(a) < rest(b);
}
}  // namespace

void AddKernels(const TraceModel& model, size_t process, const ReportRequest& request, Report* report) {
  ProcessKernels(model, process, request).Build(report);
}

void SortKernels(SortKey sort, std::vector<KernelGroup>* kernels) {
  std::sort(kernels->begin(), kernels->end(),
            [sort](const KernelGroup& a, const KernelGroup& b) { return Before(a, b, sort); });
}

}  // namespace gx::analysis
