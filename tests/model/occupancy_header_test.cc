// The exact model against cuda_occupancy.h itself, where there is a CUDA toolkit: the same blocks, limits, limiters and
// allocations for some hundred thousand launches. Where the header is wrong, a test says in what.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {
namespace {

cudaOccDeviceProp HeaderDevice(const SmLimits& limits) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.compute_capability.major;
  device.computeMinor = limits.compute_capability.minor;
  device.maxThreadsPerBlock = static_cast<int>(limits.max_threads_per_block_count);
  device.maxThreadsPerMultiprocessor = static_cast<int>(limits.max_threads_per_sm_count);
  device.regsPerBlock = static_cast<int>(limits.max_registers_per_block_count);
  device.regsPerMultiprocessor = static_cast<int>(limits.registers_per_sm_count);
  device.warpSize = static_cast<int>(kWarpThreadsCount);
  device.sharedMemPerBlock = static_cast<size_t>(limits.shared_memory_per_block_bytes);
  device.sharedMemPerMultiprocessor = static_cast<size_t>(limits.shared_memory_per_sm_bytes);
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<size_t>(limits.shared_memory_per_block_optin_bytes);
  device.reservedSharedMemPerBlock = static_cast<size_t>(limits.reserved_shared_memory_per_block_bytes);
  return device;
}

struct HeaderAnswer {
  cudaOccError error = CUDA_OCC_SUCCESS;
  cudaOccResult result = {};
};

HeaderAnswer AskHeader(const SmLimits& limits, const LaunchResources& launch) {
  const cudaOccDeviceProp device = HeaderDevice(limits);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX;
  function.numRegs = static_cast<int>(launch.registers_per_thread_count);
  function.sharedSizeBytes = static_cast<size_t>(launch.static_shared_memory_bytes);
  function.shmemLimitConfig =
      launch.shared_memory_limit == SharedMemoryLimit::kOptIn ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
  function.maxDynamicSharedSizeBytes =
      static_cast<size_t>(launch.max_dynamic_shared_memory_bytes.value_or(launch.dynamic_shared_memory_bytes));
  function.numBlockBarriers = static_cast<int>(launch.barriers_per_block_count);
  function.virtualResourceCount = static_cast<int>(launch.virtual_resources_per_block_count);
  cudaOccDeviceState state;
  state.carveoutConfig = static_cast<int>(launch.carveout_percent);
  switch (launch.cache_preference) {
    case CachePreference::kNone:
      state.cacheConfig = CACHE_PREFER_NONE;
      break;
    case CachePreference::kSharedMemory:
      state.cacheConfig = CACHE_PREFER_SHARED;
      break;
    case CachePreference::kL1:
      state.cacheConfig = CACHE_PREFER_L1;
      break;
    case CachePreference::kEqual:
      state.cacheConfig = CACHE_PREFER_EQUAL;
      break;
  }
  HeaderAnswer answer;
  answer.error = cudaOccMaxActiveBlocksPerMultiprocessor(&answer.result, &device, &function, &state,
                                                         static_cast<int>(launch.threads_per_block_count),
                                                         static_cast<size_t>(launch.dynamic_shared_memory_bytes));
  return answer;
}

std::optional<int64_t> Limit(int header_limit) {
  return header_limit == INT_MAX ? std::nullopt : std::optional<int64_t>(header_limit);
}

BlockLimits HeaderLimits(const cudaOccResult& header) {
  BlockLimits limits;
  limits[OccupancyLimiter::kWarps] = Limit(header.blockLimitWarps);
  limits[OccupancyLimiter::kRegisters] = Limit(header.blockLimitRegs);
  limits[OccupancyLimiter::kSharedMemory] = Limit(header.blockLimitSharedMem);
  limits[OccupancyLimiter::kBlocks] = Limit(header.blockLimitBlocks);
  limits[OccupancyLimiter::kBarriers] = Limit(header.blockLimitBarriers);
  limits[OccupancyLimiter::kVirtualResources] = Limit(header.blockLimitVirtual);
  return limits;
}

LimiterSet HeaderLimiters(const cudaOccResult& header) {
  LimiterSet limiters;
  if ((header.limitingFactors & OCC_LIMIT_WARPS) != 0) limiters.Add(OccupancyLimiter::kWarps);
  if ((header.limitingFactors & OCC_LIMIT_REGISTERS) != 0) limiters.Add(OccupancyLimiter::kRegisters);
  if ((header.limitingFactors & OCC_LIMIT_SHARED_MEMORY) != 0) limiters.Add(OccupancyLimiter::kSharedMemory);
  if ((header.limitingFactors & OCC_LIMIT_BLOCKS) != 0) limiters.Add(OccupancyLimiter::kBlocks);
  if ((header.limitingFactors & OCC_LIMIT_BARRIERS) != 0) limiters.Add(OccupancyLimiter::kBarriers);
  if ((header.limitingFactors & OCC_LIMIT_VIRTUAL_RESOURCES) != 0) limiters.Add(OccupancyLimiter::kVirtualResources);
  return limiters;
}

