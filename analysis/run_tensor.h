// Tensor operations of a run against the rates of its device: counted of a few launches of each signature, times its
// launches. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_RUN_TENSOR_H_
#define GPUEXEC_ANALYSIS_RUN_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "analysis/report_roofline.h"
#include "analysis/report_run.h"

namespace gx::analysis {

// A metric over the samples of a signature.
struct CountedRange {
  std::string name;
  double median = 0;
  double min = 0;
  double max = 0;
};

struct TensorSignature {
  // Launches with a timing, and their time.
  uint64_t kernel_count = 0;
  uint64_t total_ns = 0;
  // False: what it does on tensor cores is not known.
  bool is_counted = false;
  // Of one launch.
  std::vector<TensorPathUse> paths;
};

// Paths and is_counted of a signature. Counted as none: its tensor pipe was never active, or only with packed
// half-precision and integer operations.
TensorSignature TensorWorkOf(const RooflineFacts& facts, absl::Span<const CountedRange> counters);

struct TensorTime {
  // Kernel time of the process, of busy devices, and with timings of all active devices.
  uint64_t kernel_ns = 0;
  uint64_t busy_ns = 0;
  uint64_t timed_ns = 0;
};
// Absent: no signature is counted, or there is no time.
std::optional<TensorUse> AddUpTensorUse(absl::Span<const TensorSignature> signatures, const TensorTime& time);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_TENSOR_H_
