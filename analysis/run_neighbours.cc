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

double DramBytes(const NeighbourKernel& kernel) { return *kernel.dram_read_bytes + *kernel.dram_write_bytes; }

// Of what the producer stores: what leaves it for DRAM, and what the consumer has from there.
double WrittenBytes(const NeighbourKernel& producer) {
  return std::min(*producer.stored_bytes, *producer.dram_write_bytes);
}
double ReadBytes(const NeighbourKernel& producer, const NeighbourKernel& consumer) {
  return std::min(*producer.stored_bytes, *consumer.dram_read_bytes);
}

std::optional<double> DramRatio(const NeighbourKernel& kernel) {
  const std::optional<double> rate = SustainedRate(kernel.machine, *kernel.dram_read_bytes, *kernel.dram_write_bytes);
  if (!rate.has_value() || !(kernel.time_ns > 0)) return std::nullopt;
  const double ratio = DramBytes(kernel) / kernel.time_ns * 1e9 / *rate;
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
  pair.dram_bytes = DramBytes(producer) + DramBytes(consumer);
  pair.saved_dram_bytes = WrittenBytes(producer) + ReadBytes(producer, consumer);
  if (!(pair.saved_dram_bytes > 0)) return std::nullopt;
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

// Launches that have one after them and before them, by signature.
struct Followed {
  std::map<uint32_t, double> by_producer;
  std::map<uint32_t, double> by_consumer;
};

// Whether the second comes after the first, and the first before the second, and hardly anything else. Of launches
// whose neighbour is known: where windows end, it is not.
bool IsAlways(const FusablePair& pair, const Followed& followed) {
  const double most =
      std::max(followed.by_producer.at(pair.producer_signature), followed.by_consumer.at(pair.consumer_signature));
  return static_cast<double>(pair.pair_count) >= kChainedRatio * most;
}

// Absent: how much DRAM bounds one of them is not known.
std::optional<double> FusedTimeOf(absl::Span<const uint32_t> signatures,
                                  const std::map<uint32_t, NeighbourKernel>& kernels) {
  std::vector<FusedMember> members;
  for (size_t place = 0; place < signatures.size(); ++place) {
    const NeighbourKernel& kernel = kernels.at(signatures[place]);
    const std::optional<double> ratio = DramRatio(kernel);
    if (!ratio.has_value()) return std::nullopt;
    FusedMember member{.time_ns = kernel.time_ns,
                       .launch_ns = std::clamp(kernel.launch_ns.value_or(0), 0.0, kernel.time_ns),
                       .dram_bytes = DramBytes(kernel),
                       .is_elementwise = kernel.is_elementwise,
                       .dram_ratio = *ratio};
    if (place > 0) member.removed_bytes += ReadBytes(kernels.at(signatures[place - 1]), kernel);
    if (place + 1 < signatures.size()) member.removed_bytes += WrittenBytes(kernel);
    members.push_back(member);
  }
  return FusedTimeNs(members);
}

// Of pairs without a cycle. Of those that come always a kernel has one before it and one after it at most.
std::vector<FusableChain> ChainsOf(const std::vector<FusablePair>& pairs, const Followed& followed,
                                   const std::map<uint32_t, NeighbourKernel>& kernels) {
  std::map<uint32_t, const FusablePair*> next;
  std::set<uint32_t> has_before;
  std::vector<const FusablePair*> starts;
  for (const FusablePair& pair : pairs) {
    if (pair.producer_signature == pair.consumer_signature || !IsAlways(pair, followed)) {
      starts.push_back(&pair);
      continue;
    }
    next.emplace(pair.producer_signature, &pair);
    has_before.insert(pair.consumer_signature);
  }
  std::vector<std::vector<const FusablePair*>> rows;
  rows.reserve(pairs.size());
  for (const FusablePair* pair : starts) rows.push_back({pair});
  for (const auto& [producer, first] : next) {
    if (has_before.count(producer) != 0) continue;
    std::vector<const FusablePair*> row;
    for (auto link = next.find(producer); link != next.end(); link = next.find(link->second->consumer_signature)) {
      // A longer one goes on as a chain of its own.
      if (row.size() + 1 == kMaxChain) rows.push_back(std::exchange(row, {}));
      row.push_back(link->second);
    }
    rows.push_back(std::move(row));
  }
  std::map<uint32_t, uint64_t> chains_of_kernel;
  std::vector<FusableChain> chains;
  for (const std::vector<const FusablePair*>& row : rows) {
    FusableChain chain;
    const auto add = [&](uint32_t signature, const std::string& name, const std::string& grid) {
      chain.signatures.push_back(signature);
      chain.names.push_back(name);
      chain.grids.push_back(grid);
      chain.time_ns += kernels.at(signature).time_ns;
      chain.dram_bytes += DramBytes(kernels.at(signature));
    };
    chain.chain_count = row.front()->pair_count;
    add(row.front()->producer_signature, row.front()->producer_name, row.front()->producer_grid);
    for (const FusablePair* pair : row) {
      add(pair->consumer_signature, pair->consumer_name, pair->consumer_grid);
      chain.chain_count = std::min(chain.chain_count, pair->pair_count);
      chain.stored_bytes.push_back(pair->stored_bytes);
      chain.loaded_multiples.push_back(pair->loaded_multiple);
      chain.saved_dram_bytes += pair->saved_dram_bytes;
    }
    for (const uint32_t signature : std::set<uint32_t>(chain.signatures.begin(), chain.signatures.end())) {
      ++chains_of_kernel[signature];
    }
    chain.fused_time_ns = FusedTimeOf(chain.signatures, kernels);
    if (chain.fused_time_ns.has_value()) {
      chain.saved_ns = std::max(0.0, chain.time_ns - *chain.fused_time_ns);
      chain.saved_run_ns = *chain.saved_ns * static_cast<double>(chain.chain_count);
    }
    chains.push_back(std::move(chain));
  }
  for (FusableChain& chain : chains) {
    chain.shares_kernel = std::any_of(chain.signatures.begin(), chain.signatures.end(),
                                      [&](uint32_t signature) { return chains_of_kernel.at(signature) > 1; });
  }
  std::sort(chains.begin(), chains.end(), [](const FusableChain& a, const FusableChain& b) {
    const auto key = [](const FusableChain& chain) {
      return std::tuple(-chain.saved_run_ns.value_or(0),
                        -chain.saved_dram_bytes * static_cast<double>(chain.chain_count), chain.signatures);
    };
    return key(a) < key(b);
  });
  return chains;
}

}  // namespace

