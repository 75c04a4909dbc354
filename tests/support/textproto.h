// Messages from and to text in tests. A text that does not parse is a test failure that shows where. Any thread.
#ifndef GPUEXEC_TESTS_SUPPORT_TEXTPROTO_H_
#define GPUEXEC_TESTS_SUPPORT_TEXTPROTO_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::testing {

// Fills `message`; on a bad text adds a test failure and leaves what could be read.
bool ParseText(absl::string_view text, google::protobuf::Message* message);

template <typename Message>
Message FromText(absl::string_view text) {
  Message message;
  ParseText(text, &message);
  return message;
}

inline gpuexec::v1::Packet PacketFromText(absl::string_view text) { return FromText<gpuexec::v1::Packet>(text); }

// The form in which messages are compared and shown.
std::string ToText(const google::protobuf::Message& message);

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_TEXTPROTO_H_
