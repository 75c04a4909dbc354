#include "inject/profiler_host_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfilerHostApi, SaysThatALibraryIsNotThere) {
  ProfilerHostApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadProfilerHost("/nonexistent/libcupti.so", &api, &problems));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("no hardware counters: /nonexistent/libcupti.so: ")));
}

TEST(ProfilerHostApi, SaysThatACuptiIsTooOldForIt) {
  ProfilerHostApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadProfilerHost(GX_STUB_LIBRARY, &api, &problems));
  EXPECT_THAT(problems, ElementsAre("no hardware counters: " GX_STUB_LIBRARY ": has no cuptiProfilerHostInitialize"));
  EXPECT_EQ(api.cuptiProfilerHostInitialize, nullptr);
}

}  // namespace
}  // namespace gx::inject
