#include "analysis/model/peaks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace gx::model {
namespace {

using CC = ComputeCapability;
constexpr ProductClass kPro = ProductClass::kProfessional;
constexpr ProductClass kGeForce = ProductClass::kGeForce;
constexpr Sparsity kSparse = Sparsity::kStructured2To4;

PeakInput Input(CC capability, ProductClass product_class, RatePath path, int64_t sm_count, double clock_ghz) {
  PeakInput input;
  input.compute_capability = capability;
  input.product_class = product_class;
  input.path = path;
  input.table_sm_count = sm_count;
  input.table_clock_hz = clock_ghz * 1e9;
  return input;
}

// What is published of a product, in TFLOP/s, against rate x SMs x clock. Three digits of a headline agree within 0.6
// %.
TEST(Peaks, RatesTimesSmsTimesClockGiveThePublishedFigures) {
  struct Case {
    CC capability;
    ProductClass product_class;
    RatePath path;
    int64_t sm_count;
    double clock_ghz;
    double published_tflops;
    const char* source;
  };
  const Case cases[] = {
      // Tensor paths.
      {{7, 0}, kPro, kTensorFp16Fp32, 80, 1.53, 125.3, "V100: NVIDIA forum 244727"},
      {{7, 5}, kPro, kTensorFp16Fp32, 40, 1.59, 65.1, "T4: TechPowerUp, 65"},
      {{7, 5}, kPro, kTensorInt8Int32, 40, 1.59, 130, "T4: TechPowerUp"},
      {{8, 0}, kPro, kTensorFp16Fp32, 108, 1.41, 311.9, "A100: NVIDIA forum 244727"},
      {{8, 0}, kPro, kTensorBf16Fp32, 108, 1.41, 312, "A100 whitepaper"},
      {{8, 0}, kPro, kTensorTf32Fp32, 108, 1.41, 155.9, "A100: hmc-tech.com"},
      {{8, 0}, kPro, kTensorInt8Int32, 108, 1.41, 623.7, "A100: hmc-tech.com"},
      {{8, 0}, kPro, kTensorInt4Int32, 108, 1.41, 1250, "A100: hmc-tech.com"},
      {{8, 0}, kPro, kTensorFp64Fp64, 108, 1.41, 19.49, "A100: hmc-tech.com"},
      {{8, 6}, kPro, kTensorFp16Fp32, 72, 1.695, 125, "A10: TechPowerUp"},
      {{8, 6}, kPro, kTensorInt8Int32, 72, 1.695, 250, "A10: TechPowerUp"},
      {{8, 6}, kGeForce, kTensorFp16Fp32, 82, 1.695, 71, "RTX 3090: TechPowerUp"},
      {{8, 6}, kGeForce, kTensorFp16Fp16, 82, 1.695, 142, "RTX 3090: TechPowerUp"},
      {{8, 6}, kGeForce, kTensorInt8Int32, 82, 1.695, 285, "RTX 3090: TechPowerUp"},
      {{8, 9}, kPro, kTensorFp16Fp32, 58, 2.04, 121, "L4: TechPowerUp"},
      {{8, 9}, kPro, kTensorFp8Fp32, 58, 2.04, 242, "L4: TechPowerUp"},
      {{8, 9}, kPro, kTensorFp16Fp32, 142, 2.52, 366, "L40S: TechPowerUp"},
      {{8, 9}, kPro, kTensorFp8Fp32, 142, 2.52, 733, "L40S: TechPowerUp"},
      {{8, 9}, kGeForce, kTensorFp16Fp16, 128, 2.52, 330.3, "RTX 4090: hmc-tech.com"},
      {{8, 9}, kGeForce, kTensorFp16Fp32, 128, 2.52, 165.2, "RTX 4090: hmc-tech.com"},
      {{8, 9}, kGeForce, kTensorTf32Fp32, 128, 2.52, 82.6, "RTX 4090: TechPowerUp, the FP32 rate"},
      {{8, 9}, kGeForce, kTensorFp8Fp16, 128, 2.52, 660.6, "RTX 4090: hmc-tech.com"},
      {{8, 9}, kGeForce, kTensorFp8Fp32, 128, 2.52, 330.3, "RTX 4090: hmc-tech.com"},
      {{9, 0}, kPro, kTensorFp16Fp32, 132, 1.83, 989, "H100 SXM: NVIDIA forum 244727"},
      {{9, 0}, kPro, kTensorFp16Fp32, 114, 1.62, 756, "H100 PCIe: NVIDIA forum 244727"},
      {{9, 0}, kPro, kTensorFp8Fp32, 132, 1.83, 1979, "H100 SXM: TechPowerUp"},
      {{9, 0}, kPro, kTensorInt8Int32, 114, 1.62, 1513, "H100 PCIe: TechPowerUp"},
      {{10, 0}, kPro, kTensorBf16Fp32, 148, 1.856, 2250, "B200: glennklockwood.com"},
      {{10, 0}, kPro, kTensorTf32Fp32, 148, 1.856, 1125, "B200: hmc-tech.com, 1.13 PFLOP/s"},
      {{10, 0}, kPro, kTensorFp8Fp32, 148, 1.856, 4500, "B200: glennklockwood.com"},
      {{10, 0}, kPro, kTensorFp6Fp32, 148, 1.856, 4500, "B200: glennklockwood.com"},
      {{10, 0}, kPro, kTensorFp4Fp32, 148, 1.856, 9000, "B200: glennklockwood.com"},
      {{10, 0}, kPro, kTensorInt8Int32, 148, 1.856, 4500, "B200: glennklockwood.com"},
      {{10, 0}, kPro, kTensorFp64Fp64, 148, 1.965, 37.2, "B200: zdszero.github.io quoting NVIDIA, 37"},
      {{10, 3}, kPro, kTensorBf16Fp32, 148, 1.856, 2250, "B300: glennklockwood.com"},
      {{10, 3}, kPro, kTensorTf32Fp32, 148, 1.856, 1125, "B300: glennklockwood.com"},
      {{12, 0}, kGeForce, kTensorFp16Fp16, 170, 2.407, 419, "RTX 5090: note on sm_120"},
      {{12, 0}, kGeForce, kTensorFp16Fp32, 170, 2.407, 209.5, "RTX 5090: note on sm_120"},
      {{12, 0}, kGeForce, kTensorTf32Fp32, 170, 2.407, 104.8, "RTX 5090: the FP32 rate"},
      {{12, 0}, kGeForce, kTensorFp8Fp16, 170, 2.407, 838, "RTX 5090: TechPowerUp"},
      {{12, 0}, kGeForce, kTensorFp4Fp32, 170, 2.407, 1676, "RTX 5090: TechPowerUp"},
      {{12, 0}, kPro, kTensorFp16Fp32, 188, 2.617, 504, "RTX PRO 6000: one of two sources"},
      {{12, 0}, kPro, kTensorFp8Fp32, 188, 2.617, 1008, "RTX PRO 6000: TechPowerUp"},
      {{12, 0}, kPro, kTensorFp4Fp32, 188, 2.617, 2015, "RTX PRO 6000: derived"},
      // FP32 of every product (TechPowerUp).
      {{7, 5}, kPro, kFp32Fma, 40, 1.59, 8.14, "T4"},
      {{7, 0}, kPro, kFp32Fma, 80, 1.53, 15.7, "V100"},
      {{8, 0}, kPro, kFp32Fma, 108, 1.41, 19.5, "A100"},
      {{8, 6}, kPro, kFp32Fma, 72, 1.695, 31.2, "A10"},
      {{8, 6}, kGeForce, kFp32Fma, 82, 1.695, 35.6, "RTX 3090"},
      {{8, 9}, kPro, kFp32Fma, 58, 2.04, 30.3, "L4"},
      {{8, 9}, kPro, kFp32Fma, 142, 2.52, 91.6, "L40S"},
      {{8, 9}, kGeForce, kFp32Fma, 128, 2.52, 82.6, "RTX 4090"},
      {{9, 0}, kPro, kFp32Fma, 114, 1.755, 51.2, "H100 PCIe"},
      {{9, 0}, kPro, kFp32Fma, 132, 1.98, 66.9, "H100 SXM"},
      {{10, 0}, kPro, kFp32Fma, 148, 1.965, 74.5, "B200: 74 to 80, by source"},
      {{10, 3}, kPro, kFp32Fma, 148, 2.032, 77, "B300"},
      {{12, 0}, kGeForce, kFp32Fma, 170, 2.407, 104.8, "RTX 5090"},
      {{12, 0}, kPro, kFp32Fma, 188, 2.617, 126, "RTX PRO 6000"},
      // FP64 and packed FP16.
      {{7, 5}, kPro, kFp64Fma, 40, 1.59, 0.254, "T4: TechPowerUp"},
      {{8, 0}, kPro, kFp64Fma, 108, 1.41, 9.75, "A100: hmc-tech.com"},
      {{8, 0}, kPro, kFp16Fma, 108, 1.41, 78, "A100: NVIDIA forum 218102"},
      {{8, 0}, kPro, kBf16Fma, 108, 1.41, 39, "A100: NVIDIA forum 218102"},
      {{9, 0}, kPro, kFp16Fma, 132, 1.98, 133.8, "H100: NVIDIA forum 218102, twice FP32"},
  };
  for (const Case& c : cases) {
    const auto peak = ComputePeak(Input(c.capability, c.product_class, c.path, c.sm_count, c.clock_ghz));
    ASSERT_TRUE(peak.ok()) << c.source << ": " << peak.status();
    EXPECT_NEAR(peak->operations_per_second / 1e12 / c.published_tflops, 1, 0.006)
        << c.source << ", " << RatePathName(c.path) << ": " << peak->operations_per_second / 1e12;
  }
}

// 10.3 has a whole number of FP64 units where the published figure gives 4.2 operations: within 4 % of it, and the row
// says "about".
TEST(Peaks, Fp64OfB300IsAboutThePublishedFigure) {
  constexpr double kPublishedTflops = 1.25;  // glennklockwood.com: with FMA instructions and with tensor cores
  for (const RatePath& path : {kFp64Fma, kTensorFp64Fp64}) {
    const auto peak = ComputePeak(Input({10, 3}, kPro, path, 148, 2.032));
    ASSERT_TRUE(peak.ok()) << peak.status();
    EXPECT_NEAR(peak->operations_per_second / 1e12 / kPublishedTflops, 1, 0.04);
    EXPECT_TRUE(absl::StartsWith(peak->note, "about: ")) << peak->note;
  }
}

// Multiply-adds per clock per SM as the sources of each row give them: CUDA C++ Programming Guide (7.x, 8.0),
// openxla/xla (9.0, 10.x), product figures (7.5, 8.6, 8.9, 10.3), a note on sm_120 (12.0); 8.7 and most special
// functions are recalled.
TEST(Peaks, NonTensorRatesAreThoseOfTheTables) {
  struct Case {
    CC capability;
    double fp64, fp32, fp16, bf16, int32, sfu;  // multiply-adds; bf16 0: none
  };
  for (const Case& c : {Case{{7, 0}, 32, 64, 128, 0, 64, 16}, Case{{7, 5}, 2, 64, 128, 0, 64, 16},
                        Case{{8, 0}, 32, 64, 256, 128, 64, 16}, Case{{8, 6}, 2, 128, 128, 128, 64, 16},
                        Case{{8, 7}, 2, 128, 256, 128, 64, 16}, Case{{8, 9}, 2, 128, 128, 128, 64, 16},
                        Case{{9, 0}, 64, 128, 256, 256, 64, 16}, Case{{10, 0}, 64, 128, 128, 128, 64, 16},
                        Case{{10, 3}, 2, 128, 128, 128, 64, 32}, Case{{12, 0}, 2, 128, 128, 128, 64, 16}}) {
    const auto rate = [&](const RatePath& path) {
      return FindRate(c.capability, ProductClass::kUnknown, path)->operations_per_clock_per_sm;
    };
    EXPECT_EQ(rate(kFp64Fma), 2 * c.fp64) << c.capability.ToString();
    EXPECT_EQ(rate(kFp32Fma), 2 * c.fp32) << c.capability.ToString();
    EXPECT_EQ(rate(kFp16Fma), 2 * c.fp16) << c.capability.ToString();
    EXPECT_EQ(rate(kInt32Mad), 2 * c.int32) << c.capability.ToString();
    EXPECT_EQ(rate(kSpecialFunction), c.sfu) << c.capability.ToString();
    EXPECT_EQ(rate(kWarpIssue), 4) << c.capability.ToString();
    if (c.bf16 == 0) {
      EXPECT_TRUE(absl::IsNotFound(FindRate(c.capability, ProductClass::kUnknown, kBf16Fma).status()));
    } else {
      EXPECT_EQ(rate(kBf16Fma), 2 * c.bf16) << c.capability.ToString();
    }
  }
}

// Dense operations per clock per SM; 0: the capability has no such path. Sources in the rows; the figures of products
// that they give are in the first test.
TEST(Peaks, TensorRatesAreThoseOfTheTables) {
  struct Case {
    CC capability;
    ProductClass product_class;
    double fp16_fp16, fp16_fp32, bf16_fp32, tf32, fp8_fp16, fp8_fp32, fp6_fp16, fp6_fp32, fp4, int8, int4, fp64;
  };
  for (const Case& c : {
           Case{{7, 0}, kPro, 1024, 1024, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
           Case{{7, 5}, kPro, 1024, 1024, 0, 0, 0, 0, 0, 0, 0, 2048, 4096, 0},
           Case{{7, 5}, kGeForce, 1024, 512, 0, 0, 0, 0, 0, 0, 0, 2048, 4096, 0},
           Case{{8, 0}, kPro, 2048, 2048, 2048, 1024, 0, 0, 0, 0, 0, 4096, 8192, 128},
           Case{{8, 6}, kPro, 1024, 1024, 1024, 512, 0, 0, 0, 0, 0, 2048, 4096, 0},
           Case{{8, 6}, kGeForce, 1024, 512, 512, 256, 0, 0, 0, 0, 0, 2048, 4096, 0},
           Case{{8, 7}, kPro, 2048, 2048, 2048, 1024, 0, 0, 0, 0, 0, 4096, 8192, 0},
           Case{{8, 9}, kPro, 1024, 1024, 1024, 512, 2048, 2048, 0, 0, 0, 2048, 4096, 0},
           Case{{8, 9}, kGeForce, 1024, 512, 512, 256, 2048, 1024, 0, 0, 0, 2048, 4096, 0},
           Case{{9, 0}, kPro, 4096, 4096, 4096, 2048, 8192, 8192, 0, 0, 0, 8192, 0, 256},
           Case{{10, 0}, kPro, 8192, 8192, 8192, 4096, 16384, 16384, 16384, 16384, 32768, 16384, 0, 128},
           Case{{10, 3}, kPro, 8192, 8192, 8192, 4096, 16384, 16384, 16384, 16384, 49152, 16384, 0, 4},
           Case{{12, 0}, kPro, 1024, 1024, 1024, 512, 2048, 2048, 2048, 2048, 4096, 2048, 0, 0},
           Case{{12, 0}, kGeForce, 1024, 512, 512, 256, 2048, 1024, 2048, 1024, 4096, 2048, 0, 0},
       }) {
    const auto expect = [&](const RatePath& path, double expected) {
      const auto rate = FindRate(c.capability, c.product_class, path);
      EXPECT_EQ(rate.ok() ? rate->operations_per_clock_per_sm : 0, expected)
          << c.capability.ToString() << " " << ProductClassName(c.product_class) << " " << RatePathName(path);
      EXPECT_EQ(absl::IsNotFound(rate.status()), expected == 0);
    };
    expect(kTensorFp16Fp16, c.fp16_fp16);
    expect(kTensorFp16Fp32, c.fp16_fp32);
    expect(kTensorBf16Fp32, c.bf16_fp32);
    expect(kTensorTf32Fp32, c.tf32);
    expect(kTensorFp8Fp16, c.fp8_fp16);
    expect(kTensorFp8Fp32, c.fp8_fp32);
    expect(kTensorFp6Fp16, c.fp6_fp16);
    expect(kTensorFp6Fp32, c.fp6_fp32);
    expect(kTensorFp4Fp32, c.fp4);
    expect(kTensorInt8Int32, c.int8);
    expect(kTensorInt4Int32, c.int4);
    expect(kTensorFp64Fp64, c.fp64);
  }
}

TEST(Peaks, TheHeadlineOfH100IsNoUpperBound) {
  const auto headline = ComputePeak(Input({9, 0}, kPro, kTensorBf16Fp32, 132, 1.83));
  const auto bound = ComputePeak(Input({9, 0}, kPro, kTensorBf16Fp32, 132, 1.98));
  EXPECT_NEAR(headline->operations_per_second / 1e12, 989.4, 0.1);
  EXPECT_NEAR(bound->operations_per_second / 1e12, 1070.5, 0.1);  // 4096 x 132 x 1.98 GHz
  EXPECT_FALSE(bound->note.empty());
}

TEST(Peaks, GeForceHasHalfTheTensorRateWithFp32AccumulationAndNoCapabilitySaysSo) {
  for (const CC capability : {CC{7, 5}, CC{8, 6}, CC{8, 9}, CC{12, 0}}) {
    const auto pro = FindRate(capability, kPro, kTensorFp16Fp32);
    const auto geforce = FindRate(capability, kGeForce, kTensorFp16Fp32);
    ASSERT_TRUE(pro.ok() && geforce.ok()) << capability.ToString();
    EXPECT_EQ(pro->operations_per_clock_per_sm, 2 * geforce->operations_per_clock_per_sm) << capability.ToString();
    // With FP16 accumulation both have the full rate, and nobody has to know the class.
    EXPECT_EQ(FindRate(capability, ProductClass::kUnknown, kTensorFp16Fp16)->operations_per_clock_per_sm,
              pro->operations_per_clock_per_sm);
  }
  const absl::Status unknown = FindRate({8, 9}, ProductClass::kUnknown, kTensorFp16Fp32).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      unknown.message(),
      "product class: got unknown, expected professional or GeForce (rate of tensor_fp16_fp32 on compute capability "
      "8.9 depends on it)");
}

TEST(Peaks, SparsityDoublesTensorRatesExceptWhereASourceSaysOtherwise) {
  for (const CC capability : RateComputeCapabilities()) {
    for (const RatePath& path : RatePaths()) {
      const auto dense = FindRate(capability, kPro, path);
      const auto sparse = FindRate(capability, kPro, path, kSparse);
      const bool has =
          dense.ok() && path.unit == ExecutionUnit::kTensorCore && !(path == kTensorFp64Fp64) && capability >= CC{8, 0};
      ASSERT_EQ(sparse.ok(), has) << capability.ToString() << " " << RatePathName(path);
      if (!has) continue;
      const double factor = sparse->operations_per_clock_per_sm / dense->operations_per_clock_per_sm;
      if (capability == CC{10, 3} && path == kTensorFp4Fp32) {
        EXPECT_NEAR(factor, 18.0 / 13.5, 1e-9);  // glennklockwood.com, B300: 18 PFLOP/s sparse
      } else {
        EXPECT_EQ(factor, 2) << capability.ToString() << " " << RatePathName(path);
      }
    }
  }
  EXPECT_EQ(
      FindRate({7, 0}, kPro, kTensorFp16Fp32, kSparse).status().message(),
      "2:4 sparsity: tensor_fp16_fp32 on compute capability 7.0 has none; tensor paths but FP64 have it from 8.0 on");
}

TEST(Peaks, WhatIsNotKnownIsRefusedWithWhatIs) {
  const absl::Status no_path = FindRate({7, 0}, kPro, kTensorFp8Fp32).status();
  EXPECT_EQ(no_path.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(no_path.message(),
            "rate of tensor_fp8_fp32 on compute capability 7.0: not in the table; known: fp64, fp32, fp16, int32, sfu, "
            "issue, tensor_fp16_fp16, tensor_fp16_fp32");
  // SMs of these are known (sm_limits.h), rates are not.
  for (const CC capability : {CC{11, 0}, CC{12, 1}}) {
    EXPECT_TRUE(absl::IsNotFound(FindRate(capability, kPro, kFp32Fma).status()));
    EXPECT_TRUE(absl::IsNotFound(FindMemoryRate(capability, OnChipMemory::kShared).status()));
  }
  const absl::Status no_capability = FindRate({6, 1}, kPro, kFp32Fma).status();
  EXPECT_EQ(no_capability.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      no_capability.message(),
      "rates of compute capability 6.1: not in the table; known: 7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 12.0");
}

TEST(Peaks, WhatTheDeviceSaysOverridesEveryTableValueAndTheResultSaysWhich) {
  PeakInput input = Input({9, 0}, kPro, kTensorBf16Fp32, 132, 1.98);
  input.table_source = "H200 SXM";
  const auto table = ComputePeak(input);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->sm_count.provenance, Provenance::kTable);
  EXPECT_EQ(table->sm_count.source, "H200 SXM");
  EXPECT_EQ(table->clock_hz.provenance, Provenance::kTable);
  EXPECT_EQ(table->operations_per_clock_per_sm.provenance, Provenance::kTable);
  EXPECT_TRUE(absl::StrContains(table->operations_per_clock_per_sm.source, "244727"));
  EXPECT_EQ(*table->source_kind, SourceKind::kVendorStatement);

  input.device.sm_count = 66;  // a MIG instance, say
  input.device.source = "cuDeviceGetAttribute";
  const auto mixed = ComputePeak(input);
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ(mixed->sm_count.provenance, Provenance::kDevice);
  EXPECT_EQ(mixed->sm_count.source, "cuDeviceGetAttribute");
  EXPECT_EQ(mixed->clock_hz.provenance, Provenance::kTable);
  EXPECT_DOUBLE_EQ(mixed->operations_per_second, table->operations_per_second / 2);

  input.device.sm_clock_hz = 1.0e9;
  input.device.operations_per_clock_per_sm = 1000;
  const auto device = ComputePeak(input);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_DOUBLE_EQ(device->operations_per_second, 66e12);
  EXPECT_EQ(device->operations_per_clock_per_sm.provenance, Provenance::kDevice);
  EXPECT_EQ(device->clock_hz.provenance, Provenance::kDevice);
  EXPECT_FALSE(device->source_kind.has_value());
  EXPECT_FALSE(device->conflict);

  // With all of it from the device no table is needed, not even the compute capability.
  PeakInput bare;
  bare.device = input.device;
  bare.compute_capability = {99, 0};
  EXPECT_DOUBLE_EQ(ComputePeak(bare)->operations_per_second, 66e12);
}

TEST(Peaks, AConflictBetweenSourcesReachesTheResult) {
  const auto peak = ComputePeak(Input({12, 0}, kGeForce, kTensorFp8Fp32, 170, 2.407));
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_TRUE(peak->conflict);
  EXPECT_TRUE(absl::StrContains(peak->note, "CUTLASS")) << peak->note;
  EXPECT_FALSE(ComputePeak(Input({8, 0}, kPro, kFp32Fma, 108, 1.41))->conflict);
}

TEST(Peaks, RefusesValuesThatCannotBe) {
  const PeakInput good = Input({8, 0}, kPro, kFp32Fma, 108, 1.41);
  const auto message = [&](auto change) {
    PeakInput input = good;
    change(input);
    return std::string(ComputePeak(input).status().message());
  };
  EXPECT_EQ(message([](PeakInput& in) { in.table_sm_count.reset(); }),
            "sm_count: got none, expected one of the device or of a product");
  EXPECT_EQ(message([](PeakInput& in) { in.table_clock_hz.reset(); }),
            "clock_hz: got none, expected one of the device or of a product");
  EXPECT_EQ(message([](PeakInput& in) { in.table_sm_count = 0; }), "table_sm_count: got 0, expected 1 or more");
  EXPECT_EQ(message([](PeakInput& in) { in.table_clock_hz = -1; }),
            "table_clock_hz: got -1, expected a finite number above 0");
  EXPECT_EQ(message([](PeakInput& in) { in.device.sm_count = -4; }), "device.sm_count: got -4, expected 1 or more");
  EXPECT_EQ(message([](PeakInput& in) { in.device.sm_clock_hz = 0; }),
            "device.sm_clock_hz: got 0, expected a finite number above 0");
  EXPECT_EQ(message([](PeakInput& in) { in.device.operations_per_clock_per_sm = 0; }),
            "device.operations_per_clock_per_sm: got 0, expected a finite number above 0");
  EXPECT_EQ(message([](PeakInput& in) { in.device.sm_clock_hz = 1e308; }),
            "operations_per_second: rate x SMs x clock is beyond the range of a double");
}

TEST(RatePathName, EveryPathHasANameThatParsesBackToIt) {
  for (const RatePath& path : RatePaths()) {
    const auto parsed = ParseRatePath(RatePathName(path));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, path);
  }
  EXPECT_EQ(RatePathName(kFp32Fma), "fp32");
  EXPECT_EQ(RatePathName(kTensorBf16Fp32), "tensor_bf16_fp32");
  EXPECT_EQ(RatePathName(kSpecialFunction), "sfu");
  EXPECT_EQ(RatePathName(kWarpIssue), "issue");
  EXPECT_EQ(RatePathName({ExecutionUnit::kCudaCore, NumberFormat::kFp16, NumberFormat::kFp32}), "fp16_fp32");
}

