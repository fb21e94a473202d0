// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/unread_formats.hpp"

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::import {
namespace {

constexpr uint32_t kVarintField = 0, kBytesField = 2;

/// xplane.proto: an XSpace has planes (1), each with an id (1), a name (2), lines (3), maps of
/// metadata (4, 5) and statistics (6). The head may end inside the first plane.
bool isXPlane(std::string_view head) {
  ByteReader in(asBytes(head));
  if (in.varint() != (1 << 3 | kBytesField)) return false;
  const uint64_t length = in.varint();
  if (!in.ok()) return false;
  const bool cut = length > in.remaining();
  proto::Reader plane(asText(in.take(cut ? in.remaining() : static_cast<size_t>(length))));
  bool named = false;
  for (proto::Field field; plane.next(field);) {
    if (field.number > 6 || field.wire_type != (field.number == 1 ? kVarintField : kBytesField))
      return false;
    named |= field.number == 2 && field.bytes.starts_with("/");  // "/host:CPU", "/device:GPU:0"
  }
  return named && (cut || plane.ok());
}

/// JSON in UTF-16 or UTF-32, with or without a byte order mark.
bool isWideText(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  const size_t first = head.substr(0, 4).find_first_of("[{");
  return first != std::string_view::npos && head.substr(0, 4).find('\0') != std::string_view::npos;
}

constexpr size_t kTarMagicOffset = 257;

bool isArchive(std::string_view head) {
  constexpr std::string_view kMagics[] = {
      "PK\x03\x04",  // zip
      "PK\x05\x06",  // zip, empty
      "BZh",         // bzip2
      std::string_view("\xfd"
                       "7zXZ\0",
                       6),   // xz
      "7z\xbc\xaf\x27\x1c",  // 7-Zip
      "\x04\x22\x4d\x18",    // LZ4
      "Rar!\x1a\x07",        // RAR
  };
  for (const std::string_view magic : kMagics) {
    if (head.starts_with(magic)) return true;
  }
  return head.size() > kTarMagicOffset && head.substr(kTarMagicOffset).starts_with("ustar");
}

}  // namespace

std::string_view whyNotImported(std::string_view head) {
  if (head.starts_with(asText(sbt::kMagic))) {
    return "is already a trace (SBT): every command accepts it";
  }
  return whyNotRead(head);
}

std::string_view whyNotRead(std::string_view head) {
  if (isXPlane(head)) {
    return "is an XPlane protobuf of JAX or TensorFlow, which is not supported: the trace.json.gz "
           "that "
           "the profiler writes next to it can be imported";
  }
  if (isWideText(head)) {
    return "is text in UTF-16 or UTF-32, but traces must be UTF-8: convert it with 'iconv -f "
           "UTF-16 -t UTF-8 FILE'";
  }
  if (isArchive(head)) {
    return "is an archive, or packed in an unsupported format (gzip and zstd are supported): "
           "unpack it and "
           "import the trace inside";
  }
  return {};
}

}  // namespace tracesmith::import
