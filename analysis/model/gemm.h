// Matrix product C[m, n] = A[m, k] B[k, n]: useful operations, the bytes that cannot be avoided at a boundary, and the
// bytes that a tiled schedule moves when nothing is kept between tiles.
//
// Source: NVIDIA Matrix Multiplication Background User's Guide ("Math and Memory Bounds": a multiply-add is two
// operations, each matrix is read or written once); Williams, Waterman, Patterson 2009 (intensity = operations / bytes
// at a named boundary).
//
// Neither is a prediction of DRAM bytes: the first assumes perfect reuse inside the boundary and leaves out epilogues,
// partial sums and workspaces; the second assumes that no cache serves one tile's load to another.
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_GEMM_H_
#define GPUEXEC_ANALYSIS_MODEL_GEMM_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

// Extents 1 or more, element bits 1 to 128 each (element.h): 4 for FP4 or INT4, 16 for BF16.
struct Gemm {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t a_element_bits = 16;
  int64_t b_element_bits = 16;
  int64_t c_element_bits = 16;
};

struct GemmWork {
  int64_t flops = 0;             // 2 m k n, however wide the elements are
  int64_t a_bytes = 0;           // read once
  int64_t b_bytes = 0;           // read once
  int64_t c_bytes = 0;           // written once
  int64_t compulsory_bytes = 0;  // the sum
  double flops_per_byte = 0;     // flops / compulsory_bytes
};
[[nodiscard]] absl::StatusOr<GemmWork> EvaluateGemm(const Gemm& gemm);

struct TiledGemmTraffic {
  // ceil(n / block_n) times all of A, ceil(m / block_m) times all of B: elements outside the matrix are masked.
  int64_t a_read_bytes = 0;
  int64_t b_read_bytes = 0;
  int64_t read_bytes = 0;
  int64_t write_bytes = 0;  // C once
  int64_t total_bytes = 0;
  // The reads if edge tiles along m and n were loaded whole (padded matrices).
  int64_t issued_read_bytes = 0;
  double flops_per_byte = 0;  // useful flops / total_bytes
};
// Where the tile divides: reads = (1 / block_m + 1 / block_n) m n k x bytes; a larger tile never reads more.
[[nodiscard]] absl::StatusOr<TiledGemmTraffic> EvaluateTiledGemm(const Gemm& gemm, int64_t block_m, int64_t block_n);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_GEMM_H_
