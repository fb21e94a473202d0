// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"

#include <fmt/format.h>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

std::string_view unitName(uint64_t unit) {
  switch (unit) {
    case 1:
      return "ns";
    case 2:
      return "count";
    case 3:
      return "bytes";
    default:
      return "";
  }
}

}  // namespace

uint64_t trackOfThread(int64_t pid, int64_t tid) {
  const int64_t key[] = {pid, tid};
  return hash64({reinterpret_cast<const uint8_t*>(key), sizeof key});
}

void PerfettoFirstPass::readPacket(std::string_view bytes) {
  ++packets;
  uint64_t sequence = 0;
  uint64_t flags = 0;
  std::optional<uint64_t> time;
  std::optional<uint32_t> clock;
  std::string_view defaults;
  std::string_view payload;
  uint32_t kind = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::packet::kSequenceId:
        sequence = f.value;
        break;
      case pn::packet::kSequenceFlags:
        flags = f.value;
        break;
      case pn::packet::kStateCleared:
        if (f.value != 0) flags |= pn::packet::kCleared;
        break;
      case pn::packet::kTimestamp:
        time = f.value;
        break;
      case pn::packet::kTimestampClockId:
        clock = static_cast<uint32_t>(f.value);
        break;
      case pn::packet::kDefaults:
        defaults = f.bytes;
        break;
      case pn::packet::kClockSnapshot:
      case pn::packet::kTrackEvent:
      case pn::packet::kTrackDescriptor:
      case pn::packet::kProcessTree:
      case pn::packet::kProcessDescriptor:
      case pn::packet::kThreadDescriptor:
      case pn::packet::kGpuInfo:
      case pn::packet::kGpuCounterEvent:
      case pn::packet::kGpuRenderStageEvent:
      case pn::packet::kTraceAttributes:
        kind = f.number;
        payload = f.bytes;
        break;
      default:
        break;
    }
  });
  Sequence& known = sequences_[sequence];
  if (flags & pn::packet::kCleared) known = {.thread = known.thread};
  if (!defaults.empty()) setDefaults(known, defaults);
  const uint32_t in = clock.value_or(known.clock);
  if (in >= pn::clock::kFirstOfSequence && in <= pn::clock::kLastOfSequence) time.reset();
  switch (kind) {
    case pn::packet::kClockSnapshot:
      return clocks.learn(payload);
    case pn::packet::kTrackEvent:
      return readEvent(sequence, known, time, payload);
    case pn::packet::kGpuCounterEvent:
      return readGpuCounters(sequence, in, time);
    case pn::packet::kGpuRenderStageEvent:
      return readStage(payload);
    default:
      return describe(known, kind, payload);
  }
}

void PerfettoFirstPass::setDefaults(Sequence& known, std::string_view bytes) {
  known.track = 0;
  known.clock = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::defaults::kClockId) known.clock = static_cast<uint32_t>(f.value);
    if (f.number != pn::defaults::kTrackEvent) return;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pn::defaults::kTrackUuid) known.track = g.value;
    });
  });
}

/// Reads a packet's descriptions of processes, threads, tracks, devices and the trace.
void PerfettoFirstPass::describe(Sequence& known, uint32_t kind, std::string_view payload) {
  switch (kind) {
    case pn::packet::kTrackDescriptor:
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number != pn::track::kThread) return;
        PerfettoSequence of;
        of.setThread(f.bytes);
        known.thread = of.thread;
      });
      return readTrack(payload);
    case pn::packet::kProcessTree:
      return readProcessTree(payload);
    case pn::packet::kGpuInfo:
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::gpu::kGpus) readGpu(f.bytes);
      });
      return;
    case pn::packet::kTraceAttributes:
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::attributes::kAttribute) readAttribute(f.bytes);
      });
      return;
    case pn::packet::kProcessDescriptor:
    case pn::packet::kThreadDescriptor: {
      int64_t pid = 0;
      int64_t tid = 0;
      std::string_view name;
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::track::kPid) pid = static_cast<int32_t>(f.value);
        if (kind == pn::packet::kThreadDescriptor) {
          if (f.number == pn::track::thread::kTid) tid = static_cast<int64_t>(f.value);
          if (f.number == pn::track::thread::kName) name = f.bytes;
        } else if (f.number == pn::track::process::kName) {
          name = f.bytes;
        }
      });
      if (kind == pn::packet::kThreadDescriptor) {
        threads[{pid, tid}] = name;
        known.thread = {.known = true, .pid = pid, .tid = tid};
      } else {
        processes[pid].first = name;
      }
      return;
    }
    default:
      return;
  }
}

