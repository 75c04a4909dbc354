#include "analysis/report_builder.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/throttle_reasons.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

template <typename T>
std::optional<T> OptionalOf(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

// ------------------------------------------------------------------------------------------------ provenance

// Of a command line as a shell would take it, as far as that helps reading.
std::string Quoted(const std::string& argument) {
  const std::string text = Printable(argument);
  const bool plain = !text.empty() && text.find_first_of(" \t'\"$`*?&|;<>()[]{}!#~") == std::string::npos;
  return plain ? text : absl::StrCat("'", text, "'");
}

std::string UtcTime(uint64_t realtime_ns) {
  if (realtime_ns == 0) return "";
  const auto seconds = static_cast<std::time_t>(realtime_ns / kNsPerSecond);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                         parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// 13000 -> "13.0" (1000 * major + 10 * minor).
std::string CudaVersion(uint64_t version) {
  return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// cuptiGetVersion: since 13.0 the toolkit's version as xxyyzz, before that a small number of its own.
std::string CuptiVersion(uint64_t version) {
  if (version == 0) return "";
  if (version < 100000) return absl::StrCat("API ", version);
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100, " (API ", version, ")");
}

std::vector<std::pair<std::string, std::string>> Settings(const google::protobuf::RepeatedPtrField<pb::Setting>& from) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const pb::Setting& setting : from) {
    settings.emplace_back(Printable(setting.name()), Printable(setting.value()));
  }
  return settings;
}

ProvenanceSection BuildProvenance(const TraceModel& model) {
  ProvenanceSection section;
  section.clock_step_ns = model.clock_step_ns;
  section.clock_pair_count = model.clock_pair_count;
  if (model.trailer.has_value()) {
    switch (model.trailer->reason()) {
      case pb::Trailer::REASON_EXIT:
        section.ended = "exit";
        break;
      case pb::Trailer::REASON_DISABLED:
        section.ended = "disabled";
        break;
      case pb::Trailer::REASON_YIELDED:
        section.ended = "yielded";
        break;
      default:
        section.ended = "unknown";
        break;
    }
  }
  if (!model.header.has_value()) return section;
  const pb::Header& header = *model.header;
  section.header_known = true;
  section.gpuexec_version = Printable(header.gpuexec_version());
  section.source_revision = Printable(header.source_revision());
  section.format = absl::StrCat(header.format_major(), ".", header.format_minor());
  for (const std::string& argument : header.command_line()) {
    absl::StrAppend(&section.command, section.command.empty() ? "" : " ", Quoted(argument));
  }
  section.executable = Printable(header.executable_path());
  section.host = Printable(header.host_name());
  section.pid = header.pid();
  section.parent_pid = header.parent_pid();
  section.pid_namespace = header.pid_namespace();
  section.started = UtcTime(header.start().realtime_ns());
  section.rank_variables = Settings(header.rank_variable());
  section.configuration = Settings(header.configuration());
  section.driver_version = Printable(header.driver_version());
  section.cuda_driver_api_version = CudaVersion(header.cuda_driver_api_version());
  section.cupti_version = CuptiVersion(header.cupti_api_version());
  section.cupti_path = Printable(header.cupti_path());
  section.libcuda_path = Printable(header.libcuda_path());
  section.kernel_record_version = header.kernel_record_version();
  section.kernel_release = Printable(header.kernel_release());
  section.machine = Printable(header.machine());
  return section;
}

// ------------------------------------------------------------------------------------------------ devices and run

// "GPU-8c5d..-....", the form that nvidia-smi prints.
std::string UuidText(const std::string& uuid) {
  if (uuid.size() != 16) return Printable(uuid);
  std::string text = "GPU-";
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", static_cast<unsigned char>(uuid[i]));
  }
  return text;
}

std::optional<MinMedianMax> Spread(const DurationSamples& samples) {
  if (samples.count() == 0) return std::nullopt;
  const DurationSamples* group = &samples;
  const DurationSummary summary = DurationSamples::Summarise({&group, 1});
  return MinMedianMax{summary.min_ns, summary.median_ns, summary.max_ns};
}

