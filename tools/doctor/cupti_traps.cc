#include "tools/doctor/cupti_traps.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "gpuexec/v1/cupti_traps.pb.h"

namespace gx::doctor {

namespace pb = gpuexec::v1;

absl::Span<const CuptiTrap> CuptiTraps() {
  static const auto* const rows = [] {
    auto* all = new std::vector<CuptiTrap>;
    const google::protobuf::EnumDescriptor* traps = pb::CuptiTrap_descriptor();
    for (int i = 0; i < traps->value_count(); ++i) {
      const auto& options = traps->value(i)->options();
      if (!options.HasExtension(pb::trap)) continue;
      const pb::CuptiTrapRow& row = options.GetExtension(pb::trap);
      all->push_back({.first = static_cast<int64_t>(row.first_version()),
                      .last = static_cast<int64_t>(row.last_version()),
                      .needs_action = row.avoidance() == pb::CUPTI_AVOIDANCE_COUNTERS,
                      .fault = row.fault(),
                      .here = row.here(),
                      .source = row.source()});
    }
    return all;
  }();
  return *rows;
}

std::vector<CuptiTrap> TrapsOf(int64_t version) {
  std::vector<CuptiTrap> traps;
  for (const CuptiTrap& trap : CuptiTraps()) {
    if (version >= trap.first && version <= trap.last) traps.push_back(trap);
  }
  return traps;
}

bool IsSupportedCupti(int64_t version) {
  return (version >= kCupti128 && version < 1000) || (version >= kCupti130 && version < kCupti140);
}

std::string CuptiVersionText(int64_t version) {
  if (version >= 10000) return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
  if (version == 26) return "12.8";
  if (version == 27) return "12.9";
  if (version == 28) return "12.9 update 1";
  return absl::StrCat("with API version ", version);
}

int64_t CudaVersionOfCupti(int64_t version) {
  if (version >= 10000) return version / 10000 * 1000 + version / 100 % 100 * 10;
  if (version == 26) return 12080;
  if (version == 27 || version == 28) return 12090;
  return 0;
}

}  // namespace gx::doctor
