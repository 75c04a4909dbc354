#include "analysis/model/gemm.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "analysis/model/element.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(EvaluateGemm, TheWorkedSquareProjectionOf4096InBf16) {
  struct Case {
    int64_t m;
    int64_t flops;
    int64_t bytes;
    double flops_per_byte;
    double tolerance;
  };
  const Case cases[] = {
      {1, 33'554'432, 33'570'816, 0.9995, 0.00005},
      {128, 4'294'967'296, 35'651'584, 120.47, 0.005},
      {4096, 137'438'953'472, 100'663'296, 1365.33, 0.005},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.m);
    const auto work = EvaluateGemm({.m = c.m, .n = 4096, .k = 4096});
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_EQ(work->flops, c.flops);
    EXPECT_EQ(work->compulsory_bytes, c.bytes);
    EXPECT_EQ(work->a_bytes + work->b_bytes + work->c_bytes, c.bytes);
    EXPECT_NEAR(work->flops_per_byte, c.flops_per_byte, c.tolerance);
  }
}

TEST(EvaluateGemm, EveryOperandHasItsOwnWidth) {
  const auto work =
      EvaluateGemm({.m = 2, .n = 3, .k = 5, .a_element_bits = 8, .b_element_bits = 16, .c_element_bits = 32});
  ASSERT_TRUE(work.ok());
  EXPECT_EQ(work->flops, 60);
  EXPECT_EQ(work->a_bytes, 10);
  EXPECT_EQ(work->b_bytes, 30);
  EXPECT_EQ(work->c_bytes, 24);
}

TEST(EvaluateTiledGemm, TheWorkedTrafficOf4096CubedInFp16) {
  struct Case {
    int64_t tile;
    int64_t read_bytes;
    double gigabytes;  // as published, with its digits
    double tolerance;
  };
  const Case cases[] = {
      {1, 274'877'906'944, 275, 0.5},
      {32, 8'589'934'592, 8.6, 0.05},
      {128, 2'147'483'648, 2.2, 0.05},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.tile);
    const auto traffic = EvaluateTiledGemm({.m = 4096, .n = 4096, .k = 4096}, c.tile, c.tile);
    ASSERT_TRUE(traffic.ok()) << traffic.status();
    EXPECT_EQ(traffic->read_bytes, c.read_bytes);
    EXPECT_EQ(traffic->read_bytes, 2 * int64_t{4096} * 4096 * 4096 / c.tile * 2);
    EXPECT_EQ(traffic->issued_read_bytes, c.read_bytes);
    EXPECT_EQ(traffic->write_bytes, 33'554'432);
    EXPECT_EQ(traffic->total_bytes, c.read_bytes + 33'554'432);
    EXPECT_NEAR(static_cast<double>(traffic->total_bytes) / 1e9, c.gigabytes, c.tolerance);
  }
  const auto total = [](int64_t tile) {
    return static_cast<double>(EvaluateTiledGemm({.m = 4096, .n = 4096, .k = 4096}, tile, tile)->total_bytes);
  };
  EXPECT_NEAR(total(1) / total(32), 31.88, 0.005);
  EXPECT_NEAR(total(1) / total(128), 126.05, 0.005);
  EXPECT_DOUBLE_EQ(EvaluateTiledGemm({.m = 4096, .n = 4096, .k = 4096}, 128, 128)->flops_per_byte,
                   137'438'953'472.0 / (2'147'483'648.0 + 33'554'432.0));
}

TEST(EvaluateTiledGemm, RectangularTilesAndEdges) {
  // 129 x 129 in 128 x 64: A is read by 3 columns of tiles, B by 2 rows of tiles.
  const auto traffic = EvaluateTiledGemm({.m = 129, .n = 129, .k = 10}, 128, 64);
  ASSERT_TRUE(traffic.ok());
  EXPECT_EQ(traffic->a_read_bytes, 3 * 129 * 10 * 2);
  EXPECT_EQ(traffic->b_read_bytes, 2 * 129 * 10 * 2);
  EXPECT_EQ(traffic->issued_read_bytes, (3 * 256 + 2 * 192) * 10 * 2);
}

TEST(EvaluateTiledGemm, NeverGrowsWithTheTileNorFallsBelowTheCompulsoryBytes) {
  std::mt19937_64 random(6);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 5000; ++i) {
    const Gemm gemm{.m = pick(1, 500),
                    .n = pick(1, 500),
                    .k = pick(1, 500),
                    .a_element_bits = 8 * pick(1, 16),
                    .b_element_bits = 8 * pick(1, 16),
                    .c_element_bits = 8 * pick(1, 16)};
    const int64_t block_m = pick(1, 300);
    const int64_t block_n = pick(1, 300);
    const auto base = EvaluateTiledGemm(gemm, block_m, block_n);
    const auto taller = EvaluateTiledGemm(gemm, block_m + pick(1, 50), block_n);
    const auto wider = EvaluateTiledGemm(gemm, block_m, block_n + pick(1, 50));
    const auto work = EvaluateGemm(gemm);
    ASSERT_TRUE(base.ok() && taller.ok() && wider.ok() && work.ok());
    ASSERT_LE(taller->total_bytes, base->total_bytes);
    ASSERT_LE(wider->total_bytes, base->total_bytes);
    ASSERT_GE(base->total_bytes, work->compulsory_bytes);
    ASSERT_GE(base->issued_read_bytes, base->read_bytes);
    ASSERT_LE(base->flops_per_byte, work->flops_per_byte);
    const auto whole = EvaluateTiledGemm(gemm, gemm.m, gemm.n);
    ASSERT_EQ(whole->total_bytes, work->compulsory_bytes);
  }
}

TEST(EvaluateGemm, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(EvaluateGemm({.m = 0}).status().message(), "m: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateGemm({.n = -1}).status().message(), "n: got -1, expected 1 or more");
  EXPECT_EQ(EvaluateGemm({.k = 0}).status().message(), "k: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateGemm({.a_element_bits = 0}).status().message(), "a_element_bits: got 0, expected 1 to 128");
  EXPECT_EQ(EvaluateGemm({.b_element_bits = 136}).status().message(), "b_element_bits: got 136, expected 1 to 128");
  EXPECT_EQ(EvaluateGemm({.c_element_bits = -16}).status().message(), "c_element_bits: got -16, expected 1 to 128");
  EXPECT_EQ(EvaluateGemm({.m = kMax}).status().message(),
            "gemm_flops: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateGemm({.m = kMax / 4, .c_element_bits = 128}).status().message(),
            "compulsory_bytes: about 4.15052e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateTiledGemm({}, 0, 1).status().message(), "block_m: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateTiledGemm({}, 1, 0).status().message(), "block_n: got 0, expected 1 or more");
  const int64_t large = int64_t{1} << 20;
  EXPECT_EQ(EvaluateTiledGemm({.m = large, .n = large, .k = large, .a_element_bits = 64, .b_element_bits = 64}, 1, 1)
                .status()
                .message(),
            "tiled_total_bytes: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
}

TEST(EvaluateGemm, ElementsBelowAByteArePackedAndCountTheirOperationsOnce) {
  // 4-bit weights, 16-bit activations: one token of a 4096 x 4096 projection.
  const auto w4a16 = EvaluateGemm({.m = 1, .n = 4096, .k = 4096, .b_element_bits = 4});
  ASSERT_TRUE(w4a16.ok());
  EXPECT_EQ(w4a16->flops, 33'554'432);
  EXPECT_EQ(w4a16->a_bytes, 8192);
  EXPECT_EQ(w4a16->b_bytes, 8'388'608);
  // FP4 times FP4: the operations of any other type.
  const auto fp4 = EvaluateGemm({.m = 4096, .n = 4096, .k = 4096, .a_element_bits = 4, .b_element_bits = 4});
  ASSERT_TRUE(fp4.ok());
  EXPECT_EQ(fp4->flops, 137'438'953'472);
  EXPECT_EQ(fp4->a_bytes, 8'388'608);
  // Rounded up to whole bytes, by the matrix: 15 elements of 4 bits, 10 of 6, 6 of 1.
  const auto odd =
      EvaluateGemm({.m = 2, .n = 3, .k = 5, .a_element_bits = 6, .b_element_bits = 4, .c_element_bits = 1});
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->a_bytes, 8);
  EXPECT_EQ(odd->b_bytes, 8);
  EXPECT_EQ(odd->c_bytes, 1);
  EXPECT_EQ(EvaluateTiledGemm({.m = 4, .n = 4, .k = 4, .a_element_bits = 4, .b_element_bits = 8}, 2, 1)->read_bytes,
            4 * 8 + 2 * 16);
}

TEST(PackedBytes, AreTheBitsRoundedUpAndFitWhereTheyDo) {
  for (int64_t bits = 1; bits <= kMaxElementBits; ++bits) {
    for (int64_t count = 0; count < 40; ++count) {
      ASSERT_EQ(*PackedBytes(count, bits).Value("bytes"), (count * bits + 7) / 8) << count << " of " << bits;
    }
  }
  EXPECT_EQ(*PackedBytes(kMax, 8).Value("bytes"), kMax);
  EXPECT_EQ(*PackedBytes(kMax, 4).Value("bytes"), kMax / 2 + 1);
  EXPECT_FALSE(PackedBytes(kMax, 9).fits());
}

TEST(ElementBits, AreEightAByteAndRefuseWhatIsNoWidth) {
  EXPECT_EQ(*ElementBits("a_element_bytes", 2), 16);
  EXPECT_EQ(ElementBits("a_element_bytes", 17).status().message(), "a_element_bytes: got 17, expected 1 to 16");
  EXPECT_EQ(ElementBits("a_element_bytes", kMax).status().message(),
            "a_element_bytes: got 9223372036854775807, expected 1 to 16");
}

}  // namespace
}  // namespace gx::model
