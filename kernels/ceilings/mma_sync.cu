// Tensor cores through mma.sync, operands in registers: FP16, BF16, TF32, FP8, INT8, FP64.
//
// Lane 4 g + t holds of A the rows g and g + 8, of B the column g, of the result the columns 2 t and 2 t + 1 (PTX ISA,
// "Matrix fragments for mma"). Which k an element stands for is the same in A and B, and the check needs no more.
#include <algorithm>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
// Independent products of a warp.
constexpr unsigned kProducts = 4;
// Pairs of a product and the same with A's sign changed, so that sums stay small and exact in every type.
constexpr unsigned kPairs = 8;
constexpr uint32_t kSeedA = 41;
constexpr uint32_t kSeedB = 42;

}  // namespace

// Each kind: Word, what a register holds; kPerWord, elements in it; kARegisters and kBRegisters; Encode of a whole
// number from -3 to 3; Multiply.
template <typename KindWord, unsigned kA, unsigned kB, unsigned kElements, unsigned kRows, unsigned kDepth>
struct MmaShape {
  using Word = KindWord;
  static constexpr unsigned kARegisters = kA;
  static constexpr unsigned kBRegisters = kB;
  static constexpr unsigned kPerWord = kElements;
  static constexpr unsigned kM = kRows;
  static constexpr unsigned kK = kDepth;
  static constexpr unsigned kResults = kRows / 4;
};

// Whole numbers from 0 to 3 in 16 bits; the sign is the highest bit.
__device__ inline uint32_t SignedBits(int value, uint32_t one, uint32_t two, uint32_t three, unsigned sign_bit) {
  const int size = value < 0 ? -value : value;
  const uint32_t bits = size == 0 ? 0 : size == 1 ? one : size == 2 ? two : three;
  return value < 0 ? bits | 1u << sign_bit : bits;
}

#define GX_MMA_16816(name, types)                                                               \
  __device__ static void Multiply(float(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) { \
    asm volatile("mma.sync.aligned." name ".row.col." types                                     \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                              \
                 "{%0, %1, %2, %3};"                                                            \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));           \
  }

struct MmaFp16 : MmaShape<uint32_t, 4, 2, 2, 16, 16> {
  using Result = float;
  __device__ static uint32_t Encode(int value) { return SignedBits(value, 0x3C00, 0x4000, 0x4200, 15); }
  GX_MMA_16816("m16n8k16", "f32.f16.f16.f32")
};

struct MmaBf16 : MmaShape<uint32_t, 4, 2, 2, 16, 16> {
  using Result = float;
  __device__ static uint32_t Encode(int value) { return SignedBits(value, 0x3F80, 0x4000, 0x4040, 15); }
  GX_MMA_16816("m16n8k16", "f32.bf16.bf16.f32")
};

struct MmaTf32 : MmaShape<uint32_t, 4, 2, 1, 16, 8> {
  using Result = float;
  __device__ static uint32_t Encode(int value) { return __float_as_uint(static_cast<float>(value)); }
  GX_MMA_16816("m16n8k8", "f32.tf32.tf32.f32")
};

struct MmaFp8 : MmaShape<uint32_t, 4, 2, 4, 16, 32> {
  using Result = float;
  __device__ static uint32_t Encode(int value) { return SignedBits(value, 0x38, 0x40, 0x44, 7); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
  GX_MMA_16816("m16n8k32", "f32.e4m3.e4m3.f32")
#else
  __device__ static void Multiply(float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]) { __trap(); }
#endif
};

struct MmaInt8 : MmaShape<uint32_t, 4, 2, 4, 16, 32> {
  using Result = int;
  __device__ static uint32_t Encode(int value) { return static_cast<uint32_t>(value) & 0xFFu; }
  __device__ static void Multiply(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

struct MmaFp64Small : MmaShape<double, 1, 1, 1, 8, 4> {
  using Result = double;
  __device__ static double Encode(int value) { return value; }
  __device__ static void Multiply(double (&d)[2], const double (&a)[1], const double (&b)[1]) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[0]), "d"(b[0]));
  }
};

