// Protobuf JSON -> message, with the line and column of what is wrong, which protobuf's own reader of version 3.21 does
// not say. Pure; any thread.
//
// Takes what the proto3 JSON mapping allows for the field types that gpuexec's manifests have: messages, repeated
// fields, strings, bools, integers (as numbers or in quotes), doubles (also "NaN", "Infinity"), enums by name or
// number, null for unset; field names as in the .proto file or in lowerCamelCase. Refuses unknown fields, fields given
// twice, text after the end, and (unlike protobuf's reader) anything that is not strict JSON.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_JSON_MESSAGE_H_
#define GPUEXEC_ANALYSIS_MANIFEST_JSON_MESSAGE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace gx::analysis {

// Fills an empty `message`; on an error it holds what came before. At most max_elements messages and strings are made.
// Errors: "line:column: expected ..., got ...", printable.
absl::Status ParseJsonMessage(absl::string_view text, size_t max_elements, google::protobuf::Message* message);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_JSON_MESSAGE_H_
