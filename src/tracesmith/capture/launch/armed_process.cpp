// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/armed_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tracesmith/base/linux/clock_identity.hpp"
#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {

using control::CaptureState;
using control::Page;

namespace {

bool isProcess(uint32_t pid, uint64_t start_ticks) {
  const auto stat = readProcessStat(pid);
  return stat && stat->start_ticks == start_ticks && stat->runs();
}

/// Whether the process still has the page mapped, so has not executed another program.
bool hasMapped(uint32_t pid, const std::string& path) {
  std::ifstream maps(liveProcPath(pid, "maps"));
  if (!maps) return true;  // cannot be read
  std::string line;
  while (std::getline(maps, line)) {
    if (line.ends_with(path)) return true;
  }
  return false;
}

void unmapPage(Page* page) {
  mappings::release(page);
  munmap(page, control::kPageBytes);
}

/// Null when it is not (yet) a control page. The program may truncate its file at any time.
Page* mapPage(int fd) {
  struct stat s {};
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) ||
      s.st_size < static_cast<off_t>(control::kPageBytes)) {
    return nullptr;
  }
  void* const base = mmap(nullptr, control::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* const page = static_cast<Page*>(base);
  mappings::guard(base, control::kPageBytes);
  if (page->magic == control::kMagic && page->version == control::kVersion) return page;
  unmapPage(page);
  return nullptr;
}

}  // namespace

Result<std::string> controlDirectory() {
  const char* const named = std::getenv(control::kEnvDirectory);
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat s {};
  const bool has_runtime = runtime != nullptr && *runtime == '/' && stat(runtime, &s) == 0 &&
                           S_ISDIR(s.st_mode) && s.st_uid == geteuid();
  const std::string path = named != nullptr && *named != 0
                               ? std::filesystem::absolute(named).lexically_normal().string()
                           : has_runtime ? std::string(runtime) + "/tracesmith"
                                         : "/tmp/tracesmith-" + std::to_string(geteuid());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return failErrno(errno, "cannot make the directory of armed processes", path);
  }
  TS_CHECK_OK(checkControlDirectory(path));
  return path;
}

Status checkControlDirectory(const std::string& path) {
  struct stat s {};
  if (lstat(path.c_str(), &s) != 0) return failErrno(errno, "cannot inspect", path);
  if (S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 077) == 0) return {};
  return fail(ErrorCode::kPermission,
              "is not a directory of this user only; move it away, or name another one in "
              "TRACESMITH_CONTROL",
              path);
}

Result<ArmedProcess> ArmedProcess::open(const std::string& path) {
  ArmedProcess process;
  process.path_ = path;
  process.fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (process.fd_ < 0) return failErrno(errno, "cannot open the page of an armed process", path);
  process.page_ = mapPage(process.fd_);
  if (process.page_ == nullptr) {
    return fail(ErrorCode::kNotFound, "is not the page of an armed process", path);
  }
  process.pid_ = process.page_->pid;
  process.start_ticks_ = process.page_->start_ticks;
  if (!process.isAlive() || !hasMapped(process.pid_, path)) {
    return fail(ErrorCode::kNotFound, "its process has ended", path);
  }
  // The process itself holds the lock briefly when it checks whether its recorder is alive.
  for (int i = 0; flock(process.fd_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK || i == 20) {
      return fail(ErrorCode::kInvalidArgument,
                  "process " + std::to_string(process.pid_) + " is being captured already", path);
    }
    usleep(1000);
  }
  return process;
}

ArmedProcess::ArmedProcess(ArmedProcess&& other) noexcept { *this = std::move(other); }

ArmedProcess& ArmedProcess::operator=(ArmedProcess&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(page_, other.page_);
  std::swap(pid_, other.pid_);
  std::swap(start_ticks_, other.start_ticks_);
  return *this;
}

ArmedProcess::~ArmedProcess() {
  if (page_ != nullptr) unmapPage(page_);
  if (fd_ >= 0) close(fd_);
}

