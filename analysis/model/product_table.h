// The rows behind products.h. Internal to the model; ask Products and FindProduct. Any thread; static.
#ifndef GPUEXEC_ANALYSIS_MODEL_PRODUCT_TABLE_H_
#define GPUEXEC_ANALYSIS_MODEL_PRODUCT_TABLE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "analysis/model/products.h"

namespace gx::model {

inline constexpr size_t kProductCount = 20;

absl::Span<const Product> ProductTable() noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_PRODUCT_TABLE_H_
