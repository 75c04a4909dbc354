// `gx-kernels --ceilings`: measures what the device sustains and writes the machine file
// (proto/gpuexec/v1/machine.proto). The rest of the program knows no more of it than this.
#ifndef GPUEXEC_KERNELS_CEILINGS_H_
#define GPUEXEC_KERNELS_CEILINGS_H_

namespace gx::kernels {

// Whether the command line asks for ceilings, which have options of their own.
bool WantsCeilings(int argc, char** argv);

// Exit code: 0 all right, also where a figure could not be had and the file says why; 1 a CUDA call failed or a result
// was wrong (the rest is written nevertheless), no device answers, or the file cannot be written; 2 wrong usage.
int RunCeilings(int argc, char** argv);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_H_
