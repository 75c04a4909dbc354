// Bytes out of L2, L1 and shared memory: a footprint that fits is read again and again, 4, 8 and 16 bytes an access.
// Into L2: one is written again and again.
#include <algorithm>
#include <bit>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {

enum class CacheLevel { kL2, kL1, kShared };

namespace {

constexpr unsigned kBlockThreads = 256;
// Loads of a thread that are in flight together; their offsets are constants, so that addresses cost no instructions.
constexpr unsigned kUnroll = 8;
constexpr uint64_t kTileElements = uint64_t{kBlockThreads} * kUnroll;
constexpr uint32_t kSeed = 21;

}  // namespace

// Assembly, because a compiler may keep what an ordinary load has read.
template <CacheLevel kLevel>
__device__ __forceinline__ uint32_t LoadSum(const uint32_t* address) {
  uint32_t x = 0;
  if constexpr (kLevel == CacheLevel::kL2) {
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(address));
  } else if constexpr (kLevel == CacheLevel::kL1) {
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(address));
  } else {
    const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(address));
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(shared));
  }
  return x;
}

template <CacheLevel kLevel>
__device__ __forceinline__ uint32_t LoadSum(const uint2* address) {
  uint32_t x = 0;
  uint32_t y = 0;
  if constexpr (kLevel == CacheLevel::kL2) {
    asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(address));
  } else if constexpr (kLevel == CacheLevel::kL1) {
    asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(address));
  } else {
    const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(address));
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(shared));
  }
  return x + y;
}

template <CacheLevel kLevel>
__device__ __forceinline__ uint32_t LoadSum(const uint4* address) {
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;
  uint32_t w = 0;
  if constexpr (kLevel == CacheLevel::kL2) {
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(address));
  } else if constexpr (kLevel == CacheLevel::kL1) {
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(address));
  } else {
    const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(address));
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(shared));
  }
  return x + y + z + w;
}

// `tiles` is a power of two. L2: the blocks of a pass read tiles that follow each other, and the next pass goes on
// behind them. L1 and shared: every block reads all of the footprint by itself.
template <CacheLevel kLevel, typename Element>
__global__ void __launch_bounds__(kBlockThreads)
    CacheKernel(const Element* __restrict__ data, uint32_t tiles, uint32_t passes, uint32_t* __restrict__ sums,
                ClockProbe* probe) {
  extern __shared__ uint4 shared_bytes[];
  const Element* source = data;
  if constexpr (kLevel == CacheLevel::kShared) {
    auto* copy = reinterpret_cast<Element*>(shared_bytes);
    for (uint32_t i = threadIdx.x; i < tiles * kTileElements; i += kBlockThreads) copy[i] = data[i];
    __syncthreads();
    source = copy;
  }
  StartClock(probe);
  uint32_t sum = 0;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    const uint32_t tile = (kLevel == CacheLevel::kL2 ? pass * gridDim.x + blockIdx.x : pass) & (tiles - 1);
    const Element* first = source + uint64_t{tile} * kTileElements + threadIdx.x;
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) sum += LoadSum<kLevel>(first + u * kBlockThreads);
  }
  sums[blockIdx.x * kBlockThreads + threadIdx.x] = sum;
  EndClock(probe);
}

// Word k of an element: what it is worth wherever and whenever it is written.
__host__ __device__ inline uint32_t WrittenWord(uint32_t element, uint32_t k) { return element * 4 + k; }

// As CacheKernel does, with stores; `tiles` is a power of two. Always the same values: blocks overtake each other.
__global__ void __launch_bounds__(kBlockThreads)
    L2WriteKernel(uint4* __restrict__ data, uint32_t tiles, uint32_t passes, ClockProbe* probe) {
  StartClock(probe);
  for (uint32_t pass = 0; pass < passes; ++pass) {
    const uint32_t tile = (pass * gridDim.x + blockIdx.x) & (tiles - 1);
    const auto first = static_cast<uint32_t>(tile * kTileElements + threadIdx.x);
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      const uint32_t i = first + u * kBlockThreads;
      asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(data + i), "r"(WrittenWord(i, 0)),
                   "r"(WrittenWord(i, 1)), "r"(WrittenWord(i, 2)), "r"(WrittenWord(i, 3))
                   : "memory");
    }
  }
  EndClock(probe);
}

