// Peaks: how many operations an SM can do per clock, by compute capability, product class and data types, and the
// theoretical peak that follows: rate x SMs x clock. Operations count a multiply-add as two.
//
// The tables are a fallback. What was read from a device overrides them, and every value says where it comes from: each
// row names its source, how good that source is, and whether another one disagrees. Sources: CUDA C++ Programming
// Guide, "Arithmetic Instructions" (throughput table); the NVIDIA A100 and RTX Blackwell whitepapers; openxla/xla
// stream_executor/cuda/cuda_core_info_table.cc; answers of NVIDIA staff in the developer forum; measurements of
// te42kyfo/gpu-benches; product databases. Values that no public page was found for are in the table as kUnsourced.
//
// A headline in TFLOP/s is no upper bound: it assumes a clock that products exceed (H100: 989 T at 1.83 GHz, while the
// SMs reach 1.98 GHz). A bound needs the clock that the SMs really had, or the highest that they can have. Compute
// capability alone does not give the rate either: GeForce products of one capability have half the tensor rate with
// FP32 accumulation.
//
// Not in the tables, for want of a public source: any rate of 11.0 and 12.1, though sm_limits.h has their SMs; L1 loads
// of 7.5, 8.7, 10.x and 12.0; L2 widths of anything but A100. What benchmarks got out of the L2 of a product is in
// products.h.
//
// Any thread. The views in results are to static text, or to what the caller passed in.
//
//   const PeakInput input{.compute_capability = {8, 0}, .path = kTensorBf16Fp32,
//                         .table_sm_count = 108, .table_clock_hz = 1.41e9};
//   ComputePeak(input)->operations_per_second;  // 311.9e12
#ifndef GPUEXEC_ANALYSIS_MODEL_PEAKS_H_
#define GPUEXEC_ANALYSIS_MODEL_PEAKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/roofline.h"

namespace gx::model {

// Cannot be read from the compute capability: CUPTI_DEVICE_ATTR_DEVICE_CLASS or the name says it (products.h).
enum class ProductClass : uint8_t {
  kUnknown,       // enough where the rate does not depend on it
  kProfessional,  // data-centre, workstation and embedded products
  kGeForce,
};
// "professional", "GeForce", "unknown".
absl::string_view ProductClassName(ProductClass product_class) noexcept;

enum class NumberFormat : uint8_t { kNone, kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kFp6, kFp4, kInt32, kInt8, kInt4 };

enum class ExecutionUnit : uint8_t {
  kCudaCore,         // multiply-adds of single threads; FP16 and BF16 packed in pairs
  kTensorCore,       // dense matrix multiply-accumulate
  kSpecialFunction,  // sin, exp2, rsqrt ...: one operation each
  kWarpIssue,        // warp instructions of any kind
};

// One instruction path: unit, format of the sources, format of the destination (accumulator).
struct RatePath {
  ExecutionUnit unit = ExecutionUnit::kCudaCore;
  NumberFormat source = NumberFormat::kNone;
  NumberFormat destination = NumberFormat::kNone;

