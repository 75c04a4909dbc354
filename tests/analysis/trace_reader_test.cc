#include "analysis/trace_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/frame_walk.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::analysis {
namespace {

using ::gpuexec::v1::Packet;
using ::gx::testing::EqualsProto;
using ::gx::testing::FrameBytes;
using ::gx::testing::IsOkAndHolds;
using ::gx::testing::MinimalFrameBytes;
using ::gx::testing::Numbered;
using ::gx::testing::PacketFromText;
using ::gx::testing::StatusIs;
using ::gx::testing::TempDir;
using ::gx::testing::TraceBytes;
using ::gx::testing::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// What a reader made of a file.
struct Reading {
  absl::Status open_status;
  std::vector<uint64_t> sequences;
  std::vector<Damage> damages;
  uint64_t damage_count = 0;
  uint64_t damaged_bytes = 0;
  uint64_t frame_bytes = 0;
  uint64_t missing_frames = 0;

  std::vector<DamageKind> Kinds() const {
    std::vector<DamageKind> kinds;
    for (const Damage& damage : damages) kinds.push_back(damage.kind);
    return kinds;
  }
};

Reading ReadPath(const std::string& path) {
  Reading reading;
  absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
  reading.open_status = reader.status();
  if (!reader.ok()) return reading;
  Packet packet;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&packet);
    if (!more.ok()) {
      ADD_FAILURE() << more.status().ToString();
      break;
    }
    if (!*more) break;
    reading.sequences.push_back(packet.sequence());
    reading.frame_bytes += (*reader)->frame_size_bytes();
  }
  EXPECT_EQ((*reader)->frames_read(), reading.sequences.size());
  EXPECT_EQ((*reader)->offset_bytes(), (*reader)->size_bytes());
  reading.damages = (*reader)->damages();
  reading.damage_count = (*reader)->damage_count();
  reading.damaged_bytes = (*reader)->damaged_bytes();
  reading.missing_frames = (*reader)->missing_frames();
  return reading;
}

class TraceReaderTest : public ::testing::Test {
 protected:
  Reading Read(const std::string& bytes) {
    EXPECT_TRUE(WriteFile(dir_.File("t.pb"), bytes));
    Reading reading = ReadPath(dir_.File("t.pb"));
    // Every byte is either in a frame that was read or in a span that was recorded.
    if (reading.open_status.ok()) {
      EXPECT_EQ(reading.frame_bytes + reading.damaged_bytes, bytes.size());
    }
    return reading;
  }

  const TempDir dir_;
};

std::vector<Packet> SmallPackets() {
  return Numbered({PacketFromText("header { format_major: 1 command_line: 'a.out' }"),
                   PacketFromText("name { iid: 1 value: 'axpy' } kernel_batch { count: 2 timing: TIMING_COMPLETE "
                                  "start_unit_ns: 1 start_delta: [1, 2] duration_unit_ns: 1 duration_delta: [5, 0] }"),
                   PacketFromText("stats { counter { id: STAT_LAUNCHES_SEEN value: 2 } }"),
                   PacketFromText("trailer { reason: REASON_EXIT }")});
}

