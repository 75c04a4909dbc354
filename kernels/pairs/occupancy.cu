// Loads that wait for each other, with 64 warps a multiprocessor, or 16 since each block asks for shared memory.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"
#include "kernels/pairs/row_chain.cuh"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 128;
constexpr uint32_t kSteps = 128;
// The most that needs no opting in. Four such blocks fit the 228 KiB of compute capability 9.0, sixteen without.
constexpr size_t kSharedBytes = 48 * 1024;
}  // namespace

__global__ void OccupancyDefectKernel(uint32_t steps, const uint32_t* __restrict__ table,
                                      const uint32_t* __restrict__ first_rows, uint32_t* __restrict__ out) {
  FollowRows(steps, table, first_rows, out);
}

__global__ void OccupancyCureKernel(uint32_t steps, const uint32_t* __restrict__ table,
                                    const uint32_t* __restrict__ first_rows, uint32_t* __restrict__ out) {
  FollowRows(steps, table, first_rows, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < 1 || size > (1 << 20)) return std::nullopt;
  const uint64_t threads = size * kBlockThreads;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.fills = 1;
  // A warp's chain meets no row twice; those of two warps may.
  expect.bytes = repeat * sizeof(uint32_t) * (threads * kSteps + threads / kRowLanes + threads);
  return expect;
}

void Run(CaseRun& run, void (*kernel)(uint32_t, const uint32_t*, const uint32_t*, uint32_t*), size_t shared_bytes) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "1 to 1048576 blocks")) return;
  std::vector<uint32_t> out(run.size() * kBlockThreads);
  const std::vector<uint32_t> first_rows = FirstRows(107, out.size() / kRowLanes);
  const std::vector<uint32_t> table = RowTable();
  DeviceArray<uint32_t> device_table(run, table.size());
  DeviceArray<uint32_t> device_first_rows(run, first_rows.size());
  DeviceArray<uint32_t> device_out(run, out.size());
  if (!device_table || !device_first_rows || !device_out) return;
  GX_STEP(run.Upload(device_table.data(), table.data(), device_table.bytes()));
  GX_STEP(run.Upload(device_first_rows.data(), first_rows.data(), device_first_rows.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  LaunchShape shape{dim3(static_cast<unsigned>(run.size())), dim3(kBlockThreads)};
  shape.dynamic_shared_bytes = shared_bytes;
  GX_STEP(
      LaunchRepeatedly(run, kernel, shape, kSteps, device_table.data(), device_first_rows.data(), device_out.data()));
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  CheckChains(run, out, first_rows, kSteps);
}

void RunDefect(CaseRun& run) { Run(run, OccupancyDefectKernel, kSharedBytes); }
void RunCure(CaseRun& run) { Run(run, OccupancyCureKernel, 0); }

const Case kDefect = {"occupancy_defect", "loads that wait for each other; 48 KiB of shared memory a block, not used",
                      "blocks",           8448,
                      "launches",         200,
                      RunDefect,          "OccupancyDefectKernel",
                      "latency",          OnPaper};
const Case kCure = {"occupancy_cure", "loads that wait for each other; no shared memory, four times the warps",
                    "blocks",         8448,
                    "launches",       200,
                    RunCure,          "OccupancyCureKernel",
                    "latency",        OnPaper};

}  // namespace

const Pair kOccupancyPair = {.name = "occupancy",
                             .change = "dynamic shared memory a block",
                             .defect = &kDefect,
                             .cure = &kCure,
                             .term = "latency",
                             .what_if = "other_occupancy"};

}  // namespace gx::kernels
