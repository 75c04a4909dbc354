// Programs that a sampler of hardware counters could stop, disturb or lose: one a subcommand. All end by themselves.
//
//   gx-sampling-hazards NAME
//
//   wait_later    a kernel spins on a flag that a later launch on another stream sets, beside one that waits for nobody
//   wait_sooner   a kernel spins on a flag that an earlier launch on another stream sets
//   wait_host     a kernel spins on a flag in host memory that the host sets later, the last times after 0.3 s
//   capture       one thread captures graphs in every mode and replays them, another launches all the time
//   reset         work, cudaDeviceReset while a sampler is likely to be at work, work
//   contexts      two contexts, a thread in each
//   threads       two threads, each with its stream
//   per_thread    two threads, each with its per-thread default stream
//   collective    a kernel with the name of a communication library's, beside another
//   devices       two devices, a thread for each; SKIP where there is one
//   peer          a kernel spins on a flag in another device's memory that a kernel there sets later; SKIP likewise
//
// Standard output is the same in every run: checksums, and "launches N", how many kernels are launched in all (of
// capture on standard error: the other thread launches as often as it can). Standard error says "own_seconds S". Names
// say nothing about waiting, so that only behaviour can give them away.
//
// Exit code: 0; 1 where a result is wrong, a wait ended by its own limit or CUDA refused something; 2 for wrong usage.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 256;
constexpr unsigned kValues = kBlocks * kThreads;
// A wait that nobody ends gives up, so that the device is never lost.
constexpr uint64_t kWaitLimitNs = 30'000'000'000;

std::atomic<bool> failed{false};

bool Check(bool good, const std::string& what) {
  if (!good) {
    failed = true;
    std::fprintf(stderr, "gx-sampling-hazards: %s\n", what.c_str());
  }
  return good;
}

bool Ok(cudaError_t result, const char* what) {
  return Check(result == cudaSuccess, std::string(what) + ": " + cudaGetErrorString(result));
}

