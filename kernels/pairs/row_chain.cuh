// A chain of rows of 128 bytes through a table larger than L2, for warps that read it row by row. Each row's number
// leads to the next by a step that can be read from the row or computed: the same rows either way.
#ifndef GPUEXEC_KERNELS_PAIRS_ROW_CHAIN_CUH_
#define GPUEXEC_KERNELS_PAIRS_ROW_CHAIN_CUH_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel_case.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {

inline constexpr uint32_t kRowLanes = 32;
// 512 MiB: more than eight times an L2 of 60 MiB.
inline constexpr uint32_t kRows = 1u << 22;

// A step of a linear congruential generator: modulo a power of two it visits every row (Hull and Dobell: Random number
// generators, SIAM Review 4, 1962).
__host__ __device__ inline uint32_t NextRow(uint32_t row) { return (row * 1664525u + 1013904223u) & (kRows - 1); }

// What is made of the rows read, so that none can be left out.
__host__ __device__ inline uint32_t Absorb(uint32_t sum, uint32_t value) { return sum * 5u + value; }

// kRowLanes words a row, each the number of the next row.
inline std::vector<uint32_t> RowTable() {
  std::vector<uint32_t> table(size_t{kRows} * kRowLanes);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t lane = 0; lane < kRowLanes; ++lane) table[size_t{row} * kRowLanes + lane] = NextRow(row);
  }
  return table;
}

// The first row of each of `warps` warps.
inline std::vector<uint32_t> FirstRows(uint64_t seed, uint64_t warps) {
  std::vector<uint32_t> rows(warps);
  for (uint64_t warp = 0; warp < warps; ++warp) rows[warp] = RandomBits(seed, warp) & (kRows - 1);
  return rows;
}

// Every lane of a warp has written what its chain of `steps` rows sums to, plus its own number.
inline void CheckChains(CaseRun& run, const std::vector<uint32_t>& out, const std::vector<uint32_t>& first_rows,
                        uint32_t steps) {
  std::vector<uint32_t> sums(first_rows.size(), 0);
  for (size_t warp = 0; warp < first_rows.size(); ++warp) {
    uint32_t row = first_rows[warp];
    for (uint32_t step = 0; step < steps; ++step) {
      row = NextRow(row);
      sums[warp] = Absorb(sums[warp], row);
    }
  }
  CheckWords(run, "chains", out,
             [&](uint64_t i) { return sums[i / kRowLanes] + static_cast<uint32_t>(i % kRowLanes); });
}

// The next row is known when the last one has arrived.
__device__ __forceinline__ void FollowRows(uint32_t steps, const uint32_t* __restrict__ table,
                                           const uint32_t* __restrict__ first_rows, uint32_t* __restrict__ out) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t lane = threadIdx.x % kRowLanes;
  uint32_t row = first_rows[thread / kRowLanes];
  uint32_t sum = 0;
#pragma unroll 8
  for (uint32_t step = 0; step < steps; ++step) {
    row = table[size_t{row} * kRowLanes + lane];
    sum = Absorb(sum, row);
  }
  out[thread] = sum + lane;
}

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_PAIRS_ROW_CHAIN_CUH_
