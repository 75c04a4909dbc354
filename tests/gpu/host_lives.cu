// Programs that fail, end oddly, start others or bring a profiler of their own: one a scenario. All end by themselves.
//
//   gx-host-lives SCENARIO [STATE]
//
//   plain                             launches, and returns from main
//   illegal_access                    a kernel writes where it must not; what the program is told from then on
//   illegal_access_at_end             the same, and the program returns without having waited
//   out_of_memory                     allocations that are refused; launches while the device has no memory left
//   refused_launches                  launches that are refused between others
//   exit_while_running                returns from main while 0.8 s of kernels are queued
//   underscore_exit_while_running     _exit(5) likewise
//   exit_while_running_for_ever       returns while a kernel waits for what never comes; after 6 s it gives up
//   abort, sigterm, exception         ends by abort(), SIGTERM without a handler, an exception out of main
//   sigterm_handled                   SIGTERM with a handler of its own: goes on, then returns
//   threads64                         64 threads, a stream each
//   fork_exec, spawn                  other CUDA programs, started by fork and exec; by posix_spawn and by a shell
//   fork_idle_child                   forked children without CUDA, one ends by _exit, one by exit
//   reset_and_reuse                   cudaDeviceReset and everything again, three times
//   streams_events_graph              four streams that wait for each other by events; the same as a graph
//   no_cuda                           uses no CUDA
//   another_subscriber_first          is a client of CUPTI before CUDA begins: subscribes, takes kernel records
//   client_takes_buffers              registers buffer callbacks of its own in mid-run, without subscribing
//   client_switches_records_off       switches kernel records off in mid-run
//   client_gives_back                 the same, and on again after 3 s
//   client_at_the_end                 registers buffer callbacks right before its end
//
// Standard output is the same in every run: results, names of errors, and how many launches CUDA took ("launches N"),
// "refused N", "graph_launches N", "graph_kernels N", "running N" (launches that may still run at the end),
// "launches_of_child N". STATE: a file for what may differ (host_lives_state.h), written right before the end.
//
// Exit code: 0; what the scenario says; 1 where a result is wrong or CUDA refused what it must not; 2 for wrong usage.
#include <cuda_runtime.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/gpu/host_lives_client.h"
#include "tests/gpu/host_lives_state.h"

extern char** environ;

