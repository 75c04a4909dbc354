#include "inject/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/inject/writer_parts.h"

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Property;

constexpr uint64_t kGenerousNs = 30'000'000'000;
constexpr uint64_t kPacketLimitBytes = uint64_t{16} << 20;

TEST(DurationBucket, IsEightTimesTheLogarithmRoundedDown) {
  EXPECT_EQ(DurationBucket(0), 0u);
  EXPECT_EQ(DurationBucket(1), 0u);
  EXPECT_EQ(DurationBucket(2), 8u);
  EXPECT_EQ(DurationBucket(3), 12u);  // log2(3) = 1.585
  EXPECT_EQ(DurationBucket(1023), 79u);
  for (uint32_t power = 0; power < 64; ++power) EXPECT_EQ(DurationBucket(uint64_t{1} << power), power * 8);
}

TEST(DurationBucket, NeverFallsAsDurationsGrow) {
  uint32_t before = 0;
  for (uint64_t duration = 1; duration < (uint64_t{1} << 40); duration += 1 + duration / 97) {
    const uint32_t bucket = DurationBucket(duration);
    ASSERT_GE(bucket, before) << duration;
    const long double lower = std::exp2(static_cast<long double>(bucket) / 8);
    const long double upper = std::exp2(static_cast<long double>(bucket + 1) / 8);
    ASSERT_GE(static_cast<long double>(duration), lower) << duration;
    ASSERT_LT(static_cast<long double>(duration), upper) << duration;
    before = bucket;
  }
}

// Kernel records in a buffer of ours, walked by a table of their number.
CUptiResult CUPTIAPI NextKernel(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  auto* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() {
    parts_.cupti.cuptiActivityGetNextRecord = NextKernel;
    Prober::Parts prober;
    prober.cuda = &cuda_;
    prober.functions = &parts_.functions;
    prober.gate = &gate_;
    parts_.prober.Attach(prober);
  }

  void RunToTheEnd() {
    parts_.writer->Finish(1, {});
    parts_.writer->Run();
  }
  void QueueLaunch(uint32_t correlation_id, uint32_t result = 0) {
    ThreadState* thread = parts_.queues.Current();
    ASSERT_NE(thread, nullptr);
    auto* event = thread->queue.Reserve<LaunchEvent>(EventType::kLaunch);
    ASSERT_NE(event, nullptr);
    event->enter_monotonic_ns = 1'000 + correlation_id;
    event->correlation_id = correlation_id;
    event->context_id = 1;
    event->stream_id = 7;
    event->window_id = 1;
    event->result = result;
    event->parameters.readable = 1;
    event->parameters.grid = {1, 1, 1};
    thread->queue.Commit();
  }
  void CompleteKernels(uint32_t count, uint64_t duration_ns) {
    CompletedBuffer discarded;
    uint8_t* data = parts_.buffers->Take(false, &discarded);
    ASSERT_NE(data, nullptr);
    size_t used = 0;
    for (uint32_t i = 0; i < count; ++i) {
      CUpti_ActivityKernel10 kernel;
      std::memset(&kernel, 0, sizeof(kernel));
      kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      kernel.start = 10'000 + i * 1'000;
      kernel.end = kernel.start + duration_ns;
      kernel.correlationId = i + 1;
      kernel.deviceId = 2;
      kernel.name = "axpy";
      std::memcpy(data + used, &kernel, sizeof(kernel));
      used += sizeof(kernel);
    }
    ASSERT_TRUE(parts_.buffers->Complete({data, used, nullptr, 0}));
  }
  bool QueueNvtx(const std::string& text) {
    auto* event =
        parts_.queues.Current()->queue.Reserve<NvtxEvent>(EventType::kNvtx, static_cast<uint32_t>(text.size()));
    if (event == nullptr) return false;
    event->kind = static_cast<uint32_t>(NvtxKind::kMark);
    event->domain_index = 1;
    event->text_bytes = static_cast<uint32_t>(text.size());
    std::memcpy(event + 1, text.data(), text.size());
    parts_.queues.Current()->queue.Commit();
    return true;
  }
  static uint64_t Launches(const gpuexec::v1::Packet& packet) {
    uint64_t count = 0;
    for (const auto& batch : packet.launch_batch()) count += batch.count();
    return count;
  }
  static uint64_t Kernels(const gpuexec::v1::Packet& packet) {
    uint64_t count = 0;
    for (const auto& batch : packet.kernel_batch()) count += batch.count();
    return count;
  }

  WriterParts parts_;
  CudaApi cuda_;
  ProbeGate gate_;
};

