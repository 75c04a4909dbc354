#include "analysis/model/tile_stage.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gx::model {
namespace {

TEST(EvaluateTileStage, TheWorkedTiles) {
  struct Case {
    const char* source;
    BlockTile tile;
    int64_t flops;
    int64_t load_bytes;
    double flops_per_byte;
    int64_t staging_bytes;
    int64_t accumulator_bytes;
  };
  const Case cases[] = {
      {"128 x 128 x 32 BF16, double buffered: 64 FLOP/byte, 32 KiB, 64 KiB of FP32 accumulators",
       {.block_m = 128, .block_n = 128, .block_k = 32, .stage_count = 2},
       1'048'576,
       16'384,
       64,
       32'768,
       65'536},
      {"64 x 64 x 32 BF16: 32 FLOP/byte",
       {.block_m = 64, .block_n = 64, .block_k = 32},
       262'144,
       8192,
       32,
       8192,
       16'384},
      {"64 x 64 whatever the depth of a stage",
       {.block_m = 64, .block_n = 64, .block_k = 128},
       1'048'576,
       32'768,
       32,
       32'768,
       16'384},
      {"FP8 times FP16: by operand, 128 x 64 and 64 x 256",
       {.block_m = 128, .block_n = 256, .block_k = 64, .a_element_bits = 8, .b_element_bits = 16, .stage_count = 4},
       4'194'304,
       8192 + 32'768,
       4'194'304.0 / 40'960,
       163'840,
       131'072},
      {"one element of complex FP64",
       {.block_m = 1,
        .block_n = 1,
        .block_k = 1,
        .a_element_bits = 128,
        .b_element_bits = 128,
        .accumulator_element_bytes = 16},
       2,
       32,
       1.0 / 16,
       32,
       16},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto stage = EvaluateTileStage(c.tile);
    ASSERT_TRUE(stage.ok()) << stage.status();
    EXPECT_EQ(stage->flops, c.flops);
    EXPECT_EQ(stage->load_bytes, c.load_bytes);
    EXPECT_EQ(stage->a_bytes + stage->b_bytes, c.load_bytes);
    EXPECT_DOUBLE_EQ(stage->flops_per_byte, c.flops_per_byte);
    EXPECT_EQ(stage->staging_bytes, c.staging_bytes);
    EXPECT_EQ(stage->accumulator_bytes, c.accumulator_bytes);
  }
}

TEST(AccumulatorRegistersPerThread, AreTheTileOverTheThreads) {
  EXPECT_EQ(*AccumulatorRegistersPerThread({}, 256), 64);
  EXPECT_EQ(*AccumulatorRegistersPerThread({}, 128), 128);
  EXPECT_EQ(*AccumulatorRegistersPerThread({.accumulator_element_bytes = 2}, 256), 32);
  EXPECT_EQ(*AccumulatorRegistersPerThread({.block_m = 3, .block_n = 3}, 4), 3);
  // Five of 16 bytes on four threads: one thread owns two.
  EXPECT_EQ(*AccumulatorRegistersPerThread({.block_m = 1, .block_n = 5, .accumulator_element_bytes = 16}, 4), 8);
  // Three of 2 bytes: two share a register.
  EXPECT_EQ(*AccumulatorRegistersPerThread({.block_m = 1, .block_n = 9, .accumulator_element_bytes = 2}, 4), 2);
}

TEST(EvaluateTileStage, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(EvaluateTileStage({.block_m = 0}).status().message(), "block_m: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateTileStage({.block_n = -3}).status().message(), "block_n: got -3, expected 1 or more");
  EXPECT_EQ(EvaluateTileStage({.block_k = 0}).status().message(), "block_k: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateTileStage({.stage_count = 0}).status().message(), "stage_count: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateTileStage({.a_element_bits = 136}).status().message(),
            "a_element_bits: got 136, expected 1 to 128");
  EXPECT_EQ(EvaluateTileStage({.b_element_bits = 0}).status().message(), "b_element_bits: got 0, expected 1 to 128");
  EXPECT_EQ(EvaluateTileStage({.accumulator_element_bytes = 32}).status().message(),
            "accumulator_element_bytes: got 32, expected 1 to 16");
  const int64_t large = int64_t{1} << 31;
  EXPECT_EQ(EvaluateTileStage({.block_m = large, .block_n = large, .block_k = 1}).status().message(),
            "stage_flops: about 9.22337e+18, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateTileStage({.block_m = large, .stage_count = int64_t{1} << 28}).status().message(),
            "staging_bytes: about 3.68935e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateTileStage({.block_m = large, .block_n = large / 4, .block_k = 1, .accumulator_element_bytes = 16})
                .status()
                .message(),
            "accumulator_bytes: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(AccumulatorRegistersPerThread({}, 0).status().message(), "threads_per_block: got 0, expected 1 to 1024");
  EXPECT_EQ(AccumulatorRegistersPerThread({}, 1025).status().message(),
            "threads_per_block: got 1025, expected 1 to 1024");
}

TEST(EvaluateTileStage, WeightsOfFourBitsTakeHalfAByteEach) {
  const auto stage = EvaluateTileStage({.b_element_bits = 4, .stage_count = 3});
  ASSERT_TRUE(stage.ok());
  EXPECT_EQ(stage->a_bytes, 8192);
  EXPECT_EQ(stage->b_bytes, 2048);
  EXPECT_EQ(stage->staging_bytes, 3 * 10'240);
  EXPECT_EQ(stage->flops, 1'048'576);
}

}  // namespace
}  // namespace gx::model
