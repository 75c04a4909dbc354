// Unloaded latencies: one warp follows a chain of addresses through shared memory, L1, L2 and DRAM. With several
// sectors a request, the lanes go through sectors of the same 1,024 bytes.
#include <algorithm>
#include <numeric>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {

enum class ChaseLevel { kL1, kL2, kDram };

namespace {

constexpr unsigned kLanes = 32;
constexpr uint64_t kSectorBytes = 32;
// As many sectors as lanes; two groups share no line.
constexpr uint64_t kGroupBytes = kLanes * kSectorBytes;
constexpr uint32_t kSeed = 71;
constexpr unsigned kSharedWords = 1024;
// Odd, so that the chain visits every word.
constexpr unsigned kSharedStride = 97;
constexpr unsigned kLines = 512;
constexpr unsigned kLineRepeats = 7;

}  // namespace

// Sector s of group order[i] holds the address of sector s of group order[i + 1].
__global__ void LinkGroups(const uint32_t* __restrict__ order, uint32_t groups, char* __restrict__ base) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += gridDim.x * blockDim.x) {
    char* here = base + order[i] * kGroupBytes;
    char* next = base + order[i + 1 == groups ? 0 : i + 1] * kGroupBytes;
    for (uint64_t sector = 0; sector < kLanes; ++sector) {
      *reinterpret_cast<char**>(here + sector * kSectorBytes) = next + sector * kSectorBytes;
    }
  }
}

// Reads much more than L2 holds, so that nothing of the chain is left there.
__global__ void EvictL2(const uint4* __restrict__ data, uint64_t count, uint32_t* __restrict__ sink) {
  uint32_t sum = 0;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    const uint4 value = data[i];
    sum ^= value.x ^ value.y ^ value.z ^ value.w;
  }
  sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The loaded word is the next address: nothing but the load is between two loads.
template <ChaseLevel kLevel>
__device__ __forceinline__ const char* Follow(const char* address) {
  uint64_t next = 0;
  if constexpr (kLevel == ChaseLevel::kL1) {
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(address));
  } else {
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(address));
  }
  return reinterpret_cast<const char*>(next);
}

// `warm_steps` before the clock runs: into L1.
template <ChaseLevel kLevel>
__global__ void ChaseKernel(const char* base, uint32_t sectors, uint32_t warm_steps, uint32_t steps,
                            const char** __restrict__ out, ClockProbe* probe) {
  const char* address = base + threadIdx.x % sectors * kSectorBytes;
  for (uint32_t step = 0; step < warm_steps; ++step) address = Follow<kLevel>(address);
  StartClock(probe);
#pragma unroll 16
  for (uint32_t step = 0; step < steps; ++step) address = Follow<kLevel>(address);
  out[threadIdx.x] = address;
  EndClock(probe);
}

__global__ void SharedChaseKernel(uint32_t steps, uint32_t* __restrict__ out, ClockProbe* probe) {
  __shared__ uint32_t words[kSharedWords];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(words));
  for (uint32_t i = threadIdx.x; i < kSharedWords; i += blockDim.x) {
    words[i] = base + (i + kSharedStride) % kSharedWords * static_cast<uint32_t>(sizeof(uint32_t));
  }
  __syncthreads();
  uint32_t address = base;
  StartClock(probe);
#pragma unroll 16
  for (uint32_t step = 0; step < steps; ++step) {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(address));
  }
  out[threadIdx.x] = (address - base) / static_cast<uint32_t>(sizeof(uint32_t));
  EndClock(probe);
}

// Cycles from before a load until its result can be used, the least of several.
__global__ void LineKernel(const uint32_t* __restrict__ order, const char* base, uint32_t lines,
                           uint32_t* __restrict__ cycles) {
  __shared__ uint64_t used;
  const auto used_address = static_cast<uint32_t>(__cvta_generic_to_shared(&used));
  for (uint32_t i = 0; i < lines; ++i) {
    uint32_t least = 0xFFFFFFFFu;
    for (unsigned repeat = 0; repeat < kLineRepeats; ++repeat) {
      const char* address = base + order[i] * kGroupBytes;
      uint64_t value = 0;
      uint32_t start = 0;
      uint32_t end = 0;
      asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
      asm volatile("st.shared.u64 [%0], %1;" ::"r"(used_address), "l"(value) : "memory");
      asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
      least = min(least, end - start);
    }
    cycles[i] = least;
  }
}

