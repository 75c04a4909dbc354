// Kernels whose operations, bytes and instructions are known on paper, launched again and again so that each can be
// sampled. For comparing hardware counters with those answers, and with other profilers.
//
//   gx-counter-kernels [--seconds S | --rounds N] [--pause-ms N] [--kernels NAME,NAME,...]
//   gx-counter-kernels --list     what it says of its kernels, and nothing more; needs no device
//
// Before each launch of gx_NAME its twin before_gx_NAME runs: the same code under another name, so that what the launch
// finds in the caches does not depend on what else is launched. With --seconds (default 5) short kernels are launched
// more often, so that each has about the same share of the time. --pause-ms: after each round.
//
// Standard output, the same in every run:
//   kernel name=gx_ffma grid=1056 block=256 trips=200 compare=issue
//   expect kernel=gx_ffma metric=smsp__sass_thread_inst_executed_op_ffma_pred_on.sum value=3460300800 [upto=...]
// metric: one, or several whose sum is known, with + between them. trips: of the kernel's only loop. compare: what
// depends on the kernel alone and not on what the caches held before.
//
// Exit code: 0; 1 where CUDA refused something; 2 for wrong usage.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr unsigned kBlocks = 1056;  // 8 on each of 132 SMs.
constexpr unsigned kThreads = 256;
constexpr uint64_t kThreadCount = uint64_t{kBlocks} * kThreads;
constexpr uint64_t kWarpCount = kThreadCount / 32;
// A warpgroup a block.
constexpr unsigned kGroupBlocks = 528;
constexpr unsigned kGroupThreads = 128;
// Operations of one kind in a trip of an arithmetic kernel, in this many independent chains.
constexpr int kChains = 8;
constexpr int kSteps = 8;
constexpr uint64_t kOperations = kChains * kSteps;
constexpr uint64_t kMatrixOperations = 8;
constexpr int kWindowTrips = 4;  // Trips until the cache-resident kernels read the same again.

struct Arguments {
  float4* source;
  float4* sink;
  int trips;
  // Never constants, so that nothing is folded.
  float a;
  float b;
};

using Kernel = void (*)(Arguments);

__device__ __forceinline__ uint32_t ThreadIndex() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ------------------------------------------------------------------------------------------------ arithmetic

// value = step(value, a, b), in kChains chains; one store of a word each thread.
template <typename Value, typename Step>
__device__ __forceinline__ void Chains(const Arguments& arguments, Value a, Value b, Step step) {
  Value values[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) values[i] = a;
  int trip = arguments.trips;
#pragma unroll 1
  do {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) values[i] = step(values[i], a, b);
    }
  } while (--trip != 0);
  // Every chain reaches the store, without further operations of the kind that is counted.
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
    uint32_t words[sizeof(Value) / 4];
    memcpy(words, &values[i], sizeof(Value));
#pragma unroll
    for (size_t w = 0; w < sizeof(Value) / 4; ++w) bits ^= words[w];
  }
  reinterpret_cast<uint32_t*>(arguments.sink)[ThreadIndex()] = bits;
}

