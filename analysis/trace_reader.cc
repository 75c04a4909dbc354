#include "analysis/trace_reader.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

// The search for the next frame computes a checksum for each candidate head. Heads that were made to deceive (26 bytes
// each, every one claiming 16 MiB) would make that quadratic, so the work is bounded: so much in any case (16 packets
// of the longest kind) and 16 bytes for each byte passed over. Candidates beyond that are part of the skipped span. In
// an honest file a false head is a coincidence of 2^-56 per byte.
constexpr uint64_t kFreeCheckBytes = 16 * kMaxPacketBytes;
constexpr uint64_t kCheckBytesPerSearchedByte = 16;

// A magic's frame starts at most this far before it: frame tag, length, the magic's tag.
constexpr uint64_t kMaxBytesBeforeMagic = 1 + kMaxLengthVarintBytes + 1;

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 8); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

std::string HexBytes(uint64_t little_endian, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "%s%02x", i == 0 ? "" : " ", little_endian >> (8 * i) & 0xFF);
  }
  return text;
}

// What a file that is no trace probably is, "" where its first bytes say nothing.
absl::string_view Hint(absl::string_view first_bytes) {
  struct Known {
    absl::string_view prefix;
    absl::string_view hint;
  };
  static constexpr Known kKnown[] = {
      {"\x1f\x8b", " (gzip: decompress it first)"},
      {"\x28\xb5\x2f\xfd", " (zstd: decompress it first)"},
      {"\xfd"
       "7zXZ",
       " (xz: decompress it first)"},
      {"SQLite format 3", " (an SQLite database)"},
      {"\x7f"
       "ELF",
       " (a program or library)"},
  };
  for (const Known& known : kKnown) {
    if (first_bytes.substr(0, known.prefix.size()) == known.prefix) return known.hint;
  }
  return "";
}

}  // namespace

absl::string_view DamageKindName(DamageKind kind) {
  switch (kind) {
    case DamageKind::kBadFraming:
      return "bad framing";
    case DamageKind::kBadChecksum:
      return "bad checksum";
    case DamageKind::kCutTail:
      return "cut tail";
    case DamageKind::kPacketUnparsable:
      return "packet unparsable";
    case DamageKind::kPacketTooLarge:
      return "packet too large";
    case DamageKind::kSequenceGap:
      return "sequence gap";
  }
  return "unknown damage";
}

std::string DamageText(const Damage& damage) {
  std::string text = absl::StrCat("offset ", damage.offset_bytes);
  if (damage.kind != DamageKind::kSequenceGap) absl::StrAppend(&text, ", ", damage.length_bytes, " bytes skipped");
  absl::StrAppend(&text, ": ", DamageKindName(damage.kind), ": ");
  switch (damage.kind) {
    case DamageKind::kBadFraming:
      absl::StrAppend(&text, "expected a frame head, got bytes ",
                      HexBytes(damage.got, static_cast<size_t>(std::min<uint64_t>(8, damage.length_bytes))));
      break;
    case DamageKind::kBadChecksum:
      absl::StrAppendFormat(&text, "expected 0x%016x, got 0x%016x", damage.expected, damage.got);
      break;
    case DamageKind::kCutTail:
      if (damage.expected == 0) {
        absl::StrAppend(&text, "the file ends inside a frame's head, after ", damage.got, " bytes of it");
      } else {
        absl::StrAppend(&text, "expected a frame of ", damage.expected, " bytes, got ", damage.got);
      }
      break;
    case DamageKind::kPacketUnparsable:
      if (damage.got > damage.expected) {
        absl::StrAppend(&text, "expected at most ", damage.expected, " fields, got more");
      } else {
        absl::StrAppend(&text, "expected a gpuexec.v1.Packet, got other bytes (their checksum holds)");
      }
      break;
    case DamageKind::kPacketTooLarge:
      absl::StrAppend(&text, "expected at most ", damage.expected, " bytes, got ", damage.got);
      break;
    case DamageKind::kSequenceGap:
      absl::StrAppend(&text, "expected frame ", damage.expected, ", got frame ", damage.got);
      if (damage.got > damage.expected) {
        absl::StrAppend(&text, " (", damage.got - damage.expected, " missing)");
      } else {
        absl::StrAppend(&text, " (repeated, out of order, or another trace appended)");
      }
      break;
  }
  return text;
}

TraceReader::TraceReader(std::string path, FileWindow window) : path_(std::move(path)), window_(std::move(window)) {}

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(const std::string& path) {
  absl::StatusOr<FileWindow> window = FileWindow::Open(path);
  if (!window.ok()) return window.status();
  if (window->size_bytes() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(path), ": an empty file, expected a trace (the program may have ended before its first launch)"));
  }
  // No make_unique: the constructor is private.
  std::unique_ptr<TraceReader> reader(new TraceReader(path, *std::move(window)));
  absl::StatusOr<Look> look = reader->LookAt(0);
  if (!look.ok()) return look.status();
  if (!look->ok) {
    absl::StatusOr<bool> found = reader->SkipDamage(*look);
    if (!found.ok()) return found.status();
    if (!*found) return reader->NoFrameStatus(*look);
  }
  return reader;
}

