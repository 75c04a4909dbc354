// The example manifest against the published worked numbers, value by value, and what each part of a manifest does.
#include "analysis/manifest/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/manifest/message_file.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Derived;
using gpuexec::v1::Manifest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::SizeIs;

Manifest Example() {
  Manifest manifest;
  EXPECT_THAT(ReadMessageFile(std::string(GX_SOURCE_DIR) + "/proto/examples/gemm_4096_bf16.textproto", &manifest),
              IsOk());
  return manifest;
}

struct Result {
  Derived derived;
  FaultLog log;
};

Result Evaluate(const Manifest& manifest) {
  Result result;
  MachineModel machine(manifest.machine(), nullptr, &result.log);
  result.derived = Derive(manifest, &machine, &result.log);
  return result;
}

std::string OnlyFault(const Result& result) {
  EXPECT_THAT(result.log.faults, SizeIs(1));
  return result.log.faults.empty() ? "" : absl::StrCat(result.log.faults[0].where, ": ", result.log.faults[0].text);
}

// The table of derived objects of the worked example: 4096 x 4096 outputs in tiles of 128 x 128 on 108 SMs.
TEST(DeriveExample, GivesTheWorkedNumbers) {
  const Result result = Evaluate(Example());
  EXPECT_THAT(result.log.faults, IsEmpty());
  EXPECT_THAT(result.log.notes, IsEmpty());
  const Derived& derived = result.derived;
  // 32 x 32 output-tile grid: 1,024 blocks.
  EXPECT_EQ(derived.grid().tile_m_count(), 32);
  EXPECT_EQ(derived.grid().tile_n_count(), 32);
  EXPECT_EQ(derived.grid().block_count(), 1024);
  // Resident blocks per SM: 3, limited by shared memory; 24 active warps, 37.5 %.
  EXPECT_EQ(derived.occupancy().resident_blocks_per_sm(), 3);
  EXPECT_THAT(derived.occupancy().limiter(), ElementsAre("shared_memory"));
  EXPECT_EQ(derived.occupancy().active_warps_per_sm(), 24);
  EXPECT_EQ(derived.occupancy().occupancy_ratio(), 0.375);
  // No compute capability is named, so nothing exact is said.
  EXPECT_FALSE(derived.has_exact_occupancy());
  // 324 slots; 4 waves, 52 blocks in the last; its fill is 16.049382716049383 %.
  EXPECT_EQ(derived.waves().slot_count(), 324);
  EXPECT_EQ(derived.waves().wave_count(), 4);
  EXPECT_EQ(derived.waves().last_wave_block_count(), 52);
  EXPECT_EQ(100 * derived.waves().last_wave_fill_ratio(), 16.049382716049383);
  // Aligned FP32 warp request: 128 useful bytes, 4 sectors, 100 %.
  EXPECT_THAT(derived.warp_request(0), EqualsProto("name: 'fp32, aligned' request_count: 1 useful_bytes: 128 "
                                                   "sector_count: 4 transferred_bytes: 128 efficiency_ratio: 1"));
  // 128 x 128 x 32 stage: 1,048,576 FLOP, 16,384 bytes, 64 FLOP/byte.
  EXPECT_EQ(derived.tile_stage(0).flops(), 1048576);
  EXPECT_EQ(derived.tile_stage(0).load_bytes(), 16384);
  EXPECT_EQ(derived.tile_stage(0).intensity_flops_per_byte(), 64);
  // Fused 4096 x 4096 BF16 round trip: 67,108,864 bytes; 44.7 us at 1.5 TB/s.
  EXPECT_EQ(derived.fusion(0).saved_bytes(), 67108864);
  EXPECT_NEAR(derived.fusion(0).saved_seconds(), 44.7e-6, 0.05e-6);
  // Lower bound of the hierarchical roofline: 0.002 s.
  EXPECT_EQ(derived.lower_bound_seconds(), 0.002);
  EXPECT_THAT(derived.roofline(0).binding(), ElementsAre("dram"));
  // Compulsory bytes and intensity of a projection with 1, 128 and 4096 rows.
  EXPECT_EQ(derived.gemm(0).compulsory_bytes(), 33570816);
  EXPECT_NEAR(derived.gemm(0).intensity_flops_per_byte(), 0.9995, 5e-5);
  EXPECT_EQ(derived.gemm(1).compulsory_bytes(), 35651584);
  EXPECT_NEAR(derived.gemm(1).intensity_flops_per_byte(), 120.47, 5e-3);
  EXPECT_EQ(derived.gemm(2).compulsory_bytes(), 100663296);
  EXPECT_NEAR(derived.gemm(2).intensity_flops_per_byte(), 1365.33, 5e-3);
  // Tiled traffic at 128: about 2.1 GB read and 34 MB written.
  EXPECT_EQ(derived.gemm(2).tiled_read_bytes(), 2147483648);
  // Every alternative schedule but those that change nothing.
  EXPECT_THAT(derived.schedule(), SizeIs(8));
}

