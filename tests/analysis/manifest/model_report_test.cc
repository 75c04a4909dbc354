#include "analysis/manifest/model_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace gx::analysis
