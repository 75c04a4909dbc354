// gx-make-fuzz-corpus DIR: writes the committed corpus, DIR/trace_reader, DIR/columns, DIR/report and
// DIR/activity_decoder. Small files, one
// idea each; the name says which. Run it again after adding an idea; existing files come out the same.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <string>

#include "analysis/frame_walk.h"
#include "google/protobuf/text_format.h"
#include "gpuexec/v1/trace.pb.h"

namespace {

using gx::analysis::MakeFrame;

bool g_ok = true;

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file.good()) {
    std::cerr << path << ": cannot be written\n";
    g_ok = false;
  }
}

std::string Packet(const std::string& text) {
  gpuexec::v1::Packet packet;
  if (!google::protobuf::TextFormat::ParseFromString(text, &packet)) {
    std::cerr << "not a packet: " << text << "\n";
    g_ok = false;
  }
  return packet.SerializeAsString();
}

constexpr char kHeader[] =
    "header { format_major: 1 gpuexec_version: '0.1.0' command_line: ['python3', 'train.py'] pid: 42 "
    "rank_variable { name: 'RANK' value: '3' } start { cupti_ns: 1000 monotonic_ns: 900 realtime_ns: 5000 } }";
constexpr char kDefinitions[] =
    "sequence: 1 name { iid: 1 value: '_Z4axpyPf' } device { device_id: 0 name: 'GPU' uuid: '0123456789abcdef' "
    "attributes { multiprocessor_count: 132 } } context { context_id: 1 } thread { thread_id: 42 name: 'main' } "
    "track { iid: 1 context_id: 1 stream_id: 7 } function { iid: 1 name_iid: 1 code_hash: 77 } "
    "signature { iid: 1 function_iid: 1 grid_x: 10 grid_y: 1 grid_z: 1 block_x: 256 block_y: 1 block_z: 1 } "
    "kernel_attributes { iid: 1 name_iid: 1 grid_x: 10 registers_per_thread: 16 } window { window_id: 1 kind: "
    "KIND_TIMING }";
constexpr char kRecords[] =
    "sequence: 2 launch_batch { count: 3 thread_id: 42 window_id: 1 base_enter_monotonic_ns: 1000 "
    "enter_unit_ns: 16 enter_delta: [0, 5, 6] base_correlation_id: 1 correlation_delta: [0, 1, 1] track_iid: 1 "
    "signature_iid: 1 } "
    "kernel_batch { count: 3 timing: TIMING_COMPLETE base_start_ns: 2000 start_unit_ns: 32 start_delta: [0, 1, 2] "
    "duration_unit_ns: 32 duration_delta: [40, 1, -1] base_correlation_id: 1 correlation_delta: [0, 1, 1] track_iid: 1 "
    "attributes_iid: 1 graph_id: [0, 5, 5] graph_node_delta: [0, 100, 1] } "
    "memory_batch { count: 2 kind: KIND_MEMCPY base_start_ns: 100 start_unit_ns: 1 start_delta: [0, 9] "
    "duration_unit_ns: 1 "
    "duration: [5, 6] correlation_delta: [9, 1] size_bytes: [4096, 8192] copy_kind: 1 } "
    "synchronization_batch { count: 2 base_start_ns: 50 start_delta_ns: [0, -3] duration_ns: [4, 4] type: 3 } "
    "overhead_batch { count: 1 base_start_ns: 60 duration_ns: 4 kind: 1 } "
    "nvtx_event_batch { count: 2 thread_id: 42 base_monotonic_ns: 900 time_unit_ns: 16 time_delta: [0, 30] kind: [1, "
    "2] name_iid: "
    "[1, 0] }";
constexpr char kSummaries[] =
    "sequence: 3 stats { counter { id: STAT_LAUNCHES_SEEN value: 3 } } diagnostic { text: 'words' } "
    "kernel_summary { attributes_iid: 1 count: 2 bucket: [80, 81] bucket_count: [1, 1] } "
    "launch_summary { signature_iid: 1 count: 2 } trailer { reason: REASON_EXIT }";

