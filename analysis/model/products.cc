#include "analysis/model/products.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace gx::model {
namespace {

constexpr ProductClass kPro = ProductClass::kProfessional;
constexpr ProductClass kGeForce = ProductClass::kGeForce;
constexpr SourceKind kThird = SourceKind::kThirdParty;
constexpr absl::string_view kTechPowerUp = "TechPowerUp";
constexpr double kMhz = 1e6;
constexpr double kGbit = 1e9;
constexpr double kGb = 1e9;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr std::nullopt_t kNone = std::nullopt;

constexpr Product kProducts[] = {
    {"T4",
     {7, 5},
     kPro,
     40,
     1590 * kMhz,
     kNone,
     256,
     10.0 * kGbit,
     320 * kGb,
     4 * kMib,
     kNone,
     kThird,
     kTechPowerUp,
     false,
     "70 W: rarely holds its boost clock (recalled)"},
    {"V100 SXM2",
     {7, 0},
     kPro,
     80,
     1530 * kMhz,
     kNone,
     4096,
     1.75 * kGbit,
     898 * kGb,
     6 * kMib,
     1770,
     kThird,
     kTechPowerUp,
     true,
     "the database's 16 GB entry has other clocks (1597 and 1106 MHz) and is taken to be wrong"},
    {"A100 SXM 40GB",
     {8, 0},
     kPro,
     108,
     1410 * kMhz,
     kNone,
     5120,
     2.43 * kGbit,
     1555 * kGb,
     40 * kMib,
     3840,
     kThird,
     "TechPowerUp; A100 whitepaper",
     false,
     ""},
    {"A100 SXM 80GB",
     {8, 0},
     kPro,
     108,
     1410 * kMhz,
     kNone,
     5120,
     3.19 * kGbit,
     2039 * kGb,
     40 * kMib,
     3840,
     kThird,
     "TechPowerUp; A100 whitepaper",
     false,
     ""},
    {"A100 PCIe 80GB",
     {8, 0},
     kPro,
     108,
     1410 * kMhz,
     kNone,
     5120,
     3.02 * kGbit,
     1935 * kGb,
     40 * kMib,
     kNone,
     kThird,
     "TechPowerUp; A100 whitepaper",
     true,
     "the database's L2 of 80 MB is taken to be wrong"},
    {"A10",
     {8, 6},
     kPro,
     72,
     1695 * kMhz,
     kNone,
     384,
     12.5 * kGbit,
     600 * kGb,
     6 * kMib,
     kNone,
     kThird,
     kTechPowerUp,
     false,
     ""},
    {"RTX 3090",
     {8, 6},
     kGeForce,
     82,
     1695 * kMhz,
     kNone,
     384,
     19.5 * kGbit,
     936 * kGb,
     6 * kMib,
     kNone,
     kThird,
     kTechPowerUp,
     false,
     ""},
    {"L4",
     {8, 9},
     kPro,
     58,
     2040 * kMhz,
     kNone,
     192,
     12.5 * kGbit,
     300 * kGb,
     48 * kMib,
     kNone,
     kThird,
     kTechPowerUp,
     true,
     "databases list 60 SMs; the published 30.3 TFLOP/s of FP32 are 58"},
    {"L40S",
     {8, 9},
     kPro,
     142,
     2520 * kMhz,
     kNone,
     384,
     18 * kGbit,
     864 * kGb,
     48 * kMib,
     kNone,
     kThird,
     "TechPowerUp; hmc-tech.com",
     true,
     "L2 of 48 or 96 MB, by source"},
    {"RTX 4090",
     {8, 9},
     kGeForce,
     128,
     2520 * kMhz,
     kNone,
     384,
     21 * kGbit,
     1008 * kGb,
     72 * kMib,
     kNone,
     kThird,
     "TechPowerUp; hmc-tech.com",
     false,
     ""},
    {"H100 PCIe",
     {9, 0},
     kPro,
     114,
     1755 * kMhz,
     1620 * kMhz,
     5120,
     3.19 * kGbit,
     2039 * kGb,
     50 * kMib,
     4730,
     kThird,
     "TechPowerUp; NVIDIA developer forum 244727",
     false,
     "L2 reads of 3960 to 4730 bytes per clock, by working set"},
    {"H100 SXM",
     {9, 0},
     kPro,
     132,
     1980 * kMhz,
     1830 * kMhz,
     5120,
     5.24 * kGbit,
     3352 * kGb,
     50 * kMib,
     kNone,
     kThird,
     "TechPowerUp; openxla/xla cuda_core_info_table.cc",
     false,
     "the headline tensor rates assume 1830 MHz"},
    {"H200 SXM",
     {9, 0},
     kPro,
     132,
     1980 * kMhz,
     1830 * kMhz,
     6016,
     6.402 * kGbit,
     4814 * kGb,
     60 * kMib,
     4930,
     SourceKind::kDeviceReading,
     "device attributes of an H200 (driver 580, CUDA 13.0)",
     true,
     "databases have 6144 bits and 4917 GB/s, the data sheet 4.8 TB/s and an L2 of 50 MB"},
    {"GH200 96GB",
     {9, 0},
     kPro,
     132,
     1980 * kMhz,
     1830 * kMhz,
     6144,
     5.24 * kGbit,
     4020 * kGb,
     50 * kMib,
     kNone,
     SourceKind::kUnsourced,
     "recalled, not looked up",
     true,
     "L2 of 50 to 60 MB"},
    {"GH200 144GB",
     {9, 0},
     kPro,
     132,
     1980 * kMhz,
     1830 * kMhz,
     6144,
     6.4 * kGbit,
     4900 * kGb,
     60 * kMib,
     kNone,
     SourceKind::kUnsourced,
     "recalled, not looked up",
     true,
     "L2 of 50 to 60 MB"},
    {"B200",
     {10, 0},
     kPro,
     148,
     1965 * kMhz,
     1856 * kMhz,
     8192,
     8.0 * kGbit,
     8000 * kGb,
     126 * kMib,
     kNone,
     kThird,
     "chipsandcheese.com (SMs), besthub (L2), glennklockwood.com",
     true,
     "8.0 Gbit/s per pin is rounded, 8000 GB/s are 7.8; HGX B200 is listed with 7700 GB/s; databases list half of the "
     "bus "
     "or of the L2"},
    {"B300",
     {10, 3},
     kPro,
     148,
     2032 * kMhz,
     1856 * kMhz,
     8192,
     8.0 * kGbit,
     8000 * kGb,
     126 * kMib,
     kNone,
     kThird,
     "TechPowerUp; glennklockwood.com; L2 recalled",
     true,
     "8.0 Gbit/s per pin is rounded, 8000 GB/s are 7.8; another page has 160 SMs, which is the full die"},
    {"RTX 5090",
     {12, 0},
     kGeForce,
     170,
     2407 * kMhz,
     kNone,
     512,
     28 * kGbit,
     1792 * kGb,
     96 * kMib,
     kNone,
     kThird,
     "TechPowerUp; public note on sm_120",
     false,
     ""},
    {"RTX PRO 6000",
     {12, 0},
     kPro,
     188,
     2617 * kMhz,
     kNone,
     512,
     28 * kGbit,
     1792 * kGb,
     128 * kMib,
     kNone,
     kThird,
     kTechPowerUp,
     true,
     "252 or 504 TFLOP/s of FP16 with FP32 accumulation, by source"},
};

// How names say a product: all of `required`, and nothing but those and `optional`. Words are lower case.
struct NameRule {
  absl::string_view required;
  absl::string_view optional;
  // Where a name has none of these words, `remark` says what was taken. Empty: nothing to say.
  absl::string_view telling;
  absl::string_view remark;
};

// Of the products in the same order.
constexpr NameRule kRules[] = {
    {"t4", "16gb", "", ""},
    {"v100", "sxm sxm2 16gb 32gb", "sxm sxm2", "taken to be the SXM2 module; the PCIe card has a lower clock"},
    {"a100", "sxm sxm4 40gb", "", ""},
    {"a100", "sxm sxm4 80gb", "", ""},
    {"a100", "pcie 80gb", "", ""},
    {"a10", "pcie 24gb", "", ""},
    {"rtx 3090", "24gb", "", ""},
    {"l4", "pcie 24gb", "", ""},
    {"l40s", "pcie 48gb", "", ""},
    {"rtx 4090", "24gb", "", ""},
    {"h100", "pcie 80gb hbm2e", "", ""},
    {"h100", "sxm sxm5 80gb hbm3", "", ""},
    {"h200", "sxm sxm5 141gb hbm3e", "", ""},
    {"gh200", "96gb 480gb hbm3", "", ""},
    {"gh200", "144gb hbm3e", "", ""},
    {"b200", "sxm sxm6 180gb 192gb hbm3e", "", ""},
    {"b300", "sxm sxm6 ac 288gb hbm3e", "", ""},
    {"rtx 5090", "32gb", "", ""},
    {"rtx pro 6000", "blackwell workstation server edition 96gb", "workstation",
     "clocks of the Workstation Edition; those of other editions differ"},
};
static_assert(std::size(kRules) == std::size(kProducts));

using Words = std::vector<std::string>;

bool Contains(const Words& words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool HasWord(absl::string_view list, absl::string_view word) {
  for (absl::string_view item : absl::StrSplit(list, ' ', absl::SkipEmpty())) {
    if (item == word) return true;
  }
  return false;
}

// "NVIDIA A100-SXM4-80GB" -> {"a100", "sxm4", "80gb"}. Words that say nothing about which product it is are left out.
Words WordsOf(absl::string_view name) {
  Words words;
  for (absl::string_view piece : absl::StrSplit(name, absl::ByAnyChar(" -_/\t"), absl::SkipEmpty())) {
    std::string word = absl::AsciiStrToLower(piece);
    if (HasWord("nvidia tesla geforce gpu graphics card tensor core", word)) continue;
    // "80 GB" is "80gb", and the driver's "144G" too.
    if ((word == "gb" || word == "g") && !words.empty() && absl::ascii_isdigit(words.back().front()) &&
        absl::ascii_isdigit(words.back().back())) {
      words.back() += "gb";
      continue;
    }
    if (word.size() >= 3 && word.back() == 'g' && absl::ascii_isdigit(word[word.size() - 2]) &&
        absl::ascii_isdigit(word.front())) {
      word += 'b';
    }
    words.push_back(std::move(word));
  }
  return words;
}

bool Fits(const NameRule& rule, const Words& words) {
  for (absl::string_view required : absl::StrSplit(rule.required, ' ')) {
    if (!Contains(words, required)) return false;
  }
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return HasWord(rule.required, word) || HasWord(rule.optional, word);
  });
}

