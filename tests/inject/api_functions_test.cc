#include "inject/api_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpuexec/v1/trace.pb.h"
#include "inject/own_threads.h"

namespace gx::inject {
namespace {

namespace v1 = gpuexec::v1;

v1::Packet Written(TraceEncoder* encoder) {
  v1::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(std::string(encoder->FinishFrame())));
  return trace.frame_size() == 0 ? v1::Packet() : trace.frame(0).packet();
}

CUptiResult NameOfOne(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || cbid != 211) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}

TEST(ApiFunctions, AFunctionIsNamedByCuptiAndDefinedOnce) {
  CuptiApi cupti;
  cupti.cuptiGetCallbackName = NameOfOne;
  TraceEncoder encoder;
  ApiFunctions functions(&cupti, &encoder);
  const uint64_t first = functions.Find(ApiDomain::kRuntime, 211);
  EXPECT_EQ(functions.Find(ApiDomain::kRuntime, 211), first);
  const uint64_t driver = functions.Find(ApiDomain::kDriver, 211);
  EXPECT_NE(driver, first) << "numbers are of their domain";
  const v1::Packet packet = Written(&encoder);
  ASSERT_EQ(packet.api_function_size(), 2);
  EXPECT_EQ(packet.api_function(0).iid(), first);
  EXPECT_EQ(packet.api_function(0).domain(), v1::ApiFunction::DOMAIN_RUNTIME);
  EXPECT_EQ(packet.api_function(0).cbid(), 211u);
  EXPECT_EQ(packet.api_function(0).name(), "cudaLaunchKernel_v7000");
  EXPECT_EQ(packet.api_function(1).domain(), v1::ApiFunction::DOMAIN_DRIVER);
  EXPECT_EQ(packet.api_function(1).name(), "") << "CUPTI knows no name for it";
}

TEST(ApiFunctions, WithoutACuptiThatNamesThemTheyAreNumbers) {
  TraceEncoder encoder;
  ApiFunctions functions(nullptr, &encoder);
  EXPECT_EQ(functions.Find(ApiDomain::kDriver, 307), 1u);
  EXPECT_EQ(Written(&encoder).api_function(0).cbid(), 307u);
}

TEST(OwnThreads, HasWhatWasAddedAndNothingElse) {
  OwnThreads threads;
  EXPECT_FALSE(threads.Has(0)) << "no thread has that number";
  threads.Add(71);
  threads.Add(72);
  EXPECT_TRUE(threads.Has(71));
  EXPECT_TRUE(threads.Has(72));
  EXPECT_FALSE(threads.Has(73));
  EXPECT_FALSE(threads.Has(uint64_t{1} << 32 | 71)) << "a number that is none of this system";
}

}  // namespace
}  // namespace gx::inject
