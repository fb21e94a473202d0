// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session/session_drain.hpp"

#include <signal.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/session/event_record.hpp"

namespace tracesmith::session {
namespace {

constexpr uint64_t kFlushRows = 128 << 10;
constexpr int64_t kDeadIntervalNs = 1'000'000'000;
constexpr ClockDomainId kCounterDomain{1};
constexpr LossId kSessionLoss{1};

}  // namespace

Totals totalsOf(const SessionMemory& memory) {
  Totals t;
  const SessionHeader& h = memory.header();
  const uint32_t used = h.rings_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const SessionRing& ring = memory.ring(i);
    // Read in this order, because every delivered record has been emitted.
    t.delivered += ring.control.delivered.load(std::memory_order_acquire);
    t.dropped += ring.control.dropped.load(std::memory_order_acquire);
    t.counters += ring.counters.load(std::memory_order_relaxed);
    t.blocked_ns += ring.blocked_ns.load(std::memory_order_relaxed);
    t.emitted += ring.control.emitted.load(std::memory_order_acquire);
  }
  const uint64_t never_in_a_ring = h.dropped_without_ring.load(std::memory_order_relaxed) +
                                   h.dropped_reentrant.load(std::memory_order_relaxed) +
                                   h.dropped_too_large.load(std::memory_order_relaxed);
  t.emitted += never_in_a_ring;
  t.dropped += never_in_a_ring;
  return t;
}

SessionDrain::SessionDrain(const SessionMemory& memory) : memory_(memory), appender_(delta_) {
  sources_.resize(memory.header().ring_count);
  if (memory.header().policy == OverflowPolicy::DropOldest) {
    scratch_.resize(memory.header().ring_bytes / 8);
  }
}

Result<std::unique_ptr<SessionDrain>> SessionDrain::create(const SessionMemory& memory,
                                                           const std::string& path,
                                                           int64_t flush_interval_ns,
                                                           const FlightOptions& flight,
                                                           const std::string& saved_base) {
  TS_TRY(TraceWriter writer, TraceWriter::create(path));
  std::unique_ptr<SessionDrain> drain(new SessionDrain(memory));
  drain->writer_ = std::make_unique<TraceWriter>(std::move(writer));
  // The rest of the interval is for what comes before and after: an event waits for the next pass,
  // and its row for the encoder and the disk.
  drain->flush_after_ns_ = std::max<int64_t>(flush_interval_ns / 4 * 3 - kDrainIntervalNs, 0);
  if (flight.window_ns > 0) {
    drain->window_ = std::make_unique<FlightWindow>(path, saved_base, flight);
    drain->window_->describe(drain->delta_);
    drain->flush_after_ns_ = std::min(drain->flush_after_ns_, flight.window_ns / kPartsOfWindow);
  }
  drain->stamps_.sample();
  drain->process(static_cast<uint32_t>(getpid()));
  TS_CHECK_OK(drain->flush());
  return drain;
}

// --- Who and when ---------------------------------------------------------------------------

int64_t SessionDrain::toNs(int64_t stamp) const {
  if (!memory_.header().use_counter) return stamp;
  if (stamp >= from_.counter && stamp <= to_.counter) {
    return from_.host_ns +
           static_cast<int64_t>(static_cast<double>(stamp - from_.counter) * ns_per_tick_);
  }
  return stamps_.toNs(arena::StampClockKind::kTimeStampCounter, stamp);
}

ProcessId SessionDrain::process(uint32_t pid) {
  auto [it, fresh] = processes_.try_emplace(pid);
  if (!fresh) return it->second;
  it->second = idAt<ProcessId>(processes_.size() - 1);
  ProcessRow row{.id = it->second, .pid = pid};
  if (const auto facts = readProcessFacts(pid)) {
    row.parent_pid = facts->ppid;
    row.start_ticks = facts->start_ticks;
    row.start_ns = facts->start_ns;
    row.pid_namespace = facts->pid_namespace;
    row.command_line = delta_.strings.intern(facts->command_line);
    row.executable = delta_.strings.intern(facts->executable);
    row.boot_id = delta_.strings.intern(facts->boot_id);
  }
  row.seen_by = delta_.strings.intern("session");
  delta_.process.push(row);
  return it->second;
}

