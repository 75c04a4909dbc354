#include "analysis/summarised_signatures.h"

#include <cstddef>

namespace gx::analysis {
namespace pb = gpuexec::v1;

SummarisedSignatures::SummarisedSignatures(const TraceModel& model) : model_(model) {
  if (model.summarised.empty()) return;
  for (const auto& [pair, count] : model.kernels_by_signature_and_attributes) {
    by_attributes_[pair.second].push_back(&model.signatures[pair.first]);
  }
}

const SignatureEntry* SummarisedSignatures::Find(const SummarisedKernels& summarised) {
  const SignatureEntry* signature = nullptr;
  int candidates = 0;
  for (const SignatureEntry* candidate : by_attributes_[summarised.attributes]) {
    if (candidate->definition.device_id() != summarised.device_id) continue;
    signature = candidate;
    ++candidates;
  }
  // No kernel of these attributes was joined before the size limit: a signature that agrees with them will do.
  if (candidates == 0 && summarised.attributes != kNone) {
    const pb::KernelAttributes& record = model_.attributes.at(summarised.attributes);
    for (const SignatureEntry* known : Named(model_.NameOf(record.name_iid()))) {
      if (known->definition.device_id() != summarised.device_id ||
          !SignatureDifferences(model_, *known, record).empty()) {
        continue;
      }
      signature = known;
      ++candidates;
    }
  }
  // A summary knows the kernel record only; where that stands for one signature, it is that one's.
  return candidates == 1 ? signature : Make(summarised);
}

// Defined signatures of a function's name, up to a number that keeps the search short in any trace.
const std::vector<const SignatureEntry*>& SummarisedSignatures::Named(absl::string_view name) {
  constexpr size_t kMaxCandidates = 1000;
  if (by_name_.empty()) {
    for (const SignatureEntry& entry : model_.signatures) {
      if (!entry.defined || entry.from_activity) continue;
      std::vector<const SignatureEntry*>& named = by_name_[std::string(model_.FunctionName(entry))];
      if (named.size() < kMaxCandidates) named.push_back(&entry);
    }
  }
  return by_name_[std::string(name)];
}

const SignatureEntry* SummarisedSignatures::Make(const SummarisedKernels& summarised) {
  SignatureEntry& made = made_.emplace_back();
  made.from_activity = true;
  made.attributes = summarised.attributes;
  made.definition.set_device_id(summarised.device_id);
  if (summarised.attributes == kNone) return &made;
  const pb::KernelAttributes& record = model_.attributes.at(summarised.attributes);
  made.defined = true;
  made.definition.set_grid_x(record.grid_x());
  made.definition.set_grid_y(record.grid_y());
  made.definition.set_grid_z(record.grid_z());
  made.definition.set_block_x(record.block_x());
  made.definition.set_block_y(record.block_y());
  made.definition.set_block_z(record.block_z());
  made.definition.set_dynamic_shared_memory_bytes(record.dynamic_shared_memory_bytes());
  return &made;
}

}  // namespace gx::analysis