__device__ __forceinline__ void FfmaBody(const Arguments& x) {
  Chains<float>(x, x.a, x.b, [](float v, float a, float b) { return __fmaf_rn(v, a, b); });
}
__device__ __forceinline__ void FaddBody(const Arguments& x) {
  Chains<float>(x, x.a, x.b, [](float v, float a, float) { return __fadd_rn(v, a); });
}
__device__ __forceinline__ void FmulBody(const Arguments& x) {
  Chains<float>(x, x.a, x.b, [](float v, float a, float) { return __fmul_rn(v, a); });
}
__device__ __forceinline__ double AsDouble(float high, float low) {
  return __hiloint2double(__float_as_int(high), __float_as_int(low));
}
__device__ __forceinline__ void DfmaBody(const Arguments& x) {
  Chains<double>(x, AsDouble(x.a, x.b), AsDouble(x.b, x.a),
                 [](double v, double a, double b) { return __fma_rn(v, a, b); });
}
__device__ __forceinline__ void DaddBody(const Arguments& x) {
  Chains<double>(x, AsDouble(x.a, x.b), AsDouble(x.b, x.a), [](double v, double a, double) { return __dadd_rn(v, a); });
}
__device__ __forceinline__ void DmulBody(const Arguments& x) {
  Chains<double>(x, AsDouble(x.a, x.b), AsDouble(x.b, x.a), [](double v, double a, double) { return __dmul_rn(v, a); });
}
// Two halves in a word: one instruction, two results.
__device__ __forceinline__ void HfmaBody(const Arguments& x) {
  Chains<uint32_t>(x, __float_as_uint(x.a), __float_as_uint(x.b), [](uint32_t v, uint32_t a, uint32_t b) {
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(v) : "r"(a), "r"(b));
    return v;
  });
}
__device__ __forceinline__ void HaddBody(const Arguments& x) {
  Chains<uint32_t>(x, __float_as_uint(x.a), __float_as_uint(x.b), [](uint32_t v, uint32_t a, uint32_t) {
    asm("add.rn.f16x2 %0, %0, %1;" : "+r"(v) : "r"(a));
    return v;
  });
}
__device__ __forceinline__ void HmulBody(const Arguments& x) {
  Chains<uint32_t>(x, __float_as_uint(x.a), __float_as_uint(x.b), [](uint32_t v, uint32_t a, uint32_t) {
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(v) : "r"(a));
    return v;
  });
}
__device__ __forceinline__ void IntegerBody(const Arguments& x) {
  Chains<uint32_t>(x, __float_as_uint(x.a), __float_as_uint(x.b), [](uint32_t v, uint32_t a, uint32_t b) {
    asm("mad.lo.u32 %0, %0, %1, %2;" : "+r"(v) : "r"(a), "r"(b));
    return v;
  });
}

// ------------------------------------------------------------------------------------------------ tensor cores

// kMatrixOperations of a warp in a trip, each on an accumulator of its own.
template <int kAccumulators, typename Step>
__device__ __forceinline__ void Matrix(const Arguments& arguments, Step step) {
  uint32_t sums[kMatrixOperations][kAccumulators];
#pragma unroll
  for (uint64_t i = 0; i < kMatrixOperations; ++i) {
#pragma unroll
    for (int r = 0; r < kAccumulators; ++r) sums[i][r] = __float_as_uint(arguments.a);
  }
  const uint32_t bits = __float_as_uint(arguments.b);
  int trip = arguments.trips;
#pragma unroll 1
  do {
#pragma unroll
    for (uint64_t i = 0; i < kMatrixOperations; ++i) step(sums[i], bits);
  } while (--trip != 0);
  uint32_t all = 0;
#pragma unroll
  for (uint64_t i = 0; i < kMatrixOperations; ++i) {
#pragma unroll
    for (int r = 0; r < kAccumulators; ++r) all ^= sums[i][r];
  }
  reinterpret_cast<uint32_t*>(arguments.sink)[ThreadIndex()] = all;
}

#define GX_MMA_BODY(name, shape_and_types)                                                                      \
  __device__ __forceinline__ void name(const Arguments& x) {                                                    \
    Matrix<4>(x, [](uint32_t(&d)[4], uint32_t v) {                                                              \
      asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};" \
                   : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                             \
                   : "r"(v));                                                                                   \
    });                                                                                                         \
  }
// As above, with accumulators that are floats to the assembler.
#define GX_MMA_FLOAT_BODY(name, shape_and_types, inputs)                                            \
  __device__ __forceinline__ void name(const Arguments& x) {                                        \
    Matrix<4>(x, [](uint32_t(&d)[4], uint32_t v) {                                                  \
      float f[4];                                                                                   \
      memcpy(f, d, sizeof f);                                                                       \
      asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, " inputs ", {%0,%1,%2,%3};" \
                   : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                 \
                   : "r"(v));                                                                       \
      memcpy(d, f, sizeof f);                                                                       \
    });                                                                                             \
  }
GX_MMA_FLOAT_BODY(MmaBf16Body, "m16n8k16.row.col.f32.bf16.bf16.f32", "{%4,%4,%4,%4}, {%4,%4}")
GX_MMA_FLOAT_BODY(MmaFp16Body, "m16n8k16.row.col.f32.f16.f16.f32", "{%4,%4,%4,%4}, {%4,%4}")
GX_MMA_FLOAT_BODY(MmaTf32Body, "m16n8k8.row.col.f32.tf32.tf32.f32", "{%4,%4,%4,%4}, {%4,%4}")
GX_MMA_BODY(MmaInt8Body, "m16n8k32.row.col.s32.s8.s8.s32")

__device__ __forceinline__ void MmaFp16HalfBody(const Arguments& x) {
  Matrix<2>(x, [](uint32_t(&d)[2], uint32_t v) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2,%2,%2}, {%2,%2}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(v));
  });
}
// Not by Matrix: sums taken apart into words cost the compiler so many registers that it spills addresses. The first
// sums differ from thread to thread, so that they are kept where sums are.
__device__ __forceinline__ void MmaFp64Body(const Arguments& x) {
  double sums[kMatrixOperations][2];
#pragma unroll
  for (uint64_t i = 0; i < kMatrixOperations; ++i) {
    sums[i][0] = __hiloint2double(__float_as_int(x.a), static_cast<int>(threadIdx.x));
    sums[i][1] = sums[i][0];
  }
  const double input = __hiloint2double(__float_as_int(x.b), 0);
  int trip = x.trips;
#pragma unroll 1
  do {
#pragma unroll
    for (uint64_t i = 0; i < kMatrixOperations; ++i) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};"
                   : "+d"(sums[i][0]), "+d"(sums[i][1])
                   : "d"(input));
    }
  } while (--trip != 0);
  int all = 0;
