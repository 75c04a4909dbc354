#include "inject/sampling_needs.h"

#include <algorithm>
#include <bit>
#include <new>

#include "inject/checksum.h"
#include "inject/self_stats.h"

namespace gx::inject {
namespace {

constexpr uint8_t kGraduated = 1;
constexpr uint8_t kGivenUp = 2;

// Of what was recent at the last call: half is gone after five calls.
constexpr double kFade = 0.875;

// The value that it has then; one of several threads gets each.
uint32_t AddUpTo255(std::atomic<uint8_t>* counter) noexcept {
  uint8_t value = counter->load(std::memory_order_relaxed);
  while (value < 255 &&
         !counter->compare_exchange_weak(value, static_cast<uint8_t>(value + 1), std::memory_order_relaxed)) {
  }
  return value + 1u;
}

}  // namespace

uint64_t SamplingKey(const SamplingKeyParts& parts) noexcept {
  const uint64_t words[] = {parts.name_hash,
                            uint64_t{parts.device_id} << 32 | parts.dynamic_shared_memory_bytes,
                            uint64_t{parts.grid.x} << 32 | parts.grid.y,
                            uint64_t{parts.grid.z} << 32 | parts.block.x,
                            uint64_t{parts.block.y} << 32 | parts.block.z,
                            uint64_t{parts.cluster.x} << 32 | parts.cluster.y,
                            parts.cluster.z};
  const uint64_t key = Checksum({reinterpret_cast<const char*>(words), sizeof(words)});
  return key == 0 ? 1 : key;
}

uint64_t GraphSamplingKey(uint32_t device_id, uint32_t graph_exec_id) noexcept {
  // A name that no kernel has stands for "graph".
  SamplingKeyParts parts;
  parts.name_hash = 0x6a09e667f3bcc908;
  parts.device_id = device_id;
  parts.grid.x = graph_exec_id;
  return SamplingKey(parts);
}

bool SamplingNeeds::Allocate(const Options& options, std::span<const GroupKind> kinds) {
  options_ = options;
  options_.samples_per_group = std::clamp<uint32_t>(options.samples_per_group, 1, 255);
  options_.max_void_ranges = std::clamp<uint32_t>(options.max_void_ranges, 1, 255);
  options_.share_percent = std::clamp(options.share_percent, 0.0, 100.0);
  // Half empty when full: probes stay short.
  const uint32_t places = std::bit_ceil(std::clamp<uint32_t>(options.capacity, 1, 1u << 24) * 2);
  places_.reset(new (std::nothrow) Signature[places]);
  functions_.reset(new (std::nothrow) std::atomic<uint8_t>[options.functions]());
  if (places_ == nullptr || functions_ == nullptr) return false;
  mask_ = places - 1;
  order_.reserve(places);
  return SetGroups(kinds);
}

bool SamplingNeeds::SetGroups(std::span<const GroupKind> kinds, uint32_t for_all) noexcept {
  const size_t count = std::min<size_t>(kinds.size(), kMaxSampledGroups);
  std::copy_n(kinds.begin(), count, kinds_.begin());
  for_all_ = for_all;
  group_count_ = places_ == nullptr ? 0 : static_cast<uint32_t>(count);
  return kinds.size() <= kMaxSampledGroups;
}

uint32_t SamplingNeeds::FindPlace(uint64_t key) noexcept {
  if (places_ == nullptr) return kNone;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const uint32_t place = static_cast<uint32_t>(key + probe) & mask_;
    uint64_t held = places_[place].key.load(std::memory_order_relaxed);
    if (held == key) return place;
    if (held != 0) continue;
    if (used_.load(std::memory_order_relaxed) >= options_.capacity) break;
    if (places_[place].key.compare_exchange_strong(held, key, std::memory_order_relaxed)) {
      used_.fetch_add(1, std::memory_order_relaxed);
      return place;
    }
    if (held == key) return place;
  }
  without_place_.fetch_add(1, std::memory_order_relaxed);
  return kNone;
}

uint32_t SamplingNeeds::Find(uint64_t key, uint32_t function) noexcept {
  const uint32_t place = FindPlace(key);
  if (place == kNone) return kNone;
  Signature& signature = places_[place];
  // The last function of that name: its predecessor's module may have been unloaded.
  if (signature.function.load(std::memory_order_relaxed) != function) {
    signature.function.store(function, std::memory_order_relaxed);
  }
  signature.launches.fetch_add(1, std::memory_order_relaxed);
  return place;
}

