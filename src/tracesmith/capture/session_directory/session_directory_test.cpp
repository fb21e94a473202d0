// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_directory.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <tuple>

#include "tracesmith/capture/launch/session_report.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

bool exists(const std::string& path) { return std::filesystem::exists(path); }
void touch(const std::string& path) { std::ofstream(path) << "x"; }

TEST(SessionDir, LiesBesideItsOutputAndLeavesNothing) {
  const test::TempDirectory tmp;
  auto dir = SessionDir::create(tmp / "out.sbt");
  ASSERT_TRUE(dir) << dir.error().toString();
  EXPECT_EQ(dir->path(), tmp / "out.sbt.session");
  ASSERT_TRUE(dir->writeInfo({"out.sbt", "a\nb", 7}));
  touch(dir->path() + "/1.2.0.arena");
  touch(dir->path() + "/1.2.1.new");
  touch(dir->path() + "/processes.log");
  touch(dir->path() + "/12.28.unrecorded");
  EXPECT_THAT(dir->arenas(), UnorderedElementsAre(dir->path() + "/1.2.0.arena"));
  const auto unrecorded = dir->unrecorded();
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].pid, 12u);
  EXPECT_EQ(unrecorded[0].error, 28);
  dir->remove();
  EXPECT_FALSE(exists(dir->path()));
}

// On a full disk there may be no space for a note.
TEST(SessionDir, TellsOfFilesWhoseProcessMarkedThemAsGivenUp) {
  const test::TempDirectory tmp;
  auto dir = SessionDir::create(tmp / "out.sbt");
  ASSERT_TRUE(dir) << dir.error().toString();
  for (const char* name : {"1.2.0.arena", "4711.3.0.arena", "4711.3.channel"}) {
    touch(dir->path() + "/" + name);
  }
  EXPECT_TRUE(dir->unrecorded().empty());
  chmod((dir->path() + "/4711.3.0.arena").c_str(), 0600 | arena::kGivenUpMode);
  const auto unrecorded = dir->unrecorded();
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].pid, 4711u);
  EXPECT_EQ(unrecorded[0].step, arena::ArmStep::kDamaged);
  EXPECT_TRUE(dir->unchanneled().empty());
  chmod((dir->path() + "/4711.3.channel").c_str(), 0600 | arena::kGivenUpMode);
  EXPECT_EQ(dir->unchanneled().size(), 1u);
  EXPECT_FALSE(dir->isGivenUp("1.2.0.arena"));
}

TEST(SessionDir, IsFoundAgainWithWhatWasWrittenDown) {
  const test::TempDirectory tmp;
  {
    auto dir = SessionDir::create(tmp / "out.sbt");
    ASSERT_TRUE(dir->writeInfo({tmp / "out.sbt", "a=b c\nd", 7}));
  }
  for (const char* suffix : {"", "/", "///"}) {
    auto again = SessionDir::open(tmp / "out.sbt.session" + suffix);
    ASSERT_TRUE(again) << again.error().toString();
    EXPECT_EQ(again->info().output, tmp / "out.sbt");
    EXPECT_EQ(again->info().command_line, "a=b c d");
    EXPECT_EQ(again->info().root_pid, 7u);
    EXPECT_TRUE(again->begun());
  }
}

TEST(SessionDir, KeepsWhatIsToBeLeftOut) {
  const test::TempDirectory tmp;
  const std::tuple<bool, bool, int64_t> cases[] = {
      {false, true, 0}, {true, false, 2'000'000}, {true, true, INT64_MAX}};
  for (const auto& [kernels, memory, shortest_ns] : cases) {
    {
      auto dir = SessionDir::create(tmp / "out.sbt");
      ASSERT_TRUE(dir->writeInfo({tmp / "out.sbt", "x", 7, kernels, memory, shortest_ns}));
    }
    const auto again = SessionDir::open(tmp / "out.sbt.session");
    ASSERT_TRUE(again) << again.error().toString();
    EXPECT_EQ(again->info().keep_kernels, kernels);
    EXPECT_EQ(again->info().keep_memory, memory);
    EXPECT_EQ(again->info().shortest_call_ns, shortest_ns);
  }
}

TEST(SessionDir, OfAnOlderVersionLeavesNothingOut) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "out.sbt.session");
  std::ofstream(tmp / "out.sbt.session/session.txt") << "output=" << tmp / "out.sbt"
                                                     << "\ncommand_line=x\nroot_pid=7\n";
  const auto dir = SessionDir::open(tmp / "out.sbt.session");
  ASSERT_TRUE(dir) << dir.error().toString();
  EXPECT_EQ(dir->info().root_pid, 7u);
  EXPECT_TRUE(dir->info().keep_kernels);
  EXPECT_TRUE(dir->info().keep_memory);
  EXPECT_EQ(dir->info().shortest_call_ns, 0);
}

