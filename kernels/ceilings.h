// `gx-kernels --ceilings`: measures what the device sustains and writes the machine file
// (proto/gpuexec/v1/machine.proto). The rest of the program knows no more of it than this.
#ifndef GPUEXEC_KERNELS_CEILINGS_H_
#define GPUEXEC_KERNELS_CEILINGS_H_

namespace gx::kernels {

// Whether the command line asks for ceilings, which have options of their own.
bool WantsCeilings(int argc, char** argv);

// Exit code: 0 all right, 1 something failed (the rest is written nevertheless) or no device answers, 2 wrong usage.
int RunCeilings(int argc, char** argv);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_H_
