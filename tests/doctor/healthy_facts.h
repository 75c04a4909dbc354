// Facts of a machine on which every check of gx-doctor is well, for tests that break one thing at a time.
#ifndef GPUEXEC_TESTS_DOCTOR_HEALTHY_FACTS_H_
#define GPUEXEC_TESTS_DOCTOR_HEALTHY_FACTS_H_

#include <string>

#include "tools/doctor/facts.h"

namespace gx::doctor {

inline constexpr char kCuptiPath[] = "/usr/local/cuda/lib64/libcupti.so.2025.3.1";
inline constexpr char kInjectPath[] = "/opt/gpuexec/lib/libgpuexec_inject.so";

// An H200, driver 580.159.04, CUPTI 13.0.1, root, no container.
inline Facts HealthyFacts() {
  Facts facts;
  facts.environment = Environment({"PATH=/usr/bin", "HOME=/home/me"});
  OpenedLibrary& libcuda = facts.cuda.library;
  libcuda.tried = true;
  libcuda.path = "/lib/x86_64-linux-gnu/libcuda.so.1";
  libcuda.canonical = "/lib/x86_64-linux-gnu/libcuda.so.580.159.04";
  facts.cuda.driver_api_version = 13000;
  facts.cuda.init_result = 0;
  facts.cuda.init_text = "CUDA_SUCCESS";
  facts.cuda.device_count = 1;
  facts.cuda.devices = {{"NVIDIA H200", "0000:06:00.0", 9, 0}};
  facts.nvml.library.tried = true;
  facts.nvml.library.path = facts.nvml.library.canonical = "/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
  facts.nvml.init_result = 0;
  facts.nvml.driver_version = "580.159.04";
  facts.nvml.devices = {{"NVIDIA H200", 0, 0, 0}};
  HostFacts& host = facts.host;
  host.kernel_module_version = "580.159.04";
  host.device_nodes = {"/dev/nvidia0", "/dev/nvidiactl"};
  host.admin_only = 1;
  host.effective_capabilities = host.bounding_capabilities = 0x1ffffffffff;
  host.effective_uid = 0;
  host.tracer_pid = 0;
  host.available_memory_bytes = uint64_t{64} << 30;
  CuptiCopy copy;
  copy.path = "/usr/local/cuda/lib64/libcupti.so";
  copy.canonical = kCuptiPath;
  copy.found_by = "/usr/local/cuda*";
  copy.file_version = "2025.3.1";
  copy.api_version = 130001;
  copy.has_profiler_host = true;
  facts.cupti.copies = {copy};
  facts.cupti.loader_13.tried = true;
  facts.cupti.loader_13.path = facts.cupti.loader_13.canonical = kCuptiPath;
  facts.library.path = kInjectPath;
  DryRunFacts& dry_run = facts.library.dry_run;
  dry_run.tried = true;
  dry_run.gpuexec_version = "0.1.0";
  dry_run.cupti_path = kCuptiPath;
  dry_run.memory_bytes = uint64_t{256} << 20;
  dry_run.max_bytes = uint64_t{4} << 30;
  OutputFacts& output = facts.output;
  output.pattern = "trace.pb";
  output.folder = "/home/me";
  output.folder_exists = output.folder_writable = true;
  output.free_bytes = uint64_t{100} << 30;
  LiveRun run;
  run.tried = run.program_ok = true;
  run.command = {"/opt/gpuexec/bin/gx-kernels", "--case", "axpy"};
  run.ended = "ended with exit code 0";
  run.launches = run.kernels = run.kernels_joined = 10;
  run.cupti_path = kCuptiPath;
  run.cupti_api_version = 130001;
  facts.timing = facts.counters = run;
  facts.counters.counter_samples = 30;
  facts.counters.counter_access = 1;
  return facts;
}

}  // namespace gx::doctor

#endif  // GPUEXEC_TESTS_DOCTOR_HEALTHY_FACTS_H_