// A model word that begins another one: "l40" and "l40s", "a10g" and "a10".
bool Near(const NameRule& rule, const Words& words) {
  for (absl::string_view required : absl::StrSplit(rule.required, ' ')) {
    if (required == "rtx" || required == "pro") continue;
    for (const std::string& word : words) {
      if (word.size() >= 2 && (absl::StartsWith(word, required) || absl::StartsWith(required, word))) return true;
    }
  }
  return false;
}

std::string JoinedNames(const std::vector<const Product*>& products) {
  return absl::StrJoin(products, ", ",
                       [](std::string* out, const Product* product) { absl::StrAppend(out, product->name); });
}

// The letters and digits of data-centre and workstation models: "a100", "l40s", "gh200", "a6000".
bool IsProfessionalModel(absl::string_view word) {
  absl::string_view rest = word;
  if (!absl::ConsumePrefix(&rest, "gh") && !absl::ConsumePrefix(&rest, "gb")) {
    if (rest.empty() || !absl::StrContains("abhlptv", rest.front())) return false;
    rest.remove_prefix(1);
  }
  if (!rest.empty() && absl::ascii_isalpha(static_cast<unsigned char>(rest.back()))) rest.remove_suffix(1);
  return !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                      [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

}  // namespace

absl::Span<const Product> Products() noexcept { return kProducts; }

absl::StatusOr<ProductMatch> FindProduct(absl::string_view name) {
  const absl::string_view shown = name.substr(0, 64);
  const Words words = WordsOf(shown);
  std::vector<const Product*> fitting;
  std::vector<const Product*> near;
  std::vector<const Product*> all;
  const NameRule* rule = nullptr;
  for (size_t i = 0; i < std::size(kProducts); ++i) {
    all.push_back(&kProducts[i]);
    if (Fits(kRules[i], words)) {
      fitting.push_back(&kProducts[i]);
      rule = &kRules[i];
    } else if (Near(kRules[i], words)) {
      near.push_back(&kProducts[i]);
    }
  }
  if (fitting.empty()) {
    return absl::NotFoundError(
        absl::StrCat("device '", shown, "': not in the product table; ",
                     near.empty() ? "known: " : "near: ", JoinedNames(near.empty() ? all : near)));
  }
  if (fitting.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("device '", shown, "': fits ", JoinedNames(fitting), "; name one"));
  }
  ProductMatch match{fitting.front(), ""};
  const bool told =
      std::any_of(words.begin(), words.end(), [&](const std::string& word) { return HasWord(rule->telling, word); });
  if (!told) match.remark = rule->remark;
  return match;
}

ProductClass ProductClassOfName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name.substr(0, 64));
  if (absl::StrContains(lower, "geforce")) return ProductClass::kGeForce;
  if (absl::StrContains(lower, "tesla") || absl::StrContains(lower, "quadro")) return ProductClass::kProfessional;
  if (const absl::StatusOr<ProductMatch> match = FindProduct(name); match.ok()) return match->product->product_class;
  const Words words = WordsOf(lower);
  if (Contains(words, "rtx") && (Contains(words, "pro") || Contains(words, "ada"))) return ProductClass::kProfessional;
  if (std::any_of(words.begin(), words.end(), IsProfessionalModel)) return ProductClass::kProfessional;
  return ProductClass::kUnknown;
}

}  // namespace gx::model
