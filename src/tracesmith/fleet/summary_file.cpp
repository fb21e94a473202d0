// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/summary_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "tracesmith/base/files/remote_files.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"

namespace tracesmith {
namespace {

constexpr char kFileMagic[] = {'T', 'S', 's', 'u', 'm', 'f', 'i', 'l'};
constexpr uint32_t kFileVersion = 1;
constexpr size_t kEndBytes = 4096;
/// Larger files are no summaries: also a sum of very many traces is smaller.
constexpr uint64_t kLargestFile = uint64_t{256} << 20;

/// At most `most` bytes from an offset on.
Result<Bytes> readBytes(const std::string& path, uint64_t from, uint64_t most) {
  if (isRemote(path)) {
    TS_TRY(const std::shared_ptr<RemoteFiles> files, remoteFilesFor(path));
    return files->read(path, from, most);
  }
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return failErrno(errno, "cannot open", path);
  const auto end = static_cast<int64_t>(in.tellg());
  if (end < 0) return fail(ErrorCode::kIo, "cannot be read", path);
  if (static_cast<uint64_t>(end) <= from) return Bytes();
  Bytes bytes(static_cast<size_t>(std::min(most, static_cast<uint64_t>(end) - from)));
  in.seekg(static_cast<std::streamoff>(from));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (in.bad()) return fail(ErrorCode::kIo, "cannot be read", path);
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

void putText(Bytes& out, const std::string& text) {
  putFixed(out, static_cast<uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}
std::string takeText(ByteReader& in) {
  const auto bytes = in.fixed<uint32_t>();
  return std::string(asText(in.take(bytes)));
}

Status writeAll(int fd, ByteView bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failErrno(n < 0 ? errno : ENOSPC, "cannot write", path);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<TraceIdentity> identityOf(const TraceReader& reader, const std::string& path) {
  TraceIdentity out{.trace_id = reader.uuid(),
                    .bytes = reader.fileBytes(),
                    .created_ns = reader.createdNs(),
                    .path = path};
  const uint64_t from = out.bytes > kEndBytes ? out.bytes - kEndBytes : 0;
  TS_TRY(const Bytes end, readBytes(path, from, out.bytes - from));
  out.end_hash = hash64(end);
  return out;
}

Status writeSummaryFile(const std::string& path, SummaryFile& file) {
  Bytes identity;
  identity.insert(identity.end(), file.trace.trace_id.begin(), file.trace.trace_id.end());
  putFixed(identity, file.trace.bytes);
  putFixed(identity, file.trace.end_hash);
  putFixed(identity, file.trace.created_ns);
  putText(identity, file.trace.host);
  putText(identity, file.trace.path);
  Bytes bytes(std::begin(kFileMagic), std::end(kFileMagic));
  putFixed(bytes, kFileVersion);
  putFixed(bytes, static_cast<uint32_t>(identity.size()));
  bytes.insert(bytes.end(), identity.begin(), identity.end());
  const Bytes summary = encodeSummary(file.summary, kLargestSummary);
  bytes.insert(bytes.end(), summary.begin(), summary.end());
  if (isRemote(path)) {
    TS_TRY(const std::shared_ptr<RemoteFiles> files, remoteFilesFor(path));
    return files->write(path, bytes);
  }
  TS_TRY(TargetFile target, TargetFile::open(path));
  TS_CHECK_OK(writeAll(target.fd(), bytes, path));
  return target.finish();
}

Result<SummaryFile> readSummaryFile(const std::string& path, bool only_identity) {
  constexpr uint64_t kIdentityBytes = 64 << 10;
  TS_TRY(const Bytes bytes, readBytes(path, 0, only_identity ? kIdentityBytes : kLargestFile));
  if (bytes.size() < sizeof kFileMagic ||
      std::memcmp(bytes.data(), kFileMagic, sizeof kFileMagic) != 0) {
    return fail(ErrorCode::kNotATrace, "is no summary of TraceSmith", path);
  }
  ByteReader in(ByteView(bytes).subspan(sizeof kFileMagic));
  const auto version = in.fixed<uint32_t>();
  if (version > kFileVersion) {
    return fail(ErrorCode::kTooNew,
                fmt::format("this summary was written by a newer TraceSmith (version {} of the "
                            "format; this program reads versions up to {}); summarize the trace "
                            "again with this one, or use the newer one",
                            version, kFileVersion),
                path);
  }
  const auto identity_bytes = in.fixed<uint32_t>();
  ByteReader identity(in.take(identity_bytes));
  SummaryFile file;
  const ByteView id = identity.take(file.trace.trace_id.size());
  if (identity.ok()) std::copy(id.begin(), id.end(), file.trace.trace_id.begin());
  file.trace.bytes = identity.fixed<uint64_t>();
  file.trace.end_hash = identity.fixed<uint64_t>();
  file.trace.created_ns = identity.fixed<int64_t>();
  file.trace.host = takeText(identity);
  file.trace.path = takeText(identity);
  if (!in.ok() || !identity.ok()) {
    return fail(ErrorCode::kDamaged, "the summary is damaged: it is cut off", path);
  }
  if (only_identity) return file;
  // Many are read at once.
  constexpr size_t kMostMemory = size_t{64} << 20;
  const ByteView packed = in.take(in.remaining());
  Result<FleetSummary> summary =
      packed.size() <= kLargestSummary ? decodeSummary(packed, kMostMemory) : decodeSummary(packed);
  if (!summary) {
    Error error = std::move(summary).error();
    error.where = path;
    return tl::unexpected(std::move(error));
  }
  file.summary = std::move(*summary);
  return file;
}

}  // namespace tracesmith
