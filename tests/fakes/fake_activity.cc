#include "tests/fakes/fake_activity.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_records.h"
#include "tests/fakes/fake_scenario.h"

namespace gx::fakes {
namespace {

constexpr uint32_t kFirstVersionThatTakesNullBuffers = 27;
constexpr auto kLongestWait = std::chrono::milliseconds(20);

bool EveryNth(uint64_t count, uint64_t every) { return every != 0 && count % every == 0; }

// The condition variable's wait on the realtime clock: the one that every sanitizer understands.
template <typename Condition>
void WaitALittle(std::condition_variable* changed, std::unique_lock<std::mutex>* lock, const Condition& condition) {
  changed->wait_until(*lock, std::chrono::system_clock::now() + kLongestWait, condition);
}

}  // namespace

ActivityEngine& ActivityEngine::Get() {
  static auto& engine = *new ActivityEngine();
  return engine;
}

ActivityEngine::ActivityEngine() {
  for (uint32_t i = 0; i < GetScenario().lane_count; ++i) lanes_.push_back(std::make_unique<Lane>());
}

CUptiResult ActivityEngine::Register(CUpti_BuffersCallbackRequestFunc request,
                                     CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  request_.store(request);
  complete_.store(complete);
  return CUPTI_SUCCESS;
}

CUptiResult ActivityEngine::Enable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
  enabled_[kind].store(true);
  return CUPTI_SUCCESS;
}

CUptiResult ActivityEngine::Disable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
  enabled_[kind].store(false);
  return CUPTI_SUCCESS;
}

ActivityEngine::Lane& ActivityEngine::LaneOfThisThread() {
  static std::atomic<uint64_t> next_lane{0};
  // Its place is known at the start: ThreadSanitizer of GCC 12 takes the memory of a library that is loaded later,
  // first touched inside cuInit, for one of hundreds of terabytes.
  __attribute__((tls_model("initial-exec"))) thread_local uint64_t own_lane = 0;  // From 1 on.
  if (own_lane == 0) own_lane = next_lane.fetch_add(1) + 1;
  const uint64_t turn = GetScenario().shuffle ? lane_turn_.fetch_add(1) : own_lane - 1;
  return *lanes_[turn % lanes_.size()];
}

void ActivityEngine::Add(const Work& original) {
  if (original.queued ? !original.traced : !IsEnabled(RecordKind(original.kind))) return;
  const Scenario& scenario = GetScenario();
  Work work = original;
  const bool is_kernel = work.kind == WorkKind::kKernel;
  Slot slot;
  slot.start_ns = work.start_ns;
  slot.end_ns = work.end_ns;
  slot.is_kernel = is_kernel;
  uint64_t kernel_number = 0;
  if (is_kernel) {
    kernel_number = kernel_count_.fetch_add(1) + 1;
    if (kernel_number <= scenario.drop_count) {
      dropped_count_.fetch_add(1);
      LogLine("dropped").Add("correlation", work.correlation_id);
      return;
    }
    if (EveryNth(kernel_number, scenario.disagree_every)) work.shape.grid[0] += 1;
    if (EveryNth(kernel_number, scenario.backwards_every)) std::swap(work.start_ns, work.end_ns);
    if (EveryNth(kernel_number, scenario.zero_times_every)) work.start_ns = work.end_ns = 0;
  }
  Lane& lane = LaneOfThisThread();
  std::lock_guard lock(lane.mutex);
  if (is_kernel && EveryNth(kernel_number, scenario.strange_every)) Append(&lane, BuildStrangeRecord(), Slot());
  Append(&lane, BuildRecord(work, scenario.cupti_version), slot);
}

void ActivityEngine::Append(Lane* lane, const std::string& bytes, Slot slot) {
  Buffer* buffer = lane->buffer.get();
  const bool full = buffer != nullptr && (buffer->capacity_bytes - buffer->used_bytes < bytes.size() ||
                                          (buffer->max_records != 0 && buffer->slots.size() >= buffer->max_records));
  if (full) Submit(std::move(lane->buffer), false);
  if (lane->buffer == nullptr) lane->buffer = RequestBuffer();
  buffer = lane->buffer.get();
  if (buffer == nullptr || buffer->capacity_bytes - buffer->used_bytes < bytes.size()) {
    dropped_count_.fetch_add(1);
    LogLine("dropped_no_buffer");
    return;
  }
  slot.offset = buffer->used_bytes;
  slot.size_bytes = bytes.size();
  std::memcpy(buffer->bytes + slot.offset, bytes.data(), bytes.size());
  buffer->used_bytes += bytes.size();
  buffer->complete_ns = std::max(buffer->complete_ns, slot.end_ns);
  buffer->slots.push_back(slot);
}

