#include "analysis/model/peaks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/model/check.h"
#include "analysis/model/rate_table.h"

namespace gx::model {
namespace {

constexpr RatePath kPaths[] = {kFp64Fma,         kFp32Fma,         kFp16Fma,         kBf16Fma,        kInt32Mad,
                               kSpecialFunction, kWarpIssue,       kTensorFp16Fp16,  kTensorFp16Fp32, kTensorBf16Fp32,
                               kTensorTf32Fp32,  kTensorFp8Fp16,   kTensorFp8Fp32,   kTensorFp6Fp16,  kTensorFp6Fp32,
                               kTensorFp4Fp32,   kTensorInt8Int32, kTensorInt4Int32, kTensorFp64Fp64};

constexpr ComputeCapability kCapabilities[] = {{7, 0}, {7, 5}, {8, 0},  {8, 6},  {8, 7},
                                               {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}};

absl::string_view FormatName(NumberFormat format) {
  switch (format) {
    case NumberFormat::kFp64:
      return "fp64";
    case NumberFormat::kFp32:
      return "fp32";
    case NumberFormat::kTf32:
      return "tf32";
    case NumberFormat::kFp16:
      return "fp16";
    case NumberFormat::kBf16:
      return "bf16";
    case NumberFormat::kFp8:
      return "fp8";
    case NumberFormat::kFp6:
      return "fp6";
    case NumberFormat::kFp4:
      return "fp4";
    case NumberFormat::kInt32:
      return "int32";
    case NumberFormat::kInt8:
      return "int8";
    case NumberFormat::kInt4:
      return "int4";
    case NumberFormat::kNone:
      break;
  }
  return "none";
}

std::string JoinedPathNames(absl::Span<const RatePath> paths) {
  return absl::StrJoin(paths, ", ",
                       [](std::string* out, const RatePath& path) { absl::StrAppend(out, RatePathName(path)); });
}

std::string JoinedCapabilities() {
  return absl::StrJoin(kCapabilities, ", ", [](std::string* out, ComputeCapability capability) {
    absl::StrAppend(out, capability.ToString());
  });
}

absl::Status UnknownCapability(ComputeCapability capability) {
  return absl::NotFoundError(absl::StrCat("rates of compute capability ", capability.ToString(),
                                          ": not in the table; known: ", JoinedCapabilities()));
}

absl::Status UnknownPath(ComputeCapability capability, const RatePath& path) {
  std::vector<RatePath> known;
  for (const RateRow& row : RateRows()) {
    if (row.compute_capability == capability && (known.empty() || !(known.back() == row.path))) {
      known.push_back(row.path);
    }
  }
  return absl::NotFoundError(absl::StrCat("rate of ", RatePathName(path), " on compute capability ",
                                          capability.ToString(),
                                          ": not in the table; known: ", JoinedPathNames(known)));
}

bool KnownCapability(ComputeCapability capability) {
  return std::find(std::begin(kCapabilities), std::end(kCapabilities), capability) != std::end(kCapabilities);
}

// Structured sparsity came with the tensor cores of 8.0 (A100 whitepaper), for all of their formats but FP64.
bool HasSparsity(const RateRow& row) {
  return row.path.unit == ExecutionUnit::kTensorCore && row.path.source != NumberFormat::kFp64 &&
         row.compute_capability >= ComputeCapability{8, 0};
}

// The device's value where there is one, else the table's.
SourcedValue Choose(double device_value, bool from_device, absl::string_view device_source, double table_value,
                    absl::string_view table_source) {
  if (from_device) return {device_value, Provenance::kDevice, device_source};
  return {table_value, Provenance::kTable, table_source};
}

absl::Status CheckDevice(const DevicePeaks& device) {
  absl::Status status;
  if (device.sm_count.has_value()) status = CheckPositive("device.sm_count", *device.sm_count);
  if (status.ok() && device.sm_clock_hz.has_value()) status = CheckPositive("device.sm_clock_hz", *device.sm_clock_hz);
  if (status.ok() && device.operations_per_clock_per_sm.has_value()) {
    status = CheckPositive("device.operations_per_clock_per_sm", *device.operations_per_clock_per_sm);
  }
  return status;
}

absl::Status Missing(absl::string_view field) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": got none, expected one of the device or of a product"));
}

}  // namespace

