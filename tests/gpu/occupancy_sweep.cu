// Asks the CUDA runtime how many blocks of real kernels an SM can hold, over registers, static and dynamic shared
// memory, carve-outs, named barriers, block sizes and clusters, and prints a table for the model to be compared with.
// Nothing is judged here.
//
//   gx-occupancy-sweep            one line a configuration, on stdout
//   gx-occupancy-sweep --launch   launches the kernels once for each carve-out and amount of shared memory instead, so
//                                 that a trace shows which carve-out the driver chose
//
// Exit code: 0; 1 where CUDA refused something that the sweep needs; 2 for wrong usage.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

// kLive values that are needed until the end: about that many registers a thread, as far as the compiler's bounds
// allow.
template <int kLive>
__device__ void KeepAlive(float* data, int rounds) {
  float values[kLive];
#pragma unroll
  for (int i = 0; i < kLive; ++i) values[i] = data[i * 4096 + threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kLive; ++i) values[i] = fmaf(values[i], values[(i + 7) % kLive], values[(i + 1) % kLive]);
  }
#pragma unroll
  for (int i = 0; i < kLive; ++i) data[i * 4096 + threadIdx.x] = values[i];
}

template <int kLive>
__global__ void Registers(float* data, int rounds) {
  KeepAlive<kLive>(data, rounds);
}

template <int kMaxThreads, int kMinBlocks>
__global__ void __launch_bounds__(kMaxThreads, kMinBlocks) Bounded(float* data, int rounds) {
  KeepAlive<220>(data, rounds);
}

template <int kBytes>
__global__ void StaticShared(float* data, int rounds) {
  __shared__ float tile[kBytes / 4];
  for (int i = static_cast<int>(threadIdx.x); i < kBytes / 4; i += static_cast<int>(blockDim.x)) tile[i] = data[i];
  __syncthreads();
  data[threadIdx.x] = tile[static_cast<unsigned>(rounds) % (kBytes / 4)];
}

// Barriers 0 to kCount - 1: those that __syncthreads does not use have to be named in PTX.
template <int kCount>
__global__ void Barriers(float* data, int rounds) {
  asm volatile("bar.sync 0;" ::: "memory");
  if constexpr (kCount > 1) asm volatile("bar.sync %0;" ::"n"(kCount - 1) : "memory");
  data[threadIdx.x] = static_cast<float>(rounds);
}

using Kernel = void (*)(float*, int);

struct Entry {
  const char* name;
  Kernel kernel;
  int barriers;
};

const Entry kEntries[] = {
    {"registers_4", Registers<4>, 0},         {"registers_12", Registers<12>, 0},
    {"registers_20", Registers<20>, 0},       {"registers_28", Registers<28>, 0},
    {"registers_36", Registers<36>, 0},       {"registers_44", Registers<44>, 0},
    {"registers_60", Registers<60>, 0},       {"registers_76", Registers<76>, 0},
    {"registers_92", Registers<92>, 0},       {"registers_108", Registers<108>, 0},
    {"registers_124", Registers<124>, 0},     {"registers_140", Registers<140>, 0},
    {"registers_164", Registers<164>, 0},     {"registers_188", Registers<188>, 0},
    {"registers_212", Registers<212>, 0},     {"registers_236", Registers<236>, 0},
    {"bounds_1024_1", Bounded<1024, 1>, 0},   {"bounds_1024_2", Bounded<1024, 2>, 0},
    {"bounds_768_2", Bounded<768, 2>, 0},     {"bounds_512_2", Bounded<512, 2>, 0},
    {"bounds_512_3", Bounded<512, 3>, 0},     {"bounds_384_2", Bounded<384, 2>, 0},
    {"bounds_256_3", Bounded<256, 3>, 0},     {"bounds_256_5", Bounded<256, 5>, 0},
    {"bounds_256_6", Bounded<256, 6>, 0},     {"bounds_192_3", Bounded<192, 3>, 0},
    {"bounds_128_7", Bounded<128, 7>, 0},     {"bounds_128_12", Bounded<128, 12>, 0},
    {"static_1024", StaticShared<1024>, 1},   {"static_5120", StaticShared<5120>, 1},
    {"static_16384", StaticShared<16384>, 1}, {"static_33024", StaticShared<33024>, 1},
    {"static_49152", StaticShared<49152>, 1}, {"barriers_1", Barriers<1>, 1},
    {"barriers_4", Barriers<4>, 4},           {"barriers_8", Barriers<8>, 8},
    {"barriers_16", Barriers<16>, 16},
};

