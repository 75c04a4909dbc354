#include "analysis/correlate.h"

#include <algorithm>
#include <optional>

namespace gx::analysis {

template <typename Facts>
auto LaunchKernelJoin::Waiting<Facts>::Insert(const Facts& facts, uint64_t arrival_ns)
    -> std::pair<uint32_t, const Chain*> {
  uint32_t index;
  if (free.empty()) {
    index = static_cast<uint32_t>(entries.size());
    entries.emplace_back();
  } else {
    index = free.back();
    free.pop_back();
  }
  Entry<Facts>& entry = entries[index];
  entry = Entry<Facts>{};
  entry.facts = facts;
  entry.arrival_ns = arrival_ns;
  entry.serial = ++last_serial;
  entry.older = newest;
  if (newest != kNone) entries[newest].newer = index;
  newest = index;
  if (oldest == kNone) oldest = index;
  ++used;
  Chain& chain = by_id[facts.correlation_id];
  (chain.first == kNone ? chain.first : entries[chain.last].next_same_id) = index;
  chain.last = index;
  ++chain.count;
  return {index, &chain};
}

template <typename Facts>
void LaunchKernelJoin::Waiting<Facts>::Remove(uint32_t index) {
  Entry<Facts>& entry = entries[index];
  (entry.older == kNone ? oldest : entries[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest : entries[entry.newer].older) = entry.older;
  const auto place = by_id.find(entry.facts.correlation_id);
  Chain& chain = place->second;
  if (--chain.count == 0) {
    by_id.erase(place);
  } else if (chain.first == index) {
    chain.first = entry.next_same_id;
  } else {
    uint32_t before = chain.first;
    while (entries[before].next_same_id != index) before = entries[before].next_same_id;
    entries[before].next_same_id = entry.next_same_id;
    if (chain.last == index) chain.last = before;
  }
  entry.serial = 0;
  free.push_back(index);
  --used;
}

void LaunchKernelJoin::AddLaunch(const LaunchFacts& launch) {
  const auto [index, chain] = launches_.Insert(launch, 0);
  if (chain->count > 1) ++repeated_id_count_;
  if (chain->count > kMaxWaitingUnderOneId) GiveUpLaunch(chain->first);
  NoteReplay(index);
  if (kernels_.used > 0) {
    // Kernels that came first. A kernel waits only while no launch waits under its id, so this launch is theirs.
    const auto waiting = kernels_.by_id.find(launch.correlation_id);
    uint32_t kernel_index = waiting == kernels_.by_id.end() ? kNone : waiting->second.first;
    while (kernel_index != kNone) {
      const uint32_t next = kernels_.entries[kernel_index].next_same_id;
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
  const auto found = launches_.by_id.find(kernel.correlation_id);
  if (found != launches_.by_id.end()) {
    Join(ChooseLaunch(found->second.first, kernel), kernel);
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
  if (launches_.entries[first].next_same_id == kNone || kernel.start_ns == 0) return first;
  const std::optional<uint64_t> start_ns = clocks_->ToMonotonic(kernel.start_ns);
  if (!start_ns.has_value()) return first;
  uint32_t chosen = first;
  bool any = false;
  for (uint32_t index = first; index != kNone; index = launches_.entries[index].next_same_id) {
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
