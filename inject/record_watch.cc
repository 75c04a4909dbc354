#include "inject/record_watch.h"

#include <algorithm>

namespace gx::inject {

void RecordWatch::OnLaunch(uint32_t thread_id, uint32_t context_id, uint32_t stream_id, uint64_t enter_ns,
                           uint64_t kernel_count) {
  if (kernel_count == 0) return;
  if (!IsOwed()) first_owed_ns_ = enter_ns;
  expected_ += kernel_count;
  threads_[thread_id] = {context_id, stream_id, ++launch_count_};
  // Threads that have ended without a wait: what a record has come since of says nothing any more.
  if (threads_.size() <= prune_above_) return;
  std::erase_if(threads_, [this](const auto& thread) { return thread.second.number <= launches_at_record_; });
  prune_above_ = std::max(kMaxThreads, 2 * threads_.size());
}

void RecordWatch::OnWait(uint32_t thread_id, uint32_t context_id, uint32_t stream_id, bool whole_context) {
  const auto thread = threads_.find(thread_id);
  if (thread == threads_.end()) return;
  const LastLaunch last = thread->second;
  if (last.context_id != context_id || (!whole_context && last.stream_id != stream_id)) return;
  if (last.number > launches_at_record_) ended_ = true;
  threads_.erase(thread);
}

void RecordWatch::OnKernel() noexcept {
  ++received_;
  launches_at_record_ = launch_count_;
  ended_ = false;
  judged_ended_ = false;
  record_came_ = true;
}

RecordGapRecord RecordWatch::Open() {
  RecordGapRecord gap;
  gap.gap_id = ++gap_count_;
  gap.begin_monotonic_ns = first_owed_ns_;
  gap.kernel_count = OwedKernels();
  gap_ = gap;
  return gap;
}

std::optional<RecordGapRecord> RecordWatch::Judge(uint64_t now_ns, uint64_t flush_count, uint64_t loss_count) {
  if (record_came_) {
    record_came_ = false;
    losses_at_record_ = loss_count;
    if (!gap_.has_value()) return std::nullopt;
    RecordGapRecord ended = *gap_;
    ended.end_monotonic_ns = now_ns;
    ended.kernel_count = OwedKernels();
    gap_.reset();
    return ended;
  }
  if (gap_.has_value() || !ended_ || loss_count != losses_at_record_) return std::nullopt;
  if (!judged_ended_) {
    judged_ended_ = true;
    ended_since_ns_ = now_ns;
    ended_flush_count_ = flush_count;
    return std::nullopt;
  }
  if (now_ns - ended_since_ns_ < kQuietNs || flush_count - ended_flush_count_ < kQuietFlushes) return std::nullopt;
  return Open();
}

std::optional<RecordGapRecord> RecordWatch::JudgeAtEnd(bool all_ended, uint64_t loss_count) {
  if (gap_.has_value()) {
    gap_->kernel_count = OwedKernels();
    return gap_;
  }
  if (record_came_) losses_at_record_ = loss_count;
  const bool known_to_end = all_ended || ended_;
  if (!known_to_end || !IsOwed() || OwedKernels() == 0 || loss_count != losses_at_record_) return std::nullopt;
  return Open();
}

std::string DescribeRecordGap(const RecordGapRecord& gap) {
  if (gap.end_monotonic_ns) {
    return "kernel records come again, after " + std::to_string(gap.kernel_count) + " kernels have none so far";
  }
  std::string text =
      std::to_string(gap.kernel_count) +
      " kernels that have ended have no record so far: as it seems, another CUPTI client of the process takes "
      "the records (cuptiActivityRegisterCallbacks), or has switched them off";
  if (gap.clients.empty()) {
    text += "; no file of the process imports that function, so it is one that looks it up at run time";
  } else {
    text += "; files that import that function:";
    for (const std::string& client : gap.clients) text += " " + client;
  }
  return text + "; GPUEXEC_YIELD=1 would end recording, orderly, when another client subscribes";
}

}  // namespace gx::inject
