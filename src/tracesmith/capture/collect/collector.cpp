// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/collect/collector.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kCommitRows = 128 << 10;

/// Records of threads and stacks are not events of the program, so agents do not count them.
bool isCounted(ByteView record) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  switch (header.kind) {
    case arena::RecordKind::kNvtx:
      return static_cast<arena::NvtxEvent>(header.flags & arena::kNvtxEventMask) !=
             arena::NvtxEvent::kThreadName;
    case arena::RecordKind::kThread:
    case arena::RecordKind::kPath:
    case arena::RecordKind::kModule:
    case arena::RecordKind::kPythonCode:
    case arena::RecordKind::kPythonInterpreter:
    case arena::RecordKind::kXRayProgram:
    case arena::RecordKind::kCudaText:
    case arena::RecordKind::kCudaDevice:
    case arena::RecordKind::kCudaContext:
    case arena::RecordKind::kCudaOverhead:
    case arena::RecordKind::kCudaDropped:
    case arena::RecordKind::kCudaGraphNode:
    case arena::RecordKind::kUnwrappedLoader:
    case arena::RecordKind::kMpiCommunicator:
    case arena::RecordKind::kNcclCommunicator:
      return false;
    default:
      return true;
  }
}

}  // namespace

Collector::Collector(SessionDir dir, CollectorOptions options)
    : dir_(std::move(dir)), options_(options) {
  shared_.keep_kernels = options.keep_kernels;
  shared_.keep_memory = options.keep_memory;
  shared_.shortest_call_ns = options.shortest_call_ns;
  shared_.programs.onProgress([this] { updateHeartbeat(); });
  last_commit_ns_ = monotonicNs();
}

Collector::~Collector() = default;

Result<std::unique_ptr<Collector>> Collector::create(SessionDir dir, CollectorOptions options) {
  dir.files().removeFile("trace.sbt");
  TS_TRY(TraceWriter writer, TraceWriter::create(dir.tracePath()));
  linkUnfinishedTrace(dir);
  std::unique_ptr<Collector> c(new Collector(std::move(dir), options));
  c->writer_ = std::make_unique<TraceWriter>(std::move(writer));
  if (!c->dir_.info().id.empty()) c->noteMetadata("session_id", c->dir_.info().id);
  return c;
}

// --- Arenas and processes -------------------------------------------------------------------

void Collector::scan() {
  // List the CUDA files before the arenas: each arena is created before its CUDA file, so every
  // file found has its process.
  const std::vector<std::string> cuda_files = dir_.cudaFiles();
  for (std::string& path : dir_.arenas()) {
    if (!known_files_.emplace(path, true).second) continue;
    auto file = ArenaFile::open(path, dir_.files().fd());
    if (file) {
      addArena(std::move(*file));
    } else {
      noteLoss("arenas", 1, 1, file.error().toString());
    }
  }
  for (const std::string& path : cuda_files) {
    if (known_files_.emplace(path, true).second) addCudaFile(path);
  }
}

void Collector::addArena(ArenaFile file) {
  auto arena = std::make_unique<Arena>(Arena{std::move(file), nullptr, nullptr, {}});
  arena::ArenaHeader& header = arena->file.header();
  arena->process = &processOf(header);
  arena->share = &arena->process->shares[sourceOf(header)];
  arena->rings.resize(arena->file.ringCount());
  for (uint32_t i = 0; i < arena->rings.size(); ++i) {
    Ring& ring = arena->rings[i];
    const auto resumed = resumed_.find({arena->file.name(), i});
    if (resumed != resumed_.end()) {
      ring.position = resumed->second.position;
      ring.records = ring.committed_records = resumed->second.events;
      ring.tid = resumed->second.tid;
      arena->file.ring(i).tail.store(ring.position, std::memory_order_release);
    } else {
      ring.position = arena->file.ring(i).tail.load(std::memory_order_acquire);
    }
    ring.defined = ring.committed = ring.h1 = ring.position;
  }
  if (!capturing_) arena->file.header().capture_enabled.store(0, std::memory_order_relaxed);
  // A resumed session's losses include arenas that are gone and arenas that still exist. Subtract
  // the latter, which are counted again from their headers.
  CollectorTotals& closed = arena->share->closed;
  if (closed.emitted > 0) {
    CollectorTotals here;
    addRings(*arena, here);
    closed.written -= std::min(closed.written, here.written);
    closed.dropped -= std::min(closed.dropped, here.dropped);
    closed.command_buffers -= std::min(closed.command_buffers, here.command_buffers);
    closed.emitted = closed.written + closed.dropped;
  }
  arenas_.push_back(std::move(arena));
}