namespace {

using gx::lives::Mark;
using gx::lives::Note;

constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 128;
constexpr unsigned kValues = kBlocks * kThreads;
// Some 1.7 s: hardware counters are at work by then, and what is older than a second must be in a trace.
constexpr unsigned kLongRounds = 1500;
constexpr unsigned kShortRounds = 100;
constexpr int kBetweenRoundsUs = 1000;
constexpr unsigned kRunningKernels = 40;
constexpr uint64_t kRunningKernelNs = 20'000'000;
// Longer than any wait of a tool at the program's end; a bound, so that nothing hangs.
constexpr uint64_t kForEverNs = 6'000'000'000;
constexpr int kSecond = 1'000'000;

std::atomic<bool> failed{false};
std::atomic<unsigned> launches{0};
std::atomic<unsigned> refused{0};
unsigned graph_launches = 0;

bool Check(bool good, const std::string& what) {
  if (!good) {
    failed = true;
    std::fprintf(stderr, "gx-host-lives: %s\n", what.c_str());
  }
  return good;
}

bool Ok(cudaError_t result, const char* what) {
  return Check(result == cudaSuccess, std::string(what) + ": " + cudaGetErrorName(result));
}

// Returns from a function without a result when a call fails.
#define GX_OK(call)                 \
  do {                              \
    if (!Ok((call), #call)) return; \
  } while (false)

void Say(const char* what, cudaError_t result) { std::printf("%s: %s\n", what, cudaGetErrorName(result)); }

// Of the launch right before.
cudaError_t CountLaunch() {
  const cudaError_t result = cudaGetLastError();
  (result == cudaSuccess ? launches : refused).fetch_add(1);
  return result;
}

__device__ uint64_t NowNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

extern "C" __global__ void life_add(uint32_t* values, uint32_t step) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += step;
}

extern "C" __global__ void life_mix(uint32_t* values, uint32_t rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t value = values[i];
#pragma unroll 1
  for (uint32_t r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u + i;
  values[i] = value;
}

extern "C" __global__ void life_busy(uint32_t* values, uint64_t duration_ns) {
  const uint64_t begin = NowNs();
  while (NowNs() - begin < duration_ns) {
  }
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

// Until *flag is set, or for that long.
extern "C" __global__ void life_wait(const volatile uint32_t* flag, uint64_t limit_ns) {
  const uint64_t begin = NowNs();
  while (*flag == 0 && NowNs() - begin < limit_ns) {
  }
}

extern "C" __global__ void life_write_outside(volatile uint32_t* nowhere) { *nowhere = 1; }

namespace {

// Device memory, zeroed. Left to the end of the process.
class Values {
 public:
  bool Create() {
    return Ok(cudaMalloc(&data_, kValues * sizeof(uint32_t)), "cudaMalloc") &&
           Ok(cudaMemset(data_, 0, kValues * sizeof(uint32_t)), "cudaMemset");
  }
  uint32_t* data() const { return data_; }
  // All of them added up, once everything is done. 0 where that fails.
  uint64_t Sum() const {
    std::vector<uint32_t> got(kValues);
    if (!Ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize") ||
        !Ok(cudaMemcpy(got.data(), data_, kValues * sizeof(uint32_t), cudaMemcpyDeviceToHost), "cudaMemcpy")) {
      return 0;
    }
    uint64_t sum = 0;
    for (const uint32_t value : got) sum += value;
    return sum;
  }
  void PrintSum(const char* what) const { std::printf("%s: sum %llu\n", what, static_cast<unsigned long long>(Sum())); }

 private:
  uint32_t* data_ = nullptr;
};

// Two launches a round, waited for.
bool Work(const Values& values, unsigned rounds) {
  for (unsigned r = 0; r < rounds; ++r) {
    life_add<<<kBlocks, kThreads>>>(values.data(), r);
    if (!Ok(CountLaunch(), "launch")) return false;
    life_mix<<<kBlocks, kThreads>>>(values.data(), 20);
    if (!Ok(CountLaunch(), "launch") || !Ok(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize")) return false;
    Mark(launches, false);
    usleep(kBetweenRoundsUs);
  }
  return true;
}

// The counts, and what the process looks like. The last thing that a scenario does before its end.
void Report(unsigned running = 0) {
  std::printf("launches %u\nrefused %u\n", launches.load(), refused.load());
  if (graph_launches != 0) std::printf("graph_launches %u\n", graph_launches);
  if (running != 0) std::printf("running %u\n", running);
  std::fflush(nullptr);
  gx::lives::NoteProcess();
  Mark(launches, true);
}

bool Begin(Values* values, unsigned rounds) { return values->Create() && Work(*values, rounds); }

void Plain() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("values");
  Report();
}

// ------------------------------------------------------------------------------------------------ errors

cudaError_t WriteOutside() {
  // Not null: compilers know that one.
  life_write_outside<<<1, 1>>>(reinterpret_cast<uint32_t*>(uintptr_t{64}));
  return CountLaunch();
}

void IllegalAccess() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("before");
  Say("launch", WriteOutside());
  Say("synchronize", cudaDeviceSynchronize());
  life_add<<<kBlocks, kThreads>>>(values.data(), 1);
  Say("launch after it", CountLaunch());
  uint32_t word = 0;
  Say("copy", cudaMemcpy(&word, values.data(), sizeof(word), cudaMemcpyDeviceToHost));
  uint32_t* more = nullptr;
  Say("allocate", cudaMalloc(&more, sizeof(word)));
  Say("reset", cudaDeviceReset());
  Say("allocate after the reset", cudaMalloc(&more, sizeof(word)));
  Say("last error", cudaGetLastError());
  Report(1);
}

void IllegalAccessAtEnd() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("before");
  Say("launch", WriteOutside());
  Report(1);
}

void OutOfMemory() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("before");
  for (int i = 0; i < 3; ++i) {
    void* nowhere = nullptr;
    Say("a petabyte", cudaMalloc(&nowhere, size_t{1} << 50));
    Say("last error", cudaGetLastError());
  }
  // Until not even the least piece is left.
  constexpr size_t kLeastBytes = size_t{2} << 20;
  std::vector<void*> blocks;
  size_t bytes = 0;
  size_t total_bytes = 0;
  GX_OK(cudaMemGetInfo(&bytes, &total_bytes));
  while (bytes >= kLeastBytes) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaSuccess) {
      blocks.push_back(block);
    } else {
      (void)cudaGetLastError();
      bytes /= 2;
    }
  }
  Note("blocks " + std::to_string(blocks.size()));
  if (!Work(values, kShortRounds)) return;
  values.PrintSum("without memory left");
  for (void* block : blocks) GX_OK(cudaFree(block));
  if (!Work(values, kShortRounds)) return;
  values.PrintSum("with memory again");
  Report();
}

void RefusedLaunches() {
  Values values;
  if (!values.Create()) return;
  for (int i = 0; i < 20; ++i) {
    life_add<<<kBlocks, kThreads>>>(values.data(), 1);
    if (!Ok(CountLaunch(), "launch")) return;
    // No device allows more than 1,024 threads a block.
    life_add<<<kBlocks, 2048>>>(values.data(), 1);
    const cudaError_t too_many_threads = CountLaunch();
    // More than 48 KiB of dynamic shared memory needs an attribute that was not set.
    life_add<<<kBlocks, kThreads, 64 * 1024>>>(values.data(), 1);
    const cudaError_t too_much_memory = CountLaunch();
    if (i == 0) {
      Say("2,048 threads a block", too_many_threads);
      Say("64 KiB of shared memory", too_much_memory);
    }
  }
  values.PrintSum("values");
  Report();
}

// ------------------------------------------------------------------------------------------------ ends

bool QueueKernels(const Values& values) {
  for (unsigned i = 0; i < kRunningKernels; ++i) {
    life_busy<<<kBlocks, kThreads>>>(values.data(), kRunningKernelNs);
    if (!Ok(CountLaunch(), "launch")) return false;
  }
  return true;
}

void ExitWhileRunning() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("before");
  if (QueueKernels(values)) Report(kRunningKernels);
}

