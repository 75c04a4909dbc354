// The 64 bytes before the middle of every record of 256 bytes, on a sector's border or 4 bytes after it: then they
// reach into the next line. Of bytes read one after another the extra sectors would be the neighbours', and nothing
// would be lost; here nobody else reads them.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr uint32_t kRecordFloats = 64;
constexpr uint32_t kReadFloats = 16;
// The end of the record's first line of 128 bytes.
constexpr uint32_t kFirstRead = 16;
constexpr uint32_t kOffset = 1;
// A thread sums the same float of so many records; a block has kBlockThreads / kReadFloats at a time.
constexpr uint32_t kPerThread = 16;
constexpr uint32_t kAtATime = kBlockThreads / kReadFloats;
constexpr uint64_t kPerBlock = uint64_t{kPerThread} * kAtATime;

// Where a thread's k-th float lies; block and thread as of a launch.
__host__ __device__ constexpr size_t Place(uint32_t block, uint32_t thread, uint32_t k) {
  const size_t record = block * kPerBlock + k * kAtATime + thread / kReadFloats;
  return record * kRecordFloats + kFirstRead + thread % kReadFloats;
}

__device__ __forceinline__ void SumRecords(const float* __restrict__ records, float* __restrict__ out) {
  float sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < kPerThread; ++k) sum += records[Place(blockIdx.x, threadIdx.x, k)];
  out[blockIdx.x * kBlockThreads + threadIdx.x] = sum;
}

}  // namespace

// The same code: the pointers differ.
__global__ void MisalignedDefectKernel(const float* __restrict__ records, float* __restrict__ out) {
  SumRecords(records, out);
}

__global__ void MisalignedCureKernel(const float* __restrict__ records, float* __restrict__ out) {
  SumRecords(records, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < kPerBlock || size % kPerBlock != 0 || size > (uint64_t{1} << 27)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  const uint64_t out_floats = size / kPerBlock * kBlockThreads;
  expect.bytes = repeat * sizeof(float) * (size * kReadFloats + out_floats);
  expect.flop = repeat * size * kReadFloats;
  return expect;
}

// `record_sectors`: that the 64 bytes of a record lie in. What DRAM reads of three depends on how much it fetches at a
// time.
KnownCounts Counts(uint64_t size, uint64_t record_sectors) {
  const uint64_t out_floats = size / kPerBlock * kBlockThreads;
  const uint64_t store_sectors = out_floats / kWarpThreads * kWarpSectors;
  return {.blocks = size / kPerBlock,
          .fp16_flop = 0,
          .fp32_flop = size * kReadFloats,
          .fp64_flop = 0,
          .threads_per_instruction = kWarpThreads,
          .global_load_bytes = size * kReadFloats * sizeof(float),
          .global_store_bytes = out_floats * sizeof(float),
          .global_load_sectors = size * record_sectors,
          .global_store_sectors = store_sectors,
          .l2_sectors = size * record_sectors + store_sectors};
}

KnownCounts DefectCounts(uint64_t size) { return Counts(size, 3); }

KnownCounts CureCounts(uint64_t size) {
  KnownCounts counts = Counts(size, 2);
  counts.dram_read_bytes = counts.global_load_bytes;
  return counts;
}

void Run(CaseRun& run, void (*kernel)(const float*, float*), uint32_t offset) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 256 up to 134217728")) return;
  const auto blocks = static_cast<unsigned>(run.size() / kPerBlock);
  const std::vector<float> records = RandomFloats(103, run.size() * kRecordFloats + kOffset);
  DeviceArray<float> device_records(run, records.size());
  std::vector<float> out(size_t{blocks} * kBlockThreads);
  DeviceArray<float> device_out(run, out.size());
  if (!device_records || !device_out) return;
  GX_STEP(run.Upload(device_records.data(), records.data(), device_records.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(blocks), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, device_records.data() + offset, device_out.data()));
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  const auto reference = [&](uint64_t i) {
    double sum = 0;
    for (uint32_t k = 0; k < kPerThread; ++k) {
      sum += records[offset +
                     Place(static_cast<uint32_t>(i / kBlockThreads), static_cast<uint32_t>(i % kBlockThreads), k)];
    }
    return sum;
  };
  // A rounding for each of 16 numbers, of a sum below 16.
  CheckFloats(run, "sums", out, reference, kPerThread * 0x1p-25 * kPerThread);
}

void RunDefect(CaseRun& run) { Run(run, MisalignedDefectKernel, kOffset); }
void RunCure(CaseRun& run) { Run(run, MisalignedCureKernel, 0); }

const Case kDefect = {"misaligned_defect",
                      "64 bytes of each record, 4 bytes off a sector: 3 sectors in two lines",
                      "records",
                      6 << 20,
                      "launches",
                      200,
                      RunDefect,
                      "MisalignedDefectKernel",
                      "dram",
                      OnPaper,
                      DefectCounts};
const Case kCure = {"misaligned_cure",
                    "64 bytes of each record, on a sector: 2 sectors",
                    "records",
                    6 << 20,
                    "launches",
                    200,
                    RunCure,
                    "MisalignedCureKernel",
                    "dram",
                    OnPaper,
                    CureCounts};

}  // namespace

const Pair kMisalignedPair = {.name = "misaligned",
                              .change = "the pointer, by 4 bytes",
                              .defect = &kDefect,
                              .cure = &kCure,
                              .term = "uncoalesced",
                              .what_if = "coalesced"};

}  // namespace gx::kernels
