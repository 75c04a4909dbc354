// What the beginning of a file says about it as an ELF file (System V ABI, elf(5)). Pure; any thread.
#ifndef GPUEXEC_TOOLS_SUPPORT_ELF_FILE_H_
#define GPUEXEC_TOOLS_SUPPORT_ELF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::tools {

// So many bytes from a file's start are enough: linkers put the program headers right behind the file's header.
inline constexpr size_t kElfHeadBytes = size_t{64} << 10;

struct ElfFile {
  int bits = 0;  // 32, 64; 0: neither
  bool is_little_endian = true;
  uint16_t type = 0;     // ET_EXEC, ET_DYN, ...
  uint16_t machine = 0;  // EM_X86_64, ...
  // Whether it names a dynamic loader (PT_INTERP) and has a dynamic section: a program with neither is linked
  // statically. Nothing where the program headers are not in the bytes given.
  std::optional<bool> has_interpreter;
  std::optional<bool> is_dynamic;
};

// Nothing: no ELF file, or one that is cut inside its header.
std::optional<ElfFile> ReadElfFile(absl::string_view head);

// Of the program that asks.
ElfFile OwnElfFile();

// "x86-64, 64-bit"; machines that are not known by their number.
std::string ElfMachineText(const ElfFile& file);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_SUPPORT_ELF_FILE_H_
