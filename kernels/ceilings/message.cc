#include "kernels/ceilings/message.h"

#include <charconv>
#include <cstring>

namespace gx::kernels {
namespace {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2 };

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>((value & 0x7F) | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendKey(Field field, WireType type, std::string* out) {
  AppendVarint((uint64_t{field.number} << 3) | static_cast<uint32_t>(type), out);
}

void AppendDouble(double value, std::string* out) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int byte = 0; byte < 8; ++byte) out->push_back(static_cast<char>(bits >> (8 * byte)));
}

void AppendDelimited(Field field, std::string_view bytes, std::string* out) {
  AppendKey(field, WireType::kDelimited, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

uint64_t ZigZag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

// The shortest text that reads back as the same double.
std::string DoubleText(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "0";
}

// Of printable ASCII, which all texts here are.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Indent(int level) { return std::string(static_cast<size_t>(2 * level), ' '); }

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

void Message::SetText(Field field, std::string_view value) {
  std::string text(value);
  for (char& c : text) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  entries_.push_back({field, std::move(text)});
}

void Message::SetDoubles(Field field, std::vector<double> values) {
  if (!values.empty()) entries_.push_back({field, std::move(values)});
}

void Message::SetMessages(Field field, std::vector<Message> values) {
  if (!values.empty()) entries_.push_back({field, std::move(values)});
}

std::string Message::Wire() const {
  std::string out;
  AppendWire(&out);
  return out;
}

std::string Message::Json() const {
  std::string out;
  AppendJson(0, &out);
  return out;
}

void Message::AppendWire(std::string* out) const {
  for (const Entry& entry : entries_) {
    const Field field = entry.field;
    const auto append_varint = [&](uint64_t value) {
      AppendKey(field, WireType::kVarint, out);
      AppendVarint(value, out);
    };
    std::visit(Overloaded{
                   append_varint,
                   [&](Signed value) { append_varint(ZigZag(value.value)); },
                   [&](bool value) { append_varint(value ? 1 : 0); },
                   [&](double value) {
                     AppendKey(field, WireType::kFixed64, out);
                     AppendDouble(value, out);
                   },
                   [&](const std::string& value) { AppendDelimited(field, value, out); },
                   [&](EnumValue value) { append_varint(value.number); },
                   [&](const One& value) { AppendDelimited(field, value.message.front().Wire(), out); },
                   [&](const std::vector<double>& values) {
                     std::string packed;
                     for (const double value : values) AppendDouble(value, &packed);
                     AppendDelimited(field, packed, out);
                   },
                   [&](const std::vector<Message>& values) {
                     for (const Message& value : values) AppendDelimited(field, value.Wire(), out);
                   },
               },
               entry.value);
  }
}

void Message::AppendJson(int level, std::string* out) const {
  if (entries_.empty()) {
    *out += "{}";
    return;
  }
  *out += "{\n";
  for (const Entry& entry : entries_) {
    if (&entry != &entries_.front()) *out += ",\n";
    *out += Indent(level + 1) + Quoted(entry.field.name) + ": ";
    std::visit(Overloaded{
                   // 64-bit numbers are strings in protobuf's JSON, as JSON's own are doubles for many readers.
                   [&](uint64_t value) { *out += Quoted(std::to_string(value)); },
                   [&](Signed value) { *out += Quoted(std::to_string(value.value)); },
                   [&](bool value) { *out += value ? "true" : "false"; },
                   [&](double value) { *out += DoubleText(value); },
                   [&](const std::string& value) { *out += Quoted(value); },
                   [&](EnumValue value) { *out += Quoted(value.name); },
                   [&](const One& value) { value.message.front().AppendJson(level + 1, out); },
                   [&](const std::vector<double>& values) {
                     *out += "[";
                     for (const double& value : values) {
                       if (&value != &values.front()) *out += ", ";
                       *out += DoubleText(value);
                     }
                     *out += "]";
                   },
                   [&](const std::vector<Message>& values) {
                     *out += "[";
                     for (const Message& value : values) {
                       if (&value != &values.front()) *out += ", ";
                       value.AppendJson(level + 1, out);
                     }
                     *out += "]";
                   },
               },
               entry.value);
  }
  *out += "\n" + Indent(level) + "}";
}

}  // namespace gx::kernels