TEST_F(TraceReaderTest, ReadsEveryPacketAsItWasWritten) {
  const std::vector<Packet> packets = SmallPackets();
  const std::string bytes = TraceBytes(packets);
  ASSERT_TRUE(WriteFile(dir_.File("t.pb"), bytes));
  GX_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<TraceReader> reader, TraceReader::Open(dir_.File("t.pb")));
  EXPECT_EQ(reader->size_bytes(), bytes.size());
  uint64_t offset = 0;
  for (const Packet& expected : packets) {
    Packet packet;
    ASSERT_THAT(reader->Next(&packet), IsOkAndHolds(true));
    EXPECT_THAT(packet, EqualsProto(expected));
    EXPECT_EQ(reader->frame_offset_bytes(), offset);
    EXPECT_THAT(reader->FrameBytes(), IsOkAndHolds(absl::string_view(FrameBytes(expected))));
    offset += reader->frame_size_bytes();
    EXPECT_EQ(reader->offset_bytes(), offset);
  }
  Packet packet = packets[0];
  EXPECT_THAT(reader->Next(&packet), IsOkAndHolds(false));
  EXPECT_THAT(reader->Next(&packet), IsOkAndHolds(false)) << "the end stays the end";
  EXPECT_THAT(packet, EqualsProto("")) << "nothing of the last packet is left";
  EXPECT_EQ(reader->frames_read(), 4u);
  EXPECT_EQ(reader->damage_count(), 0u);
  EXPECT_EQ(reader->missing_frames(), 0u);
}

TEST_F(TraceReaderTest, ReadsATraceThatAProtobufLibraryWrote) {
  std::string bytes;
  for (const Packet& packet : SmallPackets()) bytes += MinimalFrameBytes(packet);
  gpuexec::v1::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(bytes));
  const Reading reading = Read(bytes);
  EXPECT_THAT(reading.sequences, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(reading.damage_count, 0u);
}

TEST_F(TraceReaderTest, CutAtEveryByteReadsTheWholeFramesBefore) {
  const std::vector<Packet> packets = SmallPackets();
  const std::string bytes = TraceBytes(packets);
  std::vector<size_t> ends;
  for (size_t i = 0; i < packets.size(); ++i) {
    ends.push_back((i == 0 ? 0 : ends.back()) + FrameBytes(packets[i]).size());
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const Reading reading = Read(bytes.substr(0, size));
    const auto whole =
        static_cast<size_t>(std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= size; }));
    if (size == 0) {
      EXPECT_THAT(reading.open_status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("empty file")));
    } else if (whole == 0) {
      EXPECT_THAT(reading.open_status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
    } else {
      EXPECT_THAT(reading.open_status, ::gx::testing::IsOk());
      EXPECT_THAT(reading.sequences, SizeIs(whole));
      if (size == ends[whole - 1]) {
        EXPECT_THAT(reading.damages, IsEmpty()) << "cut between frames";
      } else {
        ASSERT_THAT(reading.Kinds(), ElementsAre(DamageKind::kCutTail));
        EXPECT_EQ(reading.damages[0].offset_bytes, ends[whole - 1]);
        EXPECT_EQ(reading.damages[0].length_bytes, size - ends[whole - 1]);
        EXPECT_EQ(reading.damages[0].got, size - ends[whole - 1]);
      }
    }
  }
}

TEST_F(TraceReaderTest, AnyFlippedBitCostsItsOwnFrameOnly) {
  for (const bool minimal : {false, true}) {
    std::vector<size_t> frame_of_byte;
    std::string bytes;
    const std::vector<Packet> packets = SmallPackets();
    for (const Packet& packet : packets) {
      bytes += minimal ? MinimalFrameBytes(packet) : FrameBytes(packet);
      frame_of_byte.resize(bytes.size(), packet.sequence());
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      SCOPED_TRACE(absl::StrCat(minimal ? "minimal, " : "padded, ", "bit ", bit));
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      const Reading reading = Read(flipped);
      ASSERT_THAT(reading.open_status, ::gx::testing::IsOk());
      std::vector<uint64_t> expected;
      for (uint64_t i = 0; i < packets.size(); ++i) {
        if (i != frame_of_byte[bit / 8]) expected.push_back(i);
      }
      ASSERT_EQ(reading.sequences, expected);
      // The damage, and the gap that it leaves unless the frame was the last one.
      const bool last = frame_of_byte[bit / 8] + 1 == packets.size();
      ASSERT_THAT(reading.damages, SizeIs(last ? 1 : 2));
      EXPECT_THAT(reading.damages[0].kind, Not(DamageKind::kSequenceGap));
      EXPECT_EQ(reading.missing_frames, last ? 0u : 1u);
    }
  }
}