uint8_t SamplingNeeds::StateOf(const Signature& signature) const noexcept {
  const uint32_t function = signature.function.load(std::memory_order_relaxed);
  return function < options_.functions ? functions_[function].load(std::memory_order_relaxed) : uint8_t{kGivenUp};
}

bool SamplingNeeds::IsGivenUp(const Signature& signature) const noexcept {
  return (StateOf(signature) & kGivenUp) != 0 || signature.given_up.load(std::memory_order_relaxed);
}

bool SamplingNeeds::IsReady(const Signature& signature, uint32_t group, bool anyhow) const noexcept {
  if ((given_up_groups_.load(std::memory_order_relaxed) >> group & 1u) != 0) return false;
  const uint8_t state = StateOf(signature);
  if (IsGivenUp(signature)) return false;
  switch (kinds_[group]) {
    case GroupKind::kSass:
      return (state & kGraduated) != 0 && signature.completed.load(std::memory_order_relaxed) &&
             (anyhow || !signature.dear.load(std::memory_order_relaxed) ||
              dear_allowed_.load(std::memory_order_relaxed));
    case GroupKind::kTensor:
      if ((for_all_ >> group & 1u) != 0 && (anyhow || for_all_allowed_.load(std::memory_order_relaxed))) return true;
      return signature.tensor_active.load(std::memory_order_relaxed) &&
             (signature.tensor_certain.load(std::memory_order_relaxed) || !AwaitsPatchedCode(signature)) &&
             (!signature.tensor_path_known.load(std::memory_order_relaxed) ||
              signature.groups[group].samples.load(std::memory_order_relaxed) != 0);
    case GroupKind::kHardware:
    case GroupKind::kPcie:
    case GroupKind::kNvlink:
    case GroupKind::kDevice:
      return true;
  }
  return false;
}

// Whether a group of patched code is still to come, which tells packed half-precision arithmetic from tensor cores.
bool SamplingNeeds::AwaitsPatchedCode(const Signature& signature) const noexcept {
  for (uint32_t group = 0; group < group_count_; ++group) {
    // A kernel is ready for it once it has a sample of hardware counters; a graph never is.
    if (kinds_[group] != GroupKind::kSass || !IsReady(signature, group, true)) continue;
    if (signature.groups[group].samples.load(std::memory_order_relaxed) == 0 && Missing(signature, group) != 0)
      return true;
  }
  return false;
}

bool SamplingNeeds::IsStale(const Signature& signature) const noexcept {
  const uint64_t lived = uint64_t{signature.last_rank - signature.first_rank} * 2;
  return signature.stale >= std::clamp<uint64_t>(lived, options_.least_stale_ranks,
                                                 std::max(options_.least_stale_ranks, options_.stale_ranks));
}

uint32_t SamplingNeeds::Missing(const Signature& signature, uint32_t group) const noexcept {
  const Pair& pair = signature.groups[group];
  const uint32_t samples = pair.samples.load(std::memory_order_relaxed);
  if (samples >= options_.samples_per_group) return 0;
  if (pair.voids.load(std::memory_order_relaxed) >= options_.max_void_ranges) return 0;
  return options_.samples_per_group - samples;
}

bool SamplingNeeds::Wants(uint32_t place, uint32_t group, uint32_t rank_limit) const noexcept {
  if (place > mask_ || group >= group_count_) return false;
  const Signature& signature = places_[place];
  return signature.rank.load(std::memory_order_relaxed) < rank_limit && Missing(signature, group) != 0 &&
         IsReady(signature, group);
}

bool SamplingNeeds::Lacks(uint32_t place, uint32_t group) const noexcept {
  if (place > mask_ || group >= group_count_) return false;
  return Missing(places_[place], group) != 0 && IsReady(places_[place], group, true);
}

bool SamplingNeeds::Record(uint32_t place, uint32_t group, SampleOutcome outcome) noexcept {
  if (place > mask_ || group >= group_count_) return false;
  Pair& pair = places_[place].groups[group];
  if (outcome != SampleOutcome::kVoid && kinds_[group] != GroupKind::kSass) {
    places_[place].completed.store(true, std::memory_order_relaxed);
  }
  if (outcome == SampleOutcome::kValid) {
    (void)AddUpTo255(&pair.samples);
    pair.voids.store(0, std::memory_order_relaxed);
  } else if (AddUpTo255(&pair.voids) == options_.max_void_ranges &&
             pair.samples.load(std::memory_order_relaxed) < options_.samples_per_group) {
    Stats().Add(StatId::kCounterGivenUp);
  }
  return pair.samples.load(std::memory_order_relaxed) >= options_.samples_per_group;
}

