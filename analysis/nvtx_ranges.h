// NVTX events -> the ranges that were open on a thread at a given time. A set of open ranges is a path ("step >
// forward"); paths are interned, so a lookup gives one number. Owned by one importer; one thread.
//
// A pushed range is open on its thread until its pop. A started range (nvtxRangeStart) belongs to the process and may
// end on another thread; it counts as open on the thread that started it.
#ifndef GPUEXEC_ANALYSIS_NVTX_RANGES_H_
#define GPUEXEC_ANALYSIS_NVTX_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "analysis/columns.h"

namespace gx::analysis {

class NvtxRanges {
 public:
  // Changes remembered for each thread (16 bytes each): what is looked up lies at most some seconds back.
  static constexpr size_t kMaxHistory = size_t{1} << 20;
  // Distinct paths ("step 1", "step 2", ... in a long run); beyond them the path ends at the range outside.
  static constexpr size_t kMaxPaths = size_t{1} << 20;
  static constexpr size_t kMaxDepth = 256;
  static constexpr uint32_t kNoRange = 0;

  // Events of one thread come in the order of their calls.
  void Add(const NvtxEventRow& event);

  // kNoRange: no range was open, or the thread is unknown. The trace's times have a step: a range that opened on the
  // same one is open, and so is one that closed on it. (A launch takes longer than a step, so what closed there closed
  // after it, unless another range was opened in between.)
  uint32_t PathAt(uint64_t thread_id, uint64_t monotonic_ns) const;

  // (domain iid, name iid) of the ranges of a path, outermost first.
  std::vector<std::pair<uint64_t, uint64_t>> Ranges(uint32_t path) const;

  uint64_t event_count() const { return event_count_; }
  // Ranges that could not be opened (kMaxPaths, kMaxDepth); pops and ends that matched no range.
  uint64_t unopened_count() const { return unopened_count_; }
  uint64_t unmatched_count() const { return unmatched_count_; }

 private:
  // All changes of one time.
  struct Change {
    uint64_t monotonic_ns = 0;
    // At that very time: after the last opening, before what closed then.
    uint32_t path_then = kNoRange;
    uint32_t path_after = kNoRange;
  };
  struct Open {
    uint64_t domain_iid = 0;
    uint64_t name_iid = 0;
    // Started ranges; 0: pushed.
    uint64_t range_id = 0;
    bool pushed = false;
  };
  struct ThreadState {
    std::vector<Open> open;
    // Pushes beyond kMaxDepth, whose pops must not close another range.
    uint64_t unopened_push_count = 0;
    // By time.
    std::vector<Change> history;
  };
  struct Step {
    uint32_t parent = kNoRange;
    uint64_t domain_iid = 0;
    uint64_t name_iid = 0;
    uint32_t depth = 0;
    template <typename H>
    friend H AbslHashValue(H h, const Step& step) {
      return H::combine(std::move(h), step.parent, step.domain_iid, step.name_iid);
    }
    friend bool operator==(const Step& a, const Step& b) {
      return a.parent == b.parent && a.domain_iid == b.domain_iid && a.name_iid == b.name_iid;
    }
  };

  void OpenRange(ThreadState* thread, const NvtxEventRow& event, bool pushed);
  void Note(ThreadState* thread, uint64_t monotonic_ns, bool opened);
  uint32_t InternPath(const std::vector<Open>& open);

  absl::flat_hash_map<uint64_t, ThreadState> threads_;
  absl::flat_hash_map<uint64_t, uint64_t> thread_by_range_;
  absl::flat_hash_map<Step, uint32_t> path_by_step_;
  // Path p is steps_[p - 1] below steps_[p - 1].parent.
  std::vector<Step> steps_;
  uint64_t event_count_ = 0;
  uint64_t unopened_count_ = 0;
  uint64_t unmatched_count_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_NVTX_RANGES_H_
