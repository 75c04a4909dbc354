// Three of a particle's eight floats are read: from an array of structures, and from a structure of arrays.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kPerThread = 8;
constexpr uint64_t kPerBlock = uint64_t{kBlockThreads} * kPerThread;
// x y z, vx vy vz, mass, charge: 32 bytes, one sector.
constexpr uint32_t kFields = 8;
constexpr uint32_t kFirstVelocity = 3;

enum class Layout { kStructures, kArrays };

__host__ __device__ constexpr size_t Place(Layout layout, uint32_t count, uint32_t i, uint32_t field) {
  return layout == Layout::kStructures ? size_t{i} * kFields + field : size_t{field} * count + i;
}

template <Layout kLayout>
__device__ __forceinline__ void SquaredSpeeds(uint32_t count, const float* __restrict__ particles,
                                              float* __restrict__ out) {
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kPerBlock) + threadIdx.x;
#pragma unroll
  for (uint32_t k = 0; k < kPerThread; ++k) {
    const uint32_t i = first + k * kBlockThreads;
    float sum = 0;
#pragma unroll
    for (uint32_t field = kFirstVelocity; field < kFirstVelocity + 3; ++field) {
      const float v = particles[Place(kLayout, count, i, field)];
      sum += v * v;
    }
    out[i] = sum;
  }
}

}  // namespace

__global__ void AosDefectKernel(uint32_t count, const float* __restrict__ particles, float* __restrict__ out) {
  SquaredSpeeds<Layout::kStructures>(count, particles, out);
}

__global__ void AosCureKernel(uint32_t count, const float* __restrict__ particles, float* __restrict__ out) {
  SquaredSpeeds<Layout::kArrays>(count, particles, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < kPerBlock || size % kPerBlock != 0 || size > (uint64_t{1} << 28)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = repeat * size * (3 + 1) * sizeof(float);
  expect.flop = repeat * size * 6;
  return expect;
}

KnownCounts Counts(uint64_t size) {
  return {.blocks = size / kPerBlock,
          .fp16_flop = 0,
          .fp32_flop = size * 6,
          .fp64_flop = 0,
          .threads_per_instruction = kWarpThreads,
          .global_load_bytes = size * 3 * sizeof(float),
          .global_store_bytes = size * sizeof(float),
          .global_store_sectors = size / kWarpThreads * kWarpSectors,
          .dram_write_bytes = size * sizeof(float)};
}

// A lane's three floats lie in one sector, its own. How often L1 still has it for the second is the cache's affair.
KnownCounts DefectCounts(uint64_t size) {
  KnownCounts counts = Counts(size);
  counts.global_load_sectors = size * 3;
  counts.dram_read_bytes = size * kFields * sizeof(float);
  return counts;
}

KnownCounts CureCounts(uint64_t size) {
  KnownCounts counts = Counts(size);
  counts.global_load_sectors = size / kWarpThreads * kWarpSectors * 3;
  counts.l2_sectors = size / kWarpThreads * kWarpSectors * (3 + 1);
  counts.dram_read_bytes = size * 3 * sizeof(float);
  return counts;
}

void Run(CaseRun& run, void (*kernel)(uint32_t, const float*, float*), Layout layout) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 2048 up to 268435456")) return;
  const auto count = static_cast<uint32_t>(run.size());
  const std::vector<float> particles = RandomFloats(102, size_t{count} * kFields);
  DeviceArray<float> device_particles(run, particles.size());
  DeviceArray<float> device_out(run, count);
  if (!device_particles || !device_out) return;
  GX_STEP(run.Upload(device_particles.data(), particles.data(), device_particles.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(count / kPerBlock)), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, count, device_particles.data(), device_out.data()));
  std::vector<float> out(count);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  const auto reference = [&](uint64_t i) {
    double sum = 0;
    for (uint32_t field = kFirstVelocity; field < kFirstVelocity + 3; ++field) {
      const double v = particles[Place(layout, count, static_cast<uint32_t>(i), field)];
      sum += v * v;
    }
    return sum;
  };
  // Three roundings at a magnitude of at most 3.
  CheckFloats(run, "squared speeds", out, reference, 3 * 0x1p-23);
}

void RunDefect(CaseRun& run) { Run(run, AosDefectKernel, Layout::kStructures); }
void RunCure(CaseRun& run) { Run(run, AosCureKernel, Layout::kArrays); }

const Case kDefect = {"aos_defect", "squared speeds from structures of 32 bytes: 12 of them are used",
                      "particles",  uint64_t{1} << 25,
                      "launches",   200,
                      RunDefect,    "AosDefectKernel",
                      "dram",       OnPaper,
                      DefectCounts};
const Case kCure = {"aos_cure",  "squared speeds from one array a field",
                    "particles", uint64_t{1} << 25,
                    "launches",  200,
                    RunCure,     "AosCureKernel",
                    "dram",      OnPaper,
                    CureCounts};

}  // namespace

const Pair kAosPair = {.name = "aos",
                       .change = "the layout of the particles",
                       .defect = &kDefect,
                       .cure = &kCure,
                       .term = "uncoalesced",
                       .what_if = "coalesced"};

}  // namespace gx::kernels
