#include "tests/support/textproto.h"

#include <gtest/gtest.h>

#include <string>

#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace gx::testing {
namespace {

// Gathers what protobuf's parser says, with the place in the text.
class Errors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    text += "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message + "\n";
  }
  std::string text;
};

}  // namespace

bool ParseText(absl::string_view text, google::protobuf::Message* message) {
  Errors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(std::string(text), message)) return true;
  ADD_FAILURE() << "not a " << message->GetTypeName() << ":\n" << errors.text << "in\n" << text;
  return false;
}

std::string ToText(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace gx::testing
