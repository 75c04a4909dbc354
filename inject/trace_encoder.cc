#include "inject/trace_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuexec/trace_fields.h"
#include "inject/checksum.h"
#include "inject/columns.h"
#include "inject/protozero_guest.h"

namespace gx::inject {
namespace {

using Writer = protozero::pbf_writer;

// Version of the format (proto/README.md, "Evolution").
constexpr uint64_t kFormatMajor = 1;
constexpr uint64_t kFormatMinor = 1;

// Step of the entry times of launches and of NVTX events. In ns a difference beyond 16 us takes three bytes, in steps
// of 16 ns one of up to 262 us takes two: 0.86 bytes a launch less on an eager PyTorch loop (launches 70 us apart).
// What is given up is below the clock itself (clock_gettime takes and is good to about 20 ns), and no two driver calls
// of a thread are so near to one another. Both have the same step: ranges and launches of a thread are put in order.
constexpr uint64_t kHostTimeStepNs = 16;

// A longer string is cut to this: the longest C++ names seen in the wild have some 100 kB, and a packet (at most 16
// MiB) must take several.
constexpr size_t kMaxStringBytes = size_t{1} << 20;

constexpr size_t kMaxVarintBytes = 10;

// A batch of more records has at least one column with an element for each: so readers need not believe a count that
// takes a few bytes to claim (proto/README.md, "Columns").
constexpr size_t kMaxConstantRecords = 4096;

// What one record is taken for in PendingBytes: about twice what an eager PyTorch stream really needs (kernels 6,
// launches 5 bytes), so that a frame of "1 MiB" stays well below the largest packet even where no column shrinks
// (at most 10 bytes a column).
constexpr size_t kLaunchBytes = 10;
constexpr size_t kKernelBytes = 12;
constexpr size_t kMemoryBytes = 24;
constexpr size_t kOtherRecordBytes = 16;
// A sample's identity, and a value of its group: at most eight bytes each (whole numbers go up to 2^53).
constexpr size_t kCounterSampleBytes = 40;
constexpr size_t kCounterValueBytes = 8;

// Whole numbers beyond this are not told from their neighbours by a double.
constexpr double kMaxWholeNumber = 9007199254740992.0;  // 2^53

// Values of gpuexec.v1.KernelBatch.Timing.
enum class KernelTiming : uint32_t { kComplete = 1, kMissing = 2, kUnfinished = 3, kInvalid = 4 };
constexpr size_t kKernelTimingCount = 4;

KernelTiming TimingOf(const KernelRecord& kernel) {
  if (kernel.end_ns == 0) return kernel.start_ns == 0 ? KernelTiming::kMissing : KernelTiming::kUnfinished;
  return kernel.end_ns < kernel.start_ns ? KernelTiming::kInvalid : KernelTiming::kComplete;
}

std::string_view Cut(std::string_view value) { return value.substr(0, kMaxStringBytes); }

// Proto3: a field without presence is absent where it holds its default.
void AddUnsigned(Writer& message, uint32_t field, uint64_t value) {
  if (value != 0) message.add_uint64(field, value);
}
void AddSigned(Writer& message, uint32_t field, int64_t value) {
  if (value != 0) message.add_sint64(field, value);
}
void AddFlag(Writer& message, uint32_t field, bool value) {
  if (value) message.add_bool(field, value);
}
void AddFixed(Writer& message, uint32_t field, uint64_t value) {
  if (value != 0) message.add_fixed64(field, value);
}
void AddBytes(Writer& message, uint32_t field, std::string_view value) {
  const std::string_view cut = Cut(value);
  if (!cut.empty()) message.add_bytes(field, cut.data(), cut.size());
}

// Zero is +0.0 alone: proto3 tells by the bits.
void AddDouble(Writer& message, uint32_t field, double value) {
  if (value != 0 || std::signbit(value)) message.add_double(field, value);
}
// An element of a list is there even where it is empty.
void AddElement(Writer& message, uint32_t field, std::string_view value) {
  const std::string_view cut = Cut(value);
  message.add_bytes(field, cut.data(), cut.size());
}

// Fields with presence: written whenever they are known.
void AddOptional(Writer& message, uint32_t field, const std::optional<uint64_t>& value) {
  if (value) message.add_uint64(field, *value);
}
void AddOptional(Writer& message, uint32_t field, const std::optional<int64_t>& value) {
  if (value) message.add_sint64(field, *value);
}
void AddOptional(Writer& message, uint32_t field, const std::optional<bool>& value) {
  if (value) message.add_bool(field, *value);
}

// A submessage that `fill` writes. Built apart, because protozero drops a nested message that stayed empty, and an
// empty message here says "known, all zero".
template <typename Fill>
void AddMessage(Writer& parent, uint32_t field, Fill fill) {
  std::string bytes;
  Writer message(bytes);
  fill(message);
  // Space first: running out of memory between the length and the bytes would leave the whole packet unreadable.
  parent.reserve(bytes.size() + 2 * kMaxVarintBytes);
  parent.add_message(field, bytes);
}

// The fields x, y, z follow one another in every message that has them.
void AddDim3(Writer& message, uint32_t field_x, const Dim3& value) {
  AddUnsigned(message, field_x, value.x);
  AddUnsigned(message, field_x + 1, value.y);
  AddUnsigned(message, field_x + 2, value.z);
}
static_assert(fields::Signature::kGridZ == fields::Signature::kGridX + 2);
static_assert(fields::Signature::kBlockZ == fields::Signature::kBlockX + 2);
static_assert(fields::Signature::kClusterZ == fields::Signature::kClusterX + 2);
static_assert(fields::Signature::kPreferredClusterZ == fields::Signature::kPreferredClusterX + 2);
static_assert(fields::KernelAttributes::kGridZ == fields::KernelAttributes::kGridX + 2);
static_assert(fields::KernelAttributes::kBlockZ == fields::KernelAttributes::kBlockX + 2);
static_assert(fields::KernelAttributes::kClusterZ == fields::KernelAttributes::kClusterX + 2);
static_assert(fields::FunctionAttributes::kRequiredClusterZ == fields::FunctionAttributes::kRequiredClusterX + 2);

void FillClockPair(Writer& message, const ClockPairRecord& pair) {
  AddUnsigned(message, fields::ClockPair::kCuptiNs, pair.cupti_ns);
  AddUnsigned(message, fields::ClockPair::kMonotonicNs, pair.monotonic_ns);
  AddUnsigned(message, fields::ClockPair::kMonotonicRawNs, pair.monotonic_raw_ns);
  AddUnsigned(message, fields::ClockPair::kRealtimeNs, pair.realtime_ns);
}

void AddSettings(Writer& message, uint32_t field, const std::vector<std::pair<std::string, std::string>>& settings) {
  for (const auto& pair : settings) {  // not taken apart: clang before 16 captures no structured binding
    AddMessage(message, field, [&](Writer& setting) {
      AddBytes(setting, fields::Setting::kName, pair.first);
      AddBytes(setting, fields::Setting::kValue, pair.second);
    });
  }
}

// ------------------------------------------------------------------------------------------------- columns

void AddPlain(Writer& batch, uint32_t field, std::span<const uint64_t> elements) {
  if (!elements.empty()) batch.add_packed_uint64(field, elements.begin(), elements.end());
}
void AddZigZag(Writer& batch, uint32_t field, std::span<const int64_t> elements) {
  if (!elements.empty()) batch.add_packed_sint64(field, elements.begin(), elements.end());
}

// Turns lists of records into columns, with storage that is used again from column to column.
class ColumnWriter {
 public:
  // One plain column: member `member` of every record.
  template <typename Record, typename Value>
  void Plain(Writer& batch, uint32_t field, const std::vector<Record>& records, Value Record::*member) {
    unsigned_.clear();
    for (const Record& record : records) unsigned_.push_back(static_cast<uint64_t>(record.*member));
    AddPlain(batch, field, ShrinkColumn(unsigned_));
  }

