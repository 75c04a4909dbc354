// Pure arithmetic of the trace's columns; proto/README.md states the same rules for readers. All differences are modulo
// 2^64, so that any input comes back exactly. No state, no threads; the caller owns the storage.
#ifndef GPUEXEC_INJECT_COLUMNS_H_
#define GPUEXEC_INJECT_COLUMNS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace gx::inject {

// What to write of a column of plain values: nothing where all are zero, one element where all are equal, else all.
std::span<const uint64_t> ShrinkColumn(std::span<const uint64_t> values);

// What to write of a column of differences: nothing where all are zero, else all.
std::span<const int64_t> ShrinkDeltas(std::span<const int64_t> deltas);
std::span<const uint64_t> ShrinkDeltas(std::span<const uint64_t> deltas);

// `value` - `before`, modulo 2^64, as a signed number.
int64_t SignedDifference(uint64_t value, uint64_t before);

// Greatest common divisor of all values (of their magnitudes); 1 where there is none or all are zero.
uint64_t CommonUnit(std::span<const uint64_t> values);
uint64_t CommonUnit(std::span<const int64_t> values);

// Divides every value by a unit that divides all of them. A unit of 0 or 1 changes nothing.
void DivideByUnit(uint64_t unit, std::vector<uint64_t>* values);
void DivideByUnit(uint64_t unit, std::vector<int64_t>* values);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COLUMNS_H_
