#include "inject/metric_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// CUPTI's host API with the rules that were found in 13.0. A metric called "a.N" needs N passes with any other.
struct FakeHost {
  struct Object {
    bool is_configured = false;
    bool is_spoilt = false;
    size_t passes = 0;
  };
  std::set<Object*> live;
  std::vector<uint8_t> availability;
  std::string chip;
  std::string failing;  // The function that returns an error.
  int configurations = 0;
};
FakeHost* host = nullptr;

FakeHost::Object* ObjectOf(CUpti_Profiler_Host_Object* object) {
  auto* known = reinterpret_cast<FakeHost::Object*>(object);
  EXPECT_TRUE(host->live.contains(known));
  return known;
}

CUptiResult Initialize(CUpti_Profiler_Host_Initialize_Params* params) {
  EXPECT_EQ(params->structSize, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
  EXPECT_EQ(params->profilerType, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
  if (host->failing == "libnvperf") return CUPTI_ERROR_NOT_INITIALIZED;
  if (host->failing == "Initialize" || std::string(params->pChipName) == "GV11B") return CUPTI_ERROR_NOT_SUPPORTED;
  host->chip = params->pChipName;
  host->availability.clear();
  if (params->pCounterAvailabilityImage != nullptr) {
    host->availability.assign(params->pCounterAvailabilityImage, params->pCounterAvailabilityImage + 3);
  }
  auto* object = new FakeHost::Object;
  host->live.insert(object);
  params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(object);
  return CUPTI_SUCCESS;
}

CUptiResult Deinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  EXPECT_EQ(params->structSize, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  FakeHost::Object* object = ObjectOf(params->pHostObject);
  host->live.erase(object);
  delete object;
  return host->failing == "Deinitialize" ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

CUptiResult GetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* params) {
  static const char* const kChips[] = {"GV100", "GH100"};
  if (host->failing == "GetSupportedChips") return CUPTI_ERROR_UNKNOWN;
  params->numChips = 2;
  params->ppChipNames = kChips;
  return CUPTI_SUCCESS;
}

CUptiResult GetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* params) {
  EXPECT_EQ(params->structSize, CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE);
  EXPECT_FALSE(ObjectOf(params->pHostObject)->is_spoilt);
  return std::strncmp(params->pMetricName, "unit__a", 7) == 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}

CUptiResult ConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  EXPECT_EQ(params->structSize, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  FakeHost::Object* object = ObjectOf(params->pHostObject);
  if (object->is_spoilt) return CUPTI_ERROR_UNKNOWN;
  ++host->configurations;
  for (size_t i = 0; i < params->numMetrics; ++i) {
    const std::string name = params->ppMetricNames[i];
    if (!name.starts_with("unit__a")) {
      object->is_spoilt = true;
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    object->passes += name.ends_with(".max") ? 2 : 1;
  }
  object->is_configured = true;
  return CUPTI_SUCCESS;
}

CUptiResult GetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  if (host->failing == "GetConfigImageSize" || !ObjectOf(params->pHostObject)->is_configured)
    return CUPTI_ERROR_UNKNOWN;
  params->configImageSize = 16;
  return CUPTI_SUCCESS;
}

CUptiResult GetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  if (host->failing == "GetConfigImage") return CUPTI_ERROR_UNKNOWN;
  EXPECT_EQ(params->configImageSize, 16u);
  FakeHost::Object* object = ObjectOf(params->pHostObject);
  object->is_spoilt = true;
  params->pConfigImage[0] = static_cast<uint8_t>(object->passes);
  return CUPTI_SUCCESS;
}

CUptiResult GetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  if (host->failing == "GetNumOfPasses") return CUPTI_ERROR_UNKNOWN;
  EXPECT_EQ(params->configImageSize, 16u);
  params->numOfPasses = params->pConfigImage[0];
  return CUPTI_SUCCESS;
}

class MetricCatalogTest : public ::testing::Test {
 protected:
  MetricCatalogTest() { host = &host_; }
  ~MetricCatalogTest() override {
    EXPECT_THAT(host_.live, IsEmpty()) << "host objects were not given back";
    host = nullptr;
  }
  std::unique_ptr<MetricCatalog> Open(std::vector<uint8_t> availability = {}) {
    return MetricCatalog::Open(api_, "GH100", std::move(availability), &problem_);
  }

