// A complete observation as text, for tests. Its figures are made up.
#ifndef GPUEXEC_TESTS_ANALYSIS_MANIFEST_EVIDENCE_TEXT_H_
#define GPUEXEC_TESTS_ANALYSIS_MANIFEST_EVIDENCE_TEXT_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace gx::testing {

// Of the example manifest's case. Samples are 1 to 21 times `step_seconds` above `first_seconds`.
inline std::string MadeUpObservation(double first_seconds, double step_seconds) {
  std::string samples;
  for (int i = 0; i < 21; ++i) absl::StrAppend(&samples, i == 0 ? "" : ", ", first_seconds + i * step_seconds);
  return absl::StrCat(R"(label: CLAIM_LABEL_LOCALLY_MEASURED
case_id: "gemm-4096-bf16-illustrative"
hardware { gpu_model: "made up" clock_policy: "locked" }
software { framework: "made up" framework_version: "1" }
dispatch_key {
  framework: "made up 1" backend: "library" route: "eager" kernel_symbol: "gemm_128x128x32"
  tensor { name: "A" shape: [4096, 4096] stride: [4096, 1] dtype: "bf16" }
  tensor { name: "B" shape: [4096, 4096] stride: [4096, 1] dtype: "bf16" }
  tensor { name: "C" shape: [4096, 4096] stride: [4096, 1] dtype: "bf16" }
}
selected_backend: "library"
kernel_symbol: "gemm_128x128x32"
launch { grid { x: 32 y: 32 } block { x: 256 } registers_per_thread: 64 shared_memory_per_block_bytes: 49152 }
timing { warm_up_count: 20 method: "events" sample_seconds: [)",
                      samples, R"(] }
profiler {
  name: "profiler" version: "1" command: "profiler --all program" report: "report.file" replay_mode: "kernel"
  counter { metric: "dram__bytes.sum" value: 3e9 unit: "byte" }
}
numerical_check { reference: "fp32 product of the same inputs" error_metric: "max_relative_error" tolerance: 0.01 error: 0.002 }
)");
}

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_ANALYSIS_MANIFEST_EVIDENCE_TEXT_H_