#pragma unroll
  for (uint64_t i = 0; i < kMatrixOperations; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) all ^= __double2hiint(sums[i][r]) ^ __double2loint(sums[i][r]);
  }
  reinterpret_cast<int*>(x.sink)[ThreadIndex()] = all;
}

// wgmma: 64 x 8 of a warpgroup, both operands in shared memory, which is zeros: only the number of operations matters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GX_HAS_WGMMA 1
#endif

#ifdef GX_HAS_WGMMA
// Addresses and distances in units of 16 bytes; no swizzle.
__device__ __forceinline__ uint64_t Descriptor(const void* shared) {
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(shared));
  return (address >> 4) | (uint64_t{128 >> 4} << 16) | (uint64_t{256 >> 4} << 32);
}
template <typename Step>
__device__ __forceinline__ void WarpGroupMatrix(const Arguments& arguments, Step step) {
  __shared__ alignas(128) uint4 tiles[256];
  tiles[threadIdx.x] = tiles[threadIdx.x + kGroupThreads] = make_uint4(0, 0, 0, 0);
  __syncthreads();
  asm volatile("fence.proxy.async;" ::: "memory");
  const uint64_t a = Descriptor(tiles);
  const uint64_t b = Descriptor(tiles + 128);
  uint32_t sums[4] = {0, 0, 0, 0};
  int trip = arguments.trips;
#pragma unroll 1
  do {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (uint64_t i = 0; i < kMatrixOperations; ++i) step(sums, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  } while (--trip != 0);
  reinterpret_cast<uint32_t*>(arguments.sink)[ThreadIndex()] = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}
#define GX_WGMMA_BODY(name, shape_and_types, c, after)                                                               \
  __device__ __forceinline__ void name(const Arguments& x) {                                                         \
    WarpGroupMatrix(x, [](uint32_t(&d)[4], uint64_t a, uint64_t b) {                                                 \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." shape_and_types              \
                   " {%0,%1,%2,%3}, %4, %5, p" after "; }"                                                           \
                   : "+" c(reinterpret_cast<GX_WORD_##name&>(d[0])), "+" c(reinterpret_cast<GX_WORD_##name&>(d[1])), \
                     "+" c(reinterpret_cast<GX_WORD_##name&>(d[2])), "+" c(reinterpret_cast<GX_WORD_##name&>(d[3]))  \
                   : "l"(a), "l"(b)                                                                                  \
                   : "memory");                                                                                      \
    });                                                                                                              \
  }
#else
#define GX_WGMMA_BODY(name, shape_and_types, c, after) \
  __device__ __forceinline__ void name(const Arguments&) {}
#endif
using GX_WORD_WgmmaBf16Body = float;
using GX_WORD_WgmmaFp16Body = float;
using GX_WORD_WgmmaTf32Body = float;
using GX_WORD_WgmmaFp8Body = float;
using GX_WORD_WgmmaInt8Body = uint32_t;
GX_WGMMA_BODY(WgmmaBf16Body, "m64n8k16.f32.bf16.bf16", "f", ", 1, 1, 0, 0")
GX_WGMMA_BODY(WgmmaFp16Body, "m64n8k16.f32.f16.f16", "f", ", 1, 1, 0, 0")
GX_WGMMA_BODY(WgmmaTf32Body, "m64n8k8.f32.tf32.tf32", "f", ", 1, 1")
GX_WGMMA_BODY(WgmmaFp8Body, "m64n8k32.f32.e4m3.e4m3", "f", ", 1, 1")
GX_WGMMA_BODY(WgmmaInt8Body, "m64n8k32.s32.s8.s8", "r", "")

// ------------------------------------------------------------------------------------------------ memory

__device__ __forceinline__ void Keep(const Arguments& arguments, uint32_t value) {
  reinterpret_cast<uint32_t*>(arguments.sink)[ThreadIndex()] = value;
}
__device__ __forceinline__ uint32_t Mixed(const float4& v) {
  return __float_as_uint(v.x) ^ __float_as_uint(v.y) ^ __float_as_uint(v.z) ^ __float_as_uint(v.w);
}

__device__ __forceinline__ void CopyBody(const Arguments& x) {
  const float4* from = x.source + ThreadIndex();
  float4* to = x.sink + ThreadIndex();
  int trip = x.trips;
#pragma unroll 1
  do {
    *to = *from;
    from += kThreadCount;
    to += kThreadCount;
  } while (--trip != 0);
}
__device__ __forceinline__ void ReadBody(const Arguments& x) {
  const float4* from = x.source + ThreadIndex();
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
    all ^= Mixed(*from);
    from += kThreadCount;
  } while (--trip != 0);
  Keep(x, all);
}
__device__ __forceinline__ void WriteBody(const Arguments& x) {
  float4* to = x.sink + ThreadIndex();
  int trip = x.trips;
#pragma unroll 1
  do {
    *to = make_float4(x.a, x.b, x.a, x.b);
    to += kThreadCount;
  } while (--trip != 0);
}
// A sector for each lane, of which it wants 4 bytes.
__device__ __forceinline__ void StridedBody(const Arguments& x) {
  const float* from = reinterpret_cast<const float*>(x.source) + size_t{ThreadIndex()} * 8;
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
    all ^= __float_as_uint(*from);
    from += kThreadCount * 8;
  } while (--trip != 0);
  Keep(x, all);
}
// One lane of a warp loads; the warps' words are 128 bytes apart.
__device__ __forceinline__ void OneLaneBody(const Arguments& x) {
  const float* from = reinterpret_cast<const float*>(x.source) + size_t{ThreadIndex() / 32} * 32;
  const bool loads = threadIdx.x % 32 == 0;
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
    uint32_t value = 0;
    if (loads) value = __float_as_uint(*from);
    all ^= value;
    from += kWarpCount * 32;
  } while (--trip != 0);
  Keep(x, all);
}
// What all threads read in kWindowTrips trips stays in L2; .cg does not look into L1.
__device__ __forceinline__ void L2Body(const Arguments& x) {
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
    all ^= Mixed(__ldcg(x.source + ThreadIndex() + size_t{static_cast<unsigned>(trip) % kWindowTrips} * kThreadCount));
  } while (--trip != 0);
  Keep(x, all);
}
// What a block reads in kWindowTrips trips, 16 KiB, stays in L1.
__device__ __forceinline__ void L1Body(const Arguments& x) {
  const float4* from = x.source + size_t{blockIdx.x} * kThreads * kWindowTrips + threadIdx.x;
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
    float4 value;
    const float4* address = from + static_cast<unsigned>(trip) % kWindowTrips * kThreads;
    asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "l"(address));
    all ^= Mixed(value);
  } while (--trip != 0);
  Keep(x, all);
}
// A store, then kOperations / 8 loads of a word a trip, without conflicts.
__device__ __forceinline__ void SharedBody(const Arguments& x) {
  __shared__ volatile float tile[kThreads * 2];
  tile[threadIdx.x] = x.a;
  tile[threadIdx.x + kThreads] = x.b;
  __syncthreads();
  uint32_t all = 0;
  int trip = x.trips;
#pragma unroll 1
  do {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) all ^= __float_as_uint(tile[threadIdx.x + 32 * i]);
  } while (--trip != 0);
  Keep(x, all);
}
// Adds that nobody waits for, to a word of the thread's own.
__device__ __forceinline__ void ReductionBody(const Arguments& x) {
  auto* word = reinterpret_cast<uint32_t*>(x.sink) + ThreadIndex();
  int trip = x.trips;
#pragma unroll 1
  do {
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(word), "r"(1) : "memory");
  } while (--trip != 0);
}

}  // namespace

