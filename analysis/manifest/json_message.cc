#include "analysis/manifest/json_message.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/printable.h"
#include "google/protobuf/descriptor.h"

namespace gx::analysis {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Of the input, in an error.
constexpr size_t kMaxQuotedBytes = 40;

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// A scalar as it stands in the text: a string without its quotes and escapes, or a bare word (number, true, false).
struct Scalar {
  size_t at = 0;
  bool quoted = false;
  std::string text;
};

class JsonReader {
 public:
  JsonReader(absl::string_view text, size_t max_elements) : text_(text), elements_left_(max_elements) {}

  absl::Status Read(Message* message) {
    SkipSpace();
    if (ReadObject(message)) {
      SkipSpace();
      if (at_ < text_.size()) Expected("the end of the file");
    }
    return status_;
  }

 private:
  // Always false, so that a function can end with it.
  bool Fail(size_t at, absl::string_view what) {
    if (!status_.ok()) return false;
    const absl::string_view before = text_.substr(0, at);
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t start = before.rfind('\n');
    const size_t column = at - (start == absl::string_view::npos ? 0 : start + 1) + 1;
    status_ = absl::InvalidArgumentError(absl::StrCat(line, ":", column, ": ", what));
    return false;
  }
  // What stands at the present place was not what was looked for.
  bool Expected(absl::string_view what) {
    if (at_ >= text_.size()) return Fail(at_, absl::StrCat("expected ", what, ", got the end of the file"));
    size_t end = at_ + 1;
    while (end < text_.size() && end - at_ < kMaxQuotedBytes && !absl::ascii_isspace(text_[end]) &&
           !absl::StrContains(",:{}[]", text_.substr(end, 1))) {
      ++end;
    }
    return Fail(at_, absl::StrCat("expected ", what, ", got '", Printable(text_.substr(at_, end - at_)), "'"));
  }
  bool Expected(const Scalar& scalar, const FieldDescriptor* field, absl::string_view what) {
    const absl::string_view quote = scalar.quoted ? "\"" : "";
    return Fail(scalar.at, absl::StrCat(field->name(), ": expected ", what, ", got ", quote,
                                        Printable(absl::string_view(scalar.text).substr(0, kMaxQuotedBytes)), quote));
  }

