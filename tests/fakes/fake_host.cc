// A small "CUDA program" for end-to-end tests: knows nothing of gpuexec, prints known text, and does what its arguments
// say.
//
//   fake_host SCENARIO [name=value ...]
//
// Every scenario takes exit=return|_exit|abort|kill|term|throw|crash|quick_exit|CODE (default return), sleep_ms=N
// (before the exit), sync=0 (do not wait for the device at the end), state=1 (print what the process looks like at its
// end), and what Prepare does. README.md lists the scenarios.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/fakes/host_driver.h"
#include "tests/fakes/host_program.h"

namespace gx::fakes {
namespace {

// ----------------------------------------------------------------------------------------------- scenarios

// launch n=1000 threads=1 streams=1 pause_us=0: that many launches per thread, on streams of its own in turn, with a
// pause after each.
void Launch(const Options& options) {
  const Program program = Start(options);
  const int count = options.Number("n", 1000);
  const int stream_count = options.Number("streams", 1);
  const auto pause_us = static_cast<useconds_t>(options.Number("pause_us", 0));
  const auto work = [&] {
    GX_CHECK(cuCtxSetCurrent(program.context));
    std::vector<CUstream> streams(static_cast<size_t>(stream_count));
    for (CUstream& stream : streams) GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < count; ++i) {
      Check(LaunchNth(program, i, streams[static_cast<size_t>(i) % streams.size()]), "launch");
      if (pause_us != 0) usleep(pause_us);
    }
    if (options.Number("sync", 1) == 0) return;
    for (CUstream stream : streams) {
      GX_CHECK(cuStreamSynchronize(stream));
      GX_CHECK(cuStreamDestroy_v2(stream));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < options.Number("threads", 1); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("launched %d\n", count * options.Number("threads", 1));
}

// every: each launch function once, with every launch attribute that a signature knows.
void EveryLaunchFunction(const Options& options) {
  const Program program = Start(options);
  const HostDriver& cuda = Cuda();
  CUstream stream = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUfunction f = program.functions[1];
  GX_CHECK(cuLaunchKernel(f, 2, 3, 4, 32, 2, 1, 16, stream, nullptr, nullptr));
  Check(cuda.cuLaunchKernel_ptsz(f, 3, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel_ptsz");
  GX_CHECK(cuLaunchCooperativeKernel(f, 4, 1, 1, 64, 1, 1, 0, stream, nullptr));
  Check(cuda.cuLaunchCooperativeKernel_ptsz(f, 5, 1, 1, 64, 1, 1, 0, nullptr, nullptr), "cooperative_ptsz");

  CUlaunchAttribute attributes[5] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {2, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[1].value.programmaticStreamSerializationAllowed = 1;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  attributes[2].value.sharedMemCarveout = 50;
  attributes[3].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
  attributes[3].value.preferredClusterDim = {4, 1, 1};
  attributes[4].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[4].value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = 8;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 96;
  config.sharedMemBytes = 2048;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = 4;
  GX_CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr));
  config.attrs = attributes + 4;
  config.numAttrs = 1;
  GX_CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr));
  config.numAttrs = 0;
  config.hStream = nullptr;
  Check(cuda.cuLaunchKernelEx_ptsz(&config, f, nullptr, nullptr), "cuLaunchKernelEx_ptsz");
  GX_CHECK(cuLaunchKernel(f, 9, 1, 1, 64, 1, 1, 0, CU_STREAM_PER_THREAD, nullptr, nullptr));
  GX_CHECK(cuLaunchKernel(f, 10, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));

  // A context-less kernel, launched by its handle as newer runtimes do.
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  GX_CHECK(cuLibraryLoadData(&library, program.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  GX_CHECK(cuLibraryGetKernel(&kernel, library, "_Z7kernel_2PfS_i"));
  GX_CHECK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 11, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr));
  std::printf("launched 10\n");
}

CUgraph CaptureGraph(const Program& program, int node_count) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  GX_CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < node_count; ++i) Check(LaunchNth(program, i, stream), "launch under capture");
  GX_CHECK(cuStreamEndCapture(stream, &graph));
  GX_CHECK(cuStreamDestroy_v2(stream));
  return graph;
}

CUDA_KERNEL_NODE_PARAMS NodeParams(const Program& program, int i, unsigned int grid_z) {
  const auto n = static_cast<unsigned int>(i);
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = program.functions[n % kKernelCount];
  params.gridDimX = n % 7 + 1;
  params.gridDimY = n % 3 + 1;
  params.gridDimZ = grid_z;
  params.blockDimX = 128;
  params.blockDimY = params.blockDimZ = 1;
  params.sharedMemBytes = (n % 4) * 1024;
  return params;
}

CUgraph BuildGraph(const Program& program, int node_count, std::vector<CUgraphNode>* nodes) {
  CUgraph graph = nullptr;
  GX_CHECK(cuGraphCreate(&graph, 0));
  for (int i = 0; i < node_count; ++i) {
    const CUDA_KERNEL_NODE_PARAMS params = NodeParams(program, i, 1);
    CUgraphNode node = nullptr;
    GX_CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    nodes->push_back(node);
  }
  return graph;
}

