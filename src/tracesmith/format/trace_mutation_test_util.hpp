// SPDX-License-Identifier: Apache-2.0
// For fuzz and torture tests: small traces of all kinds, and ways to damage them. repair() corrects
// the checksums, because otherwise no mutation would reach the decoders.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith::test {

/// A file in memory that has a path, so that the reader uses its normal file access.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    if (fd_ < 0) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }
  void write(ByteView bytes) const {
    if (ftruncate(fd_, 0) != 0) std::abort();
    if (pwrite(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  Bytes read() const {
    Bytes bytes(static_cast<size_t>(lseek(fd_, 0, SEEK_END)));
    if (pread(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    return bytes;
  }

 private:
  int fd_;
  std::string path_;
};

/// Adds rows to some tables, with columns of all kinds: increasing, repeating, random and zero. A
/// seed must fit into the 4096 bytes with which libFuzzer starts.
inline void addRows(Trace& trace, std::mt19937_64& random, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    trace.strings.append(std::string(random() % 20, static_cast<char>('a' + random() % 26)));
  }
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (random() % 12 != 0) return;
    Table::visitColumns(table, [&](const ColumnInfo& info, auto& column) {
      using T = typename std::decay_t<decltype(column)>::value_type;
      const uint64_t behaviour = random() % 5;
      uint64_t word = info.encoding == Encoding::kTime ? 1 : random() % 1000;
      for (size_t i = 0; i < rows; ++i) {
        if (behaviour == 1) word = random() >> (random() % 64);
        if (behaviour == 2 || info.encoding == Encoding::kTime) word += random() % 3;
        if (behaviour == 3) word = random() % 4;
        const uint64_t value = behaviour == 4 ? 0 : word;
        if constexpr (std::is_same_v<T, double>) {
          column.push_back(static_cast<double>(value));
        } else {
          column.push_back(static_cast<T>(value));
        }
      }
    });
  });
}

inline Bytes makeSeed(uint64_t number) {
  std::mt19937_64 random(number);
  MemoryFile file;
  auto writer = TraceWriter::create(file.path());
  if (!writer) std::abort();
  Trace delta;
  for (uint64_t deltas = 1 + number % 3; deltas > 0; --deltas) {
    addRows(delta, random, 1 + random() % 12);
    // Attributes must not describe rows that are in the file already.
    if (deltas != 1 + number % 3) delta.attribute.clear();
    if (!writer->write(delta)) std::abort();
    forEachTable(delta, [](auto& table) { table.clear(); });
  }
  if (number % 4 != 0 && !writer->finish()) std::abort();
  return file.read();
}

inline uint8_t* at(uint8_t* data, uint64_t offset) { return data + static_cast<size_t>(offset); }

template <class T>
void store(uint8_t* out, T value) {
  std::memcpy(out, &value, sizeof(T));
}

/// Corrects tag and checksums of the block at `offset` for the sizes it claims, as far as these are
/// within the file.
inline void repairBlock(uint8_t* data, size_t size, uint64_t offset, uint64_t tag) {
  uint8_t* const header = at(data, offset);
  const uint64_t left = size - offset - sbt::kBlockHeaderBytes;
  const uint64_t directory_bytes = loadFixed<uint32_t>(header + 48);
  if (directory_bytes <= left) {
    uint64_t column_at = offset + sbt::kBlockHeaderBytes + directory_bytes;
    for (uint64_t i = 0; i + sbt::kColumnEntryBytes <= directory_bytes;
         i += sbt::kColumnEntryBytes) {
      uint8_t* const entry = header + sbt::kBlockHeaderBytes + i;
      const uint32_t stored = loadFixed<uint32_t>(entry + 12);
      if (stored > size - column_at) break;
      if (entry[4] == 0) store(entry + 8, stored);
      store(entry + 16, hash64({at(data, column_at), stored}));
      column_at += stored;
    }
    store(header + 64,
          hash64({header + sbt::kBlockHeaderBytes, static_cast<size_t>(directory_bytes)}));
  }
  store(header + sbt::kTagOffset, tag);
  store(header + 72, hash64({header, 72}, offset));
}

inline void repair(uint8_t* data, size_t size) {
  if (size < sbt::kFileHeaderBytes) return;
  std::copy(sbt::kMagic.begin(), sbt::kMagic.end(), data);
  store(data + 56, hash64({data, 56}));
  const uint64_t tag = hash64({data + 24, 16});
  for (size_t i = sbt::kFileHeaderBytes; i + sbt::kBlockHeaderBytes <= size; ++i) {
    if (std::equal(sbt::kSync.begin(), sbt::kSync.end(), data + i)) repairBlock(data, size, i, tag);
  }
}

/// Changes one field of one block, which blind mutation rarely hits.
inline void mutateField(uint8_t* data, size_t size, std::mt19937_64& random) {
  std::vector<size_t> blocks;
  for (size_t i = sbt::kFileHeaderBytes; i + sbt::kBlockHeaderBytes <= size; ++i) {
    if (std::equal(sbt::kSync.begin(), sbt::kSync.end(), data + i)) blocks.push_back(i);
  }
  if (blocks.empty()) return;
  uint8_t* const block = data + blocks[random() % blocks.size()];
  const uint64_t directory_bytes = loadFixed<uint32_t>(block + 48);
  const auto room = static_cast<uint64_t>(data + size - block);
  const uint64_t wild = random() >> (random() % 64);
  if (random() % 2 == 0 && directory_bytes >= sbt::kColumnEntryBytes &&
      sbt::kBlockHeaderBytes + directory_bytes <= room) {
    uint8_t* const entry =
        block + sbt::kBlockHeaderBytes + random() % (directory_bytes / sbt::kColumnEntryBytes) * 24;
    constexpr size_t kPlaces[] = {0, 2, 3, 4, 8, 12};
    const size_t place = kPlaces[random() % 6];
    if (place >= 8) {
      store(entry + place, static_cast<uint32_t>(wild));
    } else {
      entry[place] = static_cast<uint8_t>(random() % 8);
    }
    return;
  }
  constexpr size_t kPlaces[] = {4, 5, 6, 8, 16, 24, 32, 40, 48, 52};
  const size_t place = kPlaces[random() % 10];
  if (place == 6) {
    store(block + place, static_cast<uint16_t>(random() % 64));
  } else if (place >= 48) {
    store(block + place, static_cast<uint32_t>(wild));
  } else if (place >= 8) {
    store(block + place, wild);
  } else {
    block[place] = static_cast<uint8_t>(random() % 4);
  }
}

/// A seed in which one to three bytes behind the header are different.
inline Bytes makeDamagedSeed(uint64_t number, std::mt19937_64& random) {
  Bytes bytes = makeSeed(number);
  for (uint64_t n = 1 + random() % 3; n > 0; --n) {
    bytes[sbt::kFileHeaderBytes + random() % (bytes.size() - sbt::kFileHeaderBytes)] ^=
        static_cast<uint8_t>(1 + random() % 255);
  }
  return bytes;
}

}  // namespace tracesmith::test