__global__ void FillWords(uint32_t* words, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    words[i] = HashBits(kSeed, i);
  }
}

namespace {

const char* LevelName(CacheLevel level) {
  return level == CacheLevel::kL2 ? "l2" : level == CacheLevel::kL1 ? "l1" : "shared";
}

// What all threads together add up to, modulo 2^32.
uint32_t ExpectedSum(CacheLevel level, uint64_t tile_words, uint64_t tiles, uint64_t passes, uint64_t grid) {
  std::vector<uint32_t> tile_sums(tiles, 0);
  for (uint64_t i = 0; i < tiles * tile_words; ++i) {
    tile_sums[i / tile_words] += HashBits(kSeed, static_cast<uint32_t>(i));
  }
  const bool shared_by_grid = level == CacheLevel::kL2;
  const uint64_t visits = shared_by_grid ? passes * grid : passes;
  uint32_t sum = 0;
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    const uint64_t times = visits / tiles + (tile < visits % tiles ? 1 : 0);
    sum += static_cast<uint32_t>(times * (shared_by_grid ? 1 : grid)) * tile_sums[tile];
  }
  return sum;
}

template <CacheLevel kLevel, typename Element>
void MeasureCache(Bench& bench, const BenchArray<uint32_t>& words, uint64_t footprint_bytes) {
  const uint64_t tiles = footprint_bytes / (kTileElements * sizeof(Element));
  const std::string name = LevelName(kLevel);
  bench.Begin(name + " " + std::to_string(sizeof(Element)) + " bytes an access, footprint " +
              std::to_string(footprint_bytes) + " bytes");
  const size_t shared_bytes = kLevel == CacheLevel::kShared ? footprint_bytes : 0;
  const auto kernel = CacheKernel<kLevel, Element>;
  if (shared_bytes > 0 && !bench.Ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                         static_cast<int>(shared_bytes)),
                                    "cudaFuncSetAttribute")) {
    return;
  }
  // L1 is what shared memory leaves of the SM's memory.
  if (!bench.Ok(cudaFuncSetAttribute(
                    kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                    kLevel == CacheLevel::kShared ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1),
                "cudaFuncSetAttribute")) {
    return;
  }
  const uint64_t grid = bench.ResidentBlocks(reinterpret_cast<const void*>(kernel), kBlockThreads, shared_bytes);
  if (grid == 0) return;
  const BenchArray<uint32_t> sums(bench, grid * kBlockThreads);
  if (!sums || !bench.Poison(sums.data(), sums.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(kernel, grid, kBlockThreads, shared_bytes, reinterpret_cast<const Element*>(words.data()),
                        static_cast<uint32_t>(tiles), static_cast<uint32_t>(passes), sums.data(), bench.probe());
  };
  workload.work = [&](uint64_t passes) { return static_cast<double>(passes * grid * kTileElements * sizeof(Element)); };
  workload.max_units = uint64_t{1} << 22;
  const std::optional<Measured> measured = bench.Measure(workload);
  if (!measured) return;
  std::vector<uint32_t> got(sums.count());
  if (!bench.Download(got.data(), sums.data(), sums.bytes())) return;
  uint32_t sum = 0;
  for (const uint32_t one : got) sum += one;
  const uint32_t expected =
      ExpectedSum(kLevel, kTileElements * sizeof(Element) / sizeof(uint32_t), tiles, measured->large_units, grid);
  Ceiling ceiling;
  ceiling.resource = kLevel == CacheLevel::kL2   ? ceiling_resource::kL2
                     : kLevel == CacheLevel::kL1 ? ceiling_resource::kL1
                                                 : ceiling_resource::kShared;
  ceiling.path = ceiling_path::kThread;
  ceiling.unit = work_unit::kByte;
  ceiling.variant = name + "_read";
  ceiling.points = measured->points;
  if (kLevel == CacheLevel::kL2) ceiling.read_share_ratio = 1;
  ceiling.access_bytes = sizeof(Element);
  ceiling.footprint_bytes = footprint_bytes;
  ceiling.grid_blocks = grid;
  ceiling.block_threads = kBlockThreads;
  ceiling.check = Bench::Compare(
      1, [&](uint64_t) { return static_cast<double>(sum); }, [&](uint64_t) { return static_cast<double>(expected); },
      0);
  bench.AddCeiling(ceiling);
}

