// Many threads that launch kernels for a long time: does what watches them grow?
//
//   gx-thread-storm [THREADS] [SECONDS]
//
// Each of THREADS (default 16, at most 256) launches small kernels of three kinds in a stream of its own for SECONDS
// (default 480), and waits for its stream every 64 launches, as a program does that reads its results. Every two
// seconds, and at the end, standard error gets "sample SECONDS LAUNCHES RESIDENT_KIB FILES DEVICE_MIB": launches so
// far, memory and open files of the process, memory of the device that is not free. Standard output: "launches N", and
// "result ok" where every thread's sums are those of its launches.
//
// Exit code: 0; 1 where a sum is wrong or CUDA refused something; 2 for wrong usage.
#include <cuda_runtime.h>
#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBlock = 128;
constexpr unsigned kLaunchesBetweenWaits = 64;
constexpr auto kBetweenSamples = std::chrono::seconds(2);

void Ok(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "gx-thread-storm: %s: %s\n", what, cudaGetErrorString(result));
  std::_Exit(1);
}
#define GX_OK(call) Ok((call), #call)

}  // namespace

extern "C" __global__ void storm_add(unsigned* values) { values[threadIdx.x] += 1; }
extern "C" __global__ void storm_add_two(unsigned* values) { values[threadIdx.x] += 2; }
extern "C" __global__ void storm_chain(unsigned* values, unsigned steps) {
  unsigned value = values[threadIdx.x];
#pragma unroll 1
  for (unsigned n = 0; n < steps; ++n) value += 1;
  values[threadIdx.x] = value;
}

namespace {

std::atomic<uint64_t> launches{0};
std::atomic<bool> stop{false};
std::atomic<bool> wrong{false};

void Storm() {
  cudaStream_t stream = nullptr;
  GX_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  unsigned* values = nullptr;
  GX_OK(cudaMalloc(&values, kBlock * sizeof(unsigned)));
  GX_OK(cudaMemsetAsync(values, 0, kBlock * sizeof(unsigned), stream));
  constexpr unsigned kSteps = 3;
  unsigned expected = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    for (unsigned n = 0; n < kLaunchesBetweenWaits; ++n) {
      switch (n % 3) {
        case 0:
          storm_add<<<1, kBlock, 0, stream>>>(values);
          expected += 1;
          break;
        case 1:
          storm_add_two<<<1, kBlock, 0, stream>>>(values);
          expected += 2;
          break;
        default:
          storm_chain<<<1, kBlock, 0, stream>>>(values, kSteps);
          expected += kSteps;
      }
      GX_OK(cudaGetLastError());
    }
    launches.fetch_add(kLaunchesBetweenWaits, std::memory_order_relaxed);
    GX_OK(cudaStreamSynchronize(stream));
  }
  std::vector<unsigned> got(kBlock);
  GX_OK(cudaMemcpyAsync(got.data(), values, kBlock * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
  GX_OK(cudaStreamSynchronize(stream));
  for (const unsigned value : got) {
    if (value != expected) wrong = true;
  }
  GX_OK(cudaFree(values));
  GX_OK(cudaStreamDestroy(stream));
}

long ResidentKib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return -1;
  long size = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

int OpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  // Without "." and "..", and the folder itself.
  int count = -3;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

void Sample(double seconds) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  GX_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::fprintf(stderr, "sample %.1f %llu %ld %d %zu\n", seconds, static_cast<unsigned long long>(launches.load()),
               ResidentKib(), OpenFiles(), (total_bytes - free_bytes) >> 20);
}

// 0: no number from 1 to `most`.
unsigned long Number(const char* text, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  return *text == '\0' || *end != '\0' || value > most ? 0 : value;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long threads = argc > 1 ? Number(argv[1], 256) : 16;
  const unsigned long seconds = argc > 2 ? Number(argv[2], 86400) : 480;
  if (argc > 3 || threads == 0 || seconds == 0) {
    std::fprintf(stderr, "usage: gx-thread-storm [THREADS, 1 to 256] [SECONDS, 1 to 86400]\n");
    return 2;
  }
  GX_OK(cudaFree(nullptr));
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::thread> storms;
  for (unsigned long i = 0; i < threads; ++i) storms.emplace_back(Storm);
  while (elapsed() < static_cast<double>(seconds)) {
    std::this_thread::sleep_for(kBetweenSamples);
    Sample(elapsed());
  }
  stop = true;
  for (std::thread& storm : storms) storm.join();
  Sample(elapsed());
  std::printf("launches %llu\n", static_cast<unsigned long long>(launches.load()));
  std::printf("result %s\n", wrong ? "wrong" : "ok");
  return wrong ? 1 : 0;
}