TEST_F(TraceReaderTest, ADamagedPacketIsRecordedWithBothChecksums) {
  const std::vector<Packet> packets = SmallPackets();
  std::string bytes = TraceBytes(packets);
  const size_t first = FrameBytes(packets[0]).size();
  const size_t second = FrameBytes(packets[1]).size();
  bytes[first + kMaxFrameHeadBytes] ^= 1;
  const Reading reading = Read(bytes);
  ASSERT_THAT(reading.Kinds(), ElementsAre(DamageKind::kBadChecksum, DamageKind::kSequenceGap));
  EXPECT_EQ(reading.damages[0].offset_bytes, first);
  EXPECT_EQ(reading.damages[0].length_bytes, second);
  EXPECT_EQ(reading.damages[0].expected, PacketChecksum(packets[1].SerializeAsString()));
  EXPECT_EQ(reading.damages[0].got,
            PacketChecksum(bytes.substr(first + kMaxFrameHeadBytes, second - kMaxFrameHeadBytes)));
  EXPECT_EQ(reading.damages[1].offset_bytes, first + second);
  EXPECT_EQ(reading.damages[1].expected, 1u);
  EXPECT_EQ(reading.damages[1].got, 2u);
}

TEST_F(TraceReaderTest, InsertedGarbageIsSkippedWhereverItIs) {
  const std::vector<Packet> packets = SmallPackets();
  std::mt19937 random(2);
  for (const size_t length : {size_t{1}, size_t{3}, size_t{25}, size_t{4096}, 3 * FileWindow::kChunkBytes}) {
    std::string garbage(length, '\0');
    std::generate(garbage.begin(), garbage.end(), [&random] { return static_cast<char>(random()); });
    for (size_t place = 0; place <= packets.size(); ++place) {
      SCOPED_TRACE(absl::StrCat(length, " bytes before frame ", place));
      std::string bytes;
      size_t offset = 0;
      for (size_t i = 0; i <= packets.size(); ++i) {
        if (i == place) {
          offset = bytes.size();
          bytes += garbage;
        }
        if (i < packets.size()) bytes += FrameBytes(packets[i]);
      }
      const Reading reading = Read(bytes);
      EXPECT_THAT(reading.sequences, ElementsAre(0, 1, 2, 3));
      ASSERT_THAT(reading.damages, SizeIs(1));
      EXPECT_EQ(reading.damages[0].offset_bytes, offset);
      EXPECT_EQ(reading.damages[0].length_bytes, length);
      EXPECT_EQ(reading.missing_frames, 0u);
    }
  }
}

TEST_F(TraceReaderTest, AFrameThatIsCutInTheMiddleOfTheFileIsSkipped) {
  const std::vector<Packet> packets = SmallPackets();
  const std::string second = FrameBytes(packets[1]);
  for (size_t kept = 1; kept < second.size(); ++kept) {
    const Reading reading =
        Read(FrameBytes(packets[0]) + second.substr(0, kept) + FrameBytes(packets[2]) + FrameBytes(packets[3]));
    ASSERT_THAT(reading.sequences, ElementsAre(0, 2, 3)) << kept;
    ASSERT_THAT(reading.damages, SizeIs(2)) << kept;
    EXPECT_EQ(reading.damages[0].length_bytes, kept);
    EXPECT_NE(reading.damages[0].kind, DamageKind::kCutTail) << "not the tail";
  }
}

TEST_F(TraceReaderTest, RandomBytesNeverCrashAndAreNoTrace) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(1 + random() % 2000, '\0');
    std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
    EXPECT_THAT(Read(bytes).open_status, Not(::gx::testing::IsOk()));
  }
}

