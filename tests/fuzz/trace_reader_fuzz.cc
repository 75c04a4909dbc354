// Any bytes as a trace file: the reader neither crashes nor loses a byte, and all that it says is printable.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/frame_walk.h"
#include "analysis/trace_dump.h"
#include "analysis/trace_reader.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gpuexec/v1/trace.pb.h"
#include "tests/fuzz/require.h"

namespace {

using gx::analysis::Damage;
using gx::analysis::DamageKind;
using gx::analysis::DumpFormat;
using gx::analysis::TraceReader;

void RequirePrintable(const std::string& text) {
  for (const char c : text) GX_FUZZ_REQUIRE(c == '\n' || (c >= ' ' && c < 0x7F));
}

void ReadAll(const std::string& path, uint64_t size_bytes) {
  absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
  if (!reader.ok()) {
    RequirePrintable(std::string(reader.status().message()));
    return;
  }
  gpuexec::v1::Packet packet;
  uint64_t frame_bytes = 0;
  uint64_t damaged_bytes = 0;
  uint64_t end_bytes = 0;
  (*reader)->set_damage_callback([&](const Damage& damage) {
    damaged_bytes += damage.length_bytes;
    GX_FUZZ_REQUIRE((damage.length_bytes == 0) == (damage.kind == DamageKind::kSequenceGap));
    // Spans come in order and do not overlap.
    GX_FUZZ_REQUIRE(damage.offset_bytes >= end_bytes);
    end_bytes = damage.offset_bytes + damage.length_bytes;
    RequirePrintable(DamageText(damage));
  });
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&packet);
    GX_FUZZ_REQUIRE(more.ok());
    if (!*more) break;
    GX_FUZZ_REQUIRE((*reader)->frame_offset_bytes() >= end_bytes);
    end_bytes = (*reader)->frame_offset_bytes() + (*reader)->frame_size_bytes();
    frame_bytes += (*reader)->frame_size_bytes();
    GX_FUZZ_REQUIRE((*reader)->FrameBytes().ok());
  }
  GX_FUZZ_REQUIRE((*reader)->offset_bytes() == size_bytes);
  GX_FUZZ_REQUIRE(damaged_bytes == (*reader)->damaged_bytes());
  GX_FUZZ_REQUIRE(frame_bytes + damaged_bytes == size_bytes);
}

void DumpAll(const std::string& path, absl::string_view bytes) {
  constexpr DumpFormat kFormats[] = {DumpFormat::kPackets, DumpFormat::kRaw, DumpFormat::kRecords, DumpFormat::kStats};
  for (size_t form = 0; form < std::size(kFormats); ++form) {
    if (!gx::fuzz::IsFormOf(bytes, form, std::size(kFormats))) continue;
    absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
    if (!reader.ok()) return;
    std::string text;
    google::protobuf::io::StringOutputStream output(&text);
    const auto result = gx::analysis::DumpTrace(**reader, {.format = kFormats[form]}, &output);
    GX_FUZZ_REQUIRE(result.ok() && result->written);
    RequirePrintable(text);
  }
}

void ReadAndDump(absl::string_view bytes) {
  // A file in memory that has a path.
  const int descriptor = ::memfd_create("trace_reader_fuzz", MFD_CLOEXEC);
  GX_FUZZ_REQUIRE(descriptor >= 0);
  GX_FUZZ_REQUIRE(::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = absl::StrCat("/proc/self/fd/", descriptor);
  ReadAll(path, bytes.size());
  DumpAll(path, bytes);
  ::close(descriptor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAndDump(bytes);
  // The same as a packet: a checksum that holds lets the bytes through to the parser and the printers.
  ReadAndDump(gx::analysis::MakeFrame(bytes));
  return 0;
}
