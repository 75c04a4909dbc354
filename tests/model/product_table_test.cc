#include "analysis/model/product_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

#include "analysis/model/peaks.h"

namespace gx::model {
namespace {

TEST(ProductTable, EveryRowIsWholeAndHasASource) {
  std::set<absl::string_view> names;
  for (const Product& product : ProductTable()) {
    EXPECT_TRUE(names.insert(product.name).second) << product.name;
    EXPECT_NE(product.product_class, ProductClass::kUnknown) << product.name;
    EXPECT_GT(product.sm_count, 0) << product.name;
    EXPECT_GT(product.boost_clock_hz, 1e9) << product.name;
    EXPECT_LT(product.boost_clock_hz, 3e9) << product.name;
    EXPECT_GT(product.l2_bytes, 1 << 20) << product.name;
    EXPECT_FALSE(product.source.empty()) << product.name;
    EXPECT_FALSE(product.conflict && product.note.empty()) << product.name;
    if (product.headline_tensor_clock_hz.has_value()) {
      EXPECT_LT(*product.headline_tensor_clock_hz, product.boost_clock_hz) << product.name;
    }
    // Rates of the product are known.
    EXPECT_TRUE(FindRate(product.compute_capability, product.product_class, kFp32Fma).ok()) << product.name;
    EXPECT_TRUE(FindRate(product.compute_capability, product.product_class, kTensorFp16Fp32).ok()) << product.name;
  }
}

// Every column, as the sources named in the rows have it; 0: none.
TEST(ProductTable, EveryFigureIsThePublishedOne) {
  constexpr ProductClass kPro = ProductClass::kProfessional;
  constexpr ProductClass kGeForce = ProductClass::kGeForce;
  constexpr SourceKind kThird = SourceKind::kThirdParty;
  constexpr SourceKind kDevice = SourceKind::kDeviceReading;
  constexpr SourceKind kNone = SourceKind::kUnsourced;
  struct Row {
    const char* name;
    ComputeCapability capability;
    ProductClass product_class;
    int64_t sms;
    double boost_mhz, headline_mhz;
    int64_t bus_bits;
    double gbit_per_pin, gb_per_second;
    int64_t l2_mib;
    double l2_read_bytes_per_clock;
    SourceKind kind;
    bool conflict;
  };
  const Row rows[] = {
      {"T4", {7, 5}, kPro, 40, 1590, 0, 256, 10.0, 320, 4, 0, kThird, false},
      {"V100 SXM2", {7, 0}, kPro, 80, 1530, 0, 4096, 1.75, 898, 6, 1770, kThird, true},
      {"A100 SXM 40GB", {8, 0}, kPro, 108, 1410, 0, 5120, 2.43, 1555, 40, 3840, kThird, false},
      {"A100 SXM 80GB", {8, 0}, kPro, 108, 1410, 0, 5120, 3.19, 2039, 40, 3840, kThird, false},
      {"A100 PCIe 40GB", {8, 0}, kPro, 108, 1410, 0, 5120, 2.43, 1555, 40, 0, kThird, false},
      {"A100 PCIe 80GB", {8, 0}, kPro, 108, 1410, 0, 5120, 3.02, 1935, 40, 0, kThird, true},
      {"A10", {8, 6}, kPro, 72, 1695, 0, 384, 12.5, 600, 6, 0, kThird, false},
      {"RTX 3090", {8, 6}, kGeForce, 82, 1695, 0, 384, 19.5, 936, 6, 0, kThird, false},
      {"L4", {8, 9}, kPro, 58, 2040, 0, 192, 12.5, 300, 48, 0, kThird, true},
      {"L40S", {8, 9}, kPro, 142, 2520, 0, 384, 18, 864, 48, 0, kThird, true},
      {"RTX 4090", {8, 9}, kGeForce, 128, 2520, 0, 384, 21, 1008, 72, 0, kThird, false},
      {"H100 PCIe", {9, 0}, kPro, 114, 1755, 1620, 5120, 3.19, 2039, 50, 4730, kThird, false},
      {"H100 SXM", {9, 0}, kPro, 132, 1980, 1830, 5120, 5.24, 3352, 50, 0, kThird, false},
      // Of the device itself: 6,016 bits and 3,201 MHz.
      {"H200 SXM", {9, 0}, kPro, 132, 1980, 1830, 6016, 6.402, 4814, 60, 4930, kDevice, true},
      {"GH200 96GB", {9, 0}, kPro, 132, 1980, 1830, 6144, 5.24, 4020, 50, 0, kNone, true},
      {"GH200 144GB", {9, 0}, kPro, 132, 1980, 1830, 6144, 6.4, 4900, 60, 0, kNone, true},
      {"B200", {10, 0}, kPro, 148, 1965, 1856, 8192, 8.0, 8000, 126, 0, kThird, true},
      {"B300", {10, 3}, kPro, 148, 2032, 1856, 8192, 8.0, 8000, 126, 0, kThird, true},
      {"RTX 5090", {12, 0}, kGeForce, 170, 2407, 0, 512, 28, 1792, 96, 0, kThird, false},
      {"RTX PRO 6000", {12, 0}, kPro, 188, 2617, 0, 512, 28, 1792, 128, 0, kThird, true},
  };
  ASSERT_EQ(ProductTable().size(), std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    const Row& row = rows[i];
    const Product& product = ProductTable()[i];
    SCOPED_TRACE(row.name);
    EXPECT_EQ(product.name, row.name);
    EXPECT_EQ(product.compute_capability, row.capability);
    EXPECT_EQ(product.product_class, row.product_class);
    EXPECT_EQ(product.sm_count, row.sms);
    EXPECT_DOUBLE_EQ(product.boost_clock_hz, row.boost_mhz * 1e6);
    EXPECT_EQ(product.headline_tensor_clock_hz.has_value(), row.headline_mhz > 0);
    EXPECT_DOUBLE_EQ(product.headline_tensor_clock_hz.value_or(0), row.headline_mhz * 1e6);
    EXPECT_EQ(product.memory_bus_bits, row.bus_bits);
    EXPECT_DOUBLE_EQ(product.memory_bits_per_second_per_pin, row.gbit_per_pin * 1e9);
    EXPECT_DOUBLE_EQ(product.memory_bytes_per_second, row.gb_per_second * 1e9);
    EXPECT_EQ(product.l2_bytes, row.l2_mib * 1024 * 1024);
    EXPECT_EQ(product.measured_l2_read_bytes_per_clock.has_value(), row.l2_read_bytes_per_clock > 0);
    EXPECT_EQ(product.measured_l2_read_bytes_per_clock.value_or(0), row.l2_read_bytes_per_clock);
    EXPECT_EQ(product.source_kind, row.kind);
    EXPECT_EQ(product.conflict, row.conflict);
  }
}

TEST(ProductTable, PublishedBandwidthIsBusTimesRateOrTheRowSaysWhyNot) {
  for (const Product& product : ProductTable()) {
    const double pins = *PinBytesPerSecond(product.memory_bus_bits, product.memory_bits_per_second_per_pin);
    const double difference = std::abs(product.memory_bytes_per_second / pins - 1);
    if (difference <= 0.01) continue;
    EXPECT_TRUE(absl::string_view(product.note).find("per pin is rounded") != absl::string_view::npos)
        << product.name << ": " << product.memory_bytes_per_second << " against " << pins;
    EXPECT_LE(difference, 0.03) << product.name;
  }
}

// SMs, boost clock and published FP32 in TFLOP/s (TechPowerUp; B200 74 to 80 by source).
TEST(ProductTable, SmsAndClocksGiveThePublishedFp32) {
  struct Case {
    const char* name;
    double fp32_tflops;
  };
  for (const Case& c : {Case{"T4", 8.1},
                        Case{"V100 SXM2", 15.7},
                        Case{"A100 SXM 40GB", 19.5},
                        Case{"A100 SXM 80GB", 19.5},
                        Case{"A100 PCIe 40GB", 19.5},
                        Case{"A100 PCIe 80GB", 19.5},
                        Case{"A10", 31.2},
                        Case{"RTX 3090", 35.6},
                        Case{"L4", 30.3},
                        Case{"L40S", 91.6},
                        Case{"RTX 4090", 82.6},
                        Case{"H100 PCIe", 51.2},
                        Case{"H100 SXM", 66.9},
                        Case{"H200 SXM", 66.9},
                        Case{"GH200 96GB", 67},
                        Case{"GH200 144GB", 67},
                        Case{"B200", 74.5},
                        Case{"B300", 77},
                        Case{"RTX 5090", 104.8},
                        Case{"RTX PRO 6000", 126}}) {
    const Product& product = *FindProduct(c.name)->product;
    PeakInput input;
    input.compute_capability = product.compute_capability;
    input.product_class = product.product_class;
    input.path = kFp32Fma;
    input.table_sm_count = product.sm_count;
    input.table_clock_hz = product.boost_clock_hz;
    EXPECT_NEAR(ComputePeak(input)->operations_per_second / 1e12 / c.fp32_tflops, 1, 0.006) << c.name;
  }
}

// Published dense FP16 tensor rates with FP32 accumulation, at the clock that the headline assumes.
TEST(ProductTable, HeadlinesAreRateTimesSmsTimesTheHeadlineClock) {
  struct Case {
    const char* name;
    double tflops;
  };
  for (const Case& c : {Case{"T4", 65},
                        Case{"V100 SXM2", 125},
                        Case{"A100 SXM 40GB", 312},
                        Case{"A100 SXM 80GB", 312},
                        Case{"A100 PCIe 40GB", 312},
                        Case{"A100 PCIe 80GB", 312},
                        Case{"A10", 125},
                        Case{"RTX 3090", 71},
                        Case{"L4", 121},
                        Case{"L40S", 366},
                        Case{"RTX 4090", 165},
                        Case{"H100 PCIe", 756},
                        Case{"H100 SXM", 989},
                        Case{"H200 SXM", 989},
                        Case{"GH200 96GB", 989},
                        Case{"GH200 144GB", 989},
                        Case{"B200", 2250},
                        Case{"B300", 2250},
                        Case{"RTX 5090", 209.5},
                        Case{"RTX PRO 6000", 504}}) {
    const Product& product = *FindProduct(c.name)->product;
    PeakInput input;
    input.compute_capability = product.compute_capability;
    input.product_class = product.product_class;
    input.path = kTensorFp16Fp32;
    input.table_sm_count = product.sm_count;
    input.table_clock_hz = product.headline_tensor_clock_hz.value_or(product.boost_clock_hz);
    EXPECT_NEAR(ComputePeak(input)->operations_per_second / 1e12 / c.tflops, 1, 0.006) << c.name;
  }
}

}  // namespace
}  // namespace gx::model
