// What gx-kernels writes without libprotobuf, read with the real library: every field number, name and type of
// kernels/ceilings/machine_fields.h is that of the .proto files.
#include "kernels/ceilings/machine_record.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "gpuexec/v1/machine.pb.h"

namespace gx::kernels {
namespace {

namespace v1 = gpuexec::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Points of 10^10 a second, 5 a cycle, 20 ns.
SlopePoints Points() { return {{1000, {120, 119, 150}, {2e9, 2e9, 2e9}}, {2000, {220, 230, 219}, {2e9, 2e9, 2e9}}}; }

// Every field set, and no value the default of its type, so that a field that got lost shows.
MachineRecord FullRecord() {
  MachineRecord record;
  record.run = {"0.1.0", "gx-kernels \"--ceilings\" \\ \xC3\xA4\n", 1'764'500'000'000'000'001, 12'345, "libx.so"};
  record.device.name = "NVIDIA H200";
  record.device.uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  record.device.pci_bus_id = "0000:00:06.0";
  record.device.total_memory_bytes = 150'000'000'000;
  namespace attributes = device_attributes_field;
  for (const Field field :
       {attributes::kComputeCapabilityMajor, attributes::kComputeCapabilityMinor, attributes::kMultiprocessorCount,
        attributes::kMaxThreadsPerMultiprocessor, attributes::kMaxBlocksPerMultiprocessor,
        attributes::kMaxRegistersPerMultiprocessor, attributes::kMaxSharedMemoryPerBlockOptinBytes,
        attributes::kMaxSharedMemoryPerMultiprocessorBytes, attributes::kReservedSharedMemoryPerBlockBytes,
        attributes::kL2CacheBytes, attributes::kClockRateHz, attributes::kMemoryClockRateHz,
        attributes::kMemoryBusWidthBits}) {
    record.device.attributes.emplace_back(field, 100 + field.number);
  }
  record.device.mig_enabled = false;
  record.device.max_sm_clock_hz = 1'980'000'000;
  record.device.max_memory_clock_hz = 3'201'000'000;
  record.device.power_limit_milliwatts = 700'000;
  record.device.ecc_enabled = true;
  record.software = {"580.159.04", 13'000, 13'000, "nvcc 13.0.88", 130'100};
  record.device_samples.push_back({1, 2, 3, 4, 5, -6, 7});
  Ceiling ceiling;
  ceiling.resource = ceiling_resource::kDram;
  ceiling.path = ceiling_path::kThread;
  ceiling.unit = work_unit::kByte;
  ceiling.variant = "copy";
  ceiling.points = Points();
  ceiling.memory_clock_hz = 3.2e9;
  ceiling.read_share_ratio = 2.0 / 3;
  ceiling.access_bytes = 16;
  ceiling.footprint_bytes = uint64_t{1} << 33;
  ceiling.grid_blocks = 1056;
  ceiling.block_threads = 256;
  ceiling.check = {7, 0.25, 0.5};
  ceiling.clock_after = true;
  record.ceilings = {ceiling, ceiling};
  record.latencies.push_back({latency_level::kL2, Points(), 4096, 32, {1, 0.125, 0.5}, {200, 250}});
  KernelTiming timing;
  timing.shape = {"_Z1kv", 132, 256, 1024, 2, 8};
  timing.resident_blocks = 1056;
  timing.in_graph = true;
  timing.points = Points();
  record.kernel_timings.push_back(timing);
  record.launch_rates.push_back({launch_rate_kind::kGraphLaunch, Points(), 10});
  record.unmeasured.push_back({"l2 fabric", "counters only"});
  return record;
}

v1::MachineFile Parsed(const std::string& wire) {
  v1::MachineFile machine;
  EXPECT_TRUE(machine.ParseFromString(wire));
  return machine;
}

// Fields of a message and all in it that are nowhere set, as "gpuexec.v1.Slope.point"; unknown ones as "... unknown".
void CollectFields(const google::protobuf::Message& message, std::set<std::string>* set, std::set<std::string>* all) {
  const Reflection* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) set->insert(message.GetTypeName() + " unknown");
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    all->insert(std::string(field->full_name()));
    const int count = field->is_repeated() ? reflection->FieldSize(message, field)
                                           : static_cast<int>(reflection->HasField(message, field));
    if (count > 0) set->insert(std::string(field->full_name()));
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int k = 0; k < count; ++k) {
      CollectFields(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, k)
                                         : reflection->GetMessage(message, field),
                    set, all);
    }
  }
}

