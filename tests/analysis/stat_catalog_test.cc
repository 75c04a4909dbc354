#include "analysis/stat_catalog.h"

#include <gtest/gtest.h>

#include "google/protobuf/descriptor.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

TEST(StatCatalogTest, EveryCounterHasASeverityAndAMeaning) {
  const google::protobuf::EnumDescriptor* ids = pb::StatId_descriptor();
  for (int i = 0; i < ids->value_count(); ++i) {
    if (ids->value(i)->number() == 0) continue;
    const StatDescription description = DescribeStat(static_cast<uint32_t>(ids->value(i)->number()));
    EXPECT_EQ(description.name, ids->value(i)->name());
    EXPECT_NE(description.severity, pb::SEVERITY_UNSPECIFIED) << description.name;
    EXPECT_NE(description.meaning, "") << description.name;
  }
}

TEST(StatCatalogTest, ReadsTheOptionsOfTheProto) {
  const StatDescription description = DescribeStat(pb::STAT_RECORDS_DROPPED_BY_CUPTI);
  EXPECT_EQ(description.severity, pb::SEVERITY_DATA_LOSS);
  EXPECT_EQ(description.advice, "raise GPUEXEC_MEMORY, or write the trace to a faster disk");
}

TEST(StatCatalogTest, UnknownNumbersAreNamedByNumber) {
  EXPECT_EQ(DescribeStat(4000).name, "STAT_4000");
  EXPECT_EQ(DescribeStat(UINT32_MAX).severity, pb::SEVERITY_UNSPECIFIED);
}

TEST(StatCatalogTest, OnlyLossesAndErrorsMeanLostData) {
  EXPECT_TRUE(MeansDataLost(pb::SEVERITY_ERROR));
  EXPECT_TRUE(MeansDataLost(pb::SEVERITY_DATA_LOSS));
  EXPECT_FALSE(MeansDataLost(pb::SEVERITY_NOTICE));
  EXPECT_FALSE(MeansDataLost(pb::SEVERITY_INFO));
  EXPECT_EQ(SeverityWord(pb::SEVERITY_DATA_LOSS), "data loss");
}

}  // namespace
}  // namespace gx::analysis
