#include "analysis/frame_walk.h"

#include <xxhash.h>  // Compiled in: the target defines XXH_INLINE_ALL.

#include <algorithm>

namespace gx::analysis {
namespace {

constexpr unsigned char kFrameTag = 0x0A;     // Trace.frame, length-delimited.
constexpr unsigned char kMagicTag = 0x0D;     // Frame.magic, fixed32.
constexpr unsigned char kChecksumTag = 0x11;  // Frame.checksum, fixed64.
constexpr unsigned char kPacketTag = 0x1A;    // Frame.packet, length-delimited.
// Tag and value of magic and checksum, and the packet's tag.
constexpr size_t kFixedMiddleBytes = 5 + 9 + 1;

enum class Step { kOk, kCut, kBad };

unsigned char Byte(absl::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

Step TakeByte(absl::string_view bytes, size_t* at, unsigned char expected) {
  if (*at >= bytes.size()) return Step::kCut;
  if (Byte(bytes, *at) != expected) return Step::kBad;
  ++*at;
  return Step::kOk;
}

Step TakeVarint(absl::string_view bytes, size_t* at, size_t max_bytes, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < max_bytes; ++i) {
    if (*at >= bytes.size()) return Step::kCut;
    const unsigned char byte = Byte(bytes, (*at)++);
    // The tenth byte of a varint holds one bit.
    if (i == 9 && byte > 1) return Step::kBad;
    *value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) return Step::kOk;
  }
  return Step::kBad;
}

Step TakeFixed(absl::string_view bytes, size_t* at, size_t size, uint64_t* value) {
  if (bytes.size() - *at < size) {
    *at = bytes.size();
    return Step::kCut;
  }
  *value = 0;
  for (size_t i = 0; i < size; ++i) *value |= static_cast<uint64_t>(Byte(bytes, *at + i)) << (8 * i);
  *at += size;
  return Step::kOk;
}

Step TakeMagic(absl::string_view bytes, size_t* at) {
  const size_t present = std::min(kFrameMagicBytes.size(), bytes.size() - *at);
  if (bytes.substr(*at, present) != kFrameMagicBytes.substr(0, present)) return Step::kBad;
  *at += present;
  return present == kFrameMagicBytes.size() ? Step::kOk : Step::kCut;
}

void AppendPaddedLength(uint64_t length, std::string* out) {
  for (size_t i = 0; i + 1 < kMaxLengthVarintBytes; ++i) {
    out->push_back(static_cast<char>((length >> (7 * i) & 0x7F) | 0x80));
  }
  out->push_back(static_cast<char>(length >> (7 * (kMaxLengthVarintBytes - 1)) & 0x7F));
}

Step WalkHead(absl::string_view bytes, FrameHead* head, uint64_t* frame_length, size_t* frame_length_end) {
  size_t at = 0;
  Step step = TakeByte(bytes, &at, kFrameTag);
  if (step != Step::kOk) return step;
  step = TakeVarint(bytes, &at, kMaxLengthVarintBytes, frame_length);
  if (step != Step::kOk) return step;
  *frame_length_end = at;
  step = TakeByte(bytes, &at, kMagicTag);
  if (step != Step::kOk) return step;
  step = TakeMagic(bytes, &at);
  if (step != Step::kOk) return step;
  step = TakeByte(bytes, &at, kChecksumTag);
  if (step != Step::kOk) return step;
  step = TakeFixed(bytes, &at, 8, &head->checksum);
  if (step != Step::kOk) return step;
  step = TakeByte(bytes, &at, kPacketTag);
  if (step != Step::kOk) return step;
  step = TakeVarint(bytes, &at, kMaxLengthVarintBytes, &head->packet_bytes);
  head->head_bytes = at;
  return step;
}

// Skips one field of a message. kCut stands for any bytes that end too early.
Step SkipField(absl::string_view message, size_t* at) {
  uint64_t tag = 0;
  Step step = TakeVarint(message, at, 10, &tag);
  if (step != Step::kOk) return step;
  if (tag >> 3 == 0 || tag > 0xFFFFFFFF) return Step::kBad;
  uint64_t value = 0;
  switch (tag & 7) {
    case 0:
      return TakeVarint(message, at, 10, &value);
    case 1:
      return TakeFixed(message, at, 8, &value);
    case 2:
      step = TakeVarint(message, at, 10, &value);
      if (step != Step::kOk) return step;
      if (value > message.size() - *at) return Step::kCut;
      *at += static_cast<size_t>(value);
      return Step::kOk;
    case 5:
      return TakeFixed(message, at, 4, &value);
    default:
      // Groups: proto3 has none, and no version of this format will.
      return Step::kBad;
  }
}

}  // namespace

HeadState ParseFrameHead(absl::string_view bytes, FrameHead* head) {
  *head = FrameHead();
  uint64_t frame_length = 0;
  size_t frame_length_end = 0;
  switch (WalkHead(bytes, head, &frame_length, &frame_length_end)) {
    case Step::kCut:
      return HeadState::kCut;
    case Step::kBad:
      return HeadState::kBad;
    case Step::kOk:
      break;
  }
  // Both lengths are below 2^35: nothing overflows.
  if (frame_length != head->head_bytes - frame_length_end + head->packet_bytes) return HeadState::kBad;
  return head->packet_bytes > kMaxPacketBytes ? HeadState::kTooLarge : HeadState::kSound;
}

uint64_t PacketChecksum(absl::string_view packet) { return XXH3_64bits(packet.data(), packet.size()); }

size_t FindMagic(absl::string_view bytes, size_t from) {
  const size_t at = bytes.find(kFrameMagicBytes, from);
  return at == absl::string_view::npos ? std::string::npos : at;
}

std::optional<size_t> FrameStartBeforeMagic(absl::string_view bytes, size_t magic_offset, size_t from) {
  for (size_t length_bytes = 1; length_bytes <= kMaxLengthVarintBytes; ++length_bytes) {
    // Frame tag, its length, the magic's tag.
    const size_t before_bytes = 1 + length_bytes + 1;
    if (magic_offset < before_bytes || magic_offset - before_bytes < from) break;
    const size_t start = magic_offset - before_bytes;
    FrameHead head;
    if (ParseFrameHead(bytes.substr(start, kMaxFrameHeadBytes), &head) == HeadState::kSound) return start;
  }
  return std::nullopt;
}

std::string MakeFrame(absl::string_view packet) {
  std::string frame;
  frame.reserve(kMaxFrameHeadBytes + packet.size());
  frame.push_back(static_cast<char>(kFrameTag));
  AppendPaddedLength(kFixedMiddleBytes + kMaxLengthVarintBytes + packet.size(), &frame);
  frame.push_back(static_cast<char>(kMagicTag));
  frame.append(kFrameMagicBytes.data(), kFrameMagicBytes.size());
  frame.push_back(static_cast<char>(kChecksumTag));
  const uint64_t checksum = PacketChecksum(packet);
  for (int shift = 0; shift < 64; shift += 8) frame.push_back(static_cast<char>(checksum >> shift & 0xFF));
  frame.push_back(static_cast<char>(kPacketTag));
  AppendPaddedLength(packet.size(), &frame);
  frame.append(packet.data(), packet.size());
  return frame;
}

std::optional<uint64_t> CountFields(absl::string_view message, uint64_t limit) {
  uint64_t count = 0;
  size_t at = 0;
  while (at < message.size() && count <= limit) {
    if (SkipField(message, &at) != Step::kOk) return std::nullopt;
    ++count;
  }
  return count;
}

}  // namespace gx::analysis
