#include "analysis/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report_csv.h"

namespace gx::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Report OneKernel() {
  Report report;
  report.processes.emplace_back();
  report.processes[0].label = "rank 0";
  KernelGroup group;
  group.short_name = "short";
  group.full_name = "void full<int>(int, \"x\")";
  group.calls = 30;
  group.basis = MedianBasis::kClean;
  group.clean_count = 27;
  group.durations.count = group.durations.sample_count = 27;
  group.durations.median_ns = 2048;
  report.kernels.push_back(group);
  report.kernel_groups_total = report.kernel_groups_matched = 1;
  return report;
}

TEST(ReportTextTest, LossesComeFirstThenProvenanceThenTheRunThenKernels) {
  const std::string text = ReportText(OneKernel(), {});
  EXPECT_LT(text.find("LOSSES"), text.find("PROVENANCE"));
  EXPECT_LT(text.find("PROVENANCE"), text.find("RUN"));
  EXPECT_LT(text.find("RUN"), text.find("KERNELS"));
}

TEST(ReportTextTest, WideShowsFullNames) {
  EXPECT_THAT(ReportText(OneKernel(), {}), Not(HasSubstr("void full")));
  EXPECT_THAT(ReportText(OneKernel(), {.colour = false, .wide = true}), HasSubstr("void full<int>"));
}

TEST(ReportTextTest, ColoursAreUsedOnlyWhenAskedFor) {
  EXPECT_THAT(ReportText(OneKernel(), {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(ReportText(OneKernel(), {.colour = true, .wide = false}), HasSubstr("\x1b[1m"));
}

TEST(ReportTextTest, AMedianWithoutVerdictIsMarked) {
  Report report = OneKernel();
  report.kernels[0].basis = MedianBasis::kFewClean;
  report.kernels[0].clean_count = 7;
  EXPECT_THAT(ReportText(report, {}), HasSubstr("(2.05 us)"));
  EXPECT_THAT(ReportText(report, {}), HasSubstr("measured_insufficient (7 clean)"));
}

TEST(ReportTextTest, TheModelsOccupancyIsNotCalledAMeasurement) {
  Report report = OneKernel();
  LaunchResidency& residency = report.kernels[0].launch.residency;
  residency.occupancy_ratio = 0.375;
  residency.limiters = "registers + shared_memory";
  residency.waves = 2.5;
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, AllOf(HasSubstr("37.5 %"), HasSubstr("regs+smem"), HasSubstr("2.50")));
  EXPECT_THAT(text, HasSubstr("occupancy: the model's, of an SM's warps; no measurement of how many were active"));
}

TEST(ReportTextTest, WavesSayWhatIsBelowAHundredthAndWhatIsABound) {
  Report report = OneKernel();
  LaunchResidency& residency = report.kernels[0].launch.residency;
  residency.waves = 0.004;
  EXPECT_THAT(ReportText(report, {}), HasSubstr("<0.01"));
  residency.waves = 1.25;
  residency.slots_are_upper_bound = true;
  EXPECT_THAT(ReportText(report, {}), HasSubstr(">=1.25"));
  residency.waves.reset();
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr(">=")));
}

TEST(ReportTextTest, AReservoirsSizeIsStated) {
  Report report = OneKernel();
  report.kernels[0].durations.count = 1'000'000;
  report.kernels[0].durations.sample_count = 32'768;
  EXPECT_THAT(ReportText(report, {}), HasSubstr("measured (32,768 sampled)"));
}

TEST(ReportTextTest, TheProcessColumnAppearsWithSeveralTraces) {
  Report report = OneKernel();
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("process")));
  report.processes.emplace_back().label = "rank 1";
  EXPECT_THAT(ReportText(report, {}), HasSubstr("process"));
  EXPECT_THAT(ReportText(report, {}), HasSubstr("PROVENANCE, rank 1"));
}

TEST(ReportTextTest, AFindingShowsItsCountItsIdAndItsAdvice) {
  Report report = OneKernel();
  report.processes[0].findings.push_back(
      {gpuexec::v1::SEVERITY_DATA_LOSS, "STAT_X", 1234, "things lost", "do this", {"at offset 5"}});
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("data loss        1,234  things lost  [STAT_X]"));
  EXPECT_THAT(text, HasSubstr("-> do this"));
  EXPECT_THAT(text, HasSubstr("at offset 5"));
}

