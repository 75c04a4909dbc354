#include "analysis/run_coverage.h"

#include <algorithm>
#include <tuple>

namespace gx::analysis {

std::optional<SignatureCoverage> CoverageOf(std::vector<SignatureTime> signatures, uint64_t kernel_ns) {
  if (kernel_ns == 0) return std::nullopt;
  std::sort(signatures.begin(), signatures.end(), [](const SignatureTime& a, const SignatureTime& b) {
    return std::tuple(b.total_ns, b.is_counted) < std::tuple(a.total_ns, a.is_counted);
  });
  const auto all_ns = static_cast<double>(kernel_ns);
  SignatureCoverage coverage;
  double main_ns = 0;
  double counted_ns = 0;
  for (const SignatureTime& signature : signatures) {
    if (signature.total_ns == 0) continue;
    const auto total_ns = static_cast<double>(signature.total_ns);
    ++coverage.signature_count;
    if (signature.is_counted) counted_ns += total_ns;
    if (main_ns >= kCoveredTime * all_ns) continue;
    main_ns += total_ns;
    ++coverage.main_count;
    if (signature.is_counted) ++coverage.main_counted_count;
  }
  coverage.main_ratio = main_ns / all_ns;
  coverage.counted_ratio = counted_ns / all_ns;
  return coverage;
}

}  // namespace gx::analysis