  bool CountElement() {
    if (elements_left_-- > 0) return true;
    elements_left_ = 0;
    return Fail(at_, "more messages and strings than a manifest can have");
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::StrContains(" \t\r\n", text_.substr(at_, 1))) ++at_;
  }
  bool Peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Take(char c) {
    if (!Peek(c)) return false;
    ++at_;
    return true;
  }
  // A bare word: letters, digits and what numbers are made of.
  absl::string_view TakeWord() {
    const size_t begin = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  absl::StrContains("+-._", text_.substr(at_, 1)))) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool ReadHex4(uint32_t* code) {
    if (at_ + 4 > text_.size()) return Expected("four hexadecimal digits");
    *code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const auto digit = static_cast<unsigned char>(text_[at_]);
      if (!absl::ascii_isxdigit(digit)) return Expected("four hexadecimal digits");
      *code = *code << 4 | static_cast<uint32_t>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return true;
  }

  bool ReadEscape(std::string* out) {
    constexpr absl::string_view kNames = "\"\\/bfnrt";
    constexpr absl::string_view kValues = "\"\\/\b\f\n\r\t";
    if (at_ < text_.size()) {
      if (const size_t which = kNames.find(text_[at_]); which != absl::string_view::npos) {
        out->push_back(kValues[which]);
        ++at_;
        return true;
      }
    }
    const size_t begin = at_;
    if (!Take('u')) return Expected("an escape (\\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX)");
    uint32_t code = 0;
    if (!ReadHex4(&code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
      uint32_t low = 0;
      if (!Take('\\') || !Take('u')) return Expected("the second half of a surrogate pair");
      if (!ReadHex4(&low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return Fail(begin, "expected a surrogate pair, got half of one");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
      return Fail(begin, "expected a surrogate pair, got half of one");
    }
    AppendUtf8(code, out);
    return true;
  }

  bool ReadString(std::string* out) {
    const size_t begin = at_;
    if (!Take('"')) return Expected("a string");
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Expected("the end of a string");
      ++at_;
      if (c != '\\') {
        out->push_back(c);
      } else if (!ReadEscape(out)) {
        return false;
      }
    }
    return Fail(begin, "expected the end of a string, got the end of the file");
  }

  bool ReadScalar(const FieldDescriptor* field, Scalar* scalar) {
    scalar->at = at_;
    if (Peek('"')) {
      scalar->quoted = true;
      return ReadString(&scalar->text);
    }
    scalar->text = std::string(TakeWord());
    if (scalar->text.empty()) return Expected(absl::StrCat("a value of ", field->name()));
    return true;
  }

  bool ReadObject(Message* message) {
    if (!Take('{')) return Expected(absl::StrCat("a ", message->GetDescriptor()->name(), " in {}"));
    if (!CountElement()) return false;
    SkipSpace();
    if (Take('}')) return true;
    std::set<int> seen;
    while (true) {
      SkipSpace();
      const size_t key_at = at_;
      std::string key;
      if (!ReadString(&key)) return false;
      const Descriptor* type = message->GetDescriptor();
      const FieldDescriptor* field = type->FindFieldByName(key);
      if (field == nullptr) field = type->FindFieldByCamelcaseName(key);
      if (field == nullptr) {
        return Fail(key_at, absl::StrCat(type->name(), " has no field '",
                                         Printable(absl::string_view(key).substr(0, kMaxQuotedBytes)), "'"));
      }
      if (!seen.insert(field->number()).second) {
        return Fail(key_at, absl::StrCat(field->name(), " is given twice"));
      }
      SkipSpace();
      if (!Take(':')) return Expected("':'");
      SkipSpace();
      if (!ReadField(message, field)) return false;
      SkipSpace();
      if (Take('}')) return true;
      if (!Take(',')) return Expected("',' or '}'");
    }
  }

  bool ReadField(Message* message, const FieldDescriptor* field) {
    if (absl::StartsWith(text_.substr(at_), "null")) {
      at_ += 4;
      return true;
    }
    if (!field->is_repeated()) return ReadElement(message, field);
    if (!Take('[')) return Expected(absl::StrCat("a list of ", field->name(), " in []"));
    SkipSpace();
    if (Take(']')) return true;
    while (true) {
      SkipSpace();
      if (!ReadElement(message, field)) return false;
      SkipSpace();
      if (Take(']')) return true;
      if (!Take(',')) return Expected("',' or ']'");
    }
  }

  bool ReadElement(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return ReadObject(field->is_repeated() ? reflection->AddMessage(message, field)
                                             : reflection->MutableMessage(message, field));
    }
    Scalar scalar;
    if (!ReadScalar(field, &scalar)) return false;
    const bool repeated = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (!scalar.quoted) return Expected(scalar, field, "a string");
        if (!CountElement()) return false;
        repeated ? reflection->AddString(message, field, scalar.text)
                 : reflection->SetString(message, field, scalar.text);
        return true;
      case FieldDescriptor::CPPTYPE_BOOL: {
        if (scalar.quoted || (scalar.text != "true" && scalar.text != "false")) {
          return Expected(scalar, field, "true or false");
        }
        const bool value = scalar.text == "true";
        repeated ? reflection->AddBool(message, field, value) : reflection->SetBool(message, field, value);
        return true;
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        int64_t value = 0;
        if (!Integer(scalar, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), &value)) {
          return Expected(scalar, field, "a whole number of 64 bits");
        }
        repeated ? reflection->AddInt64(message, field, value) : reflection->SetInt64(message, field, value);
        return true;
      }
      case FieldDescriptor::CPPTYPE_UINT32: {
        int64_t value = 0;
        if (!Integer(scalar, 0, std::numeric_limits<uint32_t>::max(), &value)) {
          return Expected(scalar, field, "a whole number from 0 to 4294967295");
        }
        const auto small = static_cast<uint32_t>(value);
        repeated ? reflection->AddUInt32(message, field, small) : reflection->SetUInt32(message, field, small);
        return true;
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = 0;
        if (!Double(scalar, &value)) return Expected(scalar, field, "a number");
        repeated ? reflection->AddDouble(message, field, value) : reflection->SetDouble(message, field, value);
        return true;
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return SetEnum(message, field, scalar);
      default:
        return Expected(scalar, field, "a type that manifests have");
    }
  }

  bool SetEnum(Message* message, const FieldDescriptor* field, const Scalar& scalar) {
    const EnumDescriptor* type = field->enum_type();
    const EnumValueDescriptor* value = nullptr;
    if (scalar.quoted) {
      value = type->FindValueByName(scalar.text);
    } else if (int64_t number = 0;
               Integer(scalar, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), &number)) {
      value = type->FindValueByNumber(static_cast<int>(number));
    }
    if (value == nullptr) {
      std::vector<std::string> names;
      for (int i = 0; i < type->value_count(); ++i) names.push_back(type->value(i)->name());
      return Expected(scalar, field, absl::StrJoin(names, ", "));
    }
    const Reflection* reflection = message->GetReflection();
    field->is_repeated() ? reflection->AddEnum(message, field, value) : reflection->SetEnum(message, field, value);
    return true;
  }

  // A number of JSON: -?digits, without a leading zero, then a fraction and an exponent.
  static bool IsJsonNumber(absl::string_view text, bool* whole) {
    const auto digits = [&text] {
      size_t count = 0;
      while (count < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[count]))) ++count;
      text.remove_prefix(count);
      return count;
    };
    *whole = true;
    if (absl::StartsWith(text, "-")) text.remove_prefix(1);
    const bool zero = absl::StartsWith(text, "0");
    const size_t before_point = digits();
    if (before_point == 0 || (zero && before_point > 1)) return false;
    if (absl::StartsWith(text, ".")) {
      *whole = false;
      text.remove_prefix(1);
      if (digits() == 0) return false;
    }
    if (absl::StartsWith(text, "e") || absl::StartsWith(text, "E")) {
      *whole = false;
      text.remove_prefix(1);
      if (absl::StartsWith(text, "+") || absl::StartsWith(text, "-")) text.remove_prefix(1);
      if (digits() == 0) return false;
    }
    return text.empty();
  }

  // 12, "12", and 1.2e1, which the mapping allows as well.
  static bool Integer(const Scalar& scalar, int64_t min, int64_t max, int64_t* value) {
    bool whole = false;
    if (!IsJsonNumber(scalar.text, &whole)) return false;
    if (whole) return absl::SimpleAtoi(scalar.text, value) && *value >= min && *value <= max;
    double number = 0;
    // Beyond 2^53 a number with an exponent may not be what its digits say.
    if (!absl::SimpleAtod(scalar.text, &number) || number != std::floor(number) ||
        std::fabs(number) > 9007199254740992.0) {
      return false;
    }
    *value = static_cast<int64_t>(number);
    return *value >= min && *value <= max;
  }

  static bool Double(const Scalar& scalar, double* value) {
    if (scalar.quoted) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (scalar.text == "NaN") return *value = std::numeric_limits<double>::quiet_NaN(), true;
      if (scalar.text == "Infinity") return *value = kInfinity, true;
      if (scalar.text == "-Infinity") return *value = -kInfinity, true;
    }
    bool whole = false;
    return IsJsonNumber(scalar.text, &whole) && absl::SimpleAtod(scalar.text, value) && std::isfinite(*value);
  }

  const absl::string_view text_;
  size_t elements_left_;
  size_t at_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status ParseJsonMessage(absl::string_view text, size_t max_elements, Message* message) {
  return JsonReader(text, max_elements).Read(message);
}

}  // namespace gx::analysis
