// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a log of started programs. The mutator repairs the checksums of records.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracesmith/capture/processes/process_log.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t consumed = 0;
  uint64_t damaged = 0;
  uint64_t end_of_last = 0;
  const size_t records = decodeProcessLog(
      {data, size},
      [&](const LoggedProcess& process) {
        if (process.offset < end_of_last || process.offset >= size) std::abort();
        end_of_last = process.offset + 1;
      },
      consumed, damaged);
  if (consumed > size || records > size / sizeof(process_log::RecordHeader)) std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using process_log::RecordHeader;
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  for (size_t at = 0; at + sizeof(RecordHeader) <= size;) {
    auto h = loadFixed<RecordHeader>(data + at);
    h.magic = process_log::kMagic;
    h.version = process_log::kVersion;
    h.bytes = static_cast<uint16_t>(sizeof h + h.bytes % 256 / 8 * 8);
    if (h.bytes > size - at) break;
    h.kind = static_cast<process_log::Kind>(1 + static_cast<uint8_t>(h.kind) % 2);
    memcpy(data + at, &h, sizeof h);
    h.checksum = process_log::checksum(data + at, h.bytes);
    memcpy(data + at, &h, sizeof h);
    at += h.bytes;
  }
  return size;
}