TEST(SessionDir, OfASessionThatDiedIsKeptWhenItHoldsArenas) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "out.sbt.session");
  touch(tmp / "out.sbt.session/1.2.0.arena");
  const auto dir = SessionDir::create(tmp / "out.sbt");
  ASSERT_FALSE(dir);
  EXPECT_THAT(dir.error().message, HasSubstr("tracesmith recover " + (tmp / "out.sbt.session")));
  EXPECT_TRUE(exists(tmp / "out.sbt.session/1.2.0.arena"));
}

TEST(SessionDir, WithoutArenasIsUsedAgainUnlessItHoldsWhatNoSessionMakes) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "out.sbt.session");
  touch(tmp / "out.sbt.session/processes.log");
  touch(tmp / "out.sbt.session/thesis.txt");
  const auto refused = SessionDir::create(tmp / "out.sbt");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("thesis.txt"));
  EXPECT_TRUE(exists(tmp / "out.sbt.session/processes.log"));
  std::filesystem::remove(tmp / "out.sbt.session/thesis.txt");
  ASSERT_TRUE(SessionDir::create(tmp / "out.sbt"));
  EXPECT_FALSE(exists(tmp / "out.sbt.session/processes.log"));
}

TEST(SessionDir, BelongsToOneCollectorAtATime) {
  const test::TempDirectory tmp;
  {
    auto first = SessionDir::create(tmp / "out.sbt");
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->writeInfo({tmp / "out.sbt", "x", 1}));
    const SessionDir copy = *first;
    for (const auto& other :
         {SessionDir::create(tmp / "out.sbt"), SessionDir::open(tmp / "out.sbt.session")}) {
      ASSERT_FALSE(other);
      EXPECT_THAT(other.error().message, HasSubstr("still running"));
    }
  }
  EXPECT_TRUE(SessionDir::open(tmp / "out.sbt.session")) << "nobody holds it any more";
}

TEST(SessionDir, IsFreeAgainWhenItsHolderIsKilled) {
  const test::TempDirectory tmp;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    auto dir = SessionDir::create(tmp / "out.sbt");
    const char c = dir ? '1' : '0';
    [[maybe_unused]] const auto n = write(ready[1], &c, 1);
    for (;;) pause();
  }
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, '1');
  EXPECT_FALSE(SessionDir::create(tmp / "out.sbt"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(SessionDir::create(tmp / "out.sbt"));
  close(ready[0]);
  close(ready[1]);
}

TEST(SessionDir, IsNotTakenForOneWhenItIsSomethingElse) {
  const test::TempDirectory tmp;
  EXPECT_EQ(SessionDir::open(tmp / "nowhere").error().code, ErrorCode::kNotFound);
  touch(tmp / "file");
  EXPECT_THAT(SessionDir::open(tmp / "file").error().message, HasSubstr("not a directory"));
  std::filesystem::create_directory(tmp / "photos");
  EXPECT_FALSE(SessionDir::open(tmp / "photos"));
  std::filesystem::create_directory(tmp / "my.session");
  touch(tmp / "my.session/thesis.txt");
  EXPECT_FALSE(SessionDir::open(tmp / "my.session"));
  touch(tmp / "my.session/session.txt");  // but no "output=" in it
  EXPECT_FALSE(SessionDir::open(tmp / "my.session"));
}

TEST(SessionDir, ThatWasNeverBegunIsKnownByItsName) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "out.sbt.session");
  touch(tmp / "out.sbt.session/session.txt.new");
  auto dir = SessionDir::open(tmp / "out.sbt.session");
  ASSERT_TRUE(dir) << dir.error().toString();
  EXPECT_FALSE(dir->begun());
  EXPECT_EQ(dir->info().output, tmp / "out.sbt");
}