constexpr char kCounters[] =
    "sequence: 4 counter_group { iid: 1 name: 'light+' kind: KIND_HARDWARE chip: 'GH100' metric: ['a.sum', 'b.avg', "
    "'c.sum'] } counter_plan { requested: 'core' group_iid: 1 dropped { name: 'x' reason: REASON_DOES_NOT_EXIST } } "
    "counter_session { session_id: 1 window_id: 1 group_iid: 1 outcome: OUTCOME_COMPLETE range_count: 3 push_ns: 9 } "
    "counter_batch { count: 3 group_iid: 1 session_id: 1 window_id: 1 enter_unit_ns: 16 enter_delta: [0, 5, -6] "
    "correlation_delta: [1, 1, 1] thread_id: 42 signature_iid: [1, 1, 0] graph_exec_id: [0, 0, 7] range_order_delta: "
    "[0, 1, 2] flags: [1, 0, 4] launch_number: [1, 9, 1] metric_count: 3 real_metric: 1 integer_value: [100, 7, 1, 0, "
    "-2, 3] real_value: [0.5, nan, 1e300] } "
    "counter_access { state: STATE_ALLOWED } counter_denial { function_iid: 1 reason: REASON_DEADLINE } "
    "device_peaks { peak { metric: 'dram__bytes.sum.peak_sustained' value: 1504 clock_hz: 3.2e9 } } "
    "window_clocks { window_id: 1 sm_clock_hz: 1980000000 reading_count: 2 }";

std::string Minimal(const std::string& packet) {
  gpuexec::v1::Trace trace;
  gpuexec::v1::Frame* frame = trace.add_frame();
  frame->set_magic(0x31465847);
  frame->set_checksum(gx::analysis::PacketChecksum(packet));
  frame->mutable_packet()->ParseFromString(packet);
  return trace.SerializeAsString();
}

void TraceReaderCorpus(const std::filesystem::path& folder) {
  const std::string header = MakeFrame(Packet(kHeader));
  const std::string definitions = MakeFrame(Packet(kDefinitions));
  const std::string records = MakeFrame(Packet(kRecords));
  const std::string summaries = MakeFrame(Packet(kSummaries));
  const std::string sound = header + definitions + records + summaries;
  Write(folder / "empty_packet", MakeFrame(""));
  Write(folder / "sound", sound);
  // The target also takes its input as one packet.
  Write(folder / "packet_definitions", Packet(kDefinitions));
  Write(folder / "packet_records", Packet(kRecords));
  Write(folder / "packet_summaries", Packet(kSummaries));
  Write(folder / "packet_counters", Packet(kCounters));
  Write(folder / "minimal_varints", Minimal(Packet(kHeader)) + Minimal(Packet(kRecords)));
  Write(folder / "cut_tail", sound.substr(0, sound.size() - 5));
  Write(folder / "cut_head", sound + header.substr(0, 13));
  Write(folder / "garbage_first", "garbage GXF1 \n" + sound);
  Write(folder / "garbage_between", header + std::string(100, '\xff') + records);
  Write(folder / "zeros_between", header + std::string(5000, '\0') + records);
  Write(folder / "lost_frame", header + records + summaries);
  Write(folder / "repeated", sound + sound);
  std::string flipped = sound;
  flipped[header.size() + 40] ^= 1;
  Write(folder / "bad_checksum", flipped);
  gpuexec::v1::Packet trap;
  trap.set_sequence(1);
  trap.add_name()->set_value(records + "GXF1");
  Write(folder / "frame_in_a_name", header + MakeFrame(trap.SerializeAsString()) + summaries);
  std::string damaged_trap = header + MakeFrame(trap.SerializeAsString()) + summaries;
  damaged_trap[header.size() + 26] ^= 1;
  Write(folder / "frame_in_a_damaged_name", damaged_trap);
  Write(folder / "unparsable", header + MakeFrame("\x22\x01\x08") + summaries);
  std::string heads;
  for (int i = 0; i < 20; ++i) heads += MakeFrame(std::string(300, 'x')).substr(0, 26);
  Write(folder / "heads_alone", header + heads + std::string(300, 'y'));
  std::string too_large = MakeFrame("");
  for (const size_t at : {size_t{4}, size_t{24}}) too_large[at] = '\xff';
  Write(folder / "too_large", header + too_large + summaries);
  gpuexec::v1::Packet names;
  for (int byte = 0; byte < 256; ++byte) names.add_name()->set_value(std::string(1, static_cast<char>(byte)));
  Write(folder / "every_byte_as_name", MakeFrame(names.SerializeAsString()));
  Write(folder / "bad_columns",
        MakeFrame(Packet("launch_batch { count: 1152921504606846976 } kernel_batch { count: 2 "
                         "duration_delta: [1, 2, 3] } nvtx_event_batch { count: 1 kind: 9999999999999 }")));
}

