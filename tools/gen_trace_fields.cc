// Writes gpuexec/trace_fields.h: the field numbers and enums of gpuexec.v1 as plain C++ constants, so that the
// injection library can encode a trace without libprotobuf. Runs on the build host only.
//
//   gen_trace_fields DESCRIPTOR_SET OUTPUT_HEADER TRAPS_HEADER
//
// TRAPS_HEADER receives the rows of cupti_traps.proto that a program needs to decide, without their texts.
// For a message M: namespace M { inline constexpr uint32_t kFieldName = N; } (nested messages: Outer_Inner).
// For an enum E: enum class E : uint32_t { kValueName = N } without the common prefix of its values, and kEMax.
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "gpuexec/v1/cupti_traps.pb.h"

namespace {

constexpr std::string_view kPackage = "gpuexec.v1";

// "host_enter_ns" and "HOST_ENTER_NS" give "kHostEnterNs".
std::string ConstantName(std::string_view snake) {
  std::string name = "k";
  bool word_start = true;
  for (const char c : snake) {
    if (c == '_') {
      word_start = true;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    name += static_cast<char>(word_start ? std::toupper(byte) : std::tolower(byte));
    word_start = false;
  }
  return name;
}

// Values carry their enum's prefix; the zero value, PREFIX_UNSPECIFIED, says which.
std::string ValuePrefix(const google::protobuf::EnumDescriptorProto& type) {
  constexpr std::string_view kZero = "UNSPECIFIED";
  for (const auto& value : type.value()) {
    const std::string& name = value.name();
    if (value.number() == 0 && name.size() > kZero.size() && name.ends_with(kZero)) {
      return name.substr(0, name.size() - kZero.size());
    }
  }
  return "";
}

void WriteEnum(const std::string& outer, const google::protobuf::EnumDescriptorProto& type, std::string& out) {
  const std::string name = outer + type.name();
  const std::string prefix = ValuePrefix(type);
  int max = 0;
  out += "enum class " + name + " : uint32_t {\n";
  for (const auto& value : type.value()) {
    std::string_view short_name = value.name();
    if (short_name.starts_with(prefix)) short_name.remove_prefix(prefix.size());
    out += "  " + ConstantName(short_name) + " = " + std::to_string(value.number()) + ",\n";
    max = std::max(max, value.number());
  }
  out += "};\ninline constexpr uint32_t k" + name + "Max = " + std::to_string(max) + ";\n\n";
}

void WriteMessage(const std::string& outer, const google::protobuf::DescriptorProto& type, std::string& out) {
  const std::string name = outer + type.name();
  for (const auto& nested : type.enum_type()) WriteEnum(name + "_", nested, out);
  out += "namespace " + name + " {\n";
  for (const auto& field : type.field()) {
    out += "inline constexpr uint32_t " + ConstantName(field.name()) + " = " + std::to_string(field.number()) + ";\n";
  }
  out += "}  // namespace " + name + "\n\n";
  for (const auto& nested : type.nested_type()) WriteMessage(name + "_", nested, out);
}

bool WriteFile(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

std::string TrapRows() {
  std::string out =
      "// Generated from proto/gpuexec/v1/cupti_traps.proto by gen_trace_fields. Do not edit.\n"
      "#ifndef GPUEXEC_CUPTI_TRAP_ROWS_H_\n#define GPUEXEC_CUPTI_TRAP_ROWS_H_\n\n#include <cstdint>\n\n"
      "#include \"gpuexec/trace_fields.h\"\n\nnamespace gx::fields {\n\n"
      "struct CuptiVersionTrap {\n  uint32_t trap;\n  uint32_t first_version;\n  uint32_t last_version;\n"
      "  CuptiAvoidance avoidance;\n};\n\ninline constexpr CuptiVersionTrap kCuptiTrapRows[] = {\n";
  const google::protobuf::EnumDescriptor* traps = gpuexec::v1::CuptiTrap_descriptor();
  for (int i = 0; i < traps->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor& value = *traps->value(i);
    if (!value.options().HasExtension(gpuexec::v1::trap)) continue;
    const gpuexec::v1::CuptiTrapRow& row = value.options().GetExtension(gpuexec::v1::trap);
    out += "    {" + std::to_string(value.number()) + ", " + std::to_string(row.first_version()) + ", " +
           std::to_string(row.last_version()) + ", static_cast<CuptiAvoidance>(" + std::to_string(row.avoidance()) +
           ")},  // " + value.name() + "\n";
  }
  return out + "};\n\n}  // namespace gx::fields\n\n#endif  // GPUEXEC_CUPTI_TRAP_ROWS_H_\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s DESCRIPTOR_SET OUTPUT_HEADER TRAPS_HEADER\n", argv[0]);
    return 2;
  }
  google::protobuf::FileDescriptorSet set;
  std::ifstream in(argv[1], std::ios::binary);
  if (!in || !set.ParseFromIstream(&in)) {
    std::fprintf(stderr, "%s: %s: cannot read a descriptor set from it\n", argv[0], argv[1]);
    return 1;
  }
  std::string out =
      "// Generated from proto/gpuexec/v1 by gen_trace_fields. Do not edit.\n"
      "#ifndef GPUEXEC_TRACE_FIELDS_H_\n#define GPUEXEC_TRACE_FIELDS_H_\n\n#include <cstdint>\n\n"
      "namespace gx::fields {\n\n";
  for (const auto& file : set.file()) {
    if (file.package() != kPackage) continue;
    for (const auto& type : file.enum_type()) WriteEnum("", type, out);
    for (const auto& type : file.message_type()) WriteMessage("", type, out);
  }
  out += "}  // namespace gx::fields\n\n#endif  // GPUEXEC_TRACE_FIELDS_H_\n";
  const std::string texts[] = {out, TrapRows()};
  for (int i = 0; i < 2; ++i) {
    if (WriteFile(argv[2 + i], texts[i])) continue;
    std::fprintf(stderr, "%s: %s: cannot write it\n", argv[0], argv[2 + i]);
    return 1;
  }
  return 0;
}