void Collector::addCudaFile(const std::string& path) {
  auto file = CudaFile::open(path, dir_.files().fd());
  if (!file) return noteLoss("CUDA files", 1, 1, file.error().toString());
  // Its arena is created before it, and removed after it.
  Process* const process = findByOwnIds(file->pid(), file->startTicks(), file->pidNamespace());
  if (process == nullptr) {
    return noteLoss("CUDA files", 1, 1, "belongs to no process that was recorded: " + path);
  }
  const bool done = resumed_.count({file->name(), 0}) > 0;
  process->cuda_files.emplace(path, CudaFileState{std::move(*file), false, done, done});
}

void Collector::setCapturing(bool on) {
  capturing_ = on;
  for (const auto& arena : arenas_) {
    arena->file.header().capture_enabled.store(on ? 1 : 0, std::memory_order_relaxed);
  }
}

Status Collector::commitNow() {
  // The second pass joins records that the first one only defined.
  pass();
  pass();
  commit();
  return write_status_;
}

void Collector::noteMetadata(std::string_view key, std::string_view value) {
  shared_.delta.setMetadata(key, value);
}

void Collector::readTopology(const TopologyProbe& probe) {
  topology_ = std::make_unique<TopologyReading>(probe);
}

void Collector::takeTopology(bool wait) {
  if (topology_ == nullptr || (!wait && !topology_->isDone())) return;
  const topology::Topology topology = topology_->finish();
  topology::appendRows(topology, shared_.delta);
  for (const topology::Node& node : topology.nodes) {
    if (node.pci && !node.uuid.empty()) shared_.noteAddress(node.uuid, toString(*node.pci));
  }
  topology_.reset();
}

void Collector::takePeerOffsets() {
  if (peers_ == nullptr) return;
  Trace& delta = shared_.delta;
  for (const PeerOffset& offset : peers_->takeNew()) {
    delta.clock_offset.push({.host_ns = offset.bound.at,
                             .peer = delta.strings.intern(offset.peer),
                             .peer_clock_id = delta.strings.intern(offset.clock_id),
                             .low_ns = offset.bound.low,
                             .high_ns = offset.bound.high});
  }
}

void Collector::noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                         std::string_view reason) {
  LossId& id = losses_[std::string(source)];
  if (id == LossId::kNone) id = static_cast<LossId>(++shared_.losses);
  StringTable& strings = shared_.delta.strings;
  shared_.delta.loss.push({.id = id,
                           .source = strings.intern(source),
                           .emitted = emitted,
                           .written = emitted - std::min(emitted, dropped),
                           .dropped = dropped,
                           .reason = strings.intern(reason)});
}

