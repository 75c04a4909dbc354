#include "tools/doctor/checks.h"

namespace gx::doctor {

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
