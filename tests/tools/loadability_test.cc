#include "tools/support/loadability.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tests/support/temp_dir.h"
#include "tools/support/elf_file.h"

namespace gx::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A file's header, and program headers of these types behind it.
std::string Elf(uint16_t type, uint16_t machine, std::vector<uint32_t> programs = {}) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = type;
  header.e_machine = machine;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(programs.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const uint32_t kind : programs) {
    Elf64_Phdr program = {};
    program.p_type = kind;
    bytes.append(reinterpret_cast<const char*>(&program), sizeof(program));
  }
  return bytes;
}

TEST(ElfFile, TellsStaticProgramsFromDynamicOnes) {
  const auto with = ReadElfFile(Elf(ET_DYN, EM_X86_64, {PT_LOAD, PT_INTERP, PT_DYNAMIC}));
  ASSERT_TRUE(with);
  EXPECT_EQ(with->bits, 64);
  EXPECT_EQ(with->has_interpreter, true);
  EXPECT_EQ(with->is_dynamic, true);
  const auto without = ReadElfFile(Elf(ET_EXEC, EM_X86_64, {PT_LOAD}));
  ASSERT_TRUE(without);
  EXPECT_EQ(without->has_interpreter, false);
  EXPECT_EQ(without->is_dynamic, false);
}

TEST(ElfFile, WhatIsCutOrLiesIsNotJudged) {
  const std::string whole = Elf(ET_DYN, EM_X86_64, {PT_LOAD, PT_INTERP});
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = ReadElfFile(whole.substr(0, size));
    EXPECT_EQ(file.has_value(), size >= sizeof(Elf64_Ehdr)) << size;
    if (file) {
      EXPECT_EQ(file->has_interpreter, std::nullopt) << size;
    }
  }
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  header.e_phoff = UINT64_MAX - 8;
  const auto lies = ReadElfFile(std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + "more");
  ASSERT_TRUE(lies);
  EXPECT_EQ(lies->has_interpreter, std::nullopt);
}

TEST(LibraryHead, OtherMachinesAndOtherFilesAreNamed) {
  const uint16_t own = OwnElfFile().machine;
  ASSERT_NE(own, 0);
  EXPECT_EQ(JudgeLibraryHead("/l.so", Elf(ET_DYN, own)).fault, LoadFault::kNone);
  const Loadability other = JudgeLibraryHead("/l.so", Elf(ET_DYN, EM_S390));
  EXPECT_EQ(other.fault, LoadFault::kOtherMachine);
  EXPECT_THAT(other.problem, HasSubstr("/l.so is built for another machine: S/390, 64-bit; expected "));
  std::string small = Elf(ET_DYN, own);
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(JudgeLibraryHead("/l.so", small).fault, LoadFault::kOtherMachine);
  EXPECT_EQ(JudgeLibraryHead("/l.so", Elf(ET_EXEC, own)).fault, LoadFault::kNoLibrary);
  EXPECT_EQ(JudgeLibraryHead("/l.so", "#!/bin/sh\n").fault, LoadFault::kNoLibrary);
  EXPECT_THAT(JudgeLibraryHead("/l.so", "").problem, HasSubstr("is empty"));
}

struct MessageCase {
  const char* message;
  LoadFault fault;
  const char* part;
};

