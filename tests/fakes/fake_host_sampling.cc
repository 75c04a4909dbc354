// Scenarios of the fake host that run long enough for hardware counters to be sampled, or that make sampling hard.
// Where ms= is the length, what is printed does not depend on how often the loop went round.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/host_driver.h"
#include "tests/fakes/host_program.h"

namespace gx::fakes {
namespace {

class Clock {
 public:
  explicit Clock(int milliseconds) : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds)) {}
  bool Left() const { return std::chrono::steady_clock::now() < end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

// names=plain|gemm|nccl: what the kernels are called.
std::vector<NamedKernel> KernelsOf(const Options& options) {
  const std::string names = options.Text("names", "plain");
  std::vector<NamedKernel> kernels;
  for (int i = 0; i < options.Number("kernels", 3); ++i) {
    const std::string number = std::to_string(i);
    const std::string name = names == "gemm"   ? "nvjet_gemm_" + number
                             : names == "nccl" ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL_" + number
                                               : "_Z8sampled_" + number + "Pf";
    kernels.push_back({name, options.Number("kernel_us", 20)});
  }
  return kernels;
}

// Each kernel has one shape, so one signature: i has 8 * (i + 1) blocks of 96 threads.
CUresult LaunchSampled(const Program& program, size_t kernel, CUstream stream, bool cooperative) {
  const auto blocks = 8 * static_cast<unsigned int>(kernel + 1);
  if (cooperative) {
    return Cuda().cuLaunchCooperativeKernel(program.functions[kernel], blocks, 1, 1, 96, 1, 1, 0, stream, nullptr);
  }
  return Cuda().cuLaunchKernel(program.functions[kernel], blocks, 1, 1, 96, 1, 1, 0, stream, nullptr, nullptr);
}

// All kernels in turn on streams of this thread, until ms= are over, or n= launches are made where n is given. With
// sync_every=0 the program runs ahead of the device for ever.
void LaunchInTurn(const Options& options, const Program& program) {
  GX_CHECK(cuCtxSetCurrent(program.context));
  const int sync_every = options.Number("sync_every", 8);
  const int launch_count = options.Number("n", 0);
  const auto pause_us = static_cast<useconds_t>(options.Number("pause_us", 0));
  const bool cooperative = options.Number("cooperative", 0) != 0;
  const bool copies = options.Number("copies", 0) != 0;
  std::vector<CUstream> streams(static_cast<size_t>(options.Number("streams", 1)));
  for (CUstream& stream : streams) GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const Clock clock(options.Number("ms", 1000));
  for (int i = 0; launch_count != 0 ? i < launch_count : clock.Left(); ++i) {
    const auto n = static_cast<size_t>(i);
    const CUstream stream = streams[n % streams.size()];
    Check(LaunchSampled(program, n % program.functions.size(), stream, cooperative), "launch");
    if (copies) GX_CHECK(cuMemsetD8Async(0x7000'0000'0000, 1, 4096, stream));
    if (sync_every != 0 && (i + 1) % sync_every == 0) {
      for (CUstream used : streams) GX_CHECK(cuStreamSynchronize(used));
    }
    if (pause_us != 0) usleep(pause_us);
  }
  for (CUstream stream : streams) {
    GX_CHECK(cuStreamSynchronize(stream));
    GX_CHECK(cuStreamDestroy_v2(stream));
  }
}

void OnThreads(const Options& options, const std::vector<Program>& programs) {
  std::vector<std::thread> threads;
  for (int i = 0; i < options.Number("threads", 1); ++i) {
    for (const Program& program : programs) threads.emplace_back([&] { LaunchInTurn(options, program); });
  }
  for (std::thread& thread : threads) thread.join();
}

// sampled kernels=3 ms=1000 n=0 threads=1 streams=1 kernel_us=20 sync_every=8 pause_us=0 cooperative=0 copies=0
// names=plain: a loop of launches.
void Sampled(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels(KernelsOf(options), &program);
  OnThreads(options, {program});
  std::printf("sampled\n");
}

// spin how=launch|host ms=1000 kernel_us=20 device=0 other_device=0: a loop of a few common kernels, then one that
// waits, and the launch (on another stream, maybe of another device) or the host's flag that ends it, 1 ms later.
void Spin(const Options& options) {
  const bool by_host = options.Text("how", "launch") == "host";
  const int other_device = options.Number("other_device", options.Number("device", 0));
  const int kernel_us = options.Number("kernel_us", 20);
  Program program = StartContext(options);
  LoadNamedKernels(
      {{"common", kernel_us}, {by_host ? kSpinUntilHost : kSpinUntilLaunch, kernel_us}, {kReleaseKernel, kernel_us}},
      &program);
  Program other = program;
  if (other_device != options.Number("device", 0)) {
    GX_CHECK(cuDevicePrimaryCtxRetain(&other.context, other_device));
    GX_CHECK(cuCtxSetCurrent(other.context));
    LoadNamedKernels({{"common", kernel_us}, {"unused", kernel_us}, {kReleaseKernel, kernel_us}}, &other);
  }
  const auto set_flag =
      reinterpret_cast<HostFlagFunction>(dlsym(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW), kHostFlagSymbol));
  CUstream waiting = nullptr;
  CUstream releasing = nullptr;
  GX_CHECK(cuStreamCreate(&releasing, CU_STREAM_NON_BLOCKING));
  GX_CHECK(cuCtxSetCurrent(program.context));
  GX_CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  for (const Clock clock(options.Number("ms", 1000)); clock.Left();) {
    for (int i = 0; i < 4; ++i) Check(LaunchSampled(program, 0, waiting, false), "launch");
    GX_CHECK(cuStreamSynchronize(waiting));
    Check(LaunchSampled(program, 1, waiting, false), "launch of the kernel that waits");
    usleep(1000);
    if (by_host) {
      set_flag();
    } else {
      GX_CHECK(cuCtxSetCurrent(other.context));
      Check(LaunchSampled(other, 2, releasing, false), "launch of the kernel that releases");
      GX_CHECK(cuStreamSynchronize(releasing));
      GX_CHECK(cuCtxSetCurrent(program.context));
    }
    GX_CHECK(cuStreamSynchronize(waiting));
  }
  std::printf("spun\n");
}

// capture ms=1000 nodes=8 kernel_us=20: one thread captures graphs and replays each three times, another launches.
void Capture(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels(KernelsOf(options), &program);
  std::atomic<int> invalid_count{0};
  std::thread capturing([&] {
    GX_CHECK(cuCtxSetCurrent(program.context));
    CUstream stream = nullptr;
    GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (const Clock clock(options.Number("ms", 1000)); clock.Left();) {
      CUgraph graph = nullptr;
      GX_CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
      for (int i = 0; i < options.Number("nodes", 8); ++i) {
        Check(LaunchSampled(program, static_cast<size_t>(i) % program.functions.size(), stream, false), "capture");
        usleep(100);
      }
      if (Cuda().cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) {
        invalid_count.fetch_add(1);
        continue;
      }
      CUgraphExec exec = nullptr;
      GX_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
      for (int i = 0; i < 3; ++i) GX_CHECK(cuGraphLaunch(exec, stream));
      GX_CHECK(cuStreamSynchronize(stream));
      GX_CHECK(cuGraphExecDestroy(exec));
      GX_CHECK(cuGraphDestroy(graph));
      usleep(2000);
    }
  });
  LaunchInTurn(options, program);
  capturing.join();
  std::printf("invalid captures: %d\n", invalid_count.load());
}

// replay ms=1000 nodes=8 kernel_us=20: a captured graph, again and again.
void Replay(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels(KernelsOf(options), &program);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  GX_CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < options.Number("nodes", 8); ++i) {
    Check(LaunchSampled(program, static_cast<size_t>(i) % program.functions.size(), stream, false), "capture");
  }
  GX_CHECK(cuStreamEndCapture(stream, &graph));
  GX_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (const Clock clock(options.Number("ms", 1000)); clock.Left();) {
    GX_CHECK(cuGraphLaunch(exec, stream));
    GX_CHECK(cuStreamSynchronize(stream));
  }
  std::printf("replayed\n");
}

