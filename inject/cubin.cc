#include "inject/cubin.h"

#include <elf.h>

#include <cstring>

namespace gx::inject {
namespace {

constexpr std::string_view kTextPrefix = ".text.";

template <typename T>
bool ReadAt(std::span<const uint8_t> bytes, uint64_t offset, T* value) noexcept {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(T));
  return true;
}

bool Inside(std::span<const uint8_t> bytes, uint64_t offset, uint64_t length) noexcept {
  return offset <= bytes.size() && bytes.size() - offset >= length;
}

}  // namespace

bool ForEachFunction(std::span<const uint8_t> cubin,
                     void (*visit)(void* user, std::string_view name, std::span<const uint8_t> code),
                     void* user) noexcept {
  Elf64_Ehdr header;
  if (!ReadAt(cubin, 0, &header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return false;
  }
  // Large section counts (more than 0xff00) and string table indices live in section 0.
  Elf64_Shdr first;
  if (!ReadAt(cubin, header.e_shoff, &first)) return false;
  const uint64_t section_count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const uint64_t names_index = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  if (section_count > cubin.size() / sizeof(Elf64_Shdr) || names_index >= section_count) return false;
  Elf64_Shdr names;
  if (!ReadAt(cubin, header.e_shoff + names_index * sizeof(Elf64_Shdr), &names)) return false;
  if (!Inside(cubin, names.sh_offset, names.sh_size)) return false;
  const auto* names_begin = reinterpret_cast<const char*>(cubin.data() + names.sh_offset);
  for (uint64_t i = 1; i < section_count; ++i) {
    Elf64_Shdr section;
    if (!ReadAt(cubin, header.e_shoff + i * sizeof(Elf64_Shdr), &section)) return false;
    if (section.sh_type != SHT_PROGBITS || section.sh_name >= names.sh_size) continue;
    const std::string_view rest(names_begin + section.sh_name, names.sh_size - section.sh_name);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return false;
    const std::string_view name = rest.substr(0, end);
    if (name.substr(0, kTextPrefix.size()) != kTextPrefix) continue;
    if (!Inside(cubin, section.sh_offset, section.sh_size)) return false;
    visit(user, name.substr(kTextPrefix.size()), cubin.subspan(section.sh_offset, section.sh_size));
  }
  return true;
}

}  // namespace gx::inject
