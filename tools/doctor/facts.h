// What gx-doctor knows of a machine before anything is judged. Plain data: gathering fills it, the checks read it.
// An unset optional was not found out; "" is a text that is not there.
#ifndef GPUEXEC_TOOLS_DOCTOR_FACTS_H_
#define GPUEXEC_TOOLS_DOCTOR_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/environment.h"

namespace gx::doctor {

// A library as the loader gives it, opened in a process of its own.
struct OpenedLibrary {
  bool tried = false;
  std::string path;       // As the loader found it; "" where it did not load.
  std::string canonical;  // With symbolic links followed.
  std::string problem;    // Why it did not load, or what became of the process.
  bool loaded() const { return !path.empty(); }
};

// ------------------------------------------------------------------------------------------------- the driver

struct CudaDevice {
  std::string name;
  std::string pci_bus_id;
  std::optional<int64_t> compute_capability_major;
  std::optional<int64_t> compute_capability_minor;
};

// Of libcuda, by its own functions.
struct CudaFacts {
  OpenedLibrary library;
  std::optional<int64_t> driver_api_version;  // 1000 * major + 10 * minor
  std::optional<int64_t> init_result;         // CUresult of cuInit
  std::string init_text;                      // cuGetErrorName's word for it
  std::optional<int64_t> device_count;
  std::vector<CudaDevice> devices;  // The first 16.
  // A call did not come back, or ended the process: which.
  std::string stuck;
};

struct NvmlDevice {
  std::string name;
  std::optional<int64_t> mig_mode;             // 1: on
  std::optional<int64_t> virtualization_mode;  // nvmlGpuVirtualizationMode_t: 0 none, 1 pass-through, 2 vGPU, 3, 4 host
  std::optional<int64_t> process_count;        // Compute processes on it.
};

// Of libnvidia-ml.
struct NvmlFacts {
  OpenedLibrary library;
  std::optional<int64_t> init_result;
  std::string driver_version;  // "580.159.04"
  // Those of CudaFacts in their order; where CUDA shows none, all.
  std::vector<NvmlDevice> devices;
  // nvmlSystemGetConfComputeState: ccFeature and devToolsMode; unset: not supported.
  std::optional<int64_t> confidential_feature;
  std::optional<int64_t> confidential_dev_tools;
  std::string stuck;
};

// ----------------------------------------------------------------------------------------------------- the host

// From files of /proc, /dev and the like, and the environment.
struct HostFacts {
  std::string kernel_module_version;  // /proc/driver/nvidia/version
  std::vector<std::string> device_nodes;
  bool nouveau_loaded = false;
  std::optional<int64_t> admin_only;  // RmProfilingAdminOnly of /proc/driver/nvidia/params
  // Lines of /etc/modprobe.d that set NVreg_RestrictProfilingToAdminUsers, each behind its file's name.
  std::vector<std::string> module_options;
  std::optional<uint64_t> effective_capabilities;  // CapEff of /proc/self/status
  std::optional<uint64_t> bounding_capabilities;   // CapBnd
  std::optional<int64_t> effective_uid;
  std::optional<int64_t> tracer_pid;
  // The process's root is not the machine's: a rootless container.
  bool user_namespace = false;
  // What says that this is a container, each with where it was seen.
  std::vector<std::string> container_signs;
  std::vector<std::string> wsl_signs;
  std::vector<std::string> mps_signs;
  // "nv-hostengine (pid 812)": programs that read counters of the device, or profile.
  std::vector<std::string> counter_programs;
  std::optional<uint64_t> available_memory_bytes;  // MemAvailable
  std::optional<uint64_t> memory_limit_bytes;      // Of the control group.
};

// ------------------------------------------------------------------------------------------------------ libcupti

struct CuptiCopy {
  std::string path;
  std::string canonical;
  std::string found_by;                // "/usr/local/cuda*", "a Python package", ...
  std::string file_version;            // "2025.3.1" of libcupti.so.2025.3.1; "" where the name has none
  std::optional<int64_t> api_version;  // cuptiGetVersion
  std::string problem;                 // Why it has none.
  bool of_python = false;
  bool has_profiler_host = false;  // libnvperf_host.so stands beside it.
};

struct CuptiFacts {
  std::vector<CuptiCopy> copies;
  // What the loader gives for these names.
  OpenedLibrary loader_13;
  OpenedLibrary loader_12;
  OpenedLibrary loader_profiler_host;
  // Folders of packages of the Python that runs here; problem: why they are not known.
  std::string python;
  std::vector<std::string> python_folders;
  std::string python_problem;
};

// -------------------------------------------------------------------------------------------------- our own parts

// What the library itself makes of this environment, from the trace that it wrote when loaded into an empty program.
struct DryRunFacts {
  bool tried = false;
  std::string problem;  // Why there is no such trace.
  std::string gpuexec_version;
  std::string cupti_path;  // "": none was found, or it may not be used.
  std::optional<int64_t> cupti_api_version;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> max_bytes;
  std::vector<std::string> setting_problems;
  std::vector<std::string> other_problems;
};

struct LibraryFacts {
  std::string path;                 // "": none was found.
  std::vector<std::string> looked;  // Where it was looked for.
  std::string problem;              // Why it cannot be loaded; "": it can.
  std::string advice;
  DryRunFacts dry_run;
};

// The folder that the trace would go to.
struct OutputFacts {
  std::string pattern;  // GPUEXEC_OUTPUT or its default.
  std::string folder;
  bool folder_exists = false;
  bool folder_writable = false;
  // What stands at the path already: "", "file", "folder", "symbolic link", "pipe", "device".
  std::string occupied_by;
  std::optional<uint64_t> free_bytes;
};

// One run of a small CUDA program under the library.
struct LiveRun {
  bool tried = false;
  std::string skipped;  // Why not.
  std::vector<std::string> command;
  std::string ended;  // EndText
  bool program_ok = false;
  std::string last_words;  // The end of what it wrote to stderr.
  // Why the trace cannot be read; "": it was read.
  std::string trace_problem;
  uint64_t launches = 0;
  uint64_t kernels = 0;
  uint64_t kernels_joined = 0;
  uint64_t kernels_untimed = 0;
  std::optional<uint64_t> median_kernel_ns;
  uint64_t counter_samples = 0;
  uint64_t counter_void_samples = 0;
  // CounterAccess.State's number, of the worst device; and its text.
  std::optional<int64_t> counter_access;
  std::string counter_access_text;
  std::string cupti_path;
  std::optional<int64_t> cupti_api_version;
  std::string driver_version;
  std::vector<std::string> diagnostics;
};

struct Facts {
  Environment environment;
  CudaFacts cuda;
  NvmlFacts nvml;
  HostFacts host;
  CuptiFacts cupti;
  LibraryFacts library;
  OutputFacts output;
  LiveRun timing;
  LiveRun counters;
};

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_FACTS_H_