struct MmaFp64Large : MmaShape<double, 8, 4, 1, 16, 16> {
  using Result = double;
  __device__ static double Encode(int value) { return value; }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ static void Multiply(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
  }
#else
  __device__ static void Multiply(double (&)[4], const double (&)[8], const double (&)[4]) { __trap(); }
#endif
};

#undef GX_MMA_16816

// The element `part` of register `index` of a lane, of A or of product `product`'s B.
__host__ __device__ inline int FragmentValue(uint32_t seed, uint32_t product, uint32_t lane, uint32_t index,
                                             uint32_t part) {
  return SmallInteger(seed, ((product * 32 + lane) * 8 + index) * 4 + part);
}

template <typename Kind>
__device__ typename Kind::Word FragmentWord(uint32_t seed, uint32_t product, uint32_t lane, uint32_t index, int sign) {
  if constexpr (std::is_same_v<typename Kind::Word, double>) {
    return sign * FragmentValue(seed, product, lane, index, 0);
  } else {
    uint32_t word = 0;
    for (uint32_t part = 0; part < Kind::kPerWord; ++part) {
      word |= Kind::Encode(sign * FragmentValue(seed, product, lane, index, part)) << (32 / Kind::kPerWord * part);
    }
    return word;
  }
}

// Ends with a product more than there are of the other sign: the result is A B.
template <typename Kind>
__global__ void __launch_bounds__(kBlockThreads)
    MmaKernel(uint32_t passes, typename Kind::Result* __restrict__ out, ClockProbe* probe) {
  const uint32_t lane = threadIdx.x % 32;
  typename Kind::Word plus[Kind::kARegisters];
  typename Kind::Word minus[Kind::kARegisters];
  typename Kind::Word b[kProducts][Kind::kBRegisters];
  typename Kind::Result d[kProducts][Kind::kResults];
#pragma unroll
  for (uint32_t i = 0; i < Kind::kARegisters; ++i) {
    plus[i] = FragmentWord<Kind>(kSeedA, 0, lane, i, 1);
    minus[i] = FragmentWord<Kind>(kSeedA, 0, lane, i, -1);
  }
#pragma unroll
  for (uint32_t p = 0; p < kProducts; ++p) {
#pragma unroll
    for (uint32_t i = 0; i < Kind::kBRegisters; ++i) b[p][i] = FragmentWord<Kind>(kSeedB, p, lane, i, 1);
#pragma unroll
    for (uint32_t i = 0; i < Kind::kResults; ++i) d[p][i] = 0;
  }
  StartClock(probe);
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (unsigned pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (uint32_t p = 0; p < kProducts; ++p) Kind::Multiply(d[p], plus, b[p]);
#pragma unroll
      for (uint32_t p = 0; p < kProducts; ++p) Kind::Multiply(d[p], minus, b[p]);
    }
  }
#pragma unroll
  for (uint32_t p = 0; p < kProducts; ++p) Kind::Multiply(d[p], plus, b[p]);
  EndClock(probe);
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
#pragma unroll
  for (uint32_t p = 0; p < kProducts; ++p) {
#pragma unroll
    for (uint32_t i = 0; i < Kind::kResults; ++i) out[(thread * kProducts + p) * Kind::kResults + i] = d[p][i];
  }
}

