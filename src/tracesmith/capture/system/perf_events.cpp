// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/perf_events.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/system/process_tree.hpp"

namespace tracesmith {
namespace {

constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
constexpr size_t kLeastRing = size_t{128} << 10;
/// Of all processors together: the kernel keeps rings in memory.
constexpr size_t kMostBytes = size_t{256} << 20;
/// Counted by the kernel itself.
struct CounterKind {
  uint64_t config;
  PerfCounter counter;
};
constexpr std::array<CounterKind, 2> kCounterKinds = {{
    {PERF_COUNT_SW_PAGE_FAULTS_MIN, {"minor page faults", "faults"}},
    {PERF_COUNT_SW_PAGE_FAULTS_MAJ, {"major page faults", "faults"}},
}};
static_assert(kCounterKinds.size() <= kMostPerfCounters);

perf_event_attr attributesFor(const PerfOptions& options, bool with_kernel) {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = options.samples_per_second > 0 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
  a.sample_type = kPerfSampleFields;
  if (options.samples_per_second > 0) {
    a.sample_period = 1'000'000'000 / options.samples_per_second;
    a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    a.sample_regs_user = perfRegisters();
    a.sample_stack_user = options.stack_bytes;
    if (with_kernel) a.sample_type |= PERF_SAMPLE_CALLCHAIN;
    a.exclude_callchain_user = 1;
  }
  a.disabled = 1;
  a.enable_on_exec = options.starts_at_exec ? 1 : 0;
  a.inherit = 1;
  a.exclude_kernel = with_kernel ? 0 : 1;
  a.exclude_hv = 1;
  a.sample_id_all = 1;
  a.mmap = a.mmap2 = 1;
  a.comm = a.comm_exec = 1;
  a.task = 1;
  a.context_switch = options.has_switches ? 1 : 0;
  a.use_clockid = 1;
  a.clockid = CLOCK_MONOTONIC;
  a.watermark = 1;
  a.wakeup_watermark = 1u << 30;  // nobody waits for it
  return a;
}

/// `leader` -1: of no group.
int openEvent(const perf_event_attr& attributes, pid_t pid, int cpu, int leader = -1) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC));
}

/// Records of an event that the kernel could not write; needs kPerfFormatLost.
uint64_t lostOf(int fd, bool is_group) {
  // The number of events, if it is a group, and then value and losses of each one.
  std::array<uint64_t, 1 + 2 * (1 + kMostPerfCounters)> read{};
  const ssize_t got = ::read(fd, read.data(), sizeof read);
  const size_t at = is_group ? 2 : 1;
  return got >= static_cast<ssize_t>((at + 1) * sizeof read[0]) ? read[at] : 0;
}

/// An event for each thread and processor may be more than a user has by default.
void raiseOpenFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &files);
}

tl::unexpected<Error> cannotOpen(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kPermission,
                  "the system does not let this user look at processors: " + howToAllowPerf(),
                  kParanoid);
    case ESRCH:
      return fail(ErrorCode::kNotFound, "the process has ended");
    case EMFILE:
    case ENFILE:
      return fail(ErrorCode::kNoSpace,
                  "too many threads and processors for the files that the system lets this process "
                  "open (ulimit -n)");
    default:
      return fail(ErrorCode::kUnsupported,
                  std::string("this kernel has no such events: ") + std::strerror(error));
  }
}

}  // namespace

PerfRights perfRights() {
  for (const bool with_kernel : {true, false}) {
    const int fd = openEvent(attributesFor({}, with_kernel), 0, -1);
    if (fd < 0) continue;
    close(fd);
    return with_kernel ? PerfRights::kUserAndKernel : PerfRights::kUser;
  }
  return PerfRights::kNothing;
}

std::string howToAllowPerf() {
  switch (perfRights()) {
    case PerfRights::kUserAndKernel:
      return {};
    case PerfRights::kUser:
      return "run as root, or sysctl kernel.perf_event_paranoid=1";
    case PerfRights::kNothing:
      if (errno == ENOSYS) return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
      return geteuid() == 0
                 ? "the container forbids it: it needs CAP_PERFMON, and a seccomp profile "
                   "that allows perf_event_open"
                 : "run as root, or sysctl kernel.perf_event_paranoid=2";
  }
  return {};
}

