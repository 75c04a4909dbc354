// gx-dump as a user runs it: output, exit codes, and what it must never do to a terminal or to memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/frame_walk.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace {

using ::gx::testing::CommandResult;
using ::gx::testing::FrameBytes;
using ::gx::testing::FromText;
using ::gx::testing::Numbered;
using ::gx::testing::PacketFromText;
using ::gx::testing::TempDir;
using ::gx::testing::TraceBytes;
using ::gx::testing::WriteFile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<gpuexec::v1::Packet> Packets() {
  return Numbered(
      {PacketFromText("header { format_major: 1 command_line: 'a.out' }"),
       PacketFromText(
           "name { iid: 1 value: 'axpy' } kernel_batch { count: 2 timing: TIMING_COMPLETE base_start_ns: 100 "
           "start_unit_ns: 1 start_delta: [0, 2] duration_unit_ns: 1 duration_delta: [5, 0] base_correlation_id: 7 "
           "correlation_delta: [0, 1] attributes_iid: 3 }"),
       PacketFromText("trailer { reason: REASON_EXIT }")});
}

class GxDump : public ::testing::Test {
 protected:
  CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GX_DUMP);
    CommandResult result = gx::testing::RunCommand(arguments);
    EXPECT_EQ(result.signal, 0);
    for (const std::string* text : {&result.out, &result.err}) {
      EXPECT_TRUE(std::all_of(text->begin(), text->end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); }))
          << "a control byte reached the output";
    }
    return result;
  }
  CommandResult RunOn(const std::string& bytes, std::vector<std::string> options = {}) {
    EXPECT_TRUE(WriteFile(path_, bytes));
    options.push_back(path_);
    return Run(options);
  }

  const TempDir dir_;
  const std::string path_ = dir_.File("t.pb");
};

TEST_F(GxDump, PrintsEachFrameWithItsPlace) {
  const CommandResult result = RunOn(TraceBytes(Packets()));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, StartsWith("# frame 0 offset 0 bytes 37\npacket {\n  header {\n    format_major: 1\n"));
  EXPECT_THAT(result.out, HasSubstr("# frame 1 offset 37 bytes "));
  EXPECT_THAT(result.out, HasSubstr("    start_delta: [0, 2]\n"));
  EXPECT_THAT(result.out, HasSubstr("# end: frames read 3, file bytes "));
}

TEST_F(GxDump, RawOutputIsTheTextOfTheWholeTrace) {
  const std::string bytes = TraceBytes(Packets());
  const CommandResult result = RunOn(bytes, {"--raw"});
  EXPECT_EQ(result.exit_code, 0);
  gpuexec::v1::Trace expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  EXPECT_EQ(FromText<gpuexec::v1::Trace>(result.out).SerializeAsString(), expected.SerializeAsString());
}

