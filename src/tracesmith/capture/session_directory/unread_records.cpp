// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/unread_records.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

std::string nameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool hasRest(const ArenaFile& file) {
  for (uint32_t i = 0; i < file.ringCount(); ++i) {
    const arena::RingHeader& ring = file.ring(i);
    if (ring.damaged.load(std::memory_order_relaxed) != 0) continue;  // nothing more can be read
    if (ring.head.load(std::memory_order_acquire) != ring.tail.load(std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

/// The files that have commit marks in a trace.
std::set<std::string> committedFiles(const std::string& path) {
  std::set<std::string> names;
  auto reader = TraceReader::open(path);
  if (!reader) return names;
  const auto trace = reader->read({.tables = {TableId::kCommit}});
  if (!trace) return names;
  for (size_t i = 0; i < trace->commit_mark.size(); ++i) {
    names.emplace(trace->text(trace->commit_mark.row(i).arena));
  }
  return names;
}

}  // namespace

Status checkAllRead(const SessionDir& dir, const std::string& trace) {
  std::set<std::string> left;
  for (const std::string& path : dir.arenas()) {
    const auto file = ArenaFile::open(path, dir.files().fd());
    if (!file || hasRest(*file)) left.insert(nameOf(path));
  }
  for (const std::string& path : dir.channels()) {
    const auto file = ChannelFile::open(path, dir.files().fd());
    if (!file || file->header().head.load() != file->header().tail.load()) {
      left.insert(nameOf(path));
    }
  }
  if (const std::vector<std::string> cuda_files = dir.cudaFiles(); !cuda_files.empty()) {
    const std::set<std::string> committed = committedFiles(trace);
    for (const std::string& path : cuda_files) {
      if (committed.count(nameOf(path)) == 0) left.insert(nameOf(path));
    }
  }
  if (left.empty()) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("is finished, but {} ({} in all) in {} has records that are not in it, so "
                  "the session is kept. Put the trace that the session wrote back to {}, "
                  "move this one away, and run `tracesmith recover` again; or remove the "
                  "session directory",
                  *left.begin(), left.size(), dir.path(), dir.tracePath()),
      trace);
}

}  // namespace tracesmith
