// C = A B with BF16 factors and FP32 sums, three times: every operand from global memory; in tiles that shared memory
// and registers hold; in such tiles on tensor cores. Two pairs: the cure of the first is the defect of the second.
#include <cuda_bf16.h>

#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

// A block's tile of C, in both tiled kernels.
constexpr uint32_t kTile = 128;
constexpr unsigned kBlockThreads = 256;
constexpr uint32_t kLanes = 32;
// A block of the naive kernel: a warp a row.
constexpr unsigned kNaiveRows = 8;
// Rows checked against the reference: a whole product on one core would take longer than the case.
constexpr uint64_t kCheckedRows = 4;

// ----------------------------------------------------------------------------------------------------------------
// tiled

// Depth of a stage, and the numbers of C of a thread: 8 x 8, as four quarters of 4 x 4 that lie half a tile apart, so
// that a warp reads B's rows without bank conflicts.
constexpr uint32_t kTiledDepth = 16;
constexpr uint32_t kQuarter = 4;
constexpr uint32_t kHalfTile = kTile / 2;

// BF16 is the upper half of a float.
__device__ __forceinline__ float LowerHalf(uint32_t two) { return __uint_as_float(two << 16); }
__device__ __forceinline__ float UpperHalf(uint32_t two) { return __uint_as_float(two & 0xFFFF0000u); }

// Where number k of row `row` of A's stage lies. Rows move by half a warp where k is 8 or more, so that the two halves
// of a warp, which write numbers 8 apart, meet other banks.
__device__ __forceinline__ uint32_t PlaceInA(uint32_t k, uint32_t row) { return k * kTile + (row ^ (k / 8 * 16)); }

struct TiledStage {
  uint4 a;
  uint2 b[2];
};

__device__ __forceinline__ TiledStage LoadStage(uint32_t n, const __nv_bfloat16* __restrict__ a,
                                                const __nv_bfloat16* __restrict__ b, uint32_t depth) {
  TiledStage stage;
  const size_t a_row = blockIdx.y * kTile + threadIdx.x / 2;
  stage.a = *reinterpret_cast<const uint4*>(a + a_row * n + depth + threadIdx.x % 2 * 8);
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const size_t b_row = depth + half * 8 + threadIdx.x / kLanes;
    stage.b[half] =
        *reinterpret_cast<const uint2*>(b + b_row * n + blockIdx.x * kTile + threadIdx.x % kLanes * kQuarter);
  }
  return stage;
}

__device__ __forceinline__ void StoreStage(const TiledStage& stage, float* __restrict__ tile_a,
                                           float* __restrict__ tile_b) {
  const uint32_t words[4] = {stage.a.x, stage.a.y, stage.a.z, stage.a.w};
#pragma unroll
  for (uint32_t pair = 0; pair < 4; ++pair) {
    const uint32_t k = threadIdx.x % 2 * 8 + pair * 2;
    tile_a[PlaceInA(k, threadIdx.x / 2)] = LowerHalf(words[pair]);
    tile_a[PlaceInA(k + 1, threadIdx.x / 2)] = UpperHalf(words[pair]);
  }
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t row = half * 8 + threadIdx.x / kLanes;
    *reinterpret_cast<float4*>(tile_b + row * kTile + threadIdx.x % kLanes * kQuarter) = make_float4(
        LowerHalf(stage.b[half].x), UpperHalf(stage.b[half].x), LowerHalf(stage.b[half].y), UpperHalf(stage.b[half].y));
  }
}

// ---------------------------------------------------------------------------------------------------------------
// tensor

constexpr uint32_t kTensorDepth = 32;
constexpr uint32_t kStages = 3;
// Rows are padded by 16 bytes: eight rows' 16 bytes then lie in 32 different banks.
constexpr uint32_t kRowOfA = kTensorDepth + 8;
constexpr uint32_t kRowOfB = kTile + 8;
constexpr uint32_t kStageOfA = kTile * kRowOfA;
constexpr uint32_t kStageOfB = kTensorDepth * kRowOfB;
constexpr size_t kTensorSharedBytes = kStages * (kStageOfA + kStageOfB) * sizeof(__nv_bfloat16);
// A warp's part of the tile of C: 64 x 32, of the instruction's 16 x 8.
constexpr uint32_t kWarpRows = 64;
constexpr uint32_t kWarpColumns = 32;
constexpr uint32_t kRowSteps = kWarpRows / 16;
constexpr uint32_t kColumnSteps = kWarpColumns / 8;

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void CopyAsync(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)), "l"(global));
}

