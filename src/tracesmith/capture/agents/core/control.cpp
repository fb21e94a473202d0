// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/control.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/agents/core/file_blocks.hpp"
#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/core/own_thread.hpp"
#include "tracesmith/capture/agents/core/process_identity.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/core/unarmed.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"

namespace tracesmith::agent {
namespace {

using control::CaptureState;
using control::Page;

Controlled g_controlled;
Page* g_page = nullptr;
char g_path[PATH_MAX];
char g_temporary_path[PATH_MAX];
char g_directory[PATH_MAX];
dev_t g_device = 0;
ino_t g_inode = 0;
pid_t g_pid = 0;
std::atomic_flag g_lock = ATOMIC_FLAG_INIT;
std::atomic<bool> g_captured{false};

/// Removes pages of this process from before an exec; nobody waits on them any more.
void removeOlderPages(const char* directory, const char* prefix) {
  DIR* const d = opendir(directory);
  if (d == nullptr) return;
  while (const dirent* const entry = readdir(d)) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) unlinkat(dirfd(d), entry->d_name, 0);
  }
  closedir(d);
}

/// True if the directory is private to this user: whoever can write to a page there decides where
/// this program writes its arenas.
bool isPrivate(const char* directory) {
  struct stat s;
  if (lstat(directory, &s) != 0) return false;
  if (S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 077) == 0) return true;
  errno = EACCES;
  return false;
}