TEST(Derive, OneTileGivesOneProgram) {
  Manifest manifest = FromText<Manifest>(
      "operation { matrix_product { m: 129 n: 129 k: 64 } } schedule { tile { m: 128 n: 128 k: 32 } } "
      "program { name: 'corner' program_id: 3 } program { name: 'beyond' program_id: 4 }");
  const Result result = Evaluate(manifest);
  EXPECT_EQ(result.derived.grid().block_count(), 4);
  // 129 of 256 along both axes: 25.39 %.
  EXPECT_NEAR(result.derived.grid().tile_efficiency_ratio(), 0.2539, 5e-5);
  EXPECT_THAT(result.derived.program(0),
              EqualsProto("name: 'corner' tile_m: 1 tile_n: 1 first_row: 128 first_column: 128 valid_rows: 1 "
                          "valid_columns: 1"));
  EXPECT_THAT(OnlyFault(result), HasSubstr("program[1] 'beyond': program_id: got 4"));
}

TEST(Derive, GroupedOrderChangesWhichTileAProgramOwns) {
  Manifest manifest = FromText<Manifest>(
      "operation { matrix_product { m: 512 n: 512 k: 64 } } schedule { tile { m: 128 n: 128 k: 32 } group_m: 2 } "
      "program { name: 'second' program_id: 1 }");
  EXPECT_EQ(Evaluate(manifest).derived.program(0).tile_m(), 1);
  manifest.mutable_schedule()->clear_group_m();
  EXPECT_EQ(Evaluate(manifest).derived.program(0).tile_m(), 0);
}

TEST(Derive, AStatedGridIsTheLaunchAndADifferenceToItsTilesIsNoted) {
  const Result result = Evaluate(FromText<Manifest>(
      "operation { matrix_product { m: 512 n: 512 k: 64 } } schedule { tile { m: 128 n: 128 k: 32 } grid { x: 5 } }"));
  EXPECT_EQ(result.derived.grid().block_count(), 5);
  EXPECT_THAT(result.log.notes, ElementsAre(HasSubstr("schedule.grid has 5 blocks for 16 output tiles")));
}

constexpr char kOnHopper[] =
    "machine { compute_capability: '9.0' sm_count: 132 } schedule { grid { x: 1000 } block { x: 256 } "
    "registers_per_thread: 40 shared_memory_per_block_bytes: 65536 }";

TEST(Derive, WithAComputeCapabilityTheExactRulesStandBesideTheFirstOrder) {
  const Result result = Evaluate(FromText<Manifest>(kOnHopper));
  EXPECT_THAT(result.log.faults, IsEmpty());
  // 228 KiB without allocation units: 3.5 blocks. With 1 KiB reserved a block and 227 KiB for blocks: 3.
  EXPECT_EQ(result.derived.occupancy().blocks_by_shared_memory(), 3);
  EXPECT_EQ(result.derived.exact_occupancy().resident_blocks_per_sm(), 3);
  EXPECT_EQ(result.derived.exact_occupancy().allocated_shared_memory_per_block_bytes(), 66560);
  EXPECT_TRUE(result.derived.exact_occupancy().step_up().is_possible());
  EXPECT_EQ(result.derived.waves().slot_count(), 396);
  EXPECT_EQ(result.derived.exact_waves().slot_count(), 396);
}

TEST(Derive, ALaunchThatTheDeviceRefusesIsAResultAndAFault) {
  Manifest manifest = FromText<Manifest>(kOnHopper);
  manifest.mutable_schedule()->set_shared_memory_per_block_bytes(232449);
  const Result result = Evaluate(manifest);
  EXPECT_THAT(OnlyFault(result), AllOf(HasSubstr("exact_occupancy: not one block fits: "), HasSubstr("232449")));
  EXPECT_EQ(result.derived.exact_occupancy().resident_blocks_per_sm(), 0);
  EXPECT_THAT(result.derived.exact_occupancy().refusal(), HasSubstr("232449"));
  EXPECT_FALSE(result.derived.has_exact_waves());
  EXPECT_THAT(result.log.notes, ElementsAre("no exact_waves: not one block fits on an SM"));
  // The first order sees 228 KiB and lets one in.
  EXPECT_EQ(result.derived.occupancy().resident_blocks_per_sm(), 1);
}

