// Arithmetic of ordinary threads: FP64, FP32, half2, bfloat162, 32-bit integers, the special function unit, and issue.
//
// Floating point: x = a x + b with a = -1 of an argument, so that x jumps between its start and b less its start: data
// that change at every step, and an answer exact in every type. Assembly, so that no compiler shortens a chain; ptxas
// still may, so a test counts the instructions of the machine code (tests/gpu/kernel_list_test.py).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
// Independent chains of a thread: with eight warps a scheduler, more than any latency needs.
constexpr unsigned kChains = 8;
// Steps between two checks of the loop: its own instructions are 2 % of the work or less.
constexpr unsigned kRounds = 16;
constexpr uint32_t kSeedStart = 31;
constexpr uint32_t kSeedTarget = 32;

}  // namespace

// Whole numbers that every type holds: bfloat16 has 8 bits.
__host__ __device__ inline int StartOf(uint32_t chain) {
  return 1 + static_cast<int>(HashBits(kSeedStart, chain) % 60);
}
__host__ __device__ inline int TargetOf(uint32_t chain) {
  return 61 + static_cast<int>(HashBits(kSeedTarget, chain) % 60);
}

// Each kind: Value, Make(low, high) from whole numbers, Step, and Text: the value as one double, low + 1024 high.
struct Fp64Kind {
  using Value = double;
  static constexpr unsigned kLanes = 1;
  __device__ static Value Make(int low, int) { return low; }
  __device__ static void Step(Value& x, Value a, Value b) {
    asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(a), "d"(b));
  }
  __device__ static double Text(Value x) { return x; }
};

struct Fp32Kind {
  using Value = float;
  static constexpr unsigned kLanes = 1;
  __device__ static Value Make(int low, int) { return static_cast<float>(low); }
  __device__ static void Step(Value& x, Value a, Value b) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b));
  }
  __device__ static double Text(Value x) { return x; }
};

struct Fp16Kind {
  using Value = uint32_t;
  static constexpr unsigned kLanes = 2;
  __device__ static Value Make(int low, int high) {
    return uint32_t{__half_as_ushort(__int2half_rn(low))} | uint32_t{__half_as_ushort(__int2half_rn(high))} << 16;
  }
  __device__ static void Step(Value& x, Value a, Value b) {
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b));
  }
  __device__ static double Text(Value x) {
    return double{__half2float(__ushort_as_half(static_cast<unsigned short>(x & 0xFFFFu)))} +
           1024 * double{__half2float(__ushort_as_half(static_cast<unsigned short>(x >> 16)))};
  }
};

struct Bf16Kind {
  using Value = uint32_t;
  static constexpr unsigned kLanes = 2;
  // The upper half of a float; exact for these numbers.
  __device__ static Value Make(int low, int high) {
    return __float_as_uint(static_cast<float>(low)) >> 16 | (__float_as_uint(static_cast<float>(high)) & 0xFFFF0000u);
  }
  __device__ static void Step(Value& x, Value a, Value b) {
    asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b));
  }
  __device__ static double Text(Value x) {
    return double{__uint_as_float(x << 16)} + 1024 * double{__uint_as_float(x & 0xFFFF0000u)};
  }
};

// x = 1 / sqrt(b x), which halves the distance to b^(-1/3), and its own errors, at each step. The product is a fourth
// of the special function unit's time and on another pipe. No reciprocals: ptxas makes two in a row into none.
struct SpecialKind {
  using Value = float;
  static constexpr unsigned kLanes = 1;
  __device__ static Value Make(int low, int) { return static_cast<float>(low); }
  __device__ static void Step(Value& x, Value, Value b) {
    asm volatile("mul.ftz.f32 %0, %0, %1;\n\trsqrt.approx.ftz.f32 %0, %0;" : "+f"(x) : "f"(b));
  }
  __device__ static double Text(Value x) { return x; }
};

// An odd number of steps, so that something has changed at the end.
template <typename Kind>
__global__ void __launch_bounds__(kBlockThreads)
    VectorKernel(int minus_one, uint32_t passes, double* __restrict__ out, ClockProbe* probe) {
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
  typename Kind::Value x[kChains];
  typename Kind::Value b[kChains];
  const typename Kind::Value a = Kind::Make(minus_one, minus_one);
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) {
    const uint32_t chain = (thread * kChains + c) * 2;
    x[c] = Kind::Make(StartOf(chain), StartOf(chain + 1));
    b[c] = Kind::Make(TargetOf(chain), TargetOf(chain + 1));
  }
  StartClock(probe);
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll
      for (unsigned c = 0; c < kChains; ++c) Kind::Step(x[c], a, b[c]);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) Kind::Step(x[c], a, b[c]);
  EndClock(probe);
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) out[thread * kChains + c] = Kind::Text(x[c]);
}

enum class IntegerWork { kAddAndXor, kMultiplyAdd };

