// SPDX-License-Identifier: Apache-2.0
// Encodes a TraceEvent as bytes to pass it from a thread to the drainer. Both run on one machine in
// one version, so this is not a disk format.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith::session {

/// Number of bytes that encodeEvent() writes.
size_t encodedSize(const TraceEvent& event);
/// Writes encodedSize(event) bytes.
void encodeEvent(const TraceEvent& event, uint8_t* out);
/// False when the bytes are not a valid event.
bool decodeEvent(ByteView bytes, TraceEvent& event);

}  // namespace tracesmith::session
