// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto_survey.hpp"

#include <fmt/format.h>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto_numbers.hpp"

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

void PerfettoSurvey::packet(std::string_view bytes) {
  ++packets;
  uint64_t sequence = 0;
  uint64_t flags = 0;
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
      case pn::packet::kTraceAttributes:
        kind = f.number;
        payload = f.bytes;
        break;
      default:
        break;
    }
  });
  if (flags & pn::packet::kCleared) default_tracks_.erase(sequence);
  if (!defaults.empty()) {
    uint64_t uuid = 0;
    proto::forEachField(defaults, [&](const Field& f) {
      if (f.number != pn::defaults::kTrackEvent) return;
      proto::forEachField(f.bytes, [&](const Field& g) {
        if (g.number == pn::defaults::kTrackUuid) uuid = g.value;
      });
    });
    default_tracks_[sequence] = uuid;
  }
  switch (kind) {
    case pn::packet::kClockSnapshot:
      return clocks.learn(payload);
    case pn::packet::kTrackEvent:
      return event(sequence, payload);
    case pn::packet::kTrackDescriptor:
      return track(payload);
    case pn::packet::kProcessTree:
      return tree(payload);
    case pn::packet::kGpuInfo:
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::gpu::kGpus) gpu(f.bytes);
      });
      return;
    case pn::packet::kTraceAttributes:
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::attributes::kAttribute) attribute(f.bytes);
      });
      return;
    case pn::packet::kProcessDescriptor:
    case pn::packet::kThreadDescriptor: {
      int64_t pid = 0;
      int64_t tid = 0;
      std::string_view name;
      proto::forEachField(payload, [&](const Field& f) {
        if (f.number == pn::track::kPid) pid = static_cast<int64_t>(f.value);
        if (kind == pn::packet::kThreadDescriptor) {
          if (f.number == pn::track::thread::kTid) tid = static_cast<int64_t>(f.value);
          if (f.number == pn::track::thread::kName) name = f.bytes;
        } else if (f.number == pn::track::process::kName) {
          name = f.bytes;
        }
      });
      if (kind == pn::packet::kThreadDescriptor) {
        threads[{pid, tid}] = name;
        thread_of_sequence[sequence] = {pid, tid};
      } else {
        processes[pid].first = name;
      }
      return;
    }
    default:
      return;
  }
}

void PerfettoSurvey::track(std::string_view bytes) {
  uint64_t uuid = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::track::kUuid) uuid = f.value;
  });
  const auto [known, fresh] = tracks.try_emplace(uuid);
  if (fresh) track_order.push_back(uuid);
  PerfettoTrack& t = known->second;  // what is said of it later is added
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
      case pn::track::kCounter:
        t.counter = true;
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::track::counter::kUnit) t.unit = unitName(g.value);
          if (g.number == pn::track::counter::kUnitName) t.unit = g.bytes;
          if (g.number == pn::track::counter::kMultiplier) {
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

void PerfettoSurvey::event(uint64_t sequence, std::string_view bytes) {
  const auto it = default_tracks_.find(sequence);
  uint64_t uuid = it != default_tracks_.end() ? it->second : 0;
  std::string_view correlation;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::event::kTrackUuid) uuid = f.value;
    if (f.number == pn::event::kGpuCorrelation) correlation = f.bytes;
  });
  if (uuid != 0) {
    const auto [first, fresh] = sequence_of_track_.try_emplace(uuid, sequence);
    if (!fresh && first->second != sequence) shared_tracks.insert(uuid);
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

void PerfettoSurvey::tree(std::string_view bytes) {
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

void PerfettoSurvey::gpu(std::string_view bytes) {
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

void PerfettoSurvey::attribute(std::string_view bytes) {
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
