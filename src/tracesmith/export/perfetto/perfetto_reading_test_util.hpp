// SPDX-License-Identifier: Apache-2.0
// Reads a Perfetto file back as a viewer would: sequences with their clocks, interned data and
// defaults, stacks of slices per track. Fails on anything that a viewer could not handle. Shares no
// code with the writer except proto_reader's field numbers. For tests only.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/proto_reader.hpp"

namespace tracesmith::reading {

struct Work {
  uint64_t id = 0;
  uint64_t start = 0;
  uint64_t duration = 0;
  uint64_t context = 0;
  uint64_t pid = 0;
  uint64_t api = 0;
  uint64_t gpu = 0;
  std::string queue;
  std::string stage;
  uint64_t category = 0;
  std::string name;         // as shown by the viewer
  std::string kernel_name;  // from the interned kernel
  std::map<std::string, std::string> args;
  std::vector<uint64_t> waits;
};

struct Slice {
  uint64_t track = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  size_t depth = 0;
  bool instant = false;
  std::string name;
  std::string category;
  std::map<std::string, std::string> args;
  std::vector<uint64_t> submitted, waited_for, flows_out, flows_in;
  std::vector<std::string> stack;  // "function file:line module+offset bytes of build-id"
};

struct Track {
  uint64_t uuid = 0, parent = 0, pid = 0, tid = 0;
  std::string name;
  bool process = false, thread = false, counter = false;
  uint64_t unit = 0;
};

struct Sample {
  uint64_t track = 0;
  uint64_t time = 0;
  double value = 0;
};

/// A switch of threads on a processor, or a wakeup (`next` is woken by `previous`).
struct SchedulerEvent {
  uint64_t cpu = 0, time = 0, previous = 0, state = 0, next = 0;
  std::string previous_name, next_name;
  bool is_wakeup = false;
};

class File {
 public:
  explicit File(std::string_view bytes) { read(bytes); }

  std::vector<Work> works;
  std::vector<Slice> slices;
  std::map<uint64_t, Track> tracks;
  std::vector<Sample> samples;
  std::vector<SchedulerEvent> scheduler;
  std::vector<std::map<std::string, std::string>> gpus;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> problems;
  uint64_t packets = 0;
  uint64_t primary_clock = 0;
  std::map<uint64_t, uint64_t> clocks;  // last reading of each global clock
  bool attributes_last = false;

 private:
  using Field = proto::Field;
  struct Kernel {
    std::string name, demangled;
    std::map<std::string, std::string> args;
  };
  struct Frame {
    uint64_t function = 0, mapping = 0, offset = 0, file = 0, line = 0, kind = 0;
  };
  struct Sequence {
    bool valid = false;
    uint64_t clock = 0;
    uint64_t default_track = 0;
    uint64_t default_clock = 0;
    std::map<uint64_t, std::string> names, categories, annotations, arg_names;
    std::map<uint64_t, std::string> functions, files, module_paths, build_ids;
    std::map<uint64_t, Frame> frames;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> mappings;  // build-id, path
    std::map<uint64_t, std::vector<uint64_t>> callstacks;
    std::map<uint64_t, std::pair<std::string, uint64_t>> specifications;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> contexts;  // pid, api
    std::map<uint64_t, Kernel> kernels;
    std::map<uint64_t, std::vector<size_t>> open;  // per track, indices into slices
  };

  void problem(std::string text) { problems.push_back(std::move(text)); }

  template <class F>
  void fields(std::string_view bytes, F&& f) {
    if (!proto::forEachField(bytes, f)) problem("bytes that are not protobuf");
  }
  template <class Map>
  auto lookup(const Map& map, uint64_t iid, const char* what) -> typename Map::mapped_type {
    const auto it = map.find(iid);
    if (it != map.end()) return it->second;
    problem(std::string("interned ") + what + " " + std::to_string(iid) +
            " used before it is known");
    return {};
  }

