// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/flight/flight_window.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/capture/session_directory/session_info.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kPast = ".past-";
constexpr int kLowPriority = 5;
constexpr int64_t kRetryNs = 1'000'000'000;
/// So many parts may wait for the observer before the oldest go unseen.
constexpr size_t kMostParts = 8 * static_cast<size_t>(kPartsOfWindow);

/// Parts of one trace, of whatever recording, by number.
std::map<uint64_t, std::string> partsBeside(const std::string& path) {
  std::map<uint64_t, std::string> out;
  const std::filesystem::path file(path);
  const std::string prefix = file.filename().string() + std::string(kPast);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), end, number);
    if (read.ptr == end && read.ec == std::errc())
      out[number] = path + name.substr(prefix.size() - kPast.size());
  }
  return out;
}

bool isSameFile(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

std::string idIn(TraceReader& reader) {
  const auto metadata = reader.read({.tables = {TableId::kMetadata}});
  return metadata ? std::string(metadata->metadataValue(kIdKey)) : std::string();
}

bool hasEvents(const Trace& rows) {
  bool found = false;
  forEachTable(rows, [&](const auto& table) {
    constexpr TableId id = std::decay_t<decltype(table)>::kId;
    found = found || ((id >= TableId::kHostCall || id == TableId::kPending) && !table.empty());
  });
  return found;
}

/// When the last event ended, as far as that is known in host time yet; 0: of none.
int64_t lastEventNs(const Trace& rows) {
  int64_t last_ns = 0;
  const auto add = [&](const auto& table, auto&& is_known) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (is_known(i)) last_ns = std::max(last_ns, endOf(table.start_ns[i], table.duration_ns[i]));
    }
  };
  const auto addAll = [&](const auto& table) { add(table, [](size_t) { return true; }); };
  const auto addWork = [&](const auto& table) {
    add(table, [&](size_t i) { return (table.flags[i] & op_flags::kDeviceClock) == 0; });
  };
  addAll(rows.host_call);
  addAll(rows.range);
  addAll(rows.program_build);
  addAll(rows.comm);
  addWork(rows.kernel);
  addWork(rows.copy);
  addWork(rows.fill);
  addWork(rows.sync);
  for (const int64_t time_ns : rows.memory_event.time_ns) last_ns = std::max(last_ns, time_ns);
  for (const int64_t time_ns : rows.counter.time_ns) last_ns = std::max(last_ns, time_ns);
  return last_ns;
}

/// Gives the file another name beside the old one; moves it where the file system has no links.
/// Returns 0 or errno; EEXIST if there is a file.
int linkOrMove(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return 0;
  struct stat s {};
  if (errno == EEXIST || lstat(to.c_str(), &s) == 0) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Status recoverWindow(const std::string& path) {
  TS_TRY(TraceReader reader, TraceReader::open(path));
  const std::string id = idIn(reader);
  if (id.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "is neither the session directory of a recording nor a flight recorder's trace",
                path);
  }
  FlightWindow window(path, path, {});
  if (reader.complete()) {  // it died while it removed its parts
    TS_CHECK_OK(window.takeParts(id, nullptr));
    window.removeParts();
    return {};
  }
  Trace newest;
  for (size_t i = 0; i < reader.blocks().size(); ++i) TS_CHECK_OK(reader.readBlock(i, newest));
  // Fails if the recorder still runs.
  TS_TRY(const TraceWriter writer,
         TraceWriter::resume(path, reader.endOfBlocks(),
                             static_cast<uint32_t>(newest.strings.size())));
  TS_CHECK_OK(window.takeParts(id, nullptr));
  window.keep(newest);
  return window.finish(writer);
}

Status keepDeadWindow(const std::string& path, const std::string& saved_base) {
  if (partsBeside(path).empty()) return {};
  if (auto reader = TraceReader::open(path); reader && !idIn(*reader).empty()) {
    TS_CHECK_OK(recoverWindow(path));
  }
  const std::map<uint64_t, std::string> left = partsBeside(path);
  if (!left.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "is a part of another recording, of which the newest part is gone; move or remove "
                "it and its like",
                left.begin()->second);
  }
  for (uint32_t number = 1;; ++number) {
    const std::string to = fmt::format("{}.trigger-{}.sbt", saved_base, number);
    const int error = linkOrMove(path, to);
    if (error == 0) break;
    if (error != EEXIST) return failErrno(error, "cannot create", to);
  }
  unlink(path.c_str());
  return {};
}