bool ArmedProcess::executedAnother() const { return !hasMapped(pid_, path_); }

bool ArmedProcess::isAlive() const {
  // A process that executes another program, or ends, removes its page.
  struct stat s {};
  return isProcess(pid_, start_ticks_) && fstat(fd_, &s) == 0 && s.st_nlink > 0;
}

void ArmedProcess::ask(CaptureState wanted) {
  page_->wanted.store(wanted);
  page_->request.fetch_add(1);
  syscall(SYS_futex, &page_->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status ArmedProcess::begin(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += name + '=' + value + '\0';
  if (text.size() > sizeof page_->settings) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the path of the output is too long for an armed process: settings of "
                            "{} bytes, {} at most; give -o a shorter one",
                            text.size(), sizeof page_->settings));
  }
  text.copy(page_->settings, text.size());
  page_->settings_bytes.store(static_cast<uint32_t>(text.size()));
  ask(CaptureState::kCapture);
  return {};
}

void ArmedProcess::end() { ask(CaptureState::kIdle); }
bool ArmedProcess::hasAnswered() const { return page_->answer.load() == page_->request.load(); }
int ArmedProcess::error() const { return page_->error.load(); }
arena::ArmStep ArmedProcess::failedStep() const {
  return static_cast<arena::ArmStep>(page_->step.load());
}
bool ArmedProcess::isCaptured() const { return page_->state.load() == CaptureState::kCapture; }

std::vector<ArmedProcessInfo> listArmed(const std::string& control_directory) {
  std::vector<ArmedProcessInfo> out;
  if (!checkControlDirectory(control_directory)) return out;
  DIR* const d = opendir(control_directory.c_str());
  if (d == nullptr) return out;
  while (const dirent* const entry = readdir(d)) {
    if (!std::string_view(entry->d_name).ends_with(control::kSuffix)) continue;
    const int fd = openat(dirfd(d), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (Page* const page = mapPage(fd); page != nullptr) {
      const bool ours =
          page->pid_namespace == ownPidNamespace() &&
          std::string_view(page->boot_id, strnlen(page->boot_id, sizeof page->boot_id)) == bootId();
      const std::string path = control_directory + '/' + entry->d_name;
      const auto stat = readProcessStat(page->pid);
      const bool is_gone = stat ? stat->start_ticks != page->start_ticks || !stat->runs()
                                : stat.error().code == ErrorCode::kNotFound &&
                                      kill(static_cast<pid_t>(page->pid), 0) != 0 && errno == ESRCH;
      if (ours && !is_gone && hasMapped(page->pid, path)) {
        out.push_back({path, page->pid, page->state.load() == CaptureState::kCapture});
      } else if (ours && is_gone) {
        unlinkat(dirfd(d), entry->d_name, 0);
      }
      unmapPage(page);
    }
    close(fd);
  }
  closedir(d);
  return out;
}

std::vector<UnarmedProcessInfo> listUnarmed(const std::string& control_directory) {
  std::vector<UnarmedProcessInfo> out;
  if (!checkControlDirectory(control_directory)) return out;
  DIR* const d = opendir(control_directory.c_str());
  if (d == nullptr) return out;
  while (const dirent* const entry = readdir(d)) {
    UnarmedProcessInfo info;
    uint64_t start_ticks = 0;
    unsigned step = 0;
    if (!std::string_view(entry->d_name).ends_with(control::kUnarmedSuffix) ||
        std::sscanf(entry->d_name, "%" SCNu32 ".%" SCNu64 ".%d.%u", &info.pid, &start_ticks,
                    &info.error, &step) != 4) {
      continue;
    }
    info.path = control_directory + '/' + entry->d_name;
    info.step = static_cast<arena::ArmStep>(step);
    if (isProcess(info.pid, start_ticks)) {
      out.push_back(std::move(info));
    } else {
      unlinkat(dirfd(d), entry->d_name, 0);
    }
  }
  closedir(d);
  return out;
}

}  // namespace tracesmith
