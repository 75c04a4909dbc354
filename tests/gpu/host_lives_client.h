// A program's own use of CUPTI, as profilers built into frameworks have it: callbacks of launches, kernel records in
// buffers of its own. libcupti is the one that the process has, else the toolkit's. One thread, but for CUPTI's.
//
// Results of CUPTI's calls may depend on who else is there: they go to the state file (host_lives_state.h), as "client
// FUNCTION CODE".
#ifndef GPUEXEC_TESTS_GPU_HOST_LIVES_CLIENT_H_
#define GPUEXEC_TESTS_GPU_HOST_LIVES_CLIENT_H_

#include <cstdint>

namespace gx::lives {

// Finds libcupti and its functions. False: there is none.
bool LoadClient();

// Takes CUPTI's subscription under the name "gx-host-lives", where it can be given, and asks for a callback at each
// call of a launch. False: refused.
bool Subscribe();
uint64_t launch_callbacks();

// Registers buffer callbacks of its own, as whoever wants records does; with or without a subscription.
bool TakeBuffers();
// Switches records of kernels on or off.
void SwitchKernelRecords(bool on);

// Has CUPTI hand out everything, and notes what came so far: "client_records N", kernel records in this client's own
// buffers; "client_foreign_buffers N" and "client_foreign_records N", buffers that are not its own, and kernel records
// in these: another client's, who lent them before this one came.
void Flush();
// Kernel records in its own buffers.
uint64_t own_records();

}  // namespace gx::lives

#endif  // GPUEXEC_TESTS_GPU_HOST_LIVES_CLIENT_H_