TEST(MachineRecord, WireBytesAndJsonAreTheSameMessage) {
  const Message message = MachineMessage(FullRecord());
  v1::MachineFile from_json;
  const auto status = google::protobuf::util::JsonStringToMessage(message.Json(), &from_json);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(from_json.DebugString(), Parsed(message.Wire()).DebugString());
}

TEST(MachineRecord, SetsEveryFieldButThoseThatNeedAProfiler) {
  std::set<std::string> set;
  std::set<std::string> all;
  CollectFields(Parsed(MachineMessage(FullRecord()).Wire()), &set, &all);
  std::vector<std::string> missing;
  for (const std::string& field : all) {
    // What the program does not ask the driver for; false, which proto3 does not write where it is no optional.
    if (field.find("DeviceAttributes") == std::string::npos && set.count(field) == 0) missing.push_back(field);
  }
  EXPECT_THAT(missing, ::testing::UnorderedElementsAre("gpuexec.v1.MachineFile.counter_check",
                                                       "gpuexec.v1.MachineFile.l2_clock_follows_sm_clock",
                                                       "gpuexec.v1.MachineFile.tracing_bias"));
  for (const std::string& field : set) EXPECT_EQ(field.find("unknown"), std::string::npos) << field;
}

TEST(MachineRecord, ValuesArriveWhereTheyBelong) {
  const v1::MachineFile machine = Parsed(MachineMessage(FullRecord()).Wire());
  EXPECT_EQ(machine.format_version(), 1U);
  EXPECT_EQ(machine.run().start_realtime_ns(), 1'764'500'000'000'000'001U);
  EXPECT_EQ(machine.run().command_line(), "gx-kernels \"--ceilings\" \\ ???");
  EXPECT_EQ(machine.device().attributes().l2_cache_bytes(), 115U);
  EXPECT_TRUE(machine.device().has_mig_enabled());
  EXPECT_FALSE(machine.device().mig_enabled());
  EXPECT_EQ(machine.device_sample(0).temperature_celsius(), -6);
  ASSERT_EQ(machine.ceiling_size(), 2);
  EXPECT_EQ(machine.ceiling(1).resource(), v1::CEILING_RESOURCE_DRAM);
  EXPECT_DOUBLE_EQ(machine.ceiling(1).read_share_ratio(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(machine.ceiling(0).slope().work_per_second(), 1e10);
  EXPECT_DOUBLE_EQ(machine.ceiling(0).slope().work_per_sm_cycle(), 5);
  EXPECT_DOUBLE_EQ(machine.ceiling(0).slope().fixed_ns(), 20);
  EXPECT_DOUBLE_EQ(machine.ceiling(0).slope().point(1).duration_ns(2), 219);
  EXPECT_EQ(machine.latency(0).level(), v1::LATENCY_LEVEL_L2);
  EXPECT_EQ(machine.kernel_timing(0).shape().chain_steps(), 8U);
  EXPECT_EQ(machine.launch_rate(0).kind(), v1::LaunchRate::KIND_GRAPH_LAUNCH);
}

// Each value of each enum, by number and by name.
TEST(MachineRecord, EnumValuesAreThoseOfTheSchema) {
  const std::vector<EnumValue> values = {ceiling_resource::kDram,
                                         ceiling_resource::kL2,
                                         ceiling_resource::kL2Atomic,
                                         ceiling_resource::kL1,
                                         ceiling_resource::kShared,
                                         ceiling_resource::kIssue,
                                         ceiling_resource::kFp64,
                                         ceiling_resource::kFp32,
                                         ceiling_resource::kFp16,
                                         ceiling_resource::kBf16,
                                         ceiling_resource::kInt32,
                                         ceiling_resource::kInt32Multiply,
                                         ceiling_resource::kSpecialFunction,
                                         ceiling_resource::kTensorFp16,
                                         ceiling_resource::kTensorBf16,
                                         ceiling_resource::kTensorTf32,
                                         ceiling_resource::kTensorFp8,
                                         ceiling_resource::kTensorInt8,
                                         ceiling_resource::kTensorFp64,
                                         ceiling_path::kThread,
                                         ceiling_path::kMmaSync,
                                         ceiling_path::kWgmma,
                                         ceiling_path::kCublaslt,
                                         work_unit::kByte,
                                         work_unit::kFlop,
                                         work_unit::kOperation,
                                         work_unit::kWarpInstruction,
                                         latency_level::kShared,
                                         latency_level::kL1,
                                         latency_level::kL2,
                                         latency_level::kDram,
                                         launch_rate_kind::kKernelLaunch,
                                         launch_rate_kind::kGraphLaunch};
  std::set<std::string> known;
  for (const google::protobuf::EnumDescriptor* type :
       {v1::CeilingResource_descriptor(), v1::CeilingPath_descriptor(), v1::WorkUnit_descriptor(),
        v1::LatencyLevel_descriptor(), v1::LaunchRate::Kind_descriptor()}) {
    for (int i = 0; i < type->value_count(); ++i) {
      if (type->value(i)->number() == 0) continue;
      known.insert(std::string(type->value(i)->name()) + " " + std::to_string(type->value(i)->number()));
    }
  }
  std::set<std::string> written;
  for (const EnumValue value : values) written.insert(std::string(value.name) + " " + std::to_string(value.number));
  EXPECT_EQ(written, known);
}

TEST(MachineRecord, NothingIsWrittenWhereNothingIsKnown) {
  MachineRecord record;
  Ceiling ceiling;
  ceiling.resource = ceiling_resource::kL2;
  ceiling.path = ceiling_path::kThread;
  ceiling.unit = work_unit::kByte;
  ceiling.points = {{1, {10}, {}}, {2, {20}, {}}};
  record.ceilings = {ceiling};
  const v1::MachineFile machine = Parsed(MachineMessage(record).Wire());
  EXPECT_FALSE(machine.device().has_ecc_enabled());
  EXPECT_FALSE(machine.software().has_cublaslt_version());
  EXPECT_FALSE(machine.ceiling(0).has_read_share_ratio());
  EXPECT_FALSE(machine.ceiling(0).has_memory_clock_hz());
  EXPECT_FALSE(machine.ceiling(0).slope().has_work_per_sm_cycle());
  EXPECT_EQ(machine.ceiling(0).slope().point(0).sm_clock_hz_size(), 0);
}

TEST(MachineRecord, TheTableNamesFiguresVariantsAndWhatIsMissing) {
  const std::string text = MachineText(FullRecord());
  for (const char* part : {"NVIDIA H200", "dram", "0.010 TB/s", "5.0 B/clk", "copy, 16 B an access",
                           "near 200 and far 250", "graphs of 10 kernels", "l2 fabric: counters only"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Slope, IsTakenFromMediansOfTheFirstAndTheLastPoint) {
  const std::optional<Slope> slope = FitSlope(Points());
  ASSERT_TRUE(slope.has_value());
  EXPECT_DOUBLE_EQ(slope->work_per_second, 1e10);
  EXPECT_DOUBLE_EQ(slope->work_per_sm_cycle.value_or(0), 5);
  EXPECT_DOUBLE_EQ(slope->fixed_ns, 20);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(Slope, IsPerCycleOfEachSamplesOwnClock) {
  // The larger size ran at half the clock: 100 and 200 cycles, whatever the time.
  const std::optional<Slope> slope = FitSlope({{100, {100}, {1e9}}, {200, {400}, {5e8}}});
  ASSERT_TRUE(slope.has_value());
  EXPECT_DOUBLE_EQ(slope->work_per_sm_cycle.value_or(0), 1);
  EXPECT_DOUBLE_EQ(slope->work_per_second, 100 / 300e-9);
}

TEST(Slope, IsAbsentWhereTimeDoesNotGrowWithWork) {
  EXPECT_FALSE(FitSlope({{1, {10}, {}}, {2, {10}, {}}}).has_value());
  EXPECT_FALSE(FitSlope({{2, {10}, {}}, {2, {20}, {}}}).has_value());
  EXPECT_FALSE(FitSlope({{1, {10}, {}}}).has_value());
  EXPECT_FALSE(FitSlope({{1, {}, {}}, {2, {20}, {}}}).has_value());
  EXPECT_FALSE(FitSlope({}).has_value());
}

}  // namespace
}  // namespace gx::kernels
