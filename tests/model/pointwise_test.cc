#include "analysis/model/pointwise.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(PointwiseIntensity, IsOperationsOverOneReadAndOneWrite) {
  EXPECT_DOUBLE_EQ(*PointwiseIntensity(1, 4),
                   0.125);  // GPU Performance Background: ReLU in FP32 is far left of any ridge
  EXPECT_DOUBLE_EQ(*PointwiseIntensity(1, 2), 0.25);  // the same guide: ReLU in FP16, 0.25 FLOPS/B
  EXPECT_DOUBLE_EQ(*PointwiseIntensity(8, 2), 2);
  EXPECT_DOUBLE_EQ(*PointwiseIntensity(0, 16), 0);
}

TEST(EvaluatePointwise, AgreesWithTheFormulaWhereOneIsReadAndOneWritten) {
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    const auto work = EvaluatePointwise({.element_count = 1000,
                                         .flops_per_element = 7,
                                         .read_bytes_per_element = bytes,
                                         .write_bytes_per_element = bytes});
    ASSERT_TRUE(work.ok());
    EXPECT_DOUBLE_EQ(work->flops_per_byte, *PointwiseIntensity(7, bytes));
  }
}

TEST(EvaluatePointwise, AnyNumberOfInputsAndOutputs) {
  // z = x + y in FP32.
  const auto sum = EvaluatePointwise(
      {.element_count = 1'000'000, .flops_per_element = 1, .read_bytes_per_element = 8, .write_bytes_per_element = 4});
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->flops, 1'000'000);
  EXPECT_EQ(sum->read_bytes, 8'000'000);
  EXPECT_EQ(sum->write_bytes, 4'000'000);
  EXPECT_EQ(sum->total_bytes, 12'000'000);
  EXPECT_DOUBLE_EQ(sum->flops_per_byte, 1.0 / 12);
  // A fill reads nothing, and a copy computes nothing.
  EXPECT_EQ(EvaluatePointwise({.element_count = 5, .read_bytes_per_element = 0})->total_bytes, 10);
  EXPECT_EQ(EvaluatePointwise({.element_count = 5, .flops_per_element = 0})->flops_per_byte, 0);
}

TEST(EvaluatePointwise, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(EvaluatePointwise({.element_count = 0}).status().message(), "element_count: got 0, expected 1 or more");
  EXPECT_EQ(EvaluatePointwise({.flops_per_element = -1}).status().message(),
            "flops_per_element: got -1, expected 0 or more");
  EXPECT_EQ(EvaluatePointwise({.read_bytes_per_element = -1}).status().message(),
            "read_bytes_per_element: got -1, expected 0 or more");
  EXPECT_EQ(EvaluatePointwise({.write_bytes_per_element = -1}).status().message(),
            "write_bytes_per_element: got -1, expected 0 or more");
  EXPECT_EQ(EvaluatePointwise({.read_bytes_per_element = 0, .write_bytes_per_element = 0}).status().message(),
            "read_bytes_per_element and write_bytes_per_element: got 0 and 0, expected 1 or more together");
  EXPECT_EQ(EvaluatePointwise({.element_count = kMax, .flops_per_element = 2}).status().message(),
            "pointwise_flops: 9223372036854775807 x 2 is beyond 9223372036854775807");
  EXPECT_EQ(EvaluatePointwise({.element_count = kMax}).status().message(),
            "pointwise_bytes: about 3.68935e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluatePointwise({.read_bytes_per_element = kMax, .write_bytes_per_element = 1}).status().message(),
            "pointwise_bytes: about 9.22337e+18, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(PointwiseIntensity(1, 0).status().message(), "element_bytes: got 0, expected 1 to 16");
  EXPECT_EQ(PointwiseIntensity(-1, 4).status().message(), "flops_per_element: got -1, expected 0 or more");
}

}  // namespace
}  // namespace gx::model
