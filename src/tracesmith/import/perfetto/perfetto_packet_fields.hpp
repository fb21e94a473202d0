// SPDX-License-Identifier: Apache-2.0
// The fields of a TracePacket; most of them are packet types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tracesmith::import {

struct PacketField {
  uint32_t number = 0;
  bool is_number = false;  ///< a varint; otherwise a message or a text
  std::string_view name;
};

/// nullptr: v58 has no field with that number.
const PacketField* packetField(uint32_t number);

/// Its name as in Perfetto's .proto file, or "field N".
std::string packetFieldName(uint32_t number);

}  // namespace tracesmith::import
