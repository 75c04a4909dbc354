// The frame's bytes, as pure functions over spans: parse a head, check a packet, find the next magic. No state, no
// allocation; any thread. proto/README.md is the specification:
//
//   0x0A, frame length as a varint | 0x0D, magic "GXF1" | 0x11, checksum fixed64 | 0x1A, packet length as a varint |
//   packet
//
// gpuexec pads both lengths to five bytes, so its heads take 26 bytes; shorter varints, as any protobuf library writes
// them, are accepted too.
#ifndef GPUEXEC_ANALYSIS_FRAME_WALK_H_
#define GPUEXEC_ANALYSIS_FRAME_WALK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::analysis {

// The four magic bytes in file order; 0x31465847 as a little-endian fixed32.
inline constexpr absl::string_view kFrameMagicBytes = "GXF1";
// Longest head, the one that gpuexec writes: both lengths padded to kMaxLengthVarintBytes.
inline constexpr size_t kMaxFrameHeadBytes = 26;
inline constexpr size_t kMaxLengthVarintBytes = 5;
// Shortest: both lengths in one byte.
inline constexpr size_t kMinFrameHeadBytes = 18;
// A packet is at most so long; see proto/README.md.
inline constexpr uint64_t kMaxPacketBytes = uint64_t{16} << 20;

struct FrameHead {
  size_t head_bytes = 0;
  uint64_t packet_bytes = 0;
  uint64_t checksum = 0;
  uint64_t frame_bytes() const { return head_bytes + packet_bytes; }
};

enum class HeadState {
  kSound,
  // Every byte present fits a head, and there are too few of them.
  kCut,
  // Not a head, or one whose two lengths disagree.
  kBad,
  // A sound head of a packet longer than kMaxPacketBytes (head->packet_bytes says how long).
  kTooLarge,
};

// Looks at the bytes of an expected frame start: at least kMaxFrameHeadBytes of them unless the file ends before.
HeadState ParseFrameHead(absl::string_view bytes, FrameHead* head);

// XXH3-64, seed 0: the frame's checksum field for these packet bytes.
uint64_t PacketChecksum(absl::string_view packet);

// Offset of the first magic at or after `from`, npos where there is none.
size_t FindMagic(absl::string_view bytes, size_t from);

// Offset in `bytes` of a sound head whose magic is at `magic_offset`, if there is one at or after `from`. `bytes` must
// reach kMaxFrameHeadBytes beyond the magic unless the file ends before.
std::optional<size_t> FrameStartBeforeMagic(absl::string_view bytes, size_t magic_offset, size_t from);

// A whole frame around the wire bytes of a packet, as gpuexec writes it (for tools and tests that make traces).
std::string MakeFrame(absl::string_view packet);

// Number of top-level fields in a message's wire bytes, counted until `limit` + 1. nullopt: not a valid message.
std::optional<uint64_t> CountFields(absl::string_view message, uint64_t limit);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_FRAME_WALK_H_
