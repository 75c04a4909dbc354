// The arithmetic of the fake GH100's hardware counters: which metrics there are, which share a pass, and what a range
// that held some work counts. Pure functions [MT]; tests compute with them what a trace has to say.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_METRICS_H_
#define GPUEXEC_TESTS_FAKES_FAKE_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gx::fakes {

inline constexpr char kChipName[] = "GH100";
inline constexpr uint64_t kInstructionsPerWarp = 100;
// What kernel activity records add to the instructions of a kernel that is counted meanwhile.
inline constexpr uint64_t kContaminationPercent = 32;
inline constexpr uint64_t kDramReadBytesPerThread = 8;
inline constexpr uint64_t kDramWriteBytesPerThread = 4;
// DRAM write bytes of the first range of a session are that much too high.
inline constexpr uint64_t kFirstRangePercent = 3;
// Counters of hardware that fit into one pass: as many as "light+" has.
inline constexpr size_t kSlotsPerPass = 25;

// What ran inside a range.
struct CountedWork {
  uint64_t kernel_count = 0;
  uint64_t copy_count = 0;
  uint64_t contaminated_count = 0;  // Kernels of those that ran while kernel activity was on.
  uint64_t block_count = 0;
  uint64_t thread_count = 0;
  uint64_t warp_count = 0;
  uint64_t instruction_count = 0;
  uint64_t duration_ns = 0;
  uint64_t tensor_thread_count = 0;  // Of kernels with "gemm" in their names.
  uint64_t copied_bytes = 0;
};

void CountKernel(std::string_view name, const uint32_t grid[3], const uint32_t block[3], uint64_t duration_ns,
                 bool contaminated, CountedWork* counted);
void CountCopy(uint64_t bytes, CountedWork* counted);

// Counters, without rollups, sorted.
extern const std::span<const std::string_view> kMetricNames;

// A counter of kMetricNames with a rollup; without one no metric can be configured.
bool MetricExists(std::string_view metric);
bool IsKnownCounter(std::string_view name);
bool IsSassMetric(std::string_view metric);
// True for what is known of the device and needs no counter: X.sum.peak_sustained.
bool IsPeak(std::string_view metric);

// The pass that counts each metric, from 0, in the metrics' order. Peaks take no room; rollups of one counter share it;
// counters of patched code have a pass of their own.
std::vector<size_t> PlanPasses(const std::vector<std::string>& metrics);

// `metric` has to exist. README.md has the rules.
double MetricValue(std::string_view metric, const CountedWork& counted, bool first_range);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_METRICS_H_
