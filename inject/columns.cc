#include "inject/columns.h"

#include <algorithm>
#include <numeric>

namespace gx::inject {
namespace {

uint64_t Magnitude(uint64_t value) { return value; }

// INT64_MIN has a magnitude too: 2^63.
uint64_t Magnitude(int64_t value) { return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : uint64_t(value); }

template <typename T>
uint64_t CommonUnitOf(std::span<const T> values) {
  uint64_t unit = 0;
  for (const T value : values) {
    const uint64_t magnitude = Magnitude(value);
    // Once the unit is found, a remainder is all that most values need.
    if (unit != 0 && magnitude % unit == 0) continue;
    unit = std::gcd(unit, magnitude);
    if (unit == 1) break;
  }
  return unit == 0 ? 1 : unit;
}

template <typename T>
std::span<const T> NothingIfZero(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T value) { return value == 0; }) ? std::span<const T>() : values;
}

}  // namespace

std::span<const uint64_t> ShrinkColumn(std::span<const uint64_t> values) {
  if (values.empty()) return values;
  const uint64_t first = values.front();
  if (!std::all_of(values.begin(), values.end(), [first](uint64_t value) { return value == first; })) return values;
  return first == 0 ? std::span<const uint64_t>() : values.first(1);
}

std::span<const int64_t> ShrinkDeltas(std::span<const int64_t> deltas) { return NothingIfZero(deltas); }
std::span<const uint64_t> ShrinkDeltas(std::span<const uint64_t> deltas) { return NothingIfZero(deltas); }

int64_t SignedDifference(uint64_t value, uint64_t before) { return static_cast<int64_t>(value - before); }

uint64_t CommonUnit(std::span<const uint64_t> values) { return CommonUnitOf(values); }
uint64_t CommonUnit(std::span<const int64_t> values) { return CommonUnitOf(values); }

void DivideByUnit(uint64_t unit, std::vector<uint64_t>* values) {
  if (unit <= 1) return;
  for (uint64_t& value : *values) value /= unit;
}

void DivideByUnit(uint64_t unit, std::vector<int64_t>* values) {
  if (unit <= 1) return;
  // On magnitudes: the unit may be 2^63, which no int64_t holds.
  for (int64_t& value : *values) {
    const auto quotient = static_cast<int64_t>(Magnitude(value) / unit);
    value = value < 0 ? -quotient : quotient;
  }
}

}  // namespace gx::inject
