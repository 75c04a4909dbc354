#include "analysis/nvtx_ranges.h"

#include <algorithm>

namespace gx::analysis {

void NvtxRanges::Add(const NvtxEventRow& event) {
  using Batch = gpuexec::v1::NvtxEventBatch;
  ++event_count_;
  switch (event.kind) {
    case Batch::KIND_PUSH:
      OpenRange(&threads_[event.thread_id], event, /*pushed=*/true);
      return;
    case Batch::KIND_START:
      OpenRange(&threads_[event.thread_id], event, /*pushed=*/false);
      return;
    case Batch::KIND_POP: {
      ThreadState& thread = threads_[event.thread_id];
      if (thread.unopened_push_count > 0) {
        --thread.unopened_push_count;
        return;
      }
      // Each domain has its own stack on each thread.
      const auto top = std::find_if(thread.open.rbegin(), thread.open.rend(), [&](const Open& open) {
        return open.pushed && open.domain_iid == event.domain_iid;
      });
      if (top == thread.open.rend()) {
        ++unmatched_count_;
        return;
      }
      thread.open.erase(std::next(top).base());
      Note(&thread, event.monotonic_ns, /*opened=*/false);
      return;
    }
    case Batch::KIND_END: {
      const auto owner = thread_by_range_.find(event.range_id);
      if (owner == thread_by_range_.end()) {
        ++unmatched_count_;
        return;
      }
      ThreadState& thread = threads_[owner->second];
      thread_by_range_.erase(owner);
      const auto started = std::find_if(thread.open.begin(), thread.open.end(), [&](const Open& open) {
        return !open.pushed && open.range_id == event.range_id;
      });
      if (started == thread.open.end()) return;
      thread.open.erase(started);
      Note(&thread, event.monotonic_ns, /*opened=*/false);
      return;
    }
    default:
      return;  // Marks have no extent; kinds of a later format are unknown.
  }
}

void NvtxRanges::OpenRange(ThreadState* thread, const NvtxEventRow& event, bool pushed) {
  if (thread->open.size() >= kMaxDepth) {
    ++unopened_count_;
    if (pushed) ++thread->unopened_push_count;
    return;
  }
  thread->open.push_back({event.domain_iid, event.name_iid, event.range_id, pushed});
  if (!pushed) thread_by_range_[event.range_id] = event.thread_id;
  Note(thread, event.monotonic_ns, /*opened=*/true);
}

void NvtxRanges::Note(ThreadState* thread, uint64_t monotonic_ns, bool opened) {
  const uint32_t path = InternPath(thread->open);
  std::vector<Change>& history = thread->history;
  if (!history.empty() && history.back().monotonic_ns > monotonic_ns) {
    // Another thread ended a range of this one in between. What was noted after that moment still holds the range for
    // the time up to now, which is at most the delay of one drain.
    monotonic_ns = history.back().monotonic_ns;
  }
  if (history.empty() || history.back().monotonic_ns != monotonic_ns) {
    const uint32_t path_before = history.empty() ? kNoRange : history.back().path_after;
    history.push_back({monotonic_ns, path_before, path_before});
  }
  history.back().path_after = path;
  if (opened) history.back().path_then = path;
  if (history.size() > kMaxHistory) history.erase(history.begin(), history.begin() + kMaxHistory / 2);
}

uint32_t NvtxRanges::InternPath(const std::vector<Open>& open) {
  uint32_t path = kNoRange;
  for (const Open& range : open) {
    Step step{path, range.domain_iid, range.name_iid, path == kNoRange ? 1 : steps_[path - 1].depth + 1};
    const auto found = path_by_step_.find(step);
    if (found != path_by_step_.end()) {
      path = found->second;
    } else if (steps_.size() < kMaxPaths) {
      steps_.push_back(step);
      path = static_cast<uint32_t>(steps_.size());
      path_by_step_.emplace(step, path);
    } else {
      ++unopened_count_;
      return path;
    }
  }
  return path;
}

uint32_t NvtxRanges::PathAt(uint64_t thread_id, uint64_t monotonic_ns) const {
  const auto found = threads_.find(thread_id);
  if (found == threads_.end()) return kNoRange;
  const std::vector<Change>& history = found->second.history;
  const auto after = std::upper_bound(history.begin(), history.end(), monotonic_ns,
                                      [](uint64_t ns, const Change& change) { return ns < change.monotonic_ns; });
  if (after == history.begin()) return kNoRange;
  const Change& latest = *std::prev(after);
  return latest.monotonic_ns == monotonic_ns ? latest.path_then : latest.path_after;
}

std::vector<std::pair<uint64_t, uint64_t>> NvtxRanges::Ranges(uint32_t path) const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  while (path != kNoRange && path <= steps_.size()) {
    const Step& step = steps_[path - 1];
    ranges.emplace_back(step.domain_iid, step.name_iid);
    path = step.parent;
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace gx::analysis
