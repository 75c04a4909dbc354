// Section 2 of the report: where the trace comes from.
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "google/protobuf/descriptor.h"
#include "gpuexec/v1/cupti_traps.pb.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Of a command line as a shell would take it, as far as that helps reading.
std::string Quoted(const std::string& argument) {
  const std::string text = Printable(argument);
  const bool plain = !text.empty() && text.find_first_of(" \t'\"$`*?&|;<>()[]{}!#~") == std::string::npos;
  return plain ? text : absl::StrCat("'", text, "'");
}

std::string UtcTime(uint64_t realtime_ns) {
  if (realtime_ns == 0) return "";
  const auto seconds = static_cast<std::time_t>(realtime_ns / kNsPerSecond);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                         parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// 13000 -> "13.0" (1000 * major + 10 * minor).
std::string CudaVersion(uint64_t version) {
  return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// cuptiGetVersion: since 13.0 the toolkit's version as xxyyzz, before that a small number of its own.
std::string CuptiVersion(uint64_t version) {
  if (version == 0) return "";
  if (version < 100000) return absl::StrCat("API ", version);
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100, " (API ", version, ")");
}

std::vector<std::pair<std::string, std::string>> Settings(const google::protobuf::RepeatedPtrField<pb::Setting>& from) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const pb::Setting& setting : from) {
    settings.emplace_back(Printable(setting.name()), Printable(setting.value()));
  }
  return settings;
}

// Repeated and unknown values, of a later version or a damaged file, are left out.
std::vector<ProvenanceSection::CuptiFault> CuptiFaults(const pb::Header& header) {
  std::vector<ProvenanceSection::CuptiFault> faults;
  const google::protobuf::EnumDescriptor* traps = pb::CuptiTrap_descriptor();
  for (int i = 0; i < traps->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor& value = *traps->value(i);
    const auto number = static_cast<uint64_t>(value.number());
    if (!value.options().HasExtension(pb::trap) || !absl::c_linear_search(header.cupti_trap(), number)) continue;
    const pb::CuptiTrapRow& row = value.options().GetExtension(pb::trap);
    faults.push_back({absl::StrCat(row.fault(), "; ", row.here(), " (", row.source(), ")"),
                      row.avoidance() != pb::CUPTI_AVOIDANCE_UNSPECIFIED});
  }
  return faults;
}

}  // namespace

ProvenanceSection BuildProvenance(const TraceModel& model) {
  ProvenanceSection section;
  section.clock_step_ns = model.clock_step_ns;
  section.clock_pair_count = model.clock_pair_count;
  if (model.trailer.has_value()) {
    switch (model.trailer->reason()) {
      case pb::Trailer::REASON_EXIT:
        section.ended = "exit";
        break;
      case pb::Trailer::REASON_DISABLED:
        section.ended = "disabled";
        break;
      case pb::Trailer::REASON_YIELDED:
        section.ended = "yielded";
        break;
      default:
        section.ended = "unknown";
        break;
    }
  }
  if (!model.header.has_value()) return section;
  const pb::Header& header = *model.header;
  section.header_known = true;
  section.gpuexec_version = Printable(header.gpuexec_version());
  section.source_revision = Printable(header.source_revision());
  section.format = absl::StrCat(header.format_major(), ".", header.format_minor());
  for (const std::string& argument : header.command_line()) {
    absl::StrAppend(&section.command, section.command.empty() ? "" : " ", Quoted(argument));
  }
  section.executable = Printable(header.executable_path());
  section.host = Printable(header.host_name());
  section.pid = header.pid();
  section.parent_pid = header.parent_pid();
  section.pid_namespace = header.pid_namespace();
  section.started = UtcTime(header.start().realtime_ns());
  section.rank_variables = Settings(header.rank_variable());
  section.configuration = Settings(header.configuration());
  section.driver_version = Printable(header.driver_version());
  section.cuda_driver_api_version = CudaVersion(header.cuda_driver_api_version());
  section.cupti_version = CuptiVersion(header.cupti_api_version());
  section.cupti_path = Printable(header.cupti_path());
  section.cupti_faults = CuptiFaults(header);
  section.libcuda_path = Printable(header.libcuda_path());
  section.kernel_record_version = header.kernel_record_version();
  section.kernel_release = Printable(header.kernel_release());
  section.machine = Printable(header.machine());
  return section;
}

}  // namespace gx::analysis
