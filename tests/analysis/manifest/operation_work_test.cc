// The work that a manifest's operation needs: FLOP and bytes on paper, and what is refused.
#include "analysis/manifest/operation_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Manifest;
using testing::FromText;
using ::testing::HasSubstr;

absl::StatusOr<OperationWork> WorkOf(const char* text) { return WorkOfOperation(FromText<Manifest>(text)); }

void ExpectRefused(const char* text, absl::StatusCode code, const char* what) {
  const auto work = WorkOf(text);
  EXPECT_EQ(work.status().code(), code) << work.status();
  EXPECT_THAT(std::string(work.status().message()), HasSubstr(what));
}

TEST(OperationWork, AMatrixProductIsTwiceItsVolumeAndEachMatrixOnce) {
  // 2 x 64 x 32 x 16 FLOP; (64 x 16 + 16 x 32 + 64 x 32) elements of 2 bytes.
  const auto work = WorkOf("operation { storage_dtype: 'bf16' matrix_product { m: 64 n: 32 k: 16 } }");
  ASSERT_TRUE(work.ok()) << work.status();
  ASSERT_EQ(work->work.work_size(), 1);
  EXPECT_EQ(work->work.work(0).path(), "tensor_bf16_fp32");
  EXPECT_EQ(work->work.work(0).flops(), 65536);
  ASSERT_EQ(work->work.traffic_size(), 1);
  EXPECT_EQ(work->work.traffic(0).level(), "dram");
  EXPECT_EQ(work->work.traffic(0).bytes(), 7168);
}

TEST(OperationWork, TypesOfAccumulatorsNameThePath) {
  const auto half =
      WorkOf("operation { storage_dtype: 'fp16' accumulation_dtype: 'fp16' matrix_product { m: 1 n: 1 k: 1 } }");
  EXPECT_EQ(half->work.work(0).path(), "tensor_fp16_fp16");
  const auto integers = WorkOf("operation { storage_dtype: 'int8' matrix_product { m: 1 n: 1 k: 1 } }");
  EXPECT_EQ(integers->work.work(0).path(), "tensor_int8_int32");
  const auto single = WorkOf("operation { storage_dtype: 'fp32' matrix_product { m: 1 n: 1 k: 1 } }");
  EXPECT_EQ(single->work.work(0).path(), "fp32");
}

TEST(OperationWork, InputsAreReadOnceAndOutputsWrittenOnce) {
  const auto work = WorkOf(R"(operation { storage_dtype: 'fp32'
    tensor { name: 'x' role: ROLE_INPUT shape: [10, 20] }
    tensor { name: 'again' role: ROLE_INPUT shape: [10, 20] alias_of: 'x' }
    tensor { name: 'kept' role: ROLE_INTERMEDIATE shape: [1000] }
    tensor { name: 'y' role: ROLE_OUTPUT shape: [10, 20] alias_of: 'x' dtype: 'bf16' } })");
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->work.traffic(0).bytes(), 200 * 4 + 200 * 2);
}

TEST(OperationWork, AnAxisOfStrideZeroIsReadOnce) {
  const auto work = WorkOf(R"(operation { storage_dtype: 'fp32'
    tensor { name: 'bias' role: ROLE_INPUT shape: [1000, 8] stride: [0, 1] } })");
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->work.traffic(0).bytes(), 32);
}

TEST(OperationWork, RowsThatOverlapAreNoMoreThanWhatTheySpan) {
  // A window of 8 that moves by 1: 107 elements, not 800.
  const auto work = WorkOf(R"(operation { storage_dtype: 'int8'
    tensor { name: 'x' role: ROLE_INPUT shape: [100, 8] stride: [1, 1] } })");
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->work.traffic(0).bytes(), 107);
}

TEST(OperationWork, AStatedCaseCountsWithoutItsCaches) {
  const auto work = WorkOf(R"(
    roofline { name: 'a' work { path: 'fp32' flops: 7 } traffic { level: 'l2' bytes: 9 } traffic { level: 'dram' bytes: 5 } }
    operation { storage_dtype: 'bf16' matrix_product { m: 64 n: 32 k: 16 } })");
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->work.name(), "a");
  EXPECT_EQ(work->work.work(0).flops(), 7);
  ASSERT_EQ(work->work.traffic_size(), 1);
  EXPECT_EQ(work->work.traffic(0).bytes(), 5);
  ASSERT_FALSE(work->notes.empty());
  EXPECT_THAT(work->notes[0], HasSubstr("without traffic of 'l2'"));
}

TEST(OperationWork, WhatIsNoWorkOrNoBoundIsRefused) {
  ExpectRefused("", absl::StatusCode::kFailedPrecondition, "states no work");
  ExpectRefused("lower_bound_case: 'b' roofline { name: 'a' }", absl::StatusCode::kInvalidArgument,
                "there is no roofline case 'b'");
  ExpectRefused("roofline { name: 'a' roof_kind: ROOF_KIND_EMPIRICAL work { path: 'fp32' flops: 7 } }",
                absl::StatusCode::kInvalidArgument, "no lower bound");
  ExpectRefused("roofline { name: 'a' traffic { level: 'l2' bytes: 9 } }", absl::StatusCode::kFailedPrecondition,
                "neither work nor traffic");
  ExpectRefused("operation { tensor { name: 'x' role: ROLE_INPUT shape: [2] dtype: 'bf17' } }",
                absl::StatusCode::kInvalidArgument, "dtype 'bf17'");
  ExpectRefused("operation { storage_dtype: 'fp32' tensor { role: ROLE_INPUT shape: [0] } }",
                absl::StatusCode::kInvalidArgument, "shape");
  ExpectRefused("operation { storage_dtype: 'bf16' matrix_product { m: 4000000000 n: 4000000000 k: 4000000000 } }",
                absl::StatusCode::kOutOfRange, "FLOP of operation.matrix_product");
  ExpectRefused(R"(operation { storage_dtype: 'fp32'
                  tensor { name: 'x' role: ROLE_INPUT shape: [4000000000, 4000000000, 4000000000] } })",
                absl::StatusCode::kOutOfRange, "elements");
}

TEST(OperationWork, ARingOfAliasesEnds) {
  const auto work = WorkOf(R"(operation { storage_dtype: 'int8'
    tensor { name: 'a' role: ROLE_INPUT shape: [4] alias_of: 'b' }
    tensor { name: 'b' role: ROLE_INPUT shape: [4] alias_of: 'a' } })");
  EXPECT_TRUE(work.ok()) << work.status();
}

}  // namespace
}  // namespace gx::analysis
