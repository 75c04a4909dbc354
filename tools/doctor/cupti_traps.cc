#include "tools/doctor/cupti_traps.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace gx::doctor {
namespace {

// "RN x" is the section of that toolkit in CUPTI's release notes, docs.nvidia.com/cupti/release-notes. The last version
// that has a fault is the one before the release that names it as resolved.
constexpr auto kTraps = std::to_array<CuptiTrap>({
    {kCupti128, 26, false, "a null activity buffer crashes CUPTI",
     "gpuexec gives up its oldest unread buffer instead, and counts that", "RN 12.9; pytorch/kineto#1534"},
    {kCupti128, 130000, false, "kernels have no times once a timestamp callback is registered",
     "gpuexec registers none", "RN 13.1"},
    {130000, 130000, false, "a call of NVTX before any call of CUPTI crashes where CUPTI handles NVTX",
     "gpuexec handles NVTX itself; leave NVTX_INJECTION64_PATH away from libcupti",
     "RN 13.0 update 1; NVIDIA/NVTX#125"},
    {kCupti128, 130000, true,
     "cuptiActivityDisable of kernel records may deadlock and cuptiActivityFlushAll may crash; no records of "
     "cudaDeviceSynchronize",
     "windows of hardware counters switch kernel records off and on: GPUEXEC_COUNTERS=off, or a newer libcupti",
     "RN 13.0 update 1"},
    {kCupti128, 130000, false,
     "long runs of CUDA graphs crash where pinned memory for activity buffers is switched off",
     "gpuexec leaves that attribute as it is", "RN 13.0 update 1"},
    {130001, 130001, false,
     "replays of CUDA graphs: device memory grows by about 1 GiB, and from some 25 million kernels on records have no "
     "times",
     "gx-analyze counts kernels without times first thing", "parca-dev/parcagpu#23, seen with 13.0.85"},
    {130000, 130199, false, "CUPTI crashes when it is unloaded", "gpuexec never unloads it", "icl-utk-edu/papi#594"},
    {kCupti128, 130100, false,
     "wrong correlation ids of graph launches from the second profiling session of a process on",
     "gpuexec subscribes once a process; gx-analyze counts kernels that join no launch", "RN 13.1 update 1"},
    {kCupti128, 130299, false, "one subscriber a process; graphs with copies and fills leak host memory",
     "another profiler in the process excludes gpuexec, or the other way round", "RN 13.2, 13.3"},
    {kCupti128, 130299, false, "no hardware counters in green contexts", "launches there have times only",
     "RN 13.3, known issues"},
    {kCupti128, 130400, false,
     "CPU time grows in long traces; names of kernels are stale after a module is loaded again",
     "gpuexec takes names from launches, not from records", "RN 13.4 update 1"},
});

}  // namespace

absl::Span<const CuptiTrap> CuptiTraps() { return kTraps; }

std::vector<CuptiTrap> TrapsOf(int64_t version) {
  std::vector<CuptiTrap> traps;
  for (const CuptiTrap& trap : kTraps) {
    if (version >= trap.first && version <= trap.last) traps.push_back(trap);
  }
  return traps;
}

bool IsSupportedCupti(int64_t version) {
  return (version >= kCupti128 && version < 1000) || (version >= kCupti130 && version < kCupti140);
}

std::string CuptiVersionText(int64_t version) {
  if (version >= 10000) return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
  if (version == 26) return "12.8";
  if (version == 27) return "12.9";
  if (version == 28) return "12.9 update 1";
  return absl::StrCat("with API version ", version);
}

int64_t CudaVersionOfCupti(int64_t version) {
  if (version >= 10000) return version / 10000 * 1000 + version / 100 % 100 * 10;
  if (version == 26) return 12080;
  if (version == 27 || version == 28) return 12090;
  return 0;
}

}  // namespace gx::doctor
