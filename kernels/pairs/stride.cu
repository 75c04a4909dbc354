// Reads of every eighth float against reads of one after another: the same elements once each, the same writes.
#include <bit>

#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kPerThread = 16;
constexpr uint64_t kPerBlock = uint64_t{kBlockThreads} * kPerThread;
// Eight floats are one sector of 32 bytes, of which a warp's read then uses an eighth.
constexpr uint32_t kLogStride = 3;
constexpr float kFactor = 0.37f;

// Where element i is read: the array is passed over once for each residue, so that each element is read once.
__host__ __device__ constexpr uint32_t Source(uint32_t log_count, uint32_t log_stride, uint32_t i) {
  return ((i << log_stride) & ((1u << log_count) - 1)) + (i >> (log_count - log_stride));
}

__device__ __forceinline__ void ScaleFrom(uint32_t log_count, uint32_t log_stride, const float* __restrict__ in,
                                          float* __restrict__ out) {
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kPerBlock) + threadIdx.x;
#pragma unroll
  for (uint32_t k = 0; k < kPerThread; ++k) {
    const uint32_t i = first + k * kBlockThreads;
    out[i] = kFactor * in[Source(log_count, log_stride, i)];
  }
}

}  // namespace

// The same code: the strides differ.
__global__ void StrideDefectKernel(uint32_t log_count, uint32_t log_stride, const float* __restrict__ in,
                                   float* __restrict__ out) {
  ScaleFrom(log_count, log_stride, in, out);
}

__global__ void StrideCureKernel(uint32_t log_count, uint32_t log_stride, const float* __restrict__ in,
                                 float* __restrict__ out) {
  ScaleFrom(log_count, log_stride, in, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (!std::has_single_bit(size) || size < (kPerBlock << kLogStride) || size > (uint64_t{1} << 30)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = repeat * size * 2 * sizeof(float);
  expect.flop = repeat * size;
  return expect;
}

// `load_sectors`: of the 32 floats that a warp reads at a time.
KnownCounts Counts(uint64_t size, uint64_t load_sectors) {
  const uint64_t requests = size / kWarpThreads;
  return {.blocks = size / kPerBlock,
          .fp16_flop = 0,
          .fp32_flop = size,
          .fp64_flop = 0,
          .threads_per_instruction = kWarpThreads,
          .global_load_bytes = size * sizeof(float),
          .global_store_bytes = size * sizeof(float),
          .global_load_sectors = requests * load_sectors,
          .global_store_sectors = requests * kWarpSectors,
          // A sector that is read again is so a pass over the whole array later.
          .l2_sectors = requests * (load_sectors + kWarpSectors),
          .dram_read_bytes = requests * load_sectors * kSectorBytes,
          .dram_write_bytes = size * sizeof(float)};
}

KnownCounts DefectCounts(uint64_t size) { return Counts(size, kWarpThreads); }
KnownCounts CureCounts(uint64_t size) { return Counts(size, kWarpSectors); }

void Run(CaseRun& run, void (*kernel)(uint32_t, uint32_t, const float*, float*), uint32_t log_stride) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a power of two from 32768 to 1073741824")) return;
  const auto count = static_cast<uint32_t>(run.size());
  const auto log_count = static_cast<uint32_t>(std::countr_zero(count));
  const std::vector<float> in = RandomFloats(101, count);
  DeviceArray<float> device_in(run, count);
  DeviceArray<float> device_out(run, count);
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(count / kPerBlock)), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, log_count, log_stride, device_in.data(), device_out.data()));
  std::vector<float> out(count);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  CheckFloats(
      run, "out", out,
      [&](uint64_t i) { return double{kFactor} * double{in[Source(log_count, log_stride, static_cast<uint32_t>(i))]}; },
      0x1p-24);
}

void RunDefect(CaseRun& run) { Run(run, StrideDefectKernel, kLogStride); }
void RunCure(CaseRun& run) { Run(run, StrideCureKernel, 0); }

const Case kDefect = {"stride_defect", "out = a in, read 32 bytes apart: 8 sectors for the floats of one",
                      "floats",        uint64_t{1} << 26,
                      "launches",      200,
                      RunDefect,       "StrideDefectKernel",
                      "dram",          OnPaper,
                      DefectCounts};
const Case kCure = {"stride_cure", "out = a in, read one after another",
                    "floats",      uint64_t{1} << 26,
                    "launches",    200,
                    RunCure,       "StrideCureKernel",
                    "dram",        OnPaper,
                    CureCounts};

}  // namespace

const Pair kStridePair = {.name = "stride",
                          .change = "the order in which the elements are read",
                          .defect = &kDefect,
                          .cure = &kCure,
                          .term = "uncoalesced",
                          .what_if = "coalesced"};

}  // namespace gx::kernels
