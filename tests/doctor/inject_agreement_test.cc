// What gx-doctor knows of the injection library without including it, against the library's own code.
#include <gtest/gtest.h>

#include "inject/config.h"
#include "inject/cupti_api.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/cupti_traps.h"
#include "tools/doctor/gather.h"
#include "tools/doctor/own_parts.h"

namespace gx::doctor {
namespace {

TEST(InjectAgreement, TheSameVersionsOfCuptiAreSupportedUnderTheSameNames) {
  for (const uint32_t version :
       {0u, 24u, 25u, 26u, 27u, 28u, 999u, 1000u, 129999u, 130000u, 130001u, 130401u, 139999u, 140000u, 150000u}) {
    EXPECT_EQ(IsSupportedCupti(version), inject::SupportedCuptiVersion(version)) << version;
    EXPECT_EQ(CuptiVersionText(version), inject::CuptiVersionText(version)) << version;
  }
}

TEST(InjectAgreement, DefaultsOfWhatTheLibraryCannotBeAsked) {
  const inject::Config config;
  EXPECT_EQ(ReadOutput(RootFolder(), Environment(), "/").pattern, config.output);
  // Without the library, defaults are shown.
  Facts facts;
  facts.output.folder_exists = facts.output.folder_writable = true;
  facts.output.free_bytes = config.max_bytes;
  EXPECT_EQ(CheckOutput(facts).level, Level::kOk);
  facts.output.free_bytes = config.max_bytes - 1;
  EXPECT_EQ(CheckOutput(facts).level, Level::kWarning);
  facts.host.available_memory_bytes = config.memory_bytes + (uint64_t{210} << 20);
  EXPECT_EQ(CheckMemory(facts).level, Level::kOk);
  facts.host.available_memory_bytes = *facts.host.available_memory_bytes - 1;
  EXPECT_EQ(CheckMemory(facts).level, Level::kWarning);
}

}  // namespace
}  // namespace gx::doctor