// reset ms=1000 resets=1: the loop of `sampled`; then the device is reset, and all begins again; ms= for each part.
void Reset(const Options& options) {
  for (int i = 0; i <= options.Number("resets", 1); ++i) {
    if (i > 0) GX_CHECK(cuDevicePrimaryCtxReset_v2(options.Number("device", 0)));
    Program program = StartContext(options);
    LoadNamedKernels(KernelsOf(options), &program);
    LaunchInTurn(options, program);
  }
  std::printf("reset %d\n", options.Number("resets", 1));
}

// pair across=contexts|devices ms=1000: two contexts of one device, or of two, each with threads of its own; created
// contexts are destroyed at the end.
void Pair(const Options& options) {
  const bool devices = options.Text("across", "contexts") == "devices";
  GX_CHECK(cuInit(0));
  std::vector<Program> programs(2);
  for (size_t i = 0; i < programs.size(); ++i) {
    const int device = devices ? static_cast<int>(i) : 0;
    GX_CHECK(cuCtxCreate_v4(&programs[i].context, nullptr, 0, device));
    LoadNamedKernels(KernelsOf(options), &programs[i]);
  }
  OnThreads(options, programs);
  GX_CHECK(cuCtxDestroy_v2(programs[0].context));
  GX_CHECK(cuCtxSetCurrent(programs[1].context));
  std::printf("pair\n");
}

