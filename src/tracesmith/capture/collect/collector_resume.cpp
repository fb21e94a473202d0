// SPDX-License-Identifier: Apache-2.0
// Resumes the session of a collector that died. The trace file has everything except what is still
// in the rings.
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

/// Number of blocks up to and including the last commit mark; later blocks may be an incomplete
/// commit.
size_t committedBlocks(const TraceReader& reader) {
  const std::vector<BlockInfo>& blocks = reader.blocks();
  for (size_t i = blocks.size(); i-- > 0;) {
    if (blocks[i].table == TableId::kCommit) return i + 1;
  }
  return 0;
}

/// An arena of the process; without one there is nothing to join.
std::optional<ArenaFile> arenaOf(const ProcessRow& process, const SessionDir& dir) {
  for (const std::string& path : dir.arenas()) {
    auto file = ArenaFile::open(path, dir.files().fd());
    if (!file) continue;
    const arena::ArenaHeader& h = file->header();
    const uint32_t seen_pid = h.seen_pid.load(std::memory_order_relaxed);
    // The row has the pid in the collector's namespace if the process was visible there.
    if ((seen_pid != 0 ? seen_pid : h.pid) == process.pid && h.start_ticks == process.start_ticks &&
        (h.pid_namespace == process.pid_namespace || h.pid_namespace == 0)) {
      return std::move(*file);
    }
  }
  return std::nullopt;
}

/// Raises the last assigned id to the highest in the table, because ids are assigned in order.
template <class Table>
void raiseToHighest(uint32_t& given, const Table& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    given = std::max(given, static_cast<uint32_t>(table.id[i]));
  }
}

}  // namespace

bool hasCommittedRows(const SessionDir& dir) {
  for (const std::string& path : dir.arenas()) {
    const auto file = ArenaFile::open(path, dir.files().fd());
    for (uint32_t i = 0; file && i < file->ringCount(); ++i) {
      if (file->ring(i).tail.load(std::memory_order_acquire) != 0) return true;
    }
  }
  return false;
}

Status checkFinished(const std::string& path) {
  TS_TRY(const TraceCheck check, checkTrace(path));
  if (check.intact()) return {};
  const std::string what =
      check.problems.empty()
          ? "the finished trace has no end marker"
          : fmt::format(
                "the finished trace is damaged at offset {} ({}); it can be read without that "
                "part",
                check.problems[0].offset, check.problems[0].reason);
  return fail(ErrorCode::kDamaged, what + ". The session is kept; see `tracesmith verify`", path);
}

Result<std::unique_ptr<Collector>> Collector::resume(SessionDir dir) {
  const CollectorOptions options = {.keep_kernels = dir.info().keep_kernels,
                                    .keep_memory = dir.info().keep_memory,
                                    .shortest_call_ns = dir.info().shortest_call_ns,
                                    .flight = {.window_ns = dir.info().flight_window_ns}};
  auto reader = TraceReader::open(dir.tracePath());
  if (!reader && inspectFile(dir.tracePath()).kind == ExistingFile::Kind::kOther) {
    return tl::unexpected<Error>(reader.error());  // do not overwrite a trace that cannot be read
  }
  const size_t kept = reader ? committedBlocks(*reader) : 0;
  if (reader && reader->complete()) {
    return fail(ErrorCode::kInvalidArgument,
                "the recording is complete; the session directory can be removed", dir.tracePath());
  }
  if (kept == 0 && hasCommittedRows(dir)) {
    return fail(
        ErrorCode::kDamaged,
        "rows of this session were written to its trace, and the trace has none of them; put "
        "the trace back to " +
            dir.tracePath() + " and try again. The session is kept",
        dir.path());
  }
  // Nothing was committed, so all records are still in the arenas.
  if (kept == 0) {
    auto anew = create(std::move(dir), options);
    if (anew) (*anew)->resumed_session_ = true;
    if (anew) (*anew)->shared_.is_live = false;
    return anew;
  }
  std::unique_ptr<Collector> c(new Collector(std::move(dir), options));
  c->resumed_session_ = true;
  c->shared_.is_live = false;
  TS_CHECK_OK(c->restore(*reader, kept));
  TS_TRY(TraceWriter writer,
         TraceWriter::resume(c->dir_.tracePath(), reader->blocks()[kept - 1].end,
                             static_cast<uint32_t>(c->shared_.delta.strings.size())));
  c->writer_ = std::make_unique<TraceWriter>(std::move(writer));
  return c;
}