namespace {

// One lane's result of A B: row g, or g + 8 for its upper half, column 2 t or 2 t + 1.
template <typename Kind>
int ExpectedResult(uint32_t lane, uint32_t product, uint32_t result) {
  const uint32_t row_lane = lane / 4 * 4;
  const uint32_t column_lane = (lane % 4 * 2 + result % 2) * 4;
  const uint32_t upper = result / 2;
  constexpr uint32_t kHalves = Kind::kM / 8;
  int sum = 0;
  for (uint32_t t = 0; t < 4; ++t) {
    for (uint32_t k = 0; k < Kind::kBRegisters; ++k) {
      for (uint32_t part = 0; part < Kind::kPerWord; ++part) {
        sum += FragmentValue(kSeedA, 0, row_lane + t, kHalves * k + upper, part) *
               FragmentValue(kSeedB, product, column_lane + t, k, part);
      }
    }
  }
  return sum;
}

template <typename Kind>
void MeasureMma(Bench& bench, EnumValue resource, const char* variant, int min_capability) {
  bench.Begin(std::string("mma.sync ") + variant);
  cudaFuncAttributes attributes = {};
  if (!bench.Ok(cudaFuncGetAttributes(&attributes, MmaKernel<Kind>), "cudaFuncGetAttributes")) return;
  // The code's own architecture, and not the device's: code of an older one has only a trap in it.
  if (std::min(attributes.ptxVersion, attributes.binaryVersion) < min_capability) {
    return bench.Absent("the instruction needs code for compute capability " + std::to_string(min_capability / 10) +
                        "." + std::to_string(min_capability % 10) + ", this binary has it for " +
                        std::to_string(attributes.ptxVersion));
  }
  const uint64_t grid = bench.ResidentBlocks(reinterpret_cast<const void*>(MmaKernel<Kind>), kBlockThreads, 0);
  if (grid == 0) return;
  const uint64_t results = grid * kBlockThreads * kProducts * Kind::kResults;
  const BenchArray<typename Kind::Result> out(bench, results);
  if (!out || !bench.Poison(out.data(), out.bytes())) return;
  Workload workload;
  workload.launch = [&](uint64_t passes) {
    return bench.Launch(MmaKernel<Kind>, grid, kBlockThreads, 0, static_cast<uint32_t>(passes), out.data(),
                        bench.probe());
  };
  workload.work = [&](uint64_t passes) {
    const uint64_t warps = grid * kBlockThreads / 32;
    return static_cast<double>(warps * kProducts * (2 * kPairs * passes + 1) * 2 * Kind::kM * 8 * Kind::kK);
  };
  const std::optional<Measured> measured = bench.Measure(workload);
  std::vector<typename Kind::Result> got(results);
  if (!measured || !bench.Download(got.data(), out.data(), out.bytes())) return;
  std::vector<int> expected;
  for (uint32_t i = 0; i < 32 * kProducts * Kind::kResults; ++i) {
    expected.push_back(
        ExpectedResult<Kind>(i / (kProducts * Kind::kResults), i / Kind::kResults % kProducts, i % Kind::kResults));
  }
  Ceiling ceiling;
  ceiling.resource = resource;
  ceiling.path = ceiling_path::kMmaSync;
  ceiling.unit = work_unit::kFlop;
  ceiling.variant = variant;
  ceiling.points = measured->points;
  ceiling.grid_blocks = grid;
  ceiling.block_threads = kBlockThreads;
  ceiling.check = Bench::Compare(
      results, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return static_cast<double>(expected[i % expected.size()]); }, 0);
  bench.AddCeiling(ceiling);
}

}  // namespace

void MeasureMmaSync(Bench& bench) {
  MeasureMma<MmaFp16>(bench, ceiling_resource::kTensorFp16, "fp16_m16n8k16", 80);
  MeasureMma<MmaBf16>(bench, ceiling_resource::kTensorBf16, "bf16_m16n8k16", 80);
  MeasureMma<MmaTf32>(bench, ceiling_resource::kTensorTf32, "tf32_m16n8k8", 80);
  MeasureMma<MmaFp8>(bench, ceiling_resource::kTensorFp8, "e4m3_m16n8k32", 89);
  MeasureMma<MmaInt8>(bench, ceiling_resource::kTensorInt8, "int8_m16n8k32", 80);
  MeasureMma<MmaFp64Small>(bench, ceiling_resource::kTensorFp64, "fp64_m8n8k4", 80);
  MeasureMma<MmaFp64Large>(bench, ceiling_resource::kTensorFp64, "fp64_m16n8k16", 90);
}

}  // namespace gx::kernels
