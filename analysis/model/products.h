// Products: what is published of named GPUs, for models of machines that are not at hand (gx-model --device). Never a
// substitute for the device: SM count, L2 and clocks of the device at hand come from the device, and at least five
// entries here differ between sources. Bandwidth at the pins is an upper bound that no kernel reaches: good ones get
// 0.85 to 0.92 of it (te42kyfo/gpu-benches).
//
// Published L2 reads that have no place here, since the product is not in the table: 1410 bytes per clock on A40, 2090
// to 2290 on L40 (te42kyfo/gpu-benches), 4472 on H800 (Luo et al.); and for B300 the profiler's own peak of 117 to 118
// bytes per clock and SM (public notes), which nobody measured.
//
// Sources: product databases and NVIDIA's data sheets, named per row. Any thread; the table is static.
#ifndef GPUEXEC_ANALYSIS_MODEL_PRODUCTS_H_
#define GPUEXEC_ANALYSIS_MODEL_PRODUCTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/peaks.h"

namespace gx::model {

struct Product {
  // "H100 SXM", without the vendor.
  absl::string_view name;
  ComputeCapability compute_capability;
  ProductClass product_class = ProductClass::kUnknown;
  int64_t sm_count = 0;
  // Highest SM clock that is published.
  double boost_clock_hz = 0;
  // The clock that the published tensor rates assume, where it is lower: a headline, no bound.
  std::optional<double> headline_tensor_clock_hz;
  int64_t memory_bus_bits = 0;
  double memory_bits_per_second_per_pin = 0;
  // As published: within 1 % of bus_bits / 8 x rate, or the note says why not.
  double memory_bytes_per_second = 0;
  int64_t l2_bytes = 0;
  // What a benchmark got out of the whole L2 with reads (te42kyfo/gpu-benches): empirical. Absent where nobody
  // published it.
  std::optional<double> measured_l2_read_bytes_per_clock;
  SourceKind source_kind = SourceKind::kUnsourced;
  absl::string_view source;
  // Public sources disagree on a value of this row; the note says on which.
  bool conflict = false;
  absl::string_view note;
};

absl::Span<const Product> Products() noexcept;

struct ProductMatch {
  // Never null; static.
  const Product* product = nullptr;
  // The name does not tell this product from one that is not in the table; says what was taken. Empty where the match
  // is clear.
  absl::string_view remark;
};

// By the table's name or by the driver's ("NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090"), in any case. NotFound
// lists near names; InvalidArgument where the name fits several products and none can stand for the others.
[[nodiscard]] absl::StatusOr<ProductMatch> FindProduct(absl::string_view name);

// By the driver's name: "GeForce" in it, or a known line of professional products; else kUnknown.
ProductClass ProductClassOfName(absl::string_view name);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_PRODUCTS_H_
