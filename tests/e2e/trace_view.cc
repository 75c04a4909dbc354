#include "tests/e2e/trace_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/conformance/batch_decoder.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;

constexpr size_t kHeadBytes = 26;
constexpr size_t kPacketLengthOffset = 21;

uint64_t PaddedVarint(const unsigned char* bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 5; ++i) value |= uint64_t{bytes[i] & 0x7fu} << (7 * i);
  return value;
}

// Definitions of one thing may come in parts.
template <typename Key, typename Message>
void MergeInto(std::map<Key, Message>* map, Key key, const Message& message) {
  (*map)[key].MergeFrom(message);
}

class Builder {
 public:
  explicit Builder(TraceView* view) : view_(view) {}

  void Add(const v1::Packet& packet) {
    if (packet.sequence() != view_->frame_count) ++view_->sequence_gaps;
    ++view_->frame_count;
    if (packet.has_header()) view_->header = packet.header();
    if (packet.has_trailer()) view_->trailer = packet.trailer();
    for (const auto& name : packet.name()) view_->names[name.iid()] = name.value();
    for (const auto& device : packet.device()) MergeInto(&view_->devices, device.device_id(), device);
    for (const auto& context : packet.context()) MergeInto(&view_->contexts, context.context_id(), context);
    for (const auto& module : packet.module()) MergeInto(&view_->modules, module.module_id(), module);
    for (const auto& function : packet.function()) MergeInto(&view_->functions, function.iid(), function);
    for (const auto& signature : packet.signature()) MergeInto(&view_->signatures, signature.iid(), signature);
    for (const auto& exec : packet.graph_exec()) MergeInto(&view_->graph_execs, exec.graph_exec_id(), exec);
    for (const auto& gap : packet.record_gap()) view_->record_gaps[gap.gap_id()] = gap;
    for (const auto& window : packet.window()) MergeInto(&view_->windows, window.window_id(), window);
    for (const auto& track : packet.track()) MergeInto(&tracks_, track.iid(), track);
    for (const auto& attributes : packet.kernel_attributes()) MergeInto(&attributes_, attributes.iid(), attributes);
    for (const auto& thread : packet.thread()) view_->thread_names[thread.thread_id()] = thread.name();
    for (const auto& domain : packet.nvtx_domain()) domains_[domain.iid()] = domain.name();
    for (const auto& group : packet.counter_group()) MergeInto(&view_->counter_groups, group.iid(), group);
    for (const auto& session : packet.counter_session()) {
      view_->counter_sessions[session.session_id()] = session;  // The last one holds.
    }
    Append(packet.counter_plan(), &view_->counter_plans);
    Append(packet.counter_access(), &view_->counter_access);
    Append(packet.counter_denial(), &view_->counter_denials);
    Append(packet.device_peaks(), &view_->device_peaks);
    Append(packet.graph_node(), &view_->graph_nodes);
    Append(packet.device_sample(), &view_->device_samples);
    Append(packet.clock_pair(), &view_->clock_pairs);
    Append(packet.kernel_summary(), &view_->kernel_summaries);
    for (const auto& diagnostic : packet.diagnostic()) view_->diagnostics += diagnostic.text() + "\n";
    for (const auto& counter : packet.stats().counter()) view_->stats[counter.id()] = counter.value();
    AddRecords(packet);
  }

  // Definitions may come in the packet of their first use: rows are resolved at the end.
  void Finish() {
    for (auto* rows : {&view_->launches, &view_->graph_launches}) {
      for (LaunchRow& row : *rows) {
        row.track = tracks_[row.record.track_iid];
        if (row.record.signature_iid == 0) continue;
        EXPECT_TRUE(view_->signatures.contains(row.record.signature_iid)) << "signature without definition";
        row.signature = view_->signatures[row.record.signature_iid];
        row.name = view_->FunctionName(row.signature.function_iid());
      }
    }
    for (KernelRow& row : view_->kernels) {
      EXPECT_TRUE(tracks_.contains(row.record.track_iid)) << "track without definition";
      EXPECT_TRUE(attributes_.contains(row.record.attributes_iid)) << "attributes without definition";
      row.track = tracks_[row.record.track_iid];
      row.attributes = attributes_[row.record.attributes_iid];
      row.name = view_->names[row.attributes.name_iid()];
    }
    for (MemoryRow& row : view_->memory) row.track = tracks_[row.record.track_iid];
    for (NvtxRow& row : view_->nvtx) {
      row.domain = domains_[row.record.domain_iid];
      row.text = view_->names[row.record.name_iid];
      row.payload = view_->names[row.record.payload_iid];
    }
  }

