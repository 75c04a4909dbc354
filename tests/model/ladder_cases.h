// Kernels whose ladder is known: the test vectors of the ladder's specification, in ns (clocks of 1 GHz make cycles
// ns).
#ifndef GPUEXEC_TESTS_MODEL_LADDER_CASES_H_
#define GPUEXEC_TESTS_MODEL_LADDER_CASES_H_

#include <optional>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_resource.h"

namespace gx::model {

inline constexpr double kNanosecondHz = 1e9;

// DRAM has its own clock, everything else that of the SMs.
LadderResource Resource(ResourceKind kind, double useful_ns, double work_ns, double busiest_ns, double eta_ratio = 1);
// useful = work = busiest.
LadderResource Even(ResourceKind kind, double ns, double eta_ratio = 1);

// Clocks of 1 GHz; what the specification does not list is counted and 0.
LadderInput Input(double time_ns, LadderResources resources);

// Fails the test where the input is refused.
Ladder Computed(const LadderInput& input);

LadderInput TracedCopy();          // 1
LadderInput Strided();             // 2
LadderInput ConflictsUnderDram();  // 4 a
LadderInput ConflictsThatBind();   // 4 b
LadderInput HalfGrid();            // 5
LadderInput SlotsPlusOne();        // 6
LadderInput Latency();             // 7
LadderInput ThrottledGemm();       // 8
LadderInput HotSlice();            // 9 a
LadderInput Tiny();                // 9 b
LadderInput BelowABound();         // 10 a
LadderInput OtherRegime();         // 10 b

}  // namespace gx::model

#endif  // GPUEXEC_TESTS_MODEL_LADDER_CASES_H_