/// `request`: number of the newest request that was seen.
bool makePage(const char* directory, uint32_t request) {
  static arena::ArenaHeader identity;  // too large for the stack of an arbitrary thread
  fillProcessIdentity(identity);
  char prefix[64];
  snprintf(prefix, sizeof prefix, "%u.%llu.", identity.pid,
           static_cast<unsigned long long>(identity.start_ticks));
  const int64_t created = nowNs();
  errno = ENAMETOOLONG;
  const int length = snprintf(g_path, sizeof g_path, "%s/%s%lld%s", directory, prefix,
                              static_cast<long long>(created), control::kSuffix);
  if (length < 0 || static_cast<size_t>(length) >= sizeof g_path - strlen(".new")) return false;
  if (!isPrivate(directory)) return false;
  removeOlderPages(directory, prefix);
  char* const temporary = g_temporary_path;
  strcpy(temporary, g_path);
  strcat(temporary, ".new");
  const int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  void* base = MAP_FAILED;
  if (reserveBlocks(fd, 0, control::kPageBytes)) {
    base = mmap(nullptr, control::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  int error = errno;
  close(fd);
  if (base != MAP_FAILED) {
    mappings::guard(base, control::kPageBytes);
    auto* const page = static_cast<Page*>(base);
    page->version = control::kVersion;
    page->pid = identity.pid;
    page->start_ticks = identity.start_ticks;
    page->pid_namespace = identity.pid_namespace;
    page->created_ns = created;
    memcpy(page->boot_id, identity.boot_id, sizeof page->boot_id);
    page->request.store(request);
    page->answer.store(request);
    page->magic = control::kMagic;
    struct stat s;
    if (stat(temporary, &s) == 0 && rename(temporary, g_path) == 0) {
      g_page = page;
      g_device = s.st_dev;
      g_inode = s.st_ino;
      return true;
    }
    error = errno;
    mappings::release(base);
    munmap(base, control::kPageBytes);
  }
  unlink(temporary);
  errno = error;
  return false;
}

/// False if somebody has deleted the page.
bool pageIsThere() {
  struct stat s;
  return lstat(g_path, &s) == 0 && s.st_dev == g_device && s.st_ino == g_inode;
}

/// The requester holds the page's lock, which the kernel releases when it dies.
bool collectorIsLost() {
  if (!pageIsThere()) return true;  // then nobody could end the capture
  const int fd = open(g_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool lost = flock(fd, LOCK_SH | LOCK_NB) == 0;
  close(fd);
  return lost;
}

constexpr int64_t kIdlePauseNs = 1'000'000'000;

/// Waits until there is a request other than `seen`, or the time is over.
void waitForRequest(uint32_t seen, int64_t most_ns) {
  const timespec pause{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
  // A futex of the file, not a private one: another process wakes it.
  syscall(SYS_futex, &g_page->request, FUTEX_WAIT, seen, &pause, nullptr, 0);
}

void endCapture() {
  g_controlled.end();
  g_captured.store(false);
  g_page->state.store(CaptureState::kIdle);
}

void doRequest(CaptureState wanted) {
  int error = 0;
  arena::ArmStep step{};
  if (wanted == CaptureState::kCapture) {
    // The previous requester is gone, or has given up.
    if (g_captured.load()) endCapture();
    const uint32_t bytes = g_page->settings_bytes.load();
    replaceSettings(g_page->settings, bytes);
    if (g_controlled.begin()) {
      g_captured.store(true);
      g_page->state.store(CaptureState::kCapture);
    } else {
      error = errno != 0 ? errno : EINVAL;
      step = failedStep();
    }
  } else if (wanted == CaptureState::kIdle && g_captured.load()) {
    endCapture();
  }
  g_page->step.store(static_cast<uint32_t>(step));
  g_page->error.store(error);
}

/// True if all of the program's threads have left by pthread_exit(): without this thread, the
/// process would end now.
bool isAlone() {
  char text[4096];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  // The first thread stays as a zombie as long as there is another thread.
  const char* const state = strstr(text, "\nState:");
  const char* const threads = strstr(text, "\nThreads:");
  return state != nullptr && strncmp(state, "\nState:\tZ", 9) == 0 && threads != nullptr &&
         strtoul(threads + 9, nullptr, 10) <= 2;
}

/// Periodic work while there is no capture: exits with the program, and restores a deleted page.
void keepWaiting() {
  static uint32_t times = 0;
  if (isAlone()) exit(0);
  if (++times % 10 != 0 || pageIsThere()) return;
  mkdir(g_directory, 0700);
  Page* const before = g_page;
  if (makePage(g_directory, before->answer.load())) {
    mappings::release(before);
    munmap(before, control::kPageBytes);
  }
}

void* controlAlways(void*) {
  uint32_t seen = 0;
  int64_t pause_ns = kIdlePauseNs;
  for (;;) {
    const uint32_t request = g_page->request.load();
    if (request == seen) waitForRequest(seen, pause_ns);
    if (!g_captured.load() && g_page->request.load() == seen) {
      keepWaiting();
      continue;
    }
    const ControlLock alone;
    const uint32_t now = g_page->request.load();
    if (now != seen) {
      seen = now;
      doRequest(g_page->wanted.load());
      g_page->answer.store(now);
      syscall(SYS_futex, &g_page->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    pause_ns = kIdlePauseNs;
    if (!g_captured.load()) continue;
    if (collectorIsLost()) {
      endCapture();
    } else {
      pause_ns = g_controlled.look();
    }
  }
  return nullptr;
}

}  // namespace

bool startControl(const Controlled& controlled) {
  const NoCancel whole;
  // In a forked child the lock is free, but the parent's thread may have held it.
  if (g_pid != 0 && g_pid != getpid()) g_lock.clear();
  const ControlLock alone;
  if (g_page != nullptr && g_pid == getpid()) return true;
  g_page = nullptr;  // in a forked child, the parent's page
  g_captured.store(false);
  g_pid = getpid();
  const char* const directory = getenv(control::kEnvDirectory);
  errno = ENAMETOOLONG;
  if (directory == nullptr || strlen(directory) >= sizeof g_directory) return false;
  strcpy(g_directory, directory);
  if (!makePage(directory, 0)) {
    reportUnarmed(errno, arena::ArmStep::kWaitPage);
    return false;
  }
  g_controlled = controlled;
  if (const int error = startOwnThread(controlAlways); error != 0) {
    unlink(g_path);
    mappings::release(g_page);
    munmap(g_page, control::kPageBytes);
    g_page = nullptr;
    errno = error;
    reportUnarmed(error, arena::ArmStep::kWaitThread);
    return false;
  }
  atexit([] {
    if (getpid() == g_pid) unlink(g_path);
  });
  return true;
}

ControlLock::ControlLock() : ControlLock(INT64_MAX) {}

ControlLock::ControlLock(int64_t most_ns) {
  const int64_t began = nowNs();
  int64_t pause_ns = 10'000;
  while (g_lock.test_and_set(std::memory_order_acquire)) {
    if (nowNs() - began >= most_ns) return;
    const timespec pause{0, pause_ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (pause_ns < 5'000'000) pause_ns *= 2;
  }
  taken_ = true;
}
ControlLock::~ControlLock() {
  if (taken_) g_lock.clear(std::memory_order_release);
}

bool isCaptured() { return g_captured.load(std::memory_order_relaxed); }

}  // namespace tracesmith::agent
