// The bytes that inject/ writes, read back with the real protobuf library: every field of every message, the values at
// the edges, and the frame around them.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "gpuexec/v1/trace.pb.h"
#include "inject/record.h"
#include "inject/self_stats.h"
#include "inject/trace_encoder.h"
#include "tests/conformance/batch_decoder.h"
#include "tests/support/eager_stream.h"

namespace gx::inject {

// Whole records are compared field by field, in the tests alone.
auto Fields(const LaunchRecord& r) {
  return std::tuple(r.thread_id, r.window_id, r.enter_monotonic_ns, r.correlation_id, r.track_iid, r.signature_iid,
                    r.graph_exec_id, r.result);
}
auto Fields(const KernelRecord& r) {
  return std::tuple(r.start_ns, r.end_ns, r.correlation_id, r.track_iid, r.attributes_iid, r.graph_id, r.graph_node_id);
}
auto Fields(const MemoryRecord& r) {
  return std::tuple(r.kind, r.start_ns, r.end_ns, r.correlation_id, r.track_iid, r.size_bytes, r.copy_kind,
                    r.source_memory_kind, r.destination_memory_kind, r.source_device_id, r.destination_device_id,
                    r.graph_id, r.graph_node_id);
}
auto Fields(const SynchronizationRecord& r) {
  return std::tuple(r.start_ns, r.end_ns, r.correlation_id, r.type, r.track_iid);
}
auto Fields(const OverheadRecord& r) { return std::tuple(r.start_ns, r.end_ns, r.kind, r.thread_id); }
auto Fields(const ApiCallRecord& r) {
  return std::tuple(r.thread_id, r.start_ns, r.end_ns, r.correlation_id, r.function_iid, r.result);
}
auto Fields(const NvtxEventRecord& r) {
  return std::tuple(r.thread_id, r.kind, r.monotonic_ns, r.domain_iid, r.name_iid, r.range_id, r.payload_iid);
}
// Values by their bits: NaN is one, and -0.0 is not 0.0.
auto Fields(const CounterSampleRecord& r) {
  std::vector<uint64_t> bits;
  for (const double value : r.values) bits.push_back(std::bit_cast<uint64_t>(value));
  return std::tuple(r.group_iid, r.session_id, r.window_id, r.context_id, r.thread_id, r.enter_monotonic_ns,
                    r.correlation_id, r.signature_iid, r.graph_exec_id, r.range_order, r.launch_number, r.flags, bits);
}

template <typename Record>
requires requires(const Record& record) { Fields(record); }
bool operator==(const Record& a, const Record& b) { return Fields(a) == Fields(b); }

}  // namespace gx::inject

namespace gx::testing {
namespace {

using namespace gx::inject;
namespace v1 = gpuexec::v1;
using ::testing::IsEmpty;

constexpr size_t kMaxPacketBytes = size_t{16} << 20;

// ------------------------------------------------------------------------------------------------ reading a frame

uint64_t PaddedVarint(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 5; ++i) value |= static_cast<uint64_t>(bytes[i] & 0x7f) << (7 * i);
  return value;
}

// A frame by itself is a whole Trace. Checks the head byte by byte, and everything in it.
v1::Packet ParseFrame(std::string_view frame) {
  v1::Packet packet;
  if (frame.size() < kFrameHeadBytes) {
    ADD_FAILURE() << "a frame of " << frame.size() << " bytes";
    return packet;
  }
  EXPECT_EQ(frame[0], 0x0A);
  for (size_t i : {1u, 2u, 3u, 4u, 21u, 22u, 23u, 24u}) EXPECT_NE(frame[i] & 0x80, 0) << "varint not padded at " << i;
  EXPECT_EQ(PaddedVarint(frame.substr(1)), frame.size() - 6);
  EXPECT_EQ(frame.substr(6, 5), "\x0DGXF1");
  EXPECT_EQ(frame[11], 0x11);
  EXPECT_EQ(frame[20], 0x1A);
  EXPECT_EQ(PaddedVarint(frame.substr(21)), frame.size() - kFrameHeadBytes);

  v1::Trace trace;
  EXPECT_TRUE(trace.ParseFromArray(frame.data(), static_cast<int>(frame.size())));
  EXPECT_EQ(trace.frame_size(), 1);
  if (trace.frame_size() != 1) return packet;
  EXPECT_EQ(trace.frame(0).magic(), kFrameMagic);
  const std::string_view body = frame.substr(kFrameHeadBytes);
  EXPECT_EQ(trace.frame(0).checksum(), XXH3_64bits(body.data(), body.size()));
  packet = trace.frame(0).packet();
  // Nothing that the schema does not know.
  std::function<void(const google::protobuf::Message&)> no_unknown = [&](const google::protobuf::Message& message) {
    EXPECT_EQ(message.GetReflection()->GetUnknownFields(message).field_count(), 0) << message.GetTypeName();
    std::vector<const google::protobuf::FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    for (const auto* field : set) {
      if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (field->is_repeated()) {
        for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
          no_unknown(message.GetReflection()->GetRepeatedMessage(message, field, i));
        }
      } else {
        no_unknown(message.GetReflection()->GetMessage(message, field));
      }
    }
  };
  no_unknown(packet);
  return packet;
}

