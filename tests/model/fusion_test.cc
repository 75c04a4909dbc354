#include "analysis/model/fusion.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(SavedRoundTripBytes, TheWorkedIntermediateOf4096x4096InBf16) {
  const auto saved = SavedRoundTripBytes(4096 * 4096, 2);
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(*saved, 67'108'864);
  // 44.7 us at 1.5 TB/s.
  const auto seconds = TransferLowerBoundSeconds(*saved, 1.5e12);
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(*seconds, 67108864 / 1.5e12);
  EXPECT_NEAR(*seconds, 44.7e-6, 0.05e-6);
  EXPECT_EQ(*SavedRoundTripBytes(0, 2), 0);
}

TEST(EvaluateFusedChain, TheRatioIsTheNumberOfOperations) {
  for (int64_t operations = 1; operations <= 20; ++operations) {
    const auto chain = EvaluateFusedChain({.operation_count = operations, .element_count = 1000, .element_bytes = 4});
    ASSERT_TRUE(chain.ok());
    EXPECT_EQ(chain->unfused_pass_count, 2 * operations);
    EXPECT_EQ(chain->fused_pass_count, 2);
    EXPECT_EQ(chain->unfused_bytes, 8000 * operations);
    EXPECT_EQ(chain->fused_bytes, 8000);
    EXPECT_EQ(chain->saved_bytes, 8000 * (operations - 1));
    EXPECT_EQ(chain->saved_launch_count, operations - 1);
    EXPECT_DOUBLE_EQ(chain->unfused_over_fused, static_cast<double>(operations));
  }
}

TEST(EvaluateFusedChain, EveryBoundaryThatFallsIsOneRoundTrip) {
  const auto chain = EvaluateFusedChain({.operation_count = 3, .element_count = 777, .element_bytes = 2});
  EXPECT_EQ(chain->saved_bytes, 2 * *SavedRoundTripBytes(777, 2));
}

TEST(EvaluateFusedChain, SideInputsAreReadFusedOrNot) {
  // gelu(x) * w + b: two of the three operations read another tensor.
  const auto chain =
      EvaluateFusedChain({.operation_count = 3, .element_count = 1000, .element_bytes = 2, .side_input_bytes = 4000});
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(chain->unfused_bytes, 16'000);
  EXPECT_EQ(chain->fused_bytes, 8000);
  EXPECT_EQ(chain->saved_bytes, 8000);
  EXPECT_DOUBLE_EQ(chain->unfused_over_fused, 2);
}

TEST(Fusion, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(SavedRoundTripBytes(-1, 2).status().message(), "element_count: got -1, expected 0 or more");
  EXPECT_EQ(SavedRoundTripBytes(1, 0).status().message(), "element_bytes: got 0, expected 1 to 16");
  EXPECT_EQ(SavedRoundTripBytes(kMax, 1).status().message(),
            "round_trip_bytes: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(TransferLowerBoundSeconds(-1, 1).status().message(), "bytes: got -1, expected 0 or more");
  EXPECT_EQ(TransferLowerBoundSeconds(1, 0).status().message(),
            "bandwidth_bytes_per_second: got 0, expected a finite number above 0");
  EXPECT_EQ(EvaluateFusedChain({.operation_count = 0}).status().message(),
            "operation_count: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateFusedChain({.element_count = 0}).status().message(), "element_count: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateFusedChain({.element_bytes = 17}).status().message(), "element_bytes: got 17, expected 1 to 16");
  EXPECT_EQ(EvaluateFusedChain({.side_input_bytes = -1}).status().message(),
            "side_input_bytes: got -1, expected 0 or more");
  EXPECT_EQ(EvaluateFusedChain({.operation_count = kMax}).status().message(),
            "unfused_pass_count: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateFusedChain({.element_count = kMax}).status().message(),
            "unfused_bytes: about 3.68935e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_FALSE(EvaluateFusedChain({.side_input_bytes = kMax}).ok());
}

TEST(TransferLowerBoundSeconds, RefusesATimeThatIsNoNumber) {
  EXPECT_EQ(TransferLowerBoundSeconds(kMax, 1e-300).status().message(),
            "bytes / bandwidth_bytes_per_second: got inf, expected a finite number, 0 or above");
  EXPECT_TRUE(TransferLowerBoundSeconds(kMax, 1e-280).ok());
}

}  // namespace
}  // namespace gx::model
