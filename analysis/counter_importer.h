// Packets -> CounterModel, in one pass and in memory that is bounded: at most kMaxMetricSlots metrics in series (about
// 80 bytes each) and kMaxKeptValues values of samples (with what is kept beside them). What goes beyond is counted.
// Owned by TraceImporter; one thread.
#ifndef GPUEXEC_ANALYSIS_COUNTER_IMPORTER_H_
#define GPUEXEC_ANALYSIS_COUNTER_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "analysis/columns.h"
#include "analysis/counter_model.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

class CounterImporter {
 public:
  // 4,000 signatures with 20 groups of 20 metrics each take 1.6 million.
  static constexpr size_t kMaxMetricSlots = size_t{1} << 22;
  // 128 MiB. 4,000 signatures with 10 groups of 60 metrics and four samples each take 12 million.
  static constexpr size_t kMaxKeptValues = size_t{1} << 24;

  struct Limits {
    size_t metric_slots = kMaxMetricSlots;
    size_t kept_values = kMaxKeptValues;
  };

  // What the rest of the import knows. Signature 0 is never asked for.
  struct Context {
    absl::FunctionRef<uint32_t(uint64_t signature_iid)> signature_index;
    // Whether the window is known and of another kind than counters.
    absl::FunctionRef<bool(uint64_t window_id)> is_other_window;
    // A definition that is missing: "counter group".
    absl::FunctionRef<void(const char* what)> count_undefined;
    absl::FunctionRef<void(uint64_t monotonic_ns)> note_host_time;
  };

  // `model` outlives the importer.
  explicit CounterImporter(CounterModel* model) : CounterImporter(model, Limits()) {}
  CounterImporter(CounterModel* model, const Limits& limits) : model_(model), limits_(limits) {}

  void ImportDefinitions(const gpuexec::v1::Packet& packet);
  DecodedBatch ImportSamples(const gpuexec::v1::CounterBatch& batch, const Context& context);

 private:
  // nullptr: there is no place for another one.
  CounterSeries* SeriesOf(uint32_t signature, uint64_t graph_exec_id, uint64_t group_iid, size_t metric_count);

  CounterModel* model_;
  const Limits limits_;
  absl::flat_hash_map<std::tuple<uint32_t, uint64_t, uint64_t>, size_t> series_by_key_;
  size_t metric_slots_ = 0;
  size_t kept_values_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COUNTER_IMPORTER_H_
