// A machine file as a table: a line a figure, with what it was measured with and how far its samples lie apart. Of
// files that CheckMachineFile accepts. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MACHINE_TEXT_H_
#define GPUEXEC_ANALYSIS_MACHINE_TEXT_H_

#include <string>

#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

std::string MachineFileText(const gpuexec::v1::MachineFile& machine);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MACHINE_TEXT_H_