  // Differences of `member`, the first one from `base`.
  template <typename Record>
  void SignedDeltas(Writer& batch, uint32_t field, const std::vector<Record>& records, uint64_t Record::*member,
                    uint64_t base) {
    FillSignedDeltas(records, member, base);
    AddZigZag(batch, field, ShrinkDeltas(signed_));
  }

  // Differences, the first one 0, in the column that proves the count of a large batch: whole there, also where all are
  // zero.
  template <typename Record>
  void ProvingDeltas(Writer& batch, uint32_t field, const std::vector<Record>& records, uint64_t Record::*member) {
    FillSignedDeltas(records, member, records.front().*member);
    const std::span<const int64_t> deltas(signed_);
    AddZigZag(batch, field, deltas.size() > kMaxConstantRecords ? deltas : ShrinkDeltas(deltas));
  }

  struct HostTimeFields {
    uint32_t base;
    uint32_t unit;
    uint32_t delta;
  };
  // The same for times of the host, which never fall, in whole steps. Rounding is of each time, not of each difference:
  // no error adds up.
  template <typename Record>
  void ProvingHostTimes(Writer& batch, const HostTimeFields& time_fields, const std::vector<Record>& records,
                        uint64_t Record::*member) {
    unsigned_.clear();
    const uint64_t base_steps = records.front().*member / kHostTimeStepNs;
    uint64_t before_steps = base_steps;
    for (const Record& record : records) {
      const uint64_t steps = record.*member / kHostTimeStepNs;
      unsigned_.push_back(steps - before_steps);
      before_steps = steps;
    }
    AddUnsigned(batch, time_fields.base, base_steps * kHostTimeStepNs);
    AddUnsigned(batch, time_fields.unit, kHostTimeStepNs);
    const std::span<const uint64_t> deltas(unsigned_);
    AddPlain(batch, time_fields.delta, deltas.size() > kMaxConstantRecords ? deltas : ShrinkDeltas(deltas));
  }

  // Times of the host that may go back, in the same steps.
  template <typename Record>
  void SignedHostTimes(Writer& batch, const HostTimeFields& time_fields, const std::vector<Record>& records,
                       uint64_t Record::*member) {
    signed_.clear();
    const uint64_t base_steps = records.front().*member / kHostTimeStepNs;
    uint64_t before_steps = base_steps;
    for (const Record& record : records) {
      const uint64_t steps = record.*member / kHostTimeStepNs;
      signed_.push_back(SignedDifference(steps, before_steps));
      before_steps = steps;
    }
    AddUnsigned(batch, time_fields.base, base_steps * kHostTimeStepNs);
    AddUnsigned(batch, time_fields.unit, kHostTimeStepNs);
    AddZigZag(batch, time_fields.delta, ShrinkDeltas(signed_));
  }

  // Differences of a number that never falls, the first one 0.
  template <typename Record>
  void RisingDeltas(Writer& batch, uint32_t field, const std::vector<Record>& records, uint64_t Record::*member) {
    unsigned_.clear();
    uint64_t before = records.front().*member;
    for (const Record& record : records) {
      unsigned_.push_back(record.*member - before);
      before = record.*member;
    }
    AddPlain(batch, field, ShrinkDeltas(unsigned_));
  }

  struct StartFields {
    uint32_t base;
    uint32_t unit;
    uint32_t delta;
  };
  // Starts as differences from the end before. `duration_of` gives the duration that the reader will see, signed: what
  // it adds to a start to get the end.
  template <typename Record, typename DurationOf>
  void Starts(Writer& batch, const StartFields& start_fields, const std::vector<Record>& records,
              DurationOf duration_of) {
    uint64_t before = records.front().start_ns;
    AddUnsigned(batch, start_fields.base, before);
    signed_.clear();
    for (const Record& record : records) {
      signed_.push_back(SignedDifference(record.start_ns, before));
      before = record.start_ns + static_cast<uint64_t>(duration_of(record));
    }
    const uint64_t unit = CommonUnit(std::span<const int64_t>(signed_));
    DivideByUnit(unit, &signed_);
    AddUnsigned(batch, start_fields.unit, unit);
    AddZigZag(batch, start_fields.delta, ShrinkDeltas(signed_));
  }

  template <typename Record, typename DurationOf>
  void Durations(Writer& batch, uint32_t field_unit, uint32_t field, const std::vector<Record>& records,
                 DurationOf duration_of) {
    unsigned_.clear();
    for (const Record& record : records) unsigned_.push_back(duration_of(record));
    const uint64_t unit = CommonUnit(std::span<const uint64_t>(unsigned_));
    DivideByUnit(unit, &unsigned_);
    AddUnsigned(batch, field_unit, unit);
    AddPlain(batch, field, ShrinkColumn(unsigned_));
  }

  // Durations as differences from the last one under the same key: what a kernel took the last time.
  template <typename Record, typename DurationOf>
  void DurationsByKey(Writer& batch, uint32_t field_unit, uint32_t field, const std::vector<Record>& records,
                      uint64_t Record::*key, DurationOf duration_of) {
    unsigned_.clear();
    for (const Record& record : records) unsigned_.push_back(duration_of(record));
    const uint64_t unit = CommonUnit(std::span<const uint64_t>(unsigned_));
    DivideByUnit(unit, &unsigned_);
    signed_.clear();
    last_by_key_.clear();
    for (size_t i = 0; i < records.size(); ++i) {
      uint64_t& last = last_by_key_[records[i].*key];
      signed_.push_back(SignedDifference(unsigned_[i], last));
      last = unsigned_[i];
    }
    AddUnsigned(batch, field_unit, unit);
    AddZigZag(batch, field, ShrinkDeltas(signed_));
  }

  template <typename Record>
  void DurationsOfOneNanosecond(Writer& batch, uint32_t field, const std::vector<Record>& records) {
    unsigned_.clear();
    for (const Record& record : records) unsigned_.push_back(ForwardDuration(record));
    AddPlain(batch, field, ShrinkColumn(unsigned_));
  }

  // Of records that are no kernels: an end that is unknown (0) or before the start is a duration of 0.
  template <typename Record>
  static uint64_t ForwardDuration(const Record& record) {
    return record.end_ns > record.start_ns ? record.end_ns - record.start_ns : 0;
  }

 private:
  template <typename Record>
  void FillSignedDeltas(const std::vector<Record>& records, uint64_t Record::*member, uint64_t before) {
    signed_.clear();
    for (const Record& record : records) {
      signed_.push_back(SignedDifference(record.*member, before));
      before = record.*member;
    }
  }

  std::vector<uint64_t> unsigned_;
  std::vector<int64_t> signed_;
  std::unordered_map<uint64_t, uint64_t> last_by_key_;
};

// Records of one host thread whose times never fall: what one batch can hold.
template <typename Record>
struct ThreadBatch {
  uint64_t thread_id = 0;
  std::vector<Record> records;
};

// Sorts records into such batches, in the order in which the batches began.
template <typename Record>
class ThreadBatches {
 public:
  // `fits` says whether a record may follow the last record of its thread in one batch.
  template <typename Fits>
  void Add(const Record& record, Fits fits) {
    if (last_ < batches_.size() && batches_[last_].thread_id == record.thread_id) {
      if (fits(batches_[last_].records.back(), record)) {
        batches_[last_].records.push_back(record);
        return;
      }
    } else if (const auto found = open_.find(record.thread_id); found != open_.end()) {
      if (fits(batches_[found->second].records.back(), record)) {
        last_ = found->second;
        batches_[last_].records.push_back(record);
        return;
      }
    }
    ThreadBatch<Record> batch{record.thread_id, {record}};
    batches_.push_back(std::move(batch));
    last_ = batches_.size() - 1;
    open_[record.thread_id] = last_;
  }

