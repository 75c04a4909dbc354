#include "inject/range_profiler_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RangeProfilerApi, SaysThatALibraryIsNotThere) {
  RangeProfilerApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadRangeProfiler("/nonexistent/libcupti.so", &api, &problems));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("no hardware counters: /nonexistent/libcupti.so: ")));
}

TEST(RangeProfilerApi, SaysThatACuptiIsTooOldForIt) {
  RangeProfilerApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadRangeProfiler(GX_STUB_LIBRARY, &api, &problems));
  EXPECT_THAT(problems, ElementsAre("no hardware counters: " GX_STUB_LIBRARY ": has no cuptiRangeProfilerEnable"));
  EXPECT_EQ(api.cuptiRangeProfilerEnable, nullptr);
}

TEST(RangeProfilerApi, NamesTheFunctionsThatACuptiLacks) {
  RangeProfilerApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadRangeProfiler(GX_OLD_RANGE_PROFILER, &api, &problems));
  EXPECT_THAT(problems, SizeIs(15));
  EXPECT_EQ(problems[0], "no hardware counters: " GX_OLD_RANGE_PROFILER " has no function cuptiProfilerInitialize");
  EXPECT_NE(api.cuptiRangeProfilerEnable, nullptr);
  EXPECT_EQ(api.cuptiRangeProfilerStart, nullptr);
}

TEST(RangeProfilerApi, TakesEveryFunctionFromTheLibraryThatIsInUse) {
  RangeProfilerApi api;
  std::vector<std::string> problems;
  ASSERT_TRUE(LoadRangeProfiler(GX_FAKE_CUPTI, &api, &problems));
  EXPECT_THAT(problems, IsEmpty());
#define GX_EXPECT_LOADED(name) EXPECT_NE(api.name, nullptr) << #name;
  GX_RANGE_PROFILER_FUNCTIONS(GX_EXPECT_LOADED)
#undef GX_EXPECT_LOADED
}

}  // namespace
}  // namespace gx::inject
