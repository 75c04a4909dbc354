// Reads C++ source text as far as the source rules need it: code without comments and literals, and include lines.
// Pure functions, no threads.
#ifndef GPUEXEC_TESTS_CONTRACT_SOURCE_TEXT_H_
#define GPUEXEC_TESTS_CONTRACT_SOURCE_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace gx::contract {

struct Include {
  int line = 0;
  std::string path;        // as written, without quotes or brackets
  bool is_quoted = false;  // "path", not <path>
};

struct WordUse {
  int line = 0;
  std::string word;
};

// The text with comments blanked and the inside of string and character literals removed. Line breaks stay.
std::string CodeOnly(std::string_view text);

// The include lines of a source, comments ignored.
std::vector<Include> Includes(std::string_view text);

// Uses of any of the words as a whole identifier in the code. A word that ends in '(' is found only where it is called.
std::vector<WordUse> UsesOf(std::string_view text, const std::vector<std::string_view>& words);

}  // namespace gx::contract

#endif  // GPUEXEC_TESTS_CONTRACT_SOURCE_TEXT_H_