/// The event of one processor and its ring.
class PerfEvents::Ring {
 public:
  Ring(int fd, int cpu) : fd_(fd), cpu_(cpu) {}
  ~Ring() {
    unmap();
    close(fd_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// False: the system does not grant as much; errno says why.
  bool map(size_t bytes) {
    void* const memory =
        mmap(nullptr, pageBytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = memory;
    page_ = static_cast<perf_event_mmap_page*>(memory);
    data_ = static_cast<const uint8_t*>(memory) + pageBytes();
    bytes_ = bytes;
    return true;
  }
  void unmap() {
    if (memory_ != nullptr) munmap(memory_, pageBytes() + bytes_);
    memory_ = nullptr;
  }

  int fd() const { return fd_; }
  int cpu() const { return cpu_; }

  /// Calls take(time, bytes) for the records up to this time. The bytes stay until release().
  /// False: what follows in the ring is no record, and is skipped.
  template <class Take>
  bool readUntil(int64_t last_ns, Take&& take) {
    // The kernel writes data_head after the data.
    const uint64_t head = std::atomic_ref<__u64>(page_->data_head).load(std::memory_order_acquire);
    while (read_ < head) {
      const size_t at = read_ % bytes_;
      perf_event_header header;
      std::memcpy(&header, data_ + at, sizeof header);  // the end of the ring never divides it
      if (header.size < sizeof header || header.size > head - read_) {  // cannot be
        read_ = head;
        return false;
      }
      const bool is_divided = at + header.size > bytes_;
      const std::span<const uint8_t> bytes =
          is_divided ? joined(at, header.size) : std::span(data_ + at, header.size);
      const int64_t time_ns = timeOfPerfRecord(bytes);
      if (time_ns > last_ns) return true;
      read_ += header.size;
      take(time_ns, bytes);
    }
    return true;
  }
  /// What was read is no longer needed.
  void release() {
    std::atomic_ref<__u64>(page_->data_tail).store(read_, std::memory_order_release);
  }

 private:
  static size_t pageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  /// A record that begins at the end of the ring and goes on at its beginning.
  std::span<const uint8_t> joined(size_t at, size_t size) {
    joined_.resize((size + 7) / 8);
    auto* const to = reinterpret_cast<uint8_t*>(joined_.data());
    std::memcpy(to, data_ + at, bytes_ - at);
    std::memcpy(to + (bytes_ - at), data_, size - (bytes_ - at));
    return {to, size};
  }

  const int fd_, cpu_;
  void* memory_ = nullptr;
  perf_event_mmap_page* page_ = nullptr;
  const uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  uint64_t read_ = 0;
  std::vector<uint64_t> joined_;  // at most one record at a time
};

Status PerfEvents::openRings(pid_t pid, const PerfOptions& options, bool has_kernel) {
  perf_event_attr attributes = attributesFor(options, has_kernel);
  // What newer kernels can, and then less: their values with those of the group, and their losses.
  const bool counts = options.has_counters && options.samples_per_second > 0;
  constexpr uint64_t kSampleType = PERF_SAMPLE_READ;
  uint64_t formats = counts ? kPerfFormatGroup | kPerfFormatLost : kPerfFormatLost;
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int cpu = 0; cpu < processors; ++cpu) {
    int fd = -1;
    for (;;) {
      const bool has_group = (formats & kPerfFormatGroup) != 0;
      attributes.read_format = formats;
      attributes.sample_type =
          has_group ? attributes.sample_type | kSampleType : attributes.sample_type & ~kSampleType;
      fd = openEvent(attributes, pid, cpu);
      if (fd >= 0 || errno != EINVAL || !rings_.empty() || formats == 0) break;
      formats = has_group ? kPerfFormatLost : 0;
    }
    if (fd < 0 && errno == ENODEV) continue;  // the processor is off
    if (fd < 0) return cannotOpen(errno);
    rings_.push_back(std::make_unique<Ring>(fd, cpu));
  }
  layout_.has_counters = (formats & kPerfFormatGroup) != 0;
  for (const auto& ring : rings_) {
    if (layout_.has_counters) openCounters(*ring, pid, has_kernel);
  }
  counts_lost_ = (formats & kPerfFormatLost) != 0;
  TS_CHECK_OK(mapRings(options.ring_bytes));
  return {};
}

/// If a processor gets fewer counters than the first one, its samples give no counts.
void PerfEvents::openCounters(const Ring& ring, pid_t pid, bool has_kernel) {
  const bool is_first = &ring == rings_.front().get();
  for (const CounterKind& kind : kCounterKinds) {
    perf_event_attr a{};
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = kind.config;
    a.inherit = 1;
    a.exclude_kernel = has_kernel ? 0 : 1;
    a.exclude_hv = 1;
    a.read_format = kPerfFormatGroup | kPerfFormatLost;
    a.use_clockid = 1;  // as the leader
    a.clockid = CLOCK_MONOTONIC;
    const int fd = openEvent(a, pid, ring.cpu(), ring.fd());
    if (fd < 0) continue;
    more_fds_.push_back(fd);
    if (is_first) counters_.push_back(kind.counter);
  }
}

/// All have the same size. What the system grants a user is for all processors together.
Status PerfEvents::mapRings(size_t bytes) {
  bytes = std::max(bytes, kLeastRing);
  while (bytes > kLeastRing && bytes * rings_.size() > kMostBytes) bytes /= 2;
  for (;; bytes /= 2) {
    const bool are_mapped = std::all_of(rings_.begin(), rings_.end(),
                                        [&](const auto& ring) { return ring->map(bytes); });
    if (are_mapped) {
      ring_bytes_ = bytes;
      return {};
    }
    const int error = errno;
    for (const auto& ring : rings_) ring->unmap();
    if (bytes <= kLeastRing) {
      return failErrno(
          error,
          "cannot get memory for what processors do (sysctl kernel.perf_event_mlock_kb "
          "allows more)");
    }
  }
}

Result<PerfEvents> PerfEvents::forProgram(pid_t pid, const PerfOptions& options) {
  PerfEvents events;
  const bool has_kernel = perfRights() == PerfRights::kUserAndKernel;
  raiseOpenFiles();
  TS_CHECK_OK(events.openRings(pid, options, has_kernel));
  events.layout_.has_kernel_stacks = has_kernel && options.samples_per_second > 0;
  if (!options.starts_at_exec) TS_CHECK_OK(events.enable());
  return events;
}

/// Its events write to the rings of the first thread.
Status PerfEvents::openThread(uint32_t tid, const PerfOptions& options, bool has_kernel) {
  perf_event_attr attributes = attributesFor(options, has_kernel);
  attributes.read_format = counts_lost_ ? kPerfFormatLost : 0;
  for (const auto& ring : rings_) {
    const int fd = openEvent(attributes, static_cast<pid_t>(tid), ring->cpu());
    if (fd < 0 && errno == ESRCH) return {};  // it has ended
    if (fd < 0) return cannotOpen(errno);
    more_fds_.push_back(fd);
    uint64_t event = 0;
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd()) != 0 ||
        ioctl(fd, PERF_EVENT_IOC_ID, &event) != 0) {
      return failErrno(errno, "cannot record a further thread");
    }
    opened_for_[event] = tid;
  }
  return {};
}

