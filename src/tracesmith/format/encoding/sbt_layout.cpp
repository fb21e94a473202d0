// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/sbt_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tracesmith/base/hash.hpp"

namespace tracesmith::sbt {
namespace {

template <class T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

bool startsWith(ByteView bytes, std::string_view prefix) {
  return asText(bytes).substr(0, prefix.size()) == prefix;
}

bool isText(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) {
    return b >= 0x80 || (b >= 0x20 && b != 0x7f) || b == '\n' || b == '\r' || b == '\t';
  });
}

/// Guesses what a file is that is not a trace, to help its owner.
std::string guessFormat(ByteView bytes) {
  using namespace std::string_view_literals;
  if (startsWith(bytes, "\x89SBT"sv) || startsWith(bytes, "\xef\xbf\xbdSBT"sv)) {
    return "its first bytes were changed, as by a transfer in text mode; copy it again as binary";
  }
  if (startsWith(bytes, "SBT\0"sv))
    return "it is a trace of TraceSmith 0.x, which has another format";
  if (startsWith(bytes, "\x1f\x8b"sv)) return "it looks like gzip; unpack it first";
  if (startsWith(bytes, "\x28\xb5\x2f\xfd"sv)) return "it looks like zstd; unpack it first";
  if (startsWith(bytes, "\xfd\x37zXZ"sv)) return "it looks like xz; unpack it first";
  if (startsWith(bytes, "PK\x03\x04"sv)) return "it looks like a zip archive";
  if (startsWith(bytes, "SQLite format 3"sv)) return "it looks like an SQLite database";
  if (startsWith(bytes, "\x7f\x45LF"sv)) return "it looks like an ELF program or library";
  if (isText(bytes)) {
    const auto first = std::find_if(bytes.begin(), bytes.end(), [](uint8_t b) { return b > ' '; });
    if (first != bytes.end() && (*first == '{' || *first == '[')) return "it looks like JSON";
    return "it looks like text";
  }
  // A Perfetto trace is a sequence of TracePackets: field 1, length-delimited.
  if (bytes.size() > 2 && bytes[0] == 0x0a && bytes[1] != 0)
    return "it looks like a Perfetto trace";
  return "its first bytes are not those of an SBT file";
}

}  // namespace

uint64_t FileHeader::tag() const { return hash64(uuid); }

std::array<uint8_t, kFileHeaderBytes> encodeFileHeader(const FileHeader& header) {
  std::array<uint8_t, kFileHeaderBytes> out{};
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  store(&out[8], header.version_major);
  store(&out[10], header.version_minor);
  store(&out[12], header.header_bytes);
  store(&out[16], header.flags);
  std::copy(header.uuid.begin(), header.uuid.end(), out.begin() + 24);
  store(&out[40], header.created_ns);
  store(&out[56], hash64(ByteView(out).first(56)));
  return out;
}

Result<HeaderCheck> checkFileHeader(ByteView bytes) {
  if (bytes.empty()) return fail(ErrorCode::kNotATrace, "the file is empty");
  const size_t magic_bytes = std::min(bytes.size(), kMagic.size());
  if (!std::equal(kMagic.begin(), kMagic.begin() + static_cast<ptrdiff_t>(magic_bytes),
                  bytes.begin())) {
    return fail(ErrorCode::kNotATrace, "not an SBT trace: " + guessFormat(bytes));
  }
  if (bytes.size() < kFileHeaderBytes) {
    return fail(ErrorCode::kDamaged,
                fmt::format("the trace was cut within its header ({} of {} bytes are there)",
                            bytes.size(), kFileHeaderBytes));
  }
  HeaderCheck check;
  FileHeader& header = check.header;
  const uint8_t* p = bytes.data();
  header.version_major = loadFixed<uint16_t>(p + 8);
  header.version_minor = loadFixed<uint16_t>(p + 10);
  header.header_bytes = loadFixed<uint32_t>(p + 12);
  header.flags = loadFixed<uint64_t>(p + 16);
  std::memcpy(header.uuid.data(), p + 24, header.uuid.size());
  header.created_ns = loadFixed<int64_t>(p + 40);
  if (loadFixed<uint64_t>(p + 56) != hash64(bytes.first(56))) {
    check.problem = "the file header is damaged (its checksum does not hold)";
    return check;
  }
  if (header.version_major > kVersionMajor || (header.flags & kIncompatibleFlags) != 0) {
    return fail(ErrorCode::kTooNew,
                fmt::format("the trace has format version {}.{}, this program reads up to {}.x; "
                            "use a newer TraceSmith",
                            header.version_major, header.version_minor, kVersionMajor));
  }
  if (header.version_major < kVersionMajor || header.header_bytes < kFileHeaderBytes ||
      header.header_bytes > kMaxFileHeaderBytes) {
    check.problem = "the file header holds impossible values";
    return check;
  }
  check.intact = true;
  return check;
}

