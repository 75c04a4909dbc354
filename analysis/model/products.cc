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
#include "analysis/model/product_table.h"

namespace gx::model {
namespace {

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
    {"a100", "pcie 40gb", "", ""},
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
static_assert(std::size(kRules) == kProductCount);

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

absl::Span<const Product> Products() noexcept { return ProductTable(); }

absl::StatusOr<ProductMatch> FindProduct(absl::string_view name) {
  const absl::string_view shown = name.substr(0, 64);
  const Words words = WordsOf(shown);
  std::vector<const Product*> fitting;
  std::vector<const Product*> near;
  std::vector<const Product*> all;
  const NameRule* rule = nullptr;
  const absl::Span<const Product> products = Products();
  for (size_t i = 0; i < kProductCount; ++i) {
    all.push_back(&products[i]);
    if (Fits(kRules[i], words)) {
      fitting.push_back(&products[i]);
      rule = &kRules[i];
    } else if (Near(kRules[i], words)) {
      near.push_back(&products[i]);
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
