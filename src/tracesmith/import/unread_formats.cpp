// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/unread_formats.hpp"

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/format/sbt_layout.hpp"

namespace tracesmith::import {
namespace {

constexpr uint32_t kVarintField = 0, kBytesField = 2;

/// xplane.proto: an XSpace has planes (1), each with an id (1), a name (2), lines (3), maps of
/// metadata (4, 5) and statistics (6). The head may end within the first one.
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

}  // namespace

std::string_view whyNotImported(std::string_view head) {
  if (head.starts_with(asText(sbt::kMagic))) {
    return "is a trace already (SBT): every command takes it as it is";
  }
  return whyNotRead(head);
}

std::string_view whyNotRead(std::string_view head) {
  if (isXPlane(head)) {
    return "is an XPlane protobuf of JAX or TensorFlow, which is not read: the trace.json.gz that "
           "the profiler writes beside it can be imported";
  }
  return {};
}

}  // namespace tracesmith::import
