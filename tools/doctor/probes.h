// What libraries of the machine say of themselves, each loaded into a process of its own with a deadline: a library
// that hangs or dies costs its answers. Called by a process of one thread.
#ifndef GPUEXEC_TOOLS_DOCTOR_PROBES_H_
#define GPUEXEC_TOOLS_DOCTOR_PROBES_H_

#include <string>

#include "tools/doctor/child.h"
#include "tools/doctor/facts.h"

namespace gx::doctor {

// dlopen of a name, and where the loader found it.
OpenedLibrary ProbeLibrary(const std::string& name);
// libcuda.so.1: path, then cuInit and devices. No context is made.
CudaFacts ProbeCuda();
// libnvidia-ml.so.1, of the devices that CUDA showed.
NvmlFacts ProbeNvml(const CudaFacts& cuda);
// cuptiGetVersion of the file at copy->path.
void ProbeCuptiVersion(CuptiCopy* copy);

// What the answers of the probes mean. Pure.
CudaFacts CudaFactsOf(const ProbeResult& result);
NvmlFacts NvmlFactsOf(const ProbeResult& result);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_PROBES_H_
