// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/collect/collector.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/join/recorded_system.hpp"
#include "tracesmith/capture/system/system_recorder.hpp"
#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith {
namespace {

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
  if (options.flight.window_ns > 0) {
    std::string_view base = dir_.info().output;
    if (base.ends_with(".sbt")) base.remove_suffix(4);
    window_ = std::make_unique<FlightWindow>(dir_.tracePath(), std::string(base), options.flight);
    options_.commit_interval_ns =
        std::min(options_.commit_interval_ns, options.flight.window_ns / kPartsOfWindow);
  }
  last_commit_ns_ = monotonicNs();
}

Collector::~Collector() = default;

Result<std::unique_ptr<Collector>> Collector::create(SessionDir dir, CollectorOptions options) {
  dir.files().removeFile("trace.sbt");
  TS_TRY(TraceWriter writer, TraceWriter::create(dir.tracePath()));
  if (options.flight.window_ns == 0) linkUnfinishedTrace(dir);
  std::unique_ptr<Collector> c(new Collector(std::move(dir), options));
  c->writer_ = std::make_unique<TraceWriter>(std::move(writer));
  if (c->window_) c->window_->describe(c->shared_.delta);
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

void Collector::followSystem(SystemRecorder& recorder) {
  system_ = &recorder;
  system_rows_ = std::make_unique<RecordedSystem>(
      shared_, [this](const SampledProcess& process) { return sampledProcess(process); });
}

uint64_t Collector::cpuSamples() const {
  return system_rows_ == nullptr ? 0 : system_rows_->samples();
}

void Collector::takeSystemEvents() {
  if (system_ == nullptr) return;
  const SystemEvents events = system_->takeNew();
  system_rows_->add(events);
  system_lost_ = events.lost;
  python_stacks_ = events.python_stacks;
  python_lost_ = events.python_lost;
  for (const uint32_t killed : events.oom_kills) noteOomKill(system_rows_->process(killed));
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
  takeSystemEvents();
  readUnreadCudaRecords();
  checkLiveness();
  if (commitDue()) {
    commit();
    updateHeartbeat();
  }
  closeDeadArenas();
  return met;
}

uint64_t Collector::fileBytes() const {
  if (window_ && window_->finishedBytes() > 0) return window_->finishedBytes();
  return writer_ ? writer_->bytesWritten() : 0;
}

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
  if (system_ != nullptr) {
    system_->finish();
    takeSystemEvents();
    const uint64_t written = system_rows_->samples() + system_rows_->others();
    noteLoss("processor records", written + system_lost_, system_lost_,
             system_lost_ > 0 ? "they came faster than they could be read" : "");
    if (python_stacks_ + python_lost_ > 0) {
      noteLoss(
          "Python stacks", python_stacks_ + python_lost_, python_lost_,
          python_lost_ > 0 ? "there was no room, or the interpreter's memory had changed" : "");
    }
  }
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
  if (write_status_) write_status_ = finishFile();
  for (const auto& arena : arenas_) addRings(*arena, arena->share->closed);  // for totals()
  arenas_.clear();
  if (resumed_session_) {
    if (write_status_) write_status_ = checkFinished(dir_.tracePath());
    if (!write_status_) return write_status_;
  }
  if (window_ && !write_status_) {
    return write_status_ = fail(write_status_.error().code,
                                fmt::format("{}. What was recorded is kept: free space, and run "
                                            "`tracesmith recover {}`",
                                            write_status_.error().toString(), dir_.path()));
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
