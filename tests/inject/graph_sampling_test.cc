#include "inject/graph_sampling.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace gx::inject {
namespace {

class GraphSamplingTest : public ::testing::Test {
 protected:
  std::unique_ptr<GraphSamplingTable> table_ = std::make_unique<GraphSamplingTable>();
};

TEST_F(GraphSamplingTest, AGraphIsUnknownUntilItIsDescribed) {
  EXPECT_EQ(table_->Get(0), GraphSampling::kUnknown);
  EXPECT_EQ(table_->Get(7), GraphSampling::kUnknown);
  table_->Set(7, GraphSampling::kMay);
  table_->Set(8, GraphSampling::kNever);
  EXPECT_EQ(table_->Get(7), GraphSampling::kMay);
  EXPECT_EQ(table_->Get(8), GraphSampling::kNever);
  EXPECT_EQ(table_->Get(9), GraphSampling::kUnknown);
}

TEST_F(GraphSamplingTest, WhatIsSaidLaterHolds) {
  table_->Set(7, GraphSampling::kMay);
  table_->Set(7, GraphSampling::kNever);
  EXPECT_EQ(table_->Get(7), GraphSampling::kNever);
  table_->Set(7, GraphSampling::kUnknown);
  EXPECT_EQ(table_->Get(7), GraphSampling::kUnknown);
}

TEST_F(GraphSamplingTest, NoGraphIsNeverAnything) {
  table_->Set(0, GraphSampling::kMay);
  EXPECT_EQ(table_->Get(0), GraphSampling::kUnknown);
  EXPECT_EQ(table_->Get(GraphSamplingTable::kSize), GraphSampling::kUnknown);
}

TEST_F(GraphSamplingTest, OfTwoGraphsForOneEntryTheEarlierIsUnknownAgain) {
  const uint32_t later = 7 + 3 * GraphSamplingTable::kSize;
  table_->Set(7, GraphSampling::kMay);
  EXPECT_EQ(table_->Get(later), GraphSampling::kUnknown);
  table_->Set(later, GraphSampling::kNever);
  EXPECT_EQ(table_->Get(7), GraphSampling::kUnknown);
  EXPECT_EQ(table_->Get(later), GraphSampling::kNever);
  table_->Set(UINT32_MAX, GraphSampling::kMay);
  EXPECT_EQ(table_->Get(UINT32_MAX), GraphSampling::kMay);
}

TEST_F(GraphSamplingTest, AReaderNeverSeesOneGraphsStateForAnother) {
  const uint32_t other = 7 + GraphSamplingTable::kSize;
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) {
      table_->Set(7, GraphSampling::kMay);
      table_->Set(other, GraphSampling::kNever);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_NE(table_->Get(7), GraphSampling::kNever);
    EXPECT_NE(table_->Get(other), GraphSampling::kMay);
  }
  writer.join();
}

}  // namespace
}  // namespace gx::inject
