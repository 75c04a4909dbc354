#include "analysis/trace_dump.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "analysis/columns.h"
#include "analysis/format.h"
#include "analysis/frame_walk.h"
#include "analysis/printable.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::ZeroCopyOutputStream;
using gpuexec::v1::Packet;

// Text into protobuf's stream, beside its own printer.
class Out {
 public:
  explicit Out(ZeroCopyOutputStream* stream) : stream_(stream) {}

  void Write(absl::string_view text) {
    while (!text.empty() && good_) {
      void* place = nullptr;
      int size = 0;
      good_ = stream_->Next(&place, &size);
      if (!good_) return;
      const size_t taken = std::min(text.size(), static_cast<size_t>(size));
      std::memcpy(place, text.data(), taken);
      stream_->BackUp(size - static_cast<int>(taken));
      text.remove_prefix(taken);
    }
  }
  void Print(const TextFormat::Printer& printer, const Message& message) {
    if (good_) good_ = printer.Print(message, stream_);
  }
  bool good() const { return good_; }

 private:
  ZeroCopyOutputStream* stream_;
  bool good_ = true;
};

// "name=value" pairs of one record, zero values left out: they say nothing that an absent name does not.
class Line {
 public:
  explicit Line(absl::string_view kind) : text_(kind) {}
  Line& Add(absl::string_view name, uint64_t value) {
    if (value != 0) absl::StrAppend(&text_, " ", name, "=", value);
    return *this;
  }
  Line& AddAlways(absl::string_view name, uint64_t value) {
    absl::StrAppend(&text_, " ", name, "=", value);
    return *this;
  }
  Line& AddWord(absl::string_view name, absl::string_view word) {
    absl::StrAppend(&text_, " ", name, "=", word);
    return *this;
  }
  std::string Take() { return absl::StrCat(text_, "\n"); }

 private:
  std::string text_;
};

