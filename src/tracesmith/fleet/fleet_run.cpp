// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/fleet_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "tracesmith/base/files/remote_files.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/base/ordered_parallel.hpp"
#include "tracesmith/fleet/summarize.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTraceEnding = ".sbt";

struct OneFile {
  FleetFile file;
  FleetSummary summary;
};

/// Reads or computes the summary of one file.
class OneSummary {
 public:
  OneSummary(const std::string& path, const FleetOptions& options, unsigned threads)
      : path_(path), options_(options), threads_(threads) {}

  OneFile get() {
    out_.file.path = path_;
    if (const Status status = find(); !status) {
      out_.file.state = FleetFile::State::kFailed;
      out_.file.message = status.error().toString();
    }
    return std::move(out_);
  }

 private:
  Status find() {
    std::error_code error;
    if (fs::is_directory(path_, error)) {
      (void)fs::directory_iterator(path_, error);
      return error ? failErrno(error.value(), "cannot be read", path_)
                   : fail(ErrorCode::kInvalidArgument, "is a folder", path_);
    }
    const fs::file_status status = fs::status(path_, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) {  // opening a pipe may wait for ever
      return fail(ErrorCode::kInvalidArgument, "is not a regular file", path_);
    }
    if (path_.ends_with(kSummaryEnding)) {
      TS_TRY(SummaryFile stored, readSummaryFile(path_));
      return take(std::move(stored), FleetFile::State::kStored);
    }
    Result<TraceReader> reader = TraceReader::open(path_);
    if (!reader) {
      const bool is_other = reader.error().code == ErrorCode::kNotATrace;
      if (!is_other || !options_.read_other) return tl::unexpected(reader.error());
      TS_TRY(const Trace trace, options_.read_other(path_));
      SummaryFile computed;
      computed.trace.path = path_;
      computed.summary = summarizeTrace(trace);
      out_.file.not_stored = "it is not a .sbt file; 'tracesmith import' makes one";
      return take(std::move(computed), FleetFile::State::kComputed);
    }
    TS_TRY(TraceIdentity identity, identityOf(*reader, path_));
    const std::string stored_path = summaryPathOf(path_, options_.folder, identity);
    if (!options_.computes_again) {
      Result<SummaryFile> stored = readSummaryFile(stored_path);
      if (stored && stored->trace.isSameContent(identity)) {
        return take(std::move(*stored), FleetFile::State::kStored);
      }
    }
    TS_TRY(TraceScan scan, TraceScan::open(path_, threads_));
    if (!scan.tables().metadataValue("flight_recorder.window").empty()) {
      // The trace has only the last events, and may have got names of frames since.
      for (const std::string& place : {stored_path, path_ + kSummaryEnding}) {
        Result<SummaryFile> of_all = readSummaryFile(place);
        if (of_all && of_all->trace.trace_id == identity.trace_id) {
          of_all->trace = std::move(identity);
          return take(std::move(*of_all), FleetFile::State::kStored);
        }
      }
    }
    SummaryFile computed{.trace = std::move(identity)};
    computed.trace.host = scan.tables().metadataValue("hostname");
    TS_TRY(computed.summary, summarizeScan(scan));
    store(computed, stored_path);
    return take(std::move(computed), FleetFile::State::kComputed);
  }

  void store(SummaryFile& file, const std::string& path) {
    if (!options_.stores) {
      encodeSummary(file.summary, kLargestSummary);  // the same kernels as if it were stored
      return;
    }
    if (const Status written = writeSummaryFile(path, file); !written) {
      out_.file.not_stored = written.error().toString();
    }
  }

  Status take(SummaryFile&& found, FleetFile::State state) {
    out_.file.state = state;
    out_.file.trace = std::move(found.trace);
    if (options_.keeps_each) out_.file.summary = encodeSummary(found.summary, kLargestSummary);
    out_.summary = std::move(found.summary);
    return {};
  }

  const std::string& path_;
  const FleetOptions& options_;
  unsigned threads_;
  OneFile out_;
};

class KnownTraces {
 public:
  /// Marks traces that came before, also among these. False: there are none.
  bool markRepeated(std::vector<FleetFile>& files) {
    bool any = false;
    for (FleetFile& file : files) {
      if (file.state == FleetFile::State::kFailed || file.trace.bytes == 0) continue;
      const auto [first, is_new] = paths_.try_emplace(
          {file.trace.trace_id, file.trace.bytes, file.trace.end_hash}, file.path);
      if (is_new) continue;
      file.state = FleetFile::State::kRepeated;
      file.message = "is the same trace as " + first->second;
      any = true;
    }
    return any;
  }

 private:
  std::map<std::tuple<std::array<uint8_t, 16>, uint64_t, uint64_t>, std::string> paths_;
};

bool isWantedFile(const std::string& name) {
  return name.ends_with(kTraceEnding) || name.ends_with(kSummaryEnding);
}

