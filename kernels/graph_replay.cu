// CUDA graphs: one launch call, many kernels. Captured from a stream, and built node by node with an update midway.
#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 128;
constexpr unsigned kElements = 1024;
constexpr uint32_t kMultiplier = 1664525;  // a step of a well-known linear congruential generator; exact modulo 2^32
}  // namespace

// Unsigned arithmetic is exact, so one lost or doubled kernel anywhere changes the result.
__global__ void GraphStepKernel(uint32_t count, uint32_t addend, uint32_t* values) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * kMultiplier + addend;
}

namespace {

std::vector<uint32_t> RandomValues() {
  std::vector<uint32_t> values(kElements);
  for (uint32_t i = 0; i < kElements; ++i) values[i] = RandomBits(7, i);
  return values;
}

// Owns what a graph case makes.
struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ~Graph() {
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
};

void RunGraphReplay(CaseRun& run) {
  const uint64_t nodes = run.size();
  const uint64_t replays = run.repeat();
  if (nodes < 1 || nodes > 10000) return run.Fail("--size must be 1 to 10000 nodes");
  Expectation expect;
  expect.graph_launches = replays;
  expect.kernels = replays * nodes;
  expect.copies = 2;
  expect.bytes = expect.kernels * kElements * 2 * sizeof(uint32_t);
  run.Expect(expect);

  const std::vector<uint32_t> start = RandomValues();
  DeviceArray<uint32_t> values(run, kElements);
  Stream stream(run);
  if (!values || !stream) return;
  GX_STEP(run.Upload(values.data(), start.data(), values.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());

  Graph graph;
  LaunchShape shape{dim3(kElements / kBlockThreads), dim3(kBlockThreads)};
  GX_CUDA(run, cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  for (uint64_t node = 0; node < nodes; ++node) {
    GraphStepKernel<<<shape.grid, shape.block, 0, stream.get()>>>(kElements, static_cast<uint32_t>(node),
                                                                  values.data());
  }
  GX_CUDA(run, cudaStreamEndCapture(stream.get(), &graph.graph));
  GX_CUDA(run, cudaGetLastError());
  GX_CUDA(run, cudaGraphInstantiate(&graph.exec, graph.graph, 0));
  for (uint64_t r = 0; r < replays; ++r) {
    GX_CUDA(run, cudaGraphLaunch(graph.exec, stream.get()));
    run.CountGraphLaunches(1);
  }
  GX_CUDA(run, cudaStreamSynchronize(stream.get()));
  shape.graph_node = true;
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(GraphStepKernel), shape, replays * nodes));

  std::vector<uint32_t> got(kElements);
  GX_STEP(run.Download(got.data(), values.data(), values.bytes()));
  std::vector<uint32_t> reference = start;
  for (uint32_t& value : reference) {
    for (uint64_t r = 0; r < replays; ++r) {
      for (uint64_t node = 0; node < nodes; ++node) value = value * kMultiplier + static_cast<uint32_t>(node);
    }
  }
  run.CheckValues(
      "values", kElements, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return static_cast<double>(reference[i]); }, 0);
}

void RunGraphNodes(CaseRun& run) {
  const uint64_t nodes = run.size();
  const uint64_t replays = run.repeat();
  const uint64_t replays_before = replays / 2;
  const uint64_t replays_after = replays - replays_before;
  if (nodes < 1 || nodes > 10000) return run.Fail("--size must be 1 to 10000 nodes");
  constexpr unsigned kSmallGrid = kElements / 2 / kBlockThreads;
  constexpr unsigned kFullGrid = kElements / kBlockThreads;
  Expectation expect;
  expect.graph_launches = replays;
  expect.kernels = replays * nodes;
  expect.copies = 2;
  // Every node works on half of the values, until the first one gets the whole grid.
  expect.bytes =
      (replays * nodes * (kElements / 2) + replays_after * (kElements - kElements / 2)) * 2 * sizeof(uint32_t);
  run.Expect(expect);

  const std::vector<uint32_t> start = RandomValues();
  DeviceArray<uint32_t> values(run, kElements);
  Stream stream(run);
  if (!values || !stream) return;
  GX_STEP(run.Upload(values.data(), start.data(), values.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());

  Graph graph;
  GX_CUDA(run, cudaGraphCreate(&graph.graph, 0));
  uint32_t count = kElements;
  uint32_t addend = 0;
  uint32_t* pointer = values.data();
  void* arguments[] = {&count, &addend, &pointer};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(GraphStepKernel);
  params.gridDim = dim3(kSmallGrid);
  params.blockDim = dim3(kBlockThreads);
  params.kernelParams = arguments;
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t previous = nullptr;
  for (uint64_t node = 0; node < nodes; ++node) {
    addend = static_cast<uint32_t>(node);
    cudaGraphNode_t added = nullptr;
    GX_CUDA(run, cudaGraphAddKernelNode(&added, graph.graph, previous == nullptr ? nullptr : &previous,
                                        previous == nullptr ? 0 : 1, &params));
    if (first == nullptr) first = added;
    previous = added;
  }
  GX_CUDA(run, cudaGraphInstantiate(&graph.exec, graph.graph, 0));
  for (uint64_t r = 0; r < replays_before; ++r) {
    GX_CUDA(run, cudaGraphLaunch(graph.exec, stream.get()));
    run.CountGraphLaunches(1);
  }
  // Changes the first node of the executable graph only; replays already under way keep the small grid.
  addend = 0;
  params.gridDim = dim3(kFullGrid);
  GX_CUDA(run, cudaGraphExecKernelNodeSetParams(graph.exec, first, &params));
  for (uint64_t r = 0; r < replays_after; ++r) {
    GX_CUDA(run, cudaGraphLaunch(graph.exec, stream.get()));
    run.CountGraphLaunches(1);
  }
  GX_CUDA(run, cudaStreamSynchronize(stream.get()));
  LaunchShape shape{dim3(kSmallGrid), dim3(kBlockThreads)};
  shape.graph_node = true;
  GX_STEP(run.CountKernels(params.func, shape, replays * nodes - replays_after));
  shape.grid = dim3(kFullGrid);
  GX_STEP(run.CountKernels(params.func, shape, replays_after));

  std::vector<uint32_t> got(kElements);
  GX_STEP(run.Download(got.data(), values.data(), values.bytes()));
  std::vector<uint32_t> reference = start;
  for (uint32_t i = 0; i < kElements; ++i) {
    for (uint64_t r = 0; r < replays; ++r) {
      for (uint64_t node = 0; node < nodes; ++node) {
        if (i < kElements / 2 || (node == 0 && r >= replays_before)) {
          reference[i] = reference[i] * kMultiplier + static_cast<uint32_t>(node);
        }
      }
    }
  }
  run.CheckValues(
      "values", kElements, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return static_cast<double>(reference[i]); }, 0);
}

}  // namespace

const Case kGraphReplayCase = {"graph_replay",
                               "a graph captured from a stream, replayed: one launch call, many kernels",
                               "kernels in the graph",
                               20,
                               "replays",
                               1000,
                               RunGraphReplay};
const Case kGraphNodesCase = {"graph_nodes",
                              "a graph built node by node; midway its first node gets another grid",
                              "kernels in the graph",
                              20,
                              "replays",
                              1000,
                              RunGraphNodes};

}  // namespace gx::kernels