void PerfettoFirstPass::readTrack(std::string_view bytes) {
  uint64_t uuid = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::track::kUuid) uuid = f.value;
  });
  const auto [known, fresh] = tracks.try_emplace(uuid);
  if (fresh) track_order.push_back(uuid);
  PerfettoTrack& t = known->second;  // later descriptions are merged in
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::track::kParent:
        t.parent = f.value;
        break;
      case pn::track::kName:
      case pn::track::kStaticName:
      case pn::track::kAtraceName:
        t.name = f.bytes;
        break;
      case pn::track::kProcess:
        t.process = true;
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::track::kPid) t.pid = static_cast<int32_t>(g.value);
          if (g.number == pn::track::process::kName) t.process_name = g.bytes;
          if (g.number == pn::track::process::kCommandLine) {
            if (!t.command_line.empty()) t.command_line += ' ';
            t.command_line += g.bytes;
          }
        });
        break;
      case pn::track::kThread:
        t.thread = true;
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::track::kPid) t.pid = static_cast<int32_t>(g.value);
          if (g.number == pn::track::thread::kTid) t.tid = static_cast<int64_t>(g.value);
          if (g.number == pn::track::thread::kName) t.thread_name = g.bytes;
        });
        break;
      case pn::track::kDisallowMerging:
        t.separate = f.value != 0;
        break;
      case pn::track::kCounter:
        t.counter = true;
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::track::counter::kType) t.counter_type = g.value;
          if (g.number == pn::track::counter::kUnit) t.unit = unitName(g.value);
          if (g.number == pn::track::counter::kUnitName) t.unit = g.bytes;
          if (g.number == pn::track::counter::kMultiplier && g.value != 0) {
            t.multiplier = static_cast<double>(static_cast<int64_t>(g.value));
          }
          if (g.number == pn::track::counter::kIncremental) t.incremental = g.value != 0;
        });
        break;
      default:
        break;
    }
  });
}

void PerfettoFirstPass::readEvent(uint64_t sequence, const Sequence& known,
                                  std::optional<uint64_t> time, std::string_view bytes) {
  bool has_track = false;
  bool has_type = false;
  bool own_time = false;
  uint64_t uuid = known.track;
  std::string_view correlation;
  std::string_view legacy;
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::event::kTrackUuid:
        uuid = f.value;
        has_track = true;
        break;
      case pn::event::kType:
        has_type = true;
        break;
      case pn::event::kAbsoluteTime:
        own_time = true;
        break;
      case pn::event::kTimeDelta:
        time.reset();
        break;
      case pn::event::kLegacy:
        legacy = f.bytes;
        break;
      case pn::event::kGpuCorrelation:
        correlation = f.bytes;
        break;
      default:
        break;
    }
  });
  if (uuid == 0) {
    std::optional<int64_t> pid;
    std::optional<int64_t> tid;
    proto::forEachField(legacy, [&](const Field& f) {
      if (f.number == pn::event::legacy::kPid) pid = static_cast<int32_t>(f.value);
      if (f.number == pn::event::legacy::kTid) tid = static_cast<int32_t>(f.value);
    });
    const auto thread = threadOfEvent(known.thread, !has_track || !has_type, pid, tid);
    if (thread) uuid = trackOfThread(thread->first, thread->second);
  }
  if (uuid != 0) {
    const auto [order, fresh] = orders_.try_emplace(uuid, Order{sequence, 0});
    if (own_time || order->second.sequence != sequence || (time && *time < order->second.time)) {
      unordered_tracks.insert(uuid);
    }
    if (time) order->second.time = *time;
  }
  uint64_t first_work = 0;
  bool any = false;
  proto::forEachField(correlation, [&](const Field& f) {
    if (f.number != pn::event::gpu_correlation::kSubmitted || f.wire_type != 0) return;
    if (!any) first_work = f.value;
    any = true;
    submissions.try_emplace(f.value, PerfettoSubmission{first_work, uuid});
  });
}

/// Checks whether they come in time order: one sequence, one clock, no decreasing time.
void PerfettoFirstPass::readGpuCounters(uint64_t sequence, uint32_t clock,
                                        std::optional<uint64_t> time) {
  const std::pair in(sequence, clock);
  if (gpu_counters_in_.value_or(in) != in || (time && *time < gpu_counters_until_)) {
    unordered_gpu_counters = true;
  }
  gpu_counters_in_ = in;
  if (time) gpu_counters_until_ = *time;
}