template <IntegerWork kWork>
__host__ __device__ inline void IntegerStep(uint32_t& x, uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  if constexpr (kWork == IntegerWork::kAddAndXor) {
    asm volatile("add.u32 %0, %0, %1;\n\txor.b32 %0, %0, %2;" : "+r"(x) : "r"(a), "r"(b));
  } else {
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b));
  }
#else
  x = kWork == IntegerWork::kAddAndXor ? (x + a) ^ b : x * a + b;
#endif
}

template <IntegerWork kWork>
__global__ void __launch_bounds__(kBlockThreads)
    IntegerKernel(uint32_t a, uint32_t b, uint32_t passes, uint32_t* __restrict__ out, ClockProbe* probe) {
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
  uint32_t x[kChains];
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) x[c] = HashBits(kSeedStart, thread * kChains + c);
  StartClock(probe);
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll
      for (unsigned c = 0; c < kChains; ++c) IntegerStep<kWork>(x[c], a, b);
    }
  }
  EndClock(probe);
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) out[thread * kChains + c] = x[c];
}

// Six multiply-adds of floats and two operations of integers a round: three quarters of the one pipe and half of the
// other, so that issue alone is full.
__global__ void __launch_bounds__(kBlockThreads)
    IssueKernel(float minus_one, uint32_t add, uint32_t flip, uint32_t passes, double* __restrict__ out,
                uint32_t* __restrict__ integers, ClockProbe* probe) {
  constexpr unsigned kFloatChains = 6;
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
  float x[kFloatChains];
  float b[kFloatChains];
#pragma unroll
  for (unsigned c = 0; c < kFloatChains; ++c) {
    const uint32_t chain = (thread * kChains + c) * 2;
    x[c] = static_cast<float>(StartOf(chain));
    b[c] = static_cast<float>(TargetOf(chain));
  }
  uint32_t n = HashBits(kSeedStart, thread);
  StartClock(probe);
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll
      for (unsigned c = 0; c < kFloatChains; ++c) Fp32Kind::Step(x[c], minus_one, b[c]);
      IntegerStep<IntegerWork::kAddAndXor>(n, add, flip);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < kFloatChains; ++c) Fp32Kind::Step(x[c], minus_one, b[c]);
  EndClock(probe);
#pragma unroll
  for (unsigned c = 0; c < kFloatChains; ++c) out[thread * kChains + c] = x[c];
  integers[thread] = n;
}

namespace {

constexpr uint32_t kAdd = 0x9E3779B9u;
// Odd and not 1 modulo 8: the products keep changing in every bit but the lowest.
constexpr uint32_t kFactor = 0x85EBCA6Bu;
// Threads whose chains are computed again on the host, step by step.
constexpr uint64_t kCheckedThreads = 8;

// The grid is as many blocks as fit; 0 after a failure.
Ceiling VectorCeiling(Bench& bench, const void* kernel, EnumValue resource, EnumValue unit, const char* variant) {
  Ceiling ceiling;
  ceiling.resource = resource;
  ceiling.path = ceiling_path::kThread;
  ceiling.unit = unit;
  ceiling.variant = variant;
  ceiling.grid_blocks = bench.ResidentBlocks(kernel, kBlockThreads, 0);
  ceiling.block_threads = kBlockThreads;
  return ceiling;
}

// After an odd number of steps.
double ExpectedValue(uint64_t chain, unsigned lanes) {
  const auto low = static_cast<uint32_t>(chain * 2);
  const double value = TargetOf(low) - StartOf(low);
  return lanes == 1 ? value : value + 1024.0 * (TargetOf(low + 1) - StartOf(low + 1));
}

template <typename Kind>
void MeasureKind(Bench& bench, EnumValue resource, EnumValue unit, const char* variant, double operations_per_step) {
  bench.Begin(variant);
  Ceiling ceiling = VectorCeiling(bench, reinterpret_cast<const void*>(VectorKernel<Kind>), resource, unit, variant);
  if (*ceiling.grid_blocks == 0) return;
  const uint64_t chains = *ceiling.grid_blocks * kBlockThreads * kChains;
  const BenchArray<double> out(bench, chains);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(VectorKernel<Kind>, *ceiling.grid_blocks, kBlockThreads, 0, -1, static_cast<uint32_t>(passes),
                        out.data(), bench.probe());
  };
  workload.work = [&](uint64_t passes) {
    return static_cast<double>(chains * (passes * kRounds + 1)) * operations_per_step;
  };
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<double> got(chains);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  ceiling.points = measured->points;
  if constexpr (std::is_same_v<Kind, SpecialKind>) {
    // Of values about 0.2. A step's error is 2^-22.9 of the value (PTX ISA, rsqrt), and what is left of the
    // steps before is as much again.
    ceiling.check = Bench::Compare(
        chains, [&](uint64_t i) { return got[i]; },
        [&](uint64_t i) { return 1 / std::cbrt(static_cast<double>(TargetOf(static_cast<uint32_t>(i * 2)))); }, 2e-7);
  } else {
    ceiling.check = Bench::Compare(
        chains, [&](uint64_t i) { return got[i]; }, [&](uint64_t i) { return ExpectedValue(i, Kind::kLanes); }, 0);
  }
  bench.AddCeiling(ceiling);
}

