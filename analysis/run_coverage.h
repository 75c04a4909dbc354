// How far counters reach: the signatures that make most of the kernel time, and which of them were counted. Pure; any
// thread.
#ifndef GPUEXEC_ANALYSIS_RUN_COVERAGE_H_
#define GPUEXEC_ANALYSIS_RUN_COVERAGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/report_run.h"

namespace gx::analysis {

struct SignatureTime {
  uint64_t total_ns = 0;
  // Has a usable counter sample of its own.
  bool is_counted = false;
};

// `kernel_ns`: all kernel time, that of no known signature included. Absent: there is none.
std::optional<SignatureCoverage> CoverageOf(std::vector<SignatureTime> signatures, uint64_t kernel_ns);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_COVERAGE_H_
