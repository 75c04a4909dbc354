#include "tools/doctor/doctor_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analysis/printable.h"

namespace gx::doctor {
namespace {

using analysis::Printable;

constexpr Level kLevels[] = {Level::kFailure, Level::kWarning, Level::kUnknown, Level::kOk, Level::kNotApplicable};

std::string Padded(absl::string_view text, size_t width) {
  return absl::StrCat(text, std::string(width - std::min(width, text.size()), ' '));
}

// After Printable, these two are all that JSON's strings have to escape.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string Tally(absl::Span<const Verdict> verdicts) {
  std::vector<std::string> parts;
  for (const Level level : kLevels) {
    const auto count = std::count_if(verdicts.begin(), verdicts.end(),
                                     [level](const Verdict& verdict) { return verdict.level == level; });
    if (count > 0) parts.push_back(absl::StrCat(count, " ", LevelName(level)));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string DoctorText(absl::Span<const Verdict> verdicts) {
  size_t width = 0;
  for (const Verdict& verdict : verdicts) width = std::max(width, verdict.check.size());
  std::string text;
  for (const Verdict& verdict : verdicts) {
    absl::StrAppend(&text, Padded(LevelName(verdict.level), 9), Padded(Printable(verdict.check), width + 2),
                    Printable(verdict.summary), "\n");
    for (const Evidence& evidence : verdict.evidence) {
      absl::StrAppend(&text, "           ", Printable(evidence.what), ": ", Printable(evidence.value), "\n");
    }
    for (const std::string& fix : verdict.fixes) absl::StrAppend(&text, "           fix: ", Printable(fix), "\n");
  }
  const Health health = HealthOf(verdicts);
  absl::StrAppend(&text, "\n", HealthName(health), ": ", Tally(verdicts), "\n");
  return text;
}

std::string DoctorJson(absl::Span<const Verdict> verdicts) {
  const Health health = HealthOf(verdicts);
  std::vector<std::string> checks;
  for (const Verdict& verdict : verdicts) {
    std::vector<std::string> evidence;
    for (const Evidence& item : verdict.evidence) {
      evidence.push_back(absl::StrCat("{\"what\": ", Quoted(item.what), ", \"value\": ", Quoted(item.value), "}"));
    }
    std::vector<std::string> fixes;
    for (const std::string& fix : verdict.fixes) fixes.push_back(Quoted(fix));
    checks.push_back(
        absl::StrCat("    {\"check\": ", Quoted(verdict.check), ", \"level\": ", Quoted(LevelName(verdict.level)),
                     ", \"summary\": ", Quoted(verdict.summary), ",\n     \"evidence\": [",
                     absl::StrJoin(evidence, ", "), "],\n     \"fixes\": [", absl::StrJoin(fixes, ", "), "]}"));
  }
  return absl::StrCat("{\n  \"health\": ", Quoted(HealthName(health)), ",\n  \"exit_code\": ", static_cast<int>(health),
                      ",\n  \"checks\": [\n", absl::StrJoin(checks, ",\n"), "\n  ]\n}\n");
}

}  // namespace gx::doctor
