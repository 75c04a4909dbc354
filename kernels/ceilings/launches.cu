// What launching costs: empty kernels by grid, block, shared memory and cluster; kernels of many short and of few long
// blocks, whose traced counterparts show what tracing adds; and how many launches the host and a graph can make.
#include <algorithm>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {

__global__ void CeilingsEmptyKernel() {}

// Every thread does `steps` dependent multiply-adds; the result is for nobody.
__global__ void CeilingsChainKernel(uint32_t steps, float factor, float* out) {
  float x = static_cast<float>(threadIdx.x);
#pragma unroll 8
  for (uint32_t step = 0; step < steps; ++step) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(factor));
  // Never so: the numbers stay positive.
  if (x < 0) *out = x;
}

namespace {

// Nodes of the larger of two graphs.
constexpr uint64_t kGraphNodes = 400;
// Launches of a chain kernel at the larger of two sizes; 60 of 17 us fill a millisecond.
constexpr uint64_t kChainLaunches = 60;
constexpr float kFactor = 0.5f;

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
};

bool LaunchEmpty(Bench& bench, const KernelShape& shape) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(shape.cluster_x);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid_x));
  config.blockDim = dim3(static_cast<unsigned>(shape.block_x));
  config.dynamicSmemBytes = shape.dynamic_shared_memory_bytes;
  config.stream = bench.stream();
  config.attrs = &attribute;
  config.numAttrs = shape.cluster_x == 0 ? 0 : 1;
  return bench.Ok(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(CeilingsEmptyKernel), nullptr),
                  "cudaLaunchKernelExC");
}

// A graph of `nodes` empty kernels, each after the one before.
bool MakeGraph(Bench& bench, const KernelShape& shape, uint64_t nodes, Graph* graph) {
  if (!bench.Ok(cudaStreamBeginCapture(bench.stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture")) {
    return false;
  }
  bool launched = true;
  for (uint64_t node = 0; launched && node < nodes; ++node) launched = LaunchEmpty(bench, shape);
  return bench.Ok(cudaStreamEndCapture(bench.stream(), &graph->graph), "cudaStreamEndCapture") && launched &&
         bench.Ok(cudaGraphInstantiate(&graph->executable, graph->graph, 0), "cudaGraphInstantiate") &&
         bench.Ok(cudaGraphUpload(graph->executable, bench.stream()), "cudaGraphUpload");
}

uint64_t ResidentBlocks(Bench& bench, const void* kernel, const KernelShape& shape) {
  return bench.ResidentBlocks(kernel, shape.block_x, shape.dynamic_shared_memory_bytes);
}

std::string NameOf(Bench& bench, const void* kernel) {
  const char* name = "";
  return bench.Ok(cudaFuncGetName(&name, kernel), "cudaFuncGetName") ? name : "";
}

std::string ShapeText(const KernelShape& shape) {
  return "grid " + std::to_string(shape.grid_x) + " block " + std::to_string(shape.block_x) + " shared " +
         std::to_string(shape.dynamic_shared_memory_bytes) + " cluster " + std::to_string(shape.cluster_x) + " steps " +
         std::to_string(shape.chain_steps);
}

// The whole of `count` launches, or half of it.
Workload LaunchWorkload(uint64_t count, std::function<bool(uint64_t)> launch) {
  Workload workload;
  workload.launch = std::move(launch);
  workload.work = [](uint64_t launches) { return static_cast<double>(launches); };
  workload.clock = ClockFrom::kAfterwards;
  workload.first_units = workload.max_units = count;
  workload.unit_step = count / 2;
  workload.target_ns = 1e12;
  return workload;
}

void MeasureEmpty(Bench& bench, KernelShape shape) {
  const void* kernel = reinterpret_cast<const void*>(CeilingsEmptyKernel);
  bench.Begin("empty kernel " + ShapeText(shape));
  Graph half;
  Graph whole;
  shape.kernel = NameOf(bench, kernel);
  const uint64_t resident_blocks = ResidentBlocks(bench, kernel, shape);
  if (shape.kernel.empty() || resident_blocks == 0 || !MakeGraph(bench, shape, kGraphNodes / 2, &half) ||
      !MakeGraph(bench, shape, kGraphNodes, &whole)) {
    return;
  }
  const std::optional<Measured> measured = bench.Measure(LaunchWorkload(kGraphNodes, [&](uint64_t nodes) {
    return bench.Ok(cudaGraphLaunch(nodes == kGraphNodes ? whole.executable : half.executable, bench.stream()),
                    "cudaGraphLaunch");
  }));
  if (!measured) return;
  bench.record().kernel_timings.push_back({shape, resident_blocks, true, measured->points});
}

void MeasureChainKernel(Bench& bench, uint64_t waves, uint64_t block, uint64_t steps) {
  const void* kernel = reinterpret_cast<const void*>(CeilingsChainKernel);
  KernelShape shape;
  shape.block_x = block;
  shape.chain_steps = steps;
  bench.Begin("chain kernel " + ShapeText(shape));
  shape.kernel = NameOf(bench, kernel);
  const uint64_t resident_blocks = ResidentBlocks(bench, kernel, shape);
  shape.grid_x = waves * resident_blocks;
  const BenchArray<float> out(bench, 1);
  if (shape.kernel.empty() || resident_blocks == 0 || !out) return;
  const std::optional<Measured> measured = bench.Measure(LaunchWorkload(kChainLaunches, [&](uint64_t launches) {
    for (uint64_t i = 0; i < launches; ++i) {
      if (!bench.Launch(CeilingsChainKernel, shape.grid_x, static_cast<unsigned>(block), 0,
                        static_cast<uint32_t>(steps), kFactor, out.data())) {
        return false;
      }
    }
    return true;
  }));
  if (!measured) return;
  bench.record().kernel_timings.push_back({shape, resident_blocks, false, measured->points});
}

void MeasureGraphRate(Bench& bench, uint64_t nodes, uint64_t launches) {
  bench.Begin("graph launch rate " + std::to_string(nodes) + " nodes");
  KernelShape shape;
  shape.block_x = 32;
  Graph graph;
  if (!MakeGraph(bench, shape, nodes, &graph)) return;
  const std::optional<Measured> measured = bench.Measure(LaunchWorkload(launches, [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      if (!bench.Ok(cudaGraphLaunch(graph.executable, bench.stream()), "cudaGraphLaunch")) return false;
    }
    return true;
  }));
  if (!measured) return;
  bench.record().launch_rates.push_back({launch_rate_kind::kGraphLaunch, measured->points, nodes});
}

}  // namespace

