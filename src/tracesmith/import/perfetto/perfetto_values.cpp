// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

namespace pa = perfetto_numbers::event::annotation;
using proto::Field;

constexpr int kDeepestValue = 32;

std::string_view nameOf(const PerfettoSequence::Names& names, uint64_t iid,
                        const TraceBuilder& builder) {
  const auto it = names.find(iid);
  return it != names.end() ? builder.rows.text(it->second) : std::string_view("unnamed");
}

PerfettoValue read(const PerfettoSequence& sequence, std::string_view bytes,
                   const TraceBuilder& builder, int depth) {
  PerfettoValue value;
  value.text = "null";
  std::string members;
  bool list = false;
  bool dictionary = false;
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pa::kNameIid:
        value.name = nameOf(sequence.annotation_names, f.value, builder);
        break;
      case pa::kName:
        value.name = f.bytes;
        break;
      case pa::kBool:
        value.text = f.value != 0 ? "true" : "false";
        break;
      case pa::kUint:
      case pa::kPointer:
        value.integer = static_cast<int64_t>(f.value);
        if (f.value <= INT64_MAX) {
          value.type = PerfettoValue::kInteger;
        } else {
          value.text = std::to_string(f.value);
        }
        break;
      case pa::kInt:
        value.integer = static_cast<int64_t>(f.value);
        value.type = PerfettoValue::kInteger;
        break;
      case pa::kDouble:
        value.text = jsonNumber(std::bit_cast<double>(f.value));
        break;
      case pa::kText:
      case pa::kJson:
        value.text = f.bytes;
        value.type = PerfettoValue::kText;
        break;
      case pa::kTextIid:
        value.text = nameOf(sequence.texts, f.value, builder);
        value.type = PerfettoValue::kText;
        break;
      case pa::kDict:
      case pa::kArray: {
        (f.number == pa::kDict ? dictionary : list) = true;
        if (depth >= kDeepestValue) break;
        const PerfettoValue inner = read(sequence, f.bytes, builder, depth + 1);
        if (!members.empty()) members += ',';
        if (f.number == pa::kDict) members += jsonText(inner.name) + ":";
        members += inner.type == PerfettoValue::kInteger ? std::to_string(inner.integer)
                   : inner.type == PerfettoValue::kText  ? jsonText(inner.text)
                                                         : inner.text;
        break;
      }
      default:
        break;
    }
  });
  if (dictionary || list) {
    value.type = PerfettoValue::kJson;
    value.text = dictionary ? "{" + members + "}" : "[" + members + "]";
  }
  return value;
}

bool isReadable(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 || c == '\n' || c == '\t';
  });
}

}  // namespace

PerfettoValue readAnnotation(const PerfettoSequence& sequence, std::string_view bytes,
                             const TraceBuilder& builder) {
  return read(sequence, bytes, builder, 0);
}

void keepUnknownField(const Field& field, std::string_view prefix, TraceBuilder& builder,
                      KeptEvent& kept) {
  const std::string key = fmt::format("{}field.{}", prefix, field.number);
  if (field.wire_type != 2) return kept.integer(key, static_cast<int64_t>(field.value));
  if (isReadable(field.bytes)) return kept.text(key, builder.text(field.bytes));
  std::string digits = "0x";
  digits.reserve(2 + 2 * field.bytes.size());
  for (const char c : field.bytes) digits += fmt::format("{:02x}", static_cast<uint8_t>(c));
  kept.text(key, builder.text(digits));
}

std::vector<uint64_t> fixedValues(const Field& field) {
  if (field.wire_type != 2) return {field.value};
  std::vector<uint64_t> values;
  ByteReader in(asBytes(field.bytes));
  while (in.remaining() >= sizeof(uint64_t)) values.push_back(in.fixed<uint64_t>());
  return values;
}

std::vector<uint64_t> flowIds(const Field& field) {
  namespace pe = perfetto_numbers::event;
  const bool fixed = field.number == pe::kFlowIds || field.number == pe::kEndingFlowIds;
  return fixed ? fixedValues(field) : packedVarints(field.wire_type, field.value, field.bytes);
}

}  // namespace tracesmith::import