  const std::vector<ThreadBatch<Record>>& batches() const { return batches_; }
  void Clear() {
    batches_.clear();
    open_.clear();
    last_ = 0;
  }

 private:
  std::vector<ThreadBatch<Record>> batches_;
  std::unordered_map<uint64_t, size_t> open_;  // thread -> its latest batch
  size_t last_ = 0;
};

void WriteLaunches(Writer& packet, ColumnWriter& columns, const ThreadBatch<LaunchRecord>& launches) {
  namespace f = fields::LaunchBatch;
  const std::vector<LaunchRecord>& records = launches.records;
  Writer batch(packet, fields::Packet::kLaunchBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kThreadId, launches.thread_id);
  AddUnsigned(batch, f::kWindowId, records.front().window_id);
  columns.ProvingHostTimes(batch, {f::kBaseEnterMonotonicNs, f::kEnterUnitNs, f::kEnterDelta}, records,
                           &LaunchRecord::enter_monotonic_ns);
  AddUnsigned(batch, f::kBaseCorrelationId, records.front().correlation_id);
  columns.SignedDeltas(batch, f::kCorrelationDelta, records, &LaunchRecord::correlation_id,
                       records.front().correlation_id);
  columns.Plain(batch, f::kTrackIid, records, &LaunchRecord::track_iid);
  columns.Plain(batch, f::kSignatureIid, records, &LaunchRecord::signature_iid);
  columns.Plain(batch, f::kGraphExecId, records, &LaunchRecord::graph_exec_id);
  columns.Plain(batch, f::kResult, records, &LaunchRecord::result);
}

void WriteKernels(Writer& packet, ColumnWriter& columns, KernelTiming timing,
                  const std::vector<KernelRecord>& records) {
  namespace f = fields::KernelBatch;
  Writer batch(packet, fields::Packet::kKernelBatch);
  batch.add_uint64(f::kCount, records.size());
  batch.add_uint64(f::kTiming, static_cast<uint64_t>(timing));
  if (timing != KernelTiming::kMissing) {
    const bool has_end = timing != KernelTiming::kUnfinished;
    columns.Starts(batch, {f::kBaseStartNs, f::kStartUnitNs, f::kStartDelta}, records,
                   [has_end](const KernelRecord& kernel) {
                     return has_end ? SignedDifference(kernel.end_ns, kernel.start_ns) : int64_t{0};
                   });
    if (has_end) {
      const bool forward = timing == KernelTiming::kComplete;
      columns.DurationsByKey(batch, f::kDurationUnitNs, f::kDurationDelta, records, &KernelRecord::attributes_iid,
                             [forward](const KernelRecord& kernel) {
                               return forward ? kernel.end_ns - kernel.start_ns : kernel.start_ns - kernel.end_ns;
                             });
    }
  }
  AddUnsigned(batch, f::kBaseCorrelationId, records.front().correlation_id);
  columns.ProvingDeltas(batch, f::kCorrelationDelta, records, &KernelRecord::correlation_id);
  columns.Plain(batch, f::kTrackIid, records, &KernelRecord::track_iid);
  columns.Plain(batch, f::kAttributesIid, records, &KernelRecord::attributes_iid);
  columns.Plain(batch, f::kGraphId, records, &KernelRecord::graph_id);
  columns.SignedDeltas(batch, f::kGraphNodeDelta, records, &KernelRecord::graph_node_id, 0);
}

void WriteMemory(Writer& packet, ColumnWriter& columns, MemoryKind kind, const std::vector<MemoryRecord>& records) {
  namespace f = fields::MemoryBatch;
  Writer batch(packet, fields::Packet::kMemoryBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kKind, static_cast<uint64_t>(kind));
  columns.Starts(batch, {f::kBaseStartNs, f::kStartUnitNs, f::kStartDelta}, records,
                 [](const MemoryRecord& memory) { return ColumnWriter::ForwardDuration(memory); });
  columns.Durations(batch, f::kDurationUnitNs, f::kDuration, records,
                    [](const MemoryRecord& memory) { return ColumnWriter::ForwardDuration(memory); });
  AddUnsigned(batch, f::kBaseCorrelationId, records.front().correlation_id);
  columns.ProvingDeltas(batch, f::kCorrelationDelta, records, &MemoryRecord::correlation_id);
  columns.Plain(batch, f::kTrackIid, records, &MemoryRecord::track_iid);
  columns.Plain(batch, f::kSizeBytes, records, &MemoryRecord::size_bytes);
  columns.Plain(batch, f::kCopyKind, records, &MemoryRecord::copy_kind);
  columns.Plain(batch, f::kSourceMemoryKind, records, &MemoryRecord::source_memory_kind);
  columns.Plain(batch, f::kDestinationMemoryKind, records, &MemoryRecord::destination_memory_kind);
  columns.Plain(batch, f::kSourceDeviceId, records, &MemoryRecord::source_device_id);
  columns.Plain(batch, f::kDestinationDeviceId, records, &MemoryRecord::destination_device_id);
  columns.Plain(batch, f::kGraphId, records, &MemoryRecord::graph_id);
  columns.SignedDeltas(batch, f::kGraphNodeDelta, records, &MemoryRecord::graph_node_id, 0);
}

void WriteSynchronizations(Writer& packet, ColumnWriter& columns, const std::vector<SynchronizationRecord>& records) {
  namespace f = fields::SynchronizationBatch;
  Writer batch(packet, fields::Packet::kSynchronizationBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kBaseStartNs, records.front().start_ns);
  columns.ProvingDeltas(batch, f::kStartDeltaNs, records, &SynchronizationRecord::start_ns);
  columns.DurationsOfOneNanosecond(batch, f::kDurationNs, records);
  AddUnsigned(batch, f::kBaseCorrelationId, records.front().correlation_id);
  columns.SignedDeltas(batch, f::kCorrelationDelta, records, &SynchronizationRecord::correlation_id,
                       records.front().correlation_id);
  columns.Plain(batch, f::kType, records, &SynchronizationRecord::type);
  columns.Plain(batch, f::kTrackIid, records, &SynchronizationRecord::track_iid);
}

void WriteOverheads(Writer& packet, ColumnWriter& columns, const std::vector<OverheadRecord>& records) {
  namespace f = fields::OverheadBatch;
  Writer batch(packet, fields::Packet::kOverheadBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kBaseStartNs, records.front().start_ns);
  columns.ProvingDeltas(batch, f::kStartDeltaNs, records, &OverheadRecord::start_ns);
  columns.DurationsOfOneNanosecond(batch, f::kDurationNs, records);
  columns.Plain(batch, f::kKind, records, &OverheadRecord::kind);
  columns.Plain(batch, f::kThreadId, records, &OverheadRecord::thread_id);
}

void WriteApiCalls(Writer& packet, ColumnWriter& columns, const ThreadBatch<ApiCallRecord>& calls) {
  namespace f = fields::ApiCallBatch;
  const std::vector<ApiCallRecord>& records = calls.records;
  Writer batch(packet, fields::Packet::kApiCallBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kThreadId, calls.thread_id);
  AddUnsigned(batch, f::kBaseStartNs, records.front().start_ns);
  columns.ProvingDeltas(batch, f::kStartDeltaNs, records, &ApiCallRecord::start_ns);
  columns.DurationsOfOneNanosecond(batch, f::kDurationNs, records);
  AddUnsigned(batch, f::kBaseCorrelationId, records.front().correlation_id);
  columns.SignedDeltas(batch, f::kCorrelationDelta, records, &ApiCallRecord::correlation_id,
                       records.front().correlation_id);
  columns.Plain(batch, f::kFunctionIid, records, &ApiCallRecord::function_iid);
  columns.Plain(batch, f::kResult, records, &ApiCallRecord::result);
}

void WriteNvtxEvents(Writer& packet, ColumnWriter& columns, const ThreadBatch<NvtxEventRecord>& events) {
  namespace f = fields::NvtxEventBatch;
  const std::vector<NvtxEventRecord>& records = events.records;
  Writer batch(packet, fields::Packet::kNvtxEventBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kThreadId, events.thread_id);
  columns.ProvingHostTimes(batch, {f::kBaseMonotonicNs, f::kTimeUnitNs, f::kTimeDelta}, records,
                           &NvtxEventRecord::monotonic_ns);
  columns.Plain(batch, f::kKind, records, &NvtxEventRecord::kind);
  columns.Plain(batch, f::kDomainIid, records, &NvtxEventRecord::domain_iid);
  columns.Plain(batch, f::kNameIid, records, &NvtxEventRecord::name_iid);
  columns.Plain(batch, f::kRangeId, records, &NvtxEventRecord::range_id);
  columns.Plain(batch, f::kPayloadIid, records, &NvtxEventRecord::payload_iid);
}

// Not -0.0: as a whole number it would come back as 0.0.
bool IsWholeNumber(double value) {
  return value == std::trunc(value) && std::fabs(value) <= kMaxWholeNumber && !(value == 0 && std::signbit(value));
}

// Samples that one batch can hold: of one session, their ranges in order.
bool InOneBatch(const CounterSampleRecord& before, const CounterSampleRecord& next) {
  return before.session_id == next.session_id && before.group_iid == next.group_iid &&
         before.window_id == next.window_id && before.context_id == next.context_id &&
         before.values.size() == next.values.size() && before.range_order <= next.range_order;
}

// The columns of values. Most metrics count things: their whole numbers, as differences from the last sample of the
// same launch signature, take one to five bytes in place of eight.
class CounterValueWriter {
 public:
  void Write(Writer& batch, std::span<const CounterSampleRecord> samples) {
    namespace f = fields::CounterBatch;
    const size_t metric_count = samples.front().values.size();
    real_metrics_.clear();
    is_real_.assign(metric_count, false);
    for (size_t metric = 0; metric < metric_count; ++metric) {
      is_real_[metric] = !std::all_of(samples.begin(), samples.end(), [metric](const CounterSampleRecord& sample) {
        return IsWholeNumber(sample.values[metric]);
      });
      if (is_real_[metric]) real_metrics_.push_back(metric);
    }
    whole_.clear();
    real_.clear();
    last_.clear();
    const CounterSampleRecord* before = nullptr;
    for (const CounterSampleRecord& sample : samples) {
      const CounterSampleRecord*& last = last_[{sample.signature_iid, sample.graph_exec_id}];
      const CounterSampleRecord* reference = last != nullptr ? last : before;
      for (size_t metric = 0; metric < metric_count; ++metric) {
        if (is_real_[metric]) {
          real_.push_back(sample.values[metric]);
        } else {
          const int64_t base = reference == nullptr ? 0 : static_cast<int64_t>(reference->values[metric]);
          whole_.push_back(static_cast<int64_t>(sample.values[metric]) - base);
        }
      }
      last = &sample;
      before = &sample;
    }
    batch.add_uint64(f::kMetricCount, metric_count);
    AddPlain(batch, f::kRealMetric, real_metrics_);
    AddZigZag(batch, f::kIntegerValue, whole_);
    if (!real_.empty()) batch.add_packed_double(f::kRealValue, real_.begin(), real_.end());
  }

