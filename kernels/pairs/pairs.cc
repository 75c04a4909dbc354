#include <algorithm>

#include "kernels/pairs/pair.h"

namespace gx::kernels {

const std::vector<const Pair*>& AllPairs() {
  static const std::vector<const Pair*> pairs = {
      &kStridePair, &kAosPair,        &kMisalignedPair, &kBankConflictPair, &kSpillPair,      &kOccupancyPair,
      &kTailPair,   &kDivergencePair, &kFusionPair,     &kGemmTilingPair,   &kGemmTensorPair, &kGraphPair,
      &kChasePair,  &kBarrierPair,    &kAtomicsPair,    &kFp64Pair,         &kSplitKPair,
  };
  return pairs;
}

const std::vector<const Case*>& PairCases() {
  static const std::vector<const Case*> cases = [] {
    std::vector<const Case*> each_once;
    for (const Pair* pair : AllPairs()) {
      for (const Case* one : {pair->defect, pair->cure}) {
        if (std::find(each_once.begin(), each_once.end(), one) == each_once.end()) each_once.push_back(one);
      }
    }
    return each_once;
  }();
  return cases;
}

}  // namespace gx::kernels
