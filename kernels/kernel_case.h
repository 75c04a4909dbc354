// What a demo case is: a small CUDA program whose launches, bytes, FLOP and numbers are known on paper.
//
// One case per .cu file (families share one); cases.cc lists them. A case first states what it is going to do
// (CaseRun::Expect), then does it through CaseRun, which counts what was really done; the two must agree. Nothing here
// measures time, so that the output of two runs can be compared byte for byte.
//
// Owner: main.cc. Threads: a CaseRun belongs to the main thread; cases that start threads count after joining them.
#ifndef GPUEXEC_KERNELS_KERNEL_CASE_H_
#define GPUEXEC_KERNELS_KERNEL_CASE_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gx::kernels {

class CaseRun;
struct Expectation;
struct KnownCounts;

struct Case {
  std::string_view name;
  std::string_view shows;
  // What --size and --repeat mean here, and their defaults.
  std::string_view size_means;
  uint64_t default_size;
  std::string_view repeat_means;
  uint64_t default_repeat;
  void (*run)(CaseRun& run);
  // The rest is stated for the cases of pairs/ alone.
  // Names of its kernels without namespaces, by commas; the mangled name of each contains it, and no other kernel's
  // does.
  std::string_view kernels = {};
  // What bounds it on paper: a resource ("dram", "l1_data", "issue", "fp64_pipe", "tensor", "l2_atomics"), or what
  // keeps every resource from being busy ("latency", "sync", "unfilled", "tail", "launch").
  std::string_view bound = {};
  // The answer on paper at that size and repeat. Unset where the case refuses the size, or depends on the device.
  std::optional<Expectation> (*paper)(uint64_t size, uint64_t repeat) = nullptr;
  // What hardware counters have to say of one launch of its only kernel; asked for sizes that have a `paper` alone.
  KnownCounts (*counts)(uint64_t size) = nullptr;
};

// The cases that a plain `gx-kernels` runs, in this order: about two seconds.
const std::vector<const Case*>& DefaultCases();
// These, and after them the cases of every pair (pairs/pair.h).
const std::vector<const Case*>& AllCases();

// A case's answer on paper. Bytes are the global-memory bytes that the kernels must at least move (each element of an
// operand once per kernel), FLOP the operations of the algorithm (an FMA is two).
struct Expectation {
  // Launch calls that succeed and are not captured into a graph.
  uint64_t launches = 0;
  uint64_t graph_launches = 0;
  // Launch calls that return an error.
  uint64_t refused_launches = 0;
  // Kernels that run on the device; a graph node counts once per replay.
  uint64_t kernels = 0;
  uint64_t copies = 0;
  uint64_t fills = 0;
  // Ranges opened through NVTX: pushes and starts.
  uint64_t nvtx_ranges = 0;
  uint64_t bytes = 0;
  uint64_t flop = 0;
};

// Of one launch, exactly as the source says it; README.md has what each is. Unset: that needs more than the source.
struct KnownCounts {
  std::optional<uint64_t> blocks = {};
  std::optional<uint64_t> fp16_flop = {};
  std::optional<uint64_t> fp32_flop = {};
  std::optional<uint64_t> fp64_flop = {};
  std::optional<uint64_t> bf16_tensor_flop = {};
  std::optional<uint64_t> threads_per_instruction = {};
  std::optional<uint64_t> global_load_bytes = {};
  std::optional<uint64_t> global_store_bytes = {};
  std::optional<uint64_t> global_load_sectors = {};
  std::optional<uint64_t> global_store_sectors = {};
  std::optional<uint64_t> l2_sectors = {};
  std::optional<uint64_t> shared_bytes = {};
  std::optional<uint64_t> shared_load_wavefronts = {};
  std::optional<uint64_t> shared_store_wavefronts = {};
  std::optional<uint64_t> shared_conflicts = {};
  std::optional<uint64_t> dram_read_bytes = {};
  std::optional<uint64_t> dram_write_bytes = {};
};

// How one kernel is launched. cluster 0 means: no cluster attribute.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t dynamic_shared_bytes = 0;
  unsigned cluster = 0;
  bool cooperative = false;
  bool programmatic = false;
  bool graph_node = false;
};

// What the driver says of the code; constant for one binary on one architecture.
struct FunctionFacts {
  std::string mangled_name;
  int registers_per_thread = 0;
  size_t static_shared_bytes = 0;
};

enum class CopyKind { kHostToDevice, kDeviceToHost, kDeviceToDevice };

class CaseRun {
 public:
  CaseRun(const Case& which, uint64_t size, uint64_t repeat, const cudaDeviceProp& device)
      : case_(which), size_(size), repeat_(repeat), device_(device) {}
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  uint64_t size() const { return size_; }
  uint64_t repeat() const { return repeat_; }
  const cudaDeviceProp& device() const { return device_; }