void MeasureKernelTimings(Bench& bench) {
  const uint64_t sms = bench.sm_count();
  for (const uint64_t block : {uint64_t{32}, uint64_t{256}, uint64_t{1024}}) {
    bench.Begin("empty kernel");
    KernelShape shape;
    shape.block_x = block;
    const uint64_t wave = ResidentBlocks(bench, reinterpret_cast<const void*>(CeilingsEmptyKernel), shape);
    if (wave == 0) return;
    for (const uint64_t grid : {uint64_t{1}, sms, wave, 4 * wave, 16 * wave}) {
      shape.grid_x = grid;
      MeasureEmpty(bench, shape);
    }
  }
  const uint64_t most_shared = bench.device().sharedMemPerBlockOptin;
  bench.Begin("empty kernel with shared memory");
  if (!bench.Ok(cudaFuncSetAttribute(CeilingsEmptyKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(most_shared)),
                "cudaFuncSetAttribute")) {
    return;
  }
  for (const uint64_t shared : {uint64_t{32} << 10, uint64_t{100} << 10, most_shared}) {
    if (shared > most_shared) continue;
    for (const uint64_t grid : {uint64_t{1}, sms}) {
      KernelShape shape;
      shape.grid_x = grid;
      shape.block_x = 256;
      shape.dynamic_shared_memory_bytes = shared;
      MeasureEmpty(bench, shape);
    }
  }
  if (bench.device().major < 9) {
    bench.Begin("empty kernel with clusters");
    bench.Absent("clusters need compute capability 9.0");
  } else {
    for (const uint64_t cluster : {uint64_t{1}, uint64_t{2}, uint64_t{4}, uint64_t{8}}) {
      for (const uint64_t grid : {cluster, sms / 8 * 8}) {
        KernelShape shape;
        shape.grid_x = grid;
        shape.block_x = 256;
        shape.cluster_x = cluster;
        MeasureEmpty(bench, shape);
      }
    }
  }
  // The same work in few and in many waves, then four times as much: what grows with waves and what with time. Numbers
  // of waves that no other kernel has, so that a trace's records are told apart by their grid.
  struct Chain {
    uint64_t waves;
    uint64_t steps;
  };
  constexpr Chain kChains[] = {{1, 2048}, {4, 512}, {16, 128}, {64, 32}, {2, 4096}, {32, 256}, {128, 64}};
  for (const uint64_t block : {uint64_t{64}, uint64_t{256}, uint64_t{1024}}) {
    for (const Chain& chain : kChains) {
      MeasureChainKernel(bench, chain.waves, block, chain.steps);
    }
  }
}

void MeasureLaunchRates(Bench& bench) {
  constexpr uint64_t kLaunches = 4000;
  bench.Begin("launch rate");
  const std::optional<Measured> measured = bench.Measure(LaunchWorkload(kLaunches, [&](uint64_t launches) {
    for (uint64_t i = 0; i < launches; ++i) {
      if (!bench.Launch(CeilingsEmptyKernel, 1, 32, 0)) return false;
    }
    return true;
  }));
  if (measured) bench.record().launch_rates.push_back({launch_rate_kind::kKernelLaunch, measured->points, 0});
  MeasureGraphRate(bench, 1, 2000);
  MeasureGraphRate(bench, 10, 1000);
  MeasureGraphRate(bench, 100, 200);
  MeasureGraphRate(bench, 1000, 20);
}

}  // namespace gx::kernels
