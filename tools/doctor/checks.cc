#include "tools/doctor/checks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace gx::doctor {

std::string ShellWord(absl::string_view text) {
  const auto is_plain = [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           absl::string_view("/._-+:,=@%").find(static_cast<char>(c)) != absl::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  // No backslash: printing would double it.
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\"'\"'"}}), "'");
}

std::vector<Verdict> CheckAll(const Facts& facts) {
  return {CheckDriver(facts),
          CheckLibcuda(facts),
          CheckDevices(facts),
          CheckLibrary(facts),
          CheckCupti(facts),
          CheckCuptiTraps(facts),
          CheckCounterHost(facts),
          CheckSettings(facts),
          CheckOutput(facts),
          CheckMemory(facts),
          CheckSubscribers(facts),
          CheckCounterPermission(facts),
          CheckCounterPrograms(facts),
          CheckContainer(facts),
          CheckWsl(facts),
          CheckMig(facts),
          CheckMps(facts),
          CheckVgpu(facts),
          CheckConfidential(facts),
          CheckLiveTiming(facts),
          CheckLiveCounters(facts)};
}

}  // namespace gx::doctor