TEST(ReportTextTest, ATableForATerminalFitsItAndSaysWhatItLeavesOut) {
  Report report = OneKernel();
  report.kernels[0].short_name = std::string(100, 'n');
  for (const size_t columns : {40u, 80u, 120u}) {
    const std::string text = ReportText(report, {.max_table_columns = columns});
    const size_t titles = text.find("  calls");
    for (size_t begin = titles, line = 0; line < 2; ++line) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, columns) << text;
      begin = end + 1;
    }
    EXPECT_THAT(text, HasSubstr("nnn..."));
    EXPECT_THAT(text, HasSubstr("not shown, as the terminal is narrow"));
  }
  EXPECT_THAT(ReportText(report, {}), HasSubstr(report.kernels[0].short_name));
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("not shown")));
}

TEST(ReportTextTest, WhyNothingWasRecordedIsTheFirstThing) {
  Report report = OneKernel();
  report.processes[0].nothing_recorded = true;
  report.processes[0].diagnostics = {"no CUPTI"};
  report.processes[0].diagnostic_count = 1;
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, StartsWith("LOSSES AND ODD RECORDS\n  NOTHING WAS RECORDED\n  said      no CUPTI\n"));
  EXPECT_EQ(text.find("no CUPTI"), text.rfind("no CUPTI"));
}

TEST(ReportTextTest, DiagnosticsAreShownUpToALimit) {
  Report report = OneKernel();
  for (int i = 0; i < 100; ++i) report.processes[0].diagnostics.push_back("note " + std::to_string(i));
  report.processes[0].diagnostic_count = 500;
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("  said      note 0\n"));
  EXPECT_THAT(text, HasSubstr("  said      note 19\n  said      ... and 480 more (--wide shows more)\n"));
  EXPECT_THAT(ReportText(report, {.wide = true}), HasSubstr("  said      note 99\n  said      ... and 400 more\n"));
}

TEST(ReportTextTest, FiguresFromSumsAreMarkedAndGiveNoVerdict) {
  Report report = OneKernel();
  report.kernels[0].basis = MedianBasis::kBuckets;
  report.kernels[0].clean_count = 0;
  report.kernels[0].summarised_count = 30;
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("~2.05 us"));
  EXPECT_THAT(text, HasSubstr("measured_insufficient (0 clean, 30 in sums only)"));
  EXPECT_THAT(text, HasSubstr("  ~x: of all calls, known in sums only"));
}

TEST(ReportTextTest, AfterTheSizeLimitTheRunCountsSumsAndMarksWhatIsFromBefore) {
  Report report = OneKernel();
  RunSection& run = report.processes[0].run;
  run.wall_ns = 20'000'000;
  run.single_records_end_ns = 12'000'000;
  run.kernel_launches = 30;
  run.summarised_launches = 1510;
  run.summarised_kernels = 1510;
  run.kernels = 1540;
  run.synchronization_count = 1;
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("single records end at +12.0 ms"));
  EXPECT_THAT(text, HasSubstr("1,540, of them 1,510 in sums only; with a record 30 kernels and 0 graphs"));
  EXPECT_THAT(text, HasSubstr("1 call, 0 ns waited *"));
  run.single_records_end_ns.reset();
  run.summarised_launches = run.summarised_kernels = 0;
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr(" *\n")));
}

TEST(ReportTextTest, ThrottleReasonsHaveOneLabel) {
  Report report = OneKernel();
  DeviceSection& device = report.processes[0].devices.emplace_back();
  device.sample_count = 5;
  EXPECT_THAT(ReportText(report, {}), HasSubstr("throttle reasons: unmeasured"));
  device.throttle_sample_count = 5;
  EXPECT_THAT(ReportText(report, {}), HasSubstr("throttle reasons: none in 5 samples"));
  device.throttle_reasons = {{"GPU idle", 1}, {"sync boost", 3}};
  EXPECT_THAT(ReportText(report, {}), HasSubstr("throttle reasons: GPU idle in 1, sync boost in 3 of 5 samples"));
}

TEST(ReportCsvTest, EveryRowHasAsManyFieldsAsTheHeaderAndQuotesAreDoubled) {
  const std::string csv = ReportCsv(OneKernel());
  EXPECT_THAT(csv, HasSubstr("\"void full<int>(int, \"\"x\"\")\""));
  const size_t line = csv.find('\n');
  const auto header_commas = std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(line), ',');
  const auto row_commas = std::count(csv.begin() + static_cast<std::ptrdiff_t>(line), csv.end(), ',');
  EXPECT_EQ(row_commas, header_commas + 1);  // One comma inside the name.
}

}  // namespace
}  // namespace gx::analysis