/// The processes that have an agent, by their id in the trace.
class Collector::ProcessIndex {
 public:
  explicit ProcessIndex(const std::map<ProcessKey, std::unique_ptr<Process>>& processes) {
    for (const auto& [key, process] : processes) {
      by_id_.emplace(process->joiner.process(), process.get());
    }
  }
  Process* find(ProcessId id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
  }
  /// Calls `restore(joiner, i)` for every row i of these processes, in the table's order.
  template <class Table, class Restore>
  void forRowsOf(const Table& table, Restore&& restore) const {
    for (size_t i = 0; i < table.size(); ++i) {
      if (Process* process = find(table.process_id[i])) restore(process->joiner, i);
    }
  }

 private:
  std::unordered_map<ProcessId, Process*> by_id_;
};

Status Collector::restore(TraceReader& reader, size_t block_count) {
  Trace file;
  uint64_t ranges_before = 0;
  if (window_) {  // earlier events, to which later ones may belong
    TS_TRY(const Trace metadata, reader.read({.tables = {TableId::kMetadata}}));
    TS_CHECK_OK(window_->takeParts(metadata.metadataValue(kIdKey), &file));
    ranges_before = file.range.size();
  }
  for (size_t i = 0; i < block_count; ++i) TS_CHECK_OK(reader.readBlock(i, file));
  shared_.delta.strings = file.strings;
  if (window_) window_->keep(file);
  restoreProcesses(file);
  const ProcessIndex processes(processes_);
  restoreIds(file, processes);
  restoreLosses(file, processes);
  restoreDictionaries(file);
  restoreJoined(file, processes);
  for (auto& [key, process] : processes_) process->joiner.restored();
  forgetCompleted(file, processes);
  restoreStampClock(file);
  for (size_t i = 0; i < file.commit_mark.size(); ++i) {
    const CommitRow row = file.commit_mark.row(i);
    resumed_[{std::string(file.text(row.arena)), row.ring}] = row;
  }
  shared_.kernels = file.kernel.size();
  shared_.copies = file.copy.size();
  shared_.host_calls = file.host_call.size();
  shared_.ranges_written = file.range.size() - ranges_before;
  return {};
}

void Collector::restoreProcesses(const Trace& file) {
  raiseToHighest(shared_.processes, file.process);
  for (size_t i = 0; i < file.process.size(); ++i) {
    const ProcessRow row = file.process.row(i);
    const bool has_agent = (row.flags & process_flags::kAgent) != 0;
    const auto arena = has_agent ? arenaOf(row, dir_) : std::nullopt;
    const bool foreign = row.pid_namespace != 0 && row.pid_namespace != ownPidNamespace();
    const bool in_sight = !arena || !foreign || arena->header().seen_pid.load() != 0;
    const ProcessKey key{row.pid, row.start_ticks, in_sight ? 0 : row.pid_namespace};
    process_rows_[key] = row;
    if (has_agent && processes_[key] == nullptr) {
      processes_[key] = std::make_unique<Process>(
          shared_, row.id,
          arena ? arena->header().stamp_clock : arena::StampClockKind::kMonotonicNs);
      Process& process = *processes_[key];
      process.key = key;
      process.own_pid = arena ? arena->header().pid : row.pid;
      process.pid_namespace = arena ? arena->header().pid_namespace : row.pid_namespace;
      process.in_sight = in_sight;
    }
  }
}

void Collector::restoreIds(const Trace& file, const ProcessIndex& processes) {
  for (size_t i = 0; i < file.thread.size(); ++i) shared_.threads.restore(file.thread.row(i));
  raiseToHighest(shared_.contexts, file.context);
  processes.forRowsOf(file.context, [&](RecordJoiner& joiner, size_t i) {
    joiner.restoreCudaContext(file.context.row(i));
  });
  raiseToHighest(shared_.streams, file.stream);
  processes.forRowsOf(file.stream, [&](RecordJoiner& joiner, size_t i) {
    const StreamRow row = file.stream.row(i);
    joiner.restoreStream(row.id, row.device_id);
    joiner.restoreCudaStream(row);
  });
}

void Collector::restoreLosses(const Trace& file, const ProcessIndex& processes) {
  for (size_t i = 0; i < file.loss.size(); ++i) {
    const LossRow row = file.loss.row(i);
    shared_.losses = std::max(shared_.losses, static_cast<uint32_t>(row.id));
    if (row.process_id == ProcessId::kNone) {
      losses_[std::string(file.text(row.source))] = row.id;
      continue;
    }
    Process* process = processes.find(row.process_id);
    if (process == nullptr) continue;
    const std::string source(file.text(row.source));
    if (source == kCudaActivity) {
      process->cuda_loss = row.id;
      process->joiner.restoreCudaLosses(file.text(row.reason));
    }
    if (source == kCommandBuffers) {
      Share& of = process->shares[std::string(kOpenClRecords)];
      of.command_buffer_loss = row.id;
      of.closed.command_buffers = row.dropped;
    }
    if (source != kOpenClRecords && source != kXRayRecords && source != kCudaRecords &&
        source != kMpiRecords && source != kNcclRecords) {
      continue;
    }
    Share& share = process->shares[source];
    share.loss = row.id;
    // addArena() subtracts what the still existing arenas report themselves.
    share.closed.emitted = row.emitted;
    share.closed.written = row.written;
    share.closed.dropped = row.dropped;
  }
}

