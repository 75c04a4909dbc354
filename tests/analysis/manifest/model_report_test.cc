#include "analysis/manifest/model_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/manifest/message_file.h"
#include "tests/analysis/manifest/evidence_text.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MadeUpObservation;
using ::testing::SizeIs;

std::string ExamplePath(const std::string& name) { return std::string(GX_SOURCE_DIR) + "/proto/examples/" + name; }

v1::Manifest Example() {
  v1::Manifest manifest;
  EXPECT_THAT(ReadMessageFile(ExamplePath("gemm_4096_bf16.textproto"), &manifest), IsOk());
  return manifest;
}

v1::ModelReport ReportOf(const v1::Manifest& manifest, const v1::Observation& observation) {
  return BuildModelReport(manifest, {.observation = &observation});
}

TEST(ModelReport, TheExampleIsExactlyWhatItExpects) {
  const v1::ModelReport report = BuildModelReport(Example(), {});
  EXPECT_THAT(report.mismatch(), IsEmpty());
  EXPECT_THAT(report.fault(), IsEmpty());
  EXPECT_THAT(report.note(), IsEmpty());
  EXPECT_GE(report.compared_count(), 70);
  EXPECT_EQ(report.label(), v1::CLAIM_LABEL_ILLUSTRATIVE);
  EXPECT_EQ(report.derived_label(), v1::CLAIM_LABEL_ANALYTICAL);
  EXPECT_FALSE(report.has_reconciliation());
  // What was never dispatched has no exact key, but its tensors.
  EXPECT_EQ(report.dispatch_key().framework(), "");
  EXPECT_THAT(report.dispatch_key().tensor(0),
              EqualsProto("name: 'A' shape: [4096, 4096] stride: [4096, 1] dtype: 'bf16'"));
}

TEST(ModelReport, EveryWrongExpectedValueIsAMismatch) {
  v1::Manifest manifest = Example();
  manifest.mutable_expected()->mutable_waves()->set_slot_count(325);
  manifest.mutable_expected()->set_lower_bound_seconds(0.003);
  const v1::ModelReport report = BuildModelReport(manifest, {});
  ASSERT_THAT(report.mismatch(), SizeIs(2));
  EXPECT_THAT(report.mismatch(0), EqualsProto("field: 'expected.waves.slot_count' expected: '325' derived: '324'"));
  EXPECT_THAT(report.mismatch(1), EqualsProto("field: 'expected.lower_bound_seconds' expected: '0.0030000000000000001' "
                                              "derived: '0.002'"));
}

TEST(ModelReport, TheEmptyBundleIsUnmeasuredAndNothingStandsInForIt) {
  v1::Observation observation;
  ASSERT_THAT(ReadMessageFile(ExamplePath("observation_unmeasured.textproto"), &observation), IsOk());
  EXPECT_THAT(
      ReportOf(Example(), observation).reconciliation(),
      EqualsProto("status: CLAIM_LABEL_UNMEASURED lower_bound_case: '120 GFLOP, 3 GB' lower_bound_seconds: 0.002 "
                  "sample_count: 0"));
}

TEST(ModelReport, AMeasurementIsPutBesideTheBound) {
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  const v1::Reconciliation reconciliation = ReportOf(Example(), observation).reconciliation();
  EXPECT_THAT(reconciliation.refusal(), IsEmpty());
  EXPECT_EQ(reconciliation.status(), v1::CLAIM_LABEL_LOCALLY_MEASURED);
  EXPECT_EQ(reconciliation.sample_count(), 21);
  EXPECT_DOUBLE_EQ(reconciliation.observed_median_seconds(), 0.004);
  EXPECT_DOUBLE_EQ(reconciliation.p95_seconds(), 0.0049);
  EXPECT_DOUBLE_EQ(reconciliation.median_absolute_deviation_seconds(), 0.0005);
  EXPECT_NEAR(reconciliation.interquartile_range_seconds(), 0.001, 1e-15);
  EXPECT_DOUBLE_EQ(reconciliation.residual_seconds(), 0.002);
  EXPECT_FALSE(reconciliation.model_violation());
}

