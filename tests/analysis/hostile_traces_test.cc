// Traces that somebody made to do harm, through the tools as a user runs them: they end by themselves, print nothing
// but printable characters, and take no more memory than the file's size justifies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace {

using ::gx::testing::CommandResult;
using ::gx::testing::FrameBytes;
using ::gx::testing::Numbered;
using ::gx::testing::PacketFromText;
using ::gx::testing::TempDir;
using ::gx::testing::TraceBytes;
using ::gx::testing::WriteFile;

// Of the tools on a trace of a few frames, and what a byte of a file may cost: a definition of 4 bytes becomes a
// message of protobuf, an entry of a table and a row of the report.
constexpr int64_t kFixedKib = 96 * 1024;
constexpr int64_t kBytesPerFileByte = 128;

constexpr char kHeader[] = "header { format_major: 1 command_line: 'a.out' start { cupti_ns: 1 monotonic_ns: 1 } }";
constexpr char kWork[] =
    "name { iid: 1 value: 'axpy' } function { iid: 1 name_iid: 1 } signature { iid: 1 function_iid: 1 grid_x: 1 "
    "grid_y: "
    "1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 } track { iid: 1 context_id: 1 stream_id: 7 } launch_batch { count: "
    "1 "
    "thread_id: 1 enter_unit_ns: 1 enter_delta: 5 correlation_delta: 1 track_iid: 1 signature_iid: 1 } kernel_batch { "
    "count: 1 timing: TIMING_COMPLETE start_unit_ns: 1 start_delta: 9 duration_unit_ns: 1 duration_delta: 5 "
    "correlation_delta: 1 track_iid: 1 }";

class HostileTraces : public ::testing::Test {
 protected:
  void ExpectHarmless(const std::vector<gpuexec::v1::Packet>& packets) {
    ExpectHarmlessBytes(TraceBytes(Numbered(packets)));
  }
  void ExpectHarmlessBytes(const std::string& bytes) {
    ASSERT_TRUE(WriteFile(path_, bytes));
    const int64_t limit_kib = kFixedKib + static_cast<int64_t>(bytes.size()) * kBytesPerFileByte / 1024;
    const std::vector<std::vector<std::string>> commands = {
        {GX_ANALYZE, "--no-report", "--wide", path_},
        {GX_ANALYZE, "--no-report", "--section", "losses,provenance,run,counters,samples,kernels,ladder", path_},
        {GX_ANALYZE, "--no-report", "--format", "json", path_},
        {GX_ANALYZE, "--no-report", "--format", "csv", path_},
        {GX_ANALYZE, "--no-report", "--by", "nvtx,name,stream,device", path_},
        {GX_ANALYZE, "--kernel", "x", "--emit-manifest", path_},
        {GX_DUMP, path_},
        {GX_DUMP, "--records", path_},
        {GX_DUMP, "--stats", path_},
        {GX_MACHINE, "show", path_},
        {GX_MODEL, path_},
    };
    for (const std::vector<std::string>& command : commands) {
      const CommandResult result = gx::testing::RunCommand(command);
      const std::string words = command[0] + " " + command[1];
      EXPECT_EQ(result.signal, 0) << words;
      // A report is made whatever it holds.
      if (&command == &commands.front()) {
        EXPECT_LE(result.exit_code, 1) << result.err;
      }
      EXPECT_THAT(result.exit_code, ::testing::AllOf(::testing::Ge(0), ::testing::Le(3))) << words << result.err;
      for (const std::string* text : {&result.out, &result.err}) {
        EXPECT_TRUE(std::all_of(text->begin(), text->end(),
                                [](unsigned char c) { return c == '\n' || (c >= ' ' && c != 0x7F); }))
            << words << ": a control byte reached the output";
      }
#ifndef __SANITIZE_ADDRESS__  // It keeps what was freed.
      EXPECT_LT(result.max_resident_kib, limit_kib) << words << ", of a file of " << bytes.size() << " bytes";
#endif
    }
  }

  const TempDir dir_;
  const std::string path_ = dir_.File("t.pb");
};

