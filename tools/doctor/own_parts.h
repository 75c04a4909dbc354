// Our own library and programs: where they are, what the library makes of this environment, and runs under it.
#ifndef GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_
#define GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_

#include <string>
#include <vector>

#include "tools/doctor/environment.h"
#include "tools/doctor/facts.h"

namespace gx::doctor {

// The folder of this program; "" where the system does not say.
std::string OwnFolder();
std::string OwnPath();

// Where the injection library may lie beside a program in `folder`: in an installed prefix, in one folder with it, in a
// build folder. gx-kernels likewise. Pure.
std::vector<std::string> LibraryCandidates(const std::string& folder);
std::vector<std::string> KernelsCandidates(const std::string& folder);
// The first that is there; "" where none is.
std::string FirstFile(const std::vector<std::string>& candidates);

// Finds the library, and sees whether it loads. `configured`: --library; "": beside this program.
LibraryFacts FindLibrary(const std::string& configured);

// Has this program (`self`, with kLoadInjectionOption) load the library as the driver would, without any CUDA call, in
// this environment but for where trace and log go; reads the trace. `folder` is for those.
inline constexpr char kLoadInjectionOption[] = "--internal-load-injection";
DryRunFacts DryRun(const std::string& self, const std::string& library, const Environment& environment,
                   const std::string& folder);
// What that option does: an exit code.
int LoadInjection(const std::string& library);

struct LivePlan {
  std::vector<std::string> command;
  std::string library;
  // GPUEXEC_COUNTERS of the run.
  std::string counters;
  std::string trace_path;
};
// Runs the command under the library with a deadline of kLiveDeadlineSeconds and reads its trace.
inline constexpr int kLiveDeadlineSeconds = 60;
LiveRun RunLive(const LivePlan& plan, const Environment& environment);

// Launches of gx-kernels' axpy that keep a device busy for two seconds, at this time a launch; never more than 200,000.
// Pure.
uint64_t LaunchesForTwoSeconds(std::optional<uint64_t> kernel_ns);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_
