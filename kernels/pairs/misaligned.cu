// A warp's 128 bytes that begin 4 bytes after a line against those that begin on it, from data that stay in L1: where
// DRAM is the limit, neighbours share the extra sectors and nothing is lost.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kLoads = 16;
constexpr uint32_t kChunk = kBlockThreads * kLoads;
constexpr uint32_t kRounds = 256;
// Each round reads a line further on, up to 32, so that no load can be kept from the round before.
constexpr uint32_t kShifts = 32;
constexpr uint32_t kLineFloats = 32;
constexpr uint32_t kOffset = 1;

__device__ __forceinline__ void SumChunk(const float* __restrict__ in, float* __restrict__ out) {
  const float* chunk = in + size_t{blockIdx.x} * kChunk + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    const float* from = chunk + (round % kShifts) * kLineFloats;
#pragma unroll
    for (uint32_t k = 0; k < kLoads; ++k) sum += from[k * kBlockThreads];
  }
  out[blockIdx.x * kBlockThreads + threadIdx.x] = sum;
}

}  // namespace

// The same code: the pointers differ.
__global__ void MisalignedDefectKernel(const float* __restrict__ in, float* __restrict__ out) { SumChunk(in, out); }

__global__ void MisalignedCureKernel(const float* __restrict__ in, float* __restrict__ out) { SumChunk(in, out); }

namespace {

constexpr uint64_t InputFloats(uint64_t blocks) { return blocks * kChunk + kShifts * kLineFloats + kOffset; }

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < 1 || size > (1 << 16)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  // Each float once; L1 delivers it kRounds times.
  expect.bytes = repeat * (size * kChunk + (kShifts - 1) * kLineFloats + size * kBlockThreads) * sizeof(float);
  expect.flop = repeat * size * kChunk * kRounds;
  return expect;
}

void Run(CaseRun& run, void (*kernel)(const float*, float*), uint32_t offset) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "1 to 65536 blocks")) return;
  const std::vector<float> in = RandomFloats(103, InputFloats(run.size()));
  DeviceArray<float> device_in(run, in.size());
  std::vector<float> out(run.size() * kBlockThreads);
  DeviceArray<float> device_out(run, out.size());
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(run.size())), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, device_in.data() + offset, device_out.data()));
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  const auto reference = [&](uint64_t i) {
    const float* chunk = in.data() + offset + i / kBlockThreads * kChunk + i % kBlockThreads;
    double sum = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const float* from = chunk + (round % kShifts) * kLineFloats;
      for (uint32_t k = 0; k < kLoads; ++k) sum += from[k * kBlockThreads];
    }
    return sum;
  };
  // Every 32nd round reads the same floats: eight times a sum of 512 of them, below 512 in practice by far; 4096
  // roundings of which each is half a unit of the last place of that at the most.
  CheckFloats(run, "sums", out, reference, 4096 * 0x1p-25 * 512);
}

void RunDefect(CaseRun& run) { Run(run, MisalignedDefectKernel, kOffset); }
void RunCure(CaseRun& run) { Run(run, MisalignedCureKernel, 0); }

const Case kDefect = {"misaligned_defect",
                      "sums of floats that L1 holds, 4 bytes off its lines: two lines a request",
                      "blocks",
                      2112,
                      "launches",
                      200,
                      RunDefect,
                      "MisalignedDefectKernel",
                      "l1_data",
                      OnPaper};
const Case kCure = {"misaligned_cure", "sums of floats that L1 holds, on its lines: one line a request",
                    "blocks",          2112,
                    "launches",        200,
                    RunCure,           "MisalignedCureKernel",
                    "l1_data",         OnPaper};

}  // namespace

const Pair kMisalignedPair = {.name = "misaligned",
                              .change = "the pointer, by 4 bytes",
                              .defect = &kDefect,
                              .cure = &kCure,
                              .term = "uncoalesced",
                              .what_if = "coalesced"};

}  // namespace gx::kernels