void SamplingNeeds::AddTime(uint64_t key, uint64_t duration_ns, bool clean) noexcept {
  const uint32_t place = FindPlace(key);
  if (place == kNone) return;
  Signature& signature = places_[place];
  signature.time_ns.fetch_add(duration_ns, std::memory_order_relaxed);
  signature.timings.fetch_add(1, std::memory_order_relaxed);
  uint64_t longest_ns = signature.longest_ns.load(std::memory_order_relaxed);
  while (duration_ns > longest_ns &&
         !signature.longest_ns.compare_exchange_weak(longest_ns, duration_ns, std::memory_order_relaxed)) {
  }
  if (clean) signature.clean_timings.fetch_add(1, std::memory_order_relaxed);
}

uint64_t SamplingNeeds::LongestNs(uint32_t place) const noexcept {
  if (places_ == nullptr || place > mask_) return 0;
  return places_[place].longest_ns.load(std::memory_order_relaxed);
}

uint64_t SamplingNeeds::MeanNs(uint32_t place) const noexcept {
  if (places_ == nullptr || place > mask_) return 0;
  const uint64_t timings = places_[place].timings.load(std::memory_order_relaxed);
  return timings == 0 ? 0 : places_[place].time_ns.load(std::memory_order_relaxed) / timings;
}

bool SamplingNeeds::HasCompleted(uint32_t place) const noexcept {
  return places_ != nullptr && place <= mask_ && places_[place].completed.load(std::memory_order_relaxed);
}

void SamplingNeeds::GiveUp(uint32_t place) noexcept {
  if (places_ != nullptr && place <= mask_) places_[place].given_up.store(true, std::memory_order_relaxed);
}

void SamplingNeeds::SetTensorActive(uint32_t place, bool active, bool certain) noexcept {
  if (place > mask_ || places_ == nullptr) return;
  if (certain) places_[place].tensor_certain.store(true, std::memory_order_relaxed);
  places_[place].tensor_active.store(active, std::memory_order_relaxed);
}

void SamplingNeeds::SetWarpInstructions(uint32_t place, double count) noexcept {
  if (place <= mask_ && places_ != nullptr && count > 0) {
    places_[place].warp_instructions.store(count, std::memory_order_relaxed);
  }
}

void SamplingNeeds::SetTensorPathKnown(uint32_t place) noexcept {
  if (place <= mask_ && places_ != nullptr) places_[place].tensor_path_known.store(true, std::memory_order_relaxed);
}

void SamplingNeeds::Graduate(uint32_t function) noexcept {
  if (functions_ != nullptr && function < options_.functions) {
    functions_[function].fetch_or(kGraduated, std::memory_order_relaxed);
  }
}

bool SamplingNeeds::HasGraduated(uint32_t function) const noexcept {
  return functions_ != nullptr && function < options_.functions &&
         (functions_[function].load(std::memory_order_relaxed) & kGraduated) != 0;
}

void SamplingNeeds::GiveUpGroup(uint32_t group) noexcept {
  if (group < kMaxSampledGroups) given_up_groups_.fetch_or(1u << group, std::memory_order_relaxed);
}

void SamplingNeeds::GiveUpFunction(uint32_t function) noexcept {
  if (functions_ != nullptr && function < options_.functions) {
    functions_[function].fetch_or(kGivenUp, std::memory_order_relaxed);
  }
}