void SessionDrain::identify(const SessionRing& ring, Source& source) {
  source.life = ring.life;
  source.tid = ring.tid;
  source.process = process(ring.pid);
  auto [it, fresh] = threads_.try_emplace({ring.pid, ring.tid});
  const std::string_view name(ring.thread_name, strnlen(ring.thread_name, sizeof ring.thread_name));
  if (fresh) it->second = appender_.addThread(source.process, ring.tid, name);
  source.thread = it->second;
}

StringId SessionDrain::name(uint32_t id) {
  if (!session::SessionMemory::canBeName(id)) return StringId::kNone;
  if (id >= names_.size()) names_.resize(std::max<size_t>(id + 1, names_.size() * 2));
  StringId& known = names_[id];
  if (known == StringId::kNone) known = delta_.strings.intern(memory_.name(id));
  return known;
}

CounterTrackId SessionDrain::track(uint32_t id) {
  if (!session::SessionMemory::canBeName(id)) return CounterTrackId::kNone;
  if (id >= tracks_.size()) tracks_.resize(std::max<size_t>(id + 1, tracks_.size() * 2));
  CounterTrackId& known = tracks_[id];
  if (known == CounterTrackId::kNone) {
    const std::string_view both = memory_.name(id);  // name, NUL, unit
    const size_t nul = both.find('\0');
    known = appender_.counterTrack(both.substr(0, nul),
                                   nul == std::string_view::npos ? "" : both.substr(nul + 1));
  }
  return known;
}

void SessionDrain::freeRingsOfTheDead() {
  const int64_t now = monotonicNs();
  if (now - looked_for_dead_ns_ < kDeadIntervalNs) return;
  looked_for_dead_ns_ = now;
  const auto self = static_cast<uint32_t>(getpid());
  const uint32_t used = memory_.header().rings_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    SessionRing& ring = memory_.ring(i);
    if (ring.owner.load(std::memory_order_acquire) != static_cast<uint32_t>(Owner::kThread)) {
      continue;
    }
    if (ring.foreign || ring.pid == self || kill(static_cast<pid_t>(ring.pid), 0) == 0 ||
        errno != ESRCH)
      continue;
    memory_.leaveRing(i);
  }
}

// --- Records to rows ------------------------------------------------------------------------

void SessionDrain::levelRanges() {
  // Fill the columns that spans leave out; columns of zeros cost nothing.
  RangeTable& range = delta_.range;
  const size_t rows = range.start_ns.size();
  if (range.call_path_id.size() == rows) return;
  RangeTable::visitColumns(range, [&](const ColumnInfo&, auto& column) { column.resize(rows); });
}

void SessionDrain::takeEvent(const uint64_t* record, uint64_t bytes, const Source& source) {
  const uint64_t length = record[0] >> 32;
  TraceEvent event;
  if (length > bytes - 8 ||
      !decodeEvent({reinterpret_cast<const uint8_t*>(record + 1), length}, event)) {
    ++lost_rows_;
    return;
  }
  if (event.thread_id == 0) event.thread_id = source.tid;
  levelRanges();
  appender_.append(event);
}

inline void SessionDrain::take(const uint64_t* record, uint64_t bytes, const Source& source) {
  const auto aux = static_cast<uint32_t>(record[0] >> 32);
  const auto kind = static_cast<RecordKind>(record[0] & 0xff);
  const auto stamp = static_cast<int64_t>(record[1]);
  switch (kind) {
    case RecordKind::kSpan:
    case RecordKind::kMarker: {
      RangeTable& range = delta_.range;
      const bool span = kind == RecordKind::kSpan;
      const int64_t start = toNs(stamp);
      range.start_ns.push_back(start);
      range.duration_ns.push_back(
          span ? std::max<int64_t>(toNs(static_cast<int64_t>(record[2])) - start, 0) : 0);
      range.kind.push_back(span ? RangeKind::kRange : RangeKind::kInstant);
      range.name.push_back(name(aux));
      range.process_id.push_back(source.process);
      range.thread_id.push_back(source.thread);
      break;
    }
    case RecordKind::kCounter:
      delta_.counter.push({.time_ns = toNs(stamp),
                           .track_id = track(aux),
                           .value = std::bit_cast<double>(record[2])});
      break;
    case RecordKind::kAlloc:
    case RecordKind::kFree:
      delta_.memory_event.push(
          {.time_ns = toNs(stamp),
           .kind = kind == RecordKind::kAlloc ? MemoryKind::kAlloc : MemoryKind::kFree,
           .process_id = source.process,
           .thread_id = source.thread,
           .address = record[2],
           .bytes = record[3],
           .name = name(aux)});
      break;
    case RecordKind::kEvent:
      takeEvent(record, bytes, source);
      break;
  }
}

