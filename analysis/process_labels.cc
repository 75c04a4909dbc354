#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace {

std::string RankOf(const ProcessSection& section) {
  for (const absl::string_view name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK"}) {
    for (const auto& [variable, value] : section.provenance.rank_variables) {
      if (variable == name) return value;
    }
  }
  return "";
}

}  // namespace

void LabelProcesses(std::vector<ProcessSection>* sections) {
  std::set<std::string> ranks;
  std::set<std::string> pids;
  std::set<std::string> hosts;
  std::set<std::string> pids_on_hosts;
  for (const ProcessSection& section : *sections) {
    const std::string rank = RankOf(section);
    if (!rank.empty()) ranks.insert(rank);
    hosts.insert(section.provenance.host);
    if (!section.provenance.header_known) continue;
    pids.insert(absl::StrCat(section.provenance.pid));
    pids_on_hosts.insert(absl::StrCat(section.provenance.host, ":", section.provenance.pid));
  }
  for (size_t i = 0; i < sections->size(); ++i) {
    ProcessSection& section = (*sections)[i];
    if (ranks.size() == sections->size()) {
      section.label = absl::StrCat("rank ", RankOf(section));
    } else if (pids.size() == sections->size()) {
      section.label = absl::StrCat("pid ", section.provenance.pid);
    } else if (pids_on_hosts.size() == sections->size()) {
      section.label = absl::StrCat(section.provenance.host, ":", section.provenance.pid);
    } else {
      section.label = absl::StrCat("trace ", i + 1);
    }
  }
}
}  // namespace gx::analysis
