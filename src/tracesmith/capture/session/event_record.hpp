// SPDX-License-Identifier: Apache-2.0
// A TraceEvent as bytes, for the way from a thread to the drainer within one machine and one
// version: no format on disk.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith::session {

/// Bytes that encodeEvent() will write.
size_t encodedSize(const TraceEvent& event);
/// Writes encodedSize(event) bytes.
void encodeEvent(const TraceEvent& event, uint8_t* out);
/// False when the bytes are no event.
bool decodeEvent(ByteView bytes, TraceEvent& event);

}  // namespace tracesmith::session
