// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/pickle.hpp"

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/flight_recorder/pickle_reader.hpp"

namespace tracesmith::import {
namespace {

constexpr int kDeepestJson = 64;

}  // namespace

Result<Pickle> Pickle::read(std::string_view bytes) {
  Pickle pickle;
  Reader reader(pickle, bytes);
  TS_CHECK_OK(reader.run());
  return pickle;
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != PickleKind::kDict) return nullptr;
  const PickleValue* found = nullptr;  // the last one counts, as in Python
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = values_[dict.items[i]];
    if (name.kind == PickleKind::kText && name.text == key) found = &values_[dict.items[i + 1]];
  }
  return found;
}

bool Pickle::appendJson(uint32_t value, size_t most_bytes, std::string& json) const {
  return appendJson(value, most_bytes, 0, json);
}

bool Pickle::appendJson(uint32_t value, size_t most_bytes, int depth, std::string& json) const {
  const PickleValue& v = values_[value];
  if (depth > kDeepestJson) return false;
  switch (v.kind) {
    case PickleKind::kNone:
      json += "null";
      break;
    case PickleKind::kBool:
      json += v.integer != 0 ? "true" : "false";
      break;
    case PickleKind::kInteger:
      json += std::to_string(v.integer);
      break;
    case PickleKind::kLargeInteger:
      json += v.text;
      break;
    case PickleKind::kReal:
      json += jsonNumber(v.real);
      break;
    case PickleKind::kText:
      if (v.text.size() > most_bytes) return false;
      json += jsonText(v.text);
      break;
    case PickleKind::kBytes:
      if (v.text.size() > most_bytes) return false;
      json += R"({"blob":")" + hexOf(v.text) + R"("})";
      break;
    case PickleKind::kList:
      json += '[';
      for (size_t i = 0; i < v.items.size(); ++i) {
        if (i > 0) json += ',';
        if (!appendJson(v.items[i], most_bytes, depth + 1, json)) return false;
      }
      json += ']';
      break;
    case PickleKind::kDict:
      json += '{';
      for (size_t i = 0; i + 1 < v.items.size(); i += 2) {
        if (i > 0) json += ',';
        if (values_[v.items[i]].kind == PickleKind::kText) {
          if (!appendJson(v.items[i], most_bytes, depth + 1, json)) return false;
        } else {
          std::string key;
          if (!appendJson(v.items[i], most_bytes, depth + 1, key)) return false;
          json += jsonText(key);
        }
        json += ':';
        if (!appendJson(v.items[i + 1], most_bytes, depth + 1, json)) return false;
      }
      json += '}';
      break;
  }
  return json.size() <= most_bytes;
}

}  // namespace tracesmith::import
