// What tells one machine from all others of its kind, out of a machine file that goes to other people. Pure; any
// thread.
#ifndef GPUEXEC_ANALYSIS_MACHINE_IDENTITY_H_
#define GPUEXEC_ANALYSIS_MACHINE_IDENTITY_H_

#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// Takes out UUID, PCI address and the folders in the command line. Figures, versions and the time of the run stay. Such
// a file matches devices by product alone (MachineMatch::kSameProduct), and takes part in no further merge.
void RemoveMachineIdentity(gpuexec::v1::MachineFile* machine);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MACHINE_IDENTITY_H_
