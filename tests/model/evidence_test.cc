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
        Refusal{"OtherTensorName", [](Evidence* e) { e->dispatch_key.tensors[0].name = "B"; },
                "dispatch key: name of tensor 'B' differs from the case's"},
        Refusal{"OtherStrides",
                [](Evidence* e) {
                  e->dispatch_key.tensors[0].stride = {1, 64};
                },
                "dispatch key: strides of tensor 'A' differ from the case's"},
        Refusal{"OtherDtype", [](Evidence* e) { e->dispatch_key.tensors[1].dtype = "fp16"; },
                "dispatch key: dtype of tensor 'C' differs from the case's"},
        Refusal{"OtherBackend",
                [](Evidence* e) { e->dispatch_key.backend = e->selected_backend = "compiler"; },
                "dispatch key: backend: got 'compiler', the case has 'library'"},
        Refusal{"OtherRoute", [](Evidence* e) { e->dispatch_key.route = "graph"; },
                "dispatch key: route: got 'graph', the case has 'eager'"},
        Refusal{"OtherKernelSymbol",
                [](Evidence* e) { e->dispatch_key.kernel_symbol = e->kernel_symbol = "gemm_64x64"; },
                "dispatch key: kernel symbol: got 'gemm_64x64', the case has 'gemm_128x128'"},
        Refusal{"NoFlags", [](Evidence* e) { e->dispatch_key.flags.clear(); },
                "dispatch key: flags differ from the case's"},
        Refusal{"OneMoreFlag", [](Evidence* e) { e->dispatch_key.flags.emplace_back("graph=on"); },
                "dispatch key: flags differ from the case's"},
        Refusal{"NegativeTolerance", [](Evidence* e) { e->reference_tolerance = -1; },
                "numerical check: tolerance is -1, expected a finite number, 0 or above"},
        Refusal{"NegativeError", [](Evidence* e) { e->reference_error = -0.5; },
                "numerical check: error is -0.5, expected a finite number, 0 or above"},
        Refusal{"NoFramework", [](Evidence* e) { e->dispatch_key.framework.clear(); },
                "dispatch key: not exact, lacks framework"},
        Refusal{"NoDispatchedBackend", [](Evidence* e) { e->dispatch_key.backend.clear(); },
                "dispatch key: not exact, lacks backend"},
        Refusal{"NoDispatchedKernel", [](Evidence* e) { e->dispatch_key.kernel_symbol.clear(); },
                "dispatch key: not exact, lacks kernel symbol"},
        Refusal{"NoTensors", [](Evidence* e) { e->dispatch_key.tensors.clear(); },
                "dispatch key: not exact, lacks shapes, strides and dtypes"},
        Refusal{"BlankFramework", [](Evidence* e) { e->dispatch_key.framework = " "; },
                "dispatch key: not exact, lacks framework"},
        Refusal{"BlankDispatchedBackend", [](Evidence* e) { e->dispatch_key.backend = "\t"; },
                "dispatch key: not exact, lacks backend"},
        Refusal{"BlankRoute", [](Evidence* e) { e->dispatch_key.route = "  "; },
                "dispatch key: not exact, lacks route"},
        Refusal{"BlankDispatchedKernel", [](Evidence* e) { e->dispatch_key.kernel_symbol = "\n"; },
                "dispatch key: not exact, lacks kernel symbol"},
        Refusal{"BlankDtype", [](Evidence* e) { e->dispatch_key.tensors[0].dtype = " "; },
                "dispatch key: not exact, lacks dtype of tensor 'A'"},
        Refusal{"BlankBackend", [](Evidence* e) { e->selected_backend = " "; }, "selected backend: not named"},
        Refusal{"BlankKernel", [](Evidence* e) { e->kernel_symbol = " "; }, "kernel symbol: not named"},
        Refusal{"BlankCommand", [](Evidence* e) { e->profiler_command = " "; }, "profiler: no command"},
        Refusal{"BlankReport", [](Evidence* e) { e->profiler_report = " "; }, "profiler: no report"},
        Refusal{"BlankCounter", [](Evidence* e) { e->counter_metrics = {"a", " "}; },
                "profiler: counters: 1 without the exact name of the metric"},
        Refusal{"BlankCase", [](Evidence* e) { e->case_id = " "; }, "case: got no case_id, expected 'case-1'"},
        Refusal{"TwoTensorsWithoutDtypes",
                [](Evidence* e) {
                  for (DispatchTensor& tensor : e->dispatch_key.tensors) tensor.dtype.clear();
                },
                "dispatch key: not exact, lacks dtype of tensor 'A', dtype of tensor 'C'"},
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
  EXPECT_THAT(EvidenceFaults(Valid(), {.case_id = "case-1"}), IsEmpty());
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

TEST(Evidence, EveryTensorThatDiffersHasItsLine) {
  Evidence evidence = Valid();
  evidence.dispatch_key.tensors[0].dtype = "fp16";
  evidence.dispatch_key.tensors[1].shape = {64, 65};
  evidence.dispatch_key.tensors[1].stride = {65, 1};
  EXPECT_THAT(EvidenceFaults(evidence, Case()),
              ElementsAre("dispatch key: dtype of tensor 'A' differs from the case's",
                          "dispatch key: shape and strides of tensor 'C' differ from the case's"));
}

