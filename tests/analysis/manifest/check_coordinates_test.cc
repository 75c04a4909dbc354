#include "analysis/manifest/check_coordinates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Manifest;
using ::testing::ElementsAre;
using testing::FromText;
using ::testing::IsEmpty;

std::vector<std::string> FaultsOf(const Manifest& manifest) {
  FaultLog log;
  CheckCoordinates(manifest, &log);
  std::vector<std::string> lines;
  for (const ManifestFault& fault : log.faults) lines.push_back(absl::StrCat(fault.where, ": ", fault.text));
  return lines;
}

TEST(CheckCoordinates, WhatIsNotStatedIsNoFault) { EXPECT_THAT(FaultsOf(Manifest()), IsEmpty()); }

TEST(CheckCoordinates, ValuesAtTheirLimitsAreNoFault) {
  EXPECT_THAT(FaultsOf(FromText<Manifest>(R"(
      operation { dropout_ratio: 1 numerical_reference { tolerance: 0 }
                  tensor { name: 'A' shape: [1, 2] stride: [0, -1] } tensor { name: 'B' alias_of: 'A' } }
      dispatch { launch_count: 1 }
      machine { sm_count: 1 sm_clock_hz: 1
                compute_roof { path: 'p' flops_per_second: 1 kind: ROOF_KIND_THEORETICAL }
                compute_roof { path: 'p' flops_per_second: 1 kind: ROOF_KIND_EMPIRICAL } }
      schedule { stage_count: 1 carveout_percent: -1 materialized_intermediate: 'B' })")),
              IsEmpty());
}

TEST(CheckCoordinates, EachWrongCoordinateIsOneFault) {
  const struct {
    const char* manifest;
    const char* fault;
  } kRows[] = {
      {"operation { dropout_ratio: 1.5 }", "operation.dropout_ratio: got 1.5, expected 0 to 1"},
      {"operation { dropout_ratio: nan }", "operation.dropout_ratio: got nan, expected 0 to 1"},
      {"operation { numerical_reference { tolerance: -1 } }",
       "operation.numerical_reference.tolerance: got -1, expected a finite number, 0 or above"},
      {"operation { tensor { name: 'A' shape: [4, 0] } }", "operation.tensor[0] 'A': shape: got 0, expected 1 or more"},
      {"operation { tensor { name: 'A' shape: [4, 4] stride: [4] } }",
       "operation.tensor[0] 'A': stride: got 1, expected one for each of 2 axes"},
      {"operation { tensor { name: 'A' } tensor { name: 'A' } }", "operation.tensor[1] 'A': the name is given twice"},
      {"operation { tensor { name: 'A' alias_of: 'B' } }", "operation.tensor[0] 'A': alias_of: there is no tensor 'B'"},
      {"schedule { materialized_intermediate: 'T' }", "schedule.materialized_intermediate[0]: there is no tensor 'T'"},
      {"dispatch { launch_count: 0 }", "dispatch.launch_count: got 0, expected 1 or more"},
      {"machine { sm_count: 0 }", "machine.sm_count: got 0, expected 1 or more"},
      {"machine { sm_clock_hz: -1 }", "machine.sm_clock_hz: got -1, expected a finite number above 0"},
      {"machine { memory_clock_hz: inf }", "machine.memory_clock_hz: got inf, expected a finite number above 0"},
      {"machine { compute_roof { path: 'p' } }",
       "machine.compute_roof[0] 'p': got 0, expected a finite number above 0"},
      {"machine { memory_roof { bytes_per_second: 1 } }", "machine.memory_roof[0]: has no level"},
      {"machine { compute_roof { path: 'p' flops_per_second: 1 } compute_roof { path: 'p' flops_per_second: 2 } }",
       "machine.compute_roof[1] 'p': the same path and kind is given twice"},
      {"machine { memory_roof { level: 'l2' bytes_per_second: 1 } memory_roof { level: 'l2' bytes_per_second: 1 } }",
       "machine.memory_roof[1] 'l2': the same level and kind is given twice"},
      {"schedule { stage_count: 0 }", "schedule.stage_count: got 0, expected 1 or more"},
      {"schedule { carveout_percent: 101 }", "schedule.carveout_percent: got 101, expected -1 to 100"},
      {"schedule { carveout_percent: -2 }", "schedule.carveout_percent: got -2, expected -1 to 100"},
  };
  for (const auto& row : kRows) {
    EXPECT_THAT(FaultsOf(FromText<Manifest>(row.manifest)), ElementsAre(row.fault)) << row.manifest;
  }
}

TEST(CheckCoordinates, ANumberThatAnEnumDoesNotHaveIsAFault) {
  Manifest manifest;
  manifest.mutable_operation()->set_phase(static_cast<gpuexec::v1::Operation::Phase>(9));
  manifest.add_roofline()->set_roof_kind(static_cast<gpuexec::v1::RoofKind>(-1));
  EXPECT_THAT(FaultsOf(manifest), ElementsAre("operation.phase: got 9, which is no Phase",
                                              "roofline[0].roof_kind: got -1, which is no RoofKind"));
}

}  // namespace
}  // namespace gx::analysis
