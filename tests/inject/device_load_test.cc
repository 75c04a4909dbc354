#include "inject/device_load.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gx::inject {
namespace {

constexpr uint64_t kPieceNs = 250'000'000;

// After the pieces that do not count.
DeviceLoad Begun() {
  DeviceLoad load;
  for (int i = 0; i < 2; ++i) load.Add(kPieceNs, 100 * kPieceNs, 1);
  return load;
}

TEST(DeviceLoad, IsNothingAsLongAsNothingIsKnown) {
  DeviceLoad load;
  EXPECT_EQ(load.busy_permille(), 0u);
  load = Begun();
  EXPECT_EQ(load.busy_permille(), 0u) << "what was launched before has come";
  load.Add(0, 0, 1);
  EXPECT_EQ(load.busy_permille(), 0u);
}

TEST(DeviceLoad, IsTheShareOfTheTimeThatKernelsTake) {
  DeviceLoad load = Begun();
  load.Add(kPieceNs, kPieceNs / 4, 1);
  EXPECT_EQ(load.busy_permille(), 250u);
}

TEST(DeviceLoad, IsOfAllDevicesTogether) {
  DeviceLoad load = Begun();
  load.Add(kPieceNs, kPieceNs, 2);
  EXPECT_EQ(load.busy_permille(), 500u);
  DeviceLoad none = Begun();
  none.Add(kPieceNs, kPieceNs / 2, 0);
  EXPECT_EQ(none.busy_permille(), 500u);
}

TEST(DeviceLoad, KernelsThatOverlapMakeItNoMoreThanFull) {
  DeviceLoad load = Begun();
  load.Add(kPieceNs, 5 * kPieceNs, 1);
  EXPECT_EQ(load.busy_permille(), 1000u);
}

TEST(DeviceLoad, FollowsTheProgramWithinSeconds) {
  DeviceLoad load = Begun();
  for (int i = 0; i < 100; ++i) load.Add(kPieceNs, 0, 1);
  for (int i = 0; i < 30; ++i) load.Add(kPieceNs, kPieceNs, 1);
  EXPECT_GT(load.busy_permille(), 750u);
  EXPECT_LT(load.busy_permille(), 1000u);
}

// Records come in buffers: several pieces' worth at once.
TEST(DeviceLoad, RecordsThatComeInLumpsAreSpread) {
  DeviceLoad load = Begun();
  for (int i = 0; i < 40; ++i) load.Add(kPieceNs, i % 4 == 3 ? 2 * kPieceNs : 0, 1);
  EXPECT_NEAR(load.busy_permille(), 500, 60);
}

}  // namespace
}  // namespace gx::inject
