// A table of text in aligned columns, as wide as it needs or as a terminal is. Pure; owned by one thread.
//
//   TextTable table;
//   table.Add({.title = "calls"});
//   table.Add({.title = "name", .right = false, .min_width = 16});
//   for (...) { table.Put("30"); table.Put("axpy"); }
//   for (const std::string& line : table.Lines(80)) ...
#ifndef GPUEXEC_ANALYSIS_TEXT_TABLE_H_
#define GPUEXEC_ANALYSIS_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::analysis {

// Columns of a terminal that a text takes: characters of UTF-8, each taken to be one wide.
size_t TextWidth(absl::string_view text);
// At most `width` wide; what is cut ends in "..." ("." or ".." where there is no room for more).
std::string CutText(absl::string_view text, size_t width);

// The text in pieces of at most `width` bytes: broken behind a comma near the end, else at a space. A word that
// is longer stays whole. At least one piece.
std::vector<absl::string_view> WrapText(absl::string_view text, size_t width);

class TextTable {
 public:
  struct Column {
    std::string title;
    // Aligned to the right.
    bool right = true;
    // Cells may be cut to this width where the table must become narrower. 0: never.
    size_t min_width = 0;
    // The column with the highest number is left out first where the table must become narrower. 0: never.
    int leave_out_rank = 0;
  };

  void Add(Column column);
  // Cells come row by row. Every row is completed before Lines.
  void Put(std::string text);

  // The titles, then one line a row. max_width 0: as wide as needed. Columns are left out first, then cells are cut,
  // and lines are in the end.
  std::vector<std::string> Lines(size_t max_width) const;
  // Titles of the columns that Lines leaves out at this width, in their order.
  std::vector<std::string> LeftOut(size_t max_width) const;

 private:
  struct Filled {
    Column column;
    std::vector<std::string> cells;
  };
  struct Shown {
    const Filled* column = nullptr;
    size_t width = 0;
  };
  std::vector<Shown> Fit(size_t max_width) const;

  std::vector<Filled> columns_;
  size_t next_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TEXT_TABLE_H_
