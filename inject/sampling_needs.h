// How many samples of which counter group each launch signature still needs. Memory is taken once; what does not fit is
// counted and never sampled.
//
// Threads: Find, Wants and Record may be called by any thread, inside launch callbacks: no lock, no allocation, a
// bounded number of steps. AddTime, SetTensorActive, Graduate and GiveUp are single writes and may come from any
// thread. Rank and Summarise belong to one thread, the one that runs the schedule. The order of those calls alone
// decides every answer: no clock, no chance.
#ifndef GPUEXEC_INJECT_SAMPLING_NEEDS_H_
#define GPUEXEC_INJECT_SAMPLING_NEEDS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "inject/checksum.h"
#include "inject/counter_sets.h"
#include "inject/record.h"

namespace gx::inject {

// Groups of one plan; more are not collected.
inline constexpr uint32_t kMaxSampledGroups = 32;

// What a launch callback and CUPTI's kernel record both know of a launch, so that times find their way to it. Two
// functions of one name fall together, which costs samples of one of them and nothing else.
struct SamplingKeyParts {
  uint64_t name_hash = 0;
  uint32_t device_id = 0;
  Dim3 grid;
  Dim3 block;
  // 0, 0, 0 in keys that launches and records are to share: a launch shows no cluster where the function itself
  // requires one, and its record shows that one.
  Dim3 cluster;
  uint32_t dynamic_shared_memory_bytes = 0;
};

// Of a kernel's mangled name, as launch callbacks and records alike give it; cut where the function table cuts it.
// Never 0. Pure.
inline uint64_t SamplingNameHash(std::string_view mangled_name) noexcept {
  const uint64_t hash = Checksum(mangled_name.substr(0, 65536));
  return hash == 0 ? 1 : hash;
}

// Never 0. Pure.
uint64_t SamplingKey(const SamplingKeyParts& parts) noexcept;

// The key of a graph's launches, which are sampled as a whole. Never 0. Pure.
uint64_t GraphSamplingKey(uint32_t device_id, uint32_t graph_exec_id) noexcept;

enum class SampleOutcome : uint8_t {
  kValid,
  kFirstOfSession,  // Kept and flagged, but not one of those that are needed: an attempt that was used up, as a void
                    // one.
  kVoid,            // Nothing came of it.
};

class SamplingNeeds {
 public:
  struct Options {
    uint32_t capacity = 4096;        // Signatures.
    uint32_t functions = 16384;      // One more than the largest index of a function.
    uint32_t samples_per_group = 3;  // At most 255.
    uint32_t clean_timings = 20;     // That a signature should have before counters begin.
    double share_percent = 99;       // Of the GPU time that the sampled signatures must make up.
    uint32_t max_void_ranges = 8;    // In a row, of one signature and group: then that pair is given up.
    // Calls of Rank without a launch after which a signature is not waited for: twice as many as there were from its
    // first launch to its last one, in these limits. What only a program's beginning launched is not waited for long.
    uint32_t least_stale_ranks = 4;
    uint32_t stale_ranks = 20;
    // Patched code takes a time for every instruction (measured on an H200: 0.25 ns a warp's). Signatures that execute
    // so many times as many for their share of GPU time as the ranked ones together come after the others.
    double dear_factor = 4;
    // They do not wait for others that were not launched since the last Rank, nor where those make up less than this.
    double dear_waits_ratio = 0.005;
  };
  // What the schedule has to know of one group.
  struct GroupSummary {
    uint32_t signatures = 0;  // Whose turn it is, that are not done, and were launched lately.
    uint32_t ranges = 0;      // Samples that they lack.
    double share_ratio = 0;   // Of the GPU time known so far, or of late: the larger of each signature.
    bool given_up = false;
  };
  struct Summary {
    std::array<GroupSummary, kMaxSampledGroups> groups = {};
    uint32_t ranked = 0;     // Signatures in the top share.
    double timed_ratio = 0;  // Of the GPU time known so far: signatures with all their clean timings.
    // Of the launches that Find had seen at the last Rank, of signatures still launched: those of which any has been
    // timed. CUPTI 13.0 gathers records by the thread that launched: those of one thread come a buffer's time before
    // those of another.
    double timed_launch_ratio = 1;
    uint64_t known_time_ns = 0;
  };

