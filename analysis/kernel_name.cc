#include "analysis/kernel_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

bool IsNameByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// Whether the name looks made to exhaust memory: in text like AI..S1_S1_E..S2_S2_E each new substitution stands for
// twice the one before, so the demangled text grows as 2^n. Counts ever newer substitutions that stand twice close
// together; real names repeat a few (parameter types). A rule of thumb: the library's demangler has no limit of its
// own.
bool MayExplode(absl::string_view mangled) {
  constexpr int kMaxDoublings = 18;
  int doublings = 0;
  int64_t largest_doubled = -1;
  int64_t previous = -2;
  size_t previous_end = 0;
  for (size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T') continue;
    size_t end = i + 1;
    int64_t index = 0;
    while (end < mangled.size() && end - i < 8 &&
           (std::isdigit(static_cast<unsigned char>(mangled[end])) != 0 ||
            std::isupper(static_cast<unsigned char>(mangled[end])) != 0)) {
      const char c = mangled[end];
      index = index * 36 + (c <= '9' ? c - '0' : c - 'A' + 10) + 1;
      ++end;
    }
    if (end >= mangled.size() || mangled[end] != '_') continue;
    ++end;
    // The same thing twice, close together, and newer than all that was doubled before.
    if (index == previous && i - previous_end <= 4 && index > largest_doubled) {
      ++doublings;
      largest_doubled = index;
    }
    previous = index;
    previous_end = end;
    i = end - 1;
  }
  return doublings > kMaxDoublings;
}

// Index after the bracket that closes the one at `open`; text.size() where none does. '<' and '>' of operators and
// arrows are not brackets.
size_t AfterBracket(absl::string_view text, size_t open) {
  std::vector<char> closers;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (absl::StartsWith(text.substr(i), "operator") && (i == 0 || !IsNameByte(text[i - 1]))) {
      size_t end = i + 8;
      while (end < text.size() && (text[end] == '<' || text[end] == '>' || text[end] == '=' || text[end] == '-')) {
        ++end;
      }
      if (absl::StartsWith(text.substr(end), "()")) end += 2;
      if (end > i + 8) {
        i = end - 1;
        continue;
      }
    }
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      ++i;
      continue;
    }
    if (c == '(') closers.push_back(')');
    if (c == '<') closers.push_back('>');
    if (c == '{') closers.push_back('}');
    if (c == '[') closers.push_back(']');
    if ((c == ')' || c == '>' || c == '}' || c == ']') && !closers.empty()) {
      // A stray '>' inside parentheses is a comparison in a template argument.
      if (c == '>' && closers.back() != '>') continue;
      while (!closers.empty() && closers.back() != c) closers.pop_back();
      if (!closers.empty()) closers.pop_back();
      if (closers.empty()) return i + 1;
    }
  }
  return text.size();
}

constexpr absl::string_view kAnonymous = "(anonymous namespace)";

// One level of a name: "foo", "foo<int>", "(anonymous namespace)", "{lambda(int)#1}", "operator()".
struct Component {
  absl::string_view name;
  absl::string_view template_arguments;  // Without the brackets; of the last list, if several.
};

