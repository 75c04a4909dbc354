// The rows behind peaks.h: rates per clock per SM, one row for each compute capability, product class and path.
// Internal to the model; ask FindRate and FindMemoryRate. Any thread; static.
#ifndef GPUEXEC_ANALYSIS_MODEL_RATE_TABLE_H_
#define GPUEXEC_ANALYSIS_MODEL_RATE_TABLE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/peaks.h"
#include "analysis/model/roofline.h"

namespace gx::model {

struct RateSource {
  SourceKind kind = SourceKind::kUnsourced;
  absl::string_view text;
};

// What another source says, or a caveat.
struct RateNote {
  bool conflict = false;
  absl::string_view text;
};

struct RateRow {
  ComputeCapability compute_capability;
  // kUnknown: the same for every class. A path that depends on the class has a row for each.
  ProductClass product_class = ProductClass::kUnknown;
  RatePath path;
  double operations_per_clock_per_sm = 0;
  RateSource source;
  RateNote note;
  // With 2:4 sparsity, where that is not twice the dense rate; 0 elsewhere.
  double sparse_operations_per_clock_per_sm = 0;
};

// By rising compute capability.
absl::Span<const RateRow> RateRows() noexcept;

struct MemoryRateRow {
  ComputeCapability compute_capability;
  OnChipMemory memory = OnChipMemory::kShared;
  double bytes_per_clock = 0;
  CeilingKind kind = CeilingKind::kUnspecified;
  RateSource source;
  RateNote note;
};

absl::Span<const MemoryRateRow> MemoryRateRows() noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_RATE_TABLE_H_