TEST(Evidence, BeyondSixteenTensorsOnlyTheirNumberIsNamed) {
  const auto tensors = [](size_t count, const std::string& dtype) {
    return std::vector<DispatchTensor>(count, {.name = "T", .shape = {1}, .stride = {1}, .dtype = dtype});
  };
  for (const size_t count : {16U, 17U, 20U}) {
    Evidence evidence = Valid();
    evidence.dispatch_key.tensors = tensors(count, "fp16");
    EvidenceCase expected = Case();
    expected.dispatch_key.tensors = tensors(count, "bf16");
    const std::vector<std::string> faults = EvidenceFaults(evidence, expected);
    evidence.dispatch_key.tensors = tensors(count, "");
    const std::vector<std::string> missing = MissingParts(evidence.dispatch_key);
    if (count == 16) {
      EXPECT_THAT(faults, SizeIs(16));
      EXPECT_THAT(missing, SizeIs(16));
      continue;
    }
    ASSERT_THAT(faults, SizeIs(17));
    EXPECT_EQ(faults.back(), "dispatch key: " + std::to_string(count - 16) + " more tensors differ from the case's");
    ASSERT_THAT(missing, SizeIs(17));
    EXPECT_EQ(missing.back(), "parts of " + std::to_string(count - 16) + " more tensors");
  }
}

TEST(Evidence, ATensorWithoutElementsIsNoExactPart) {
  for (const int64_t extent : {0, -1}) {
    DispatchKey key = ExactKey();
    key.tensors[1].shape = {64, extent};
    EXPECT_THAT(MissingParts(key), ElementsAre("shape of tensor 'C'"));
  }
  EXPECT_THAT(MissingParts(ExactKey()), IsEmpty());
  // Strides of as many axes, of any sign.
  DispatchKey key = ExactKey();
  key.tensors[0].stride = {-32, 0};
  EXPECT_THAT(MissingParts(key), IsEmpty());
  key.tensors[0].stride = {1};
  EXPECT_THAT(MissingParts(key), ElementsAre("strides of tensor 'A'"));
  key.tensors[0].name.clear();
  EXPECT_THAT(MissingParts(key), ElementsAre("strides of tensor 0"));
}

TEST(Evidence, FlagsAreASet) {
  Evidence evidence = Valid();
  EvidenceCase expected = Case();
  expected.dispatch_key.flags = {"a", "b"};
  evidence.dispatch_key.flags = {"b", "a", "b"};
  EXPECT_THAT(EvidenceFaults(evidence, expected), IsEmpty());
  evidence.dispatch_key.flags = {"b"};
  EXPECT_THAT(EvidenceFaults(evidence, expected), ElementsAre("dispatch key: flags differ from the case's"));
}

TEST(Evidence, OfAnExactKeyNoFlagsMeanThatThereWereNone) {
  Evidence evidence = Valid();
  EvidenceCase expected = Case();
  expected.dispatch_key.flags.clear();
  EXPECT_THAT(EvidenceFaults(evidence, expected), ElementsAre("dispatch key: flags differ from the case's"));
  // A case that is not exact may have left them out.
  expected.dispatch_key.route.clear();
  EXPECT_THAT(EvidenceFaults(evidence, expected), IsEmpty());
  evidence.dispatch_key.flags.clear();
  EXPECT_THAT(EvidenceFaults(evidence, expected), IsEmpty());
}

TEST(Evidence, AMeasurementNamesItsCaseEvenWhereNoneIsAskedFor) {
  Evidence evidence = Valid();
  EXPECT_THAT(EvidenceFaults(evidence, {}), ElementsAre("case: got 'case-1', expected ''"));
  evidence.case_id.clear();
  EXPECT_THAT(EvidenceFaults(evidence, {}), ElementsAre("case: got no case_id, expected one"));
}

TEST(Evidence, WhatIsNotPrintableIsEscaped) {
  Evidence evidence = Valid();
  evidence.case_id = "a\nb\x1b[31m\xC3\xA9";
  EXPECT_THAT(EvidenceFaults(evidence, Case()), ElementsAre("case: got 'a\\nb\\033[31m\xC3\xA9', expected 'case-1'"));
  evidence = Valid();
  evidence.dispatch_key.tensors[0] = {.name = "A\r\n", .shape = {1}, .stride = {1}, .dtype = ""};
  EXPECT_THAT(MissingParts(evidence.dispatch_key), ElementsAre("dtype of tensor 'A\\r\\n'"));
}

TEST(Evidence, ANameOf128BytesIsWhole) {
  Evidence evidence = Valid();
  evidence.case_id = std::string(128, 'x');
  EXPECT_THAT(EvidenceFaults(evidence, Case()),
              ElementsAre("case: got '" + std::string(128, 'x') + "', expected 'case-1'"));
  evidence.case_id += 'y';
  EXPECT_THAT(EvidenceFaults(evidence, Case()),
              ElementsAre("case: got '" + std::string(128, 'x') + "...', expected 'case-1'"));
}

TEST(Reconciliation, ABoundThatIsNoTimeIsNone) {
  for (const double bound : {kNan, kInfinity, -kInfinity, -1e-9}) {
    const Reconciliation result = Reconcile(Valid(), bound);
    EXPECT_FALSE(result.lower_bound_seconds.has_value()) << bound;
    EXPECT_FALSE(result.residual_seconds.has_value()) << bound;
    EXPECT_FALSE(result.model_violation) << bound;
    EXPECT_TRUE(result.observed_seconds.has_value()) << bound;
  }
  EXPECT_EQ(Reconcile(Valid(), 0).lower_bound_seconds, 0);
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

TEST(ClaimLabels, HaveTheNamesOfTheFileFormat) {
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kUnspecified), "unspecified");
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kAnalytical), "analytical");
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kIllustrative), "illustrative");
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kSourceReported), "source_reported");
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kLocallyMeasured), "locally_measured");
  EXPECT_EQ(ClaimLabelName(ClaimLabel::kUnmeasured), "unmeasured");
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
