#include "analysis/manifest/machine_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/model/peaks.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Machine;
using gpuexec::v1::Provenance;
using model::CeilingKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Key;
using ::testing::Not;
using testing::StatusIs;

constexpr auto kAny = gpuexec::v1::ROOF_KIND_UNSPECIFIED;

const model::Product* Product(absl::string_view name) {
  const auto match = model::FindProduct(name);
  EXPECT_THAT(match, IsOk());
  return match.ok() ? match->product : nullptr;
}

std::map<std::string, Provenance::Origin> Origins(const MachineModel& machine) {
  std::map<std::string, Provenance::Origin> origins;
  for (const Provenance& item : machine.provenance()) {
    EXPECT_TRUE(origins.emplace(item.name(), item.origin()).second) << item.name() << " twice";
  }
  return origins;
}

TEST(MachineModel, TakesWhatTheManifestStates) {
  FaultLog log;
  const Machine stated = FromText<Machine>(
      "sm_count: 108 warp_size_threads: 32 max_resident_threads: 2048 max_resident_warps: 64 max_resident_blocks: 32 "
      "register_count: 65536 shared_memory_bytes: 167936");
  const MachineModel machine(stated, nullptr, &log);
  EXPECT_THAT(log.faults, IsEmpty());
  ASSERT_TRUE(machine.budget().has_value());
  EXPECT_EQ(machine.budget()->shared_memory_bytes, 167936);
  EXPECT_EQ(machine.budget()->max_threads_count, 2048);
  EXPECT_EQ(machine.sm_count(), 108);
  EXPECT_FALSE(machine.limits().has_value());
  for (const auto& [name, origin] : Origins(machine)) EXPECT_EQ(origin, Provenance::ORIGIN_MANIFEST) << name;
}

TEST(MachineModel, TheTableFillsWhatIsNotStatedAndSaysSo) {
  FaultLog log;
  const Machine stated = FromText<Machine>("compute_capability: '9.0' max_resident_blocks: 16");
  const MachineModel machine(stated, nullptr, &log);
  EXPECT_THAT(log.faults, IsEmpty());
  ASSERT_TRUE(machine.budget().has_value());
  EXPECT_EQ(machine.budget()->max_blocks_count, 16);
  EXPECT_EQ(machine.budget()->shared_memory_bytes, 233472);
  ASSERT_TRUE(machine.limits().has_value());
  EXPECT_EQ(machine.limits()->max_blocks_per_sm_count, 16);
  const auto origins = Origins(machine);
  EXPECT_EQ(origins.at("max_resident_blocks"), Provenance::ORIGIN_MANIFEST);
  EXPECT_EQ(origins.at("shared_memory_bytes"), Provenance::ORIGIN_TABLE);
  EXPECT_EQ(origins.at("register_count"), Provenance::ORIGIN_TABLE);
}

TEST(MachineModel, NamesWhatIsMissing) {
  FaultLog log;
  const Machine stated = FromText<Machine>("register_count: 65536");
  const MachineModel machine(stated, nullptr, &log);
  EXPECT_FALSE(machine.budget().has_value());
  EXPECT_THAT(machine.missing(),
              ElementsAre("machine.max_resident_warps", "machine.max_resident_blocks", "machine.shared_memory_bytes"));
}

TEST(MachineModel, AProductStandsForTheWholeMachine) {
  FaultLog log;
  const Machine stated = FromText<Machine>(
      "sm_count: 3 register_count: 7 memory_roof { level: 'dram' bytes_per_second: 1 kind: ROOF_KIND_THEORETICAL }");
  const model::Product* product = Product("H200 SXM");
  ASSERT_NE(product, nullptr);
  MachineModel machine(stated, product, &log);
  EXPECT_THAT(log.faults, IsEmpty());
  EXPECT_EQ(machine.sm_count(), product->sm_count);
  EXPECT_EQ(machine.budget()->registers_count, 65536);
  const auto dram = machine.MemoryRoof("dram", kAny);
  ASSERT_THAT(dram, IsOk());
  EXPECT_EQ(dram->per_second, product->memory_bytes_per_second);
  EXPECT_EQ(dram->kind, CeilingKind::kTheoretical);
  const auto tensor = machine.ComputeRoof("tensor_bf16_fp32", kAny);
  ASSERT_THAT(tensor, IsOk());
  // 4,096 operations per clock and SM of compute capability 9.0.
  EXPECT_EQ(tensor->per_second, 4096.0 * static_cast<double>(product->sm_count) * product->boost_clock_hz);
  const auto origins = Origins(machine);
  EXPECT_EQ(origins.at("sm_count"), Provenance::ORIGIN_DEVICE);
  EXPECT_EQ(origins.at("register_count"), Provenance::ORIGIN_TABLE);
  EXPECT_EQ(origins.at("memory_roof dram"), Provenance::ORIGIN_DEVICE);
}

