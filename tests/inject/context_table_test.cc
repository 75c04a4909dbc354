#include "inject/context_table.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gx::inject {
namespace {

void* Handle(uint32_t id) { return reinterpret_cast<void*>(uintptr_t{0x1000} + id * 16); }

TEST(ContextTable, KnowsTheDeviceAndTheHandleOfALivingContext) {
  ContextTable table;
  table.Add(1, 3, Handle(1));
  uint32_t device_id = 0;
  EXPECT_TRUE(table.Device(1, &device_id));
  EXPECT_EQ(device_id, 3u);
  EXPECT_EQ(table.Living(1), Handle(1));
  EXPECT_TRUE(table.IsLiving(Handle(1)));
  EXPECT_FALSE(table.Device(2, &device_id));
  EXPECT_EQ(table.Living(2), nullptr);
  EXPECT_FALSE(table.IsLiving(nullptr));
}

TEST(ContextTable, AnswersForADestroyedContextsQueuedLaunchesButGivesNoHandle) {
  ContextTable table;
  table.Add(1, 3, Handle(1));
  table.Remove(1);
  uint32_t device_id = 0;
  EXPECT_TRUE(table.Device(1, &device_id));
  EXPECT_EQ(device_id, 3u);
  EXPECT_EQ(table.Living(1), nullptr);
  EXPECT_FALSE(table.IsLiving(Handle(1)));
}

TEST(ContextTable, ALivingContextOutlastsAnyNumberOfShortOnes) {
  ContextTable table;
  table.Add(1, 1, Handle(1));
  for (uint32_t id = 2; id < 10 * ContextTable::kSize; ++id) {
    table.Add(id, 0, Handle(id));
    table.Remove(id);
  }
  uint32_t device_id = 0;
  EXPECT_TRUE(table.Device(1, &device_id));
  EXPECT_EQ(device_id, 1u);
  EXPECT_EQ(table.Living(1), Handle(1));
}

TEST(ContextTable, VisitsWhatLives) {
  ContextTable table;
  table.Add(1, 0, Handle(1));
  table.Add(2, 0, Handle(2));
  table.Remove(1);
  int visited = 0;
  table.ForEach([&](void* context) {
    EXPECT_EQ(context, Handle(2));
    ++visited;
  });
  EXPECT_EQ(visited, 1);
}

}  // namespace
}  // namespace gx::inject