  void read(std::string_view bytes) {
    fields(bytes, [&](const Field& f) {
      if (f.number != 1 || f.wire_type != 2) return problem("something that is no packet");
      ++packets;
      packet(f.bytes);
    });
    for (const auto& [id, sequence] : sequences_) {
      for (const auto& [track, open] : sequence.open) {
        if (!open.empty()) problem("slices of track " + std::to_string(track) + " never end");
      }
    }
    for (const Work& w : works) {
      for (uint64_t id : w.waits) {
        if (ids_.count(id) == 0) problem("waits for work that is not there");
      }
    }
    for (const Slice& s : slices) {
      for (const auto* ids : {&s.submitted, &s.waited_for}) {
        for (uint64_t id : *ids) {
          if (ids_.count(id) == 0) problem("a slice names work that is not there");
        }
      }
    }
  }

  void packet(std::string_view bytes) {
    uint64_t id = 0, flags = 0, delta = 0;
    bool timed = false, snapshot = false, payload = false;
    std::vector<Field> parts;
    fields(bytes, [&](const Field& f) {
      if (f.number == 10) id = f.value;
      if (f.number == 13) flags = f.value;
      if (f.number == 8) timed = true, delta = f.value;
      if (f.wire_type == 2) parts.push_back(f);
    });
    if (id == 0) problem("a packet without a sequence");
    Sequence& q = sequences_[id];
    if (flags & 1) q = Sequence{}, q.valid = true;
    if ((flags & 2) != 0 && !q.valid) return problem("needs state that was never set");
    for (const Field& f : parts) {  // in the order in which a viewer processes them
      if (f.number == 59) readDefaults(q, f.bytes);
    }
    for (const Field& f : parts) {
      if (f.number == 12) intern(q, f.bytes);
    }
    for (const Field& f : parts) {
      if (f.number == 6) snapshot = true, readSnapshot(q, id, f.bytes);
    }
    if (timed) {
      if (q.default_clock != kDelta) problem("a time on a sequence without a delta clock");
      checkClocks(id, q.default_clock);
      q.clock += delta;
    }
    attributes_last = false;
    for (const Field& f : parts) {
      if (f.number == 59 || f.number == 12 || f.number == 6) continue;
      payload = true;
      if (f.number == 1) readScheduler(f.bytes);
      if (f.number == 11) trackEvent(q, f.bytes);
      if (f.number == 53) renderStage(q, f.bytes);
      if (f.number == 60) descriptor(f.bytes);
      if (f.number == 128) gpuInfo(f.bytes);
      if (f.number == 126) readAttributes(f.bytes);
    }
    if (snapshot && payload) problem("a payload that a viewer skips after a clock snapshot");
  }

