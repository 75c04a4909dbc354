#include "analysis/launch_configuration.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;

// One signature, with what its function, its launch and its record say on top of the common part.
LaunchConfiguration Configuration(const std::string& attributes, const std::string& signature,
                                  const std::string& record) {
  TraceImporter importer(ImportOptions{});
  importer.Import(PacketFromText(
      "header { format_major: 1 } name { iid: 1 value: \"k\" } "
      "device { device_id: 0 attributes { compute_capability_major: 9 multiprocessor_count: 132 "
      "  compute_capability_minor: 0 } } "
      "function { iid: 1 name_iid: 1 attributes { registers_per_thread: 32 " +
      attributes +
      " } } signature { iid: 1 function_iid: 1 grid_x: 1024 grid_y: 1 grid_z: 1 block_x: 256 block_y: 1 block_z: 1 " +
      signature +
      " } kernel_attributes { iid: 1 name_iid: 1 registers_per_thread: 40 static_shared_memory_bytes: 2048 " + record +
      " }"));
  const TraceModel model = importer.Finish();
  return ConfigurationOf(model, model.signatures.at(0), record.empty() ? kNone : 0);
}

TEST(LaunchConfigurationTest, AClusterIsTheLaunchsElseTheFunctionsElseTheRecords) {
  const std::string required =
      "preferred_shared_memory_carveout: -1 required_cluster_x: 4 required_cluster_y: 1 required_cluster_z: 1";
  const std::string record = "cluster_x: 8 cluster_y: 1 cluster_z: 1";
  EXPECT_EQ(Configuration(required, "cluster_x: 2 cluster_y: 1 cluster_z: 1", record).cluster, (Dim{2, 1, 1}));
  EXPECT_EQ(Configuration(required, "", record).cluster, (Dim{4, 1, 1}));
  EXPECT_EQ(Configuration("", "", record).cluster, (Dim{8, 1, 1}));
  EXPECT_EQ(Configuration("", "", "cluster_x: 1 cluster_y: 1 cluster_z: 1").cluster, std::nullopt);
}

// __cluster_dims__: the launch says nothing of a cluster, and its blocks fill fewer slots all the same.
TEST(LaunchConfigurationTest, ARequiredClusterBoundsTheSlots) {
  const LaunchConfiguration launch = Configuration(
      "preferred_shared_memory_carveout: -1 required_cluster_x: 4 required_cluster_y: 1 required_cluster_z: 1", "",
      "cluster_x: 4 cluster_y: 1 cluster_z: 1 max_active_clusters: 90");
  EXPECT_EQ(launch.residency.slot_count, 360u);
}

TEST(LaunchConfigurationTest, AttributesThatCouldNotBeReadAreNoPreferences) {
  const LaunchConfiguration launch = Configuration("result: 400", "", "shared_memory_executed_bytes: 0");
  EXPECT_EQ(launch.function_registers_per_thread, std::nullopt);
  EXPECT_EQ(launch.registers_per_thread, 40u);
  EXPECT_EQ(launch.static_shared_memory_bytes, 2048u);
  EXPECT_EQ(launch.residency.blocks_per_sm, 6u);
}

}  // namespace
}  // namespace gx::analysis
