// Evidence in these tests is made up: no figure here was measured.
#include "analysis/model/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gx::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

DispatchKey ExactKey() {
  return {.framework = "framework 1.0",
          .backend = "library",
          .route = "eager",
          .kernel_symbol = "gemm_128x128",
          .tensors = {{.name = "A", .shape = {64, 32}, .stride = {32, 1}, .dtype = "bf16"},
                      {.name = "C", .shape = {64, 64}, .stride = {64, 1}, .dtype = "bf16"}},
          .flags = {"tf32=off"}};
}

Evidence Valid() {
  Evidence evidence;
  evidence.label = ClaimLabel::kLocallyMeasured;
  evidence.case_id = "case-1";
  evidence.dispatch_key = ExactKey();
  evidence.selected_backend = "library";
  evidence.kernel_symbol = "gemm_128x128";
  for (int i = 0; i < 21; ++i) evidence.sample_seconds.push_back(0.003 + 0.0001 * i);
  evidence.reference_tolerance = 1e-2;
  evidence.reference_error = 1e-3;
  evidence.profiler_command = "ncu --set full ./program";
  evidence.profiler_report = "report.ncu-rep";
  evidence.counter_metrics = {"dram__bytes.sum"};
  return evidence;
}

EvidenceCase Case() { return {.case_id = "case-1", .dispatch_key = ExactKey()}; }

TEST(Evidence, ACompleteRecordHasNoFault) { EXPECT_THAT(EvidenceFaults(Valid(), Case()), IsEmpty()); }

struct Refusal {
  const char* name;
  std::function<void(Evidence*)> spoil;
  const char* fault;
};

class EvidenceRefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(EvidenceRefusalTest, IsTheOnlyLine) {
  Evidence evidence = Valid();
  GetParam().spoil(&evidence);
  EXPECT_THAT(EvidenceFaults(evidence, Case()), ElementsAre(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(
    Each, EvidenceRefusalTest,
    ::testing::Values(
        Refusal{"FewSamples", [](Evidence* e) { e->sample_seconds.resize(19); },
                "timing: got 19 raw samples, expected 20 or more"},
        Refusal{"NoSamples", [](Evidence* e) { e->sample_seconds.clear(); },
                "timing: got 0 raw samples, expected 20 or more"},
        Refusal{"ZeroTime", [](Evidence* e) { e->sample_seconds[3] = 0; },
                "timing: sample 3 is 0 seconds, expected a finite time above 0"},
        Refusal{"NegativeTimes", [](Evidence* e) { e->sample_seconds[3] = e->sample_seconds[7] = -1e-3; },
                "timing: sample 3 is -0.001 seconds, expected a finite time above 0 (2 such samples)"},
        Refusal{"NoNumber", [](Evidence* e) { e->sample_seconds[20] = kNan; },
                "timing: sample 20 is nan seconds, expected a finite time above 0"},
        Refusal{"InfiniteTime", [](Evidence* e) { e->sample_seconds[0] = kInfinity; },
                "timing: sample 0 is inf seconds, expected a finite time above 0"},
        Refusal{"NoKey", [](Evidence* e) { e->dispatch_key = {}; },
                "dispatch key: not exact, lacks framework, backend, route, kernel symbol, shapes, strides and dtypes"},
        Refusal{"NoRoute", [](Evidence* e) { e->dispatch_key.route.clear(); }, "dispatch key: not exact, lacks route"},
        Refusal{"NoStrides", [](Evidence* e) { e->dispatch_key.tensors[1].stride.clear(); },
                "dispatch key: not exact, lacks strides of tensor 'C'"},
        Refusal{"NoDtypeAndNoShape",
                [](Evidence* e) {
                  e->dispatch_key.tensors[0].shape.clear();
                  e->dispatch_key.tensors[0].dtype.clear();
                },
                "dispatch key: not exact, lacks shape and strides and dtype of tensor 'A'"},
        Refusal{"NoBackend", [](Evidence* e) { e->selected_backend.clear(); }, "selected backend: not named"},
        Refusal{"NoKernel", [](Evidence* e) { e->kernel_symbol.clear(); }, "kernel symbol: not named"},
        Refusal{"FallbackBackend", [](Evidence* e) { e->selected_backend = "fallback"; },
                "selected backend: 'fallback', but the dispatch key has 'library'"},
        Refusal{"OtherKernelThanItsKey", [](Evidence* e) { e->kernel_symbol = "gemm_64x64"; },
                "kernel symbol: 'gemm_64x64', but the dispatch key has 'gemm_128x128'"},
        Refusal{"NoTolerance", [](Evidence* e) { e->reference_tolerance.reset(); },
                "numerical check: no reference tolerance"},
        Refusal{"NoError", [](Evidence* e) { e->reference_error.reset(); }, "numerical check: no reference error"},
        Refusal{"WrongResult", [](Evidence* e) { e->reference_error = 0.5; },
                "numerical check: error 0.5 is above the tolerance 0.01"},
        Refusal{"ErrorIsNoNumber", [](Evidence* e) { e->reference_error = kNan; },
                "numerical check: error is nan, expected a finite number, 0 or above"},
        Refusal{"InfiniteTolerance", [](Evidence* e) { e->reference_tolerance = kInfinity; },
                "numerical check: tolerance is inf, expected a finite number, 0 or above"},
        Refusal{"NoCommand", [](Evidence* e) { e->profiler_command.clear(); }, "profiler: no command"},
        Refusal{"NoReport", [](Evidence* e) { e->profiler_report.clear(); }, "profiler: no report"},
        Refusal{"NoCounters", [](Evidence* e) { e->counter_metrics.clear(); }, "profiler: no counters"},
        Refusal{"NamelessCounter", [](Evidence* e) { e->counter_metrics.emplace_back(); },
                "profiler: counters: 1 without the exact name of the metric"},
        Refusal{"OtherCase", [](Evidence* e) { e->case_id = "case-2"; }, "case: got 'case-2', expected 'case-1'"},
        Refusal{"NoCase", [](Evidence* e) { e->case_id.clear(); }, "case: got no case_id, expected 'case-1'"},
        Refusal{"OtherShape",
                [](Evidence* e) {
                  e->dispatch_key.tensors[0].shape = {64, 64};
                },
                "dispatch key: shape of tensor 'A' differs from the case's"},
        Refusal{"OtherNumberOfTensors", [](Evidence* e) { e->dispatch_key.tensors.pop_back(); },
                "dispatch key: got 1 tensors, the case has 2"},
        Refusal{"OtherFlags", [](Evidence* e) { e->dispatch_key.flags = {"tf32=on"}; },
                "dispatch key: flags differ from the case's"},
        Refusal{"OtherFramework", [](Evidence* e) { e->dispatch_key.framework = "framework 2.0"; },
                "dispatch key: framework: got 'framework 2.0', the case has 'framework 1.0'"}),
    [](const auto& test) { return test.param.name; });

TEST(Evidence, EveryFaultIsNamedAtOnce) {
  Evidence evidence;
  evidence.label = ClaimLabel::kLocallyMeasured;
  EXPECT_THAT(
      EvidenceFaults(evidence, Case()),
      ElementsAre("case: got no case_id, expected 'case-1'", "timing: got 0 raw samples, expected 20 or more",
                  "dispatch key: not exact, lacks framework, backend, route, kernel symbol, shapes, strides and "
                  "dtypes",
                  "selected backend: not named", "kernel symbol: not named", "numerical check: no reference tolerance",
                  "numerical check: no reference error", "profiler: no command", "profiler: no report",
                  "profiler: no counters"));
}

TEST(Evidence, AnErrorEqualToTheToleranceIsWithinIt) {
  Evidence evidence = Valid();
  evidence.reference_error = evidence.reference_tolerance;
  EXPECT_THAT(EvidenceFaults(evidence, Case()), IsEmpty());
}

TEST(Evidence, TwentySamplesAreEnough) {
  Evidence evidence = Valid();
  evidence.sample_seconds.resize(20);
  EXPECT_THAT(EvidenceFaults(evidence, Case()), IsEmpty());
}

TEST(Evidence, WhatTheCaseDoesNotStateAgreesWithAnything) {
  EXPECT_THAT(EvidenceFaults(Valid(), {.case_id = "case-1", .dispatch_key = {}}), IsEmpty());
  EvidenceCase no_strides = Case();
  for (DispatchTensor& tensor : no_strides.dispatch_key.tensors) tensor.stride.clear();
  EXPECT_THAT(EvidenceFaults(Valid(), no_strides), IsEmpty());
}

TEST(Evidence, TheEmptyBundleIsValidAsUnmeasured) {
  Evidence empty;
  empty.label = ClaimLabel::kUnmeasured;
  EXPECT_THAT(EvidenceFaults(empty, Case()), IsEmpty());
  empty.case_id = "case-2";
  EXPECT_THAT(EvidenceFaults(empty, Case()), ElementsAre("case: got 'case-2', expected 'case-1'"));
}

TEST(Evidence, NoFigureMovesToAnotherLabel) {
  Evidence evidence = Valid();
  evidence.label = ClaimLabel::kUnmeasured;
  EXPECT_THAT(EvidenceFaults(evidence, Case()), ElementsAre("label: unmeasured, but there are 21 raw samples"));
  for (const ClaimLabel label :
       {ClaimLabel::kAnalytical, ClaimLabel::kIllustrative, ClaimLabel::kSourceReported, ClaimLabel::kUnspecified}) {
    evidence.label = label;
    EXPECT_THAT(EvidenceFaults(evidence, Case()),
                ElementsAre(HasSubstr("expected locally_measured or unmeasured"), HasSubstr("21 raw samples")));
    EXPECT_THAT(EvidenceFaults(evidence, Case())[0], HasSubstr(std::string(ClaimLabelName(label))));
  }
}

TEST(Evidence, ALongNameIsCutInAFaultBetweenCharacters) {
  Evidence evidence = Valid();
  evidence.case_id = std::string(127, 'x') + "\xC3\xA9" + std::string(1000, 'y');
  const std::vector<std::string> faults = EvidenceFaults(evidence, Case());
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0], "case: got '" + std::string(127, 'x') + "...', expected 'case-1'");
}

TEST(Reconciliation, TheResidualIsMedianLessBound) {
  const Reconciliation result = Reconcile(Valid(), 0.002);
  EXPECT_EQ(result.status, ClaimLabel::kLocallyMeasured);
  EXPECT_EQ(result.sample_count, 21u);
  ASSERT_TRUE(result.observed_seconds.has_value());
  EXPECT_DOUBLE_EQ(result.observed_seconds->median, 0.004);
  ASSERT_TRUE(result.residual_seconds.has_value());
  EXPECT_DOUBLE_EQ(*result.residual_seconds, 0.002);
  EXPECT_FALSE(result.model_violation);
}

TEST(Reconciliation, ANegativeResidualIsAViolationAndStaysNegative) {
  const Reconciliation result = Reconcile(Valid(), 0.005);
  EXPECT_DOUBLE_EQ(result.residual_seconds.value(), -0.001);
  EXPECT_TRUE(result.model_violation);
}

TEST(Reconciliation, ATimeEqualToTheBoundIsNoViolation) {
  Evidence evidence = Valid();
  evidence.sample_seconds.assign(20, 0.002);
  const Reconciliation result = Reconcile(evidence, 0.002);
  EXPECT_EQ(result.residual_seconds.value(), 0);
  EXPECT_FALSE(result.model_violation);
}

TEST(Reconciliation, OfNothingMeasuredIsNothing) {
  Evidence empty;
  empty.label = ClaimLabel::kUnmeasured;
  const Reconciliation result = Reconcile(empty, 0.002);
  EXPECT_EQ(result.status, ClaimLabel::kUnmeasured);
  EXPECT_EQ(result.lower_bound_seconds, 0.002);
  EXPECT_FALSE(result.observed_seconds.has_value());
  EXPECT_FALSE(result.residual_seconds.has_value());
  EXPECT_FALSE(result.model_violation);
}

TEST(Reconciliation, WithoutABoundThereIsNoResidual) {
  const Reconciliation result = Reconcile(Valid(), std::nullopt);
  EXPECT_TRUE(result.observed_seconds.has_value());
  EXPECT_FALSE(result.residual_seconds.has_value());
}

TEST(ClaimLabels, HaveDifferentNames) {
  const std::vector<ClaimLabel> all = {ClaimLabel::kUnspecified,     ClaimLabel::kAnalytical,
                                       ClaimLabel::kIllustrative,    ClaimLabel::kSourceReported,
                                       ClaimLabel::kLocallyMeasured, ClaimLabel::kUnmeasured};
  for (const ClaimLabel a : all) {
    EXPECT_THAT(ClaimLabelName(a), Not(IsEmpty()));
    for (const ClaimLabel b : all) {
      if (a != b) {
        EXPECT_NE(ClaimLabelName(a), ClaimLabelName(b));
      }
    }
  }
}

}  // namespace
}  // namespace gx::model
