// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/collect/recording_drain.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {
namespace {

using channel::ChannelHeader;
using channel::FrameHeader;
using channel::FrameKind;

constexpr uint64_t kRingBytes = channel::kMinRingBytes;

/// A session with one channel, written by the test instead of an agent.
class RecordingDrainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tracesmith_drain_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    auto dir = SessionDir::create(directory_ + "/out.sbt");
    ASSERT_TRUE(dir) << dir.error().toString();
    ASSERT_TRUE(dir->writeInfo({directory_ + "/out.sbt", "test", 0}));
    dir_.emplace(std::move(*dir));
    auto drain = RecordingDrain::create(*dir_);
    ASSERT_TRUE(drain) << drain.error().toString();
    drain_ = std::move(*drain);
  }
  void TearDown() override {
    drain_.reset();
    if (dir_) dir_->remove();
    unlink((directory_ + "/out.sbr").c_str());
    rmdir(directory_.c_str());
  }

  /// Creates the channel of a process, with no other facts about it.
  ChannelFile& makeChannel(uint32_t pid, uint64_t start_ticks, uint64_t pid_namespace) {
    channel_path_ = dir_->path() + "/" + std::to_string(pid) + ".1" + channel::kSuffix;
    const int fd = ::open(channel_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(channel::kHeaderBytes + kRingBytes)), 0);
    Bytes bytes(sizeof(ChannelHeader));
    auto* header = reinterpret_cast<ChannelHeader*>(bytes.data());
    header->magic = channel::kMagic;
    header->version = channel::kVersion;
    header->header_bytes = channel::kHeaderBytes;
    header->ring_bytes = kRingBytes;
    header->pid = pid;
    header->start_ticks = start_ticks;
    header->pid_namespace = pid_namespace;
    EXPECT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::close(fd);
    auto file = ChannelFile::open(channel_path_);
    EXPECT_TRUE(file) << file.error().toString();
    channel_.emplace(std::move(*file));
    return *channel_;
  }
  /// Polls until everything that happens about once a second has happened.
  void pollForAWhile() {
    const int64_t until = monotonicNs() + 1'300'000'000;
    while (monotonicNs() < until) {
      ASSERT_TRUE(drain_->poll());
      usleep(5000);
    }
  }
  bool channelIsThere() const { return access(channel_path_.c_str(), F_OK) == 0; }
  static uint64_t ownStart() {
    return readProcessStat(static_cast<uint32_t>(getpid()))->start_ticks;
  }
  /// Number of mappings of the channel in this process.
  int maps() const {
    std::ifstream in("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(in, line);) {
      count += line.find(channel_path_) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  std::string directory_;
  std::string channel_path_;
  std::optional<SessionDir> dir_;
  std::unique_ptr<RecordingDrain> drain_;
  std::optional<ChannelFile> channel_;
};

TEST_F(RecordingDrainTest, AProcessThatHasEndedLeavesNothingMapped) {
  makeChannel(static_cast<uint32_t>(getpid()), ownStart() + 1, ownPidNamespace());
  channel_.reset();
  pollForAWhile();
  EXPECT_FALSE(channelIsThere());
  EXPECT_EQ(maps(), 0);
  EXPECT_TRUE(drain_->finish());
  EXPECT_EQ(drain_->totals().processes, 1u);
}

// The waiting parent may learn how a process ended long after the drain has seen its end.
TEST_F(RecordingDrainTest, TheReasonForWhichAProcessEndedMayComeLate) {
  const auto pid = static_cast<uint32_t>(getpid());
  makeChannel(pid, ownStart() + 1, ownPidNamespace());
  channel_.reset();
  drain_->expectEnd(pid);
  pollForAWhile();
  EXPECT_TRUE(channelIsThere());
  drain_->noteEnd(pid, "signal 9 ended the program");
  ASSERT_TRUE(drain_->finish());
  auto reader = RecordingReader::open(dir_->recordingPath());
  ASSERT_TRUE(reader) << reader.error().toString();
  const auto commands = reader->commands(reader->processes().at(0).number);
  ASSERT_TRUE(commands);
  std::string reason;
  forEachCommand(*commands, [&](const recording::CommandHeader& header, ByteView fields) {
    recording::End end;
    if (header.kind == recording::CommandKind::kEnd && decode(fields, end)) {
      reason.assign(end.reason.begin(), end.reason.end());
    }
    return true;
  });
  EXPECT_EQ(reason, "signal 9 ended the program");
}

TEST_F(RecordingDrainTest, AProcessOfAnotherNamespaceLivesUntilTheSessionEnds) {
  // There is no process with this pid here.
  makeChannel(4'000'000, 1, ownPidNamespace() + 1);
  pollForAWhile();
  EXPECT_TRUE(channelIsThere());
  EXPECT_TRUE(drain_->finish());
}

TEST_F(RecordingDrainTest, AProgramNeedNotWaitForADamagedChannel) {
  ChannelFile& file = makeChannel(static_cast<uint32_t>(getpid()), ownStart(), ownPidNamespace());
  ASSERT_TRUE(drain_->start());
  ChannelHeader& header = file.header();
  const auto soon = [](auto&& is) {
    for (int i = 0; i < 400 && !is(); ++i) usleep(5000);
    return is();
  };
  EXPECT_TRUE(soon([&] { return header.heartbeat_ns.load() != 0; }));
  const FrameHeader nonsense{static_cast<FrameKind>(77), 64};
  memcpy(const_cast<uint8_t*>(file.ring()), &nonsense, sizeof nonsense);
  header.head.store(64);
  EXPECT_TRUE(soon([&] { return header.ended.load() != 0; }));
  usleep(500'000);  // more than two heartbeats
  EXPECT_EQ(header.heartbeat_ns.load(), 0);
  EXPECT_TRUE(drain_->finish());
  EXPECT_FALSE(drain_->totals().ended.empty());
}

}  // namespace
}  // namespace tracesmith