TEST(Derive, ClustersMakeSlotsAnUpperBound) {
  Manifest manifest = FromText<Manifest>(kOnHopper);
  manifest.mutable_schedule()->mutable_cluster()->set_x(2);
  const Result result = Evaluate(manifest);
  EXPECT_TRUE(result.derived.exact_waves().slots_are_upper_bound());
}

TEST(Derive, WhatIsNotStatedIsNotInvented) {
  const Result result =
      Evaluate(FromText<Manifest>("machine { sm_count: 4 max_resident_warps: 64 } schedule { block { x: 64 } }"));
  EXPECT_FALSE(result.derived.has_occupancy());
  EXPECT_FALSE(result.derived.has_waves());
  EXPECT_THAT(result.log.notes,
              ElementsAre("no occupancy: not stated are machine.max_resident_blocks, machine.register_count, "
                          "machine.shared_memory_bytes",
                          "no waves: neither schedule.grid is stated, nor a matrix product and its tile"));
}

TEST(Derive, AnEmptyManifestGivesNothing) {
  const Result result = Evaluate(Manifest());
  EXPECT_THAT(result.derived, EqualsProto(""));
  EXPECT_THAT(result.log.faults, IsEmpty());
}

struct BadCase {
  const char* name;
  const char* manifest;
  const char* fault;
};

class DeriveRefusalTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(DeriveRefusalTest, NamesCaseFieldAndValue) {
  const Result result = Evaluate(FromText<Manifest>(GetParam().manifest));
  EXPECT_THAT(OnlyFault(result), HasSubstr(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(
    Each, DeriveRefusalTest,
    ::testing::Values(
        BadCase{"NoName", "warp_request { element_bytes: 4 }", "warp_request[0]: has no name"},
        BadCase{"SameNameTwice",
                "warp_request { name: 'a' element_bytes: 4 } warp_request { name: 'a' element_bytes: 8 }",
                "warp_request[1] 'a': the name is given twice"},
        BadCase{"ZeroWidth", "warp_request { name: 'a' }", "warp_request[0] 'a': element_bytes: got 0"},
        BadCase{"NegativeAddress", "warp_request { name: 'a' element_bytes: 4 base_bytes: -4 }", "warp_request[0] 'a'"},
        BadCase{"ListAndStride",
                "warp_request { name: 'a' element_bytes: 4 stride_elements: 2 lane_address_bytes: [0, 4] }",
                "lane_address_bytes: got base or stride as well"},
        BadCase{"WideLane",
                "warp_request { name: 'a' element_bytes: 9223372036854775807 elements_per_lane: 2 "
                "lane_address_bytes: [0] }",
                "bytes_per_lane: got 9223372036854775807, expected 1 to 32"},
        BadCase{
            "TooManyLanes",
            "warp_request { name: 'a' element_bytes: 4 lane_address_bytes: [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
            "0,0,0,0,0,0,0,0,0,0,0,0,0] }",
            "got 33"},
        BadCase{"UnalignedBank", "bank_case { name: 'a' element_bytes: 4 base_bytes: 2 }", "bank_case[0] 'a'"},
        BadCase{"NegativeStage",
                "tile_stage { name: 'a' tile { m: -1 n: 1 k: 1 } a_element_bytes: 2 b_element_bytes: 2 "
                "accumulator_element_bytes: 4 }",
                "block_m: got -1"},
        BadCase{"HugeGemm",
                "gemm { name: 'a' size { m: 4000000000 n: 4000000000 k: 4000000000 } a_element_bytes: 2 "
                "b_element_bytes: 2 c_element_bytes: 2 }",
                "gemm[0] 'a'"},
        BadCase{"NoGemmSize", "gemm { name: 'a' a_element_bytes: 2 b_element_bytes: 2 c_element_bytes: 2 }", "got 0"},
        BadCase{"EmptyPointwise", "pointwise { name: 'a' element_count: 1 flops_per_element: 1 }", "pointwise[0] 'a'"},
        BadCase{"NoShape", "fusion { name: 'a' element_bytes: 2 }", "fusion[0] 'a': shape: got none"},
        BadCase{"NegativeShape", "fusion { name: 'a' shape: [4, -4] element_bytes: 2 }", "fusion[0] 'a'"},
        BadCase{"OverflowingShape", "fusion { name: 'a' shape: [4294967296, 4294967296] element_bytes: 2 }",
                "fusion[0] 'a': shape: 4294967296 x 4294967296 is beyond"},
        BadCase{"NoSuchLevel", "fusion { name: 'a' shape: [4] element_bytes: 2 level: 'dram' }",
                "level 'dram': machine.memory_roof has none"},
        BadCase{"FractionsBelowOne", "divergence { name: 'a' path { lane_ratio: 0.5 } }", "divergence[0] 'a'"},
        BadCase{"FractionIsNoNumber", "divergence { name: 'a' path { lane_ratio: nan } }", "divergence[0] 'a'"},
        BadCase{"NoOperations", "pointwise_chain { name: 'a' element_count: 1 element_bytes: 2 }",
                "pointwise_chain[0] 'a'"},
        BadCase{"EmptyRoofline", "roofline { name: 'a' }", "roofline[0] 'a'"},
        BadCase{"UnknownPath", "roofline { name: 'a' work { path: 'fp99' flops: 1 } }",
                "roofline[0] 'a': path 'fp99': machine.compute_roof has none"},
        BadCase{"NegativeWork",
                "machine { compute_roof { path: 'p' flops_per_second: 1 kind: ROOF_KIND_THEORETICAL } } "
                "roofline { name: 'a' work { path: 'p' flops: -1 } }",
                "got -1"},
        BadCase{"RoofIsNoNumber",
                "machine { compute_roof { path: 'p' flops_per_second: nan kind: ROOF_KIND_THEORETICAL } } "
                "roofline { name: 'a' work { path: 'p' flops: 1 } }",
                "got nan"},
        BadCase{"RoofOfNoKind",
                "machine { compute_roof { path: 'p' flops_per_second: 1 } } roofline { name: 'a' work { path: 'p' "
                "flops: 1 } }",
                "roofline[0] 'a'"},
        BadCase{"MixedKinds",
                "machine { compute_roof { path: 'p' flops_per_second: 1 kind: ROOF_KIND_THEORETICAL } "
                "memory_roof { level: 'dram' bytes_per_second: 1 kind: ROOF_KIND_EMPIRICAL } } "
                "roofline { name: 'a' work { path: 'p' flops: 1 } traffic { level: 'dram' bytes: 1 } }",
                "roofline[0] 'a'"},
        BadCase{"PathTwice",
                "machine { compute_roof { path: 'p' flops_per_second: 1 kind: ROOF_KIND_THEORETICAL } } "
                "roofline { name: 'a' work { path: 'p' flops: 1 } work { path: 'p' flops: 1 } }",
                "roofline[0] 'a': path 'p' is given twice"},
        BadCase{"LevelTwice",
                "machine { memory_roof { level: 'l2' bytes_per_second: 1 kind: ROOF_KIND_THEORETICAL } } "
                "roofline { name: 'a' traffic { level: 'l2' bytes: 1 } traffic { level: 'l2' bytes: 1 } }",
                "roofline[0] 'a': level 'l2' is given twice"},
        BadCase{"NegativeAxes", "fusion { name: 'a' shape: [-2, -2] element_bytes: 2 }",
                "fusion[0] 'a': shape: got -2, expected 1 or more"},
        BadCase{"NoBlockFits",
                "machine { max_resident_warps: 64 max_resident_blocks: 32 register_count: 65536 shared_memory_bytes: 1 "
                "} schedule { block { x: 32 } shared_memory_per_block_bytes: 2 }",
                "occupancy: not one block fits on an SM"},
        BadCase{"NoSuchBound", "lower_bound_case: 'x'", "lower_bound_case: 'x': no such roofline case has a bound"},
        BadCase{"ZeroBlock", "schedule { block { x: 0 } }", "schedule.block: block: got 0, expected 1 or more"},
        BadCase{"HugeBlock", "schedule { block { x: 9223372036854775807 y: 2 } }", "schedule.block: block"},
        BadCase{"HugeGrid", "schedule { grid { x: 2147483648 } }", "schedule.grid"},
        BadCase{
            "NegativeRegisters",
            "machine { max_resident_warps: 64 max_resident_blocks: 32 register_count: 65536 shared_memory_bytes: 1 } "
            "schedule { block { x: 32 } registers_per_thread: -1 }",
            "occupancy: registers_per_thread_count: got -1"},
        BadCase{"NoSms",
                "machine { max_resident_warps: 64 max_resident_blocks: 32 register_count: 65536 shared_memory_bytes: 1 "
                "sm_count: -3 } schedule { grid { x: 1 } block { x: 32 } registers_per_thread: 1 }",
                "waves: sm_count: got -3"},
        BadCase{"UnknownCapability", "machine { compute_capability: '6.0' }", "machine.compute_capability: "},
        BadCase{"NoCapability", "machine { compute_capability: 'hopper' }",
                "machine.compute_capability: compute capability: got 'hopper'"},
        BadCase{"ImpossibleLimit", "machine { compute_capability: '9.0' warp_size_threads: 64 }", "machine: "},
        BadCase{"EmptyComparison", "schedule_comparison { a_element_bytes: 2 b_element_bytes: 2 c_element_bytes: 2 }",
                "schedule_comparison: "},
        BadCase{"HugeTile",
                "tile_access { name: 'a' rows: 4096 columns: 1000000 row_stride_elements: 1000000 "
                "column_stride_elements: 1 element_bytes: 2 tile_rows: 4096 tile_columns: 1000000 }",
                "tile_access[0] 'a': got a tile of 128000000 requests, expected at most 131072"}),
    [](const auto& test) { return test.param.name; });

TEST(Derive, OneRefusedCaseLeavesTheOthers) {
  const Result result = Evaluate(FromText<Manifest>(
      "warp_request { name: 'a' } warp_request { name: 'b' element_bytes: 4 } lower_bound_case: ''"));
  EXPECT_THAT(result.log.faults, SizeIs(1));
  ASSERT_THAT(result.derived.warp_request(), SizeIs(1));
  EXPECT_EQ(result.derived.warp_request(0).name(), "b");
}

TEST(Derive, AllTilesTogetherHaveABound) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&text, "tile_access { name: '", i,
                    "' rows: 4096 columns: 4096 row_stride_elements: 4096 column_stride_elements: 1 element_bytes: 2 "
                    "tile_rows: 2048 tile_columns: 1024 }");
  }
  // Two of 2^16 requests each; the third is one too many.
  const Result result = Evaluate(FromText<Manifest>(text));
  EXPECT_THAT(result.derived.tile_access(), SizeIs(2));
  EXPECT_THAT(OnlyFault(result), HasSubstr("tile_access[2] '2': got a tile of 65536 requests"));
}

