// A program that launches what it is told to, and says how long that took: the unmodified host of
// tests/bench/device.py.
//
//   gx-launch-worker COMMANDS ANSWERS     two FIFOs, opened in this order; CUDA is started before the first answer
//   gx-launch-worker --once N             N launches, then the end: "first NS" and "last NS", CLOCK_MONOTONIC
//   gx-launch-worker --storm T S          T threads for S seconds, a stream and a graph each: "kernels N"
//
// A line in, a line out:
//   ready                "ready"
//   launch N             N empty kernels in one stream, and the wait for them: "NS_OF_CALLS NS_OF_ALL"
//   threads T N          the same in T threads with a stream each, N in each of them; both times from first to last
//   graph N              N replays of a graph of 600 empty kernels
//   memory               "RESIDENT_KIB DEVICE_BYTES_USED"
//   quit                 ends the program
//
// The thread that launches is bound to one core (those that a library has started by then are not), so that the
// scheduler is not what is compared.
#include <cuda_runtime.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kCore = 2;
constexpr int kGraphKernels = 600;

void Ok(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "gx-launch-worker: %s: %s\n", what, cudaGetErrorString(result));
  std::_Exit(1);
}
#define GX_OK(call) Ok((call), #call)

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

__global__ void Empty() {}

struct Took {
  int64_t calls_ns;
  int64_t all_ns;
};

Took Launch(cudaStream_t stream, int64_t count) {
  const int64_t begin = NowNs();
  for (int64_t n = 0; n < count; ++n) Empty<<<1, 32, 0, stream>>>();
  const int64_t called = NowNs();
  GX_OK(cudaGetLastError());
  GX_OK(cudaStreamSynchronize(stream));
  return {called - begin, NowNs() - begin};
}

Took LaunchInThreads(int thread_count, int64_t count) {
  static std::vector<cudaStream_t> streams;
  while (static_cast<int>(streams.size()) < thread_count) {
    streams.emplace_back();
    GX_OK(cudaStreamCreateWithFlags(&streams.back(), cudaStreamNonBlocking));
  }
  cpu_set_t every;
  CPU_ZERO(&every);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &every);
  std::atomic<bool> go{false};
  std::atomic<int64_t> called{0};
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&, index] {
      sched_setaffinity(0, sizeof every, &every);
      while (!go.load()) std::this_thread::yield();
      Launch(streams[index], count);
      called.store(NowNs());
    });
  }
  const int64_t begin = NowNs();
  go.store(true);
  for (std::thread& thread : threads) thread.join();
  return {called.load() - begin, NowNs() - begin};
}

Took Replay(cudaStream_t stream, int64_t count) {
  static cudaGraphExec_t executable = nullptr;
  if (executable == nullptr) {
    cudaGraph_t graph;
    GX_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int n = 0; n < kGraphKernels; ++n) Empty<<<1, 32, 0, stream>>>();
    GX_OK(cudaStreamEndCapture(stream, &graph));
    GX_OK(cudaGraphInstantiate(&executable, graph, 0));
    GX_OK(cudaGraphLaunch(executable, stream));
    GX_OK(cudaStreamSynchronize(stream));
  }
  const int64_t begin = NowNs();
  for (int64_t n = 0; n < count; ++n) GX_OK(cudaGraphLaunch(executable, stream));
  const int64_t called = NowNs();
  GX_OK(cudaStreamSynchronize(stream));
  return {called - begin, NowNs() - begin};
}

long ResidentKib() {
  long size = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = -1;
  if (file != nullptr) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

cudaStream_t StartCuda() {
  cudaStream_t stream = nullptr;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Launch(stream, 1);
  return stream;
}

// Kernels that one thread of the storm launched: singly, and as replays of a graph.
int64_t StormThread(const std::atomic<bool>& stop) {
  constexpr int kSingle = 100;
  constexpr int kNodes = 20;
  cudaStream_t stream = nullptr;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  GX_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int n = 0; n < kNodes; ++n) Empty<<<1, 32, 0, stream>>>();
  GX_OK(cudaStreamEndCapture(stream, &graph));
  GX_OK(cudaGraphInstantiate(&executable, graph, 0));
  int64_t kernels = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    Launch(stream, kSingle);
    GX_OK(cudaGraphLaunch(executable, stream));
    GX_OK(cudaStreamSynchronize(stream));
    kernels += kSingle + kNodes;
  }
  GX_OK(cudaGraphExecDestroy(executable));
  GX_OK(cudaGraphDestroy(graph));
  GX_OK(cudaStreamDestroy(stream));
  return kernels;
}

int Storm(int thread_count, int seconds) {
  StartCuda();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> kernels{0};
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&] { kernels.fetch_add(StormThread(stop)); });
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  std::printf("kernels %lld\n", static_cast<long long>(kernels.load()));
  return 0;
}

int Once(int64_t count) {
  cudaStream_t stream = StartCuda();
  std::printf("first %lld\n", static_cast<long long>(NowNs()));
  if (count > 1) Launch(stream, count - 1);
  std::printf("last %lld\n", static_cast<long long>(NowNs()));
  return 0;
}

int Serve(const char* commands_path, const char* answers_path) {
  std::FILE* commands = std::fopen(commands_path, "r");
  std::FILE* answers = std::fopen(answers_path, "w");
  if (commands == nullptr || answers == nullptr) {
    std::perror("gx-launch-worker: FIFO");
    return 1;
  }
  cudaStream_t stream = StartCuda();
  Launch(stream, 2000);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(kCore, &one);
  sched_setaffinity(0, sizeof one, &one);
  char line[256];
  while (std::fgets(line, sizeof line, commands) != nullptr) {
    long long first = 0, second = 0;
    Took took{};
    if (std::strncmp(line, "quit", 4) == 0) break;
    if (std::strncmp(line, "ready", 5) == 0) {
      std::fprintf(answers, "ready\n");
    } else if (std::strncmp(line, "memory", 6) == 0) {
      size_t free_bytes = 0, total_bytes = 0;
      GX_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
      std::fprintf(answers, "%ld %zu\n", ResidentKib(), total_bytes - free_bytes);
    } else {
      if (std::sscanf(line, "launch %lld", &first) == 1) {
        took = Launch(stream, first);
      } else if (std::sscanf(line, "threads %lld %lld", &first, &second) == 2) {
        took = LaunchInThreads(static_cast<int>(first), second);
      } else if (std::sscanf(line, "graph %lld", &first) == 1) {
        took = Replay(stream, first);
      } else {
        std::fprintf(stderr, "gx-launch-worker: unknown command %s", line);
        return 1;
      }
      std::fprintf(answers, "%lld %lld\n", static_cast<long long>(took.calls_ns), static_cast<long long>(took.all_ns));
    }
    std::fflush(answers);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--once") == 0) return Once(std::atoll(argv[2]));
  if (argc == 4 && std::strcmp(argv[1], "--storm") == 0) return Storm(std::atoi(argv[2]), std::atoi(argv[3]));
  if (argc == 3) return Serve(argv[1], argv[2]);
  std::fprintf(stderr, "usage: gx-launch-worker COMMANDS ANSWERS | --once N | --storm THREADS SECONDS\n");
  return 2;
}