 private:
  std::vector<bool> is_real_;
  std::vector<uint64_t> real_metrics_;
  std::vector<int64_t> whole_;
  std::vector<double> real_;
  std::map<std::pair<uint64_t, uint64_t>, const CounterSampleRecord*> last_;  // by signature and graph
};

void WriteCounterSamples(Writer& packet, ColumnWriter& columns, const std::vector<CounterSampleRecord>& records) {
  namespace f = fields::CounterBatch;
  const CounterSampleRecord& first = records.front();
  Writer batch(packet, fields::Packet::kCounterBatch);
  batch.add_uint64(f::kCount, records.size());
  AddUnsigned(batch, f::kGroupIid, first.group_iid);
  AddUnsigned(batch, f::kSessionId, first.session_id);
  AddUnsigned(batch, f::kWindowId, first.window_id);
  AddUnsigned(batch, f::kContextId, first.context_id);
  columns.SignedHostTimes(batch, {f::kBaseEnterMonotonicNs, f::kEnterUnitNs, f::kEnterDelta}, records,
                          &CounterSampleRecord::enter_monotonic_ns);
  AddUnsigned(batch, f::kBaseCorrelationId, first.correlation_id);
  columns.SignedDeltas(batch, f::kCorrelationDelta, records, &CounterSampleRecord::correlation_id,
                       first.correlation_id);
  columns.Plain(batch, f::kThreadId, records, &CounterSampleRecord::thread_id);
  columns.Plain(batch, f::kSignatureIid, records, &CounterSampleRecord::signature_iid);
  columns.Plain(batch, f::kGraphExecId, records, &CounterSampleRecord::graph_exec_id);
  AddUnsigned(batch, f::kBaseRangeOrder, first.range_order);
  columns.RisingDeltas(batch, f::kRangeOrderDelta, records, &CounterSampleRecord::range_order);
  columns.Plain(batch, f::kFlags, records, &CounterSampleRecord::flags);
  columns.Plain(batch, f::kLaunchNumber, records, &CounterSampleRecord::launch_number);
  // The columns of values prove the count.
  CounterValueWriter().Write(batch, records);
}

// --------------------------------------------------------------------------------------------------- frame

// Keys of the four fields that make up a frame's head: their bytes are what a reader looks for.
constexpr char Key(uint32_t field, protozero::pbf_wire_type type) {
  return static_cast<char>((field << 3) | static_cast<uint32_t>(type));
}
constexpr char kFrameKey = Key(fields::Trace::kFrame, protozero::pbf_wire_type::length_delimited);
constexpr char kMagicKey = Key(fields::Frame::kMagic, protozero::pbf_wire_type::fixed32);
constexpr char kChecksumKey = Key(fields::Frame::kChecksum, protozero::pbf_wire_type::fixed64);
constexpr char kPacketKey = Key(fields::Frame::kPacket, protozero::pbf_wire_type::length_delimited);
static_assert(kFrameKey == 0x0A && kMagicKey == 0x0D && kChecksumKey == 0x11 && kPacketKey == 0x1A);

// A varint of always 5 bytes (35 bits), so that the head has one length.
char* PutPaddedVarint(char* at, uint64_t value) {
  for (int i = 0; i < 4; ++i, value >>= 7) *at++ = static_cast<char>((value & 0x7f) | 0x80);
  *at++ = static_cast<char>(value & 0x7f);
  return at;
}

char* PutLittleEndian(char* at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) *at++ = static_cast<char>(value & 0xff);
  return at;
}

// Bytes of a frame between its own length and the packet: magic, checksum, the packet's key and length.
constexpr size_t kFrameLengthEnd = 1 + 5;
static_assert(kFrameHeadBytes == kFrameLengthEnd + (1 + 4) + (1 + 8) + (1 + 5));

// `frame` holds kFrameHeadBytes of space and the packet behind them.
void PutFrameHead(std::string& frame) {
  const std::string_view packet = std::string_view(frame).substr(kFrameHeadBytes);
  char* at = frame.data();
  *at++ = kFrameKey;
  at = PutPaddedVarint(at, frame.size() - kFrameLengthEnd);
  *at++ = kMagicKey;
  at = PutLittleEndian(at, kFrameMagic, 4);
  *at++ = kChecksumKey;
  at = PutLittleEndian(at, Checksum(packet), 8);
  *at++ = kPacketKey;
  PutPaddedVarint(at, packet.size());
}

}  // namespace