absl::Status TraceReader::NoFrameStatus(const Look& look) {
  const std::string path = Printable(path_);
  if (look.framing_sound) {
    return absl::DataLossError(absl::StrCat(path, ": a trace of ", size_bytes(),
                                            " bytes without one undamaged frame; at ", DamageText(damages_.front())));
  }
  if (look.damage.kind == DamageKind::kCutTail) {
    return absl::DataLossError(absl::StrCat(
        path, ": a truncated trace: ", size_bytes(), " bytes, shorter than its first frame",
        look.damage.expected == 0 ? std::string("'s head") : absl::StrCat(" (", look.damage.expected, " bytes)")));
  }
  if (look.damage.kind == DamageKind::kPacketTooLarge) {
    return absl::DataLossError(
        absl::StrCat(path, ": a trace without one readable frame; at ", DamageText(damages_.front())));
  }
  absl::StatusOr<absl::string_view> first = window_.View(0, 16);
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": not a gpuexec trace: expected a frame head (0a, length, 0d, \"GXF1\"), got bytes ",
                   HexBytes(look.first_bytes, static_cast<size_t>(std::min<uint64_t>(8, size_bytes()))),
                   first.ok() ? Hint(*first) : absl::string_view()));
}

absl::StatusOr<TraceReader::Look> TraceReader::LookAt(uint64_t offset_bytes) {
  absl::StatusOr<absl::string_view> bytes = window_.ViewAtLeast(offset_bytes, kMaxFrameHeadBytes);
  if (!bytes.ok()) return bytes.status();
  Look look;
  look.damage.offset_bytes = offset_bytes;
  look.first_bytes = LittleEndian(*bytes);
  const uint64_t present_bytes = size_bytes() - std::min(size_bytes(), offset_bytes);
  switch (ParseFrameHead(bytes->substr(0, kMaxFrameHeadBytes), &look.head)) {
    case HeadState::kCut:
      look.damage.kind = DamageKind::kCutTail;
      look.damage.got = present_bytes;
      return look;
    case HeadState::kBad:
      look.damage.kind = DamageKind::kBadFraming;
      look.damage.got = look.first_bytes;
      return look;
    case HeadState::kTooLarge:
      look.damage.kind = DamageKind::kPacketTooLarge;
      look.damage.expected = kMaxPacketBytes;
      look.damage.got = look.head.packet_bytes;
      return look;
    case HeadState::kSound:
      break;
  }
  const uint64_t frame_bytes = look.head.frame_bytes();
  absl::StatusOr<absl::string_view> frame = absl::string_view();
  if (frame_bytes <= present_bytes) frame = window_.View(offset_bytes, static_cast<size_t>(frame_bytes));
  if (!frame.ok()) return frame.status();
  if (frame->size() < frame_bytes) {
    look.damage.kind = DamageKind::kCutTail;
    look.damage.expected = frame_bytes;
    look.damage.got = size_bytes() - std::min(size_bytes(), offset_bytes);
    return look;
  }
  look.framing_sound = true;
  const uint64_t checksum = PacketChecksum(frame->substr(look.head.head_bytes));
  if (checksum != look.head.checksum) {
    look.damage.kind = DamageKind::kBadChecksum;
    look.damage.expected = look.head.checksum;
    look.damage.got = checksum;
    return look;
  }
  look.ok = true;
  return look;
}

absl::StatusOr<bool> TraceReader::Next(gpuexec::v1::Packet* packet) {
  packet->Clear();
  while (offset_bytes_ < size_bytes()) {
    absl::StatusOr<Look> look = LookAt(offset_bytes_);
    if (!look.ok()) return look.status();
    if (!look->ok) {
      absl::StatusOr<bool> found = SkipDamage(*look);
      if (!found.ok()) return found.status();
      continue;
    }
    const uint64_t frame_bytes = look->head.frame_bytes();
    absl::StatusOr<absl::string_view> frame = window_.View(offset_bytes_, static_cast<size_t>(frame_bytes));
    if (!frame.ok()) return frame.status();
    // The file may have been cut since LookAt: what is left is looked at again.
    if (frame->size() < frame_bytes) continue;
    const absl::string_view bytes = frame->substr(look->head.head_bytes);
    const std::optional<uint64_t> field_count = CountFields(bytes, kMaxPacketFields);
    if (!field_count.has_value() || *field_count > kMaxPacketFields ||
        !packet->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      packet->Clear();
      Damage damage = look->damage;
      damage.kind = DamageKind::kPacketUnparsable;
      damage.length_bytes = frame_bytes;
      damage.expected = kMaxPacketFields;
      damage.got = field_count.value_or(0) > kMaxPacketFields ? *field_count : 0;
      Record(damage);
      offset_bytes_ += frame_bytes;
      continue;
    }
    frame_offset_bytes_ = offset_bytes_;
    frame_size_bytes_ = frame_bytes;
    CheckSequence(packet->sequence());
    offset_bytes_ += frame_bytes;
    ++frames_read_;
    return true;
  }
  return false;
}

