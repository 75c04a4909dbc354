// Thread-block clusters of 2, 4 and 8: blocks read each other's shared memory.
#include <cooperative_groups.h>

#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 128;
}

// Each block sums its own values; then every block adds up the sums of its cluster through distributed shared memory.
__global__ void ClusterSumKernel(const uint32_t* __restrict__ values, uint32_t* __restrict__ sums) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ uint32_t block_sum;
  cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  atomicAdd(&block_sum, values[blockIdx.x * blockDim.x + threadIdx.x]);
  cluster.sync();
  if (threadIdx.x == 0) {
    uint32_t total = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) total += *cluster.map_shared_rank(&block_sum, rank);
    sums[blockIdx.x] = total;
  }
  // No block may leave while another one still reads its shared memory.
  cluster.sync();
#else
  (void)values;
  (void)sums;
  __trap();
#endif
}

namespace {

void RunCluster(CaseRun& run) {
  if (run.device().major < 9) return run.Skip("clusters need compute capability 9.0");
  constexpr unsigned kClusters[] = {2, 4, 8};
  const uint64_t blocks = run.size();
  const uint64_t repeat = run.repeat();
  if (blocks < 8 || blocks % 8 != 0 || blocks > 1000000) return run.Fail("--size must be a multiple of 8 blocks");
  const uint64_t n = blocks * kBlockThreads;
  Expectation expect;
  expect.launches = expect.kernels = 3 * repeat;
  expect.copies = 1 + 3;
  expect.fills = 3;
  expect.bytes = expect.kernels * (n + blocks) * sizeof(uint32_t);
  run.Expect(expect);

  std::vector<uint32_t> values(n);
  for (uint64_t i = 0; i < n; ++i) values[i] = RandomBits(10, i);
  DeviceArray<uint32_t> device_values(run, n);
  DeviceArray<uint32_t> device_sums(run, blocks);
  if (!device_values || !device_sums) return;
  GX_STEP(run.Upload(device_values.data(), values.data(), device_values.bytes()));
  for (const unsigned cluster : kClusters) {
    GX_STEP(run.Poison(device_sums.data(), device_sums.bytes()));
    LaunchShape shape{dim3(static_cast<unsigned>(blocks)), dim3(kBlockThreads)};
    shape.cluster = cluster;
    for (uint64_t r = 0; r < repeat; ++r) {
      GX_STEP(run.Launch(ClusterSumKernel, shape, nullptr, device_values.data(), device_sums.data()));
    }
    std::vector<uint32_t> got(blocks);
    GX_STEP(run.Download(got.data(), device_sums.data(), device_sums.bytes()));
    const uint64_t values_per_cluster = uint64_t{cluster} * kBlockThreads;
    std::vector<uint32_t> reference(blocks / cluster, 0);
    for (uint64_t i = 0; i < n; ++i) reference[i / values_per_cluster] += values[i];
    run.CheckValues(
        "sums of clusters of " + std::to_string(cluster), blocks,
        [&](uint64_t i) { return static_cast<double>(got[i]); },
        [&](uint64_t i) { return static_cast<double>(reference[i / cluster]); }, 0);
  }
}

}  // namespace

const Case kClusterCase = {"cluster",
                           "clusters of 2, 4 and 8 blocks that read each other's shared memory",
                           "blocks",
                           512,
                           "launches of each cluster size",
                           5,
                           RunCluster};

}  // namespace gx::kernels