TEST(ModelReport, ATimeBelowTheBoundIsAViolationAndNotClamped) {
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.001, 0.00001));
  const v1::Reconciliation reconciliation = ReportOf(Example(), observation).reconciliation();
  EXPECT_NEAR(reconciliation.residual_seconds(), -0.0009, 1e-12);
  EXPECT_TRUE(reconciliation.model_violation());
}

TEST(ModelReport, ARefusedObservationLeavesNoFigureOfIt) {
  v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  observation.set_case_id("another");
  observation.mutable_numerical_check()->set_error(1);
  const v1::Reconciliation reconciliation = ReportOf(Example(), observation).reconciliation();
  EXPECT_THAT(reconciliation.refusal(), ElementsAre("case: got 'another', expected 'gemm-4096-bf16-illustrative'",
                                                    "numerical check: error 1 is above the tolerance 0.01"));
  EXPECT_EQ(reconciliation.status(), v1::CLAIM_LABEL_UNSPECIFIED);
  EXPECT_FALSE(reconciliation.has_observed_median_seconds());
  EXPECT_FALSE(reconciliation.has_residual_seconds());
  // The prediction is still the prediction.
  EXPECT_EQ(reconciliation.lower_bound_seconds(), 0.002);
}

TEST(ModelReport, AnObservationOfAnotherDispatchIsOfAnotherCase) {
  v1::Manifest manifest = Example();
  manifest.mutable_dispatch()->set_route("graph");
  manifest.mutable_dispatch()->set_kernel_symbol("gemm_256x128");
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  EXPECT_THAT(ReportOf(manifest, observation).reconciliation().refusal(),
              ElementsAre("dispatch key: route: got 'eager', the case has 'graph'",
                          "dispatch key: kernel symbol: got 'gemm_128x128x32', the case has 'gemm_256x128'"));
}

TEST(ModelReport, AnObservationOfAnotherMachineOrLaunchIsOfAnotherCase) {
  v1::Manifest manifest = Example();
  manifest.set_label(v1::CLAIM_LABEL_ANALYTICAL);
  manifest.mutable_machine()->set_gpu_model("NVIDIA H200");
  manifest.mutable_schedule()->mutable_block()->set_x(128);
  manifest.mutable_schedule()->set_registers_per_thread(72);
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  EXPECT_THAT(ReportOf(manifest, observation).reconciliation().refusal(),
              ElementsAre("hardware: GPU model: got 'made up', the case has 'NVIDIA H200'",
                          "launch: block: got '256x1x1', the case has '128x1x1'",
                          "launch: registers per thread: got '64', the case has '72'"));
  manifest.mutable_machine()->clear_gpu_model();
  *manifest.mutable_schedule() = Example().schedule();
  EXPECT_THAT(ReportOf(manifest, observation).reconciliation().refusal(), IsEmpty());
  // An empty bundle of another machine claims nothing.
  EXPECT_THAT(ReportOf(manifest, FromText<v1::Observation>("label: CLAIM_LABEL_UNMEASURED launch { block { x: 1 } }"))
                  .reconciliation()
                  .refusal(),
              IsEmpty());
}

TEST(ModelReport, AResidualAgainstAnIllustrativeBoundSaysSo) {
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  EXPECT_THAT(ReportOf(Example(), observation).note(), ElementsAre(HasSubstr("says nothing about a GPU")));
  v1::Manifest manifest = Example();
  manifest.set_label(v1::CLAIM_LABEL_ANALYTICAL);
  manifest.mutable_machine()->clear_gpu_model();
  EXPECT_THAT(ReportOf(manifest, observation).note(), IsEmpty());
}

TEST(ModelReport, AManifestIsNoMeasurement) {
  for (const v1::ClaimLabel label :
       {v1::CLAIM_LABEL_UNSPECIFIED, v1::CLAIM_LABEL_LOCALLY_MEASURED, v1::CLAIM_LABEL_UNMEASURED}) {
    v1::Manifest manifest = Example();
    manifest.set_label(label);
    const v1::ModelReport report = BuildModelReport(manifest, {});
    ASSERT_THAT(report.fault(), SizeIs(1));
    EXPECT_EQ(report.fault(0).where(), "label");
    EXPECT_THAT(report.fault(0).text(), HasSubstr("expected analytical, illustrative or source_reported"));
  }
  v1::Manifest nameless = Example();
  nameless.clear_case_id();
  EXPECT_EQ(BuildModelReport(nameless, {}).fault(0).where(), "case_id");
}

