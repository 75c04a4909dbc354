// A trace file as plain rows, for tests: every interned id resolved. Read with the protobuf library and the comments of
// trace.proto alone, not with analysis/, so that a fault there cannot hide one in inject/.
//
//   const TraceView trace = ReadTrace(path);
//   ASSERT_TRUE(trace.exists);
//   EXPECT_EQ(trace.kernels.size(), 1000);
#ifndef GPUEXEC_TESTS_E2E_TRACE_VIEW_H_
#define GPUEXEC_TESTS_E2E_TRACE_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpuexec/v1/trace.pb.h"
#include "inject/record.h"

namespace gx::e2e {

struct LaunchRow {
  inject::LaunchRecord record;
  gpuexec::v1::Track track;
  // Unset fields where the launch has no signature.
  gpuexec::v1::Signature signature;
  std::string name;
};

struct KernelRow {
  inject::KernelRecord record;
  gpuexec::v1::KernelBatch::Timing timing = gpuexec::v1::KernelBatch::TIMING_UNSPECIFIED;
  gpuexec::v1::Track track;
  gpuexec::v1::KernelAttributes attributes;
  std::string name;
};

struct MemoryRow {
  inject::MemoryRecord record;
  gpuexec::v1::Track track;
};

struct NvtxRow {
  inject::NvtxEventRecord record;
  std::string domain;
  std::string text;
  std::string payload;
};

struct TraceView {
  bool exists = false;
  // Bytes after the last whole frame.
  uint64_t cut_bytes = 0;
  uint64_t frame_count = 0;
  // Frames whose number was not the one before plus one.
  uint64_t sequence_gaps = 0;

  gpuexec::v1::Header header;
  std::optional<gpuexec::v1::Trailer> trailer;
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, gpuexec::v1::Device> devices;
  std::map<uint64_t, gpuexec::v1::Context> contexts;
  std::map<uint64_t, gpuexec::v1::Module> modules;
  std::map<uint64_t, gpuexec::v1::Function> functions;
  std::map<uint64_t, gpuexec::v1::Signature> signatures;
  std::map<uint64_t, gpuexec::v1::GraphExec> graph_execs;
  std::map<uint64_t, gpuexec::v1::Window> windows;
  // As defined last.
  std::map<uint64_t, gpuexec::v1::RecordGap> record_gaps;
  // All definitions, in file order.
  std::vector<gpuexec::v1::GraphNode> graph_nodes;
  std::vector<gpuexec::v1::DeviceSample> device_samples;
  std::vector<gpuexec::v1::ClockPair> clock_pairs;
  std::vector<gpuexec::v1::KernelSummary> kernel_summaries;
  // Hardware counters.
  std::map<uint64_t, gpuexec::v1::CounterGroup> counter_groups;
  std::vector<gpuexec::v1::CounterPlan> counter_plans;
  std::map<uint64_t, gpuexec::v1::CounterSession> counter_sessions;
  std::vector<inject::CounterSampleRecord> counter_samples;
  std::vector<gpuexec::v1::CounterAccess> counter_access;
  std::vector<gpuexec::v1::CounterDenial> counter_denials;
  std::vector<gpuexec::v1::DevicePeaks> device_peaks;
  std::map<gpuexec::v1::StatId, uint64_t> stats;
  // Texts of all diagnostics, a line each.
  std::string diagnostics;

  std::vector<LaunchRow> launches;  // Kernel launches.
  std::vector<LaunchRow> graph_launches;
  std::vector<KernelRow> kernels;
  std::vector<MemoryRow> memory;
  std::vector<inject::SynchronizationRecord> synchronizations;
  std::vector<inject::OverheadRecord> overheads;
  std::vector<inject::ApiCallRecord> api_calls;
  std::map<uint64_t, gpuexec::v1::ApiFunction> api_functions;
  std::map<uint64_t, std::string> thread_names;
  std::vector<NvtxRow> nvtx;

  // 0 where it is not in the trace.
  uint64_t Stat(gpuexec::v1::StatId id) const;
  // Counters of severity data loss or error that are not zero, by name.
  std::vector<std::string> Complaints() const;
  // What a replay at that time ran at a node: its last definition before, or its original's. Empty: undescribed.
  std::optional<gpuexec::v1::Signature> NodeSignature(uint64_t node_id, uint64_t at_monotonic_ns) const;
  std::string FunctionName(uint64_t function_iid) const;
};

TraceView ReadTrace(const std::string& path);

}  // namespace gx::e2e

#endif  // GPUEXEC_TESTS_E2E_TRACE_VIEW_H_
