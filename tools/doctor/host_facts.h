// What the machine's files say: permissions, containers, other programs. Reads files only.
#ifndef GPUEXEC_TOOLS_DOCTOR_HOST_FACTS_H_
#define GPUEXEC_TOOLS_DOCTOR_HOST_FACTS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "tools/doctor/environment.h"
#include "tools/doctor/facts.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {

HostFacts ReadHostFacts(const RootFolder& root, const Environment& environment);

// The number behind `key` at the beginning of a line ("MemAvailable:", "CapEff:"), in that base. Nothing: no such line,
// or no number. Pure.
std::optional<uint64_t> NumberBehind(absl::string_view text, absl::string_view key, int base);

// The version in the first line of /proc/driver/nvidia/version: its first word of digits and at least one dot. Pure.
std::string ModuleVersion(absl::string_view text);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_HOST_FACTS_H_
