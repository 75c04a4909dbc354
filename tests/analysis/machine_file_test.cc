#include "analysis/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/ceilings/machine_record.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Device;
using gpuexec::v1::MachineFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TempDir;

// Twice the work in 100 ns more: 1000 / 100 ns = 10^10 a second; at 2 GHz 200 cycles more, 5 a cycle; 20 ns fixed.
constexpr char kSlope[] = R"(
  point { work: 1000 duration_ns: [ 119, 120, 150 ] sm_clock_hz: [ 2e9, 2e9, 2e9 ] }
  point { work: 2000 duration_ns: [ 230, 220, 219 ] sm_clock_hz: [ 2e9, 2e9, 2e9 ] }
  work_per_second: 1e10
  work_per_sm_cycle: 5
  fixed_ns: 20)";

// Bytes 00 01 .. 0f of a trace are this.
constexpr char kUuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

std::string UuidBytes() {
  std::string bytes;
  for (char byte = 0; byte < 16; ++byte) bytes.push_back(byte);
  return bytes;
}

MachineFile H200() {
  return FromText<MachineFile>(absl::StrCat(
      "format_version: 1 run { gpuexec_version: '0.1.0' } device { name: 'NVIDIA H200' uuid: '", kUuid, "' ", R"(
        power_limit_milliwatts: 700000 max_sm_clock_hz: 1980000000 ecc_enabled: true
        attributes {
          compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132
          l2_cache_bytes: 62914560 memory_bus_width_bits: 6016
        }
      }
      software { driver_version: '580.159.04' }
      ceiling {
        resource: CEILING_RESOURCE_DRAM path: CEILING_PATH_THREAD unit: WORK_UNIT_BYTE variant: 'copy'
        read_share_ratio: 0.5 memory_clock_hz: 3.2e9 check { value_count: 7 }
        slope {)",
      kSlope, R"( } }
      latency {
        level: LATENCY_LEVEL_L2 sectors_per_request: 1 footprint_bytes: 4096 check { value_count: 1 } line_cycles: [ 200, 250 ]
        slope {)",
      kSlope, R"( } }
      kernel_timing {
        shape { kernel: '_Z1kv' grid_x: 132 block_x: 256 } resident_blocks: 1056
        slope {)",
      kSlope, R"( } }
      launch_rate { kind: KIND_KERNEL_LAUNCH slope {)",
      kSlope, "} }"));
}

Device DeviceOfTrace() {
  Device device = FromText<Device>(R"(
    name: 'NVIDIA H200' power_limit_milliwatts: 700000 max_sm_clock_hz: 1980000000 ecc_enabled: true
    attributes {
      compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132
      l2_cache_bytes: 62914560 memory_bus_width_bits: 6016
    })");
  device.set_uuid(UuidBytes());
  return device;
}

void Write(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void Write(const std::string& path, const MachineFile& machine) { Write(path, machine.SerializeAsString()); }

// Of 100 bytes 102, 103 and 104 were counted.
gpuexec::v1::CounterCheck* AddCheck(MachineFile* machine) {
  gpuexec::v1::CounterCheck* check = machine->add_counter_check();
  *check = FromText<gpuexec::v1::CounterCheck>(
      "metric: 'dram__bytes_read.sum' case_name: 'copy' expected: 100 counted: [102, 103, 104] error_ratio: 0.03");
  return check;
}

TEST(MachineFileCheck, AFileWhoseFiguresFollowFromItsSamplesIsSound) { EXPECT_THAT(CheckMachineFile(H200()), IsOk()); }

TEST(MachineFileCheck, ASlopeIsThatOfTheMediansOfTheFirstAndTheLastPoint) {
  MachineFile machine = H200();
  gpuexec::v1::Slope* slope = machine.mutable_ceiling(0)->mutable_slope();
  // A point between the two counts for nothing.
  *slope->mutable_point()->Add() = slope->point(1);
  *slope->mutable_point(1) = FromText<gpuexec::v1::SlopePoint>("work: 1500 duration_ns: 900");
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
}

TEST(MachineFileCheck, RefusesWhatDoesNotHoldTogetherAndSaysWhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Row {
    const char* what;
    std::function<void(MachineFile*)> spoil;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"nothing", [](MachineFile* m) { m->Clear(); }, "format_version: expected 1, got 0"},
      {"version", [](MachineFile* m) { m->set_format_version(2); }, "expected 1, got 2"},
      {"no device", [](MachineFile* m) { m->clear_device(); }, "device.name: expected a name"},
      {"no SMs", [](MachineFile* m) { m->mutable_device()->mutable_attributes()->clear_multiprocessor_count(); },
       "a number of SMs"},
      {"a better rate", [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->set_work_per_second(1.1e10); },
       "ceiling[0] (copy).slope.work_per_second: expected 10000000000, which follows from the samples, got "
       "11000000000"},
      {"a better rate a cycle",
       [](MachineFile* m) { m->mutable_latency(0)->mutable_slope()->set_work_per_sm_cycle(6); },
       "latency[0].slope.work_per_sm_cycle: expected "},
      {"less overhead", [](MachineFile* m) { m->mutable_launch_rate(0)->mutable_slope()->set_fixed_ns(0); },
       "launch_rate[0].slope.fixed_ns: expected 20"},
      {"NaN", [=](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->set_work_per_second(nan); }, "got nan"},
      {"one point", [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point()->RemoveLast(); },
       "expected two points or more, got 1"},
      {"no samples",
       [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point(1)->clear_duration_ns(); },
       "point[1]: expected a sample or more"},
      {"fewer clocks than samples",
       [](MachineFile* m) {
         m->mutable_ceiling(0)->mutable_slope()->mutable_point(0)->mutable_sm_clock_hz()->RemoveLast();
       },
       "no clock or one a sample (3), got 2"},
      {"a rate a cycle without clocks",
       [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point(0)->clear_sm_clock_hz(); },
       "clocks beside the samples"},
      {"negative time",
       [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point(0)->set_duration_ns(0, -1); },
       "durations of 0.001 to 1e+15 ns, got -1"},
      {"work that does not grow",
       [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point(1)->set_work(1000); },
       "expected work above 1000"},
      {"time that does not grow",
       [](MachineFile* m) {
         for (int i = 0; i < 3; ++i) m->mutable_ceiling(0)->mutable_slope()->mutable_point(1)->set_duration_ns(i, 1);
       },
       "more work to take longer"},
      {"no mix", [](MachineFile* m) { m->mutable_ceiling(0)->clear_read_share_ratio(); }, "as this is of DRAM"},
      {"a share of 2", [](MachineFile* m) { m->mutable_ceiling(0)->set_read_share_ratio(2); },
       "expected 0 to 1, got 2"},
      {"no check", [](MachineFile* m) { m->mutable_ceiling(0)->clear_check(); }, "wrong results is no ceiling"},
      {"wrong results", [](MachineFile* m) { m->mutable_ceiling(0)->mutable_check()->set_largest_error(0.1); },
       "an error of at most 0, got 7 with 0.1"},
      {"an error of NaN", [=](MachineFile* m) { m->mutable_latency(0)->mutable_check()->set_largest_error(nan); },
       "with nan"},
      {"no resource", [](MachineFile* m) { m->mutable_ceiling(0)->clear_resource(); }, "resource, path and unit"},
      {"64 sectors", [](MachineFile* m) { m->mutable_latency(0)->set_sectors_per_request(64); }, "expected 1 to 32"},
      {"an endless time",
       [](MachineFile* m) { m->mutable_ceiling(0)->mutable_slope()->mutable_point(0)->set_duration_ns(0, 1e300); },
       "durations of 0.001 to 1e+15 ns, got"},
      {"a clock that stands still",
       [](MachineFile* m) { m->mutable_ceiling(0)->set_memory_clock_hz(std::numeric_limits<double>::denorm_min()); },
       "memory_clock_hz: expected clocks of 1e+06 to 1e+12 Hz, got"},
      {"a negative latency", [](MachineFile* m) { m->mutable_latency(0)->set_line_cycles(1, -3); },
       "above 0, at most 1e+30, got -3"},
      {"no blocks", [](MachineFile* m) { m->mutable_kernel_timing(0)->mutable_shape()->set_grid_x(0); },
       "a grid and a block"},
      {"nothing resident", [](MachineFile* m) { m->mutable_kernel_timing(0)->clear_resident_blocks(); }, "1 or more"},
      {"a bias of nothing", [](MachineFile* m) { m->add_tracing_bias(); }, "tracing_bias[0].shape.kernel"},
      {"a record of no kernels",
       [](MachineFile* m) {
         *m->add_tracing_bias() = FromText<gpuexec::v1::TracingBias>(
             "shape { kernel: 'k' grid_x: 1 block_x: 1 } untraced_ns: 1 traced_ns: 2 recorded { median_ns: 1 }");
       },
       "tracing_bias[0].recorded: expected a kernel or more"},
      {"a counter without a name", [](MachineFile* m) { m->add_counter_check(); }, "counter_check[0].metric"},
      {"a counter of no case", [](MachineFile* m) { AddCheck(m)->clear_case_name(); }, "counter_check[0].case_name"},
      {"an answer that is no number", [=](MachineFile* m) { AddCheck(m)->set_expected(nan); },
       "counter_check[0].expected: expected 0 to 1e+30, got nan"},
      {"nothing counted", [](MachineFile* m) { AddCheck(m)->clear_counted(); },
       "counter_check[0].counted: expected a sample or more"},
      {"a negative count", [](MachineFile* m) { AddCheck(m)->set_counted(1, -1); }, "expected 0 to 1e+30, got -1"},
      {"an error that does not follow", [](MachineFile* m) { AddCheck(m)->set_error_ratio(0); },
       "counter_check[0].error_ratio: expected 0.03"},
      {"no error", [](MachineFile* m) { AddCheck(m)->clear_error_ratio(); }, "got none"},
      {"an error of nothing", [](MachineFile* m) { AddCheck(m)->set_expected(0); }, "0 was expected and not counted"},
  };
  for (const Row& row : rows) {
    MachineFile machine = H200();
    row.spoil(&machine);
    EXPECT_THAT(CheckMachineFile(machine), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)))
        << row.what;
  }
}

TEST(MachineFileCheck, TakesCountersOfWhichZeroWasExpected) {
  MachineFile machine = H200();
  gpuexec::v1::CounterCheck* check = AddCheck(&machine);
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
  check->set_expected(0);
  check->clear_error_ratio();
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
  check->mutable_counted()->Clear();
  check->add_counted(0);
  check->set_error_ratio(0);
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
}

TEST(MachineFileCheck, KeepsResourcesThatItDoesNotKnow) {
  MachineFile machine = H200();
  machine.mutable_ceiling(0)->set_resource(static_cast<gpuexec::v1::CeilingResource>(77));
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
}

// Both compute the slope of the same samples, in code of their own.
TEST(MachineFileRead, TakesWhatGxKernelsWrites) {
  namespace kernels = gx::kernels;
  kernels::MachineRecord record;
  record.device.name = "NVIDIA H200";
  record.device.attributes = {{kernels::device_attributes_field::kComputeCapabilityMajor, 9},
                              {kernels::device_attributes_field::kMultiprocessorCount, 132}};
  kernels::Ceiling ceiling;
  ceiling.resource = kernels::ceiling_resource::kL2;
  ceiling.path = kernels::ceiling_path::kThread;
  ceiling.unit = kernels::work_unit::kByte;
  ceiling.check = {1, 0, 0};
  // Samples without round numbers, of which the middle two of four count.
  ceiling.points = {{1.5e9, {301234.5, 300000.25, 299999.125, 301111.75}, {1.79e9, 1.83e9, 1.811e9, 1.97e9}},
                    {3.1e9, {640000.5, 639999.25, 641234.125, 650000.75}, {1.61e9, 1.65e9, 1.633e9, 1.98e9}}};
  record.ceilings = {ceiling};
  const TempDir folder;
  Write(folder.File("machine.pb"), kernels::MachineMessage(record).Wire());
  const absl::StatusOr<MachineFile> machine = ReadMachineFile(folder.File("machine.pb"));
  ASSERT_THAT(machine, IsOk());
  ASSERT_THAT(machine->ceiling(), SizeIs(1));
  EXPECT_TRUE(machine->ceiling(0).slope().has_work_per_sm_cycle());
}

TEST(MachineFileRead, GivesWhatWasWritten) {
  const TempDir folder;
  Write(folder.File("machine.pb"), H200());
  const absl::StatusOr<MachineFile> machine = ReadMachineFile(folder.File("machine.pb"));
  ASSERT_THAT(machine, IsOk());
  EXPECT_THAT(*machine, EqualsProto(H200()));
}

// Cuts and changes of a bit leave either a message that holds together or an error with the file's name.
TEST(MachineFileRead, DamagedFilesAreRefusedByName) {
  const TempDir folder;
  const std::string path = folder.File("machine.pb");
  const std::string bytes = H200().SerializeAsString();
  std::vector<std::string> damaged;
  // Steps without a common factor with the eight bytes of a number.
  for (size_t size = 0; size < bytes.size(); size += 7) damaged.push_back(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); i += 5) {
    damaged.push_back(bytes);
    damaged.back()[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
  }
  size_t refused = 0;
  for (const std::string& one : damaged) {
    Write(path, one);
    const absl::StatusOr<MachineFile> machine = ReadMachineFile(path);
    if (machine.ok()) {
      EXPECT_THAT(CheckMachineFile(*machine), IsOk());
      continue;
    }
    ++refused;
    EXPECT_THAT(machine, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
  EXPECT_GT(refused, damaged.size() / 4);
}

TEST(MachineFileRead, TakesTextButNoJson) {
  const TempDir folder;
  Write(folder.File("machine.textproto"), H200().DebugString());
  EXPECT_THAT(ReadMachineFile(folder.File("machine.textproto")), IsOk());
  Write(folder.File("machine.json"), std::string("{\"format_version\": \"1\"}"));
  EXPECT_THAT(ReadMachineFile(folder.File("machine.json")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with -o")));
}

TEST(MachineFileRead, AnotherMessageIsRefused) {
  const TempDir folder;
  Write(folder.File("trace.pb"), std::string("\x0A\x85\x80\x80\x80\x00\x0DGXF1", 11));
  EXPECT_FALSE(ReadMachineFile(folder.File("trace.pb")).ok());
  EXPECT_THAT(ReadMachineFile(folder.File("none.pb")), StatusIs(absl::StatusCode::kNotFound));
}

TEST(MachineMatching, TheUuidDecidesAndElseTheProduct) {
  struct Row {
    const char* what;
    std::function<void(MachineFile*, Device*)> change;
    MachineMatch match;
  };
  const std::vector<Row> rows = {
      {"nothing", [](MachineFile*, Device*) {}, MachineMatch::kSameDevice},
      {"case of digits",
       [](MachineFile* m, Device*) { m->mutable_device()->set_uuid("GPU-00010203-0405-0607-0809-0A0B0C0D0E0F"); },
       MachineMatch::kSameDevice},
      {"renamed by a driver", [](MachineFile*, Device* d) { d->set_name("H200"); }, MachineMatch::kSameDevice},
      {"another one", [](MachineFile*, Device* d) { d->mutable_uuid()->back() = 0; }, MachineMatch::kSameProduct},
      {"no UUID", [](MachineFile*, Device* d) { d->clear_uuid(); }, MachineMatch::kSameProduct},
      {"no UUIDs",
       [](MachineFile* m, Device* d) {
         m->mutable_device()->clear_uuid();
         d->clear_uuid();
       },
       MachineMatch::kSameProduct},
      {"UUIDs of zeros",
       [](MachineFile* m, Device* d) {
         m->mutable_device()->set_uuid("GPU-00000000-0000-0000-0000-000000000000");
         d->set_uuid(std::string(16, '\0'));
       },
       MachineMatch::kSameProduct},
      {"another name",
       [](MachineFile*, Device* d) {
         d->clear_uuid();
         d->set_name("NVIDIA H100");
       },
       MachineMatch::kOtherDevice},
      {"fewer SMs",
       [](MachineFile*, Device* d) {
         d->clear_uuid();
         d->mutable_attributes()->set_multiprocessor_count(16);
       },
       MachineMatch::kOtherDevice},
      {"unknown memory bus",
       [](MachineFile*, Device* d) {
         d->clear_uuid();
         d->mutable_attributes()->clear_memory_bus_width_bits();
       },
       MachineMatch::kOtherDevice},
      {"nothing known", [](MachineFile*, Device* d) { d->Clear(); }, MachineMatch::kOtherDevice},
  };
  for (const Row& row : rows) {
    MachineFile machine = H200();
    Device device = DeviceOfTrace();
    row.change(&machine, &device);
    EXPECT_EQ(MatchMachine(machine.device(), device), row.match) << row.what;
  }
}

TEST(MachineMatching, TellsWhatElseDiffers) {
  Device device = DeviceOfTrace();
  EXPECT_THAT(MachineDifferences(H200(), device, "580.159.04"), IsEmpty());
  EXPECT_THAT(MachineDifferences(H200(), device, ""), IsEmpty());
  device.set_power_limit_milliwatts(500000);
  device.clear_max_sm_clock_hz();
  device.set_ecc_enabled(false);
  EXPECT_THAT(MachineDifferences(H200(), device, "570.1"),
              ElementsAre("power limit: 700 W in the machine file, 500 W in the trace",
                          "ECC: on in the machine file, off in the trace",
                          "driver: 580.159.04 in the machine file, 570.1 in the trace"));
}

TEST(MachineSearchOrder, BesideTheTraceThenTheCacheByUuidThenByName) {
  const Device device = DeviceOfTrace();
  struct Row {
    MachineSearch search;
    std::vector<std::string> candidates;
  };
  const std::string uuid = absl::StrCat("/gpuexec/", kUuid, ".pb");
  const std::string name = "/gpuexec/NVIDIA_H200.pb";
  const std::vector<Row> rows = {
      {{"", "run/trace.pb", "/cache", "/home/me"}, {"run/machine.pb", "/cache" + uuid, "/cache" + name}},
      {{"", "trace.pb", "/cache", std::nullopt}, {"machine.pb", "/cache" + uuid, "/cache" + name}},
      {{"", "/trace.pb", std::nullopt, "/home/me"},
       {"/machine.pb", "/home/me/.cache" + uuid, "/home/me/.cache" + name}},
      // Neither a variable that is empty nor a relative folder names one.
      {{"", "trace.pb", "", "/home/me"}, {"machine.pb", "/home/me/.cache" + uuid, "/home/me/.cache" + name}},
      {{"", "trace.pb", "cache", "me"}, {"machine.pb"}},
      {{"", "trace.pb", std::nullopt, std::nullopt}, {"machine.pb"}},
      {{"my.pb", "run/trace.pb", "/cache", "/home/me"}, {"my.pb"}},
      // What comes with gpuexec is last.
      {{"", "trace.pb", "/cache", std::nullopt, "/usr/bin/../share/gpuexec/machines"},
       {"machine.pb", "/cache" + uuid, "/cache" + name, "/usr/bin/../share/gpuexec/machines/NVIDIA_H200.pb"}},
      {{"", "trace.pb", std::nullopt, std::nullopt, "/m"}, {"machine.pb", "/m/NVIDIA_H200.pb"}},
      {{"my.pb", "trace.pb", std::nullopt, std::nullopt, "/m"}, {"my.pb"}},
  };
  for (const Row& row : rows) EXPECT_EQ(MachineFileCandidates(row.search, device), row.candidates);
}

TEST(MachineSearchOrder, ANameThatIsNoFileNameBecomesOne) {
  Device device;
  const MachineSearch search{"", "trace.pb", "/cache", std::nullopt};
  device.set_name("../../etc/x y\n");
  EXPECT_EQ(MachineFileCandidates(search, device).back(), "/cache/gpuexec/_._.._etc_x_y_.pb");
  device.set_name(std::string(5000, 'a'));
  EXPECT_THAT(MachineFileCandidates(search, device).back(), SizeIs(std::string("/cache/gpuexec/.pb").size() + 128));
  device.clear_name();
  device.set_uuid("short");
  EXPECT_THAT(MachineFileCandidates(search, device), ElementsAre("machine.pb"));
}

TEST(MachineSearchOrder, WhatComesWithGpuexecLiesBesideTheFolderOfItsPrograms) {
  EXPECT_EQ(ShippedMachineFolder("/usr/bin/gx-analyze"), "/usr/bin/../share/gpuexec/machines");
  EXPECT_EQ(ShippedMachineFolder("/gx-analyze"), "/../share/gpuexec/machines");
  EXPECT_EQ(ShippedMachineFolder("gx-analyze"), "");
  EXPECT_EQ(ShippedMachineFolder(""), "");
}

TEST(MachineSearchOrder, AMigInstanceHasFilesOfItsOwn) {
  Device device = DeviceOfTrace();
  device.set_mig_enabled(true);
  const MachineSearch search{"", "trace.pb", "/cache", std::nullopt};
  EXPECT_EQ(MachineFileCandidates(search, device)[1], "/cache/gpuexec/MIG-00010203-0405-0607-0809-0a0b0c0d0e0f.pb");
}

TEST(MachineFinding, TakesTheFirstThatMatchesAndSaysWhyNotTheOthers) {
  const TempDir folder;
  MachineFile other = H200();
  other.mutable_device()->set_name("NVIDIA H100");
  other.mutable_device()->clear_uuid();
  Write(folder.File("machine.pb"), other);
  Write(folder.File(absl::StrCat("cache/gpuexec/", kUuid, ".pb")), std::string("no machine file"));
  Write(folder.File("cache/gpuexec/NVIDIA_H200.pb"), H200());
  const absl::StatusOr<FoundMachine> found =
      FindMachineFile({"", folder.File("trace.pb"), folder.File("cache"), std::nullopt}, DeviceOfTrace());
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->machine.has_value());
  EXPECT_EQ(found->path, folder.File("cache/gpuexec/NVIDIA_H200.pb"));
  EXPECT_EQ(found->match, MachineMatch::kSameDevice);
  EXPECT_THAT(found->notes,
              ElementsAre(AllOf(HasSubstr("is of NVIDIA H100"), HasSubstr("is NVIDIA H200")), HasSubstr(kUuid)));
}

TEST(MachineFinding, PrefersAFileWithTracingAndEmptyKernels) {
  const TempDir folder;
  MachineFile complete = H200();
  complete.MergeFrom(FromText<MachineFile>(R"(
    tracing_bias {
      shape { kernel: 'k' grid_x: 1 block_x: 256 } resident_blocks: 1056 untraced_ns: 900 traced_ns: 1000
      recorded { kernel_count: 1 p5_ns: 1000 median_ns: 1000 p95_ns: 1000 }
    }
    tracing_bias { shape { kernel: 'k' grid_x: 100 block_x: 256 chain_steps: 8 } resident_blocks: 100 untraced_ns: 1000 traced_ns: 1160 }
    tracing_bias { shape { kernel: 'k' grid_x: 901 block_x: 256 chain_steps: 8 } resident_blocks: 100 untraced_ns: 1000 traced_ns: 1700 })"));
  Write(folder.File("machine.pb"), H200());
  const MachineSearch search{"", folder.File("trace.pb"), folder.File("cache"), std::nullopt};
  EXPECT_EQ(FindMachineFile(search, DeviceOfTrace())->path, folder.File("machine.pb"));
  Write(folder.File("cache/gpuexec/NVIDIA_H200.pb"), complete);
  const absl::StatusOr<FoundMachine> found = FindMachineFile(search, DeviceOfTrace());
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->path, folder.File("cache/gpuexec/NVIDIA_H200.pb"));
  EXPECT_THAT(found->notes, ElementsAre(HasSubstr("machine.pb: not taken, as it has no tracing or no empty kernels")));
}

TEST(MachineFinding, WhereNoneMatchesItSaysHowToMakeOne) {
  const TempDir folder;
  const absl::StatusOr<FoundMachine> found =
      FindMachineFile({"", folder.File("trace.pb"), std::nullopt, std::nullopt}, DeviceOfTrace());
  ASSERT_THAT(found, IsOk());
  EXPECT_FALSE(found->machine.has_value());
  EXPECT_THAT(found->notes, ElementsAre(AllOf(HasSubstr("no machine file of device 0 (NVIDIA H200)"),
                                              HasSubstr("gx-kernels --ceilings -o machine.pb"))));
}

TEST(MachineFinding, AFileThatIsAskedForIsThatOneOrAnError) {
  const TempDir folder;
  MachineFile machine = H200();
  Write(folder.File("my.pb"), machine);
  Write(folder.File("machine.pb"), machine);
  const MachineSearch search{folder.File("my.pb"), folder.File("trace.pb"), std::nullopt, std::nullopt};
  const absl::StatusOr<FoundMachine> found = FindMachineFile(search, DeviceOfTrace());
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->path, folder.File("my.pb"));

  Device device = DeviceOfTrace();
  device.clear_uuid();
  device.set_name("NVIDIA A100");
  EXPECT_THAT(FindMachineFile(search, device),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is NVIDIA A100")));
  MachineSearch none = search;
  none.machine_option = folder.File("none.pb");
  EXPECT_THAT(FindMachineFile(none, DeviceOfTrace()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.pb")));
}

TEST(MachineFinding, FiguresThatWereMeasuredUnderAProfilerAreNoCeilings) {
  const TempDir folder;
  MachineFile machine = H200();
  machine.mutable_run()->set_injection_path("libgpuexec_inject.so");
  Write(folder.File("machine.pb"), machine);
  const absl::StatusOr<FoundMachine> found =
      FindMachineFile({"", folder.File("trace.pb"), std::nullopt, std::nullopt}, DeviceOfTrace());
  ASSERT_THAT(found, IsOk());
  EXPECT_FALSE(found->machine.has_value());
  EXPECT_THAT(found->notes, ElementsAre(HasSubstr("under injection (libgpuexec_inject.so)"), HasSubstr("no machine")));
}

}  // namespace
}  // namespace gx::analysis
