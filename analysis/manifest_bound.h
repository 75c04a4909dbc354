// R0 of a ladder: the least time of what a manifest asks of a kernel, on the device that the trace is of. Theoretical
// rates at the device's maximum clock, as R1 is. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_BOUND_H_
#define GPUEXEC_ANALYSIS_MANIFEST_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/manifest_kernel.h"
#include "analysis/name_filter.h"
#include "analysis/trace_model.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

struct ManifestBound {
  // Above 0.
  double ns = 0;
  // Of the manifest, printable.
  std::string case_id;
  // What binds: "dram", "tensor_bf16_fp32".
  std::string binding;
  // The kernel that it is of, as KernelLine.
  std::string kernel;
  // What the bound rests on; one line each, printable.
  std::vector<std::string> notes;
};

// "manifest 'gemm-4096': dram", for the rung.
std::string ManifestSource(const ManifestBound& bound);
// The same with the figure, the kernel and what it rests on.
std::string ManifestLine(const ManifestBound& bound);

// By number of the trace and index in TraceModel::signatures.
using ManifestBounds = std::map<std::pair<size_t, uint32_t>, ManifestBound>;

// Of the kernels that `kernels` matches those count that agree with the launch that the manifest states. They have to
// be one case (IsSameCase), on one or several devices and in one or several traces.
//
// NotFound: no kernel. InvalidArgument: several cases; another device, kernel, launch or type of tensor operations than
// the trace has; a part of the manifest that the model refuses, or a rate that the device does not tell.
// FailedPrecondition: no work is stated.
absl::StatusOr<ManifestBounds> BoundsOfManifest(const gpuexec::v1::Manifest& manifest, const NameFilter& kernels,
                                                absl::Span<const TraceModel> models);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_BOUND_H_
