// Notices that kernel records have stopped coming although kernels have ended: another CUPTI client of the process has
// registered buffer callbacks of its own (CUPTI keeps one pair for the process, the last one holds), or has switched
// kernel records off.
//
// What has ended is known where the program waits: a thread that launches into a stream and then waits for that stream,
// or for its context, returns after the kernel's end. A gap is opened where such a launch has no record a second and
// two rounds of flushing later, and none of any kernel came since. It may be wrong for a while: CUPTI holds back a
// buffer in which a kernel of another stream has not ended. Then the records come later, which ends the gap, and no
// launch of it is left without one.
//
// Pure but for its memory: no clock, no thread.
#ifndef GPUEXEC_INJECT_RECORD_WATCH_H_
#define GPUEXEC_INJECT_RECORD_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "inject/record.h"

namespace gx::inject {

class RecordWatch {
 public:
  // Two flushes a second: a record takes up to half of this.
  static constexpr uint64_t kQuietNs = 1'000'000'000;
  static constexpr uint64_t kQuietFlushes = 2;

  // A launch that kernel records are owed for. `stream_id` is CUPTI's.
  void OnLaunch(uint32_t thread_id, uint32_t context_id, uint32_t stream_id, uint64_t enter_ns, uint64_t kernel_count);
  // The thread has waited for a stream of a context, or for all of the context.
  void OnWait(uint32_t thread_id, uint32_t context_id, uint32_t stream_id, bool whole_context);
  // A kernel record came.
  void OnKernel() noexcept;

  // After everything that is there was read. `flush_count`: rounds of flushing that have ended so far. `loss_count`:
  // what is known to be lost, by any other reason; where it grew since the last record, that is the reason. The gap
  // that has begun, or whose records came again.
  std::optional<RecordGapRecord> Judge(uint64_t now_ns, uint64_t flush_count, uint64_t loss_count);
  // At the end, likewise, after CUPTI was made to hand out everything. `all_ended`: the device was idle before that.
  // The gap that is open then; its end stays unset.
  std::optional<RecordGapRecord> JudgeAtEnd(bool all_ended, uint64_t loss_count);

  bool is_open() const noexcept { return gap_.has_value(); }
  // Threads that are remembered: at most kMaxThreads, unless so many have launched since the last record.
  size_t thread_count() const noexcept { return threads_.size(); }
  static constexpr size_t kMaxThreads = 1024;

 private:
  struct LastLaunch {
    uint32_t context_id = 0;
    uint32_t stream_id = 0;
    uint64_t number = 0;  // Of all launches so far.
  };
  bool IsOwed() const noexcept { return launch_count_ > launches_at_record_; }
  uint64_t OwedKernels() const noexcept { return expected_ > received_ ? expected_ - received_ : 0; }
  RecordGapRecord Open();

  // Of a thread whose last launch has not been waited for.
  std::unordered_map<uint32_t, LastLaunch> threads_;
  size_t prune_above_ = kMaxThreads;
  uint64_t launch_count_ = 0;
  uint64_t expected_ = 0;
  uint64_t received_ = 0;
  // As they were when the last record came.
  uint64_t launches_at_record_ = 0;
  uint64_t losses_at_record_ = 0;
  bool record_came_ = false;
  uint64_t first_owed_ns_ = 0;
  // A launch since then has ended.
  bool ended_ = false;
  bool judged_ended_ = false;
  uint64_t ended_since_ns_ = 0;
  uint64_t ended_flush_count_ = 0;
  uint64_t gap_count_ = 0;
  std::optional<RecordGapRecord> gap_;
};

// What is told of a gap: when it is noticed, and when it has ended.
std::string DescribeRecordGap(const RecordGapRecord& gap);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RECORD_WATCH_H_
