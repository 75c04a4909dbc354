// What a kernel occupies, as the ladder (ladder.h) sees it: one resource is one thing of the machine that can do so
// many of something in a clock cycle. A count over that rate is a duration: the kernel cannot be done before.
//
// Four figures a resource: what useful work needs, what all counted work needs, what the busiest instance (SM, L2
// slice, DRAM channel) needs, and the part of the peak that is sustained at best. Durations of resources on the SM
// clock are at the device's maximum SM clock; the ladder's own rung makes them longer where the clock was lower.
//
// Units: ns, counts, Hz. Any thread. Nothing allocates where nothing is wrong.
//
//   // 2 GiB over 1,504 bytes a clock at 3.199 GHz: 446,342 ns.
//   WorkNs(2147483648, 1504, 3.199e9);
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_RESOURCE_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_RESOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gx::model {

// In brackets: what is counted, as CUPTI calls it on compute capability 9.0.
enum class ResourceKind : uint8_t {
  kDram,              // dram__bytes
  kL2Lookup,          // lts__t_sectors, of all sources
  kL2DataOut,         // lts__lts2xbar_cycles_active
  kL2DataIn,          // lts__xbar2lts_cycles_active: one for a sector written, one for a request to read
  kL2Fabric,          // lts__ltcfabric2lts_cycles_active
  kL2Atomics,         // lts__d_atomic_input_cycles_active
  kSmPort,            // l1tex__m_xbar2l1tex_read_bytes
  kL1Data,            // l1tex__data_pipe_lsu_wavefronts
  kIssue,             // smsp__inst_executed
  kLsuPipe,           // sm__inst_executed_pipe_lsu
  kAluPipe,           // sm__inst_executed_pipe_alu
  kFmaPipe,           // sm__inst_executed_pipe_fma
  kXuPipe,            // sm__inst_executed_pipe_xu
  kFp64Pipe,          // sm__inst_executed_pipe_fp64
  kTensorOperations,  // sm__ops_path_tensor_*: the path's operations over its own peak
  kTensorPipe,        // sm__pipe_tensor_cycles_active: above the operations where shapes or operands waste cycles
};
inline constexpr size_t kResourceKindCount = 16;

// What one instance is: where a busiest one is looked for.
enum class ResourceScope : uint8_t { kChannel, kSlice, kSm };

// "dram", "L2 lookup", "issue"; "" for no kind of the list.
absl::string_view ResourceName(ResourceKind kind) noexcept;
ResourceScope ScopeOf(ResourceKind kind) noexcept;
// "DRAM channel", "L2 slice", "SM".
absl::string_view ScopeName(ResourceScope scope) noexcept;
// A load may wait for it: everything from L1 to DRAM.
bool IsMemory(ResourceKind kind) noexcept;

// A set of kinds.
class ResourceSet {
 public:
  void Add(ResourceKind kind) noexcept { bits_ |= Bit(kind); }
  bool Contains(ResourceKind kind) const noexcept { return (bits_ & Bit(kind)) != 0; }
  bool empty() const noexcept { return bits_ == 0; }
  size_t size() const noexcept { return static_cast<size_t>(__builtin_popcount(bits_)); }
  friend bool operator==(ResourceSet a, ResourceSet b) noexcept { return a.bits_ == b.bits_; }

 private:
  static constexpr uint32_t Bit(ResourceKind kind) noexcept { return uint32_t{1} << static_cast<uint32_t>(kind); }
  uint32_t bits_ = 0;
};

struct LadderResource {
  ResourceKind kind = ResourceKind::kDram;
  // False: its clock is its own, and a lower SM clock does not slow it.
  bool on_sm_clock = true;
  // 0 to work_ns. Absent (in all, then) where patched code was not counted: what was useful is not known.
  std::optional<double> useful_ns = std::nullopt;
  // 0 or more.
  double work_ns = 0;
  // work_ns or more. Absent where no maximum over instances was counted: the work counts then.
  std::optional<double> busiest_ns = std::nullopt;
  // It counts lanes that do work, so that no factor (ladder_factors.h) leaves less of it.
  bool only_useful = false;
  // busiest_ns is that of BusiestOfEqualBlocksNs, not counted.
  bool assumes_equal_blocks = false;
  // Sustained over theoretical rate, above 0, at most 1. Absent without a machine file.
  std::optional<double> eta_ratio = std::nullopt;
};

// Some resources, one of a kind, in the order given.
class LadderResources {
 public:
  LadderResources() = default;
  LadderResources(std::initializer_list<LadderResource> resources) {
    for (const LadderResource& resource : resources) Set(resource);
  }

  // Takes the place of the one of its kind.
  void Set(const LadderResource& resource);
  // Null without one of this kind.
  const LadderResource* Find(ResourceKind kind) const;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const LadderResource* data() const { return values_.data(); }
  const LadderResource* begin() const { return values_.data(); }
  const LadderResource* end() const { return values_.data() + size_; }
  LadderResource* begin() { return values_.data(); }
  LadderResource* end() { return values_.data() + size_; }

 private:
  // One more than there are kinds: a kind that is none is kept, for CheckResources to refuse.
  std::array<LadderResource, kResourceKindCount + 1> values_ = {};
  size_t size_ = 0;
};

// count / (peak_per_clock x clock): count finite, 0 or more; the others above 0.
[[nodiscard]] absl::StatusOr<double> WorkNs(double count, double peak_per_clock, double clock_hz);
// work x max / mean over instances. The mean counts idle instances. A maximum below the mean is refused; without any
// count (both 0) it is the work.
[[nodiscard]] absl::StatusOr<double> BusiestNs(double work_ns, double max_count, double mean_count);
// Where no maximum was counted, for resources of an SM: work x ceil(blocks / SMs) / (blocks / SMs). Right only if
// blocks are equal; say so (assumes_equal_blocks).
[[nodiscard]] absl::StatusOr<double> BusiestOfEqualBlocksNs(double work_ns, int64_t block_count, int64_t sm_count);

// Each kind at most once, each figure in its range.
[[nodiscard]] absl::Status CheckResources(absl::Span<const LadderResource> resources);

// Duration of the busiest instance at the timed clock (clock_ratio: maximum over timed SM clock, 1 or more), and the
// same at the sustained rate. What is absent counts as even, as sustained in full.
double BusiestAtClockNs(const LadderResource& resource, double clock_ratio) noexcept;
double SustainedNs(const LadderResource& resource, double clock_ratio) noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_RESOURCE_H_
