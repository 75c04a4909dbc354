// Who may include whom, what the guest library may not say, and what no file says. Read over the files of the
// repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/contract/source_text.h"

namespace gx::contract {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The C++ and CUDA sources below a folder of the repository, with names relative to the repository.
std::vector<std::string> SourcesOf(const std::string& folder) {
  std::vector<std::string> sources;
  const fs::path root(GX_SOURCE_DIR);
  if (!fs::is_directory(root / folder)) return sources;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".cuh") {
      sources.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  return sources;
}

// Every text file of the project, new ones too, with names relative to the repository. Build folders and what editors
// and tools leave in hidden folders are not the project's.
std::vector<std::string> TextFiles() {
  std::vector<std::string> files;
  const fs::path root(GX_SOURCE_DIR);
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      const bool is_build = entry.depth() == 0 && name.starts_with("build");
      if (is_build || name == "Testing" || name == "__pycache__" || (name.starts_with('.') && name != ".ci")) {
        entry.disable_recursion_pending();
      }
    } else if (entry->is_regular_file() && Read(entry->path()).find('\0') == std::string::npos) {
      files.push_back(fs::relative(entry->path(), root).generic_string());
    }
  }
  return files;
}

// Folders of the repository that an include path can name.
std::string_view FolderOf(std::string_view include_path) {
  for (const std::string_view folder : {"inject/", "analysis/", "kernels/", "tools/", "tests/"}) {
    if (include_path.starts_with(folder)) return folder;
  }
  return "";
}

bool IsCudaHeader(std::string_view path) {
  return path.starts_with("cuda") || path.starts_with("cupti") || path.starts_with("nvml") || path.starts_with("nvtx");
}

bool IsProtobufClass(std::string_view path) { return path.starts_with("google/protobuf/") || path.ends_with(".pb.h"); }

using IsAllowed = std::function<bool(std::string_view)>;

// "file:line includes path" for every include that the rule refuses.
std::vector<std::string> Crossings(const std::string& folder, const IsAllowed& is_allowed) {
  std::vector<std::string> crossings;
  const std::vector<std::string> sources = SourcesOf(folder);
  EXPECT_THAT(sources, Not(IsEmpty())) << "nothing to check in " << folder;
  for (const std::string& source : sources) {
    for (const Include& include : Includes(Read(fs::path(GX_SOURCE_DIR) / source))) {
      if (!is_allowed(include.path)) {
        crossings.push_back(source + ":" + std::to_string(include.line) + " includes " + include.path);
      }
    }
  }
  return crossings;
}

TEST(Layering, InjectIncludesItselfAndFieldNumbersOnly) {
  ASSERT_THAT(SourcesOf("inject"), Contains("inject/record.h"));
  EXPECT_THAT(Crossings("inject",
                        [](std::string_view path) {
                          const std::string_view folder = FolderOf(path);
                          return (folder.empty() || folder == "inject/") && !IsProtobufClass(path) &&
                                 !path.starts_with("absl/");
                        }),
              IsEmpty());
}

TEST(Layering, AnalysisIncludesNeitherCudaNorTheInjectedLibrary) {
  EXPECT_THAT(Crossings("analysis",
                        [](std::string_view path) {
                          const std::string_view folder = FolderOf(path);
                          return (folder.empty() || folder == "analysis/") && !IsCudaHeader(path);
                        }),
              IsEmpty());
}

// The analytical model can be taken into anyone's program: itself, Abseil and the standard library.
TEST(Layering, TheModelIncludesNeitherProtosNorFilesNorCuda) {
  EXPECT_THAT(Crossings("analysis/model",
                        [](std::string_view path) {
                          return (path.starts_with("analysis/model/") || FolderOf(path).empty()) &&
                                 !IsCudaHeader(path) && !path.starts_with("gpuexec/") && !IsProtobufClass(path) &&
                                 path != "fstream" && path != "filesystem" && path != "cstdio";
                        }),
              IsEmpty());
}

TEST(Layering, KernelsIncludeNothingOfOurs) {
  EXPECT_THAT(Crossings("kernels",
                        [](std::string_view path) {
                          const std::string_view folder = FolderOf(path);
                          return (folder.empty() || folder == "kernels/") && !path.starts_with("gpuexec/") &&
                                 !IsProtobufClass(path) && !path.starts_with("absl/");
                        }),
              IsEmpty());
}

TEST(Layering, ToolsStandOnAnalysisAlone) {
  EXPECT_THAT(Crossings("tools",
                        [](std::string_view path) {
                          const std::string_view folder = FolderOf(path);
                          return folder.empty() || folder == "analysis/" || folder == "tools/";
                        }),
              IsEmpty());
}

