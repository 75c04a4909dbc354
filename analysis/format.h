// Numbers as people read them. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_FORMAT_H_
#define GPUEXEC_ANALYSIS_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {

// "512 ns", "2.05 us", "14.9 ms", "3.2 s", "1 h 02 min": three significant digits.
std::string FormatNs(double duration_ns);
// A time after the start of the run: "+12.0 ms".
std::string FormatOffset(uint64_t offset_ns);
// "1,234,567".
std::string FormatCount(uint64_t count);
// "1 call", "2,000 calls"; with `plural` where the word takes more than an "s".
std::string Plural(uint64_t count, absl::string_view singular, absl::string_view plural = "");
// "512 B", "1.5 KiB", "139 GiB".
std::string FormatBytes(uint64_t bytes);
// "1.98 GHz".
std::string FormatHz(double hz);
// 0.1234 -> "12.3 %"; a ratio above 0 never shows as zero ("<0.1 %").
std::string FormatRatio(double ratio);
// The shortest form with at most `decimals` decimals, "." as the point whatever the locale.
std::string FormatDecimal(double value, int decimals);
// A hardware counter's value: "52,428,800" where it is a whole number, else at most six significant digits;
// "unavailable" where it is no number.
std::string FormatCounterValue(double value);
// The shortest form that reads back as the same number: "0.002", "1.5e+12", "16.049382716049383", "nan".
std::string ShortestDouble(double value);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_FORMAT_H_