 private:
  template <typename Field, typename Message>
  static void Append(const Field& field, std::vector<Message>* all) {
    all->insert(all->end(), field.begin(), field.end());
  }

  void AddRecords(const v1::Packet& packet) {
    for (const auto& batch : packet.launch_batch()) {
      for (const auto& record : testing::Decode(batch)) {
        auto& rows = record.graph_exec_id != 0 ? view_->graph_launches : view_->launches;
        rows.emplace_back().record = record;
      }
    }
    for (const auto& batch : packet.kernel_batch()) {
      for (const auto& record : testing::Decode(batch)) {
        KernelRow& row = view_->kernels.emplace_back();
        row.record = record;
        row.timing = batch.timing();
      }
    }
    for (const auto& batch : packet.memory_batch()) {
      for (const auto& record : testing::Decode(batch)) view_->memory.emplace_back().record = record;
    }
    for (const auto& batch : packet.synchronization_batch()) Append(testing::Decode(batch), &view_->synchronizations);
    for (const auto& batch : packet.overhead_batch()) Append(testing::Decode(batch), &view_->overheads);
    for (const auto& batch : packet.api_call_batch()) Append(testing::Decode(batch), &view_->api_calls);
    for (const auto& function : packet.api_function()) view_->api_functions[function.iid()] = function;
    for (const auto& batch : packet.counter_batch()) Append(testing::Decode(batch), &view_->counter_samples);
    for (const auto& batch : packet.nvtx_event_batch()) {
      for (const auto& record : testing::Decode(batch)) view_->nvtx.emplace_back().record = record;
    }
  }

  TraceView* view_;
  std::map<uint64_t, v1::Track> tracks_;
  std::map<uint64_t, v1::KernelAttributes> attributes_;
  std::map<uint64_t, std::string> domains_;
};

}  // namespace

uint64_t TraceView::Stat(v1::StatId id) const {
  const auto found = stats.find(id);
  return found == stats.end() ? 0 : found->second;
}

std::vector<std::string> TraceView::Complaints() const {
  std::vector<std::string> complaints;
  for (const auto& [id, value] : stats) {
    const auto* description = v1::StatId_descriptor()->FindValueByNumber(id);
    if (description == nullptr || value == 0) continue;
    if (description->options().GetExtension(v1::severity) < v1::SEVERITY_DATA_LOSS) continue;
    complaints.push_back(description->name() + "=" + std::to_string(value));
  }
  return complaints;
}

std::string TraceView::FunctionName(uint64_t function_iid) const {
  const auto function = functions.find(function_iid);
  if (function == functions.end()) return "";
  const auto name = names.find(function->second.name_iid());
  return name == names.end() ? "" : name->second;
}

std::optional<v1::Signature> TraceView::NodeSignature(uint64_t node_id, uint64_t at_monotonic_ns) const {
  uint64_t signature_iid = 0;
  uint64_t original_node_id = 0;
  for (const v1::GraphNode& node : graph_nodes) {
    if (node.node_id() != node_id || node.created_monotonic_ns() > at_monotonic_ns) continue;
    if (node.signature_iid() != 0) signature_iid = node.signature_iid();
    if (node.original_node_id() != 0) original_node_id = node.original_node_id();
  }
  const auto found = signatures.find(signature_iid);
  if (found != signatures.end()) return found->second;
  if (original_node_id == 0 || original_node_id == node_id) return std::nullopt;
  return NodeSignature(original_node_id, at_monotonic_ns);
}

TraceView ReadTrace(const std::string& path) {
  TraceView view;
  std::ifstream file(path, std::ios::binary);
  if (!file) return view;
  view.exists = true;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Builder builder(&view);
  size_t offset = 0;
  while (bytes.size() - offset >= kHeadBytes) {
    const auto* head = reinterpret_cast<const unsigned char*>(bytes.data()) + offset;
    if (std::memcmp(head + 7, "GXF1", 4) != 0) break;
    const uint64_t packet_bytes = PaddedVarint(head + kPacketLengthOffset);
    if (bytes.size() - offset - kHeadBytes < packet_bytes) break;
    v1::Packet packet;
    EXPECT_TRUE(packet.ParseFromArray(head + kHeadBytes, static_cast<int>(packet_bytes)))
        << path << ": the packet at " << offset << " does not parse";
    EXPECT_TRUE(packet.GetReflection()->GetUnknownFields(packet).empty()) << path << ": unknown fields at " << offset;
    builder.Add(packet);
    offset += kHeadBytes + packet_bytes;
  }
  view.cut_bytes = bytes.size() - offset;
  builder.Finish();
  return view;
}

}  // namespace gx::e2e
