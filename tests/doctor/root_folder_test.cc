#include "tools/doctor/root_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/doctor/fake_root.h"

namespace gx::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RootFolder, ReadsRegularFilesOfTheFolderThatItStandsFor) {
  const FakeRoot fake({{"/etc/a", "one\n"}, {"/etc/b", ""}});
  const RootFolder root = fake.root();
  EXPECT_EQ(root.Read("/etc/a"), "one\n");
  EXPECT_EQ(root.Read("/etc/b"), "");
  EXPECT_EQ(root.Read("/etc/c"), std::nullopt);
  EXPECT_EQ(root.Read("/etc"), std::nullopt);
  EXPECT_TRUE(root.Exists("/etc/a"));
  EXPECT_FALSE(root.IsFolder("/etc/a"));
  EXPECT_TRUE(root.IsFolder("/etc"));
  EXPECT_THAT(root.List("/etc"), ElementsAre("a", "b"));
  EXPECT_THAT(root.List("/nowhere"), IsEmpty());
}

TEST(RootFolder, DoesNotWaitForAPipe) {
  FakeRoot fake({{"/run/a", ""}});
  ASSERT_EQ(::mkfifo(fake.Place("/run/pipe").c_str(), 0600), 0);
  EXPECT_EQ(fake.root().Read("/run/pipe"), std::nullopt);
}

TEST(RootFolder, ReadsNoMoreOfAFileThanItsLimit) {
  const FakeRoot fake({{"/big", std::string(RootFolder::kMaxFileBytes + 5000, 'x')}});
  const std::optional<std::string> text = fake.root().Read("/big");
  ASSERT_TRUE(text);
  EXPECT_GE(text->size(), RootFolder::kMaxFileBytes);
  EXPECT_LE(text->size(), RootFolder::kMaxFileBytes + 4096);
}

TEST(RootFolder, FollowsLinksWithinTheFolder) {
  FakeRoot fake({{"/lib/libcuda.so.580.1", ""}});
  fake.Link("/lib/libcuda.so.1", "libcuda.so.580.1");
  EXPECT_EQ(fake.root().Canonical("/lib/libcuda.so.1"), "/lib/libcuda.so.580.1");
  EXPECT_EQ(fake.root().Canonical("/lib/absent"), "/lib/absent");
}

}  // namespace
}  // namespace gx::doctor
