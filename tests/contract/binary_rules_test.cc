// What the built binaries export, need and call: checked on the files that are shipped, with nm and readelf.
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gx::contract {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Output of a command, line by line. Fails the test when the command fails.
std::vector<std::string> Lines(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run " << command;
    return lines;
  }
  std::string output;
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Shared libraries that the loader must find for this binary.
std::vector<std::string> Needed(const std::string& binary) {
  static const std::regex kNeeded(R"(.*\(NEEDED\).*\[(.*)\].*)");
  std::vector<std::string> needed;
  for (const std::string& line : Lines(GX_READELF " -d --wide '" + binary + "'")) {
    std::smatch match;
    if (std::regex_match(line, match, kNeeded)) needed.push_back(match[1].str());
  }
  return needed;
}

struct Symbol {
  std::string name;
  std::string version;  // as in GLIBC_2.34; empty if none
  char type = '?';
};

// Dynamic symbols; option is --defined-only or --undefined-only.
[[maybe_unused]] std::vector<Symbol> DynamicSymbols(const std::string& binary, const std::string& option) {
  static const std::regex kSymbol(R"(^[0-9a-f ]* *([A-Za-z]) ([^@]+?)(?:@@?(.*))?$)");
  std::vector<Symbol> symbols;
  for (const std::string& line : Lines(GX_NM " -D " + option + " '" + binary + "'")) {
    std::smatch match;
    if (std::regex_match(line, match, kSymbol)) {
      symbols.push_back({match[2].str(), match[3].str(), match[1].str().front()});
    } else {
      ADD_FAILURE() << "not understood: " << line;
    }
  }
  return symbols;
}

[[maybe_unused]] std::vector<std::string> Names(const std::vector<Symbol>& symbols) {
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols) {
    if (symbol.type != 'A') names.push_back(symbol.name);  // 'A': the version node itself
  }
  return names;
}

// What every Linux machine with a C++ program on it has.
const auto kBaseLibrary =
    MatchesRegex("(libc|libm|libpthread|libdl)\\.so\\.[0-9]|libstdc\\+\\+\\.so\\.6|libgcc_s\\.so\\.1|ld-linux.*");

#ifdef GX_INJECT_LIBRARY

TEST(InjectLibrary, ExportsItsEntryPointsAndNothingElse) {
  EXPECT_THAT(Names(DynamicSymbols(GX_INJECT_LIBRARY, "--defined-only")),
              UnorderedElementsAre("InitializeInjection", "InitializeInjectionNvtx2"));
}

TEST(InjectLibrary, NeedsBaseLibrariesOnly) {
  const auto needed = Needed(GX_INJECT_LIBRARY);
  ASSERT_THAT(needed, Not(IsEmpty()));
  EXPECT_THAT(needed, Each(kBaseLibrary));
}

TEST(InjectLibrary, LeavesDriverAndCuptiFunctionsToItsRunTimeTables) {
  EXPECT_THAT(Names(DynamicSymbols(GX_INJECT_LIBRARY, "--undefined-only")),
              Each(Not(MatchesRegex("cu[A-Z].*|cuda[A-Z].*|cupti.*|nvml.*|nvtx.*|NVPW.*"))));
}

TEST(InjectLibrary, CallsNothingThatEndsOrPrintsInItsHost) {
  EXPECT_THAT(Names(DynamicSymbols(GX_INJECT_LIBRARY, "--undefined-only")),
              Each(Not(AnyOf("__assert_fail", "__assert_perror_fail", "abort", "exit", "_exit", "_Exit", "quick_exit",
                             "printf", "__printf_chk", "puts", "putchar", "stdout", "perror"))));
}

TEST(InjectLibrary, LoadsWhereGlibcIs234) {
  // A newer build host binds to newer symbol versions by itself; the rule is for the one that releases are built on
  // (Debian 12, glibc 2.36).
  int major = 0;
  int minor = 0;
  ASSERT_EQ(std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor), 2);
  if (major > 2 || minor > 36) GTEST_SKIP() << "built against glibc " << gnu_get_libc_version();
  static const std::regex kGlibc(R"(GLIBC_2\.(\d+)(?:\.\d+)?)");
  std::vector<std::string> newer;
  for (const Symbol& symbol : DynamicSymbols(GX_INJECT_LIBRARY, "--undefined-only")) {
    std::smatch match;
    if (std::regex_match(symbol.version, match, kGlibc) && std::stoi(match[1].str()) > 34) {
      newer.push_back(symbol.name + "@" + symbol.version);
    }
  }
  EXPECT_THAT(newer, IsEmpty());
}

#endif  // GX_INJECT_LIBRARY

#ifdef GX_ANALYZE
TEST(Executables, AnalyzeCanBeCopiedToABareMachine) { EXPECT_THAT(Needed(GX_ANALYZE), Each(kBaseLibrary)); }
#endif

#ifdef GX_DUMP
TEST(Executables, DumpCanBeCopiedToABareMachine) { EXPECT_THAT(Needed(GX_DUMP), Each(kBaseLibrary)); }
#endif

#ifdef GX_MODEL
TEST(Executables, ModelCanBeCopiedToABareMachine) { EXPECT_THAT(Needed(GX_MODEL), Each(kBaseLibrary)); }
#endif

#ifdef GX_RUN
TEST(Executables, RunCanBeCopiedToABareMachine) { EXPECT_THAT(Needed(GX_RUN), Each(kBaseLibrary)); }
#endif

#ifdef GX_KERNELS
TEST(Executables, DemoKernelsCanBeCopiedToAMachineWithADriverAlone) {
  EXPECT_THAT(Needed(GX_KERNELS), Each(AnyOf(kBaseLibrary, "librt.so.1")));
}
#endif

}  // namespace
}  // namespace gx::contract
