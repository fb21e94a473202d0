// SPDX-License-Identifier: Apache-2.0
// Reads and joins, like a resuming collector, a CUDA agent's file that differs from a valid one in
// arbitrary bytes, together with records of its rings. The input is:
// - a byte whose bits say whether the next bytes overwrite the header (1) and the states of the
//   buffers (2), and whether the file is truncated (4)
// - each with its 16-bit length before it: the definitions, the first buffer, the second buffer,
//   and records of a ring
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/agent_files/cuda_file.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

namespace cupti = agent::cupti;
using cuda_file::kBufferBytes;
using cuda_file::kMemoryAt;

constexpr uint64_t kFileBytes = kMemoryAt + 4 * kBufferBytes;
constexpr uint64_t kStates = 4 * sizeof(cuda_file::Buffer);

/// One file for the whole run; unlinked, so that it disappears afterwards.
struct File {
  File() {
    std::string pattern = "/tmp/tracesmith-fuzz-XXXXXX";
    fd = mkstemp(pattern.data());
    if (fd < 0 || ftruncate(fd, kFileBytes) != 0) std::abort();
    path = pattern;
    bytes =
        static_cast<uint8_t*>(mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (bytes == MAP_FAILED) std::abort();
  }
  ~File() { unlink(path.c_str()); }
  int fd = -1;
  std::string path;
  uint8_t* bytes = nullptr;
};

/// Creates a valid file as the agent does, with the record sizes of CUDA 13.
void makeSound(uint8_t* bytes) {
  auto& h = *reinterpret_cast<cuda_file::Header*>(bytes);
  h.magic = cuda_file::kMagic;
  h.version = cuda_file::kVersion;
  h.pid = 4711;
  h.first_correlation = cuda_file::kIdsOfLife;
  constexpr struct {
    cupti::Kind kind;
    uint32_t bytes;
  } kLengths[] = {{cupti::kMemcpy, 80},
                  {cupti::kMemset, 72},
                  {cupti::kDevice, 144},
                  {cupti::kContext, 24},
                  {cupti::kConcurrentKernel, 224},
                  {cupti::kOverhead, 56},
                  {cupti::kMemcpyPeer, 88},
                  {cupti::kUnifiedMemory, 64},
                  {cupti::kSynchronization, 56},
                  {cupti::kCudaEvent, 80},
                  {cupti::kMemory, 128},
                  {cupti::kMemoryPool, 80},
                  {cupti::kJit, 64}};
  for (const auto& l : kLengths) h.record_bytes[l.kind] = l.bytes;
  auto* const buffers = reinterpret_cast<cuda_file::Buffer*>(bytes + cuda_file::kBuffersAt);
  buffers[0].state = buffers[1].state = cuda_file::kTaken;
}

/// Takes at most `bytes` bytes from the front of `input`.
ByteView take(ByteView& input, size_t bytes) {
  const ByteView head = input.subspan(0, std::min(bytes, input.size()));
  input = input.subspan(head.size());
  return head;
}

/// Takes a piece that has its length before it.
ByteView takePiece(ByteView& input) {
  const ByteView length = take(input, sizeof(uint16_t));
  return take(input, length.size() == sizeof(uint16_t) ? loadFixed<uint16_t>(length.data()) : 0);
}

void lay(ByteView what, uint8_t* at) {
  for (size_t i = 0; i < what.size(); ++i) at[i] ^= what[i];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static File file;
  constexpr size_t kPiece = 1u << 16;
  if (ftruncate(file.fd, kFileBytes) != 0) std::abort();
  std::fill_n(file.bytes, cuda_file::kLogAt + kPiece, uint8_t{0});
  std::fill_n(file.bytes + kMemoryAt, 2 * kBufferBytes, uint8_t{0});
  if (size == 0) return 0;
  makeSound(file.bytes);
  ByteView input(data + 1, size - 1);
  const uint8_t how = data[0];
  if (how & 1) lay(take(input, sizeof(cuda_file::Header)), file.bytes);
  if (how & 2) lay(take(input, kStates), file.bytes + cuda_file::kBuffersAt);
  const ByteView definitions = takePiece(input);
  lay(definitions, file.bytes + cuda_file::kLogAt);
  auto& header = *reinterpret_cast<cuda_file::Header*>(file.bytes);
  header.log_end = header.log_end.load() ^ definitions.size();
  for (int i = 0; i < 2; ++i) {
    lay(takePiece(input), file.bytes + kMemoryAt + static_cast<uint64_t>(i) * kBufferBytes);
  }
  if (how & 4) {
    const uint64_t cut = kBufferBytes * (how >> 3);
    if (ftruncate(file.fd, static_cast<off_t>(kFileBytes - std::min(cut, kFileBytes))) != 0)
      return 0;
  }

  auto opened = CudaFile::open(file.path);
  if (!opened) {
    if (opened.error().message.empty()) std::abort();
    return 0;
  }
  SharedRows shared;
  RecordJoiner joiner(shared, ProcessId{1}, arena::StampClockKind::kMonotonicNs);
  joiner.restoreCall({.process_id = ProcessId{1}, .correlation_id = cuda_file::kIdsOfLife + 1});
  joiner.restoreCudaContext({.id = ContextId{1}, .handle = uint64_t{1} << 32 | 1});
  joiner.restoreCudaStream({.id = StreamId{1}, .context_id = ContextId{1}, .handle = 7});
  const uint64_t first = opened->firstCorrelation();
  for (int pass = 0; pass < 2; ++pass) {
    opened->readDefinitions([&](ByteView record) { joiner.defineCuda(record, first); });
    const Bytes ring(input.begin(), input.end());
    RecordWalk walk(ring.data(), kPiece, 0, std::min(ring.size() / 8 * 8, kPiece));
    if (pass == 0) {
      for (ByteView r = walk.next(); !r.empty(); r = walk.next()) joiner.join(r, 1);
    }
    joiner.endPass();
    joiner.writePending();
    joiner.noteCudaFile(*opened, pass == 1);
  }
  joiner.finish(0);
  if (shared.kernels != shared.delta.kernel.size()) std::abort();
  return 0;
}
