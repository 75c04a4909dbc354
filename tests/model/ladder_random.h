// Random kernels for properties that hold for every input of the ladder, plausible or not.
#ifndef GPUEXEC_TESTS_MODEL_LADDER_RANDOM_H_
#define GPUEXEC_TESTS_MODEL_LADDER_RANDOM_H_

#include <cstdint>
#include <random>

#include "analysis/model/ladder.h"

namespace gx::model {

class RandomLadders {
 public:
  explicit RandomLadders(uint64_t seed) : random_(seed) {}

  double Between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  bool OneIn(uint64_t count) { return random_() % count == 0; }
  uint64_t Below(uint64_t count) { return random_() % count; }

  // Everything measured: 1 to 6 resources, bounds from far below the time to above it, counters that fit the time and
  // some that do not.
  LadderInput Measured();
  // The same with parts left out, of any combination.
  LadderInput Any();

 private:
  LadderResource AnyResource(ResourceKind kind, double time_ns);

  std::mt19937_64 random_;
};

}  // namespace gx::model

#endif  // GPUEXEC_TESTS_MODEL_LADDER_RANDOM_H_
