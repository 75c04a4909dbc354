// Whether a kernel used tensor cores, from what groups counted of it so far. Its tensor pipe alone does not say: on
// Hopper packed half-precision arithmetic (HFMA2, HADD2, HMUL2) runs there as well, two cycles a warp instruction.
// Measured on an H200 (CUPTI 13.0), 28 kernels of a float32 training step: 25 with cycles = thread instructions / 16
// exactly, the others up to 1.54 times that, where lanes were off. Pure.
#ifndef GPUEXEC_INJECT_TENSOR_EVIDENCE_H_
#define GPUEXEC_INJECT_TENSOR_EVIDENCE_H_

#include <cstdint>
#include <string_view>

namespace gx::inject {

struct TensorEvidence {
  double pipe_cycles = 0;          // sm__pipe_tensor_cycles_active.sum, the largest seen.
  double pipe_percent = 0;         // sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active, likewise.
  double packed_half_threads = 0;  // smsp__sass_thread_inst_executed_op_h{add,mul,fma}_pred_on.sum together.

  // Eight of 32 lanes on at least: fewer, and the kernel is taken for one that uses tensor cores, which costs some
  // ranges.
  // Also known before patched code says what was packed: of 20 kernels of two PyTorch programs that show in the pipe
  // without tensor cores, none kept it busier than 4.1 % (H200).
  bool IsCertain() const { return pipe_percent >= 8; }
  bool UsesTensorCores() const { return pipe_cycles > 4 * packed_half_threads / 16; }
};

inline bool IsTensorPipeCycles(std::string_view metric) {
  return metric.starts_with("sm__pipe_tensor_cycles_active") && metric.ends_with(".sum");
}
inline bool IsTensorPipePercent(std::string_view metric) {
  return metric.starts_with("sm__pipe_tensor_cycles_active") && metric.ends_with(".avg.pct_of_peak_sustained_active");
}
inline bool IsPackedHalfThreads(std::string_view metric) {
  return metric == "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum" ||
         metric == "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum" ||
         metric == "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum";
}
inline bool IsTensorPath(std::string_view metric) {
  return metric.starts_with("sm__ops_path_tensor_") && metric.ends_with(".sum");
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_TENSOR_EVIDENCE_H_