TEST_F(WriterTest, LaunchesAndKernelsBecomeATraceWithHeaderAndTrailer) {
  parts_.MakeWriter();
  for (uint32_t i = 1; i <= 3; ++i) QueueLaunch(i);
  CompleteKernels(3, 32);
  RunToTheEnd();
  EXPECT_TRUE(parts_.writer->finished());
  const auto packet = parts_.AllPackets();
  EXPECT_EQ(packet.header().gpuexec_version(), "test");
  EXPECT_EQ(packet.trailer().reason(), gpuexec::v1::Trailer::REASON_EXIT);
  EXPECT_EQ(Launches(packet), 3u);
  EXPECT_EQ(Kernels(packet), 3u);
  EXPECT_EQ(packet.signature_size(), 1);
  EXPECT_EQ(parts_.writer->kernels_expected(), 3u);
  EXPECT_EQ(parts_.writer->kernels_received(), 3u);
  EXPECT_EQ(parts_.buffers->lent(), 0u);
}

TEST_F(WriterTest, ManyNotesWakeTheThreadBeforeOneIsLost) {
  Writer& writer = parts_.MakeWriter();
  const uint32_t seen = parts_.queues.half_full().count();
  int posted = 0;
  while (parts_.queues.half_full().count() == seen && posted < 1000) {
    writer.Post(WindowRecord{});
    ++posted;
  }
  EXPECT_EQ(posted, 128);
  EXPECT_EQ(Stats().Get(StatId::kNotesDropped), 0u);
}

TEST_F(WriterTest, NotesBeyondTheRoomAreDroppedAndCounted) {
  Writer& writer = parts_.MakeWriter();
  for (int i = 0; i < 259; ++i) writer.Post(WindowRecord{});
  EXPECT_EQ(Stats().Get(StatId::kNotesDropped), 3u);
}

TEST_F(WriterTest, AReadBufferIsFreeAgain) {
  parts_.MakeWriter();
  for (int i = 0; i < 4; ++i) CompleteKernels(1, 32);
  RunToTheEnd();
  EXPECT_EQ(Kernels(parts_.AllPackets()), 4u);
  CompletedBuffer discarded;
  for (int i = 0; i < 4; ++i) EXPECT_NE(parts_.buffers->Take(false, &discarded), nullptr);
}

TEST_F(WriterTest, ARefusedLaunchOwesNoKernel) {
  parts_.MakeWriter();
  QueueLaunch(1, 9);
  RunToTheEnd();
  EXPECT_EQ(parts_.writer->kernels_expected(), 0u);
  EXPECT_EQ(Launches(parts_.AllPackets()), 1u);
}

TEST_F(WriterTest, KernelsWithoutTimesAreCountedByKind) {
  parts_.MakeWriter();
  CompletedBuffer discarded;
  uint8_t* data = parts_.buffers->Take(false, &discarded);
  CUpti_ActivityKernel10 kernels[3];
  std::memset(kernels, 0, sizeof(kernels));
  for (auto& kernel : kernels) kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernels[1].start = 100;
  kernels[2].start = 100;
  kernels[2].end = 50;
  std::memcpy(data, kernels, sizeof(kernels));
  ASSERT_TRUE(parts_.buffers->Complete({data, sizeof(kernels), nullptr, 0}));
  RunToTheEnd();
  EXPECT_EQ(Stats().Get(StatId::kKernelsUntimed), 1u);
  EXPECT_EQ(Stats().Get(StatId::kKernelsUnfinished), 1u);
  EXPECT_EQ(Stats().Get(StatId::kKernelsInvalidTime), 1u);
  EXPECT_EQ(Kernels(parts_.AllPackets()), 3u);
}

// As CUPTI tells it: how many since the last time that it was asked.
std::atomic<size_t> dropped_records{0};