  // Not called inside a callback. `kinds`: the groups in the order of collection. False: no memory, or groups beyond
  // kMaxSampledGroups (those are left out); the object then wants nothing, or not those.
  [[nodiscard]] bool Allocate(const Options& options, std::span<const GroupKind> kinds);
  // Once, where the groups are known only later: until then there are none, and times are gathered. Before any thread
  // is told of the first counter window.
  // `for_all`, as bits: tensor groups that hold other counters too, so that every signature is worth a sample.
  bool SetGroups(std::span<const GroupKind> kinds, uint32_t for_all = 0) noexcept;

  // ------------------------------------------------------------------------------------------- any thread, callbacks
  static constexpr uint32_t kNone = UINT32_MAX;
  // The signature's place; kNone: the table is full (counted). At most kMaxProbes steps.
  uint32_t Find(uint64_t key, uint32_t function) noexcept;
  // Whether a launch of the signature should be sampled with the group: it is among the signatures that make up the top
  // share, its rank is below `rank_limit`, and samples are missing. Patched code only for signatures that completed, of
  // functions that graduated, and of those that are dear with it once it is their turn; tensor groups only for
  // signatures whose tensor pipe was at work.
  bool Wants(uint32_t place, uint32_t group, uint32_t rank_limit = UINT32_MAX) const noexcept;
  // Whether the signature has completed in time under a hardware group, alone: its function may have done so for other
  // shapes, and wait for something with this one. Besides HasGraduated of the very function that is launched: two
  // functions of one name share a signature.
  bool HasCompleted(uint32_t place) const noexcept;
  // The same, whatever the signature's rank: for launches that are too rare to have one.
  bool Lacks(uint32_t place, uint32_t group) const noexcept;
  // What became of a range. Returns true when the group has all its samples of the signature now. A pair that is given
  // up by it is counted (STAT_COUNTER_GIVEN_UP).
  bool Record(uint32_t place, uint32_t group, SampleOutcome outcome) noexcept;

  // ------------------------------------------------------------------------------------------------ any thread
  // One timed launch. `clean`: next to no switch of windows, not one of the first, overlapped by no other.
  void AddTime(uint64_t key, uint64_t duration_ns, bool clean) noexcept;
  // What is known by now of its use of the tensor pipe (tensor_evidence.h).
  // `certain`, once it was said: whatever patched code may still tell.
  void SetTensorActive(uint32_t place, bool active = true, bool certain = false) noexcept;
  // A tensor group counted operations: what path the signature takes is known, and groups of which it has no sample yet
  // would count nothing.
  void SetTensorPathKnown(uint32_t place) noexcept;
  // Warp instructions that a launch of it executes, as hardware counters say.
  void SetWarpInstructions(uint32_t place, double count) noexcept;
  // The function completed in time under a hardware group, alone: patched code may be tried.
  void Graduate(uint32_t function) noexcept;
  bool HasGraduated(uint32_t function) const noexcept;
  // No more samples of the group, of the function.
  void GiveUpGroup(uint32_t group) noexcept;
  void GiveUpFunction(uint32_t function) noexcept;
  // Of the signature alone: graphs share indexes of functions.
  void GiveUp(uint32_t place) noexcept;

  // ------------------------------------------------------------------------------------------------ the schedule's
  // From the next Rank on: the share of GPU time that the signatures to be sampled make up.
  void SetSharePercent(double percent) noexcept { options_.share_percent = std::clamp(percent, 0.0, 100.0); }
  // Whether groups that are for all take signatures without tensor work now.
  void SetForAll(bool allowed) noexcept { for_all_allowed_.store(allowed, std::memory_order_relaxed); }
  // Puts the signatures into the order of their share of GPU time and picks those that make up the top share, of the
  // whole run so far or of the time since about eight calls ago: what comes late is picked at once and together.
  // Without any time known (timing off) launches stand for time. Meant to be called about four times a second. About n
  // log n steps; no allocation.
  void Rank() noexcept;
  // And decides whether signatures that are dear with patched code have their turn: none of the others waits for it.
  Summary Summarise() noexcept;
  // For Wants: the signatures ranked below it lack at most `ranges` samples of the group together (or are only one).
  uint32_t RankLimit(uint32_t group, uint32_t ranges) const noexcept;

  // Samples of the group that signatures of the top share lack, ready for it or to be so after a first sample of
  // another.
  uint32_t WillLack(uint32_t group) const noexcept;

