#include "inject/replay_memory.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gx::inject {
namespace {

constexpr ReplayObstacle kAll[] = {ReplayObstacle::kManaged, ReplayObstacle::kHostMapped, ReplayObstacle::kIpc,
                                   ReplayObstacle::kPool,    ReplayObstacle::kPeer,       ReplayObstacle::kUnknown};

TEST(ReplayMemory, WithPlainDeviceMemoryUpToTheLimitReplayIsAllowed) {
  const ReplayMemory memory;
  const char* why = "untouched";
  EXPECT_TRUE(memory.MayReplay(100, 100, &why));
  EXPECT_STREQ(why, "untouched");
  EXPECT_FALSE(memory.MayReplay(101, 100, &why));
  EXPECT_NE(std::string(why).find("more device memory"), std::string::npos) << why;
}

TEST(ReplayMemory, AnUnknownAmountIsRefused) {
  const ReplayMemory memory;
  const char* why = nullptr;
  EXPECT_FALSE(memory.MayReplay(0, 100, &why));
  EXPECT_NE(std::string(why).find("not known"), std::string::npos) << why;
  EXPECT_FALSE(memory.MayReplay(0, 100, nullptr));
}

TEST(ReplayMemory, EachObstacleIsRefusedWithAReasonOfItsOwn) {
  std::set<std::string> reasons;
  for (const ReplayObstacle obstacle : kAll) {
    ReplayMemory memory;
    EXPECT_FALSE(memory.Has(obstacle));
    memory.Note(obstacle);
    for (const ReplayObstacle other : kAll) EXPECT_EQ(memory.Has(other), other == obstacle);
    const char* why = nullptr;
    EXPECT_FALSE(memory.MayReplay(1, 100, &why));
    reasons.insert(why);
  }
  EXPECT_EQ(reasons.size(), std::size(kAll));
}

TEST(ReplayMemory, ObstaclesStay) {
  ReplayMemory memory;
  memory.Note(ReplayObstacle::kPool);
  memory.Note(ReplayObstacle::kManaged);
  memory.Note(ReplayObstacle::kManaged);
  const char* why = nullptr;
  EXPECT_FALSE(memory.MayReplay(1, 100, &why));
  EXPECT_NE(std::string(why).find("managed"), std::string::npos) << "the first in the order of the enumeration";
  EXPECT_TRUE(memory.Has(ReplayObstacle::kPool));
}

}  // namespace
}  // namespace gx::inject