// The components of the qualified name at the start of a function's demangled text (its return type removed).
std::vector<Component> SplitName(absl::string_view text) {
  std::vector<Component> components;
  Component current;
  size_t begin = 0;
  size_t i = 0;
  const auto finish = [&](size_t end) {
    if (current.name.empty()) current.name = text.substr(begin, end - begin);
    components.push_back(current);
    current = Component{};
  };
  while (i < text.size()) {
    if (i == begin && absl::StartsWith(text.substr(i), kAnonymous)) {
      i += kAnonymous.size();
    } else if (i == begin && absl::StartsWith(text.substr(i), "operator") &&
               (i + 8 >= text.size() || !IsNameByte(text[i + 8]))) {
      // operator(), operator<, operator->, operator bool, ...
      size_t end = i + 8;
      if (absl::StartsWith(text.substr(end), "()")) {
        end += 2;
      } else {
        // "operator<< <int>": the space ends the operator.
        while (end < text.size() && text[end] != '(' && text[end] != ' ' && !IsNameByte(text[end])) ++end;
      }
      i = end;
      current.name = text.substr(begin, i - begin);
    } else if (text[i] == '{') {
      i = AfterBracket(text, i);
    } else if (text[i] == '<') {
      if (current.name.empty()) current.name = text.substr(begin, i - begin);
      const size_t end = AfterBracket(text, i);
      current.template_arguments = text.substr(i + 1, end - i - (end > i + 1 ? 2 : 1));
      i = end;
    } else if (text[i] == '(') {
      // Parameters: of the function, or of a function that a local name is inside of.
      if (current.name.empty()) current.name = text.substr(begin, i - begin);
      i = AfterBracket(text, i);
      const size_t scope = text.find("::", i);
      if (scope == absl::string_view::npos) break;
      i = scope;
    } else if (absl::StartsWith(text.substr(i), "::")) {
      finish(i);
      i += 2;
      begin = i;
    } else if (text[i] == '[' || text[i] == ' ') {
      // "[clone .isra.0]", "[abi:cxx11]" and qualifiers after the parameters.
      if (current.name.empty()) current.name = text.substr(begin, i - begin);
      i = text[i] == '[' ? AfterBracket(text, i) : i + 1;
    } else {
      ++i;
    }
  }
  finish(std::min(i, text.size()));
  return components;
}

// Text after the return type: templates have one ("void f<int>(int)"), plain functions have none.
absl::string_view WithoutReturnType(absl::string_view text) {
  size_t after_space = 0;
  for (size_t i = 0; i < text.size();) {
    if (absl::StartsWith(text.substr(i), kAnonymous)) {
      i += kAnonymous.size();
    } else if (absl::StartsWith(text.substr(i), "operator") && (i == 0 || !IsNameByte(text[i - 1])) &&
               (i + 8 >= text.size() || !IsNameByte(text[i + 8]))) {
      break;
    } else if (text[i] == '(' && !absl::StartsWith(text.substr(after_space), "decltype")) {
      break;
    } else if (text[i] == '<' || text[i] == '{' || text[i] == '(') {
      i = AfterBracket(text, i);
    } else if (text[i] == ' ') {
      after_space = ++i;
    } else {
      ++i;
    }
  }
  return text.substr(after_space);
}

std::vector<absl::string_view> SplitArguments(absl::string_view arguments) {
  std::vector<absl::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i < arguments.size();) {
    const char c = arguments[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      i = AfterBracket(arguments, i);
    } else if (c == ',') {
      parts.push_back(absl::StripAsciiWhitespace(arguments.substr(begin, i - begin)));
      begin = ++i;
    } else {
      ++i;
    }
  }
  if (begin < arguments.size()) parts.push_back(absl::StripAsciiWhitespace(arguments.substr(begin)));
  return parts;
}

bool IsLambda(absl::string_view name) { return absl::StartsWith(name, "{"); }

// Types that say how, not what.
bool IsPlainType(absl::string_view type) {
  constexpr std::array<absl::string_view, 22> kPlain = {
      "bool",   "char",     "signed",        "unsigned",    "short", "int",    "long",  "float",
      "double", "void",     "half",          "__half",      "const", "true",   "false", "auto",
      "Half",   "BFloat16", "__nv_bfloat16", "nv_bfloat16", "Array", "complex"};
  const size_t end =
      static_cast<size_t>(std::find_if(type.begin(), type.end(), [](char c) { return !IsNameByte(c); }) - type.begin());
  const absl::string_view word = type.substr(0, end);
  return word.empty() || std::find(kPlain.begin(), kPlain.end(), word) != kPlain.end() ||
         absl::StartsWith(word, "__nv_") || absl::EndsWith(word, "Metadata");
}