  FakeHost host_;
  ProfilerHostApi api_{Initialize,       Deinitialize,       GetSupportedChips, GetMetricProperties,
                       ConfigAddMetrics, GetConfigImageSize, GetConfigImage,    GetNumOfPasses};
  std::string problem_;
};

TEST_F(MetricCatalogTest, KnowsTheMetricsOfTheChip) {
  const auto catalog = Open();
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(host_.chip, "GH100");
  EXPECT_TRUE(catalog->Exists("unit__a.sum"));
  EXPECT_FALSE(catalog->Exists("unit__b.sum"));
  EXPECT_FALSE(catalog->Exists("unit__a")) << "the name of a counter is no metric, although CUPTI describes it";
}

TEST_F(MetricCatalogTest, AsksEveryQuestionOfANewObjectAndInOneCall) {
  const auto catalog = Open();
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(catalog->Passes({"unit__a.sum"}), 1);
  EXPECT_EQ(catalog->Passes({"unit__a.sum", "unit__a.max"}), 3);
  EXPECT_EQ(host_.configurations, 2);
  EXPECT_EQ(catalog->Passes({"unit__a.sum", "unit__b.sum"}), std::nullopt);
  EXPECT_EQ(catalog->Passes({"unit__a.sum"}), 1) << "a refused question spoils no other";
  EXPECT_EQ(host_.live.size(), 1u);
}

TEST_F(MetricCatalogTest, HasNoPassesForNothing) {
  const auto catalog = Open();
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(catalog->Passes({}), std::nullopt);
  EXPECT_EQ(host_.configurations, 0);
}

TEST_F(MetricCatalogTest, HasNoAnswerWhereACallFailsAndKeepsNothing) {
  const auto catalog = Open();
  ASSERT_NE(catalog, nullptr);
  for (const char* function : {"Initialize", "GetConfigImageSize", "GetConfigImage", "GetNumOfPasses"}) {
    host_.failing = function;
    EXPECT_EQ(catalog->Passes({"unit__a.sum"}), std::nullopt) << function;
    EXPECT_EQ(host_.live.size(), 1u) << function;
  }
  host_.failing = "Deinitialize";
  EXPECT_EQ(catalog->Passes({"unit__a.sum"}), 1);
}

TEST_F(MetricCatalogTest, HandsOnWhatTheDeviceHas) {
  const auto catalog = Open({1, 2, 3});
  ASSERT_NE(catalog, nullptr);
  EXPECT_THAT(host_.availability, ElementsAre(1, 2, 3));
  host_.availability.clear();
  EXPECT_EQ(catalog->Passes({"unit__a.sum"}), 1);
  EXPECT_THAT(host_.availability, ElementsAre(1, 2, 3));
}

TEST_F(MetricCatalogTest, SaysWhichChipIsNotProfiled) {
  EXPECT_EQ(MetricCatalog::Open(api_, "GV11B", {}, &problem_), nullptr);
  EXPECT_EQ(
      problem_,
      "no hardware counters: this CUPTI does not profile the chip GV11B (cuptiProfilerHostInitialize returned 27)");
}

TEST_F(MetricCatalogTest, SaysThatCuptiLacksItsOtherHalf) {
  host_.failing = "libnvperf";
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(problem_,
            "no hardware counters: CUPTI does not find libnvperf_host.so, which belongs beside libcupti "
            "(cuptiProfilerHostInitialize returned 15)");
}

TEST_F(MetricCatalogTest, AnswersThePlanner) {
  const auto catalog = Open();
  ASSERT_NE(catalog, nullptr);
  const CounterPlan plan =
      PlanCounters({.set = CounterSet::kOff, .metrics = {"unit__a.sum", "unit__b.sum"}}, catalog->Oracle());
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_THAT(plan.groups[0].metrics, ElementsAre("unit__a.sum"));
}

TEST_F(MetricCatalogTest, ListsTheChipsThatCuptiKnows) {
  EXPECT_THAT(SupportedChips(api_), ElementsAre("GV100", "GH100"));
  host_.failing = "GetSupportedChips";
  EXPECT_THAT(SupportedChips(api_), IsEmpty());
}

}  // namespace
}  // namespace gx::inject
