#include "analysis/frame_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "gpuexec/v1/trace.pb.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::analysis {
namespace {

using ::gx::testing::MinimalFrameBytes;
using ::gx::testing::PacketFromText;
using ::testing::Eq;
using ::testing::Optional;

TEST(MakeFrame, WritesTheSpecifiedBytes) {
  const std::string frame = MakeFrame("\x08\x07");
  const uint64_t checksum = PacketChecksum("\x08\x07");
  std::string expected("\x0A\x96\x80\x80\x80\x00\x0DGXF1\x11", 12);  // 0x16 = 22 = 15 + 5 + 2
  for (int shift = 0; shift < 64; shift += 8) expected.push_back(static_cast<char>(checksum >> shift & 0xFF));
  expected += std::string("\x1A\x82\x80\x80\x80\x00\x08\x07", 8);
  EXPECT_EQ(frame, expected);
  EXPECT_EQ(frame.size(), kMaxFrameHeadBytes + 2);
}

TEST(MakeFrame, FramesOneAfterAnotherAreAProtobufTrace) {
  const std::string bytes = MakeFrame(PacketFromText("sequence: 1").SerializeAsString()) +
                            MakeFrame(PacketFromText("sequence: 2").SerializeAsString());
  gpuexec::v1::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(bytes));
  ASSERT_EQ(trace.frame_size(), 2);
  EXPECT_EQ(trace.frame(0).magic(), 0x31465847u);
  EXPECT_EQ(trace.frame(1).packet().sequence(), 2u);
  EXPECT_EQ(trace.frame(1).checksum(), PacketChecksum(trace.frame(1).packet().SerializeAsString()));
}

// XXH3-64 with seed 0 of no bytes, as the reference implementation's own test states it.
TEST(PacketChecksum, IsXxh3WithSeedZero) { EXPECT_EQ(PacketChecksum(""), 0x2D06800538D394C2u); }

TEST(ParseFrameHead, ReadsPaddedAndMinimalLengths) {
  FrameHead head;
  ASSERT_EQ(ParseFrameHead(MakeFrame("abc"), &head), HeadState::kSound);
  EXPECT_EQ(head.head_bytes, kMaxFrameHeadBytes);
  EXPECT_EQ(head.packet_bytes, 3u);
  EXPECT_EQ(head.frame_bytes(), 29u);
  EXPECT_EQ(head.checksum, PacketChecksum("abc"));

  const std::string minimal = MinimalFrameBytes(PacketFromText("sequence: 7"));
  ASSERT_EQ(ParseFrameHead(minimal, &head), HeadState::kSound);
  EXPECT_EQ(head.head_bytes, kMinFrameHeadBytes);
  EXPECT_EQ(head.frame_bytes(), minimal.size());
}

TEST(ParseFrameHead, CutAnywhereIsCutAndNotBad) {
  for (const std::string& frame : {MakeFrame("abc"), MinimalFrameBytes(PacketFromText("sequence: 7"))}) {
    FrameHead head;
    ASSERT_EQ(ParseFrameHead(frame, &head), HeadState::kSound);
    const size_t head_bytes = head.head_bytes;
    for (size_t size = 0; size < head_bytes; ++size) {
      EXPECT_EQ(ParseFrameHead(absl::string_view(frame).substr(0, size), &head), HeadState::kCut) << size;
    }
  }
}

TEST(ParseFrameHead, AnyFlippedBitOutsideTheChecksumIsBad) {
  const std::string frame = MakeFrame("abc");
  for (size_t bit = 0; bit < 8 * kMaxFrameHeadBytes; ++bit) {
    const size_t byte = bit / 8;
    if (byte >= 12 && byte < 20) continue;  // The checksum is compared with the packet, not here.
    std::string flipped = frame;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit % 8));
    FrameHead head;
    EXPECT_EQ(ParseFrameHead(flipped, &head), HeadState::kBad) << "bit " << bit;
  }
}

