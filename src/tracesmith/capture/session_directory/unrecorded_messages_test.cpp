// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/unrecorded_messages.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"

namespace tracesmith {
namespace {

/// Sends an agent's message from a child process; returns its pid. The session's folder may be
/// missing.
uint32_t sayIn(const std::string& session, const char* suffix) {
  const pid_t child = fork();
  if (child == 0) {
    agent::reportUnrecorded(session.c_str(), EACCES, arena::ArmStep::kFile, suffix);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return static_cast<uint32_t>(child);
}

class UnrecordedMessagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = SessionDir::create(tmp_ / "out.sbt");
    ASSERT_TRUE(made) << made.error().toString();
    dir_.emplace(std::move(*made));
  }
  /// Hides the folder from all processes until hide(false).
  void hide(bool hidden) {
    const std::string away = dir_->path() + ".away";
    const std::string& from = hidden ? dir_->path() : away;
    ASSERT_EQ(rename(from.c_str(), (hidden ? away : dir_->path()).c_str()), 0);
  }

  const test::TempDirectory tmp_;
  std::optional<SessionDir> dir_;
};

TEST_F(UnrecordedMessagesTest, AreKeptAsTheFilesThatCouldNotBeMade) {
  UnrecordedMessages messages(*dir_);
  hide(true);
  const uint32_t first = sayIn(dir_->path(), arena::kUnrecordedSuffix);
  const uint32_t second = sayIn(dir_->path(), channel::kUnrecordedSuffix);
  hide(false);
  EXPECT_TRUE(dir_->unrecorded().empty());
  messages.keep(*dir_, [](uint32_t) { return true; });
  const auto unrecorded = dir_->unrecorded();
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].pid, first);
  EXPECT_EQ(unrecorded[0].error, EACCES);
  EXPECT_EQ(unrecorded[0].step, arena::ArmStep::kFile);
  ASSERT_EQ(dir_->unchanneled().size(), 1u);
  EXPECT_EQ(dir_->unchanneled()[0].pid, second);
}

TEST(UnrecordedMessages, OfStrangersAreLeftOut) {
  const test::TempDirectory tmp;
  auto dir = SessionDir::create(tmp / "out.sbt");
  ASSERT_TRUE(dir) << dir.error().toString();
  UnrecordedMessages messages(*dir);
  ASSERT_EQ(rename(dir->path().c_str(), (tmp / "away").c_str()), 0);
  const uint32_t ours = sayIn(dir->path(), arena::kUnrecordedSuffix);
  sayIn(dir->path(), arena::kUnrecordedSuffix);
  ASSERT_EQ(rename((tmp / "away").c_str(), dir->path().c_str()), 0);
  messages.keep(*dir, [ours](uint32_t pid) { return pid == ours; });
  const auto unrecorded = dir->unrecorded();
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].pid, ours);
}

TEST_F(UnrecordedMessagesTest, NobodyListensIsNoHarm) {
  hide(true);
  sayIn(dir_->path(), arena::kUnrecordedSuffix);
  hide(false);
  EXPECT_TRUE(dir_->unrecorded().empty());
}

}  // namespace
}  // namespace tracesmith
