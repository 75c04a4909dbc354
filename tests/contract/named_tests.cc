#include "tests/contract/named_tests.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace gx::contract {
namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string ReadSource(const std::string& path) { return Read(fs::path(GX_SOURCE_DIR) / path); }

std::map<std::string, std::string> AllTests() {
  static const std::regex kTest(R"(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  std::map<std::string, std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GX_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Read(entry.path());
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kTest); match != std::sregex_iterator(); ++match) {
      tests[(*match)[1].str() + "." + (*match)[2].str()] = text;
    }
  }
  return tests;
}

std::vector<std::string> NamedTests(const std::string& text) {
  // A second part that begins in lower case is the name of a file.
  static const std::regex kName(R"(`([A-Z]\w*\.[A-Z]\w*(?:/\w+)?)`)");
  std::vector<std::string> names;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), kName); match != std::sregex_iterator(); ++match) {
    names.push_back((*match)[1]);
  }
  return names;
}

std::string ProblemOf(const std::string& name, const std::map<std::string, std::string>& tests) {
  const size_t slash = name.find('/');
  const auto found = tests.find(name.substr(0, slash));
  if (found == tests.end()) return "no test " + name;
  if (slash == std::string::npos) return {};
  return found->second.find("\"" + name.substr(slash + 1) + "\"") == std::string::npos ? "no case " + name : "";
}

}  // namespace gx::contract