// behaviour what=peer|ipc|multicast|green|managed|hostalloc|register|pool|waitvalue|hostfunc, then the loop of
// `sampled`: what programs do that wait for each other, or whose memory replay cannot restore.
void Behaviour(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels(KernelsOf(options), &program);
  const std::string what = options.Text("what", "peer");
  CUdeviceptr pointer = 0;
  if (what == "peer") {
    CUcontext other = nullptr;
    GX_CHECK(cuDevicePrimaryCtxRetain(&other, 1));
    GX_CHECK(cuCtxEnablePeerAccess(other, 0));
  } else if (what == "ipc") {
    GX_CHECK(cuIpcOpenMemHandle_v2(&pointer, CUipcMemHandle{}, 1));
  } else if (what == "multicast") {
    CUmemGenericAllocationHandle handle = 0;
    const CUmulticastObjectProp properties{};
    GX_CHECK(cuMulticastCreate(&handle, &properties));
    GX_CHECK(cuMulticastAddDevice(handle, 0));
    GX_CHECK(cuMulticastBindMem(handle, 0, handle, 0, 1 << 21, 0));
  } else if (what == "green") {
    CUgreenCtx green = nullptr;
    GX_CHECK(cuGreenCtxCreate(&green, nullptr, 0, 1));
  } else if (what == "managed") {
    GX_CHECK(cuMemAllocManaged(&pointer, 1 << 20, 1));
  } else if (what == "hostalloc") {
    void* memory = nullptr;
    GX_CHECK(cuMemHostAlloc(&memory, 1 << 20, 2));
  } else if (what == "register") {
    static std::array<char, 4096> memory;
    GX_CHECK(cuMemHostRegister_v2(memory.data(), memory.size(), 2));
  } else if (what == "pool") {
    GX_CHECK(cuMemAllocAsync(&pointer, 1 << 20, nullptr));
  } else if (what == "waitvalue") {
    GX_CHECK(cuStreamWaitValue32_v2(nullptr, 0x7000'0000'0000, 1, 0));
  } else if (what == "hostfunc") {
    GX_CHECK(cuLaunchHostFunc(
        nullptr, [](void*) {}, nullptr));
  }
  LaunchInTurn(options, program);
  std::printf("behaved as %s\n", what.c_str());
}

