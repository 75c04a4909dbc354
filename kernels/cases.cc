#include "kernels/cases.h"

#include "kernels/pairs/pair.h"

namespace gx::kernels {

const std::vector<const Case*>& DefaultCases() {
  static const std::vector<const Case*> cases = {
      &kAxpyCase,        &kTriadCase,        &kNaiveSgemmCase,    &kTiledSgemmCase,
      &kLaunchStormCase, &kThreadStormCase,  &kGraphReplayCase,   &kGraphNodesCase,
      &kMultiStreamCase, &kCooperativeCase,  &kClusterCase,       &kPdlCase,
      &kDriverApiCase,   &kOccupancyMixCase, &kFailingLaunchCase, &kMemoryOpsCase,
  };
  return cases;
}

const std::vector<const Case*>& AllCases() {
  static const std::vector<const Case*> cases = [] {
    std::vector<const Case*> all = DefaultCases();
    all.insert(all.end(), PairCases().begin(), PairCases().end());
    return all;
  }();
  return cases;
}

}  // namespace gx::kernels
