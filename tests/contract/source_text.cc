#include "tests/contract/source_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <regex>
#include <sstream>

namespace gx::contract {
namespace {

bool IsIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks comments; literals too when asked.
std::string Blank(std::string_view text, bool blank_literals) {
  std::string out;
  out.reserve(text.size());
  size_t i = 0;
  const auto at = [&](size_t k) { return k < text.size() ? text[k] : '\0'; };
  while (i < text.size()) {
    const char c = text[i];
    if (c == '/' && at(i + 1) == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (c == '/' && at(i + 1) == '*') {
      const size_t end = std::min(text.find("*/", i + 2), text.size());
      for (; i < end; ++i) {
        if (text[i] == '\n') out += '\n';
      }
      i = std::min(i + 2, text.size());
      out += ' ';
    } else if (c == '"' && !out.empty() && out.back() == 'R') {
      // R"delimiter( ... )delimiter"
      const size_t open = std::min(text.find('(', i), text.size());
      std::string close = ")";
      close.append(text.substr(i + 1, open - i - 1)).append("\"");
      const size_t end = std::min(text.find(close, open), text.size());
      out += '"';
      for (; i < end; ++i) {
        if (text[i] == '\n') out += '\n';
      }
      i = std::min(end + close.size(), text.size());
      out += '"';
    } else if (c == '"' || (c == '\'' && (out.empty() || !std::isdigit(static_cast<unsigned char>(out.back()))))) {
      const size_t begin = i++;
      while (i < text.size() && text[i] != c && text[i] != '\n') i += text[i] == '\\' ? 2U : 1U;
      i = std::min(i, text.size());
      const bool closed = i < text.size() && text[i] == c;
      if (closed) ++i;
      if (blank_literals) {
        out += c;
        if (closed) out += c;
      } else {
        out += text.substr(begin, i - begin);
      }
    } else {
      out += c;
      ++i;
    }
  }
  return out;
}

}  // namespace

std::string CodeOnly(std::string_view text) { return Blank(text, true); }

std::vector<Include> Includes(std::string_view text) {
  static const std::regex kLine(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*$)re");
  std::vector<Include> includes;
  std::istringstream in(Blank(text, false));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (std::regex_match(line, match, kLine)) {
      includes.push_back({number, match[2].str(), match[1].str() == "\""});
    }
  }
  return includes;
}

std::vector<WordUse> UsesOf(std::string_view text, const std::vector<std::string_view>& words) {
  std::vector<WordUse> uses;
  std::istringstream in(CodeOnly(text));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    size_t i = 0;
    while (i < line.size()) {
      if (!IsIdentifier(line[i])) {
        ++i;
        continue;
      }
      const size_t begin = i;
      while (i < line.size() && IsIdentifier(line[i])) ++i;
      const std::string identifier = line.substr(begin, i - begin);
      size_t next = i;
      while (next < line.size() && line[next] == ' ') ++next;
      const bool is_called = next < line.size() && line[next] == '(';
      for (const std::string_view word : words) {
        const bool needs_call = word.ends_with('(');
        const std::string_view name = needs_call ? word.substr(0, word.size() - 1) : word;
        if (identifier == name && (!needs_call || is_called)) uses.push_back({number, std::string(word)});
      }
    }
  }
  return uses;
}

}  // namespace gx::contract