struct TraceEncoder::Impl {
  // Fields of the packet, already encoded: those that come before the batches, and those that come after.
  std::string definitions_bytes;
  std::string samples_bytes;
  Writer definitions{definitions_bytes};
  Writer samples{samples_bytes};
  // The last one set is the one written.
  std::optional<std::string> stats;

  ThreadBatches<LaunchRecord> launches;
  std::array<std::vector<KernelRecord>, kKernelTimingCount> kernels;  // by timing class - 1
  std::map<MemoryKind, std::vector<MemoryRecord>> memory;
  std::vector<SynchronizationRecord> synchronizations;
  std::vector<OverheadRecord> overheads;
  ThreadBatches<ApiCallRecord> api_calls;
  ThreadBatches<NvtxEventRecord> nvtx_events;
  std::vector<std::vector<CounterSampleRecord>> counter_samples;  // each fits a batch
  size_t record_bytes = 0;                                        // estimate of all batches

  uint64_t sequence = 0;
  ColumnWriter columns;
  std::string frame;

  void WriteBatches(Writer& packet) {
    for (const auto& batch : launches.batches()) WriteLaunches(packet, columns, batch);
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (!kernels[i].empty()) WriteKernels(packet, columns, static_cast<KernelTiming>(i + 1), kernels[i]);
    }
    for (const auto& [kind, records] : memory) WriteMemory(packet, columns, kind, records);
    if (!synchronizations.empty()) WriteSynchronizations(packet, columns, synchronizations);
    if (!overheads.empty()) WriteOverheads(packet, columns, overheads);
    for (const auto& batch : api_calls.batches()) WriteApiCalls(packet, columns, batch);
    for (const auto& batch : nvtx_events.batches()) WriteNvtxEvents(packet, columns, batch);
    for (const auto& batch : counter_samples) WriteCounterSamples(packet, columns, batch);
  }

  void Clear() {
    definitions_bytes.clear();
    samples_bytes.clear();
    stats.reset();
    launches.Clear();
    for (auto& records : kernels) records.clear();
    memory.clear();
    synchronizations.clear();
    overheads.clear();
    api_calls.Clear();
    nvtx_events.Clear();
    counter_samples.clear();
    record_bytes = 0;
  }
};

TraceEncoder::TraceEncoder() : impl_(std::make_unique<Impl>()) {}
TraceEncoder::~TraceEncoder() = default;

void TraceEncoder::SetHeader(const HeaderRecord& header) {
  namespace f = fields::Header;
  AddMessage(impl_->definitions, fields::Packet::kHeader, [&](Writer& message) {
    AddUnsigned(message, f::kFormatMajor, kFormatMajor);
    AddUnsigned(message, f::kFormatMinor, kFormatMinor);
    AddBytes(message, f::kGpuexecVersion, header.gpuexec_version);
    AddBytes(message, f::kSourceRevision, header.source_revision);
    // An empty argument is an argument.
    for (const std::string& argument : header.command_line) AddElement(message, f::kCommandLine, argument);
    AddBytes(message, f::kExecutablePath, header.executable_path);
    AddBytes(message, f::kHostName, header.host_name);
    AddUnsigned(message, f::kPid, header.pid);
    AddUnsigned(message, f::kParentPid, header.parent_pid);
    AddUnsigned(message, f::kPidNamespace, header.pid_namespace);
    AddSettings(message, f::kRankVariable, header.rank_variables);
    AddSettings(message, f::kConfiguration, header.configuration);
    AddUnsigned(message, f::kCudaDriverApiVersion, header.cuda_driver_api_version);
    AddBytes(message, f::kDriverVersion, header.driver_version);
    AddUnsigned(message, f::kCuptiApiVersion, header.cupti_api_version);
    AddBytes(message, f::kCuptiPath, header.cupti_path);
    AddBytes(message, f::kLibcudaPath, header.libcuda_path);
    AddUnsigned(message, f::kKernelRecordVersion, header.kernel_record_version);
    AddBytes(message, f::kKernelRelease, header.kernel_release);
    AddBytes(message, f::kMachine, header.machine);
    AddMessage(message, f::kStart, [&](Writer& start) { FillClockPair(start, header.start); });
    for (const uint32_t trap : header.cupti_traps) message.add_uint64(f::kCuptiTrap, trap);
  });
}

void TraceEncoder::SetTrailer(uint32_t reason, const ClockPairRecord& end) {
  AddMessage(impl_->definitions, fields::Packet::kTrailer, [&](Writer& message) {
    AddUnsigned(message, fields::Trailer::kReason, reason);
    AddMessage(message, fields::Trailer::kEnd, [&](Writer& pair) { FillClockPair(pair, end); });
  });
}

void TraceEncoder::AddName(uint64_t iid, std::string_view value) {
  AddMessage(impl_->definitions, fields::Packet::kName, [&](Writer& message) {
    AddUnsigned(message, fields::Name::kIid, iid);
    AddBytes(message, fields::Name::kValue, value);
  });
}

void TraceEncoder::AddDevice(const DeviceRecord& device) {
  namespace f = fields::Device;
  AddMessage(impl_->definitions, fields::Packet::kDevice, [&](Writer& message) {
    AddUnsigned(message, f::kDeviceId, device.device_id);
    AddBytes(message, f::kName, device.name);
    AddBytes(message, f::kUuid, device.uuid);
    AddBytes(message, f::kPciBusId, device.pci_bus_id);
    AddUnsigned(message, f::kTotalMemoryBytes, device.total_memory_bytes);
    if (!device.attributes.empty()) {
      AddMessage(message, f::kAttributes, [&](Writer& attributes) {
        for (const auto& [field, value] : device.attributes) {
          // Every attribute has presence. A field number of 0 would make the whole packet unreadable.
          if (field != 0) attributes.add_uint64(field, value);
        }
      });
    }
    AddOptional(message, f::kMigEnabled, device.mig_enabled);
    AddOptional(message, f::kMpsEnabled, device.mps_enabled);
    AddOptional(message, f::kVirtualizationMode, device.virtualization_mode);
    AddOptional(message, f::kMaxSmClockHz, device.max_sm_clock_hz);
    AddOptional(message, f::kMaxMemoryClockHz, device.max_memory_clock_hz);
    AddOptional(message, f::kPowerLimitMilliwatts, device.power_limit_milliwatts);
    AddOptional(message, f::kEccEnabled, device.ecc_enabled);
  });
}

void TraceEncoder::AddContext(const ContextRecord& context) {
  namespace f = fields::Context;
  AddMessage(impl_->definitions, fields::Packet::kContext, [&](Writer& message) {
    AddUnsigned(message, f::kContextId, context.context_id);
    AddUnsigned(message, f::kDeviceId, context.device_id);
    AddUnsigned(message, f::kCreatedMonotonicNs, context.created_monotonic_ns);
    AddOptional(message, f::kDestroyedMonotonicNs, context.destroyed_monotonic_ns);
  });
}

void TraceEncoder::AddThread(uint64_t thread_id, std::string_view name) {
  AddMessage(impl_->definitions, fields::Packet::kThread, [&](Writer& message) {
    AddUnsigned(message, fields::Thread::kThreadId, thread_id);
    AddBytes(message, fields::Thread::kName, name);
  });
}

