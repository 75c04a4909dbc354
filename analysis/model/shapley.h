// What each of several factors adds to a figure that depends on all of them: the Shapley value, the mean over all
// orders of removing them of what its removal takes away. No order to argue about, and the values sum exactly to what
// removing all of them takes away.
//
// Source: Shapley, "A Value for n-Person Games" (Contributions to the Theory of Games II, 1953).
//
// A value is no saving: where two factors hide each other, removing one alone gains less (the solo effect). Any thread;
// nothing allocates where nothing is wrong.
//
//   // Nothing removed: 40; a: 25; b: 30; both: 12.
//   const double figures[] = {40, 25, 30, 12};
//   ShapleyValues(figures)->factors[0];  // {.value = 16.5, .solo = 15}
#ifndef GPUEXEC_ANALYSIS_MODEL_SHAPLEY_H_
#define GPUEXEC_ANALYSIS_MODEL_SHAPLEY_H_

#include <cstddef>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace gx::model {

inline constexpr size_t kMaxShapleyFactors = 5;

struct ShapleyFactor {
  double value = 0;
  // Removed alone.
  double solo = 0;
};

struct Shapley {
  // Nothing removed less everything removed: the sum of all values.
  double total = 0;
  absl::InlinedVector<ShapleyFactor, kMaxShapleyFactors> factors;
};

// `figures[s]` is the figure where the factors of the bits of s are removed: 2^n finite figures, n 0 to 5. Values are 0
// or above where no removal makes the figure larger.
[[nodiscard]] absl::StatusOr<Shapley> ShapleyValues(absl::Span<const double> figures);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_SHAPLEY_H_
