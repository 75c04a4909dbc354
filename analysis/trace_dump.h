// A trace as text for people, frame by frame, in bounded memory: what gx-dump prints. Used by one thread.
//
// Whatever is in the trace, the text holds no control bytes: bytes fields are escaped as in any text proto. Lines that
// start with "# " are comments to the text-proto reader: places of frames, damage, the count at the end.
#ifndef GPUEXEC_ANALYSIS_TRACE_DUMP_H_
#define GPUEXEC_ANALYSIS_TRACE_DUMP_H_

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "analysis/trace_reader.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace gx::analysis {

enum class DumpFormat {
  // packet { ... } with columns as lists in brackets.
  kPackets,
  // frame { magic checksum packet { ... } }: the whole as one gpuexec.v1.Trace, as protoc --decode prints it.
  kRaw,
  // One line a definition and a decoded record.
  kRecords,
  // No contents: what the file is made of, in counts and bytes.
  kStats,
};

struct DumpOptions {
  DumpFormat format = DumpFormat::kPackets;
  // Stops after so many frames.
  uint64_t frame_limit = std::numeric_limits<uint64_t>::max();
};

struct DumpResult {
  uint64_t frame_count = 0;
  // Damaged places and missing frames in the file, and (kRecords, kStats) batches that could not be decoded whole.
  uint64_t damage_count = 0;
  bool stopped_at_limit = false;
  // The output took everything.
  bool written = true;
};

// An error means that the file could not be read (I/O); damage is part of the text.
absl::StatusOr<DumpResult> DumpTrace(TraceReader& reader, const DumpOptions& options,
                                     google::protobuf::io::ZeroCopyOutputStream* output);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TRACE_DUMP_H_
