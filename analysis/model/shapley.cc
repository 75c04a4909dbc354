#include "analysis/model/shapley.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gx::model {

absl::StatusOr<Shapley> ShapleyValues(absl::Span<const double> figures) {
  size_t factor_count = 0;
  while (factor_count < kMaxShapleyFactors && (size_t{1} << factor_count) < figures.size()) ++factor_count;
  if (figures.size() != size_t{1} << factor_count) {
    return absl::InvalidArgumentError(absl::StrCat("figures: got ", figures.size(),
                                                   ", expected one for each subset of at most ", kMaxShapleyFactors,
                                                   " factors (1, 2, 4, 8, 16 or 32)"));
  }
  for (const double figure : figures) {
    if (!std::isfinite(figure)) {
      return absl::InvalidArgumentError(absl::StrCat("figure: got ", figure, ", expected a finite number"));
    }
  }
  // Share of all orders in which exactly s given factors come before one of n: s! (n - 1 - s)! / n!.
  std::array<double, kMaxShapleyFactors> weights = {};
  for (size_t before = 0; before < factor_count; ++before) {
    double weight = 1.0 / static_cast<double>(factor_count);
    for (size_t i = 0; i < before; ++i) {
      weight *= static_cast<double>(i + 1) / static_cast<double>(factor_count - 1 - i);
    }
    weights[before] = weight;
  }
  Shapley shapley;
  shapley.total = figures.front() - figures.back();
  for (size_t factor = 0; factor < factor_count; ++factor) {
    const size_t bit = size_t{1} << factor;
    ShapleyFactor& result = shapley.factors.emplace_back();
    result.solo = figures[0] - figures[bit];
    for (size_t removed = 0; removed < figures.size(); ++removed) {
      if ((removed & bit) != 0) continue;
      const auto before = static_cast<size_t>(__builtin_popcountll(removed));
      result.value += weights[before] * (figures[removed] - figures[removed | bit]);
    }
  }
  return shapley;
}

}  // namespace gx::model
