// SPDX-License-Identifier: Apache-2.0
// Values of Perfetto's messages: annotations, and fields that no one here knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

namespace tracesmith::import {

struct PerfettoValue {
  enum Type : uint8_t { kInteger, kText, kJson };
  std::string name;
  Type type = kJson;
  int64_t integer = 0;
  std::string text;  ///< of a text, or JSON
};

/// A DebugAnnotation. Dictionaries and lists become JSON.
PerfettoValue readAnnotation(const PerfettoSequence& sequence, std::string_view bytes,
                             const TraceBuilder& builder);

/// A field of a message as "field.N" (behind `prefix`): a number, a text, or bytes in hexadecimal.
void keepUnknownField(const proto::Field& field, std::string_view prefix, TraceBuilder& builder,
                      KeptEvent& kept);

/// The 64-bit values of a fixed field, packed or not.
std::vector<uint64_t> fixedValues(const proto::Field& field);
/// Ids of arrows: fixed (new) or varints (old), packed or not.
std::vector<uint64_t> flowIds(const proto::Field& field);

}  // namespace tracesmith::import
