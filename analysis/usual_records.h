// Which kernel record speaks for a signature: the one that most of its kernels had. Owned by one thread.
#ifndef GPUEXEC_ANALYSIS_USUAL_RECORDS_H_
#define GPUEXEC_ANALYSIS_USUAL_RECORDS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

class UsualRecords {
 public:
  explicit UsualRecords(const TraceModel& model);

  // Index in TraceModel::attributes; kNone: no kernel of the signature has a record.
  uint32_t Of(const SignatureEntry& signature) const;

 private:
  absl::flat_hash_map<const SignatureEntry*, uint32_t> record_by_signature_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_USUAL_RECORDS_H_