absl::StatusOr<absl::string_view> TraceReader::FrameBytes() {
  absl::StatusOr<absl::string_view> frame = window_.View(frame_offset_bytes_, static_cast<size_t>(frame_size_bytes_));
  if (frame.ok() && frame->size() < frame_size_bytes_) {
    return absl::DataLossError(absl::StrCat(Printable(path_), ": cut while it was read"));
  }
  return frame;
}

absl::StatusOr<bool> TraceReader::SkipDamage(const Look& look) {
  std::optional<uint64_t> next;
  if (look.framing_sound) {
    // Only the packet is damaged if another head, or the file's end, stands where the frame ends. Then its inside is
    // not searched: a payload may hold the bytes of a frame.
    const uint64_t end = look.damage.offset_bytes + look.head.frame_bytes();
    if (end >= size_bytes()) {
      next = size_bytes();
    } else {
      absl::StatusOr<Look> after = LookAt(end);
      if (!after.ok()) return after.status();
      if (after->ok || after->framing_sound || after->damage.kind == DamageKind::kCutTail) next = end;
    }
  }
  if (!next.has_value()) {
    absl::StatusOr<uint64_t> found = FindFrame(look.damage.offset_bytes + 1);
    if (!found.ok()) return found.status();
    next = *found;
  }
  Damage damage = look.damage;
  damage.length_bytes = *next - damage.offset_bytes;
  if (damage.kind == DamageKind::kCutTail && *next < size_bytes()) {
    // Not the tail: a head whose length, though consistent, is not the one that was written.
    damage.kind = DamageKind::kBadFraming;
    damage.expected = 0;
    damage.got = look.first_bytes;
  }
  Record(damage);
  offset_bytes_ = *next;
  return *next < size_bytes();
}

absl::StatusOr<uint64_t> TraceReader::FindFrame(uint64_t from) {
  const uint64_t searched_before_bytes = searched_bytes_;
  // The first place whose magic was not looked at yet.
  uint64_t next_magic = from;
  while (true) {
    const uint64_t base = std::max(from, next_magic - std::min(next_magic, kMaxBytesBeforeMagic));
    absl::StatusOr<absl::string_view> bytes = window_.ViewAtLeast(base, 2 * kMaxFrameHeadBytes);
    if (!bytes.ok()) return bytes.status();
    const bool reaches_end = base + bytes->size() >= size_bytes();
    const size_t magic = FindMagic(*bytes, static_cast<size_t>(next_magic - base));
    searched_bytes_ = searched_before_bytes + (next_magic - from);
    if (magic == std::string::npos) {
      if (reaches_end) return size_bytes();
      // The magic may begin in the last bytes.
      next_magic = std::max(next_magic, base + bytes->size() - (kFrameMagicBytes.size() - 1));
      next_magic = window_.NextData(next_magic);
      continue;
    }
    if (magic + kMaxFrameHeadBytes > bytes->size() && !reaches_end) {
      // Its head may end beyond the view: look again from here.
      next_magic = base + magic;
      continue;
    }
    next_magic = base + magic + 1;
    const std::optional<size_t> start = FrameStartBeforeMagic(*bytes, magic, 0);
    if (!start.has_value()) continue;
    FrameHead head;
    if (ParseFrameHead(bytes->substr(*start, kMaxFrameHeadBytes), &head) != HeadState::kSound) continue;
    if (head.frame_bytes() > size_bytes() - (base + *start)) continue;
    const uint64_t allowed_bytes =
        SaturatingAdd(kFreeCheckBytes, kCheckBytesPerSearchedByte * std::min(searched_bytes_, uint64_t{1} << 59));
    if (SaturatingAdd(checked_bytes_, head.frame_bytes()) > allowed_bytes) continue;
    checked_bytes_ += head.frame_bytes();
    absl::StatusOr<Look> look = LookAt(base + *start);
    if (!look.ok()) return look.status();
    if (look->ok) return base + *start;
  }
}

void TraceReader::Record(const Damage& damage) {
  ++damage_count_;
  if (damage.kind == DamageKind::kSequenceGap) ++sequence_gap_count_;
  damaged_bytes_ = SaturatingAdd(damaged_bytes_, damage.length_bytes);
  if (damages_.size() < kMaxDamages) damages_.push_back(damage);
  if (damage_callback_) damage_callback_(damage);
}

void TraceReader::set_damage_callback(std::function<void(const Damage&)> callback) {
  damage_callback_ = std::move(callback);
  if (!damage_callback_) return;
  for (const Damage& damage : damages_) damage_callback_(damage);
}

void TraceReader::CheckSequence(uint64_t sequence) {
  if (sequence != next_sequence_) {
    Damage damage;
    damage.offset_bytes = offset_bytes_;
    damage.kind = DamageKind::kSequenceGap;
    damage.expected = next_sequence_;
    damage.got = sequence;
    Record(damage);
    if (sequence > next_sequence_) missing_frames_ = SaturatingAdd(missing_frames_, sequence - next_sequence_);
  }
  next_sequence_ = SaturatingAdd(sequence, 1);
}

}  // namespace gx::analysis