TEST(Derive, AListOfLanesIsThePatternItSpells) {
  std::string lanes;
  for (int i = 0; i < 32; ++i) absl::StrAppend(&lanes, i == 0 ? "" : ", ", 4 * i);
  const Result result = Evaluate(FromText<Manifest>(
      absl::StrCat("warp_request { name: 'list' element_bytes: 4 lane_address_bytes: [", lanes, "] } ",
                   "warp_request { name: 'half' element_bytes: 4 active_mask: 65535 lane_address_bytes: [", lanes,
                   "] } ", "warp_request { name: 'lines' element_bytes: 4 stride_elements: 32 sector_bytes: 128 }")));
  EXPECT_THAT(result.log.faults, IsEmpty());
  EXPECT_EQ(result.derived.warp_request(0).sector_count(), 4);
  EXPECT_EQ(result.derived.warp_request(1).sector_count(), 2);
  EXPECT_EQ(result.derived.warp_request(1).useful_bytes(), 64);
  // Stride 32 on 128-byte segments: 1/32.
  EXPECT_EQ(result.derived.warp_request(2).efficiency_ratio(), 1.0 / 32);
}

TEST(Derive, FusionChainsAndDivergenceFollowTheirFormulas) {
  const Result result = Evaluate(
      FromText<Manifest>("pointwise { name: 'silu' element_count: 1000 flops_per_element: 4 read_bytes_per_element: 2 "
                         "write_bytes_per_element: 2 } "
                         "pointwise_chain { name: 'three' operation_count: 3 element_count: 1000 element_bytes: 2 } "
                         "divergence { name: 'half' path { lane_ratio: 0.5 } path { lane_ratio: 0.5 cost: 3 } }"));
  EXPECT_THAT(result.log.faults, IsEmpty());
  EXPECT_EQ(result.derived.pointwise(0).intensity_flops_per_byte(), 1);
  EXPECT_EQ(result.derived.pointwise_chain(0).unfused_over_fused(), 3);
  EXPECT_EQ(result.derived.pointwise_chain(0).saved_launch_count(), 2);
  EXPECT_EQ(result.derived.divergence(0).taken_path_count(), 2);
  EXPECT_EQ(result.derived.divergence(0).over_mean(), 2);
}

