#include "analysis/trace_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

// A mangled name may have any length; a line of the report may not.
constexpr size_t kMaxNameInLineBytes = 200;

std::string Shown(absl::string_view name) { return Printable(name.substr(0, kMaxNameInLineBytes)); }

std::string Dim(uint64_t x, uint64_t y, uint64_t z) { return absl::StrCat(x, "x", y, "x", z); }

}  // namespace

void IidIndex::Set(uint64_t iid, uint32_t index) {
  if (iid >= kDenseLimit) {
    sparse_[iid] = index;
    return;
  }
  if (iid >= dense_.size()) {
    const size_t doubled = std::min<size_t>(kDenseLimit, std::max<size_t>(64, dense_.size() * 2));
    dense_.resize(std::max<size_t>(doubled, iid + 1), kNone);
  }
  dense_[iid] = index;
}

absl::string_view TraceModel::NameOf(uint64_t name_iid) const {
  const auto found = names.find(name_iid);
  return found == names.end() ? absl::string_view() : absl::string_view(found->second);
}

absl::string_view TraceModel::FunctionName(const SignatureEntry& signature) const {
  if (signature.from_activity || !signature.defined) {
    return signature.attributes == kNone ? absl::string_view() : NameOf(attributes.at(signature.attributes).name_iid());
  }
  const gpuexec::v1::Function* function = functions.Get(signature.definition.function_iid());
  return function == nullptr ? absl::string_view() : NameOf(function->name_iid());
}

std::vector<std::string> SignatureDifferences(const TraceModel& model, const SignatureEntry& signature,
                                              const gpuexec::v1::KernelAttributes& record) {
  std::vector<std::string> differences;
  if (signature.from_activity || !signature.defined) return differences;
  const gpuexec::v1::Signature& launch = signature.definition;
  const auto compare = [&](absl::string_view what, const std::string& from_launch, const std::string& from_record) {
    if (from_launch != from_record) {
      differences.push_back(absl::StrCat(what, ": launch ", from_launch, ", record ", from_record));
    }
  };
  compare("grid", Dim(launch.grid_x(), launch.grid_y(), launch.grid_z()),
          Dim(record.grid_x(), record.grid_y(), record.grid_z()));
  compare("block", Dim(launch.block_x(), launch.block_y(), launch.block_z()),
          Dim(record.block_x(), record.block_y(), record.block_z()));
  // A record shows 0,0,0 for launches without a cluster, a launch shows 0,0,0 where the function requires one.
  if (launch.cluster_x() != 0 && record.cluster_x() != 0) {
    compare("cluster", Dim(launch.cluster_x(), launch.cluster_y(), launch.cluster_z()),
            Dim(record.cluster_x(), record.cluster_y(), record.cluster_z()));
  }
  compare("dynamic shared memory", absl::StrCat(launch.dynamic_shared_memory_bytes()),
          absl::StrCat(record.dynamic_shared_memory_bytes()));
  const gpuexec::v1::Function* function = model.functions.Get(launch.function_iid());
  if (function == nullptr) return differences;
  if (function->has_attributes() && function->attributes().result() == 0) {
    // A launch is given at least what the function needs: more is no disagreement (see inject/README.md).
    const uint64_t needed = function->attributes().registers_per_thread();
    if (record.registers_per_thread() < needed) {
      differences.push_back(absl::StrCat("registers: function ", needed, ", record ", record.registers_per_thread()));
    }
    compare("static shared memory", absl::StrCat(function->attributes().static_shared_memory_bytes()),
            absl::StrCat(record.static_shared_memory_bytes()));
  }
  if (function->name_iid() != record.name_iid()) {
    const absl::string_view launch_name = model.NameOf(function->name_iid());
    const absl::string_view record_name = model.NameOf(record.name_iid());
    // Unknown is not different.
    if (!launch_name.empty() && !record_name.empty() && launch_name != record_name) {
      differences.push_back(absl::StrCat("name: launch ", Shown(launch_name), ", record ", Shown(record_name)));
    }
  }
  return differences;
}

}  // namespace gx::analysis
