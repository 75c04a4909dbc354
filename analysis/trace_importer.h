// Packets -> TraceModel, in one pass and in memory that does not grow with the number of launches. Owned by one thread.
//
//   TraceImporter importer({});
//   while (*reader->Next(&packet)) importer.Import(packet);
//   TraceModel model = importer.Finish();
//
// Per kernel: columns -> LaunchKernelJoin (its launch) -> its signature and cell -> DeviceTimeline (order, overlap) ->
// the cell's statistics.
#ifndef GPUEXEC_ANALYSIS_TRACE_IMPORTER_H_
#define GPUEXEC_ANALYSIS_TRACE_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/clock_map.h"
#include "analysis/clock_step.h"
#include "analysis/correlate.h"
#include "analysis/counter_importer.h"
#include "analysis/device_timeline.h"
#include "analysis/graph_nodes.h"
#include "analysis/run_gaps.h"
#include "analysis/trace_model.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

struct ImportOptions {
  CellDimensions dimensions;
  // Kernels of further keys are kept together, without a key (TraceModel::cells_limited).
  size_t max_cells = size_t{1} << 20;
};

class TraceImporter : private JoinSink, private TimelineSink {
 public:
  explicit TraceImporter(const ImportOptions& options);
  TraceImporter(const TraceImporter&) = delete;
  TraceImporter& operator=(const TraceImporter&) = delete;

  void Import(const gpuexec::v1::Packet& packet);
  // Once, at the end.
  TraceModel Finish();

 private:
  // Diagnostics and reasons kept; more are counted.
  static constexpr size_t kMaxTexts = 100;

  void OnJoinedKernel(const KernelFacts& kernel, const LaunchFacts* launch) override;
  void OnSettledLaunch(const LaunchFacts& launch, uint32_t kernel_count) override;
  void OnOrderedKernel(const TimelineItem& kernel, TimelineClass timeline_class, bool first_after_load) override;

  void ImportApiCall(const ApiCallRow& row);
  void ImportDefinitions(const gpuexec::v1::Packet& packet);
  void ImportLaunches(const gpuexec::v1::LaunchBatch& batch);
  void ImportKernels(const gpuexec::v1::KernelBatch& batch);
  void ImportMemory(const gpuexec::v1::MemoryBatch& batch);
  void ImportCounters(const gpuexec::v1::CounterBatch& batch);
  void ImportSample(const gpuexec::v1::DeviceSample& sample);
  void ImportSummary(const gpuexec::v1::KernelSummary& summary);
  void NoteBatch(const DecodedBatch& decoded);
  void NoteHostTime(uint64_t monotonic_ns);
  void CountUndefined(absl::string_view what);
  bool IsOfCupti(const KernelFacts& kernel) const;

  uint32_t SignatureIndex(uint64_t iid);
  uint32_t ActivitySignature(uint32_t attributes, uint64_t device_id);
  uint32_t TrackIndex(uint64_t iid);
  uint32_t AttributesIndex(uint64_t iid);
  uint64_t DeviceOf(const KernelFacts& kernel, uint32_t signature) const;
  DeviceTimeline* TimelineOf(uint64_t device_id);
  uint32_t CellOf(const CellKey& key);
  uint32_t LaneOf(uint32_t track, const LaunchFacts* launch);
  // The last clean kernel of a track waits here until it is known whether a switch of windows follows it.
  struct Neighbour {
    uint64_t window_id = 0;
    // Of the last kernel in order; kNone: none.
    uint32_t signature = kNone;
    bool waiting = false;
    uint32_t cell = 0;
    uint64_t duration_ns = 0;
  };
  void Settle(Neighbour* neighbour, bool before_switch);
  void NoteNeighbours(uint32_t before, uint32_t after);
  // Where the device is not recorded, as spans of CUPTI's clock.
  std::vector<std::pair<uint64_t, uint64_t>> UntimedSpans() const;
  void NoteCountedGraphs();
  // Adds a signature's same_attributes_count to the model's table of pairs.
  void FlushAttributes(uint32_t signature);

  ImportOptions options_;
  TraceModel model_;
  // GPUEXEC_TIMING=off: no launch expects a kernel record.
  bool timing_off_ = false;
  CounterImporter counters_;
  ClockMap clocks_;
  ShortDurations short_durations_;
  // CUPTI's clock; UINT64_MAX: no summary.
  uint64_t summaries_begin_ns_ = UINT64_MAX;
  GraphNodes graph_nodes_;
  LaunchKernelJoin join_;
  // A device's timeline, and its idle time.
  class Activity : public GapSink {
   public:
    explicit Activity(TraceImporter* importer) : timeline(importer, this), importer_(importer) {}
    void OnGap(const TimelineItem& before, const TimelineItem& after) override;
    DeviceTimeline timeline;
    IdleGaps gaps;

   private:
    TraceImporter* importer_;
  };
  absl::flat_hash_map<uint64_t, std::unique_ptr<Activity>> timelines_;
  HostWaits host_waits_;
  // UntimedSpans() of so many windows; all of them after Finish began.
  std::vector<std::pair<uint64_t, uint64_t>> untimed_spans_;
  bool untimed_spans_stale_ = true;
  // Module id -> load time, to add each load once; and all of them for devices that appear later.
  absl::flat_hash_map<uint64_t, uint64_t> module_loads_;
  std::vector<uint64_t> module_load_cupti_ns_;
  DefinitionTable<gpuexec::v1::GraphExec> graph_execs_;
  IidIndex signature_by_iid_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint32_t> signature_by_attributes_;
  absl::flat_hash_map<CellKey, uint32_t> cell_by_key_;
  // By signature, where nothing else tells cells apart.
  std::vector<uint32_t> cell_by_signature_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint32_t> summary_by_key_;
  absl::flat_hash_map<uint64_t, uint32_t> capture_path_by_node_;
  // What a kernel's neighbours are told by: its track and its launch's window.
  struct Lane {
    uint32_t track = kNone;
    uint64_t window_id = 0;
    // The launch was made where no kernel records are expected.
    bool untimed = false;
    friend bool operator==(const Lane&, const Lane&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Lane& lane) {
      return H::combine(std::move(h), lane.track, lane.window_id, lane.untimed);
    }
  };
  std::vector<Lane> lanes_;
  uint32_t last_lane_ = 0;
  absl::flat_hash_map<Lane, uint32_t> lane_by_key_;
  // By track index plus 1; 0: the track is not known.
  std::vector<Neighbour> neighbours_;
  // The device of the record before, which is the next one's too as a rule.
  uint64_t last_device_id_ = 0;
  DeviceTimeline* last_timeline_ = nullptr;
};

// Reads a trace to its end. `progress` is called after each frame with the bytes read so far.
absl::StatusOr<TraceModel> ImportTrace(TraceReader* reader, const ImportOptions& options,
                                       absl::FunctionRef<void(uint64_t read_bytes, uint64_t size_bytes)> progress);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TRACE_IMPORTER_H_
