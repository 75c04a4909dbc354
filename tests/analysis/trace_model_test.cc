#include "analysis/trace_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::FromText;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace pb = gpuexec::v1;

TEST(IidIndexTest, SmallAndHugeIdsAreFound) {
  IidIndex index;
  EXPECT_EQ(index.Find(0), kNone);
  EXPECT_EQ(index.Find(UINT64_MAX), kNone);
  index.Set(1, 10);
  index.Set(70, 11);
  index.Set(UINT64_MAX, 12);
  EXPECT_EQ(index.Find(1), 10u);
  EXPECT_EQ(index.Find(70), 11u);
  EXPECT_EQ(index.Find(UINT64_MAX), 12u);
  EXPECT_EQ(index.Find(69), kNone);
  EXPECT_EQ(index.Find(1 << 20), kNone);
}

TEST(DefinitionTableTest, ASecondDefinitionAddsToTheFirst) {
  DefinitionTable<pb::Function> table;
  table.Merge(3, FromText<pb::Function>("iid: 3 name_iid: 9"));
  table.Merge(3, FromText<pb::Function>("iid: 3 attributes { registers_per_thread: 40 }"));
  ASSERT_NE(table.Get(3), nullptr);
  EXPECT_EQ(table.Get(3)->name_iid(), 9u);
  EXPECT_EQ(table.Get(3)->attributes().registers_per_thread(), 40u);
  EXPECT_EQ(table.Get(4), nullptr);
  EXPECT_EQ(table.size(), 1u);
}

class SignatureDifferencesTest : public ::testing::Test {
 protected:
  SignatureDifferencesTest() {
    model_.names[1] = "a";
    model_.names[2] = "b";
    model_.functions.Merge(
        1, FromText<pb::Function>(
               "iid: 1 name_iid: 1 attributes { registers_per_thread: 40 static_shared_memory_bytes: 8 }"));
    entry_.defined = true;
    entry_.definition = FromText<pb::Signature>(
        "function_iid: 1 grid_x: 2 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 dynamic_shared_memory_bytes: "
        "64");
    record_ = FromText<pb::KernelAttributes>(
        "name_iid: 1 grid_x: 2 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 dynamic_shared_memory_bytes: 64 "
        "registers_per_thread: 40 static_shared_memory_bytes: 8");
  }
  TraceModel model_;
  SignatureEntry entry_;
  pb::KernelAttributes record_;
};

TEST_F(SignatureDifferencesTest, EqualValuesHaveNone) {
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_), IsEmpty());
}

TEST_F(SignatureDifferencesTest, EveryValueIsCompared) {
  record_.set_grid_x(3);
  record_.set_block_y(2);
  record_.set_dynamic_shared_memory_bytes(0);
  record_.set_registers_per_thread(39);
  record_.set_static_shared_memory_bytes(9);
  record_.set_name_iid(2);
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_),
              ElementsAre("grid: launch 2x1x1, record 3x1x1", "block: launch 32x1x1, record 32x2x1",
                          "dynamic shared memory: launch 64, record 0", "registers: function 40, record 39",
                          "static shared memory: launch 8, record 9", "name: launch a, record b"));
}

TEST_F(SignatureDifferencesTest, MoreRegistersThanTheFunctionNeedsAreWhatLaunchesAreGiven) {
  record_.set_registers_per_thread(48);
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_), IsEmpty());
}

TEST_F(SignatureDifferencesTest, UnknownIsNotDifferent) {
  record_.set_name_iid(99);
  record_.set_registers_per_thread(3);
  pb::Function unreadable = FromText<pb::Function>("iid: 2 name_iid: 1 attributes { result: 98 }");
  model_.functions.Merge(2, unreadable);
  entry_.definition.set_function_iid(2);
  record_.set_static_shared_memory_bytes(7);
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_), IsEmpty());
}

TEST_F(SignatureDifferencesTest, ClustersAreComparedWhereBothNameOne) {
  entry_.definition.set_cluster_x(2);
  entry_.definition.set_cluster_y(1);
  entry_.definition.set_cluster_z(1);
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_), IsEmpty());
  record_.set_cluster_x(4);
  record_.set_cluster_y(1);
  record_.set_cluster_z(1);
  EXPECT_THAT(SignatureDifferences(model_, entry_, record_), ElementsAre("cluster: launch 2x1x1, record 4x1x1"));
}

}  // namespace
}  // namespace gx::analysis
