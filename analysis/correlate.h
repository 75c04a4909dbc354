// Joins launches with the kernels that they ran, while both stream by. Memory holds only what still waits for its other
// half: a launch until its kernel came (a graph launch until all kernels of its replay came, and a little longer), a
// kernel until its launch came. Owned by one importer; one thread.
//
// Key: CUPTI's correlation id. It has 32 bits and may come again in a long run; where several launches wait under one
// id, a kernel belongs to the latest that was entered before the kernel started (by the clock map).
#ifndef GPUEXEC_ANALYSIS_CORRELATE_H_
#define GPUEXEC_ANALYSIS_CORRELATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "analysis/clock_map.h"

namespace gx::analysis {

inline constexpr uint32_t kNone = UINT32_MAX;

struct LaunchFacts {
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  // 0: not known.
  uint64_t window_id = 0;
  // Index in the model; kNone: a graph launch, or parameters that could not be read.
  uint32_t signature = kNone;
  // Index in the model; kNone: a kernel launch.
  uint32_t graph_exec = kNone;
  // NVTX ranges that were open: NvtxRanges' path.
  uint32_t nvtx_path = 0;
  // Graph launches: kernels that the replay runs at least, and at most. A most of kNone: the graph is not known.
  uint32_t min_kernel_count = 0;
  uint32_t max_kernel_count = kNone;
  // Made while kernel records were on.
  bool timed = true;
  bool is_graph() const { return graph_exec != kNone; }
  bool is_graph_known() const { return max_kernel_count != kNone; }
};

struct KernelFacts {
  // CUPTI's clock; 0, 0: not timed.
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t graph_node_id = 0;
  // Indexes in the model, kNone: unknown.
  uint32_t track = kNone;
  uint32_t attributes = kNone;
  // Of gpuexec.v1.KernelBatch.Timing.
  uint32_t timing = 0;
};

class JoinSink {
 public:
  virtual ~JoinSink() = default;
  // Once for every kernel. launch: nullptr where none was found.
  virtual void OnJoinedKernel(const KernelFacts& kernel, const LaunchFacts* launch) = 0;
  // Once for every launch, when nothing more is expected of it. kernel_count: kernels that were joined to it.
  virtual void OnSettledLaunch(const LaunchFacts& launch, uint32_t kernel_count) = 0;
};

class LaunchKernelJoin {
 public:
  // A launch is given up for want of its kernel when so many others wait (about 100 bytes each). Programs run at most
  // some thousands of launches ahead of the device, and CUPTI holds back a buffer of some ten thousand kernels a
  // thread.
  static constexpr size_t kMaxWaitingLaunches = size_t{1} << 21;
  static constexpr size_t kMaxWaitingKernels = size_t{1} << 20;
  // Launches that wait under one id. Two are possible (an id comes again after 2^32 calls); a trace in which many share
  // one is damaged, and must not make each choice take longer.
  static constexpr uint32_t kMaxWaitingUnderOneId = 64;
  // A kernel is given up for want of its launch when kernels have started that much later than when it came. Launch
  // records reach the file before the timings of their kernels as a rule. Below DeviceTimeline::kWindowNs, so that an
  // orphan can still be put in order.
  static constexpr uint64_t kKernelPatienceNs = 1'000'000'000;
  // How long a replay is kept, in trace time, after all kernels that it may run have come (a further one is then known
  // as one too many), and after those have come that it runs for certain.
  static constexpr uint64_t kCompleteReplayPatienceNs = 1'000'000'000;
  static constexpr uint64_t kSufficientReplayPatienceNs = 10'000'000'000;
  // Error of the clock map that is allowed for when an id came again.
  static constexpr uint64_t kClockSlackNs = 1'000'000;

  LaunchKernelJoin(JoinSink* sink, const ClockMap* clocks) : sink_(sink), clocks_(clocks) {}

  void AddLaunch(const LaunchFacts& launch);
  void AddKernel(const KernelFacts& kernel);
  // Settles what still waits.
  void Finish();

  size_t waiting_launch_count() const { return launches_.used; }
  size_t waiting_kernel_count() const { return kernels_.used; }
  // Launches that found another one waiting under their id.
  uint64_t repeated_id_count() const { return repeated_id_count_; }

 private:
  // A slab of entries, linked by age (to give up the oldest) and by bucket (to find those of a correlation id).
  template <typename Facts>
  struct Entry {
    Facts facts;
    uint64_t arrival_ns = 0;
    uint32_t next_in_bucket = kNone;
    uint32_t older = kNone;
    uint32_t newer = kNone;
    uint32_t kernel_count = 0;
    // Another one waited under this id when it came, or came while it waited.
    bool repeated = false;
    // Never used twice; 0: the entry is free.
    uint64_t serial = 0;
  };
  // Found by id through buckets of their own, not a general hash map: ids of one run come in about ascending order, so
  // neighbours among ids are kept neighbours among buckets, which saves the cache misses that dominated an import.
  template <typename Facts>
  struct Waiting {
    struct Bucket {
      uint32_t first = kNone;
      uint32_t last = kNone;
    };
    std::vector<Entry<Facts>> entries;
    std::vector<uint32_t> free;
    // A power of two, at least twice as many as there are entries in use. Those of a bucket are in order of arrival.
    std::vector<Bucket> buckets;
    uint32_t oldest = kNone;
    uint32_t newest = kNone;
    size_t used = 0;
    uint64_t last_serial = 0;

    // The entry's index.
    uint32_t Insert(const Facts& facts, uint64_t arrival_ns);
    void Remove(uint32_t index);
    // The first that came of those under this id, and the one that came after `index` under the same id; kNone: none.
    uint32_t Find(uint64_t correlation_id) const;
    uint32_t NextOfSameId(uint32_t index) const;

   private:
    Bucket& BucketOf(uint64_t correlation_id);
    uint32_t SkipTo(uint32_t index, uint64_t correlation_id) const;
    void Append(uint32_t index);
    void Grow();
  };

  uint32_t ChooseLaunch(uint32_t first, const KernelFacts& kernel) const;
  // Gives the kernel to the launch; removes the launch when it is complete. Returns whether it is still there.
  bool Join(uint32_t launch_index, const KernelFacts& kernel);
  // Notes which of its kernels a replay has; it is let go some time later.
  void NoteReplay(uint32_t launch_index);
  void LetReplaysGo();
  void GiveUpLaunch(uint32_t index);
  void GiveUpKernel(uint32_t index);

  JoinSink* sink_;
  const ClockMap* clocks_;
  Waiting<LaunchFacts> launches_;
  Waiting<KernelFacts> kernels_;
  // Replays that nothing more is expected of, in the order in which they are let go. Entries may be stale.
  struct Leaving {
    uint32_t launch_index = kNone;
    uint64_t serial = 0;
    uint64_t after_ns = 0;
  };
  std::deque<Leaving> complete_replays_;
  std::deque<Leaving> sufficient_replays_;
  uint64_t newest_start_ns_ = 0;
  uint64_t repeated_id_count_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CORRELATE_H_