  // The answer on paper, stated before anything runs.
  void Expect(const Expectation& expectation) { expected_ = expectation; }
  // This machine cannot run the case; not a failure.
  void Skip(std::string_view reason);
  // The case is wrong; it goes on or returns as it likes.
  void Fail(std::string_view what);
  // False (and a failure) unless `result` is cudaSuccess.
  [[nodiscard]] bool Ok(cudaError_t result, std::string_view what);

  // Launches through cudaLaunchKernelExC (or cudaLaunchKernel where the shape asks for nothing special) and counts.
  template <typename... Params, typename... Args>
  [[nodiscard]] bool Launch(void (*kernel)(Params...), const LaunchShape& shape, cudaStream_t stream, Args... args) {
    std::tuple<Params...> values(static_cast<Params>(args)...);
    std::vector<void*> pointers = std::apply(
        [](auto&... value) { return std::vector<void*>{const_cast<void*>(static_cast<const void*>(&value))...}; },
        values);
    return LaunchRaw(reinterpret_cast<const void*>(kernel), shape, stream, pointers.data());
  }
  [[nodiscard]] bool LaunchRaw(const void* kernel, const LaunchShape& shape, cudaStream_t stream, void** arguments);

  // For launches made elsewhere: `kernels` of `function` ran. Launch calls are counted by CountLaunches.
  [[nodiscard]] bool CountKernels(const void* function, const LaunchShape& shape, uint64_t kernels);
  void CountKernels(const FunctionFacts& function, const LaunchShape& shape, uint64_t kernels);
  void CountLaunches(uint64_t count) { made_.launches += count; }
  void CountGraphLaunches(uint64_t count) { made_.graph_launches += count; }
  void CountRefusedLaunches(uint64_t count) { made_.refused_launches += count; }
  void CountCopies(CopyKind kind, uint64_t count, uint64_t bytes_each);
  void CountFills(uint64_t count) { made_.fills += count; }
  void CountNvtxRanges(uint64_t count) { made_.nvtx_ranges += count; }
  // `kernels` were launched by the host while this range was the innermost one of its thread.
  void CountRangeKernels(std::string_view domain, std::string_view name, uint64_t kernels);

  // Copies that count themselves.
  [[nodiscard]] bool Upload(void* device, const void* host, size_t bytes);
  [[nodiscard]] bool Download(void* host, const void* device, size_t bytes);
  // Fills with 0xFF bytes: NaN as float, so that a value nobody wrote cannot pass a check.
  [[nodiscard]] bool Poison(void* device, size_t bytes);

  // Compares `count` values with a reference in double precision. Fails above `tolerance` (absolute) or on a NaN.
  void CheckValues(std::string_view what, uint64_t count, const std::function<double(uint64_t)>& got,
                   const std::function<double(uint64_t)>& reference, double tolerance);
  // Fails unless the two are equal.
  void CheckEqual(std::string_view what, uint64_t got, uint64_t expected);

  // Prints the expectation, the kernels by signature and the verdict. True unless the case failed.
  bool Finish();
  bool skipped() const { return skipped_; }

 private:
  const Case& case_;
  const uint64_t size_;
  const uint64_t repeat_;
  const cudaDeviceProp& device_;
  Expectation expected_;
  Expectation made_;
  // One row per kernel and shape, as text, so that the order of printing is fixed.
  std::map<std::string, uint64_t> kernels_by_row_;
  std::map<std::string, uint64_t> kernels_by_range_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> copies_by_kind_and_bytes_;
  std::map<const void*, FunctionFacts> facts_;
  std::vector<std::string> notes_;
  bool failed_ = false;
  bool skipped_ = false;
};

// Returns from a case (a void function) when a CUDA call fails; the failure is recorded with the call's own text.
#define GX_CUDA(run, call)                \
  do {                                    \
    if (!(run).Ok((call), #call)) return; \
  } while (false)

// The same for the bool functions of CaseRun, which record their own failures.
#define GX_STEP(call)    \
  do {                   \
    if (!(call)) return; \
  } while (false)

// Device memory that frees itself. Empty after a failed allocation (recorded in the run).
template <typename T>
class DeviceArray {
 public:
  DeviceArray(CaseRun& run, size_t count) : count_(count) {
    if (!run.Ok(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc")) data_ = nullptr;
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  explicit operator bool() const { return data_ != nullptr; }
  T* data() const { return data_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// A stream that destroys itself. Empty after a failure (recorded in the run).
class Stream {
 public:
  explicit Stream(CaseRun& run) {
    if (!run.Ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags")) {
      stream_ = nullptr;
    }
  }
  ~Stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  explicit operator bool() const { return stream_ != nullptr; }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Reproducible inputs: value i of sequence `seed`, uniform in [-1, 1), exactly representable as float.
float RandomFloat(uint64_t seed, uint64_t index);
uint32_t RandomBits(uint64_t seed, uint64_t index);
std::vector<float> RandomFloats(uint64_t seed, uint64_t count);

// Blocks of `block` threads that cover `count` elements.
inline unsigned BlocksFor(uint64_t count, unsigned block) { return static_cast<unsigned>((count + block - 1) / block); }

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_KERNEL_CASE_H_
