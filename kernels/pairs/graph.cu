// Many kernels of about a microsecond: a launch call each, or one graph.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 256;
constexpr unsigned kElements = 128 * kBlockThreads;
constexpr uint32_t kMultiplier = 1664525;  // a step of a well-known linear congruential generator; exact modulo 2^32
constexpr uint32_t kAddend = 1013904223;
}  // namespace

// Exact, so that one lost or doubled kernel changes the result.
__global__ void GraphDefectKernel(uint32_t* values) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  values[i] = values[i] * kMultiplier + kAddend;
}

__global__ void GraphCureKernel(uint32_t* values) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  values[i] = values[i] * kMultiplier + kAddend;
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat, bool in_graph) {
  if (size < 1 || size > 100000) return std::nullopt;
  Expectation expect;
  expect.kernels = size * repeat;
  if (in_graph) {
    expect.graph_launches = repeat;
  } else {
    expect.launches = expect.kernels;
  }
  expect.copies = 2;
  expect.bytes = expect.kernels * kElements * 2 * sizeof(uint32_t);
  return expect;
}

std::optional<Expectation> DefectOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, false); }
std::optional<Expectation> CureOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, true); }

std::vector<uint32_t> RandomValues() {
  std::vector<uint32_t> values(kElements);
  for (uint32_t i = 0; i < kElements; ++i) values[i] = RandomBits(111, i);
  return values;
}

void Check(CaseRun& run, const std::vector<uint32_t>& start, const DeviceArray<uint32_t>& values) {
  std::vector<uint32_t> got(kElements);
  GX_STEP(run.Download(got.data(), values.data(), values.bytes()));
  // All steps as one.
  uint32_t factor = 1;
  uint32_t addend = 0;
  for (uint64_t step = 0; step < run.size() * run.repeat(); ++step) {
    factor *= kMultiplier;
    addend = addend * kMultiplier + kAddend;
  }
  CheckWords(run, "values", got, [&](uint64_t i) { return start[i] * factor + addend; });
}

const LaunchShape kShape{dim3(kElements / kBlockThreads), dim3(kBlockThreads)};

void RunDefect(CaseRun& run) {
  if (!ExpectOnPaper(run, DefectOnPaper(run.size(), run.repeat()), "1 to 100000 kernels")) return;
  const std::vector<uint32_t> start = RandomValues();
  DeviceArray<uint32_t> values(run, kElements);
  Stream stream(run);
  if (!values || !stream) return;
  GX_STEP(run.Upload(values.data(), start.data(), values.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());
  uint64_t made = 0;
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    // A bare loop: bookkeeping per launch would slow the launches down.
    for (uint64_t i = 0; i < run.size(); ++i) {
      GraphDefectKernel<<<kShape.grid, kShape.block, 0, stream.get()>>>(values.data());
      made += cudaPeekAtLastError() == cudaSuccess ? 1 : 0;
    }
  }
  GX_CUDA(run, cudaGetLastError());
  GX_CUDA(run, cudaStreamSynchronize(stream.get()));
  run.CountLaunches(made);
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(GraphDefectKernel), kShape, made));
  Check(run, start, values);
}

// Owns what the case makes.
struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ~Graph() {
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
};

void RunCure(CaseRun& run) {
  if (!ExpectOnPaper(run, CureOnPaper(run.size(), run.repeat()), "1 to 100000 kernels")) return;
  const std::vector<uint32_t> start = RandomValues();
  DeviceArray<uint32_t> values(run, kElements);
  Stream stream(run);
  if (!values || !stream) return;
  GX_STEP(run.Upload(values.data(), start.data(), values.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());
  Graph graph;
  GX_CUDA(run, cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  for (uint64_t i = 0; i < run.size(); ++i) {
    GraphCureKernel<<<kShape.grid, kShape.block, 0, stream.get()>>>(values.data());
  }
  GX_CUDA(run, cudaStreamEndCapture(stream.get(), &graph.graph));
  GX_CUDA(run, cudaGetLastError());
  GX_CUDA(run, cudaGraphInstantiate(&graph.exec, graph.graph, 0));
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_CUDA(run, cudaGraphLaunch(graph.exec, stream.get()));
    run.CountGraphLaunches(1);
  }
  GX_CUDA(run, cudaStreamSynchronize(stream.get()));
  LaunchShape shape = kShape;
  shape.graph_node = true;
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(GraphCureKernel), shape, run.size() * run.repeat()));
  Check(run, start, values);
}

const Case kDefect = {"graph_defect", "kernels of about a microsecond, a launch call each",
                      "kernels",      1000,
                      "times these",  30,
                      RunDefect,      "GraphDefectKernel",
                      "launch",       DefectOnPaper};
const Case kCure = {
    "graph_cure", "the same kernels as one graph", "kernels", 1000, "replays", 30, RunCure, "GraphCureKernel", "launch",
    CureOnPaper};

}  // namespace

const Pair kGraphPair = {.name = "graph",
                         .change = "how the kernels are launched",
                         .defect = &kDefect,
                         .cure = &kCure,
                         .run_finding = "launch_bound",
                         .what_if = "graph"};

}  // namespace gx::kernels