double FusedTimeNs(absl::Span<const FusedMember> members) {
  double sum_ns = 0;
  double fused_ns = 0;
  double longest_ns = 0;
  double launch_ns = 0;
  for (const FusedMember& member : members) {
    double removed_ns = 0;
    if (member.removed_bytes > 0 && (member.is_elementwise || member.dram_ratio >= kDramBoundRatio)) {
      const double share = std::min(1.0, member.removed_bytes / member.dram_bytes);
      removed_ns = share * (member.time_ns - member.launch_ns);
      if (!member.is_elementwise) removed_ns = std::min(removed_ns, share * member.dram_ratio * member.time_ns);
    }
    sum_ns += member.time_ns;
    fused_ns += member.time_ns - member.launch_ns - removed_ns;
    longest_ns = std::max(longest_ns, member.time_ns);
    launch_ns = std::max(launch_ns, member.launch_ns);
  }
  return std::clamp(fused_ns + launch_ns, longest_ns, std::max(longest_ns, sum_ns));
}

FusableNeighbours FindFusable(const std::map<uint32_t, NeighbourKernel>& kernels,
                              absl::Span<const NeighbourCount> neighbours) {
  FusableNeighbours found;
  double all = 0;
  double unjudged = 0;
  Followed followed;
  for (const NeighbourCount& pair : neighbours) {
    all += static_cast<double>(pair.count);
    followed.by_producer[pair.producer] += static_cast<double>(pair.count);
    followed.by_consumer[pair.consumer] += static_cast<double>(pair.count);
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
  for (FusablePair& pair : found.pairs) {
    pair.fused_time_ns = FusedTimeOf({pair.producer_signature, pair.consumer_signature}, kernels);
    if (!pair.fused_time_ns.has_value()) continue;
    const double both_ns = kernels.at(pair.producer_signature).time_ns + kernels.at(pair.consumer_signature).time_ns;
    pair.saved_ns = std::max(0.0, both_ns - *pair.fused_time_ns);
    pair.saved_run_ns = *pair.saved_ns * static_cast<double>(pair.pair_count);
  }
  found.chains = ChainsOf(found.pairs, followed, kernels);
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
