// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_recognition.hpp"

#include <cstdint>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_packet_fields.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

using perfetto_numbers::kBytesWire;
using perfetto_numbers::kLargestPacket;
using perfetto_numbers::kVarintWire;
constexpr uint32_t kEverybodys = 8;  // field numbers below this occur in messages of most formats

/// Calls f(Field) for each field. The message, and so the value of its last field, may be
/// truncated. Returns false if it is not protobuf.
template <class F>
bool forEachFieldOfCut(std::string_view message, F&& f) {
  ByteReader in(asBytes(message));
  while (in.remaining() > 0) {
    const uint64_t tag = in.varint();
    if (!in.ok()) return true;  // truncated
    Field field = {static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    if (tag >> 32 != 0 || field.number == 0) return false;
    switch (field.wire_type) {
      case kVarintWire:
        field.value = in.varint();
        break;
      case 1:
        field.value = in.fixed<uint64_t>();
        break;
      case kBytesWire: {
        const uint64_t length = in.varint();
        field.bytes = asText(in.take(std::min<uint64_t>(length, in.remaining())));
        break;
      }
      case 5:
        field.value = in.fixed<uint32_t>();
        break;
      default:
        return false;
    }
    f(field);
    if (!in.ok()) return true;
  }
  return true;
}

/// Checks the types of a message's fields. `types` has one letter per field number from 1 on: 'n' a
/// varint, 'm' a message or text, ' ' neither. Higher fields are not checked.
bool isOfTypes(std::string_view message, std::string_view types) {
  bool fits = true;
  const bool whole = forEachFieldOfCut(message, [&](const Field& f) {
    if (f.number > types.size()) return;
    const char type = types[f.number - 1];
    fits = fits && f.wire_type == (type == 'n' ? kVarintWire : kBytesWire) && type != ' ';
  });
  return whole && fits;
}

bool isClockSnapshot(std::string_view message) {
  bool any = false;
  bool all = isOfTypes(message, "mn");
  forEachFieldOfCut(message, [&](const Field& f) {
    if (f.number != pn::clock::kClocks) return;
    any = true;
    all = all && isOfTypes(f.bytes, "nnnn");
  });
  return any && all;
}

/// Whether it is a bundle of kernel events of one processor. Each event has a time, a process and a
/// message with details; alternatively there is the compact form for context switches.
bool isFtrace(std::string_view message) {
  constexpr uint32_t kEvent = 2, kCompact = 4;
  bool any = false;
  bool all = isOfTypes(message, "nmnm");
  forEachFieldOfCut(message, [&](const Field& f) {
    any = any || f.number == kCompact;
    if (f.number != kEvent) return;
    bool has_time = false;
    bool has_payload = false;
    all = all && isOfTypes(f.bytes, "nn");
    forEachFieldOfCut(f.bytes, [&](const Field& g) {
      has_time = has_time || g.number == 1;
      has_payload = has_payload || (g.number > 2 && g.wire_type == kBytesWire);
    });
    any = any || (has_time && has_payload);
  });
  return any && all;
}

bool isProcessTree(std::string_view message) {
  bool any = false;
  bool all = isOfTypes(message, "mmn");
  forEachFieldOfCut(message, [&](const Field& f) {
    if (f.number > 2) return;
    any = true;
    all = all && isOfTypes(f.bytes, f.number == 1 ? "nnm" : "nmn");
  });
  return any && all;
}

/// Fields that all packets have, or that only traces have. Other formats are unlikely to use these
/// numbers with these types.
bool isOfPacketsAlone(const Field& field) {
  namespace pp = pn::packet;
  switch (field.number) {
    case pp::kTimestamp:
    case pp::kSequenceId:
    case pp::kSequenceFlags:
    case pp::kTimestampClockId:
    case pp::kStateCleared:
    case pp::kDropped:
      return field.wire_type == kVarintWire;
    case pp::kTrackEvent:
    case pp::kInternedData:
    case pp::kDefaults:
    case pp::kTrackDescriptor:
    case pp::kProcessDescriptor:
    case pp::kThreadDescriptor:
    case pp::kTraceAttributes:
    case pp::kGpuInfo:
    case pp::kCompressed:
    case pp::kZstdCompressed:
      return field.wire_type == kBytesWire;
    default:
      return false;
  }
}

/// Whether a packet, which may be truncated, certainly belongs to a trace.
bool isPacket(std::string_view message) {
  bool alone = false;
  bool known = false;     // has a field that is a known packet type
  bool plausible = true;  // has no unknown field, and none of the wrong type
  forEachFieldOfCut(message, [&](const Field& f) {
    alone = alone || isOfPacketsAlone(f);
    const PacketField* const field = packetField(f.number);
    plausible = plausible && field != nullptr &&
                f.wire_type == (field->is_number ? kVarintWire : kBytesWire);
    if (f.wire_type != kBytesWire) return;
    switch (f.number) {
      case pn::packet::kFtrace:
        known = known || isFtrace(f.bytes);
        break;
      case pn::packet::kProcessTree:
        known = known || isProcessTree(f.bytes);
        break;
      case pn::packet::kClockSnapshot:
        known = known || isClockSnapshot(f.bytes);
        break;
      default:
        plausible = plausible && isOfTypes(f.bytes, "");
        known = known || f.number >= kEverybodys;
    }
  });
  return alone || (known && plausible);
}

}  // namespace

bool looksLikePerfetto(std::string_view head) {
  constexpr int kEnough = 2;  // valid packets before a damaged one
  bool known = false;
  ByteReader in(asBytes(head));
  for (int packets = 0; in.remaining() > 0; ++packets) {
    if (in.varint() != (pn::kPacket << 3 | kBytesWire)) return known && packets >= kEnough;
    const uint64_t length = in.varint();
    if (!in.ok()) return known;
    if (length > kLargestPacket) return known && packets >= kEnough;
    const bool cut = length > in.remaining();
    const std::string_view packet =
        asText(in.take(cut ? in.remaining() : static_cast<size_t>(length)));
    known = known || isPacket(packet);
    if (cut) return known;
    if (!proto::forEachField(packet, [](const Field&) {})) return known && packets >= kEnough;
    if (known && packets >= kEnough) return true;
  }
  return known;
}

}  // namespace tracesmith::import
