#include "tools/doctor/cupti_traps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::doctor {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> Sources(int64_t version) {
  std::vector<std::string> sources;
  for (const CuptiTrap& trap : TrapsOf(version)) sources.emplace_back(trap.source);
  return sources;
}

TEST(CuptiTraps, EachRowIsOfSupportedVersionsAndSaysWhatHappensAndWhoSaysSo) {
  for (const CuptiTrap& trap : CuptiTraps()) {
    EXPECT_TRUE(IsSupportedCupti(trap.first)) << trap.fault;
    EXPECT_LE(trap.first, trap.last) << trap.fault;
    EXPECT_LT(trap.last, kCupti140) << trap.fault;
    EXPECT_FALSE(trap.fault.empty());
    EXPECT_FALSE(trap.here.empty()) << trap.fault;
    EXPECT_FALSE(trap.source.empty()) << trap.fault;
  }
}

// The releases on both sides of a fault's end, by CUPTI's release notes.
TEST(CuptiTraps, EndWithTheReleaseThatMendsThem) {
  struct Row {
    const char* source;
    int64_t has;
    int64_t mended;
  };
  for (const Row& row : std::vector<Row>{{"RN 12.9; pytorch/kineto#1534", 26, 27},
                                         {"RN 13.1", 130001, 130100},
                                         {"RN 13.0 update 1", 130000, 130001},
                                         {"RN 13.1 update 1", 130100, 130101},
                                         {"RN 13.3, known issues", 130201, 130300},
                                         {"icl-utk-edu/papi#594", 130101, 130200},
                                         {"RN 13.4 update 1", 130400, 130401}}) {
    EXPECT_THAT(Sources(row.has), Contains(row.source));
    EXPECT_THAT(Sources(row.mended), Not(Contains(row.source)));
  }
}

TEST(CuptiTraps, OfAVersionThatIsNotSupportedThereAreNone) {
  EXPECT_TRUE(TrapsOf(24).empty());
  EXPECT_TRUE(TrapsOf(kCupti140).empty());
}

TEST(CuptiVersionText, GoesWithTheCudaVersion) {
  EXPECT_EQ(CuptiVersionText(130001), "13.0.1");
  EXPECT_EQ(CuptiVersionText(26), "12.8");
  EXPECT_EQ(CuptiVersionText(24), "with API version 24");
  EXPECT_EQ(CudaVersionOfCupti(130001), 13000);
  EXPECT_EQ(CudaVersionOfCupti(130400), 13040);
  EXPECT_EQ(CudaVersionOfCupti(26), 12080);
  EXPECT_EQ(CudaVersionOfCupti(28), 12090);
  EXPECT_EQ(CudaVersionOfCupti(24), 0);
}

}  // namespace
}  // namespace gx::doctor
