#include "inject/interner.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "inject/hash.h"

namespace gx::inject {
namespace {

// /proc/self/task/TID/comm; "" for a thread that is gone.
std::string ReadThreadName(uint32_t thread_id) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char name[64];
  const ssize_t length = read(file, name, sizeof(name));
  close(file);
  if (length <= 0) return {};
  std::string_view text(name, static_cast<size_t>(length));
  if (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

Dim3 ToDim3(const uint32_t (&values)[3]) { return {values[0], values[1], values[2]}; }

}  // namespace

template <typename Key>
size_t Interner::BytesHash::operator()(const Key& key) const noexcept {
  static_assert(std::is_trivially_copyable_v<Key>);
  return HashBytes(&key, sizeof(key));
}

uint64_t Interner::Name(std::string_view value) {
  const auto found = names_.find(value);
  if (found != names_.end()) return found->second;
  const uint64_t iid = ++name_count_;
  names_.emplace(value, iid);
  encoder_->AddName(iid, value);
  return iid;
}

uint64_t Interner::RangeText(std::string_view value) {
  const auto found = range_texts_.find(value);
  if (found != range_texts_.end()) return found->second;
  if (range_texts_.size() >= kRangeTextLimit || range_text_bytes_ >= kRangeTextBytesLimit) {
    range_texts_.clear();
    range_text_bytes_ = 0;
  }
  const uint64_t iid = ++name_count_;
  range_texts_.emplace(value, iid);
  range_text_bytes_ += value.size();
  encoder_->AddName(iid, value);
  return iid;
}

uint64_t Interner::Track(uint32_t device_id, uint32_t context_id, uint32_t stream_id) {
  uint64_t& iid = tracks_[uint64_t{device_id} << 32 | context_id][stream_id];
  if (iid != 0) return iid;
  iid = ++track_count_;
  TrackRecord track;
  track.iid = iid;
  track.device_id = device_id;
  track.context_id = context_id;
  if (stream_id != kUnknownStream) track.stream_id = stream_id;
  encoder_->AddTrack(track);
  return iid;
}

void Interner::Thread(uint32_t thread_id) {
  if (threads_.insert(thread_id).second) encoder_->AddThread(thread_id, ReadThreadName(thread_id));
}

uint64_t Interner::Function(uint32_t function_index, uint32_t context_id) {
  if (function_index == 0) return 0;
  if (function_index < function_iids_.size() && function_iids_[function_index] != 0)
    return function_iids_[function_index];
  if (function_index >= function_iids_.size()) function_iids_.resize(function_index + 1);
  const FunctionInfo& info = functions_->Get(function_index);
  const std::string_view name =
      info.name == nullptr ? std::string_view() : std::string_view(info.name, info.name_bytes);

  // The same name and code under another handle (another context, a module loaded again) is the same function. Where
  // the code is not known for certain, a handle is a function of its own.
  const bool certain = info.has_code && !info.code.ambiguous && info.name != nullptr;
  std::string key;
  if (certain) {
    key.assign(reinterpret_cast<const char*>(&info.code.hash), sizeof(info.code.hash));
    key.append(name);
    const auto found = functions_by_code_.find(key);
    if (found != functions_by_code_.end()) {
      function_iids_[function_index] = found->second;
      return found->second;
    }
  }
  FunctionRecord record;
  record.iid = ++function_count_;
  record.name_iid = info.name == nullptr ? 0 : Name(name);
  if (info.has_code) {
    record.code_hash = info.code.hash;
    record.module_id = info.code.module_id;
    record.code_ambiguous = info.code.ambiguous;
  }
  encoder_->AddFunction(record);
  function_iids_[function_index] = record.iid;
  if (certain) functions_by_code_.emplace(std::move(key), record.iid);
  new_functions_.push_back({record.iid, function_index, context_id});
  return record.iid;
}

void Interner::NameFunction(uint64_t function_iid, std::string_view name) {
  FunctionRecord record;
  record.iid = function_iid;
  record.name_iid = Name(name);
  encoder_->AddFunction(record);
}

uint64_t Interner::Signature(const LaunchParameters& parameters, uint32_t device_id, bool graph_node,
                             uint32_t context_id) {
  if (parameters.readable == 0) return 0;
  SignatureKey key;
  key.function_iid = static_cast<uint32_t>(Function(parameters.function_index, context_id));
  key.device_id = device_id;
  key.grid = parameters.grid;
  key.block = parameters.block;
  key.cluster = parameters.cluster;
  key.preferred_cluster = parameters.preferred_cluster;
  key.dynamic_shared_memory_bytes = parameters.dynamic_shared_memory_bytes;
  key.carveout = parameters.carveout;
  key.flags = static_cast<uint32_t>((parameters.cooperative != 0 ? 1 : 0) | (parameters.programmatic != 0 ? 2 : 0) |
                                    (graph_node ? 4 : 0));
  uint64_t& iid = signatures_[key];
  if (iid != 0) return iid;
  iid = signatures_.size();
  SignatureRecord record;
  record.iid = iid;
  record.function_iid = key.function_iid;
  record.device_id = device_id;
  record.grid = key.grid;
  record.block = key.block;
  record.cluster = key.cluster;
  record.dynamic_shared_memory_bytes = key.dynamic_shared_memory_bytes;
  record.cooperative = parameters.cooperative != 0;
  record.programmatic = parameters.programmatic != 0;
  record.graph_node = graph_node;
  record.preferred_cluster = key.preferred_cluster;
  if (parameters.carveout != kNoCarveout) record.preferred_shared_memory_carveout = parameters.carveout;
  encoder_->AddSignature(record);
  if (parameters.function_index != 0) {
    const uint64_t threads = uint64_t{key.block.x} * key.block.y * key.block.z;
    new_signatures_.push_back({iid, parameters.function_index,
                               static_cast<uint32_t>(std::min<uint64_t>(threads, 1u << 20)),
                               key.dynamic_shared_memory_bytes, context_id});
  }
  return iid;
}

uint64_t Interner::KernelAttributes(const KernelLaunchValues& values, const char* name) {
  AttributesKey key;
  key.values = values;
  if (name != nullptr) {
    NamePointer& known = name_pointers_[(reinterpret_cast<uintptr_t>(name) >> 4) % name_pointers_.size()];
    if (known.pointer != name) known = {name, Name(std::string_view(name, strnlen(name, size_t{1} << 20)))};
    key.name_iid = known.iid;
  }
  uint64_t& iid = attributes_[key];
  if (iid != 0) return iid;
  iid = attributes_.size();
  KernelAttributesRecord record;
  record.iid = iid;
  record.name_iid = key.name_iid;
  record.grid = ToDim3(values.grid);
  record.block = ToDim3(values.block);
  record.cluster = ToDim3(values.cluster);
  record.registers_per_thread = values.registers_per_thread;
  record.static_shared_memory_bytes = values.static_shared_memory_bytes;
  record.dynamic_shared_memory_bytes = values.dynamic_shared_memory_bytes;
  record.shared_memory_executed_bytes = values.shared_memory_executed_bytes;
  if (values.carveout_requested != 0) record.shared_memory_carveout_requested = values.carveout_requested - 1;
  record.cache_config_requested = values.cache_config_requested;
  record.cache_config_executed = values.cache_config_executed;
  record.local_memory_per_thread_bytes = values.local_memory_per_thread_bytes;
  record.local_memory_total_bytes = values.local_memory_total_bytes;
  record.launch_type = values.launch_type;
  record.channel_type = values.channel_type;
  record.device_launched = values.device_launched != 0;
  record.max_potential_cluster_size = values.max_potential_cluster_size;
  record.max_active_clusters = values.max_active_clusters;
  record.shared_memory_limit_config = values.shared_memory_limit_config;
  encoder_->AddKernelAttributes(record);
  return iid;
}

}  // namespace gx::inject
