// gx-synthetic-trace KERNELS OUT.pb [LIKE.pb [COUNTERS.pb]]: a long trace made of a short real one, to measure readers.
//
// What LIKE.pb recorded is written again and again, later in time and with further correlation ids, until KERNELS
// kernel records are there: signatures, order, durations, gaps, overlap, batches and frames are those of the real run,
// column by column. Definitions come once. Without counters of its own, LIKE.pb gets those of COUNTERS.pb: its groups
// and samples, spread over the signatures, in a counter window after each of the first kCountedRounds rounds, as
// sampling ends in a real run, too. Not installed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/columns.h"
#include "analysis/frame_walk.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"

namespace {

namespace pb = gpuexec::v1;
using Packets = std::vector<pb::Packet>;

constexpr uint64_t kCountedRounds = 64;
// Between two rounds.
constexpr uint64_t kPauseNs = 1'000'000;

Packets Read(const std::string& path) {
  Packets packets;
  auto reader = gx::analysis::TraceReader::Open(path);
  if (!reader.ok()) {
    std::cerr << "gx-synthetic-trace: " << reader.status().message() << "\n";
    std::exit(3);
  }
  pb::Packet packet;
  for (;;) {
    const absl::StatusOr<bool> more = (*reader)->Next(&packet);
    if (!more.ok() || !*more) break;
    packets.push_back(packet);
  }
  return packets;
}

// What one round takes, and whether it has counters.
struct Round {
  uint64_t length_ns = 0;
  uint64_t correlation_ids = 0;
  uint64_t kernels = 0;
  uint64_t end_monotonic_ns = 0;
  bool has_counters = false;
  std::vector<uint64_t> signature_iids;
  uint64_t last_window_id = 1;
};

Round Measure(const Packets& packets) {
  Round round;
  uint64_t first_id = UINT64_MAX;
  uint64_t last_id = 0;
  uint64_t first_ns = UINT64_MAX;
  uint64_t last_ns = 0;
  const auto note_id = [&](uint64_t id) {
    first_id = std::min(first_id, id);
    last_id = std::max(last_id, id);
  };
  const auto note_ns = [&](uint64_t ns) {
    first_ns = std::min(first_ns, ns);
    last_ns = std::max(last_ns, ns);
  };
  for (const pb::Packet& packet : packets) {
    if (packet.header().has_start()) note_ns(packet.header().start().monotonic_ns());
    if (packet.trailer().has_end()) note_ns(packet.trailer().end().monotonic_ns());
    for (const auto& pair : packet.clock_pair()) note_ns(pair.monotonic_ns());
    for (const auto& signature : packet.signature()) round.signature_iids.push_back(signature.iid());
    for (const auto& window : packet.window()) {
      if (window.kind() == pb::Window::KIND_TIMING) round.last_window_id = window.window_id();
    }
    for (const auto& batch : packet.launch_batch()) {
      gx::analysis::ForEachLaunch(batch, [&](const gx::analysis::LaunchRow& row) {
        note_id(row.correlation_id);
        note_ns(row.enter_monotonic_ns);
      });
    }
    for (const auto& batch : packet.kernel_batch()) {
      round.kernels += batch.count();
      gx::analysis::ForEachKernel(batch, [&](const gx::analysis::KernelRow& row) { note_id(row.correlation_id); });
    }
    round.has_counters |= !packet.counter_batch().empty();
  }
  round.correlation_ids = last_id - first_id + 1;
  round.length_ns = last_ns - first_ns + kPauseNs;
  round.end_monotonic_ns = last_ns;
  return round;
}

void MovePair(uint64_t by_ns, pb::ClockPair* pair) {
  pair->set_cupti_ns(pair->cupti_ns() + by_ns);
  pair->set_monotonic_ns(pair->monotonic_ns() + by_ns);
  if (pair->monotonic_raw_ns() != 0) pair->set_monotonic_raw_ns(pair->monotonic_raw_ns() + by_ns);
  if (pair->realtime_ns() != 0) pair->set_realtime_ns(pair->realtime_ns() + by_ns);
}

// The records of `packet` alone, not the definitions; `window_id`: of all launches.
pb::Packet Repeated(const pb::Packet& packet, uint64_t by_ns, uint64_t by_ids, uint64_t window_id,
                    const std::vector<uint64_t>& counter_windows) {
  pb::Packet moved;
  for (const auto& batch : packet.launch_batch()) {
    if (std::count(counter_windows.begin(), counter_windows.end(), batch.window_id()) > 0) continue;
    pb::LaunchBatch* copy = moved.add_launch_batch();
    *copy = batch;
    copy->set_base_enter_monotonic_ns(batch.base_enter_monotonic_ns() + by_ns);
    copy->set_base_correlation_id(batch.base_correlation_id() + by_ids);
    copy->set_window_id(window_id);
  }
  const auto move = [&](auto* copy) {
    copy->set_base_start_ns(copy->base_start_ns() + by_ns);
    copy->set_base_correlation_id(copy->base_correlation_id() + by_ids);
  };
  for (const auto& batch : packet.kernel_batch()) move(&(*moved.add_kernel_batch() = batch));
  for (const auto& batch : packet.memory_batch()) move(&(*moved.add_memory_batch() = batch));
  for (const auto& batch : packet.synchronization_batch()) move(&(*moved.add_synchronization_batch() = batch));
  for (const auto& batch : packet.overhead_batch()) {
    *moved.add_overhead_batch() = batch;
    moved.mutable_overhead_batch()->rbegin()->set_base_start_ns(batch.base_start_ns() + by_ns);
  }
  for (const auto& batch : packet.nvtx_event_batch()) {
    *moved.add_nvtx_event_batch() = batch;
    moved.mutable_nvtx_event_batch()->rbegin()->set_base_monotonic_ns(batch.base_monotonic_ns() + by_ns);
  }
  for (const auto& sample : packet.device_sample()) {
    *moved.add_device_sample() = sample;
    moved.mutable_device_sample()->rbegin()->set_monotonic_ns(sample.monotonic_ns() + by_ns);
  }
  for (const auto& pair : packet.clock_pair()) MovePair(by_ns, &(*moved.add_clock_pair() = pair));
  return moved;
}

// The groups and samples of `counters`, for a trace that has none, in a window that begins at `at_ns`.
void AddCounters(const Packets& counters, const Round& round, uint64_t number, uint64_t window_id, uint64_t at_ns,
                 pb::Packet* packet) {
  pb::Window* window = packet->add_window();
  window->set_window_id(window_id);
  window->set_kind(pb::Window::KIND_COUNTERS);
  window->set_begin_monotonic_ns(at_ns);
  window->set_end_monotonic_ns(at_ns + kPauseNs / 4);
  pb::Window* next = packet->add_window();
  next->set_window_id(window_id + 1);
  next->set_kind(pb::Window::KIND_TIMING);
  next->set_begin_monotonic_ns(at_ns + kPauseNs / 4);
  uint64_t sample = number;
  for (const pb::Packet& source : counters) {
    if (number == 0) {
      packet->mutable_counter_group()->MergeFrom(source.counter_group());
      packet->mutable_counter_plan()->MergeFrom(source.counter_plan());
    }
    for (const auto& batch : source.counter_batch()) {
      pb::CounterBatch* copy = packet->add_counter_batch();
      *copy = batch;
      copy->set_window_id(window_id);
      copy->set_base_enter_monotonic_ns(at_ns);
      copy->clear_enter_delta();
      copy->clear_graph_exec_id();
      copy->clear_signature_iid();
      for (uint64_t i = 0; i < batch.count(); ++i) {
        copy->add_signature_iid(round.signature_iids[sample++ % round.signature_iids.size()]);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t wanted = argc < 4 ? 0 : std::strtoull(argv[1], nullptr, 10);
  if (wanted == 0 || argc > 5) {
    std::cerr << "usage: gx-synthetic-trace KERNELS OUT.pb LIKE.pb [COUNTERS.pb]\n";
    return 2;
  }
  const Packets like = Read(argv[3]);
  const Packets counters = argc > 4 ? Read(argv[4]) : Packets{};
  const Round round = Measure(like);
  if (round.kernels == 0 || round.signature_iids.empty()) {
    std::cerr << "gx-synthetic-trace: " << argv[3] << ": expected kernels and signatures, got none\n";
    return 3;
  }
  std::vector<uint64_t> counter_windows;
  pb::Packet last_stats;
  pb::Trailer trailer;
  for (const pb::Packet& packet : like) {
    for (const auto& window : packet.window()) {
      if (window.kind() == pb::Window::KIND_COUNTERS) counter_windows.push_back(window.window_id());
    }
    if (packet.has_stats()) *last_stats.mutable_stats() = packet.stats();
    if (packet.has_trailer()) trailer = packet.trailer();
  }
  std::ofstream out(argv[2], std::ios::binary | std::ios::trunc);
  uint64_t sequence = 0;
  const auto write = [&](pb::Packet* packet) {
    packet->set_sequence(sequence++);
    out << gx::analysis::MakeFrame(packet->SerializeAsString());
  };
  uint64_t kernels = 0;
  uint64_t number = 0;
  uint64_t window_id = round.last_window_id;
  for (; kernels < wanted; ++number) {
    const uint64_t by_ns = number * round.length_ns;
    for (const pb::Packet& packet : like) {
      pb::Packet next =
          number == 0 ? packet : Repeated(packet, by_ns, number * round.correlation_ids, window_id, counter_windows);
      next.clear_trailer();
      next.clear_stats();
      write(&next);
      for (const auto& batch : packet.kernel_batch()) kernels += batch.count();
    }
    if (!round.has_counters && !counters.empty() && number < kCountedRounds) {
      pb::Packet packet;
      AddCounters(counters, round, number, window_id + 1, round.end_monotonic_ns + by_ns + kPauseNs / 4, &packet);
      window_id += 2;
      write(&packet);
    }
  }
  if (trailer.has_end()) MovePair((number - 1) * round.length_ns, trailer.mutable_end());
  *last_stats.mutable_trailer() = trailer;
  write(&last_stats);
  out.close();
  if (!out.good()) {
    std::cerr << "gx-synthetic-trace: " << argv[2] << " could not be written\n";
    return 3;
  }
  std::cout << kernels << " kernels, " << number << " rounds\n";
  return 0;
}
