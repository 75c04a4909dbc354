// Which launch signatures of a trace --kernel means. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_KERNEL_H_
#define GPUEXEC_ANALYSIS_MANIFEST_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/duration_samples.h"
#include "analysis/name_filter.h"
#include "analysis/report.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

// One launch signature with kernel records. Views are to the model, which must outlive it.
struct TracedKernel {
  // Index in TraceModel::signatures.
  uint32_t signature = 0;
  uint64_t device_id = 0;
  // As the function is called in its module; may hold anything.
  std::string mangled_name;
  std::string full_name;
  LaunchConfiguration launch;
  uint64_t kernel_count = 0;
  uint64_t total_ns = 0;
  std::vector<const DurationSamples*> clean = {};
  uint64_t clean_count = 0;
};

// "NAME  grid 2x66, block 384, cluster 2".
std::string KernelLine(const TracedKernel& kernel);

// Those whose full name or KernelLine `kernels` matches, most time first, then by line.
std::vector<TracedKernel> FindKernels(const TraceModel& model, const NameFilter& kernels);

// Of the same function and launch values: device and kind of launch (stream, graph) apart, they are one case.
bool IsSameCase(const TracedKernel& a, const TracedKernel& b);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_KERNEL_H_
