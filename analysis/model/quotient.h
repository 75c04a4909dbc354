// One number over another, where there is one to divide by. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_QUOTIENT_H_
#define GPUEXEC_ANALYSIS_MODEL_QUOTIENT_H_

#include <cstdint>
#include <optional>

namespace gx::model {

// Absent where `whole` is not above 0.
constexpr std::optional<double> Quotient(double part, double whole) noexcept {
  if (!(whole > 0)) return std::nullopt;
  return part / whole;
}
constexpr std::optional<double> Quotient(int64_t part, int64_t whole) noexcept {
  return Quotient(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_QUOTIENT_H_
