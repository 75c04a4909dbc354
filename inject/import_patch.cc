#include "inject/import_patch.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace gx::inject {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_AARCH64_GLOB_DAT;
#else
#error "import slots are known for x86-64 and 64-bit Arm"
#endif

struct Redirection {
  const char* symbol;
  void* replacement;
  uint32_t changed;
};

// What of an object's dynamic section is needed. Addresses in it are absolute: the loader has relocated them.
struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * plt = nullptr;
  size_t plt_bytes = 0;
  const ElfW(Rela) * relocations = nullptr;
  size_t relocations_bytes = 0;
};

DynamicTables ReadDynamic(const dl_phdr_info& info) noexcept {
  DynamicTables tables;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_SYMTAB:
          tables.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
          break;
        case DT_STRTAB:
          tables.strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
          break;
        case DT_JMPREL:
          tables.plt = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
          break;
        case DT_PLTRELSZ:
          tables.plt_bytes = entry->d_un.d_val;
          break;
        case DT_RELA:
          tables.relocations = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
          break;
        case DT_RELASZ:
          tables.relocations_bytes = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
  return tables;
}

bool WriteSlot(void** slot, void* value) noexcept {
  // Import tables are made read-only after loading (RELRO) in many builds; they stay writable from here on, since their
  // original protection is not known.
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(slot) & ~(page_bytes - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(slot) + sizeof(void*);
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  return true;
}

void PatchTable(const DynamicTables& tables, const ElfW(Rela) * table, size_t bytes, ElfW(Addr) base,
                Redirection* redirection) noexcept {
  if (table == nullptr) return;
  for (size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(table[i].r_info));
    if (type != kJumpSlot && type != kGlobalData) continue;
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(table[i].r_info)];
    if (std::strcmp(tables.strings + symbol.st_name, redirection->symbol) != 0) continue;
    auto** slot = reinterpret_cast<void**>(base + table[i].r_offset);
    if (*slot == redirection->replacement) continue;
    if (WriteSlot(slot, redirection->replacement)) ++redirection->changed;
  }
}

bool IsNvidiaOwn(std::string_view path) noexcept {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name.substr(0, 8) == "libcupti" || name.substr(0, 8) == "libcuda." || name.substr(0, 13) == "linux-vdso.so";
}

int Visit(dl_phdr_info* info, size_t, void* user) {
  auto* redirection = static_cast<Redirection*>(user);
  if (info->dlpi_name != nullptr && IsNvidiaOwn(info->dlpi_name)) return 0;
  const DynamicTables tables = ReadDynamic(*info);
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  PatchTable(tables, tables.plt, tables.plt_bytes, info->dlpi_addr, redirection);
  PatchTable(tables, tables.relocations, tables.relocations_bytes, info->dlpi_addr, redirection);
  return 0;
}

bool Imports(const DynamicTables& tables, const ElfW(Rela) * table, size_t bytes, const char* symbol) noexcept {
  if (table == nullptr) return false;
  for (size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(table[i].r_info));
    if (type != kJumpSlot && type != kGlobalData) continue;
    const ElfW(Sym)& imported = tables.symbols[ELF64_R_SYM(table[i].r_info)];
    if (imported.st_shndx == SHN_UNDEF && std::strcmp(tables.strings + imported.st_name, symbol) == 0) return true;
  }
  return false;
}

struct ImporterSearch {
  const char* symbol;
  std::vector<std::string>* found;
};

// The loader's own frames are above: nothing is thrown through them.
int VisitImporter(dl_phdr_info* info, size_t, void* user) noexcept {
  const auto* search = static_cast<const ImporterSearch*>(user);
  const bool is_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  if (!is_program && IsNvidiaOwn(info->dlpi_name)) return 0;
  const DynamicTables tables = ReadDynamic(*info);
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  if (!Imports(tables, tables.plt, tables.plt_bytes, search->symbol) &&
      !Imports(tables, tables.relocations, tables.relocations_bytes, search->symbol)) {
    return 0;
  }
  try {
    search->found->emplace_back(is_program ? "the program itself" : info->dlpi_name);
  } catch (...) {
    return 1;
  }
  return 0;
}

int CountObjects(dl_phdr_info* info, size_t, void* user) {
  *static_cast<uint64_t*>(user) = info->dlpi_adds;
  return 1;
}

}  // namespace

uint32_t RedirectImports(const char* symbol, void* replacement) noexcept {
  Redirection redirection{symbol, replacement, 0};
  dl_iterate_phdr(Visit, &redirection);
  return redirection.changed;
}

std::vector<std::string> ImportersOf(const char* symbol) {
  std::vector<std::string> found;
  ImporterSearch search{symbol, &found};
  dl_iterate_phdr(VisitImporter, &search);
  return found;
}

uint64_t LoadedObjectsCount() noexcept {
  uint64_t count = 0;
  dl_iterate_phdr(CountObjects, &count);
  return count;
}

}  // namespace gx::inject