TEST(Derive, PartsThatAreAskedForAndCannotBeSaySo) {
  EXPECT_THAT(Evaluate(FromText<Manifest>("program { name: 'a' }")).log.notes,
              ElementsAre("no program: operation.matrix_product or schedule.tile is not stated"));
  EXPECT_THAT(Evaluate(FromText<Manifest>("machine { sm_count: 1 } schedule { grid { x: 1 } }")).log.notes,
              ElementsAre("no occupancy: schedule.block is not stated"));
}

TEST(Derive, OneBindingPathAttainsItsRoofExactly) {
  // 7 / (7 / 0.1) is not 0.1.
  const Result result = Evaluate(
      FromText<Manifest>("machine { compute_roof { path: 'p' flops_per_second: 0.1 kind: ROOF_KIND_THEORETICAL } } "
                         "roofline { name: 'a' work { path: 'p' flops: 7 } }"));
  ASSERT_THAT(result.derived.roofline(), SizeIs(1));
  EXPECT_EQ(result.derived.roofline(0).attainable_flops_per_second(), 0.1);
}

TEST(Derive, ASavedTimeSaysOfWhichKindItsRoofIs) {
  const Result result = Evaluate(
      FromText<Manifest>("machine { memory_roof { level: 'dram' bytes_per_second: 4 kind: ROOF_KIND_EMPIRICAL } "
                         "memory_roof { level: 'l2' bytes_per_second: 4 kind: ROOF_KIND_THEORETICAL } } "
                         "fusion { name: 'a' shape: [2] element_bytes: 2 level: 'dram' } "
                         "fusion { name: 'b' shape: [2] element_bytes: 2 level: 'l2' }"));
  ASSERT_THAT(result.derived.fusion(), SizeIs(2));
  EXPECT_EQ(result.derived.fusion(0).roof_kind(), gpuexec::v1::ROOF_KIND_EMPIRICAL);
  EXPECT_EQ(result.derived.fusion(1).roof_kind(), gpuexec::v1::ROOF_KIND_THEORETICAL);
}

TEST(Derive, OfAProductARooflineLacksUnknownRatesButNoMistypedOnes) {
  const auto match = model::FindProduct("H200 SXM");
  ASSERT_THAT(match, IsOk());
  const auto evaluate = [&match](const std::string& roofline) {
    const Manifest manifest = FromText<Manifest>("roofline { name: 'a' " + roofline + " }");
    Result result;
    MachineModel machine(manifest.machine(), match->product, &result.log);
    result.derived = Derive(manifest, &machine, &result.log);
    return result;
  };
  EXPECT_EQ(OnlyFault(evaluate("traffic { level: 'dram' bytes: 1 } traffic { level: 'L2' bytes: 1 }")),
            "roofline[0] 'a': level 'L2': a product has dram, l2, l1 and shared");
  EXPECT_EQ(OnlyFault(evaluate("roof_kind: ROOF_KIND_EMPIRICAL work { path: 'fp32' flops: 1 }")),
            "roofline[0] 'a': a product has no empirical roof of 'fp32'");
  EXPECT_EQ(OnlyFault(evaluate("roof_kind: ROOF_KIND_EMPIRICAL traffic { level: 'dram' bytes: 1 }")),
            "roofline[0] 'a': a product has no empirical roof of 'dram'");
  EXPECT_THAT(evaluate("traffic { level: 'dram' bytes: 1 } traffic { level: 'l2' bytes: 1 }").log.faults, IsEmpty());
}

TEST(Derive, ExactOccupancyIsNeverAboveFirstOrderWhereFewerWarpsAreStated) {
  for (const int warps : {1, 8, 31, 32, 63, 64, 100}) {
    const Result result =
        Evaluate(FromText<Manifest>(absl::StrCat("machine { compute_capability: '9.0' max_resident_warps: ", warps,
                                                 "} schedule { block { x: 32 } registers_per_thread: 32 }")));
    ASSERT_TRUE(result.derived.has_exact_occupancy()) << warps;
    EXPECT_LE(result.derived.exact_occupancy().resident_blocks_per_sm(),
              result.derived.occupancy().resident_blocks_per_sm())
        << warps;
  }
}

}  // namespace
}  // namespace gx::analysis