void ColumnsCorpus(const std::filesystem::path& folder) {
  Write(folder / "records", Packet(kRecords));
  Write(folder / "summaries", Packet(kSummaries));
  Write(folder / "claims_without_columns", Packet("launch_batch { count: 18446744073709551615 signature_iid: 1 } "
                                                  "kernel_batch { count: 18446744073709551615 } "
                                                  "overhead_batch { count: 18446744073709551615 kind: 1 }"));
  Write(folder / "wrong_lengths",
        Packet("kernel_batch { count: 2 start_delta: 1 } memory_batch { count: 3 size_bytes: [1, 2] } "
               "launch_batch { signature_iid: [1, 2, 3] } kernel_summary { bucket: [1, 2] }"));
  Write(folder / "edges",
        Packet("kernel_batch { count: 2 timing: TIMING_COMPLETE base_start_ns: 18446744073709551615 "
               "start_unit_ns: 18446744073709551615 start_delta: [-9223372036854775808, "
               "9223372036854775807] duration_unit_ns: 18446744073709551615 duration_delta: [1, -2] } "
               "kernel_batch { count: 1 timing: TIMING_INVALID duration_unit_ns: 1 duration_delta: 1 } "
               "launch_batch { count: 2 base_enter_monotonic_ns: 18446744073709551615 enter_delta: [0, 1] } "
               "nvtx_event_batch { count: 2 time_unit_ns: 18446744073709551615 time_delta: [1, 2] }"));
  Write(folder / "no_unit", Packet("kernel_batch { count: 1 start_delta: 1 } memory_batch { count: 1 duration: 1 }"));
  Write(folder / "counters", Packet(kCounters));
  Write(folder / "counters_wrong",
        Packet("counter_batch { count: 2 } counter_batch { count: 2 metric_count: 2 integer_value: [1, 2, 3] } "
               "counter_batch { count: 1 metric_count: 2 real_metric: [1, 0] real_value: [1, 2] } "
               "counter_batch { count: 1 metric_count: 1 real_metric: 5 real_value: 1 } "
               "counter_batch { count: 1 metric_count: 18446744073709551615 } "
               "counter_batch { count: 9223372036854775808 metric_count: 2 } counter_batch { real_metric: 0 } "
               "counter_batch { integer_value: 3 } counter_batch { count: 1 metric_count: 1 integer_value: 1 flags: "
               "[1, 2, 3] }"));
  Write(folder / "counters_edges",
        Packet("counter_batch { count: 3 metric_count: 1 integer_value: [9007199254740992, 0, 1] } "
               "counter_batch { count: 2 metric_count: 1 integer_value: [-9223372036854775808, -1] } "
               "counter_batch { count: 2 metric_count: 1 real_metric: 0 real_value: [inf, -0.0] base_range_order: "
               "18446744073709551615 range_order_delta: [0, 1] }"));
  Write(folder / "timings", Packet("kernel_batch { count: 1 timing: TIMING_MISSING } kernel_batch { count: 2 timing: "
                                   "TIMING_UNFINISHED base_start_ns: 5 start_unit_ns: 1 start_delta: [0, 1] } "
                                   "kernel_batch { count: 1 timing: TIMING_UNSPECIFIED }"));
}

// Whole traces in one packet.
void ReportCorpus(const std::filesystem::path& folder) {
  const auto joined = [](std::initializer_list<const char*> parts) {
    std::string bytes;
    for (const char* part : parts) bytes += Packet(part);
    return bytes;  // Messages one after another are one message.
  };
  Write(folder / "records", joined({kHeader, kDefinitions, kRecords, kSummaries}));
  Write(folder / "counters", joined({kHeader, kDefinitions, kCounters, kSummaries}));
  // Values at their edges, mixed work, groups without definition, reasons of a later format.
  Write(
      folder / "counters_edges",
      joined(
          {kHeader, kDefinitions,
           "window { window_id: 2 kind: KIND_COUNTERS } counter_group { iid: 1 metric: ['smsp__inst_executed.sum', "
           "'dram__bytes_write.sum'] } counter_batch { count: 4 group_iid: 1 window_id: 2 signature_iid: [1, 1, 1, 9] "
           "flags: [1, 0, 7, 255] metric_count: 2 real_metric: [0, 1] real_value: [1e308, -1e308, -1e308, 1e308, "
           "5e-324, 0, nan, inf] base_enter_monotonic_ns: 18446744073709551615 enter_delta: [0, 1, -1, 2] "
           "enter_unit_ns: "
           "16 launch_number: [18446744073709551615, 1, 0, 5] } counter_batch { count: 1 group_iid: 77 metric_count: 1 "
           "integer_value: 1 } counter_session { push_ns: 18446744073709551615 } counter_session { session_id: 1 "
           "push_ns: 18446744073709551615 range_count: 18446744073709551615 }"}));
  // Windows that follow one another at their edges, a graph whose nodes go in a circle, two counts of instructions that
  // do not agree, a group that is defined again with fewer metrics.
  Write(folder / "counters_windows",
        joined(
            {kHeader, kDefinitions, kRecords,
             "window { window_id: 3 kind: KIND_COUNTERS begin_monotonic_ns: 18446744073709551615 } window { window_id: "
             "18446744073709551615 kind: KIND_OFF begin_monotonic_ns: 5 end_monotonic_ns: 4 } window { window_id: 4 "
             "kind: KIND_COUNTERS end_monotonic_ns: 18446744073709551615 } counter_group { iid: 2 name: 'hw' metric: "
             "['smsp__inst_executed.sum', 'x.sum'] } counter_group { iid: 3 name: 'sass' kind: KIND_SASS metric: "
             "'smsp__sass_inst_executed.sum' } counter_batch { count: 2 group_iid: 2 window_id: 3 signature_iid: 1 "
             "metric_count: 2 integer_value: [1000000, 1, 3, 4] flags: [0, 1] } counter_batch { count: 1 group_iid: 3 "
             "window_id: 3 signature_iid: 1 metric_count: 1 real_metric: 0 real_value: -1e308 } counter_batch { count: "
             "1 group_iid: 2 window_id: 3 graph_exec_id: 7 metric_count: 2 integer_value: [9, 9] flags: 4 } "
             "counter_group { iid: 2 metric: 'y.sum' } graph_node { node_id: 1 original_node_id: 2 graph_id: 7 } "
             "graph_node { node_id: 2 original_node_id: 1 graph_id: 7 } graph_node { node_id: 3 graph_id: 7 "
             "signature_iid: 1 } graph_node { node_id: 4 graph_id: 7 signature_iid: 99 }"}));
}