void UnderscoreExitWhileRunning() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("before");
  if (!QueueKernels(values)) return;
  Report(kRunningKernels);
  _exit(5);
}

void ExitWhileRunningForEver() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("before");
  uint32_t* flag = nullptr;
  uint32_t* device_flag = nullptr;
  GX_OK(cudaHostAlloc(reinterpret_cast<void**>(&flag), sizeof(uint32_t), cudaHostAllocMapped));
  *flag = 0;
  GX_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_flag), flag, 0));
  life_wait<<<1, 1>>>(device_flag, kForEverNs);
  if (!Ok(CountLaunch(), "launch")) return;
  for (int i = 0; i < 2; ++i) {
    life_add<<<kBlocks, kThreads>>>(values.data(), 1);
    if (!Ok(CountLaunch(), "launch")) return;
  }
  Report(3);
}

void Abort() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("values");
  Report();
  std::abort();
}

void Exception() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("values");
  Report();
  throw std::runtime_error("the program's own");
}

volatile sig_atomic_t asked_to_stop = 0;

// A signal to a process may come to any of its threads, so a little later.
bool SendSigterm() {
  kill(getpid(), SIGTERM);
  for (int waited_us = 0; asked_to_stop == 0 && waited_us < 10 * kSecond; waited_us += 1000) usleep(1000);
  return asked_to_stop != 0;
}

void Sigterm() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  values.PrintSum("values");
  Report();
  Check(SendSigterm(), "SIGTERM did not end the program");
}

void SigtermHandled() {
  struct sigaction action {};
  action.sa_handler = [](int) { asked_to_stop = 1; };
  sigaction(SIGTERM, &action, nullptr);
  Values values;
  if (!Begin(&values, kShortRounds) || !Check(SendSigterm(), "SIGTERM did not come")) return;
  std::printf("asked to stop\n");
  if (!Work(values, kShortRounds)) return;
  values.PrintSum("values");
  Report();
}

// ------------------------------------------------------------------------------------------------ threads and
// processes

void ThreadOfMany(std::atomic<uint64_t>* total) {
  constexpr unsigned kLaunches = 100;
  Values values;
  cudaStream_t stream = nullptr;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!values.Create()) return;
  // The fill is of the default stream, which does not wait for this one, nor this one for it.
  GX_OK(cudaDeviceSynchronize());
  for (unsigned i = 0; i < kLaunches; ++i) {
    life_add<<<kBlocks, kThreads, 0, stream>>>(values.data(), i);
    if (!Ok(CountLaunch(), "launch")) return;
  }
  GX_OK(cudaStreamSynchronize(stream));
  total->fetch_add(values.Sum());
  GX_OK(cudaStreamDestroy(stream));
}

void Threads64() {
  std::atomic<uint64_t> total{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) threads.emplace_back(ThreadOfMany, &total);
  for (std::thread& thread : threads) thread.join();
  std::printf("sum %llu\n", static_cast<unsigned long long>(total.load()));
  Report();
}

void PrintEnd(const char* what, pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (WIFEXITED(status)) std::printf("%s: exit code %d\n", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) std::printf("%s: signal %d\n", what, WTERMSIG(status));
}

std::string Self() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length < 0 ? "?" : std::string(path, static_cast<size_t>(length));
}

void SayLaunchesOfChild() { std::printf("launches_of_child %u\n", 2 * kShortRounds); }

