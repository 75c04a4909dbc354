#include "analysis/file_window.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trace_builder.h"

namespace gx::analysis {
namespace {

using ::gx::testing::IsOkAndHolds;
using ::gx::testing::StatusIs;
using ::gx::testing::TempDir;
using ::gx::testing::WriteFile;
using ::testing::HasSubstr;

TEST(FileWindow, AnySpanInAnyOrderIsTheFilesBytes) {
  const TempDir dir;
  std::mt19937 random(1);
  std::string bytes(3 * FileWindow::kChunkBytes + 17, '\0');
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
  ASSERT_TRUE(WriteFile(dir.File("f"), bytes));
  GX_ASSERT_OK_AND_ASSIGN(FileWindow window, FileWindow::Open(dir.File("f")));
  EXPECT_EQ(window.size_bytes(), bytes.size());
  for (int i = 0; i < 200; ++i) {
    const size_t offset = random() % (bytes.size() + 10);
    const size_t length = random() % (i % 2 == 0 ? 100 : 2 * FileWindow::kChunkBytes);
    const std::string expected = offset >= bytes.size() ? "" : bytes.substr(offset, length);
    GX_ASSERT_OK_AND_ASSIGN(const absl::string_view got, window.View(offset, length));
    ASSERT_EQ(got, expected) << offset << " " << length;
    GX_ASSERT_OK_AND_ASSIGN(const absl::string_view more, window.ViewAtLeast(offset, length));
    ASSERT_GE(more.size(), expected.size());
    ASSERT_EQ(more, offset >= bytes.size() ? "" : bytes.substr(offset, more.size()));
  }
}

TEST(FileWindow, MoreThanTheFileHoldsIsWhatTheFileHolds) {
  const TempDir dir;
  ASSERT_TRUE(WriteFile(dir.File("f"), "abcdef"));
  GX_ASSERT_OK_AND_ASSIGN(FileWindow window, FileWindow::Open(dir.File("f")));
  EXPECT_THAT(window.View(4, size_t{1} << 60), IsOkAndHolds("ef"));
  EXPECT_THAT(window.View(6, 1), IsOkAndHolds(""));
  EXPECT_THAT(window.View(~uint64_t{0}, 1), IsOkAndHolds(""));
}

TEST(FileWindow, AFileThatIsCutMeanwhileEndsThere) {
  const TempDir dir;
  ASSERT_TRUE(WriteFile(dir.File("f"), std::string(3 * FileWindow::kChunkBytes, 'x')));
  GX_ASSERT_OK_AND_ASSIGN(FileWindow window, FileWindow::Open(dir.File("f")));
  ASSERT_EQ(::truncate(dir.File("f").c_str(), 10), 0);
  EXPECT_THAT(window.View(5, 100), IsOkAndHolds("xxxxx"));
  EXPECT_EQ(window.size_bytes(), 10u);
}

TEST(FileWindow, NextDataNeverPassesData) {
  const TempDir dir;
  ASSERT_TRUE(WriteFile(dir.File("f"), "abc"));
  ASSERT_EQ(::truncate(dir.File("f").c_str(), 10 << 20), 0);
  const int descriptor = ::open(dir.File("f").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::pwrite(descriptor, "x", 1, 5 << 20), 1);
  ::close(descriptor);
  GX_ASSERT_OK_AND_ASSIGN(const FileWindow window, FileWindow::Open(dir.File("f")));
  EXPECT_EQ(window.NextData(1), 1u);
  EXPECT_LE(window.NextData(1 << 20), 5u << 20) << "a file system without holes may answer earlier";
  EXPECT_LE(window.NextData((5 << 20) + 1), 10u << 20);
  EXPECT_EQ(window.NextData(11 << 20), 10u << 20) << "beyond the end";
}

TEST(FileWindow, CanBeMoved) {
  const TempDir dir;
  ASSERT_TRUE(WriteFile(dir.File("f"), "abcdef"));
  GX_ASSERT_OK_AND_ASSIGN(FileWindow first, FileWindow::Open(dir.File("f")));
  FileWindow second = std::move(first);
  EXPECT_THAT(second.View(1, 2), IsOkAndHolds("bc"));
  FileWindow third;
  third = std::move(second);
  EXPECT_THAT(third.View(1, 2), IsOkAndHolds("bc"));
}

TEST(FileWindow, WhatIsNoRegularFileIsRefusedByItsKind) {
  const TempDir dir;
  EXPECT_THAT(FileWindow::Open(dir.File("missing")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
  EXPECT_THAT(FileWindow::Open(dir.path()), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a directory")));
  ASSERT_EQ(::mkfifo(dir.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(FileWindow::Open(dir.File("pipe")), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a pipe")));
  EXPECT_THAT(FileWindow::Open("/dev/null"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a device")));
}

TEST(FileWindow, AMessageNeverHoldsThePathsControlBytes) {
  EXPECT_THAT(FileWindow::Open("no\x1b[31m\nfile"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no\\x1b[31m\\nfile")));
}

}  // namespace
}  // namespace gx::analysis