void encodeBlockHeader(const BlockHeader& header, uint64_t offset, uint8_t* out) {
  std::memcpy(out, kSync.data(), kSync.size());
  out[4] = static_cast<uint8_t>(header.kind);
  out[5] = header.required_flags;
  store(out + 6, header.table);
  store(out + 8, header.sequence);
  store(out + 16, header.first_row);
  store(out + 24, header.min_time_ns);
  store(out + 32, header.max_time_ns);
  store(out + 40, header.data_bytes);
  store(out + 48, header.directory_bytes);
  store(out + 52, header.rows);
  store(out + kTagOffset, header.tag);
  store(out + 64, header.directory_checksum);
  store(out + 72, hash64(ByteView(out, 72), offset));
}

bool decodeBlockHeader(const uint8_t* in, uint64_t offset, BlockHeader& header) {
  if (std::memcmp(in, kSync.data(), kSync.size()) != 0) return false;
  if (loadFixed<uint64_t>(in + 72) != hash64(ByteView(in, 72), offset)) return false;
  header.kind = static_cast<BlockKind>(in[4]);
  header.required_flags = in[5];
  header.table = loadFixed<uint16_t>(in + 6);
  header.sequence = loadFixed<uint64_t>(in + 8);
  header.first_row = loadFixed<uint64_t>(in + 16);
  header.min_time_ns = loadFixed<int64_t>(in + 24);
  header.max_time_ns = loadFixed<int64_t>(in + 32);
  header.data_bytes = loadFixed<uint64_t>(in + 40);
  header.directory_bytes = loadFixed<uint32_t>(in + 48);
  header.rows = loadFixed<uint32_t>(in + 52);
  header.tag = loadFixed<uint64_t>(in + kTagOffset);
  header.directory_checksum = loadFixed<uint64_t>(in + 64);
  // Limits that hold for every block kind, known or not; they keep all sums below from overflowing.
  constexpr uint64_t kMaxOffset = 1ull << 62;
  return header.rows <= kMaxBlockRows && header.directory_bytes <= kMaxDirectoryBytes &&
         header.first_row <= kMaxOffset && header.data_bytes <= kMaxOffset &&
         header.sequence <= kMaxOffset;
}

void encodeColumnEntry(const ColumnEntry& entry, uint8_t* out) {
  store(out, entry.column);
  out[2] = static_cast<uint8_t>(entry.type);
  out[3] = entry.encoding;
  out[4] = static_cast<uint8_t>(entry.compression);
  out[5] = 0;
  store(out + 6, entry.base_column);
  store(out + 8, entry.encoded_bytes);
  store(out + 12, entry.stored_bytes);
  store(out + 16, entry.checksum);
}

ColumnEntry decodeColumnEntry(const uint8_t* in) {
  ColumnEntry entry;
  entry.column = loadFixed<uint16_t>(in);
  entry.type = static_cast<ElementType>(in[2]);
  entry.encoding = in[3];
  entry.compression = static_cast<Compression>(in[4]);
  entry.base_column = loadFixed<uint16_t>(in + 6);
  entry.encoded_bytes = loadFixed<uint32_t>(in + 8);
  entry.stored_bytes = loadFixed<uint32_t>(in + 12);
  entry.checksum = loadFixed<uint64_t>(in + 16);
  return entry;
}

}  // namespace tracesmith::sbt
