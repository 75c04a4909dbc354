// Columnar batches of a trace -> records, one at a time. Pure and total: any batch that protobuf could parse is decoded
// as far as it makes sense, the rest is counted and named. No allocation beyond an error's text, 16 bytes for each
// distinct attributes_iid of kernels, and the values of the last sample of each signature; any thread.
//
// Rules (gpuexec/v1/trace.proto): a column of `count` elements holds one value a record, a column of one element the
// same value for all, an empty one zero. A delta column has `count` elements or none. A kernel's duration is told as
// the difference from the record before with the same attributes_iid.
//
//   DecodedBatch decoded = ForEachKernel(batch, [&](const KernelRow& row) { total_ns += row.duration_ns; });
//   if (!decoded.problem.ok()) lost += decoded.lost_count;
#ifndef GPUEXEC_ANALYSIS_COLUMNS_H_
#define GPUEXEC_ANALYSIS_COLUMNS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

// A batch in which no column has `count` elements could claim any count in a few bytes; more than so many are refused.
// (Real ones are single records: two launches never share a correlation id.)
inline constexpr uint64_t kMaxConstantRecords = 4096;
// A group of counters has at most so many metrics.
inline constexpr uint64_t kMaxCounterMetrics = 4096;

struct DecodedBatch {
  // Records that were visited.
  uint64_t record_count = 0;
  // Records that the batch claims and that could not be decoded. Above zero exactly where `problem` is not ok.
  uint64_t lost_count = 0;
  // DataLoss; names the message, the column, what was expected and what is there.
  absl::Status problem;
};

struct LaunchRow {
  uint64_t thread_id = 0;
  uint64_t window_id = 0;
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t signature_iid = 0;
  uint64_t graph_exec_id = 0;
  uint64_t result = 0;
};

struct KernelRow {
  gpuexec::v1::KernelBatch::Timing timing = gpuexec::v1::KernelBatch::TIMING_UNSPECIFIED;
  // CUPTI's clock. 0 where `timing` says that it is not known (TIMING_MISSING; end and duration of TIMING_UNFINISHED).
  uint64_t start_ns = 0;
  // start + duration; TIMING_INVALID: start - duration.
  uint64_t end_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t attributes_iid = 0;
  uint64_t graph_id = 0;
  uint64_t graph_node_id = 0;
};

struct MemoryRow {
  gpuexec::v1::MemoryBatch::Kind kind = gpuexec::v1::MemoryBatch::KIND_UNSPECIFIED;
  uint64_t start_ns = 0;
  // Equal to start_ns where the end is not known.
  uint64_t end_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t size_bytes = 0;
  uint64_t copy_kind = 0;
  uint64_t source_memory_kind = 0;
  uint64_t destination_memory_kind = 0;
  uint64_t source_device_id = 0;
  uint64_t destination_device_id = 0;
  uint64_t graph_id = 0;
  uint64_t graph_node_id = 0;
};

struct SynchronizationRow {
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t type = 0;
  uint64_t track_iid = 0;
};

struct OverheadRow {
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t kind = 0;
  uint64_t thread_id = 0;
};

struct ApiCallRow {
  uint64_t thread_id = 0;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t function_iid = 0;
  // CUresult or cudaError_t.
  uint64_t result = 0;
};

struct NvtxEventRow {
  uint64_t thread_id = 0;
  uint64_t monotonic_ns = 0;
  // Unknown values are kept as they are.
  uint64_t kind = 0;
  uint64_t domain_iid = 0;
  uint64_t name_iid = 0;
  uint64_t range_id = 0;
  uint64_t payload_iid = 0;
};

struct CounterSampleRow {
  uint64_t group_iid = 0;
  uint64_t session_id = 0;
  uint64_t window_id = 0;
  uint64_t context_id = 0;
  uint64_t thread_id = 0;
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t signature_iid = 0;
  uint64_t graph_exec_id = 0;
  uint64_t range_order = 0;
  uint64_t launch_number = 0;
  // Bits of CounterBatch.Flag.
  uint64_t flags = 0;
  // In the order of the group's metrics; NaN: unavailable. Valid during the visit.
  absl::Span<const double> values;
};

struct DurationBucketRow {
  // Bucket b holds durations in [2^(b/8), 2^((b+1)/8)) ns.
  uint64_t bucket = 0;
  uint64_t count = 0;
};

// Each visits the records in batch order. Columns of a wrong length refuse the whole batch before the first visit. A
// time without a sign or a duration that leaves the 64-bit range ends it at that record; differences with a sign
// (starts and ids) are taken modulo 2^64, as the writer makes them.
DecodedBatch ForEachLaunch(const gpuexec::v1::LaunchBatch& batch, absl::FunctionRef<void(const LaunchRow&)> visit);
DecodedBatch ForEachKernel(const gpuexec::v1::KernelBatch& batch, absl::FunctionRef<void(const KernelRow&)> visit);
DecodedBatch ForEachMemory(const gpuexec::v1::MemoryBatch& batch, absl::FunctionRef<void(const MemoryRow&)> visit);
DecodedBatch ForEachSynchronization(const gpuexec::v1::SynchronizationBatch& batch,
                                    absl::FunctionRef<void(const SynchronizationRow&)> visit);
DecodedBatch ForEachOverhead(const gpuexec::v1::OverheadBatch& batch,
                             absl::FunctionRef<void(const OverheadRow&)> visit);
DecodedBatch ForEachApiCall(const gpuexec::v1::ApiCallBatch& batch, absl::FunctionRef<void(const ApiCallRow&)> visit);
DecodedBatch ForEachNvtxEvent(const gpuexec::v1::NvtxEventBatch& batch,
                              absl::FunctionRef<void(const NvtxEventRow&)> visit);
// Refused as a whole, too, where the columns of values do not hold exactly the elements that count and metric_count ask
// for. What metrics they are is for the caller to know, and whether metric_count is their number.
DecodedBatch ForEachCounterSample(const gpuexec::v1::CounterBatch& batch,
                                  absl::FunctionRef<void(const CounterSampleRow&)> visit);
// `bucket` and `bucket_count` of one summary; record_count counts buckets.
DecodedBatch ForEachDurationBucket(const gpuexec::v1::KernelSummary& summary,
                                   absl::FunctionRef<void(const DurationBucketRow&)> visit);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COLUMNS_H_