TEST_F(WriterTest, WhatCuptiDroppedIsCounted) {
  dropped_records = 12;
  parts_.cupti.cuptiActivityGetNumDroppedRecords = [](CUcontext, uint32_t, size_t* dropped) {
    *dropped = dropped_records.exchange(0);
    return CUPTI_SUCCESS;
  };
  parts_.MakeWriter();
  CompleteKernels(1, 32);
  RunToTheEnd();
  EXPECT_EQ(Stats().Get(StatId::kRecordsDroppedByCupti), 12u);
}

TEST_F(WriterTest, WhatCuptiDroppedBeforeAnyBufferCameBackIsCountedAtTheEnd) {
  dropped_records = 7;
  parts_.cupti.cuptiActivityGetNumDroppedRecords = [](CUcontext, uint32_t, size_t* dropped) {
    *dropped = dropped_records.exchange(0);
    return CUPTI_SUCCESS;
  };
  parts_.MakeWriter();
  RunToTheEnd();
  EXPECT_EQ(Stats().Get(StatId::kRecordsDroppedByCupti), 7u);
}

TEST_F(WriterTest, AProcessWithoutWorkLeavesNoFile) {
  parts_.MakeWriter();
  parts_.writer->Post(ClockPairRecord{});
  RunToTheEnd();
  EXPECT_TRUE(parts_.writer->finished());
  EXPECT_FALSE(std::filesystem::exists(parts_.config.output));
}

TEST_F(WriterTest, AReasonAloneIsAFileOfItsOwn) {
  parts_.MakeWriter();
  parts_.writer->Post(DiagnosticItem{StatId::kSubscribeRefused, "another profiler"});
  parts_.writer->WriteReasonOnly(2, {});
  const auto packet = parts_.AllPackets();
  EXPECT_TRUE(packet.has_header());
  EXPECT_EQ(packet.trailer().reason(), gpuexec::v1::Trailer::REASON_DISABLED);
  ASSERT_EQ(packet.diagnostic_size(), 1);
  EXPECT_EQ(packet.diagnostic(0).text(), "another profiler");
  EXPECT_TRUE(parts_.writer->finished());
}

