#include "tests/fakes/fake_cubin.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <string_view>

namespace gx::fakes {
namespace {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA of the ELF registry.
constexpr std::string_view kTextPrefix = ".text.";
constexpr std::string_view kInfoPrefix = ".nv.info.";

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

struct Section {
  std::string name;
  uint32_t type;
  std::string contents;
};

std::string WriteElf(std::vector<Section> sections) {
  sections.insert(sections.begin(), {"", SHT_NULL, ""});
  std::string names;
  std::vector<uint32_t> name_offsets;
  sections.push_back({".shstrtab", SHT_STRTAB, ""});
  for (const Section& section : sections) {
    name_offsets.push_back(static_cast<uint32_t>(names.size()));
    names.append(section.name).push_back('\0');
  }
  sections.back().contents = names;

  std::string body;
  std::vector<Elf64_Shdr> headers;
  for (size_t i = 0; i < sections.size(); ++i) {
    while (body.size() % 16 != 0) body.push_back('\0');
    Elf64_Shdr header{};
    header.sh_name = name_offsets[i];
    header.sh_type = sections[i].type;
    header.sh_offset = i == 0 ? 0 : sizeof(Elf64_Ehdr) + body.size();
    header.sh_size = sections[i].contents.size();
    header.sh_addralign = i == 0 ? 0 : 16;
    headers.push_back(header);
    body.append(sections[i].contents);
  }
  while (body.size() % 16 != 0) body.push_back('\0');

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_type = ET_EXEC;
  elf.e_machine = kMachineCuda;
  elf.e_version = EV_CURRENT;
  elf.e_ehsize = sizeof(Elf64_Ehdr);
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<uint16_t>(headers.size());
  elf.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  elf.e_shoff = sizeof(Elf64_Ehdr) + body.size();

  std::string bytes;
  AppendBytes(elf, &bytes);
  bytes.append(body);
  for (const Elf64_Shdr& header : headers) AppendBytes(header, &bytes);
  return bytes;
}

}  // namespace

std::string BuildCubin(const std::vector<KernelCode>& kernels) {
  std::vector<Section> sections;
  for (const KernelCode& kernel : kernels) {
    sections.push_back({std::string(kTextPrefix) + kernel.name, SHT_PROGBITS, kernel.code});
    std::string info;
    AppendBytes(kernel.attributes, &info);
    sections.push_back({std::string(kInfoPrefix) + kernel.name, SHT_PROGBITS, info});
  }
  return WriteElf(std::move(sections));
}

uint64_t ParseCubin(const void* image, std::vector<KernelCode>* kernels) {
  if (image == nullptr || std::memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
  const char* const base = static_cast<const char*>(image);
  Elf64_Ehdr elf;
  std::memcpy(&elf, base, sizeof(elf));
  if (elf.e_machine != kMachineCuda || elf.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  std::vector<Elf64_Shdr> headers(elf.e_shnum);
  std::memcpy(headers.data(), base + elf.e_shoff, headers.size() * sizeof(Elf64_Shdr));
  const char* const names = base + headers[elf.e_shstrndx].sh_offset;

  std::map<std::string, KernelCode, std::less<>> found;
  for (const Elf64_Shdr& header : headers) {
    const std::string_view name = names + header.sh_name;
    if (name.starts_with(kTextPrefix)) {
      found[std::string(name.substr(kTextPrefix.size()))].code.assign(base + header.sh_offset, header.sh_size);
    } else if (name.starts_with(kInfoPrefix) && header.sh_size == sizeof(FunctionAttributes)) {
      std::memcpy(&found[std::string(name.substr(kInfoPrefix.size()))].attributes, base + header.sh_offset,
                  sizeof(FunctionAttributes));
    }
  }
  for (auto& [name, kernel] : found) {
    kernel.name = name;
    kernels->push_back(kernel);
  }
  return elf.e_shoff + headers.size() * sizeof(Elf64_Shdr);
}

}  // namespace gx::fakes