// Two kernels of one code. extern "C": the names that profilers show.
#define GX_KERNEL(name, body)                                                           \
  extern "C" __global__ void __launch_bounds__(256) gx_##name(Arguments x) { body(x); } \
  extern "C" __global__ void __launch_bounds__(256) before_gx_##name(Arguments x) { body(x); }
GX_KERNEL(ffma, FfmaBody)
GX_KERNEL(fadd, FaddBody)
GX_KERNEL(fmul, FmulBody)
GX_KERNEL(dfma, DfmaBody)
GX_KERNEL(dadd, DaddBody)
GX_KERNEL(dmul, DmulBody)
GX_KERNEL(hfma2, HfmaBody)
GX_KERNEL(hadd2, HaddBody)
GX_KERNEL(hmul2, HmulBody)
GX_KERNEL(integer, IntegerBody)
GX_KERNEL(mma_bf16, MmaBf16Body)
GX_KERNEL(mma_fp16, MmaFp16Body)
GX_KERNEL(mma_fp16_half, MmaFp16HalfBody)
GX_KERNEL(mma_tf32, MmaTf32Body)
GX_KERNEL(mma_int8, MmaInt8Body)
GX_KERNEL(mma_fp64, MmaFp64Body)
GX_KERNEL(wgmma_bf16, WgmmaBf16Body)
GX_KERNEL(wgmma_fp16, WgmmaFp16Body)
GX_KERNEL(wgmma_tf32, WgmmaTf32Body)
GX_KERNEL(wgmma_fp8, WgmmaFp8Body)
GX_KERNEL(wgmma_int8, WgmmaInt8Body)
GX_KERNEL(copy, CopyBody)
GX_KERNEL(read, ReadBody)
GX_KERNEL(write, WriteBody)
GX_KERNEL(strided, StridedBody)
GX_KERNEL(one_lane, OneLaneBody)
GX_KERNEL(l2, L2Body)
GX_KERNEL(l1, L1Body)
GX_KERNEL(shared, SharedBody)
GX_KERNEL(reduction, ReductionBody)

