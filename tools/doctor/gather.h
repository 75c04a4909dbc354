// Gathers the facts of this machine: files, libraries and programs, each thing that may hang with a deadline.
#ifndef GPUEXEC_TOOLS_DOCTOR_GATHER_H_
#define GPUEXEC_TOOLS_DOCTOR_GATHER_H_

#include <string>
#include <vector>

#include "tools/doctor/environment.h"
#include "tools/doctor/facts.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {

enum class LiveWish { kIfThereIsAGpu, kYes, kNo };

struct GatherOptions {
  Environment environment;
  // --library; "": beside this program.
  std::string library;
  LiveWish live = LiveWish::kIfThereIsAGpu;
  // The program of the live runs and its arguments; empty: gx-kernels.
  std::vector<std::string> program;
};
// Called while the process has one thread.
Facts GatherFacts(const GatherOptions& options);

// Where GPUEXEC_OUTPUT leads, seen from the folder `working_folder`.
OutputFacts ReadOutput(const RootFolder& root, const Environment& environment, const std::string& working_folder);

// The path of a program that is looked for in PATH; "": there is none.
std::string FindProgram(const RootFolder& root, const Environment& environment, const std::string& name);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_GATHER_H_
