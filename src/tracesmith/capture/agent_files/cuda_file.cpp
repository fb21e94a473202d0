// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/cuda_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tracesmith/base/linux/private_directory.hpp"
#include "tracesmith/base/record_ring.hpp"
#include "tracesmith/capture/agents/cuda/selection.hpp"
#include "tracesmith/capture/agents/cuda/transcribe.hpp"

namespace tracesmith {

namespace cupti = agent::cupti;

namespace {

/// The TraceSmith record at `p`, which has `bytes` of space; empty if there is none.
ByteView recordAt(const uint8_t* p, uint64_t bytes) {
  if (bytes < sizeof(arena::RecordHeader)) return {};
  const uint64_t length = ring::recordBytes(loadFixed<uint64_t>(p));
  if (length == 0 || length > bytes) return {};
  return {p, length};
}

/// Whether the device has not finished the work: CUPTI fills in the times at the end.
bool isUnfinished(const cupti::Activity& a) {
  switch (a.kind) {
    case cupti::kConcurrentKernel:
      return cupti::as<cupti::Kernel>(a).end == 0;
    case cupti::kMemcpy:
    case cupti::kMemcpyPeer:
      return cupti::as<cupti::Memcpy>(a).end == 0;
    case cupti::kMemset:
      return cupti::as<cupti::Memset>(a).end == 0;
    case cupti::kGraphTrace:
      return cupti::as<cupti::GraphTrace>(a).end == 0;
    default:
      return false;
  }
}

/// The minimum size of a record of this kind; 0: the kind is not read.
size_t leastBytes(int32_t kind) {
  switch (kind) {
    case cupti::kConcurrentKernel:
      return offsetof(cupti::Kernel, unused);
    case cupti::kMemcpy:
      return sizeof(cupti::Memcpy);
    case cupti::kMemcpyPeer:
      return sizeof(cupti::MemcpyPeer);
    case cupti::kMemset:
      return sizeof(cupti::Memset);
    case cupti::kSynchronization:
      return offsetof(cupti::Synchronization, event_sync);
    case cupti::kCudaEvent:
      return offsetof(cupti::CudaEvent, device);
    case cupti::kMemory:
      return offsetof(cupti::Memory, name);
    case cupti::kMemoryPool:
      return offsetof(cupti::MemoryPool, used);
    case cupti::kGraphTrace:
      return sizeof(cupti::GraphTrace);
    case cupti::kJit:
      return offsetof(cupti::Jit, correlation) + sizeof(uint32_t);
    case cupti::kUnifiedMemory:
      return sizeof(cupti::UnifiedMemory);
    case cupti::kOverhead:
      return offsetof(cupti::Overhead, correlation);
    case cupti::kDevice:
      return sizeof(cupti::Device);
    case cupti::kContext:
      return sizeof(cupti::Context);
    default:
      return 0;
  }
}

}  // namespace

Result<CudaFile> CudaFile::open(const std::string& path, int directory) {
  CudaFile file;
  file.path_ = path;
  file.fd_ = openWithin(directory, path, O_RDONLY);
  if (file.fd_ < 0) return failErrno(errno, "cannot open", path);
  struct stat s {};
  HeaderCopy h;
  if (fstat(file.fd_, &s) != 0 || !S_ISREG(s.st_mode) ||
      static_cast<uint64_t>(s.st_size) < cuda_file::kLogAt || !file.readAt(0, h.bytes)) {
    return fail(ErrorCode::kDamaged, "too short for a file of the CUDA agent", path);
  }
  if (h->magic != cuda_file::kMagic) {
    return fail(ErrorCode::kDamaged, "not a file of the CUDA agent", path);
  }
  if (h->version != cuda_file::kVersion) {
    return fail(ErrorCode::kTooNew, "was written by another version of the CUDA agent", path);
  }
  file.pid_ = h->pid;
  file.start_ticks_ = h->start_ticks;
  file.pid_namespace_ = h->pid_namespace;
  file.first_correlation_ = h->first_correlation / cuda_file::kIdsOfLife * cuda_file::kIdsOfLife;
  return file;
}

CudaFile::CudaFile(CudaFile&& other) noexcept { *this = std::move(other); }

CudaFile& CudaFile::operator=(CudaFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(log_read_, other.log_read_);
  std::swap(log_damaged_, other.log_damaged_);
  std::swap(definitions_lost_, other.definitions_lost_);
  std::swap(buffers_refused_, other.buffers_refused_);
  std::swap(clock_, other.clock_);
  std::swap(clock_samples_read_, other.clock_samples_read_);
  std::swap(clock_samples_, other.clock_samples_);
  std::swap(pid_, other.pid_);
  std::swap(start_ticks_, other.start_ticks_);
  std::swap(pid_namespace_, other.pid_namespace_);
  std::swap(first_correlation_, other.first_correlation_);
  return *this;
}

CudaFile::~CudaFile() {
  if (fd_ >= 0) close(fd_);
}

std::string CudaFile::name() const { return path_.substr(path_.find_last_of('/') + 1); }

bool CudaFile::readAt(uint64_t at, std::span<uint8_t> bytes) const {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

void CudaFile::readDefinitions(const std::function<void(ByteView)>& take) {
  HeaderCopy h;
  if (!readAt(0, h.bytes)) {
    log_damaged_ = true;
    return;
  }
  // Acquire: whatever was written before the end was moved is read after it.
  const uint64_t end = std::min(h->log_end.load(std::memory_order_acquire), cuda_file::kLogBytes);
  definitions_lost_ = h->log_lost.load(std::memory_order_relaxed);
  buffers_refused_ = h->refused.load(std::memory_order_relaxed);
  readClock(h);
  if (log_damaged_ || end <= log_read_) return;
  Bytes bytes(end - log_read_);
  log_damaged_ = !readAt(cuda_file::kLogAt + log_read_, bytes);
  size_t at = 0;
  while (!log_damaged_ && at < bytes.size()) {
    const ByteView record = recordAt(bytes.data() + at, bytes.size() - at);
    log_damaged_ = record.empty();
    if (log_damaged_) break;
    take(record);
    at += record.size();
  }
  log_read_ += at;
}

/// The agent may have written to the header while it was copied. A sample counts only if its slot
/// was complete before the copy and no new write to it had started after the copy.
void CudaFile::readClock(const HeaderCopy& h) {
  using cuda_file::kClockSamples;
  clock_ = h->clock.load(std::memory_order_relaxed) ==
                   static_cast<uint32_t>(arena::StampClockKind::kTimeStampCounter)
               ? arena::StampClockKind::kTimeStampCounter
               : arena::StampClockKind::kMonotonicNs;
  const uint64_t done = h->clock_samples_done.load(std::memory_order_acquire);
  if (done <= clock_samples_read_) return;
  uint64_t begun = 0;
  std::array<uint8_t, sizeof begun> bytes{};
  if (!readAt(offsetof(cuda_file::Header, clock_samples_begun), bytes)) return;
  begun = loadFixed<uint64_t>(bytes.data());
  uint64_t next = std::max(clock_samples_read_, done < kClockSamples ? 0 : done - kClockSamples);
  for (; next < done; ++next) {
    if (next + kClockSamples < begun) continue;
    const cuda_file::ClockSample& sample = h->clock_samples[next % kClockSamples];
    if (sample.after_ns >= sample.before_ns) clock_samples_.push_back(sample);
  }
  clock_samples_read_ = done;
}

std::vector<cuda_file::ClockSample> CudaFile::takeClockSamples() {
  return std::exchange(clock_samples_, {});
}

CudaFile::Layouts CudaFile::layoutsOf(const HeaderCopy& h) {
  Layouts out;
  out.selected = h->selects.load(std::memory_order_relaxed) != 0;
  for (const cuda_file::Selection& s : h->selections) {
    const uint32_t kind = s.kind.load(std::memory_order_relaxed);
    if (!out.selected || kind == 0 || kind >= cuda_file::kKinds) continue;
    out.fields[kind].assign(s.fields,
                            s.fields + std::min(s.count, cuda_file::Selection::kMostFields));
  }
  for (uint32_t kind = 0; kind < cuda_file::kKinds; ++kind) {
    if (out.selected && out.fields[kind].empty()) continue;
    out.bytes[kind] = h->record_bytes[kind].load(std::memory_order_relaxed);
  }
  return out;
}

void CudaFile::readBuffer(uint32_t index, const cuda_file::Buffer& state, const Layouts& layouts,
                          uint64_t near, const std::function<void(ByteView, bool)>& take,
                          UnreadCudaRecords& left) const {
  if (state.state.load(std::memory_order_relaxed) != cuda_file::kTaken) return;
  Bytes bytes(cuda_file::kBufferBytes);
  if (!readAt(cuda_file::kMemoryAt + index * cuda_file::kBufferBytes, bytes)) {
    ++left.unreadable;
    return;
  }
  bool first = true;
  uint64_t at = state.copied_bytes.load(std::memory_order_relaxed);
  if (at % 8 != 0 || at > bytes.size()) {  // not the start of a record
    ++left.unreadable;
    return;
  }
  while (at + sizeof(uint64_t) <= bytes.size()) {
    const auto kind = loadFixed<int32_t>(bytes.data() + at);
    if (kind == 0) return;
    const uint64_t length =
        kind > 0 && kind < static_cast<int32_t>(cuda_file::kKinds) ? layouts.bytes[kind] : 0;
    if (length == 0 || length % 8 != 0 || length > bytes.size() - at) {
      ++left.unreadable;
      return;
    }
    const uint8_t* const record = bytes.data() + at;
    at += length;
    cupti::AnyRecord whole;
    if (layouts.selected) {
      const std::vector<cuda_file::Field>& fields = layouts.fields[kind];
      cupti::gather(kind, record, length, fields.data(), fields.size(), whole);
    } else if (length < leastBytes(kind)) {
      ++left.unreadable;
      return;
    }
    const auto& activity =
        *reinterpret_cast<const cupti::Activity*>(layouts.selected ? whole.bytes : record);
    if (isUnfinished(activity)) {
      ++left.unfinished;
      const bool launched = activity.kind == cupti::kConcurrentKernel &&
                            cupti::as<cupti::Kernel>(activity).graph_node == 0;
      if (!launched) ++left.unfinished_others;
      continue;
    }
    ++left.records;
    const auto give = [&](const auto& made) {
      take({reinterpret_cast<const uint8_t*>(&made), sizeof made}, first);
    };
    cupti::transcribe(
        activity, layouts.selected ? sizeof whole : length, 0, first_correlation_,
        [near](uint32_t id) { return cuda_file::widen(id, near); },
        [&](const auto& made, bool) { give(made); }, give);
    first = false;
  }
}

UnreadCudaRecords CudaFile::readBuffers(
    uint64_t near, const std::function<void(ByteView, bool first)>& take) const {
  UnreadCudaRecords left;
  HeaderCopy h;
  constexpr size_t kBytes = sizeof(cuda_file::Buffer);
  alignas(cuda_file::Buffer) std::array<uint8_t, cuda_file::kBuffers * kBytes> table;
  if (!readAt(0, h.bytes) || !readAt(cuda_file::kBuffersAt, table)) {
    left.unreadable = 1;  // or more: it is unknown which buffers had records
    return left;
  }
  const Layouts layouts = layoutsOf(h);
  const auto* const buffers = reinterpret_cast<const cuda_file::Buffer*>(table.data());
  for (uint32_t i = 0; i < cuda_file::kBuffers; ++i) {
    readBuffer(i, buffers[i], layouts, near, take, left);
  }
  return left;
}

}  // namespace tracesmith