void Collector::restoreDictionaries(const Trace& file) {
  for (size_t i = 0; i < file.device.size(); ++i) {
    const DeviceRow row = file.device.row(i);
    if (indexOf(row.id) >= shared_.devices.size()) shared_.devices.resize(indexOf(row.id) + 1);
    shared_.devices[indexOf(row.id)].row = row;
  }
  for (size_t i = 0; i < file.launch_shape.size(); ++i) {
    shared_.shape(file.launch_shape.row(i));
  }
  shared_.delta.launch_shape.clear();
  for (size_t i = 0; i < file.counter_track.size(); ++i) {
    shared_.counterTrack(file.counter_track.row(i));
  }
  shared_.delta.counter_track.clear();
  for (const CommunicatorId id : file.communicator.id) {
    shared_.communicators = std::max(shared_.communicators, static_cast<uint32_t>(id));
  }
  for (const ClockDomainId id : file.clock_domain.id) {
    if (id >= SharedRows::deviceClock(0)) {
      shared_.communicator_clocks = static_cast<uint32_t>(indexOf(id)) / 2;
    }
  }
  shared_.stacks.restore(file);
}

void Collector::restoreJoined(const Trace& file, const ProcessIndex& processes) {
  processes.forRowsOf(file.module, [&](RecordJoiner& joiner, size_t i) {
    joiner.restoreModule(file.module.row(i));
  });
  processes.forRowsOf(file.communicator, [&](RecordJoiner& joiner, size_t i) {
    const CommunicatorRow row = file.communicator.row(i);
    joiner.restoreCommunicator(row, file.text(row.library));
  });
  processes.forRowsOf(file.object, [&](RecordJoiner& joiner, size_t i) {
    joiner.restoreObject(file.object.row(i));
  });
  processes.forRowsOf(file.host_call, [&](RecordJoiner& joiner, size_t i) {
    joiner.restoreCall(file.host_call.row(i));
  });
  processes.forRowsOf(file.flow, [&](RecordJoiner& joiner, size_t i) {
    if (file.flow.from_stream_id[i] == StreamId::kNone) return;
    joiner.restoreWaitFlow(file.flow.to_correlation_id[i]);
  });
  processes.forRowsOf(file.pending, [&](RecordJoiner& joiner, size_t i) {
    joiner.restorePending(file.pending.row(i));
  });
  processes.forRowsOf(
      file.range, [&](RecordJoiner& joiner, size_t i) { joiner.restoreRange(file.range.row(i)); });
}

void Collector::forgetCompleted(const Trace& file, const ProcessIndex& processes) {
  const auto completed = [&](const auto& table) {
    processes.forRowsOf(table, [&](RecordJoiner& joiner, size_t i) {
      joiner.forgetPending(table.correlation_id[i]);
    });
  };
  completed(file.kernel);
  completed(file.copy);
  completed(file.fill);
  completed(file.sync);
  // CUDA work that may have been waiting as well.
  const auto came = [&](const auto& table) {
    processes.forRowsOf(table, [&](RecordJoiner& joiner, size_t i) {
      joiner.forgetCudaWaiting(table.correlation_id[i]);
    });
  };
  came(file.memory_event);
  processes.forRowsOf(file.memory_event, [&](RecordJoiner& joiner, size_t i) {
    joiner.restoreCudaMemory(file.memory_event.row(i));
  });
  came(file.program_build);
}

void Collector::restoreStampClock(const Trace& file) {
  ClockDomainId counter{};
  for (size_t i = 0; i < file.clock_domain.size(); ++i) {
    if (file.clock_domain.kind[i] == ClockKind::kTimeStampCounter) {
      counter = file.clock_domain.id[i];
    }
  }
  for (size_t i = 0; i < file.clock_snapshot.size(); ++i) {
    const ClockSnapshotRow row = file.clock_snapshot.row(i);
    if (counter != ClockDomainId::kNone && row.domain_id == counter) {
      shared_.stamps.add({row.host_ns, row.clock_value, row.error_ns});
      written_stamps_ns_ = std::max(written_stamps_ns_, row.host_ns);
    }
  }
}

}  // namespace tracesmith
