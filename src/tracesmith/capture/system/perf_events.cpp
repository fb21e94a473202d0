// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/perf_events.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
constexpr size_t kLeastRing = size_t{128} << 10;
/// Of all processors together: the kernel keeps rings in memory.
constexpr size_t kMostBytes = size_t{256} << 20;
/// PERF_FORMAT_LOST, which came with Linux 6.0.
constexpr uint64_t kFormatLost = 1 << 4;

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

int openEvent(const perf_event_attr& attributes, pid_t pid, int cpu) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
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
      return failErrno(error, "cannot open an event for each processor");
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
  explicit Ring(int fd) : fd_(fd) {}
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

  /// Records that the kernel could not write; needs kFormatLost.
  uint64_t lost() const {
    uint64_t value_and_lost[2] = {};
    if (::read(fd_, value_and_lost, sizeof value_and_lost) != sizeof value_and_lost) return 0;
    return value_and_lost[1];
  }
  bool enable() const { return ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0) == 0; }
  bool run(int program_fd) const { return ioctl(fd_, PERF_EVENT_IOC_SET_BPF, program_fd) == 0; }

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

  const int fd_;
  void* memory_ = nullptr;
  perf_event_mmap_page* page_ = nullptr;
  const uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  uint64_t read_ = 0;
  std::vector<uint64_t> joined_;  // at most one record at a time
};

Status PerfEvents::openRings(pid_t pid, const PerfOptions& options) {
  perf_event_attr attributes = attributesFor(options, has_kernel_);
  attributes.read_format = kFormatLost;
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int cpu = 0; cpu < processors; ++cpu) {
    int fd = openEvent(attributes, pid, cpu);
    if (fd < 0 && errno == EINVAL && rings_.empty()) {
      attributes.read_format = 0;
      fd = openEvent(attributes, pid, cpu);
    }
    if (fd < 0 && errno == ENODEV) continue;  // the processor is off
    if (fd < 0) return cannotOpen(errno);
    rings_.push_back(std::make_unique<Ring>(fd));
  }
  counts_lost_ = attributes.read_format != 0;
  TS_CHECK_OK(mapRings(options.ring_bytes));
  if (options.starts_at_exec) return {};
  for (const auto& ring : rings_) {
    if (!ring->enable()) return failErrno(errno, "cannot begin to record processors");
  }
  return {};
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
  events.has_kernel_ = perfRights() == PerfRights::kUserAndKernel;
  TS_CHECK_OK(events.openRings(pid, options));
  events.has_kernel_ = events.has_kernel_ && options.samples_per_second > 0;
  return events;
}

Status PerfEvents::runAtSamples(int program_fd) {
  for (const auto& ring : rings_) {
    if (!ring->run(program_fd)) {
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
    if (!readPerfRecord({copied_.data() + each.at, each.bytes}, has_kernel_, record)) {
      ++unreadable_;
      continue;
    }
    if (const auto* const lost = std::get_if<PerfLost>(&record.what)) told_ += lost->records;
    visit(record);
  }
  lost_ = unreadable_ + told_;
  if (until_ns != INT64_MAX || !counts_lost_) return;
  uint64_t lost = unreadable_;
  for (const auto& ring : rings_) lost += ring->lost();
  lost_ = std::max(lost_, lost);
}

PerfEvents::PerfEvents(PerfEvents&&) noexcept = default;
PerfEvents& PerfEvents::operator=(PerfEvents&&) noexcept = default;
PerfEvents::~PerfEvents() = default;

}  // namespace tracesmith
