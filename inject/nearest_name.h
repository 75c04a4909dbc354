// "Did you mean ...?": the known name closest to a mistyped one. Pure. [MT]
#ifndef GPUEXEC_INJECT_NEAREST_NAME_H_
#define GPUEXEC_INJECT_NEAREST_NAME_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace gx::inject {

// Insertions, deletions and replacements of single bytes that turn `from` into `to`. Cost is the product of the
// lengths.
size_t EditDistance(std::string_view from, std::string_view to);

// The first of the known names with the smallest distance to `name`; "" where none is within `max_distance`.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> known, size_t max_distance);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_NEAREST_NAME_H_