void PerfettoFirstPass::readStage(std::string_view bytes) {
  namespace ps = pn::stage::specifications;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number != pn::stage::kSpecifications || f.wire_type != 2) return;
    size_t queue = 0;
    proto::forEachField(f.bytes, [&](const Field& g) {
      std::string name;
      uint64_t context = 0;
      int64_t pid = 0;
      proto::forEachField(g.bytes, [&](const Field& h) {
        if (g.number == ps::kContext) {
          if (h.number == ps::kContextNumber) context = h.value;
          if (h.number == ps::kContextPid) pid = static_cast<int32_t>(h.value);
        } else if (h.number == ps::kName) {
          name = h.bytes;
        }
      });
      if (g.number == ps::kContext) specifications.pids[context] = pid;
      if (g.number == ps::kQueues) {
        // Queue numbers restart at 0 in each list; stage numbers continue from the previous list.
        if (queue >= specifications.queues.size()) specifications.queues.resize(queue + 1);
        if (!name.empty()) specifications.queues[queue] = name;
        ++queue;
      }
      if (g.number == ps::kStages && !name.empty()) specifications.stages.push_back(name);
    });
  });
}

uint64_t PerfettoFirstPass::sameTrack(uint64_t uuid) const {
  const auto known = tracks.find(uuid);
  if (known == tracks.end() || !known->second.thread || known->second.separate) return uuid;
  return trackOfThread(known->second.pid, known->second.tid);
}

/// Only now is it known which tracks belong to the same thread.
void PerfettoFirstPass::finish() {
  // TraceSmith's exporter gives each thread one track. Threads of different hosts may have equal
  // ids, so they must not be merged.
  if (ours) {
    for (auto& [uuid, track] : tracks) track.separate = true;
  }
  for (const uint64_t uuid : track_order) {
    const uint64_t same = sameTrack(uuid);
    const auto order = orders_.find(uuid);
    if (same == uuid || order == orders_.end()) continue;
    const auto [first, fresh] = orders_.try_emplace(same, order->second);
    if (unordered_tracks.count(uuid) > 0 ||
        (!fresh && first->second.sequence != order->second.sequence)) {
      unordered_tracks.insert(same);
    }
  }
  orders_.clear();
}

void PerfettoFirstPass::readProcessTree(std::string_view bytes) {
  proto::forEachField(bytes, [&](const Field& f) {
    int64_t id = 0;
    int64_t of = 0;
    std::string name;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pn::process_tree::kPid) id = static_cast<int64_t>(g.value);
      if (f.number == pn::process_tree::kProcesses) {
        if (g.number == pn::process_tree::kParent) of = static_cast<int64_t>(g.value);
        if (g.number == pn::process_tree::kCommandLine) {
          if (!name.empty()) name += ' ';
          name += g.bytes;
        }
      } else {
        if (g.number == pn::process_tree::kOfProcess) of = static_cast<int64_t>(g.value);
        if (g.number == pn::process_tree::kName) name = g.bytes;
      }
    });
    if (f.number == pn::process_tree::kProcesses) processes[id] = {name, of};
    if (f.number == pn::process_tree::kThreads) threads[{of, id}] = name;
  });
}

void PerfettoFirstPass::readGpu(std::string_view bytes) {
  PerfettoGpu gpu;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::gpu::kName) gpu.name = f.bytes;
    if (f.number == pn::gpu::kVendor) gpu.vendor = f.bytes;
    if (f.number == pn::gpu::kPciAddress) gpu.pci_address = f.bytes;
    if (f.number == pn::gpu::kUuid && f.bytes.size() == 16) {
      for (size_t i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) gpu.uuid += '-';
        gpu.uuid += fmt::format("{:02x}", static_cast<unsigned char>(f.bytes[i]));
      }
    }
    if (f.number != pn::gpu::kExtra) return;
    std::string key;
    std::string value;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pn::gpu::kKey) key = g.bytes;
      if (g.number == pn::gpu::kValue) value = g.bytes;
    });
    gpu.more[key] = value;
  });
  gpus.push_back(std::move(gpu));
}

void PerfettoFirstPass::readAttribute(std::string_view bytes) {
  std::string key;
  std::string value;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::attributes::kKey) key = f.bytes;
    if (f.number == pn::attributes::kLong) value = std::to_string(static_cast<int64_t>(f.value));
    if (f.number == pn::attributes::kText) value = f.bytes;
  });
  if (key == "tracesmith.version") ours = true;
  attributes.emplace_back(std::move(key), std::move(value));
}

}  // namespace tracesmith::import
