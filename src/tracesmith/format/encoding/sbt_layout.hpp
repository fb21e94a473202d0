// SPDX-License-Identifier: Apache-2.0
// The byte layout of an SBT file: file header, block header, column directory, end marker, and the
// limits that a reader checks every count against. docs/sbt.md is the specification; this is its
// only implementation.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::sbt {

/// A byte above 0x7f, CR LF, Ctrl-Z and LF: a transfer in text mode always damages it.
constexpr std::array<uint8_t, 8> kMagic = {0x89, 'S', 'B', 'T', '\r', '\n', 0x1a, '\n'};
/// No UTF-8 character starts with 0xf7, so the marker never occurs within text.
constexpr std::array<uint8_t, 4> kSync = {0xf7, 'S', 'B', 'K'};

constexpr uint16_t kVersionMajor = 1;
constexpr uint16_t kVersionMinor = 1;

constexpr size_t kFileHeaderBytes = 64;
constexpr size_t kBlockHeaderBytes = 80;
constexpr size_t kColumnEntryBytes = 24;
constexpr size_t kTagOffset = 56;  ///< offset of the file's tag within a block header

// Limits. A count above its limit is treated as damage, and nothing is allocated for it.
constexpr uint32_t kMaxFileHeaderBytes = 4096;
constexpr uint32_t kMaxBlockRows = 1u << 20;
constexpr uint32_t kMaxDirectoryBytes = 64 * 1024;
constexpr uint32_t kMaxColumnBytes = 64u << 20;
/// A string must fit into a string block.
constexpr uint32_t kMaxStringBytes = 16u << 20;
/// Ids of a keyed table are consecutive; at most this many may lie beyond the existing rows.
constexpr uint64_t kMaxIdsAhead = 1u << 16;

/// File flags above bit 31 change the meaning of the file: an unknown one makes it too new to read.
constexpr uint64_t kIncompatibleFlags = 0xffffffff00000000ull;

enum class BlockKind : uint8_t { kTable = 1, kIndex = 2, kEnd = 3 };

/// Columns of table 1 (string) and of an index block, which are not tables of the model.
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
/// Columns of table 18 (source). From kFirstLeaf on, each leaf of the block has a column, with one
/// value for each row that has the leaf.
enum class SourceColumn : uint16_t {
  kTable = 1,
  kFirstRow = 2,
  kShape = 3,
  kLeaves = 4,  ///< names of the leaves: string ids as varints
  kFirstLeaf = 16,
};
constexpr size_t kMostLeaves = 2000;  // per block
/// Columns from this number on only help readers (zone maps, orders, filters). A reader that does
/// not know such a column skips it silently, in any table and in an index.
constexpr uint16_t kFirstHintColumn = 0xff00;
/// In the first block of an index: the distinct names of all kernels (format/name_set.hpp).
constexpr uint16_t kKernelNamesHint = kFirstHintColumn;
/// Files with fewer kernels do not have it: reading their names takes no time.
constexpr uint64_t kFewestKernelsWithNames = 65536;
/// A longer hint is neither written nor read.
constexpr uint32_t kMostKernelNamesBytes = 1u << 20;

/// How many columns of a block may be the base of other columns.
constexpr size_t kMostBaseColumns = 4;

struct FileHeader {
  uint16_t version_major = kVersionMajor;
  uint16_t version_minor = kVersionMinor;
  uint32_t header_bytes = kFileHeaderBytes;  ///< offset of the first block
  uint64_t flags = 0;
  std::array<uint8_t, 16> uuid{};
  int64_t created_ns = 0;  ///< CLOCK_REALTIME

  /// A value that every block of this file has, so that a stale block of another file is not
  /// accepted.
  uint64_t tag() const;
};

std::array<uint8_t, kFileHeaderBytes> encodeFileHeader(const FileHeader& header);

/// The result of examining the start of a file.
struct HeaderCheck {
  FileHeader header;
  bool intact =
      false;  ///< the checksum holds; when not, `header` is a guess and `problem` says why
  std::string problem;
};
/// `bytes` is the start of a file (up to 512 bytes). Fails with kNotATrace, and a guess at what it
/// is, if it is not a trace, and with kTooNew for an intact header of a newer version.
Result<HeaderCheck> checkFileHeader(ByteView bytes);

struct BlockHeader {
  BlockKind kind = BlockKind::kTable;
  uint8_t required_flags = 0;  ///< unknown bit: skip this block
  uint16_t table = 0;
  uint64_t sequence = 0;  ///< number of blocks of all kinds before it in the file
  uint32_t rows = 0;      ///< end marker: number of index blocks
  /// Number of rows of this table before it; end marker: offset of the index.
  uint64_t first_row = 0;
  int64_t min_time_ns = std::numeric_limits<int64_t>::max();
  int64_t max_time_ns = std::numeric_limits<int64_t>::min();
  uint64_t data_bytes = 0;
  uint32_t directory_bytes = 0;
  uint64_t tag = 0;
  uint64_t directory_checksum = 0;

  uint64_t totalBytes() const { return kBlockHeaderBytes + directory_bytes + data_bytes; }
  bool hasTimes() const { return min_time_ns <= max_time_ns; }
};

/// `out` has room for kBlockHeaderBytes. `offset` is the block's offset in the file, which seeds
/// the checksum: a block copied elsewhere does not verify.
void encodeBlockHeader(const BlockHeader& header, uint64_t offset, uint8_t* out);
/// False if sync marker or checksum is wrong, or a limit is exceeded. `in` has kBlockHeaderBytes.
bool decodeBlockHeader(const uint8_t* in, uint64_t offset, BlockHeader& header);

/// The type of a column's elements on disk.
enum class ElementType : uint8_t { kU8 = 1, kU32 = 2, kI64 = 3, kU64 = 4, kF64 = 5, kBytes = 6 };
enum class Compression : uint8_t { kNone = 0, kZstd = 1 };

struct ColumnEntry {
  uint16_t column = 0;
  ElementType type = ElementType::kU64;
  uint8_t encoding = 0;  ///< format/encoding/column_codec.hpp
  Compression compression = Compression::kNone;
  uint16_t base_column = 0;    ///< column of the same block used by the encoding; 0: none
  uint32_t encoded_bytes = 0;  ///< before compression
  uint32_t stored_bytes = 0;
  uint64_t checksum = 0;  ///< of the stored bytes
};

void encodeColumnEntry(const ColumnEntry& entry, uint8_t* out);
ColumnEntry decodeColumnEntry(const uint8_t* in);

}  // namespace tracesmith::sbt
