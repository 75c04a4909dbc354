// What every ceiling benchmark stands on: the device, a stream, samples at two sizes, memory, and where failures go.
//
// A benchmark without a figure leaves an Unmeasured that says why, and the others go on; only an error that spoils the
// context ends the run. A CUDA error or a wrong value is a failure; a machine that lacks what is measured, or samples
// that say nothing, are none. Threads: all of it belongs to one.
#ifndef GPUEXEC_KERNELS_CEILINGS_BENCH_H_
#define GPUEXEC_KERNELS_CEILINGS_BENCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/ceilings/device_code.h"
#include "kernels/ceilings/machine_record.h"
#include "kernels/ceilings/nvml.h"

namespace gx::kernels {

// Where the SM clock of a sample is from.
enum class ClockFrom {
  // The measured kernel fills the probe.
  kKernel,
  // A short kernel right after, for kernels that are not ours or whose blocks are short.
  kAfterwards,
  kNone,
};

struct Workload {
  // Enqueues `units` of work on the bench's stream. False after a failure that it reported.
  std::function<bool(uint64_t units)> launch;
  // In the unit of the ceiling.
  std::function<double(uint64_t units)> work;
  ClockFrom clock = ClockFrom::kKernel;
  // Where calibration begins; it ends at max_units or where one launch takes target_ns. Units are multiples of
  // unit_step.
  uint64_t first_units = 64;
  uint64_t max_units = uint64_t{1} << 40;
  uint64_t unit_step = 1;
  double target_ns = 3e6;
};

struct Measured {
  // Half of the large size, and the large one, which ran last.
  SlopePoints points;
  uint64_t large_units = 0;
};

class Bench {
 public:
  // Samples a size; odd, so that the median is one of them.
  static constexpr int kSamples = 9;

  // Absent, with a message on standard error: no device answers.
  static std::optional<Bench> Open(int device_ordinal);
  Bench(Bench&& other) noexcept;
  Bench& operator=(Bench&&) = delete;
  ~Bench();

  const cudaDeviceProp& device() const { return device_; }
  unsigned sm_count() const { return static_cast<unsigned>(device_.multiProcessorCount); }
  cudaStream_t stream() const { return stream_; }
  ClockProbe* probe() const { return probe_; }
  MachineRecord& record() { return record_; }
  // An error that no later call survives.
  bool broken() const { return broken_; }

  // What is measured next, as an Unmeasured would name it.
  void Begin(std::string_view what);
  void Fail(std::string_view why);
  // As Fail, of what this machine does not have or samples do not show: no failure.
  void Absent(std::string_view why);
  uint64_t failure_count() const { return failure_count_; }
  // False after reporting unless `result` is cudaSuccess.
  [[nodiscard]] bool Ok(cudaError_t result, std::string_view call);

  template <typename... Params, typename... Args>
  [[nodiscard]] bool Launch(void (*kernel)(Params...), uint64_t grid, unsigned block, size_t shared_bytes,
                            Args... args) {
    std::tuple<Params...> values(static_cast<Params>(args)...);
    std::vector<void*> pointers = std::apply(
        [](auto&... value) { return std::vector<void*>{const_cast<void*>(static_cast<const void*>(&value))...}; },
        values);
    return Ok(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(grid)), dim3(block),
                               pointers.data(), shared_bytes, stream_),
              "launch");
  }

  // Blocks of this kernel that the device holds at a time, so that a grid of as many runs as one wave; 0 after a
  // failure.
  uint64_t ResidentBlocks(const void* kernel, uint64_t block, size_t shared_bytes);
  // Calibrates, then takes kSamples at both sizes in turn. Absent after a failure that is reported.
  std::optional<Measured> Measure(const Workload& workload);
  // One launch of `units`, by events. Absent after a failure.
  std::optional<double> TimeOnce(const Workload& workload, uint64_t units);
  // Adds the ceiling if its check holds, else reports that.
  void AddCeiling(Ceiling ceiling);
  // NVML's word on the device now; nothing where NVML is not there.
  void SampleDevice();
  std::optional<double> memory_clock_hz() const { return memory_clock_hz_; }

  // Compares `got(i)` with `expected(i)`; what is not a number is infinitely wrong.
  static ValueCheck Compare(uint64_t count, const std::function<double(uint64_t)>& got,
                            const std::function<double(uint64_t)>& expected, double allowed_error);
  // Waits for the stream; false after reporting.
  [[nodiscard]] bool Download(void* host, const void* device, size_t bytes);
  [[nodiscard]] bool Upload(void* device, const void* host, size_t bytes);
  // Fills with 0xFF: NaN as float and double, so that a value nobody wrote passes no check.
  [[nodiscard]] bool Poison(void* device, size_t bytes);

 private:
  Bench() = default;
  std::optional<double> ReadClock();

  cudaDeviceProp device_ = {};
  int ordinal_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t end_ = nullptr;
  ClockProbe* probe_ = nullptr;
  Nvml nvml_;
  MachineRecord record_;
  std::string what_;
  std::optional<double> memory_clock_hz_;
  uint64_t failure_count_ = 0;
  bool has_reason_ = false;
  bool broken_ = false;
};

// Device memory that frees itself. Empty after a failed allocation, which is reported.
template <typename T>
class BenchArray {
 public:
  BenchArray(Bench& bench, size_t count) : count_(count) {
    if (!bench.Ok(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc")) data_ = nullptr;
  }
  ~BenchArray() { (void)cudaFree(data_); }
  BenchArray(const BenchArray&) = delete;
  BenchArray& operator=(const BenchArray&) = delete;
  explicit operator bool() const { return data_ != nullptr; }
  T* data() const { return data_; }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Of the compiler that made the kernels.
std::string CudaCompilerText();

// The parts of `gx-kernels --ceilings`, each in the file of its name.
void MeasureDram(Bench& bench);
void MeasureCaches(Bench& bench);
void MeasureAtomics(Bench& bench);
void MeasureVector(Bench& bench);
void MeasureMmaSync(Bench& bench);
void MeasureWgmma(Bench& bench);
void MeasureCublasLt(Bench& bench);
void MeasureLatency(Bench& bench);
void MeasureKernelTimings(Bench& bench);
void MeasureLaunchRates(Bench& bench);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_BENCH_H_