// Returns from a function without a result when a call fails.
#define GX_OK(call)                 \
  do {                              \
    if (!Ok((call), #call)) return; \
  } while (false)

void Sleep(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

// As Sleep, to the microsecond.
void SpinOnHost(int microseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

__device__ uint64_t NowNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Until *flag is `value`.
__device__ void WaitFor(const volatile uint32_t* flag, uint32_t value, uint32_t* expired) {
  const uint64_t begin = NowNs();
  while (*flag != value) {
    if (NowNs() - begin > kWaitLimitNs) {
      *expired = 1;
      return;
    }
  }
}

}  // namespace

extern "C" __global__ void pass_on(const volatile uint32_t* flag, uint32_t value, uint32_t* expired, uint32_t* out) {
  WaitFor(flag, value, expired);
  *out += value;
}

extern "C" __global__ void receive(const volatile uint32_t* flag, uint32_t value, uint32_t* expired, uint32_t* out) {
  WaitFor(flag, value, expired);
  *out += value;
}

extern "C" __global__ void store_value(volatile uint32_t* to, uint32_t value) {
  *to = value;
  __threadfence_system();
}

extern "C" __global__ void mix_values(uint32_t* values, uint32_t rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t value = values[i];
#pragma unroll 1
  for (uint32_t r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u + i;
  values[i] = value;
}

// For so long by the clock, so that its share of GPU time is known on every device.
extern "C" __global__ void keep_busy(uint32_t* values, uint64_t duration_ns) {
  const uint64_t begin = NowNs();
  while (NowNs() - begin < duration_ns) {
  }
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

extern "C" __global__ void add_one(uint32_t* values) { values[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

// A name that the deny list knows; it waits for nobody.
extern "C" __global__ void ncclDevKernel_AllReduce_Sum_u32_RING_LL(uint32_t* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += 3;
}

namespace {

uint32_t Mixed(uint32_t value, unsigned i, uint64_t rounds) {
  for (uint64_t r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u + i;
  return value;
}

bool OwnStream(cudaStream_t* stream) {
  return Ok(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

// kValues words on the device.
class Values {
 public:
  Values() {
    if (Ok(cudaMalloc(reinterpret_cast<void**>(&data_), kValues * sizeof(uint32_t)), "cudaMalloc")) Clear();
  }
  ~Values() {
    if (data_ != nullptr) (void)cudaFree(data_);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  uint32_t* data() const { return data_; }
  void Clear() { Ok(cudaMemset(data_, 0, kValues * sizeof(uint32_t)), "cudaMemset"); }
  // The device must be done with them.
  std::vector<uint32_t> Read() const {
    std::vector<uint32_t> host(kValues);
    Ok(cudaMemcpy(host.data(), data_, kValues * sizeof(uint32_t), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }
  // After a device reset the memory is gone.
  void Forget() { data_ = nullptr; }

 private:
  uint32_t* data_ = nullptr;
};

uint64_t Checksum(const std::vector<uint32_t>& values) {
  uint64_t sum = 14695981039346656037ull;
  for (const uint32_t value : values) sum = (sum ^ value) * 1099511628211ull;
  return sum;
}

void PrintChecksum(const char* what, const std::vector<uint32_t>& values) {
  std::printf("%s: checksum %016llx\n", what, static_cast<unsigned long long>(Checksum(values)));
}

// ------------------------------------------------------------------------------------------------ waiting kernels

struct Waits {
  uint32_t* flag = nullptr;     // On the device.
  uint32_t* expired = nullptr;  // On the device: a wait ended by its limit; then what the waiting kernels add up.
  uint32_t* out = nullptr;

  bool Allocate() {
    if (!Ok(cudaMalloc(reinterpret_cast<void**>(&flag), 3 * sizeof(uint32_t)), "cudaMalloc")) return false;
    expired = flag + 1;
    out = flag + 2;
    return Ok(cudaMemset(flag, 0, 3 * sizeof(uint32_t)), "cudaMemset");
  }
  // The sum that the waiting kernels made of 1, 2, ... `count`.
  void Finish(uint32_t count) const {
    uint32_t got[3];
    GX_OK(cudaDeviceSynchronize());
    GX_OK(cudaMemcpy(got, flag, sizeof got, cudaMemcpyDeviceToHost));
    Check(got[1] == 0, "a wait ended by its own limit");
    Check(got[2] == count * (count + 1) / 2, "a waiting kernel did not run");
    std::printf("waits %u, sum %u\n", count, got[2]);
  }
};

// A flag, and a stream each for the kernel that waits for it and the one that sets it.
struct WaitStreams {
  Waits waits;
  cudaStream_t waiting = nullptr;
  cudaStream_t setting = nullptr;

  bool Create() {
    if (!waits.Allocate() || !OwnStream(&waiting) || !OwnStream(&setting)) return false;
    // Both loaded: loading one may wait for the other to end.
    Set(0);
    pass_on<<<1, 1, 0, waiting>>>(waits.expired, 0, waits.expired, waits.expired);
    return Ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void Wait(uint32_t i) const { pass_on<<<1, 1, 0, waiting>>>(waits.flag, i, waits.expired, waits.out); }
  void Set(uint32_t i) const { store_value<<<1, 1, 0, setting>>>(waits.flag, i); }
  bool Synchronize() const {
    return Ok(cudaStreamSynchronize(waiting), "cudaStreamSynchronize") &&
           Ok(cudaStreamSynchronize(setting), "cudaStreamSynchronize");
  }
};

// A sampler wants times of launches that nothing overlapped, of most of the GPU time, before it begins: keep_busy runs
// alone and makes up some 95 %, pass_on, which never runs alone, 5 %.
void WaitLater() {
  constexpr uint32_t kRounds = 1500;
  constexpr uint64_t kBusyNs = 3'000'000;
  constexpr int kWaitUs = 150;
  Values values;
  WaitStreams streams;
  if (!streams.Create()) return;
  for (uint32_t i = 1; i <= kRounds; ++i) {
    keep_busy<<<kBlocks, kThreads, 0, streams.waiting>>>(values.data(), kBusyNs);
    if (!streams.Synchronize()) return;
    streams.Wait(i);
    SpinOnHost(kWaitUs);
    streams.Set(i);
    if (!streams.Synchronize()) return;
  }
  streams.waits.Finish(kRounds);
  PrintChecksum("values", values.Read());
  std::printf("launches %u\n", 2 + 3 * kRounds);
}

void WaitSooner() {
  constexpr uint32_t kRounds = 1500;
  Values values;
  WaitStreams streams;
  if (!streams.Create()) return;
  for (uint32_t i = 1; i <= kRounds; ++i) {
    mix_values<<<kBlocks, kThreads, 0, streams.waiting>>>(values.data(), 100);
    streams.Set(i);
    streams.Wait(i);
    Sleep(2000);
    if (!streams.Synchronize()) return;
  }
  streams.waits.Finish(kRounds);
  PrintChecksum("values", values.Read());
  std::printf("launches %u\n", 2 + 3 * kRounds);
}

void WaitOnHost() {
  constexpr uint32_t kShort = 500;
  constexpr uint32_t kLong = 4;
  Waits waits;
  if (!waits.Allocate()) return;
  volatile uint32_t* flag = nullptr;
  uint32_t* device_flag = nullptr;
  GX_OK(cudaHostAlloc(const_cast<void**>(reinterpret_cast<volatile void**>(&flag)), sizeof(uint32_t),
                      cudaHostAllocMapped));
  *flag = 0;
  GX_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_flag), const_cast<uint32_t*>(flag), 0));
  cudaStream_t stream;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (uint32_t i = 1; i <= kShort + kLong; ++i) {
    receive<<<1, 1, 0, stream>>>(device_flag, i, waits.expired, waits.out);
    Sleep(i <= kShort ? 5000 : 300'000);
    *flag = i;
    GX_OK(cudaStreamSynchronize(stream));
  }
  waits.Finish(kShort + kLong);
  std::printf("launches %u\n", kShort + kLong);
}

// ------------------------------------------------------------------------------------------------ capture

constexpr uint32_t kGraphs = 240;
constexpr uint32_t kReplays = 3;
constexpr uint32_t kGraphKernels = 12;

bool LaunchChain(cudaStream_t stream, uint32_t* values) {
  for (uint32_t k = 0; k < kGraphKernels; ++k) mix_values<<<kBlocks, kThreads, 0, stream>>>(values, k + 1);
  return Ok(cudaGetLastError(), "launch");
}

void CaptureAndReplay() {
  Values eager, replayed;
  cudaStream_t stream;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  constexpr cudaStreamCaptureMode kModes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                              cudaStreamCaptureModeRelaxed};
  uint32_t valid = 0;
  for (uint32_t g = 0; g < kGraphs; ++g) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    GX_OK(cudaStreamBeginCapture(stream, kModes[g % 3]));
    (void)LaunchChain(stream, replayed.data());
    Sleep(5000);  // Open for a while, as a capture of a model is.
    if (!Ok(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture")) continue;
    GX_OK(cudaGraphInstantiate(&exec, graph, 0));
    ++valid;
    for (uint32_t replay = 0; replay < kReplays; ++replay) {
      GX_OK(cudaGraphLaunch(exec, stream));
      GX_OK(cudaStreamSynchronize(stream));
      if (!LaunchChain(stream, eager.data())) return;
      GX_OK(cudaStreamSynchronize(stream));
      Sleep(2000);
    }
    GX_OK(cudaGraphExecDestroy(exec));
    GX_OK(cudaGraphDestroy(graph));
  }
  const std::vector<uint32_t> from_replay = replayed.Read();
  Check(valid == kGraphs, "captures that were not valid: " + std::to_string(kGraphs - valid));
  Check(from_replay == eager.Read(), "replays and eager launches have different results");
  std::printf("captures %u valid, replay equals eager: %s\n", valid, failed ? "no" : "yes");
  PrintChecksum("replayed", from_replay);
}

// Launches and nothing else: while a capture is open in the global mode, other threads may not wait, ask or allocate.
uint32_t LaunchUntil(const std::atomic<bool>& done, cudaStream_t stream, uint32_t* values) {
  uint32_t launches = 0;
  while (!done && !failed) {
    for (int i = 0; i < 50; ++i) add_one<<<kBlocks, kThreads, 0, stream>>>(values);
    launches += 50;
    if (!Ok(cudaGetLastError(), "launch")) break;
    Sleep(3000);
  }
  return launches;
}

void Capture() {
  Values values;
  cudaStream_t stream;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  // Loaded before any capture.
  add_one<<<kBlocks, kThreads, 0, stream>>>(values.data());
  mix_values<<<kBlocks, kThreads, 0, stream>>>(values.data(), 0);
  GX_OK(cudaDeviceSynchronize());
  std::atomic<bool> done{false};
  uint32_t launches = 1;
  std::thread other([&] { launches += LaunchUntil(done, stream, values.data()); });
  CaptureAndReplay();
  done = true;
  other.join();
  GX_OK(cudaDeviceSynchronize());
  bool right = true;
  for (const uint32_t value : values.Read()) right = right && value == launches;
  Check(right, "the other thread's launches did not all run once");
  std::printf("the other thread's launches all ran once: %s\n", right ? "yes" : "no");
  // Differs from run to run: not for standard output.
  std::fprintf(stderr, "launches %u\n", launches + 1 + kGraphs * kReplays * kGraphKernels);
}

// ------------------------------------------------------------------------------------------------ threads and contexts

constexpr uint32_t kWorkRounds = 1500;
// Some 1 s: a sampler has begun by then, and is not through.
constexpr uint32_t kRoundsBeforeReset = 600;
constexpr uint32_t kLaunchesARound = 4;

// Launches in the current context, and checks the numbers.
std::vector<uint32_t> Work(cudaStream_t stream, uint32_t* values, uint32_t rounds_each,
                           uint32_t work_rounds = kWorkRounds) {
  for (uint32_t r = 0; r < work_rounds; ++r) {
    for (uint32_t k = 0; k < kLaunchesARound; ++k) mix_values<<<kBlocks, kThreads, 0, stream>>>(values, rounds_each);
    if (!Ok(cudaGetLastError(), "launch") || !Ok(cudaStreamSynchronize(stream), "cudaStreamSynchronize")) return {};
    Sleep(1500);
  }
  std::vector<uint32_t> got(kValues);
  if (!Ok(cudaMemcpyAsync(got.data(), values, kValues * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync") ||
      !Ok(cudaStreamSynchronize(stream), "cudaStreamSynchronize")) {
    return {};
  }
  const uint64_t rounds = uint64_t{work_rounds} * kLaunchesARound * rounds_each;
  for (unsigned i = 0; i < kValues; i += 997) Check(got[i] == Mixed(0, i, rounds), "a value is wrong");
  return got;
}

void Reset() {
  for (int phase = 1; phase <= 2; ++phase) {
    Values values;
    const std::vector<uint32_t> got = Work(nullptr, values.data(), 50, phase == 1 ? kRoundsBeforeReset : kWorkRounds);
    std::printf("phase %d: checksum %016llx\n", phase, static_cast<unsigned long long>(Checksum(got)));
    if (phase == 1) {
      values.Forget();
      GX_OK(cudaDeviceReset());
    }
  }
  std::printf("launches %u\n", (kRoundsBeforeReset + kWorkRounds) * kLaunchesARound);
}

// Two threads; `enter` says where each works, and returns its stream.
void TwoThreads(const std::function<bool(int, cudaStream_t*)>& enter) {
  std::vector<uint32_t> got[2];
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([t, &got, &enter] {
      cudaStream_t stream = nullptr;
      if (!enter(t, &stream)) return;
      Values values;
      // Cleared on the legacy stream, which does not wait for others.
      if (!Ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize")) return;
      got[t] = Work(stream, values.data(), 40 + 20 * static_cast<uint32_t>(t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 2; ++t) PrintChecksum(t == 0 ? "first" : "second", got[t]);
  std::printf("launches %u\n", 2 * kWorkRounds * kLaunchesARound);
}

// Driver functions come from the runtime, so that nothing here links libcuda.
template <typename Function>
bool Find(const char* symbol, unsigned version, Function* function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (!Ok(cudaGetDriverEntryPointByVersion(symbol, &address, version, cudaEnableDefault, &found), symbol)) return false;
  *function = reinterpret_cast<Function>(address);
  return Check(found == cudaDriverEntryPointSuccess && address != nullptr,
               std::string(symbol) + ": not in this driver");
}

bool DriverOk(CUresult result, const char* what) {
  return Check(result == CUDA_SUCCESS, std::string(what) + ": CUresult " + std::to_string(static_cast<int>(result)));
}

void Contexts() {
  // Of each the newest form up to the version asked for: the arguments belong to it.
  PFN_cuCtxCreate_v12050 create = nullptr;
  PFN_cuCtxSetCurrent_v4000 set_current = nullptr;
  PFN_cuCtxDestroy_v4000 destroy = nullptr;
  if (!Find("cuCtxCreate", 12050, &create) || !Find("cuCtxSetCurrent", 4000, &set_current) ||
      !Find("cuCtxDestroy", 4000, &destroy)) {
    return;
  }
  CUcontext second = nullptr;
  // No parameters: a context as ever.
  if (!DriverOk(create(&second, nullptr, CU_CTX_SCHED_AUTO, 0), "cuCtxCreate")) return;
  if (!DriverOk(set_current(nullptr), "cuCtxSetCurrent")) return;
  TwoThreads([&](int t, cudaStream_t* stream) {
    const bool entered =
        t == 0 ? Ok(cudaSetDevice(0), "cudaSetDevice") : DriverOk(set_current(second), "cuCtxSetCurrent");
    return entered && OwnStream(stream);
  });
  DriverOk(destroy(second), "cuCtxDestroy");
}

void Threads() {
  TwoThreads([](int, cudaStream_t* stream) { return OwnStream(stream); });
}

void PerThread() {
  TwoThreads([](int, cudaStream_t* stream) {
    *stream = cudaStreamPerThread;
    return true;
  });
}

void Collective() {
  Values values, others;
  for (uint32_t r = 0; r < 2000; ++r) {
    ncclDevKernel_AllReduce_Sum_u32_RING_LL<<<kBlocks, kThreads>>>(values.data());
    mix_values<<<kBlocks, kThreads>>>(others.data(), 100);
    GX_OK(cudaDeviceSynchronize());
    Sleep(1500);
  }
  PrintChecksum("values", values.Read());
  PrintChecksum("others", others.Read());
  std::printf("launches %u\n", 2 * 2000);
}

// ------------------------------------------------------------------------------------------------ two devices

bool HasTwoDevices() {
  int count = 0;
  if (!Ok(cudaGetDeviceCount(&count), "cudaGetDeviceCount")) return false;
  if (count < 2) std::printf("SKIP one device\n");
  return count >= 2;
}

void Devices() {
  if (!HasTwoDevices()) return;
  TwoThreads([](int t, cudaStream_t* stream) { return Ok(cudaSetDevice(t), "cudaSetDevice") && OwnStream(stream); });
}

void Peer() {
  if (!HasTwoDevices()) return;
  int can = 0;
  GX_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) {
    std::printf("SKIP no peer access\n");
    return;
  }
  constexpr uint32_t kRounds = 1500;
  GX_OK(cudaSetDevice(1));
  uint32_t* remote_flag = nullptr;
  GX_OK(cudaMalloc(reinterpret_cast<void**>(&remote_flag), sizeof(uint32_t)));
  GX_OK(cudaMemset(remote_flag, 0, sizeof(uint32_t)));
  cudaStream_t setting;
  GX_OK(cudaStreamCreateWithFlags(&setting, cudaStreamNonBlocking));
  store_value<<<1, 1, 0, setting>>>(remote_flag, 0);
  GX_OK(cudaDeviceSynchronize());
  GX_OK(cudaSetDevice(0));
  GX_OK(cudaDeviceEnablePeerAccess(1, 0));
  Waits waits;
  if (!waits.Allocate()) return;
  cudaStream_t waiting;
  GX_OK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
  for (uint32_t i = 1; i <= kRounds; ++i) {
    GX_OK(cudaSetDevice(0));
    pass_on<<<1, 1, 0, waiting>>>(remote_flag, i, waits.expired, waits.out);
    Sleep(2000);
    GX_OK(cudaSetDevice(1));
    store_value<<<1, 1, 0, setting>>>(remote_flag, i);
    GX_OK(cudaStreamSynchronize(setting));
    GX_OK(cudaSetDevice(0));
    GX_OK(cudaStreamSynchronize(waiting));
  }
  waits.Finish(kRounds);
  std::printf("launches %u\n", 1 + 2 * kRounds);
}

struct Program {
  std::string_view name;
  void (*run)();
};

const Program kPrograms[] = {
    {"wait_later", WaitLater},
    {"wait_sooner", WaitSooner},
    {"wait_host", WaitOnHost},
    {"capture", Capture},
    {"reset", Reset},
    {"contexts", Contexts},
    {"threads", Threads},
    {"per_thread", PerThread},
    {"collective", Collective},
    {"devices", Devices},
    {"peer", Peer},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Program& program : kPrograms) {
    if (argc != 2 || program.name != argv[1]) continue;
    if (!Ok(cudaFree(nullptr), "CUDA initialisation")) return 1;
    const auto begin = std::chrono::steady_clock::now();
    program.run();
    const std::chrono::duration<double> own = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "own_seconds %.3f\n", own.count());
    std::printf("%s\n", failed ? "FAILED" : "done");
    return failed ? 1 : 0;
  }
  std::fprintf(stderr, "gx-sampling-hazards: wants one of:");
  for (const Program& program : kPrograms) std::fprintf(stderr, " %s", std::string(program.name).c_str());
  std::fprintf(stderr, "\n");
  return 2;
}