// graph nodes=20 replays=100 build=0 ptsz=0 update=0 instances=1: a captured (or built) graph, replayed. update=1
// changes the grid of the first node after half of the replays (needs build=1).
void Graph(const Options& options) {
  const Program program = Start(options);
  const int node_count = options.Number("nodes", 20);
  const int replay_count = options.Number("replays", 100);
  std::vector<CUgraphNode> nodes;
  const CUgraph graph =
      options.Number("build", 0) != 0 ? BuildGraph(program, node_count, &nodes) : CaptureGraph(program, node_count);
  CUstream stream = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const auto launch = options.Number("ptsz", 0) != 0 ? Cuda().cuGraphLaunch_ptsz : Cuda().cuGraphLaunch;
  for (int instance = 0; instance < options.Number("instances", 1); ++instance) {
    CUgraphExec exec = nullptr;
    GX_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < replay_count; ++i) {
      if (options.Number("update", 0) != 0 && i == replay_count / 2) {
        const CUDA_KERNEL_NODE_PARAMS params = NodeParams(program, 0, 2);
        GX_CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &params));
      }
      Check(launch(exec, options.Number("ptsz", 0) != 0 ? nullptr : stream), "cuGraphLaunch");
    }
    GX_CHECK(cuCtxSynchronize());
    GX_CHECK(cuGraphExecDestroy(exec));
  }
  GX_CHECK(cuGraphDestroy(graph));
  std::printf("replayed %d x %d\n", replay_count * options.Number("instances", 1), node_count);
}

// modules loops=10 n=10: load, launch, unload again and again; the handles are the same each time, the code is not.
void Modules(const Options& options) {
  Program program = Start(options);
  CUstream stream = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int loop = 0; loop < options.Number("loops", 10); ++loop) {
    GX_CHECK(cuModuleUnload(program.module));
    LoadKernels(loop + 1, 2, &program);
    for (int i = 0; i < options.Number("n", 10); ++i) Check(LaunchNth(program, i, stream), "launch");
    GX_CHECK(cuStreamSynchronize(stream));
  }
  std::printf("launched %d\n", options.Number("loops", 10) * options.Number("n", 10));
}

// memory: copies to the device, between devices, and a fill.
void Memory(const Options& options) {
  const Program program = Start(options);
  CUcontext other = nullptr;
  GX_CHECK(cuDevicePrimaryCtxRetain(&other, 1));
  CUdeviceptr pointer = 0;
  GX_CHECK(cuMemAlloc_v2(&pointer, 1 << 20));
  const std::vector<char> data(4096);
  GX_CHECK(cuMemcpyHtoD_v2(pointer, data.data(), data.size()));
  GX_CHECK(cuMemsetD8_v2(pointer, 7, 8192));
  GX_CHECK(cuMemcpyPeer(pointer, other, pointer, program.context, 16384));
  Check(LaunchNth(program, 0, nullptr), "launch");
  std::printf("copied 3\n");
}

// contexts: one launch in a created context on each device, each context destroyed afterwards.
void Contexts(const Options&) {
  GX_CHECK(cuInit(0));
  int device_count = 0;
  GX_CHECK(cuDeviceGetCount(&device_count));
  for (int device = 0; device < device_count; ++device) {
    Program program;
    GX_CHECK(cuCtxCreate_v4(&program.context, nullptr, 0, device));
    LoadKernels(0, 2, &program);
    Check(LaunchNth(program, device, nullptr), "launch");
    GX_CHECK(cuCtxSynchronize());
    GX_CHECK(cuCtxDestroy_v2(program.context));
  }
  std::printf("launched %d\n", device_count);
}

// failing: launches that the driver refuses, between others.
void Failing(const Options& options) {
  const Program program = Start(options);
  for (int i = 0; i < 3; ++i) {
    Check(LaunchNth(program, i, nullptr), "launch");
    const CUresult result =
        Cuda().cuLaunchKernel(program.functions[0], 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr);
    std::printf("refused with %d\n", static_cast<int>(result));
  }
}

// region: one launch before, two inside and one after cuProfilerStart/Stop.
void Region(const Options& options) {
  const Program program = Start(options);
  Check(LaunchNth(program, 0, nullptr), "launch before");
  GX_CHECK(cuCtxSynchronize());
  GX_CHECK(cuProfilerStart());
  Check(LaunchNth(program, 1, nullptr), "launch inside");
  Check(LaunchNth(program, 2, nullptr), "launch inside");
  GX_CHECK(cuCtxSynchronize());
  GX_CHECK(cuProfilerStop());
  Check(LaunchNth(program, 3, nullptr), "launch after");
  std::printf("launched 4\n");
}

