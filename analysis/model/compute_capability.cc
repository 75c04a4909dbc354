#include "analysis/model/compute_capability.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gx::model {
namespace {

// One or two digits: no architecture has more, and SimpleAtoi takes signs and spaces.
bool ParseDigits(absl::string_view text, int* value) {
  if (text.empty() || text.size() > 2) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return absl::SimpleAtoi(text, value);
}

}  // namespace

std::string ComputeCapability::ToString() const { return absl::StrCat(major, ".", minor); }

absl::StatusOr<ComputeCapability> ParseComputeCapability(absl::string_view text) {
  ComputeCapability result;
  absl::string_view rest = text;
  if (absl::StartsWith(rest, "sm_")) {
    rest.remove_prefix(3);
    // sm_90a, sm_100f: architecture and family specific code for the same hardware.
    if (absl::EndsWith(rest, "a") || absl::EndsWith(rest, "f")) rest.remove_suffix(1);
    if (rest.size() >= 2 && ParseDigits(rest.substr(0, rest.size() - 1), &result.major) &&
        ParseDigits(rest.substr(rest.size() - 1), &result.minor)) {
      return result;
    }
  } else if (const size_t dot = rest.find('.'); dot != absl::string_view::npos) {
    if (ParseDigits(rest.substr(0, dot), &result.major) && ParseDigits(rest.substr(dot + 1), &result.minor)) {
      return result;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("compute capability: got '", text.substr(0, 32), "', expected major.minor such as 9.0, or sm_90"));
}

}  // namespace gx::model
