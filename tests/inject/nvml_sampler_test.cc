#include "inject/nvml_sampler.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "inject/self_stats.h"

namespace gx::inject {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kGenerousNs = 30'000'000'000;

class NvmlSamplerTest : public ::testing::Test {
 protected:
  // The stub has NVML's soname, so that it is the one that is found from here on.
  NvmlSamplerTest() {
    Stats().Reset();
    EXPECT_NE(dlopen(GX_NVML_STUB, RTLD_NOW | RTLD_GLOBAL), nullptr);
    thread_ = std::thread([this] { sampler_.Run(); });
  }
  ~NvmlSamplerTest() override {
    sampler_.Stop();
    thread_.join();
  }
  bool WaitForAnswers(size_t count) {
    return WaitUntil(
        [&] {
          for (NvmlAnswer& answer : sampler_.TakeAnswers()) answers_.push_back(std::move(answer));
          return answers_.size() >= count;
        },
        kGenerousNs);
  }

  NvmlSampler sampler_;
  std::thread thread_;
  std::vector<NvmlAnswer> answers_;
};

TEST_F(NvmlSamplerTest, TheDriversVersionIsKnownOnceNvmlAnswered) {
  EXPECT_TRUE(WaitUntil([&] { return sampler_.driver_version() == "580.65.06"; }, kGenerousNs));
  EXPECT_EQ(Stats().Get(StatId::kNvmlUnavailable), 0u);
}

TEST_F(NvmlSamplerTest, ANewDeviceIsDescribedAndSampledWithWhatThereIs) {
  sampler_.AddDevice(4, "0000:3b:00.0");
  ASSERT_TRUE(WaitForAnswers(2));
  const auto& record = std::get<DeviceRecord>(answers_[0]);
  EXPECT_EQ(record.device_id, 4u);
  EXPECT_FALSE(record.mig_enabled.has_value());
  const auto& sample = std::get<DeviceSampleRecord>(answers_[1]);
  EXPECT_EQ(sample.device_id, 4u);
  EXPECT_EQ(sample.power_milliwatts, 123u);
  EXPECT_FALSE(sample.sm_clock_hz.has_value());
}

TEST_F(NvmlSamplerTest, ADeviceThatNvmlDoesNotKnowIsToldInWords) {
  sampler_.AddDevice(4, "0000:99:00.0");
  ASSERT_TRUE(WaitForAnswers(1));
  EXPECT_THAT(std::get<std::string>(answers_[0]), HasSubstr("0000:99:00.0"));
}

}  // namespace
}  // namespace gx::inject
