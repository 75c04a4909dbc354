#include "kernels/case_list.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "kernels/pairs/pair.h"

namespace gx::kernels {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string QuotedOrNull(std::string_view text) { return text.empty() ? "null" : Quoted(text); }

// `open` and `close` around the items, with commas.
std::string Joined(char open, const std::vector<std::string>& items, char close) {
  std::string text(1, open);
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + items[i];
  return text + close;
}

using Fields = std::vector<std::pair<std::string_view, std::string>>;

std::string Object(const Fields& fields) {
  std::vector<std::string> items;
  for (const auto& [name, value] : fields) items.push_back(Quoted(name) + ": " + value);
  return Joined('{', items, '}');
}

bool Contains(const std::vector<const Case*>& cases, const Case* one) {
  return std::find(cases.begin(), cases.end(), one) != cases.end();
}

std::string RolesOf(const Case* one) {
  std::vector<std::string> roles;
  for (const Pair* pair : AllPairs()) {
    if (pair->defect != one && pair->cure != one) continue;
    roles.push_back(Object({{"pair", Quoted(pair->name)}, {"role", pair->defect == one ? "\"defect\"" : "\"cure\""}}));
  }
  return Joined('[', roles, ']');
}

std::string KernelsOf(const Case* one) {
  std::vector<std::string> kernels;
  for (std::string_view rest = one->kernels; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    kernels.push_back(Quoted(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return Joined('[', kernels, ']');
}

std::string PaperOf(const Case* one, uint64_t size, uint64_t repeat) {
  const std::optional<Expectation> paper = one->paper == nullptr ? std::nullopt : one->paper(size, repeat);
  if (!paper.has_value()) return "null";
  return Object({{"launches", std::to_string(paper->launches)},
                 {"graph_launches", std::to_string(paper->graph_launches)},
                 {"kernels", std::to_string(paper->kernels)},
                 {"bytes", std::to_string(paper->bytes)},
                 {"flop", std::to_string(paper->flop)}});
}

// Those that are stated.
std::string CountsOf(const Case* one, uint64_t size) {
  if (one->counts == nullptr || one->paper == nullptr || !one->paper(size, 1).has_value()) return "null";
  const KnownCounts counts = one->counts(size);
  Fields fields;
  for (const auto& [name, value] :
       {std::pair{"blocks", counts.blocks}, std::pair{"fp16_flop", counts.fp16_flop},
        std::pair{"fp32_flop", counts.fp32_flop}, std::pair{"fp64_flop", counts.fp64_flop},
        std::pair{"bf16_tensor_flop", counts.bf16_tensor_flop},
        std::pair{"threads_per_instruction", counts.threads_per_instruction},
        std::pair{"global_load_bytes", counts.global_load_bytes},
        std::pair{"global_store_bytes", counts.global_store_bytes},
        std::pair{"global_load_sectors", counts.global_load_sectors},
        std::pair{"global_store_sectors", counts.global_store_sectors}, std::pair{"l2_sectors", counts.l2_sectors},
        std::pair{"shared_bytes", counts.shared_bytes},
        std::pair{"shared_load_wavefronts", counts.shared_load_wavefronts},
        std::pair{"shared_store_wavefronts", counts.shared_store_wavefronts},
        std::pair{"shared_conflicts", counts.shared_conflicts}, std::pair{"dram_read_bytes", counts.dram_read_bytes},
        std::pair{"dram_write_bytes", counts.dram_write_bytes}}) {
    if (value.has_value()) fields.emplace_back(name, std::to_string(*value));
  }
  return Object(fields);
}

std::string CaseObject(const Case* one, uint64_t size, uint64_t repeat) {
  return Object({{"name", Quoted(one->name)},
                 {"shows", Quoted(one->shows)},
                 {"in_plain_run", Contains(DefaultCases(), one) ? "true" : "false"},
                 {"size", std::to_string(size)},
                 {"size_means", Quoted(one->size_means)},
                 {"repeat", std::to_string(repeat)},
                 {"repeat_means", Quoted(one->repeat_means)},
                 {"pairs", RolesOf(one)},
                 {"kernels", KernelsOf(one)},
                 {"bound", QuotedOrNull(one->bound)},
                 {"paper", PaperOf(one, size, repeat)},
                 {"counts", CountsOf(one, size)}});
}

std::string PairObject(const Pair* pair) {
  return Object({{"name", Quoted(pair->name)},
                 {"change", Quoted(pair->change)},
                 {"defect", Quoted(pair->defect->name)},
                 {"cure", Quoted(pair->cure->name)},
                 {"term", QuotedOrNull(pair->term)},
                 {"run_finding", QuotedOrNull(pair->run_finding)},
                 {"what_if", QuotedOrNull(pair->what_if)}});
}

// A line each, so that a person can read it and a diff shows what changed.
std::string Lines(const std::vector<std::string>& objects) {
  std::string text = "[";
  for (size_t i = 0; i < objects.size(); ++i) text += (i == 0 ? "\n" : ",\n") + objects[i];
  return text + "\n]";
}

}  // namespace

std::string ListAsText(const std::vector<const Case*>& cases) {
  std::string text;
  for (const Case* one : cases) {
    text += std::string(one->name) + "\n  " + std::string(one->shows) + "\n  --size: " + std::string(one->size_means) +
            " (" + std::to_string(one->default_size) + "), --repeat: " + std::string(one->repeat_means) + " (" +
            std::to_string(one->default_repeat) + ")\n";
  }
  uint64_t left_out = 0;
  for (const Case* one : AllCases()) left_out += Contains(cases, one) ? 0 : 1;
  if (left_out != 0) text += "  " + std::to_string(left_out) + " other cases: gx-kernels --list --all\n";
  return text;
}

std::string ListAsJson(const std::vector<const Case*>& cases, std::optional<uint64_t> size,
                       std::optional<uint64_t> repeat) {
  std::vector<std::string> case_objects;
  for (const Case* one : cases) {
    case_objects.push_back(CaseObject(one, size.value_or(one->default_size), repeat.value_or(one->default_repeat)));
  }
  std::vector<std::string> pair_objects;
  for (const Pair* pair : AllPairs()) {
    if (Contains(cases, pair->defect) && Contains(cases, pair->cure)) pair_objects.push_back(PairObject(pair));
  }
  return "{\"cases\": " + Lines(case_objects) + ",\n\"pairs\": " + Lines(pair_objects) + "}\n";
}

}  // namespace gx::kernels
