#include "tools/support/elf_file.h"

#include <elf.h>

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace gx::tools {
namespace {

template <typename Header>
bool ReadAt(absl::string_view bytes, uint64_t offset, Header* header) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Header)) return false;
  std::memcpy(header, bytes.data() + offset, sizeof(Header));
  return true;
}

template <typename FileHeader, typename ProgramHeader>
void ReadProgramHeaders(absl::string_view head, ElfFile* file) {
  FileHeader header;
  if (!ReadAt(head, 0, &header)) return;
  bool has_interpreter = false;
  bool is_dynamic = false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    ProgramHeader program;
    if (header.e_phentsize != sizeof(program) || header.e_phoff > head.size()) return;
    if (!ReadAt(head, header.e_phoff + i * sizeof(program), &program)) return;
    has_interpreter |= program.p_type == PT_INTERP;
    is_dynamic |= program.p_type == PT_DYNAMIC;
  }
  file->has_interpreter = has_interpreter;
  file->is_dynamic = is_dynamic;
}

uint16_t Word(absl::string_view head, size_t offset, bool is_little_endian) {
  const auto low = static_cast<unsigned char>(head[offset + (is_little_endian ? 0 : 1)]);
  const auto high = static_cast<unsigned char>(head[offset + (is_little_endian ? 1 : 0)]);
  return static_cast<uint16_t>(low | high << 8);
}

}  // namespace

std::optional<ElfFile> ReadElfFile(absl::string_view head) {
  // Identification, type and machine lie at the same places in both word sizes.
  constexpr size_t kTypeAt = EI_NIDENT;
  constexpr size_t kMachineAt = EI_NIDENT + 2;
  if (head.size() < sizeof(Elf32_Ehdr) || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  ElfFile file;
  file.bits = head[EI_CLASS] == ELFCLASS64 ? 64 : head[EI_CLASS] == ELFCLASS32 ? 32 : 0;
  if (file.bits == 64 && head.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  file.is_little_endian = head[EI_DATA] != ELFDATA2MSB;
  file.type = Word(head, kTypeAt, file.is_little_endian);
  file.machine = Word(head, kMachineAt, file.is_little_endian);
  if (file.is_little_endian == (std::endian::native == std::endian::little)) {
    if (file.bits == 64) ReadProgramHeaders<Elf64_Ehdr, Elf64_Phdr>(head, &file);
    if (file.bits == 32) ReadProgramHeaders<Elf32_Ehdr, Elf32_Phdr>(head, &file);
  }
  return file;
}

ElfFile OwnElfFile() {
  ElfFile file;
  file.bits = static_cast<int>(sizeof(void*) * 8);
  file.is_little_endian = std::endian::native == std::endian::little;
#if defined(__x86_64__)
  file.machine = EM_X86_64;
#elif defined(__aarch64__)
  file.machine = EM_AARCH64;
#elif defined(__powerpc64__)
  file.machine = EM_PPC64;
#elif defined(__riscv)
  file.machine = EM_RISCV;
#endif
  return file;
}

std::string ElfMachineText(const ElfFile& file) {
  const char* name = nullptr;
  switch (file.machine) {
    case EM_386:
      name = "x86";
      break;
    case EM_X86_64:
      name = "x86-64";
      break;
    case EM_ARM:
      name = "Arm";
      break;
    case EM_AARCH64:
      name = "AArch64";
      break;
    case EM_PPC64:
      name = "PowerPC";
      break;
    case EM_S390:
      name = "S/390";
      break;
    case EM_RISCV:
      name = "RISC-V";
      break;
    default:
      break;
  }
  const std::string machine = name != nullptr ? name : absl::StrCat("machine ", file.machine);
  return file.bits == 0 ? machine : absl::StrCat(machine, ", ", file.bits, "-bit");
}

}  // namespace gx::tools
