// The exact occupancy model against what the CUDA runtime of a real device answered (tests/gpu/evidence).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/model/occupancy_sweep.h"

namespace gx::model {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Sweep H200Sweep() {
  std::ifstream file(std::string(GX_SOURCE_DIR) + "/tests/gpu/evidence/occupancy_sweep_h200.tsv");
  auto sweep = ReadSweep(file);
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : Sweep();
}

template <typename Point>
std::vector<std::string> Differences(const Sweep& sweep, const std::vector<Point>& points) {
  std::vector<std::string> differences;
  for (const Point& point : points) {
    if (const auto difference = Difference(sweep, point)) differences.push_back(*difference);
  }
  return differences;
}

TEST(OccupancyOnH200, TheRuntimeAnswersWhatTheModelDoes) {
  const Sweep sweep = H200Sweep();
  EXPECT_EQ(sweep.device, "NVIDIA H200");
  ASSERT_GE(sweep.points.size(), 2000u);
  EXPECT_THAT(Differences(sweep, sweep.points), IsEmpty());
}

TEST(OccupancyOnH200, ClustersNeverFillMoreThanTheModelsSlots) {
  const Sweep sweep = H200Sweep();
  ASSERT_GE(sweep.clusters.size(), 200u);
  EXPECT_THAT(Differences(sweep, sweep.clusters), IsEmpty());
}

// The device's values are the table's: whoever has no device at hand gets the same answers.
TEST(OccupancyOnH200, TheDeviceSaysWhatTheTableHas) {
  const Sweep sweep = H200Sweep();
  EXPECT_FALSE(sweep.limits.from_device.empty());
  EXPECT_TRUE(sweep.limits.unlike_table.empty()) << sweep.limits.unlike_table.ToString();
}

class SweepComparison : public ::testing::Test {
 protected:
  static std::string Head() { return "# device X\n# compute_capability 9.0\n# sm_count 132\n"; }
  static std::optional<std::string> DifferenceIn(const std::string& line) {
    std::istringstream in(Head() + line);
    const auto sweep = ReadSweep(in);
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    if (!sweep.ok()) return std::nullopt;
    return sweep->points.empty() ? Difference(*sweep, sweep->clusters.at(0)) : Difference(*sweep, sweep->points.at(0));
  }
};

TEST_F(SweepComparison, SeesAnAnswerThatIsOneBlockOff) {
  EXPECT_EQ(DifferenceIn("k\t64\t0\t1024\t0\t49152\t-1\t0\t256\t4\n"), std::nullopt);
  EXPECT_EQ(DifferenceIn("k\t64\t0\t1024\t0\t49152\t-1\t0\t256\t5\n"),
            "line 4: k, 64 registers, 0+0 bytes (dynamic at most 49152), carve-out -1, 256 threads: runtime 5, model 4 "
            "(registers)");
}

TEST_F(SweepComparison, SeesMoreClustersThanSlots) {
  EXPECT_EQ(DifferenceIn("cluster\tk\t64\t0\t0\t256\t4\t4\t132\n"), std::nullopt);
  EXPECT_THAT(DifferenceIn("cluster\tk\t64\t0\t0\t256\t4\t4\t133\n").value_or(""), HasSubstr("at most 528 blocks"));
}

TEST_F(SweepComparison, RefusesLinesAndHeadsThatAreNone) {
  std::istringstream short_line(Head() + "k\t64\t0\n");
  EXPECT_EQ(ReadSweep(short_line).status().message(), "line 4: expected 10 fields");
  std::istringstream no_head("k\t64\t0\t1024\t0\t49152\t-1\t0\t256\t4\n");
  EXPECT_EQ(ReadSweep(no_head).status().message(), "no head of a sweep");
}

}  // namespace
}  // namespace gx::model
