#include "inject/path_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::inject {
namespace {

TEST(InsertBeforeExtension, PutsTheSuffixBeforeTheLastDotOfTheLastPart) {
  struct Case {
    std::string path;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{{"dir/trace.pb", "dir/trace.12.pb"},
                                         {"trace.pb", "trace.12.pb"},
                                         {"trace", "trace.12"},
                                         {"a.b/trace", "a.b/trace.12"},
                                         {"a/trace.x.pb", "a/trace.x.12.pb"},
                                         {"a/.trace", "a/.trace.12"},
                                         {".trace", ".trace.12"},
                                         {"trace.", "trace.12."},
                                         {"", ".12"}}) {
    EXPECT_EQ(InsertBeforeExtension(c.path, ".12"), c.expected) << c.path;
  }
}

}  // namespace
}  // namespace gx::inject
