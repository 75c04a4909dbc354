#include "inject/function_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "inject/hash.h"
#include "tests/fakes/fake_cubin.h"

namespace gx::inject {
namespace {

constexpr uint64_t kBudgetBytes = uint64_t{8} << 20;
// The smallest with 1,024 places for code.
constexpr uint64_t kSmallBudgetBytes = 256 << 10;

const void* Handle(uintptr_t number) { return reinterpret_cast<const void*>(number << 4); }

class FunctionTableTest : public ::testing::Test {
 protected:
  FunctionTableTest() { EXPECT_TRUE(table_.Allocate(kBudgetBytes)); }

  uint32_t Load(uint32_t module_id, const std::string& name, const std::string& code) {
    const std::string cubin = fakes::BuildCubin({{name, {}, code}});
    bool full = false;
    const uint32_t count =
        table_.AddModule(module_id, std::span(reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size()), &full);
    EXPECT_FALSE(full);
    return count;
  }
  std::string_view NameOf(uint32_t index) {
    const FunctionInfo& info = table_.Get(index);
    return {info.name, info.name_bytes};
  }

  FunctionTable table_;
};

TEST(FunctionTableWithoutMemory, FindsNothing) {
  FunctionTable table;
  EXPECT_EQ(table.Find(Handle(1), nullptr, "axpy"), 0u);
  bool full = true;
  EXPECT_EQ(table.AddModule(1, {}, &full), 0u);
  table.RemoveModule(1);
}

TEST(FunctionTableWithoutMemory, RefusesABudgetTooSmallToBeOfUse) {
  FunctionTable table;
  EXPECT_FALSE(table.Allocate(64 << 10));
}

TEST_F(FunctionTableTest, AHandleIsOneFunctionWithNameAndFirstContext) {
  const uint32_t index = table_.Find(Handle(1), Handle(100), "axpy");
  ASSERT_NE(index, 0u);
  EXPECT_EQ(table_.Find(Handle(1), Handle(200), "axpy"), index);
  EXPECT_EQ(NameOf(index), "axpy");
  EXPECT_EQ(table_.Get(index).context, Handle(100));
  EXPECT_EQ(table_.Get(index).handle, Handle(1));
  EXPECT_FALSE(table_.Get(index).has_code);
}

TEST_F(FunctionTableTest, NoHandleIsNoFunction) { EXPECT_EQ(table_.Find(nullptr, nullptr, "axpy"), 0u); }

TEST_F(FunctionTableTest, ANameThatTheCallbackDoesNotGiveStaysUnknown) {
  const uint32_t index = table_.Find(Handle(1), nullptr, nullptr);
  ASSERT_NE(index, 0u);
  EXPECT_EQ(table_.Get(index).name, nullptr);
  table_.NewEpoch();
  EXPECT_EQ(table_.Find(Handle(1), nullptr, "axpy"), index);
}

TEST_F(FunctionTableTest, TheNameIsCopied) {
  std::string name = "axpy";
  const uint32_t index = table_.Find(Handle(1), nullptr, name.c_str());
  name.assign("XXXX");
  EXPECT_EQ(NameOf(index), "axpy");
}

TEST_F(FunctionTableTest, WithinAnEpochTheHandleAloneIsBelieved) {
  const uint32_t index = table_.Find(Handle(1), nullptr, "axpy");
  EXPECT_EQ(table_.Find(Handle(1), nullptr, "another"), index);
}

TEST_F(FunctionTableTest, AHandleUsedAgainForAnotherNameIsAnotherFunction) {
  const uint32_t before = table_.Find(Handle(1), nullptr, "axpy");
  table_.RemoveModule(7);
  const uint32_t after = table_.Find(Handle(1), nullptr, "gemm");
  EXPECT_NE(after, before);
  EXPECT_EQ(NameOf(before), "axpy");
  EXPECT_EQ(NameOf(after), "gemm");
  EXPECT_EQ(table_.Find(Handle(1), nullptr, "gemm"), after);
}

TEST_F(FunctionTableTest, AHandleUsedAgainForOtherCodeOfTheSameNameIsAnotherFunction) {
  Load(1, "axpy", "old code");
  const uint32_t before = table_.Find(Handle(1), nullptr, "axpy");
  table_.RemoveModule(1);
  Load(2, "axpy", "new code");
  const uint32_t after = table_.Find(Handle(1), nullptr, "axpy");
  EXPECT_NE(after, before);
  EXPECT_NE(table_.Get(after).code.hash, table_.Get(before).code.hash);
}

TEST_F(FunctionTableTest, AHandleThatStillMeansTheSameKeepsItsFunctionInANewEpoch) {
  Load(1, "axpy", "code");
  const uint32_t index = table_.Find(Handle(1), nullptr, "axpy");
  const uint32_t epoch = table_.epoch();
  table_.NewEpoch();
  EXPECT_GT(table_.epoch(), epoch);
  EXPECT_LT(table_.Get(index).epoch.load(), table_.epoch()) << "not believed before it was seen again";
  EXPECT_EQ(table_.Find(Handle(1), nullptr, "axpy"), index);
  EXPECT_EQ(table_.Get(index).epoch.load(), table_.epoch());
}

TEST_F(FunctionTableTest, CodeIsTheHashOfTheFunctionsSection) {
  EXPECT_EQ(Load(3, "axpy", "machine code"), 1u);
  const FunctionInfo& info = table_.Get(table_.Find(Handle(1), nullptr, "axpy"));
  ASSERT_TRUE(info.has_code);
  EXPECT_EQ(info.code.hash, HashBytes("machine code", 12));
  EXPECT_EQ(info.code.module_id, 3u);
  EXPECT_FALSE(info.code.ambiguous);
}

TEST_F(FunctionTableTest, CodeOfAnUnloadedModuleIsForgotten) {
  Load(3, "axpy", "machine code");
  table_.RemoveModule(3);
  EXPECT_FALSE(table_.Get(table_.Find(Handle(1), nullptr, "axpy")).has_code);
}

TEST_F(FunctionTableTest, TheSameCodeInTwoModulesIsCertain) {
  Load(1, "axpy", "code");
  Load(2, "axpy", "code");
  const FunctionInfo& info = table_.Get(table_.Find(Handle(1), nullptr, "axpy"));
  ASSERT_TRUE(info.has_code);
  EXPECT_FALSE(info.code.ambiguous);
}

TEST_F(FunctionTableTest, TwoCodesOfOneNameAreAmbiguous) {
  Load(1, "axpy", "code");
  Load(2, "axpy", "other");
  EXPECT_TRUE(table_.Get(table_.Find(Handle(1), nullptr, "axpy")).code.ambiguous);
  Load(3, "axpy", "other");
  EXPECT_TRUE(table_.Get(table_.Find(Handle(2), nullptr, "axpy")).code.ambiguous) << "module 1 is still there";
}

TEST_F(FunctionTableTest, CodeThatTwoModulesHaveOutlivesOneOfThem) {
  Load(1, "axpy", "code");
  Load(2, "axpy", "code");
  table_.RemoveModule(2);
  const FunctionInfo& info = table_.Get(table_.Find(Handle(1), nullptr, "axpy"));
  ASSERT_TRUE(info.has_code) << "module 1 still has it";
  EXPECT_EQ(info.code.hash, HashBytes("code", 4));
}

TEST_F(FunctionTableTest, CodeIsNotCertainAgainWhileAnOlderModuleMayHaveAnother) {
  Load(1, "axpy", "code");
  Load(2, "axpy", "other");
  table_.RemoveModule(2);
  Load(3, "axpy", "third");
  // A handle of module 1 must not be taken for module 3's code.
  EXPECT_TRUE(table_.Get(table_.Find(Handle(1), nullptr, "axpy")).code.ambiguous);
}

TEST_F(FunctionTableTest, AModuleReplacedAgainAndAgainStaysCertain) {
  for (uint32_t i = 1; i < 20; ++i) {
    Load(i, "axpy", "code " + std::to_string(i));
    const FunctionInfo& info = table_.Get(table_.Find(Handle(1), nullptr, "axpy"));
    ASSERT_TRUE(info.has_code);
    EXPECT_FALSE(info.code.ambiguous) << i;
    EXPECT_EQ(info.code.module_id, i);
    table_.RemoveModule(i);
  }
}

TEST_F(FunctionTableTest, AModuleThatIsNoElfFileAddsNothing) {
  bool full = true;
  const uint8_t bytes[] = {1, 2, 3};
  EXPECT_EQ(table_.AddModule(1, bytes, &full), 0u);
  EXPECT_FALSE(full);
}

TEST_F(FunctionTableTest, LongNamesAreCutAndStillRecognised) {
  const std::string name(70'000, 'n');
  const uint32_t index = table_.Find(Handle(1), nullptr, name.c_str());
  ASSERT_NE(index, 0u);
  EXPECT_EQ(table_.Get(index).name_bytes, 65536u);
  table_.NewEpoch();
  EXPECT_EQ(table_.Find(Handle(1), nullptr, name.c_str()), index);
}

TEST(FullFunctionTable, RefusesNewHandlesAndFindsTheOldOnes) {
  FunctionTable table;
  ASSERT_TRUE(table.Allocate(kSmallBudgetBytes));
  uintptr_t count = 0;
  while (table.Find(Handle(count + 1), nullptr, "f") != 0) {
    ++count;
    ASSERT_LT(count, 100'000u);
  }
  EXPECT_GE(count, 255u);
  EXPECT_EQ(table.Find(Handle(count + 2), nullptr, "f"), 0u);
  for (uintptr_t i = 1; i <= count; ++i) EXPECT_EQ(table.Find(Handle(i), nullptr, "f"), i);
}

TEST(FullFunctionTable, WithoutRoomForNamesFunctionsHaveNone) {
  FunctionTable table;
  ASSERT_TRUE(table.Allocate(kSmallBudgetBytes));
  const std::string name(60'000, 'n');
  uint32_t index = 0;
  for (uintptr_t i = 1; i <= 3; ++i) {
    index = table.Find(Handle(i), nullptr, name.c_str());
    ASSERT_NE(index, 0u);
  }
  EXPECT_EQ(table.Get(index).name, nullptr);
  EXPECT_EQ(table.Get(index).name_bytes, 0u);
}

TEST(FullFunctionTable, SaysWhenCodeHasNoRoomLeft) {
  FunctionTable table;
  ASSERT_TRUE(table.Allocate(kSmallBudgetBytes));
  std::vector<fakes::KernelCode> kernels;
  for (int i = 0; i < 2'000; ++i) kernels.push_back({"kernel_" + std::to_string(i), {}, "code"});
  const std::string cubin = fakes::BuildCubin(kernels);
  const std::span bytes(reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size());
  bool full = false;
  table.AddModule(1, bytes, &full);
  EXPECT_TRUE(full);
  EXPECT_TRUE(table.Get(table.Find(Handle(1), nullptr, "kernel_0")).has_code);
  EXPECT_FALSE(table.Get(table.Find(Handle(2), nullptr, "kernel_1999")).has_code);
}

TEST_F(FunctionTableTest, ThreadsThatFindAndInsertAtOnceAgree) {
  constexpr uintptr_t kHandles = 500;
  constexpr int kThreads = 4;
  std::vector<std::vector<uint32_t>> found(kThreads, std::vector<uint32_t>(kHandles));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 40; ++round) {
        for (uintptr_t i = 0; i < kHandles; ++i) {
          const uintptr_t number = t % 2 == 0 ? i : kHandles - 1 - i;
          const std::string name = "f" + std::to_string(number);
          const uint32_t index = table_.Find(Handle(number + 1), nullptr, name.c_str());
          if (index == 0 || NameOf(index) != name) wrong.fetch_add(1);
          found[static_cast<size_t>(t)][number] = index;
        }
        if (t == 0) table_.NewEpoch();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(found[static_cast<size_t>(t)], found[0]);
  EXPECT_EQ(std::set<uint32_t>(found[0].begin(), found[0].end()).size(), kHandles);
}

TEST_F(FunctionTableTest, ModulesComeAndGoWhileThreadsFind) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread finder([&] {
    while (!stop.load()) {
      for (uintptr_t i = 1; i <= 50; ++i) {
        const std::string name = "f" + std::to_string(i);
        const uint32_t index = table_.Find(Handle(i), nullptr, name.c_str());
        // None, where a thread held the lock too long (100 ms): that is an answer too.
        if (index != 0 && NameOf(index) != name) wrong.fetch_add(1);
      }
    }
  });
  for (uint32_t module = 1; module <= 200; ++module) {
    Load(module, "f" + std::to_string(module % 50), "code " + std::to_string(module));
    if (module % 3 == 0) table_.RemoveModule(module - 1);
  }
  stop.store(true);
  finder.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace gx::inject