namespace {

struct Expectation {
  std::string metric;
  uint64_t value;
  uint64_t upto;  // 0: exact.
};

struct Entry {
  const char* name;
  Kernel kernel;
  Kernel twin;
  int trips;
  bool warpgroup = false;
  const char* compare = "issue";
  std::vector<Expectation> expected;

  unsigned blocks() const { return warpgroup ? kGroupBlocks : kBlocks; }
  unsigned threads() const { return warpgroup ? kGroupThreads : kThreads; }
  uint64_t warps() const { return uint64_t{blocks()} * threads() / 32; }
};

constexpr const char* kArithmetic[] = {"dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma"};

// What holds for every kernel unless an entry says otherwise: no floating-point operations, no loads, a word stored.
void Complete(Entry& entry) {
  const auto add = [&entry](const std::string& metric, uint64_t value) {
    const auto has = [&metric](const Expectation& e) { return e.metric.find(metric) != std::string::npos; };
    if (std::none_of(entry.expected.begin(), entry.expected.end(), has)) entry.expected.push_back({metric, value, 0});
  };
  for (const char* operation : kArithmetic) {
    add(std::string("smsp__sass_thread_inst_executed_op_") + operation + "_pred_on.sum", 0);
  }
  add("smsp__sass_data_bytes_mem_global_op_ld.sum", 0);
  add("smsp__sass_data_bytes_mem_global_op_st.sum", 4 * entry.warps() * 32);
  add("smsp__sass_inst_executed_op_global_ld.sum", 0);
  add("smsp__sass_inst_executed_op_global_st.sum", entry.warps());
  add("smsp__sass_data_bytes_mem_local.sum", 0);
  add("gr__ctas_launched.sum", entry.blocks());
}

Entry Arithmetic(const char* name, Kernel kernel, Kernel twin, int trips, const char* operation) {
  const uint64_t operations = kThreadCount * static_cast<uint64_t>(trips) * kOperations;
  return {
      .name = name,
      .kernel = kernel,
      .twin = twin,
      .trips = trips,
      .expected = {{std::string("smsp__sass_thread_inst_executed_op_") + operation + "_pred_on.sum", operations, 0}}};
}

// Packed halves are added and multiplied by HFMA2 too, with a factor of 1 or a summand of 0: which, the compiler
// chooses.
Entry HalfStep(const char* name, Kernel kernel, Kernel twin, int trips, const char* operation) {
  Entry entry = Arithmetic(name, kernel, twin, trips, operation);
  entry.expected[0].metric += "+smsp__sass_thread_inst_executed_op_hfma_pred_on.sum";
  return entry;
}

// `operations_each`: multiplications and additions of one instruction of a warp, or of a warpgroup.
Entry Tensor(const char* name, Kernel kernel, Kernel twin, int trips, bool warpgroup, const char* path,
             uint64_t operations_each) {
  Entry entry{.name = name, .kernel = kernel, .twin = twin, .trips = trips, .warpgroup = warpgroup};
  const uint64_t instructions =
      (warpgroup ? kGroupBlocks : kWarpCount) * static_cast<uint64_t>(trips) * kMatrixOperations;
  entry.expected.push_back({std::string("sm__ops_path_tensor_") + path + ".sum", instructions * operations_each, 0});
  return entry;
}

std::vector<Entry> AllEntries() {
#define GX_BOTH(name) "gx_" #name, gx_##name, before_gx_##name
  std::vector<Entry> entries = {
      Arithmetic(GX_BOTH(ffma), 200, "ffma"),
      Arithmetic(GX_BOTH(fadd), 200, "fadd"),
      Arithmetic(GX_BOTH(fmul), 200, "fmul"),
      Arithmetic(GX_BOTH(dfma), 100, "dfma"),
      Arithmetic(GX_BOTH(dadd), 100, "dadd"),
      Arithmetic(GX_BOTH(dmul), 100, "dmul"),
      Arithmetic(GX_BOTH(hfma2), 200, "hfma"),
      HalfStep(GX_BOTH(hadd2), 200, "hadd"),
      HalfStep(GX_BOTH(hmul2), 200, "hmul"),
      Arithmetic(GX_BOTH(integer), 100, "integer"),
      Tensor(GX_BOTH(mma_bf16), 200, false, "op_hmma_src_bf16_dst_fp32", 2 * 16 * 8 * 16),
      Tensor(GX_BOTH(mma_fp16), 200, false, "op_hmma_src_fp16_dst_fp32", 2 * 16 * 8 * 16),
      Tensor(GX_BOTH(mma_fp16_half), 200, false, "op_hmma_src_fp16_dst_fp16", 2 * 16 * 8 * 16),
      Tensor(GX_BOTH(mma_tf32), 200, false, "op_hmma_src_tf32_dst_fp32", 2 * 16 * 8 * 8),
      Tensor(GX_BOTH(mma_int8), 200, false, "op_imma_src_int8", 2 * 16 * 8 * 32),
      Tensor(GX_BOTH(mma_fp64), 200, false, "src_fp64", 2 * 8 * 8 * 4),
      Tensor(GX_BOTH(wgmma_bf16), 200, true, "op_hgmma_src_bf16_dst_fp32", 2 * 64 * 8 * 16),
      Tensor(GX_BOTH(wgmma_fp16), 200, true, "op_hgmma_src_fp16", 2 * 64 * 8 * 16),
      Tensor(GX_BOTH(wgmma_tf32), 200, true, "op_hgmma_src_tf32_dst_fp32", 2 * 64 * 8 * 8),
      Tensor(GX_BOTH(wgmma_fp8), 200, true, "src_fp8", 2 * 64 * 8 * 32),
      Tensor(GX_BOTH(wgmma_int8), 200, true, "op_igmma_src_int8", 2 * 64 * 8 * 32),
  };
  for (Entry& entry : entries) {
    if (std::string_view(entry.name) != "gx_integer") continue;
    // The loop's own counter and comparison, and addresses, are whole numbers too.
    entry.expected[0].upto = entry.expected[0].value * (kOperations + 4) / kOperations;
  }

  constexpr uint64_t kLineBytes = 16;  // A float4.
  const auto load = [](uint64_t bytes, uint64_t instructions, uint64_t sectors) {
    return std::vector<Expectation>{{"smsp__sass_data_bytes_mem_global_op_ld.sum", bytes, 0},
                                    {"smsp__sass_inst_executed_op_global_ld.sum", instructions, 0},
                                    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors, 0}};
  };
  const auto store = [](uint64_t bytes, uint64_t instructions, uint64_t sectors) {
    return std::vector<Expectation>{{"smsp__sass_data_bytes_mem_global_op_st.sum", bytes, 0},
                                    {"smsp__sass_inst_executed_op_global_st.sum", instructions, 0},
                                    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", sectors, 0}};
  };
  const auto both = [](std::vector<Expectation> a, const std::vector<Expectation>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  constexpr uint64_t kStream = 62;  // Trips: 268 MB, more than four times the L2 cache of an H200.
  constexpr uint64_t kStreamBytes = kThreadCount * kLineBytes * kStream;
  const auto stream_load = load(kStreamBytes, kWarpCount * kStream, kStreamBytes / 32);
  const auto stream_store = store(kStreamBytes, kWarpCount * kStream, kStreamBytes / 32);
  constexpr uint64_t kStrided = 31;
  constexpr uint64_t kOneLane = 240;
  constexpr uint64_t kL2 = 120;
  constexpr uint64_t kL1 = 700;
  constexpr uint64_t kShared = 600;
  constexpr uint64_t kReductions = 30;
  entries.push_back(
      {GX_BOTH(copy), kStream, false, "issue,l1,l2,dram_read,dram_write", both(stream_load, stream_store)});
  entries.push_back({GX_BOTH(read), kStream, false, "issue,l1,l2,dram_read", stream_load});
  entries.push_back({GX_BOTH(write), kStream, false, "issue,l1,l2,dram_write", stream_store});
  entries.push_back({GX_BOTH(strided), kStrided, false, "issue,l1,l2,dram_read",
                     load(4 * kThreadCount * kStrided, kWarpCount * kStrided, kThreadCount * kStrided)});
  entries.push_back({GX_BOTH(one_lane), kOneLane, false, "issue,l1,l2,dram_read",
                     load(4 * kWarpCount * kOneLane, kWarpCount * kOneLane, kWarpCount * kOneLane)});
  entries.push_back({GX_BOTH(l2), kL2, false, "issue,l1,l2",
                     load(kLineBytes * kThreadCount * kL2, kWarpCount * kL2, kLineBytes * kThreadCount * kL2 / 32)});
  entries.push_back({GX_BOTH(l1), kL1, false, "issue,l1",
                     load(kLineBytes * kThreadCount * kL1, kWarpCount * kL1, kLineBytes * kThreadCount * kL1 / 32)});
  entries.push_back({GX_BOTH(shared),
                     kShared,
                     false,
                     "issue",
                     {{"smsp__sass_data_bytes_mem_shared.sum", 4 * kThreadCount * (2 + kSteps * kShared), 0},
                      {"smsp__sass_inst_executed_op_shared_ld.sum", kWarpCount * kSteps * kShared, 0},
                      {"smsp__sass_inst_executed_op_shared_st.sum", kWarpCount * 2, 0}}});
  entries.push_back({GX_BOTH(reduction),
                     kReductions,
                     false,
                     "issue",
                     {{"smsp__sass_data_bytes_mem_global_op_red.sum", 4 * kThreadCount * kReductions, 0},
                      {"smsp__sass_inst_executed_op_global_red.sum", kWarpCount * kReductions, 0},
                      {"smsp__sass_data_bytes_mem_global_op_st.sum", 0, 0},
                      {"smsp__sass_inst_executed_op_global_st.sum", 0, 0}}});
  for (Entry& entry : entries) Complete(entry);
  return entries;
}

// ------------------------------------------------------------------------------------------------ running

bool Failed(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return false;
  std::fprintf(stderr, "gx-counter-kernels: %s: %s\n", what, cudaGetErrorString(result));
  return true;
}

bool LaunchPair(const Entry& entry, Arguments arguments) {
  arguments.trips = entry.trips;
  entry.twin<<<entry.blocks(), entry.threads()>>>(arguments);
  if (Failed(cudaDeviceSynchronize(), entry.name)) return false;
  entry.kernel<<<entry.blocks(), entry.threads()>>>(arguments);
  return !Failed(cudaGetLastError(), entry.name) && !Failed(cudaDeviceSynchronize(), entry.name);
}

// How often each is launched a round, so that none has a share of the time far below the others'.
bool Repeats(const std::vector<Entry>& entries, const Arguments& arguments, std::vector<int>* repeats) {
  cudaEvent_t begin, end;
  if (Failed(cudaEventCreate(&begin), "cudaEventCreate") || Failed(cudaEventCreate(&end), "cudaEventCreate"))
    return false;
  std::vector<float> milliseconds;
  for (const Entry& entry : entries) {
    // Its code is loaded, and the caches are as they will be.
    if (!LaunchPair(entry, arguments) || Failed(cudaEventRecord(begin), "cudaEventRecord")) return false;
    Arguments with_trips = arguments;
    with_trips.trips = entry.trips;
    entry.kernel<<<entry.blocks(), entry.threads()>>>(with_trips);
    float elapsed = 0;
    if (Failed(cudaEventRecord(end), "cudaEventRecord") || Failed(cudaEventSynchronize(end), entry.name) ||
        Failed(cudaEventElapsedTime(&elapsed, begin, end), "cudaEventElapsedTime")) {
      return false;
    }
    milliseconds.push_back(elapsed);
  }
  const float longest = *std::max_element(milliseconds.begin(), milliseconds.end());
  for (size_t i = 0; i < entries.size(); ++i) {
    std::fprintf(stderr, "%s: %.1f us\n", entries[i].name, 1e3 * static_cast<double>(milliseconds[i]));
    repeats->push_back(std::clamp(static_cast<int>(2 * longest / milliseconds[i] + 0.5f), 1, 40));
  }
  return true;
}

int Usage(const std::string& what) {
  std::fprintf(stderr,
               "gx-counter-kernels: %s; usage: gx-counter-kernels [--seconds S | --rounds N] "
               "[--pause-ms N] [--kernels NAME,NAME,...] | --list\n",
               what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 5;
  long rounds = 0;
  long pause_ms = 0;
  bool list = false;
  std::string wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--list") {
      list = true;
      continue;
    }
    if (option != "--seconds" && option != "--rounds" && option != "--pause-ms" && option != "--kernels") {
      return Usage("unexpected argument '" + std::string(option) + "'");
    }
    if (++i == argc) return Usage(std::string(option) + " wants a value");
    char* end = nullptr;
    if (option == "--kernels") {
      wanted = std::string(",") + argv[i] + ",";
      continue;
    }
    const double value = std::strtod(argv[i], &end);
    if (end == argv[i] || *end != '\0' || !(value > 0 && value < 1e6)) {
      return Usage(std::string(option) + " wants a positive number, got '" + argv[i] + "'");
    }
    if (option == "--seconds") {
      seconds = value;
    } else if (option == "--pause-ms") {
      pause_ms = static_cast<long>(value);
    } else {
      rounds = std::max(1L, static_cast<long>(value));
    }
  }

  cudaDeviceProp device = {};
  if (!list && Failed(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties")) return 1;
  std::vector<Entry> entries;
  for (Entry& entry : AllEntries()) {
    if (!wanted.empty() && wanted.find(std::string(",") + entry.name + ",") == std::string::npos) continue;
    if (entry.warpgroup && device.major != 9 && !list) continue;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return Usage("no kernel of that name");

  for (const Entry& entry : entries) {
    std::printf("kernel name=%s grid=%u block=%u trips=%d compare=%s\n", entry.name, entry.blocks(), entry.threads(),
                entry.trips, entry.compare);
    for (const Expectation& e : entry.expected) {
      std::printf("expect kernel=%s metric=%s value=%llu", entry.name, e.metric.c_str(),
                  static_cast<unsigned long long>(e.value));
      if (e.upto != 0) std::printf(" upto=%llu", static_cast<unsigned long long>(e.upto));
      std::printf("\n");
    }
  }
  std::fflush(stdout);
  if (list) return 0;

  // Every trip of every kernel stays inside.
  constexpr uint64_t kBytes = kThreadCount * 1024;
  Arguments arguments = {.source = nullptr, .sink = nullptr, .trips = 1, .a = 0.5f, .b = 0.25f};
  if (Failed(cudaMalloc(reinterpret_cast<void**>(&arguments.source), kBytes), "cudaMalloc") ||
      Failed(cudaMalloc(reinterpret_cast<void**>(&arguments.sink), kBytes), "cudaMalloc") ||
      Failed(cudaMemset(arguments.source, 0x3a, kBytes), "cudaMemset") ||
      Failed(cudaMemset(arguments.sink, 0, kBytes), "cudaMemset")) {
    return 1;
  }

  std::vector<int> repeats(entries.size(), 1);
  if (rounds == 0) {
    repeats.clear();
    if (!Repeats(entries, arguments, &repeats)) return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  long done = 0;
  for (bool more = true; more;) {
    for (size_t i = 0; i < entries.size(); ++i) {
      for (int r = 0; r < repeats[i]; ++r) {
        if (!LaunchPair(entries[i], arguments)) return 1;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    ++done;
    more = rounds != 0 ? done < rounds
                       : std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
  }
  std::fprintf(stderr, "rounds %ld\n", done);
  return 0;
}
