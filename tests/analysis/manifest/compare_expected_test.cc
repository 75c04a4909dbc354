#include "analysis/manifest/compare_expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Derived;
using ::testing::ElementsAre;
using testing::FromText;
using ::testing::IsEmpty;

std::vector<std::string> Differences(const std::string& expected, const std::string& derived) {
  std::vector<std::string> lines;
  for (const auto& mismatch : CompareExpected(FromText<Derived>(expected), FromText<Derived>(derived)).mismatches) {
    lines.push_back(absl::StrCat(mismatch.field(), ": ", mismatch.expected(), ", ", mismatch.derived()));
  }
  return lines;
}

constexpr char kDerived[] = R"(
  grid { block_count: 1024 tile_efficiency_ratio: 0.25 }
  occupancy { limiter: "registers" limiter: "warps" resident_blocks_per_sm: 0 refusal: "" }
  waves { slots_are_upper_bound: false }
  warp_request { name: "a" sector_count: 4 } warp_request { name: "b" sector_count: 5 }
  roofline { name: "r" kind: ROOF_KIND_THEORETICAL level { level: "dram" seconds: 0.002 } })";

TEST(CompareExpected, EqualFieldsAreCountedAndNotNamed) {
  const ExpectedComparison result = CompareExpected(FromText<Derived>(kDerived), FromText<Derived>(kDerived));
  EXPECT_THAT(result.mismatches, IsEmpty());
  // block_count, tile_efficiency_ratio; limiter, resident, refusal; slots; two sector counts; kind, seconds.
  EXPECT_EQ(result.compared_count, 10);
}

TEST(CompareExpected, OnlyWhatIsSetIsCompared) {
  EXPECT_THAT(Differences("", kDerived), IsEmpty());
  EXPECT_THAT(Differences("grid { block_count: 1024 }", kDerived), IsEmpty());
  EXPECT_THAT(Differences("warp_request { name: 'b' }", kDerived), IsEmpty());
}

TEST(CompareExpected, AMismatchNamesTheFieldsPathAndBothValues) {
  EXPECT_THAT(Differences("grid { block_count: 1 }", kDerived), ElementsAre("expected.grid.block_count: 1, 1024"));
  EXPECT_THAT(Differences("occupancy { limiter: 'registers' }", kDerived),
              ElementsAre("expected.occupancy.limiter: ['registers'], ['registers', 'warps']"));
  EXPECT_THAT(Differences("roofline { name: 'r' kind: ROOF_KIND_EMPIRICAL }", kDerived),
              ElementsAre("expected.roofline['r'].kind: ROOF_KIND_EMPIRICAL, ROOF_KIND_THEORETICAL"));
  EXPECT_THAT(Differences("occupancy { refusal: 'x' }", kDerived), ElementsAre("expected.occupancy.refusal: 'x', ''"));
  EXPECT_THAT(Differences("waves { slots_are_upper_bound: true }", kDerived),
              ElementsAre("expected.waves.slots_are_upper_bound: true, false"));
}

TEST(CompareExpected, CasesAreFoundByName) {
  EXPECT_THAT(Differences("warp_request { name: 'b' sector_count: 4 }", kDerived),
              ElementsAre("expected.warp_request['b'].sector_count: 4, 5"));
  EXPECT_THAT(Differences("warp_request { name: 'c' sector_count: 4 }", kDerived),
              ElementsAre("expected.warp_request['c']: a case of this name, absent"));
  EXPECT_THAT(
      Differences("roofline { name: 'r' level { level: 'dram' seconds: 0.003 } level { level: 'l2' } }", kDerived),
      ElementsAre("expected.roofline['r'].level['dram'].seconds: 0.0030000000000000001, 0.002",
                  "expected.roofline['r'].level['l2']: a case of this name, absent"));
}

TEST(CompareExpected, ZeroIsNotAbsent) {
  EXPECT_THAT(Differences("occupancy { resident_blocks_per_sm: 0 }", kDerived), IsEmpty());
  EXPECT_THAT(Differences("occupancy { active_warps_per_sm: 0 }", kDerived),
              ElementsAre("expected.occupancy.active_warps_per_sm: 0, absent"));
  EXPECT_THAT(Differences("exact_occupancy { active_warps_per_sm: 0 }", kDerived),
              ElementsAre("expected.exact_occupancy.active_warps_per_sm: 0, absent"));
}

TEST(CompareExpected, NumbersHaveToBeEqualNotNear) {
  EXPECT_THAT(Differences("grid { tile_efficiency_ratio: 0.25000000000000006 }", kDerived),
              ElementsAre("expected.grid.tile_efficiency_ratio: 0.25000000000000006, 0.25"));
  EXPECT_THAT(Differences("grid { tile_efficiency_ratio: nan }", "grid { tile_efficiency_ratio: nan }"),
              ElementsAre("expected.grid.tile_efficiency_ratio: nan, nan"));
}

}  // namespace
}  // namespace gx::analysis
