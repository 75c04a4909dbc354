// Tensor cores through wgmma, operands in shared memory: FP16, BF16, TF32, FP8, INT8. Compute capability 9.0 alone has
// it, and this file alone is compiled for sm_90a.
//
// Two warpgroups a block, each with its own 64 rows of A and the same 256 rows of B, 128 bytes of k a row. The rows lie
// in shared memory as the 128-byte swizzle wants them (PTX ISA, "Shared Memory Matrix Layout" and "Matrix descriptor"):
// eight rows of 128 bytes after each other, and in row r the 16-byte piece c at place c xor r mod 8.
#include <string>
#include <type_traits>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {
namespace {

constexpr unsigned kWarpgroups = 2;
constexpr unsigned kBlockThreads = 128 * kWarpgroups;
constexpr unsigned kM = 64;
constexpr unsigned kN = 256;
constexpr unsigned kRowBytes = 128;
// Of one instruction, so that a row is four.
constexpr unsigned kStepBytes = 32;
constexpr unsigned kSteps = kRowBytes / kStepBytes;
constexpr unsigned kAccumulators = 128;
// A row's steps with one sign and then with the other; between two waits.
constexpr unsigned kPairs = 2;
constexpr unsigned kAlignment = 1024;
constexpr unsigned kRows = kWarpgroups * kM + kN;
constexpr unsigned kSharedBytes = kRows * kRowBytes + kAlignment;
constexpr uint32_t kSeed = 51;

}  // namespace

#define GX_REGISTERS                                                                                       \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "  \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
  "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "   \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
  "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, " \
  "%119, %120, %121, %122, %123, %124, %125, %126, %127}"

#define GX_EIGHT(constraint, d, i)                                                                          \
  constraint(d[i]), constraint(d[i + 1]), constraint(d[i + 2]), constraint(d[i + 3]), constraint(d[i + 4]), \
      constraint(d[i + 5]), constraint(d[i + 6]), constraint(d[i + 7])
#define GX_THIRTY_TWO(constraint, d, i)                                                        \
  GX_EIGHT(constraint, d, i), GX_EIGHT(constraint, d, i + 8), GX_EIGHT(constraint, d, i + 16), \
      GX_EIGHT(constraint, d, i + 24)

// `tail`: what stands behind the predicate that says to add to the accumulators.
#define GX_WGMMA(constraint, shape, tail)                                                                             \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, 1, 1;\n\twgmma.mma_async.sync.aligned." shape " " GX_REGISTERS   \
               ", %128, %129, p" tail ";\n\t}"                                                                        \
               : GX_THIRTY_TWO(constraint, d, 0), GX_THIRTY_TWO(constraint, d, 32), GX_THIRTY_TWO(constraint, d, 64), \
                 GX_THIRTY_TWO(constraint, d, 96)                                                                     \
               : "l"(a), "l"(b))

// Each kind: Result, kElementBytes, kHasSign (A can be taken with its sign changed), Encode, Multiply.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define GX_FLOAT_MULTIPLY(shape, transpose)                                                           \
  template <bool kMinus>                                                                              \
  __device__ __forceinline__ static void Multiply(float(&d)[kAccumulators], uint64_t a, uint64_t b) { \
    if constexpr (kMinus) {                                                                           \
      GX_WGMMA("+f", shape, ", -1, 1" transpose);                                                     \
    } else {                                                                                          \
      GX_WGMMA("+f", shape, ", 1, 1" transpose);                                                      \
    }                                                                                                 \
  }
#define GX_INTEGER_MULTIPLY(shape)                                                                  \
  template <bool kMinus>                                                                            \
  __device__ __forceinline__ static void Multiply(int(&d)[kAccumulators], uint64_t a, uint64_t b) { \
    GX_WGMMA("+r", shape, "");                                                                      \
  }
#else
#define GX_FLOAT_MULTIPLY(shape, transpose)                                      \
  template <bool kMinus>                                                         \
  __device__ static void Multiply(float(&)[kAccumulators], uint64_t, uint64_t) { \
    __trap();                                                                    \
  }
#define GX_INTEGER_MULTIPLY(shape)                                             \
  template <bool kMinus>                                                       \
  __device__ static void Multiply(int(&)[kAccumulators], uint64_t, uint64_t) { \
    __trap();                                                                  \
  }
#endif

// Whole numbers from -3 to 3; the sign is the highest of `bits`.
__device__ inline uint32_t WithSign(int value, uint32_t one, uint32_t two, uint32_t three, unsigned bits) {
  const int size = value < 0 ? -value : value;
  const uint32_t code = size == 0 ? 0 : size == 1 ? one : size == 2 ? two : three;
  return value < 0 ? code | 1u << (bits - 1) : code;
}