std::vector<DeviceSection> BuildDevices(const TraceModel& model, uint64_t wall_ns) {
  std::set<uint64_t> ids;
  for (const auto& [id, device] : model.devices) ids.insert(id);
  for (const auto& [id, activity] : model.activity_by_device) ids.insert(id);
  for (const auto& [id, clocks] : model.clocks_by_device) ids.insert(id);
  std::vector<DeviceSection> sections;
  for (const uint64_t id : ids) {
    DeviceSection section;
    section.device_id = id;
    section.unknown = id == UINT64_MAX;
    if (const auto found = model.devices.find(id); found != model.devices.end()) {
      const pb::Device& device = found->second;
      const pb::DeviceAttributes& attributes = device.attributes();
      section.name = Printable(device.name());
      section.uuid = UuidText(device.uuid());
      section.pci_bus_id = Printable(device.pci_bus_id());
      section.compute_capability_major =
          OptionalOf(attributes.has_compute_capability_major(), attributes.compute_capability_major());
      section.compute_capability_minor =
          OptionalOf(attributes.has_compute_capability_minor(), attributes.compute_capability_minor());
      section.multiprocessor_count =
          OptionalOf(attributes.has_multiprocessor_count(), attributes.multiprocessor_count());
      section.total_memory_bytes = device.total_memory_bytes();
      section.l2_cache_bytes = OptionalOf(attributes.has_l2_cache_bytes(), attributes.l2_cache_bytes());
      section.max_sm_clock_hz = OptionalOf(device.has_max_sm_clock_hz(), device.max_sm_clock_hz());
      section.max_memory_clock_hz = OptionalOf(device.has_max_memory_clock_hz(), device.max_memory_clock_hz());
      section.power_limit_milliwatts = OptionalOf(device.has_power_limit_milliwatts(), device.power_limit_milliwatts());
      section.ecc_enabled = OptionalOf(device.has_ecc_enabled(), device.ecc_enabled());
      section.mig_enabled = OptionalOf(device.has_mig_enabled(), device.mig_enabled());
      section.mps_enabled = OptionalOf(device.has_mps_enabled(), device.mps_enabled());
      section.virtualization_mode = OptionalOf(device.has_virtualization_mode(), device.virtualization_mode());
    }
    if (const auto found = model.clocks_by_device.find(id); found != model.clocks_by_device.end()) {
      const ClockSamples& clocks = found->second;
      section.sample_count = clocks.sample_count;
      section.sm_clock_hz = Spread(clocks.sm_clock_hz);
      section.memory_clock_hz = Spread(clocks.memory_clock_hz);
      section.power_milliwatts = Spread(clocks.power_milliwatts);
      section.temperature_celsius = Spread(clocks.temperature_celsius);
      section.throttle_sample_count = clocks.throttle_sample_count;
      for (size_t bit = 0; bit < clocks.throttle_count_by_bit.size(); ++bit) {
        if (const uint64_t count = clocks.throttle_count_by_bit[bit]; count > 0) {
          section.throttle_reasons.push_back({ThrottleReasonWords(bit), count});
        }
      }
    }
    if (const auto found = model.activity_by_device.find(id); found != model.activity_by_device.end()) {
      const DeviceActivity& activity = found->second;
      section.active = true;
      section.kernel_busy_ns = activity.kernel_busy_ns;
      section.copy_busy_ns = activity.copy_busy_ns;
      section.busy_ns = activity.busy_ns;
      section.span_ns = activity.last_end_ns - std::min(activity.first_start_ns, activity.last_end_ns);
      section.idle_ns = section.span_ns - std::min(section.span_ns, section.busy_ns);
      if (wall_ns > 0) {
        section.busy_of_wall_ratio = static_cast<double>(activity.busy_ns) / static_cast<double>(wall_ns);
      }
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

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
  const Accounting& accounting = model.accounting;
  run.kernel_launches = accounting.launches;
  run.graph_launches = accounting.graph_launches;
  run.refused_launches = accounting.refused_launches;
  run.kernels = accounting.kernel_records() + accounting.summarised_kernels;
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
  section.kernel_records = a.kernel_records();
  section.kernels_joined = a.kernels_joined;
  section.kernels_joined_to_graphs = a.kernels_joined_to_graphs;
  section.kernels_without_launch = a.kernels_without_launch;
  section.kernels_device_launched = a.kernels_device_launched;
  section.kernels_untimed = a.kernels_untimed;
  section.kernels_unfinished = a.kernels_unfinished;
  section.kernels_invalid = a.kernels_invalid;
  section.kernels_signature_from_activity = a.kernels_signature_from_activity;
  section.launches_without_kernel = a.launches_without_kernel;
  section.replays_complete = a.replays_complete;
  section.replays_short = a.replays_short;
  section.replays_unchecked = a.replays_unchecked;
  section.replay_kernels_missing = a.replay_kernels_missing;
  section.signature_disagreements = CountSignatureDisagreements(model, 0, nullptr);
  section.summarised_kernels = a.summarised_kernels;
  section.summarised_launches = a.summarised_launches;
  return section;
}

// ------------------------------------------------------------------------------------------------ kernels

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

LaunchConfiguration ConfigurationOf(const TraceModel& model, const SignatureEntry& entry) {
  LaunchConfiguration launch;
  launch.from_activity = entry.from_activity;
  if (!entry.defined) return launch;
  const pb::Signature& signature = entry.definition;
  launch.grid = Dim{signature.grid_x(), signature.grid_y(), signature.grid_z()};
  launch.block = Dim{signature.block_x(), signature.block_y(), signature.block_z()};
  if (signature.cluster_x() != 0) {
    launch.cluster = Dim{signature.cluster_x(), signature.cluster_y(), signature.cluster_z()};
  }
  launch.dynamic_shared_memory_bytes = signature.dynamic_shared_memory_bytes();
  launch.graph_node = signature.graph_node();
  launch.cooperative = signature.cooperative();
  launch.programmatic = signature.programmatic();
  if (signature.has_driver_occupancy() && signature.driver_occupancy().result() == 0) {
    launch.driver_occupancy_blocks_per_sm = signature.driver_occupancy().max_active_blocks_per_multiprocessor();
  }
  const pb::KernelAttributes* record = entry.attributes == kNone ? nullptr : &model.attributes.at(entry.attributes);
  const pb::Function* function = entry.from_activity ? nullptr : model.functions.Get(signature.function_iid());
  if (function != nullptr && function->has_attributes() && function->attributes().result() == 0) {
    launch.registers_per_thread = function->attributes().registers_per_thread();
    launch.static_shared_memory_bytes = function->attributes().static_shared_memory_bytes();
    launch.local_memory_per_thread_bytes = function->attributes().local_memory_per_thread_bytes();
  } else if (record != nullptr) {
    // The function was gone before its attributes could be read.
    launch.registers_per_thread = record->registers_per_thread();
    launch.static_shared_memory_bytes = record->static_shared_memory_bytes();
    launch.local_memory_per_thread_bytes = record->local_memory_per_thread_bytes();
  }
  if (record != nullptr) launch.shared_memory_executed_bytes = record->shared_memory_executed_bytes();
  return launch;
}

template <typename T>
void KeepIfSame(std::optional<T>* kept, const std::optional<T>& other) {
  if (*kept != other) kept->reset();
}

// What all signatures of a row have in common.
void KeepCommon(LaunchConfiguration* kept, const LaunchConfiguration& other) {
  KeepIfSame(&kept->grid, other.grid);
  KeepIfSame(&kept->block, other.block);
  KeepIfSame(&kept->cluster, other.cluster);
  KeepIfSame(&kept->registers_per_thread, other.registers_per_thread);
  KeepIfSame(&kept->static_shared_memory_bytes, other.static_shared_memory_bytes);
  KeepIfSame(&kept->dynamic_shared_memory_bytes, other.dynamic_shared_memory_bytes);
  KeepIfSame(&kept->local_memory_per_thread_bytes, other.local_memory_per_thread_bytes);
  KeepIfSame(&kept->shared_memory_executed_bytes, other.shared_memory_executed_bytes);
  KeepIfSame(&kept->driver_occupancy_blocks_per_sm, other.driver_occupancy_blocks_per_sm);
  kept->graph_node = kept->graph_node || other.graph_node;
  kept->cooperative = kept->cooperative || other.cooperative;
  kept->programmatic = kept->programmatic || other.programmatic;
  kept->from_activity = kept->from_activity || other.from_activity;
}

class ProcessKernels {
 public:
  ProcessKernels(const TraceModel& model, size_t process, const ReportRequest& request)
      : model_(model), process_(process), request_(request) {}

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
    // attributes -> signatures that such kernels had.
    absl::flat_hash_map<uint32_t, std::vector<const SignatureEntry*>> signatures_by_attributes;
    for (const auto& [pair, count] : model_.kernels_by_signature_and_attributes) {
      signatures_by_attributes[pair.second].push_back(&model_.signatures[pair.first]);
    }
    for (const Cell& cell : model_.cells) {
      const SignatureEntry* signature = cell.key.signature == kNone ? nullptr : &model_.signatures[cell.key.signature];
      items_.push_back({signature, cell.key, &cell, nullptr});
    }
    for (const SummarisedKernels& summarised : model_.summarised) {
      const SignatureEntry* signature = nullptr;
      if (model_.dimensions.signature) {
        int candidates = 0;
        for (const SignatureEntry* candidate : signatures_by_attributes[summarised.attributes]) {
          if (candidate->definition.device_id() != summarised.device_id) continue;
          signature = candidate;
          ++candidates;
        }
        // No kernel of these attributes was joined before the size limit: a signature that agrees with them will do.
        if (candidates == 0 && summarised.attributes != kNone) {
          const pb::KernelAttributes& record = model_.attributes.at(summarised.attributes);
          for (const SignatureEntry* known : SignaturesNamed(model_.NameOf(record.name_iid()))) {
            if (known->definition.device_id() != summarised.device_id ||
                !SignatureDifferences(model_, *known, record).empty()) {
              continue;
            }
            signature = known;
            ++candidates;
          }
        }
        // A summary knows the kernel record only; where that stands for one signature, it is that one's.
        if (candidates != 1) {
          SignatureEntry& made = made_.emplace_back();
          made.from_activity = true;
          made.attributes = summarised.attributes;
          made.definition.set_device_id(summarised.device_id);
          if (summarised.attributes != kNone) {
            const pb::KernelAttributes& record = model_.attributes.at(summarised.attributes);
            made.defined = true;
            made.definition.set_grid_x(record.grid_x());
            made.definition.set_grid_y(record.grid_y());
            made.definition.set_grid_z(record.grid_z());
            made.definition.set_block_x(record.block_x());
            made.definition.set_block_y(record.block_y());
            made.definition.set_block_z(record.block_z());
            made.definition.set_dynamic_shared_memory_bytes(record.dynamic_shared_memory_bytes());
          }
          signature = &made;
        }
      }
      items_.push_back({signature, CellKey{}, nullptr, &summarised});
    }
  }

  // Defined signatures of a function's name, up to a number that keeps the search short in any trace.
  const std::vector<const SignatureEntry*>& SignaturesNamed(absl::string_view name) {
    constexpr size_t kMaxCandidates = 1000;
    if (signatures_by_name_.empty()) {
      for (const SignatureEntry& entry : model_.signatures) {
        if (!entry.defined || entry.from_activity) continue;
        std::vector<const SignatureEntry*>& named = signatures_by_name_[std::string(model_.FunctionName(entry))];
        if (named.size() < kMaxCandidates) named.push_back(&entry);
      }
    }
    return signatures_by_name_[std::string(name)];
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
    for (const Item* item : items) {
      if (item->signature != nullptr && signatures.insert(item->signature).second) {
        names.insert(NameOf(*item->signature));
        const LaunchConfiguration launch = ConfigurationOf(model_, *item->signature);
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
        group.untimed_count += cell.untimed_count;
        group.unfinished_count += cell.unfinished_count;
        group.invalid_count += cell.invalid_count;
        timed_count += cell.clean.count() + cell.not_clean.count();
        clean.push_back(&cell.clean);
        not_clean.push_back(&cell.not_clean);
      } else {
        group.calls += item->summarised->count;
        group.summarised_count += item->summarised->count;
      }
    }
    group.signature_count = signatures.size();
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
    if (group.clean_count > 0) {
      group.basis = group.clean_count >= kMinCleanSamples ? MedianBasis::kClean : MedianBasis::kFewClean;
      group.durations = DurationSamples::Summarise(clean);
    } else if (timed_count > 0) {
      group.basis = MedianBasis::kNotClean;
      group.durations = DurationSamples::Summarise(not_clean);
    }
    return group;
  }

  const TraceModel& model_;
  const size_t process_;
  const ReportRequest& request_;
  std::vector<Item> items_;
  std::deque<SignatureEntry> made_;
  absl::flat_hash_map<const SignatureEntry*, std::string> full_names_;
  absl::flat_hash_map<std::string, std::vector<const SignatureEntry*>> signatures_by_name_;
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

// ------------------------------------------------------------------------------------------------ labels

std::string RankOf(const ProcessSection& section) {
  for (const absl::string_view name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK"}) {
    for (const auto& [variable, value] : section.provenance.rank_variables) {
      if (variable == name) return value;
    }
  }
  return "";
}

// "rank 3" where every trace has a rank and no two share one; else "pid 17", with the host if there are several; else
// the number of the trace on the command line.
void LabelProcesses(std::vector<ProcessSection>* sections) {
  std::set<std::string> ranks;
  std::set<std::string> pids;
  std::set<std::string> hosts;
  std::set<std::string> pids_on_hosts;
  for (const ProcessSection& section : *sections) {
    const std::string rank = RankOf(section);
    if (!rank.empty()) ranks.insert(rank);
    hosts.insert(section.provenance.host);
    if (!section.provenance.header_known) continue;
    pids.insert(absl::StrCat(section.provenance.pid));
    pids_on_hosts.insert(absl::StrCat(section.provenance.host, ":", section.provenance.pid));
  }
  for (size_t i = 0; i < sections->size(); ++i) {
    ProcessSection& section = (*sections)[i];
    if (ranks.size() == sections->size()) {
      section.label = absl::StrCat("rank ", RankOf(section));
    } else if (pids.size() == sections->size()) {
      section.label = absl::StrCat("pid ", section.provenance.pid);
    } else if (pids_on_hosts.size() == sections->size()) {
      section.label = absl::StrCat(section.provenance.host, ":", section.provenance.pid);
    } else {
      section.label = absl::StrCat("trace ", i + 1);
    }
  }
}

}  // namespace

CellDimensions DimensionsFor(const ReportRequest& request) {
  const Grouping& by = request.grouping;
  CellDimensions dimensions;
  // By device alone, too: a device is told by the signature where the stream is not known.
  dimensions.signature = by.signature || by.name || by.device || !request.filter.matches_all();
  dimensions.track = by.stream;
  dimensions.nvtx = by.nvtx;
  return dimensions;
}

Report BuildReport(std::span<const TraceModel> models, const ReportRequest& request) {
  Report report;
  report.grouping = request.grouping;
  report.sort = request.sort;
  report.filter = Printable(request.filter.expression());
  for (size_t i = 0; i < models.size(); ++i) {
    const TraceModel& model = models[i];
    ProcessSection section;
    section.path = Printable(model.path);
    section.size_bytes = model.size_bytes;
    section.frame_count = model.frame_count;
    BuildFindings(model, &section);
    section.accounting = BuildAccounting(model);
    section.provenance = BuildProvenance(model);
    section.run = BuildRun(model);
    section.devices = BuildDevices(model, section.run.wall_ns);
    report.data_lost |= section.data_lost;
    report.processes.push_back(std::move(section));
    ProcessKernels(model, i, request).Build(&report);
  }
  LabelProcesses(&report.processes);
  std::sort(report.kernels.begin(), report.kernels.end(),
            [&](const KernelGroup& a, const KernelGroup& b) { return Before(a, b, request.sort); });
  report.kernel_groups_matched = report.kernels.size();
  if (request.top > 0 && report.kernels.size() > request.top) report.kernels.resize(request.top);
  return report;
}

}  // namespace gx::analysis