TEST(MachineModel, RoofsAreFoundByNameAndKind) {
  FaultLog log;
  const Machine stated = FromText<Machine>(R"(
    compute_roof { path: "p" flops_per_second: 300e12 kind: ROOF_KIND_THEORETICAL source: "sheet" }
    compute_roof { path: "p" flops_per_second: 250e12 kind: ROOF_KIND_EMPIRICAL }
    memory_roof { level: "dram" bytes_per_second: 1.5e12 kind: ROOF_KIND_THEORETICAL }
    memory_roof { level: "dram" bytes_per_second: 1.3e12 kind: ROOF_KIND_EMPIRICAL })");
  MachineModel machine(stated, nullptr, &log);
  EXPECT_EQ(machine.ComputeRoof("p", kAny)->per_second, 300e12);
  EXPECT_EQ(machine.ComputeRoof("p", gpuexec::v1::ROOF_KIND_EMPIRICAL)->per_second, 250e12);
  EXPECT_EQ(machine.MemoryRoof("dram", gpuexec::v1::ROOF_KIND_EMPIRICAL)->per_second, 1.3e12);
  EXPECT_THAT(machine.ComputeRoof("q", kAny),
              StatusIs(absl::StatusCode::kNotFound, "path 'q': machine.compute_roof has 'p', 'p'"));
  EXPECT_THAT(machine.MemoryRoof("l2", kAny),
              StatusIs(absl::StatusCode::kNotFound, "level 'l2': machine.memory_roof has 'dram', 'dram'"));
}

TEST(MachineModel, ARealMachineWithoutARoofGetsTheTablesRate) {
  FaultLog log;
  const Machine stated =
      FromText<Machine>("gpu_model: 'NVIDIA H200' compute_capability: '9.0' sm_count: 132 sm_clock_hz: 1.98e9");
  MachineModel machine(stated, nullptr, &log);
  const auto roof = machine.ComputeRoof("fp32", kAny);
  ASSERT_THAT(roof, IsOk());
  // 128 multiply-adds per clock and SM.
  EXPECT_EQ(roof->per_second, 256.0 * 132 * 1.98e9);
  EXPECT_EQ(Origins(machine).at("compute_roof fp32"), Provenance::ORIGIN_TABLE);
  // A benchmark's result is nothing that a table has.
  EXPECT_THAT(machine.ComputeRoof("fp32", gpuexec::v1::ROOF_KIND_EMPIRICAL), Not(IsOk()));
  // Why the table has no such rate either.
  EXPECT_THAT(machine.ComputeRoof("fp99", kAny).status().message(),
              AllOf(HasSubstr("path 'fp99': machine.compute_roof has none; the table of peaks: "),
                    HasSubstr(std::string(model::ParseRatePath("fp99").status().message()))));
}

TEST(MachineModel, FewerWarpsThanThreadsLowerTheExactLimit) {
  FaultLog log;
  const Machine stated = FromText<Machine>("compute_capability: '9.0' max_resident_warps: 48");
  const MachineModel machine(stated, nullptr, &log);
  ASSERT_TRUE(machine.limits().has_value());
  EXPECT_EQ(machine.limits()->max_threads_per_sm_count, 48 * 32);
  EXPECT_THAT(log.notes, ElementsAre("machine.max_resident_warps is 48: the exact rules take 1536 resident threads"));
  // As many warps as the threads are, or more, change nothing.
  FaultLog quiet;
  const Machine more = FromText<Machine>("compute_capability: '9.0' max_resident_warps: 9223372036854775807");
  EXPECT_EQ(MachineModel(more, nullptr, &quiet).limits()->max_threads_per_sm_count, 2048);
  EXPECT_THAT(quiet.notes, IsEmpty());
}

TEST(MachineModel, EveryProductHasLimitsAndADramRoof) {
  for (const model::Product& product : model::Products()) {
    FaultLog log;
    const Machine none;
    MachineModel machine(none, &product, &log);
    EXPECT_THAT(log.faults, IsEmpty()) << product.name;
    EXPECT_TRUE(machine.budget().has_value()) << product.name;
    EXPECT_THAT(machine.MemoryRoof("dram", kAny), IsOk()) << product.name;
    EXPECT_THAT(Origins(machine), AllOf(Contains(Key("sm_count")), Contains(Key("memory_roof dram"))));
  }
}

}  // namespace
}  // namespace gx::analysis