// Messages of glibc 2.36: elf/dl-load.c, dl-version.c, dl-lookup.c, dl-map-segments.h.
TEST(LoaderMessage, IsPutIntoASentence) {
  const MessageCase cases[] = {
      {"libfoo.so.1: cannot open shared object file: No such file or directory", LoadFault::kMissingLibrary,
       "needs libfoo.so.1, which the loader does not find"},
      {"/lib/libc.so.6: version `GLIBC_2.38' not found (required by /l.so)", LoadFault::kMissingVersion,
       "needs version GLIBC_2.38 of /lib/libc.so.6"},
      {"/l.so: undefined symbol: foo", LoadFault::kMissingSymbol, "needs the symbol foo, which"},
      {"/l.so: undefined symbol: foo, version FOO_1", LoadFault::kMissingSymbol, "needs the symbol foo, which"},
      {"/l.so: failed to map segment from shared object", LoadFault::kNotMapped, "cannot be mapped"},
      {"/l.so: file too short", LoadFault::kNoLibrary, "cut or damaged"},
      {"/l.so: cannot allocate memory in static TLS block", LoadFault::kRefused, "static TLS"},
      {"", LoadFault::kRefused, "refused"},
  };
  for (const MessageCase& test : cases) {
    const Loadability loadable = ExplainLoaderMessage("/l.so", test.message);
    EXPECT_EQ(loadable.fault, test.fault) << test.message;
    EXPECT_THAT(loadable.problem, HasSubstr(test.part));
    EXPECT_THAT(loadable.problem, ::testing::StartsWith("/l.so "));
    EXPECT_NE(loadable.advice, "") << test.message;
  }
}

TEST(LoaderMessage, ControlBytesAreEscaped) {
  const Loadability loadable = ExplainLoaderMessage("/l\x1b.so", "lib\x1b[2J.so: cannot open shared object file");
  EXPECT_THAT(loadable.problem + loadable.advice, Not(HasSubstr("\x1b")));
}

TEST(Loadable, ASoundLibraryIs) {
  const Loadability loadable = CheckLoadable(GX_SOUND_LIBRARY, {"GxElsewhere"});
  EXPECT_EQ(loadable.fault, LoadFault::kNone) << loadable.problem;
  EXPECT_EQ(loadable.problem + loadable.advice, "");
}

TEST(Loadable, AnotherLibraryIsFoundOutByWhatItExports) {
  const Loadability loadable = CheckLoadable(GX_SOUND_LIBRARY, {"GxElsewhere", "InitializeInjection"});
  EXPECT_EQ(loadable.fault, LoadFault::kNoEntryPoint);
  EXPECT_THAT(loadable.problem, HasSubstr("does not export InitializeInjection"));
}

TEST(Loadable, WhatIsMissingIsNamed) {
  const Loadability symbol = CheckLoadable(GX_NEEDS_SYMBOL, {});
  EXPECT_EQ(symbol.fault, LoadFault::kMissingSymbol);
  EXPECT_THAT(symbol.problem, HasSubstr("gx_symbol_that_no_library_has"));
  const Loadability library = CheckLoadable(GX_NEEDS_LIBRARY, {});
  EXPECT_EQ(library.fault, LoadFault::kMissingLibrary);
  EXPECT_THAT(library.problem, HasSubstr("needs libgx_elsewhere.so, which"));
}

TEST(Loadable, ACrashIsTheChildsAlone) {
  const Loadability loadable = CheckLoadable(GX_CRASHES, {});
  EXPECT_EQ(loadable.fault, LoadFault::kCrashed);
  EXPECT_THAT(loadable.problem, HasSubstr("signal 9"));
}

TEST(Loadable, FilesThatCannotBeReadAreSaidToBe) {
  const testing::TempDir folder;
  EXPECT_EQ(CheckLoadable(folder.File("none.so"), {}).fault, LoadFault::kUnreadable);
  EXPECT_EQ(CheckLoadable(folder.path(), {}).fault, LoadFault::kUnreadable);
  ASSERT_EQ(::mkfifo(folder.File("pipe.so").c_str(), 0600), 0);
  EXPECT_EQ(CheckLoadable(folder.File("pipe.so"), {}).fault, LoadFault::kUnreadable);
  std::ifstream sound(GX_SOUND_LIBRARY, std::ios::binary);
  std::string head(500, '\0');
  sound.read(head.data(), static_cast<std::streamsize>(head.size()));
  std::ofstream(folder.File("cut.so"), std::ios::binary) << head;
  const Loadability cut = CheckLoadable(folder.File("cut.so"), {});
  EXPECT_EQ(cut.fault, LoadFault::kNoLibrary) << cut.problem;
}

}  // namespace
}  // namespace gx::tools
