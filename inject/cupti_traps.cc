#include "inject/cupti_traps.h"

#include "gpuexec/cupti_trap_rows.h"

namespace gx::inject {
namespace {

bool Has(const fields::CuptiVersionTrap& row, uint32_t cupti_version) noexcept {
  return cupti_version >= row.first_version && cupti_version <= row.last_version;
}

}  // namespace

bool Avoids(uint32_t cupti_version, CuptiAvoidance avoidance) noexcept {
  for (const fields::CuptiVersionTrap& row : fields::kCuptiTrapRows) {
    if (row.avoidance == avoidance && Has(row, cupti_version)) return true;
  }
  return false;
}

std::vector<uint32_t> CuptiTrapsOf(uint32_t cupti_version) {
  std::vector<uint32_t> traps;
  for (const fields::CuptiVersionTrap& row : fields::kCuptiTrapRows) {
    if (Has(row, cupti_version)) traps.push_back(row.trap);
  }
  return traps;
}

}  // namespace gx::inject