// One stage: 128 x 32 of A and 32 x 128 of B, two copies of 16 bytes a thread each.
__device__ __forceinline__ void CopyStage(uint32_t n, const __nv_bfloat16* __restrict__ a,
                                          const __nv_bfloat16* __restrict__ b, uint32_t depth, __nv_bfloat16* stage_a,
                                          __nv_bfloat16* stage_b) {
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t chunk = threadIdx.x + half * kBlockThreads;
    const uint32_t a_row = chunk / 4;
    const uint32_t a_column = chunk % 4 * 8;
    CopyAsync(stage_a + a_row * kRowOfA + a_column, a + size_t{blockIdx.y * kTile + a_row} * n + depth + a_column);
    const uint32_t b_row = chunk / 16;
    const uint32_t b_column = chunk % 16 * 8;
    CopyAsync(stage_b + b_row * kRowOfB + b_column, b + size_t{depth + b_row} * n + blockIdx.x * kTile + b_column);
  }
}

__device__ __forceinline__ void LoadMatrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row)));
}

__device__ __forceinline__ void LoadMatricesTransposed(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row)));
}

__device__ __forceinline__ void MultiplyAdd(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace

__global__ void GemmNaiveKernel(uint32_t n, const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                float* __restrict__ c) {
  const size_t column = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
#pragma unroll 8
  for (uint32_t k = 0; k < n; ++k) {
    sum = fmaf(__bfloat162float(a[row * n + k]), __bfloat162float(b[size_t{k} * n + column]), sum);
  }
  c[row * n + column] = sum;
}

__global__ void __launch_bounds__(kBlockThreads, 2)
    GemmTiledKernel(uint32_t n, const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                    float* __restrict__ c) {
  __shared__ __align__(16) float tile_a[kTiledDepth * kTile];
  __shared__ __align__(16) float tile_b[kTiledDepth * kTile];
  const uint32_t row = threadIdx.x / 16 * kQuarter;
  const uint32_t column = threadIdx.x % 16 * kQuarter;
  float sum[2 * kQuarter][2 * kQuarter] = {};
  TiledStage stage = LoadStage(n, a, b, 0);
#pragma unroll 1
  for (uint32_t depth = 0; depth < n; depth += kTiledDepth) {
    StoreStage(stage, tile_a, tile_b);
    __syncthreads();
    // The next stage is on its way while this one is used; the last time the first one again, unused.
    stage = LoadStage(n, a, b, depth + kTiledDepth < n ? depth + kTiledDepth : 0);
#pragma unroll
    for (uint32_t k = 0; k < kTiledDepth; ++k) {
      float from_a[2 * kQuarter];
      float from_b[2 * kQuarter];
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(from_a + half * kQuarter) =
            *reinterpret_cast<const float4*>(tile_a + PlaceInA(k, half * kHalfTile + row));
        *reinterpret_cast<float4*>(from_b + half * kQuarter) =
            *reinterpret_cast<const float4*>(tile_b + k * kTile + half * kHalfTile + column);
      }
#pragma unroll
      for (uint32_t i = 0; i < 2 * kQuarter; ++i) {
#pragma unroll
        for (uint32_t j = 0; j < 2 * kQuarter; ++j) sum[i][j] = fmaf(from_a[i], from_b[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (uint32_t i = 0; i < 2 * kQuarter; ++i) {
    const size_t c_row = blockIdx.y * kTile + i / kQuarter * kHalfTile + row + i % kQuarter;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      *reinterpret_cast<float4*>(c + c_row * n + blockIdx.x * kTile + half * kHalfTile + column) =
          make_float4(sum[i][half * kQuarter], sum[i][half * kQuarter + 1], sum[i][half * kQuarter + 2],
                      sum[i][half * kQuarter + 3]);
    }
  }
}

__global__ void __launch_bounds__(kBlockThreads, 2)
    GemmTensorKernel(uint32_t n, const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                     float* __restrict__ c) {
  extern __shared__ __align__(16) __nv_bfloat16 stages[];
  __nv_bfloat16* const stages_of_a = stages;
  __nv_bfloat16* const stages_of_b = stages + kStages * kStageOfA;
  const uint32_t warp = threadIdx.x / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  const uint32_t warp_row = warp % 2 * kWarpRows;
  const uint32_t warp_column = warp / 2 * kWarpColumns;
  float sum[kRowSteps][kColumnSteps][4] = {};
  const uint32_t count = n / kTensorDepth;
#pragma unroll
  for (uint32_t s = 0; s < kStages - 1; ++s) {
    CopyStage(n, a, b, s * kTensorDepth, stages_of_a + s * kStageOfA, stages_of_b + s * kStageOfB);
    asm volatile("cp.async.commit_group;");
  }
#pragma unroll 1
  for (uint32_t s = 0; s < count; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    const uint32_t ahead = s + kStages - 1;
    if (ahead < count) {
      CopyStage(n, a, b, ahead * kTensorDepth, stages_of_a + ahead % kStages * kStageOfA,
                stages_of_b + ahead % kStages * kStageOfB);
    }
    // Empty groups too, so that the same number is always outstanding.
    asm volatile("cp.async.commit_group;");
    const __nv_bfloat16* const stage_a = stages_of_a + s % kStages * kStageOfA;
    const __nv_bfloat16* const stage_b = stages_of_b + s % kStages * kStageOfB;
#pragma unroll
    for (uint32_t k = 0; k < kTensorDepth; k += 16) {
      uint32_t from_a[kRowSteps][4];
      uint32_t from_b[kColumnSteps / 2][4];
      // Lane l names row l % 16 of a 16 x 16 square, in its left half or, from lane 16 on, in its right half.
#pragma unroll
      for (uint32_t i = 0; i < kRowSteps; ++i) {
        LoadMatrices(from_a[i], stage_a + (warp_row + i * 16 + lane % 16) * kRowOfA + k + lane / 16 * 8);
      }
#pragma unroll
      for (uint32_t j = 0; j < kColumnSteps / 2; ++j) {
        LoadMatricesTransposed(from_b[j], stage_b + (k + lane % 16) * kRowOfB + warp_column + j * 16 + lane / 16 * 8);
      }
#pragma unroll
      for (uint32_t i = 0; i < kRowSteps; ++i) {
#pragma unroll
        for (uint32_t j = 0; j < kColumnSteps; ++j) {
          MultiplyAdd(sum[i][j], from_a[i], from_b[j / 2][j % 2 * 2], from_b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
  // A lane holds two neighbours of row lane / 4 and two of the row eight further on.
#pragma unroll
  for (uint32_t i = 0; i < kRowSteps; ++i) {
#pragma unroll
    for (uint32_t j = 0; j < kColumnSteps; ++j) {
      const size_t c_row = blockIdx.y * kTile + warp_row + i * 16 + lane / 4;
      const size_t c_column = blockIdx.x * kTile + warp_column + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(c + c_row * n + c_column) = make_float2(sum[i][j][0], sum[i][j][1]);
      *reinterpret_cast<float2*>(c + (c_row + 8) * n + c_column) = make_float2(sum[i][j][2], sum[i][j][3]);
    }
  }
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  // Above 2^13 the sums of products could leave what float holds exactly.
  if (size < kTile || size % kTile != 0 || size > 8192) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.fills = 1;
  expect.bytes = repeat * size * size * (2 * sizeof(__nv_bfloat16) + sizeof(float));
  expect.flop = repeat * 2 * size * size * size;
  return expect;
}

// A product in float, by multiply-adds of `rows` x `columns` numbers of C a block. Conversions of BF16 are shifts.
KnownCounts FloatCounts(uint64_t size, uint64_t rows, uint64_t columns) {
  return {.blocks = size / rows * (size / columns),
          .fp32_flop = 2 * size * size * size,
          .fp64_flop = 0,
          .global_store_bytes = size * size * sizeof(float)};
}

KnownCounts NaiveCounts(uint64_t size) { return FloatCounts(size, kNaiveRows, kLanes); }
KnownCounts TiledCounts(uint64_t size) { return FloatCounts(size, kTile, kTile); }

KnownCounts TensorCounts(uint64_t size) {
  return {.blocks = size / kTile * (size / kTile),
          .fp32_flop = 0,
          .fp64_flop = 0,
          .bf16_tensor_flop = 2 * size * size * size,
          .global_store_bytes = size * size * sizeof(float)};
}

bool UploadHalves(CaseRun& run, const std::vector<float>& values, const DeviceArray<__nv_bfloat16>& to) {
  std::vector<__nv_bfloat16> halves(values.size());
  for (size_t i = 0; i < values.size(); ++i) halves[i] = __float2bfloat16(values[i]);
  return run.Upload(to.data(), halves.data(), to.bytes());
}

std::vector<double> Times(const std::vector<float>& matrix, const std::vector<double>& vector) {
  const size_t n = vector.size();
  std::vector<double> product(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) product[i] += double{matrix[i * n + j]} * vector[j];
  }
  return product;
}

void Run(CaseRun& run, void (*kernel)(uint32_t, const __nv_bfloat16*, const __nv_bfloat16*, float*),
         const LaunchShape& shape) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 128 up to 8192")) return;
  const uint64_t n = run.size();
  std::vector<float> a(n * n);
  std::vector<float> b(n * n);
  for (uint64_t i = 0; i < n * n; ++i) {
    a[i] = RandomSmallFloat(115, i);
    b[i] = RandomSmallFloat(116, i);
  }
  DeviceArray<__nv_bfloat16> device_a(run, n * n);
  DeviceArray<__nv_bfloat16> device_b(run, n * n);
  DeviceArray<float> device_c(run, n * n);
  if (!device_a || !device_b || !device_c) return;
  GX_STEP(UploadHalves(run, a, device_a));
  GX_STEP(UploadHalves(run, b, device_b));
  GX_STEP(run.Poison(device_c.data(), device_c.bytes()));
  GX_STEP(LaunchRepeatedly(run, kernel, shape, static_cast<uint32_t>(n), device_a.data(), device_b.data(),
                           device_c.data()));
  std::vector<float> c(n * n);
  GX_STEP(run.Download(c.data(), device_c.data(), device_c.bytes()));

  // First, last and evenly spaced rows. Whole numbers of 2^-14 below 2^10: exact in any order.
  uint64_t row_of[kCheckedRows];
  for (uint64_t r = 0; r < kCheckedRows; ++r) row_of[r] = r * (n - 1) / (kCheckedRows - 1);
  std::vector<double> rows(kCheckedRows * n, 0.0);
  for (uint64_t r = 0; r < kCheckedRows; ++r) {
    for (uint64_t k = 0; k < n; ++k) {
      for (uint64_t j = 0; j < n; ++j) rows[r * n + j] += double{a[row_of[r] * n + k]} * double{b[k * n + j]};
    }
  }
  run.CheckValues(
      "rows of C", kCheckedRows * n, [&](uint64_t i) { return double{c[row_of[i / n] * n + i % n]}; },
      [&](uint64_t i) { return rows[i]; }, 0);
  // All of C at once: C v = A (B v) for a random v (Freivalds: Probabilistic machines can use less running time, 1977).
  // A number that nobody wrote is a NaN in C v.
  std::vector<double> v(n);
  for (uint64_t j = 0; j < n; ++j) v[j] = double{RandomSmallFloat(119, j)};
  const std::vector<double> c_v = Times(c, v);
  const std::vector<double> a_b_v = Times(a, Times(b, v));
  run.CheckValues(
      "C v", n, [&](uint64_t i) { return c_v[i]; }, [&](uint64_t i) { return a_b_v[i]; }, 0);
}

void RunNaive(CaseRun& run) {
  Run(run, GemmNaiveKernel,
      LaunchShape{dim3(static_cast<unsigned>(run.size() / kLanes), static_cast<unsigned>(run.size() / kNaiveRows)),
                  dim3(kLanes, kNaiveRows)});
}

dim3 TileGrid(const CaseRun& run) {
  return dim3(static_cast<unsigned>(run.size() / kTile), static_cast<unsigned>(run.size() / kTile));
}

void RunTiled(CaseRun& run) { Run(run, GemmTiledKernel, LaunchShape{TileGrid(run), dim3(kBlockThreads)}); }

void RunTensor(CaseRun& run) {
  GX_CUDA(run, cudaFuncSetAttribute(GemmTensorKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kTensorSharedBytes)));
  LaunchShape shape{TileGrid(run), dim3(kBlockThreads)};
  shape.dynamic_shared_bytes = kTensorSharedBytes;
  Run(run, GemmTensorKernel, shape);
}

const Case kNaive = {"gemm_naive",  "BF16 C = A B from global memory: two loads a multiply-add",
                     "matrix edge", 2048,
                     "launches",    100,
                     RunNaive,      "GemmNaiveKernel",
                     "l1_data",     OnPaper,
                     NaiveCounts};
const Case kTiled = {
    "gemm_tiled",  "BF16 C = A B in tiles of 128 x 128, 8 x 8 numbers a thread: 16 loads for 64 multiply-adds",
    "matrix edge", 2048,
    "launches",    100,
    RunTiled,      "GemmTiledKernel",
    "issue",       OnPaper,
    TiledCounts};
const Case kTensor = {"gemm_tensor", "BF16 C = A B in tiles of 128 x 128 on tensor cores (mma.sync)",
                      "matrix edge", 2048,
                      "launches",    200,
                      RunTensor,     "GemmTensorKernel",
                      "tensor",      OnPaper,
                      TensorCounts};

}  // namespace

const Pair kGemmTilingPair = {.name = "gemm_tiling",
                              .change = "where operands are kept between their uses",
                              .defect = &kNaive,
                              .cure = &kTiled,
                              .term = "algorithm"};
const Pair kGemmTensorPair = {.name = "gemm_tensor",
                              .change = "the instruction that multiplies",
                              .defect = &kTiled,
                              .cure = &kTensor,
                              .term = "useful"};

}  // namespace gx::kernels
