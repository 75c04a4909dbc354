// When may a figure be called measured? The rules of an evidence bundle, and the reconciliation of an observed time
// with the model's lower bound. A timing without the kernel's identity lets a fast fallback pass for the intended
// kernel; a timing without a numerical reference lets a fast and wrong kernel pass for an optimisation; a timing
// without a profiler's record cannot be explained. So all three are asked for, and what lacks one is refused with every
// fault named, one line each.
//
// Sources: the minimal result schema of a kernel measurement (hardware, software, input, launch, result) as NVIDIA's
// "CUDA C++ Best Practices Guide" (timing with synchronised events, verification against a reference) and the Nsight
// Compute documentation (command, metric names, replay mode) ask for its parts. The least number of samples is a
// convention: of 20, the 95th percentile (quantile.h, position 18.05 of 0 to 19) has the largest sample at a weight of
// 0.05 only, of fewer at more.
//
// A text of blanks alone says nothing: it counts as not given, wherever one is asked for. Names in faults are escaped
// (C's escapes for what is not printable), so that a fault is one line whatever a file has in it.
//
// Any thread.
//
//   const std::vector<std::string> faults = EvidenceFaults(evidence, {.case_id = "gemm-4096"});
//   if (faults.empty()) const Reconciliation result = Reconcile(evidence, lower_bound_seconds);
#ifndef GPUEXEC_ANALYSIS_MODEL_EVIDENCE_H_
#define GPUEXEC_ANALYSIS_MODEL_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/model/quantile.h"

namespace gx::model {

// What a figure is worth. A figure never moves from one label to another.
enum class ClaimLabel { kUnspecified, kAnalytical, kIllustrative, kSourceReported, kLocallyMeasured, kUnmeasured };

// "analytical", "locally_measured", ...
absl::string_view ClaimLabelName(ClaimLabel label);

struct DispatchTensor {
  std::string name = {};
  // [1] for a scalar; extents 1 or more.
  std::vector<int64_t> shape = {};
  // In elements, as many as axes.
  std::vector<int64_t> stride = {};
  std::string dtype = {};
};

// What has to be the same for two launches to be the same case. Exact where every part is there; there may be no flags.
struct DispatchKey {
  std::string framework = {};
  std::string backend = {};
  std::string route = {};
  std::string kernel_symbol = {};
  std::vector<DispatchTensor> tensors = {};
  // A set: neither order nor repetition says anything.
  std::vector<std::string> flags = {};
};

// As many tensors are named in a list of faults, and how many more there are.
inline constexpr size_t kMaxNamedTensors = 16;

// Parts that an exact key has and this one lacks, in the key's order: "route", "strides of tensor 'A'"; of more than 16
// tensors that lack something the last part is "parts of 3 more tensors". Empty: exact.
std::vector<std::string> MissingParts(const DispatchKey& key);

inline constexpr size_t kMinRawSamples = 20;

struct Evidence {
  ClaimLabel label = ClaimLabel::kUnspecified;
  std::string case_id;
  DispatchKey dispatch_key;
  std::string selected_backend;
  std::string kernel_symbol;
  std::vector<double> sample_seconds;
  std::optional<double> reference_tolerance;
  std::optional<double> reference_error;
  std::string profiler_command;
  std::string profiler_report;
  // Exact names of the metrics that were collected.
  std::vector<std::string> counter_metrics;
};

// What the evidence is evidence of. Parts of the key that the case leaves empty agree with anything; but of an exact
// key no flags mean that there were none.
struct EvidenceCase {
  std::string case_id = {};
  DispatchKey dispatch_key = {};
};

// Every fault of the evidence, one line each, in a fixed order; empty: valid as what its label says it is.
// - kLocallyMeasured needs all of the above, a case_id even where the case has none, times that are finite and above 0,
//   and an error within its tolerance.
// - kUnmeasured needs to hold no samples. An empty case_id belongs to any case: that is the template.
// - No other label is one of an observation.
std::vector<std::string> EvidenceFaults(const Evidence& evidence, const EvidenceCase& expected);

struct Reconciliation {
  ClaimLabel status = ClaimLabel::kUnmeasured;
  // Absent where there is none, or where what was given is none: not finite, or below 0.
  std::optional<double> lower_bound_seconds;
  size_t sample_count = 0;
  // Absent where nothing was measured.
  std::optional<SampleSummary> observed_seconds;
  // Median less lower bound; absent where either is. Never clamped.
  std::optional<double> residual_seconds;
  // The observation is below the bound: the model, its inputs or the observation is wrong.
  bool model_violation = false;
};

// Of evidence without faults.
Reconciliation Reconcile(const Evidence& evidence, std::optional<double> lower_bound_seconds);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_EVIDENCE_H_