TEST_F(TraceReaderTest, RandomlyDamagedTracesAccountForEveryByte) {
  std::mt19937 random(4);
  const std::string sound = TraceBytes(SmallPackets());
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = sound + sound;
    for (auto edits = 1 + random() % 6; edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 40);
          break;
        default:
          bytes.insert(at, sound.substr(random() % sound.size(), random() % 60));
          break;
      }
      if (bytes.empty()) bytes.push_back('x');
    }
    Read(bytes);  // Read() holds the expectation.
  }
}

TEST_F(TraceReaderTest, AFrameInsideAPayloadIsNotAFrame) {
  Packet trap = PacketFromText("sequence: 1 name { iid: 1 }");
  trap.mutable_name(0)->set_value(FrameBytes(PacketFromText("sequence: 99")) + "GXF1GXF1");
  std::vector<Packet> packets = {PacketFromText("sequence: 0"), trap, PacketFromText("sequence: 2")};
  std::string bytes = TraceBytes(packets);
  EXPECT_THAT(Read(bytes).sequences, ElementsAre(0, 1, 2));

  // Nor where the frame around it is damaged, as long as its own head is sound.
  bytes[FrameBytes(packets[0]).size() + kMaxFrameHeadBytes] ^= 1;
  EXPECT_THAT(Read(bytes).sequences, ElementsAre(0, 2));
  EXPECT_THAT(Read(bytes.substr(0, bytes.size() - FrameBytes(packets[2]).size())).sequences, ElementsAre(0))
      << "at the end of the file";
}

TEST_F(TraceReaderTest, MissingFramesAreCountedFromSequenceNumbers) {
  const auto frame = [](uint64_t sequence) {
    Packet packet;
    packet.set_sequence(sequence);
    return FrameBytes(packet);
  };
  const Reading reading = Read(frame(2) + frame(3) + frame(10) + frame(4) + frame(5));
  EXPECT_THAT(reading.sequences, ElementsAre(2, 3, 10, 4, 5)) << "nothing readable is thrown away";
  EXPECT_EQ(reading.missing_frames, 2u + 6u);
  ASSERT_THAT(reading.Kinds(),
              ElementsAre(DamageKind::kSequenceGap, DamageKind::kSequenceGap, DamageKind::kSequenceGap));
  EXPECT_EQ(reading.damages[0].expected, 0u);
  EXPECT_EQ(reading.damages[0].got, 2u);
  EXPECT_EQ(reading.damages[2].expected, 11u);
  EXPECT_EQ(reading.damages[2].got, 4u);
  EXPECT_EQ(reading.damaged_bytes, 0u);

  EXPECT_EQ(Read(frame(0) + frame(~uint64_t{0}) + frame(0) + frame(~uint64_t{0})).missing_frames, ~uint64_t{0})
      << "saturates";
}

TEST_F(TraceReaderTest, APacketOverTheLimitIsDamage) {
  const std::string small = FrameBytes(PacketFromText("sequence: 0"));
  const std::string after = FrameBytes(PacketFromText("sequence: 1"));
  Packet big;
  big.add_name()->set_value(std::string(kMaxPacketBytes, 'n'));
  const Reading reading = Read(small + FrameBytes(big) + after);
  EXPECT_THAT(reading.sequences, ElementsAre(0, 1));
  ASSERT_THAT(reading.Kinds(), ElementsAre(DamageKind::kPacketTooLarge));
  EXPECT_EQ(reading.damages[0].expected, kMaxPacketBytes);
  EXPECT_EQ(reading.damages[0].got, big.ByteSizeLong());

  big.mutable_name(0)->mutable_value()->resize(kMaxPacketBytes - 20);
  EXPECT_THAT(Read(small + FrameBytes(big) + after).sequences, ElementsAre(0, 0, 1)) << "just below the limit";
}

