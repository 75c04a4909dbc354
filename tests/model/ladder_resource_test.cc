#include "analysis/model/ladder_resource.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <set>
#include <string>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LadderResource, CountsOverPeaksAreDurations) {
  // An H200: 1,504 bytes of DRAM a clock at 3.199 GHz, 282 L2 lookups at 1.7095 GHz, 528 warp instructions at 1.98 GHz.
  EXPECT_NEAR(*WorkNs(2147483648, 1504, 3.199e9), 446342, 1);
  EXPECT_NEAR(*WorkNs(100663296, 282, 1.7095e9), 208811, 1);
  EXPECT_NEAR(*WorkNs(100663296, 528, 1.98e9), 96288, 1);
  // 2 x 8192^3 operations, 4,096 a clock and SM.
  EXPECT_NEAR(*WorkNs(2 * 8192.0 * 8192 * 8192, 4096 * 132, 1.98e9), 1027071.7, 1);
  EXPECT_EQ(*WorkNs(0, 1, 1), 0);
}

TEST(LadderResource, TheBusiestInstanceIsAsMuchLongerAsItsCountIsAboveTheMean) {
  EXPECT_NEAR(*BusiestNs(446342, 23000000, 2147483648.0 / 94), 449359, 1);
  EXPECT_EQ(*BusiestNs(100, 4, 1), 400);
  EXPECT_EQ(*BusiestNs(0, 0, 0), 0);
}

TEST(LadderResource, EqualBlocksLeaveAnSmWithOneMore) {
  EXPECT_EQ(*BusiestOfEqualBlocksNs(132, 132, 132), 132);
  EXPECT_DOUBLE_EQ(*BusiestOfEqualBlocksNs(133, 133, 132), 2 * 132);
  EXPECT_DOUBLE_EQ(*BusiestOfEqualBlocksNs(66, 66, 132), 132);
}

TEST(LadderResource, RefusalsNameFieldAndValue) {
  EXPECT_NE(std::string(WorkNs(-1, 1, 1).status().message()).find("count: got -1"), std::string::npos);
  EXPECT_FALSE(WorkNs(1, 0, 1).ok());
  EXPECT_FALSE(WorkNs(1, 1, kNan).ok());
  EXPECT_FALSE(WorkNs(1e300, 1e-300, 1).ok());
  EXPECT_NE(std::string(BusiestNs(1, 1, 2).status().message()).find("max_count: got 1"), std::string::npos);
  EXPECT_FALSE(BusiestNs(kInfinity, 1, 1).ok());
  EXPECT_FALSE(BusiestOfEqualBlocksNs(1, 0, 1).ok());
  EXPECT_FALSE(BusiestOfEqualBlocksNs(1, 1, -1).ok());
}

TEST(LadderResource, FiguresOfOneResourceAscend) {
  const auto refused = [](LadderResource resource) {
    const absl::Status status = CheckResources({&resource, 1});
    EXPECT_NE(std::string(status.message()).find("resource 'dram'"), std::string::npos) << status;
    return !status.ok();
  };
  const LadderResource good = Resource(ResourceKind::kDram, 1, 2, 3, 0.9);
  EXPECT_TRUE(CheckResources({&good, 1}).ok());
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 3, 2, 3)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 1, 2, 1.5)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 1, kNan, 3)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, -1, 2, 3)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 1, 2, 3, 0)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 1, 2, 3, 1.01)));
  EXPECT_TRUE(refused(Resource(ResourceKind::kDram, 1, 2, 1e308, 1e-300)));
}

TEST(LadderResource, OneOfAKind) {
  const LadderResource twice[] = {Even(ResourceKind::kIssue, 1), Even(ResourceKind::kIssue, 2)};
  EXPECT_FALSE(CheckResources(twice).ok());
  LadderResources resources = {twice[0], Even(ResourceKind::kDram, 5), twice[1]};
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources.Find(ResourceKind::kIssue)->work_ns, 2);
  EXPECT_EQ(resources.begin()->kind, ResourceKind::kIssue);
  EXPECT_EQ(resources.Find(ResourceKind::kXuPipe), nullptr);
}

TEST(LadderResource, AKindThatIsNoneIsRefused) {
  LadderResources resources;
  for (size_t i = 0; i <= kResourceKindCount + 3; ++i) resources.Set(Even(static_cast<ResourceKind>(i), 1));
  EXPECT_FALSE(CheckResources(resources).ok());
  EXPECT_EQ(ResourceName(static_cast<ResourceKind>(200)), "");
}

TEST(LadderResource, EveryKindHasANameAndAScope) {
  std::set<std::string> names;
  for (size_t i = 0; i < kResourceKindCount; ++i) {
    const auto kind = static_cast<ResourceKind>(i);
    names.insert(std::string(ResourceName(kind)));
    EXPECT_NE(ScopeName(ScopeOf(kind)), "");
  }
  EXPECT_EQ(names.size(), kResourceKindCount);
  EXPECT_EQ(names.count(""), 0u);
  EXPECT_EQ(ScopeOf(ResourceKind::kDram), ResourceScope::kChannel);
  EXPECT_EQ(ScopeOf(ResourceKind::kL2Atomics), ResourceScope::kSlice);
  EXPECT_EQ(ScopeOf(ResourceKind::kTensorPipe), ResourceScope::kSm);
  EXPECT_TRUE(IsMemory(ResourceKind::kL1Data));
  EXPECT_FALSE(IsMemory(ResourceKind::kIssue));
}

}  // namespace
}  // namespace gx::model