std::unique_ptr<ActivityEngine::Buffer> ActivityEngine::RequestBuffer() {
  const CUpti_BuffersCallbackRequestFunc request = request_.load();
  if (request == nullptr) return nullptr;
  StartThreads();
  auto buffer = std::make_unique<Buffer>();
  request(&buffer->bytes, &buffer->capacity_bytes, &buffer->max_records);
  LogLine("buffer").Add("bytes", buffer->capacity_bytes).Add("given", uint64_t{buffer->bytes != nullptr});
  if (buffer->bytes == nullptr) {
    if (GetScenario().cupti_version < kFirstVersionThatTakesNullBuffers) {
      LogViolation("a null buffer for a CUPTI that crashes on it");
      std::abort();
    }
    return nullptr;
  }
  if (reinterpret_cast<uintptr_t>(buffer->bytes) % ACTIVITY_RECORD_ALIGNMENT != 0) LogViolation("misaligned buffer");
  if (!client_zeroes_buffers_.load()) std::memset(buffer->bytes, 0, buffer->capacity_bytes);
  std::lock_guard lock(mutex_);
  if (!lent_.insert(buffer->bytes).second) LogViolation("a buffer that was lent already");
  return buffer;
}

void ActivityEngine::Submit(std::unique_ptr<Buffer> buffer, bool force) {
  std::lock_guard lock(mutex_);
  buffer->forced = force;
  submitted_.push_back(std::move(buffer));
  changed_.notify_all();
}

void ActivityEngine::StartThreads() {
  std::call_once(threads_once_, [this] {
    for (uint32_t i = 0; i < GetScenario().delivery_thread_count; ++i) {
      std::thread([this] { DeliveryLoop(); }).detach();
    }
  });
}

std::unique_ptr<ActivityEngine::Buffer> ActivityEngine::TakeDeliverable() {
  const uint64_t now_ns = GpuNowNs();
  for (auto candidate = submitted_.begin(); candidate != submitted_.end(); ++candidate) {
    if (!(*candidate)->forced && (*candidate)->complete_ns > now_ns) continue;
    auto buffer = std::move(*candidate);
    submitted_.erase(candidate);
    return buffer;
  }
  return nullptr;
}

void ActivityEngine::DeliveryLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::unique_ptr<Buffer> buffer = TakeDeliverable();
    if (buffer == nullptr) {
      WaitALittle(&changed_, &lock, [] { return false; });
      continue;
    }
    ++delivering_count_;
    if (buffer->forced) CutUnfinished(buffer.get());
    lent_.erase(buffer->bytes);
    lock.unlock();
    Deliver(std::move(buffer));
    lock.lock();
    --delivering_count_;
    changed_.notify_all();
  }
}

// Requires mutex_.
void ActivityEngine::CutUnfinished(Buffer* buffer) {
  const uint64_t now_ns = GpuNowNs();
  size_t used_bytes = 0;
  std::vector<Slot> kept;
  for (Slot slot : buffer->slots) {
    uint8_t* const record = buffer->bytes + slot.offset;
    if (slot.start_ns > now_ns) {
      put_back_.push_back({std::string(reinterpret_cast<const char*>(record), slot.size_bytes), slot});
      continue;
    }
    if (slot.is_kernel && slot.end_ns > now_ns) {
      reinterpret_cast<CUpti_ActivityKernel9*>(record)->end = 0;
      LogLine("unfinished").Add("correlation", reinterpret_cast<CUpti_ActivityKernel9*>(record)->correlationId);
    }
    std::memmove(buffer->bytes + used_bytes, record, slot.size_bytes);
    slot.offset = used_bytes;
    used_bytes += slot.size_bytes;
    kept.push_back(slot);
  }
  buffer->used_bytes = used_bytes;
  buffer->slots = std::move(kept);
}

void ActivityEngine::ReverseRecords(Buffer* buffer) {
  std::string reversed;
  for (auto slot = buffer->slots.rbegin(); slot != buffer->slots.rend(); ++slot) {
    reversed.append(reinterpret_cast<const char*>(buffer->bytes + slot->offset), slot->size_bytes);
  }
  std::memcpy(buffer->bytes, reversed.data(), reversed.size());
}

void ActivityEngine::Deliver(std::unique_ptr<Buffer> buffer) {
  if (GetScenario().shuffle) ReverseRecords(buffer.get());
  LogLine("deliver").Add("records", buffer->slots.size()).Add("bytes", buffer->used_bytes);
  complete_.load()(nullptr, 0, buffer->bytes, buffer->capacity_bytes, buffer->used_bytes);
}

void ActivityEngine::Flush(bool force) {
  for (const auto& lane : lanes_) {
    std::lock_guard lane_lock(lane->mutex);
    std::vector<Pending> put_back;
    {
      std::lock_guard lock(mutex_);
      put_back.swap(put_back_);
    }
    for (const Pending& record : put_back) Append(lane.get(), record.bytes, record.slot);
    if (lane->buffer == nullptr || lane->buffer->slots.empty()) continue;
    if (force || lane->buffer->complete_ns <= GpuNowNs()) Submit(std::move(lane->buffer), force);
  }
  std::unique_lock lock(mutex_);
  for (const auto& buffer : submitted_) buffer->forced = buffer->forced || force;
  changed_.notify_all();
  const auto all_delivered = [this] {
    if (delivering_count_ > 0) return false;
    const uint64_t now_ns = GpuNowNs();
    return std::none_of(submitted_.begin(), submitted_.end(), [now_ns](const std::unique_ptr<Buffer>& buffer) {
      return buffer->forced || buffer->complete_ns <= now_ns;
    });
  };
  while (!all_delivered()) WaitALittle(&changed_, &lock, [] { return false; });
}

}  // namespace gx::fakes
