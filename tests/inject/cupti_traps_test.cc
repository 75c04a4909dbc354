#include "inject/cupti_traps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inject/cupti_api.h"

namespace gx::inject {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// The releases on both sides of a fault's end, by CUPTI's release notes (proto/gpuexec/v1/cupti_traps.proto).
TEST(CuptiTraps, WhatIsLeftAloneEndsWithTheReleaseThatMendsIt) {
  EXPECT_TRUE(Avoids(26, CuptiAvoidance::kNullBuffers));
  EXPECT_FALSE(Avoids(27, CuptiAvoidance::kNullBuffers));
  EXPECT_TRUE(Avoids(28, CuptiAvoidance::kCounters));
  EXPECT_TRUE(Avoids(130000, CuptiAvoidance::kCounters));
  EXPECT_FALSE(Avoids(130001, CuptiAvoidance::kCounters));
  EXPECT_TRUE(Avoids(130299, CuptiAvoidance::kGreenContextCounters));
  EXPECT_FALSE(Avoids(130300, CuptiAvoidance::kGreenContextCounters));
}

TEST(CuptiTraps, AVersionThatIsNotSupportedHasNone) {
  for (const uint32_t version : {0u, 24u, 140000u}) {
    ASSERT_FALSE(SupportedCuptiVersion(version));
    EXPECT_THAT(CuptiTrapsOf(version), IsEmpty());
  }
  EXPECT_THAT(CuptiTrapsOf(130001), Not(IsEmpty()));
  EXPECT_THAT(CuptiTrapsOf(139900), IsEmpty()) << "later than anything known";
}

}  // namespace
}  // namespace gx::inject
