#include "analysis/model/products.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gx::model {
namespace {

TEST(FindProduct, EveryProductIsFoundByItsOwnName) {
  for (const Product& product : Products()) {
    for (const std::string& name : {std::string(product.name), absl::StrCat("NVIDIA ", product.name),
                                    absl::AsciiStrToLower(product.name), absl::AsciiStrToUpper(product.name)}) {
      const auto match = FindProduct(name);
      ASSERT_TRUE(match.ok()) << match.status();
      EXPECT_EQ(match->product, &product) << name;
    }
  }
}

TEST(FindProduct, NamesAsTheDriverPrintsThem) {
  struct Case {
    const char* name;
    const char* product;
  };
  for (const Case& c :
       {Case{"Tesla T4", "T4"}, Case{"Tesla V100-SXM2-16GB", "V100 SXM2"}, Case{"Tesla V100-SXM2-32GB", "V100 SXM2"},
        Case{"NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"}, Case{"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"},
        Case{"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"}, Case{"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
        Case{"NVIDIA A10", "A10"}, Case{"NVIDIA GeForce RTX 3090", "RTX 3090"}, Case{"NVIDIA L4", "L4"},
        Case{"NVIDIA L40S", "L40S"}, Case{"NVIDIA GeForce RTX 4090", "RTX 4090"}, Case{"NVIDIA H100 PCIe", "H100 PCIe"},
        Case{"NVIDIA H100 80GB HBM3", "H100 SXM"}, Case{"NVIDIA H200", "H200 SXM"},
        Case{"NVIDIA GH200 480GB", "GH200 96GB"}, Case{"NVIDIA GH200 144G HBM3e", "GH200 144GB"},
        Case{"NVIDIA B200", "B200"}, Case{"NVIDIA B300 SXM6 AC", "B300"}, Case{"NVIDIA GeForce RTX 5090", "RTX 5090"},
        Case{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"},
        // As people write them.
        Case{"h100-sxm5", "H100 SXM"}, Case{"a100 80 GB pcie", "A100 PCIe 80GB"}, Case{"rtx_4090", "RTX 4090"}}) {
    const auto match = FindProduct(c.name);
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_EQ(match->product->name, c.product) << c.name;
    EXPECT_EQ(match->remark, "") << c.name;
  }
}

TEST(FindProduct, SaysWhatItTookWhereTheNameDoesNotTell) {
  EXPECT_EQ(FindProduct("V100")->remark, "taken to be the SXM2 module; the PCIe card has a lower clock");
  EXPECT_EQ(FindProduct("NVIDIA RTX PRO 6000 Blackwell Server Edition")->remark,
            "clocks of the Workstation Edition; those of other editions differ");
}

TEST(FindProduct, ANameThatFitsSeveralIsRefusedWithThem) {
  const absl::Status h100 = FindProduct("NVIDIA H100").status();
  EXPECT_EQ(h100.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(h100.message(), "device 'NVIDIA H100': fits H100 PCIe, H100 SXM; name one");
  EXPECT_EQ(FindProduct("A100").status().message(),
            "device 'A100': fits A100 SXM 40GB, A100 SXM 80GB, A100 PCIe 40GB, A100 PCIe 80GB; name one");
  // Cards of 40 and of 80 GB, with other memory.
  EXPECT_EQ(FindProduct("A100 PCIe").status().message(),
            "device 'A100 PCIe': fits A100 PCIe 40GB, A100 PCIe 80GB; name one");
  EXPECT_EQ(FindProduct("NVIDIA A100-PCIE").status().message(),
            "device 'NVIDIA A100-PCIE': fits A100 PCIe 40GB, A100 PCIe 80GB; name one");
  EXPECT_EQ(FindProduct("A100 40GB").status().message(),
            "device 'A100 40GB': fits A100 SXM 40GB, A100 PCIe 40GB; name one");
  EXPECT_EQ(FindProduct("A100-SXM4").status().message(),
            "device 'A100-SXM4': fits A100 SXM 40GB, A100 SXM 80GB; name one");
  EXPECT_EQ(FindProduct("A100 80GB").status().message(),
            "device 'A100 80GB': fits A100 SXM 80GB, A100 PCIe 80GB; name one");
}

// Siblings with other SMs, clocks or memory: never the product that only looks like it.
TEST(FindProduct, ASiblingIsNotTheProduct) {
  struct Case {
    const char* name;
    const char* message;
  };
  for (const Case& c :
       {Case{"NVIDIA L40", "device 'NVIDIA L40': not in the product table; near: L4, L40S"},
        Case{"NVIDIA A10G", "device 'NVIDIA A10G': not in the product table; near: A10"},
        Case{"NVIDIA H100 NVL", "device 'NVIDIA H100 NVL': not in the product table; near: H100 PCIe, H100 SXM"},
        Case{"NVIDIA H200 NVL", "device 'NVIDIA H200 NVL': not in the product table; near: H200 SXM"},
        Case{"NVIDIA GeForce RTX 3090 Ti",
             "device 'NVIDIA GeForce RTX 3090 Ti': not in the product table; near: RTX 3090"},
        Case{"NVIDIA GeForce RTX 4090 Laptop GPU",
             "device 'NVIDIA GeForce RTX 4090 Laptop GPU': not in the product table; near: RTX 4090"},
        Case{"NVIDIA RTX 6000 Ada Generation",
             "device 'NVIDIA RTX 6000 Ada Generation': not in the product table; near: RTX PRO 6000"},
        Case{"Tesla V100-PCIE-32GB", "device 'Tesla V100-PCIE-32GB': not in the product table; near: V100 SXM2"},
        Case{"NVIDIA H100 80GB HBM3 MIG 1g.10gb",
             "device 'NVIDIA H100 80GB HBM3 MIG 1g.10gb': not in the product table; near: H100 PCIe, H100 SXM"}}) {
    const absl::Status status = FindProduct(c.name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(FindProduct, ANameNearNoneListsAll) {
  const absl::Status status = FindProduct("Instinct MI300X").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(
      absl::StartsWith(status.message(), "device 'Instinct MI300X': not in the product table; known: T4, V100 SXM2, "))
      << status.message();
  for (const Product& product : Products()) EXPECT_TRUE(absl::StrContains(status.message(), product.name));
  EXPECT_TRUE(absl::IsNotFound(FindProduct("").status()));
  EXPECT_TRUE(absl::IsNotFound(FindProduct("NVIDIA").status()));
  EXPECT_TRUE(absl::IsNotFound(FindProduct(std::string(100'000, 'x')).status()));
}

TEST(ProductClassOfName, IsInTheName) {
  for (const char* name : {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4060 Ti", "GeForce GTX 1660", "RTX 5090"}) {
    EXPECT_EQ(ProductClassOfName(name), ProductClass::kGeForce) << name;
  }
  for (const char* name :
       {"Tesla T4", "Quadro RTX 8000", "NVIDIA A100-SXM4-80GB", "NVIDIA A10G", "NVIDIA L40", "NVIDIA H100 NVL",
        "NVIDIA GB200", "NVIDIA RTX A6000", "NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX PRO 4000 Blackwell"}) {
    EXPECT_EQ(ProductClassOfName(name), ProductClass::kProfessional) << name;
  }
  for (const char* name : {"", "NVIDIA TITAN RTX", "Some GPU", "NVIDIA Graphics Device"}) {
    EXPECT_EQ(ProductClassOfName(name), ProductClass::kUnknown) << name;
  }
}

}  // namespace
}  // namespace gx::model