  // One more than the largest place.
  uint32_t places() const noexcept { return places_ == nullptr ? 0 : mask_ + 1; }
  uint32_t signatures() const noexcept { return used_.load(std::memory_order_relaxed); }
  // Launches and timings of signatures that found no place.
  uint64_t without_place() const noexcept { return without_place_.load(std::memory_order_relaxed); }
  uint32_t group_count() const noexcept { return group_count_; }
  // The longest timed launch of the signature; 0: none is known.
  uint64_t LongestNs(uint32_t place) const noexcept;
  // The mean of its timed launches; 0: none is known.
  uint64_t MeanNs(uint32_t place) const noexcept;
  // For the trace: samples of a group so far.
  uint32_t Samples(uint32_t place, uint32_t group) const noexcept;

  static constexpr uint32_t kMaxProbes = 64;

 private:
  struct Pair {
    std::atomic<uint8_t> samples{0};
    std::atomic<uint8_t> voids{0};
  };
  struct Signature {
    std::atomic<uint64_t> key{0};  // 0: free.
    std::atomic<uint32_t> function{0};
    std::atomic<uint32_t> rank{UINT32_MAX};  // UINT32_MAX: not in the top share.
    std::atomic<uint64_t> launches{0};       // Seen by Find.
    std::atomic<uint64_t> timings{0};        // Seen by AddTime.
    std::atomic<uint64_t> time_ns{0};
    std::atomic<uint64_t> longest_ns{0};
    std::atomic<uint32_t> clean_timings{0};
    std::atomic<bool> completed{false};
    std::atomic<bool> given_up{false};
    std::atomic<bool> tensor_active{false};
    std::atomic<bool> tensor_certain{false};
    std::atomic<bool> tensor_path_known{false};
    std::atomic<bool> dear{false};  // With patched code.
    std::atomic<double> warp_instructions{0};
    std::array<Pair, kMaxSampledGroups> groups;
    // The schedule's: launches and timings at the last Rank, and calls of Rank since they changed.
    uint64_t seen = 0;
    uint32_t stale = 0;
    uint32_t first_rank = 0;  // In which it was seen, counted from 1; 0: in none.
    uint32_t last_rank = 0;
    uint64_t weight = 0;  // GPU time, or launches.
    double recent = 0;    // The same, fading.
    double gain = 0;      // Since the last Rank.
    bool in_top = false;
  };
  struct Ranked {
    double share_ratio = 0;
    uint32_t place = 0;
  };

  uint32_t FindPlace(uint64_t key) noexcept;
  bool Weigh(bool restart) noexcept;
  uint32_t SortAndCount() noexcept;
  static bool BySize(const Ranked& a, const Ranked& b) noexcept;
  uint8_t StateOf(const Signature& signature) const noexcept;
  bool IsGivenUp(const Signature& signature) const noexcept;
  // `anyhow`: whatever SetForAll says, and whether or not dear ones have their turn.
  bool IsReady(const Signature& signature, uint32_t group, bool anyhow = false) const noexcept;
  void MarkDear() noexcept;
  bool AnyOtherWaits(uint32_t group) const noexcept;
  bool IsStale(const Signature& signature) const noexcept;
  bool AwaitsPatchedCode(const Signature& signature) const noexcept;
  uint32_t Missing(const Signature& signature, uint32_t group) const noexcept;

  Options options_;
  std::array<GroupKind, kMaxSampledGroups> kinds_ = {};
  uint32_t group_count_ = 0;
  uint32_t for_all_ = 0;
  std::atomic<bool> for_all_allowed_{true};
  std::atomic<bool> dear_allowed_{false};
  uint32_t mask_ = 0;  // Of places; 0: none.
  std::unique_ptr<Signature[]> places_;
  std::unique_ptr<std::atomic<uint8_t>[]> functions_;
  // The schedule's: all signatures, the largest share first; the first ranked_ make up the top share.
  std::vector<Ranked> order_;
  uint32_t ranked_ = 0;
  uint32_t ranks_ = 0;  // Calls of Rank.
  uint64_t total_ = 0;
  double timed_launch_ratio_ = 1;
  bool by_time_ = false;
  std::atomic<uint32_t> given_up_groups_{0};
  std::atomic<uint32_t> used_{0};
  std::atomic<uint64_t> without_place_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_NEEDS_H_