void Collector::closeDeadArenas() {
  std::erase_if(arenas_, [&](const std::unique_ptr<Arena>& arena) {
    Process& process = *arena->process;
    if (process.alive || !write_status_) return false;
    for (uint32_t i = 0; i < arena->rings.size(); ++i) {
      const uint64_t head = arena->file.ring(i).head.load(std::memory_order_acquire);
      if (!arena->rings[i].damaged && arena->rings[i].committed != head) return false;
    }
    const auto left = [](const auto& entry) { return !entry.second.committed; };
    if (std::any_of(process.cuda_files.begin(), process.cuda_files.end(), left)) return false;
    addRings(*arena, arena->share->closed);
    if (dir_.isGivenUp(arena->file.name())) return true;
    dir_.files().removeFile(arena->file.name());
    known_files_.erase(arena->file.path());
    return true;
  });
  // When the last arena of a process is gone, remove the files that explain its records.
  for (auto& [key, process] : processes_) {
    const auto its = [&process = process](const auto& arena) {
      return arena->process == process.get();
    };
    if (process->alive || process->cuda_files.empty() ||
        std::any_of(arenas_.begin(), arenas_.end(), its)) {
      continue;
    }
    for (const auto& [path, share] : process->cuda_files) {
      dir_.files().removeFile(share.file.name());
    }
    process->cuda_files.clear();
  }
}

// --- Passes ---------------------------------------------------------------------------------

void Collector::ringDamaged(Arena& arena, uint32_t index) {
  if (arena.rings[index].damaged) return;
  arena.rings[index].damaged = true;
  arena.file.ring(index).damaged.store(1, std::memory_order_relaxed);
  noteLoss("ring " + std::to_string(index) + " of " + arena.file.name(), 1, 1,
           arena.file.isDamaged()
               ? "its file was cut short, or its disk failed; what was in it from there on is lost"
               : "the program wrote over its ring; what was in it from there on is lost");
}

void Collector::defineRing(Arena& arena, uint32_t index) {
  Ring& ring = arena.rings[index];
  const uint64_t h2 = arena.file.ring(index).head.load(std::memory_order_acquire);
  RecordWalk walk(arena.file.ringData(index), arena.file.ringBytes(), ring.defined, h2);
  for (ByteView record = walk.next(); !record.empty(); record = walk.next()) {
    arena.process->joiner.define(record);
  }
  if (walk.damaged()) ringDamaged(arena, index);
  ring.defined = walk.position();
}

uint64_t Collector::joinRing(Arena& arena, uint32_t index) {
  Ring& ring = arena.rings[index];
  const uint64_t end = std::min(ring.h1, ring.defined);
  RecordWalk walk(arena.file.ringData(index), arena.file.ringBytes(), ring.position, end);
  uint64_t met = 0;
  for (ByteView record = walk.next(); !record.empty(); record = walk.next()) {
    const auto header = loadFixed<arena::RecordHeader>(record.data());
    if (header.kind == arena::RecordKind::kThread) ring.tid = header.aux;
    arena.process->joiner.join(record, ring.tid);
    ++met;
    if (isCounted(record)) ++ring.records;
  }
  if (walk.damaged()) ringDamaged(arena, index);
  ring.position = walk.position();
  return met;
}

uint64_t Collector::pass() {
  auto forEachRing = [&](auto&& f) {
    for (const auto& arena : arenas_) {
      for (uint32_t i = 0; i < arena->rings.size(); ++i) {
        if (!arena->rings[i].damaged) f(*arena, i);
      }
    }
  };
  forEachRing([](Arena& arena, uint32_t i) {
    const arena::RingHeader& shared = arena.file.ring(i);
    Ring& ring = arena.rings[i];
    ring.h1 = shared.head.load(std::memory_order_acquire);
    ring.emitted = std::max(ring.emitted, shared.emitted.load(std::memory_order_relaxed));
    ring.dropped = std::max(ring.dropped, shared.dropped.load(std::memory_order_relaxed));
  });
  // Everything committed before H1 was stamped before this sample.
  shared_.stamps.sample();
  if (directory_.mayHaveChanged(dir_.files().fd())) scan();
  forEachRing([&](Arena& arena, uint32_t i) { defineRing(arena, i); });
  readCudaDefinitions();
  uint64_t met = 0;
  forEachRing([&](Arena& arena, uint32_t i) { met += joinRing(arena, i); });
  for (auto& [key, process] : processes_) process->joiner.endPass();
  return met;
}

