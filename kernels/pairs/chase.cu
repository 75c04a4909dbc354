// The same rows of a table, whose numbers are read from the row before or computed: one load in flight a warp, or many.
// Eight warps a multiprocessor, so that the others do not hide it.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"
#include "kernels/pairs/row_chain.cuh"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 128;
constexpr uint32_t kSteps = 2048;
}  // namespace

__global__ void ChaseDefectKernel(uint32_t steps, const uint32_t* __restrict__ table,
                                  const uint32_t* __restrict__ first_rows, uint32_t* __restrict__ out) {
  FollowRows(steps, table, first_rows, out);
}

__global__ void ChaseCureKernel(uint32_t steps, const uint32_t* __restrict__ table,
                                const uint32_t* __restrict__ first_rows, uint32_t* __restrict__ out) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t lane = threadIdx.x % kRowLanes;
  uint32_t row = first_rows[thread / kRowLanes];
  uint32_t sum = 0;
#pragma unroll 8
  for (uint32_t step = 0; step < steps; ++step) {
    sum = Absorb(sum, table[size_t{row} * kRowLanes + lane]);
    row = NextRow(row);
  }
  out[thread] = sum + lane;
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < 1 || size > (1 << 16)) return std::nullopt;
  const uint64_t threads = size * kBlockThreads;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.fills = 1;
  // A warp's chain meets no row twice; those of two warps may.
  expect.bytes = repeat * sizeof(uint32_t) * (threads * kSteps + threads / kRowLanes + threads);
  return expect;
}

void Run(CaseRun& run, void (*kernel)(uint32_t, const uint32_t*, const uint32_t*, uint32_t*)) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "1 to 65536 blocks")) return;
  std::vector<uint32_t> out(run.size() * kBlockThreads);
  const std::vector<uint32_t> first_rows = FirstRows(106, out.size() / kRowLanes);
  const std::vector<uint32_t> table = RowTable();
  DeviceArray<uint32_t> device_table(run, table.size());
  DeviceArray<uint32_t> device_first_rows(run, first_rows.size());
  DeviceArray<uint32_t> device_out(run, out.size());
  if (!device_table || !device_first_rows || !device_out) return;
  GX_STEP(run.Upload(device_table.data(), table.data(), device_table.bytes()));
  GX_STEP(run.Upload(device_first_rows.data(), first_rows.data(), device_first_rows.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(run.size())), dim3(kBlockThreads)};
  GX_STEP(
      LaunchRepeatedly(run, kernel, shape, kSteps, device_table.data(), device_first_rows.data(), device_out.data()));
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  CheckChains(run, out, first_rows, kSteps);
}

void RunDefect(CaseRun& run) { Run(run, ChaseDefectKernel); }
void RunCure(CaseRun& run) { Run(run, ChaseCureKernel); }

const Case kDefect = {"chase_defect", "rows of a table, each named by the one before: one load in flight a warp",
                      "blocks",       264,
                      "launches",     200,
                      RunDefect,      "ChaseDefectKernel",
                      "latency",      OnPaper};
const Case kCure = {"chase_cure", "the same rows, their numbers computed: eight loads in flight a warp",
                    "blocks",     264,
                    "launches",   200,
                    RunCure,      "ChaseCureKernel",
                    "latency",    OnPaper};

}  // namespace

const Pair kChasePair = {.name = "chase",
                         .change = "where a row's number comes from: memory, or registers",
                         .defect = &kDefect,
                         .cure = &kCure,
                         .term = "latency",
                         .what_if = "loads_in_flight"};

}  // namespace gx::kernels