void TraceEncoder::AddTrack(const TrackRecord& track) {
  namespace f = fields::Track;
  AddMessage(impl_->definitions, fields::Packet::kTrack, [&](Writer& message) {
    AddUnsigned(message, f::kIid, track.iid);
    AddUnsigned(message, f::kDeviceId, track.device_id);
    AddUnsigned(message, f::kContextId, track.context_id);
    AddOptional(message, f::kStreamId, track.stream_id);
  });
}

void TraceEncoder::AddModule(const ModuleRecord& module) {
  namespace f = fields::Module;
  AddMessage(impl_->definitions, fields::Packet::kModule, [&](Writer& message) {
    AddUnsigned(message, f::kModuleId, module.module_id);
    AddUnsigned(message, f::kCubinBytes, module.cubin_bytes);
    AddFixed(message, f::kCubinHash, module.cubin_hash);
    AddUnsigned(message, f::kLoadedMonotonicNs, module.loaded_monotonic_ns);
    AddOptional(message, f::kUnloadedMonotonicNs, module.unloaded_monotonic_ns);
  });
}

void TraceEncoder::AddFunction(const FunctionRecord& function) {
  namespace f = fields::Function;
  AddMessage(impl_->definitions, fields::Packet::kFunction, [&](Writer& message) {
    AddUnsigned(message, f::kIid, function.iid);
    AddUnsigned(message, f::kNameIid, function.name_iid);
    if (function.code_hash) message.add_fixed64(f::kCodeHash, *function.code_hash);
    AddOptional(message, f::kModuleId, function.module_id);
    AddFlag(message, f::kCodeAmbiguous, function.code_ambiguous);
    if (!function.attributes) return;
    const FunctionAttributesRecord& known = *function.attributes;
    AddMessage(message, f::kAttributes, [&](Writer& attributes) {
      namespace a = fields::FunctionAttributes;
      AddUnsigned(attributes, a::kResult, known.result);
      AddUnsigned(attributes, a::kRegistersPerThread, known.registers_per_thread);
      AddUnsigned(attributes, a::kStaticSharedMemoryBytes, known.static_shared_memory_bytes);
      AddUnsigned(attributes, a::kConstantMemoryBytes, known.constant_memory_bytes);
      AddUnsigned(attributes, a::kLocalMemoryPerThreadBytes, known.local_memory_per_thread_bytes);
      AddUnsigned(attributes, a::kMaxThreadsPerBlock, known.max_threads_per_block);
      AddUnsigned(attributes, a::kPtxVersion, known.ptx_version);
      AddUnsigned(attributes, a::kBinaryVersion, known.binary_version);
      AddUnsigned(attributes, a::kMaxDynamicSharedMemoryBytes, known.max_dynamic_shared_memory_bytes);
      AddSigned(attributes, a::kPreferredSharedMemoryCarveout, known.preferred_shared_memory_carveout);
      AddFlag(attributes, a::kClusterSizeMustBeSet, known.cluster_size_must_be_set);
      AddDim3(attributes, a::kRequiredClusterX, known.required_cluster);
      AddFlag(attributes, a::kNonPortableClusterSizeAllowed, known.non_portable_cluster_size_allowed);
    });
  });
}

void TraceEncoder::AddSignature(const SignatureRecord& signature) {
  namespace f = fields::Signature;
  AddMessage(impl_->definitions, fields::Packet::kSignature, [&](Writer& message) {
    AddUnsigned(message, f::kIid, signature.iid);
    AddUnsigned(message, f::kFunctionIid, signature.function_iid);
    AddUnsigned(message, f::kDeviceId, signature.device_id);
    AddDim3(message, f::kGridX, signature.grid);
    AddDim3(message, f::kBlockX, signature.block);
    AddDim3(message, f::kClusterX, signature.cluster);
    AddUnsigned(message, f::kDynamicSharedMemoryBytes, signature.dynamic_shared_memory_bytes);
    AddFlag(message, f::kCooperative, signature.cooperative);
    AddFlag(message, f::kProgrammatic, signature.programmatic);
    AddFlag(message, f::kGraphNode, signature.graph_node);
    AddDim3(message, f::kPreferredClusterX, signature.preferred_cluster);
    AddOptional(message, f::kPreferredSharedMemoryCarveout, signature.preferred_shared_memory_carveout);
    if (!signature.driver_occupancy) return;
    AddMessage(message, f::kDriverOccupancy, [&](Writer& occupancy) {
      namespace o = fields::DriverOccupancy;
      AddUnsigned(occupancy, o::kResult, signature.driver_occupancy->result);
      AddUnsigned(occupancy, o::kMaxActiveBlocksPerMultiprocessor,
                  signature.driver_occupancy->max_active_blocks_per_multiprocessor);
    });
  });
}

void TraceEncoder::AddKernelAttributes(const KernelAttributesRecord& attributes) {
  namespace f = fields::KernelAttributes;
  AddMessage(impl_->definitions, fields::Packet::kKernelAttributes, [&](Writer& message) {
    AddUnsigned(message, f::kIid, attributes.iid);
    AddUnsigned(message, f::kNameIid, attributes.name_iid);
    AddDim3(message, f::kGridX, attributes.grid);
    AddDim3(message, f::kBlockX, attributes.block);
    AddDim3(message, f::kClusterX, attributes.cluster);
    AddUnsigned(message, f::kRegistersPerThread, attributes.registers_per_thread);
    AddUnsigned(message, f::kStaticSharedMemoryBytes, attributes.static_shared_memory_bytes);
    AddUnsigned(message, f::kDynamicSharedMemoryBytes, attributes.dynamic_shared_memory_bytes);
    AddUnsigned(message, f::kSharedMemoryExecutedBytes, attributes.shared_memory_executed_bytes);
    AddOptional(message, f::kSharedMemoryCarveoutRequested, attributes.shared_memory_carveout_requested);
    AddUnsigned(message, f::kCacheConfigRequested, attributes.cache_config_requested);
    AddUnsigned(message, f::kCacheConfigExecuted, attributes.cache_config_executed);
    AddUnsigned(message, f::kLocalMemoryPerThreadBytes, attributes.local_memory_per_thread_bytes);
    AddUnsigned(message, f::kLocalMemoryTotalBytes, attributes.local_memory_total_bytes);
    AddUnsigned(message, f::kLaunchType, attributes.launch_type);
    AddUnsigned(message, f::kChannelType, attributes.channel_type);
    AddFlag(message, f::kDeviceLaunched, attributes.device_launched);
    AddUnsigned(message, f::kMaxPotentialClusterSize, attributes.max_potential_cluster_size);
    AddUnsigned(message, f::kMaxActiveClusters, attributes.max_active_clusters);
    AddUnsigned(message, f::kSharedMemoryLimitConfig, attributes.shared_memory_limit_config);
  });
}

void TraceEncoder::AddNvtxDomain(uint64_t iid, std::string_view name) {
  AddMessage(impl_->definitions, fields::Packet::kNvtxDomain, [&](Writer& message) {
    AddUnsigned(message, fields::NvtxDomain::kIid, iid);
    AddBytes(message, fields::NvtxDomain::kName, name);
  });
}

void TraceEncoder::AddGraphNode(const GraphNodeRecord& node) {
  namespace f = fields::GraphNode;
  AddMessage(impl_->definitions, fields::Packet::kGraphNode, [&](Writer& message) {
    AddUnsigned(message, f::kNodeId, node.node_id);
    AddUnsigned(message, f::kOriginalNodeId, node.original_node_id);
    AddUnsigned(message, f::kGraphId, node.graph_id);
    AddOptional(message, f::kNodeType, node.node_type);
    AddUnsigned(message, f::kSignatureIid, node.signature_iid);
    AddUnsigned(message, f::kThreadId, node.thread_id);
    AddUnsigned(message, f::kCreatedMonotonicNs, node.created_monotonic_ns);
    AddFlag(message, f::kUpdated, node.updated);
  });
}

