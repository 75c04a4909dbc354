// A file with one message -> the message: textproto, protobuf JSON or binary, with bounded memory whatever the file
// holds. Any thread.
//
// The form is that of the name's extension (.textproto .txtpb .pbtxt; .json; .pb .binpb), else that of the contents: a
// brace first means JSON, control bytes mean binary.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_MESSAGE_FILE_H_
#define GPUEXEC_ANALYSIS_MANIFEST_MESSAGE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace gx::analysis {

// A manifest takes some KiB, an observation 8 to 25 bytes a sample.
inline constexpr size_t kMaxMessageFileBytes = 16 << 20;
// Messages and strings in one file. An empty one takes 2 bytes there and a hundred times that in memory.
inline constexpr size_t kMaxMessageElements = 20000;

// Fills an empty `message`. Errors: "FILE: what" or "FILE:line:column: expected ..., got ...", printable.
absl::Status ReadMessageFile(const std::string& path, google::protobuf::Message* message);

// The same of bytes; `name` stands for the file.
absl::Status ParseMessageBytes(absl::string_view name, absl::string_view bytes, google::protobuf::Message* message);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_MESSAGE_FILE_H_
