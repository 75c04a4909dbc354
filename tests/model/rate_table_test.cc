#include "analysis/model/rate_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace gx::model {
namespace {

std::string Key(const RateRow& row) {
  return absl::StrCat(row.compute_capability.ToString(), " ", ProductClassName(row.product_class), " ",
                      RatePathName(row.path));
}

TEST(RateTable, EveryRowHasARateAndASource) {
  for (const RateRow& row : RateRows()) {
    EXPECT_GT(row.operations_per_clock_per_sm, 0) << Key(row);
    EXPECT_FALSE(row.source.text.empty()) << Key(row);
    EXPECT_EQ(row.source.kind == SourceKind::kUnsourced, row.source.text == "recalled, not looked up") << Key(row);
  }
  for (const MemoryRateRow& row : MemoryRateRows()) {
    EXPECT_GT(row.bytes_per_clock, 0);
    EXPECT_FALSE(row.source.text.empty());
    EXPECT_NE(row.kind, CeilingKind::kUnspecified);
  }
}

TEST(RateTable, AConflictSaysWhatTheOtherSourceSays) {
  int conflicts = 0;
  for (const RateRow& row : RateRows()) {
    if (!row.note.conflict) continue;
    ++conflicts;
    EXPECT_FALSE(row.note.text.empty()) << Key(row);
  }
  EXPECT_GE(conflicts, 10);
  for (const MemoryRateRow& row : MemoryRateRows()) EXPECT_FALSE(row.note.conflict && row.note.text.empty());
}

TEST(RateTable, NoRowComesTwiceAndAPathThatDependsOnTheClassHasBoth) {
  std::set<std::string> keys;
  for (const RateRow& row : RateRows()) {
    EXPECT_TRUE(keys.insert(Key(row)).second) << Key(row);
    int rows = 0;
    for (const RateRow& other : RateRows()) {
      rows += other.compute_capability == row.compute_capability && other.path == row.path;
    }
    EXPECT_EQ(rows, row.product_class == ProductClass::kUnknown ? 1 : 2) << Key(row);
  }
}

TEST(RateTable, TheListOfKnownCapabilitiesIsThatOfTheRows) {
  std::set<ComputeCapability> of_rows;
  for (const RateRow& row : RateRows()) of_rows.insert(row.compute_capability);
  const auto listed = RateComputeCapabilities();
  EXPECT_TRUE(std::equal(of_rows.begin(), of_rows.end(), listed.begin(), listed.end()));
  EXPECT_TRUE(std::is_sorted(RateRows().begin(), RateRows().end(), [](const RateRow& a, const RateRow& b) {
    return a.compute_capability < b.compute_capability;
  }));
}

TEST(RateTable, EveryPathOfARowIsListedAndEveryCapabilityHasTheCommonOnes) {
  for (const RateRow& row : RateRows()) {
    EXPECT_NE(std::find(RatePaths().begin(), RatePaths().end(), row.path), RatePaths().end()) << Key(row);
  }
  for (const ComputeCapability capability : RateComputeCapabilities()) {
    for (const RatePath& path :
         {kFp64Fma, kFp32Fma, kFp16Fma, kInt32Mad, kSpecialFunction, kWarpIssue, kTensorFp16Fp16}) {
      EXPECT_TRUE(FindRate(capability, ProductClass::kUnknown, path).ok())
          << capability.ToString() << " " << RatePathName(path);
    }
    EXPECT_TRUE(FindMemoryRate(capability, OnChipMemory::kShared).ok()) << capability.ToString();
  }
}

// Narrower formats are never slower on tensor cores, and FP32 accumulation never faster than FP16.
TEST(RateTable, RatesAreOrderedByWidth) {
  for (const ComputeCapability capability : RateComputeCapabilities()) {
    for (const ProductClass product_class : {ProductClass::kProfessional, ProductClass::kGeForce}) {
      double before = 0;
      for (const RatePath& path : {kTensorTf32Fp32, kTensorBf16Fp32, kTensorFp8Fp32, kTensorFp4Fp32}) {
        const auto rate = FindRate(capability, product_class, path);
        if (!rate.ok()) continue;
        EXPECT_GE(rate->operations_per_clock_per_sm, before) << capability.ToString() << " " << RatePathName(path);
        before = rate->operations_per_clock_per_sm;
      }
      for (const auto& [half, full] : {std::pair{kTensorFp16Fp16, kTensorFp16Fp32},
                                       {kTensorFp8Fp16, kTensorFp8Fp32},
                                       {kTensorFp6Fp16, kTensorFp6Fp32}}) {
        const auto half_rate = FindRate(capability, product_class, half);
        const auto full_rate = FindRate(capability, product_class, full);
        ASSERT_EQ(half_rate.ok(), full_rate.ok());
        if (!half_rate.ok()) continue;
        EXPECT_LE(full_rate->operations_per_clock_per_sm, half_rate->operations_per_clock_per_sm);
      }
    }
  }
}

}  // namespace
}  // namespace gx::model