constexpr int kBlockSizes[] = {32, 64, 96, 128, 160, 192, 224, 256, 288, 384, 512, 640, 768, 1024};
constexpr int kDynamicBytes[] = {0,     1,     1024,   4000,   8192,   16384,  24576, 33792,
                                 49152, 65536, 101376, 133120, 166912, 199680, 232448};
constexpr int kCarveoutPercents[] = {-1, 0, 10, 25, 50, 75, 100};
constexpr int kClusterSizes[] = {1, 2, 4, 8, 16};

bool Failed(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return false;
  std::fprintf(stderr, "gx-occupancy-sweep: %s: %s\n", what, cudaGetErrorString(result));
  return true;
}

int Attribute(cudaDeviceAttr attribute) {
  int value = -1;
  return cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess ? value : -1;
}

bool PrintHead() {
  cudaDeviceProp properties;
  int driver = 0;
  int runtime = 0;
  if (Failed(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties") ||
      Failed(cudaDriverGetVersion(&driver), "cudaDriverGetVersion") ||
      Failed(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion")) {
    return false;
  }
  std::printf("# gx-occupancy-sweep\n# device %s\n# compute_capability %d.%d\n# driver %d\n# runtime %d\n",
              properties.name, properties.major, properties.minor, driver, runtime);
  std::printf("# sm_count %d\n", Attribute(cudaDevAttrMultiProcessorCount));
  std::printf("# max_threads_per_sm %d\n", Attribute(cudaDevAttrMaxThreadsPerMultiProcessor));
  std::printf("# max_blocks_per_sm %d\n", Attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  std::printf("# registers_per_sm %d\n", Attribute(cudaDevAttrMaxRegistersPerMultiprocessor));
  std::printf("# registers_per_block %d\n", Attribute(cudaDevAttrMaxRegistersPerBlock));
  std::printf("# shared_memory_per_sm_bytes %d\n", Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  std::printf("# shared_memory_per_block_bytes %d\n", Attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  std::printf("# shared_memory_per_block_optin_bytes %d\n", Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  std::printf("# reserved_shared_memory_per_block_bytes %d\n", Attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  std::printf("# l2_cache_bytes %d\n", Attribute(cudaDevAttrL2CacheSize));
  return true;
}

// max_dynamic_bytes: what cudaFuncAttributeMaxDynamicSharedMemorySize is set to. blocks_per_sm: the runtime's answer;
// an error's name where it gave none.
bool SweepBlocks(const Entry& entry, const cudaFuncAttributes& attributes, int max_dynamic_bytes) {
  if (Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_dynamic_bytes),
             "cudaFuncAttributeMaxDynamicSharedMemorySize")) {
    return false;
  }
  for (const int carveout : kCarveoutPercents) {
    if (Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout),
               "cudaFuncAttributePreferredSharedMemoryCarveout")) {
      return false;
    }
    for (const int dynamic : kDynamicBytes) {
      for (const int threads : kBlockSizes) {
        int blocks = -1;
        const cudaError_t result =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry.kernel, threads, dynamic);
        std::printf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", entry.name, attributes.numRegs,
                    static_cast<int>(attributes.sharedSizeBytes), attributes.maxThreadsPerBlock, entry.barriers,
                    max_dynamic_bytes, carveout, dynamic, threads);
        if (result == cudaSuccess) {
          std::printf("%d\n", blocks);
        } else {
          std::printf("%s\n", cudaGetErrorName(result));
          (void)cudaGetLastError();
        }
      }
    }
  }
  return !Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, -1), "carve-out");
}

