// Calls of the CUDA runtime and driver from packets to the report: by function, and what is said where there are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/report_builder.h"
#include "analysis/report_csv.h"
#include "analysis/report_text.h"
#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Report ReportOf(const std::vector<std::string>& packets) {
  TraceImporter importer({});
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  return BuildReport(models, {});
}

constexpr char kFunctions[] = R"(
  api_function { iid: 1 domain: DOMAIN_DRIVER cbid: 307 name: "cuLaunchKernel" }
  api_function { iid: 2 domain: DOMAIN_RUNTIME cbid: 211 name: "cudaLaunchKernel_v7000" })";
constexpr char kCalls[] =
    R"(api_call_batch { count: 4 thread_id: 5 base_start_ns: 1000 start_delta_ns: [0, -10, 50, -10]
  duration_ns: [30, 50, 32, 60] function_iid: [1, 2, 1, 2] result: [0, 0, 700, 700] })";

TEST(ReportApi, CallsAreAddedUpByFunctionMostTimeFirst) {
  const Report report = ReportOf({kFunctions, kCalls});
  const std::vector<ApiUseRow>& uses = report.processes[0].api_uses;
  ASSERT_THAT(uses, SizeIs(2));
  EXPECT_EQ(uses[0].name, "cudaLaunchKernel_v7000");
  EXPECT_EQ(uses[0].domain, "runtime");
  EXPECT_EQ(uses[0].call_count, 2u);
  EXPECT_EQ(uses[0].failed_count, 1u);
  EXPECT_EQ(uses[0].total_ns, 110u);
  EXPECT_EQ(uses[0].max_ns, 60u);
  EXPECT_EQ(uses[1].domain, "driver");
  EXPECT_EQ(uses[1].total_ns, 62u);
  EXPECT_EQ(ReportApiCsv(report),
            "process,domain,name,calls,failed_calls,total_ns,max_ns\n"
            "trace 1,runtime,cudaLaunchKernel_v7000,2,1,110,60\n"
            "trace 1,driver,cuLaunchKernel,2,1,62,32\n");
}

TEST(ReportApi, IsShownWhereCallsWereRecordedAndSaysElsewhereHowTheyAre) {
  EXPECT_THAT(ReportText(ReportOf({kFunctions, kCalls}), {}), HasSubstr("API CALLS"));
  EXPECT_THAT(ReportText(ReportOf({kFunctions}), {}), Not(HasSubstr("API CALLS")));
  EXPECT_THAT(ReportText(ReportOf({kFunctions}), {.sections = {Section::kApi}}), HasSubstr("GPUEXEC_API=on"));
}

TEST(ReportApi, AFunctionThatIsNotDefinedIsShownAsSuch) {
  const Report report = ReportOf({kCalls});
  ASSERT_THAT(report.processes[0].api_uses, SizeIs(2));
  EXPECT_EQ(report.processes[0].api_uses[0].name, "(function 2 is not defined)");
  EXPECT_EQ(report.processes[0].api_uses[0].domain, "unknown");
}

TEST(ReportApi, TimesAndCountsThatLieStayWithinTheirWidth) {
  const Report report = ReportOf({R"(api_call_batch { count: 2 base_start_ns: 1000 start_delta_ns: [0, 1]
    duration_ns: [18446744073709551615, 18446744073709551615] function_iid: [18446744073709551615] })"});
  ASSERT_THAT(report.processes[0].api_uses, SizeIs(1));
  EXPECT_EQ(report.processes[0].api_uses[0].total_ns, UINT64_MAX);
}

TEST(ReportApi, OfVeryManyFunctionsTheRestIsCountedAsLeftOut) {
  std::string iids;
  for (size_t iid = 1; iid <= kMaxApiFunctions + 3; ++iid) absl::StrAppend(&iids, iid == 1 ? "" : ", ", iid);
  std::string starts = "0";
  for (size_t i = 1; i < kMaxApiFunctions + 3; ++i) absl::StrAppend(&starts, ", 1");
  const Report report =
      ReportOf({absl::StrCat("api_call_batch { count: ", kMaxApiFunctions + 3, " base_start_ns: 1 start_delta_ns: [",
                             starts, "] duration_ns: [1] function_iid: [", iids, "] }")});
  EXPECT_THAT(report.processes[0].api_uses, SizeIs(kMaxApiFunctions));
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("calls of the runtime and driver left out"));
}

}  // namespace
}  // namespace gx::analysis