void TraceEncoder::AddGraphExec(const GraphExecRecord& exec) {
  namespace f = fields::GraphExec;
  AddMessage(impl_->definitions, fields::Packet::kGraphExec, [&](Writer& message) {
    AddUnsigned(message, f::kGraphExecId, exec.graph_exec_id);
    AddUnsigned(message, f::kGraphId, exec.graph_id);
    AddUnsigned(message, f::kCreatedMonotonicNs, exec.created_monotonic_ns);
    AddUnsigned(message, f::kKernelNodeCount, exec.kernel_node_count);
    AddFlag(message, f::kHasConditionalNodes, exec.has_conditional_nodes);
    AddUnsigned(message, f::kUndescribedNodeCount, exec.undescribed_node_count);
  });
}

void TraceEncoder::AddWindow(const WindowRecord& window) {
  namespace f = fields::Window;
  AddMessage(impl_->definitions, fields::Packet::kWindow, [&](Writer& message) {
    AddUnsigned(message, f::kWindowId, window.window_id);
    AddUnsigned(message, f::kKind, static_cast<uint64_t>(window.kind));
    AddUnsigned(message, f::kBeginMonotonicNs, window.begin_monotonic_ns);
    AddOptional(message, f::kEndMonotonicNs, window.end_monotonic_ns);
    AddUnsigned(message, f::kSwitchCostNs, window.switch_cost_ns);
  });
}

void TraceEncoder::AddRecordGap(const RecordGapRecord& gap) {
  namespace f = fields::RecordGap;
  AddMessage(impl_->definitions, fields::Packet::kRecordGap, [&](Writer& message) {
    AddUnsigned(message, f::kGapId, gap.gap_id);
    AddUnsigned(message, f::kBeginMonotonicNs, gap.begin_monotonic_ns);
    AddOptional(message, f::kEndMonotonicNs, gap.end_monotonic_ns);
    AddUnsigned(message, f::kKernelCount, gap.kernel_count);
    for (const std::string& client : gap.clients) AddElement(message, f::kClient, client);
  });
}

void TraceEncoder::AddCounterGroup(const CounterGroupRecord& group) {
  namespace f = fields::CounterGroup;
  AddMessage(impl_->definitions, fields::Packet::kCounterGroup, [&](Writer& message) {
    AddUnsigned(message, f::kIid, group.iid);
    AddBytes(message, f::kName, group.name);
    AddUnsigned(message, f::kKind, static_cast<uint64_t>(group.kind));
    AddUnsigned(message, f::kDeviceId, group.device_id);
    AddBytes(message, f::kChip, group.chip);
    for (const std::string& metric : group.metrics) AddElement(message, f::kMetric, metric);
    AddFlag(message, f::kSpare, group.spare);
  });
}

void TraceEncoder::AddCounterPlan(const CounterPlanRecord& plan) {
  namespace f = fields::CounterPlan;
  AddMessage(impl_->definitions, fields::Packet::kCounterPlan, [&](Writer& message) {
    AddUnsigned(message, f::kDeviceId, plan.device_id);
    AddBytes(message, f::kRequested, plan.requested);
    AddBytes(message, f::kChip, plan.chip);
    AddPlain(message, f::kGroupIid, plan.group_iids);
    for (const DroppedMetricRecord& dropped : plan.dropped) {
      AddMessage(message, f::kDropped, [&](Writer& metric) {
        AddBytes(metric, fields::DroppedMetric::kName, dropped.name);
        AddUnsigned(metric, fields::DroppedMetric::kReason, static_cast<uint64_t>(dropped.reason));
        AddBytes(metric, fields::DroppedMetric::kText, dropped.text);
      });
    }
    AddFlag(message, f::kFailed, plan.failed);
    AddUnsigned(message, f::kPlanningNs, plan.planning_ns);
  });
}

void TraceEncoder::AddCounterSession(const CounterSessionRecord& session) {
  namespace f = fields::CounterSession;
  AddMessage(impl_->definitions, fields::Packet::kCounterSession, [&](Writer& message) {
    AddUnsigned(message, f::kSessionId, session.session_id);
    AddUnsigned(message, f::kWindowId, session.window_id);
    AddUnsigned(message, f::kContextId, session.context_id);
    AddUnsigned(message, f::kGroupIid, session.group_iid);
    AddUnsigned(message, f::kBeginMonotonicNs, session.begin_monotonic_ns);
    AddOptional(message, f::kEndMonotonicNs, session.end_monotonic_ns);
    AddUnsigned(message, f::kOutcome, static_cast<uint64_t>(session.outcome));
    AddUnsigned(message, f::kCuptiResult, session.cupti_result);
    AddUnsigned(message, f::kRangeCount, session.range_count);
    AddUnsigned(message, f::kPushNs, session.push_ns);
    AddUnsigned(message, f::kPopNs, session.pop_ns);
    AddUnsigned(message, f::kIdleWaitNs, session.idle_wait_ns);
    AddUnsigned(message, f::kCompletionWaitNs, session.completion_wait_ns);
    AddUnsigned(message, f::kEnableNs, session.enable_ns);
    AddUnsigned(message, f::kStartNs, session.start_ns);
    AddUnsigned(message, f::kStopNs, session.stop_ns);
    AddUnsigned(message, f::kDecodeNs, session.decode_ns);
    AddUnsigned(message, f::kDisableNs, session.disable_ns);
  });
}

void TraceEncoder::AddCounterSample(const CounterSampleRecord& sample) {
  if (sample.values.empty()) return;
  // A session's samples come together: no search for an older batch.
  auto& batches = impl_->counter_samples;
  if (batches.empty() || !InOneBatch(batches.back().back(), sample)) batches.emplace_back();
  batches.back().push_back(sample);
  impl_->record_bytes += kCounterSampleBytes + kCounterValueBytes * sample.values.size();
}

void TraceEncoder::AddLaunch(const LaunchRecord& launch) {
  impl_->launches.Add(launch, [](const LaunchRecord& before, const LaunchRecord& next) {
    return before.window_id == next.window_id && before.enter_monotonic_ns <= next.enter_monotonic_ns;
  });
  impl_->record_bytes += kLaunchBytes;
}

void TraceEncoder::AddKernel(const KernelRecord& kernel) {
  impl_->kernels[static_cast<size_t>(TimingOf(kernel)) - 1].push_back(kernel);
  impl_->record_bytes += kKernelBytes;
}

void TraceEncoder::AddMemory(const MemoryRecord& memory) {
  impl_->memory[memory.kind].push_back(memory);
  impl_->record_bytes += kMemoryBytes;
}

void TraceEncoder::AddSynchronization(const SynchronizationRecord& synchronization) {
  impl_->synchronizations.push_back(synchronization);
  impl_->record_bytes += kOtherRecordBytes;
}

void TraceEncoder::AddOverhead(const OverheadRecord& overhead) {
  impl_->overheads.push_back(overhead);
  impl_->record_bytes += kOtherRecordBytes;
}

void TraceEncoder::AddApiFunction(const ApiFunctionRecord& function) {
  namespace f = fields::ApiFunction;
  AddMessage(impl_->definitions, fields::Packet::kApiFunction, [&](Writer& message) {
    AddUnsigned(message, f::kIid, function.iid);
    AddUnsigned(message, f::kDomain, static_cast<uint64_t>(function.domain));
    AddUnsigned(message, f::kCbid, function.cbid);
    AddBytes(message, f::kName, function.name);
  });
}

void TraceEncoder::AddApiCall(const ApiCallRecord& call) {
  impl_->api_calls.Add(call, [](const ApiCallRecord&, const ApiCallRecord&) { return true; });
  impl_->record_bytes += kOtherRecordBytes;
}