TEST(ModelReport, AnotherDeviceIsAnotherCase) {
  const auto match = model::FindProduct("H200 SXM");
  ASSERT_THAT(match, IsOk());
  const v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  const v1::ModelReport report = BuildModelReport(Example(), {.observation = &observation, .device = match->product});
  EXPECT_EQ(report.device(), "H200 SXM");
  EXPECT_EQ(report.derived().waves().slot_count(), 132 * 4);
  EXPECT_THAT(report.mismatch(), IsEmpty());
  EXPECT_EQ(report.compared_count(), 0);
  EXPECT_THAT(report.note(), Contains("--device: another machine than the manifest's case"));
  EXPECT_THAT(report.note(), Contains("expected values are of the manifest's own machine: not compared"));
  EXPECT_THAT(report.reconciliation().refusal(), ElementsAre(HasSubstr("--device puts another in its place")));
}

TEST(ModelReport, ALevelWhoseRateNobodyPublishedIsLeftOutOfAProductsBound) {
  const auto match = model::FindProduct("H200 SXM");
  ASSERT_THAT(match, IsOk());
  const v1::ModelReport report = BuildModelReport(Example(), {.device = match->product});
  ASSERT_THAT(report.derived().roofline(), SizeIs(1));
  EXPECT_THAT(report.derived().roofline(0).level(), SizeIs(1));
  EXPECT_EQ(report.derived().lower_bound_seconds(), 3e9 / match->product->memory_bytes_per_second);
  EXPECT_THAT(report.note(), Contains(HasSubstr("is without level 'l2'")));
}

