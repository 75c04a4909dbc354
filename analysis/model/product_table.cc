#include "analysis/model/product_table.h"

#include <cstdint>
#include <iterator>
#include <optional>

namespace gx::model {
namespace {

constexpr ProductClass kPro = ProductClass::kProfessional;
constexpr ProductClass kGeForce = ProductClass::kGeForce;

// 0: not published, or no other than the boost clock.
struct Sms {
  int64_t count = 0;
  double boost_mhz = 0;
  double headline_tensor_mhz = 0;
};

struct Dram {
  int64_t bus_bits = 0;
  double gbit_per_second_per_pin = 0;
  double gb_per_second = 0;
};

struct L2 {
  int64_t mib = 0;
  double measured_read_bytes_per_clock = 0;
};

struct Source {
  SourceKind kind = SourceKind::kUnsourced;
  absl::string_view text;
};

struct Caveat {
  bool conflict = false;
  absl::string_view text;
};

constexpr std::optional<double> Known(double value) { return value > 0 ? std::optional<double>(value) : std::nullopt; }

constexpr Product Row(absl::string_view name, ComputeCapability compute_capability, ProductClass product_class, Sms sms,
                      Dram dram, L2 l2, Source source, Caveat caveat) {
  Product product;
  product.name = name;
  product.compute_capability = compute_capability;
  product.product_class = product_class;
  product.sm_count = sms.count;
  product.boost_clock_hz = sms.boost_mhz * 1e6;
  product.headline_tensor_clock_hz = Known(sms.headline_tensor_mhz * 1e6);
  product.memory_bus_bits = dram.bus_bits;
  product.memory_bits_per_second_per_pin = dram.gbit_per_second_per_pin * 1e9;
  product.memory_bytes_per_second = dram.gb_per_second * 1e9;
  product.l2_bytes = l2.mib << 20;
  product.measured_l2_read_bytes_per_clock = Known(l2.measured_read_bytes_per_clock);
  product.source_kind = source.kind;
  product.source = source.text;
  product.conflict = caveat.conflict;
  product.note = caveat.text;
  return product;
}

constexpr Source kTechPowerUp{SourceKind::kThirdParty, "TechPowerUp"};
constexpr Source kA100{SourceKind::kThirdParty, "TechPowerUp; A100 whitepaper"};
constexpr Source kAda{SourceKind::kThirdParty, "TechPowerUp; hmc-tech.com"};
constexpr Source kRecalled{SourceKind::kUnsourced, "recalled, not looked up"};
constexpr Caveat kPlain{};
constexpr Caveat Conflict(absl::string_view text) { return {true, text}; }

constexpr Product kProducts[] = {
    Row("T4", {7, 5}, kPro, Sms{40, 1590}, Dram{256, 10, 320}, L2{4}, kTechPowerUp,
        Caveat{false, "70 W: rarely holds its boost clock (recalled)"}),
    Row("V100 SXM2", {7, 0}, kPro, Sms{80, 1530}, Dram{4096, 1.75, 898}, L2{6, 1770}, kTechPowerUp,
        Conflict("the database's 16 GB entry has other clocks (1597 and 1106 MHz) and is taken to be wrong")),
    Row("A100 SXM 40GB", {8, 0}, kPro, Sms{108, 1410}, Dram{5120, 2.43, 1555}, L2{40, 3840}, kA100, kPlain),
    Row("A100 SXM 80GB", {8, 0}, kPro, Sms{108, 1410}, Dram{5120, 3.19, 2039}, L2{40, 3840}, kA100, kPlain),
    Row("A100 PCIe 40GB", {8, 0}, kPro, Sms{108, 1410}, Dram{5120, 2.43, 1555}, L2{40},
        {SourceKind::kThirdParty, "TechPowerUp; A100 data sheet"}, kPlain),
    Row("A100 PCIe 80GB", {8, 0}, kPro, Sms{108, 1410}, Dram{5120, 3.02, 1935}, L2{40}, kA100,
        Conflict("the database's L2 of 80 MB is taken to be wrong")),
    Row("A10", {8, 6}, kPro, Sms{72, 1695}, Dram{384, 12.5, 600}, L2{6}, kTechPowerUp, kPlain),
    Row("RTX 3090", {8, 6}, kGeForce, Sms{82, 1695}, Dram{384, 19.5, 936}, L2{6}, kTechPowerUp, kPlain),
    Row("L4", {8, 9}, kPro, Sms{58, 2040}, Dram{192, 12.5, 300}, L2{48}, kTechPowerUp,
        Conflict("databases list 60 SMs; the published 30.3 TFLOP/s of FP32 are 58")),
    Row("L40S", {8, 9}, kPro, Sms{142, 2520}, Dram{384, 18, 864}, L2{48}, kAda,
        Conflict("L2 of 48 or 96 MB, by source")),
    Row("RTX 4090", {8, 9}, kGeForce, Sms{128, 2520}, Dram{384, 21, 1008}, L2{72}, kAda, kPlain),
    Row("H100 PCIe", {9, 0}, kPro, Sms{114, 1755, 1620}, Dram{5120, 3.19, 2039}, L2{50, 4730},
        {SourceKind::kThirdParty, "TechPowerUp; NVIDIA developer forum 244727"},
        Caveat{false, "L2 reads of 3960 to 4730 bytes per clock, by working set"}),
    Row("H100 SXM", {9, 0}, kPro, Sms{132, 1980, 1830}, Dram{5120, 5.24, 3352}, L2{50},
        {SourceKind::kThirdParty, "TechPowerUp; openxla/xla cuda_core_info_table.cc"},
        Caveat{false, "the headline tensor rates assume 1830 MHz"}),
    Row("H200 SXM", {9, 0}, kPro, Sms{132, 1980, 1830}, Dram{6016, 6.402, 4814}, L2{60, 4930},
        {SourceKind::kDeviceReading, "device attributes of an H200 (driver 580, CUDA 13.0)"},
        Conflict("databases have 6144 bits and 4917 GB/s, the data sheet 4.8 TB/s and an L2 of 50 MB")),
    Row("GH200 96GB", {9, 0}, kPro, Sms{132, 1980, 1830}, Dram{6144, 5.24, 4020}, L2{50}, kRecalled,
        Conflict("L2 of 50 to 60 MB")),
    Row("GH200 144GB", {9, 0}, kPro, Sms{132, 1980, 1830}, Dram{6144, 6.4, 4900}, L2{60}, kRecalled,
        Conflict("L2 of 50 to 60 MB")),
    Row("B200", {10, 0}, kPro, Sms{148, 1965, 1856}, Dram{8192, 8.0, 8000}, L2{126},
        {SourceKind::kThirdParty, "chipsandcheese.com (SMs), besthub (L2), glennklockwood.com"},
        Conflict("8.0 Gbit/s per pin is rounded: 8000 GB/s are 7.8; HGX B200 is listed with 7700 GB/s; databases list "
                 "half of the bus or of the L2")),
    Row("B300", {10, 3}, kPro, Sms{148, 2032, 1856}, Dram{8192, 8.0, 8000}, L2{126},
        {SourceKind::kThirdParty, "TechPowerUp; glennklockwood.com; L2 recalled"},
        Conflict("8.0 Gbit/s per pin is rounded: 8000 GB/s are 7.8; another page has 160 SMs, which is the full die")),
    Row("RTX 5090", {12, 0}, kGeForce, Sms{170, 2407}, Dram{512, 28, 1792}, L2{96},
        {SourceKind::kThirdParty, "TechPowerUp; public note on sm_120"}, kPlain),
    Row("RTX PRO 6000", {12, 0}, kPro, Sms{188, 2617}, Dram{512, 28, 1792}, L2{128}, kTechPowerUp,
        Conflict("252 or 504 TFLOP/s of FP16 with FP32 accumulation, by source")),
};
static_assert(std::size(kProducts) == kProductCount);

}  // namespace

absl::Span<const Product> ProductTable() noexcept { return kProducts; }

}  // namespace gx::model