// Compares, counts and keeps the first few differences for the failure's text.
class Comparison {
 public:
  void Add(const SmLimits& limits, const LaunchResources& launch) {
    ++configurations_;
    const HeaderAnswer header = AskHeader(limits, launch);
    const auto ours = ComputeExactOccupancy(limits, launch);
    if (header.error != CUDA_OCC_SUCCESS || !ours.ok()) {
      // Both refuse to answer, or it is a difference.
      if ((header.error != CUDA_OCC_SUCCESS) == !ours.ok()) {
        ++errors_;
      } else {
        Differ(limits, launch, absl::StrCat("header error ", header.error, ", ours ", ours.status().message()));
      }
      return;
    }
    if (ours->blocks_per_sm_count == 0) ++refused_;
    const cudaOccResult& result = header.result;
    if (ours->blocks_per_sm_count != result.activeBlocksPerMultiprocessor || ours->limits != HeaderLimits(result) ||
        ours->allocated_registers_per_block_count != result.allocatedRegistersPerBlock ||
        ours->allocated_shared_memory_per_block_bytes != static_cast<int64_t>(result.allocatedSharedMemPerBlock)) {
      Differ(
          limits, launch,
          absl::StrCat("header ", result.activeBlocksPerMultiprocessor, " blocks, ours ", ours->blocks_per_sm_count));
      return;
    }
    // The header sets its flags before it looks at barriers (see the test below). Before that, they are right.
    const std::optional<int64_t> barriers = ours->limits[OccupancyLimiter::kBarriers];
    BlockLimits without_barriers = ours->limits;
    without_barriers[OccupancyLimiter::kBarriers].reset();
    LimitSummary flags = SummariseLimits(without_barriers);
    if (barriers.has_value() && *barriers <= flags.blocks_count) flags.limiters.Add(OccupancyLimiter::kBarriers);
    if (HeaderLimiters(result) != flags.limiters) Differ(limits, launch, "limiters of the header");
    if (barriers.has_value() && *barriers < flags.blocks_count) {
      ++only_barriers_;
      if (ours->limiters != LimiterSet{OccupancyLimiter::kBarriers}) Differ(limits, launch, "our limiters");
    } else if (ours->limiters != flags.limiters) {
      Differ(limits, launch, "our limiters");
    }
  }

  int64_t configurations() const { return configurations_; }
  int64_t differences() const { return differences_; }
  int64_t refused() const { return refused_; }
  int64_t errors() const { return errors_; }
  int64_t only_barriers() const { return only_barriers_; }
  const std::string& text() const { return text_; }

 private:
  void Differ(const SmLimits& limits, const LaunchResources& launch, const std::string& what) {
    if (++differences_ > 10) return;
    absl::StrAppend(&text_, limits.compute_capability.ToString(), ": ", launch.threads_per_block_count, " threads, ",
                    launch.registers_per_thread_count, " registers, ", launch.static_shared_memory_bytes, " + ",
                    launch.dynamic_shared_memory_bytes, " bytes (max dynamic ",
                    launch.max_dynamic_shared_memory_bytes.value_or(-1), "), carve-out ", launch.carveout_percent, ", ",
                    launch.barriers_per_block_count, " barriers: ", what, "\n");
  }

  int64_t configurations_ = 0;
  int64_t differences_ = 0;
  int64_t refused_ = 0;
  int64_t errors_ = 0;
  int64_t only_barriers_ = 0;
  std::string text_;
};

