#include "analysis/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace gx::analysis {
namespace {

constexpr absl::string_view kIndent = "  ";
constexpr absl::string_view kGap = "  ";

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

size_t TextWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !Continues(c); }));
}

std::string CutText(absl::string_view text, size_t width) {
  if (TextWidth(text) <= width) return std::string(text);
  const std::string dots(std::min<size_t>(width, 3), '.');
  const size_t kept = width - dots.size();
  size_t end = 0;
  for (size_t seen = 0; end < text.size(); ++end) {
    if (!Continues(text[end]) && seen++ == kept) break;
  }
  return absl::StrCat(text.substr(0, end), dots);
}

std::vector<absl::string_view> WrapText(absl::string_view text, size_t width) {
  std::vector<absl::string_view> pieces;
  while (text.size() > width && width > 0) {
    // The space behind the comma is not part of the piece.
    size_t space = text.rfind(", ", width - 1);
    space = space == absl::string_view::npos || space < width / 4 * 3 ? text.rfind(' ', width) : space + 1;
    if (space == absl::string_view::npos || space == 0) space = text.find(' ', width);
    if (space == absl::string_view::npos) break;
    pieces.push_back(absl::StripTrailingAsciiWhitespace(text.substr(0, space)));
    text = absl::StripLeadingAsciiWhitespace(text.substr(space));
  }
  pieces.push_back(text);
  return pieces;
}

void TextTable::Add(Column column) { columns_.push_back({std::move(column), {}}); }

void TextTable::Put(std::string text) {
  columns_[next_].cells.push_back(std::move(text));
  next_ = (next_ + 1) % columns_.size();
}

std::vector<TextTable::Shown> TextTable::Fit(size_t max_width) const {
  std::vector<Shown> shown;
  for (const Filled& filled : columns_) {
    size_t width = TextWidth(filled.column.title);
    for (const std::string& cell : filled.cells) width = std::max(width, TextWidth(cell));
    shown.push_back({&filled, width});
  }
  if (max_width == 0) return shown;
  const auto least = [](const Shown& column) {
    const size_t min_width = column.column->column.min_width;
    return min_width == 0 ? column.width : std::min(min_width, column.width);
  };
  const auto total = [&](auto width_of) {
    size_t sum = kIndent.size();
    for (const Shown& column : shown) sum += width_of(column) + kGap.size();
    return sum - kGap.size();
  };
  const auto rank = [](const Shown& column) { return column.column->column.leave_out_rank; };
  while (total(least) > max_width) {
    const auto first =
        std::max_element(shown.begin(), shown.end(), [&](const Shown& a, const Shown& b) { return rank(a) < rank(b); });
    if (rank(*first) == 0) break;
    shown.erase(first);
  }
  // The widest one is cut first, so that a short cell is not cut for a long one's sake.
  while (total([](const Shown& column) { return column.width; }) > max_width) {
    Shown* widest = nullptr;
    for (Shown& column : shown) {
      if (column.width > least(column) && (widest == nullptr || column.width > widest->width)) widest = &column;
    }
    if (widest == nullptr) break;
    --widest->width;
  }
  return shown;
}

std::vector<std::string> TextTable::Lines(size_t max_width) const {
  const std::vector<Shown> shown = Fit(max_width);
  const auto line_of = [&](auto text_of) {
    std::string line(kIndent);
    for (size_t c = 0; c < shown.size(); ++c) {
      const bool last = c + 1 == shown.size();
      const bool right = shown[c].column->column.right;
      const std::string text = CutText(text_of(*shown[c].column), shown[c].width);
      const std::string fill(shown[c].width - TextWidth(text), ' ');
      absl::StrAppend(&line, right ? fill : "", text, right || last ? "" : fill, last ? "" : kGap);
    }
    return max_width == 0 ? line : CutText(line, max_width);
  };
  std::vector<std::string> lines = {line_of([](const Filled& filled) { return filled.column.title; })};
  const size_t rows = columns_.empty() ? 0 : columns_.front().cells.size();
  for (size_t r = 0; r < rows; ++r) lines.push_back(line_of([r](const Filled& filled) { return filled.cells[r]; }));
  return lines;
}

std::vector<std::string> TextTable::LeftOut(size_t max_width) const {
  const std::vector<Shown> shown = Fit(max_width);
  std::vector<std::string> titles;
  for (const Filled& filled : columns_) {
    const bool there =
        std::any_of(shown.begin(), shown.end(), [&](const Shown& column) { return column.column == &filled; });
    if (!there) titles.push_back(filled.column.title);
  }
  return titles;
}

}  // namespace gx::analysis
