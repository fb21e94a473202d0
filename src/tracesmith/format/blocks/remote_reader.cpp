// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/remote_reader.hpp"

#include <algorithm>
#include <cstring>

namespace tracesmith::sbt {

Result<std::unique_ptr<RemoteReader>> RemoteReader::open(const std::string& url) {
  TS_TRY(std::shared_ptr<RemoteFiles> files, remoteFilesFor(url));
  TS_TRY(const uint64_t size, files->size(url));
  return std::unique_ptr<RemoteReader>(new RemoteReader(std::move(files), url, size));
}

Result<size_t> RemoteReader::readAt(uint64_t offset, std::span<uint8_t> out) {
  constexpr uint64_t kLeast = 128 << 10;
  const uint64_t end = offset >= size_ ? offset : offset + std::min(out.size(), size_ - offset);
  if (end == offset) return size_t{0};
  const auto holds = [&](const Part& part) {
    return offset >= part.offset && end <= part.offset + part.bytes.size();
  };
  if (!holds(parts_[0])) {
    std::swap(parts_[0], parts_[1]);
    if (!holds(parts_[0])) {
      const uint64_t bytes = std::min(std::max(end - offset, kLeast), size_ - offset);
      TS_TRY(Bytes read, files_->read(url_, offset, bytes));
      parts_[0] = {offset, std::move(read)};
    }
  }
  // Fewer bytes: it was replaced by a shorter one meanwhile.
  const Part& part = parts_[0];
  const uint64_t from = offset - part.offset;
  const uint64_t there = part.bytes.size() - std::min<uint64_t>(from, part.bytes.size());
  const auto copied = static_cast<size_t>(std::min(end - offset, there));
  if (copied > 0) std::memcpy(out.data(), part.bytes.data() + from, copied);
  return copied;
}

}  // namespace tracesmith::sbt
