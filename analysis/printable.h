// Text that may hold anything (paths, names, arguments) -> text that is safe to print: control bytes and bytes that are
// not UTF-8 become \n, \t or \xHH escapes, and a backslash becomes two, so that the escape can be undone. Pure; any
// thread.
#ifndef GPUEXEC_ANALYSIS_PRINTABLE_H_
#define GPUEXEC_ANALYSIS_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {

std::string Printable(absl::string_view text);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_PRINTABLE_H_