/// Of the first thread, which has the rings.
Status PerfEvents::openFirst(uint32_t tid, const PerfOptions& options, bool has_kernel) {
  const Status opened = openRings(static_cast<pid_t>(tid), options, has_kernel);
  if (!opened) {
    rings_.clear();
    return opened;
  }
  for (const auto& ring : rings_) {
    uint64_t event = 0;
    if (ioctl(ring->fd(), PERF_EVENT_IOC_ID, &event) == 0) opened_for_[event] = tid;
  }
  return {};
}

/// Threads without events so far.
Status PerfEvents::openThreads(const std::vector<uint32_t>& processes, const PerfOptions& options,
                               bool has_kernel) {
  for (const uint32_t pid : processes) {
    for (const uint32_t tid : threadsOf(pid)) {
      if (!known_.insert(tid).second) continue;
      const Status opened = rings_.empty() ? openFirst(tid, options, has_kernel)
                                           : openThread(tid, options, has_kernel);
      if (opened || opened.error().code == ErrorCode::kNotFound) continue;
      const bool is_foreign =
          opened.error().code == ErrorCode::kPermission && perfRights() != PerfRights::kNothing;
      if (!is_foreign) return opened;
      if (pid != processes.front()) break;
      return fail(ErrorCode::kPermission,
                  "belongs to another user, or has other rights: run as root",
                  fmt::format("process {}", pid));
    }
  }
  return {};
}

