#include "kernels/cases.h"

namespace gx::kernels {

const std::vector<const Case*>& AllCases() {
  static const std::vector<const Case*> cases = {
      &kAxpyCase,        &kTriadCase,        &kNaiveSgemmCase,    &kTiledSgemmCase,
      &kLaunchStormCase, &kThreadStormCase,  &kGraphReplayCase,   &kGraphNodesCase,
      &kMultiStreamCase, &kCooperativeCase,  &kClusterCase,       &kPdlCase,
      &kDriverApiCase,   &kOccupancyMixCase, &kFailingLaunchCase, &kMemoryOpsCase,
  };
  return cases;
}

}  // namespace gx::kernels
