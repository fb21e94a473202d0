// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/shared_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/agents/core/file_blocks.hpp"
#include "tracesmith/capture/agents/core/process_identity.hpp"

namespace tracesmith::agent {

using cuda_file::Buffer;
using cuda_file::kBufferBytes;
using cuda_file::kBuffers;

namespace {

constexpr uint64_t kLogStep = 256u << 10;

std::atomic<uint8_t*> g_file{nullptr};
uint8_t* g_memory = nullptr;  // see openSharedMemory()
int g_fd = -1;
dev_t g_device = 0;
ino_t g_inode = 0;
uint64_t g_log_reserved = 0;
std::atomic<pid_t> g_definition_lock{0};  // the process whose thread holds DefinitionLock
constinit thread_local bool t_defining __attribute__((tls_model("initial-exec"))) = false;
constinit thread_local bool t_forking __attribute__((tls_model("initial-exec"))) = false;
/// By buffer: its blocks are reserved, or private memory of the process replaces it.
enum Backing : uint8_t { kNothing, kBlocks, kMemory };
std::atomic<uint8_t> g_backing[kBuffers];
std::atomic<uint32_t> g_next{0};

uint8_t* file() { return g_file.load(std::memory_order_relaxed); }
Buffer* buffers() { return reinterpret_cast<Buffer*>(file() + cuda_file::kBuffersAt); }
uint8_t* memoryOf(uint32_t i) { return file() + cuda_file::kMemoryAt + i * kBufferBytes; }

/// False for a buffer of a closed file, which CUPTI may have kept and still fill.
bool isOfThisFile(const uint8_t* buffer) {
  const uint8_t* const begin = memoryOf(0);
  return file() != g_memory && buffer >= begin && buffer < begin + kBuffers * kBufferBytes;
}

/// False if the program has closed our descriptor and got the number for another file.
bool isOurFile() {
  struct stat s;
  return fstat(g_fd, &s) == 0 && s.st_dev == g_device && s.st_ino == g_inode;
}

bool reserveMore(uint64_t at, uint64_t bytes) {
  if (isOurFile()) return reserveBlocks(g_fd, at, bytes);
  errno = EBADF;
  return false;
}

/// Gets memory for a buffer that is not in use; it is kept.
bool backBuffer(uint32_t i) {
  if (g_backing[i].load(std::memory_order_relaxed) != kNothing) return true;
  const int before = errno;
  const NoCancel whole;
  const uint64_t at = cuda_file::kMemoryAt + i * kBufferBytes;
  uint8_t made = kNothing;
  if (reserveMore(at, kBufferBytes)) {
    made = kBlocks;
  } else if (mmap(memoryOf(i), kBufferBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
    made = kMemory;
  }
#ifdef MADV_POPULATE_WRITE
  if (made != kNothing) madvise(memoryOf(i), kBufferBytes, MADV_POPULATE_WRITE);
#endif
  g_backing[i].store(made, std::memory_order_relaxed);
  errno = before;
  return made != kNothing;
}

/// A child of the bare system call, in which no fork handler runs, may inherit the lock from a
/// thread that it does not have. It then takes the lock over. A definition that was being written
/// is in no table, or in all of them.
bool takeDefinitionLock() {
  const pid_t mine = getpid();
  pid_t holder = 0;
  if (g_definition_lock.compare_exchange_strong(holder, mine, std::memory_order_acquire))
    return true;
  return holder != 0 && holder != mine &&
         g_definition_lock.compare_exchange_strong(holder, mine, std::memory_order_acquire);
}

/// Makes sure that a forked child sees complete definitions: no other thread holds DefinitionLock
/// at the fork. If a signal handler forks after interrupting the owner on this thread, the child
/// finishes the definition.
void beforeFork() {
  if (t_defining) return;
  while (!takeDefinitionLock()) sched_yield();
  t_forking = true;
}
void afterFork() {
  if (!t_forking) return;
  t_forking = false;
  g_definition_lock.store(0, std::memory_order_release);
}

bool makeSharedFile() {
  FileName name;
  FileName temporary;
  lifeName(name, cuda_file::kSuffix);
  snprintf(temporary, sizeof temporary, "%.90s.new", name);
  const SessionFolder folder(lifeFolder());
  const int fd =
      openat(folder.fd(), temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  void* base = MAP_FAILED;
  if (reserveBlocks(fd, 0, cuda_file::kLogAt + kLogStep)) {
    base = mmap(nullptr, cuda_file::kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  int error = errno;
  if (base != MAP_FAILED) {
    mappings::guard(base, cuda_file::kFileBytes, endDamagedLife);
    cuda_file::Header& h = *static_cast<cuda_file::Header*>(base);
    static arena::ArenaHeader identity;  // too large for the stack of a thread that may be any
    fillProcessIdentity(identity);
    h.version = cuda_file::kVersion;
    h.pid = identity.pid;
    h.start_ticks = identity.start_ticks;
    h.pid_namespace = identity.pid_namespace;
    const uint64_t first = firstCorrelation();
    constexpr uint64_t kLife = cuda_file::kIdsOfLife;
    h.first_correlation = first <= 1 ? 0 : (first + kLife - 1) / kLife * kLife;
    takeCorrelations(h.first_correlation + kLife);
    h.magic = cuda_file::kMagic;
    struct stat s;
    if (fstat(fd, &s) == 0 && renameat(folder.fd(), temporary, folder.fd(), name) == 0) {
      g_file.store(static_cast<uint8_t*>(base), std::memory_order_relaxed);
      for (auto& backing : g_backing) backing.store(kNothing, std::memory_order_relaxed);
      g_fd = fd;
      g_device = s.st_dev;
      g_inode = s.st_ino;
      g_log_reserved = kLogStep;
      return true;
    }
    error = errno;
    mappings::release(base);
    munmap(base, cuda_file::kFileBytes);
  }
  close(fd);
  unlinkat(folder.fd(), temporary, 0);
  errno = error;
  return false;
}

/// Copies the parent's definitions, whose numbers this process has already used.
bool copyLog(const uint8_t* from) {
  const uint64_t end =
      reinterpret_cast<const cuda_file::Header*>(from)->log_end.load(std::memory_order_acquire);
  if (end > g_log_reserved) {
    if (!reserveBlocks(g_fd, cuda_file::kLogAt, end)) return false;
    g_log_reserved = end;
  }
  memcpy(file() + cuda_file::kLogAt, from + cuda_file::kLogAt, end);
  sharedHeader().log_end.store(end, std::memory_order_release);
  return true;
}

}  // namespace

std::atomic<uint64_t> g_shared_epoch{0};

DefinitionLock::DefinitionLock() {
  for (int i = 0; !tryBegin(); ++i) {
    const timespec pause{0, 20'000};
    if (i > 1000) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
}
DefinitionLock::~DefinitionLock() { end(); }

bool DefinitionLock::tryBegin() {
  if (t_defining) return false;  // in a signal handler
  t_defining = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (takeDefinitionLock()) return true;
  t_defining = false;
  return false;
}

void DefinitionLock::end() {
  g_definition_lock.store(0, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_defining = false;
}

bool DefinitionLock::isInterrupted() { return t_defining; }

bool armOnce() {
  static std::atomic_flag arming = ATOMIC_FLAG_INIT;
  const NoHandlers uninterrupted;
  const NoCancel whole;
  while (arming.test_and_set(std::memory_order_acquire)) sched_yield();
  const bool made = arm("cuda");
  arming.clear(std::memory_order_release);
  return made;
}

bool openSharedFile() {
  static uint64_t failed_epoch = 0;
  static int failed_error = 0;
  const DefinitionLock alone;
  const uint64_t epoch = g_epoch->load();
  errno = 0;
  if (epoch == kIdleEpoch) return false;
  if (g_shared_epoch.load(std::memory_order_relaxed) == epoch) return true;
  if (failed_epoch == epoch) {
    errno = failed_error;
    return false;
  }
  uint8_t* const parents = file();
  const int parents_fd = g_fd;
  if (!makeSharedFile() || (parents != nullptr && !copyLog(parents))) {
    failed_epoch = epoch;
    failed_error = errno;
    return false;
  }
  if (parents == nullptr) {
    pthread_atfork(beforeFork, afterFork, afterFork);
  } else if (parents != g_memory) {
    mappings::release(parents);
    munmap(parents, cuda_file::kFileBytes);
    close(parents_fd);
  }
  g_shared_epoch.store(epoch, std::memory_order_release);
  return true;
}

namespace {

/// CUPTI may be writing there without notice, so copy word by word.
__attribute__((no_sanitize("thread"))) void copyBuffer(uint8_t* to, const uint8_t* from) {
  auto* const out = reinterpret_cast<volatile uint64_t*>(to);
  const auto* const in = reinterpret_cast<const volatile uint64_t*>(from);
  for (size_t i = 0; i < kBufferBytes / sizeof *in; ++i) out[i] = in[i];
}

/// CUPTI may still have buffers in a closed file, and continue in them when it is used again. They
/// stay at their address, with their content, as private memory of the process.
void keepForCupti(uint8_t* file) {
  void* const base = mmap(nullptr, cuda_file::kFileBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return;  // then the file's blocks stay as well
  const auto* const states = reinterpret_cast<const Buffer*>(file + cuda_file::kBuffersAt);
  for (uint32_t i = 0; i < kBuffers; ++i) {
    if (states[i].state.load(std::memory_order_acquire) == cuda_file::kFree) continue;
    const uint64_t at = cuda_file::kMemoryAt + i * kBufferBytes;
    if (g_backing[i].load(std::memory_order_relaxed) == kNothing) continue;
    copyBuffer(static_cast<uint8_t*>(base) + at, file + at);
  }
  const void* const moved = mremap(base, cuda_file::kFileBytes, cuda_file::kFileBytes,
                                   MREMAP_MAYMOVE | MREMAP_FIXED, file);
  if (moved == MAP_FAILED) munmap(base, cuda_file::kFileBytes);
}

}  // namespace

bool openSharedMemory() {
  const DefinitionLock alone;
  if (file() != nullptr) return true;
  void* const base = mmap(nullptr, cuda_file::kFileBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  g_memory = static_cast<uint8_t*>(base);
  g_log_reserved = cuda_file::kLogBytes;
  g_shared_epoch.store(kIdleEpoch, std::memory_order_relaxed);
  g_file.store(g_memory, std::memory_order_relaxed);
  pthread_atfork(beforeFork, afterFork, afterFork);
  return true;
}

void closeSharedFile() {
  const DefinitionLock alone;
  uint8_t* const from = file();
  if (from == g_memory) return;
  // Copies definitions that were added since the file was created; it started with those in memory.
  auto* const header = reinterpret_cast<cuda_file::Header*>(g_memory);
  const uint64_t begin = header->log_end.load(std::memory_order_relaxed);
  const uint64_t end = sharedHeader().log_end.load(std::memory_order_relaxed);
  if (end > begin) {
    memcpy(g_memory + cuda_file::kLogAt + begin, from + cuda_file::kLogAt + begin, end - begin);
    header->log_end.store(end, std::memory_order_relaxed);
  }
  g_shared_epoch.store(kIdleEpoch, std::memory_order_release);
  g_log_reserved = cuda_file::kLogBytes;
  g_file.store(g_memory, std::memory_order_relaxed);
  if (isOurFile()) close(g_fd);
  g_fd = -1;
  keepForCupti(from);
}

cuda_file::Header& sharedHeader() { return *reinterpret_cast<cuda_file::Header*>(file()); }

bool appendDefinition(const void* record, size_t bytes, bool needed) {
  cuda_file::Header& h = sharedHeader();
  const uint64_t end = h.log_end.load(std::memory_order_relaxed);
  bool room = end + bytes <= cuda_file::kLogBytes;
  if (room && end + bytes > g_log_reserved) {
    const int before = errno;
    const NoCancel whole;
    room = reserveMore(cuda_file::kLogAt + g_log_reserved, kLogStep);
    if (room) g_log_reserved += kLogStep;
    errno = before;
  }
  if (!room) {
    if (needed) h.log_lost.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  memcpy(file() + cuda_file::kLogAt + end, record, bytes);
  h.log_end.store(end + bytes, std::memory_order_release);
  return true;
}

uint8_t* takeBuffer() {
  if (file() == g_memory) return nullptr;  // there is no capture
  const uint32_t begin = g_next.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t n = 0; n < kBuffers; ++n) {
    const uint32_t i = (begin + n) % kBuffers;
    Buffer& b = buffers()[i];
    uint32_t free = cuda_file::kFree;
    if (b.state.load(std::memory_order_relaxed) != free) continue;
    // Do not let anybody read it before it has memory.
    if (!b.state.compare_exchange_strong(free, cuda_file::kPrivate, std::memory_order_acquire)) {
      continue;
    }
    if (!backBuffer(i)) {
      b.state.store(cuda_file::kFree, std::memory_order_release);
      break;
    }
    b.copied_bytes.store(0, std::memory_order_relaxed);
    if (g_backing[i].load(std::memory_order_relaxed) == kBlocks) {
      b.state.store(cuda_file::kTaken, std::memory_order_release);
    }
    // Prefer a buffer that has been used before.
    g_next.store(i + 1, std::memory_order_relaxed);
    return memoryOf(i);
  }
  sharedHeader().refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void noteCopied(const uint8_t* buffer, size_t end) {
  if (!isOfThisFile(buffer)) return;
  const auto i = static_cast<uint32_t>((buffer - memoryOf(0)) / static_cast<int64_t>(kBufferBytes));
  buffers()[i].copied_bytes.store(end, std::memory_order_release);
}

void returnBuffer(uint8_t* buffer, size_t used) {
  if (!isOfThisFile(buffer)) return;
  const auto i = static_cast<uint32_t>((buffer - memoryOf(0)) / static_cast<int64_t>(kBufferBytes));
  // All records were copied. Nobody may read the buffer any more: a kill during the zeroing leaves
  // no partial record.
  buffers()[i].state.store(cuda_file::kPrivate, std::memory_order_release);
  memset(buffer, 0, used < kBufferBytes ? used : kBufferBytes);  // as promised to CUPTI
  buffers()[i].state.store(cuda_file::kFree, std::memory_order_release);
  g_next.store(i, std::memory_order_relaxed);
}

void abandonBuffers() {
  for (uint32_t i = 0; i < kBuffers; ++i) {
    uint32_t taken = cuda_file::kTaken;
    buffers()[i].state.compare_exchange_strong(taken, cuda_file::kPrivate);
  }
}

namespace {

/// CUPTI may be writing there without notice.
__attribute__((no_sanitize("thread"))) uint32_t firstWord(const uint8_t* buffer) {
  return *reinterpret_cast<const volatile uint32_t*>(buffer);
}

}  // namespace

bool hasLentBuffers() {
  if (file() == g_memory) return false;
  for (uint32_t i = 0; i < kBuffers; ++i) {
    if (buffers()[i].state.load(std::memory_order_acquire) == cuda_file::kFree) continue;
    // CUPTI keeps buffers that it has not started to fill. Records start with their kind, which is
    // not 0.
    if (g_backing[i].load(std::memory_order_relaxed) == kNothing) continue;
    if (firstWord(memoryOf(i)) != 0) return true;
  }
  return false;
}

}  // namespace tracesmith::agent
