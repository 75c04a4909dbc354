// Terms as whole numbers whose sum is that of the terms: each is rounded down, and the units that are then missing go
// to the largest remainders (the method of Hamilton). A term of exactly 0 stays 0. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_ROUNDING_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_ROUNDING_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/model/ladder_terms.h"

namespace gx::model {

// Sum of the result: the sum of `parts`, rounded to the nearest. Parts are finite, 0 or more, and together below 2^53,
// up to which every whole number is a double.
[[nodiscard]] absl::StatusOr<absl::InlinedVector<int64_t, kTermCount>> RoundParts(absl::Span<const double> parts);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_ROUNDING_H_
