#include "analysis/columns.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"

namespace gx::analysis {
namespace {

using google::protobuf::RepeatedField;

// One value a record, one for all, or zero for all.
class Column {
 public:
  Column(absl::string_view name, const RepeatedField<uint64_t>& values) : name_(name), values_(values) {}

  uint64_t operator[](uint64_t i) const {
    const auto size = static_cast<uint64_t>(values_.size());
    if (size == 0) return 0;
    return values_.Get(size == 1 ? 0 : static_cast<int>(i));
  }
  bool Fits(uint64_t count) const { return size() <= 1 || size() == count; }
  uint64_t size() const { return static_cast<uint64_t>(values_.size()); }
  absl::string_view name() const { return name_; }
  absl::string_view expected() const { return "0, 1"; }

 private:
  absl::string_view name_;
  const RepeatedField<uint64_t>& values_;
};

// A difference for each record, or zero for all.
template <typename Value>
class DeltaColumn {
 public:
  DeltaColumn(absl::string_view name, const RepeatedField<Value>& values) : name_(name), values_(values) {}

  Value operator[](uint64_t i) const { return values_.empty() ? Value{0} : values_.Get(static_cast<int>(i)); }
  bool Fits(uint64_t count) const { return size() == 0 || size() == count; }
  uint64_t size() const { return static_cast<uint64_t>(values_.size()); }
  absl::string_view name() const { return name_; }
  absl::string_view expected() const { return "0"; }

 private:
  absl::string_view name_;
  const RepeatedField<Value>& values_;
};

using SignedDelta = DeltaColumn<int64_t>;
using UnsignedDelta = DeltaColumn<uint64_t>;

// Differences with a sign are taken modulo 2^64, by the writer too: any two values have one, and nothing is out of
// range.
uint64_t Moved(uint64_t value, int64_t delta, uint64_t unit = 1) { return value + static_cast<uint64_t>(delta) * unit; }

// Differences without a sign are of values that never fall: false (and no change) where the sum leaves the range.
bool Advance(uint64_t* value, uint64_t delta, uint64_t unit) {
  uint64_t step = 0;
  uint64_t sum = 0;
  if (__builtin_mul_overflow(delta, unit, &step) || __builtin_add_overflow(*value, step, &sum)) return false;
  *value = sum;
  return true;
}

// Host times say their unit only where it is not 1.
uint64_t HostTimeUnit(uint64_t unit_ns) { return unit_ns == 0 ? 1 : unit_ns; }

// Walks one batch: says how many records may be visited, and gathers what went wrong.
class Walk {
 public:
  // `message` names the batch in errors.
  Walk(absl::string_view message, uint64_t count) : message_(message), count_(count), claimed_(count) {}

  template <typename... Columns>
  void Check(const Columns&... columns) {
    (CheckOne(columns), ...);
    const uint64_t longest = std::max({uint64_t{0}, columns.size()...});
    if (!result_.problem.ok()) {
      // A count that is too small hides the values beyond it.
      claimed_ = std::max(count_, longest);
      return;
    }
    // A column that has `count` elements is proof in the packet's own bytes that there are so many records.
    limit_ = count_;
    if (longest < count_ && count_ > kMaxConstantRecords) limit_ = kMaxConstantRecords;
  }

  // Records that may be visited.
  uint64_t limit() const { return limit_; }
  void Visited() { ++result_.record_count; }

  // Refuses the whole batch for what is no column of one element a record.
  void Refuse(absl::string_view what) {
    if (!result_.problem.ok()) return;
    limit_ = 0;
    claimed_ = std::max<uint64_t>(claimed_, 1);
    result_.problem = absl::DataLossError(absl::StrCat(message_, ".", what));
  }
  // Something else in the packet holds at least one byte for each record.
  void ProvesItsCount() {
    if (result_.problem.ok()) limit_ = count_;
  }

  // The value of `column` at the present record leaves the 64-bit range.
  void OutOfRange(absl::string_view column) { LeavesRange(column, "the 64-bit range"); }
  void LeavesRange(absl::string_view column, absl::string_view range) {
    result_.problem = absl::DataLossError(
        absl::StrCat(message_, ".", column, ": record ", result_.record_count, " of ", count_, " leaves ", range));
  }
  // A unit of zero, with steps to be multiplied by it.
  void CheckUnit(absl::string_view name, uint64_t unit, const RepeatedField<int64_t>& steps) {
    if (unit == 0) RefuseSteps(name, std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 0; }));
  }
  void CheckUnit(absl::string_view name, uint64_t unit, const RepeatedField<uint64_t>& steps) {
    if (unit == 0) RefuseSteps(name, std::any_of(steps.begin(), steps.end(), [](uint64_t step) { return step != 0; }));
  }

