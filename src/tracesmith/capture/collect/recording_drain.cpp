// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/collect/recording_drain.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith {

using channel::ChannelHeader;
using channel::FrameKind;

namespace {

bool isLaunch(const recording::CommandHeader& header) {
  return header.kind == recording::CommandKind::kLaunch && header.result == 0;
}

/// Commands that are with the writer but not yet in the file still occupy their ring. So flush
/// after a fraction of the smallest ring.
constexpr uint64_t kFlushBytes = channel::kMinRingBytes / 2;
constexpr int64_t kFlushIntervalNs = 1'000'000'000;
constexpr int64_t kDiscoveryIntervalNs = 10'000'000;
constexpr int64_t kBeatNs = 200'000'000;

void sleepNs(int64_t ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

/// Whether a process of a container is visible from outside.
bool runsInItsNamespace(uint32_t own_pid, uint64_t start_ticks, uint64_t pid_namespace) {
  for (const ListedProcess& listed : listProcesses()) {
    if (listed.stat.start_ticks != start_ticks) continue;
    const auto facts = readProcessFacts(listed.pid);
    if (facts && !facts->zombie && facts->pid_namespace == pid_namespace &&
        facts->namespace_pid == own_pid) {
      return true;
    }
  }
  return false;
}

template <class Command>
Bytes encoded(Command command, const recording::CommandHeader& header) {
  Bytes out(recording::encodedBytes(command));
  recording::encode(header, command, out.data());
  return out;
}

}  // namespace

Result<std::unique_ptr<RecordingDrain>> RecordingDrain::create(const SessionDir& dir) {
  auto drain = std::unique_ptr<RecordingDrain>(new RecordingDrain(dir));
  drain->path_ = dir.recordingPath();
  dir.files().removeFile("trace.sbr");
  return drain;
}

Result<std::unique_ptr<RecordingDrain>> RecordingDrain::resume(const SessionDir& dir) {
  auto drain = std::unique_ptr<RecordingDrain>(new RecordingDrain(dir));
  drain->path_ = dir.recordingPath();
  auto reader = RecordingReader::open(drain->path_);
  // Without commands in the file, all of them are still in the channels. A file that cannot be read
  // must not be overwritten.
  if (!reader && reader.error().code != ErrorCode::kNotFound) {
    return tl::unexpected<Error>(reader.error());
  }
  if (!reader) return drain;
  for (const recording::Process& process : reader->processes()) {
    TS_TRY(const Bytes commands, reader->commands(process.number));
    ResumedChannel before{process.number, 0, false};
    forEachCommand(commands, [&](const recording::CommandHeader& header, ByteView) {
      before.next_sequence = header.sequence + 1;
      before.ended = header.kind == recording::CommandKind::kEnd;
      if (isLaunch(header)) ++drain->totals_.recorded_launches;
      return true;
    });
    drain->before_[{process.pid, process.start_ticks}].push_back(before);
    drain->next_number_ = std::max(drain->next_number_, process.number + 1);
    ++drain->totals_.processes;
  }
  TS_TRY(RecordingWriter writer, RecordingWriter::resume(drain->path_));
  drain->writer_.emplace(std::move(writer));
  return drain;
}

RecordingDrain::~RecordingDrain() { stopThreads(); }

Status RecordingDrain::start() {
  TS_TRY(heart_, startSignalFreeThread([this] { updateHeartbeat(); }));
  TS_TRY(drainer_, startSignalFreeThread([this] { run(); }));
  return {};
}

void RecordingDrain::stopThreads() {
  stop_.store(true);
  if (drainer_.joinable()) drainer_.join();
  if (heart_.joinable()) heart_.join();
}

void RecordingDrain::updateHeartbeat() {
  while (!stop_.load()) {
    {
      const std::lock_guard lock(mutex_);
      // When the writer is broken, programs must not wait until the heartbeat is stale.
      const int64_t now = broken_.load() ? 0 : monotonicNs();
      for (ChannelHeader* header : beating_) {
        header->heartbeat_ns.store(now, std::memory_order_relaxed);
      }
    }
    for (int i = 0; i < 20 && !stop_.load(); ++i) sleepNs(kBeatNs / 20);
  }
}

void RecordingDrain::run() {
  int64_t pause_ns = 1'000'000;
  while (!stop_.load()) {
    const Result<bool> met = poll();
    if (!met) {
      status_ = tl::unexpected<Error>(met.error());
      broken_.store(true);
      endChannels("the recording could not be written: " + met.error().message);
      return;
    }
    if (behind_) continue;  // much more has arrived meanwhile
    pause_ns = *met ? 500'000 : std::min<int64_t>(pause_ns * 2, 4'000'000);
    sleepNs(pause_ns);
  }
}

void RecordingDrain::expectEnd(uint32_t pid) {
  const std::lock_guard lock(mutex_);
  unknown_ends_.insert(pid);
}

bool RecordingDrain::knowsEnd(const Channel& c) const {
  const std::lock_guard lock(mutex_);
  return !unknown_ends_.contains(c.pid);
}

void RecordingDrain::noteEnd(uint32_t pid, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  end_reasons_[pid] = reason;
  unknown_ends_.erase(pid);
}

Status RecordingDrain::discover() {
  std::vector<std::string> found = dir_.channels();
  std::erase_if(found, [&](const std::string& path) { return seen_.contains(path); });
  // Names are PID.CREATED: this sorts the channels of a process by creation.
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  for (const std::string& path : found) {
    seen_[path] = true;
    TS_CHECK_OK(open(path));
  }
  return {};
}

Status RecordingDrain::open(const std::string& path) {
  auto file = ChannelFile::open(path, dir_.files().fd());
  if (!file) {
    totals_.ended.push_back(file.error().toString());
    return {};
  }
  auto channel = std::make_unique<Channel>(std::move(*file));
  ChannelHeader& header = channel->file.header();
  channel->consumed = header.tail.load(std::memory_order_relaxed);
  auto before = before_.find({header.pid, header.start_ticks});
  if (before != before_.end() && !before->second.empty()) {
    const ResumedChannel b = before->second.front();
    before->second.erase(before->second.begin());
    channel->number = b.number;
    channel->next_sequence = b.next_sequence;
    channel->closed = b.ended;
  } else {
    if (!writer_) {
      TS_TRY(RecordingWriter writer, RecordingWriter::create(path_));
      writer_.emplace(std::move(writer));
    }
    channel->number = next_number_++;
    TS_CHECK_OK(writer_->addProcess({channel->number, header.pid, header.start_ticks,
                                     channel->file.commandLine(), dir_.info().id}));
    ++totals_.processes;
  }
  const std::lock_guard lock(mutex_);
  header.heartbeat_ns.store(monotonicNs(), std::memory_order_relaxed);
  if (!channel->closed) beating_.push_back(&header);
  channels_.push_back(std::move(channel));
  return {};
}

Result<bool> RecordingDrain::drain(Channel& c) {
  if (c.closed || c.damaged) return false;
  if (c.file.isDamaged()) {
    noteDamage(c);
    return false;
  }
  const uint64_t head = c.file.header().head.load(std::memory_order_acquire);
  if (head == c.consumed) return false;
  behind_ = behind_ || head - c.consumed > c.file.ringBytes() / 16;
  writer_->setHurried(head - c.file.header().tail.load(std::memory_order_relaxed) >
                      c.file.ringBytes() / 2);
  FrameWalk walk(c.file.ring(), c.file.ringBytes(), c.consumed, head);
  FrameWalk::Frame frame;
  while (walk.next(frame)) {
    if (frame.kind == FrameKind::kContent) {
      TS_CHECK_OK(writer_->addContent(frame.hash, frame.body));
    } else {
      const auto header = loadFixed<recording::CommandHeader>(frame.body.data());
      if (header.bytes != frame.body.size() || header.sequence > c.next_sequence) {
        c.damaged = true;
        break;
      }
      // Earlier commands are already in the file; its writer died before it could say so.
      if (header.sequence == c.next_sequence) {
        TS_CHECK_OK(writer_->addCommands(c.number, frame.body, 1));
        if (isLaunch(header)) ++totals_.recorded_launches;
        ++c.next_sequence;
      }
    }
    const uint64_t read = walk.position() - c.consumed;
    unflushed_ += read;
    c.consumed = walk.position();
    if (unflushed_ >= std::max(kFlushBytes, c.file.ringBytes() / 8)) TS_CHECK_OK(flush());
  }
  c.damaged = c.damaged || walk.damaged();
  unflushed_ += walk.position() - c.consumed;
  if (!c.damaged) c.consumed = walk.position();
  if (c.damaged) noteDamage(c);
  return true;
}

void RecordingDrain::noteDamage(Channel& c) {
  c.damaged = true;
  totals_.ended.push_back("process " + std::to_string(c.pid) +
                          (c.file.isDamaged() ? ": its channel was cut short, or its disk failed"
                                              : ": its channel has invalid contents"));
  // Its program must not wait when the ring is full.
  const std::lock_guard lock(mutex_);
  std::erase(beating_, &c.file.header());
  c.file.header().ended.store(1);
  c.file.header().heartbeat_ns.store(0);
}

void RecordingDrain::endChannels(const std::string& reason) {
  for (const auto& c : channels_) {
    ChannelHeader& header = c->file.header();
    if (c->closed || header.ended.load(std::memory_order_acquire) != 0) continue;
    header.end_reason[reason.copy(header.end_reason, sizeof header.end_reason - 1)] = 0;
    header.ended.store(1, std::memory_order_release);
  }
}

Status RecordingDrain::flush() {
  if (!writer_) return {};
  TS_CHECK_OK(writer_->flush());
  // Advance the tails only now: commands must be in the file before their ring space is reused.
  for (const auto& c : channels_) {
    if (!c->closed) c->file.header().tail.store(c->consumed, std::memory_order_release);
  }
  unflushed_ = 0;
  last_flush_ns_ = monotonicNs();
  return {};
}

bool RecordingDrain::processGone(const Channel& c, bool at_end) const {
  if (c.pid_namespace != 0 && c.pid_namespace != ownPidNamespace()) {
    // In this namespace the pid is another process's, or unused. A process that cannot be found may
    // still exist.
    return at_end && !runsInItsNamespace(c.pid, c.start_ticks, c.pid_namespace);
  }
  const auto stat = readProcessStat(c.pid);
  return !stat || stat->start_ticks != c.start_ticks || !stat->runs();
}

void RecordingDrain::noteTotals(Channel& c) {
  if (c.noted) return;
  c.noted = true;
  const ChannelHeader& h = c.file.header();
  totals_.launches += h.launches.load();
  totals_.payload_bytes += h.payload_bytes.load();
  totals_.stall_ns += h.stall_ns.load();
}

Status RecordingDrain::close(Channel& c, bool process_gone) {
  if (c.closed) return {};
  std::string reason = c.file.endReason();
  if (reason.empty() && c.damaged) reason = "the channel was damaged";
  if (!reason.empty() && !c.damaged) {  // noteDamage() has reported that case
    totals_.ended.push_back("process " + std::to_string(c.pid) + ": " + reason);
  }
  {
    const std::lock_guard lock(mutex_);
    const auto known_reason = end_reasons_.find(c.pid);
    if (reason.empty() && known_reason != end_reasons_.end()) reason = known_reason->second;
  }
  if (reason.empty() && !process_gone) reason = "the recording was stopped";
  recording::CommandHeader header;
  header.flags = recording::command_flags::kAddedByAgent;
  header.sequence = c.next_sequence++;
  header.start_ns = header.end_ns = monotonicNs();
  recording::End end;
  end.reason = {reason.data(), reason.size()};
  TS_CHECK_OK(writer_->addCommands(c.number, encoded(end, header), 1));
  TS_CHECK_OK(flush());
  noteTotals(c);
  const std::lock_guard lock(mutex_);
  c.closed = true;
  std::erase(beating_, &c.file.header());
  return {};
}

Result<bool> RecordingDrain::poll() {
  const int64_t now = monotonicNs();
  if (now - last_discovery_ns_ >= kDiscoveryIntervalNs) {
    last_discovery_ns_ = now;
    if (directory_.mayHaveChanged(dir_.files().fd())) TS_CHECK_OK(discover());
  }
  bool met = false;
  behind_ = false;
  for (const auto& c : channels_) {
    TS_TRY(const bool some, drain(*c));
    met = met || some;
  }
  if (now - last_flush_ns_ > kFlushIntervalNs) {
    TS_CHECK_OK(flush());
    last_flush_ns_ = now;
    // The 64 MiB of a dead process are no longer needed: remove its file, and unmap it here.
    for (const auto& c : channels_) {
      if (c->closed || !processGone(*c) || !knowsEnd(*c)) continue;
      TS_CHECK_OK(drain(*c));
      TS_CHECK_OK(close(*c, true));
      if (!dir_.isGivenUp(c->file.name())) dir_.files().removeFile(c->file.name());
    }
    std::erase_if(channels_, [](const auto& c) { return c->closed; });
  }
  return met;
}

Status RecordingDrain::finish() {
  stopThreads();
  if (!status_) {
    for (const auto& c : channels_) {
      noteTotals(*c);
      c->file.header().heartbeat_ns.store(0);
    }
    if (writer_) (void)writer_->finish();  // complete parts stay readable in any case
    return status_;
  }
  const Status status = [&]() -> Status {
    TS_CHECK_OK(discover());
    for (const auto& c : channels_) {
      const bool gone = processGone(*c, true);
      // Programs that continue to run must not wait for the drain.
      if (!gone) c->file.header().heartbeat_ns.store(0);
      TS_CHECK_OK(drain(*c));
      TS_CHECK_OK(close(*c, gone));
    }
    return writer_ ? writer_->finish() : Status{};
  }();
  if (!status) status_ = status;
  return status;
}

RecordingTotals RecordingDrain::totals() const {
  RecordingTotals totals = totals_;
  totals.path = path_;
  if (writer_) {
    totals.commands = writer_->commands();
    totals.distinct_bytes = writer_->contentBytes();
    totals.file_bytes = writer_->bytesWritten();
  }
  return totals;
}

}  // namespace tracesmith