void TraceEncoder::AddNvtxEvent(const NvtxEventRecord& event) {
  impl_->nvtx_events.Add(event, [](const NvtxEventRecord& before, const NvtxEventRecord& next) {
    return before.monotonic_ns <= next.monotonic_ns;
  });
  impl_->record_bytes += kOtherRecordBytes;
}

void TraceEncoder::AddDeviceSample(const DeviceSampleRecord& sample) {
  namespace f = fields::DeviceSample;
  AddMessage(impl_->samples, fields::Packet::kDeviceSample, [&](Writer& message) {
    AddUnsigned(message, f::kDeviceId, sample.device_id);
    AddUnsigned(message, f::kMonotonicNs, sample.monotonic_ns);
    AddOptional(message, f::kSmClockHz, sample.sm_clock_hz);
    AddOptional(message, f::kMemoryClockHz, sample.memory_clock_hz);
    AddOptional(message, f::kPowerMilliwatts, sample.power_milliwatts);
    AddOptional(message, f::kTemperatureCelsius, sample.temperature_celsius);
    AddOptional(message, f::kThrottleReasonsMask, sample.throttle_reasons_mask);
  });
}

void TraceEncoder::AddClockPair(const ClockPairRecord& pair) {
  AddMessage(impl_->samples, fields::Packet::kClockPair, [&](Writer& message) { FillClockPair(message, pair); });
}

void TraceEncoder::SetStats(const SelfStats& stats) {
  std::string bytes;
  Writer message(bytes);
  for (uint32_t id = 1; id < SelfStats::kSize; ++id) {
    const uint64_t value = stats.Get(static_cast<StatId>(id));
    if (value == 0) continue;
    AddMessage(message, fields::Stats::kCounter, [&](Writer& counter) {
      AddUnsigned(counter, fields::Stats_Counter::kId, id);
      AddUnsigned(counter, fields::Stats_Counter::kValue, value);
    });
  }
  impl_->stats = std::move(bytes);
}

void TraceEncoder::AddDiagnostic(StatId stat, std::string_view text) {
  AddMessage(impl_->samples, fields::Packet::kDiagnostic, [&](Writer& message) {
    AddUnsigned(message, fields::Diagnostic::kStat, static_cast<uint64_t>(stat));
    AddBytes(message, fields::Diagnostic::kText, text);
  });
}

void TraceEncoder::AddKernelSummary(const KernelSummaryRecord& summary) {
  namespace f = fields::KernelSummary;
  AddMessage(impl_->samples, fields::Packet::kKernelSummary, [&](Writer& message) {
    AddUnsigned(message, f::kAttributesIid, summary.attributes_iid);
    AddUnsigned(message, f::kDeviceId, summary.device_id);
    AddUnsigned(message, f::kCount, summary.count);
    AddUnsigned(message, f::kTotalNs, summary.total_ns);
    AddUnsigned(message, f::kMinNs, summary.min_ns);
    AddUnsigned(message, f::kMaxNs, summary.max_ns);
    AddUnsigned(message, f::kBeginNs, summary.begin_ns);
    AddUnsigned(message, f::kEndNs, summary.end_ns);
    // Pairs, not columns of a batch: both lists are written whole.
    std::vector<uint64_t> buckets;
    std::vector<uint64_t> counts;
    for (const auto& [bucket, count] : summary.buckets) {
      buckets.push_back(bucket);
      counts.push_back(count);
    }
    AddPlain(message, f::kBucket, buckets);
    AddPlain(message, f::kBucketCount, counts);
  });
}

void TraceEncoder::AddLaunchSummary(uint64_t signature_iid, uint64_t count) {
  AddMessage(impl_->samples, fields::Packet::kLaunchSummary, [&](Writer& message) {
    AddUnsigned(message, fields::LaunchSummary::kSignatureIid, signature_iid);
    AddUnsigned(message, fields::LaunchSummary::kCount, count);
  });
}

void TraceEncoder::AddCounterAccess(const CounterAccessRecord& access) {
  namespace f = fields::CounterAccess;
  AddMessage(impl_->samples, fields::Packet::kCounterAccess, [&](Writer& message) {
    AddUnsigned(message, f::kDeviceId, access.device_id);
    AddUnsigned(message, f::kState, static_cast<uint64_t>(access.state));
    AddUnsigned(message, f::kCuptiResult, access.cupti_result);
    AddUnsigned(message, f::kMonotonicNs, access.monotonic_ns);
    AddBytes(message, f::kText, access.text);
  });
}

void TraceEncoder::AddCounterDenial(const CounterDenialRecord& denial) {
  namespace f = fields::CounterDenial;
  AddMessage(impl_->samples, fields::Packet::kCounterDenial, [&](Writer& message) {
    AddUnsigned(message, f::kFunctionIid, denial.function_iid);
    AddUnsigned(message, f::kReason, static_cast<uint64_t>(denial.reason));
    AddUnsigned(message, f::kMonotonicNs, denial.monotonic_ns);
    AddBytes(message, f::kDetail, denial.detail);
    AddUnsigned(message, f::kContextId, denial.context_id);
    AddUnsigned(message, f::kGraphExecId, denial.graph_exec_id);
  });
}

void TraceEncoder::AddDevicePeaks(const DevicePeaksRecord& peaks) {
  namespace f = fields::DevicePeaks;
  AddMessage(impl_->samples, fields::Packet::kDevicePeaks, [&](Writer& message) {
    AddUnsigned(message, f::kDeviceId, peaks.device_id);
    AddUnsigned(message, f::kMonotonicNs, peaks.monotonic_ns);
    for (const DevicePeakRecord& known : peaks.peaks) {
      AddMessage(message, f::kPeak, [&](Writer& peak) {
        namespace p = fields::DevicePeaks_Peak;
        AddBytes(peak, p::kMetric, known.metric);
        AddDouble(peak, p::kValue, known.value);
        AddBytes(peak, p::kClockMetric, known.clock_metric);
        if (known.clock_hz) peak.add_double(p::kClockHz, *known.clock_hz);
      });
    }
  });
}

void TraceEncoder::AddWindowClocks(const WindowClocksRecord& clocks) {
  namespace f = fields::WindowClocks;
  AddMessage(impl_->samples, fields::Packet::kWindowClocks, [&](Writer& message) {
    AddUnsigned(message, f::kWindowId, clocks.window_id);
    AddUnsigned(message, f::kDeviceId, clocks.device_id);
    AddOptional(message, f::kSmClockHz, clocks.sm_clock_hz);
    AddOptional(message, f::kL2ClockHz, clocks.l2_clock_hz);
    AddOptional(message, f::kMemoryClockHz, clocks.memory_clock_hz);
    AddOptional(message, f::kThrottleReasonsMask, clocks.throttle_reasons_mask);
    AddUnsigned(message, f::kReadingCount, clocks.reading_count);
  });
}

size_t TraceEncoder::PendingBytes() const {
  return impl_->definitions_bytes.size() + impl_->samples_bytes.size() + (impl_->stats ? impl_->stats->size() + 1 : 0) +
         impl_->record_bytes;
}

std::string_view TraceEncoder::FinishFrame() {
  Impl& impl = *impl_;
  impl.frame.clear();
  if (PendingBytes() == 0) return {};

  impl.frame.append(kFrameHeadBytes, '\0');
  {
    Writer packet(impl.frame);
    AddUnsigned(packet, fields::Packet::kSequence, impl.sequence);
    impl.frame.append(impl.definitions_bytes);
    impl.WriteBatches(packet);
    if (impl.stats) packet.add_message(fields::Packet::kStats, *impl.stats);
    impl.frame.append(impl.samples_bytes);
  }
  PutFrameHead(impl.frame);
  ++impl.sequence;
  impl.Clear();
  return impl.frame;
}

}  // namespace gx::inject
