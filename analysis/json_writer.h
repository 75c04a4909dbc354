// Writes JSON with two spaces a level, keys in the order given. Owned by one thread.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("calls"); json.Value(uint64_t{3});
//   json.EndObject();
#ifndef GPUEXEC_ANALYSIS_JSON_WRITER_H_
#define GPUEXEC_ANALYSIS_JSON_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::analysis {

class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(absl::string_view key);

  void Value(uint64_t value);
  // null where it is not a finite number.
  void Value(double value);
  // Every digit: the shortest form that reads back as the same number, in place of six decimals.
  void ExactValue(double value);
  void Value(bool value);
  void Value(absl::string_view text);
  void Value(const std::string& text) { Value(absl::string_view(text)); }
  void Value(const char* text) { Value(absl::string_view(text)); }
  void Null();
  template <typename T>
  void Value(const std::optional<T>& value) {
    if (value.has_value()) {
      Value(*value);
    } else {
      Null();
    }
  }
  template <typename T>
  void Member(absl::string_view key, const T& value) {
    Key(key);
    Value(value);
  }

  void ExactMember(absl::string_view key, const std::optional<double>& value) {
    Key(key);
    if (value.has_value()) {
      ExactValue(*value);
    } else {
      Null();
    }
  }

  std::string Take();

  // The text in quotes, with what JSON must not hold escaped.
  static std::string Quoted(absl::string_view text);

 private:
  void Begin(char open);
  void End(char close);
  // The comma and line feed before a value or a key.
  void Separate();

  std::string out_;
  // Whether the open object or array has a member yet.
  std::vector<bool> has_members_;
  bool after_key_ = false;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_JSON_WRITER_H_
