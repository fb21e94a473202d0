// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {

using process_log::RecordHeader;

namespace {

constexpr size_t kReadBytes = 1u << 20;

/// The header of an intact record at the start of `bytes`.
std::optional<RecordHeader> intactRecord(ByteView bytes) {
  if (bytes.size() < sizeof(RecordHeader)) return std::nullopt;
  const auto h = loadFixed<RecordHeader>(bytes.data());
  if (h.magic != process_log::kMagic || h.version != process_log::kVersion) return std::nullopt;
  if (h.bytes > bytes.size() || h.bytes % 8 != 0) return std::nullopt;
  if (h.command_bytes > process_log::kMaxCommandBytes ||
      h.executable_bytes > process_log::kMaxExecutableBytes ||
      sizeof(RecordHeader) + h.command_bytes + h.executable_bytes > h.bytes)
    return std::nullopt;
  if (h.kind != process_log::Kind::kExec && h.kind != process_log::Kind::kFork) return std::nullopt;
  if (process_log::checksum(bytes.data(), h.bytes) != h.checksum) return std::nullopt;
  return h;
}

/// Start of the next intact record at or after `from`; bytes.size() if there is none.
size_t nextIntact(ByteView bytes, size_t from) {
  const ByteView magic = asBytes({reinterpret_cast<const char*>(&process_log::kMagic), 4});
  for (auto at = bytes.begin() + static_cast<ptrdiff_t>(std::min(from, bytes.size()));;) {
    at = std::search(at, bytes.end(), magic.begin(), magic.end());
    if (at == bytes.end()) return bytes.size();
    const auto offset = static_cast<size_t>(at - bytes.begin());
    if (intactRecord(bytes.subspan(offset))) return offset;
    ++at;
  }
}

LoggedProcess toProcess(const RecordHeader& h, ByteView record) {
  LoggedProcess p;
  p.kind = h.kind;
  p.pid = h.pid;
  p.parent_pid = h.parent_pid;
  p.start_ticks = h.start_ticks;
  p.time_ns = h.monotonic_ns;
  p.pid_namespace = h.pid_namespace;
  const std::string_view text = asText(record.subspan(sizeof(RecordHeader)));
  p.command_line =
      quoteCommandLine(text.substr(0, h.command_bytes), (h.flags & process_log::kCommandCut) != 0);
  p.executable = std::string(text.substr(h.command_bytes, h.executable_bytes));
  return p;
}

}  // namespace

size_t decodeProcessLog(ByteView bytes, const ProcessLogReader::Callback& callback,
                        size_t& consumed, uint64_t& damaged) {
  size_t records = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    const ByteView rest = bytes.subspan(at);
    if (const auto header = intactRecord(rest)) {
      LoggedProcess process = toProcess(*header, rest.first(header->bytes));
      process.offset = at;
      callback(process);
      ++records;
      at += header->bytes;
      continue;
    }
    const size_t next = nextIntact(bytes, at + 1);
    if (next == bytes.size()) {
      // No intact record follows: it is still being written, unless it is longer than any record.
      if (bytes.size() - at <= process_log::kMaxRecordBytes) break;
      ++damaged;
      at = bytes.size() - process_log::kMaxRecordBytes;
      break;
    }
    ++damaged;
    at = next;
  }
  consumed = at;
  return records;
}

Result<ProcessLogReader> ProcessLogReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failErrno(errno, "cannot open the log of started programs", path);
  return ProcessLogReader(fd);
}

ProcessLogReader::ProcessLogReader(ProcessLogReader&& other) noexcept { *this = std::move(other); }

ProcessLogReader& ProcessLogReader::operator=(ProcessLogReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(position_, other.position_);
  std::swap(damaged_, other.damaged_);
  return *this;
}

ProcessLogReader::~ProcessLogReader() {
  if (fd_ >= 0) ::close(fd_);
}

Result<size_t> ProcessLogReader::drain(const Callback& callback) {
  size_t records = 0;
  struct stat s {};
  if (fstat(fd_, &s) == 0 && static_cast<uint64_t>(s.st_size) <= position_) return records;
  Bytes buffer(kReadBytes);
  for (;;) {
    const ssize_t got = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failErrno(errno, "cannot read the log of started programs");
    if (got == 0) return records;
    const uint64_t base = position_;
    size_t consumed = 0;
    records += decodeProcessLog(
        ByteView(buffer).first(static_cast<size_t>(got)),
        [&](const LoggedProcess& process) {
          LoggedProcess placed = process;
          placed.offset += base;
          callback(placed);
        },
        consumed, damaged_);
    position_ += consumed;
    if (consumed == 0 || static_cast<size_t>(got) < buffer.size()) return records;
  }
}

std::optional<LoggedExit> ProcessLogReader::exitOf(uint64_t offset) const {
  RecordHeader h;
  if (::pread(fd_, &h, sizeof h, static_cast<off_t>(offset)) != static_cast<ssize_t>(sizeof h))
    return std::nullopt;
  if (h.magic != process_log::kMagic || h.exit_ns == 0) return std::nullopt;
  return LoggedExit{h.exit_ns, h.exit_status & 0xff};
}

}  // namespace tracesmith