TEST_F(HostileTraces, NamesOfAHundredThousandControlBytes) {
  gpuexec::v1::Packet packet = PacketFromText(kWork);
  std::string name;
  for (int i = 0; i < 100'000; ++i) name += static_cast<char>(i % 32 == 31 ? 0x7F : i % 32);
  packet.mutable_name(0)->set_value(name);
  packet.add_thread()->set_name(name);
  packet.add_device()->set_name(name);
  packet.add_counter_group()->set_name(name);
  packet.add_diagnostic()->set_text(name);
  gpuexec::v1::Packet header = PacketFromText(kHeader);
  header.mutable_header()->add_command_line(name);
  ExpectHarmless({header, packet});
}

TEST_F(HostileTraces, IdsAtTheEndsOfTheirTypes) {
  std::vector<gpuexec::v1::Packet> packets = {PacketFromText(kHeader)};
  for (const char* id : {"0", "4294967295", "4294967296", "9223372036854775808", "18446744073709551615"}) {
    std::string text = kWork;
    for (size_t at = 0; (at = text.find("iid: 1", at)) != std::string::npos; at += 5) text.replace(at + 5, 1, id);
    for (size_t at = 0; (at = text.find("_id: 1", at)) != std::string::npos; at += 5) text.replace(at + 5, 1, id);
    packets.push_back(PacketFromText(text));
  }
  ExpectHarmless(packets);
}

TEST_F(HostileTraces, TimesThatGoBackwards) {
  ExpectHarmless(
      {PacketFromText("header { format_major: 1 start { cupti_ns: 18446744073709551615 monotonic_ns: 9 } }"),
       PacketFromText(kWork),
       PacketFromText("window { window_id: 1 begin_monotonic_ns: 9 end_monotonic_ns: 1 } kernel_batch { count: "
                      "2 timing: TIMING_COMPLETE base_start_ns: 100 start_unit_ns: 18446744073709551615 "
                      "start_delta: [5, -9] duration_unit_ns: 32 duration_delta: [-7, 9223372036854775807] "
                      "track_iid: 1 }")});
}

TEST_F(HostileTraces, CountsThatLie) {
  ExpectHarmless(
      {PacketFromText(kHeader), PacketFromText(kWork),
       PacketFromText("launch_batch { count: 18446744073709551615 signature_iid: 1 } kernel_batch { count: "
                      "4294967296 } counter_batch { count: 9223372036854775808 metric_count: 2 } "
                      "overhead_batch { count: 18446744073709551615 kind: 1 } kernel_summary { "
                      "attributes_iid: 1 count: 18446744073709551615 bucket: 4294967295 bucket_count: "
                      "18446744073709551615 } launch_summary { signature_iid: 1 count: 18446744073709551615 } "
                      "stats { counter { id: STAT_LAUNCHES_SEEN value: 18446744073709551615 } }")});
}

TEST_F(HostileTraces, AThousandDevicesContextsAndStreams) {
  gpuexec::v1::Packet packet = PacketFromText(kWork);
  for (uint64_t i = 1; i <= 1000; ++i) {
    packet.add_device()->set_device_id(i);
    gpuexec::v1::Context* context = packet.add_context();
    context->set_context_id(i);
    context->set_device_id(i);
    gpuexec::v1::Track* track = packet.add_track();
    track->set_iid(i);
    track->set_context_id(i);
    track->set_stream_id(i << 32);
    gpuexec::v1::KernelBatch* batch = packet.add_kernel_batch();
    *batch = packet.kernel_batch(0);
    batch->clear_track_iid();
    batch->add_track_iid(i);
  }
  ExpectHarmless({PacketFromText(kHeader), packet});
}

TEST_F(HostileTraces, AMillionTinyDefinitions) {
  std::string bytes = TraceBytes(Numbered({PacketFromText(kHeader), PacketFromText(kWork)}));
  // One packet at a time: a command's memory is counted from what this process had when it started it.
  uint64_t sequence = 2;
  for (uint64_t first = 2; first < 1'000'000; first += 10'000) {
    gpuexec::v1::Packet packet;
    packet.set_sequence(sequence++);
    for (uint64_t iid = first; iid < first + 10'000; ++iid) packet.add_signature()->set_iid(iid);
    bytes += FrameBytes(packet);
  }
  ExpectHarmlessBytes(bytes);
}

TEST_F(HostileTraces, UnknownGroupsInOneAnother) {
  gpuexec::v1::Packet packet = PacketFromText(kWork);
  // Start and end of a group of a field that no packet has; within the depth that protobuf reads.
  const std::string start = "\xa3\x3e";
  const std::string end = "\xa4\x3e";
  std::string groups;
  for (int i = 0; i < 90; ++i) groups += start;
  for (int i = 0; i < 90; ++i) groups += end;
  ASSERT_TRUE(packet.MergeFromString(groups));
  ExpectHarmless({PacketFromText(kHeader), packet});
}

}  // namespace
