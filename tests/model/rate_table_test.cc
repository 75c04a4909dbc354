#include "analysis/model/rate_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

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
    // Neither a document nor a measurement, so no ceiling of any kind.
    EXPECT_NE(row.source.kind, SourceKind::kUnsourced);
  }
}

// Where every row comes from, and which of them another source contradicts. The rates are in peaks_test.cc.
TEST(RateTable, SourcesAndConflictsAreTheKnownOnes) {
  using CC = ComputeCapability;
  constexpr ProductClass kAny = ProductClass::kUnknown;
  constexpr ProductClass kPro = ProductClass::kProfessional;
  constexpr ProductClass kGeForce = ProductClass::kGeForce;
  constexpr SourceKind kDocument = SourceKind::kVendorDocument;
  constexpr SourceKind kStatement = SourceKind::kVendorStatement;
  constexpr SourceKind kThird = SourceKind::kThirdParty;
  constexpr SourceKind kDerived = SourceKind::kDerived;
  constexpr SourceKind kRecalled = SourceKind::kUnsourced;
  struct Group {
    CC capability;
    ProductClass product_class;
    SourceKind kind;
    bool conflict;
    const char* paths;
  };
  const Group groups[] = {
      {{7, 0}, kAny, kDocument, false, "fp64 fp32 fp16 sfu issue"},
      {{7, 0}, kAny, kStatement, false, "tensor_fp16_fp16 tensor_fp16_fp32"},
      {{7, 0}, kAny, kRecalled, false, "int32"},
      {{7, 5}, kAny, kDocument, false, "fp32 fp16 sfu issue"},
      {{7, 5}, kAny, kDerived, false, "fp64 tensor_fp16_fp16 tensor_int8_int32"},
      {{7, 5}, kAny, kRecalled, false, "int32 tensor_int4_int32"},
      {{7, 5}, kPro, kRecalled, false, "tensor_fp16_fp32"},
      {{7, 5}, kGeForce, kRecalled, false, "tensor_fp16_fp32"},
      {{8, 0}, kAny, kDocument, false, "fp64 fp32 int32 sfu issue"},
      {{8, 0}, kAny, kDocument, true, "fp16"},
      {{8, 0}, kAny, kStatement, false, "bf16 tensor_fp16_fp16 tensor_fp16_fp32 tensor_bf16_fp32"},
      {{8, 0}, kAny, kThird, false, "tensor_tf32_fp32 tensor_int8_int32 tensor_fp64_fp64"},
      {{8, 0}, kAny, kDerived, false, "tensor_int4_int32"},
      {{8, 6}, kAny, kDocument, false, "issue"},
      {{8, 6}, kAny, kDerived, false, "fp64 fp32 bf16 tensor_fp16_fp16 tensor_int8_int32"},
      {{8, 6}, kAny, kDerived, true, "fp16"},
      {{8, 6}, kAny, kRecalled, false, "int32 sfu tensor_int4_int32"},
      {{8, 6}, kPro, kDerived, false, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{8, 6}, kGeForce, kDerived, false, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{8, 7}, kAny, kDocument, false, "issue"},
      {{8, 7}, kAny, kRecalled, false, "fp64 fp32 fp16 bf16 int32 sfu"},
      {{8, 7},
       kAny,
       kRecalled,
       false,
       "tensor_fp16_fp16 tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32 tensor_int8_int32 tensor_int4_int32"},
      {{8, 9}, kAny, kDocument, false, "issue"},
      {{8, 9},
       kAny,
       kDerived,
       false,
       "fp64 fp32 fp16 bf16 tensor_fp16_fp16 tensor_fp8_fp16 tensor_int8_int32 tensor_int4_int32"},
      {{8, 9}, kAny, kRecalled, false, "int32 sfu"},
      {{8, 9}, kPro, kDerived, false, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32 tensor_fp8_fp32"},
      {{8, 9}, kGeForce, kDerived, false, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32 tensor_fp8_fp32"},
      {{9, 0}, kAny, kDocument, false, "issue"},
      {{9, 0}, kAny, kStatement, false, "bf16 tensor_fp16_fp16 tensor_fp16_fp32 tensor_bf16_fp32"},
      {{9, 0},
       kAny,
       kThird,
       false,
       "fp64 fp32 int32 tensor_tf32_fp32 tensor_fp8_fp16 tensor_fp8_fp32 tensor_int8_int32 tensor_fp64_fp64"},
      {{9, 0}, kAny, kThird, true, "fp16"},
      {{9, 0}, kAny, kRecalled, false, "sfu"},
      {{10, 0}, kAny, kDocument, false, "issue"},
      {{10, 0},
       kAny,
       kThird,
       false,
       "fp64 fp32 int32 tensor_fp16_fp16 tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{10, 0},
       kAny,
       kThird,
       false,
       "tensor_fp8_fp16 tensor_fp8_fp32 tensor_fp6_fp16 tensor_fp6_fp32 tensor_fp4_fp32 tensor_int8_int32 "
       "tensor_fp64_fp64"},
      {{10, 0}, kAny, kThird, true, "fp16 bf16"},
      {{10, 0}, kAny, kRecalled, false, "sfu"},
      {{10, 3}, kAny, kDocument, false, "issue"},
      {{10, 3}, kAny, kThird, false, "int32 sfu"},
      {{10, 3}, kAny, kThird, true, "fp16 bf16"},
      {{10, 3}, kAny, kDerived, false, "fp64 fp32 tensor_fp16_fp16 tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{10, 3},
       kAny,
       kDerived,
       false,
       "tensor_fp8_fp16 tensor_fp8_fp32 tensor_fp6_fp16 tensor_fp6_fp32 tensor_fp64_fp64"},
      {{10, 3}, kAny, kDerived, true, "tensor_fp4_fp32 tensor_int8_int32"},
      {{12, 0}, kAny, kDocument, false, "issue"},
      {{12, 0},
       kAny,
       kThird,
       false,
       "fp64 fp32 fp16 bf16 int32 tensor_fp16_fp16 tensor_fp8_fp16 tensor_fp6_fp16 tensor_fp4_fp32 tensor_int8_int32"},
      {{12, 0}, kAny, kRecalled, false, "sfu"},
      {{12, 0}, kPro, kRecalled, true, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{12, 0}, kPro, kThird, true, "tensor_fp8_fp32 tensor_fp6_fp32"},
      {{12, 0}, kGeForce, kThird, false, "tensor_fp16_fp32 tensor_bf16_fp32 tensor_tf32_fp32"},
      {{12, 0}, kGeForce, kThird, true, "tensor_fp8_fp32 tensor_fp6_fp32"},
  };
  std::map<std::string, std::string> expected;
  for (const Group& group : groups) {
    for (const absl::string_view path : absl::StrSplit(group.paths, ' ')) {
      const std::string key =
          absl::StrCat(group.capability.ToString(), " ", ProductClassName(group.product_class), " ", path);
      EXPECT_TRUE(
          expected.emplace(key, absl::StrCat(SourceKindName(group.kind), group.conflict ? ", conflict" : "")).second)
          << key;
    }
  }
  std::map<std::string, std::string> found;
  for (const RateRow& row : RateRows()) {
    found.emplace(Key(row), absl::StrCat(SourceKindName(row.source.kind), row.note.conflict ? ", conflict" : ""));
  }
  EXPECT_THAT(found, testing::ContainerEq(expected));
}

TEST(RateTable, EveryMemoryRateIsTheKnownOne) {
  using CC = ComputeCapability;
  constexpr OnChipMemory kShared = OnChipMemory::kShared;
  constexpr OnChipMemory kL1 = OnChipMemory::kL1Load;
  constexpr OnChipMemory kL2 = OnChipMemory::kL2Read;
  constexpr CeilingKind kTheoretical = CeilingKind::kTheoretical;
  constexpr CeilingKind kEmpirical = CeilingKind::kEmpirical;
  constexpr SourceKind kDocument = SourceKind::kVendorDocument;
  constexpr SourceKind kThird = SourceKind::kThirdParty;
  struct Row {
    CC capability;
    OnChipMemory memory;
    double bytes_per_clock;
    CeilingKind ceiling;
    SourceKind kind;
    bool conflict;
  };
  const Row rows[] = {
      // 32 banks of 4 bytes (CUDA C++ Programming Guide); loads of 4 bytes (gpu-benches, gpu-cache: V100, A100, A40,
      // L40,
      // H100); the A100 whitepaper, p. 35.
      {{7, 0}, kShared, 128, kTheoretical, kDocument, false},  {{7, 0}, kL1, 125.6, kEmpirical, kThird, false},
      {{7, 5}, kShared, 128, kTheoretical, kDocument, true},   {{8, 0}, kShared, 128, kTheoretical, kDocument, false},
      {{8, 0}, kL1, 125.8, kEmpirical, kThird, false},         {{8, 0}, kL2, 5120, kTheoretical, kDocument, false},
      {{8, 6}, kShared, 128, kTheoretical, kDocument, false},  {{8, 6}, kL1, 64.5, kEmpirical, kThird, false},
      {{8, 7}, kShared, 128, kTheoretical, kDocument, false},  {{8, 9}, kShared, 128, kTheoretical, kDocument, false},
      {{8, 9}, kL1, 64.0, kEmpirical, kThird, false},          {{9, 0}, kShared, 128, kTheoretical, kDocument, false},
      {{9, 0}, kL1, 126.0, kEmpirical, kThird, false},         {{10, 0}, kShared, 128, kTheoretical, kDocument, false},
      {{10, 3}, kShared, 128, kTheoretical, kDocument, false}, {{12, 0}, kShared, 128, kTheoretical, kDocument, false},
  };
  ASSERT_EQ(MemoryRateRows().size(), std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    const MemoryRateRow& row = MemoryRateRows()[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(row.compute_capability, rows[i].capability);
    EXPECT_EQ(row.memory, rows[i].memory);
    EXPECT_EQ(row.bytes_per_clock, rows[i].bytes_per_clock);
    EXPECT_EQ(row.kind, rows[i].ceiling);
    EXPECT_EQ(row.source.kind, rows[i].kind);
    EXPECT_EQ(row.note.conflict, rows[i].conflict);
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