struct WgmmaFp16 {
  using Result = float;
  static constexpr unsigned kElementBytes = 2;
  static constexpr bool kHasSign = true;
  __device__ static uint16_t Encode(int value) {
    return static_cast<uint16_t>(WithSign(value, 0x3C00, 0x4000, 0x4200, 16));
  }
  GX_FLOAT_MULTIPLY("m64n256k16.f32.f16.f16", ", 0, 0")
};

struct WgmmaBf16 {
  using Result = float;
  static constexpr unsigned kElementBytes = 2;
  static constexpr bool kHasSign = true;
  __device__ static uint16_t Encode(int value) {
    return static_cast<uint16_t>(WithSign(value, 0x3F80, 0x4000, 0x4040, 16));
  }
  GX_FLOAT_MULTIPLY("m64n256k16.f32.bf16.bf16", ", 0, 0")
};

struct WgmmaTf32 {
  using Result = float;
  static constexpr unsigned kElementBytes = 4;
  static constexpr bool kHasSign = true;
  __device__ static uint32_t Encode(int value) { return __float_as_uint(static_cast<float>(value)); }
  GX_FLOAT_MULTIPLY("m64n256k8.f32.tf32.tf32", "")
};

struct WgmmaFp8 {
  using Result = float;
  static constexpr unsigned kElementBytes = 1;
  static constexpr bool kHasSign = true;
  __device__ static uint8_t Encode(int value) { return static_cast<uint8_t>(WithSign(value, 0x38, 0x40, 0x44, 8)); }
  GX_FLOAT_MULTIPLY("m64n256k32.f32.e4m3.e4m3", "")
};

struct WgmmaInt8 {
  using Result = int;
  static constexpr unsigned kElementBytes = 1;
  static constexpr bool kHasSign = false;
  __device__ static int8_t Encode(int value) { return static_cast<int8_t>(value); }
  GX_INTEGER_MULTIPLY("m64n256k32.s32.s8.s8")
};

#undef GX_INTEGER_MULTIPLY
#undef GX_FLOAT_MULTIPLY
#undef GX_WGMMA
#undef GX_THIRTY_TWO
#undef GX_EIGHT
#undef GX_REGISTERS

// Rows 0 to 127 are A's, the others B's.
__host__ __device__ inline int OperandValue(uint32_t row, uint32_t k) {
  return SmallInteger(kSeed, row * kRowBytes + k);
}

// The descriptor of the rows from `address` on: start, distance of eight rows, 128-byte swizzle, in units of 16 bytes.
__device__ inline uint64_t OperandDescriptor(uint32_t address) {
  constexpr uint64_t kUnit = 16;
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return (address & 0x3FFFFu) / kUnit | uint64_t{1} << 16 | (8 * kRowBytes / kUnit) << 32 | kSwizzle128;
}

// The compiler may not move the accumulators while the tensor cores work on them.
template <typename Result>
__device__ __forceinline__ void KeepInPlace(Result (&d)[kAccumulators]) {
#pragma unroll
  for (unsigned i = 0; i < kAccumulators; ++i) {
    if constexpr (std::is_same_v<Result, float>) {
      asm volatile("" : "+f"(d[i])::"memory");
    } else {
      asm volatile("" : "+r"(d[i])::"memory");
    }
  }
}

// All of the rows' 128 bytes of k.
template <typename Kind, bool kMinus>
__device__ __forceinline__ void MultiplyRows(typename Kind::Result (&d)[kAccumulators], uint64_t a, uint64_t b) {
#pragma unroll
  for (unsigned step = 0; step < kSteps; ++step) {
    Kind::template Multiply<kMinus>(d, a + step * kStepBytes / 16, b + step * kStepBytes / 16);
  }
}

template <typename Kind>
__global__ void __launch_bounds__(kBlockThreads, 1)
    WgmmaKernel(uint32_t passes, typename Kind::Result* __restrict__ out, ClockProbe* probe) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint8_t shared_bytes[];
  const uint32_t unaligned = static_cast<uint32_t>(__cvta_generic_to_shared(shared_bytes));
  const uint32_t padding = (kAlignment - unaligned % kAlignment) % kAlignment;
  uint8_t* operands = shared_bytes + padding;
  constexpr uint32_t kPerRow = kRowBytes / Kind::kElementBytes;
  for (uint32_t i = threadIdx.x; i < kRows * kPerRow; i += kBlockThreads) {
    const uint32_t row = i / kPerRow;
    const uint32_t k = i % kPerRow;
    const uint32_t byte = k * Kind::kElementBytes;
    const uint32_t place = row * kRowBytes + ((byte / 16) ^ (row % 8)) * 16 + byte % 16;
    *reinterpret_cast<decltype(Kind::Encode(0))*>(operands + place) = Kind::Encode(OperandValue(row, k));
  }
  // The tensor cores read shared memory by another way than the threads wrote it.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint32_t warpgroup = threadIdx.x / 128;
  const uint64_t a = OperandDescriptor(unaligned + padding + warpgroup * kM * kRowBytes);
  const uint64_t b = OperandDescriptor(unaligned + padding + kWarpgroups * kM * kRowBytes);
  typename Kind::Result d[kAccumulators];