FlightWindow::FlightWindow(std::string path, std::string saved_base, const FlightOptions& options)
    : path_(std::move(path)),
      saved_base_(std::move(saved_base)),
      id_(makeSessionId()),
      options_(options),
      part_ns_(options.window_ns / kPartsOfWindow),
      part_begin_ns_(monotonicNs()) {}

FlightWindow::~FlightWindow() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void FlightWindow::describe(Trace& delta) const {
  delta.setMetadata(kWindowKey,
                    fmt::format("{:g} s", static_cast<double>(options_.window_ns) / 1e9));
  delta.setMetadata(kIdKey, id_);
}

Status FlightWindow::takeParts(std::string_view id, Trace* events) {
  id_ = id;
  for (const auto& [number, path] : partsBeside(path_)) {
    // Killed between the two steps of rotate(): the same file under both names.
    if (isSameFile(path, path_)) {
      unlink(path.c_str());
      continue;
    }
    auto reader = TraceReader::open(path);
    if (!reader || idIn(*reader) != id) continue;
    past_.push_back({path, part_begin_ns_, number});
    parts_ = std::max(parts_, number);
    for (size_t i = 0; events != nullptr && i < reader->blocks().size(); ++i) {
      const TableId table = reader->blocks()[i].table;
      const bool is_event = table >= TableId::kHostCall && sbt::isKnown(table);
      if (is_event || table == TableId::kPending) TS_CHECK_OK(reader->readBlock(i, *events));
    }
  }
  const std::lock_guard lock(mutex_);
  observed_ = parts_;  // by the recorder that died
  return {};
}

void FlightWindow::keep(const Trace& newest_part) {
  kept_.add(newest_part);
  if (!hasEvents(newest_part)) return;
  has_events_ = true;
  last_event_ns_ = std::max(last_event_ns_, lastEventNs(newest_part));
}

void FlightWindow::note(const Trace& delta) {
  keep(delta);
  if (options_.observer != nullptr) {
    if (std::string reason = options_.observer->onRows(delta); !reason.empty()) {
      want(std::move(reason));
    }
  }
}

std::string FlightWindow::newPath() const {
  return fmt::format("{}.{}.new", path_, std::string_view(id_).substr(0, 16));
}

Status FlightWindow::rotate(std::unique_ptr<TraceWriter>& writer, int64_t now_ns) {
  Status begun = beginPart(writer, now_ns);
  if (!begun) {
    problem_ = "the window is longer than asked for: " + begun.error().toString();
    part_begin_ns_ = now_ns - part_ns_ + std::min(part_ns_, kRetryNs);
    return begun;
  }
  if (has_events_) removeOld();
  has_events_ = false;
  last_event_ns_ = 0;
  return {};
}

Status FlightWindow::beginPart(std::unique_ptr<TraceWriter>& writer, int64_t now_ns) {
  const std::string made = newPath();
  kept_.forgetNames();
  const auto begin = [&]() -> Result<TraceWriter> {
    TS_TRY(TraceWriter next, TraceWriter::create(made));
    TS_CHECK_OK(next.write(kept_.rows()));
    return next;
  };
  auto next = begin();
  if (!next) {
    unlink(made.c_str());
    return tl::unexpected<Error>(std::move(next.error()));
  }
  const int64_t last_event_ns = std::max(newest_event_ns_, std::min(last_event_ns_, now_ns));
  const Part part{fmt::format("{}{}{}", path_, kPast, parts_ + 1), last_event_ns, parts_ + 1};
  const int linked = has_events_ ? linkOrMove(path_, part.path) : 0;
  Status named;
  if (linked != 0) named = failErrno(linked, "cannot create", part.path);
  if (named && std::rename(made.c_str(), path_.c_str()) != 0) {
    named = failErrno(errno, "cannot create", path_);
    if (has_events_ && isSameFile(path_, part.path)) unlink(part.path.c_str());
  }
  if (!named) {
    unlink(made.c_str());
    return named;
  }
  writer = std::make_unique<TraceWriter>(std::move(*next));
  part_begin_ns_ = now_ns;
  if (has_events_) pass(part);
  return {};
}

void FlightWindow::pass(const Part& part) {
  kept_.countFile();
  ++parts_;
  newest_event_ns_ = part.last_event_ns;
  past_.push_back(part);
  later([this, part] {
    if (options_.observer != nullptr) options_.observer->onPart(part.path, false);
    const std::lock_guard lock(mutex_);
    observed_ = std::max(observed_, part.number);
  });
}

