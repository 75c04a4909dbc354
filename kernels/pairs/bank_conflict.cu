// A matrix transposed through a tile in shared memory whose columns lie in one bank, or a bank each.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kTile = 32;
constexpr unsigned kBlockRows = 8;

template <unsigned kPadding>
__device__ __forceinline__ void Transpose(uint32_t n, const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[kTile][kTile + kPadding];
  const size_t column = blockIdx.x * kTile + threadIdx.x;
  const size_t row = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (unsigned k = 0; k < kTile; k += kBlockRows) tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * n + column];
  __syncthreads();
  const size_t out_column = blockIdx.y * kTile + threadIdx.x;
  const size_t out_row = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
  for (unsigned k = 0; k < kTile; k += kBlockRows) {
    out[(out_row + k) * n + out_column] = tile[threadIdx.x][threadIdx.y + k];
  }
}

}  // namespace

__global__ void BankConflictDefectKernel(uint32_t n, const float* __restrict__ in, float* __restrict__ out) {
  Transpose<0>(n, in, out);
}

__global__ void BankConflictCureKernel(uint32_t n, const float* __restrict__ in, float* __restrict__ out) {
  Transpose<1>(n, in, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < kTile || size % kTile != 0 || size > 32768) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = repeat * size * size * 2 * sizeof(float);
  return expect;
}

// `load_wavefronts`: of a warp that reads a column of the tile.
KnownCounts Counts(uint64_t size, uint64_t load_wavefronts) {
  const uint64_t floats = size * size;
  const uint64_t requests = floats / kWarpThreads;
  return {.blocks = floats / (kTile * kTile),
          .fp16_flop = 0,
          .fp32_flop = 0,
          .fp64_flop = 0,
          .threads_per_instruction = kWarpThreads,
          .global_load_bytes = floats * sizeof(float),
          .global_store_bytes = floats * sizeof(float),
          .global_load_sectors = requests * kWarpSectors,
          .global_store_sectors = requests * kWarpSectors,
          .l2_sectors = requests * kWarpSectors * 2,
          .shared_bytes = floats * sizeof(float) * 2,
          .shared_load_wavefronts = requests * load_wavefronts,
          .shared_store_wavefronts = requests,
          .shared_conflicts = requests * (load_wavefronts - 1),
          .dram_read_bytes = floats * sizeof(float),
          .dram_write_bytes = floats * sizeof(float)};
}

KnownCounts DefectCounts(uint64_t size) { return Counts(size, kWarpThreads); }
KnownCounts CureCounts(uint64_t size) { return Counts(size, 1); }

void Run(CaseRun& run, void (*kernel)(uint32_t, const float*, float*)) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 32 up to 32768")) return;
  const uint64_t n = run.size();
  const std::vector<float> in = RandomFloats(104, n * n);
  DeviceArray<float> device_in(run, n * n);
  DeviceArray<float> device_out(run, n * n);
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const auto tiles = static_cast<unsigned>(n / kTile);
  const LaunchShape shape{dim3(tiles, tiles), dim3(kTile, kBlockRows)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, static_cast<uint32_t>(n), device_in.data(), device_out.data()));
  std::vector<float> out(n * n);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  CheckFloats(
      run, "transposed", out, [&](uint64_t i) { return double{in[i % n * n + i / n]}; }, 0);
}

void RunDefect(CaseRun& run) { Run(run, BankConflictDefectKernel); }
void RunCure(CaseRun& run) { Run(run, BankConflictCureKernel); }

const Case kDefect = {"bank_conflict_defect",
                      "transpose through a 32 x 32 tile read by columns: 32 floats of one bank a request",
                      "matrix edge",
                      8192,
                      "launches",
                      200,
                      RunDefect,
                      "BankConflictDefectKernel",
                      "l1_data",
                      OnPaper,
                      DefectCounts};
const Case kCure = {"bank_conflict_cure",
                    "transpose through a tile of 32 rows of 33 floats: a bank each",
                    "matrix edge",
                    8192,
                    "launches",
                    200,
                    RunCure,
                    "BankConflictCureKernel",
                    "dram",
                    OnPaper,
                    CureCounts};

}  // namespace

const Pair kBankConflictPair = {.name = "bank_conflict",
                                .change = "one float of padding a row of the tile",
                                .defect = &kDefect,
                                .cure = &kCure,
                                .term = "conflicts",
                                .what_if = "no_conflicts"};

}  // namespace gx::kernels