uint64_t SessionDrain::drainRing(uint32_t index) {
  SessionRing& ring = memory_.ring(index);
  const auto owner = static_cast<Owner>(ring.owner.load(std::memory_order_acquire));
  if (owner == Owner::kNobody || owner == Owner::kClaiming) return 0;
  Source& source = sources_[index];
  if (source.life != ring.life) identify(ring, source);
  auto sink = [&](const uint64_t* record, uint64_t bytes) { take(record, bytes, source); };
  ring::RecordRing<> in(ring.control, memory_.words(index), memory_.header().ring_bytes);
  const uint64_t records = memory_.header().policy == OverflowPolicy::DropOldest
                               ? in.drainCopies(scratch_.data(), sink)
                               : in.drain(sink);
  // The thread's last records were in the ring before this drain.
  if (owner == Owner::kLeft) {
    ring.owner.store(static_cast<uint32_t>(Owner::kNobody), std::memory_order_release);
  }
  return records;
}

uint64_t SessionDrain::pass() {
  const int64_t now = monotonicNs();
  SessionHeader& h = memory_.header();
  if (h.use_counter) {
    stamps_.sample();
    const auto& samples = stamps_.samples();
    if (samples.size() >= 2) {
      from_ = samples[samples.size() - 2];
      to_ = samples.back();
      ns_per_tick_ = static_cast<double>(to_.host_ns - from_.host_ns) /
                     static_cast<double>(to_.counter - from_.counter);
    }
  }
  freeRingsOfTheDead();
  uint64_t records = 0;
  const uint32_t used = h.rings_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    h.drainer_alive_ns.store(monotonicNs(), std::memory_order_relaxed);
    const uint64_t taken = drainRing(i);
    records += taken;
    rows_ += taken;
    if (rows_ >= kFlushRows) flush();
  }
  if (rows_ != 0 && oldest_unwritten_ns_ == 0) oldest_unwritten_ns_ = now;
  const bool waited = oldest_unwritten_ns_ != 0 && now - oldest_unwritten_ns_ >= flush_after_ns_;
  if (waited || (window_ && window_->isDue(now))) flush();
  return records;
}

// --- Rows to the file -----------------------------------------------------------------------

void SessionDrain::writeClock(bool finish) {
  if (!memory_.header().use_counter) return;
  if (written_clock_ns_ == 0) {
    delta_.clock_domain.push({.id = kCounterDomain,
                              .kind = ClockKind::kTimeStampCounter,
                              .name = delta_.strings.intern("time stamp counter")});
  }
  for (const StampClock::Sample& s : stamps_.samples()) {
    // The newest sample may still be replaced. Write it once it is no longer the newest, or at the
    // end.
    const bool newest = &s == &stamps_.samples().back();
    if (s.host_ns <= written_clock_ns_ || (newest && !finish)) continue;
    written_clock_ns_ = s.host_ns;
    delta_.clock_snapshot.push({.domain_id = kCounterDomain,
                                .host_ns = s.host_ns,
                                .clock_value = s.counter,
                                .error_ns = s.error_ns});
  }
  constexpr size_t kKept = 2048;  // over a minute and a half; no record waits that long
  if (stamps_.samples().size() > 2 * kKept) stamps_.trim(kKept);
}

