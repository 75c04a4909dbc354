// GPUEXEC_* variables -> Config. Reading is total: an unknown or invalid variable never fails, it is counted
// (STAT_UNKNOWN_VARIABLES) and named in a diagnostic.
#ifndef GPUEXEC_INJECT_CONFIG_H_
#define GPUEXEC_INJECT_CONFIG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "inject/sampling_settings.h"

namespace gx::inject {

struct Config {
  // GPUEXEC_OUTPUT: pattern of the trace's path; %p pid, %h host, %r rank, %% a per cent sign.
  std::string output = "trace.pb";
  // GPUEXEC_ENABLE=0 turns the library off altogether.
  bool enable = true;
  // GPUEXEC_MEMORY: host memory for queues and buffers, bytes (suffixes K, M, G; at least 8M).
  uint64_t memory_bytes = uint64_t{256} << 20;
  // GPUEXEC_MAX_BYTES: size of the trace after which only summaries are kept (suffixes K, M, G; 0: no limit).
  uint64_t max_bytes = uint64_t{4} << 30;
  // GPUEXEC_REGION=cuda: record only between cudaProfilerStart and cudaProfilerStop. Default: all.
  bool region_cuda = false;
  // GPUEXEC_START_AFTER: seconds (decimals allowed) from initialisation until recording begins.
  uint64_t start_after_ns = 0;
  // GPUEXEC_DURATION: seconds of recording, then off. 0: no limit.
  uint64_t duration_ns = 0;
  // GPUEXEC_YIELD=1: detach when another CUPTI client appears.
  bool yield = false;
  // GPUEXEC_NVTX=off: no NVTX ranges.
  bool nvtx = true;
  // GPUEXEC_TIMING=off: launch tier only.
  bool timing = true;
  // GPUEXEC_API=on: every call of the CUDA runtime and driver.
  bool api = false;
  // GPUEXEC_OVERHEAD=on: also what CUPTI records of its own overhead. Its kind makes every launch dearer (recording.h).
  bool overhead = false;
  // GPUEXEC_NVML=off: no clock, power and temperature samples.
  bool nvml = true;
  // GPUEXEC_OCCUPANCY=off: do not ask the driver for occupancy and function attributes.
  bool occupancy = true;
  // GPUEXEC_EXIT_WAIT: seconds that the end of the process may wait for the device and for CUPTI's last buffers
  // together (a device that stays busy: 0.2 s more for the buffers).
  uint64_t exit_wait_ns = 2'000'000'000;
  // GPUEXEC_CUPTI: path of the libcupti to use. Empty: search (see cupti_api.h).
  std::string cupti_path;
  // GPUEXEC_LOG: path of a log file, or "stderr". Empty: no log.
  std::string log;
  // GPUEXEC_HELP=1: list the variables to stderr once.
  bool help = false;
  // GPUEXEC_COUNTERS, GPUEXEC_BUDGET, GPUEXEC_REPLAY, GPUEXEC_COUNTERS_DENY: see sampling_settings.h.
  SamplingSettings sampling;

  // What was wrong: one sentence each, for diagnostics.
  std::vector<std::string> problems;
};

// Pure: `environment` holds NAME=VALUE strings; only those that start with "GPUEXEC_" are looked at.
Config ParseConfig(const std::vector<std::string>& environment);

// Reads `environ` of the process. Call once, before threads of ours exist.
Config ReadConfig();

// The settings in force, defaults included, as (variable, value) pairs in the order of HelpText.
std::vector<std::pair<std::string, std::string>> DescribeConfig(const Config& config);

// Text of GPUEXEC_HELP=1: every variable, its values, its default, what it does.
std::string HelpText();

// Pure: the path for a pattern. Unknown %-letters stay as they are; "" for an unknown rank.
std::string ExpandOutputPattern(const std::string& pattern, uint64_t pid, const std::string& host,
                                const std::string& rank);

// Pure: "dir/trace.pb" and 12 -> "dir/trace.12.pb"; a name without a dot in its last part gets ".12" appended.
std::string AddPidToPath(const std::string& path, uint64_t pid);

// The first set of RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID, MV2_COMM_WORLD_RANK; "" for none.
// `all` receives every known rank variable that is set (also WORLD_SIZE, LOCAL_RANK, ...). Pure.
std::string FindRank(const std::vector<std::string>& environment,
                     std::vector<std::pair<std::string, std::string>>* all);

// Whether the process is one of several ranks of a job, and not rank 0. `rank` and `variables` as FindRank gives them;
// a rank that is no number is none. Pure.
bool IsLaterRank(const std::string& rank, const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CONFIG_H_