namespace {

// A cycle through all groups in pseudo-random order.
std::vector<uint32_t> RandomOrder(uint64_t groups) {
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  for (uint64_t i = groups - 1; i > 0; --i) {
    std::swap(order[i], order[HashBits(kSeed, static_cast<uint32_t>(i)) % (i + 1)]);
  }
  return order;
}

const char* LevelName(ChaseLevel level) {
  return level == ChaseLevel::kL1 ? "l1" : level == ChaseLevel::kL2 ? "l2" : "dram";
}

// A chain in device memory.
struct Chain {
  Chain(Bench& bench, uint64_t footprint_bytes)
      : order(RandomOrder(footprint_bytes / kGroupBytes)),
        memory(bench, footprint_bytes),
        device_order(bench, order.size()) {
    // So that a chase begins at the first byte, whatever the order.
    std::swap(order[0], *std::find(order.begin(), order.end(), 0u));
    ok = memory && device_order && bench.Upload(device_order.data(), order.data(), device_order.bytes()) &&
         bench.Launch(LinkGroups, bench.sm_count() * 8, 256, 0, device_order.data(),
                      static_cast<uint32_t>(order.size()), memory.data());
  }
  std::vector<uint32_t> order;
  BenchArray<char> memory;
  BenchArray<uint32_t> device_order;
  bool ok = false;
};

void AddLatency(Bench& bench, Latency latency) {
  if (!latency.check.holds()) return bench.Fail("the chain ended at a wrong place");
  bench.record().latencies.push_back(std::move(latency));
}

// `before` is enqueued ahead of each chase, inside its time: the same at both sizes.
template <ChaseLevel kLevel>
void MeasureChase(Bench& bench, const Chain& chain, uint32_t sectors, const std::function<bool()>& before) {
  bench.Begin(std::string("latency ") + LevelName(kLevel) + " " + std::to_string(sectors) + " sectors a request");
  const BenchArray<const char*> out(bench, kLanes);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  const uint32_t groups = static_cast<uint32_t>(chain.order.size());
  const uint32_t warm_steps = kLevel == ChaseLevel::kL1 ? groups : 0;
  Workload workload;
  workload.launch = [&](uint64_t steps) {
    return before() && bench.Launch(ChaseKernel<kLevel>, 1, kLanes, 0, chain.memory.data(), sectors, warm_steps,
                                    static_cast<uint32_t>(steps), out.data(), bench.probe());
  };
  workload.work = [](uint64_t steps) { return static_cast<double>(steps); };
  workload.first_units = 256;
  // Of DRAM, no group twice in a launch.
  workload.max_units = kLevel == ChaseLevel::kDram ? groups - 1 : uint64_t{1} << 24;
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<const char*> got(kLanes);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  Latency latency;
  latency.level = kLevel == ChaseLevel::kL1   ? latency_level::kL1
                  : kLevel == ChaseLevel::kL2 ? latency_level::kL2
                                              : latency_level::kDram;
  latency.points = measured->points;
  latency.footprint_bytes = chain.memory.bytes();
  latency.sectors_per_request = sectors;
  latency.check = Bench::Compare(
      kLanes, [&](uint64_t lane) { return static_cast<double>(got[lane] - chain.memory.data()); },
      [&](uint64_t lane) {
        const uint64_t group = chain.order[(warm_steps + measured->large_units) % groups];
        return static_cast<double>(group * kGroupBytes + lane % sectors * kSectorBytes);
      },
      0);
  if (kLevel == ChaseLevel::kL2 && sectors == 1) {
    const unsigned lines = std::min<unsigned>(kLines, groups);
    const BenchArray<uint32_t> cycles(bench, lines);
    std::vector<uint32_t> got_cycles(lines);
    if (cycles && bench.Poison(cycles.data(), cycles.bytes()) &&
        bench.Launch(LineKernel, 1, 1, 0, chain.device_order.data(), chain.memory.data(), lines, cycles.data()) &&
        bench.Download(got_cycles.data(), cycles.data(), cycles.bytes())) {
      latency.line_cycles.assign(got_cycles.begin(), got_cycles.end());
    }
  }
  AddLatency(bench, std::move(latency));
}

void MeasureSharedChase(Bench& bench) {
  bench.Begin("latency shared");
  const BenchArray<uint32_t> out(bench, kLanes);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t steps) {
    return bench.Launch(SharedChaseKernel, 1, kLanes, 0, static_cast<uint32_t>(steps), out.data(), bench.probe());
  };
  workload.work = [](uint64_t steps) { return static_cast<double>(steps); };
  workload.first_units = 4096;
  workload.max_units = uint64_t{1} << 24;
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<uint32_t> got(kLanes);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  Latency latency;
  latency.level = latency_level::kShared;
  latency.points = measured->points;
  latency.footprint_bytes = kSharedWords * sizeof(uint32_t);
  latency.check = Bench::Compare(
      kLanes, [&](uint64_t lane) { return static_cast<double>(got[lane]); },
      [&](uint64_t) { return static_cast<double>(measured->large_units * kSharedStride % kSharedWords); }, 0);
  AddLatency(bench, std::move(latency));
}

}  // namespace

void MeasureLatency(Bench& bench) {
  MeasureSharedChase(bench);
  const auto nothing = [] { return true; };
  bench.Begin("latency l1");
  if (const Chain chain(bench, 16 * kGroupBytes); chain.ok) {
    for (const uint32_t sectors : {1u, 2u, 4u, 8u, 16u, 32u}) {
      MeasureChase<ChaseLevel::kL1>(bench, chain, sectors, nothing);
    }
  }
  const uint64_t l2_bytes = std::max<uint64_t>(static_cast<uint64_t>(bench.device().l2CacheSize), uint64_t{1} << 20);
  bench.Begin("latency l2");
  if (const Chain chain(bench, l2_bytes / 8 / kGroupBytes * kGroupBytes); chain.ok) {
    for (const uint32_t sectors : {1u, 2u, 4u, 8u, 16u, 32u}) {
      MeasureChase<ChaseLevel::kL2>(bench, chain, sectors, nothing);
    }
  }
  bench.Begin("latency dram");
  const Chain chain(bench, 4 * l2_bytes / kGroupBytes * kGroupBytes);
  const BenchArray<uint4> other(bench, 4 * l2_bytes / sizeof(uint4));
  const uint64_t threads = uint64_t{bench.sm_count()} * 8 * 256;
  const BenchArray<uint32_t> sink(bench, threads);
  if (!chain.ok || !other || !sink ||
      !bench.Ok(cudaMemsetAsync(other.data(), 0, other.bytes(), bench.stream()), "cudaMemsetAsync")) {
    return;
  }
  const auto evict = [&] {
    return bench.Launch(EvictL2, threads / 256, 256, 0, other.data(), other.count(), sink.data());
  };
  for (const uint32_t sectors : {1u, 32u}) MeasureChase<ChaseLevel::kDram>(bench, chain, sectors, evict);
}

}  // namespace gx::kernels