TEST(ModelReport, EveryLimitAndRoofSaysWhereItIsFrom) {
  const v1::ModelReport report = BuildModelReport(Example(), {});
  std::vector<std::string> names;
  for (const v1::Provenance& item : report.provenance()) {
    names.push_back(item.name());
    EXPECT_EQ(item.origin(), v1::Provenance::ORIGIN_MANIFEST);
  }
  for (const char* name : {"sm_count", "shared_memory_bytes", "compute_roof tensor_bf16_fp32", "memory_roof dram"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

std::vector<std::string> RefusalsOf(const v1::Manifest& manifest, const v1::Observation& observation) {
  const v1::ModelReport report = ReportOf(manifest, observation);
  return {report.reconciliation().refusal().begin(), report.reconciliation().refusal().end()};
}

TEST(ModelReport, TheToleranceOfTheCaseIsNotTheObservationsToLoosen) {
  v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  v1::NumericalCheck& check = *observation.mutable_numerical_check();
  // As stated, or stricter.
  EXPECT_THAT(RefusalsOf(Example(), observation), IsEmpty());
  check.set_tolerance(0.005);
  EXPECT_THAT(RefusalsOf(Example(), observation), IsEmpty());
  check.set_tolerance(0.5);
  EXPECT_THAT(RefusalsOf(Example(), observation),
              ElementsAre("numerical check: tolerance 0.5 is looser than the case's 0.01"));
  check.set_error(0.25);
  EXPECT_THAT(RefusalsOf(Example(), observation),
              ElementsAre("numerical check: tolerance 0.5 is looser than the case's 0.01",
                          "numerical check: error 0.25 is above the case's tolerance 0.01"));
  // Another case states none.
  v1::Manifest manifest = Example();
  manifest.mutable_operation()->clear_numerical_reference();
  EXPECT_THAT(RefusalsOf(manifest, observation), IsEmpty());
}

TEST(ModelReport, AnErrorAgainstAnotherReferenceOrInAnotherMetricIsNoneOfTheCase) {
  v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  observation.mutable_numerical_check()->set_reference("the kernel itself");
  observation.mutable_numerical_check()->set_error_metric("mean");
  EXPECT_THAT(RefusalsOf(Example(), observation),
              ElementsAre("numerical check: reference: got 'the kernel itself', the case has 'fp32 product of the same "
                          "inputs'",
                          "numerical check: error metric: got 'mean', the case has 'max_relative_error'"));
  observation.mutable_numerical_check()->clear_reference();
  observation.mutable_numerical_check()->clear_error_metric();
  EXPECT_THAT(RefusalsOf(Example(), observation), IsEmpty());
}

TEST(ModelReport, AnotherSoftwareOrAnotherPolicyIsAnotherCase) {
  v1::Manifest manifest = Example();
  v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  v1::Dispatch& dispatch = *manifest.mutable_dispatch();
  dispatch.set_driver_version("580");
  dispatch.set_cuda_version("13.0");
  dispatch.set_framework_version("2");
  dispatch.set_compiler("nvcc");
  dispatch.set_compiler_version("13.0");
  manifest.mutable_machine()->set_clock_policy("boost");
  manifest.mutable_machine()->set_power_policy("700 W");
  // What the observation leaves open agrees; the made-up one names clocks and a framework version.
  EXPECT_THAT(RefusalsOf(manifest, observation),
              ElementsAre("hardware: clock policy: got 'locked', the case has 'boost'",
                          "software: framework version: got '1', the case has '2'"));
  v1::Software& software = *observation.mutable_software();
  software.set_driver_version("570");
  software.set_cuda_version("12.8");
  software.set_framework_version("2");
  software.set_compiler("clang");
  software.set_compiler_version("18");
  observation.mutable_hardware()->set_clock_policy("boost");
  observation.mutable_hardware()->set_power_policy("500 W");
  observation.mutable_hardware()->set_concurrency("another process");
  EXPECT_THAT(RefusalsOf(manifest, observation),
              ElementsAre("hardware: power policy: got '500 W', the case has '700 W'",
                          "hardware: concurrency: got 'another process', the case has 'none'",
                          "software: driver version: got '570', the case has '580'",
                          "software: CUDA version: got '12.8', the case has '13.0'",
                          "software: compiler: got 'clang', the case has 'nvcc'",
                          "software: compiler version: got '18', the case has '13.0'"));
}

TEST(ModelReport, UnmeasuredMeansWithoutFigures) {
  const auto refusals = [](const std::string& parts) {
    return RefusalsOf(Example(), FromText<v1::Observation>("label: CLAIM_LABEL_UNMEASURED " + parts));
  };
  EXPECT_THAT(refusals("result {} profiler {} numerical_check { tolerance: 0.1 }"), IsEmpty());
  for (const char* result : {"achieved_flops_per_second: 1", "achieved_memory_bytes_per_second: 1",
                             "achieved_occupancy_ratio: 0", "limiting_resource: 'dram'", "dominant_stall: 'barrier'"}) {
    EXPECT_THAT(refusals(absl::StrCat("result { ", result, " }")),
                ElementsAre("label: unmeasured, but there is a result"));
  }
  EXPECT_THAT(refusals("profiler { counter { metric: 'a' } }"),
              ElementsAre("label: unmeasured, but there is a counter"));
  EXPECT_THAT(refusals("profiler { counter {} counter {} }"),
              ElementsAre("label: unmeasured, but there are 2 counters"));
  EXPECT_THAT(refusals("numerical_check { error: 0 }"),
              ElementsAre("label: unmeasured, but there is a numerical error"));
}

TEST(ModelReport, ACounterWithoutAValueIsNone) {
  v1::Observation observation = FromText<v1::Observation>(MadeUpObservation(0.003, 0.0001));
  observation.mutable_profiler()->mutable_counter(0)->set_value(std::nan(""));
  EXPECT_THAT(RefusalsOf(Example(), observation), ElementsAre("profiler: no counters"));
}

TEST(ModelReport, WrongCoordinatesAreAmongTheFaults) {
  v1::Manifest manifest = Example();
  manifest.mutable_operation()->set_dropout_ratio(2);
  const v1::ModelReport report = BuildModelReport(manifest, {});
  ASSERT_THAT(report.fault(), SizeIs(1));
  EXPECT_EQ(report.fault(0).where(), "operation.dropout_ratio");
  manifest = Example();
  manifest.set_label(static_cast<v1::ClaimLabel>(9));
  EXPECT_THAT(BuildModelReport(manifest, {}).fault(0).text(), HasSubstr("got 9, expected analytical"));
}

}  // namespace
}  // namespace gx::analysis
