#include "analysis/printable.h"

#include <cstddef>

#include "absl/strings/str_format.h"

namespace gx::analysis {
namespace {

unsigned Byte(absl::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

// Length of the UTF-8 sequence at `i` that stands for a printable character; 0: none does. Refuses overlong forms,
// surrogates, C1 controls (U+0080..U+009F: a terminal may obey them) and the bidirectional controls, which would make
// a line read in another order than it is stored.
size_t PrintableLength(absl::string_view text, size_t i) {
  const unsigned first = Byte(text, i);
  if (first >= 0x20 && first < 0x7F) return 1;
  size_t length = 0;
  unsigned code = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
    code = first & 0x1F;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    code = first & 0x0F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    code = first & 0x07;
  } else {
    return 0;
  }
  if (i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((Byte(text, i + k) & 0xC0) != 0x80) return 0;
    code = code << 6 | (Byte(text, i + k) & 0x3F);
  }
  if (length == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) return 0;
  if (length == 4 && (code < 0x10000 || code > 0x10FFFF)) return 0;
  if (code >= 0x80 && code <= 0x9F) return 0;
  if ((code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\\') {
      out += "\\\\";
      ++i;
    } else if (const size_t length = PrintableLength(text, i); length > 0) {
      out.append(text.data() + i, length);
      i += length;
    } else {
      if (text[i] == '\n') {
        out += "\\n";
      } else if (text[i] == '\t') {
        out += "\\t";
      } else {
        absl::StrAppendFormat(&out, "\\x%02x", Byte(text, i));
      }
      ++i;
    }
  }
  return out;
}

}  // namespace gx::analysis