void SamplingNeeds::Rank() noexcept {
  if (places_ == nullptr) return;
  bool restart = false;
  if (!by_time_) {
    for (uint32_t place = 0; place <= mask_ && !by_time_; ++place) {
      by_time_ = places_[place].time_ns.load(std::memory_order_relaxed) != 0;
    }
    restart = by_time_;
  }
  const bool news = Weigh(restart);
  double recent_total = 0;
  for (const Ranked& ranked : order_) {
    Signature& signature = places_[ranked.place];
    // Without new timings (in a counter window) nothing fades.
    if (news) signature.recent *= kFade;
    signature.recent += signature.gain;
    recent_total += signature.recent;
  }
  const auto recent_ratio = [&](const Ranked& ranked) {
    return recent_total > 0 ? places_[ranked.place].recent / recent_total : 0.0;
  };
  for (Ranked& ranked : order_) ranked.share_ratio = recent_ratio(ranked);
  const uint32_t recent_top = SortAndCount();
  for (uint32_t i = 0; i < order_.size(); ++i) {
    Signature& signature = places_[order_[i].place];
    signature.in_top = i < recent_top;
    order_[i].share_ratio = total_ != 0 ? static_cast<double>(signature.weight) / static_cast<double>(total_) : 0;
  }
  const uint32_t top = SortAndCount();
  for (uint32_t i = 0; i < top; ++i) places_[order_[i].place].in_top = true;
  for (Ranked& ranked : order_) ranked.share_ratio = std::max(ranked.share_ratio, recent_ratio(ranked));
  // The larger share decides the order of those that are in either top.
  const auto end =
      std::partition(order_.begin(), order_.end(), [&](const Ranked& ranked) { return places_[ranked.place].in_top; });
  std::sort(order_.begin(), end, BySize);
  ranked_ = static_cast<uint32_t>(end - order_.begin());
  for (uint32_t i = 0; i < order_.size(); ++i) {
    places_[order_[i].place].rank.store(i < ranked_ ? i : UINT32_MAX, std::memory_order_relaxed);
  }
  MarkDear();
}

// Of the ranked signatures whose instructions were counted. Where launches stand for time nothing is known of shares.
void SamplingNeeds::MarkDear() noexcept {
  if (!by_time_) return;
  double instructions = 0;
  double share_ratio = 0;
  for (uint32_t i = 0; i < ranked_; ++i) {
    const double own = places_[order_[i].place].warp_instructions.load(std::memory_order_relaxed);
    instructions += own;
    if (own > 0) share_ratio += order_[i].share_ratio;
  }
  for (uint32_t i = 0; i < ranked_; ++i) {
    Signature& signature = places_[order_[i].place];
    const double own = signature.warp_instructions.load(std::memory_order_relaxed);
    // own / own share > factor * instructions / share, without divisions.
    const bool dear = own > 0 && own * share_ratio > options_.dear_factor * instructions * order_[i].share_ratio;
    signature.dear.store(dear, std::memory_order_relaxed);
  }
}

// Whether signatures that are not dear are launched, matter, and lack samples of patched code.
bool SamplingNeeds::AnyOtherWaits(uint32_t group) const noexcept {
  double share_ratio = 0;
  for (uint32_t i = 0; i < ranked_; ++i) {
    const Signature& signature = places_[order_[i].place];
    if (!signature.dear.load(std::memory_order_relaxed) && signature.stale == 0 && Missing(signature, group) != 0 &&
        IsReady(signature, group)) {
      share_ratio += order_[i].share_ratio;
    }
  }
  return share_ratio >= options_.dear_waits_ratio;
}

// Takes down what every signature weighs now and has gained since the last time. Whether any has gained.
bool SamplingNeeds::Weigh(bool restart) noexcept {
  ++ranks_;
  order_.clear();
  total_ = 0;
  uint64_t all_launches = 0;
  uint64_t timed_launches = 0;
  bool news = false;
  for (uint32_t place = 0; place <= mask_; ++place) {
    Signature& signature = places_[place];
    if (signature.key.load(std::memory_order_relaxed) == 0) continue;
    order_.push_back({.share_ratio = 0, .place = place});  // Reserved: as many as there are places.
    const uint64_t launches = signature.launches.load(std::memory_order_relaxed);
    const uint64_t seen = launches + signature.timings.load(std::memory_order_relaxed);
    signature.stale = seen != signature.seen ? 0 : std::min(signature.stale + 1, options_.stale_ranks);
    if (seen != signature.seen) {
      if (signature.first_rank == 0) signature.first_rank = ranks_;
      signature.last_rank = ranks_;
    }
    signature.seen = seen;
    if (restart) {
      signature.weight = 0;
      signature.recent = 0;
    }
    const uint64_t weight = by_time_ ? signature.time_ns.load(std::memory_order_relaxed) : launches;
    signature.gain = static_cast<double>(weight - signature.weight);
    news = news || weight != signature.weight;
    signature.weight = weight;
    total_ += weight;
    // What only a program's beginning launched, or what is not recorded, is not waited for.
    if (IsStale(signature)) continue;
    all_launches += launches;
    if (signature.timings.load(std::memory_order_relaxed) != 0) timed_launches += launches;
  }
  timed_launch_ratio_ = all_launches == 0 ? 1 : static_cast<double>(timed_launches) / static_cast<double>(all_launches);
  return news;
}

