#include "analysis/correlate.h"

#include <algorithm>
#include <optional>

#include "absl/hash/hash.h"

namespace gx::analysis {

namespace {

constexpr size_t kMinBuckets = 1024;
// So many ids in a row have buckets in a row (8 cache lines); where such a group lies is hashed, with absl's seed, so
// that no trace can be made whose ids all meet in one bucket.
constexpr uint64_t kGroupBits = 6;

size_t BucketNumber(uint64_t correlation_id, size_t bucket_count) {
  const uint64_t group = absl::Hash<uint64_t>{}(correlation_id >> kGroupBits) << kGroupBits;
  return static_cast<size_t>((group | (correlation_id & ((1u << kGroupBits) - 1))) & (bucket_count - 1));
}

}  // namespace

template <typename Facts>
auto LaunchKernelJoin::Waiting<Facts>::BucketOf(uint64_t correlation_id) -> Bucket& {
  return buckets[BucketNumber(correlation_id, buckets.size())];
}

template <typename Facts>
uint32_t LaunchKernelJoin::Waiting<Facts>::SkipTo(uint32_t index, uint64_t correlation_id) const {
  while (index != kNone && entries[index].facts.correlation_id != correlation_id) index = entries[index].next_in_bucket;
  return index;
}

template <typename Facts>
uint32_t LaunchKernelJoin::Waiting<Facts>::Find(uint64_t correlation_id) const {
  if (used == 0) return kNone;
  return SkipTo(buckets[BucketNumber(correlation_id, buckets.size())].first, correlation_id);
}

template <typename Facts>
uint32_t LaunchKernelJoin::Waiting<Facts>::NextOfSameId(uint32_t index) const {
  return SkipTo(entries[index].next_in_bucket, entries[index].facts.correlation_id);
}

template <typename Facts>
void LaunchKernelJoin::Waiting<Facts>::Append(uint32_t index) {
  Bucket& bucket = BucketOf(entries[index].facts.correlation_id);
  (bucket.first == kNone ? bucket.first : entries[bucket.last].next_in_bucket) = index;
  bucket.last = index;
}

template <typename Facts>
void LaunchKernelJoin::Waiting<Facts>::Grow() {
  buckets.assign(std::max(kMinBuckets, buckets.size() * 2), Bucket{});
  for (uint32_t index = oldest; index != kNone; index = entries[index].newer) {
    entries[index].next_in_bucket = kNone;
    Append(index);
  }
}

template <typename Facts>
uint32_t LaunchKernelJoin::Waiting<Facts>::Insert(const Facts& facts, uint64_t arrival_ns) {
  if (2 * used >= buckets.size()) Grow();
  uint32_t index;
  if (free.empty()) {
    index = static_cast<uint32_t>(entries.size());
    entries.emplace_back();
  } else {
    index = free.back();
    free.pop_back();
  }
  Entry<Facts>& entry = entries[index];
  entry = Entry<Facts>{.facts = facts, .arrival_ns = arrival_ns, .older = newest, .serial = ++last_serial};
  if (newest != kNone) entries[newest].newer = index;
  newest = index;
  if (oldest == kNone) oldest = index;
  ++used;
  Append(index);
  return index;
}

template <typename Facts>
void LaunchKernelJoin::Waiting<Facts>::Remove(uint32_t index) {
  Entry<Facts>& entry = entries[index];
  (entry.older == kNone ? oldest : entries[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest : entries[entry.newer].older) = entry.older;
  Bucket& bucket = BucketOf(entry.facts.correlation_id);
  uint32_t before = kNone;
  for (uint32_t other = bucket.first; other != index; other = entries[other].next_in_bucket) before = other;
  (before == kNone ? bucket.first : entries[before].next_in_bucket) = entry.next_in_bucket;
  if (bucket.last == index) bucket.last = before;
  entry.serial = 0;
  free.push_back(index);
  --used;
}

void LaunchKernelJoin::AddLaunch(const LaunchFacts& launch) {
  const uint32_t index = launches_.Insert(launch, 0);
  const uint32_t first = launches_.Find(launch.correlation_id);
  if (first != index) {
    ++repeated_id_count_;
    uint32_t count = 0;
    for (uint32_t other = first; other != kNone; other = launches_.NextOfSameId(other)) {
      launches_.entries[other].repeated = true;
      ++count;
    }
    if (count > kMaxWaitingUnderOneId) GiveUpLaunch(first);
  }
  NoteReplay(index);
  if (kernels_.used > 0) {
    // Kernels that came first. A kernel waits only while no launch waits under its id, so this launch is theirs.
    uint32_t kernel_index = kernels_.Find(launch.correlation_id);
    while (kernel_index != kNone) {
      const uint32_t next = kernels_.NextOfSameId(kernel_index);
      const KernelFacts kernel = kernels_.entries[kernel_index].facts;
      kernels_.Remove(kernel_index);
      if (!Join(index, kernel)) return;
      kernel_index = next;
    }
  }
  if (launches_.used > kMaxWaitingLaunches) GiveUpLaunch(launches_.oldest);
}

void LaunchKernelJoin::AddKernel(const KernelFacts& kernel) {
  newest_start_ns_ = std::max(newest_start_ns_, kernel.start_ns);
  const uint32_t found = launches_.Find(kernel.correlation_id);
  if (found != kNone) {
    Join(ChooseLaunch(found, kernel), kernel);
  } else {
    kernels_.Insert(kernel, newest_start_ns_);
    if (kernels_.used > kMaxWaitingKernels) GiveUpKernel(kernels_.oldest);
  }
  while (kernels_.oldest != kNone &&
         newest_start_ns_ - kernels_.entries[kernels_.oldest].arrival_ns > kKernelPatienceNs) {
    GiveUpKernel(kernels_.oldest);
  }
  LetReplaysGo();
}

void LaunchKernelJoin::Finish() {
  while (kernels_.oldest != kNone) GiveUpKernel(kernels_.oldest);
  while (launches_.oldest != kNone) GiveUpLaunch(launches_.oldest);
}

uint32_t LaunchKernelJoin::ChooseLaunch(uint32_t first, const KernelFacts& kernel) const {
  if (!launches_.entries[first].repeated || kernel.start_ns == 0) return first;
  if (launches_.NextOfSameId(first) == kNone) return first;
  const std::optional<uint64_t> start_ns = clocks_->ToMonotonic(kernel.start_ns);
  if (!start_ns.has_value()) return first;
  uint32_t chosen = first;
  bool any = false;
  for (uint32_t index = first; index != kNone; index = launches_.NextOfSameId(index)) {
    const uint64_t enter_ns = launches_.entries[index].facts.enter_monotonic_ns;
    if (enter_ns > *start_ns + kClockSlackNs) continue;
    if (!any || enter_ns >= launches_.entries[chosen].facts.enter_monotonic_ns) chosen = index;
    any = true;
  }
  return chosen;
}

bool LaunchKernelJoin::Join(uint32_t launch_index, const KernelFacts& kernel) {
  Entry<LaunchFacts>& entry = launches_.entries[launch_index];
  ++entry.kernel_count;
  sink_->OnJoinedKernel(kernel, &entry.facts);
  if (entry.facts.is_graph()) {
    NoteReplay(launch_index);
    return true;
  }
  sink_->OnSettledLaunch(entry.facts, entry.kernel_count);
  launches_.Remove(launch_index);
  return false;
}

void LaunchKernelJoin::NoteReplay(uint32_t launch_index) {
  const Entry<LaunchFacts>& entry = launches_.entries[launch_index];
  const LaunchFacts& launch = entry.facts;
  if (!launch.is_graph() || !launch.is_graph_known()) return;
  const auto leave = [&](std::deque<Leaving>* leaving, uint64_t patience_ns) {
    uint64_t now_ns = newest_start_ns_;
    // No kernel may ever come to tell the time.
    if (entry.kernel_count == 0) {
      const std::optional<uint64_t> enter_ns = clocks_->ToCupti(launch.enter_monotonic_ns);
      if (!enter_ns.has_value()) return;
      now_ns = std::max(now_ns, *enter_ns);
    }
    leaving->push_back({launch_index, entry.serial, now_ns + std::min(patience_ns, UINT64_MAX - now_ns)});
  };
  if (entry.kernel_count == launch.max_kernel_count) {
    leave(&complete_replays_, kCompleteReplayPatienceNs);
  } else if (entry.kernel_count == launch.min_kernel_count) {
    leave(&sufficient_replays_, kSufficientReplayPatienceNs);
  }
}

void LaunchKernelJoin::LetReplaysGo() {
  for (std::deque<Leaving>* leaving : {&complete_replays_, &sufficient_replays_}) {
    while (!leaving->empty() && leaving->front().after_ns < newest_start_ns_) {
      const Leaving next = leaving->front();
      leaving->pop_front();
      if (launches_.entries[next.launch_index].serial == next.serial) GiveUpLaunch(next.launch_index);
    }
  }
}

void LaunchKernelJoin::GiveUpLaunch(uint32_t index) {
  sink_->OnSettledLaunch(launches_.entries[index].facts, launches_.entries[index].kernel_count);
  launches_.Remove(index);
}

void LaunchKernelJoin::GiveUpKernel(uint32_t index) {
  const KernelFacts kernel = kernels_.entries[index].facts;
  kernels_.Remove(index);
  sink_->OnJoinedKernel(kernel, nullptr);
}

}  // namespace gx::analysis