// A head that claims `packet_bytes`, with nothing behind it.
std::string HeadOf(uint64_t packet_bytes) {
  std::string head = MakeFrame("");
  const auto put = [&head](size_t at, uint64_t length) {
    for (size_t i = 0; i < 5; ++i) head[at + i] = static_cast<char>((length >> (7 * i) & 0x7F) | (i < 4 ? 0x80 : 0));
  };
  put(1, 20 + packet_bytes);
  put(21, packet_bytes);
  return head;
}

TEST(ParseFrameHead, APacketOverTheLimitIsTooLarge) {
  FrameHead head;
  EXPECT_EQ(ParseFrameHead(HeadOf(kMaxPacketBytes), &head), HeadState::kSound);
  EXPECT_EQ(ParseFrameHead(HeadOf(kMaxPacketBytes + 1), &head), HeadState::kTooLarge);
  EXPECT_EQ(head.packet_bytes, kMaxPacketBytes + 1);
  EXPECT_EQ(ParseFrameHead(HeadOf((uint64_t{1} << 35) - 21), &head), HeadState::kTooLarge);
}

TEST(FindMagic, FindsTheFirstFromAPlaceOn) {
  EXPECT_EQ(FindMagic("..GXF1.GXF1", 0), 2u);
  EXPECT_EQ(FindMagic("..GXF1.GXF1", 3), 7u);
  EXPECT_EQ(FindMagic("..GXF1.GXF1", 8), std::string::npos);
  EXPECT_EQ(FindMagic("GXF", 0), std::string::npos);
  EXPECT_EQ(FindMagic("", 5), std::string::npos);
}

TEST(FrameStartBeforeMagic, FindsTheStartWhateverTheLengthOfTheLength) {
  const std::string padded = "garbage" + MakeFrame("abc");
  EXPECT_THAT(FrameStartBeforeMagic(padded, FindMagic(padded, 0), 0), Optional(Eq(7u)));
  const std::string minimal = "\x0A\x0A" + MinimalFrameBytes(PacketFromText("sequence: 7"));
  EXPECT_THAT(FrameStartBeforeMagic(minimal, FindMagic(minimal, 0), 0), Optional(Eq(2u)));
}

TEST(FrameStartBeforeMagic, AMagicWithoutAHeadIsNoFrame) {
  EXPECT_EQ(FrameStartBeforeMagic("the letters GXF1 in a text of some length", 12, 0), std::nullopt);
  EXPECT_EQ(FrameStartBeforeMagic("GXF1", 0, 0), std::nullopt);
  const std::string frame = MakeFrame("abc");
  EXPECT_EQ(FrameStartBeforeMagic(frame, FindMagic(frame, 0), 1), std::nullopt) << "starts before the allowed place";
}

TEST(CountFields, CountsTopLevelFieldsOnly) {
  const auto packet = PacketFromText("sequence: 3 name { iid: 1 value: 'a' } name { iid: 2 value: 'b' }");
  EXPECT_THAT(CountFields(packet.SerializeAsString(), 100), Optional(Eq(3u)));
  EXPECT_THAT(CountFields("", 100), Optional(Eq(0u)));
}

TEST(CountFields, StopsOneBeyondTheLimit) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += std::string("\x22\x00", 2);
  EXPECT_THAT(CountFields(many, 10), Optional(Eq(11u)));
}

TEST(CountFields, RefusesWhatIsNoMessage) {
  EXPECT_EQ(CountFields("\x22\x05"
                        "ab",
                        100),
            std::nullopt)
      << "length beyond the end";
  EXPECT_EQ(CountFields("\x08", 100), std::nullopt) << "value missing";
  EXPECT_EQ(CountFields("\x0B", 100), std::nullopt) << "group";
  EXPECT_EQ(CountFields(absl::string_view("\x00\x00", 2), 100), std::nullopt) << "field 0";
  EXPECT_EQ(CountFields("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 100), std::nullopt) << "length of 2^64 - 1";
  EXPECT_EQ(CountFields("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 100), std::nullopt) << "varint over 64 bits";
}

}  // namespace
}  // namespace gx::analysis
