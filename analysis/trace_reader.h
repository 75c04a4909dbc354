// Streams the packets of a trace file, whatever state the file is in. Owned by one thread; a reader is not shared.
//
// Memory is bounded: one read window of at most one frame (16 MiB and a little), the packet that the caller gave, and
// the first kMaxDamages damages. Offsets are 64-bit; the file may be far larger than memory. Damage is never an error
// of Next: it is skipped, recorded, and the next frame whose checksum holds is read.
//
// Next looks at the head at the expected place. If magic, both lengths and the checksum agree, the packet is parsed; a
// gap in the sequence numbers is recorded, not repaired. Otherwise the span up to the next frame is a Damage: where the
// head is sound and another head (or the end) stands behind its frame, only that frame is skipped, so that a frame's
// bytes inside a payload are never taken for a frame; else the next magic whose whole frame checks out is searched for.
// Every byte of the file is in a frame that was read or in a recorded span.
//
// Bounds: a packet has at most kMaxPacketBytes and kMaxPacketFields (checked before it is parsed), a frame is only read
// if the file holds it, and the search computes at most 16 bytes of checksums for each byte it passes (and 256 MiB in
// any case).
//
//   auto reader = TraceReader::Open("trace.pb");
//   if (!reader.ok()) return reader.status();
//   gpuexec::v1::Packet packet;
//   while (true) {
//     absl::StatusOr<bool> more = (*reader)->Next(&packet);
//     if (!more.ok()) return more.status();  // The disk, not the trace, failed.
//     if (!*more) break;
//     Use(packet);
//   }
//   for (const Damage& damage : (*reader)->damages()) Print(DamageText(damage));
#ifndef GPUEXEC_ANALYSIS_TRACE_READER_H_
#define GPUEXEC_ANALYSIS_TRACE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/file_window.h"
#include "analysis/frame_walk.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

enum class DamageKind {
  // No frame head where one should be. got: the eight bytes there, as a little-endian number; expected: 0.
  kBadFraming,
  // The frame is whole, its packet is not the one that was written. expected: the checksum in the frame's head;
  // got: the checksum of the bytes in the file.
  kBadChecksum,
  // The file ends inside a frame. expected: the frame's size in bytes (0 where its head is cut too); got: bytes
  // present.
  kCutTail,
  // The checksum holds, the packet is no gpuexec.v1.Packet (or of more than kMaxPacketFields fields).
  // expected: kMaxPacketFields; got: its fields where there are too many, else 0.
  kPacketUnparsable,
  // A head that asks for more than kMaxPacketBytes. expected: that limit; got: the size asked for.
  kPacketTooLarge,
  // No bytes are damaged here (length 0): the frame at this offset is not the successor of the one before.
  // expected and got are sequence numbers. Where got is larger, got - expected frames are missing.
  kSequenceGap,
};

// A span of the file that was skipped, or (kSequenceGap) a place where frames are missing.
struct Damage {
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;
  DamageKind kind = DamageKind::kBadFraming;
  uint64_t expected = 0;
  uint64_t got = 0;
};

// "bad checksum", "cut tail", ...
absl::string_view DamageKindName(DamageKind kind);
// One line, no line feed: "offset 4096, 312 bytes skipped: bad checksum: expected 0x..., got 0x...".
std::string DamageText(const Damage& damage);

class TraceReader {
 public:
  // damages() keeps the first so many; damage_count() counts all.
  static constexpr size_t kMaxDamages = 1000;
  // A packet of more top-level fields is refused: parsed, an empty submessage of two bytes takes hundreds. The writer
  // ends a packet at about 1 MiB, which holds fewer of the smallest definitions.
  static constexpr uint64_t kMaxPacketFields = uint64_t{1} << 18;

  // The file must hold at least one whole, undamaged frame (anywhere: a damaged start is skipped).
  //   NotFound            no such file
  //   PermissionDenied    the file may not be read
  //   FailedPrecondition  a directory, a pipe or device, an empty file, or not a trace
  //   DataLoss            the beginning of a trace, cut or damaged, without one whole frame
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(const std::string& path);

  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Reads the next undamaged packet. false: the end. An error means that the file could not be read (I/O), never
  // damage.
  absl::StatusOr<bool> Next(gpuexec::v1::Packet* packet);

  // The first kMaxDamages, by offset. Complete once Next returned false.
  const std::vector<Damage>& damages() const { return damages_; }
  uint64_t damage_count() const { return damage_count_; }
  // Of these, kSequenceGap.
  uint64_t sequence_gap_count() const { return sequence_gap_count_; }
  // Bytes in skipped spans.
  uint64_t damaged_bytes() const { return damaged_bytes_; }
  // Called for every damage, beyond kMaxDamages too; at once for those found so far.
  void set_damage_callback(std::function<void(const Damage&)> callback);

  const std::string& path() const { return path_; }
  // Where the next frame is looked for: progress, against size_bytes().
  uint64_t offset_bytes() const { return offset_bytes_; }
  // Size of the file when it was opened: what a live capture adds later is not read.
  uint64_t size_bytes() const { return window_.size_bytes(); }
  uint64_t frames_read() const { return frames_read_; }
  // Frames that the sequence numbers show to be missing (saturating), damaged ones included. Frames that are missing at
  // the end of the file leave no such gap.
  uint64_t missing_frames() const { return missing_frames_; }

  // The frame that Next read last: its place, and its bytes as they are in the file (valid until the next call of
  // Next).
  uint64_t frame_offset_bytes() const { return frame_offset_bytes_; }
  uint64_t frame_size_bytes() const { return frame_size_bytes_; }
  absl::StatusOr<absl::string_view> FrameBytes();

 private:
  // What stands at an expected frame start.
  struct Look {
    bool ok = false;
    FrameHead head;
    // Where not ok. length_bytes is filled after the search for the next frame.
    Damage damage;
    // The first eight bytes.
    uint64_t first_bytes = 0;
    // The head is sound and its frame ends inside the file.
    bool framing_sound = false;
  };

  TraceReader(std::string path, FileWindow window);

  absl::StatusOr<Look> LookAt(uint64_t offset_bytes);
  // Records what `look` found at offset_bytes_ and moves to the next sound frame, or to the end. true: there is one.
  absl::StatusOr<bool> SkipDamage(const Look& look);
  // Offset of the next sound frame at or after `from`; the file's end where there is none.
  absl::StatusOr<uint64_t> FindFrame(uint64_t from);
  void Record(const Damage& damage);
  void CheckSequence(uint64_t sequence);
  absl::Status NoFrameStatus(const Look& look);

  std::string path_;
  FileWindow window_;
  uint64_t offset_bytes_ = 0;
  uint64_t frame_offset_bytes_ = 0;
  uint64_t frame_size_bytes_ = 0;
  uint64_t frames_read_ = 0;
  uint64_t missing_frames_ = 0;
  uint64_t next_sequence_ = 0;
  std::vector<Damage> damages_;
  uint64_t damage_count_ = 0;
  uint64_t sequence_gap_count_ = 0;
  uint64_t damaged_bytes_ = 0;
  // Work of FindFrame so far: bytes passed over, and bytes of candidates whose checksum was computed.
  uint64_t searched_bytes_ = 0;
  uint64_t checked_bytes_ = 0;
  std::function<void(const Damage&)> damage_callback_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TRACE_READER_H_
