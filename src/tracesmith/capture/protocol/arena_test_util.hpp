// SPDX-License-Identifier: Apache-2.0
// For tests: arenas as an agent creates them, and records that are valid or nearly so.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/opencl_api.hpp"

namespace tracesmith::test {

/// A temporary directory, removed with its contents at the end of the scope.
class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tracesmith-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make " << pattern;
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The header of an arena as process `pid` would create it: kRingsPerArena empty rings.
struct TestArenaHeader : arena::ArenaHeader {
  explicit TestArenaHeader(uint32_t process, uint64_t bytes = arena::kMinRingBytes)
      : arena::ArenaHeader{} {
    magic = arena::kMagic;
    version = arena::kVersion;
    header_bytes = arena::kHeaderBytes;
    ring_count = arena::kRingsPerArena;
    ring_bytes = bytes;
    data_offset = arena::dataOffset(ring_count);
    file_bytes = data_offset + ring_count * bytes;
    pid = process;
    start_ticks = 1;
    stamp_clock = arena::StampClockKind::kMonotonicNs;
  }
};

/// Writes an arena file: `header`, then zeros up to `file_bytes`.
inline void writeArena(const std::string& path, const arena::ArenaHeader& header,
                       uint64_t file_bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.close();
  std::filesystem::resize_file(path, file_bytes);
}

// --- Records --------------------------------------------------------------------------------

inline void putText(Bytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}
/// Pads a record to whole words and writes its length into its header.
inline Bytes finished(Bytes record) {
  record.resize((record.size() + 7) / 8 * 8);
  const auto words = static_cast<uint16_t>(record.size() / 8);
  std::memcpy(record.data() + offsetof(arena::RecordHeader, words), &words, sizeof words);
  return record;
}

inline arena::CallRecord call(arena::RecordKind kind, OpenClApi api, uint64_t correlation,
                              int64_t start = 1000, uint64_t stream = 0) {
  return {.header = {kind, 0, 0, static_cast<uint32_t>(api)},
          .start = start,
          .end = start + 10,
          .correlation = correlation,
          .stream = stream,
          .result = 0};
}
inline Bytes kernelRecord(uint64_t correlation, uint64_t kernel = 7, int64_t start = 1000) {
  Bytes out;
  putFixed(out,
           call(arena::RecordKind::kKernel, OpenClApi::clEnqueueNDRangeKernel, correlation, start));
  putFixed(out, arena::KernelPart{.kernel = kernel, .event = correlation, .dimensions = 1});
  putFixed(out, uint64_t{64});
  return finished(out);
}
inline Bytes copyRecord(uint64_t correlation) {
  Bytes out;
  putFixed(out, call(arena::RecordKind::kTransfer, OpenClApi::clEnqueueWriteBuffer, correlation));
  putFixed(out, arena::TransferPart{.event = correlation, .bytes = 64});
  return finished(out);
}
inline Bytes completeRecord(uint64_t correlation) {
  Bytes out;
  arena::CompleteRecord r{};
  r.header.kind = arena::RecordKind::kComplete;
  r.correlation = correlation;
  r.queued = 1005;
  r.submitted = 1010;
  r.started = 1020;
  r.ended = 1030;
  putFixed(out, r);
  return finished(out);
}
inline Bytes threadRecord(uint32_t tid, std::string_view name) {
  Bytes out;
  arena::ThreadRecord r{};
  r.header = {arena::RecordKind::kThread, 0, 0, tid};
  r.time = 1;
  name.copy(r.name, sizeof r.name);
  putFixed(out, r);
  return finished(out);
}
inline Bytes kernelObject(uint64_t handle, std::string_view name) {
  Bytes out;
  putFixed(out, arena::ObjectRecord{.header = {arena::RecordKind::kObject, 0, 0,
                                               static_cast<uint32_t>(ObjectKind::kKernel)},
                                    .time = 1,
                                    .handle = handle,
                                    .name_bytes = static_cast<uint32_t>(name.size())});
  putText(out, name);
  return finished(out);
}

/// Generates records of every kind. Fields come from small pools, so that records refer to each
/// other; a few have arbitrary values. Some records are truncated.
class RandomRecords {
 public:
  explicit RandomRecords(unsigned seed) : chance_(seed) {}