constexpr int64_t kGrid = 12 * 19 * 10 * 10 * 5 * 2;
constexpr int64_t kRandom = 150'000;
static_assert(kGrid + kRandom >= 200'000);

TEST(OccupancyHeader, AGridOfLaunchesGivesTheHeadersAnswers) {
  Comparison comparison;
  for (const SmLimits& limits : KnownSmLimits()) {
    for (const int64_t threads :
         {1, 31, 32, 33, 64, 96, 128, 160, 192, 224, 256, 288, 384, 512, 640, 768, 1023, 1024, 1025}) {
      for (const int64_t registers : {0, 16, 32, 33, 64, 92, 128, 168, 200, 255}) {
        for (const int64_t dynamic : {0, 1, 1024, 15360, 48128, 49152, 65536, 101376, 166912, 232448}) {
          for (const int64_t carveout : {-1, 0, 10, 50, 100}) {
            for (const SharedMemoryLimit limit : {SharedMemoryLimit::kDefault, SharedMemoryLimit::kOptIn}) {
              comparison.Add(limits, {.threads_per_block_count = threads,
                                      .registers_per_thread_count = registers,
                                      .dynamic_shared_memory_bytes = dynamic,
                                      .shared_memory_limit = limit,
                                      .carveout_percent = carveout});
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(comparison.configurations(), kGrid);
  EXPECT_EQ(comparison.differences(), 0) << comparison.text();
  EXPECT_EQ(comparison.errors(), 0);
  EXPECT_GT(comparison.refused(), 1'000);
}

// Also what no launch has: sizes up to the header's 31 bits, more threads than a block may have.
TEST(OccupancyHeader, RandomLaunchesGetTheHeadersAnswers) {
  std::mt19937_64 random(7);
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  // Small, around the limits, anything.
  const auto draw_bytes = [&draw]() -> int64_t {
    switch (draw(0, 5)) {
      case 0:
        return 0;
      case 1:
        return draw(0, 16'384);
      case 2:
        return 49'152 + draw(-1'200, 1'200);
      case 3:
        return 1024 * draw(0, 228) + draw(-1, 1) * draw(0, 1);
      case 4:
        return draw(0, 250'000);
      default:
        return draw(0, 1 << draw(0, 29));
    }
  };
  Comparison comparison;
  while (comparison.configurations() < kRandom) {
    const SmLimits& limits = KnownSmLimits()[static_cast<size_t>(draw(0, 11))];
    LaunchResources launch;
    launch.threads_per_block_count = draw(0, 9) == 0 ? draw(1, 5'000) : draw(1, 1'024);
    launch.registers_per_thread_count = draw(0, 255);
    launch.static_shared_memory_bytes = draw(0, 1) * std::max<int64_t>(0, draw_bytes());
    launch.dynamic_shared_memory_bytes = std::max<int64_t>(0, draw_bytes());
    launch.shared_memory_limit = draw(0, 2) == 0 ? SharedMemoryLimit::kDefault : SharedMemoryLimit::kOptIn;
    if (draw(0, 1) == 0) launch.max_dynamic_shared_memory_bytes = std::max<int64_t>(0, draw_bytes());
    launch.carveout_percent = draw(-1, 100);
    if (draw(0, 3) == 0) launch.carveout_percent = -1;
    launch.cache_preference = static_cast<CachePreference>(draw(0, 3));
    launch.barriers_per_block_count = draw(0, 1) == 0 ? 1 : draw(0, 16);
    launch.virtual_resources_per_block_count = draw(0, 2) == 0 ? draw(0, 140) : 0;
    comparison.Add(limits, launch);
  }
  EXPECT_EQ(comparison.differences(), 0) << comparison.text();
  EXPECT_EQ(comparison.errors(), 0);
  EXPECT_GT(comparison.refused(), 10'000);
  EXPECT_LT(comparison.refused(), kRandom - 10'000);
  EXPECT_GT(comparison.only_barriers(), 1'000);
}

// A device may have other numbers than its architecture's table.
TEST(OccupancyHeader, DevicesThatDifferFromTheTableGetTheHeadersAnswers) {
  std::mt19937_64 random(8);
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  Comparison comparison;
  while (comparison.configurations() < 20'000) {
    const SmLimits& table = KnownSmLimits()[static_cast<size_t>(draw(0, 11))];
    DeviceSmValues device;
    device.max_threads_per_block_count = draw(0, 2) == 0 ? 32 * draw(1, 32) : 1'024;
    device.max_registers_per_block_count = 1024 * draw(16, 64);
    // From 8.0 on only: the header adds it to the block's limit there, and no older driver has one.
    if (table.compute_capability.major >= 8) device.reserved_shared_memory_per_block_bytes = 128 * draw(0, 32);
    const int64_t steps = static_cast<int64_t>(table.carveout_steps_bytes.size());
    device.shared_memory_per_sm_bytes = table.carveout_steps_bytes[static_cast<size_t>(
        steps - 1 - draw(0, table.compute_capability.minor == 5 ? 0 : 2))];
    device.shared_memory_per_block_optin_bytes =
        *device.shared_memory_per_sm_bytes - device.reserved_shared_memory_per_block_bytes.value_or(0) - draw(0, 4'096);
    const auto limits = ApplyDeviceValues(table, device);
    ASSERT_TRUE(limits.ok()) << limits.status();
    comparison.Add(*limits, {.threads_per_block_count = draw(1, 1'024),
                             .registers_per_thread_count = draw(0, 255),
                             .static_shared_memory_bytes = draw(0, 1) * draw(0, 40'000),
                             .dynamic_shared_memory_bytes = draw(0, 1) * draw(0, 230'000),
                             .carveout_percent = draw(-1, 100)});
  }
  EXPECT_EQ(comparison.differences(), 0) << comparison.text();
  EXPECT_GT(comparison.refused(), 1'000);
}

SmLimits Table(int major, int minor) { return **FindSmLimits({major, minor}); }

// What follows are the header's faults, and what we say instead.

// 64 barriers, four a block: 16 blocks. The header raised flags for what would have limited to 32 before it knew.
TEST(OccupancyHeaderFault, FlagsAreSetBeforeBarriersAreLookedAt) {
  const LaunchResources launch = {
      .threads_per_block_count = 64, .registers_per_thread_count = 32, .barriers_per_block_count = 4};
  const HeaderAnswer header = AskHeader(Table(9, 0), launch);
  EXPECT_EQ(header.result.activeBlocksPerMultiprocessor, 16);
  EXPECT_EQ(header.result.blockLimitRegs, 32);
  EXPECT_EQ(HeaderLimiters(header.result).ToString(), "blocks + warps + registers + barriers");
  EXPECT_EQ(ComputeExactOccupancy(Table(9, 0), launch)->limiters.ToString(), "barriers");
}

// No thread has 256 registers: 255 is the architecture's limit (CUDA Programming Guide).
TEST(OccupancyHeaderFault, ItTakes256RegistersAThread) {
  const LaunchResources launch = {.threads_per_block_count = 128, .registers_per_thread_count = 256};
  EXPECT_EQ(AskHeader(Table(9, 0), launch).result.activeBlocksPerMultiprocessor, 2);
  EXPECT_EQ(ComputeExactOccupancy(Table(9, 0), launch).status().message(),
            "registers_per_thread_count: got 256, expected 0 to 255");
}

// It adds sizes up in 64 bits and rounds them in 32: 4 GiB are nothing, and nothing always fits.
TEST(OccupancyHeaderFault, SizesBeyond32BitsWrapAround) {
  const LaunchResources launch = {.threads_per_block_count = 128,
                                  .registers_per_thread_count = 32,
                                  .dynamic_shared_memory_bytes = (int64_t{1} << 32) - 1024};
  const HeaderAnswer header = AskHeader(Table(9, 0), launch);
  EXPECT_EQ(header.result.allocatedSharedMemPerBlock, 0U);
  EXPECT_EQ(header.result.activeBlocksPerMultiprocessor, 16);
  const auto ours = ComputeExactOccupancy(Table(9, 0), launch);
  ASSERT_TRUE(ours.ok());
  EXPECT_EQ(ours->blocks_per_sm_count, 0);
  EXPECT_EQ(ours->refusals, LaunchRefusals{LaunchRefusal::kSharedMemoryOptinLimit});
}

// A block has 16 barriers (PTX ISA).
TEST(OccupancyHeaderFault, ItTakesMoreBarriersThanABlockHas) {
  const LaunchResources launch = {
      .threads_per_block_count = 128, .registers_per_thread_count = 32, .barriers_per_block_count = 17};
  EXPECT_EQ(AskHeader(Table(9, 0), launch).result.activeBlocksPerMultiprocessor, 3);
  EXPECT_FALSE(ComputeExactOccupancy(Table(9, 0), launch).ok());
}

// What the header does not know it takes for something that it does know: an 8.x of which there is no GPU.
TEST(OccupancyHeaderFault, ItGuessesForComputeCapabilitiesThatDoNotExist) {
  SmLimits unknown = Table(8, 6);
  unknown.compute_capability = {8, 5};
  const HeaderAnswer header = AskHeader(unknown, {.threads_per_block_count = 32, .registers_per_thread_count = 16});
  EXPECT_EQ(header.error, CUDA_OCC_SUCCESS);
  EXPECT_EQ(header.result.activeBlocksPerMultiprocessor, 16);
  EXPECT_FALSE(FindSmLimits({8, 5}).ok());
}

// Not a fault, but both have to refuse: what the header calls invalid input.
TEST(OccupancyHeader, InvalidInputIsInvalidForBoth) {
  Comparison comparison;
  const SmLimits hopper = Table(9, 0);
  const LaunchResources good = {.threads_per_block_count = 128, .registers_per_thread_count = 32};
  for (const int64_t threads : {0, -1}) {
    LaunchResources launch = good;
    launch.threads_per_block_count = threads;
    comparison.Add(hopper, launch);
  }
  for (const int64_t carveout : {-2, 101}) {
    LaunchResources launch = good;
    launch.carveout_percent = carveout;
    comparison.Add(hopper, launch);
  }
  LaunchResources launch = good;
  launch.registers_per_thread_count = -1;
  comparison.Add(hopper, launch);
  EXPECT_EQ(comparison.differences(), 0) << comparison.text();
  EXPECT_EQ(comparison.errors(), 5);
}

}  // namespace
}  // namespace gx::model
