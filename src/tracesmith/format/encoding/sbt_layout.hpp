// SPDX-License-Identifier: Apache-2.0
// The frame of an SBT file as bytes: file header, block header, column directory, end marker, and
// the limits a reader holds every count against. docs/sbt.md is the norm; this is its only copy in
// code.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::sbt {

/// A byte above 0x7f, CR LF, Ctrl-Z and LF: a transfer in text mode cannot leave it whole.
constexpr std::array<uint8_t, 8> kMagic = {0x89, 'S', 'B', 'T', '\r', '\n', 0x1a, '\n'};
/// 0xf7 begins no UTF-8 character, so the marker never lies within text.
constexpr std::array<uint8_t, 4> kSync = {0xf7, 'S', 'B', 'K'};

constexpr uint16_t kVersionMajor = 1;
constexpr uint16_t kVersionMinor = 1;

constexpr size_t kFileHeaderBytes = 64;
constexpr size_t kBlockHeaderBytes = 80;
constexpr size_t kColumnEntryBytes = 24;
constexpr size_t kTagOffset = 56;  ///< of the file's tag within a block header

// Limits. A count above its limit is damage: nothing is allocated for it.
constexpr uint32_t kMaxFileHeaderBytes = 4096;
constexpr uint32_t kMaxBlockRows = 1u << 20;
constexpr uint32_t kMaxDirectoryBytes = 64 * 1024;
constexpr uint32_t kMaxColumnBytes = 64u << 20;
/// No string is longer than a string block can hold.
constexpr uint32_t kMaxStringBytes = 16u << 20;
/// Ids of a keyed table follow each other; this many may be ahead of their rows.
constexpr uint64_t kMaxIdsAhead = 1u << 16;

/// File flags above bit 31 change the meaning of what follows: an unknown one makes a file too new.
constexpr uint64_t kIncompatibleFlags = 0xffffffff00000000ull;

enum class BlockKind : uint8_t { kTable = 1, kIndex = 2, kEnd = 3 };

/// Columns of table 1 (string) and of an index block; neither is a table of the model.
enum class StringColumn : uint16_t { kLength = 1, kText = 2 };
enum class IndexColumn : uint16_t {
  kOffset = 1,
  kBytes = 2,
  kTable = 3,
  kRows = 4,
  kFirstRow = 5,
  kSequence = 6,
  kMinTime = 7,
  kMaxTime = 8,
  kKind = 9,
  kDirectoryBytes = 10,
  kRequiredFlags = 11,
};
/// Columns of table 18 (source). From kFirstLeaf on one for each leaf of the block, with as many
/// values as its rows have of it.
enum class SourceColumn : uint16_t {
  kTable = 1,
  kFirstRow = 2,
  kShape = 3,
  kLeaves = 4,  ///< names of the leaves: strings' ids as varints
  kFirstLeaf = 16,
};
constexpr size_t kMostLeaves = 2000;  // of a block
/// Columns from here on only help readers (zone maps, orders, filters): one that does not know such
/// a column passes over it without a word, in any table and in an index.
constexpr uint16_t kFirstHintColumn = 0xff00;

/// So many columns of a block may be referred to by others' encodings.
constexpr size_t kMostBaseColumns = 4;

struct FileHeader {
  uint16_t version_major = kVersionMajor;
  uint16_t version_minor = kVersionMinor;
  uint32_t header_bytes = kFileHeaderBytes;  ///< where the first block lies
  uint64_t flags = 0;
  std::array<uint8_t, 16> uuid{};
  int64_t created_ns = 0;  ///< CLOCK_REALTIME

  /// What every block of this file carries, so that a stale block of another file is no block of
  /// it.
  uint64_t tag() const;
};

std::array<uint8_t, kFileHeaderBytes> encodeFileHeader(const FileHeader& header);

/// What the first bytes of a file are.
struct HeaderCheck {
  FileHeader header;
  bool intact =
      false;  ///< the checksum holds; when not, `header` is a guess and `problem` says why
  std::string problem;
};
/// `bytes` is the beginning of a file (up to 512 bytes of it). Fails for what is no trace
/// (kNotATrace, with a guess at what it is) and for intact headers of a newer version (kTooNew).
Result<HeaderCheck> checkFileHeader(ByteView bytes);

struct BlockHeader {
  BlockKind kind = BlockKind::kTable;
  uint8_t required_flags = 0;  ///< an unknown bit means: skip this block
  uint16_t table = 0;
  uint64_t sequence = 0;   ///< blocks before it in the file, of all kinds
  uint32_t rows = 0;       ///< end marker: number of index blocks
  uint64_t first_row = 0;  ///< rows of this table before it; end marker: offset of the index
  int64_t min_time_ns = std::numeric_limits<int64_t>::max();
  int64_t max_time_ns = std::numeric_limits<int64_t>::min();
  uint64_t data_bytes = 0;
  uint32_t directory_bytes = 0;
  uint64_t tag = 0;
  uint64_t directory_checksum = 0;

  uint64_t totalBytes() const { return kBlockHeaderBytes + directory_bytes + data_bytes; }
  bool hasTimes() const { return min_time_ns <= max_time_ns; }
};

/// `out` has room for kBlockHeaderBytes; `offset` is the block's place in the file, which seeds the
/// checksum: a block that was copied elsewhere does not verify.
void encodeBlockHeader(const BlockHeader& header, uint64_t offset, uint8_t* out);
/// False when sync marker, checksum or a limit does not hold. `in` has kBlockHeaderBytes.
bool decodeBlockHeader(const uint8_t* in, uint64_t offset, BlockHeader& header);

/// How the elements of a column are typed on disk.
enum class ElementType : uint8_t { kU8 = 1, kU32 = 2, kI64 = 3, kU64 = 4, kF64 = 5, kBytes = 6 };
enum class Compression : uint8_t { kNone = 0, kZstd = 1 };

struct ColumnEntry {
  uint16_t column = 0;
  ElementType type = ElementType::kU64;
  uint8_t encoding = 0;  ///< format/encoding/column_codec.hpp
  Compression compression = Compression::kNone;
  uint16_t base_column = 0;    ///< that an encoding refers to, within the same block; 0: none
  uint32_t encoded_bytes = 0;  ///< before compression
  uint32_t stored_bytes = 0;
  uint64_t checksum = 0;  ///< of the stored bytes
};

void encodeColumnEntry(const ColumnEntry& entry, uint8_t* out);
ColumnEntry decodeColumnEntry(const uint8_t* in);

}  // namespace tracesmith::sbt