TEST(SessionDir, WritesThroughNoSymbolicLink) {
  const test::TempDirectory tmp;
  touch(tmp / "victim");
  std::filesystem::create_directory(tmp / "out.sbt.session");
  for (const char* name : {"session.txt.new", "session.txt", "probe.new", "owner.new"}) {
    std::filesystem::create_symlink(tmp / "victim", tmp / "out.sbt.session/" + name);
  }
  auto dir = SessionDir::create(tmp / "out.sbt");
  ASSERT_TRUE(dir) << dir.error().toString();
  // Created later, as by an intruder in the directory.
  std::filesystem::create_symlink(tmp / "victim", dir->path() + "/session.txt.new");
  std::filesystem::create_symlink(tmp / "victim", dir->path() + "/probe.new");
  ASSERT_TRUE(dir->writeInfo({.command_line = "x"}));
  ASSERT_TRUE(checkRoomForArena(*dir, arena::kMinRingBytes));
  std::string victim;
  std::ifstream(tmp / "victim") >> victim;
  EXPECT_EQ(victim, "x") << "it was written through a link";
  EXPECT_FALSE(std::filesystem::is_symlink(dir->path() + "/session.txt"));
}

TEST(SessionDir, IsNeverALinkToAnotherDirectory) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "victim");
  touch(tmp / "victim/1.2.3.new");
  std::filesystem::create_symlink(tmp / "victim", tmp / "out.sbt.session");
  const auto made = SessionDir::create(tmp / "out.sbt");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("symbolic link"));
  EXPECT_FALSE(SessionDir::open(tmp / "out.sbt.session"));
  EXPECT_TRUE(exists(tmp / "victim/1.2.3.new"));
}

TEST(SessionDir, ThatOthersMayWriteIsRefused) {
  const test::TempDirectory tmp;
  const std::filesystem::path path = tmp / "out.sbt.session";
  for (const auto bit :
       {std::filesystem::perms::group_write, std::filesystem::perms::others_write}) {
    std::filesystem::create_directory(path);
    touch(path / "1.2.3.new");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all | bit);
    const auto made = SessionDir::create(tmp / "out.sbt");
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("other users"));
    EXPECT_FALSE(SessionDir::open(path));
    EXPECT_TRUE(exists(path / "1.2.3.new"));
    std::filesystem::remove_all(path);
  }
}

TEST(SessionDir, IsClosedToOtherUsers) {
  const test::TempDirectory tmp;
  std::filesystem::create_directory(tmp / "out.sbt.session");
  std::filesystem::permissions(tmp / "out.sbt.session", std::filesystem::perms(0755));
  ASSERT_TRUE(SessionDir::create(tmp / "out.sbt"));
  EXPECT_EQ(std::filesystem::status(tmp / "out.sbt.session").permissions(),
            std::filesystem::perms(0700));
}

TEST(SessionDir, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  const test::TempDirectory tmp;
  const std::string path = tmp / "out.sbt.session";
  std::filesystem::create_directory(path);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  for (const auto& result : {SessionDir::create(tmp / "out.sbt"), SessionDir::open(path)}) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("belongs to user 65534"));
  }
}

TEST(SessionDir, SaysWhereItsTraceBelongsByItsNameAlone) {
  const test::TempDirectory tmp;
  {
    auto dir = SessionDir::create(tmp / "out.sbt");
    ASSERT_TRUE(dir->writeInfo({tmp / "elsewhere.txt", "x", 7}));
  }
  std::filesystem::rename(tmp / "out.sbt.session", tmp / "moved.sbt.session");
  {
    const auto moved = SessionDir::open(tmp / "moved.sbt.session");
    ASSERT_TRUE(moved) << moved.error().toString();
    EXPECT_EQ(moved->info().output, tmp / "moved.sbt");
  }
  std::filesystem::rename(tmp / "moved.sbt.session", tmp / "kept");
  const auto nameless = SessionDir::open(tmp / "kept");
  ASSERT_FALSE(nameless);
  EXPECT_THAT(nameless.error().message, HasSubstr("rename it"));
}

TEST(SessionDir, HasAnIdOfItsOwn) {
  const test::TempDirectory tmp;
  std::string first;
  {
    auto dir = SessionDir::create(tmp / "out.sbt");
    ASSERT_TRUE(dir->writeInfo({.command_line = "x"}));
    first = dir->info().id;
    EXPECT_EQ(first.size(), 32u);
  }
  EXPECT_EQ(SessionDir::open(tmp / "out.sbt.session")->info().id, first);
  EXPECT_NE(SessionDir::create(tmp / "other.sbt")->info().id, first);
}

TEST(SessionDir, ThatCanNotBeMadeSaysWhere) {
  const test::TempDirectory tmp;
  EXPECT_THAT(SessionDir::create(tmp / "no/such/out.sbt").error().toString(),
              HasSubstr("no/such/out.sbt.session"));
  touch(tmp / "out.sbt.session");
  EXPECT_FALSE(SessionDir::create(tmp / "out.sbt"));
  EXPECT_TRUE(exists(tmp / "out.sbt.session"));
}

}  // namespace
}  // namespace tracesmith
