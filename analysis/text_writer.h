// Lines, headings and labelled fields of a text report, painted where a terminal shows colours. Owned by one thread.
#ifndef GPUEXEC_ANALYSIS_TEXT_WRITER_H_
#define GPUEXEC_ANALYSIS_TEXT_WRITER_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "analysis/text_table.h"

namespace gx::analysis {

enum class Colour { kNone, kBold, kRed, kYellow, kDim };

// Lines of prose are broken here.
inline constexpr size_t kWrapColumns = 120;

class TextWriter {
 public:
  explicit TextWriter(bool colour) : colour_(colour) {}

  std::string Paint(Colour colour, absl::string_view text) const {
    if (!colour_ || colour == Colour::kNone) return std::string(text);
    const absl::string_view code = colour == Colour::kBold     ? "1"
                                   : colour == Colour::kRed    ? "31"
                                   : colour == Colour::kYellow ? "33"
                                                               : "2";
    return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
  }
  void Heading(absl::string_view text) {
    absl::StrAppend(&out_, out_.empty() ? "" : "\n", Paint(Colour::kBold, text), "\n");
  }
  void Line(absl::string_view text) { absl::StrAppend(&out_, text, "\n"); }
  // "  label          text"; nothing where the text is empty.
  void Field(absl::string_view label, absl::string_view text) {
    if (!text.empty()) Line(absl::StrFormat("  %-18s%s", std::string(label), std::string(text)));
  }
  // The same, over several lines where the text is long.
  void WrappedField(absl::string_view label, absl::string_view text) {
    for (const absl::string_view piece : WrapText(text, kWrapColumns)) {
      Field(label, piece);
      label = "";
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  const bool colour_;
  std::string out_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TEXT_WRITER_H_