absl::string_view ProductClassName(ProductClass product_class) noexcept {
  switch (product_class) {
    case ProductClass::kProfessional:
      return "professional";
    case ProductClass::kGeForce:
      return "GeForce";
    case ProductClass::kUnknown:
      break;
  }
  return "unknown";
}

absl::string_view SourceKindName(SourceKind kind) noexcept {
  switch (kind) {
    case SourceKind::kVendorDocument:
      return "vendor document";
    case SourceKind::kDeviceReading:
      return "device reading";
    case SourceKind::kVendorStatement:
      return "vendor statement";
    case SourceKind::kThirdParty:
      return "third party";
    case SourceKind::kDerived:
      return "derived";
    case SourceKind::kUnsourced:
      break;
  }
  return "unsourced";
}

absl::string_view ProvenanceName(Provenance provenance) noexcept {
  return provenance == Provenance::kDevice ? "device" : "table";
}

absl::string_view OnChipMemoryName(OnChipMemory memory) noexcept {
  switch (memory) {
    case OnChipMemory::kShared:
      return "shared memory";
    case OnChipMemory::kL1Load:
      return "L1 load";
    case OnChipMemory::kL2Read:
      break;
  }
  return "L2 read";
}

absl::Span<const RatePath> RatePaths() noexcept { return kPaths; }

absl::Span<const ComputeCapability> RateComputeCapabilities() noexcept { return kCapabilities; }

std::string RatePathName(const RatePath& path) {
  switch (path.unit) {
    case ExecutionUnit::kSpecialFunction:
      return "sfu";
    case ExecutionUnit::kWarpIssue:
      return "issue";
    case ExecutionUnit::kTensorCore:
      return absl::StrCat("tensor_", FormatName(path.source), "_", FormatName(path.destination));
    case ExecutionUnit::kCudaCore:
      break;
  }
  if (path.source == path.destination) return std::string(FormatName(path.source));
  return absl::StrCat(FormatName(path.source), "_", FormatName(path.destination));
}

absl::StatusOr<RatePath> ParseRatePath(absl::string_view name) {
  for (const RatePath& path : kPaths) {
    if (RatePathName(path) == name) return path;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("instruction path: got '", name.substr(0, 32), "', expected one of ", JoinedPathNames(kPaths)));
}

absl::StatusOr<Rate> FindRate(ComputeCapability compute_capability, ProductClass product_class, const RatePath& path,
                              Sparsity sparsity) {
  const RateRow* found = nullptr;
  const RateRow* other_class = nullptr;
  for (const RateRow& row : RateRows()) {
    if (row.compute_capability != compute_capability || !(row.path == path)) continue;
    if (row.product_class == ProductClass::kUnknown || row.product_class == product_class) {
      found = &row;
      break;
    }
    if (other_class == nullptr) other_class = &row;
  }
  if (found == nullptr && other_class != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "product class: got ", ProductClassName(product_class), ", expected professional or GeForce (rate of ",
        RatePathName(path), " on compute capability ", compute_capability.ToString(), " depends on it)"));
  }
  if (found == nullptr) {
    return KnownCapability(compute_capability) ? UnknownPath(compute_capability, path)
                                               : UnknownCapability(compute_capability);
  }
  Rate rate;
  rate.operations_per_clock_per_sm = found->operations_per_clock_per_sm;
  if (sparsity == Sparsity::kStructured2To4) {
    if (!HasSparsity(*found)) {
      return absl::NotFoundError(absl::StrCat("2:4 sparsity: ", RatePathName(path), " on compute capability ",
                                              compute_capability.ToString(),
                                              " has none; tensor paths but FP64 have it from 8.0 on"));
    }
    rate.operations_per_clock_per_sm = found->sparse_operations_per_clock_per_sm > 0
                                           ? found->sparse_operations_per_clock_per_sm
                                           : 2 * found->operations_per_clock_per_sm;
  }
  rate.source_kind = found->source.kind;
  rate.source = found->source.text;
  rate.conflict = found->note.conflict;
  rate.note = found->note.text;
  return rate;
}

