#include "inject/sample_join.h"

#include <utility>

namespace gx::inject {
namespace {

uint64_t KeyOf(uint32_t session_id, uint32_t range_order) { return uint64_t{session_id} << 32 | range_order; }

}  // namespace

CounterSampleRecord SampleJoin::Join(const SampleIdentity& identity, Values values) {
  CounterSampleRecord sample;
  sample.group_iid = values.group_iid;
  sample.session_id = identity.session_id;
  sample.window_id = values.window_id;
  sample.context_id = values.context_id;
  sample.thread_id = identity.thread_id;
  sample.enter_monotonic_ns = identity.enter_monotonic_ns;
  sample.correlation_id = identity.correlation_id;
  sample.signature_iid = identity.signature_iid;
  sample.graph_exec_id = identity.graph_exec_id;
  sample.range_order = identity.range_order;
  sample.launch_number = identity.launch_number;
  sample.flags = identity.flags | values.flags;
  sample.values = std::move(values.values);
  return sample;
}

std::optional<CounterSampleRecord> SampleJoin::AddIdentity(const SampleIdentity& identity) {
  const Key key = KeyOf(identity.session_id, identity.range_order);
  if (const auto values = values_.find(key); values != values_.end()) {
    CounterSampleRecord sample = Join(identity, std::move(values->second));
    values_.erase(values);
    return sample;
  }
  if (!identities_.emplace(key, identity).second) ++lost_identities_;
  if (identities_.size() > kMaxIdentities) {
    identities_.erase(identities_.begin());
    ++lost_identities_;
  }
  return std::nullopt;
}

std::vector<CounterSampleRecord> SampleJoin::AddValues(CounterValuesItem item) {
  std::vector<CounterSampleRecord> samples;
  for (CounterRangeValues& range : item.ranges) {
    if (range.values.empty()) continue;
    const Key key = KeyOf(item.session_id, range.order);
    Values values{item.group_iid, item.window_id, item.context_id, range.flags, std::move(range.values)};
    if (const auto identity = identities_.find(key); identity != identities_.end()) {
      samples.push_back(Join(identity->second, std::move(values)));
      identities_.erase(identity);
      continue;
    }
    if (!values_.emplace(key, std::move(values)).second) ++lost_values_;
    if (values_.size() > kMaxValues) {
      values_.erase(values_.begin());
      ++lost_values_;
    }
  }
  return samples;
}

void SampleJoin::EndSession(uint32_t session_id) {
  identities_.erase(identities_.lower_bound(KeyOf(session_id, 0)),
                    identities_.upper_bound(KeyOf(session_id, UINT32_MAX)));
}

void SampleJoin::EndAll() {
  lost_identities_ += identities_.size();
  lost_values_ += values_.size();
  identities_.clear();
  values_.clear();
}

}  // namespace gx::inject