::testing::AssertionResult SameMessage(const google::protobuf::Message& actual,
                                       const google::protobuf::Message& expected) {
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  if (differencer.Compare(expected, actual)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << difference.substr(0, 2'000);
}

// --------------------------------------------------------------------------------- definitions and other messages

const std::vector<uint64_t> kUnsignedEdges = {
    0, 1, 127, 128, UINT32_MAX, uint64_t{UINT32_MAX} + 1, uint64_t{INT64_MAX}, uint64_t{1} << 63, UINT64_MAX};
const std::vector<int64_t> kSignedEdges = {0, 1, -1, 63, -64, 64, INT32_MIN, INT64_MAX, INT64_MIN};
const std::vector<double> kRealEdges = {0.0,
                                        -0.0,
                                        0.5,
                                        1504,
                                        9007199254740992.0,
                                        9007199254740994.0,
                                        -3,
                                        1e300,
                                        std::numeric_limits<double>::denorm_min(),
                                        std::numeric_limits<double>::infinity()};
const std::vector<uint32_t> kDimensionEdges = {0, 1, 65'535, 65'536, INT32_MAX, uint32_t{1} << 31, UINT32_MAX};

std::vector<std::string> StringEdges() {
  std::string random(100'000, '\0');
  std::mt19937 generator(1);
  for (char& c : random) c = static_cast<char>(generator());
  return {"",     "name",         std::string(1, '\0'), std::string("\x00\x01\x1b[2J\r\n\x7f", 9), "\xff\xfe\xc3\x28",
          random, "_Z4axpyfPKfPf"};
}

// Hands out values so that over the rounds every field gets every edge. In round kDistinctRound all values differ:
// there no two fields can be mixed up.
class Values {
 public:
  static constexpr size_t kDistinctRound = 9;

  explicit Values(size_t round) : round_(round), next_(round) {}

  uint64_t Unsigned() { return distinct() ? 1'000 + Next() : Pick(kUnsignedEdges); }
  int64_t Signed() { return distinct() ? -1'000 - static_cast<int64_t>(Next()) : Pick(kSignedEdges); }
  double Real() { return distinct() ? 1'000.5 + static_cast<double>(Next()) : Pick(kRealEdges); }
  bool Flag() { return distinct() || Next() % 2 == 1; }
  std::string String() {
    static const std::vector<std::string> edges = StringEdges();
    return distinct() ? "text " + std::to_string(Next()) : Pick(edges);
  }
  Dim3 Dimension() { return {Part(), Part(), Part()}; }
  std::optional<uint64_t> MaybeUnsigned() {
    return Maybe([this] { return Unsigned(); });
  }
  std::optional<double> MaybeReal() {
    return Maybe([this] { return Real(); });
  }
  std::optional<int64_t> MaybeSigned() {
    return Maybe([this] { return Signed(); });
  }
  std::optional<bool> MaybeFlag() {
    return Maybe([this] { return Flag(); });
  }

 private:
  bool distinct() const { return round_ == kDistinctRound; }
  size_t Next() { return next_++; }
  template <typename T>
  T Pick(const std::vector<T>& edges) {
    return edges[Next() % edges.size()];
  }
  uint32_t Part() { return distinct() ? static_cast<uint32_t>(1'000 + Next()) : Pick(kDimensionEdges); }
  template <typename Make>
  auto Maybe(Make make) -> std::optional<decltype(make())> {
    auto value = make();
    if (!distinct() && ++maybes_ % 3 == round_ % 3) return std::nullopt;
    return value;
  }

  size_t round_;
  size_t next_;
  size_t maybes_ = 0;
};

ClockPairRecord SomeClockPair(Values& values, v1::ClockPair* expected) {
  ClockPairRecord pair;
  expected->set_cupti_ns(pair.cupti_ns = values.Unsigned());
  expected->set_monotonic_ns(pair.monotonic_ns = values.Unsigned());
  expected->set_monotonic_raw_ns(pair.monotonic_raw_ns = values.Unsigned());
  expected->set_realtime_ns(pair.realtime_ns = values.Unsigned());
  return pair;
}

std::vector<std::pair<std::string, std::string>> SomeSettings(
    Values& values, google::protobuf::RepeatedPtrField<v1::Setting>* expected) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (int i = 0; i < 3; ++i) {
    const std::string name = values.String();
    const std::string value = values.String();
    settings.emplace_back(name, value);
    v1::Setting* setting = expected->Add();
    setting->set_name(name);
    setting->set_value(value);
  }
  return settings;
}

void AddProcess(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  v1::Header* message = expected->mutable_header();
  HeaderRecord header;
  message->set_format_major(1);
  message->set_format_minor(1);
  message->set_gpuexec_version(header.gpuexec_version = values.String());
  message->set_source_revision(header.source_revision = values.String());
  for (int i = 0; i < 4; ++i) {
    header.command_line.push_back(values.String());
    message->add_command_line(header.command_line.back());
  }
  message->set_executable_path(header.executable_path = values.String());
  message->set_host_name(header.host_name = values.String());
  message->set_pid(header.pid = values.Unsigned());
  message->set_parent_pid(header.parent_pid = values.Unsigned());
  message->set_pid_namespace(header.pid_namespace = values.Unsigned());
  header.rank_variables = SomeSettings(values, message->mutable_rank_variable());
  header.configuration = SomeSettings(values, message->mutable_configuration());
  message->set_cuda_driver_api_version(header.cuda_driver_api_version = values.Unsigned());
  message->set_driver_version(header.driver_version = values.String());
  message->set_cupti_api_version(header.cupti_api_version = values.Unsigned());
  message->set_cupti_path(header.cupti_path = values.String());
  for (uint32_t trap = 1; trap <= 3; ++trap) {
    header.cupti_traps.push_back(trap);
    message->add_cupti_trap(trap);
  }
  message->set_libcuda_path(header.libcuda_path = values.String());
  message->set_kernel_record_version(header.kernel_record_version = values.Unsigned());
  message->set_kernel_release(header.kernel_release = values.String());
  message->set_machine(header.machine = values.String());
  header.start = SomeClockPair(values, message->mutable_start());
  encoder->SetHeader(header);

  const auto reason = static_cast<uint32_t>(1 + values.Unsigned() % 3);
  expected->mutable_trailer()->set_reason(static_cast<v1::Trailer::Reason>(reason));
  encoder->SetTrailer(reason, SomeClockPair(values, expected->mutable_trailer()->mutable_end()));
}

void AddDevices(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  DeviceRecord device;
  v1::Device* message = expected->add_device();
  message->set_device_id(device.device_id = values.Unsigned());
  message->set_name(device.name = values.String());
  message->set_uuid(device.uuid = values.String());
  message->set_pci_bus_id(device.pci_bus_id = values.String());
  message->set_total_memory_bytes(device.total_memory_bytes = values.Unsigned());
  v1::DeviceAttributes* attributes = message->mutable_attributes();
  const google::protobuf::Descriptor* fields = attributes->GetDescriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const std::optional<uint64_t> value = values.MaybeUnsigned();
    if (!value) continue;
    device.attributes.emplace_back(static_cast<uint32_t>(fields->field(i)->number()), *value);
    attributes->GetReflection()->SetUInt64(attributes, fields->field(i), *value);
  }
  if ((device.mig_enabled = values.MaybeFlag())) message->set_mig_enabled(*device.mig_enabled);
  if ((device.mps_enabled = values.MaybeFlag())) message->set_mps_enabled(*device.mps_enabled);
  if ((device.virtualization_mode = values.MaybeUnsigned())) {
    message->set_virtualization_mode(*device.virtualization_mode);
  }
  if ((device.max_sm_clock_hz = values.MaybeUnsigned())) message->set_max_sm_clock_hz(*device.max_sm_clock_hz);
  if ((device.max_memory_clock_hz = values.MaybeUnsigned())) {
    message->set_max_memory_clock_hz(*device.max_memory_clock_hz);
  }
  if ((device.power_limit_milliwatts = values.MaybeUnsigned())) {
    message->set_power_limit_milliwatts(*device.power_limit_milliwatts);
  }
  if ((device.ecc_enabled = values.MaybeFlag())) message->set_ecc_enabled(*device.ecc_enabled);
  encoder->AddDevice(device);

  DeviceSampleRecord sample;
  v1::DeviceSample* sample_message = expected->add_device_sample();
  sample_message->set_device_id(sample.device_id = values.Unsigned());
  sample_message->set_monotonic_ns(sample.monotonic_ns = values.Unsigned());
  if ((sample.sm_clock_hz = values.MaybeUnsigned())) sample_message->set_sm_clock_hz(*sample.sm_clock_hz);
  if ((sample.memory_clock_hz = values.MaybeUnsigned())) sample_message->set_memory_clock_hz(*sample.memory_clock_hz);
  if ((sample.power_milliwatts = values.MaybeUnsigned())) {
    sample_message->set_power_milliwatts(*sample.power_milliwatts);
  }
  if ((sample.temperature_celsius = values.MaybeSigned())) {
    sample_message->set_temperature_celsius(*sample.temperature_celsius);
  }
  if ((sample.throttle_reasons_mask = values.MaybeUnsigned())) {
    sample_message->set_throttle_reasons_mask(*sample.throttle_reasons_mask);
  }
  encoder->AddDeviceSample(sample);
}

void AddPlaces(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  v1::Name* name = expected->add_name();
  name->set_iid(values.Unsigned());
  name->set_value(values.String());
  encoder->AddName(name->iid(), name->value());

  ContextRecord context;
  v1::Context* context_message = expected->add_context();
  context_message->set_context_id(context.context_id = values.Unsigned());
  context_message->set_device_id(context.device_id = values.Unsigned());
  context_message->set_created_monotonic_ns(context.created_monotonic_ns = values.Unsigned());
  if ((context.destroyed_monotonic_ns = values.MaybeUnsigned())) {
    context_message->set_destroyed_monotonic_ns(*context.destroyed_monotonic_ns);
  }
  encoder->AddContext(context);

  v1::Thread* thread = expected->add_thread();
  thread->set_thread_id(values.Unsigned());
  thread->set_name(values.String());
  encoder->AddThread(thread->thread_id(), thread->name());

  TrackRecord track;
  v1::Track* track_message = expected->add_track();
  track_message->set_iid(track.iid = values.Unsigned());
  track_message->set_device_id(track.device_id = values.Unsigned());
  track_message->set_context_id(track.context_id = values.Unsigned());
  if ((track.stream_id = values.MaybeUnsigned())) track_message->set_stream_id(*track.stream_id);
  encoder->AddTrack(track);

  ModuleRecord module;
  v1::Module* module_message = expected->add_module();
  module_message->set_module_id(module.module_id = values.Unsigned());
  module_message->set_cubin_bytes(module.cubin_bytes = values.Unsigned());
  module_message->set_cubin_hash(module.cubin_hash = values.Unsigned());
  module_message->set_loaded_monotonic_ns(module.loaded_monotonic_ns = values.Unsigned());
  if ((module.unloaded_monotonic_ns = values.MaybeUnsigned())) {
    module_message->set_unloaded_monotonic_ns(*module.unloaded_monotonic_ns);
  }
  encoder->AddModule(module);

  v1::ApiFunction* function = expected->add_api_function();
  function->set_iid(values.Unsigned());
  function->set_domain(v1::ApiFunction::DOMAIN_RUNTIME);
  function->set_cbid(values.Unsigned());
  function->set_name(values.String());
  encoder->AddApiFunction(
      {.iid = function->iid(), .domain = ApiDomain::kRuntime, .cbid = function->cbid(), .name = function->name()});

  v1::NvtxDomain* domain = expected->add_nvtx_domain();
  domain->set_iid(values.Unsigned());
  domain->set_name(values.String());
  encoder->AddNvtxDomain(domain->iid(), domain->name());
}

FunctionAttributesRecord SomeFunctionAttributes(Values& values, v1::FunctionAttributes* message) {
  FunctionAttributesRecord known;
  message->set_result(known.result = values.Unsigned());
  message->set_registers_per_thread(known.registers_per_thread = values.Unsigned());
  message->set_static_shared_memory_bytes(known.static_shared_memory_bytes = values.Unsigned());
  message->set_constant_memory_bytes(known.constant_memory_bytes = values.Unsigned());
  message->set_local_memory_per_thread_bytes(known.local_memory_per_thread_bytes = values.Unsigned());
  message->set_max_threads_per_block(known.max_threads_per_block = values.Unsigned());
  message->set_ptx_version(known.ptx_version = values.Unsigned());
  message->set_binary_version(known.binary_version = values.Unsigned());
  message->set_max_dynamic_shared_memory_bytes(known.max_dynamic_shared_memory_bytes = values.Unsigned());
  message->set_preferred_shared_memory_carveout(known.preferred_shared_memory_carveout = values.Signed());
  message->set_cluster_size_must_be_set(known.cluster_size_must_be_set = values.Flag());
  known.required_cluster = values.Dimension();
  message->set_required_cluster_x(known.required_cluster.x);
  message->set_required_cluster_y(known.required_cluster.y);
  message->set_required_cluster_z(known.required_cluster.z);
  message->set_non_portable_cluster_size_allowed(known.non_portable_cluster_size_allowed = values.Flag());
  return known;
}

void AddCode(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  FunctionRecord function;
  v1::Function* message = expected->add_function();
  message->set_iid(function.iid = values.Unsigned());
  message->set_name_iid(function.name_iid = values.Unsigned());
  if ((function.code_hash = values.MaybeUnsigned())) message->set_code_hash(*function.code_hash);
  if ((function.module_id = values.MaybeUnsigned())) message->set_module_id(*function.module_id);
  message->set_code_ambiguous(function.code_ambiguous = values.Flag());
  if (values.MaybeFlag()) function.attributes = SomeFunctionAttributes(values, message->mutable_attributes());
  encoder->AddFunction(function);

  SignatureRecord signature;
  v1::Signature* asked = expected->add_signature();
  asked->set_iid(signature.iid = values.Unsigned());
  asked->set_function_iid(signature.function_iid = values.Unsigned());
  asked->set_device_id(signature.device_id = values.Unsigned());
  signature.grid = values.Dimension();
  asked->set_grid_x(signature.grid.x);
  asked->set_grid_y(signature.grid.y);
  asked->set_grid_z(signature.grid.z);
  signature.block = values.Dimension();
  asked->set_block_x(signature.block.x);
  asked->set_block_y(signature.block.y);
  asked->set_block_z(signature.block.z);
  signature.cluster = values.Dimension();
  asked->set_cluster_x(signature.cluster.x);
  asked->set_cluster_y(signature.cluster.y);
  asked->set_cluster_z(signature.cluster.z);
  asked->set_dynamic_shared_memory_bytes(signature.dynamic_shared_memory_bytes = values.Unsigned());
  asked->set_cooperative(signature.cooperative = values.Flag());
  asked->set_programmatic(signature.programmatic = values.Flag());
  asked->set_graph_node(signature.graph_node = values.Flag());
  signature.preferred_cluster = values.Dimension();
  asked->set_preferred_cluster_x(signature.preferred_cluster.x);
  asked->set_preferred_cluster_y(signature.preferred_cluster.y);
  asked->set_preferred_cluster_z(signature.preferred_cluster.z);
  if ((signature.preferred_shared_memory_carveout = values.MaybeSigned())) {
    asked->set_preferred_shared_memory_carveout(*signature.preferred_shared_memory_carveout);
  }
  if (values.MaybeFlag()) {
    DriverOccupancyRecord& occupancy = signature.driver_occupancy.emplace();
    asked->mutable_driver_occupancy()->set_result(occupancy.result = values.Unsigned());
    asked->mutable_driver_occupancy()->set_max_active_blocks_per_multiprocessor(
        occupancy.max_active_blocks_per_multiprocessor = values.Unsigned());
  }
  encoder->AddSignature(signature);
}

void AddKernelAttributes(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  KernelAttributesRecord kernel;
  v1::KernelAttributes* message = expected->add_kernel_attributes();
  message->set_iid(kernel.iid = values.Unsigned());
  message->set_name_iid(kernel.name_iid = values.Unsigned());
  kernel.grid = values.Dimension();
  message->set_grid_x(kernel.grid.x);
  message->set_grid_y(kernel.grid.y);
  message->set_grid_z(kernel.grid.z);
  kernel.block = values.Dimension();
  message->set_block_x(kernel.block.x);
  message->set_block_y(kernel.block.y);
  message->set_block_z(kernel.block.z);
  kernel.cluster = values.Dimension();
  message->set_cluster_x(kernel.cluster.x);
  message->set_cluster_y(kernel.cluster.y);
  message->set_cluster_z(kernel.cluster.z);
  message->set_registers_per_thread(kernel.registers_per_thread = values.Unsigned());
  message->set_static_shared_memory_bytes(kernel.static_shared_memory_bytes = values.Unsigned());
  message->set_dynamic_shared_memory_bytes(kernel.dynamic_shared_memory_bytes = values.Unsigned());
  message->set_shared_memory_executed_bytes(kernel.shared_memory_executed_bytes = values.Unsigned());
  if ((kernel.shared_memory_carveout_requested = values.MaybeUnsigned())) {
    message->set_shared_memory_carveout_requested(*kernel.shared_memory_carveout_requested);
  }
  message->set_cache_config_requested(kernel.cache_config_requested = values.Unsigned());
  message->set_cache_config_executed(kernel.cache_config_executed = values.Unsigned());
  message->set_local_memory_per_thread_bytes(kernel.local_memory_per_thread_bytes = values.Unsigned());
  message->set_local_memory_total_bytes(kernel.local_memory_total_bytes = values.Unsigned());
  message->set_launch_type(kernel.launch_type = values.Unsigned());
  message->set_channel_type(kernel.channel_type = values.Unsigned());
  message->set_device_launched(kernel.device_launched = values.Flag());
  message->set_max_potential_cluster_size(kernel.max_potential_cluster_size = values.Unsigned());
  message->set_max_active_clusters(kernel.max_active_clusters = values.Unsigned());
  message->set_shared_memory_limit_config(kernel.shared_memory_limit_config = values.Unsigned());
  encoder->AddKernelAttributes(kernel);
}

void AddGraphsAndWindows(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  GraphNodeRecord node;
  v1::GraphNode* node_message = expected->add_graph_node();
  node_message->set_node_id(node.node_id = values.Unsigned());
  node_message->set_original_node_id(node.original_node_id = values.Unsigned());
  node_message->set_graph_id(node.graph_id = values.Unsigned());
  node.node_type = values.Unsigned();
  node_message->set_node_type(*node.node_type);
  node_message->set_signature_iid(node.signature_iid = values.Unsigned());
  node_message->set_thread_id(node.thread_id = values.Unsigned());
  node_message->set_created_monotonic_ns(node.created_monotonic_ns = values.Unsigned());
  node_message->set_updated(node.updated = values.Flag());
  encoder->AddGraphNode(node);

  GraphExecRecord exec;
  v1::GraphExec* exec_message = expected->add_graph_exec();
  exec_message->set_graph_exec_id(exec.graph_exec_id = values.Unsigned());
  exec_message->set_graph_id(exec.graph_id = values.Unsigned());
  exec_message->set_created_monotonic_ns(exec.created_monotonic_ns = values.Unsigned());
  exec_message->set_kernel_node_count(exec.kernel_node_count = values.Unsigned());
  exec_message->set_undescribed_node_count(exec.undescribed_node_count = values.Unsigned());
  exec_message->set_has_conditional_nodes(exec.has_conditional_nodes = values.Flag());
  encoder->AddGraphExec(exec);

  WindowRecord window;
  v1::Window* window_message = expected->add_window();
  window_message->set_window_id(window.window_id = values.Unsigned());
  window.kind = static_cast<WindowKind>(1 + values.Unsigned() % 3);
  window_message->set_kind(static_cast<v1::Window::Kind>(window.kind));
  window_message->set_begin_monotonic_ns(window.begin_monotonic_ns = values.Unsigned());
  if ((window.end_monotonic_ns = values.MaybeUnsigned())) {
    window_message->set_end_monotonic_ns(*window.end_monotonic_ns);
  }
  window_message->set_switch_cost_ns(window.switch_cost_ns = values.Unsigned());
  encoder->AddWindow(window);

  RecordGapRecord gap;
  v1::RecordGap* gap_message = expected->add_record_gap();
  gap_message->set_gap_id(gap.gap_id = values.Unsigned());
  gap_message->set_begin_monotonic_ns(gap.begin_monotonic_ns = values.Unsigned());
  if ((gap.end_monotonic_ns = values.MaybeUnsigned())) gap_message->set_end_monotonic_ns(*gap.end_monotonic_ns);
  gap_message->set_kernel_count(gap.kernel_count = values.Unsigned());
  for (int i = 0; i < 3; ++i) {
    gap.clients.push_back(values.String());
    gap_message->add_client(gap.clients.back());
  }
  encoder->AddRecordGap(gap);
}

void AddCounterPlans(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  CounterGroupRecord group;
  v1::CounterGroup* group_message = expected->add_counter_group();
  group_message->set_iid(group.iid = values.Unsigned());
  group_message->set_name(group.name = values.String());
  group.kind = static_cast<CounterGroupKind>(1 + values.Unsigned() % 6);
  group_message->set_kind(static_cast<v1::CounterGroup::Kind>(group.kind));
  group_message->set_device_id(group.device_id = values.Unsigned());
  group_message->set_chip(group.chip = values.String());
  for (int i = 0; i < 7; ++i) {
    group.metrics.push_back(values.String());
    group_message->add_metric(group.metrics.back());
  }
  group_message->set_spare(group.spare = values.Flag());
  encoder->AddCounterGroup(group);

  CounterPlanRecord plan;
  v1::CounterPlan* plan_message = expected->add_counter_plan();
  plan_message->set_device_id(plan.device_id = values.Unsigned());
  plan_message->set_requested(plan.requested = values.String());
  plan_message->set_chip(plan.chip = values.String());
  for (int i = 0; i < 3; ++i) {
    plan.group_iids.push_back(values.Unsigned());
    plan_message->add_group_iid(plan.group_iids.back());
    DroppedMetricRecord& dropped = plan.dropped.emplace_back();
    v1::DroppedMetric* dropped_message = plan_message->add_dropped();
    dropped_message->set_name(dropped.name = values.String());
    dropped.reason = static_cast<MetricDropReason>(1 + values.Unsigned() % 7);
    dropped_message->set_reason(static_cast<v1::DroppedMetric::Reason>(dropped.reason));
    dropped_message->set_text(dropped.text = values.String());
  }
  plan_message->set_failed(plan.failed = values.Flag());
  plan_message->set_planning_ns(plan.planning_ns = values.Unsigned());
  encoder->AddCounterPlan(plan);

  CounterAccessRecord access;
  v1::CounterAccess* access_message = expected->add_counter_access();
  access_message->set_device_id(access.device_id = values.Unsigned());
  access.state = static_cast<CounterAccessState>(1 + values.Unsigned() % 6);
  access_message->set_state(static_cast<v1::CounterAccess::State>(access.state));
  access_message->set_cupti_result(access.cupti_result = values.Unsigned());
  access_message->set_monotonic_ns(access.monotonic_ns = values.Unsigned());
  access_message->set_text(access.text = values.String());
  encoder->AddCounterAccess(access);

  CounterDenialRecord denial;
  v1::CounterDenial* denial_message = expected->add_counter_denial();
  denial_message->set_function_iid(denial.function_iid = values.Unsigned());
  denial.reason = static_cast<CounterDenialReason>(1 + values.Unsigned() % 9);
  denial_message->set_reason(static_cast<v1::CounterDenial::Reason>(denial.reason));
  denial_message->set_monotonic_ns(denial.monotonic_ns = values.Unsigned());
  denial_message->set_detail(denial.detail = values.String());
  denial_message->set_context_id(denial.context_id = values.Unsigned());
  denial_message->set_graph_exec_id(denial.graph_exec_id = values.Unsigned());
  encoder->AddCounterDenial(denial);
}

void AddCounterCosts(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  CounterSessionRecord session;
  v1::CounterSession* message = expected->add_counter_session();
  message->set_session_id(session.session_id = values.Unsigned());
  message->set_window_id(session.window_id = values.Unsigned());
  message->set_context_id(session.context_id = values.Unsigned());
  message->set_group_iid(session.group_iid = values.Unsigned());
  message->set_begin_monotonic_ns(session.begin_monotonic_ns = values.Unsigned());
  if ((session.end_monotonic_ns = values.MaybeUnsigned())) message->set_end_monotonic_ns(*session.end_monotonic_ns);
  session.outcome = static_cast<CounterOutcome>(1 + values.Unsigned() % 4);
  message->set_outcome(static_cast<v1::CounterSession::Outcome>(session.outcome));
  message->set_cupti_result(session.cupti_result = values.Unsigned());
  message->set_range_count(session.range_count = values.Unsigned());
  message->set_push_ns(session.push_ns = values.Unsigned());
  message->set_pop_ns(session.pop_ns = values.Unsigned());
  message->set_idle_wait_ns(session.idle_wait_ns = values.Unsigned());
  message->set_completion_wait_ns(session.completion_wait_ns = values.Unsigned());
  message->set_enable_ns(session.enable_ns = values.Unsigned());
  message->set_start_ns(session.start_ns = values.Unsigned());
  message->set_stop_ns(session.stop_ns = values.Unsigned());
  message->set_decode_ns(session.decode_ns = values.Unsigned());
  message->set_disable_ns(session.disable_ns = values.Unsigned());
  encoder->AddCounterSession(session);

  DevicePeaksRecord peaks;
  v1::DevicePeaks* peaks_message = expected->add_device_peaks();
  peaks_message->set_device_id(peaks.device_id = values.Unsigned());
  peaks_message->set_monotonic_ns(peaks.monotonic_ns = values.Unsigned());
  for (int i = 0; i < 4; ++i) {
    DevicePeakRecord& peak = peaks.peaks.emplace_back();
    v1::DevicePeaks::Peak* peak_message = peaks_message->add_peak();
    peak_message->set_metric(peak.metric = values.String());
    peak_message->set_value(peak.value = values.Real());
    peak_message->set_clock_metric(peak.clock_metric = values.String());
    if ((peak.clock_hz = values.MaybeReal())) peak_message->set_clock_hz(*peak.clock_hz);
  }
  encoder->AddDevicePeaks(peaks);

  WindowClocksRecord clocks;
  v1::WindowClocks* clocks_message = expected->add_window_clocks();
  clocks_message->set_window_id(clocks.window_id = values.Unsigned());
  clocks_message->set_device_id(clocks.device_id = values.Unsigned());
  if ((clocks.sm_clock_hz = values.MaybeUnsigned())) clocks_message->set_sm_clock_hz(*clocks.sm_clock_hz);
  if ((clocks.l2_clock_hz = values.MaybeUnsigned())) clocks_message->set_l2_clock_hz(*clocks.l2_clock_hz);
  if ((clocks.memory_clock_hz = values.MaybeUnsigned())) clocks_message->set_memory_clock_hz(*clocks.memory_clock_hz);
  if ((clocks.throttle_reasons_mask = values.MaybeUnsigned())) {
    clocks_message->set_throttle_reasons_mask(*clocks.throttle_reasons_mask);
  }
  clocks_message->set_reading_count(clocks.reading_count = values.Unsigned());
  encoder->AddWindowClocks(clocks);
}

void AddAccounts(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  encoder->AddClockPair(SomeClockPair(values, expected->add_clock_pair()));

  SelfStats stats;
  expected->mutable_stats();
  for (uint32_t id = 1; id < SelfStats::kSize; ++id) {
    const uint64_t value = values.Unsigned();
    stats.Add(static_cast<StatId>(id), value);
    if (value == 0) continue;
    v1::Stats::Counter* counter = expected->mutable_stats()->add_counter();
    // Numbers between the counters are no values of the enum, but an open enum keeps them.
    counter->set_id(static_cast<v1::StatId>(id));
    counter->set_value(value);
  }
  encoder->SetStats(stats);

  v1::Diagnostic* diagnostic = expected->add_diagnostic();
  diagnostic->set_stat(static_cast<v1::StatId>(values.Unsigned() % SelfStats::kSize));
  diagnostic->set_text(values.String());
  encoder->AddDiagnostic(static_cast<StatId>(diagnostic->stat()), diagnostic->text());

  KernelSummaryRecord summary;
  v1::KernelSummary* message = expected->add_kernel_summary();
  message->set_attributes_iid(summary.attributes_iid = values.Unsigned());
  message->set_device_id(summary.device_id = values.Unsigned());
  message->set_count(summary.count = values.Unsigned());
  message->set_total_ns(summary.total_ns = values.Unsigned());
  message->set_min_ns(summary.min_ns = values.Unsigned());
  message->set_max_ns(summary.max_ns = values.Unsigned());
  message->set_begin_ns(summary.begin_ns = values.Unsigned());
  message->set_end_ns(summary.end_ns = values.Unsigned());
  for (uint32_t bucket : {0u, 0u, 1u, 511u, UINT32_MAX}) {
    const uint64_t count = values.Unsigned();
    summary.buckets.emplace_back(bucket, count);
    message->add_bucket(bucket);
    message->add_bucket_count(count);
  }
  encoder->AddKernelSummary(summary);

  v1::LaunchSummary* launches = expected->add_launch_summary();
  launches->set_signature_iid(values.Unsigned());
  launches->set_count(values.Unsigned());
  encoder->AddLaunchSummary(launches->signature_iid(), launches->count());
}

// One of everything that is not a record of a batch.
void AddEverything(Values& values, TraceEncoder* encoder, v1::Packet* expected) {
  AddProcess(values, encoder, expected);
  AddDevices(values, encoder, expected);
  AddPlaces(values, encoder, expected);
  AddCode(values, encoder, expected);
  AddKernelAttributes(values, encoder, expected);
  AddGraphsAndWindows(values, encoder, expected);
  AddCounterPlans(values, encoder, expected);
  AddCounterCosts(values, encoder, expected);
  AddAccounts(values, encoder, expected);
}

class EdgeValues : public ::testing::TestWithParam<size_t> {};

TEST_P(EdgeValues, ComeBackInEveryFieldOfEveryMessage) {
  Values values(GetParam());
  TraceEncoder encoder;
  v1::Packet expected;
  AddEverything(values, &encoder, &expected);
  EXPECT_TRUE(SameMessage(ParseFrame(encoder.FinishFrame()), expected));
}

INSTANTIATE_TEST_SUITE_P(Rounds, EdgeValues, ::testing::Range(size_t{0}, Values::kDistinctRound + 1));

// ------------------------------------------------------------------------------------------------ random batches

// Records as they come, and as they do not: `wild` ones hold any 64 bits.
struct Records {
  std::vector<LaunchRecord> launches;
  std::vector<KernelRecord> kernels;
  std::vector<MemoryRecord> memory;
  std::vector<SynchronizationRecord> synchronizations;
  std::vector<OverheadRecord> overheads;
  std::vector<ApiCallRecord> api_calls;
  std::vector<NvtxEventRecord> nvtx_events;
  std::vector<CounterSampleRecord> counter_samples;
};

class RandomRecords {
 public:
  explicit RandomRecords(uint64_t seed) : random_(seed), wild_(seed % 3 == 2), step_ns_(seed % 2 == 0 ? 32 : 1) {}

  Records Make(size_t count) {
    Records records;
    for (size_t i = 0; i < count; ++i) {
      records.launches.push_back({.thread_id = 1 + Below(3),
                                  .window_id = Below(50) == 0 ? uint64_t{2} : uint64_t{1},
                                  // Seldom back in time.
                                  .enter_monotonic_ns = Time(Below(40) == 0 ? -5'000 : 6'000),
                                  .correlation_id = Id(),
                                  .track_iid = Constant(1),
                                  .signature_iid = Id(),
                                  .graph_exec_id = Rarely(Id()),
                                  .result = Rarely(Below(1'000))});
      const auto [kernel_start_ns, kernel_end_ns] = Span();
      records.kernels.push_back({.start_ns = kernel_start_ns,
                                 .end_ns = kernel_end_ns,
                                 .correlation_id = Id(),
                                 .track_iid = Constant(2),
                                 .attributes_iid = Id(),
                                 .graph_id = Constant(0),
                                 .graph_node_id = Rarely(Id())});
      const auto [memory_start_ns, memory_end_ns] = Span();
      records.memory.push_back({.kind = static_cast<MemoryKind>(1 + Below(3)),
                                .start_ns = memory_start_ns,
                                .end_ns = memory_end_ns,
                                .correlation_id = Id(),
                                .track_iid = Constant(3),
                                .size_bytes = Id() * 4,
                                .copy_kind = Constant(1),
                                .source_memory_kind = Rarely(3),
                                .destination_memory_kind = Constant(0),
                                .source_device_id = Rarely(1),
                                .destination_device_id = Id(),
                                .graph_id = Rarely(Id()),
                                .graph_node_id = Id()});
      const auto [wait_start_ns, wait_end_ns] = Span();
      records.synchronizations.push_back({.start_ns = wait_start_ns,
                                          .end_ns = wait_end_ns,
                                          .correlation_id = Id(),
                                          .type = 1 + Below(4),
                                          .track_iid = Constant(1)});
      const auto [overhead_start_ns, overhead_end_ns] = Span();
      records.overheads.push_back({.start_ns = overhead_start_ns,
                                   .end_ns = overhead_end_ns,
                                   .kind = Constant(0x10000),
                                   .thread_id = Rarely(Id())});
      const auto [call_start_ns, call_end_ns] = Span();
      records.api_calls.push_back({.thread_id = 1 + Below(3),
                                   // What a call makes is told before it, and began after it.
                                   .start_ns = call_start_ns - Below(2) * Below(1'000),
                                   .end_ns = call_end_ns,
                                   .correlation_id = Id(),
                                   .function_iid = Constant(3),
                                   .result = Rarely(Id())});
      records.nvtx_events.push_back({.thread_id = 1 + Below(2),
                                     .kind = static_cast<NvtxKind>(1 + Below(5)),
                                     .monotonic_ns = Time(Below(40) == 0 ? -100 : 300),
                                     .domain_iid = Constant(1),
                                     .name_iid = Id(),
                                     .range_id = Rarely(Id()),
                                     .payload_iid = Rarely(Id())});
      AddSample(&records.counter_samples);
    }
    return records;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  uint64_t Wild() { return Below(2) == 0 ? random_() : kUnsignedEdges[Below(kUnsignedEdges.size())]; }
  uint64_t Id() { return wild_ ? Wild() : 1 + Below(300); }
  uint64_t Constant(uint64_t value) { return wild_ && Below(2) == 0 ? Wild() : value; }
  uint64_t Rarely(uint64_t value) { return Below(10) == 0 ? value : 0; }
  uint64_t Time(int64_t step) {
    time_ns_ += static_cast<uint64_t>(step);
    return wild_ && Below(4) == 0 ? Wild() : time_ns_;
  }
  // Start and end, at times of the other kinds: not collected, not finished, end before start.
  std::pair<uint64_t, uint64_t> Span() {
    if (wild_ && Below(2) == 0) return {Wild(), Wild()};
    const uint64_t start_ns = (Time(2'000) + Below(3'000)) / step_ns_ * step_ns_;
    const uint64_t end_ns = start_ns + Below(100) * 32;
    switch (Below(12)) {
      case 0:
        return {0, 0};
      case 1:
        return {start_ns, 0};
      case 2:
        return {end_ns + 32, start_ns};
      default:
        return {start_ns, end_ns};
    }
  }

  // Sessions of some samples, of three metrics: one that counts, one that is seldom a number, one of any kind.
  void AddSample(std::vector<CounterSampleRecord>* samples) {
    if (Below(20) == 0) {
      ++session_;
      range_order_ = 0;
    }
    range_order_ += Below(3);
    samples->push_back({.group_iid = 1 + session_ % 2,
                        .session_id = session_,
                        .window_id = 7,
                        .context_id = Constant(1),
                        .thread_id = 1 + Below(3),
                        .enter_monotonic_ns = Time(Below(5) == 0 ? -5'000 : 6'000),
                        .correlation_id = Id(),
                        .signature_iid = Below(8) == 0 ? uint64_t{0} : Id(),
                        .graph_exec_id = Rarely(Id()),
                        .range_order = range_order_,
                        .launch_number = Id(),
                        .flags = Below(16),
                        .values = {static_cast<double>(Below(uint64_t{1} << 53)),
                                   Below(9) == 0 ? std::nan("") : 0.25 * static_cast<double>(Below(1'000)),
                                   wild_ ? kRealEdges[Below(kRealEdges.size())] : 4096.0}});
  }

  std::mt19937_64 random_;
  uint64_t session_ = 1;
  uint64_t range_order_ = 0;
  bool wild_;
  uint64_t step_ns_;
  uint64_t time_ns_ = 1'700'000'000'000'000'000;
};

void AddAll(const Records& records, TraceEncoder* encoder) {
  for (const auto& record : records.launches) encoder->AddLaunch(record);
  for (const auto& record : records.kernels) encoder->AddKernel(record);
  for (const auto& record : records.memory) encoder->AddMemory(record);
  for (const auto& record : records.synchronizations) encoder->AddSynchronization(record);
  for (const auto& record : records.overheads) encoder->AddOverhead(record);
  for (const auto& record : records.api_calls) encoder->AddApiCall(record);
  for (const auto& record : records.nvtx_events) encoder->AddNvtxEvent(record);
  for (const auto& record : records.counter_samples) encoder->AddCounterSample(record);
}

// Records by the key that the encoder may group by; inside a group order is kept.
template <typename Record, typename Key>
auto Grouped(const std::vector<Record>& records, Key key) {
  std::map<decltype(key(records.front())), std::vector<Record>> groups;
  for (const Record& record : records) groups[key(record)].push_back(record);
  return groups;
}

template <typename Batches>
auto DecodeAll(const Batches& batches) {
  decltype(Decode(batches.Get(0))) records;
  for (const auto& batch : batches) {
    const auto decoded = Decode(batch);
    EXPECT_THAT(decoded, ::testing::Not(IsEmpty()));
    records.insert(records.end(), decoded.begin(), decoded.end());
  }
  return records;
}

v1::KernelBatch::Timing TimingOf(const KernelRecord& kernel) {
  if (kernel.start_ns == 0 && kernel.end_ns == 0) return v1::KernelBatch::TIMING_MISSING;
  if (kernel.end_ns == 0) return v1::KernelBatch::TIMING_UNFINISHED;
  return kernel.end_ns < kernel.start_ns ? v1::KernelBatch::TIMING_INVALID : v1::KernelBatch::TIMING_COMPLETE;
}

// Of records that are no kernels an end before the start is written as a duration of 0.
template <typename Record>
std::vector<Record> WithForwardEnds(std::vector<Record> records) {
  for (Record& record : records) record.end_ns = std::max(record.start_ns, record.end_ns);
  return records;
}

// Times of the host are written in steps of 16 ns, rounded down.
template <typename Record>
std::vector<Record> InHostSteps(std::vector<Record> records, uint64_t Record::*member) {
  for (Record& record : records) record.*member -= record.*member % 16;
  return records;
}

class RandomBatches : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomBatches, DecodeToTheRecordsThatWereAdded) {
  const Records records = RandomRecords(GetParam()).Make(1 + GetParam() * 37);
  TraceEncoder encoder;
  AddAll(records, &encoder);
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());

  const auto thread = [](const auto& record) { return record.thread_id; };
  EXPECT_EQ(Grouped(DecodeAll(packet.launch_batch()), thread),
            Grouped(InHostSteps(records.launches, &LaunchRecord::enter_monotonic_ns), thread));
  EXPECT_EQ(Grouped(DecodeAll(packet.nvtx_event_batch()), thread),
            Grouped(InHostSteps(records.nvtx_events, &NvtxEventRecord::monotonic_ns), thread));

  EXPECT_EQ(Grouped(DecodeAll(packet.kernel_batch()), TimingOf), Grouped(records.kernels, TimingOf));
  for (const v1::KernelBatch& batch : packet.kernel_batch()) {
    for (const KernelRecord& kernel : Decode(batch)) EXPECT_EQ(TimingOf(kernel), batch.timing());
  }

  const auto kind = [](const MemoryRecord& record) { return record.kind; };
  EXPECT_EQ(Grouped(DecodeAll(packet.memory_batch()), kind), Grouped(WithForwardEnds(records.memory), kind));

  EXPECT_LE(packet.synchronization_batch_size(), 1);
  EXPECT_EQ(DecodeAll(packet.synchronization_batch()), WithForwardEnds(records.synchronizations));
  EXPECT_LE(packet.overhead_batch_size(), 1);
  EXPECT_EQ(DecodeAll(packet.overhead_batch()), WithForwardEnds(records.overheads));
  EXPECT_EQ(Grouped(DecodeAll(packet.api_call_batch()), thread), Grouped(WithForwardEnds(records.api_calls), thread));
  // All of them, in order.
  EXPECT_EQ(DecodeAll(packet.counter_batch()),
            InHostSteps(records.counter_samples, &CounterSampleRecord::enter_monotonic_ns));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomBatches, ::testing::Range(uint64_t{0}, uint64_t{30}));

TEST(Batches, ALaunchThatGoesBackInTimeBeginsANewBatch) {
  TraceEncoder encoder;
  for (uint64_t enter_ns : {10, 20, 15, 15, 30}) encoder.AddLaunch({.thread_id = 1, .enter_monotonic_ns = enter_ns});
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.launch_batch_size(), 2);
  EXPECT_EQ(packet.launch_batch(0).count(), 2u);
  EXPECT_EQ(packet.launch_batch(1).count(), 3u);
}

TEST(Batches, LaunchesOfTwoThreadsAndTwoWindowsAreApart) {
  TraceEncoder encoder;
  for (uint64_t i = 0; i < 40; ++i) {
    encoder.AddLaunch({.thread_id = i % 2, .window_id = 1 + i / 20, .enter_monotonic_ns = i});
  }
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.launch_batch_size(), 4);
  for (const v1::LaunchBatch& batch : packet.launch_batch()) EXPECT_EQ(batch.count(), 10u);
}

TEST(Batches, DurationsAreWrittenInTheClockStepSeen) {
  TraceEncoder encoder;
  encoder.AddKernel({.start_ns = 1'000, .end_ns = 1'544});
  encoder.AddKernel({.start_ns = 2'000, .end_ns = 2'032});
  encoder.AddKernel({.start_ns = 3'000, .end_ns = 3'960});
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.kernel_batch_size(), 1);
  EXPECT_EQ(packet.kernel_batch(0).duration_unit_ns(), 32u);
  EXPECT_THAT(packet.kernel_batch(0).duration_delta(), ::testing::ElementsAre(17, -16, 29));
  EXPECT_EQ(packet.kernel_batch(0).start_unit_ns(), 8u);
}

TEST(Batches, ADurationIsTheDifferenceFromTheLastOneWithTheSameAttributes) {
  TraceEncoder encoder;
  encoder.AddKernel({.start_ns = 1'000, .end_ns = 1'100, .attributes_iid = 1});
  encoder.AddKernel({.start_ns = 2'000, .end_ns = 7'000, .attributes_iid = 2});
  encoder.AddKernel({.start_ns = 8'000, .end_ns = 8'101, .attributes_iid = 1});
  encoder.AddKernel({.start_ns = 9'000, .end_ns = 13'998, .attributes_iid = 2});
  EXPECT_THAT(ParseFrame(encoder.FinishFrame()).kernel_batch(0).duration_delta(),
              ::testing::ElementsAre(100, 5'000, 1, -2));
  // Each batch can be read alone.
  encoder.AddKernel({.start_ns = 14'000, .end_ns = 14'101, .attributes_iid = 1});
  EXPECT_EQ(Decode(ParseFrame(encoder.FinishFrame()).kernel_batch(0)).front().end_ns, 14'101u);
}

TEST(Batches, HostTimesAreRoundedEachForItself) {
  TraceEncoder encoder;
  for (uint64_t i = 0; i < 100; ++i) {
    encoder.AddLaunch({.thread_id = 1, .enter_monotonic_ns = 1'000 + 31 * i});
    encoder.AddNvtxEvent({.thread_id = 1, .monotonic_ns = 1'000 + 31 * i});
  }
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  EXPECT_EQ(packet.launch_batch(0).enter_unit_ns(), 16u);
  EXPECT_EQ(packet.launch_batch(0).base_enter_monotonic_ns(), 992u);
  EXPECT_EQ(packet.launch_batch(0).enter_delta(0), 0u);
  // 1,000 + 31 * 99 = 4,069.
  EXPECT_EQ(Decode(packet.launch_batch(0)).back().enter_monotonic_ns, 4'064u);
  EXPECT_EQ(packet.nvtx_event_batch(0).time_unit_ns(), 16u);
  EXPECT_EQ(Decode(packet.nvtx_event_batch(0)).back().monotonic_ns, 4'064u);
}

TEST(Batches, AConstantColumnIsOneElementAndAColumnOfZerosIsNone) {
  TraceEncoder encoder;
  for (int i = 0; i < 5; ++i) encoder.AddKernel({.start_ns = 100, .end_ns = 100, .track_iid = 7});
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.kernel_batch_size(), 1);
  EXPECT_THAT(packet.kernel_batch(0).track_iid(), ::testing::ElementsAre(7));
  EXPECT_THAT(packet.kernel_batch(0).graph_id(), IsEmpty());
  EXPECT_THAT(packet.kernel_batch(0).start_delta(), IsEmpty());
  EXPECT_THAT(packet.kernel_batch(0).duration_delta(), IsEmpty());
}

// A sample of a session whose metrics count up, but for one in each `reals`.
CounterSampleRecord Sample(uint64_t order, uint64_t signature_iid, std::vector<double> values) {
  CounterSampleRecord sample;
  sample.group_iid = 3;
  sample.session_id = 2;
  sample.window_id = 5;
  sample.signature_iid = signature_iid;
  sample.range_order = order;
  sample.values = std::move(values);
  return sample;
}

TEST(CounterBatches, WholeNumbersAreDifferencesFromTheLastSampleOfTheSignature) {
  TraceEncoder encoder;
  encoder.AddCounterSample(Sample(0, 1, {1'000, 0.5}));
  encoder.AddCounterSample(Sample(1, 2, {1'004, 7}));
  encoder.AddCounterSample(Sample(3, 1, {999, std::nan("")}));
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.counter_batch_size(), 1);
  const v1::CounterBatch& batch = packet.counter_batch(0);
  EXPECT_EQ(batch.metric_count(), 2u);
  EXPECT_THAT(batch.real_metric(), ::testing::ElementsAre(1));
  EXPECT_THAT(batch.integer_value(), ::testing::ElementsAre(1'000, 4, -1));
  ASSERT_EQ(batch.real_value_size(), 3);
  EXPECT_EQ(batch.real_value(1), 7);
  EXPECT_TRUE(std::isnan(batch.real_value(2)));
  EXPECT_THAT(batch.range_order_delta(), ::testing::ElementsAre(0, 1, 2));
}

TEST(CounterBatches, AMetricIsWholeUpToTwoToThe53AndNeverMinusZero) {
  const double limit = 9007199254740992.0;
  const std::vector<double> values = {limit, -limit, limit + 2, -0.0, 0.0};
  TraceEncoder encoder;
  encoder.AddCounterSample(Sample(0, 1, values));
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  EXPECT_THAT(packet.counter_batch(0).real_metric(), ::testing::ElementsAre(2, 3));
  EXPECT_EQ(Decode(packet.counter_batch(0)), std::vector{Sample(0, 1, values)});
}

TEST(CounterBatches, SamplesOfOtherSessionsGroupsAndSizesAreApart) {
  TraceEncoder encoder;
  CounterSampleRecord sample = Sample(0, 1, {1});
  encoder.AddCounterSample(sample);
  sample.session_id = 3;
  encoder.AddCounterSample(sample);
  sample.group_iid = 4;
  encoder.AddCounterSample(sample);
  sample.window_id = 6;
  encoder.AddCounterSample(sample);
  sample.context_id = 8;
  encoder.AddCounterSample(sample);
  sample.values = {1, 2};
  encoder.AddCounterSample(sample);
  sample.range_order = 5;
  encoder.AddCounterSample(sample);
  sample.range_order = 4;  // Back: another batch.
  encoder.AddCounterSample(sample);
  sample.values.clear();
  encoder.AddCounterSample(sample);  // Says nothing.
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  std::vector<uint64_t> counts;
  for (const v1::CounterBatch& batch : packet.counter_batch()) counts.push_back(batch.count());
  EXPECT_THAT(counts, ::testing::ElementsAre(1, 1, 1, 1, 1, 2, 1));
}

// A group of 60 metrics as of an H200: 17 peaks, 29 counts of which six differ a little from launch to launch, 14
// means, rates and percentages. proto/README.md states the figure.
TEST(CounterBatches, ASampleOf60MetricsTakesTwoThirdsOfItsDoublesOrLess) {
  std::mt19937_64 random(11);
  constexpr size_t kSignatures = 20;
  constexpr size_t kSamplesEach = 3;
  TraceEncoder encoder;
  for (uint64_t order = 0; order < kSignatures * kSamplesEach; ++order) {
    const uint64_t signature = 1 + order % kSignatures;
    std::mt19937_64 of_signature(signature);
    std::vector<double> values;
    for (size_t i = 0; i < 17; ++i) values.push_back(static_cast<double>(64 << (i % 8)));
    for (size_t i = 0; i < 29; ++i) {
      const auto count = static_cast<double>(of_signature() % 100'000'000);
      values.push_back(i < 6 ? std::round(count * (1 + 1e-4 * static_cast<double>(random() % 100))) : count);
    }
    for (size_t i = 0; i < 14; ++i) values.push_back(static_cast<double>(random() % 1'000'000) / 7);
    CounterSampleRecord sample = Sample(order, signature, std::move(values));
    sample.thread_id = 4'711;
    sample.enter_monotonic_ns = 1'000'000'000 + order * 70'000;
    sample.correlation_id = 5'000 + order * 9;
    sample.launch_number = 40 + order;
    encoder.AddCounterSample(sample);
  }
  const size_t pending = encoder.PendingBytes();
  const size_t bytes = encoder.FinishFrame().size();
  const double bytes_per_sample = static_cast<double>(bytes) / (kSignatures * kSamplesEach);
  RecordProperty("bytes_per_sample", std::to_string(bytes_per_sample));
  EXPECT_LE(bytes_per_sample, 60 * 8 * 2 / 3.0);
  EXPECT_GE(pending, bytes);
}

// Readers refuse a larger batch that is constant in every column.
TEST(Batches, ALargeBatchOfEqualRecordsProvesItsCountInOneColumn) {
  constexpr int kRecords = 4097;
  TraceEncoder encoder;
  for (int i = 0; i < kRecords; ++i) {
    encoder.AddLaunch({.thread_id = 1});
    encoder.AddKernel({.start_ns = 5, .end_ns = 5, .correlation_id = 7});
    encoder.AddKernel({.correlation_id = 7});
    encoder.AddMemory({.start_ns = 5, .end_ns = 5, .correlation_id = 7});
    encoder.AddSynchronization({.start_ns = 5, .end_ns = 5});
    encoder.AddOverhead({.start_ns = 5, .end_ns = 5});
    encoder.AddApiCall({.thread_id = 1, .start_ns = 5, .end_ns = 5});
    encoder.AddNvtxEvent({.thread_id = 1});
  }
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  EXPECT_EQ(packet.launch_batch(0).enter_delta_size(), kRecords);
  EXPECT_EQ(packet.kernel_batch(0).correlation_delta_size(), kRecords);
  EXPECT_EQ(packet.kernel_batch(1).correlation_delta_size(), kRecords);
  EXPECT_EQ(packet.memory_batch(0).correlation_delta_size(), kRecords);
  EXPECT_EQ(packet.synchronization_batch(0).start_delta_ns_size(), kRecords);
  EXPECT_EQ(packet.overhead_batch(0).start_delta_ns_size(), kRecords);
  EXPECT_EQ(packet.api_call_batch(0).start_delta_ns_size(), kRecords);
  EXPECT_EQ(packet.nvtx_event_batch(0).time_delta_size(), kRecords);
  EXPECT_EQ(Decode(packet.kernel_batch(0)).back().correlation_id, 7u);
}

// -------------------------------------------------------------------------------------------------- whole frames

TEST(Frames, NothingAddedIsNoFrameAndTakesNoNumber) {
  TraceEncoder encoder;
  EXPECT_EQ(encoder.FinishFrame(), "");
  encoder.AddName(1, "a");
  EXPECT_EQ(ParseFrame(encoder.FinishFrame()).sequence(), 0u);
  EXPECT_EQ(encoder.FinishFrame(), "");
  EXPECT_EQ(encoder.PendingBytes(), 0u);
  encoder.AddName(2, "b");
  EXPECT_EQ(ParseFrame(encoder.FinishFrame()).sequence(), 1u);
}

TEST(Frames, CountersAloneAreAFrameEvenWhenAllAreZero) {
  TraceEncoder encoder;
  encoder.SetStats(SelfStats());
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  EXPECT_TRUE(packet.has_stats());
  EXPECT_EQ(packet.stats().counter_size(), 0);
}

TEST(Frames, TheLastCountersSetAreTheOnesWritten) {
  TraceEncoder encoder;
  SelfStats stats;
  stats.Add(StatId::kKernelRecords, 5);
  encoder.SetStats(stats);
  stats.Add(StatId::kKernelRecords, 2);
  encoder.SetStats(stats);
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  ASSERT_EQ(packet.stats().counter_size(), 1);
  EXPECT_EQ(packet.stats().counter(0).value(), 7u);
}

TEST(Frames, OneAfterAnotherAreOneTrace) {
  TraceEncoder encoder;
  std::string file;
  for (uint64_t i = 0; i < 5; ++i) {
    AddAll(RandomRecords(i).Make(20), &encoder);
    file += encoder.FinishFrame();
  }
  v1::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(file));
  ASSERT_EQ(trace.frame_size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trace.frame(i).packet().sequence(), static_cast<uint64_t>(i));
    EXPECT_EQ(trace.frame(i).packet().synchronization_batch(0).count(), 20u);
  }
}

TEST(Frames, AKnownMessageOfZerosIsNotAnUnknownOne) {
  TraceEncoder encoder;
  FunctionRecord function;
  encoder.AddFunction(function);
  function.attributes.emplace();
  encoder.AddFunction(function);
  SignatureRecord signature;
  encoder.AddSignature(signature);
  signature.driver_occupancy.emplace();
  encoder.AddSignature(signature);
  const v1::Packet packet = ParseFrame(encoder.FinishFrame());
  EXPECT_FALSE(packet.function(0).has_attributes());
  EXPECT_TRUE(packet.function(1).has_attributes());
  EXPECT_FALSE(packet.signature(0).has_driver_occupancy());
  EXPECT_TRUE(packet.signature(1).has_driver_occupancy());
}

TEST(Frames, AnAttributeWithoutAFieldNumberIsLeftOut) {
  TraceEncoder encoder;
  DeviceRecord device;
  device.attributes = {{0, 5}, {v1::DeviceAttributes::kWarpSizeThreadsFieldNumber, 32}};
  encoder.AddDevice(device);
  EXPECT_EQ(ParseFrame(encoder.FinishFrame()).device(0).attributes().warp_size_threads(), 32u);
}

TEST(Frames, AStringOverOneMebibyteIsCut) {
  TraceEncoder encoder;
  encoder.AddName(1, std::string((size_t{1} << 20) + 1, 'x'));
  EXPECT_EQ(ParseFrame(encoder.FinishFrame()).name(0).value().size(), size_t{1} << 20);
}

TEST(Frames, OneMebibytePendingNeverMakesAPacketThatReadersRefuse) {
  TraceEncoder encoder;
  std::mt19937_64 random(7);
  while (encoder.PendingBytes() < (size_t{1} << 20)) {
    // Ten bytes in every column.
    const auto any = [&random] { return random() | (uint64_t{1} << 63); };
    encoder.AddKernel({.start_ns = any(),
                       .end_ns = any(),
                       .correlation_id = any(),
                       .track_iid = any(),
                       .attributes_iid = any(),
                       .graph_id = any(),
                       .graph_node_id = any()});
  }
  const std::string_view frame = encoder.FinishFrame();
  EXPECT_LE(frame.size() - kFrameHeadBytes, kMaxPacketBytes);
  ParseFrame(frame);
}

class EagerPyTorch : public ::testing::TestWithParam<EagerStream::Shape> {};

// The format's goal; a real trace also holds definitions and one frame's head a second.
TEST_P(EagerPyTorch, TakesTwelveBytesAKernelOrFewer) {
  TraceEncoder encoder;
  EagerStream stream(GetParam());
  constexpr size_t kKernels = 20'000;
  for (size_t i = 0; i < kKernels; ++i) {
    const EagerStream::Step step = stream.Next();
    encoder.AddLaunch(step.launch);
    encoder.AddKernel(step.kernel);
  }
  const size_t pending = encoder.PendingBytes();
  const size_t written = encoder.FinishFrame().size();
  EXPECT_LE(written, 12 * kKernels);
  EXPECT_GE(pending, written);
}

INSTANTIATE_TEST_SUITE_P(Shapes, EagerPyTorch,
                         ::testing::Values(EagerStream::kBusy, EagerStream::kBusyCoarseClock, EagerStream::kHeldUp));

// ------------------------------------------------------------------------------------------------------ coverage

// Names of the fields that are set anywhere in a message.
void NoteFields(const google::protobuf::Message& message, std::set<std::string>* seen) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const auto* field : set) {
    seen->insert(field->full_name());
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      NoteFields(reflection->GetMessage(message, field), seen);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      NoteFields(reflection->GetRepeatedMessage(message, field, i), seen);
    }
  }
}

void AllFields(const google::protobuf::Descriptor* type, std::set<std::string>* names) {
  for (int i = 0; i < type->field_count(); ++i) {
    if (!names->insert(type->field(i)->full_name()).second) continue;
    if (type->field(i)->message_type() != nullptr) AllFields(type->field(i)->message_type(), names);
  }
}

TEST(Coverage, TheseTestsSetEveryFieldOfThePacket) {
  std::set<std::string> seen;
  const auto note = [&seen](std::string_view frame) { NoteFields(ParseFrame(frame), &seen); };

  TraceEncoder encoder;
  v1::Packet expected;
  Values values(Values::kDistinctRound);
  AddEverything(values, &encoder, &expected);
  note(encoder.FinishFrame());
  for (uint64_t seed : {0, 1, 2}) {
    AddAll(RandomRecords(seed).Make(500), &encoder);
    note(encoder.FinishFrame());
  }

  std::set<std::string> unseen;
  AllFields(v1::Packet::descriptor(), &unseen);
  for (const std::string& name : seen) unseen.erase(name);
  EXPECT_THAT(unseen, IsEmpty());
}

}  // namespace
}  // namespace gx::testing
