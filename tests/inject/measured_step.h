// A training step as it was traced on an H200 (tests/gpu/gpu_bound.py: a transformer of 8 layers, bfloat16, AdamW),
// CUPTI 13.0: medians of its 64 largest signatures, 99.9 % of its 68 ms.
#ifndef GPUEXEC_TESTS_INJECT_MEASURED_STEP_H_
#define GPUEXEC_TESTS_INJECT_MEASURED_STEP_H_

#include <vector>

#include "tests/inject/sampling_simulator.h"

namespace gx::inject {

// Nanoseconds, launches a step, warp instructions a launch (0: not counted, because it is small), whether tensor cores
// are at work, and the thread: 0 the program's, 1 that of the backward pass.
inline const std::vector<SimulatedSignature>& MeasuredStep() {
  static const auto& step = *new std::vector<SimulatedSignature>{
      {.duration_ns = 274'463, .launches_a_step = 25, .tensor = true, .warp_instructions = 33620000, .thread = 1},
      {.duration_ns = 391'806, .launches_a_step = 17, .tensor = true, .warp_instructions = 43490000, .thread = 0},
      {.duration_ns = 343'855, .launches_a_step = 16, .tensor = true, .warp_instructions = 11420000, .thread = 0},
      {.duration_ns = 341'951, .launches_a_step = 16, .tensor = true, .warp_instructions = 31670000, .thread = 1},
      {.duration_ns = 419'935, .launches_a_step = 8, .tensor = false, .warp_instructions = 268700000, .thread = 1},
      {.duration_ns = 405'535, .launches_a_step = 8, .tensor = true, .warp_instructions = 111110000, .thread = 1},
      {.duration_ns = 405'471, .launches_a_step = 8, .tensor = true, .warp_instructions = 45180000, .thread = 1},
      {.duration_ns = 334'687, .launches_a_step = 8, .tensor = false, .warp_instructions = 246940000, .thread = 1},
      {.duration_ns = 153'791, .launches_a_step = 17, .tensor = false, .warp_instructions = 17420000, .thread = 1},
      {.duration_ns = 264'736, .launches_a_step = 8, .tensor = true, .warp_instructions = 39270000, .thread = 1},
      {.duration_ns = 257'824, .launches_a_step = 8, .tensor = false, .warp_instructions = 186120000, .thread = 1},
      {.duration_ns = 128'704, .launches_a_step = 16, .tensor = false, .warp_instructions = 77590000, .thread = 0},
      {.duration_ns = 112'224, .launches_a_step = 17, .tensor = false, .warp_instructions = 74190000, .thread = 0},
      {.duration_ns = 100'928, .launches_a_step = 17, .tensor = false, .warp_instructions = 54260000, .thread = 1},
      {.duration_ns = 98'144, .launches_a_step = 17, .tensor = false, .warp_instructions = 38140000, .thread = 1},
      {.duration_ns = 47'968, .launches_a_step = 33, .tensor = false, .warp_instructions = 3010000, .thread = 0},
      {.duration_ns = 193'087, .launches_a_step = 8, .tensor = false, .warp_instructions = 126350000, .thread = 0},
      {.duration_ns = 89'791, .launches_a_step = 16, .tensor = false, .warp_instructions = 4460000, .thread = 1},
      {.duration_ns = 145'727, .launches_a_step = 8, .tensor = true, .warp_instructions = 54930000, .thread = 0},
      {.duration_ns = 943'902, .launches_a_step = 1, .tensor = false, .warp_instructions = 503220000, .thread = 0},
      {.duration_ns = 801'982, .launches_a_step = 1, .tensor = false, .warp_instructions = 434110000, .thread = 0},
      {.duration_ns = 46'848, .launches_a_step = 16, .tensor = false, .warp_instructions = 7640000, .thread = 1},
      {.duration_ns = 91'647, .launches_a_step = 8, .tensor = true, .warp_instructions = 8360000, .thread = 1},
      {.duration_ns = 684'063, .launches_a_step = 1, .tensor = true, .warp_instructions = 63250000, .thread = 1},
      {.duration_ns = 79'040, .launches_a_step = 8, .tensor = false, .warp_instructions = 19780000, .thread = 1},
      {.duration_ns = 72'960, .launches_a_step = 8, .tensor = false, .warp_instructions = 22280000, .thread = 1},
      {.duration_ns = 66'304, .launches_a_step = 8, .tensor = false, .warp_instructions = 15690000, .thread = 1},
      {.duration_ns = 56'352, .launches_a_step = 8, .tensor = false, .warp_instructions = 9240000, .thread = 1},
      {.duration_ns = 44'224, .launches_a_step = 10, .tensor = false, .warp_instructions = 2810000, .thread = 0},
      {.duration_ns = 81'632, .launches_a_step = 5, .tensor = false, .warp_instructions = 11320000, .thread = 0},
      {.duration_ns = 396'624, .launches_a_step = 1, .tensor = false, .warp_instructions = 194900000, .thread = 0},
      {.duration_ns = 371'295, .launches_a_step = 1, .tensor = false, .warp_instructions = 24120000, .thread = 0},
      {.duration_ns = 62'976, .launches_a_step = 5, .tensor = false, .warp_instructions = 4730000, .thread = 0},
      {.duration_ns = 62'175, .launches_a_step = 5, .tensor = false, .warp_instructions = 4240000, .thread = 0},
      {.duration_ns = 14'400, .launches_a_step = 16, .tensor = false, .warp_instructions = 6780000, .thread = 1},
      {.duration_ns = 228'447, .launches_a_step = 1, .tensor = false, .warp_instructions = 24120000, .thread = 0},
      {.duration_ns = 45'631, .launches_a_step = 5, .tensor = false, .warp_instructions = 9090000, .thread = 0},
      {.duration_ns = 45'568, .launches_a_step = 5, .tensor = false, .warp_instructions = 8470000, .thread = 0},
      {.duration_ns = 44'480, .launches_a_step = 5, .tensor = false, .warp_instructions = 2810000, .thread = 0},
      {.duration_ns = 135'871, .launches_a_step = 1, .tensor = false, .warp_instructions = 36310000, .thread = 1},
      {.duration_ns = 7'552, .launches_a_step = 16, .tensor = false, .warp_instructions = 380000, .thread = 0},
      {.duration_ns = 103'872, .launches_a_step = 1, .tensor = false, .warp_instructions = 44290000, .thread = 0},
      {.duration_ns = 11'712, .launches_a_step = 8, .tensor = false, .warp_instructions = 5090000, .thread = 1},
      {.duration_ns = 38'592, .launches_a_step = 2, .tensor = false, .warp_instructions = 2330000, .thread = 0},
      {.duration_ns = 70'656, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 66'944, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 59'424, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 52'000, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 50'880, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 6'112, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 6'048, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 5'120, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 40'415, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 40'128, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 40'096, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 2'463, .launches_a_step = 16, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 38'176, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 38'080, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 4'704, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 27'360, .launches_a_step = 1, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 3'360, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 3'265, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 1},
      {.duration_ns = 2'975, .launches_a_step = 8, .tensor = false, .warp_instructions = 0, .thread = 0},
      {.duration_ns = 1'248, .launches_a_step = 16, .tensor = false, .warp_instructions = 0, .thread = 0},
  };
  return step;
}

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_INJECT_MEASURED_STEP_H_
