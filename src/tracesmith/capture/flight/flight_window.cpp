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
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

constexpr const char* kNew = ".new";
constexpr const char* kSaving = ".saving";
constexpr std::string_view kPast = ".past-";
constexpr int kLowPriority = 10;

/// Gives the file another name beside the old one; moves it where the file system has no links.
Status linkOrMove(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return {};
  if (errno == EEXIST || std::rename(from.c_str(), to.c_str()) != 0) {
    return failErrno(errno, "cannot create", to);
  }
  return {};
}

bool exists(const std::string& path) {
  struct stat s {};
  return lstat(path.c_str(), &s) == 0;
}

}  // namespace

std::string windowText(int64_t window_ns) {
  return fmt::format("{:g} s", static_cast<double>(window_ns) / 1e9);
}

Status recoverWindow(const std::string& path) {
  TS_TRY(TraceReader reader, TraceReader::open(path));
  Trace newest;
  for (size_t i = 0; i < reader.blocks().size(); ++i) TS_CHECK_OK(reader.readBlock(i, newest));
  FlightWindow window(path, path, {});
  window.resume(newest);
  if (!window.hasParts()) {
    return fail(
        ErrorCode::kInvalidArgument,
        "is not the session directory of a recording, nor does a flight recorder's part lie "
        "beside it",
        path);
  }
  TS_TRY(const TraceWriter writer,
         TraceWriter::resume(path, reader.endOfBlocks(),
                             static_cast<uint32_t>(newest.strings.size())));
  return window.finish(writer);
}

FlightWindow::FlightWindow(std::string path, std::string saved_base, const FlightOptions& options)
    : path_(std::move(path)),
      saved_base_(std::move(saved_base)),
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

void FlightWindow::resume(const Trace& newest_part) {
  kept_.add(newest_part);
  const std::filesystem::path file(path_);
  const std::string prefix = file.filename().string() + std::string(kPast);
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    uint64_t number = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, number).ptr != end) continue;
    struct stat mine {
    }, its{};
    const std::string path = entry.path().string();
    // Killed between the two steps of rotate(): the same file under both names.
    if (stat(path_.c_str(), &mine) == 0 && stat(path.c_str(), &its) == 0 &&
        mine.st_ino == its.st_ino) {
      unlink(path.c_str());
      continue;
    }
    past_.push_back({path, part_begin_ns_, number});
    parts_ = std::max(parts_, number);
  }
  std::sort(past_.begin(), past_.end(),
            [](const Part& a, const Part& b) { return a.number < b.number; });
  const std::lock_guard lock(mutex_);
  observed_ = parts_;  // by the recorder that died
}

void FlightWindow::note(const Trace& delta) {
  kept_.add(delta);
  if (options_.observer != nullptr) {
    if (std::string reason = options_.observer->onRows(delta); !reason.empty()) {
      want(std::move(reason));
    }
  }
}

Status FlightWindow::rotate(std::unique_ptr<TraceWriter>& writer, int64_t now_ns) {
  const std::string made = path_ + kNew;
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
  const Part part{fmt::format("{}{}{}", path_, kPast, parts_ + 1), now_ns, parts_ + 1};
  TS_CHECK_OK(linkOrMove(path_, part.path));
  if (std::rename(made.c_str(), path_.c_str()) != 0) {
    return failErrno(errno, "cannot create", path_);
  }
  writer = std::make_unique<TraceWriter>(std::move(*next));
  part_begin_ns_ = now_ns;
  ++parts_;
  past_.push_back(part);
  later([this, part] {
    if (options_.observer != nullptr) options_.observer->onPart(part.path, false);
    const std::lock_guard lock(mutex_);
    observed_ = part.number;
  });
  removeOld(now_ns);
  return {};
}

void FlightWindow::removeOld(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  while (!past_.empty() && past_.front().end_ns < now_ns - options_.window_ns &&
         past_.front().number <= observed_) {
    unlink(past_.front().path.c_str());
    past_.pop_front();
  }
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
  later([this, shared, number, saved = std::move(saved)]() mutable {
    const std::string made = path_ + kSaving;
    saved.status = shared->write(made);
    // Windows of earlier recordings stay.
    for (uint32_t again = 2; saved.status && exists(saved.path); ++again) {
      saved.path = fmt::format("{}.trigger-{}-{}.sbt", saved_base_, number, again);
    }
    if (saved.status && std::rename(made.c_str(), saved.path.c_str()) != 0) {
      saved.status = failErrno(errno, "cannot create", saved.path);
    }
    if (!saved.status) unlink(made.c_str());
    const std::lock_guard lock(mutex_);
    saved_.push_back(std::move(saved));
  });
  return number;
}

Status FlightWindow::finish(const TraceWriter& writer) {
  auto copy = copyOf(writer);
  later([this] {
    if (options_.observer != nullptr) options_.observer->onPart(path_, true);
  });
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !is_running_; });
  }
  if (!copy) return tl::unexpected<Error>(std::move(copy.error()));
  if (!wanted_.empty()) copy->setMetadata(kReasonKey, wanted_);
  const std::string made = path_ + kNew;
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