  DecodedBatch Finish() {
    result_.lost_count = claimed_ - result_.record_count;
    if (result_.lost_count > 0 && result_.problem.ok()) {
      result_.problem = absl::DataLossError(absl::StrCat(message_, ".count: ", count_,
                                                         " records, expected a column of so many values or at most ",
                                                         kMaxConstantRecords, " records; the rest is not read"));
    }
    return result_;
  }

 private:
  template <typename AnyColumn>
  void CheckOne(const AnyColumn& column) {
    if (!result_.problem.ok() || column.Fits(count_)) return;
    result_.problem = absl::DataLossError(absl::StrCat(message_, ".", column.name(), ": expected ", column.expected(),
                                                       " or ", count_, " values (count), got ", column.size()));
  }
  void RefuseSteps(absl::string_view name, bool has_steps) {
    if (!has_steps || !result_.problem.ok() || count_ == 0) return;
    limit_ = 0;
    result_.problem = absl::DataLossError(absl::StrCat(message_, ".", name, ": expected 1 or more, got 0"));
  }

  absl::string_view message_;
  uint64_t count_;
  uint64_t claimed_;
  uint64_t limit_ = 0;
  DecodedBatch result_;
};

}  // namespace

DecodedBatch ForEachLaunch(const gpuexec::v1::LaunchBatch& batch, absl::FunctionRef<void(const LaunchRow&)> visit) {
  Walk walk("LaunchBatch", batch.count());
  const UnsignedDelta enter("enter_delta", batch.enter_delta());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column track("track_iid", batch.track_iid());
  const Column signature("signature_iid", batch.signature_iid());
  const Column graph_exec("graph_exec_id", batch.graph_exec_id());
  const Column result("result", batch.result());
  walk.Check(enter, correlation, track, signature, graph_exec, result);

  LaunchRow row;
  row.thread_id = batch.thread_id();
  row.window_id = batch.window_id();
  row.enter_monotonic_ns = batch.base_enter_monotonic_ns();
  const uint64_t enter_unit_ns = HostTimeUnit(batch.enter_unit_ns());
  row.correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    if (!Advance(&row.enter_monotonic_ns, enter[i], enter_unit_ns)) {
      walk.OutOfRange(enter.name());
      break;
    }
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.track_iid = track[i];
    row.signature_iid = signature[i];
    row.graph_exec_id = graph_exec[i];
    row.result = result[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachKernel(const gpuexec::v1::KernelBatch& batch, absl::FunctionRef<void(const KernelRow&)> visit) {
  using gpuexec::v1::KernelBatch;
  Walk walk("KernelBatch", batch.count());
  const SignedDelta start("start_delta", batch.start_delta());
  const SignedDelta duration("duration_delta", batch.duration_delta());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column track("track_iid", batch.track_iid());
  const Column attributes("attributes_iid", batch.attributes_iid());
  const Column graph("graph_id", batch.graph_id());
  const SignedDelta node("graph_node_delta", batch.graph_node_delta());
  walk.Check(start, duration, correlation, track, attributes, graph, node);
  walk.CheckUnit("start_unit_ns", batch.start_unit_ns(), batch.start_delta());
  walk.CheckUnit("duration_unit_ns", batch.duration_unit_ns(), batch.duration_delta());

  const bool has_start = batch.timing() != KernelBatch::TIMING_MISSING;
  const bool has_end = has_start && batch.timing() != KernelBatch::TIMING_UNFINISHED;
  KernelRow row;
  row.timing = batch.timing();
  row.correlation_id = batch.base_correlation_id();
  // Of the last record with these attributes, in steps.
  absl::flat_hash_map<uint64_t, uint64_t> last_duration;
  // What the next start is counted from.
  uint64_t clock_ns = has_start ? batch.base_start_ns() : 0;
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    if (has_start) {
      clock_ns = Moved(clock_ns, start[i], batch.start_unit_ns());
      row.start_ns = clock_ns;
    }
    row.attributes_iid = attributes[i];
    if (has_end) {
      uint64_t& duration_steps = last_duration[row.attributes_iid];
      duration_steps = Moved(duration_steps, duration[i]);
      const bool fits = !__builtin_mul_overflow(duration_steps, batch.duration_unit_ns(), &row.duration_ns) &&
                        !(batch.timing() == KernelBatch::TIMING_INVALID
                              ? __builtin_sub_overflow(row.start_ns, row.duration_ns, &row.end_ns)
                              : __builtin_add_overflow(row.start_ns, row.duration_ns, &row.end_ns));
      if (!fits) {
        walk.OutOfRange(duration.name());
        break;
      }
      clock_ns = row.end_ns;
    }
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.graph_node_id = Moved(row.graph_node_id, node[i]);
    row.track_iid = track[i];
    row.graph_id = graph[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachMemory(const gpuexec::v1::MemoryBatch& batch, absl::FunctionRef<void(const MemoryRow&)> visit) {
  Walk walk("MemoryBatch", batch.count());
  const SignedDelta start("start_delta", batch.start_delta());
  const Column duration("duration", batch.duration());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column track("track_iid", batch.track_iid());
  const Column size("size_bytes", batch.size_bytes());
  const Column copy_kind("copy_kind", batch.copy_kind());
  const Column source_kind("source_memory_kind", batch.source_memory_kind());
  const Column destination_kind("destination_memory_kind", batch.destination_memory_kind());
  const Column source_device("source_device_id", batch.source_device_id());
  const Column destination_device("destination_device_id", batch.destination_device_id());
  const Column graph("graph_id", batch.graph_id());
  const SignedDelta node("graph_node_delta", batch.graph_node_delta());
  walk.Check(start, duration, correlation, track, size, copy_kind, source_kind, destination_kind, source_device,
             destination_device, graph, node);
  walk.CheckUnit("start_unit_ns", batch.start_unit_ns(), batch.start_delta());
  walk.CheckUnit("duration_unit_ns", batch.duration_unit_ns(), batch.duration());

  MemoryRow row;
  row.kind = batch.kind();
  row.correlation_id = batch.base_correlation_id();
  // The next start is counted from this end.
  row.end_ns = batch.base_start_ns();
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    row.start_ns = Moved(row.end_ns, start[i], batch.start_unit_ns());
    if (__builtin_mul_overflow(duration[i], batch.duration_unit_ns(), &row.duration_ns) ||
        __builtin_add_overflow(row.start_ns, row.duration_ns, &row.end_ns)) {
      walk.OutOfRange(duration.name());
      break;
    }
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.graph_node_id = Moved(row.graph_node_id, node[i]);
    row.track_iid = track[i];
    row.size_bytes = size[i];
    row.copy_kind = copy_kind[i];
    row.source_memory_kind = source_kind[i];
    row.destination_memory_kind = destination_kind[i];
    row.source_device_id = source_device[i];
    row.destination_device_id = destination_device[i];
    row.graph_id = graph[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachSynchronization(const gpuexec::v1::SynchronizationBatch& batch,
                                    absl::FunctionRef<void(const SynchronizationRow&)> visit) {
  Walk walk("SynchronizationBatch", batch.count());
  const SignedDelta start("start_delta_ns", batch.start_delta_ns());
  const Column duration("duration_ns", batch.duration_ns());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column type("type", batch.type());
  const Column track("track_iid", batch.track_iid());
  walk.Check(start, duration, correlation, type, track);

  SynchronizationRow row;
  row.start_ns = batch.base_start_ns();
  row.correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    row.start_ns = Moved(row.start_ns, start[i]);
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.duration_ns = duration[i];
    row.type = type[i];
    row.track_iid = track[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachOverhead(const gpuexec::v1::OverheadBatch& batch,
                             absl::FunctionRef<void(const OverheadRow&)> visit) {
  Walk walk("OverheadBatch", batch.count());
  const SignedDelta start("start_delta_ns", batch.start_delta_ns());
  const Column duration("duration_ns", batch.duration_ns());
  const Column kind("kind", batch.kind());
  const Column thread("thread_id", batch.thread_id());
  walk.Check(start, duration, kind, thread);

  OverheadRow row;
  row.start_ns = batch.base_start_ns();
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    row.start_ns = Moved(row.start_ns, start[i]);
    row.duration_ns = duration[i];
    row.kind = kind[i];
    row.thread_id = thread[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachApiCall(const gpuexec::v1::ApiCallBatch& batch, absl::FunctionRef<void(const ApiCallRow&)> visit) {
  Walk walk("ApiCallBatch", batch.count());
  const SignedDelta start("start_delta_ns", batch.start_delta_ns());
  const Column duration("duration_ns", batch.duration_ns());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column function("function_iid", batch.function_iid());
  const Column result("result", batch.result());
  walk.Check(start, duration, correlation, function, result);

  ApiCallRow row;
  row.thread_id = batch.thread_id();
  row.start_ns = batch.base_start_ns();
  row.correlation_id = batch.base_correlation_id();
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    row.start_ns = Moved(row.start_ns, start[i]);
    row.duration_ns = duration[i];
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.function_iid = function[i];
    row.result = result[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachNvtxEvent(const gpuexec::v1::NvtxEventBatch& batch,
                              absl::FunctionRef<void(const NvtxEventRow&)> visit) {
  Walk walk("NvtxEventBatch", batch.count());
  const UnsignedDelta time("time_delta", batch.time_delta());
  const Column kind("kind", batch.kind());
  const Column domain("domain_iid", batch.domain_iid());
  const Column name("name_iid", batch.name_iid());
  const Column range("range_id", batch.range_id());
  const Column payload("payload_iid", batch.payload_iid());
  walk.Check(time, kind, domain, name, range, payload);

  NvtxEventRow row;
  row.thread_id = batch.thread_id();
  row.monotonic_ns = batch.base_monotonic_ns();
  const uint64_t time_unit_ns = HostTimeUnit(batch.time_unit_ns());
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    if (!Advance(&row.monotonic_ns, time[i], time_unit_ns)) {
      walk.OutOfRange(time.name());
      break;
    }
    row.kind = kind[i];
    row.domain_iid = domain[i];
    row.name_iid = name[i];
    row.range_id = range[i];
    row.payload_iid = payload[i];
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

namespace {

// Whole numbers beyond this cannot be told apart as doubles: no writer makes them.
constexpr int64_t kMaxWholeNumber = int64_t{1} << 53;

bool IsWholeNumber(int64_t value) { return value >= -kMaxWholeNumber && value <= kMaxWholeNumber; }

bool HasElements(int size, uint64_t rows, uint64_t columns) {
  uint64_t expected = 0;
  return !__builtin_mul_overflow(rows, columns, &expected) && static_cast<uint64_t>(size) == expected;
}

// Checks what tells the values of a batch apart. Work is bounded by the batch's own bytes.
void CheckCounterValues(const gpuexec::v1::CounterBatch& batch, Walk* walk) {
  const uint64_t count = batch.count();
  const uint64_t metric_count = batch.metric_count();
  if (metric_count > kMaxCounterMetrics || (metric_count == 0 && count > 0)) {
    walk->Refuse(absl::StrCat("metric_count: expected 1 to ", kMaxCounterMetrics, ", got ", metric_count));
    return;
  }
  for (int i = 0; i < batch.real_metric_size(); ++i) {
    const uint64_t metric = batch.real_metric(i);
    if (metric >= metric_count || (i > 0 && metric <= batch.real_metric(i - 1))) {
      walk->Refuse(absl::StrCat("real_metric: expected ascending numbers below ", metric_count, ", got ", metric,
                                " as element ", i));
      return;
    }
  }
  const auto real_count = static_cast<uint64_t>(batch.real_metric_size());
  if (!HasElements(batch.real_value_size(), count, real_count)) {
    walk->Refuse(absl::StrCat("real_value: expected ", real_count, " values for each of ", count, " records, got ",
                              batch.real_value_size()));
  } else if (!HasElements(batch.integer_value_size(), count, metric_count - real_count)) {
    walk->Refuse(absl::StrCat("integer_value: expected ", metric_count - real_count, " values for each of ", count,
                              " records, got ", batch.integer_value_size()));
  }
  walk->ProvesItsCount();
}

// The values of one record after another.
class CounterValues {
 public:
  // `batch` passed CheckCounterValues.
  explicit CounterValues(const gpuexec::v1::CounterBatch& batch)
      : batch_(batch), is_real_(batch.metric_count(), false), whole_(batch.metric_count(), 0) {
    for (const uint64_t metric : batch.real_metric()) is_real_[metric] = true;
    values_.resize(batch.metric_count());
  }

  // False: a whole number leaves the range of whole numbers.
  bool Next(uint64_t signature_iid, uint64_t graph_exec_id) {
    const auto [place, is_new] = last_.try_emplace(std::pair(signature_iid, graph_exec_id), whole_);
    // A new signature counts from the record before, which is what whole_ still holds.
    std::vector<int64_t>& last = place->second;
    for (size_t metric = 0; metric < values_.size(); ++metric) {
      if (is_real_[metric]) {
        values_[metric] = batch_.real_value(next_real_++);
        continue;
      }
      if (__builtin_add_overflow(last[metric], batch_.integer_value(next_integer_++), &last[metric]) ||
          !IsWholeNumber(last[metric])) {
        return false;
      }
      values_[metric] = static_cast<double>(last[metric]);
    }
    whole_ = last;
    return true;
  }
  absl::Span<const double> values() const { return values_; }

 private:
  const gpuexec::v1::CounterBatch& batch_;
  std::vector<bool> is_real_;
  // Whole numbers of the record before, and of the last one of each (signature, graph).
  std::vector<int64_t> whole_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, std::vector<int64_t>> last_;
  std::vector<double> values_;
  int next_real_ = 0;
  int next_integer_ = 0;
};

}  // namespace

DecodedBatch ForEachCounterSample(const gpuexec::v1::CounterBatch& batch,
                                  absl::FunctionRef<void(const CounterSampleRow&)> visit) {
  Walk walk("CounterBatch", batch.count());
  const SignedDelta enter("enter_delta", batch.enter_delta());
  const SignedDelta correlation("correlation_delta", batch.correlation_delta());
  const Column thread("thread_id", batch.thread_id());
  const Column signature("signature_iid", batch.signature_iid());
  const Column graph_exec("graph_exec_id", batch.graph_exec_id());
  const UnsignedDelta order("range_order_delta", batch.range_order_delta());
  const Column flags("flags", batch.flags());
  const Column launch_number("launch_number", batch.launch_number());
  walk.Check(enter, correlation, thread, signature, graph_exec, order, flags, launch_number);
  CheckCounterValues(batch, &walk);
  if (walk.limit() == 0) return walk.Finish();

  CounterSampleRow row;
  row.group_iid = batch.group_iid();
  row.session_id = batch.session_id();
  row.window_id = batch.window_id();
  row.context_id = batch.context_id();
  row.enter_monotonic_ns = batch.base_enter_monotonic_ns();
  const uint64_t enter_unit_ns = HostTimeUnit(batch.enter_unit_ns());
  row.correlation_id = batch.base_correlation_id();
  row.range_order = batch.base_range_order();
  CounterValues values(batch);
  for (uint64_t i = 0; i < walk.limit(); ++i) {
    row.enter_monotonic_ns = Moved(row.enter_monotonic_ns, enter[i], enter_unit_ns);
    row.correlation_id = Moved(row.correlation_id, correlation[i]);
    row.thread_id = thread[i];
    row.signature_iid = signature[i];
    row.graph_exec_id = graph_exec[i];
    row.flags = flags[i];
    row.launch_number = launch_number[i];
    if (!Advance(&row.range_order, order[i], 1)) {
      walk.OutOfRange(order.name());
      break;
    }
    if (!values.Next(row.signature_iid, row.graph_exec_id)) {
      walk.LeavesRange("integer_value", "the whole numbers up to 2^53");
      break;
    }
    row.values = values.values();
    visit(row);
    walk.Visited();
  }
  return walk.Finish();
}

DecodedBatch ForEachDurationBucket(const gpuexec::v1::KernelSummary& summary,
                                   absl::FunctionRef<void(const DurationBucketRow&)> visit) {
  const auto claimed = static_cast<uint64_t>(std::max(summary.bucket_size(), summary.bucket_count_size()));
  DecodedBatch result;
  if (summary.bucket_size() != summary.bucket_count_size()) {
    result.lost_count = claimed;
    result.problem =
        absl::DataLossError(absl::StrCat("KernelSummary.bucket_count: expected ", summary.bucket_size(),
                                         " values (as many as bucket), got ", summary.bucket_count_size()));
    return result;
  }
  for (int i = 0; i < summary.bucket_size(); ++i) visit({summary.bucket(i), summary.bucket_count(i)});
  result.record_count = claimed;
  return result;
}

}  // namespace gx::analysis