  friend constexpr bool operator==(const RatePath&, const RatePath&) = default;
};

inline constexpr RatePath kFp64Fma{ExecutionUnit::kCudaCore, NumberFormat::kFp64, NumberFormat::kFp64};
inline constexpr RatePath kFp32Fma{ExecutionUnit::kCudaCore, NumberFormat::kFp32, NumberFormat::kFp32};
inline constexpr RatePath kFp16Fma{ExecutionUnit::kCudaCore, NumberFormat::kFp16, NumberFormat::kFp16};
inline constexpr RatePath kBf16Fma{ExecutionUnit::kCudaCore, NumberFormat::kBf16, NumberFormat::kBf16};
inline constexpr RatePath kInt32Mad{ExecutionUnit::kCudaCore, NumberFormat::kInt32, NumberFormat::kInt32};
inline constexpr RatePath kSpecialFunction{ExecutionUnit::kSpecialFunction, NumberFormat::kFp32, NumberFormat::kFp32};
inline constexpr RatePath kWarpIssue{ExecutionUnit::kWarpIssue, NumberFormat::kNone, NumberFormat::kNone};
inline constexpr RatePath kTensorFp16Fp16{ExecutionUnit::kTensorCore, NumberFormat::kFp16, NumberFormat::kFp16};
inline constexpr RatePath kTensorFp16Fp32{ExecutionUnit::kTensorCore, NumberFormat::kFp16, NumberFormat::kFp32};
inline constexpr RatePath kTensorBf16Fp32{ExecutionUnit::kTensorCore, NumberFormat::kBf16, NumberFormat::kFp32};
inline constexpr RatePath kTensorTf32Fp32{ExecutionUnit::kTensorCore, NumberFormat::kTf32, NumberFormat::kFp32};
inline constexpr RatePath kTensorFp8Fp16{ExecutionUnit::kTensorCore, NumberFormat::kFp8, NumberFormat::kFp16};
inline constexpr RatePath kTensorFp8Fp32{ExecutionUnit::kTensorCore, NumberFormat::kFp8, NumberFormat::kFp32};
inline constexpr RatePath kTensorFp6Fp16{ExecutionUnit::kTensorCore, NumberFormat::kFp6, NumberFormat::kFp16};
inline constexpr RatePath kTensorFp6Fp32{ExecutionUnit::kTensorCore, NumberFormat::kFp6, NumberFormat::kFp32};
inline constexpr RatePath kTensorFp4Fp32{ExecutionUnit::kTensorCore, NumberFormat::kFp4, NumberFormat::kFp32};
inline constexpr RatePath kTensorInt8Int32{ExecutionUnit::kTensorCore, NumberFormat::kInt8, NumberFormat::kInt32};
inline constexpr RatePath kTensorInt4Int32{ExecutionUnit::kTensorCore, NumberFormat::kInt4, NumberFormat::kInt32};
inline constexpr RatePath kTensorFp64Fp64{ExecutionUnit::kTensorCore, NumberFormat::kFp64, NumberFormat::kFp64};

// Every path named above, in that order.
absl::Span<const RatePath> RatePaths() noexcept;
// "fp32", "fp16", "sfu", "issue", "tensor_bf16_fp32": as in manifests and on command lines.
std::string RatePathName(const RatePath& path);
[[nodiscard]] absl::StatusOr<RatePath> ParseRatePath(absl::string_view name);

// 2:4 structured sparsity: half of the operations counted are with zeros and are skipped. Tensor paths from 8.0 on.
enum class Sparsity : uint8_t { kDense, kStructured2To4 };

enum class SourceKind : uint8_t {
  kVendorDocument,   // a guide, whitepaper or header of NVIDIA's
  kDeviceReading,    // what a device of the kind said of itself
  kVendorStatement,  // NVIDIA staff in public, or NVIDIA's code in a public project
  kThirdParty,       // a database, a measurement or a page of somebody else's, quoting NVIDIA or not
  kDerived,          // arithmetic from a published product figure
  kUnsourced,        // recalled, not looked up: no public page was found
};
// "vendor document", "device reading", "vendor statement", "third party", "derived", "unsourced".
absl::string_view SourceKindName(SourceKind kind) noexcept;

// Whether a value was read from the device at hand or taken from a table of this library.
enum class Provenance : uint8_t { kDevice, kTable };
// "device", "table".
absl::string_view ProvenanceName(Provenance provenance) noexcept;

struct SourcedValue {
  double value = 0;
  Provenance provenance = Provenance::kTable;
  // Of a device's value: what the caller says. Of a table's value: the row's source.
  absl::string_view source;
};

// Operations per clock per SM, from the table.
struct Rate {
  double operations_per_clock_per_sm = 0;
  SourceKind source_kind = SourceKind::kUnsourced;
  absl::string_view source;
  // Public sources disagree; the note says what the other one says.
  bool conflict = false;
  // Empty where there is nothing to say.
  absl::string_view note;
};

// NotFound lists what is known for the compute capability (or which capabilities are known). FailedPrecondition where
// the rate depends on the product class and that is kUnknown.
[[nodiscard]] absl::StatusOr<Rate> FindRate(ComputeCapability compute_capability, ProductClass product_class,
                                            const RatePath& path, Sparsity sparsity = Sparsity::kDense);

// Known capabilities, rising.
absl::Span<const ComputeCapability> RateComputeCapabilities() noexcept;

// What was read from the device, absent where it was not. All finite and above 0.
struct DevicePeaks {
  std::optional<int64_t> sm_count = std::nullopt;
  // Of the SMs: the highest they can have, or what they had while the kernel ran.
  std::optional<double> sm_clock_hz = std::nullopt;
  // Of the path asked for, with its sparsity: for example a counter's peak_sustained over SMs.
  std::optional<double> operations_per_clock_per_sm = std::nullopt;
  // Where the above were read, for the result: "cuDeviceGetAttribute", a counter's name.
  absl::string_view source = "device";
};

struct PeakInput {
  ComputeCapability compute_capability = {};
  ProductClass product_class = ProductClass::kUnknown;
  RatePath path = {};
  Sparsity sparsity = Sparsity::kDense;
  DevicePeaks device = {};
  // Of the product (products.h); used where the device's are absent.
  std::optional<int64_t> table_sm_count = std::nullopt;
  std::optional<double> table_clock_hz = std::nullopt;
  absl::string_view table_source = "product table";
};

struct Peak {
  static constexpr CeilingKind kKind = CeilingKind::kTheoretical;
  double operations_per_second = 0;
  SourcedValue operations_per_clock_per_sm;
  SourcedValue sm_count;
  SourcedValue clock_hz;
  // Of the rate's row; kind absent where the device said the rate.
  std::optional<SourceKind> source_kind;
  bool conflict = false;
  absl::string_view note;
};

// Rate x SMs x clock.
[[nodiscard]] absl::StatusOr<Peak> ComputePeak(const PeakInput& input);

enum class OnChipMemory : uint8_t {
  kShared,  // per SM
  kL1Load,  // per SM, global loads that hit
  kL2Read,  // whole chip
};
// "shared memory", "L1 load", "L2 read".
absl::string_view OnChipMemoryName(OnChipMemory memory) noexcept;

struct MemoryRate {
  double bytes_per_clock = 0;
  // Per SM, or of the whole chip.
  bool per_sm = true;
  // A documented width is theoretical, a benchmark's plateau empirical.
  CeilingKind kind = CeilingKind::kUnspecified;
  SourceKind source_kind = SourceKind::kUnsourced;
  absl::string_view source;
  bool conflict = false;
  absl::string_view note;
};

[[nodiscard]] absl::StatusOr<MemoryRate> FindMemoryRate(ComputeCapability compute_capability, OnChipMemory memory);

// Bytes per second at the pins: bus_bits / 8 x transfers. The transfers of a pin are twice the memory clock that the
// driver reports (CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), which is what the second function does.
[[nodiscard]] absl::StatusOr<double> PinBytesPerSecond(int64_t bus_bits, double bits_per_second_per_pin);
[[nodiscard]] absl::StatusOr<double> PinBytesPerSecondAtClock(int64_t bus_bits, double memory_clock_hz);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_PEAKS_H_
