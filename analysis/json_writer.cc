#include "analysis/json_writer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/format.h"

namespace gx::analysis {

void JsonWriter::Key(absl::string_view key) {
  Separate();
  absl::StrAppend(&out_, Quoted(key), ": ");
  after_key_ = true;
}

void JsonWriter::Value(uint64_t value) {
  Separate();
  absl::StrAppend(&out_, value);
}

void JsonWriter::Value(double value) {
  if (!std::isfinite(value)) {
    Null();
    return;
  }
  Separate();
  // Six decimals: durations to the femtosecond, ratios to the millionth.
  constexpr int kDecimals = 6;
  out_ += FormatDecimal(value, kDecimals);
}

void JsonWriter::ExactValue(double value) {
  if (!std::isfinite(value)) {
    Null();
    return;
  }
  Separate();
  out_ += ShortestDouble(value);
}

void JsonWriter::Value(bool value) {
  Separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::Value(absl::string_view text) {
  Separate();
  out_ += Quoted(text);
}

void JsonWriter::Null() {
  Separate();
  out_ += "null";
}

std::string JsonWriter::Take() {
  out_ += '\n';
  return std::move(out_);
}

std::string JsonWriter::Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

void JsonWriter::Begin(char open) {
  Separate();
  out_ += open;
  has_members_.push_back(false);
}

void JsonWriter::End(char close) {
  const bool any = has_members_.back();
  has_members_.pop_back();
  if (any) absl::StrAppend(&out_, "\n", std::string(2 * has_members_.size(), ' '));
  out_ += close;
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  absl::StrAppend(&out_, has_members_.back() ? "," : "", "\n", std::string(2 * has_members_.size(), ' '));
  has_members_.back() = true;
}

}  // namespace gx::analysis
