// Which signature the kernels of a summary had. Beyond the size limit a trace keeps sums by kernel record; the
// signature is that of earlier kernels with the same record, or the only one that agrees with it, or made from the
// record. Owned by whoever builds a report of the model, which must outlive it; one thread.
#ifndef GPUEXEC_ANALYSIS_SUMMARISED_SIGNATURES_H_
#define GPUEXEC_ANALYSIS_SUMMARISED_SIGNATURES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

class SummarisedSignatures {
 public:
  explicit SummarisedSignatures(const TraceModel& model);
  SummarisedSignatures(const SummarisedSignatures&) = delete;
  SummarisedSignatures& operator=(const SummarisedSignatures&) = delete;

  // An entry of the model, or one that lives as long as this. Never null.
  const SignatureEntry* Find(const SummarisedKernels& summarised);

 private:
  const std::vector<const SignatureEntry*>& Named(absl::string_view name);
  const SignatureEntry* Make(const SummarisedKernels& summarised);

  const TraceModel& model_;
  absl::flat_hash_map<uint32_t, std::vector<const SignatureEntry*>> by_attributes_;
  absl::flat_hash_map<std::string, std::vector<const SignatureEntry*>> by_name_;
  std::deque<SignatureEntry> made_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_SUMMARISED_SIGNATURES_H_