Result<PerfEvents> PerfEvents::forRunning(const std::vector<uint32_t>& processes,
                                          PerfOptions options) {
  PerfEvents events;
  options.starts_at_exec = options.has_counters = false;
  raiseOpenFiles();
  const bool has_kernel = perfRights() == PerfRights::kUserAndKernel;
  // The second time for threads that were started meanwhile by one that had no events yet.
  for (int i = 0; i < 2; ++i) {
    TS_CHECK_OK(events.openThreads(processes, options, has_kernel));
  }
  if (events.rings_.empty()) return fail(ErrorCode::kNotFound, "the process has ended");
  events.layout_.has_kernel_stacks = has_kernel && options.samples_per_second > 0;
  return events;
}

/// Without those of counters, which the sampling event of their group begins.
std::vector<int> PerfEvents::samplingFds() const {
  std::vector<int> fds;
  for (const auto& ring : rings_) fds.push_back(ring->fd());
  if (!layout_.has_counters) fds.insert(fds.end(), more_fds_.begin(), more_fds_.end());
  return fds;
}

Status PerfEvents::enable() {
  for (const int fd : samplingFds()) {
    if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return failErrno(errno, "cannot begin to record processors");
    }
  }
  return {};
}

/// Whether another event has told the same of the thread.
bool PerfEvents::isTwice(const PerfRecord& record) {
  const auto opened = opened_for_.find(record.place.event);
  if (opened == opened_for_.end()) return false;
  const auto by = recorded_by_.try_emplace(record.place.tid, opened->second).first;
  if (by->second != opened->second) return true;
  // Its number may have been that of a thread that has ended.
  if (const auto* const fork = std::get_if<PerfFork>(&record.what)) recorded_by_.erase(fork->tid);
  return false;
}

Status PerfEvents::runAtSamples(int program_fd) {
  for (const int fd : samplingFds()) {
    if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) != 0) {
      return failErrno(errno, "this kernel runs no programs of TraceSmith at samples");
    }
  }
  return {};
}

void PerfEvents::drain(int64_t until_ns, const std::function<void(const PerfRecord&)>& visit) {
  struct Waiting {
    int64_t time_ns;
    size_t at, bytes;  // in copied_
  };
  std::vector<Waiting> records;
  copied_.clear();
  for (const auto& ring : rings_) {
    const bool is_intact =
        ring->readUntil(until_ns, [&](int64_t time_ns, std::span<const uint8_t> bytes) {
          records.push_back({time_ns, copied_.size(), bytes.size()});
          copied_.insert(copied_.end(), bytes.begin(), bytes.end());
          copied_.resize((copied_.size() + 7) / 8 * 8);
        });
    unreadable_ += is_intact ? 0 : 1;
    ring->release();  // what takes them may be slow
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const Waiting& a, const Waiting& b) { return a.time_ns < b.time_ns; });
  PerfRecord record;
  for (const Waiting& each : records) {
    if (!readPerfRecord({copied_.data() + each.at, each.bytes}, layout_, record)) {
      ++unreadable_;
      continue;
    }
    if (const auto* const lost = std::get_if<PerfLost>(&record.what)) told_ += lost->records;
    if (!isTwice(record)) visit(record);
  }
  lost_ = unreadable_ + told_;
  if (until_ns != INT64_MAX || !counts_lost_) return;
  uint64_t lost = unreadable_;
  for (const int fd : samplingFds()) lost += lostOf(fd, layout_.has_counters);
  lost_ = std::max(lost_, lost);
}

PerfEvents::PerfEvents(PerfEvents&&) noexcept = default;
PerfEvents& PerfEvents::operator=(PerfEvents&&) noexcept = default;
PerfEvents::~PerfEvents() {
  for (const int fd : more_fds_) close(fd);
}

}  // namespace tracesmith