void ForkExec() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  const std::string self = Self();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execl(self.c_str(), self.c_str(), "plain", nullptr);
    _exit(95);
  }
  if (!Check(child > 0, "fork failed")) return;
  PrintEnd("executed", child);
  SayLaunchesOfChild();
  if (!Work(values, kShortRounds)) return;
  values.PrintSum("values");
  Report();
}

void Spawn() {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  std::string self = Self();
  std::string plain = "plain";
  char* const arguments[] = {self.data(), plain.data(), nullptr};
  std::fflush(nullptr);
  pid_t child = 0;
  if (!Check(posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) == 0, "posix_spawn failed")) {
    return;
  }
  PrintEnd("spawned", child);
  SayLaunchesOfChild();
  std::fflush(nullptr);
  const int status = std::system(("'" + self + "' plain && echo shell").c_str());
  std::printf("shell: %d\n", status);
  SayLaunchesOfChild();
  if (!Work(values, kShortRounds)) return;
  values.PrintSum("values");
  Report();
}

void ForkIdleChild() {
  // A child that hangs is as much an answer as one that ends.
  constexpr unsigned kChildLimitS = 5;
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  for (const bool calls_exit_handlers : {false, true}) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kChildLimitS);
      std::vector<std::string> garbage(1000, std::string(1000, 'x'));
      if (garbage.size() != 1000 || !calls_exit_handlers) _exit(7);
      std::exit(8);
    }
    if (!Check(child > 0, "fork failed")) return;
    if (!Work(values, kShortRounds)) return;
    PrintEnd(calls_exit_handlers ? "left by exit" : "left by _exit", child);
  }
  values.PrintSum("values");
  Report();
}

// ------------------------------------------------------------------------------------------------ the device

void ResetAndReuse() {
  for (int i = 0; i < 3; ++i) {
    Values values;
    if (!Begin(&values, kShortRounds)) return;
    values.PrintSum("values");
    GX_OK(cudaDeviceReset());
  }
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("after the last reset");
  Report();
}

constexpr unsigned kStreams = 4;
constexpr unsigned kChain = 8;

struct Chain {
  cudaStream_t streams[kStreams] = {};
  cudaEvent_t events[kStreams] = {};

  bool Create() {
    for (unsigned i = 0; i < kStreams; ++i) {
      if (!Ok(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "cudaStreamCreateWithFlags") ||
          !Ok(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming), "cudaEventCreateWithFlags")) {
        return false;
      }
    }
    return true;
  }

  // One kernel after the other, each on the next stream and waited for by it; ends on the first stream.
  bool Launch(uint32_t* values, bool counts) const {
    for (unsigned k = 0; k < kChain; ++k) {
      const unsigned now = k % kStreams;
      const unsigned next = k + 1 == kChain ? 0 : (k + 1) % kStreams;
      life_mix<<<kBlocks, kThreads, 0, streams[now]>>>(values, k + 1);
      if (!Ok(counts ? CountLaunch() : cudaGetLastError(), "launch") ||
          !Ok(cudaEventRecord(events[now], streams[now]), "cudaEventRecord") ||
          !Ok(cudaStreamWaitEvent(streams[next], events[now]), "cudaStreamWaitEvent")) {
        return false;
      }
    }
    return true;
  }
};

void StreamsEventsGraph() {
  constexpr unsigned kRounds = 50;
  Values eager;
  Values replayed;
  Chain chain;
  if (!eager.Create() || !replayed.Create() || !chain.Create()) return;
  GX_OK(cudaDeviceSynchronize());
  for (unsigned r = 0; r < kRounds; ++r) {
    if (!chain.Launch(eager.data(), true)) return;
  }
  const uint64_t sum = eager.Sum();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  GX_OK(cudaStreamBeginCapture(chain.streams[0], cudaStreamCaptureModeThreadLocal));
  if (!chain.Launch(replayed.data(), false)) return;
  GX_OK(cudaStreamEndCapture(chain.streams[0], &graph));
  GX_OK(cudaGraphInstantiate(&executable, graph, 0));
  for (unsigned r = 0; r < kRounds; ++r) {
    GX_OK(cudaGraphLaunch(executable, chain.streams[0]));
    ++graph_launches;
  }
  Check(replayed.Sum() == sum, "replays and eager launches have different results");
  std::printf("sum %llu\ngraph_kernels %u\n", static_cast<unsigned long long>(sum), kRounds * kChain);
  GX_OK(cudaGraphExecDestroy(executable));
  GX_OK(cudaGraphDestroy(graph));
  Report();
}

void NoCuda() {
  std::printf("no CUDA\n");
  Report();
}

