// SPDX-License-Identifier: Apache-2.0
// Maps, checks and walks an arena file that differs from a valid one in arbitrary bytes. The bits
// of the input's first byte say whether the next bytes overwrite the header (1) and the rings'
// headers (2). The remaining bytes always overwrite the first ring.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"

using namespace tracesmith;        // NOLINT: a program of few functions
using namespace tracesmith::test;  // NOLINT

namespace {

constexpr uint64_t kRingHeaders = arena::kRingsPerArena * sizeof(arena::RingHeader);

/// One file for the whole run; unlinked, so that it disappears afterwards.
struct File {
  File() {
    std::string pattern = "/tmp/tracesmith-fuzz-XXXXXX";
    const int fd = mkstemp(pattern.data());
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(header.file_bytes)) != 0) std::abort();
    path = pattern;
    bytes = static_cast<uint8_t*>(
        mmap(nullptr, header.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (bytes == MAP_FAILED) std::abort();
    close(fd);
  }
  ~File() { unlink(path.c_str()); }
  const TestArenaHeader header{4711};
  std::string path;
  uint8_t* bytes = nullptr;
};

/// Copies up to `size` bytes of `input` to `at` and returns the rest.
ByteView lay(ByteView input, uint8_t* at, uint64_t size) {
  const size_t n = std::min<size_t>(input.size(), size);
  for (size_t i = 0; i < n; ++i) at[i] ^= input[i];
  return input.subspan(n);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static File file;
  std::fill_n(file.bytes, file.header.data_offset + 2 * arena::kMinRingBytes, uint8_t{0});
  memcpy(file.bytes, &file.header, sizeof file.header);
  if (size == 0) return 0;
  ByteView input(data + 1, size - 1);
  if (data[0] & 1) input = lay(input, file.bytes, sizeof file.header);
  if (data[0] & 2) {
    input = lay(input, file.bytes + arena::kHeaderBytes, kRingHeaders);
  } else {
    const uint64_t head = input.size() / 8 * 8;
    memcpy(file.bytes + arena::kHeaderBytes, &head, sizeof head);
  }
  lay(input, file.bytes + file.header.data_offset, arena::kMinRingBytes);

  const auto opened = ArenaFile::open(file.path);
  if (!opened) {
    if (opened.error().message.empty()) std::abort();
    return 0;
  }
  SharedRows shared;
  RecordJoiner joiner(shared, ProcessId{1}, opened->header().stamp_clock);
  for (uint32_t r = 0; r < opened->ringCount(); ++r) {
    const uint64_t tail = opened->ring(r).tail.load();
    const uint64_t head = opened->ring(r).head.load();
    RecordWalk define(opened->ringData(r), opened->ringBytes(), tail, head);
    for (ByteView record = define.next(); !record.empty(); record = define.next()) {
      joiner.define(record);
    }
    RecordWalk join(opened->ringData(r), opened->ringBytes(), tail, head);
    for (ByteView record = join.next(); !record.empty(); record = join.next()) {
      joiner.join(record, r);
    }
    if (join.position() != head && !join.damaged()) std::abort();
  }
  joiner.endPass();
  joiner.writePending();
  return 0;
}
