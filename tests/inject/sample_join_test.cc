#include "inject/sample_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SampleIdentity Launch(uint32_t session_id, uint32_t order) {
  SampleIdentity identity;
  identity.session_id = session_id;
  identity.range_order = order;
  identity.thread_id = 12;
  identity.enter_monotonic_ns = 1'000 + order;
  identity.correlation_id = 100 + order;
  identity.signature_iid = 3;
  identity.launch_number = order + 1;
  return identity;
}

CounterValuesItem Values(uint32_t session_id, const std::vector<uint32_t>& orders) {
  CounterValuesItem item{session_id, 7, 5, 2, {}};
  for (const uint32_t order : orders) item.ranges.push_back({order, 0, {1.0 * order, 2.5}});
  return item;
}

std::vector<uint64_t> Orders(const std::vector<CounterSampleRecord>& samples) {
  std::vector<uint64_t> orders;
  for (const CounterSampleRecord& sample : samples) orders.push_back(sample.range_order);
  return orders;
}

TEST(SampleJoin, ASampleIsItsLaunchAndItsValues) {
  SampleJoin join;
  SampleIdentity launch = Launch(4, 9);
  launch.graph_exec_id = 6;
  launch.flags = kCounterAfterSwitch;
  EXPECT_FALSE(join.AddIdentity(launch).has_value());
  CounterValuesItem item = Values(4, {9});
  item.ranges[0].flags = kCounterFirstOfSession;
  item.ranges[0].values.push_back(std::numeric_limits<double>::quiet_NaN());
  const std::vector<CounterSampleRecord> samples = join.AddValues(item);
  ASSERT_THAT(samples, SizeIs(1));
  const CounterSampleRecord& sample = samples[0];
  EXPECT_EQ(sample.group_iid, 7u);
  EXPECT_EQ(sample.session_id, 4u);
  EXPECT_EQ(sample.window_id, 5u);
  EXPECT_EQ(sample.context_id, 2u);
  EXPECT_EQ(sample.thread_id, 12u);
  EXPECT_EQ(sample.enter_monotonic_ns, 1'009u);
  EXPECT_EQ(sample.correlation_id, 109u);
  EXPECT_EQ(sample.signature_iid, 3u);
  EXPECT_EQ(sample.graph_exec_id, 6u);
  EXPECT_EQ(sample.range_order, 9u);
  EXPECT_EQ(sample.launch_number, 10u);
  EXPECT_EQ(sample.flags, kCounterFirstOfSession | kCounterAfterSwitch) << "flags of both";
  ASSERT_THAT(sample.values, SizeIs(3));
  EXPECT_EQ(sample.values[0], 9.0);
  EXPECT_EQ(sample.values[1], 2.5);
  EXPECT_TRUE(std::isnan(sample.values[2])) << "unavailable stays unavailable";
  EXPECT_EQ(join.waiting(), 0u);
}

TEST(SampleJoin, ValuesThatComeFirstWaitForTheirLaunch) {
  SampleJoin join;
  EXPECT_THAT(join.AddValues(Values(1, {0, 1})), IsEmpty());
  EXPECT_EQ(join.waiting(), 2u);
  const auto sample = join.AddIdentity(Launch(1, 1));
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->range_order, 1u);
  EXPECT_EQ(sample->values[0], 1.0);
  EXPECT_EQ(join.waiting(), 1u);
}

TEST(SampleJoin, SamplesOfAnItemKeepTheirOrderAndThoseWithoutALaunchWait) {
  SampleJoin join;
  for (const uint32_t order : {3u, 0u, 2u}) EXPECT_FALSE(join.AddIdentity(Launch(1, order)).has_value());
  EXPECT_THAT(Orders(join.AddValues(Values(1, {0, 1, 2, 3}))), ElementsAre(0u, 2u, 3u));
  EXPECT_EQ(join.waiting(), 1u);
  EXPECT_EQ(join.TakeLostIdentities() + join.TakeLostValues(), 0u);
}