  Bytes next() {
    Bytes out;
    const auto kind = static_cast<arena::RecordKind>(1 + chance_() % 15);
    arena::CallRecord c = call(kind, static_cast<OpenClApi>(pick(80)), pick(20), time(), pick(5));
    c.header.flags = static_cast<uint8_t>(chance_());
    c.end = time();
    c.result = static_cast<int32_t>(pick(3));
    c.stack = static_cast<uint32_t>(pick(6));
    switch (kind) {
      case arena::RecordKind::kThread:
        return cut(threadRecord(static_cast<uint32_t>(pick(4)), "worker"));
      case arena::RecordKind::kComplete: {
        arena::CompleteRecord r{c.header, pick(20), time(), time(), time(), time()};
        putFixed(out, r);
        return cut(finished(out));
      }
      case arena::RecordKind::kObject: {
        arena::ObjectRecord r{c.header, time(), pick(6), pick(6), pick(6), 0, 0};
        r.header.aux = static_cast<uint32_t>(pick(9));
        r.name_bytes = static_cast<uint32_t>(pick(30));
        putFixed(out, r);
        return cut(finished(withNoise(out, 24)));
      }
      case arena::RecordKind::kDevice: {
        arena::DeviceRecord r{};
        r.header = c.header;
        r.handle = pick(6);
        r.device_kind = static_cast<uint32_t>(pick(5));
        r.text_bytes = static_cast<uint32_t>(pick(40));
        putFixed(out, r);
        return cut(finished(withNoise(out, 40)));
      }
      case arena::RecordKind::kArgument: {
        arena::ArgumentRecord r{};
        r.header = c.header;
        r.header.aux = static_cast<uint32_t>(pick(70));
        r.kernel = pick(6);
        r.bytes = pick(10);
        r.value = pick(6);
        putFixed(out, r);
        return cut(finished(out));
      }
      case arena::RecordKind::kFree: {
        putFixed(out, arena::FreeRecord{c.header, time(), pick(6)});
        return cut(finished(out));
      }
      default:
        break;
    }
    putFixed(out, c);
    if (kind == arena::RecordKind::kKernel) {
      putFixed(out, arena::KernelPart{.kernel = pick(6),
                                      .event = pick(6),
                                      .dimensions = static_cast<uint8_t>(pick(5)),
                                      .has_local = static_cast<uint8_t>(pick(2)),
                                      .has_offset = static_cast<uint8_t>(pick(2)),
                                      .wait_count = static_cast<uint32_t>(pick(4))});
    } else if (kind == arena::RecordKind::kTransfer) {
      putFixed(out, arena::TransferPart{.event = pick(6),
                                        .source = pick(6),
                                        .destination = pick(6),
                                        .bytes = pick(1000),
                                        .copy_kind = static_cast<uint8_t>(pick(12)),
                                        .is_fill = static_cast<uint8_t>(pick(2)),
                                        .wait_count = static_cast<uint32_t>(pick(4))});
    } else if (kind == arena::RecordKind::kSync) {
      putFixed(out, arena::SyncPart{.event = pick(6),
                                    .sync_kind = static_cast<uint8_t>(pick(9)),
                                    .reserved = {},
                                    .wait_count = static_cast<uint32_t>(pick(4))});
    } else if (kind == arena::RecordKind::kMemory) {
      putFixed(out, arena::MemoryPart{pick(6), pick(6), pick(1000)});
    } else if (kind == arena::RecordKind::kBuild) {
      putFixed(out, arena::BuildPart{.program = pick(6),
                                     .context = pick(6),
                                     .log_bytes = pick(100),
                                     .build_kind = static_cast<uint8_t>(pick(5)),
                                     .reserved = {},
                                     .options_bytes = static_cast<uint32_t>(pick(20))});
    }
    return cut(finished(withNoise(out, 96)));
  }

  /// A number below `n`, or, once in 30, an arbitrary number.
  uint64_t pick(uint64_t n) {
    if (chance_() % 30 == 0) return chance_() << (chance_() % 34);
    return chance_() % n;
  }

 private:
  int64_t time() {
    if (chance_() % 40 == 0) return static_cast<int64_t>(chance_() * chance_());
    return static_cast<int64_t>(1000 + chance_() % 5000);
  }
  Bytes withNoise(Bytes record, size_t most) {
    for (size_t n = chance_() % (most + 1); n > 0; --n) {
      record.push_back(static_cast<uint8_t>(chance_() % 3 == 0 ? chance_() : 0));
    }
    return record;
  }
  Bytes cut(Bytes record) {
    if (chance_() % 10 == 0) record.resize(8 * (1 + chance_() % (record.size() / 8)));
    return finished(std::move(record));
  }

  std::mt19937_64 chance_;
};

}  // namespace tracesmith::test
