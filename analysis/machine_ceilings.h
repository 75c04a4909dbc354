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

// What activity records add to a kernel: fixed_ns + wave_ns x ceil(grid / resident blocks), the least squares of the
// chain kernels' biases; error_ns is the largest distance of one of them from that line.
struct TracingCost {
  double fixed_ns = 0;
  double wave_ns = 0;
  double error_ns = 0;
  uint64_t kernel_count = 0;
};
// Absent with fewer than two numbers of waves.
std::optional<TracingCost> FitTracingCost(const gpuexec::v1::MachineFile& machine);
// The cost at a number of waves (1 or more), never below 0.
double TracingNs(const TracingCost& cost, uint64_t waves);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MACHINE_CEILINGS_H_
