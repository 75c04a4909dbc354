#include "analysis/run_neighbours.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/count_bound.h"
#include "analysis/machine_ceilings.h"

namespace gx::analysis {
namespace {

// Each is searched for a way back: of more, those that come least often are left out.
constexpr size_t kMaxOrderedPairs = 2048;

// Bytes a second that the machine sustains at this mix; absent: not known.
std::optional<double> SustainedRate(const gpuexec::v1::MachineFile* machine, double read_bytes, double write_bytes) {
  if (machine == nullptr || !(read_bytes + write_bytes > 0)) return std::nullopt;
  const std::optional<double> rate = SustainedDramBytesPerSecond(*machine, read_bytes / (read_bytes + write_bytes));
  return rate.has_value() && *rate > 0 ? rate : std::nullopt;
}

std::optional<double> DramRatio(const NeighbourKernel& kernel) {
  const std::optional<double> rate = SustainedRate(kernel.machine, *kernel.dram_read_bytes, *kernel.dram_write_bytes);
  if (!rate.has_value() || !(kernel.time_ns > 0)) return std::nullopt;
  const double ratio = (*kernel.dram_read_bytes + *kernel.dram_write_bytes) / kernel.time_ns * 1e9 / *rate;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

bool IsCounted(const NeighbourKernel& kernel) {
  const auto is_count = [](const std::optional<double>& bytes) { return bytes.has_value() && IsCount(*bytes); };
  return is_count(kernel.stored_bytes) && is_count(kernel.loaded_bytes) && is_count(kernel.dram_read_bytes) &&
         is_count(kernel.dram_write_bytes);
}

// 0: the second does not load a multiple of what the first stores.
uint64_t MultipleLoaded(double stored_bytes, double loaded_bytes) {
  if (!(stored_bytes > 0)) return 0;
  const double multiple = std::round(loaded_bytes / stored_bytes);
  if (!(multiple >= 1) || multiple > static_cast<double>(kMostInputs)) return 0;
  const double expected = multiple * stored_bytes;
  return std::fabs(loaded_bytes - expected) <= kSameBytesRatio * expected ? static_cast<uint64_t>(multiple) : 0;
}

std::optional<FusablePair> Judge(const NeighbourKernel& producer, const NeighbourKernel& consumer,
                                 const NeighbourCount& neighbours) {
  const double fewer = static_cast<double>(std::min(producer.kernel_count, consumer.kernel_count));
  if (neighbours.count < kMinPairs || static_cast<double>(neighbours.count) < kPairedRatio * fewer) {
    return std::nullopt;
  }
  if (neighbours.producer == neighbours.consumer && static_cast<double>(neighbours.count) >= kLoopRatio * fewer) {
    return std::nullopt;
  }
  if (!consumer.is_elementwise) return std::nullopt;
  const uint64_t multiple = MultipleLoaded(*producer.stored_bytes, *consumer.loaded_bytes);
  if (multiple == 0) return std::nullopt;
  FusablePair pair;
  pair.producer_signature = neighbours.producer;
  pair.consumer_signature = neighbours.consumer;
  pair.producer_name = producer.name;
  pair.consumer_name = consumer.name;
  pair.producer_grid = producer.grid;
  pair.consumer_grid = consumer.grid;
  pair.pair_count = neighbours.count;
  pair.producer_count = producer.kernel_count;
  pair.stored_bytes = *producer.stored_bytes;
  pair.loaded_bytes = *consumer.loaded_bytes;
  pair.loaded_multiple = multiple;
  pair.producer_dram_ratio = DramRatio(producer);
  pair.consumer_dram_ratio = DramRatio(consumer);
  // Where it is not known, the bytes alone are told.
  if (pair.consumer_dram_ratio.value_or(kDramBoundRatio) < kDramBoundRatio) return std::nullopt;
  const double written = std::min(*producer.stored_bytes, *producer.dram_write_bytes);
  const double read = std::min(*producer.stored_bytes, *consumer.dram_read_bytes);
  const double read_bytes = *producer.dram_read_bytes + *consumer.dram_read_bytes;
  const double write_bytes = *producer.dram_write_bytes + *consumer.dram_write_bytes;
  pair.dram_bytes = read_bytes + write_bytes;
  pair.saved_dram_bytes = written + read;
  if (!(pair.saved_dram_bytes > 0)) return std::nullopt;
  if (const auto rate = SustainedRate(consumer.machine, read_bytes - read, write_bytes - written); rate.has_value()) {
    // What the fused kernel needs at least for its bytes; and it does all that the longer of the two does.
    const double fused_ns = (pair.dram_bytes - pair.saved_dram_bytes) / *rate * 1e9;
    const double both_ns = producer.time_ns + consumer.time_ns;
    pair.saved_ns = std::clamp(both_ns - fused_ns, 0.0, std::min(producer.time_ns, consumer.time_ns));
    pair.saved_run_ns = *pair.saved_ns * static_cast<double>(neighbours.count);
  }
  return pair;
}

// Whether `to` is reached from `from` along pairs.
bool Reaches(const std::map<uint32_t, std::vector<uint32_t>>& consumers, uint32_t from, uint32_t to) {
  std::vector<uint32_t> open = {from};
  std::set<uint32_t> seen = {from};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == to) return true;
    const auto found = consumers.find(at);
    if (found == consumers.end()) continue;
    for (const uint32_t next : found->second) {
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

// In a loop the first kernel follows the last one of the step before, and bytes alone take it for its consumer. That
// pair is the one that comes least often, as it is missing once a run of steps; of as many, the one whose consumer
// started first in the trace: signatures are numbered by first launch.
void DropLoopEnds(std::vector<FusablePair>* pairs) {
  const auto is_back = [](const FusablePair& pair) { return pair.consumer_signature <= pair.producer_signature; };
  std::sort(pairs->begin(), pairs->end(), [&](const FusablePair& a, const FusablePair& b) {
    return std::tuple(b.pair_count, is_back(a), a.producer_signature, a.consumer_signature) <
           std::tuple(a.pair_count, is_back(b), b.producer_signature, b.consumer_signature);
  });
  std::map<uint32_t, std::vector<uint32_t>> consumers;
  size_t searched = 0;
  std::erase_if(*pairs, [&](const FusablePair& pair) {
    // A kernel after itself has no other order; FindFusable has left out loops of one.
    if (pair.producer_signature == pair.consumer_signature) return false;
    if (++searched > kMaxOrderedPairs) return true;
    if (Reaches(consumers, pair.consumer_signature, pair.producer_signature)) return true;
    consumers[pair.producer_signature].push_back(pair.consumer_signature);
    return false;
  });
}

}  // namespace

FusableNeighbours FindFusable(const std::map<uint32_t, NeighbourKernel>& kernels,
                              absl::Span<const NeighbourCount> neighbours) {
  FusableNeighbours found;
  double all = 0;
  double unjudged = 0;
  for (const NeighbourCount& pair : neighbours) {
    all += static_cast<double>(pair.count);
    const auto producer = kernels.find(pair.producer);
    const auto consumer = kernels.find(pair.consumer);
    if (producer == kernels.end() || consumer == kernels.end() || !IsCounted(producer->second) ||
        !IsCounted(consumer->second)) {
      unjudged += static_cast<double>(pair.count);
      continue;
    }
    std::optional<FusablePair> fusable = Judge(producer->second, consumer->second, pair);
    if (fusable.has_value()) found.pairs.push_back(*std::move(fusable));
  }
  if (all > 0) found.unjudged_ratio = unjudged / all;
  DropLoopEnds(&found.pairs);
  std::sort(found.pairs.begin(), found.pairs.end(), [](const FusablePair& a, const FusablePair& b) {
    const auto key = [](const FusablePair& pair) {
      return std::tuple(-pair.saved_run_ns.value_or(0), -pair.saved_dram_bytes * static_cast<double>(pair.pair_count),
                        pair.producer_signature, pair.consumer_signature);
    };
    return key(a) < key(b);
  });
  return found;
}

}  // namespace gx::analysis