// PyTorch's adapters around an operation: what they are given says more than they do.
bool IsAdapter(absl::string_view name) {
  constexpr std::array<absl::string_view, 8> kAdapters = {"ReduceOp",
                                                          "func_wrapper_t",
                                                          "gpu_kernel_impl",
                                                          "BinaryFunctor",
                                                          "gpu_kernel_impl_nocast",
                                                          "AUnaryFunctor",
                                                          "BUnaryFunctor",
                                                          "opmath_gpu_kernel_with_scalars"};
  return std::find(kAdapters.begin(), kAdapters.end(), name) != kAdapters.end();
}

// The name of the operation that a template argument stands for, "" where it stands for none.
absl::string_view Operation(absl::string_view argument, int depth = 0) {
  constexpr int kMaxDepth = 4;
  if (argument.empty() || argument[0] == '(' || argument[0] == '-' ||
      std::isdigit(static_cast<unsigned char>(argument[0])) != 0 || absl::StartsWith(argument, "std::") ||
      absl::StartsWith(argument, "cuda::std::")) {
    return "";
  }
  const std::vector<Component> components = SplitName(argument);
  // From the inside: the last name that is neither a lambda nor operator().
  for (auto component = components.rbegin(); component != components.rend(); ++component) {
    const absl::string_view name = absl::StripAsciiWhitespace(component->name);
    if (name.empty() || IsLambda(name) || name == kAnonymous || absl::StartsWith(name, "operator")) continue;
    if (IsAdapter(name) && depth < kMaxDepth) {
      for (const absl::string_view inner : SplitArguments(component->template_arguments)) {
        const absl::string_view operation = Operation(inner, depth + 1);
        if (!operation.empty()) return operation;
      }
    }
    return IsPlainType(name) ? absl::string_view() : name;
  }
  return "";
}

}  // namespace

std::string FullKernelName(absl::string_view mangled) {
  // A NUL byte would end the name for the demangler.
  const bool demanglable = absl::StartsWith(mangled, "_Z") && mangled.size() <= kMaxDemangledInputBytes &&
                           mangled.find('\0') == absl::string_view::npos && !MayExplode(mangled);
  if (demanglable) {
    int status = 0;
    const std::unique_ptr<char, FreeText> text(
        abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status));
    if (status == 0 && text != nullptr) {
      absl::string_view demangled = text.get();
      if (demangled.size() > kMaxShownNameBytes) {
        return absl::StrCat(Printable(demangled.substr(0, kMaxShownNameBytes)), "...");
      }
      return Printable(demangled);
    }
  }
  if (mangled.size() > kMaxShownNameBytes) {
    return absl::StrCat(Printable(mangled.substr(0, kMaxShownNameBytes)), "...");
  }
  return Printable(mangled);
}

std::string ShortKernelName(absl::string_view full_name) {
  // Names that are not C++ (Triton, cuBLAS, hand-written) have none of these.
  if (full_name.find_first_of("<(:") == absl::string_view::npos) return std::string(full_name);
  const absl::string_view name = WithoutReturnType(full_name);
  const std::vector<Component> components = SplitName(name);
  std::string joined;
  absl::string_view operation;
  for (const Component& component : components) {
    const absl::string_view part = absl::StripAsciiWhitespace(component.name);
    if (part.empty() || part == kAnonymous) continue;
    const absl::string_view shown = IsLambda(part) ? absl::string_view("{lambda}") : part;
    absl::StrAppend(&joined, joined.empty() ? "" : "::", shown);
  }
  if (!components.empty()) {
    for (const absl::string_view argument : SplitArguments(components.back().template_arguments)) {
      operation = Operation(argument);
      if (!operation.empty()) break;
    }
  }
  if (joined.empty()) return std::string(full_name);
  if (!operation.empty()) absl::StrAppend(&joined, "<", operation, ">");
  return joined;
}

}  // namespace gx::analysis