TEST_F(TraceReaderTest, APacketThatIsNoPacketIsDamageOfItsOwnKind) {
  const std::string before = FrameBytes(PacketFromText("sequence: 0"));
  const std::string after = FrameBytes(PacketFromText("sequence: 1"));
  for (const std::string& packet :
       {std::string("\xff\xff\xff"), std::string("\x22\x02\x08"), std::string("\x22\x01\x08")}) {
    const Reading reading = Read(before + MakeFrame(packet) + after);
    EXPECT_THAT(reading.sequences, ElementsAre(0, 1));
    EXPECT_THAT(reading.Kinds(), ElementsAre(DamageKind::kPacketUnparsable));
  }
}

TEST_F(TraceReaderTest, APacketOfVeryManyTinyFieldsIsRefusedBeforeItIsParsed) {
  std::string packet;
  for (uint64_t i = 0; i <= TraceReader::kMaxPacketFields; ++i) packet += std::string("\x22\x00", 2);
  const Reading reading = Read(FrameBytes(PacketFromText("sequence: 0")) + MakeFrame(packet));
  EXPECT_THAT(reading.sequences, ElementsAre(0));
  ASSERT_THAT(reading.Kinds(), ElementsAre(DamageKind::kPacketUnparsable));
  EXPECT_EQ(reading.damages[0].expected, TraceReader::kMaxPacketFields);
  EXPECT_GT(reading.damages[0].got, TraceReader::kMaxPacketFields);
}

TEST_F(TraceReaderTest, TheListOfDamagesIsBoundedAndTheCountIsNot) {
  std::string bytes(1, 'x');
  const uint64_t count = TraceReader::kMaxDamages + 500;
  for (uint64_t i = 0; i < count; ++i) {
    Packet packet;
    packet.set_sequence(i);
    bytes += FrameBytes(packet) + "x";
  }
  ASSERT_TRUE(WriteFile(dir_.File("t.pb"), bytes));
  GX_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<TraceReader> reader, TraceReader::Open(dir_.File("t.pb")));
  uint64_t called = 0;
  reader->set_damage_callback([&called](const Damage& damage) { called += damage.length_bytes; });
  EXPECT_EQ(called, 1u) << "what Open found is told at once";
  Packet packet;
  while (reader->Next(&packet).value()) {
  }
  EXPECT_EQ(reader->frames_read(), count);
  EXPECT_THAT(reader->damages(), SizeIs(TraceReader::kMaxDamages));
  EXPECT_EQ(reader->damage_count(), count + 1);
  EXPECT_EQ(called, count + 1);
}

TEST_F(TraceReaderTest, FalseHeadsCostBoundedWork) {
  // Each of these heads claims a long packet that lies in the file: checking them all would hash 650 GiB.
  const auto claim = static_cast<size_t>(kMaxPacketBytes);
  std::string head = MakeFrame(std::string(claim, 'p')).substr(0, kMaxFrameHeadBytes);
  std::string bytes = FrameBytes(PacketFromText("sequence: 0")) + "x";
  while (bytes.size() < (size_t{1} << 20)) bytes += head;
  bytes += std::string(claim, 'q');
  const Reading reading = Read(bytes);
  EXPECT_THAT(reading.sequences, ElementsAre(0));
  EXPECT_THAT(reading.damages, SizeIs(1));
}