absl::StatusOr<Peak> ComputePeak(const PeakInput& input) {
  if (absl::Status status = CheckDevice(input.device); !status.ok()) return status;
  if (input.table_sm_count.has_value()) {
    if (absl::Status status = CheckPositive("table_sm_count", *input.table_sm_count); !status.ok()) return status;
  }
  if (input.table_clock_hz.has_value()) {
    if (absl::Status status = CheckPositive("table_clock_hz", *input.table_clock_hz); !status.ok()) return status;
  }
  if (!input.device.sm_count.has_value() && !input.table_sm_count.has_value()) return Missing("sm_count");
  if (!input.device.sm_clock_hz.has_value() && !input.table_clock_hz.has_value()) return Missing("clock_hz");

  Peak peak;
  const bool device_rate = input.device.operations_per_clock_per_sm.has_value();
  Rate rate;
  if (!device_rate) {
    const absl::StatusOr<Rate> found =
        FindRate(input.compute_capability, input.product_class, input.path, input.sparsity);
    if (!found.ok()) return found.status();
    rate = *found;
    peak.source_kind = rate.source_kind;
    peak.conflict = rate.conflict;
    peak.note = rate.note;
  }
  peak.operations_per_clock_per_sm = Choose(input.device.operations_per_clock_per_sm.value_or(0), device_rate,
                                            input.device.source, rate.operations_per_clock_per_sm, rate.source);
  peak.sm_count =
      Choose(static_cast<double>(input.device.sm_count.value_or(0)), input.device.sm_count.has_value(),
             input.device.source, static_cast<double>(input.table_sm_count.value_or(0)), input.table_source);
  peak.clock_hz = Choose(input.device.sm_clock_hz.value_or(0), input.device.sm_clock_hz.has_value(),
                         input.device.source, input.table_clock_hz.value_or(0), input.table_source);
  peak.operations_per_second = peak.operations_per_clock_per_sm.value * peak.sm_count.value * peak.clock_hz.value;
  if (!std::isfinite(peak.operations_per_second)) {
    return absl::OutOfRangeError("operations_per_second: rate x SMs x clock is beyond the range of a double");
  }
  return peak;
}

absl::StatusOr<MemoryRate> FindMemoryRate(ComputeCapability compute_capability, OnChipMemory memory) {
  if (!KnownCapability(compute_capability)) return UnknownCapability(compute_capability);
  std::string known;
  for (const MemoryRateRow& row : MemoryRateRows()) {
    if (row.compute_capability != compute_capability) continue;
    if (row.memory == memory) {
      return MemoryRate{row.bytes_per_clock,
                        memory != OnChipMemory::kL2Read,
                        row.kind,
                        row.source.kind,
                        row.source.text,
                        row.note.conflict,
                        row.note.text};
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", OnChipMemoryName(row.memory));
  }
  return absl::NotFoundError(absl::StrCat(OnChipMemoryName(memory), " bytes per clock on compute capability ",
                                          compute_capability.ToString(), ": not published; known: ", known));
}

absl::StatusOr<double> PinBytesPerSecond(int64_t bus_bits, double bits_per_second_per_pin) {
  if (absl::Status status = CheckPositive("bus_bits", bus_bits); !status.ok()) return status;
  if (absl::Status status = CheckPositive("bits_per_second_per_pin", bits_per_second_per_pin); !status.ok()) {
    return status;
  }
  const double bytes_per_second = static_cast<double>(bus_bits) / 8 * bits_per_second_per_pin;
  if (!std::isfinite(bytes_per_second)) {
    return absl::OutOfRangeError("bytes_per_second: bus_bits x rate is beyond the range of a double");
  }
  return bytes_per_second;
}

absl::StatusOr<double> PinBytesPerSecondAtClock(int64_t bus_bits, double memory_clock_hz) {
  if (absl::Status status = CheckPositive("memory_clock_hz", memory_clock_hz); !status.ok()) return status;
  return PinBytesPerSecond(bus_bits, 2 * memory_clock_hz);
}

}  // namespace gx::model
