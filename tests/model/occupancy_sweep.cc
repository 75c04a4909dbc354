#include "tests/model/occupancy_sweep.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/waves.h"

namespace gx::model {
namespace {

absl::Status BadLine(int64_t line, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", problem));
}

// Numbers of fields from `first` on; the last one may be an error's name.
bool ReadNumbers(const std::vector<std::string>& fields, size_t first, std::vector<int64_t>* numbers,
                 std::optional<int64_t>* answer, std::string* error) {
  for (size_t i = first; i + 1 < fields.size(); ++i) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(fields[i], &number)) return false;
    numbers->push_back(number);
  }
  int64_t last = 0;
  if (absl::SimpleAtoi(fields.back(), &last)) {
    *answer = last;
  } else {
    *error = fields.back();
  }
  return true;
}

absl::Status ReadHead(const std::map<std::string, std::string>& head, Sweep* sweep) {
  const auto number = [&head](const char* name) -> int64_t {
    const auto found = head.find(name);
    int64_t value = -1;
    return found != head.end() && absl::SimpleAtoi(found->second, &value) ? value : -1;
  };
  const auto known = [&number](const char* name) -> std::optional<int64_t> {
    const int64_t value = number(name);
    if (value < 0) return std::nullopt;
    return value;
  };
  const auto device = head.find("device");
  const auto capability = head.find("compute_capability");
  if (device == head.end() || capability == head.end()) return absl::InvalidArgumentError("no head of a sweep");
  sweep->device = device->second;
  sweep->driver_version = number("driver");
  sweep->runtime_version = number("runtime");
  sweep->sm_count = number("sm_count");
  const auto parsed = ParseComputeCapability(capability->second);
  if (!parsed.ok()) return parsed.status();
  const auto table = FindSmLimits(*parsed);
  if (!table.ok()) return table.status();
  DeviceSmValues values;
  values.max_threads_per_sm_count = known("max_threads_per_sm");
  values.max_blocks_per_sm_count = known("max_blocks_per_sm");
  values.registers_per_sm_count = known("registers_per_sm");
  values.max_registers_per_block_count = known("registers_per_block");
  values.shared_memory_per_sm_bytes = known("shared_memory_per_sm_bytes");
  values.shared_memory_per_block_bytes = known("shared_memory_per_block_bytes");
  values.shared_memory_per_block_optin_bytes = known("shared_memory_per_block_optin_bytes");
  values.reserved_shared_memory_per_block_bytes = known("reserved_shared_memory_per_block_bytes");
  const auto limits = ApplyDeviceValues(**table, values);
  if (!limits.ok()) return limits.status();
  sweep->limits = *limits;
  return absl::OkStatus();
}

std::string Answer(const std::optional<int64_t>& number, const std::string& error) {
  return number.has_value() ? absl::StrCat(*number) : error;
}

}  // namespace

absl::StatusOr<Sweep> ReadSweep(std::istream& in) {
  Sweep sweep;
  std::map<std::string, std::string> head;
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    if (absl::StartsWith(text, "# ")) {
      const std::pair<std::string, std::string> pair = absl::StrSplit(text.substr(2), absl::MaxSplits(' ', 1));
      head.insert(pair);
      continue;
    }
    const std::vector<std::string> fields = absl::StrSplit(text, '\t');
    std::vector<int64_t> numbers;
    if (fields[0] == "cluster") {
      ClusterPoint point;
      if (fields.size() != 9 || !ReadNumbers(fields, 2, &numbers, &point.active_clusters_count, &point.error)) {
        return BadLine(line, "expected a cluster line of 9 fields");
      }
      point.kernel = fields[1];
      point.registers_per_thread_count = numbers[0];
      point.static_shared_memory_bytes = numbers[1];
      point.dynamic_shared_memory_bytes = numbers[2];
      point.threads_per_block_count = numbers[3];
      point.blocks_per_cluster_count = numbers[4];
      point.blocks_per_sm_count = numbers[5];
      point.line = line;
      sweep.clusters.push_back(std::move(point));
      continue;
    }
    SweepPoint point;
    if (fields.size() != 10 || !ReadNumbers(fields, 1, &numbers, &point.blocks_per_sm_count, &point.error)) {
      return BadLine(line, "expected 10 fields");
    }
    point.kernel = fields[0];
    point.registers_per_thread_count = numbers[0];
    point.static_shared_memory_bytes = numbers[1];
    point.kernel_max_threads_count = numbers[2];
    point.barriers_count = numbers[3];
    point.max_dynamic_shared_memory_bytes = numbers[4];
    point.carveout_percent = numbers[5];
    point.dynamic_shared_memory_bytes = numbers[6];
    point.threads_per_block_count = numbers[7];
    point.line = line;
    sweep.points.push_back(std::move(point));
  }
  const absl::Status status = ReadHead(head, &sweep);
  if (!status.ok()) return status;
  return sweep;
}