bool FlightWindow::hasLeftWindow(const Part& part) const {
  return part.last_event_ns < newest_event_ns_ - options_.window_ns ||
         past_.size() > 2 * static_cast<size_t>(kPartsOfWindow);
}

void FlightWindow::removeOld() {
  const std::lock_guard lock(mutex_);
  while (!past_.empty() && hasLeftWindow(past_.front())) {
    if (past_.front().number > observed_ && past_.size() <= kMostParts) return;
    unlink(past_.front().path.c_str());
    past_.pop_front();
  }
}

bool FlightWindow::removeOldest() {
  const std::lock_guard lock(mutex_);
  if (past_.empty() || past_.front().number > observed_) return false;
  unlink(past_.front().path.c_str());
  past_.pop_front();
  problem_ = "the window is shorter than asked for at times: there was no space left";
  return true;
}

Result<WindowCopy> FlightWindow::copyOf(const TraceWriter& writer) const {
  WindowCopy copy(kept_.rows());
  for (const Part& part : past_) TS_CHECK_OK(copy.addPart(part.path, UINT64_MAX));
  TS_CHECK_OK(copy.addPart(path_, writer.bytesWritten()));
  return copy;
}

uint32_t FlightWindow::save(const TraceWriter& writer) {
  const std::string reason = std::exchange(wanted_, {});
  if (saves_ == options_.most_saved) {
    ++ignored_;
    return 0;
  }
  const uint32_t number = ++saves_;
  SavedWindow saved{number, fmt::format("{}.trigger-{}.sbt", saved_base_, number), reason, {}};
  auto copy = copyOf(writer);
  if (!copy) {
    saved.status = tl::unexpected<Error>(std::move(copy.error()));
    const std::lock_guard lock(mutex_);
    saved_.push_back(std::move(saved));
    return number;
  }
  copy->setMetadata(kReasonKey, reason);
  const auto shared = std::make_shared<WindowCopy>(std::move(*copy));
  later([this, shared, saved = std::move(saved)]() mutable {
    const std::string made = newPath() + ".saving";
    saved.status = shared->write(made);
    if (saved.status) saved.status = moveToFreeName(made, saved);
    unlink(made.c_str());
    const std::lock_guard lock(mutex_);
    saved_.push_back(std::move(saved));
  });
  return number;
}

/// Windows of earlier recordings stay.
Status FlightWindow::moveToFreeName(const std::string& made, SavedWindow& saved) const {
  for (uint32_t again = 1;; ++again) {
    saved.path = again == 1 ? fmt::format("{}.trigger-{}.sbt", saved_base_, saved.number)
                            : fmt::format("{}.trigger-{}-{}.sbt", saved_base_, saved.number, again);
    const int error = linkOrMove(made, saved.path);
    if (error == 0) return {};
    if (error != EEXIST) return failErrno(error, "cannot create", saved.path);
  }
}

Status FlightWindow::finish(const TraceWriter& writer) {
  auto copy = copyOf(writer);
  later([this] {
    if (options_.observer != nullptr) options_.observer->onPart(path_, true);
  });
  settle();
  if (!copy) return tl::unexpected<Error>(std::move(copy.error()));
  if (!wanted_.empty()) copy->setMetadata(kReasonKey, wanted_);
  const std::string made = newPath();
  Status status = copy->write(made);
  if (status && std::rename(made.c_str(), path_.c_str()) != 0) {
    status = failErrno(errno, "cannot create", path_);
  }
  if (!status) {
    unlink(made.c_str());
    return status;
  }
  removeParts();
  std::error_code ec;
  finished_bytes_ = std::filesystem::file_size(path_, ec);
  return {};
}

void FlightWindow::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !is_running_; });
}

void FlightWindow::removeParts() {
  for (const Part& part : past_) unlink(part.path.c_str());
  past_.clear();
}

std::vector<SavedWindow> FlightWindow::saved() const {
  const std::lock_guard lock(mutex_);
  return saved_;
}

// --- The other thread -----------------------------------------------------------------------

void FlightWindow::later(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) {
    auto thread = startSignalFreeThread([this] { runTasks(); });
    if (thread) thread_ = std::move(*thread);
  }
  if (thread_.joinable()) {
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return;
  }
  lock.unlock();
  task();  // no thread is left in this process
}

void FlightWindow::runTasks() {
  // The recorder and the program come first.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowPriority);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    is_running_ = true;
    lock.unlock();
    task();
    lock.lock();
    is_running_ = false;
    changed_.notify_all();
  }
}

}  // namespace tracesmith
