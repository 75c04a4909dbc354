#include "analysis/model/banks.h"

#include <algorithm>
#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

// Words of the widest pass: 32 lanes of 16 bytes.
constexpr size_t kMaxPassWords = kWarpLanes * (kMaxSharedBytesPerLane / kBankBytes);

absl::Status CheckSharedAccess(const WarpAccess& access) {
  if (absl::Status status = CheckWarpAccess(access); !status.ok()) return status;
  const uint64_t bytes = static_cast<uint64_t>(access.bytes_per_lane);
  if (!std::has_single_bit(bytes) || access.bytes_per_lane > kMaxSharedBytesPerLane) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes_per_lane: got ", access.bytes_per_lane, ", expected 1, 2, 4, 8 or 16 for shared memory"));
  }
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    const int64_t address = access.lane_address_bytes[static_cast<size_t>(lane)];
    if (!access.active(lane) || address % access.bytes_per_lane == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("lane_address_bytes[", lane, "]: got ", address,
                                                   ", expected a multiple of its ", access.bytes_per_lane, " bytes"));
  }
  return absl::OkStatus();
}

// Every active lane reads the address of the lane whose number differs in this bit, where that one is active.
bool PairsAreUniform(const WarpAccess& access, int64_t bit) {
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    const int64_t other = lane ^ bit;
    if (access.active(lane) && access.active(other) &&
        access.lane_address_bytes[static_cast<size_t>(lane)] != access.lane_address_bytes[static_cast<size_t>(other)]) {
      return false;
    }
  }
  return true;
}

// Most distinct words in one bank over lanes first to first + count - 1.
int64_t PassDegree(const WarpAccess& access, int64_t first_lane, int64_t lane_count) {
  std::array<int64_t, kMaxPassWords> words;
  size_t word_count = 0;
  const int64_t words_per_lane = std::max<int64_t>(1, access.bytes_per_lane / kBankBytes);
  for (int64_t lane = first_lane; lane < first_lane + lane_count; ++lane) {
    if (!access.active(lane)) continue;
    const int64_t word = access.lane_address_bytes[static_cast<size_t>(lane)] / kBankBytes;
    for (int64_t i = 0; i < words_per_lane; ++i) words[word_count++] = word + i;
  }
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(word_count);
  if (!std::is_sorted(words.begin(), end)) std::sort(words.begin(), end);
  std::array<int64_t, kBankCount> words_of_bank{};
  int64_t degree = 0;
  for (auto word = words.begin(); word != end; ++word) {
    if (word != words.begin() && *word == *(word - 1)) continue;  // the same word: one read serves both
    degree = std::max(degree, ++words_of_bank[static_cast<size_t>(*word % kBankCount)]);
  }
  return degree;
}

}  // namespace

absl::StatusOr<BankCount> CountBanks(const WarpAccess& access, const BankRules& rules) {
  if (absl::Status status = CheckSharedAccess(access); !status.ok()) return status;
  int64_t lanes_per_pass = kWarpLanes / std::max<int64_t>(1, access.bytes_per_lane / kBankBytes);
  if (rules.uniform_pairs_share_a_pass && lanes_per_pass < kWarpLanes &&
      (PairsAreUniform(access, 1) || PairsAreUniform(access, 2))) {
    lanes_per_pass *= 2;
  }
  BankCount result;
  result.active_lane_count = access.active_lane_count();
  for (int64_t first_lane = 0; first_lane < kWarpLanes; first_lane += lanes_per_pass) {
    const int64_t degree = PassDegree(access, first_lane, lanes_per_pass);
    if (degree == 0) continue;
    ++result.pass_count;
    result.conflict_degree = std::max(result.conflict_degree, degree);
    result.wavefront_count += degree;
  }
  result.ideal_wavefront_count = result.pass_count;
  return result;
}

}  // namespace gx::model
