// Atomic additions to one word, or to a word for each block.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kPerThread = 16;
constexpr uint64_t kPerBlock = uint64_t{kBlockThreads} * kPerThread;
// The blocks' words lie 128 bytes apart: in lines, and so in slices of L2, of their own.
constexpr uint32_t kWordsApart = 32;
// What Poison leaves in every word; sums modulo 2^32 begin there.
constexpr uint32_t kPoison = 0xFFFFFFFF;

__device__ __forceinline__ void AddAll(uint32_t words_apart, const uint32_t* __restrict__ in, uint32_t* sums) {
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kPerBlock) + threadIdx.x;
  uint32_t* const sum = sums + blockIdx.x * words_apart;
#pragma unroll
  for (uint32_t k = 0; k < kPerThread; ++k) atomicAdd(sum, in[first + k * kBlockThreads]);
}

}  // namespace

__global__ void AtomicsDefectKernel(const uint32_t* __restrict__ in, uint32_t* sums) { AddAll(0, in, sums); }

__global__ void AtomicsCureKernel(const uint32_t* __restrict__ in, uint32_t* sums) { AddAll(kWordsApart, in, sums); }

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat, bool one_word) {
  if (size < kPerBlock || size % kPerBlock != 0 || size > (uint64_t{1} << 31)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  // Each word of a sum is read and written once a kernel.
  expect.bytes = repeat * sizeof(uint32_t) * (size + 2 * (one_word ? 1 : size / kPerBlock));
  return expect;
}

std::optional<Expectation> DefectOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, true); }
std::optional<Expectation> CureOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, false); }

void Run(CaseRun& run, void (*kernel)(const uint32_t*, uint32_t*), bool one_word) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat(), one_word), "a multiple of 4096 up to 2147483648")) return;
  const uint64_t n = run.size();
  const uint64_t blocks = n / kPerBlock;
  std::vector<uint32_t> in(n);
  for (uint64_t i = 0; i < n; ++i) in[i] = RandomBits(113, i);
  DeviceArray<uint32_t> device_in(run, n);
  DeviceArray<uint32_t> sums(run, blocks * kWordsApart);
  if (!device_in || !sums) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(sums.data(), sums.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(blocks)), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, device_in.data(), sums.data()));
  std::vector<uint32_t> got(blocks * kWordsApart);
  GX_STEP(run.Download(got.data(), sums.data(), sums.bytes()));

  std::vector<uint32_t> expected(got.size(), kPoison);
  for (uint64_t i = 0; i < n; ++i) {
    expected[one_word ? 0 : i / kPerBlock * kWordsApart] += in[i] * static_cast<uint32_t>(run.repeat());
  }
  CheckWords(run, "sums", got, [&](uint64_t i) { return expected[i]; });
}

void RunDefect(CaseRun& run) { Run(run, AtomicsDefectKernel, true); }
void RunCure(CaseRun& run) { Run(run, AtomicsCureKernel, false); }

const Case kDefect = {"atomics_defect", "every warp adds to one word", "words",      uint64_t{1} << 26, "launches", 100,
                      RunDefect,        "AtomicsDefectKernel",         "l2_atomics", DefectOnPaper};
const Case kCure = {"atomics_cure", "every warp adds to its block's word",
                    "words",        uint64_t{1} << 26,
                    "launches",     100,
                    RunCure,        "AtomicsCureKernel",
                    "dram",         CureOnPaper};

}  // namespace

const Pair kAtomicsPair = {.name = "atomics",
                           .change = "the words that are added to",
                           .defect = &kDefect,
                           .cure = &kCure,
                           .term = "uneven",
                           .what_if = "atomics_spread"};

}  // namespace gx::kernels