// Puts the largest share first, and returns how many of the first make up the top share.
uint32_t SamplingNeeds::SortAndCount() noexcept {
  std::sort(order_.begin(), order_.end(), BySize);
  // Sums of rounded shares: a hair below the limit is the limit.
  const double wanted = options_.share_percent / 100.0 - 1e-9;
  double covered = 0;
  uint32_t count = 0;
  while (count < order_.size() && covered < wanted && order_[count].share_ratio > 0) {
    covered += order_[count++].share_ratio;
  }
  return count;
}

// Equal shares: by place, so that equal histories are ranked alike.
bool SamplingNeeds::BySize(const Ranked& a, const Ranked& b) noexcept {
  return a.share_ratio != b.share_ratio ? a.share_ratio > b.share_ratio : a.place < b.place;
}

SamplingNeeds::Summary SamplingNeeds::Summarise() noexcept {
  bool others_wait = false;
  for (uint32_t group = 0; group < group_count_ && !others_wait; ++group) {
    others_wait = kinds_[group] == GroupKind::kSass && AnyOtherWaits(group);
  }
  dear_allowed_.store(!others_wait, std::memory_order_relaxed);
  Summary summary;
  summary.ranked = ranked_;
  for (uint32_t group = 0; group < group_count_; ++group) {
    summary.groups[group].given_up = (given_up_groups_.load(std::memory_order_relaxed) >> group & 1u) != 0;
  }
  double timed = 0;
  for (uint32_t i = 0; i < order_.size(); ++i) {
    const Signature& signature = places_[order_[i].place];
    if (signature.clean_timings.load(std::memory_order_relaxed) >= options_.clean_timings) {
      timed += static_cast<double>(signature.weight);
    }
    if (i >= ranked_ || IsStale(signature)) continue;
    for (uint32_t group = 0; group < group_count_; ++group) {
      const uint32_t missing = Missing(signature, group);
      if (missing == 0 || !IsReady(signature, group)) continue;
      GroupSummary& needs = summary.groups[group];
      ++needs.signatures;
      needs.ranges += missing;
      needs.share_ratio = std::min(1.0, needs.share_ratio + order_[i].share_ratio);
    }
  }
  summary.timed_launch_ratio = timed_launch_ratio_;
  if (by_time_ && total_ != 0) {
    summary.known_time_ns = total_;
    summary.timed_ratio = timed / static_cast<double>(total_);
  }
  return summary;
}

uint32_t SamplingNeeds::RankLimit(uint32_t group, uint32_t ranges) const noexcept {
  if (group >= group_count_) return 0;
  uint64_t missing = 0;
  bool any = false;
  for (uint32_t i = 0; i < ranked_; ++i) {
    const Signature& signature = places_[order_[i].place];
    if (IsStale(signature) || !IsReady(signature, group)) continue;
    const uint32_t own = Missing(signature, group);
    if (own == 0) continue;
    missing += own;
    if (any && missing > ranges) return i;
    any = true;
  }
  return UINT32_MAX;
}

uint32_t SamplingNeeds::WillLack(uint32_t group) const noexcept {
  if (group >= group_count_ || (given_up_groups_.load(std::memory_order_relaxed) >> group & 1u) != 0) return 0;
  uint32_t ranges = 0;
  for (uint32_t i = 0; i < ranked_; ++i) {
    const Signature& signature = places_[order_[i].place];
    const bool can = IsReady(signature, group, true) ||
                     (!signature.completed.load(std::memory_order_relaxed) && !IsGivenUp(signature));
    if (can && !IsStale(signature)) ranges += Missing(signature, group);
  }
  return ranges;
}

uint32_t SamplingNeeds::Samples(uint32_t place, uint32_t group) const noexcept {
  if (places_ == nullptr || place > mask_ || group >= group_count_) return 0;
  return places_[place].groups[group].samples.load(std::memory_order_relaxed);
}

}  // namespace gx::inject
