#include "analysis/model/ladder_resource.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

constexpr double kNsPerSecond = 1e9;

absl::Status Named(ResourceKind kind, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("resource '", ResourceName(kind), "': ", status.message()));
}

absl::StatusOr<double> Finite(absl::string_view quantity, double value) {
  if (std::isfinite(value)) return value;
  return absl::OutOfRangeError(absl::StrCat(quantity, ": beyond the range of a double"));
}

absl::Status CheckResource(const LadderResource& resource) {
  if (absl::Status status = CheckNotNegative("work_ns", resource.work_ns); !status.ok()) return status;
  if (const std::optional<double>& useful = resource.useful_ns; useful.has_value()) {
    if (absl::Status status = CheckNotNegative("useful_ns", *useful); !status.ok()) return status;
    if (*useful > resource.work_ns) {
      return absl::InvalidArgumentError(
          absl::StrCat("useful_ns: got ", *useful, ", expected at most work_ns, ", resource.work_ns));
    }
  }
  if (const std::optional<double>& busiest = resource.busiest_ns; busiest.has_value()) {
    if (absl::Status status = CheckNotNegative("busiest_ns", *busiest); !status.ok()) return status;
    if (*busiest < resource.work_ns) {
      return absl::InvalidArgumentError(
          absl::StrCat("busiest_ns: got ", *busiest, ", expected at least work_ns, ", resource.work_ns));
    }
  }
  if (const std::optional<double>& eta = resource.eta_ratio; eta.has_value()) {
    if (!(*eta > 0 && *eta <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("eta_ratio: got ", *eta, ", expected above 0, at most 1"));
    }
    const double sustained = resource.busiest_ns.value_or(resource.work_ns) / *eta;
    if (const auto finite = Finite("busiest_ns / eta_ratio", sustained); !finite.ok()) return finite.status();
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ResourceName(ResourceKind kind) noexcept {
  switch (kind) {
    case ResourceKind::kDram:
      return "dram";
    case ResourceKind::kL2Lookup:
      return "L2 lookup";
    case ResourceKind::kL2DataOut:
      return "L2 data out";
    case ResourceKind::kL2DataIn:
      return "L2 data in";
    case ResourceKind::kL2Fabric:
      return "L2 fabric";
    case ResourceKind::kL2Atomics:
      return "L2 atomics";
    case ResourceKind::kSmPort:
      return "SM port";
    case ResourceKind::kL1Data:
      return "L1/shared data";
    case ResourceKind::kIssue:
      return "issue";
    case ResourceKind::kLsuPipe:
      return "lsu pipe";
    case ResourceKind::kAluPipe:
      return "alu pipe";
    case ResourceKind::kFmaPipe:
      return "fma pipe";
    case ResourceKind::kXuPipe:
      return "xu pipe";
    case ResourceKind::kFp64Pipe:
      return "fp64 pipe";
    case ResourceKind::kTensorOperations:
      return "tensor operations";
    case ResourceKind::kTensorPipe:
      return "tensor pipe";
  }
  return "";
}

ResourceScope ScopeOf(ResourceKind kind) noexcept {
  switch (kind) {
    case ResourceKind::kDram:
      return ResourceScope::kChannel;
    case ResourceKind::kL2Lookup:
    case ResourceKind::kL2DataOut:
    case ResourceKind::kL2DataIn:
    case ResourceKind::kL2Fabric:
    case ResourceKind::kL2Atomics:
      return ResourceScope::kSlice;
    default:
      return ResourceScope::kSm;
  }
}

absl::string_view ScopeName(ResourceScope scope) noexcept {
  switch (scope) {
    case ResourceScope::kChannel:
      return "DRAM channel";
    case ResourceScope::kSlice:
      return "L2 slice";
    case ResourceScope::kSm:
      return "SM";
  }
  return "";
}

bool IsMemory(ResourceKind kind) noexcept {
  return ScopeOf(kind) != ResourceScope::kSm || kind == ResourceKind::kSmPort || kind == ResourceKind::kL1Data;
}

void LadderResources::Set(const LadderResource& resource) {
  for (LadderResource& value : *this) {
    if (value.kind != resource.kind) continue;
    value = resource;
    return;
  }
  if (size_ < values_.size()) values_[size_++] = resource;
}

const LadderResource* LadderResources::Find(ResourceKind kind) const {
  for (const LadderResource& value : *this) {
    if (value.kind == kind) return &value;
  }
  return nullptr;
}

absl::StatusOr<double> WorkNs(double count, double peak_per_clock, double clock_hz) {
  if (absl::Status status = CheckNotNegative("count", count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("peak_per_clock", peak_per_clock); !status.ok()) return status;
  if (absl::Status status = CheckPositive("clock_hz", clock_hz); !status.ok()) return status;
  return Finite("work_ns", count / peak_per_clock / clock_hz * kNsPerSecond);
}

absl::StatusOr<double> BusiestNs(double work_ns, double max_count, double mean_count) {
  if (absl::Status status = CheckNotNegative("work_ns", work_ns); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("max_count", max_count); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("mean_count", mean_count); !status.ok()) return status;
  if (max_count < mean_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_count: got ", max_count, ", expected at least the mean, ", mean_count));
  }
  if (max_count == 0) return work_ns;
  return Finite("busiest_ns", work_ns * (max_count / mean_count));
}

absl::StatusOr<double> BusiestOfEqualBlocksNs(double work_ns, int64_t block_count, int64_t sm_count) {
  if (absl::Status status = CheckNotNegative("work_ns", work_ns); !status.ok()) return status;
  if (absl::Status status = CheckPositive("block_count", block_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("sm_count", sm_count); !status.ok()) return status;
  const auto most = static_cast<double>(CeilDivide(block_count, sm_count));
  return Finite("busiest_ns", work_ns * (most * static_cast<double>(sm_count) / static_cast<double>(block_count)));
}

absl::Status CheckResources(absl::Span<const LadderResource> resources) {
  ResourceSet seen;
  for (const LadderResource& resource : resources) {
    if (static_cast<size_t>(resource.kind) >= kResourceKindCount) {
      return absl::InvalidArgumentError(
          absl::StrCat("resource: kind: got ", static_cast<int>(resource.kind), ", expected one of the list"));
    }
    if (seen.Contains(resource.kind)) {
      return Named(resource.kind, absl::InvalidArgumentError("got it twice, expected each kind at most once"));
    }
    seen.Add(resource.kind);
    if (absl::Status status = CheckResource(resource); !status.ok()) return Named(resource.kind, status);
  }
  return absl::OkStatus();
}

double BusiestAtClockNs(const LadderResource& resource, double clock_ratio) noexcept {
  return resource.busiest_ns.value_or(resource.work_ns) * (resource.on_sm_clock ? clock_ratio : 1);
}

double SustainedNs(const LadderResource& resource, double clock_ratio) noexcept {
  return BusiestAtClockNs(resource, clock_ratio) / resource.eta_ratio.value_or(1);
}

}  // namespace gx::model