// "TIMING_COMPLETE" -> "complete"; a value of a later version as its number.
template <typename Enum>
std::string EnumWord(Enum value, const std::string& name, absl::string_view prefix) {
  if (name.size() <= prefix.size()) return absl::StrCat(static_cast<int>(value));
  std::string word = name.substr(prefix.size());
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

std::string KernelLine(const KernelRow& row) {
  using gpuexec::v1::KernelBatch;
  Line line("kernel");
  if (row.timing != KernelBatch::TIMING_COMPLETE) {
    line.AddWord("timing", EnumWord(row.timing, KernelBatch::Timing_Name(row.timing), "TIMING_"));
  }
  if (row.timing != KernelBatch::TIMING_MISSING) line.AddAlways("start_ns", row.start_ns);
  if (row.timing != KernelBatch::TIMING_MISSING && row.timing != KernelBatch::TIMING_UNFINISHED) {
    line.AddAlways("end_ns", row.end_ns).AddAlways("duration_ns", row.duration_ns);
  }
  return line.AddAlways("correlation_id", row.correlation_id)
      .Add("track_iid", row.track_iid)
      .Add("attributes_iid", row.attributes_iid)
      .Add("graph_id", row.graph_id)
      .Add("graph_node_id", row.graph_node_id)
      .Take();
}

std::string LaunchLine(const LaunchRow& row) {
  return Line("launch")
      .AddAlways("enter_monotonic_ns", row.enter_monotonic_ns)
      .AddAlways("correlation_id", row.correlation_id)
      .Add("thread_id", row.thread_id)
      .Add("window_id", row.window_id)
      .Add("track_iid", row.track_iid)
      .Add("signature_iid", row.signature_iid)
      .Add("graph_exec_id", row.graph_exec_id)
      .Add("result", row.result)
      .Take();
}

std::string MemoryLine(const MemoryRow& row) {
  using gpuexec::v1::MemoryBatch;
  return Line("memory")
      .AddWord("kind", EnumWord(row.kind, MemoryBatch::Kind_Name(row.kind), "KIND_"))
      .AddAlways("start_ns", row.start_ns)
      .AddAlways("duration_ns", row.duration_ns)
      .AddAlways("size_bytes", row.size_bytes)
      .AddAlways("correlation_id", row.correlation_id)
      .Add("track_iid", row.track_iid)
      .Add("copy_kind", row.copy_kind)
      .Add("source_memory_kind", row.source_memory_kind)
      .Add("destination_memory_kind", row.destination_memory_kind)
      .Add("source_device_id", row.source_device_id)
      .Add("destination_device_id", row.destination_device_id)
      .Add("graph_id", row.graph_id)
      .Add("graph_node_id", row.graph_node_id)
      .Take();
}

std::string SynchronizationLine(const SynchronizationRow& row) {
  return Line("synchronization")
      .AddAlways("start_ns", row.start_ns)
      .AddAlways("duration_ns", row.duration_ns)
      .AddAlways("correlation_id", row.correlation_id)
      .Add("type", row.type)
      .Add("track_iid", row.track_iid)
      .Take();
}

std::string OverheadLine(const OverheadRow& row) {
  return Line("overhead")
      .AddAlways("start_ns", row.start_ns)
      .AddAlways("duration_ns", row.duration_ns)
      .Add("kind", row.kind)
      .Add("thread_id", row.thread_id)
      .Take();
}

std::string ApiCallLine(const ApiCallRow& row) {
  return Line("api_call")
      .AddAlways("start_ns", row.start_ns)
      .AddAlways("duration_ns", row.duration_ns)
      .AddAlways("correlation_id", row.correlation_id)
      .Add("thread_id", row.thread_id)
      .AddAlways("function_iid", row.function_iid)
      .Add("result", row.result)
      .Take();
}

std::string NvtxLine(const NvtxEventRow& row) {
  using gpuexec::v1::NvtxEventBatch;
  Line line("nvtx");
  // Numbers beyond int are no enum value of any version.
  const int kind = static_cast<int>(std::min<uint64_t>(row.kind, 0x7FFFFFFF));
  if (NvtxEventBatch::Kind_IsValid(kind)) {
    const auto known = static_cast<NvtxEventBatch::Kind>(kind);
    line.AddWord("kind", EnumWord(known, NvtxEventBatch::Kind_Name(known), "KIND_"));
  } else {
    line.AddAlways("kind", row.kind);
  }
  return line.AddAlways("monotonic_ns", row.monotonic_ns)
      .Add("thread_id", row.thread_id)
      .Add("domain_iid", row.domain_iid)
      .Add("name_iid", row.name_iid)
      .Add("range_id", row.range_id)
      .Add("payload_iid", row.payload_iid)
      .Take();
}

std::string CounterLine(const CounterSampleRow& row) {
  return Line("counter_sample")
      .AddAlways("group_iid", row.group_iid)
      .Add("session_id", row.session_id)
      .AddAlways("range_order", row.range_order)
      .AddAlways("enter_monotonic_ns", row.enter_monotonic_ns)
      .AddAlways("correlation_id", row.correlation_id)
      .Add("thread_id", row.thread_id)
      .Add("window_id", row.window_id)
      .Add("context_id", row.context_id)
      .Add("signature_iid", row.signature_iid)
      .Add("graph_exec_id", row.graph_exec_id)
      .Add("launch_number", row.launch_number)
      .Add("flags", row.flags)
      .AddWord("values", absl::StrCat("[",
                                      absl::StrJoin(row.values, ", ",
                                                    [](std::string* out, double value) {
                                                      absl::StrAppend(out, ShortestDouble(value));
                                                    }),
                                      "]"))
      .Take();
}

// Calls `visit(line)` for each record of the batch `message`. nullopt: not a batch.
template <typename Visit>
std::optional<DecodedBatch> DecodeBatch(const Message& message, Visit visit) {
  // One cast a batch, not a record.
  if (const auto* launches = dynamic_cast<const gpuexec::v1::LaunchBatch*>(&message)) {
    return ForEachLaunch(*launches, [&](const LaunchRow& row) { visit([&] { return LaunchLine(row); }); });
  }
  if (const auto* kernels = dynamic_cast<const gpuexec::v1::KernelBatch*>(&message)) {
    return ForEachKernel(*kernels, [&](const KernelRow& row) { visit([&] { return KernelLine(row); }); });
  }
  if (const auto* memory = dynamic_cast<const gpuexec::v1::MemoryBatch*>(&message)) {
    return ForEachMemory(*memory, [&](const MemoryRow& row) { visit([&] { return MemoryLine(row); }); });
  }
  if (const auto* waits = dynamic_cast<const gpuexec::v1::SynchronizationBatch*>(&message)) {
    return ForEachSynchronization(
        *waits, [&](const SynchronizationRow& row) { visit([&] { return SynchronizationLine(row); }); });
  }
  if (const auto* overhead = dynamic_cast<const gpuexec::v1::OverheadBatch*>(&message)) {
    return ForEachOverhead(*overhead, [&](const OverheadRow& row) { visit([&] { return OverheadLine(row); }); });
  }
  if (const auto* calls = dynamic_cast<const gpuexec::v1::ApiCallBatch*>(&message)) {
    return ForEachApiCall(*calls, [&](const ApiCallRow& row) { visit([&] { return ApiCallLine(row); }); });
  }
  if (const auto* events = dynamic_cast<const gpuexec::v1::NvtxEventBatch*>(&message)) {
    return ForEachNvtxEvent(*events, [&](const NvtxEventRow& row) { visit([&] { return NvtxLine(row); }); });
  }
  if (const auto* samples = dynamic_cast<const gpuexec::v1::CounterBatch*>(&message)) {
    return ForEachCounterSample(*samples,
                                [&](const CounterSampleRow& row) { visit([&] { return CounterLine(row); }); });
  }
  return std::nullopt;
}

// What the packets of a file are made of.
struct FieldTotals {
  std::string name;
  uint64_t message_count = 0;
  uint64_t record_count = 0;
  uint64_t size_bytes = 0;
};

class Dumper {
 public:
  Dumper(TraceReader& reader, const DumpOptions& options, ZeroCopyOutputStream* output)
      : reader_(reader), options_(options), out_(output) {
    lists_.SetUseShortRepeatedPrimitives(true);
    lists_.SetInitialIndentLevel(1);
    raw_.SetInitialIndentLevel(1);
    line_.SetSingleLineMode(true);
    line_.SetUseShortRepeatedPrimitives(true);
  }

  absl::StatusOr<DumpResult> Run() {
    reader_.set_damage_callback(
        [this](const Damage& damage) { out_.Write(absl::StrCat("# damage: ", DamageText(damage), "\n")); });
    absl::Status status = Frames();
    reader_.set_damage_callback(nullptr);
    if (!status.ok()) return status;
    if (options_.format == DumpFormat::kStats) WriteStats();
    WriteEnd();
    result_.frame_count = reader_.frames_read();
    result_.damage_count += reader_.damage_count();
    result_.written = out_.good();
    return result_;
  }

 private:
  absl::Status Frames() {
    Packet packet;
    while (out_.good()) {
      if (reader_.frames_read() >= options_.frame_limit) {
        result_.stopped_at_limit = reader_.offset_bytes() < reader_.size_bytes();
        break;
      }
      absl::StatusOr<bool> more = reader_.Next(&packet);
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (absl::Status status = Frame(packet); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Frame(Packet& packet) {
    if (options_.format == DumpFormat::kStats) {
      Count(packet);
      return absl::OkStatus();
    }
    out_.Write(absl::StrCat("# frame ", packet.sequence(), " offset ", reader_.frame_offset_bytes(), " bytes ",
                            reader_.frame_size_bytes(), "\n"));
    switch (options_.format) {
      case DumpFormat::kPackets:
        out_.Write("packet {\n");
        out_.Print(lists_, packet);
        out_.Write("}\n");
        return absl::OkStatus();
      case DumpFormat::kRaw:
        return Raw(packet);
      case DumpFormat::kRecords:
        Records(packet);
        return absl::OkStatus();
      case DumpFormat::kStats:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status Raw(Packet& packet) {
    absl::StatusOr<absl::string_view> bytes = reader_.FrameBytes();
    if (!bytes.ok()) return bytes.status();
    FrameHead head;
    ParseFrameHead(*bytes, &head);
    gpuexec::v1::Frame frame;
    frame.set_magic(0x31465847);
    frame.set_checksum(head.checksum);
    frame.mutable_packet()->Swap(&packet);
    out_.Write("frame {\n");
    out_.Print(raw_, frame);
    out_.Write("}\n");
    return absl::OkStatus();
  }

  // Calls `visit(field, message)` for each submessage of the packet, by field number.
  template <typename Visit>
  static void ForEachPart(const Packet& packet, Visit visit) {
    std::vector<const FieldDescriptor*> fields;
    const google::protobuf::Reflection& reflection = *packet.GetReflection();
    reflection.ListFields(packet, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        visit(*field, reflection.GetMessage(packet, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(packet, field); ++i) {
        visit(*field, reflection.GetRepeatedMessage(packet, field, i));
      }
    }
  }

  void Records(const Packet& packet) {
    ForEachPart(packet, [this](const FieldDescriptor& field, const Message& message) {
      const std::optional<DecodedBatch> decoded = DecodeBatch(message, [this](auto line) { out_.Write(line()); });
      if (decoded.has_value()) {
        NoteProblem(*decoded);
        return;
      }
      out_.Write(absl::StrCat(field.name(), " { "));
      out_.Print(line_, message);
      out_.Write("}\n");
    });
  }

  void NoteProblem(const DecodedBatch& decoded) {
    if (decoded.problem.ok()) return;
    ++result_.damage_count;
    out_.Write(absl::StrCat("# damage: offset ", reader_.frame_offset_bytes(), ": ", decoded.lost_count,
                            " records not read: ", Printable(decoded.problem.message()), "\n"));
  }

  void Count(const Packet& packet) {
    ForEachPart(packet, [this](const FieldDescriptor& field, const Message& message) {
      FieldTotals& totals = totals_[field.number()];
      totals.name = field.name();
      ++totals.message_count;
      totals.size_bytes += message.ByteSizeLong();
      const std::optional<DecodedBatch> decoded = DecodeBatch(message, [](auto) {});
      if (!decoded.has_value()) return;
      totals.record_count += decoded->record_count;
      NoteProblem(*decoded);
    });
  }

  void WriteStats() {
    out_.Write(absl::StrFormat("%-24s %12s %14s %16s %12s\n", "field", "messages", "records", "bytes", "bytes/record"));
    uint64_t kernel_count = 0;
    for (const auto& [number, totals] : totals_) {
      out_.Write(absl::StrFormat("%-24s %12d %14d %16d", totals.name, totals.message_count, totals.record_count,
                                 totals.size_bytes));
      if (totals.record_count > 0) {
        out_.Write(absl::StrFormat(" %12.2f",
                                   static_cast<double>(totals.size_bytes) / static_cast<double>(totals.record_count)));
      }
      out_.Write("\n");
      if (number == Packet::kKernelBatchFieldNumber) kernel_count = totals.record_count;
    }
    if (kernel_count > 0 && !result_.stopped_at_limit) {
      out_.Write(absl::StrFormat("whole file: %.2f bytes for each of %d kernel records\n",
                                 static_cast<double>(reader_.size_bytes()) / static_cast<double>(kernel_count),
                                 kernel_count));
    }
  }

  void WriteEnd() {
    out_.Write(absl::StrCat(
        "# end: frames read ", reader_.frames_read(), ", file bytes ", reader_.size_bytes(), ", damaged places ",
        reader_.damage_count() + result_.damage_count, ", bytes skipped ", reader_.damaged_bytes(), ", frames missing ",
        reader_.missing_frames(),
        result_.stopped_at_limit ? absl::StrCat(", stopped at offset ", reader_.offset_bytes()) : std::string(), "\n"));
  }

  TraceReader& reader_;
  const DumpOptions options_;
  Out out_;
  TextFormat::Printer lists_;
  TextFormat::Printer raw_;
  TextFormat::Printer line_;
  DumpResult result_;
  // By field number, in the order of the format.
  std::map<int, FieldTotals> totals_;
};

}  // namespace

absl::StatusOr<DumpResult> DumpTrace(TraceReader& reader, const DumpOptions& options, ZeroCopyOutputStream* output) {
  return Dumper(reader, options, output).Run();
}

}  // namespace gx::analysis
