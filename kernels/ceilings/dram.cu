// DRAM by read share: read (1), triad (2/3), copy (1/2), write (0). Arrays far larger than L2, each byte touched once a
// launch, 16 bytes an access.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
// Accesses of a thread that are in flight together.
constexpr unsigned kUnroll = 4;
constexpr uint64_t kTileElements = uint64_t{kBlockThreads} * kUnroll;
constexpr uint64_t kElementBytes = sizeof(float4);
constexpr uint32_t kSeedA = 11;
constexpr uint32_t kSeedB = 12;
constexpr float kScale = 0.37f;
constexpr unsigned kBlocksPerSm = 8;

constexpr unsigned kWarpsPerBlock = kBlockThreads / 32;

}  // namespace

enum class Mix { kRead, kTriad, kCopy, kWrite };

__device__ float4 StreamValue(uint32_t seed, uint64_t element) {
  const auto word = static_cast<uint32_t>(element * 4);
  return make_float4(HashFloat(seed, word), HashFloat(seed, word + 1), HashFloat(seed, word + 2),
                     HashFloat(seed, word + 3));
}

// What the write kernel stores: cheap, and not constant.
__device__ float4 WrittenValue(uint64_t element) {
  const auto x = static_cast<float>(static_cast<uint32_t>(element) & 0xFFFFFu);
  return make_float4(x, -x, x + 1.0f, x + 2.0f);
}

__global__ void FillStream(uint32_t seed, float4* data, uint64_t count) {
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    data[i] = StreamValue(seed, i);
  }
}

template <Mix kMix>
__global__ void __launch_bounds__(kBlockThreads)
    StreamKernel(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ out,
                 uint32_t* __restrict__ sums, uint64_t tiles, ClockProbe* probe) {
  StartClock(probe);
  uint32_t sum = 0;
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const uint64_t first = tile * kTileElements + threadIdx.x;
    float4 left[kUnroll];
    float4 right[kUnroll];
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      if constexpr (kMix != Mix::kWrite) left[u] = a[first + u * kBlockThreads];
      if constexpr (kMix == Mix::kTriad) right[u] = b[first + u * kBlockThreads];
    }
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      const uint64_t i = first + u * kBlockThreads;
      if constexpr (kMix == Mix::kRead) {
        sum += __float_as_uint(left[u].x) + __float_as_uint(left[u].y) + __float_as_uint(left[u].z) +
               __float_as_uint(left[u].w);
      } else if constexpr (kMix == Mix::kCopy) {
        out[i] = left[u];
      } else if constexpr (kMix == Mix::kTriad) {
        out[i] = make_float4(fmaf(kScale, right[u].x, left[u].x), fmaf(kScale, right[u].y, left[u].y),
                             fmaf(kScale, right[u].z, left[u].z), fmaf(kScale, right[u].w, left[u].w));
      } else {
        out[i] = WrittenValue(i);
      }
    }
  }
  if constexpr (kMix == Mix::kRead) {
    const uint32_t warp_sum = __reduce_add_sync(0xFFFFFFFFu, sum);
    if (threadIdx.x % 32 == 0) sums[uint64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.x / 32] = warp_sum;
  }
  EndClock(probe);
}

// result[0] += wrong elements; result[1] += sum of the words that a read of everything adds up.
template <Mix kMix>
__global__ void CheckStream(const float4* __restrict__ out, uint64_t count, unsigned long long* result) {
  unsigned long long wrong = 0;
  uint32_t sum = 0;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    const float4 a = StreamValue(kSeedA, i);
    if constexpr (kMix == Mix::kRead) {
      sum += __float_as_uint(a.x) + __float_as_uint(a.y) + __float_as_uint(a.z) + __float_as_uint(a.w);
      continue;
    }
    float4 expected = a;
    if constexpr (kMix == Mix::kTriad) {
      const float4 b = StreamValue(kSeedB, i);
      expected =
          make_float4(fmaf(kScale, b.x, a.x), fmaf(kScale, b.y, a.y), fmaf(kScale, b.z, a.z), fmaf(kScale, b.w, a.w));
    }
    if constexpr (kMix == Mix::kWrite) expected = WrittenValue(i);
    const float4 got = out[i];
    // Written so that a NaN counts as wrong.
    if (!(got.x == expected.x && got.y == expected.y && got.z == expected.z && got.w == expected.w)) ++wrong;
  }
  atomicAdd(&result[0], wrong);
  atomicAdd(&result[1], static_cast<unsigned long long>(sum));
}