void Collector::readCudaDefinitions() {
  for (auto& [key, process] : processes_) {
    RecordJoiner& joiner = process->joiner;
    for (auto& [path, share] : process->cuda_files) {
      const uint64_t first = share.file.firstCorrelation();
      share.file.readDefinitions([&](ByteView record) { joiner.defineCuda(record, first); });
      joiner.noteCudaClock(share.file);
    }
  }
}

/// Reads the records that a program had in CUPTI's buffers when it died or was replaced by exec.
/// Its rings have been read completely: it writes no more records, and a pass has gone by since.
void Collector::readUnreadCudaRecords() {
  for (auto& [key, process] : processes_) {
    uint64_t newest = 0;
    for (const auto& [path, share] : process->cuda_files) {
      newest = std::max(newest, share.file.firstCorrelation());
    }
    for (auto& [path, share] : process->cuda_files) {
      if (share.left_read) continue;
      const bool dead = !process->alive || share.file.firstCorrelation() < newest;
      const bool now = dead && share.seen_dead;
      process->joiner.noteCudaFile(share.file, now);
      share.left_read = now;
      share.seen_dead = dead;
    }
  }
}

void Collector::updateHeartbeat() {
  const int64_t now = monotonicNs();
  for (const auto& arena : arenas_) {
    arena->file.header().collector_heartbeat_ns.store(now, std::memory_order_relaxed);
  }
}

uint64_t Collector::poll() {
  shared_.host_clocks.sample();
  updateHeartbeat();
  const uint64_t met = pass();
  updateHeartbeat();
  takeTopology(false);
  takePeerOffsets();
  readUnreadCudaRecords();
  checkLiveness();
  if (commitDue()) {
    commit();
    updateHeartbeat();
  }
  closeDeadArenas();
  return met;
}

// --- Commits --------------------------------------------------------------------------------

bool Collector::commitDue() const {
  if (monotonicNs() - last_commit_ns_ >= options_.commit_interval_ns) return true;
  const Trace& d = shared_.delta;
  if (d.host_call.size() + d.kernel.size() + d.copy.size() + d.range.size() >= kCommitRows)
    return true;
  for (const auto& arena : arenas_) {
    for (const Ring& ring : arena->rings) {
      if (ring.position - ring.committed > arena->file.ringBytes() / 4) return true;
    }
    // The remaining records of a dead process: once they are written, its arena can be removed.
    if (!arena->process->alive) return true;
  }
  return false;
}

void Collector::commit() {
  last_commit_ns_ = monotonicNs();
  for (auto& [key, process] : processes_) process->joiner.writePending();
  writeClocks(false);
  Trace& delta = shared_.delta;
  bool has_rows = false;
  forEachTable(delta, [&](const auto& table) { has_rows = has_rows || !table.empty(); });
  bool moved = false;
  for (const auto& arena : arenas_) {
    for (const Ring& ring : arena->rings) moved = moved || ring.position != ring.committed;
  }
  std::vector<CudaFileState*> left;  // rows of these are about to be written
  for (auto& [key, process] : processes_) {
    for (auto& [path, share] : process->cuda_files) {
      if (share.left_read && !share.committed) left.push_back(&share);
    }
  }
  moved = moved || !left.empty();
  if (has_rows || moved) {
    writeLosses();
    if (write_status_) write_status_ = writer_->write(delta);
    shared_.ranges_written += delta.range.size();
    forEachTable(delta, [](auto& table) { table.clear(); });
    for (const auto& arena : arenas_) {
      const StringId name = delta.strings.intern(arena->file.name());
      for (uint32_t i = 0; i < arena->rings.size(); ++i) {
        const Ring& ring = arena->rings[i];
        if (ring.position == ring.committed) continue;
        delta.commit_mark.push({.arena = name,
                                .ring = i,
                                .position = ring.position,
                                .events = ring.records,
                                .tid = ring.tid});
      }
    }
    for (const CudaFileState* share : left) {
      const StringId name = delta.strings.intern(share->file.name());
      delta.commit_mark.push({.arena = name, .ring = 0, .position = 1});
    }
    if (write_status_ && moved) write_status_ = writer_->write(delta);
    delta.commit_mark.clear();
  }
  for (CudaFileState* share : left) share->committed = write_status_.has_value();
  // From here on no record can be kept. Stop the programs from emitting: on a full disk each new
  // page that they write to costs them a search for space.
  if (!write_status_ && capturing_) setCapturing(false);
  for (const auto& arena : arenas_) {
    for (uint32_t i = 0; i < arena->rings.size(); ++i) {
      Ring& ring = arena->rings[i];
      ring.committed = ring.position;
      ring.committed_records = ring.records;
      if (write_status_ || !resumed_session_) {
        arena->file.ring(i).tail.store(ring.position, std::memory_order_release);
      }
    }
  }
}

