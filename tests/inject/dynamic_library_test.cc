#include "inject/dynamic_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace gx::inject {
namespace {

using ::gx::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(OpenFirst, TakesTheFirstThatHasTheSymbol) {
  const OpenedLibrary opened = OpenFirst({{"/nowhere/a.so", false}, {GX_STUB_LIBRARY, false}}, "gx_stub_function");
  EXPECT_NE(opened.handle, nullptr);
  EXPECT_THAT(opened.path, HasSubstr("inject_stub"));
  EXPECT_THAT(opened.tried, ElementsAre(HasSubstr("/nowhere/a.so: ")));
}

TEST(OpenFirst, SaysOfEachCandidateWhyNot) {
  TempDir folder;
  const std::string text = folder.File("text.so");
  std::ofstream(text) << "no library";
  const OpenedLibrary opened = OpenFirst(
      {{"/nowhere/a.so", false}, {text, false}, {GX_STUB_LIBRARY, false}, {"libnever_there.so.9", true}}, "no_such");
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_THAT(
      opened.tried,
      ElementsAre(HasSubstr("No such file"), AllOf(HasSubstr(text), Not(HasSubstr("not in the process"))),
                  AllOf(HasSubstr(GX_STUB_LIBRARY), HasSubstr("has no no_such")), HasSubstr("libnever_there.so.9: ")));
}

TEST(OpenFirst, ALibraryThatMustBeMappedIsNotLoaded) {
  const OpenedLibrary opened = OpenFirst({{GX_UNLOADED_LIBRARY, true}}, "gx_unloaded_function");
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_THAT(opened.tried, ElementsAre(AllOf(HasSubstr("inject_unloaded"), HasSubstr("not in the process"))));
  EXPECT_THAT(MappedLibraries("inject_unloaded"), IsEmpty());
}

TEST(MappedLibraries, AreFoundByTheStartOfTheirFileName) {
  ASSERT_NE(dlopen(GX_STUB_LIBRARY, RTLD_NOW), nullptr);
  EXPECT_THAT(MappedLibraries("inject_stub"), ElementsAre(HasSubstr("/inject_stub")));
  EXPECT_THAT(MappedLibraries("nject_stub"), IsEmpty());
  EXPECT_THAT(MappedLibraries("libc.so"), ElementsAre(HasSubstr("libc.so")));
}

TEST(FolderOf, IsWhatStandsBeforeTheLastSlash) {
  EXPECT_EQ(FolderOf("/a/b/c.so"), "/a/b");
  EXPECT_EQ(FolderOf("c.so"), "");
  EXPECT_EQ(FolderOf("/c.so"), "");
  EXPECT_EQ(FolderOf(""), "");
}

TEST(PathOfAddress, NamesTheObjectThatHoldsIt) {
  void* library = dlopen(GX_STUB_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  EXPECT_THAT(PathOfAddress(dlsym(library, "gx_stub_function")), HasSubstr("inject_stub"));
  int local = 0;
  EXPECT_EQ(PathOfAddress(&local), "");
}

}  // namespace
}  // namespace gx::inject