TEST(SampleJoin, ManySessionsDoNotMeetEachOther) {
  SampleJoin join;
  for (uint32_t session = 1; session <= 50; ++session) {
    for (uint32_t order = 0; order < 20; ++order) (void)join.AddIdentity(Launch(session, order));
  }
  for (uint32_t session = 50; session >= 1; --session) {
    const auto samples = join.AddValues(Values(session, {0, 7, 19}));
    ASSERT_THAT(Orders(samples), ElementsAre(0u, 7u, 19u)) << session;
    for (const CounterSampleRecord& sample : samples) EXPECT_EQ(sample.session_id, session);
  }
  EXPECT_EQ(join.waiting(), 50u * 17);
}

TEST(SampleJoin, ASessionsEndForgetsItsOwnLaunchesAndLeavesTheCountToItsOwner) {
  SampleJoin join;
  for (const uint32_t session : {1u, 2u, 3u}) {
    (void)join.AddIdentity(Launch(session, 0));
    (void)join.AddIdentity(Launch(session, UINT32_MAX));
  }
  join.EndSession(2);
  EXPECT_EQ(join.TakeLostIdentities(), 0u);
  EXPECT_EQ(join.waiting(), 4u);
  EXPECT_THAT(join.AddValues(Values(1, {0})), SizeIs(1));
  EXPECT_THAT(join.AddValues(Values(3, {UINT32_MAX})), SizeIs(1));
}

TEST(SampleJoin, WhatNeverMetIsToldAtTheEnd) {
  SampleJoin join;
  (void)join.AddIdentity(Launch(1, 0));
  (void)join.AddValues(Values(1, {1, 2}));
  join.EndAll();
  EXPECT_EQ(join.TakeLostIdentities(), 1u);
  EXPECT_EQ(join.TakeLostValues(), 2u);
  EXPECT_EQ(join.TakeLostIdentities() + join.TakeLostValues(), 0u) << "told once";
  EXPECT_EQ(join.waiting(), 0u);
}

TEST(SampleJoin, OfTwoHalvesOfOneNameTheFirstIsKept) {
  SampleJoin join;
  (void)join.AddIdentity(Launch(1, 0));
  SampleIdentity again = Launch(1, 0);
  again.signature_iid = 99;
  (void)join.AddIdentity(again);
  EXPECT_EQ(join.TakeLostIdentities(), 1u);
  const auto samples = join.AddValues(Values(1, {0}));
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].signature_iid, 3u);

  (void)join.AddValues(Values(2, {0, 0}));
  EXPECT_EQ(join.TakeLostValues(), 1u);
}

TEST(SampleJoin, ARangeWithoutValuesSaysNothing) {
  SampleJoin join;
  (void)join.AddIdentity(Launch(1, 0));
  CounterValuesItem item = Values(1, {0});
  item.ranges[0].values.clear();
  EXPECT_THAT(join.AddValues(item), IsEmpty());
  EXPECT_THAT(join.AddValues(Values(1, {0})), SizeIs(1));
}

TEST(SampleJoin, TooManyThatWaitPushTheOldestSessionOut) {
  SampleJoin join;
  constexpr auto kLaunches = static_cast<uint32_t>(SampleJoin::kMaxIdentities);
  for (uint32_t i = 0; i < kLaunches; ++i) (void)join.AddIdentity(Launch(2, i));
  EXPECT_EQ(join.TakeLostIdentities(), 0u);
  (void)join.AddIdentity(Launch(3, 0));
  EXPECT_EQ(join.TakeLostIdentities(), 1u);
  EXPECT_EQ(join.waiting(), SampleJoin::kMaxIdentities);
  EXPECT_THAT(join.AddValues(Values(3, {0})), SizeIs(1)) << "the new one is there";

  SampleJoin other;
  constexpr auto kValues = static_cast<uint32_t>(SampleJoin::kMaxValues);
  for (uint32_t i = 0; i < kValues + 5; ++i) (void)other.AddValues(Values(1, {i}));
  EXPECT_EQ(other.TakeLostValues(), 5u);
  EXPECT_EQ(other.waiting(), SampleJoin::kMaxValues);
  EXPECT_FALSE(other.AddIdentity(Launch(1, 4)).has_value());
  EXPECT_TRUE(other.AddIdentity(Launch(1, 5)).has_value());
}

}  // namespace
}  // namespace gx::inject