void Collector::writeClocks(bool finish) {
  constexpr size_t kHostKinds = HostClocks::kKinds.size();
  constexpr auto kCounterDomain = idAt<ClockDomainId>(kHostKinds);
  Trace& delta = shared_.delta;
  const auto& samples = shared_.host_clocks.samples();
  if (written_clock_.empty()) {
    for (size_t k = 0; k < kHostKinds; ++k) {
      const ClockKind kind = HostClocks::kKinds[k];
      delta.clock_domain.push({.id = idAt<ClockDomainId>(k),
                               .kind = kind,
                               .name = delta.strings.intern(toString(kind))});
    }
    delta.clock_domain.push({.id = kCounterDomain,
                             .kind = ClockKind::kTimeStampCounter,
                             .name = delta.strings.intern("time stamp counter")});
    written_clock_.reserve(1);
  }
  written_clock_.resize(shared_.devices.size(), ClockKind::kHostMonotonic);

  for (auto& [key, process] : processes_) {
    process->joiner.giveCudaClockSnapshots();
    process->joiner.writeNcclClocks(finish);
  }
  std::array<int64_t, kHostKinds> extra{};  // ambiguity left by the devices' brackets
  for (size_t i = 0; i < shared_.devices.size(); ++i) {
    SharedRows::DeviceState& device = shared_.devices[i];
    if (!device.vendor_snapshots.empty()) {
      writeVendorClock(device, SharedRows::deviceClock(i));
    }
    if (!device.clock.observed()) continue;
    const ClockKind kind = device.clock.kind();
    ClockDomainId domain = ClockDomainId::kNone;
    for (size_t k = 0; k < kHostKinds; ++k) {
      if (HostClocks::kKinds[k] != kind) continue;
      domain = idAt<ClockDomainId>(k);
      extra[k] = std::max(extra[k], device.clock.identityError());
    }
    if (kind == ClockKind::kBracketed) {
      domain = SharedRows::deviceClock(i);
      delta.clock_domain.push({.id = domain,
                               .kind = kind,
                               .name = delta.strings.intern(
                                   "clock of " + std::string(delta.strings.at(device.row.name)))});
      for (const auto& s : device.clock.takeBracketSnapshots(finish)) {
        delta.clock_snapshot.push({.domain_id = domain,
                                   .host_ns = s.host_ns,
                                   .clock_value = s.clock_value,
                                   .error_ns = s.error_ns});
      }
    }
    if (domain != device.row.clock_domain_id) {
      device.row.clock_domain_id = domain;
      delta.device.push(device.row);
    }
  }
  for (const StampClock::Sample& s : shared_.stamps.samples()) {
    // The newest sample may still be replaced. Write it once it is no longer the newest, or at the
    // end.
    const bool newest = &s == &shared_.stamps.samples().back();
    if (s.host_ns <= written_stamps_ns_ || (newest && !finish)) continue;
    written_stamps_ns_ = s.host_ns;
    delta.clock_snapshot.push({.domain_id = kCounterDomain,
                               .host_ns = s.host_ns,
                               .clock_value = s.counter,
                               .error_ns = s.error_ns});
  }
  // Write samples of all host clocks, because the clock of a device may be identified later.
  for (; written_samples_ < samples.size(); ++written_samples_) {
    const HostClocks::Sample& s = samples[written_samples_];
    for (size_t k = 0; k < kHostKinds; ++k) {
      delta.clock_snapshot.push({.domain_id = idAt<ClockDomainId>(k),
                                 .host_ns = s.host_ns,
                                 .clock_value = s.value[k],
                                 .error_ns = s.error_ns + extra[k]});
    }
  }
}

