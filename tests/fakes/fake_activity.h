// The fake CUPTI's activity buffers: lanes that are filled side by side by the launching threads, and threads that
// deliver full (or flushed) buffers once every record in them is complete. One instance per process, never destroyed.
// [MT] Client callbacks run on launching threads (request) and delivery threads (complete), the latter without a lock.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_ACTIVITY_H_
#define GPUEXEC_TESTS_FAKES_FAKE_ACTIVITY_H_

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/fake_gpu.h"

namespace gx::fakes {

class ActivityEngine {
 public:
  static ActivityEngine& Get();

  CUptiResult Register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  CUptiResult Enable(CUpti_ActivityKind kind);
  CUptiResult Disable(CUpti_ActivityKind kind);
  bool IsEnabled(CUpti_ActivityKind kind) const { return enabled_[kind].load(); }
  void SetClientZeroesBuffers(bool value) { client_zeroes_buffers_.store(value); }

  // Records a piece of work, if its kind is enabled; of what was queued (Work::queued), if it was enabled then.
  void Add(const Work& work);
  // Delivers every buffer whose records are all complete; with `force` also the others, their unfinished records with
  // end 0. Returns when the client has had them.
  void Flush(bool force);
  // Since the last call.
  size_t TakeDroppedCount() { return dropped_count_.exchange(0); }

 private:
  struct Slot {
    size_t offset = 0;
    size_t size_bytes = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    bool is_kernel = false;
  };
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t capacity_bytes = 0;
    size_t max_records = 0;
    size_t used_bytes = 0;
    std::vector<Slot> slots;
    uint64_t complete_ns = 0;
    bool forced = false;
  };
  struct Lane {
    std::mutex mutex;
    std::unique_ptr<Buffer> buffer;
  };
  struct Pending {
    std::string bytes;
    Slot slot;
  };

  ActivityEngine();
  Lane& LaneOfThisThread();
  // Requires the lane's lock. Drops the record where the client gives no room for it.
  void Append(Lane* lane, const std::string& bytes, Slot slot);
  std::unique_ptr<Buffer> RequestBuffer();
  void Submit(std::unique_ptr<Buffer> buffer, bool force);
  void StartThreads();
  void DeliveryLoop();
  // Requires mutex_. Null where nothing can be delivered now.
  std::unique_ptr<Buffer> TakeDeliverable();
  void Deliver(std::unique_ptr<Buffer> buffer);
  // In a forced buffer: unfinished records get end 0, those not even started are put back for later.
  void CutUnfinished(Buffer* buffer);
  static void ReverseRecords(Buffer* buffer);

  std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};
  std::atomic<bool> client_zeroes_buffers_{false};
  std::atomic<bool> enabled_[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<uint64_t> kernel_count_{0};
  std::atomic<uint64_t> lane_turn_{0};
  std::atomic<size_t> dropped_count_{0};
  std::vector<std::unique_ptr<Lane>> lanes_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Buffer>> submitted_;
  std::vector<Pending> put_back_;
  std::set<const uint8_t*> lent_;
  int delivering_count_ = 0;
  std::once_flag threads_once_;
};

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_ACTIVITY_H_
