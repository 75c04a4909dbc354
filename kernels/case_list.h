// What there is to run, for a person and for a program. Needs no device.
#ifndef GPUEXEC_KERNELS_CASE_LIST_H_
#define GPUEXEC_KERNELS_CASE_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_case.h"

namespace gx::kernels {

// A case's name on a line that begins with no space, what it shows and what its --size and --repeat mean below. A last
// line says how many cases are not among these.
std::string ListAsText(const std::vector<const Case*>& cases);

// {"cases": [...], "pairs": [...]}, as README.md says: the cases given, and the pairs that have both of theirs among
// them. Paper values are those at `size` and `repeat`, or else at each case's own.
std::string ListAsJson(const std::vector<const Case*>& cases, std::optional<uint64_t> size,
                       std::optional<uint64_t> repeat);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CASE_LIST_H_