/// For a device whose work is already in host time, converted by the vendor's library. The
/// snapshots give the offset of its clock from the host's, but not the accuracy of that conversion.
void Collector::writeVendorClock(SharedRows::DeviceState& device, ClockDomainId domain) {
  Trace& delta = shared_.delta;
  if (device.row.clock_domain_id != domain) {
    delta.clock_domain.push(
        {.id = domain, .kind = ClockKind::kConverted, .name = delta.strings.intern("CUPTI")});
    device.row.clock_domain_id = domain;
    delta.device.push(device.row);
  }
  for (const ClockCurve::Snapshot& s : device.vendor_snapshots) {
    delta.clock_snapshot.push({.domain_id = domain,
                               .host_ns = s.host_ns,
                               .clock_value = s.clock_value,
                               .error_ns = s.error_ns});
  }
  device.vendor_snapshots.clear();
}

uint64_t Collector::fileBytes() const { return writer_ ? writer_->bytesWritten() : 0; }

Status Collector::finish() {
  if (finished_) return write_status_;
  shared_.host_clocks.sample(0);
  // All records that a dead program committed are in its rings. Two passes are needed: the second
  // joins what the first defined.
  last_liveness_ns_ = 0;
  directory_ = {};
  checkLiveness();
  for (auto& [key, process] : processes_) {
    if (!process->in_sight) process->alive = false;  // from here on
  }
  while (pass() > 0 || pass() > 0) {
  }
  for (int i = 0; i < 2; ++i) readUnreadCudaRecords();
  takeTopology(true);
  if (peers_ != nullptr) peers_->finish();
  takePeerOffsets();
  finished_ = true;
  for (auto& [key, process] : processes_) {
    const int64_t ended = process_rows_[key].end_ns;
    process->joiner.finish(ended != 0 ? ended : monotonicNs());
  }
  for (const SessionDir::Unrecorded& u : dir_.unrecorded()) {
    noteLoss("process " + std::to_string(u.pid), 1, 1,
             std::string("could not ") + arena::failureOf(u.step) + " (" + std::strerror(u.error) +
                 "), so " + arena::consequenceOf(u.step));
  }
  last_liveness_ns_ = 0;
  checkLiveness();
  for (auto& [key, row] : process_rows_) {
    if (row.end_ns == 0 && (row.flags & process_flags::kAgent)) {
      const auto process = processes_.find(key);
      const bool alive = process != processes_.end() && process->second->alive;
      if (!alive) continue;
      row.flags |= process_flags::kStillRunning;
      shared_.delta.process.push(row);
    }
  }
  writeClocks(true);
  commit();
  if (write_status_) write_status_ = writer_->finish();
  for (const auto& arena : arenas_) addRings(*arena, arena->share->closed);  // for totals()
  arenas_.clear();
  if (resumed_session_) {
    if (write_status_) write_status_ = checkFinished(writer_->path());
    if (!write_status_) return write_status_;
  }
  // After a failed write the rings of running programs were still drained, so their contents cannot
  // be recovered. Keep what is in the file.
  auto published = publish(dir_, write_status_.has_value());
  if (published) {
    published_ = std::move(*published);
    dir_.remove();
  } else if (write_status_) {
    write_status_ = tl::unexpected<Error>(published.error());
  }
  return write_status_;
}

}  // namespace tracesmith
