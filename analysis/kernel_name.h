// Mangled kernel names -> what people read. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_KERNEL_NAME_H_
#define GPUEXEC_ANALYSIS_KERNEL_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {

// Longer names are shown as they are: templates of real libraries stay below it, and the demangler's work can grow much
// faster than its input.
inline constexpr size_t kMaxDemangledInputBytes = 16384;
// Names are cut to so many bytes for display and marked with "...".
inline constexpr size_t kMaxShownNameBytes = 32768;

// The full name with its template arguments and parameters, as printable text (control bytes and bad UTF-8 escaped).
// A name that is not mangled, cannot be demangled or is too long is given as it is, escaped.
std::string FullKernelName(absl::string_view mangled);

// The short form of a full name: no return type, no parameters, no template arguments but for the first that names an
// operation. "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(int, ...)"
// -> "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>".
std::string ShortKernelName(absl::string_view full_name);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_KERNEL_NAME_H_