template <IntegerWork kWork>
void MeasureInteger(Bench& bench, EnumValue resource, const char* variant, uint32_t a, double operations_per_step) {
  bench.Begin(variant);
  Ceiling ceiling = VectorCeiling(bench, reinterpret_cast<const void*>(IntegerKernel<kWork>), resource,
                                  work_unit::kOperation, variant);
  if (*ceiling.grid_blocks == 0) return;
  const uint64_t chains = *ceiling.grid_blocks * kBlockThreads * kChains;
  const BenchArray<uint32_t> out(bench, chains);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(IntegerKernel<kWork>, *ceiling.grid_blocks, kBlockThreads, 0, a, kAdd,
                        static_cast<uint32_t>(passes), out.data(), bench.probe());
  };
  workload.work = [&](uint64_t passes) { return static_cast<double>(chains * passes * kRounds) * operations_per_step; };
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<uint32_t> got(chains);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  ceiling.points = measured->points;
  // Of the first and the last threads, half each.
  ceiling.check = Bench::Compare(
      kCheckedThreads * kChains, [&](uint64_t i) { return static_cast<double>(got[i % 2 == 0 ? i : chains - 1 - i]); },
      [&](uint64_t i) {
        const uint64_t chain = i % 2 == 0 ? i : chains - 1 - i;
        uint32_t x = HashBits(kSeedStart, static_cast<uint32_t>(chain));
        for (uint64_t step = 0; step < measured->large_units * kRounds; ++step) IntegerStep<kWork>(x, a, kAdd);
        return static_cast<double>(x);
      },
      0);
  bench.AddCeiling(ceiling);
}

void MeasureIssue(Bench& bench) {
  bench.Begin("issue");
  Ceiling ceiling = VectorCeiling(bench, reinterpret_cast<const void*>(IssueKernel), ceiling_resource::kIssue,
                                  work_unit::kWarpInstruction, "6_ffma_1_iadd_1_lop");
  if (*ceiling.grid_blocks == 0) return;
  const uint64_t threads = *ceiling.grid_blocks * kBlockThreads;
  const BenchArray<double> out(bench, threads * kChains);
  const BenchArray<uint32_t> integers(bench, threads);
  if (!out || !integers || !bench.Poison(out.data(), out.bytes()) || !bench.Poison(integers.data(), integers.bytes())) {
    return;
  }
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(IssueKernel, *ceiling.grid_blocks, kBlockThreads, 0, -1.0f, kFactor, kAdd,
                        static_cast<uint32_t>(passes), out.data(), integers.data(), bench.probe());
  };
  workload.work = [&](uint64_t passes) { return static_cast<double>(threads / 32 * passes * kRounds * kChains); };
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<double> got(out.count());
  std::vector<uint32_t> got_integers(threads);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes()) ||
      !bench.Download(got_integers.data(), integers.data(), integers.bytes())) {
    return;
  }
  uint32_t expected_integer = HashBits(kSeedStart, 0);
  for (uint64_t step = 0; step < measured->large_units * kRounds; ++step) {
    IntegerStep<IntegerWork::kAddAndXor>(expected_integer, kFactor, kAdd);
  }
  // The last two of a thread's eight places are poison and belong to no chain; the first integer stands in their place.
  ceiling.points = measured->points;
  ceiling.check = Bench::Compare(
      threads * kChains, [&](uint64_t i) { return i % kChains < 6 ? got[i] : static_cast<double>(got_integers[0]); },
      [&](uint64_t i) { return i % kChains < 6 ? ExpectedValue(i, 1) : static_cast<double>(expected_integer); }, 0);
  bench.AddCeiling(ceiling);
}

}  // namespace

void MeasureVector(Bench& bench) {
  // A multiply-add is two; of a packed pair four.
  MeasureKind<Fp64Kind>(bench, ceiling_resource::kFp64, work_unit::kFlop, "fp64_fma", 2);
  MeasureKind<Fp32Kind>(bench, ceiling_resource::kFp32, work_unit::kFlop, "fp32_fma", 2);
  MeasureKind<Fp16Kind>(bench, ceiling_resource::kFp16, work_unit::kFlop, "fp16x2_fma", 4);
  MeasureKind<Bf16Kind>(bench, ceiling_resource::kBf16, work_unit::kFlop, "bf16x2_fma", 4);
  MeasureKind<SpecialKind>(bench, ceiling_resource::kSpecialFunction, work_unit::kOperation, "rsqrt_approx_f32", 1);
  MeasureInteger<IntegerWork::kAddAndXor>(bench, ceiling_resource::kInt32, "int32_add_xor", kFactor, 2);
  MeasureInteger<IntegerWork::kMultiplyAdd>(bench, ceiling_resource::kInt32Multiply, "int32_multiply_add", kFactor, 1);
  MeasureIssue(bench);
}

}  // namespace gx::kernels
