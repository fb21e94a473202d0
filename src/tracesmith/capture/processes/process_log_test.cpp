// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {
namespace {

using LogKind = process_log::Kind;
using process_log::RecordHeader;
using ::testing::ElementsAre;
using ::testing::EndsWith;

Bytes record(uint32_t pid, std::string_view arguments, std::string_view executable) {
  RecordHeader h{};
  h.magic = process_log::kMagic;
  h.version = process_log::kVersion;
  h.kind = LogKind::kExec;
  h.pid = pid;
  h.command_bytes = static_cast<uint16_t>(arguments.size());
  h.executable_bytes = static_cast<uint16_t>(executable.size());
  h.bytes = static_cast<uint16_t>((sizeof h + arguments.size() + executable.size() + 7) / 8 * 8);
  Bytes out;
  putFixed(out, h);
  out.insert(out.end(), arguments.begin(), arguments.end());
  out.insert(out.end(), executable.begin(), executable.end());
  out.resize(h.bytes);
  h.checksum = process_log::checksum(out.data(), out.size());
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

struct Decoded {
  std::vector<uint32_t> pids;
  size_t consumed = 0;
  uint64_t damaged = 0;
};
Decoded decode(ByteView bytes) {
  Decoded d;
  decodeProcessLog(
      bytes, [&](const LoggedProcess& p) { d.pids.push_back(p.pid); }, d.consumed, d.damaged);
  return d;
}

Bytes threeRecords() {
  Bytes all;
  for (uint32_t pid = 1; pid <= 3; ++pid) {
    const Bytes one = record(pid, std::string("sh\0-c\0x y\0", 10), "/bin/sh");
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(ProcessLog, GivesWhatARecordHolds) {
  const Bytes bytes = record(77, std::string("sh\0-c\0x y\0", 10), "/bin/sh");
  std::vector<LoggedProcess> processes;
  size_t consumed = 0;
  uint64_t damaged = 0;
  decodeProcessLog(
      bytes, [&](const LoggedProcess& p) { processes.push_back(p); }, consumed, damaged);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, 77u);
  EXPECT_EQ(processes[0].command_line, "sh -c 'x y'");
  EXPECT_EQ(processes[0].executable, "/bin/sh");
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_EQ(damaged, 0u);
}

TEST(ProcessLog, WaitsForTheRestOfARecordThatIsCutAtAnyByte) {
  const Bytes all = threeRecords();
  const size_t one = all.size() / 3;
  for (size_t cut = 0; cut < all.size(); ++cut) {
    const Decoded d = decode(ByteView(all).first(cut));
    EXPECT_EQ(d.pids.size(), cut / one) << cut;
    EXPECT_EQ(d.consumed, cut / one * one) << cut;
    EXPECT_EQ(d.damaged, 0u) << cut;
  }
}

TEST(ProcessLog, SkipsAndCountsARecordThatWasCutBeforeOthersFollowed) {
  const Bytes all = threeRecords();
  const size_t one = all.size() / 3;
  for (size_t kept = 1; kept < one; ++kept) {
    Bytes bytes(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept));
    bytes.insert(bytes.end(), all.begin() + static_cast<ptrdiff_t>(one), all.end());
    const Decoded d = decode(bytes);
    EXPECT_THAT(d.pids, ElementsAre(2, 3)) << kept;
    EXPECT_EQ(d.consumed, bytes.size()) << kept;
    EXPECT_EQ(d.damaged, 1u) << kept;
  }
}

TEST(ProcessLog, NeverTakesAFlippedBitForARecord) {
  const Bytes all = threeRecords();
  const size_t one = all.size() / 3;
  for (size_t byte = one; byte < 2 * one; ++byte) {
    const size_t in_record = byte - one;
    // The fields after the checksum are filled in by the process when it exits.
    const bool for_exit =
        in_record >= process_log::kChecksummedHeaderBytes + 4 && in_record < sizeof(RecordHeader);
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bent = all;
      bent[byte] ^= static_cast<uint8_t>(1 << bit);
      const Decoded d = decode(bent);
      if (for_exit) {
        EXPECT_THAT(d.pids, ElementsAre(1, 2, 3)) << byte;
      } else {
        EXPECT_THAT(d.pids, ElementsAre(1, 3)) << byte;
        EXPECT_EQ(d.damaged, 1u) << byte;
      }
    }
  }
}

TEST(ProcessLog, GetsThroughAnyBytes) {
  std::mt19937 random(11);
  const Bytes all = threeRecords();
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(random() % 20000);
    for (auto& b : bytes) b = static_cast<uint8_t>(random());
    // Valid-looking pieces let the decoder get further.
    for (int i = 0; i < 5 && bytes.size() > all.size(); ++i)
      std::copy_n(all.begin(), random() % all.size(),
                  bytes.begin() + static_cast<ptrdiff_t>(random() % (bytes.size() - all.size())));
    const Decoded d = decode(bytes);
    EXPECT_LE(d.consumed, bytes.size());
    EXPECT_LE(bytes.size() - d.consumed, process_log::kMaxRecordBytes);
  }
}

