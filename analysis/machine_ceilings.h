// A machine file's many figures -> the few that an explanation asks for: the fastest of what is alike, and what lies
// between two measurements. Of files that CheckMachineFile accepts. Absent: the file has nothing to say of it. Pure;
// any thread.
#ifndef GPUEXEC_ANALYSIS_MACHINE_CEILINGS_H_
#define GPUEXEC_ANALYSIS_MACHINE_CEILINGS_H_

#include <cstdint>
#include <optional>

#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// The fastest of a resource on one path, whole device, in the ceiling's unit (bytes, FLOP, operations, warp
// instructions); by SM cycle, and by second. PATH_UNSPECIFIED: on any path. Not for DRAM, whose rate depends on the
// mix.
std::optional<double> SustainedPerSmCycle(const gpuexec::v1::MachineFile& machine,
                                          gpuexec::v1::CeilingResource resource, gpuexec::v1::CeilingPath path);
std::optional<double> SustainedPerSecond(const gpuexec::v1::MachineFile& machine, gpuexec::v1::CeilingResource resource,
                                         gpuexec::v1::CeilingPath path);

// Bytes to and from DRAM a second at a share of reads (0 to 1): linear between the fastest of the two measured shares
// around it, the nearest one beyond them.
// Bytes that SMs read from L2, or write to it, where it holds them: the fastest of any footprint.
std::optional<double> SustainedL2BytesPerSecond(const gpuexec::v1::MachineFile& machine, bool written);
std::optional<double> SustainedDramBytesPerSecond(const gpuexec::v1::MachineFile& machine, double read_share_ratio);
// The same by cycle of the memory clock that NVML showed meanwhile.
std::optional<double> SustainedDramBytesPerCycle(const gpuexec::v1::MachineFile& machine, double read_share_ratio);

// SM cycles of an unloaded load of one sector a request; of L2 the mean of near and far lines.
std::optional<double> UnloadedCycles(const gpuexec::v1::MachineFile& machine, gpuexec::v1::LatencyLevel level);
// What each further sector of a request adds: from the most sectors that were measured. 0 or more.
std::optional<double> CyclesPerFurtherSector(const gpuexec::v1::MachineFile& machine, gpuexec::v1::LatencyLevel level);

struct LaunchShape {
  uint64_t grid_blocks = 1;
  uint64_t block_threads = 1;
  uint64_t dynamic_shared_memory_bytes = 0;
  // 0: without the attribute.
  uint64_t cluster_blocks = 0;
};
// Duration of an empty kernel as a trace records it: the median record of the nearest shape. Nearest: the same cluster,
// then the least sum of doublings in grid (up to what the device holds: more blocks are waves, and not launch), block
// and shared memory (above 1 KiB). Absent before records of a trace were added.
std::optional<double> EmptyKernelNs(const gpuexec::v1::MachineFile& machine, const LaunchShape& shape);
// Of it, the part in which no SM is active: the empty kernel of one block (or cluster). What more blocks add to it is
// their dispatch, one after the other, and SMs are active meanwhile: of kernels of a training step on an H200, time
// less tracing and active cycles came to 0.3 to 0.6 us, whatever the grid; empty kernels of 1 and of 1,056 blocks of
// 256 threads last 0.40 and 0.91 us.
std::optional<double> IdleLaunchNs(const gpuexec::v1::MachineFile& machine, const LaunchShape& shape);

// What activity records add to a kernel:
//   fixed_ns + (waves - 1) (wave_ns + thread_ns x threads of a block),    waves = ceil(grid / resident blocks)
// the least squares of the chain kernels' biases; error_ns is the largest distance of one of them from that. A further
// wave begins when the records' extra instructions of the one before have ended, and a large block ends with its last
// warp. (On an H200 277 ns, 73 ns and 0.035 ns, within 0.80 us of biases of up to 13.8 us; without thread_ns 1.8 us. Of
// four forms tried on the same kernels the one with the least error: no other run has tested it.)
//
// Kernels that wait for their blocks to be launched do so with and without records, which cost them nothing more than
// fixed_ns: they are left out (4 of 21, which had made the error 7.9 us).
struct TracingCost {
  double fixed_ns = 0;
  double wave_ns = 0;
  double thread_ns = 0;
  double error_ns = 0;
  // That the fit rests on.
  uint64_t kernel_count = 0;
  // Between two blocks of empty kernels, the least that was measured. Absent: of no shape two grids of several waves.
  std::optional<double> block_launch_ns;
};
// Absent with fewer than two numbers of waves.
std::optional<TracingCost> FitTracingCost(const gpuexec::v1::MachineFile& machine);
// True where launching the grid's blocks takes 90 % of the time and more.
bool IsBoundByBlockLaunch(const TracingCost& cost, uint64_t grid_blocks, double time_ns);
// The cost at a number of waves (1 or more), never below 0. time_ns: how long the kernel takes; 0: not known, and it is
// taken as one that does not wait for its blocks.
double TracingNs(const TracingCost& cost, uint64_t waves, const LaunchShape& shape = {}, double time_ns = 0);
}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MACHINE_CEILINGS_H_
