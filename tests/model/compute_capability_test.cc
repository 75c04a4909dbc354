#include "analysis/model/compute_capability.h"

#include <gtest/gtest.h>

#include <string>

namespace gx::model {
namespace {

TEST(ParseComputeCapability, ReadsTheFormsThatToolsPrint) {
  EXPECT_EQ(*ParseComputeCapability("9.0"), (ComputeCapability{9, 0}));
  EXPECT_EQ(*ParseComputeCapability("12.1"), (ComputeCapability{12, 1}));
  EXPECT_EQ(*ParseComputeCapability("sm_90"), (ComputeCapability{9, 0}));
  EXPECT_EQ(*ParseComputeCapability("sm_90a"), (ComputeCapability{9, 0}));
  EXPECT_EQ(*ParseComputeCapability("sm_120f"), (ComputeCapability{12, 0}));
}

TEST(ParseComputeCapability, RefusesTheRestByName) {
  for (const std::string text :
       {"", "9", "9.", ".0", "sm_", "sm_9", "sm_9x", "9.0.1", "-9.0", "9. 0", "900.0", "+9.1"}) {
    const auto result = ParseComputeCapability(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().message(),
              "compute capability: got '" + text + "', expected major.minor such as 9.0, or sm_90");
  }
}

TEST(ComputeCapability, IsOrderedByMajorThenMinor) {
  EXPECT_LT((ComputeCapability{8, 9}), (ComputeCapability{9, 0}));
  EXPECT_LT((ComputeCapability{10, 0}), (ComputeCapability{10, 3}));
  EXPECT_EQ((ComputeCapability{10, 3}).ToString(), "10.3");
}

}  // namespace
}  // namespace gx::model
