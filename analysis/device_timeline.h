// Puts the work of one device into order of start, and decides from that order what needs it: which kernels overlapped
// another, which was the first after a module load, and how long the device was busy (a union of intervals, so that
// programmatic launches and parallel streams are not counted twice). Owned by one importer; one thread.
//
// CUPTI delivers buffers out of order between threads and streams. Items are held until kWindowNs of trace time or
// kMaxHeld items have passed, then released in order. An item that comes later than that is given kLate: it counts as a
// call, and is neither clean nor part of the busy time.
#ifndef GPUEXEC_ANALYSIS_DEVICE_TIMELINE_H_
#define GPUEXEC_ANALYSIS_DEVICE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gx::analysis {

struct TimelineItem {
  // CUPTI's clock.
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  // The importer's own, passed through.
  uint32_t cell = 0;
  uint32_t signature = 0;
  // Copies and fills: they count as busy time and never as overlap.
  bool is_copy = false;
  // A copy to the host; a node of a graph.
  bool is_copy_to_host = false;
  bool is_graph_node = false;
  // The importer's own, too.
  uint32_t lane = 0;
  // Entry of its launch call, CLOCK_MONOTONIC. 0: not known.
  uint64_t launch_monotonic_ns = 0;
};

enum class TimelineClass { kAlone, kOverlapped, kLate };

class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  // Kernels only, in order of start (but for late ones). `first_after_load`: no kernel ran on this device since a
  // module was loaded.
  virtual void OnOrderedKernel(const TimelineItem& kernel, TimelineClass timeline_class, bool first_after_load) = 0;
};

class GapSink {
 public:
  virtual ~GapSink() = default;
  // Nothing ran from before.end_ns to after.start_ns. In order of time; items that came late fill no gap.
  virtual void OnGap(const TimelineItem& before, const TimelineItem& after) = 0;
};

class DeviceTimeline {
 public:
  static constexpr uint64_t kWindowNs = 2'000'000'000;
  // 4 Mi items of 40 bytes: 160 MiB a device at most, twice that while they are sorted; a device reaches that only
  // beyond 2 million kernels a second.
  static constexpr size_t kMaxHeld = size_t{1} << 22;
  // Below so many, waiting for more costs less than sorting.
  static constexpr size_t kMinBatch = size_t{1} << 14;

  // Without `gaps` nobody is told of them.
  explicit DeviceTimeline(TimelineSink* sink, GapSink* gaps = nullptr) : sink_(sink), gaps_(gaps) {}

  void Add(const TimelineItem& item);
  // CUPTI's clock; in any order.
  void AddModuleLoad(uint64_t loaded_ns) { module_loads_.push_back(loaded_ns); }
  // Releases everything. Add may not follow.
  void Finish();

  // After Finish.
  uint64_t kernel_busy_ns() const { return kernels_.busy_ns; }
  uint64_t copy_busy_ns() const { return copies_.busy_ns; }
  // Of kernels or copies.
  uint64_t busy_ns() const { return all_.busy_ns; }
  // Of the first and last work, late items included; 0, 0: none.
  uint64_t first_start_ns() const { return any_ ? first_start_ns_ : 0; }
  uint64_t last_end_ns() const { return last_end_ns_; }
  uint64_t late_count() const { return late_count_; }

 private:
  struct Union {
    uint64_t busy_ns = 0;
    uint64_t end_ns = 0;
    void Add(uint64_t start_ns, uint64_t end_ns_in);
  };
  void SortHeld();
  void Release(size_t count);
  void Sweep(const TimelineItem& item);
  void Decide(TimelineClass timeline_class);
  bool TakeModuleLoad(uint64_t start_ns);

  TimelineSink* sink_;
  GapSink* gaps_;
  std::vector<TimelineItem> held_;
  // Of SortHeld; kept for their memory.
  std::vector<TimelineItem> merged_;
  std::vector<size_t> run_ends_;
  // held_[0, sorted_) is in order.
  size_t sorted_ = 0;
  size_t next_sort_ = kMinBatch;
  uint64_t newest_start_ns_ = 0;
  // Start of the last item released.
  uint64_t released_ns_ = 0;
  bool any_ = false;
  bool any_released_ = false;
  uint64_t first_start_ns_ = UINT64_MAX;
  uint64_t last_end_ns_ = 0;
  uint64_t late_count_ = 0;
  Union kernels_;
  Union copies_;
  Union all_;
  // What ended last of what was swept.
  TimelineItem last_;
  // The one kernel that may still turn out to be overlapped: were there two, they would have overlapped each other.
  bool has_candidate_ = false;
  bool candidate_first_after_load_ = false;
  TimelineItem candidate_;
  std::vector<uint64_t> module_loads_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_DEVICE_TIMELINE_H_
