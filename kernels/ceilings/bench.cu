#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {

// One warp that spins, to learn the clock: 50 us against steps of %globaltimer of 32 ns on an H200 (0.1 %).
__global__ void ClockKernel(uint64_t spin_ns, ClockProbe* probe) {
  if (threadIdx.x != 0) return;
  StartClock(probe);
  while (GlobalTimerNs() - probe->start_ns < spin_ns) {
  }
  EndClock(probe);
}

namespace {

constexpr uint64_t kSpinNs = 50'000;
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerSecond = 1e9;
// Below, a launch's own cost and the clock's steps are too much of a sample to scale from.
constexpr double kPilotNs = 3e5;

uint64_t MonotonicNs() {
  timespec now = {};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::string CudaErrorText(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}

}  // namespace

std::optional<Bench> Bench::Open(int device_ordinal) {
  Bench bench;
  bench.ordinal_ = device_ordinal;
  bench.Begin("start");
  const auto ok = [&](cudaError_t result, const char* call) {
    if (result == cudaSuccess) return true;
    std::fprintf(stderr, "gx-kernels: no CUDA device answers: %s: %s\n", call, CudaErrorText(result).c_str());
    return false;
  };
  char bus_id[32] = {};
  if (!ok(cudaSetDevice(device_ordinal), "cudaSetDevice") ||
      !ok(cudaGetDeviceProperties(&bench.device_, device_ordinal), "cudaGetDeviceProperties") ||
      !ok(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device_ordinal), "cudaDeviceGetPCIBusId") ||
      !ok(cudaStreamCreateWithFlags(&bench.stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags") ||
      !ok(cudaEventCreate(&bench.start_), "cudaEventCreate") || !ok(cudaEventCreate(&bench.end_), "cudaEventCreate") ||
      !ok(cudaMalloc(reinterpret_cast<void**>(&bench.probe_), sizeof(ClockProbe)), "cudaMalloc")) {
    return std::nullopt;
  }
  bench.record_.device.pci_bus_id = bus_id;
  if (!bench.nvml_.Open(bus_id)) {
    bench.record_.unmeasured.push_back(
        {"device samples",
         "libnvidia-ml.so.1 could not be opened or does not know the device: clocks are from kernels alone, "
         "and the memory clock is unknown"});
  }
  bench.nvml_.Describe(&bench.record_.device);
  bench.record_.software.driver_version = bench.nvml_.DriverVersion();
  return bench;
}

Bench::Bench(Bench&& other) noexcept
    : device_(other.device_),
      ordinal_(other.ordinal_),
      stream_(std::exchange(other.stream_, nullptr)),
      start_(std::exchange(other.start_, nullptr)),
      end_(std::exchange(other.end_, nullptr)),
      probe_(std::exchange(other.probe_, nullptr)),
      nvml_(other.nvml_),
      record_(std::move(other.record_)),
      what_(std::move(other.what_)),
      memory_clock_hz_(other.memory_clock_hz_),
      failure_count_(other.failure_count_),
      has_reason_(other.has_reason_),
      broken_(other.broken_) {}

Bench::~Bench() {
  (void)cudaFree(probe_);
  if (start_ != nullptr) (void)cudaEventDestroy(start_);
  if (end_ != nullptr) (void)cudaEventDestroy(end_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

void Bench::Begin(std::string_view what) {
  what_ = what;
  has_reason_ = false;
}

void Bench::Fail(std::string_view why) {
  ++failure_count_;
  Absent(why);
}

void Bench::Absent(std::string_view why) {
  // The first reason is the cause of the others.
  if (has_reason_) return;
  has_reason_ = true;
  record_.unmeasured.push_back({what_, std::string(why)});
  std::fprintf(stderr, "gx-kernels: %s: not measured: %s\n", what_.c_str(), std::string(why).c_str());
}

bool Bench::Ok(cudaError_t result, std::string_view call) {
  if (result == cudaSuccess) return true;
  (void)cudaGetLastError();
  Fail(std::string(call) + ": " + CudaErrorText(result));
  const cudaError_t after = cudaDeviceSynchronize();
  // A stream that is being captured cannot be waited for, which spoils nothing.
  const bool capturing = after >= cudaErrorStreamCaptureUnsupported && after <= cudaErrorStreamCaptureWrongThread;
  if (after != cudaSuccess && !capturing) broken_ = true;
  (void)cudaGetLastError();
  return false;
}

std::string CudaCompilerText() {
  return "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
         std::to_string(__CUDACC_VER_BUILD__);
}

std::optional<double> Bench::ReadClock() {
  ClockProbe probe = {};
  if (!Download(&probe, probe_, sizeof probe)) return std::nullopt;
  if (probe.end_ns <= probe.start_ns || probe.end_cycles <= probe.start_cycles) {
    Fail("the kernel did not leave its clock: expected two readings in ascending order");
    return std::nullopt;
  }
  return static_cast<double>(probe.end_cycles - probe.start_cycles) /
         static_cast<double>(probe.end_ns - probe.start_ns) * kNsPerSecond;
}

uint64_t Bench::ResidentBlocks(const void* kernel, uint64_t block, size_t shared_bytes) {
  int per_sm = 0;
  if (!Ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, static_cast<int>(block), shared_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor")) {
    return 0;
  }
  if (per_sm <= 0) Fail("no block of the kernel fits on an SM");
  return uint64_t{sm_count()} * static_cast<uint64_t>(per_sm);
}

std::optional<double> Bench::TimeOnce(const Workload& workload, uint64_t units) {
  if (!Ok(cudaMemsetAsync(probe_, 0, sizeof(ClockProbe), stream_), "cudaMemsetAsync") ||
      !Ok(cudaEventRecord(start_, stream_), "cudaEventRecord") || !workload.launch(units) ||
      !Ok(cudaEventRecord(end_, stream_), "cudaEventRecord")) {
    return std::nullopt;
  }
  if (workload.clock == ClockFrom::kAfterwards && !Launch(ClockKernel, 1, 32, 0, kSpinNs, probe_)) return std::nullopt;
  float milliseconds = 0;
  if (!Ok(cudaStreamSynchronize(stream_), "cudaStreamSynchronize") ||
      !Ok(cudaEventElapsedTime(&milliseconds, start_, end_), "cudaEventElapsedTime")) {
    return std::nullopt;
  }
  return double{milliseconds} * kNsPerMs;
}

std::optional<Measured> Bench::Measure(const Workload& workload) {
  const auto step = [&](double units) {
    const double bounded = std::clamp(units, 1.0, static_cast<double>(workload.max_units));
    const uint64_t steps = static_cast<uint64_t>(bounded) / workload.unit_step;
    return std::max<uint64_t>(steps, 1) * workload.unit_step;
  };
  // The first launch loads the code; its time says nothing.
  uint64_t units = step(static_cast<double>(workload.first_units));
  if (!TimeOnce(workload, units)) return std::nullopt;
  while (true) {
    const std::optional<double> pilot_ns = TimeOnce(workload, units);
    if (!pilot_ns) return std::nullopt;
    const double wanted = static_cast<double>(units) * workload.target_ns / std::max(*pilot_ns, 1e3);
    if (*pilot_ns >= kPilotNs || step(2.0 * static_cast<double>(units)) == units) {
      // Two steps, however long they take: with one there is no half of it.
      units = std::max(step(wanted), step(2.0 * static_cast<double>(workload.unit_step)));
      break;
    }
    units = step(std::max(2.0 * static_cast<double>(units), std::min(wanted, 32.0 * static_cast<double>(units))));
  }
  // Half, so that both sizes are long and the difference is as long as the smaller.
  const uint64_t sizes[] = {step(static_cast<double>(units) / 2), units};
  if (sizes[0] >= sizes[1]) {
    Absent("the work cannot be made large enough for two sizes");
    return std::nullopt;
  }
  Measured measured;
  measured.large_units = sizes[1];
  for (const uint64_t size : sizes) measured.points.push_back({workload.work(size), {}, {}});
  for (int sample = 0; sample < kSamples; ++sample) {
    for (int point = 0; point < 2; ++point) {
      const std::optional<double> duration_ns = TimeOnce(workload, sizes[point]);
      if (!duration_ns) return std::nullopt;
      measured.points[point].duration_ns.push_back(*duration_ns);
      if (workload.clock == ClockFrom::kNone) continue;
      const std::optional<double> clock_hz = ReadClock();
      if (!clock_hz) return std::nullopt;
      measured.points[point].sm_clock_hz.push_back(*clock_hz);
    }
  }
  SampleDevice();
  if (!FitSlope(measured.points)) {
    Absent("twice the work took no longer, so the samples say nothing");
    return std::nullopt;
  }
  return measured;
}

void Bench::AddCeiling(Ceiling ceiling) {
  if (!ceiling.check.holds()) {
    char text[160];
    std::snprintf(text, sizeof text, "wrong results: largest error %g of %g allowed, in %llu values",
                  ceiling.check.largest_error, ceiling.check.allowed_error,
                  static_cast<unsigned long long>(ceiling.check.value_count));
    return Fail(text);
  }
  record_.ceilings.push_back(std::move(ceiling));
}

void Bench::SampleDevice() {
  if (!nvml_.is_open()) return;
  DeviceSample sample;
  sample.device_id = static_cast<uint64_t>(ordinal_);
  sample.monotonic_ns = MonotonicNs();
  nvml_.Sample(&sample);
  if (sample.memory_clock_hz.has_value()) memory_clock_hz_ = static_cast<double>(*sample.memory_clock_hz);
  record_.device_samples.push_back(sample);
}

ValueCheck Bench::Compare(uint64_t count, const std::function<double(uint64_t)>& got,
                          const std::function<double(uint64_t)>& expected, double allowed_error) {
  ValueCheck check{count, 0, allowed_error};
  for (uint64_t i = 0; i < count; ++i) {
    const double error = std::fabs(got(i) - expected(i));
    // A NaN or infinity fails whatever is allowed; the largest double, because a machine file holds finite numbers.
    const double bounded = std::isfinite(error) ? error : std::numeric_limits<double>::max();
    check.largest_error = std::max(check.largest_error, bounded);
  }
  return check;
}

bool Bench::Download(void* host, const void* device, size_t bytes) {
  return Ok(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync to host") &&
         Ok(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

bool Bench::Upload(void* device, const void* host, size_t bytes) {
  return Ok(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync to device") &&
         Ok(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

bool Bench::Poison(void* device, size_t bytes) {
  return Ok(cudaMemsetAsync(device, 0xFF, bytes, stream_), "cudaMemsetAsync");
}

}  // namespace gx::kernels