TEST(RatePathName, AnUnknownOneIsRefusedWithTheKnownOnes) {
  const absl::Status status = ParseRatePath("tensor_fp3").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      absl::StartsWith(status.message(),
                       "instruction path: got 'tensor_fp3', expected one of fp64, fp32, fp16, bf16, int32, sfu, "
                       "issue, tensor_fp16_fp16, "))
      << status.message();
}

// The rows themselves are in rate_table_test.cc.
TEST(MemoryRates, SaySmOrChipDocumentedOrMeasured) {
  const auto shared = FindMemoryRate({9, 0}, OnChipMemory::kShared);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->bytes_per_clock, 128);
  EXPECT_TRUE(shared->per_sm);
  EXPECT_EQ(shared->kind, CeilingKind::kTheoretical);
  EXPECT_EQ(shared->source_kind, SourceKind::kVendorDocument);
  const auto l1 = FindMemoryRate({8, 9}, OnChipMemory::kL1Load);
  ASSERT_TRUE(l1.ok()) << l1.status();
  EXPECT_EQ(l1->bytes_per_clock, 64);
  EXPECT_TRUE(l1->per_sm);
  EXPECT_EQ(l1->kind, CeilingKind::kEmpirical);
  EXPECT_TRUE(absl::StrContains(l1->note, "wavefronts")) << l1->note;
  const auto l2 = FindMemoryRate({8, 0}, OnChipMemory::kL2Read);
  ASSERT_TRUE(l2.ok()) << l2.status();
  EXPECT_EQ(l2->bytes_per_clock, 5120);
  EXPECT_FALSE(l2->per_sm);
  EXPECT_EQ(l2->kind, CeilingKind::kTheoretical);
  EXPECT_TRUE(FindMemoryRate({7, 5}, OnChipMemory::kShared)->conflict);
  EXPECT_EQ(FindMemoryRate({9, 0}, OnChipMemory::kL2Read).status().message(),
            "L2 read bytes per clock on compute capability 9.0: not published; known: shared memory, L1 load");
  // What is only recalled is no ceiling.
  EXPECT_EQ(FindMemoryRate({10, 0}, OnChipMemory::kL1Load).status().message(),
            "L1 load bytes per clock on compute capability 10.0: not published; known: shared memory");
  EXPECT_TRUE(absl::IsNotFound(FindMemoryRate({5, 2}, OnChipMemory::kShared).status()));
}