TEST_F(WriterTest, AfterTheSizeLimitOnlySummariesAreKept) {
  parts_.config.max_bytes = 1;
  parts_.MakeWriter();
  for (uint32_t i = 1; i <= 5; ++i) QueueLaunch(i);
  CompleteKernels(5, 64);
  RunToTheEnd();
  const auto packet = parts_.AllPackets();
  EXPECT_LT(Launches(packet), 5u);
  EXPECT_EQ(Kernels(packet), 0u);
  uint64_t launches = Launches(packet);
  for (const auto& summary : packet.launch_summary()) launches += summary.count();
  EXPECT_EQ(launches, 5u);
  ASSERT_EQ(packet.kernel_summary_size(), 1);
  const auto& summary = packet.kernel_summary(0);
  EXPECT_EQ(summary.device_id(), 2u);
  EXPECT_EQ(summary.count(), 5u);
  EXPECT_EQ(summary.total_ns(), 5u * 64);
  EXPECT_EQ(summary.min_ns(), 64u);
  EXPECT_EQ(summary.max_ns(), 64u);
  EXPECT_EQ(summary.begin_ns(), 10'000u);
  EXPECT_EQ(summary.end_ns(), 14'064u);
  ASSERT_EQ(summary.bucket_size(), 1);
  EXPECT_EQ(summary.bucket(0), DurationBucket(64));
  EXPECT_EQ(summary.bucket_count(0), 5u);
  EXPECT_EQ(Stats().Get(StatId::kSizeLimitReached), 1u);
  ASSERT_EQ(packet.diagnostic_size(), 1);
  EXPECT_THAT(packet.diagnostic(0).text(), HasSubstr("GPUEXEC_MAX_BYTES"));
}

TEST_F(WriterTest, ADrainRequestIsAnsweredAfterWhatItRaised) {
  parts_.MakeWriter();
  std::thread writer([&] { parts_.writer->Run(); });
  std::thread prober([&] { parts_.prober.Run(); });
  for (uint32_t i = 1; i <= 20; ++i) {
    QueueLaunch(i);
    const uint32_t ticket = parts_.writer->RequestDrain();
    EXPECT_TRUE(
        WaitUntil([&] { return static_cast<int32_t>(parts_.prober.done_ticket() - ticket) >= 0; }, kGenerousNs));
    EXPECT_TRUE(parts_.queues.Current()->queue.empty());
    EXPECT_EQ(parts_.writer->kernels_expected(), i);
  }
  parts_.writer->Finish(1, {});
  writer.join();
  parts_.prober.Stop();
  prober.join();
}

TEST_F(WriterTest, EverythingQueuedBeforeTheEndIsWrittenWhileTheThreadRuns) {
  parts_.MakeWriter();
  std::thread writer([&] { parts_.writer->Run(); });
  std::vector<std::thread> hosts;
  constexpr uint32_t kThreads = 3;
  constexpr uint32_t kLaunches = 2'000;
  for (uint32_t t = 0; t < kThreads; ++t) {
    hosts.emplace_back([&] {
      for (uint32_t i = 1; i <= kLaunches; ++i) {
        ThreadState* thread = parts_.queues.Current();
        LaunchEvent* event = nullptr;
        while ((event = thread->queue.Reserve<LaunchEvent>(EventType::kLaunch)) == nullptr) std::this_thread::yield();
        event->correlation_id = i;
        event->enter_monotonic_ns = i;
        thread->queue.Commit();
        if (i % 100 == 0) parts_.writer->Post(ClockPairRecord{});
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  parts_.writer->Finish(1, {});
  writer.join();
  const auto packet = parts_.AllPackets();
  EXPECT_EQ(Launches(packet), uint64_t{kThreads} * kLaunches);
  EXPECT_EQ(packet.thread_size(), static_cast<int>(kThreads));
  EXPECT_EQ(packet.clock_pair_size(), static_cast<int>(kThreads * kLaunches / 100));
}

TEST_F(WriterTest, RangesWithoutAnyLaunchDoNotGrowOneFrameWithoutEnd) {
  parts_.MakeWriter();
  std::thread writer([&] { parts_.writer->Run(); });
  std::string text(4'000, 'x');
  for (uint32_t i = 0; i < 6'000; ++i) {  // 24 MB of names
    std::memcpy(text.data(), &i, sizeof(i));
    while (!QueueNvtx(text)) std::this_thread::yield();
  }
  parts_.writer->Finish(1, {});
  writer.join();
  const gpuexec::v1::Trace trace = parts_.Trace();
  uint64_t events = 0;
  for (const auto& frame : trace.frame()) {
    EXPECT_LT(frame.packet().ByteSizeLong(), kPacketLimitBytes);
    for (const auto& batch : frame.packet().nvtx_event_batch()) events += batch.count();
  }
  EXPECT_EQ(events, 6'000u);
  EXPECT_TRUE(trace.frame(trace.frame_size() - 1).packet().has_trailer());
}

TEST_F(WriterTest, ShortOrLyingEventsAreIgnored) {
  parts_.MakeWriter();
  EventQueue& queue = parts_.queues.Current()->queue;
  struct Tiny {
    uint32_t value = 0;
  };
  for (const EventType type : {EventType::kLaunch, EventType::kGraphLaunch, EventType::kGraphNode,
                               EventType::kGraphExec, EventType::kModule, EventType::kNvtx, EventType::kContext}) {
    ASSERT_NE(queue.Reserve<Tiny>(type), nullptr);
    queue.Commit();
  }
  auto* lying = queue.Reserve<NvtxEvent>(EventType::kNvtx);
  lying->text_bytes = 0xFFFFFFFF;
  lying->payload_bytes = 0xFFFFFFFF;
  queue.Commit();
  QueueLaunch(1);
  RunToTheEnd();
  const auto packet = parts_.AllPackets();
  EXPECT_EQ(Launches(packet), 1u);
  EXPECT_EQ(packet.nvtx_event_batch_size(), 0);
}

TEST_F(WriterTest, AFileThatCannotBeMadeIsCountedAndTheWriterEnds) {
  parts_.config.output = parts_.folder.File("no_such_folder_is_a_file");
  { std::ofstream(parts_.config.output) << "in the way"; }
  parts_.config.output += "/trace.pb";
  parts_.MakeWriter();
  QueueLaunch(1);
  RunToTheEnd();
  EXPECT_TRUE(parts_.writer->finished());
  EXPECT_GE(Stats().Get(StatId::kWriteFailed), 1u);
}

TEST_F(WriterTest, FramesThatCouldNotBeWrittenComeFirstOnceTheFileCanBeHad) {
  const std::string folder = parts_.folder.File("out");
  { std::ofstream(folder) << "in the way"; }
  parts_.config.output = folder + "/trace.pb";
  parts_.MakeWriter();
  std::thread writer([&] { parts_.writer->Run(); });
  QueueLaunch(1);
  // Longer than a frame's period: the first frame, with the header, has been tried and kept.
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  std::filesystem::remove(folder);
  QueueLaunch(2);
  parts_.writer->Finish(1, {});
  writer.join();
  const auto packet = parts_.AllPackets();
  EXPECT_EQ(packet.header().gpuexec_version(), "test");
  EXPECT_EQ(Launches(packet), 2u);
  EXPECT_EQ(Stats().Get(StatId::kWriteFailed), 0u) << "nothing was lost";
  EXPECT_EQ(parts_.Trace().frame(0).packet().sequence(), 0u);
}

TEST_F(WriterTest, NodesThatAnotherThreadRecordedAreCountedForTheGraphThatTheyWereClonedInto) {
  parts_.MakeWriter();
  // The cloning thread's queue is read first, the recording thread's second.
  ThreadState* cloning = parts_.queues.Current();
  ThreadState* recording = nullptr;
  std::thread([&] { recording = parts_.queues.Current(); }).join();
  const auto queue_node = [](ThreadState* thread, uint64_t node, uint64_t original, uint32_t graph, bool kernel) {
    auto* event = thread->queue.Reserve<GraphNodeEvent>(EventType::kGraphNode);
    event->node_id = node;
    event->original_node_id = original;
    event->graph_id = graph;
    event->parameters.readable = kernel ? 1 : 0;
    thread->queue.Commit();
  };
  queue_node(cloning, 201, 101, 2, false);
  queue_node(cloning, 202, 102, 2, false);
  auto* exec = cloning->queue.Reserve<GraphExecEvent>(EventType::kGraphExec);
  exec->graph_exec_id = 2;
  exec->graph_id = 1;
  cloning->queue.Commit();
  queue_node(recording, 101, 0, 1, true);
  queue_node(recording, 102, 0, 1, false);
  QueueLaunch(1);
  RunToTheEnd();
  const auto packet = parts_.AllPackets();
  ASSERT_EQ(packet.graph_exec_size(), 1);
  EXPECT_EQ(packet.graph_exec(0).kernel_node_count(), 1u);
  EXPECT_EQ(packet.graph_exec(0).undescribed_node_count(), 1u);
}

TEST_F(WriterTest, ClocksOfAProcessThatLaunchesNothingMakeNoFile) {
  parts_.MakeWriter();
  std::thread writer([&] { parts_.writer->Run(); });
  // Far more than a frame's 1 MiB of readings, 40 bytes each, taken by the writer before the next ones come.
  constexpr uint64_t kLargeNs = uint64_t{1} << 62;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 200; ++i) parts_.writer->Post(ClockPairRecord{kLargeNs, kLargeNs, kLargeNs, kLargeNs});
    parts_.writer->Wake();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(std::filesystem::exists(parts_.config.output));
  parts_.writer->Finish(1, {});
  writer.join();
}

TEST_F(WriterTest, WithoutCuptiQueuesAreWrittenAllTheSame) {
  Writer::Parts parts;
  parts.config = &parts_.config;
  parts.queues = &parts_.queues;
  parts.functions = &parts_.functions;
  parts.contexts = &parts_.contexts;
  parts.buffers = parts_.buffers.get();
  parts.prober = &parts_.prober;
  parts.nvml = &parts_.nvml;
  parts_.writer = std::make_unique<Writer>(parts, HeaderRecord{});
  QueueLaunch(1);
  RunToTheEnd();
  EXPECT_EQ(Launches(parts_.AllPackets()), 1u);
}

}  // namespace
}  // namespace gx::inject
