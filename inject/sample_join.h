// Joins what a sampled launch was (from the queue of the thread that made it) with what its range counted (from the
// thread that ends sessions), by session and number of the range. Either may come first. Bounded: what waits too long
// among too many is given up, and told. Pure; one thread.
#ifndef GPUEXEC_INJECT_SAMPLE_JOIN_H_
#define GPUEXEC_INJECT_SAMPLE_JOIN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "inject/record.h"

namespace gx::inject {

// The launch that a range was made for. `flags`: bits kCounter* of record.h.
struct SampleIdentity {
  uint32_t session_id = 0;
  uint32_t range_order = 0;
  uint64_t flags = 0;
  uint64_t thread_id = 0;
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t signature_iid = 0;
  uint64_t graph_exec_id = 0;
  uint64_t launch_number = 0;
};

struct CounterRangeValues {
  uint32_t order = 0;          // Of the range in its session.
  uint64_t flags = 0;          // Bits kCounter* of record.h.
  std::vector<double> values;  // In the order of the group's metrics. NaN: unavailable.
};

// What ranges of one session counted; their orders ascend.
struct CounterValuesItem {
  uint32_t session_id = 0;
  uint64_t group_iid = 0;
  uint32_t window_id = 0;
  uint32_t context_id = 0;
  std::vector<CounterRangeValues> ranges;
};

class SampleJoin {
 public:
  // Halves that wait, each.
  static constexpr size_t kMaxIdentities = 16384;
  static constexpr size_t kMaxValues = 4096;

  // The sample, where its values are here already. One that comes twice: the first is kept.
  std::optional<CounterSampleRecord> AddIdentity(const SampleIdentity& identity);
  // The samples whose launches are known already, in the order of the item; the other values wait. Ranges without
  // values say nothing: their launches go on waiting.
  std::vector<CounterSampleRecord> AddValues(CounterValuesItem item);
  // No more values of the session will come: its launches that wait are forgotten. They are not told as lost: whoever
  // ended the session knows how many of its ranges could not be read, and counts them.
  void EndSession(uint32_t session_id);
  // Everything that waits is given up.
  void EndAll();

  // Since the last call: launches whose values never came, and values whose launch never did.
  uint64_t TakeLostIdentities() { return std::exchange(lost_identities_, 0); }
  uint64_t TakeLostValues() { return std::exchange(lost_values_, 0); }
  size_t waiting() const { return identities_.size() + values_.size(); }

 private:
  // Session and order: the oldest sessions come first, and are the first to be given up.
  using Key = uint64_t;
  struct Values {
    uint64_t group_iid = 0;
    uint32_t window_id = 0;
    uint32_t context_id = 0;
    uint64_t flags = 0;
    std::vector<double> values;
  };
  static CounterSampleRecord Join(const SampleIdentity& identity, Values values);

  std::map<Key, SampleIdentity> identities_;
  std::map<Key, Values> values_;
  uint64_t lost_identities_ = 0;
  uint64_t lost_values_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLE_JOIN_H_
