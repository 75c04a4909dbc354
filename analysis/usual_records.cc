#include "analysis/usual_records.h"

namespace gx::analysis {

UsualRecords::UsualRecords(const TraceModel& model) {
  absl::flat_hash_map<const SignatureEntry*, uint64_t> kernel_count;
  for (const auto& [pair, count] : model.kernels_by_signature_and_attributes) {
    const SignatureEntry* signature = &model.signatures[pair.first];
    uint64_t& most = kernel_count[signature];
    uint32_t& chosen = record_by_signature_.try_emplace(signature, kNone).first->second;
    if (count < most || (count == most && pair.second > chosen)) continue;
    most = count;
    chosen = pair.second;
  }
}

uint32_t UsualRecords::Of(const SignatureEntry& signature) const {
  const auto found = record_by_signature_.find(&signature);
  return found == record_by_signature_.end() ? signature.attributes : found->second;
}

}  // namespace gx::analysis