TEST_F(GxDump, RecordsAreDecodedOneALine) {
  const CommandResult result = RunOn(TraceBytes(Packets()), {"--records"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              HasSubstr("\nname { iid: 1 value: \"axpy\" }\n"
                        "kernel start_ns=100 end_ns=105 duration_ns=5 correlation_id=7 attributes_iid=3\n"
                        "kernel start_ns=107 end_ns=112 duration_ns=5 correlation_id=8 attributes_iid=3\n"));
}

TEST_F(GxDump, EveryKindOfRecordHasALine) {
  const CommandResult result = RunOn(
      FrameBytes(PacketFromText(
          "launch_batch { count: 1 thread_id: 9 base_enter_monotonic_ns: 1 base_correlation_id: 2 signature_iid: 3 } "
          "kernel_batch { count: 1 timing: TIMING_MISSING base_correlation_id: 4 } "
          "memory_batch { count: 1 kind: KIND_MEMSET base_start_ns: 5 size_bytes: 6 } "
          "synchronization_batch { count: 1 base_start_ns: 7 duration_ns: 8 type: 3 } "
          "overhead_batch { count: 1 base_start_ns: 9 kind: 10 } "
          "nvtx_event_batch { count: 1 base_monotonic_ns: 11 kind: 2 } "
          "counter_batch { count: 1 group_iid: 12 base_correlation_id: 13 signature_iid: 14 flags: 4 metric_count: 3 "
          "real_metric: [1, 2] integer_value: 15 real_value: [0.5, nan] }")),
      {"--records"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("launch enter_monotonic_ns=1 correlation_id=2 thread_id=9 signature_iid=3\n"));
  EXPECT_THAT(result.out, HasSubstr("kernel timing=missing correlation_id=4\n"));
  EXPECT_THAT(result.out, HasSubstr("memory kind=memset start_ns=5 duration_ns=0 size_bytes=6 correlation_id=0\n"));
  EXPECT_THAT(result.out, HasSubstr("synchronization start_ns=7 duration_ns=8 correlation_id=0 type=3\n"));
  EXPECT_THAT(result.out, HasSubstr("overhead start_ns=9 duration_ns=0 kind=10\n"));
  EXPECT_THAT(result.out, HasSubstr("nvtx kind=pop monotonic_ns=11\n"));
  EXPECT_THAT(result.out, HasSubstr("counter_sample group_iid=12 range_order=0 enter_monotonic_ns=0 correlation_id=13 "
                                    "signature_iid=14 flags=4 values=[15, 0.5, nan]\n"));
}

TEST_F(GxDump, ABatchThatCannotBeDecodedIsDamageAndTheRestIsPrinted) {
  const CommandResult result = RunOn(FrameBytes(PacketFromText("launch_batch { count: 3 signature_iid: [1, 2] } "
                                                               "overhead_batch { count: 1 base_start_ns: 9 }")),
                                     {"--records"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              HasSubstr("# damage: offset 0: 3 records not read: LaunchBatch.signature_iid: expected 0, 1 or 3"));
  EXPECT_THAT(result.out, HasSubstr("overhead start_ns=9"));
}

TEST_F(GxDump, StatsCountRecordsAndBytes) {
  const std::string bytes = TraceBytes(Packets());
  const CommandResult result = RunOn(bytes, {"--stats"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ::testing::ContainsRegex("kernel_batch +1 +2 +[0-9]+ +[0-9.]+\n"));
  EXPECT_THAT(result.out, HasSubstr("bytes for each of 2 kernel records\n"));
}

TEST_F(GxDump, DamageIsACommentInItsPlaceAndExitCodeOne) {
  const std::vector<gpuexec::v1::Packet> packets = Packets();
  const std::string bytes =
      FrameBytes(packets[0]) + "garbage" + FrameBytes(packets[1]) + FrameBytes(packets[2]).substr(0, 28);
  const CommandResult result = RunOn(bytes);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              HasSubstr("\n}\n# damage: offset 37, 7 bytes skipped: bad framing: expected a frame head, got bytes "
                        "67 61 72 62 61 67 65\n# frame 1 offset 44 "));
  EXPECT_THAT(result.out, HasSubstr("28 bytes skipped: cut tail"));
  const CommandResult raw = RunOn(bytes, {"--raw"});
  EXPECT_EQ(FromText<gpuexec::v1::Trace>(raw.out).frame_size(), 2);
}

TEST_F(GxDump, AMissingFrameIsExitCodeOne) {
  const std::vector<gpuexec::v1::Packet> packets = Packets();
  const CommandResult result = RunOn(FrameBytes(packets[0]) + FrameBytes(packets[2]));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("sequence gap: expected frame 1, got frame 2 (1 missing)"));
}

TEST_F(GxDump, LimitStopsAfterSoManyFrames) {
  const CommandResult one = RunOn(TraceBytes(Packets()), {"--limit", "1"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("# frame 0 "));
  EXPECT_THAT(one.out, Not(HasSubstr("# frame 1 ")));
  EXPECT_THAT(one.out, HasSubstr("stopped at offset 37"));
  EXPECT_THAT(RunOn(TraceBytes(Packets()), {"-n3"}).out, Not(HasSubstr("stopped")));
}

TEST_F(GxDump, NamesNeverReachTheTerminalAsControlBytes) {
  gpuexec::v1::Packet packet;
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  packet.add_name()->set_value(every_byte);
  packet.mutable_header()->add_command_line(every_byte);
  packet.add_diagnostic()->set_text(every_byte);
  for (const char* option : {"--raw", "--records", "--limit=9"}) {
    EXPECT_EQ(RunOn(FrameBytes(packet), {option}).exit_code, 0);  // Run() looks at every byte.
  }
}

TEST_F(GxDump, ADamagedTraceOfManyFramesPrintsEveryOtherOne) {
  std::string bytes;
  const std::vector<gpuexec::v1::Packet> packets =
      Numbered(std::vector<gpuexec::v1::Packet>(3000, PacketFromText("stats {}")));
  for (const gpuexec::v1::Packet& packet : packets) {
    const size_t start = bytes.size();
    bytes += FrameBytes(packet);
    if (packet.sequence() % 2 == 1) bytes[start + 12] ^= 1;  // The checksum.
  }
  const CommandResult result = RunOn(bytes);
  EXPECT_EQ(result.exit_code, 1);
  size_t damage_lines = 0;
  for (size_t at = 0; (at = result.out.find("bad checksum", at)) != std::string::npos; ++at) ++damage_lines;
  EXPECT_EQ(damage_lines, 1500u) << "beyond the reader's list of 1000 too";
  EXPECT_NE(result.out.find("# end: frames read 1500, "), std::string::npos);
}

TEST_F(GxDump, AHugeFileIsPrintedInBoundedMemory) {
  const std::string first = TraceBytes(Packets());
  gpuexec::v1::Packet last = PacketFromText("sequence: 3 stats {}");
  const std::string tail = FrameBytes(last);
  const off_t far = off_t{5} << 30;
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::pwrite(descriptor, first.data(), first.size(), 0), static_cast<ssize_t>(first.size()));
  ASSERT_EQ(::pwrite(descriptor, tail.data(), tail.size(), far), static_cast<ssize_t>(tail.size()));
  ::close(descriptor);
  const CommandResult result = Run({path_});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("# frame 3 offset 5368709120 "));
  EXPECT_THAT(result.out, HasSubstr("frames missing 0"));
  EXPECT_LT(result.max_resident_kib, 256 * 1024);
}

TEST_F(GxDump, WhatCannotBeReadIsOneLineAndExitCodeThree) {
  for (const std::string& bytes : {std::string(), std::string("no trace\n"), FrameBytes(Packets()[0]).substr(0, 20)}) {
    const CommandResult result = RunOn(bytes);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, StartsWith("gx-dump: " + path_ + ": "));
  }
  EXPECT_EQ(Run({dir_.File("missing")}).exit_code, 3);
  EXPECT_EQ(Run({dir_.path()}).exit_code, 3);
}

TEST_F(GxDump, WrongUsageIsExitCodeTwoAndPointsToHelp) {
  const std::vector<std::vector<std::string>> cases = {{},
                                                       {"a", "b"},
                                                       {"--bogus", "a"},
                                                       {"-x", "a"},
                                                       {"--limit"},
                                                       {"--limit", "many", "a"},
                                                       {"--limit=-1", "a"},
                                                       {"--raw", "--records", "a"},
                                                       {"--b\x1b[31m"}};
  for (const std::vector<std::string>& arguments : cases) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr("Try gx-dump --help.\n"));
  }
}

TEST_F(GxDump, HelpGoesToStandardOutputWithExamples) {
  const CommandResult result = Run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("usage: gx-dump "));
  EXPECT_THAT(result.out, HasSubstr("Examples:\n"));
  EXPECT_THAT(result.err, IsEmpty());
}

}  // namespace