// A record of CUPTI: its kind, then bytes that all differ from their neighbours.
std::string ActivityRecord(uint32_t kind, size_t size_bytes) {
  std::string record(size_bytes, '\0');
  for (size_t i = 0; i < size_bytes; ++i) record[i] = static_cast<char>(i < 4 ? kind >> (8 * i) : i * 7 + 3);
  return record;
}

// Kinds and sizes as in cupti_activity.h of CUDA 13.0; the first byte is told in activity_decoder_fuzz.cc.
void ActivityDecoderCorpus(const std::filesystem::path& folder) {
  const std::string kernel9 = ActivityRecord(10, 208);
  const std::string kernel10 = ActivityRecord(10, 216);
  const std::string serial_kernel10 = ActivityRecord(3, 216);
  const std::string memcpy5 = ActivityRecord(1, 88);
  const std::string memcpy6 = ActivityRecord(1, 96);
  const std::string others = ActivityRecord(22, 96) + ActivityRecord(2, 88) + ActivityRecord(17, 56);
  const std::string unknown = ActivityRecord(9999, 16);
  const std::string old_cupti(1, '\0');
  const std::string new_cupti(1, '\2');
  Write(folder / "old_layouts", old_cupti + kernel9 + memcpy5 + others + unknown + kernel9);
  Write(folder / "new_layouts", new_cupti + kernel10 + serial_kernel10 + memcpy6 + others + unknown + kernel10);
  Write(folder / "later_cupti", '\4' + kernel10 + memcpy6 + unknown);
  Write(folder / "cut_record", new_cupti + kernel10 + kernel10.substr(0, 211));
  Write(folder / "no_record", new_cupti);
  Write(folder / "enums_at_their_end", new_cupti + kernel10.substr(0, 4) + std::string(212, '\xff') +
                                           std::string("\x11\0\0\0", 4) + std::string(52, '\xff'));
  const std::string lying(1, '\3');
  Write(folder / "walk_in_a_circle", lying + std::string("\0\0\0\0\0\0\0\0", 8) + kernel10);
  Write(folder / "walk_backwards", lying + std::string("\0\x1b\xe5\0\0\0\0\0", 8) + kernel10 + kernel10);
  Write(folder / "walk_past_the_end", lying + std::string("\0\x1b\x1b\x7f\0\0\0\0", 8) + kernel10 + kernel10);
  Write(folder / "walk_into_a_tail", lying + std::string("\0\x1b\1\1\1\1\1\1", 8) + kernel10 + kernel10);
  Write(folder / "walk_before_the_start", lying + std::string("\xff\0\0\0\0\0\0\0", 8) + kernel10);
  // Ends with the last field that is read: the old layout, then the new one.
  Write(folder / "exact_end_old", '\1' + std::string("\0\x1a\1\1\1\1\1\1", 8) + kernel9 + kernel9.substr(0, 207));
  Write(folder / "exact_end_new", lying + std::string("\0\x1b\1\1\1\1\1\1", 8) + kernel10 + kernel10.substr(0, 209));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gx-make-fuzz-corpus DIR\n";
    return 2;
  }
  TraceReaderCorpus(std::filesystem::path(argv[1]) / "trace_reader");
  ColumnsCorpus(std::filesystem::path(argv[1]) / "columns");
  ReportCorpus(std::filesystem::path(argv[1]) / "report");
  ActivityDecoderCorpus(std::filesystem::path(argv[1]) / "activity_decoder");
  return g_ok ? 0 : 1;
}