// How many clusters the whole device holds: needs a kernel's leave for more than 8 blocks a cluster.
bool SweepClusters(const Entry& entry, const cudaFuncAttributes& attributes, int max_dynamic_bytes) {
  if (Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cluster size") ||
      Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_dynamic_bytes),
             "cudaFuncAttributeMaxDynamicSharedMemorySize")) {
    return false;
  }
  for (const int dynamic : {0, 33792, 101376, 199680}) {
    for (const int threads : {128, 384, 1024}) {
      int blocks = 0;
      if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry.kernel, threads, dynamic) != cudaSuccess)
        continue;
      for (const int cluster : kClusterSizes) {
        cudaLaunchAttribute attribute;
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster;
        attribute.val.clusterDim.y = 1;
        attribute.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(cluster) * 64);
        config.blockDim = dim3(static_cast<unsigned>(threads));
        config.dynamicSmemBytes = static_cast<size_t>(dynamic);
        config.attrs = &attribute;
        config.numAttrs = 1;
        int clusters = 0;
        const cudaError_t result = cudaOccupancyMaxActiveClusters(&clusters, entry.kernel, &config);
        std::printf("cluster\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t", entry.name, attributes.numRegs,
                    static_cast<int>(attributes.sharedSizeBytes), dynamic, threads, cluster, blocks);
        if (result == cudaSuccess) {
          std::printf("%d\n", clusters);
        } else {
          std::printf("%s\n", cudaGetErrorName(result));
          (void)cudaGetLastError();
        }
      }
    }
  }
  return true;
}

bool Launch(const Entry& entry, const cudaFuncAttributes& attributes, int max_dynamic_bytes, float* data) {
  if (Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_dynamic_bytes),
             "cudaFuncAttributeMaxDynamicSharedMemorySize")) {
    return false;
  }
  for (const int carveout : kCarveoutPercents) {
    if (Failed(cudaFuncSetAttribute(entry.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout),
               "carve-out")) {
      return false;
    }
    for (const int dynamic : kDynamicBytes) {
      if (dynamic > max_dynamic_bytes) continue;
      const int threads = attributes.maxThreadsPerBlock < 128 ? attributes.maxThreadsPerBlock : 128;
      entry.kernel<<<1, static_cast<unsigned>(threads), static_cast<size_t>(dynamic)>>>(data, 0);
      if (Failed(cudaGetLastError(), "launch")) return false;
      // One at a time: the driver changes the carve-out of an SM only when nothing runs there.
      if (Failed(cudaDeviceSynchronize(), "cudaDeviceSynchronize")) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool launch = argc == 2 && std::strcmp(argv[1], "--launch") == 0;
  if (argc != 1 && !launch) {
    std::fprintf(stderr, "gx-occupancy-sweep: usage: gx-occupancy-sweep [--launch]\n");
    return 2;
  }
  float* data = nullptr;
  if (launch && Failed(cudaMalloc(&data, 256 * 4096 * sizeof(float)), "cudaMalloc")) return 1;
  if (!launch && !PrintHead()) return 1;
  if (!launch) {
    std::printf(
        "# kernel registers static_bytes kernel_max_threads barriers max_dynamic_bytes carveout_percent dynamic_bytes "
        "threads blocks_per_sm\n"
        "# cluster kernel registers static_bytes dynamic_bytes threads cluster_size blocks_per_sm "
        "max_active_clusters\n");
  }
  const int optin_bytes = Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const int default_bytes = Attribute(cudaDevAttrMaxSharedMemoryPerBlock);
  for (const Entry& entry : kEntries) {
    cudaFuncAttributes attributes;
    if (Failed(cudaFuncGetAttributes(&attributes, entry.kernel), entry.name)) return 1;
    const int static_bytes = static_cast<int>(attributes.sharedSizeBytes);
    const int largest = optin_bytes - static_bytes;
    if (launch) {
      if (!Launch(entry, attributes, largest, data)) return 1;
      continue;
    }
    if (!SweepBlocks(entry, attributes, default_bytes - static_bytes) || !SweepBlocks(entry, attributes, largest))
      return 1;
    if (entry.barriers == 0 && !SweepClusters(entry, attributes, largest)) return 1;
  }
  return 0;
}