/// A directory with an empty log; programs run with this build's preload library.
class ProcessLogLive : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
               "../lib/tracesmith/libtracesmith-process.so";
    if (!std::filesystem::exists(library_)) GTEST_SKIP() << library_ << " is not built";
    char name[] = "/tmp/tracesmith_log_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    log_ = directory_ + "/process.log";
    auto reader = ProcessLogReader::open(log_);
    ASSERT_TRUE(reader) << reader.error().toString();
    reader_.emplace(std::move(*reader));
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  /// Runs `script` with bash (which forks as POSIX says) and returns its exit code.
  int run(const std::string& script) {
    const std::string command = "LD_PRELOAD='" + library_.string() + "' TRACESMITH_PROCESS_LOG='" +
                                log_ + "' bash --norc -c " + quoteForShell(script);
    const int status = ::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::vector<LoggedProcess> processes() {
    std::vector<LoggedProcess> all;
    const auto drained = reader_->drain([&](const LoggedProcess& p) { all.push_back(p); });
    EXPECT_TRUE(drained) << drained.error().toString();
    return all;
  }

  std::filesystem::path library_;
  std::string directory_, log_;
  std::optional<ProcessLogReader> reader_;
};

TEST_F(ProcessLogLive, EveryProgramAndEveryForkLeavesARecordWithItsParent) {
  const int64_t before = monotonicNs();
  EXPECT_EQ(run("(sleep 0; exit 4); exit 3"), 3);
  const auto all = processes();
  ASSERT_EQ(all.size(), 4u);  // bash, its subshell, the fork for sleep, sleep
  EXPECT_EQ(all[0].kind, LogKind::kExec);
  EXPECT_EQ(all[0].command_line, "bash --norc -c '(sleep 0; exit 4); exit 3'");
  EXPECT_EQ(all[1].kind, LogKind::kFork);
  EXPECT_EQ(all[1].parent_pid, all[0].pid);
  EXPECT_EQ(all[3].kind, LogKind::kExec);
  EXPECT_EQ(all[3].command_line, "sleep 0");
  EXPECT_THAT(all[3].executable, EndsWith("/sleep"));
  EXPECT_EQ(all[3].pid, all[2].pid);
  EXPECT_EQ(all[3].start_ticks, all[2].start_ticks);
  EXPECT_EQ(all[3].parent_pid, all[1].pid);
  for (const auto& p : all) {
    EXPECT_EQ(p.pid_namespace, ownPidNamespace());
    EXPECT_GE(p.time_ns, before);
    EXPECT_LE(p.time_ns, monotonicNs());
  }
  EXPECT_EQ(reader_->damaged(), 0u);
}

TEST_F(ProcessLogLive, AProcessThatLeavesThroughExitSaysWithWhatAndWhen) {
  const int64_t before = monotonicNs();
  EXPECT_EQ(run("(exit 4); true & kill -9 $$"), 128 + 9);
  std::vector<std::optional<LoggedExit>> exits;
  for (const auto& p : processes()) exits.push_back(reader_->exitOf(p.offset));
  ASSERT_GE(exits.size(), 2u);
  EXPECT_FALSE(exits[0]);  // killed
  ASSERT_TRUE(exits[1]);   // the subshell
  EXPECT_EQ(exits[1]->status, 4);
  EXPECT_GE(exits[1]->time_ns, before);
  EXPECT_LE(exits[1]->time_ns, monotonicNs());
}

TEST_F(ProcessLogLive, LongCommandLinesAreCut) {
  EXPECT_EQ(run("/bin/true $(printf 'x%.0s' {1..9000})"), 0);
  const auto all = processes();
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all.back().command_line, EndsWith(" …"));
  EXPECT_LT(all.back().command_line.size(), process_log::kMaxCommandBytes + 100);
}

TEST_F(ProcessLogLive, AProgramMayUseItsLastFileAndItsLastByteAllTheSame) {
  EXPECT_EQ(run("ulimit -f 0; /bin/true"), 0);
  // First close the descriptors inherited by the test: even the dynamic linker needs one.
  EXPECT_EQ(run("for i in {3..40}; do eval \"exec $i>&-\"; done; ulimit -n 4; /bin/true"), 0);
  EXPECT_EQ(run("exec 0<&- 1>&- 2>&-; /bin/true"), 0);
}

TEST_F(ProcessLogLive, AMissingOrUnwritableLogChangesNothing) {
  const std::string keep = log_;
  log_ = directory_ + "/nowhere/process.log";
  EXPECT_EQ(run("exit 5"), 5);
  log_ = directory_;
  EXPECT_EQ(run("exit 6"), 6);
  log_ = "relative";
  EXPECT_EQ(run("exit 7"), 7);
  log_ = std::string(5000, '/');
  EXPECT_EQ(run("exit 8"), 8);
  log_ = keep;
  EXPECT_TRUE(processes().empty());
}

TEST_F(ProcessLogLive, ManyProcessesAtOnceDoNotMixTheirRecords) {
  EXPECT_EQ(run("for i in {1..8}; do (for j in {1..40}; do /bin/true $i $j; done) & done; wait"),
            0);
  size_t programs = 0;
  for (const auto& p : processes()) programs += p.command_line.rfind("/bin/true ", 0) == 0;
  EXPECT_EQ(programs, 320u);
  EXPECT_EQ(reader_->damaged(), 0u);
}

}  // namespace
}  // namespace tracesmith
