#include "inject/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gx::inject {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  struct Case {
    std::string_view from;
    std::string_view to;
    size_t distance;
  };
  for (const Case& c : std::vector<Case>{{"", "", 0},
                                         {"", "abc", 3},
                                         {"abc", "", 3},
                                         {"abc", "abc", 0},
                                         {"abc", "abd", 1},
                                         {"abc", "ac", 1},
                                         {"ac", "abc", 1},
                                         {"ab", "ba", 2},
                                         {"kitten", "sitting", 3}}) {
    EXPECT_EQ(EditDistance(c.from, c.to), c.distance) << c.from << " to " << c.to;
  }
}

constexpr std::array<std::string_view, 3> kKnown = {"OUTPUT", "MEMORY", "NVML"};

TEST(NearestName, FindsTheClosestOfTheKnownNames) {
  EXPECT_EQ(NearestName("OUTPT", kKnown, 3), "OUTPUT");
  EXPECT_EQ(NearestName("NVM", kKnown, 3), "NVML");
  EXPECT_EQ(NearestName("MEMORY", kKnown, 3), "MEMORY");
}

TEST(NearestName, IsEmptyBeyondTheLimit) {
  EXPECT_EQ(NearestName("COUNTERS", kKnown, 3), "");
  EXPECT_EQ(NearestName("OUT", kKnown, 2), "");
  EXPECT_EQ(NearestName("OUT", kKnown, 3), "OUTPUT");
  EXPECT_EQ(NearestName("x", {}, 3), "");
}

TEST(NearestName, IsQuickForAnEndlessName) {
  // Would take minutes if every byte were compared with every known name.
  EXPECT_EQ(NearestName(std::string(100'000'000, 'x'), kKnown, 3), "");
}

}  // namespace
}  // namespace gx::inject