void SessionDrain::writeLosses() {
  const Totals t = totalsOf(memory_);
  const uint64_t dropped = t.dropped + lost_rows_;
  const bool same = t.emitted == written_totals_.emitted &&
                    t.delivered == written_totals_.delivered && dropped == written_totals_.dropped;
  if (same) return;
  written_totals_ = t;
  written_totals_.dropped = dropped;
  const SessionHeader& h = memory_.header();
  std::string reason;
  auto add = [&](uint64_t n, const char* why) {
    if (n != 0) reason += (reason.empty() ? "" : "; ") + std::to_string(n) + " " + why;
  };
  const uint64_t without = h.dropped_without_ring.load(std::memory_order_relaxed);
  const uint64_t reentrant = h.dropped_reentrant.load(std::memory_order_relaxed);
  const uint64_t large = h.dropped_too_large.load(std::memory_order_relaxed);
  add(t.dropped - without - reentrant - large, "found the ring of their thread full");
  add(without, "came from threads for which no ring was left");
  add(reentrant, "came from a signal handler that had interrupted a record");
  add(large, "were larger than half a ring");
  add(lost_rows_, "could not be written to the file");
  delta_.loss.push({.id = kSessionLoss,
                    .source = delta_.strings.intern("session records"),
                    .process_id = process(static_cast<uint32_t>(getpid())),
                    .emitted = t.emitted,
                    .written = t.delivered - std::min(t.delivered, lostRows()),
                    .dropped = dropped,
                    .reason = delta_.strings.intern(reason)});
}

void SessionDrain::noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                            std::string_view reason) {
  const std::lock_guard lock(noted_mutex_);
  NotedLoss& noted = noted_[std::string(source)];
  if (noted.id == LossId::kNone) {
    noted.id = static_cast<LossId>(static_cast<uint32_t>(kSessionLoss) + noted_.size());
  }
  noted.emitted = emitted;
  noted.dropped = dropped;
  noted.reason = reason;
  noted.fresh = true;
}

void SessionDrain::writeNotedLosses() {
  const std::lock_guard lock(noted_mutex_);
  for (auto& [source, noted] : noted_) {
    if (!std::exchange(noted.fresh, false)) continue;
    delta_.loss.push({.id = noted.id,
                      .source = delta_.strings.intern(source),
                      .process_id = process(static_cast<uint32_t>(getpid())),
                      .emitted = noted.emitted,
                      .written = noted.emitted - std::min(noted.emitted, noted.dropped),
                      .dropped = noted.dropped,
                      .reason = delta_.strings.intern(noted.reason)});
  }
}

Status SessionDrain::flush() {
  levelRanges();
  writeClock(false);
  writeLosses();
  writeNotedLosses();
  oldest_unwritten_ns_ = 0;
  if (window_) window_->prepare(delta_);
  if (write_status_) write_status_ = writer_->write(delta_);
  // Newer events count more than older ones.
  while (!write_status_ && window_ && window_->removeOldest()) {
    write_status_ = writer_->write(delta_);
  }
  if (!write_status_) lost_rows_ += rows_;
  rows_ = 0;
  if (window_ && write_status_) window_->note(delta_);
  appender_.rowsWritten();
  if (window_ && write_status_) turnWindow();
  return write_status_;
}

void SessionDrain::turnWindow() {
  const int64_t now = monotonicNs();
  if (window_->isWanted()) window_->save(*writer_);
  if (!window_->isDue(now)) return;
  if (window_->rotate(writer_, now)) appender_.beginFile();  // else it tries again
}

uint32_t SessionDrain::saveWindow(std::string reason) {
  pass();
  if (!window_ || !flush()) return 0;
  window_->want(std::move(reason));
  return window_->save(*writer_);
}

Status SessionDrain::finish() {
  // Drain only what is there now: a forked child that continues to write would keep this going
  // forever.
  const uint32_t used = memory_.header().rings_used.load(std::memory_order_acquire);
  std::vector<uint64_t> ends(used);
  for (uint32_t i = 0; i < used; ++i) {
    ends[i] = memory_.ring(i).control.head.load(std::memory_order_acquire);
  }
  const auto behind = [&] {
    for (uint32_t i = 0; i < used; ++i) {
      const auto owner = static_cast<Owner>(memory_.ring(i).owner.load(std::memory_order_acquire));
      if (owner == Owner::kNobody || owner == Owner::kClaiming) continue;
      const uint64_t tail = memory_.ring(i).control.tail.load(std::memory_order_acquire);
      if (static_cast<int64_t>(ends[i] - tail) > 0) return true;
    }
    return false;
  };
  do {
    pass();
  } while (behind());
  levelRanges();
  writeClock(true);
  TS_CHECK_OK(flush());
  return window_ ? window_->finish(*writer_) : writer_->finish();
}

}  // namespace tracesmith::session
