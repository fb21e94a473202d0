// SPDX-License-Identifier: Apache-2.0
// Reads values of Perfetto's messages: annotations, and fields unknown to the importer.
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
  std::string text;  ///< for kText and kJson
};

/// Reads a DebugAnnotation. Dictionaries and lists become JSON.
PerfettoValue readAnnotation(const PerfettoSequence& sequence, std::string_view bytes,
                             const TraceBuilder& builder);

/// Keeps a field of a message under the key `prefix` + "field.N": as a number, a text, or bytes in
/// hexadecimal.
void keepUnknownField(const proto::Field& field, std::string_view prefix, TraceBuilder& builder,
                      KeptEvent& kept);

/// The values of a fixed64 field, packed or not.
std::vector<uint64_t> fixedValues(const proto::Field& field);
/// Flow ids: fixed64 (new) or varints (old), packed or not.
std::vector<uint64_t> flowIds(const proto::Field& field);

}  // namespace tracesmith::import
