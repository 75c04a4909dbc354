#include "analysis/model/product_table.h"

#include <gtest/gtest.h>

#include <cmath>
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
  for (const Case& c :
       {Case{"T4", 8.1}, Case{"V100 SXM2", 15.7}, Case{"A100 SXM 40GB", 19.5}, Case{"A100 SXM 80GB", 19.5},
        Case{"A100 PCIe 80GB", 19.5}, Case{"A10", 31.2}, Case{"RTX 3090", 35.6}, Case{"L4", 30.3}, Case{"L40S", 91.6},
        Case{"RTX 4090", 82.6}, Case{"H100 PCIe", 51.2}, Case{"H100 SXM", 66.9}, Case{"H200 SXM", 66.9},
        Case{"GH200 96GB", 67}, Case{"GH200 144GB", 67}, Case{"B200", 74.5}, Case{"B300", 77}, Case{"RTX 5090", 104.8},
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
  for (const Case& c :
       {Case{"T4", 65}, Case{"V100 SXM2", 125}, Case{"A100 SXM 40GB", 312}, Case{"A100 PCIe 80GB", 312},
        Case{"A10", 125}, Case{"RTX 3090", 71}, Case{"L4", 121}, Case{"L40S", 366}, Case{"RTX 4090", 165},
        Case{"H100 PCIe", 756}, Case{"H100 SXM", 989}, Case{"H200 SXM", 989}, Case{"GH200 96GB", 989},
        Case{"B200", 2250}, Case{"B300", 2250}, Case{"RTX 5090", 209.5}, Case{"RTX PRO 6000", 504}}) {
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