  void readScheduler(std::string_view bytes) {
    uint64_t cpu = 0;
    fields(bytes, [&](const Field& f) {
      if (f.number == 1) cpu = f.value;
      if (f.number != 2) return;
      SchedulerEvent event;
      event.cpu = cpu;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 1) event.time = g.value;
        if (g.number == 2) event.previous = g.value;
        event.is_wakeup = event.is_wakeup || g.number == 20;
        if (g.number != 4 && g.number != 20) return;
        fields(g.bytes, [&](const Field& h) {
          if (h.number == (g.number == 4 ? 6 : 2)) event.next = h.value;
          if (h.number == (g.number == 4 ? 5 : 1)) event.next_name = h.bytes;
          if (g.number == 4 && h.number == 1) event.previous_name = h.bytes;
          if (g.number == 4 && h.number == 4) event.state = h.value;
        });
      });
      scheduler.push_back(event);
    });
  }

  void readDefaults(Sequence& q, std::string_view bytes) {
    fields(bytes, [&](const Field& f) {
      if (f.number == 58) q.default_clock = f.value;
      if (f.number == 11) {
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 11) q.default_track = g.value;
        });
      }
    });
  }

  void readSnapshot(Sequence& q, uint64_t sequence, std::string_view bytes) {
    std::map<uint64_t, uint64_t> readings;
    fields(bytes, [&](const Field& f) {
      if (f.number == 2) primary_clock = f.value;
      if (f.number != 1) return;
      uint64_t clock = 0, time = 0;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 1) clock = g.value;
        if (g.number == 2) time = g.value;
        if (g.number == 3 && clock != kDelta) problem("a clock of all counts differences");
      });
      if (!readings.emplace(clock, time).second) problem("a clock twice in one snapshot");
    });
    for (const auto& [clock, time] : readings) {
      relate(nodeOf(sequence, readings.begin()->first), nodeOf(sequence, clock));
      if (clock != kDelta) clocks[clock] = time;
    }
    if (readings.count(kDelta) == 0) return;
    const auto own = readings.find(primary_clock);
    if (own == readings.end()) return problem("the delta clock is not related to the file's");
    if (own->second != readings[kDelta]) problem("the delta clock does not start at its own time");
    q.clock = own->second;
  }

  // How clocks are related according to snapshots, the only information a viewer has.
  static constexpr uint64_t kBoottime = 6, kTraceFile = 11, kDelta = 64;
  using Node = std::pair<uint64_t, uint64_t>;  // sequence (only for sequence clocks), clock
  static Node nodeOf(uint64_t sequence, uint64_t clock) {
    return {clock >= 64 && clock < 128 ? sequence : 0, clock};
  }
  Node rootOf(Node node) {
    while (relatives_.count(node) > 0) node = relatives_[node];
    return node;
  }
  void relate(const Node& a, const Node& b) {
    if (rootOf(a) != rootOf(b)) relatives_[rootOf(a)] = rootOf(b);
  }
  /// At the first time in a file, v58 looks for a path from CLOCK_BOOTTIME to the primary clock.
  /// Without one it counts `clock_sync_unrelatable_clock_domains`. It relates a file's own clock to
  /// any other.
  void checkClocks(uint64_t sequence, uint64_t clock) {
    const Node primary = nodeOf(0, primary_clock);
    if (rootOf(nodeOf(sequence, clock)) != rootOf(primary)) {
      problem("a time in clock " + std::to_string(clock) + ", which leads to no other");
    }
    if (any_time_) return;
    any_time_ = true;
    if (primary_clock != kTraceFile && rootOf(nodeOf(0, kBoottime)) != rootOf(primary)) {
      problem("no snapshot leads from CLOCK_BOOTTIME to clock " + std::to_string(primary_clock));
    }
  }

  static std::pair<uint64_t, std::string> entry(std::string_view bytes) {
    std::pair<uint64_t, std::string> e;
    proto::forEachField(bytes, [&](const Field& f) {
      if (f.number == 1) e.first = f.value;
      if (f.number == 2) e.second = f.bytes;
    });
    return e;
  }

  void intern(Sequence& q, std::string_view bytes) {
    fields(bytes, [&](const Field& f) {
      const auto named = entry(f.bytes);
      const uint64_t iid = named.first;
      const std::string& name = named.second;
      uint64_t third = 0, second = 0, fourth = 0;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 2) second = g.value;
        if (g.number == 3) third = g.value;
        if (g.number == 4) fourth = g.value;
      });
      if (iid == 0) problem("an interned entry without a number");
      if (f.number == 1) q.categories[iid] = name;
      if (f.number == 2) q.names[iid] = name;
      if (f.number == 3) q.annotations[iid] = name;
      if (f.number == 23) q.contexts[iid] = {second, third};
      if (f.number == 24) q.specifications[iid] = {name, fourth};
      if (f.number == 1001) q.arg_names[iid] = name;
      if (f.number == 5) q.functions[iid] = name;
      if (f.number == 16) q.build_ids[iid] = name;
      if (f.number == 17) q.module_paths[iid] = name;
      if (f.number == 18) q.files[iid] = name;
      if (f.number == 6) q.frames[iid] = frame(f.bytes);
      if (f.number == 7) {
        if (q.callstacks.count(iid) != 0) problem("a callstack is introduced twice");
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 2) q.callstacks[iid].push_back(g.value);
        });
      }
      if (f.number == 19) {
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 2) q.mappings[iid].first = g.value;
          if (g.number == 7) q.mappings[iid].second = g.value;
        });
      }
      if (f.number == 1000) {
        Kernel kernel;
        kernel.name = name;
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 3) kernel.demangled = g.bytes;
          if (g.number == 5) argument(q, g.bytes, kernel.args);
        });
        q.kernels[iid] = kernel;
      }
    });
  }

  Frame frame(std::string_view bytes) {
    Frame frame;
    fields(bytes, [&](const Field& f) {
      if (f.number == 2) frame.function = f.value;
      if (f.number == 3) frame.mapping = f.value;
      if (f.number == 4) frame.offset = f.value;
      if (f.number == 5) frame.file = f.value;
      if (f.number == 6) frame.line = f.value;
      if (f.number == 7) frame.kind = f.value;
    });
    return frame;
  }

  std::vector<std::string> stack(Sequence& q, uint64_t iid) {
    std::vector<std::string> lines;
    for (const uint64_t id : lookup(q.callstacks, iid, "callstack")) {
      const Frame frame = lookup(q.frames, id, "frame");
      std::string line = frame.function != 0 ? lookup(q.functions, frame.function, "function") : "";
      if (frame.file != 0) line += " " + lookup(q.files, frame.file, "source path");
      if (frame.line != 0) line += ":" + std::to_string(frame.line);
      if (frame.kind == 3) line += " interpreted";
      if (frame.mapping != 0) {
        const auto [build_id, path] = lookup(q.mappings, frame.mapping, "mapping");
        line +=
            " " + lookup(q.module_paths, path, "mapping path") + "+" + std::to_string(frame.offset);
        if (build_id != 0) {
          line += " " + std::to_string(lookup(q.build_ids, build_id, "build-id").size());
        }
      }
      lines.push_back(line);
    }
    if (lines.empty()) problem("a callstack without frames");
    return lines;
  }

  void argument(Sequence& q, std::string_view bytes, std::map<std::string, std::string>& out) {
    std::string name, value;
    fields(bytes, [&](const Field& f) {
      if (f.number == 1) name = lookup(q.arg_names, f.value, "argument name");
      if (f.number == 4) value = std::to_string(f.value);
    });
    out[name] = value;
  }

  void renderStage(Sequence& q, std::string_view bytes) {
    Work w;
    w.start = q.clock;
    bool named = false;
    fields(bytes, [&](const Field& f) {
      if (f.number == 1) w.id = f.value;
      if (f.number == 2) w.duration = f.value;
      if (f.number == 5) {
        w.context = f.value;
        std::tie(w.pid, w.api) = lookup(q.contexts, f.value, "context");
      }
      if (f.number == 11) w.gpu = f.value;
      if (f.number == 13) w.queue = lookup(q.specifications, f.value, "queue").first;
      if (f.number == 14) {
        std::tie(w.stage, w.category) = lookup(q.specifications, f.value, "stage");
      }
      if (f.number == 18) w.waits.push_back(f.value);
      if (f.number == 19) {
        const Kernel kernel = lookup(q.kernels, f.value, "kernel");
        w.kernel_name = kernel.name;
        w.args.insert(kernel.args.begin(), kernel.args.end());
      }
      if (f.number == 20) named = true, w.name = lookup(q.names, f.value, "name");
      if (f.number == 6) {
        std::string key, value;
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 1) key = g.bytes;
          if (g.number == 2) value = g.bytes;
        });
        w.args[key] = value;
      }
      if (f.number != 21) return;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 3) argument(q, g.bytes, w.args);
        if (g.number != 1 && g.number != 2) return;
        fields(g.bytes, [&](const Field& h) {
          const std::string key = std::string(g.number == 1 ? "grid." : "workgroup.") +
                                  static_cast<char>('x' + h.number - 1);
          w.args[key] = std::to_string(h.value);
        });
      });
    });
    if (!named) w.name = w.stage;
    if (w.id == 0 || !ids_.insert(w.id).second) problem("event id is missing or used twice");
    if (w.queue.empty()) problem("work without a queue");
    works.push_back(std::move(w));
  }

  void trackEvent(Sequence& q, std::string_view bytes) {
    Slice s;
    s.track = q.default_track;
    s.start = q.clock;
    uint64_t type = 0;
    Sample sample{q.default_track, q.clock, 0};
    fields(bytes, [&](const Field& f) {
      if (f.number == 9) type = f.value;
      if (f.number == 11) s.track = sample.track = f.value;
      if (f.number == 3) s.category = lookup(q.categories, f.value, "category");
      if (f.number == 10) s.name = lookup(q.names, f.value, "name");
      if (f.number == 23) s.name = f.bytes;
      if (f.number == 30) sample.value = static_cast<double>(static_cast<int64_t>(f.value));
      if (f.number == 44) sample.value = std::bit_cast<double>(f.value);
      if (f.number == 47) s.flows_out.push_back(f.value);
      if (f.number == 48) s.flows_in.push_back(f.value);
      if (f.number == 56) s.stack = stack(q, f.value);
      if (f.number == 4) {
        std::string key, value;
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 1) key = lookup(q.annotations, g.value, "annotation");
          if (g.number == 10) key = g.bytes;
          if (g.number == 4) value = std::to_string(static_cast<int64_t>(g.value));
          if (g.number == 6) value = g.bytes;
        });
        s.args[key] = value;
      }
      if (f.number == 3000) {
        fields(f.bytes, [&](const Field& g) {
          (g.number == 1 ? s.submitted : s.waited_for).push_back(g.value);
        });
      }
    });
    if (s.track == 0 || tracks.count(s.track) == 0) problem("an event on an unknown track");
    std::vector<size_t>& open = q.open[s.track];
    if (type == 4) {
      if (!tracks[s.track].counter) problem("a value on a track that is no counter");
      samples.push_back(sample);
    } else if (type == 2) {
      if (open.empty()) return problem("an end without a begin");
      slices[open.back()].end = q.clock;
      open.pop_back();
    } else if (type == 1 || type == 3) {
      s.depth = open.size();
      s.end = q.clock;
      s.instant = type == 3;
      if (type == 1) open.push_back(slices.size());
      slices.push_back(std::move(s));
    } else {
      problem("an event of unknown type");
    }
  }

  void descriptor(std::string_view bytes) {
    Track t;
    fields(bytes, [&](const Field& f) {
      if (f.number == 1) t.uuid = f.value;
      if (f.number == 5) t.parent = f.value;
      if (f.number == 2) t.name = f.bytes;
      if (f.number == 8) {
        t.counter = true;
        fields(f.bytes, [&](const Field& g) {
          if (g.number == 3) t.unit = g.value;
        });
      }
      if (f.number != 3 && f.number != 4) return;
      (f.number == 3 ? t.process : t.thread) = true;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 1) t.pid = g.value;
        if (f.number == 4 && g.number == 2) t.tid = g.value;
        if (g.number == (f.number == 3 ? 6u : 5u)) t.name = g.bytes;
      });
    });
    if (t.uuid == 0 || !tracks.emplace(t.uuid, t).second) problem("track id missing or used twice");
    if (t.parent != 0 && tracks.count(t.parent) == 0) problem("a track below an unknown one");
  }

  void gpuInfo(std::string_view bytes) {
    fields(bytes, [&](const Field& f) {
      auto& gpu = gpus.emplace_back();
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 1) gpu["name"] = g.bytes;
        if (g.number == 2) gpu["vendor"] = g.bytes;
        if (g.number == 5) gpu["uuid"] = g.bytes;
        if (g.number != 6) return;
        const std::string value = entry(g.bytes).second;
        fields(g.bytes, [&](const Field& h) {
          if (h.number == 1) gpu[std::string(h.bytes)] = value;
        });
      });
    });
  }

  void readAttributes(std::string_view bytes) {
    attributes_last = true;
    fields(bytes, [&](const Field& f) {
      std::string key, value;
      fields(f.bytes, [&](const Field& g) {
        if (g.number == 1) key = g.bytes;
        if (g.number == 2) value = std::to_string(static_cast<int64_t>(g.value));
        if (g.number == 3) value = g.bytes;
      });
      attributes[key] = value;
    });
  }

  std::map<uint64_t, Sequence> sequences_;
  std::map<Node, Node> relatives_;
  bool any_time_ = false;
  std::set<uint64_t> ids_;
};

}  // namespace tracesmith::reading