// rare kernels=5 times=1 memory=device|mapped pause_ms=0 kernel_us=20 extra_stream=0: each kernel that often, one after
// the other, in the default stream.
void Rare(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels(KernelsOf(options), &program);
  if (options.Text("memory", "device") == "mapped") {
    void* memory = nullptr;
    GX_CHECK(cuMemHostAlloc(&memory, 1 << 20, 2));
  }
  CUstream extra = nullptr;
  if (options.Number("extra_stream", 0) != 0) GX_CHECK(cuStreamCreate(&extra, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < options.Number("times", 1); ++i) {
    for (size_t kernel = 0; kernel < program.functions.size(); ++kernel) {
      Check(LaunchSampled(program, kernel, nullptr, options.Number("cooperative", 0) != 0), "launch");
      GX_CHECK(cuCtxSynchronize());
      usleep(static_cast<useconds_t>(options.Number("pause_ms", 0)) * 1000);
    }
  }
  std::printf("rare\n");
}

// async: copies, fills, an event and a host function on a stream, behind a kernel that waits for the host.
void Async(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels({{kSpinUntilHost, 1}}, &program);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  std::array<char, 512> memory{};
  static std::atomic<int> called{0};
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  GX_CHECK(cuEventCreate(&event, 0));
  std::printf("idle: %d\n", static_cast<int>(Cuda().cuStreamQuery(stream)));
  Check(LaunchSampled(program, 0, stream, false), "launch");
  GX_CHECK(cuMemcpyHtoDAsync_v2(0x7000'0000'0000, memory.data(), memory.size(), stream));
  GX_CHECK(cuMemcpyDtoDAsync_v2(0x7000'0000'0000, 0x7000'0000'1000, 1024, stream));
  GX_CHECK(cuMemsetD8Async(0x7000'0000'0000, 3, 2048, stream));
  GX_CHECK(cuLaunchHostFunc(
      stream, [](void*) { called.fetch_add(1); }, nullptr));
  GX_CHECK(cuMemcpyDtoHAsync_v2(memory.data(), 0x7000'0000'0000, memory.size(), stream));
  GX_CHECK(cuEventRecord(event, stream));
  std::printf("waiting: %d %d, called %d\n", static_cast<int>(Cuda().cuStreamQuery(stream)),
              static_cast<int>(Cuda().cuEventQuery(event)), called.load());
  reinterpret_cast<HostFlagFunction>(dlsym(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW), kHostFlagSymbol))();
  GX_CHECK(cuStreamSynchronize(stream));
  std::printf("done: %d %d, called %d\n", static_cast<int>(Cuda().cuStreamQuery(stream)),
              static_cast<int>(Cuda().cuEventQuery(event)), called.load());
  GX_CHECK(cuEventDestroy_v2(event));
}

// forbidden: an open capture, and a question about the default stream, which makes it invalid.
void Forbidden(const Options& options) {
  const Program program = StartContext(options);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  GX_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  GX_CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  std::printf("query: %d\n", static_cast<int>(Cuda().cuStreamQuery(nullptr)));
  std::printf("end of capture: %d\n", static_cast<int>(Cuda().cuStreamEndCapture(stream, &graph)));
}

}  // namespace

const Scenarios& SamplingScenarios() {
  static const auto& scenarios = *new Scenarios{
      {"sampled", Sampled}, {"spin", Spin},           {"capture", Capture}, {"replay", Replay},       {"reset", Reset},
      {"pair", Pair},       {"behaviour", Behaviour}, {"async", Async},     {"forbidden", Forbidden}, {"rare", Rare},
  };
  return scenarios;
}

}  // namespace gx::fakes
