// What the operation of a manifest needs whatever its implementation is: useful FLOP, and bytes at the boundary of
// device memory with each operand read once and each result written once. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_OPERATION_WORK_H_
#define GPUEXEC_ANALYSIS_MANIFEST_OPERATION_WORK_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

struct OperationWork {
  // Work by path, traffic of level "dram" alone; it has a name, and at least one of both.
  gpuexec::v1::RooflineCase work;
  // What it rests on and what it leaves out, one line each.
  std::vector<std::string> notes;
};

// The roofline case of the lower bound, without levels above device memory, which caches may serve. Where the manifest
// has none: FLOP of the matrix product on the path of its types, and bytes of the operation's input and output tensors,
// else of the product's matrices.
//
// FailedPrecondition: the manifest states no work. InvalidArgument: names a case that is not there, one at empirical
// rates, or a type or shape that is none.
absl::StatusOr<OperationWork> WorkOfOperation(const gpuexec::v1::Manifest& manifest);

// Bits of an element: 16 for "bf16" and "bfloat16". Absent: no type of this name.
std::optional<int64_t> ElementBitsOf(absl::string_view dtype);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_OPERATION_WORK_H_