TEST(PinBandwidth, IsBusWidthTimesTransferRate) {
  EXPECT_DOUBLE_EQ(*PinBytesPerSecond(5120, 2.43e9), 1555.2e9);  // A100 40 GB
  EXPECT_DOUBLE_EQ(*PinBytesPerSecond(384, 21e9), 1008e9);       // RTX 4090
  // An H200 says 6,016 bits and 3,201,000 kHz; its DRAM counters peak at 1,504 bytes per clock of 3.199 GHz.
  EXPECT_DOUBLE_EQ(*PinBytesPerSecondAtClock(6016, 3.201e9), 4814.304e9);
  EXPECT_DOUBLE_EQ(*PinBytesPerSecondAtClock(6016, 3.199e9), 1504 * 3.199e9);
}

TEST(PinBandwidth, RefusesWhatCannotBe) {
  EXPECT_EQ(PinBytesPerSecond(0, 1e9).status().message(), "bus_bits: got 0, expected 1 or more");
  EXPECT_EQ(PinBytesPerSecond(256, 0).status().message(),
            "bits_per_second_per_pin: got 0, expected a finite number above 0");
  EXPECT_EQ(PinBytesPerSecondAtClock(256, -1).status().message(),
            "memory_clock_hz: got -1, expected a finite number above 0");
  EXPECT_EQ(PinBytesPerSecond(1 << 20, 1e305).status().message(),
            "bytes_per_second: bus_bits x rate is beyond the range of a double");
}

TEST(PeaksProperty, APeakRisesWithSmsAndClock) {
  double before = 0;
  for (int64_t sm_count = 1; sm_count < 200; ++sm_count) {
    const double now =
        ComputePeak(Input({9, 0}, kPro, kTensorBf16Fp32, sm_count, 1.0 + static_cast<double>(sm_count) / 200))
            ->operations_per_second;
    ASSERT_GT(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace gx::model
