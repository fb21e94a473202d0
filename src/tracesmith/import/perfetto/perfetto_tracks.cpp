// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_tracks.hpp"

#include <fmt/format.h>

#include "tracesmith/base/hash.hpp"

namespace tracesmith::import {
namespace {

constexpr std::string_view kOverlapping = " (overlapping)";  // as TraceSmith's exporter names them

/// Kinds of keys for tracks without a description.
enum class KeyKind : uint64_t { kSequence = 1, kAsync = 2 };

}  // namespace

void PerfettoTracks::describe() {
  for (const auto& [pid, known] : first_pass_.processes) {
    builder_.rows.process.push({.id = builder_.process(pid),
                                .pid = static_cast<uint32_t>(pid),
                                .parent_pid = static_cast<uint32_t>(known.second),
                                .command_line = builder_.text(known.first),
                                .seen_by = builder_.text("import")});
  }
  for (const auto& [key, name] : first_pass_.threads) {
    builder_.nameThread(key.first, key.second, name);
  }
  for (const uint64_t uuid : first_pass_.track_order) {
    const PerfettoTrack& t = first_pass_.tracks.at(uuid);
    if (t.process && t.pid != 0) {
      builder_.rows.process.push(
          {.id = builder_.process(t.pid),
           .pid = static_cast<uint32_t>(t.pid),
           .command_line = builder_.text(t.command_line.empty() ? t.process_name : t.command_line),
           .executable = builder_.text(t.process_name),
           .seen_by = builder_.text("import")});
    }
    if (t.thread) {
      builder_.nameThread(t.pid, t.tid, t.thread_name.empty() ? t.name : t.thread_name);
    }
  }
}

/// Creates a thread row for a track that is not a thread.
ThreadId PerfettoTracks::namedTrack(int64_t pid, std::string_view name) {
  const auto [it, fresh] = named_tracks_.try_emplace({pid, std::string(name)});
  if (fresh) {
    it->second = builder_.thread(pid, -static_cast<int64_t>(named_tracks_.size()));
    builder_.rows.thread.push({.id = it->second,
                               .process_id = builder_.process(pid),
                               .tid = 0,
                               .name = builder_.text(name)});
  }
  return it->second;
}

PerfettoTracks::Place PerfettoTracks::placeOf(uint64_t track) {
  const auto itself = first_pass_.tracks.find(track);
  if (itself == first_pass_.tracks.end()) {
    ++unknown_tracks_;
    return {0, builder_.process(0), namedTrack(0, fmt::format("track {}", track)), kNoThread};
  }
  const PerfettoTrack* t = &itself->second;
  const std::string& own_name = t->name;
  for (int depth = 0; depth < kDeepestTrack && !t->thread && !t->process; ++depth) {
    const auto parent = first_pass_.tracks.find(t->parent);
    if (t->parent == 0 || parent == first_pass_.tracks.end()) break;
    t = &parent->second;
  }
  if (!t->thread && !t->process) {
    return {0, builder_.process(0), namedTrack(0, own_name.empty() ? "track" : own_name),
            kNoThread};
  }
  Place found = {t->pid, builder_.process(t->pid), ThreadId::kNone, kNoThread};
  const bool of_thread = t == &itself->second || own_name.empty() ||
                         (first_pass_.ours && own_name.ends_with(kOverlapping));
  if (t->thread && of_thread) {
    found.thread = builder_.thread(t->pid, t->tid);
    found.tid = t->tid;
  } else if (t == &itself->second) {
    return found;  // a process
  } else if (!(first_pass_.ours && own_name == "Calls of unknown threads")) {
    std::string_view name = own_name;
    if (first_pass_.ours && name.ends_with(kOverlapping)) name.remove_suffix(kOverlapping.size());
    found.thread = namedTrack(t->pid, name.empty() ? "track" : name);
  }
  return found;
}

const PerfettoTracks::Track& PerfettoTracks::ofTrack(uint64_t uuid) {
  const auto [it, fresh] = tracks_.try_emplace(uuid);
  if (fresh) {
    const uint64_t key = first_pass_.sameTrack(uuid);
    it->second = {.key = key,
                  .place = placeOf(uuid),
                  .unordered = first_pass_.unordered_tracks.count(key) > 0 ||
                               first_pass_.unordered_tracks.count(uuid) > 0};
  }
  return it->second;
}

const PerfettoTracks::Track& PerfettoTracks::ofThread(int64_t pid, int64_t tid) {
  const uint64_t key = trackOfThread(pid, tid);
  const auto [it, fresh] = others_.try_emplace(key);
  if (fresh) {
    it->second = {.key = key,
                  .place = {pid, builder_.process(pid),
                            tid >= 0 ? builder_.thread(pid, tid) : ThreadId::kNone, tid},
                  .unordered = first_pass_.unordered_tracks.count(key) > 0};
  }
  return it->second;
}

const PerfettoTracks::Track& PerfettoTracks::ofSequence(uint64_t sequence) {
  const uint64_t parts[] = {static_cast<uint64_t>(KeyKind::kSequence), sequence};
  const uint64_t key = hash64({reinterpret_cast<const uint8_t*>(parts), sizeof parts});
  const auto [it, fresh] = others_.try_emplace(key);
  if (fresh) {
    it->second = {.key = key,
                  .place = {0, builder_.process(0),
                            namedTrack(0, fmt::format("sequence {}", sequence)), kNoThread}};
  }
  return it->second;
}

const PerfettoTracks::Track& PerfettoTracks::ofAsync(const PerfettoAsyncId& id, const Place& by,
                                                     StringId name) {
  const bool of_process = id.kind == PerfettoAsyncId::kLocal;
  const uint64_t parts[] = {static_cast<uint64_t>(KeyKind::kAsync), id.number,
                            of_process ? static_cast<uint64_t>(by.pid) : ~uint64_t{0}};
  const uint64_t key =
      hash64({reinterpret_cast<const uint8_t*>(parts), sizeof parts}, hash64(asBytes(id.scope)));
  const auto [it, fresh] = others_.try_emplace(key);
  if (fresh) {
    const std::string_view said = builder_.rows.text(name);
    it->second = {.key = key,
                  .place = {by.pid, by.process,
                            namedTrack(by.pid, said.empty() ? "asynchronous" : said), kNoThread},
                  .unordered = true};
  }
  return it->second;
}

}  // namespace tracesmith::import
