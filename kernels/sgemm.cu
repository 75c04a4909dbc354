// C = A B in single precision, twice: one thread per element straight from global memory, and in shared-memory tiles.
// The same FLOP, the same compulsory bytes, another time: a defect beside its cure.
#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kTile = 32;
// Rows checked against the reference: a whole product in double precision on one core would take longer than the case.
constexpr uint64_t kCheckedRows = 4;
}  // namespace

__global__ void NaiveSgemmKernel(uint32_t n, const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c) {
  const uint32_t column = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (uint32_t k = 0; k < n; ++k) sum += a[size_t{row} * n + k] * b[size_t{k} * n + column];
  c[size_t{row} * n + column] = sum;
}

__global__ void TiledSgemmKernel(uint32_t n, const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const uint32_t column = blockIdx.x * kTile + threadIdx.x;
  const uint32_t row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0;
  for (uint32_t start = 0; start < n; start += kTile) {
    const uint32_t a_column = start + threadIdx.x;
    const uint32_t b_row = start + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < n && a_column < n ? a[size_t{row} * n + a_column] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = b_row < n && column < n ? b[size_t{b_row} * n + column] : 0.0f;
    __syncthreads();
    for (uint32_t k = 0; k < kTile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[size_t{row} * n + column] = sum;
}

namespace {

void RunSgemm(CaseRun& run, void (*kernel)(uint32_t, const float*, const float*, float*)) {
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  if (n < 1 || n > 32768) return run.Fail("--size must be a matrix edge of 1 to 32768");
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.fills = 1;
  expect.bytes = repeat * 3 * n * n * sizeof(float);
  expect.flop = repeat * 2 * n * n * n;
  run.Expect(expect);

  const std::vector<float> a = RandomFloats(5, n * n);
  const std::vector<float> b = RandomFloats(6, n * n);
  DeviceArray<float> device_a(run, n * n);
  DeviceArray<float> device_b(run, n * n);
  DeviceArray<float> device_c(run, n * n);
  if (!device_a || !device_b || !device_c) return;
  GX_STEP(run.Upload(device_a.data(), a.data(), device_a.bytes()));
  GX_STEP(run.Upload(device_b.data(), b.data(), device_b.bytes()));
  GX_STEP(run.Poison(device_c.data(), device_c.bytes()));
  const LaunchShape shape{dim3(BlocksFor(n, kTile), BlocksFor(n, kTile)), dim3(kTile, kTile)};
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_STEP(run.Launch(kernel, shape, nullptr, static_cast<uint32_t>(n), device_a.data(), device_b.data(),
                       device_c.data()));
  }
  std::vector<float> c(n * n);
  GX_STEP(run.Download(c.data(), device_c.data(), device_c.bytes()));

  // First, last and evenly spaced rows.
  const uint64_t rows = n < kCheckedRows ? n : kCheckedRows;
  std::vector<uint64_t> row_of(rows);
  for (uint64_t r = 0; r < rows; ++r) row_of[r] = rows == 1 ? 0 : r * (n - 1) / (rows - 1);
  std::vector<double> reference(rows * n, 0.0);
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t k = 0; k < n; ++k) {
      const double factor = a[row_of[r] * n + k];
      for (uint64_t j = 0; j < n; ++j) reference[r * n + j] += factor * double{b[k * n + j]};
    }
  }
  // Terms are below 1, so a sum of n of them in order errs by less than n * n * 2^-24 / 2, and in practice by far less.
  run.CheckValues(
      "rows of C", rows * n, [&](uint64_t i) { return double{c[row_of[i / n] * n + i % n]}; },
      [&](uint64_t i) { return reference[i]; }, 1e-6 * static_cast<double>(n));
  uint64_t untouched = 0;
  for (float value : c) untouched += value != value ? 1 : 0;
  run.CheckEqual("elements of C that nobody wrote", untouched, 0);
}

void RunNaive(CaseRun& run) { RunSgemm(run, NaiveSgemmKernel); }
void RunTiled(CaseRun& run) { RunSgemm(run, TiledSgemmKernel); }

}  // namespace

const Case kNaiveSgemmCase = {"sgemm_naive", "C = A B from global memory: 2 n^3 FLOP, every operand read n times",
                              "matrix edge", 512,
                              "launches",    5,
                              RunNaive};
const Case kTiledSgemmCase = {
    "sgemm_tiled", "C = A B in 32 x 32 shared tiles: 2 n^3 FLOP, every operand read n / 32 times",
    "matrix edge", 512,
    "launches",    5,
    RunTiled};

}  // namespace gx::kernels