std::optional<std::string> Difference(const Sweep& sweep, const SweepPoint& point) {
  const auto differs = [&point](absl::string_view model) {
    return absl::StrCat("line ", point.line, ": ", point.kernel, ", ", point.registers_per_thread_count, " registers, ",
                        point.static_shared_memory_bytes, "+", point.dynamic_shared_memory_bytes,
                        " bytes (dynamic at most ", point.max_dynamic_shared_memory_bytes, "), carve-out ",
                        point.carveout_percent, ", ", point.threads_per_block_count, " threads: runtime ",
                        Answer(point.blocks_per_sm_count, point.error), ", model ", model);
  };
  LaunchResources launch;
  launch.threads_per_block_count = point.threads_per_block_count;
  launch.registers_per_thread_count = point.registers_per_thread_count;
  launch.static_shared_memory_bytes = point.static_shared_memory_bytes;
  launch.dynamic_shared_memory_bytes = point.dynamic_shared_memory_bytes;
  launch.max_dynamic_shared_memory_bytes = point.max_dynamic_shared_memory_bytes;
  launch.carveout_percent = point.carveout_percent;
  launch.barriers_per_block_count = point.barriers_count;
  const auto occupancy = ComputeExactOccupancy(sweep.limits, launch);
  if (!occupancy.ok()) return differs(occupancy.status().message());
  // A runtime that answers with an error holds no block.
  if (occupancy->blocks_per_sm_count == point.blocks_per_sm_count.value_or(0)) return std::nullopt;
  return differs(absl::StrCat(occupancy->blocks_per_sm_count, " (", occupancy->limiters.ToString(), ")"));
}

std::optional<std::string> Difference(const Sweep& sweep, const ClusterPoint& point) {
  const auto differs = [&point](absl::string_view model) {
    return absl::StrCat("line ", point.line, ": ", point.kernel, ", ", point.threads_per_block_count, " threads, ",
                        point.dynamic_shared_memory_bytes, " bytes, clusters of ", point.blocks_per_cluster_count,
                        ": runtime ", Answer(point.active_clusters_count, point.error), " clusters, model ", model);
  };
  if (!point.active_clusters_count.has_value() || *point.active_clusters_count == 0) return std::nullopt;
  // More blocks than SMs x blocks per SM would refute the model's upper bound.
  const auto waves = ComputeWaves({.grid_block_count = point.blocks_per_cluster_count,
                                   .sm_count = sweep.sm_count,
                                   .blocks_per_sm = point.blocks_per_sm_count,
                                   .blocks_per_cluster = point.blocks_per_cluster_count,
                                   .max_active_cluster_count = std::nullopt});
  if (!waves.ok()) return differs(waves.status().message());
  if (*point.active_clusters_count * point.blocks_per_cluster_count <= waves->slot_count) return std::nullopt;
  return differs(absl::StrCat("at most ", waves->slot_count, " blocks"));
}

}  // namespace gx::model