#pragma unroll
  for (unsigned i = 0; i < kAccumulators; ++i) d[i] = 0;
  StartClock(probe);
  KeepInPlace(d);
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      MultiplyRows<Kind, false>(d, a, b);
      MultiplyRows<Kind, true>(d, a, b);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  // A product more than there are of the other sign: the result.
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  MultiplyRows<Kind, false>(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  KeepInPlace(d);
  EndClock(probe);
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
#pragma unroll
  for (unsigned i = 0; i < kAccumulators; ++i) out[uint64_t{thread} * kAccumulators + i] = d[i];
#else
  (void)passes;
  (void)out;
  (void)probe;
  __trap();
#endif
}

namespace {

template <typename Kind>
void MeasureKind(Bench& bench, EnumValue resource, const char* variant, double allowed_error) {
  bench.Begin(std::string("wgmma ") + variant);
  if (bench.device().major != 9 || bench.device().minor != 0) {
    return bench.Absent("compute capability 9.0 alone has wgmma");
  }
  if (!bench.Ok(cudaFuncSetAttribute(WgmmaKernel<Kind>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(kSharedBytes)),
                "cudaFuncSetAttribute")) {
    return;
  }
  const uint64_t grid = bench.sm_count();
  const uint64_t results = grid * kBlockThreads * kAccumulators;
  const BenchArray<typename Kind::Result> out(bench, results);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  const auto products = [](uint64_t passes) { return 2 * kPairs * passes + 1; };
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(WgmmaKernel<Kind>, grid, kBlockThreads, kSharedBytes, static_cast<uint32_t>(passes), out.data(),
                        bench.probe());
  };
  constexpr uint64_t kDepth = kRowBytes / Kind::kElementBytes;
  workload.work = [&](uint64_t passes) {
    return static_cast<double>(grid * kWarpgroups * products(passes) * 2 * kM * kN * kDepth);
  };
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<typename Kind::Result> got(results);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  // Of one block; the others do the same. Integers without a sign add up, modulo 2^32.
  const auto times = static_cast<uint32_t>(Kind::kHasSign ? 1 : products(measured->large_units));
  std::vector<double> expected;
  for (uint32_t i = 0; i < kBlockThreads * kAccumulators; ++i) {
    const uint32_t thread = i / kAccumulators;
    const uint32_t place = i % kAccumulators;
    const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + place % 4 / 2 * 8;
    const uint32_t column = place / 4 * 8 + thread % 4 * 2 + place % 2;
    int sum = 0;
    for (uint32_t k = 0; k < kDepth; ++k) sum += OperandValue(row, k) * OperandValue(kWarpgroups * kM + column, k);
    expected.push_back(static_cast<int>(static_cast<uint32_t>(sum) * times));
  }
  Ceiling ceiling;
  ceiling.resource = resource;
  ceiling.path = ceiling_path::kWgmma;
  ceiling.unit = work_unit::kFlop;
  ceiling.variant = variant;
  ceiling.points = measured->points;
  ceiling.grid_blocks = grid;
  ceiling.block_threads = kBlockThreads;
  ceiling.check = Bench::Compare(
      results, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return expected[i % expected.size()]; }, allowed_error);
  bench.AddCeiling(ceiling);
}

}  // namespace

void MeasureWgmma(Bench& bench) {
  MeasureKind<WgmmaFp16>(bench, ceiling_resource::kTensorFp16, "fp16_m64n256k16", 0);
  MeasureKind<WgmmaBf16>(bench, ceiling_resource::kTensorBf16, "bf16_m64n256k16", 0);
  MeasureKind<WgmmaTf32>(bench, ceiling_resource::kTensorTf32, "tf32_m64n256k8", 0);
  // Sums of FP8 products are kept with fewer bits than a float has; of whole numbers up to 1,152 one may be off.
  MeasureKind<WgmmaFp8>(bench, ceiling_resource::kTensorFp8, "e4m3_m64n256k32", 1);
  MeasureKind<WgmmaInt8>(bench, ceiling_resource::kTensorInt8, "int8_m64n256k32", 0);
}

}  // namespace gx::kernels