namespace {

struct Arrays {
  BenchArray<float4> a;
  BenchArray<float4> b;
  BenchArray<float4> out;
  // One a warp of the largest grid.
  BenchArray<uint32_t> sums;
  BenchArray<unsigned long long> result;
  bool ok() const { return a && b && out && sums && result; }
};

template <Mix kMix>
ValueCheck CheckResult(Bench& bench, const Arrays& arrays, uint64_t tiles, uint64_t grid) {
  unsigned long long result[2] = {~0ull, 0};
  if (!bench.Ok(cudaMemsetAsync(arrays.result.data(), 0, sizeof result, bench.stream()), "cudaMemsetAsync") ||
      !bench.Launch(CheckStream<kMix>, bench.sm_count() * kBlocksPerSm, kBlockThreads, 0, arrays.out.data(),
                    tiles * kTileElements, arrays.result.data()) ||
      !bench.Download(result, arrays.result.data(), sizeof result)) {
    return {};
  }
  if constexpr (kMix == Mix::kRead) {
    std::vector<uint32_t> sums(grid * kWarpsPerBlock);
    if (!bench.Download(sums.data(), arrays.sums.data(), sums.size() * sizeof(uint32_t))) return {};
    uint32_t sum = 0;
    for (const uint32_t one : sums) sum += one;
    return Bench::Compare(
        1, [&](uint64_t) { return double{static_cast<double>(sum)}; },
        [&](uint64_t) { return static_cast<double>(static_cast<uint32_t>(result[1])); }, 0);
  }
  return {tiles * kTileElements, static_cast<double>(result[0]), 0};
}

template <Mix kMix>
void MeasureMix(Bench& bench, const Arrays& arrays, const char* name, double read_share, unsigned array_count) {
  const uint64_t max_tiles = arrays.a.count() / kTileElements;
  for (const bool persistent : {true, false}) {
    const std::string variant = std::string(name) + (persistent ? "_persistent" : "_block_a_tile");
    bench.Begin("dram " + variant);
    const uint64_t resident_blocks =
        bench.ResidentBlocks(reinterpret_cast<const void*>(StreamKernel<kMix>), kBlockThreads, 0);
    const auto grid_of = [&](uint64_t tiles) { return persistent ? std::min(resident_blocks, tiles) : tiles; };
    if (resident_blocks == 0 || !bench.Poison(arrays.out.data(), arrays.out.bytes()) ||
        !bench.Poison(arrays.sums.data(), arrays.sums.bytes())) {
      return;
    }
    Workload workload;
    workload.launch = [&](uint64_t tiles) {
      return bench.Launch(StreamKernel<kMix>, grid_of(tiles), kBlockThreads, 0, arrays.a.data(), arrays.b.data(),
                          arrays.out.data(), arrays.sums.data(), tiles, bench.probe());
    };
    workload.work = [&](uint64_t tiles) {
      return static_cast<double>(tiles * kTileElements * kElementBytes * array_count);
    };
    workload.clock = persistent ? ClockFrom::kKernel : ClockFrom::kAfterwards;
    workload.first_units = workload.max_units = max_tiles;
    workload.target_ns = 1e12;
    const std::optional<Measured> measured = bench.Measure(workload);
    if (!measured) continue;
    Ceiling ceiling;
    ceiling.resource = ceiling_resource::kDram;
    ceiling.path = ceiling_path::kThread;
    ceiling.unit = work_unit::kByte;
    ceiling.variant = variant;
    ceiling.points = measured->points;
    ceiling.memory_clock_hz = bench.memory_clock_hz();
    ceiling.read_share_ratio = read_share;
    ceiling.access_bytes = kElementBytes;
    ceiling.footprint_bytes = measured->large_units * kTileElements * kElementBytes * array_count;
    ceiling.grid_blocks = grid_of(measured->large_units);
    ceiling.block_threads = kBlockThreads;
    ceiling.check = CheckResult<kMix>(bench, arrays, measured->large_units, *ceiling.grid_blocks);
    ceiling.clock_after = !persistent;
    bench.AddCeiling(ceiling);
  }
}

}  // namespace

void MeasureDram(Bench& bench) {
  bench.Begin("dram");
  // 4 GiB an array (1 ms at 4 TB/s), at most an eighth of the memory.
  const uint64_t tiles =
      std::min<uint64_t>(uint64_t{4} << 30, bench.device().totalGlobalMem / 8) / (kTileElements * kElementBytes);
  const uint64_t elements = tiles * kTileElements;
  const Arrays arrays{
      {bench, elements}, {bench, elements}, {bench, elements}, {bench, tiles * kWarpsPerBlock}, {bench, 2}};
  if (!arrays.ok()) return;
  for (const auto& [array, seed] : {std::pair(&arrays.a, kSeedA), std::pair(&arrays.b, kSeedB)}) {
    if (!bench.Launch(FillStream, bench.sm_count() * kBlocksPerSm, kBlockThreads, 0, seed, array->data(), elements)) {
      return;
    }
  }
  MeasureMix<Mix::kRead>(bench, arrays, "read", 1, 1);
  MeasureMix<Mix::kTriad>(bench, arrays, "triad", 2.0 / 3, 3);
  MeasureMix<Mix::kCopy>(bench, arrays, "copy", 0.5, 2);
  MeasureMix<Mix::kWrite>(bench, arrays, "write", 0, 1);
}

}  // namespace gx::kernels
