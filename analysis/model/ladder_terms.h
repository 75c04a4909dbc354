// The terms that a kernel's time is split into, and the classes of evidence behind them: the one place where they are
// named. Terms of one ladder are 0 or more and sum to the time.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_TERMS_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_TERMS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace gx::model {

// In the order of a report: the steps from below, then those from the top, then the middle.
enum class TermKind : uint8_t {
  kUseful,       // R0 where there is one, else R1
  kAlgorithm,    // R1 - R0
  kWork,         // R2, instead of the useful work and its excess, where the useful share is unmeasured
  kExcess,       // R2 - R1
  kClock,        // R3 - R2: power, heat
  kUneven,       // R4 - R3: SM, L2 slice or DRAM channel
  kCeiling,      // R5 - R4
  kTracing,      // what recording adds to the recorded duration
  kLaunch,       // launch and drain: an empty kernel
  kIdle,         // SMs without a block
  kSync,         // barriers, fences, sleeping
  kLatency,      // uncontended, at the concurrency at hand
  kQueue,        // waiting for a resource that is busy
  kOverlap,      // busy time and latency that did not overlap in full
  kUnexplained,  // what nothing above covers
};
inline constexpr size_t kTermCount = 15;

// Hardest first. Time may move down this list when evidence is taken away, never up.
enum class TermClass : uint8_t {
  kProven,       // R1 to R4
  kSustained,    // R5: a rate that was measured on the machine
  kCalibrated,   // of the machine file
  kMeasured,     // counted
  kModelled,     // computed from measured latencies
  kAttributed,   // shared out by what warps wait for
  kUnexplained,  // covered by none of these
  kUnmeasured,   // its evidence is missing: 0, or, where nothing at all was counted, what is left of the time
  kNone,         // no term of this ladder: no R0, another first step, or behind a violation; 0
};
inline constexpr size_t kTermClassCount = 9;

// "excess work", "launch and drain"; "proven", "" for kNone.
absl::string_view TermName(TermKind kind) noexcept;
absl::string_view TermClassName(TermClass term_class) noexcept;
// The class of a term that is measured.
TermClass ClassOf(TermKind kind) noexcept;

struct LadderTerm {
  double ns = 0;
  TermClass term_class = TermClass::kNone;
};
using LadderTerms = std::array<LadderTerm, kTermCount>;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_TERMS_H_
