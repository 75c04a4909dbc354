#include "inject/import_patch.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

int Replacement() { return 42; }

class ImportPatch : public ::testing::Test {
 protected:
  void Load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    call_ = reinterpret_cast<int (*)()>(dlsym(library, "gx_call_stub"));
    ASSERT_NE(call_, nullptr);
  }
  int (*call_)() = nullptr;
};

// In this order: what is redirected stays so.
TEST_F(ImportPatch, CallsOfOtherLibrariesGoToTheReplacement) {
  const uint64_t before = LoadedObjectsCount();
  Load(GX_IMPORT_USER);
  EXPECT_NE(LoadedObjectsCount(), before) << "a library was loaded";
  EXPECT_EQ(call_(), 1);

  EXPECT_EQ(RedirectImports("gx_no_such_function", reinterpret_cast<void*>(&Replacement)), 0u);
  EXPECT_EQ(call_(), 1);

  EXPECT_GE(RedirectImports("gx_stub_function", reinterpret_cast<void*>(&Replacement)), 1u);
  EXPECT_EQ(call_(), 42);
  EXPECT_EQ(RedirectImports("gx_stub_function", reinterpret_cast<void*>(&Replacement)), 0u) << "done already";

  // Found by dlsym, the original is still itself.
  void* stub = dlopen(GX_STUB_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(stub, nullptr);
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(stub, "gx_stub_function"))(), 1);
}

TEST_F(ImportPatch, LibrariesOfNvidiaItselfAreLeftAlone) {
  Load(GX_IMPORT_USER_AS_CUPTI);
  EXPECT_EQ(call_(), 1);
  EXPECT_EQ(RedirectImports("gx_stub_function", reinterpret_cast<void*>(&Replacement)), 0u);
  EXPECT_EQ(call_(), 1);
}

TEST_F(ImportPatch, WhoImportsAFunctionIsNamedButForLibrariesOfNvidiaItself) {
  Load(GX_IMPORT_USER);
  Load(GX_IMPORT_USER_AS_CUPTI);
  EXPECT_THAT(ImportersOf("gx_stub_function"), ElementsAre(GX_IMPORT_USER));
  EXPECT_THAT(ImportersOf("gx_call_stub"), IsEmpty()) << "it is exported, not imported";
  EXPECT_THAT(ImportersOf("gx_no_such_function"), IsEmpty());
  EXPECT_THAT(ImportersOf("dlopen"), Contains("the program itself"));
}

TEST(LoadedObjectsCount, StaysWhileNothingIsLoaded) { EXPECT_EQ(LoadedObjectsCount(), LoadedObjectsCount()); }

}  // namespace
}  // namespace gx::inject