void MeasureL2Writes(Bench& bench, uint64_t footprint_bytes) {
  const uint64_t tiles = footprint_bytes / (kTileElements * sizeof(uint4));
  bench.Begin("l2 writes, footprint " + std::to_string(footprint_bytes) + " bytes");
  const uint64_t grid = bench.ResidentBlocks(reinterpret_cast<const void*>(L2WriteKernel), kBlockThreads, 0);
  if (grid == 0) return;
  const BenchArray<uint4> data(bench, footprint_bytes / sizeof(uint4));
  if (!data || !bench.Poison(data.data(), data.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(L2WriteKernel, grid, kBlockThreads, 0, data.data(), static_cast<uint32_t>(tiles),
                        static_cast<uint32_t>(passes), bench.probe());
  };
  workload.work = [&](uint64_t passes) { return static_cast<double>(passes * grid * kTileElements * sizeof(uint4)); };
  workload.max_units = uint64_t{1} << 22;
  const std::optional<Measured> measured = bench.Measure(workload);
  if (!measured) return;
  std::vector<uint4> got(data.count());
  if (!bench.Download(got.data(), data.data(), data.bytes())) return;
  Ceiling ceiling;
  ceiling.resource = ceiling_resource::kL2;
  ceiling.path = ceiling_path::kThread;
  ceiling.unit = work_unit::kByte;
  ceiling.variant = "l2_write";
  ceiling.points = measured->points;
  ceiling.read_share_ratio = 0;
  ceiling.access_bytes = sizeof(uint4);
  ceiling.footprint_bytes = footprint_bytes;
  ceiling.grid_blocks = grid;
  ceiling.block_threads = kBlockThreads;
  const auto word = [&got](uint64_t i) {
    const uint4& element = got[i / 4];
    const uint32_t words[] = {element.x, element.y, element.z, element.w};
    return static_cast<double>(words[i % 4]);
  };
  ceiling.check = Bench::Compare(
      got.size() * 4, word,
      [](uint64_t i) {
        return static_cast<double>(WrittenWord(static_cast<uint32_t>(i / 4), static_cast<uint32_t>(i % 4)));
      },
      0);
  bench.AddCeiling(ceiling);
}

template <CacheLevel kLevel>
void MeasureAccesses(Bench& bench, const BenchArray<uint32_t>& words, uint64_t footprint_bytes) {
  MeasureCache<kLevel, uint32_t>(bench, words, footprint_bytes);
  MeasureCache<kLevel, uint2>(bench, words, footprint_bytes);
  MeasureCache<kLevel, uint4>(bench, words, footprint_bytes);
}

}  // namespace

void MeasureCaches(Bench& bench) {
  bench.Begin("caches");
  const uint64_t l2_bytes = static_cast<uint64_t>(bench.device().l2CacheSize);
  // The largest power of two that is at most half of L2, and three more around it.
  const uint64_t half = std::bit_floor(std::max<uint64_t>(l2_bytes / 2, uint64_t{1} << 20));
  const BenchArray<uint32_t> words(bench, 2 * half / sizeof(uint32_t));
  if (!words) return;
  if (!bench.Launch(FillWords, bench.sm_count() * 8, kBlockThreads, 0, words.data(),
                    static_cast<uint32_t>(words.count()))) {
    return;
  }
  MeasureCache<CacheLevel::kL2, uint4>(bench, words, half / 4);
  MeasureCache<CacheLevel::kL2, uint4>(bench, words, half / 2);
  MeasureAccesses<CacheLevel::kL2>(bench, words, half);
  // More than half: on GPUs whose L2 has two halves that keep copies of each other's lines this may not fit.
  MeasureCache<CacheLevel::kL2, uint4>(bench, words, 2 * half);
  MeasureL2Writes(bench, half / 4);
  MeasureL2Writes(bench, half);
  constexpr uint64_t kKiB = 1024;
  MeasureAccesses<CacheLevel::kL1>(bench, words, 32 * kKiB);
  MeasureCache<CacheLevel::kL1, uint4>(bench, words, 64 * kKiB);
  MeasureCache<CacheLevel::kL1, uint4>(bench, words, 128 * kKiB);
  MeasureAccesses<CacheLevel::kShared>(bench, words, 32 * kKiB);
  MeasureCache<CacheLevel::kShared, uint4>(bench, words, 64 * kKiB);
}

}  // namespace gx::kernels
