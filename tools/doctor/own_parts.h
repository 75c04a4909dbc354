// Our own library and programs: where they are, what the library makes of this environment, and runs under it.
#ifndef GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_
#define GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/doctor/environment.h"
#include "tools/doctor/facts.h"

namespace gx::doctor {

// gx-kernels, beside a program in `folder` or in its build folder; "": it is not there.
std::string FindKernels(const std::string& folder);

// Finds the library, and sees whether it loads. `configured`: --library; "": beside this program.
LibraryFacts FindLibrary(const std::string& configured);

// Has this program (`self`, with kLoadInjectionOption) load the library as the driver would, without any CUDA call, in
// this environment but for where trace and log go, and reads what it wrote: once without a libcupti, when it leaves a
// trace with its settings whatever the machine has, and once to see which libcupti it takes. `folder` is for the files.
inline constexpr char kLoadInjectionOption[] = "--internal-load-injection";
DryRunFacts DryRun(const std::string& self, const std::string& library, const Environment& environment,
                   const std::string& folder);
// The path in the library's line of log about its start, "gpuexec 0.1.0 records to X (CUPTI 13.0.1 at PATH)"; "" where
// there is no such line. Pure.
std::string CuptiPathOfLog(absl::string_view log);
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

// Launches of gx-kernels' axpy that keep a device busy for so long, at this time a launch; never more than 1,000,000.
// Pure.
uint64_t LaunchesFor(uint64_t seconds, std::optional<uint64_t> kernel_ns);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_OWN_PARTS_H_
