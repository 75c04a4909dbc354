#include "analysis/manifest/message_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/manifest/json_message.h"
#include "analysis/printable.h"
#include "analysis/text_table.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/wire_format_lite.h"

namespace gx::analysis {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

enum class Form { kText, kJson, kBinary };

Form FormOf(absl::string_view name, absl::string_view bytes) {
  for (const absl::string_view extension : {".textproto", ".txtpb", ".pbtxt"}) {
    if (absl::EndsWith(name, extension)) return Form::kText;
  }
  if (absl::EndsWith(name, ".json")) return Form::kJson;
  if (absl::EndsWith(name, ".pb") || absl::EndsWith(name, ".binpb")) return Form::kBinary;
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(bytes);
  if (absl::StartsWith(start, "{")) return Form::kJson;
  const bool control = std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && !absl::ascii_isspace(static_cast<unsigned char>(c));
  });
  return control ? Form::kBinary : Form::kText;
}

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(i) < 0x80) {
      ++i;
      continue;
    }
    const size_t length = byte(i) >= 0xF0 ? 4 : byte(i) >= 0xE0 ? 3 : 2;
    if (byte(i) < 0xC2 || byte(i) > 0xF4 || i + length > text.size()) return false;
    // The second byte rules out overlong forms, surrogates and what is beyond U+10FFFF.
    const unsigned min = byte(i) == 0xE0 ? 0xA0 : byte(i) == 0xF0 ? 0x90 : 0x80;
    const unsigned max = byte(i) == 0xED ? 0x9F : byte(i) == 0xF4 ? 0x8F : 0xBF;
    if (byte(i + 1) < min || byte(i + 1) > max) return false;
    for (size_t k = 2; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

absl::Status NotUtf8(const FieldDescriptor* field) {
  return absl::InvalidArgumentError(
      absl::StrCat(field->full_name(), ": expected text in UTF-8, got bytes that are none"));
}

absl::Status TooManyElements() {
  return absl::InvalidArgumentError(absl::StrCat("expected at most ", kMaxMessageElements, " messages and strings"));
}

// Every string of a parsed message. The messages of gpuexec are not recursive, so their depth is the schema's.
absl::Status CheckStrings(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  std::string scratch;
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        const std::string& text = field->is_repeated()
                                      ? reflection->GetRepeatedStringReference(message, field, i, &scratch)
                                      : reflection->GetStringReference(message, field, &scratch);
        if (!IsUtf8(text)) return NotUtf8(field);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const Message& child = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                    : reflection->GetMessage(message, field);
        if (absl::Status status = CheckStrings(child); !status.ok()) return status;
      } else {
        break;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status NotBinary(const Descriptor* type) {
  return absl::InvalidArgumentError(absl::StrCat("expected a binary ", type->full_name(), ", got bytes that are none"));
}

// Counts the messages and strings of a binary message before anything is made of them, and looks at its strings: about
// one that is no UTF-8 protobuf's parser would print a line.
absl::Status ScanBinary(const Descriptor* type, CodedInputStream* input, size_t* elements_left) {
  while (const uint32_t tag = input->ReadTag()) {
    const FieldDescriptor* field = type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool element =
        field != nullptr && delimited &&
        (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
    // A field of no name is kept as it is, which costs memory as well.
    if (element || field == nullptr) {
      if (*elements_left == 0) return TooManyElements();
      --*elements_left;
    }
    if (!element) {
      if (!WireFormatLite::SkipField(input, tag)) return NotBinary(type);
      continue;
    }
    uint32_t length = 0;
    if (!input->ReadVarint32(&length) || length > kMaxMessageFileBytes) return NotBinary(type);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      std::string text;
      if (!input->ReadString(&text, static_cast<int>(length))) return NotBinary(type);
      if (!IsUtf8(text)) return NotUtf8(field);
      continue;
    }
    const CodedInputStream::Limit limit = input->PushLimit(static_cast<int>(length));
    // A limit beyond the enclosing one is not kept.
    if (input->BytesUntilLimit() != static_cast<int>(length)) return NotBinary(type);
    if (absl::Status status = ScanBinary(field->message_type(), input, elements_left); !status.ok()) return status;
    input->PopLimit(limit);
  }
  return input->ConsumedEntireMessage() ? absl::OkStatus() : NotBinary(type);
}

absl::Status ParseBinary(absl::string_view bytes, Message* message) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  size_t elements_left = kMaxMessageElements;
  if (absl::Status status = ScanBinary(message->GetDescriptor(), &input, &elements_left); !status.ok()) return status;
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return NotBinary(message->GetDescriptor());
}

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!text.empty()) return;
    // A message quotes what it stumbled over, which may be long.
    text = CutText(Printable(message), 200);
    // -1: about the text as a whole.
    if (line >= 0) text = absl::StrCat(line + 1, ":", column + 1, ": ", text);
    at_line = line >= 0;
  }
  std::string text;
  bool at_line = false;
};

absl::Status ParseText(absl::string_view bytes, Message* message, bool* at_line) {
  const auto marks = static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return c == '{' || c == '<' || c == '"' || c == '\''; }));
  // Two quotes a string.
  if (marks > 2 * kMaxMessageElements) return TooManyElements();
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  if (parser.Parse(&input, message)) return absl::OkStatus();
  *at_line = error.at_line;
  return absl::InvalidArgumentError(error.text.empty() ? "not a textproto" : error.text);
}

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  const auto failed = [&path](absl::string_view what) {
    return absl::NotFoundError(absl::StrCat(Printable(path), ": ", what));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed(std::strerror(errno));
  std::string bytes;
  std::string buffer(1 << 16, '\0');
  while (bytes.size() <= kMaxMessageFileBytes) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(descriptor);
      return failed(std::strerror(error));
    }
    if (count == 0) break;
    bytes.append(buffer, 0, static_cast<size_t>(count));
  }
  ::close(descriptor);
  if (bytes.size() > kMaxMessageFileBytes) {
    return failed(absl::StrCat("expected at most ", kMaxMessageFileBytes >> 20, " MiB, got more"));
  }
  return bytes;
}

}  // namespace

absl::Status ParseMessageBytes(absl::string_view name, absl::string_view bytes, Message* message) {
  const std::string shown = Printable(name);
  if (bytes.size() > kMaxMessageFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": expected at most ", kMaxMessageFileBytes >> 20, " MiB, got more"));
  }
  if (absl::StripAsciiWhitespace(bytes).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": expected a ", message->GetDescriptor()->full_name(), ", got an empty file"));
  }
  absl::Status status;
  // An error that begins with a line follows the name without a space, as editors know it.
  bool at_line = false;
  switch (FormOf(name, bytes)) {
    case Form::kJson:
      status = ParseJsonMessage(bytes, kMaxMessageElements, message);
      at_line = true;
      break;
    case Form::kBinary:
      status = ParseBinary(bytes, message);
      break;
    case Form::kText:
      status = ParseText(bytes, message, &at_line);
      break;
  }
  if (status.ok()) {
    status = CheckStrings(*message);
    at_line = false;
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(shown, at_line ? ":" : ": ", status.message()));
}

absl::Status ReadMessageFile(const std::string& path, Message* message) {
  const absl::StatusOr<std::string> bytes = ReadBytes(path);
  return bytes.ok() ? ParseMessageBytes(path, *bytes, message) : bytes.status();
}

}  // namespace gx::analysis
