// Kernel records -> what each launch took and whether the time is clean, for the choice of what to sample
// (sampling_needs.h). Approximate on purpose, at a few steps a record: what a report says of times is decided by the
// analyzer, over all records.
//
// Not clean: the first kWarmUpLaunches of a signature; what starts within kSwitchMarginNs after a window opened, or
// ends within it before it closed; what overlapped another kernel of its device, as far as the kNeighbours records
// before it show (a kernel is judged again while it is the last; records come about in the order of their ends, so that
// a long kernel beside many short ones leaves the earliest of those clean).
//
// The kernels of a graph launch count together, under the graph's key. They may overlap each other.
//
// Pure; one thread.
#ifndef GPUEXEC_INJECT_TIMED_LAUNCHES_H_
#define GPUEXEC_INJECT_TIMED_LAUNCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "inject/record.h"

namespace gx::inject {

struct TimedKernel {
  uint64_t key = 0;  // SamplingKey, or GraphSamplingKey where graph_id is not 0.
  uint32_t device_id = 0;
  uint32_t graph_id = 0;  // Of the executable graph; 0: a launch of its own.
  uint64_t correlation_id = 0;
  uint64_t start_ns = 0;  // CUPTI's clock.
  uint64_t end_ns = 0;
};

struct LaunchTime {
  uint64_t key = 0;
  uint64_t duration_ns = 0;  // Of a graph launch: the sum of its kernels.
  bool clean = false;
};

class TimedLaunches {
 public:
  // As trace_model.h counts warm-up.
  static constexpr uint8_t kWarmUpLaunches = 3;
  // Clocks and caches after a change of windows, which leaves the device idle for up to 0.5 s: a guess, generous beside
  // kernels and short beside windows.
  static constexpr uint64_t kSwitchMarginNs = 5'000'000;
  static constexpr size_t kNeighbours = 16;
  // Signatures whose launches are counted; those beyond are taken as warm.
  static constexpr size_t kMaxSignatures = 16384;
  static constexpr size_t kMaxOpenGraphs = 256;

  // The two clocks at one moment: the latest reading counts.
  void SetClocks(uint64_t cupti_ns, uint64_t monotonic_ns);
  // A timing window, by the monotonic clock; again with its end when it closes.
  void SetWindow(const WindowRecord& window);
  // Appends to `times` what is settled by it; records without times are for nobody.
  void Add(const TimedKernel& kernel, std::vector<LaunchTime>* times);
  // Settles all kernels, as at the end of a buffer, so that few launches need not wait for more; the last launch of
  // each graph stays open, as its kernels may go on in the next buffer.
  void Settle(std::vector<LaunchTime>* times);

 private:
  struct Neighbour {
    TimedKernel kernel;
    bool used = false;
    bool settled = false;
    bool overlapped = false;
  };
  struct Device {
    std::array<Neighbour, kNeighbours> neighbours;
    size_t next = 0;
  };
  struct OpenGraph {
    uint64_t key = 0;
    uint64_t correlation_id = 0;
    uint64_t sum_ns = 0;
    bool clean = true;
  };

  bool NextToSwitch(const TimedKernel& kernel) const;
  bool IsWarm(uint64_t key);
  void SettleOne(Neighbour* neighbour, std::vector<LaunchTime>* times);
  void SettleGraph(const OpenGraph& graph, std::vector<LaunchTime>* times);

  // Windows by CUPTI's clock are these, plus offset_ns_ (modulo 2^64).
  struct Window {
    uint64_t id = 0;
    uint64_t begin_ns = 0;
    uint64_t end_ns = UINT64_MAX;
  };
  // The last few: records of a window come up to a second after its end.
  std::array<Window, 4> windows_;
  size_t next_window_ = 0;
  bool clocks_known_ = false;
  uint64_t offset_ns_ = 0;
  std::unordered_map<uint32_t, Device> devices_;
  std::unordered_map<uint64_t, uint8_t> launches_;  // By key, up to kWarmUpLaunches.
  std::unordered_map<uint32_t, OpenGraph> graphs_;  // By graph id.
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_TIMED_LAUNCHES_H_