TEST(GuestWords, InjectNeitherEndsTheProcessNorThrowsNorPrints) {
  const std::vector<std::string_view> forbidden = {
      "throw",    "abort(",    "exit(",     "_exit(",  "_Exit(",   "quick_exit(", "terminate(", "assert(",
      "cout",     "cerr",      "clog",      "printf(", "fprintf(", "vprintf(",    "vfprintf(",  "dprintf(",
      "sprintf(", "vsprintf(", "vdprintf(", "perror(", "puts(",    "fputs(",      "putchar(",   "stdout",
  };
  std::vector<std::string> uses;
  const std::vector<std::string> sources = SourcesOf("inject");
  ASSERT_THAT(sources, Contains("inject/record.h"));
  for (const std::string& source : sources) {
    const std::string text = Read(fs::path(GX_SOURCE_DIR) / source);
    for (const WordUse& use : UsesOf(text, forbidden)) {
      uses.push_back(source + ":" + std::to_string(use.line) + " says " + use.word);
    }
    for (const Include& include : Includes(text)) {
      for (const std::string_view header : {"iostream", "ostream", "fstream", "cassert", "assert.h"}) {
        if (include.path == header) uses.push_back(source + " includes " + include.path);
      }
    }
  }
  EXPECT_THAT(uses, IsEmpty());
}

// What has no place in code, comments and documents: notes to be done later, paths of one machine, and package hosts,
// which are for a package manager's own configuration to name. Written so that this file does not match.
const std::regex& UnwantedText() {
  static const std::regex kUnwanted(
      R"re(\b(TOD[O]|FIXM[E]|XX[X])\b)re"
      R"re(|(^|[^A-Za-z0-9_.}])/(roo[t]|wor[k])/)re"
      R"re(|deb[.]debian[.]org|archive[.]ubuntu[.]com|registry[.]npmjs|pypi[.]org|pythonhosted[.]org)re"
      R"re(|proxy[.]golang[.]org|crates[.]io)re");
  return kUnwanted;
}

TEST(ProjectWords, NoFileNamesAMachineAPackageHostOrWorkForLater) {
  const std::vector<std::string> files = TextFiles();
  ASSERT_THAT(files, Contains("README.md"));
  ASSERT_THAT(files, Contains("tests/contract/source_rules_test.cc"));
  ASSERT_THAT(files, Contains("tools/demo"));
  std::vector<std::string> uses;
  for (const std::string& file : files) {
    std::istringstream in(Read(fs::path(GX_SOURCE_DIR) / file));
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      std::smatch match;
      // Lines of generated expectations are long, and std::regex recurses with their length.
      if (line.size() <= 4096 && std::regex_search(line, match, UnwantedText())) {
        uses.push_back(file + ":" + std::to_string(number) + " says " + match.str());
      }
    }
  }
  EXPECT_THAT(uses, IsEmpty());
}

TEST(ProjectWords, AreFoundAsWordsAndPathsOnly) {
  const std::string slash = "/";
  for (const std::string& text : {std::string("// TO").append("DO: later"), slash + "root/notes",
                                  "at \"" + slash + "work/x\"", std::string("from deb.").append("debian.org")}) {
    EXPECT_TRUE(std::regex_search(text, UnwantedText())) << text;
  }
  for (const std::string text : {"mktemp gpuexec.XXXXXX", "$work/raw", "${folder}/work/part", "AUTODOC"}) {
    EXPECT_FALSE(std::regex_search(text, UnwantedText())) << text;
  }
}

TEST(SourceText, CommentsAndLiteralsAreNotCode) {
  EXPECT_EQ(CodeOnly("a; // throw\nb /* abort() \n */ c(\"exit(\\\"1\\\")\", '\"');"), "a; \nb \n  c(\"\", '');");
  EXPECT_EQ(CodeOnly("R\"x(throw )\" )x\";"), "R\"\";");
  EXPECT_EQ(CodeOnly("1'000'000"), "1'000'000");
}

TEST(SourceText, FindsWholeWordsAndCalls) {
  const auto uses = UsesOf("atexit(f);\nint exit = 1;\nstd::exit (1);\nstatic_assert(true);\nthrow 1;",
                           {"exit(", "assert(", "throw"});
  EXPECT_THAT(uses, ElementsAre(Field(&WordUse::line, 3), Field(&WordUse::line, 5)));
}

TEST(SourceText, FindsIncludesOfBothKindsButNotInComments) {
  const auto includes = Includes("#include <vector>\n// #include \"a.h\"\n  # include \"analysis/b.h\"  // why\n");
  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].path, "vector");
  EXPECT_FALSE(includes[0].is_quoted);
  EXPECT_EQ(includes[1].path, "analysis/b.h");
  EXPECT_TRUE(includes[1].is_quoted);
  EXPECT_EQ(includes[1].line, 3);
}

}  // namespace
}  // namespace gx::contract