TEST_F(TraceReaderTest, WhatIsNoTraceIsRefusedInOneClearLine) {
  struct Case {
    std::string bytes;
    absl::StatusCode code;
    std::string says;
  };
  const std::string frame = FrameBytes(PacketFromText("sequence: 0 header { format_major: 1 }"));
  std::string damaged = frame;
  damaged.back() ^= 1;
  for (const Case& c :
       {Case{"", absl::StatusCode::kFailedPrecondition, "an empty file"},
        Case{"#!/usr/bin/env python3\n", absl::StatusCode::kFailedPrecondition, "not a gpuexec trace"},
        Case{"SQLite format 3", absl::StatusCode::kFailedPrecondition, "an SQLite database"},
        Case{"\x1f\x8b\x08", absl::StatusCode::kFailedPrecondition, "gzip"},
        Case{"\x0A", absl::StatusCode::kDataLoss, "truncated trace: 1 bytes"},
        Case{frame.substr(0, 20), absl::StatusCode::kDataLoss, "shorter than its first frame's head"},
        Case{frame.substr(0, 28), absl::StatusCode::kDataLoss, "shorter than its first frame (30 bytes)"},
        Case{damaged, absl::StatusCode::kDataLoss, "without one undamaged frame"}}) {
    const Reading reading = Read(c.bytes);
    EXPECT_THAT(reading.open_status, StatusIs(c.code, HasSubstr(c.says)));
    EXPECT_THAT(reading.open_status, StatusIs(c.code, HasSubstr("t.pb")));
    EXPECT_THAT(std::string(reading.open_status.message()), Not(HasSubstr("\n")));
  }
  EXPECT_THAT(ReadPath(dir_.File("missing")).open_status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadPath(dir_.path()).open_status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("directory")));
}

TEST_F(TraceReaderTest, FramesBehindAHoleOfFiveGigabytesAreReadInBoundedMemory) {
  const std::string path = dir_.File("sparse.pb");
  const std::vector<Packet> packets = SmallPackets();
  const std::string first = FrameBytes(packets[0]);
  const std::string rest = TraceBytes({packets[1], packets[2], packets[3]});
  const off_t far = off_t{5} * 1000 * 1000 * 1000 + 12345;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::pwrite(descriptor, first.data(), first.size(), 0), static_cast<ssize_t>(first.size()));
  ASSERT_EQ(::pwrite(descriptor, rest.data(), rest.size(), far), static_cast<ssize_t>(rest.size()));
  ::close(descriptor);

  struct rusage before = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  const Reading reading = ReadPath(path);
  struct rusage after = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_THAT(reading.sequences, ElementsAre(0, 1, 2, 3));
  ASSERT_THAT(reading.Kinds(), ElementsAre(DamageKind::kBadFraming));
  EXPECT_EQ(reading.damages[0].offset_bytes, first.size());
  EXPECT_EQ(reading.damages[0].length_bytes, static_cast<uint64_t>(far) - first.size());
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB more than before";
}

TEST(DamageText, SaysWhereWhatExpectedAndGotOnOneLine) {
  EXPECT_EQ(DamageText({4096, 312, DamageKind::kBadChecksum, 1, 0xabc}),
            "offset 4096, 312 bytes skipped: bad checksum: expected 0x0000000000000001, got 0x0000000000000abc");
  EXPECT_EQ(DamageText({1, 3, DamageKind::kBadFraming, 0, 0x030201}),
            "offset 1, 3 bytes skipped: bad framing: expected a frame head, got bytes 01 02 03");
  EXPECT_EQ(DamageText({5, 7, DamageKind::kCutTail, 100, 7}),
            "offset 5, 7 bytes skipped: cut tail: expected a frame of 100 bytes, got 7");
  EXPECT_EQ(DamageText({5, 7, DamageKind::kCutTail, 0, 7}),
            "offset 5, 7 bytes skipped: cut tail: the file ends inside a frame's head, after 7 bytes of it");
  EXPECT_EQ(DamageText({5, 7, DamageKind::kPacketTooLarge, 16, 17}),
            "offset 5, 7 bytes skipped: packet too large: expected at most 16 bytes, got 17");
  EXPECT_EQ(DamageText({5, 0, DamageKind::kSequenceGap, 3, 5}),
            "offset 5: sequence gap: expected frame 3, got frame 5 (2 missing)");
  EXPECT_EQ(
      DamageText({5, 0, DamageKind::kSequenceGap, 3, 0}),
      "offset 5: sequence gap: expected frame 3, got frame 0 (repeated, out of order, or another trace appended)");
}

}  // namespace
}  // namespace gx::analysis
