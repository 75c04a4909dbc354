// gx-trace-from-text and gx-trace-strip: what golden inputs are made with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace {

using ::gx::testing::CommandResult;
using ::gx::testing::FrameBytes;
using ::gx::testing::PacketFromText;
using ::gx::testing::ReadFile;
using ::gx::testing::RunCommand;
using ::gx::testing::TempDir;
using ::gx::testing::TraceBytes;
using ::gx::testing::WriteFile;
using ::gx::testing::WriteTrace;
using ::testing::HasSubstr;

CommandResult FromTextFile(const TempDir& dir, const std::string& text) {
  EXPECT_TRUE(WriteFile(dir.File("in.textproto"), text));
  return RunCommand({GX_TRACE_FROM_TEXT, dir.File("in.textproto"), dir.File("out.pb")});
}

TEST(TraceFromText, PacketsBecomeNumberedFrames) {
  const TempDir dir;
  const CommandResult result = FromTextFile(dir,
                                            "# a { comment\n"
                                            "packet { name { iid: 1 value: '} # \\' {' } }\n"
                                            "packet { sequence: 5 } packet: { stats {} }\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ReadFile(dir.File("out.pb")),
            TraceBytes({PacketFromText("name { iid: 1 value: '} # \\' {' }"), PacketFromText("sequence: 5"),
                        PacketFromText("sequence: 6 stats {}")}));
}

TEST(TraceFromText, ATraceGetsRightChecksumsWhateverItSays) {
  const TempDir dir;
  const CommandResult result = FromTextFile(dir,
                                            "frame { checksum: 1 packet { stats {} } }\n"
                                            "frame { packet { } }\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ReadFile(dir.File("out.pb")), TraceBytes({PacketFromText("stats {}"), PacketFromText("sequence: 1")}));
}

TEST(TraceFromText, AMistakeIsReportedWithItsLine) {
  const TempDir dir;
  const CommandResult packets = FromTextFile(dir, "packet { }\npacket {\n  bogus: 1 }\n");
  EXPECT_EQ(packets.exit_code, 3);
  EXPECT_THAT(packets.err, HasSubstr("in.textproto:3:8: "));
  EXPECT_EQ(FromTextFile(dir, "packet { } packet {").exit_code, 3);
  EXPECT_EQ(FromTextFile(dir, "frame { packet { bogus: 1 } }").exit_code, 3);
  EXPECT_EQ(RunCommand({GX_TRACE_FROM_TEXT}).exit_code, 2);
  EXPECT_EQ(RunCommand({GX_TRACE_FROM_TEXT, dir.File("missing"), dir.File("out.pb")}).exit_code, 3);
}

TEST(TraceStrip, RemovesFoldersAndTheMachineFromTheHeaderAndNothingElse) {
  const TempDir dir;
  const auto other = PacketFromText(
      "sequence: 1 name { iid: 1 value: '/kept/in/names' } diagnostic { text: 'opened /opt/lib.so' } thread { "
      "thread_id: 4 }");
  ASSERT_TRUE(
      WriteTrace(dir.File("in.pb"),
                 {PacketFromText("header { format_major: 1 host_name: 'node7' kernel_release: '6.1.0-custom' "
                                 "machine: 'x86_64' pid: 12 "
                                 "executable_path: '/usr/bin/python3.11' cupti_path: '/opt/cuda/lib64/libcupti.so.13' "
                                 "libcuda_path: '/lib/x/libcuda.so.1' command_line: 'python3' "
                                 "command_line: '/home/me/train.py' command_line: '--data=/home/me/set/' "
                                 "command_line: '--steps=3' command_line: '-' "
                                 "configuration { name: 'GPUEXEC_OUTPUT' value: '/home/me/out/trace.%p.pb' } }"),
                  other}));
  const CommandResult result = RunCommand({GX_TRACE_STRIP, dir.File("in.pb"), dir.File("out.pb")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(
      ReadFile(dir.File("out.pb")),
      TraceBytes({PacketFromText("header { format_major: 1 machine: 'x86_64' pid: 12 executable_path: 'python3.11' "
                                 "cupti_path: 'libcupti.so.13' libcuda_path: 'libcuda.so.1' command_line: 'python3' "
                                 "command_line: 'train.py' command_line: '--data=set' command_line: '--steps=3' "
                                 "command_line: '-' "
                                 "configuration { name: 'GPUEXEC_OUTPUT' value: 'trace.%p.pb' } }"),
                  other}));
  EXPECT_THAT(result.err, HasSubstr("left as it is: diagnostic: opened /opt/lib.so\n"));
}

TEST(TraceStrip, RemovesTheUuidOfEveryDeviceWhereverItStands) {
  const TempDir dir;
  const auto untouched = PacketFromText("sequence: 2 name { iid: 1 value: 'axpy' } device { device_id: 2 }");
  ASSERT_TRUE(WriteTrace(
      dir.File("in.pb"),
      {PacketFromText("header { format_major: 1 } device { device_id: 0 name: 'GPU' uuid: 'sixteen bytes 0' }"),
       PacketFromText("sequence: 1 device { device_id: 1 uuid: 'sixteen bytes 1' pci_bus_id: '0000:3B:00.0' } "
                      "stats {}"),
       untouched}));
  const CommandResult result = RunCommand({GX_TRACE_STRIP, dir.File("in.pb"), dir.File("out.pb")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // The checksums are part of these bytes.
  EXPECT_EQ(ReadFile(dir.File("out.pb")),
            TraceBytes({PacketFromText("header { format_major: 1 } device { device_id: 0 name: 'GPU' }"),
                        PacketFromText("sequence: 1 device { device_id: 1 pci_bus_id: '0000:3B:00.0' } stats {}"),
                        untouched}));
}

TEST(TraceStrip, RefusesADamagedTrace) {
  const TempDir dir;
  ASSERT_TRUE(WriteFile(dir.File("in.pb"), FrameBytes(PacketFromText("sequence: 0")) + "x"));
  const CommandResult result = RunCommand({GX_TRACE_STRIP, dir.File("in.pb"), dir.File("out.pb")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("1 bytes skipped: bad framing"));
}

}  // namespace