/// Of a window that a flight recorder has saved ("job.trigger-2.sbt"): the summary of its trace
/// ("job.sbt.summary"), which counts all events. Of other files "".
std::string summaryOfAll(const std::string& name) {
  constexpr std::string_view kTrigger = ".trigger-";
  const size_t at = name.rfind(kTrigger);
  if (at == std::string::npos) return {};
  const std::string_view number = std::string_view(name).substr(at + kTrigger.size());
  const size_t end = number.find_first_not_of("0123456789-");
  if (end == 0 || end == std::string_view::npos) return {};
  if (!number.substr(end).starts_with(kTraceEnding)) return {};
  return name.substr(0, at) + std::string(kTraceEnding) + kSummaryEnding;
}

/// Adds the files of a folder and those within, and folders that cannot be read.
void findWithin(const std::string& folder, std::set<std::string>& found) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().string();
    std::error_code ignored;
    // Links to folders are not followed: they may lead in a circle.
    if (at->symlink_status(ignored).type() == fs::file_type::directory) {
      findWithin(name, found);
    } else if (isWantedFile(name) && !at->is_directory(ignored)) {
      found.insert(name);
    }
  }
  if (error) found.insert(folder);
}

/// The same of a URL.
void findRemote(const std::string& url, std::set<std::string>& found) {
  const auto files = remoteFilesFor(url);
  const auto all = files ? (*files)->list(url) : tl::unexpected(files.error());
  if (!all) {
    found.insert(url);
    return;
  }
  const bool is_file = all->size() == 1 && all->front() == url;
  if (is_file) found.insert(url);
  std::copy_if(all->begin(), all->end(), std::inserter(found, found.end()), isWantedFile);
}

/// By name.
void addFound(const std::set<std::string>& found, std::vector<std::string>& out) {
  for (const std::string& name : found) {
    if (found.contains(summaryOfAll(name))) continue;
    const bool has_trace =
        name.ends_with(kSummaryEnding) &&
        found.contains(name.substr(0, name.size() - std::string_view(kSummaryEnding).size()));
    if (!has_trace) out.push_back(name);
  }
}

}  // namespace

size_t FleetRun::count(FleetFile::State state) const {
  return static_cast<size_t>(std::count_if(
      files.begin(), files.end(), [&](const FleetFile& file) { return file.state == state; }));
}

std::string summaryPathOf(const std::string& trace, const std::string& folder,
                          const TraceIdentity& identity) {
  if (folder.empty()) return trace + kSummaryEnding;
  // Traces of different folders and machines have equal names, as rank-0.sbt.
  return (fs::path(folder) / fmt::format("{}-{:016x}{}", fs::path(trace).filename().string(),
                                         hash64(identity.trace_id), kSummaryEnding))
      .string();
}

std::vector<std::string> findFleetFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_file = isWantedFile(path);
    if (isRemote(path) && !is_file) {
      std::set<std::string> found;
      findRemote(path, found);
      addFound(found, out);
    } else if (!isRemote(path) && fs::is_directory(path, error)) {
      std::set<std::string> found;
      findWithin(path, found);
      addFound(found, out);
    } else {
      out.push_back(path);
    }
  }
  return out;
}

FleetRun runFleet(const std::vector<std::string>& files, const FleetOptions& options) {
  std::error_code not_made;  // each file says that its summary could not be stored
  if (options.stores && !options.folder.empty() && !isRemote(options.folder)) {
    fs::create_directories(options.folder, not_made);
  }
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const unsigned threads = options.threads == 0 ? processors : options.threads;
  const auto at_once = static_cast<unsigned>(std::min<size_t>(threads, files.size()));
  const unsigned of_each = at_once == 0 ? 1 : std::max(1u, threads / at_once);
  const size_t chunk = std::clamp<size_t>(files.size() / (size_t{64} * threads), 1, 32);
  FleetRun run;
  KnownTraces known;
  // Callers see a cancellation for themselves.
  (void)makeInOrder((files.size() + chunk - 1) / chunk, at_once,
                    [&](unsigned, size_t part) {
                      FleetRun made;
                      const size_t end = std::min(files.size(), (part + 1) * chunk);
                      for (size_t i = part * chunk; i < end; ++i) {
                        OneFile one = OneSummary(files[i], options, of_each).get();
                        made.sum.add(one.summary);
                        made.files.push_back(std::move(one.file));
                      }
                      return made;
                    },
                    [&](FleetRun&& made) {
                      if (known.markRepeated(made.files)) {
                        // Rare: the sum without them, from the files once more.
                        made.sum = {};
                        for (FleetFile& file : made.files) {
                          const bool counts = file.state == FleetFile::State::kComputed ||
                                              file.state == FleetFile::State::kStored;
                          if (!counts) continue;
                          OneFile again = OneSummary(file.path, options, threads).get();
                          made.sum.add(again.summary);  // empty if it cannot be read any more
                          if (again.file.state == FleetFile::State::kFailed) file = again.file;
                        }
                      }
                      run.sum.add(made.sum);
                      std::move(made.files.begin(), made.files.end(),
                                std::back_inserter(run.files));
                      if (options.on_progress) options.on_progress(run.files.size());
                      return true;
                    });
  return run;
}

}  // namespace tracesmith
