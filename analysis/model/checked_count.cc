#include "analysis/model/checked_count.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gx::model {

absl::Status CheckedCount::DoesNotFit(absl::string_view quantity) const {
  return absl::OutOfRangeError(absl::StrCat(quantity, ": about ", estimate_, ", expected ",
                                            std::numeric_limits<int64_t>::min(), " to ",
                                            std::numeric_limits<int64_t>::max()));
}

}  // namespace gx::model