// nvtx: nested ranges around launches, a domain, a process range, a mark, a payload.
void Nvtx(const Options& options) {
  const Program program = Start(options);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxRangePushA("outer");
  Check(LaunchNth(program, 0, nullptr), "launch");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "inner";
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = 42;
  nvtxDomainRangePushEx(domain, &attributes);
  Check(LaunchNth(program, 1, nullptr), "launch");
  nvtxDomainRangePop(domain);
  nvtxRangePop();
  const nvtxRangeId_t range = nvtxRangeStartA("whole");
  nvtxMarkA("here");
  nvtxRangeEnd(range);
  Check(LaunchNth(program, 2, nullptr), "launch");
  std::printf("launched 3\n");
}

int WaitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// fork when=before|after child=idle|cuda|exit: a child process, made before or after this one starts CUDA; it does
// nothing and leaves by _exit (idle), or by exit (exit), or uses CUDA itself (cuda). Both sides launch n.
void Fork(const Options& options) {
  const bool before = options.Text("when", "after") == "before";
  const std::string child_does = options.Text("child", "idle");
  const int count = options.Number("n", 10);
  Program program;
  if (!before) {
    program = Start(options);
    for (int i = 0; i < count; ++i) Check(LaunchNth(program, i, nullptr), "launch");
  }
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (child_does == "cuda") {
      const CUresult result = Cuda().cuInit(0);
      std::printf("child: cuInit %d\n", static_cast<int>(result));
      if (result == CUDA_SUCCESS) {
        program = Start(options);
        for (int i = 0; i < count; ++i) Check(LaunchNth(program, i, nullptr), "launch");
        GX_CHECK(cuCtxSynchronize());
      }
    }
    if (child_does == "idle") _exit(7);
    std::exit(7);  // With the handlers of the parent's libraries, as Python's os.fork users get them.
  }
  std::printf("child ended with %d\n", WaitFor(child));
  if (before) program = Start(options);
  for (int i = 0; i < count; ++i) Check(LaunchNth(program, i, nullptr), "launch");
  std::printf("parent launched %d\n", before ? count : 2 * count);
}

// profiler: a second CUPTI client in the process tries to subscribe (the library named by cupti=PATH).
void Profiler(const Options& options) {
  const Program program = Start(options);
  Check(LaunchNth(program, 0, nullptr), "launch");
  void* const library = dlopen(options.Text("cupti", "libcupti.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("no libcupti\n");
    return;
  }
  const auto subscribe = reinterpret_cast<decltype(&::cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  CUpti_SubscriberHandle handle = nullptr;
  const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  std::printf("cuptiSubscribe: %d\n", static_cast<int>(subscribe(&handle, callback, nullptr)));
  Check(LaunchNth(program, 1, nullptr), "launch");
}

// none: no CUDA at all.
void None(const Options&) { std::printf("no CUDA here\n"); }

// init: cuInit and nothing else.
void InitOnly(const Options&) {
  GX_CHECK(cuInit(0));
  std::printf("initialised\n");
}

// The end of the program, as exit= says; returns for exit=return and exit=CODE.
int Leave(const Options& options) {
  if (options.Number("state", 0) != 0) PrintState();
  std::fprintf(stderr, "leaving\n");
  std::fflush(nullptr);
  if (const int sleep_ms = options.Number("sleep_ms", 0)) usleep(static_cast<useconds_t>(sleep_ms) * 1000);
  const std::string how = options.Text("exit", "return");
  if (how == "_exit") _exit(5);
  if (how == "abort") abort();
  if (how == "kill") kill(getpid(), SIGKILL);
  EndBySpecialMeans(how);
  return how == "return" ? 0 : std::atoi(how.c_str());
}

int Main(int argc, char** argv) {
  Scenarios scenarios = {
      {"launch", Launch},     {"every", EveryLaunchFunction},
      {"graph", Graph},       {"modules", Modules},
      {"memory", Memory},     {"contexts", Contexts},
      {"failing", Failing},   {"region", Region},
      {"nvtx", Nvtx},         {"fork", Fork},
      {"none", None},         {"init", InitOnly},
      {"profiler", Profiler},
  };
  scenarios.insert(SamplingScenarios().begin(), SamplingScenarios().end());
  scenarios.insert(ClientScenarios().begin(), ClientScenarios().end());
  scenarios.insert(LifeScenarios().begin(), LifeScenarios().end());
  const auto scenario = argc < 2 ? scenarios.end() : scenarios.find(argv[1]);
  if (scenario == scenarios.end()) {
    std::fprintf(stderr, "usage: fake_host SCENARIO [name=value ...]; see tests/fakes/README.md\n");
    return 2;
  }
  const Options options(argc, argv);
  Prepare(options);
  scenario->second(options);
  const bool uses_context = scenario->first != "none" && scenario->first != "init" && scenario->first != "contexts";
  if (uses_context && options.Number("sync", 1) != 0) GX_CHECK(cuCtxSynchronize());
  return Leave(options);
}

}  // namespace
}  // namespace gx::fakes

int main(int argc, char** argv) { return gx::fakes::Main(argc, argv); }
