// The checks of gx-doctor: facts in, verdict out. Each is pure and says something whatever is missing.
#ifndef GPUEXEC_TOOLS_DOCTOR_CHECKS_H_
#define GPUEXEC_TOOLS_DOCTOR_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/doctor/facts.h"
#include "tools/doctor/verdict.h"

namespace gx::doctor {

// check_driver.cc
Verdict CheckDriver(const Facts& facts);   // the kernel's module, its version, the CUDA version
Verdict CheckLibcuda(const Facts& facts);  // where it is, whether it is a stub or another version's
Verdict CheckDevices(const Facts& facts);  // GPUs that a program would see

// check_library.cc
Verdict CheckLibrary(const Facts& facts);   // the injection library loads
Verdict CheckSettings(const Facts& facts);  // GPUEXEC_ variables

// check_cupti.cc
Verdict CheckCupti(const Facts& facts);        // copies, and which would win
Verdict CheckCuptiTraps(const Facts& facts);   // known faults of that version
Verdict CheckCounterHost(const Facts& facts);  // libnvperf_host, which counters need

// check_counters.cc
Verdict CheckCounterPermission(const Facts& facts);
Verdict CheckContainer(const Facts& facts);
Verdict CheckWsl(const Facts& facts);
Verdict CheckMig(const Facts& facts);
Verdict CheckMps(const Facts& facts);
Verdict CheckVgpu(const Facts& facts);
Verdict CheckConfidential(const Facts& facts);

// check_others.cc
Verdict CheckSubscribers(const Facts& facts);      // other profilers that the environment asks for
Verdict CheckCounterPrograms(const Facts& facts);  // DCGM and the like

// check_room.cc
Verdict CheckOutput(const Facts& facts);
Verdict CheckMemory(const Facts& facts);

// check_live.cc
Verdict CheckLiveTiming(const Facts& facts);
Verdict CheckLiveCounters(const Facts& facts);

// All of them, in the order in which they are shown.
std::vector<Verdict> CheckAll(const Facts& facts);

// ---- for the checks

// The libcupti that the library would use: version and path, from the best evidence there is.
struct ChosenCupti {
  std::string path;
  std::optional<int64_t> api_version;
  std::string known_from;  // "the live run", "the library", "the loader"
};
ChosenCupti CuptiInUse(const Facts& facts);

// Whether the driver answers with at least one GPU.
bool HasGpu(const Facts& facts);

// As a word of a shell: in quotes, where it needs them.
std::string ShellWord(absl::string_view text);

// "13.0" for 13000.
std::string CudaVersionText(int64_t version);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_CHECKS_H_
