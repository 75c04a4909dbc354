#include "analysis/format.h"

#include <array>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gx::analysis {
namespace {

// Three significant digits of a value of 1 or more: "1.23", "12.3", "123", "1234".
std::string ThreeDigits(double value) {
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

}  // namespace

std::string FormatNs(double duration_ns) {
  constexpr double kMinuteNs = 60e9;
  constexpr double kHourNs = 3600e9;
  if (duration_ns < 999.5) return absl::StrFormat("%.0f ns", duration_ns);
  if (duration_ns < 999.5e3) return absl::StrCat(ThreeDigits(duration_ns / 1e3), " us");
  if (duration_ns < 999.5e6) return absl::StrCat(ThreeDigits(duration_ns / 1e6), " ms");
  if (duration_ns < 10 * kMinuteNs) return absl::StrCat(ThreeDigits(duration_ns / 1e9), " s");
  if (duration_ns < kHourNs) return absl::StrFormat("%.1f min", duration_ns / kMinuteNs);
  const double hours = std::floor(duration_ns / kHourNs);
  return absl::StrFormat("%.0f h %02.0f min", hours, std::floor((duration_ns - hours * kHourNs) / kMinuteNs));
}

std::string FormatOffset(uint64_t offset_ns) { return absl::StrCat("+", FormatNs(static_cast<double>(offset_ns))); }

std::string FormatCount(uint64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Plural(uint64_t count, absl::string_view singular, absl::string_view plural) {
  if (count == 1) return absl::StrCat("1 ", singular);
  return plural.empty() ? absl::StrCat(FormatCount(count), " ", singular, "s")
                        : absl::StrCat(FormatCount(count), " ", plural);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::floor(value);
  return absl::StrCat(whole ? absl::StrFormat("%.0f", value) : ThreeDigits(value), " ", kUnits[unit]);
}

std::string FormatHz(double hz) {
  if (hz < 1e3) return absl::StrFormat("%.0f Hz", hz);
  if (hz < 1e6) return absl::StrCat(ThreeDigits(hz / 1e3), " kHz");
  if (hz < 1e9) return absl::StrCat(ThreeDigits(hz / 1e6), " MHz");
  return absl::StrFormat("%.3f GHz", hz / 1e9);
}

std::string FormatRatio(double ratio) {
  if (ratio > 0 && ratio < 0.0005) return "<0.1 %";
  return absl::StrFormat("%.1f %%", ratio * 100);
}

std::string FormatDecimal(double value, int decimals) {
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string FormatCounterValue(double value) {
  if (!std::isfinite(value)) return "unavailable";
  // Up to here a double tells a whole number apart from its neighbours.
  constexpr double kMaxWholeNumber = 9007199254740992.0;
  constexpr double kSixDigits = 1e5;
  const double magnitude = std::fabs(value);
  if (magnitude <= kMaxWholeNumber && (magnitude == std::trunc(magnitude) || magnitude >= kSixDigits)) {
    return absl::StrCat(value < 0 ? "-" : "", FormatCount(static_cast<uint64_t>(std::round(magnitude))));
  }
  const std::string text = absl::StrFormat("%.6g", value);
  const size_t point = text.find('.');
  constexpr double kThousand = 1000;
  if (magnitude < kThousand || magnitude >= kSixDigits) return text;
  // No point: rounded up to a whole number.
  const bool whole = point == std::string::npos;
  return absl::StrCat(value < 0 ? "-" : "",
                      FormatCount(static_cast<uint64_t>(whole ? std::round(magnitude) : magnitude)),
                      whole ? "" : text.substr(point));
}

std::string ShortestDouble(double value) {
  // 15 digits are always kept, 17 always tell two numbers apart.
  for (const int digits : {15, 16}) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && read == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

}  // namespace gx::analysis
