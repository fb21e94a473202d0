// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/output_place.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kOther = 65534;

class OutputPlaces : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return tmp_.path(name); }
  void touch(const std::string& name) const { std::ofstream(path(name)) << "x"; }
  void link(const std::string& to, const std::string& name) const {
    fs::create_symlink(to, path(name));
  }
  /// A folder like /tmp.
  void makeShared(const std::string& name) const {
    fs::create_directory(path(name));
    fs::permissions(path(name), fs::perms(01777));
  }
  void giveAway(const std::string& name) const {
    ASSERT_EQ(lchown(path(name).c_str(), kOther, kOther), 0);
  }

  const test::TempFolder tmp_;
};

TEST_F(OutputPlaces, AreThePathItselfWithoutLinks) {
  const auto missing = findOutputPlace(path("a.sbt"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->path, path("a.sbt"));
  EXPECT_FALSE(missing->exists);
  touch("a.sbt");
  EXPECT_TRUE(findOutputPlace(path("a.sbt"))->exists);
  EXPECT_EQ(findOutputPlace("no/such/a.sbt")->path, "no/such/a.sbt");
  EXPECT_FALSE(findOutputPlace("no/such/a.sbt")->exists);
}

TEST_F(OutputPlaces, AreWhereLinksLeadEvenIfNothingIsThere) {
  fs::create_directory(path("d"));
  link("../far/x.sbt", "d/two");
  link("d/two", "one");
  link("d", "folder");
  for (const char* name : {"one", "d/two", "folder/two", "./folder//two"}) {
    const auto place = findOutputPlace(path(name));
    ASSERT_TRUE(place) << place.error().toString();
    EXPECT_EQ(fs::path(place->path).lexically_normal(), path("far/x.sbt"));
    EXPECT_FALSE(place->exists);
  }
  fs::create_directory(path("far"));
  touch("far/x.sbt");
  EXPECT_TRUE(findOutputPlace(path("one"))->exists);
  EXPECT_TRUE(S_ISDIR(findOutputPlace(path("folder"))->entry.st_mode));
}

TEST_F(OutputPlaces, EndWhereLinksDoNot) {
  link("b", "a");
  link("a", "b");
  EXPECT_THAT(findOutputPlace(path("a")).error().message, HasSubstr("too many"));
  touch("file");
  EXPECT_FALSE(findOutputPlace(path("file/x")));
  EXPECT_FALSE(findOutputPlace(path("file/")));
  EXPECT_FALSE(findOutputPlace(path("nothing/")));
}

TEST_F(OutputPlaces, OfTheSystemAreMarked) {
  link("/dev/stdout", "out");
  EXPECT_TRUE(findOutputPlace(path("out"))->in_system);
  EXPECT_TRUE(findOutputPlace("/proc/self/fd/1")->in_system);
  EXPECT_FALSE(findOutputPlace("/dev/shm/a.sbt")->in_system);
  EXPECT_FALSE(findOutputPlace(path("a"))->in_system);
}

TEST_F(OutputPlaces, AreNotChosenByOthersInASharedFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link to another user";
  makeShared("shared");
  touch("victim");
  link("../victim", "shared/link");
  link(path(""), "shared/folder");
  link("shared/link", "chain");
  link("shared/folder/victim", "through");
  for (const char* name : {"shared/link", "chain", "through"}) {
    EXPECT_TRUE(findOutputPlace(path(name))) << name;
  }
  giveAway("shared/link");
  giveAway("shared/folder");
  for (const char* name : {"shared/link", "chain", "through"}) {
    const auto place = findOutputPlace(path(name));
    ASSERT_FALSE(place) << name;
    EXPECT_EQ(place.error().code, ErrorCode::kPermission);
    EXPECT_THAT(place.error().toString(), HasSubstr("belongs to user 65534"));
  }
  touch("shared/file");
  EXPECT_TRUE(findOutputPlace(path("shared/file")));
  giveAway("shared/file");
  EXPECT_FALSE(findOutputPlace(path("shared/file"))) << "root is no exception";
  fs::permissions(path("shared"), fs::perms(0755));  // other users cannot create anything there
  EXPECT_TRUE(findOutputPlace(path("shared/file")));
  EXPECT_TRUE(findOutputPlace(path("chain")));
}

TEST_F(OutputPlaces, MayBeLinksOfTheFoldersOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link to another user";
  makeShared("shared");
  link("../victim", "shared/link");
  giveAway("shared/link");
  giveAway("shared");
  EXPECT_TRUE(findOutputPlace(path("shared/link")));
}

}  // namespace
}  // namespace tracesmith
