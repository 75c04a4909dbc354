// C = A B with 8 rows of A: twelve blocks that go through all of B's rows, or 66 times as many that share them.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr uint32_t kRowsOfC = 8;
// Twelve blocks wide, a column a thread.
constexpr uint32_t kColumns = 12 * kBlockThreads;
// Rows of B that share a stage of A: 8 numbers for each of them, four numbers a thread.
constexpr uint32_t kStageDepth = kBlockThreads * 4 / kRowsOfC;
constexpr unsigned kSplits = 66;
constexpr uint64_t kDepthStep = uint64_t{kStageDepth} * kSplits;

// Rows blockIdx.y * depth up to the next of A's columns and B's rows. `a` holds A by columns, `parts` a C for each
// split.
__device__ __forceinline__ void MultiplyPart(uint32_t depth, const float* __restrict__ a, const float* __restrict__ b,
                                             float* __restrict__ parts) {
  __shared__ __align__(16) float stage[kStageDepth * kRowsOfC];
  const uint32_t column = blockIdx.x * kBlockThreads + threadIdx.x;
  const size_t first = size_t{blockIdx.y} * depth;
  float sum[kRowsOfC] = {};
#pragma unroll 1
  for (uint32_t done = 0; done < depth; done += kStageDepth) {
    __syncthreads();
    reinterpret_cast<float4*>(stage)[threadIdx.x] =
        reinterpret_cast<const float4*>(a + (first + done) * kRowsOfC)[threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (uint32_t k = 0; k < kStageDepth; ++k) {
      const float from_b = b[(first + done + k) * kColumns + column];
#pragma unroll
      for (uint32_t row = 0; row < kRowsOfC; ++row) sum[row] = fmaf(stage[k * kRowsOfC + row], from_b, sum[row]);
    }
  }
#pragma unroll
  for (uint32_t row = 0; row < kRowsOfC; ++row) {
    parts[(size_t{blockIdx.y} * kRowsOfC + row) * kColumns + column] = sum[row];
  }
}

}  // namespace

__global__ void SplitKDefectKernel(uint32_t depth, const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ c) {
  MultiplyPart(depth, a, b, c);
}

__global__ void SplitKCureKernel(uint32_t depth, const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ parts) {
  MultiplyPart(depth, a, b, parts);
}

__global__ void SplitKCureSumKernel(const float* __restrict__ parts, float* __restrict__ c) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (uint32_t split = 0; split < kSplits; ++split) sum += parts[split * kRowsOfC * kColumns + i];
  c[i] = sum;
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat, bool is_split) {
  // Beyond 2^17 the sums of products could leave what float holds exactly.
  if (size < kDepthStep || size % kDepthStep != 0 || size > (1 << 17)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat * (is_split ? 2 : 1);
  expect.copies = 3;
  expect.fills = is_split ? 2 : 1;
  const uint64_t c_floats = uint64_t{kRowsOfC} * kColumns;
  // The second kernel reads the parts and writes C.
  const uint64_t part_floats = is_split ? 2 * kSplits * c_floats : 0;
  expect.bytes = repeat * sizeof(float) * (size * (kRowsOfC + kColumns) + part_floats + c_floats);
  expect.flop = repeat * (2 * size * c_floats + (is_split ? kSplits * c_floats : 0));
  return expect;
}

std::optional<Expectation> DefectOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, false); }
std::optional<Expectation> CureOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, true); }

void Run(CaseRun& run, bool is_split) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat(), is_split), "a multiple of 8448 up to 131072")) return;
  const uint64_t depth = run.size();
  std::vector<float> a(depth * kRowsOfC);
  std::vector<float> b(depth * kColumns);
  for (uint64_t i = 0; i < a.size(); ++i) a[i] = RandomSmallFloat(117, i);
  for (uint64_t i = 0; i < b.size(); ++i) b[i] = RandomSmallFloat(118, i);
  std::vector<float> c(size_t{kRowsOfC} * kColumns);
  DeviceArray<float> device_a(run, a.size());
  DeviceArray<float> device_b(run, b.size());
  DeviceArray<float> parts(run, (is_split ? kSplits : 1) * c.size());
  DeviceArray<float> device_c(run, c.size());
  if (!device_a || !device_b || !parts || !device_c) return;
  GX_STEP(run.Upload(device_a.data(), a.data(), device_a.bytes()));
  GX_STEP(run.Upload(device_b.data(), b.data(), device_b.bytes()));
  GX_STEP(run.Poison(device_c.data(), device_c.bytes()));
  if (is_split) {
    GX_STEP(run.Poison(parts.data(), parts.bytes()));
    const LaunchShape shape{dim3(kColumns / kBlockThreads, kSplits), dim3(kBlockThreads)};
    const LaunchShape sum_shape{dim3(static_cast<unsigned>(c.size() / kBlockThreads)), dim3(kBlockThreads)};
    for (uint64_t r = 0; r < run.repeat(); ++r) {
      GX_STEP(run.Launch(SplitKCureKernel, shape, nullptr, static_cast<uint32_t>(depth / kSplits), device_a.data(),
                         device_b.data(), parts.data()));
      GX_STEP(run.Launch(SplitKCureSumKernel, sum_shape, nullptr, parts.data(), device_c.data()));
      GX_STEP(WaitForLaunches(run, r));
    }
  } else {
    const LaunchShape shape{dim3(kColumns / kBlockThreads), dim3(kBlockThreads)};
    GX_STEP(LaunchRepeatedly(run, SplitKDefectKernel, shape, static_cast<uint32_t>(depth), device_a.data(),
                             device_b.data(), device_c.data()));
  }
  GX_STEP(run.Download(c.data(), device_c.data(), device_c.bytes()));
  // Whole numbers of 2^-14 below 2^10: exact in any order.
  const auto reference = [&](uint64_t i) {
    double sum = 0;
    for (uint64_t k = 0; k < depth; ++k) {
      sum += double{a[k * kRowsOfC + i / kColumns]} * double{b[k * kColumns + i % kColumns]};
    }
    return sum;
  };
  CheckFloats(run, "C", c, reference, 0);
}

void RunDefect(CaseRun& run) { Run(run, false); }
void RunCure(CaseRun& run) { Run(run, true); }

const Case kDefect = {"split_k_defect", "C = A B with 8 rows of A: twelve blocks, and most multiprocessors have none",
                      "rows of B",      4 * kDepthStep,
                      "launches",       100,
                      RunDefect,        "SplitKDefectKernel",
                      "unfilled",       DefectOnPaper};
const Case kCure = {"split_k_cure",
                    "C = A B with 8 rows of A: 66 times as many blocks share B's rows, and a second kernel adds up",
                    "rows of B",
                    4 * kDepthStep,
                    "times the two launches",
                    100,
                    RunCure,
                    "SplitKCureKernel,SplitKCureSumKernel",
                    "dram",
                    CureOnPaper};

}  // namespace

const Pair kSplitKPair = {.name = "split_k",
                          .change = "blocks that share the rows of B",
                          .defect = &kDefect,
                          .cure = &kCure,
                          .term = "unfilled",
                          .what_if = "filled_device"};

}  // namespace gx::kernels
