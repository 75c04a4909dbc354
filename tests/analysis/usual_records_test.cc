#include "analysis/usual_records.h"

#include <gtest/gtest.h>

namespace gx::analysis {
namespace {

class UsualRecordsTest : public ::testing::Test {
 protected:
  UsualRecordsTest() { model_.signatures.resize(2); }

  TraceModel model_;
};

TEST_F(UsualRecordsTest, TheRecordThatMostKernelsHadSpeaks) {
  model_.kernels_by_signature_and_attributes[{0, 5}] = 2;
  model_.kernels_by_signature_and_attributes[{0, 7}] = 9;
  model_.kernels_by_signature_and_attributes[{1, 5}] = 1;
  const UsualRecords records(model_);
  EXPECT_EQ(records.Of(model_.signatures[0]), 7u);
  EXPECT_EQ(records.Of(model_.signatures[1]), 5u);
}

TEST_F(UsualRecordsTest, OfEquallyManyItIsTheFirst) {
  model_.kernels_by_signature_and_attributes[{0, 7}] = 3;
  model_.kernels_by_signature_and_attributes[{0, 5}] = 3;
  EXPECT_EQ(UsualRecords(model_).Of(model_.signatures[0]), 5u);
}

TEST_F(UsualRecordsTest, WithoutKernelsItIsTheSignaturesOwn) {
  model_.signatures[1].attributes = 4;
  EXPECT_EQ(UsualRecords(model_).Of(model_.signatures[0]), kNone);
  EXPECT_EQ(UsualRecords(model_).Of(model_.signatures[1]), 4u);
}

}  // namespace
}  // namespace gx::analysis