// ------------------------------------------------------------------------------------------------ clients of CUPTI

bool HasCupti() {
  if (gx::lives::LoadClient()) return true;
  std::printf("SKIP no libcupti\n");
  return false;
}

void AnotherSubscriberFirst() {
  if (!HasCupti()) return;
  const bool subscribed = gx::lives::Subscribe() && gx::lives::TakeBuffers();
  std::printf("subscribed: %s\n", subscribed ? "yes" : "no");
  gx::lives::SwitchKernelRecords(true);
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  values.PrintSum("values");
  gx::lives::Flush();
  std::printf("callbacks %llu\nrecords %llu\n", static_cast<unsigned long long>(gx::lives::launch_callbacks()),
              static_cast<unsigned long long>(gx::lives::own_records()));
  Report();
}

// Few launches over that long, each waited for: long enough to notice that no record comes.
bool WorkSlowly(const Values& values, unsigned rounds) {
  for (unsigned r = 0; r < rounds; ++r) {
    if (!Work(values, 1)) return false;
    usleep(kSecond / 10);
  }
  return true;
}

constexpr unsigned kRoundsTaken = 30;
constexpr unsigned kRoundsGivenBack = 15;

void NoteTime(const char* what) {
  Note(what);
  Mark(launches, true);
}

// `take` and, after 3 s, `give_back` are what the client does.
void ClientInMidRun(void (*take)(), void (*give_back)()) {
  Values values;
  if (!Begin(&values, kShortRounds)) return;
  if (!HasCupti()) return;
  NoteTime("taken");
  take();
  if (!WorkSlowly(values, kRoundsTaken)) return;
  if (give_back != nullptr) {
    NoteTime("given_back");
    give_back();
    if (!WorkSlowly(values, kRoundsGivenBack)) return;
  }
  gx::lives::Flush();
  values.PrintSum("values");
  Report();
}

void ClientTakesBuffers() {
  // A client that wants records asks for their kind, too, whoever has done so already.
  ClientInMidRun(
      [] {
        (void)gx::lives::TakeBuffers();
        gx::lives::SwitchKernelRecords(true);
      },
      nullptr);
}

void ClientSwitchesRecordsOff() {
  ClientInMidRun([] { gx::lives::SwitchKernelRecords(false); }, nullptr);
}

void ClientGivesBack() {
  ClientInMidRun([] { gx::lives::SwitchKernelRecords(false); }, [] { gx::lives::SwitchKernelRecords(true); });
}

void ClientAtTheEnd() {
  Values values;
  if (!Begin(&values, kLongRounds)) return;
  if (!HasCupti()) return;
  NoteTime("taken");
  (void)gx::lives::TakeBuffers();
  if (!Work(values, 10)) return;
  values.PrintSum("values");
  Report();
}

struct Program {
  std::string_view name;
  void (*run)();
};

const Program kPrograms[] = {
    {"plain", Plain},
    {"illegal_access", IllegalAccess},
    {"illegal_access_at_end", IllegalAccessAtEnd},
    {"out_of_memory", OutOfMemory},
    {"refused_launches", RefusedLaunches},
    {"exit_while_running", ExitWhileRunning},
    {"underscore_exit_while_running", UnderscoreExitWhileRunning},
    {"exit_while_running_for_ever", ExitWhileRunningForEver},
    {"abort", Abort},
    {"sigterm", Sigterm},
    {"exception", Exception},
    {"sigterm_handled", SigtermHandled},
    {"threads64", Threads64},
    {"fork_exec", ForkExec},
    {"spawn", Spawn},
    {"fork_idle_child", ForkIdleChild},
    {"reset_and_reuse", ResetAndReuse},
    {"streams_events_graph", StreamsEventsGraph},
    {"no_cuda", NoCuda},
    {"another_subscriber_first", AnotherSubscriberFirst},
    {"client_takes_buffers", ClientTakesBuffers},
    {"client_switches_records_off", ClientSwitchesRecordsOff},
    {"client_gives_back", ClientGivesBack},
    {"client_at_the_end", ClientAtTheEnd},
};

int Usage() {
  std::fprintf(stderr, "usage: gx-host-lives SCENARIO [STATE], of");
  for (const Program& program : kPrograms) std::fprintf(stderr, " %s", std::string(program.name).c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return Usage();
  for (const Program& program : kPrograms) {
    if (program.name != argv[1]) continue;
    if (argc == 3 && !gx::lives::OpenState(argv[2])) {
      std::fprintf(stderr, "gx-host-lives: cannot write %s\n", argv[2]);
      return 2;
    }
    program.run();
    return failed ? 1 : 0;
  }
  return Usage();
}
