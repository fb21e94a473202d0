// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/source_event.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tracesmith::import {
namespace {

// Limits memory for sources whose keys differ from event to event.
constexpr size_t kMostShapes = 1u << 14;
constexpr char kOpen = '{';
constexpr char kClose = '}';

/// Length of the UTF-8 sequence at the start of `text`; 0: not UTF-8.
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;  // overlong encoding
  if (first == 0xed && byte(1) > 0x9f) return 0;  // a surrogate
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

std::string jsonText(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = utf8Length(text.substr(i));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (length == 0) {
      out += '?';
    } else {
      out.append(text.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  return out += '"';
}

std::string jsonNumber(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

namespace {

/// Calls f(operation, key) for each step of a signature.
template <class F>
void forEachStep(std::string_view signature, F&& f) {
  while (!signature.empty()) {
    const size_t end = signature.find('\0');
    f(signature[0], signature.substr(1, end - 1));
    signature.remove_prefix(end + 1);
  }
}

}  // namespace

void KeptEvent::open(std::string_view key) { step(kOpen, key); }
void KeptEvent::close() { step(kClose, {}); }

void KeptEvent::append(std::string_view key, const KeptEvent& other) {
  if (other.values_.empty()) return;
  open(key);
  forEachStep(other.signature_, [&](char operation, std::string_view name) {
    const bool group = operation == kOpen || operation == kClose;
    if (group || isKept(SourceGap{operation})) step(operation, name);
  });
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  close();
}

std::string KeptEvents::wholeJson(const KeptEvent& event) const {
  std::string out = "{";
  bool first = true;
  size_t next = 0;
  forEachStep(event.signature_, [&](char operation, std::string_view key) {
    if (operation == kClose) {
      out += '}';
      first = false;
      return;
    }
    const bool kept = operation != kOpen && isKept(SourceGap{operation});
    if (operation != kOpen && !kept) return;  // the row has it
    if (!first) out += ',';
    first = operation == kOpen;
    out += jsonText(key) + (operation == kOpen ? ":{" : ":");
    if (!kept) return;
    const int64_t value = event.values_[next++];
    const auto id = static_cast<StringId>(value);
    switch (SourceGap{operation}) {
      case SourceGap::kText:
        out += jsonText(builder_.rows.strings.at(id));
        break;
      case SourceGap::kJson:
        out.append(builder_.rows.strings.at(id));
        break;
      default:
        out += std::to_string(value);
    }
  });
  return out + "}";
}

void KeptEvents::keep(TableId table, const KeptEvent& event) {
  const auto known = shapes_.find(event.signature_);
  if (known != shapes_.end()) return builder_.keep(table, known->second, event.values_);
  if (shapes_.size() >= kMostShapes) {
    if (any_shape_ == 0) {
      any_shape_ = builder_.sourceShape({{"", ""}, {{SourceGap::kJson, "rest"}}});
    }
    const auto whole = static_cast<int64_t>(builder_.json(wholeJson(event)));
    return builder_.keep(table, any_shape_, {&whole, 1});
  }
  SourceShape shape;
  std::string text = "{";
  std::string path;
  std::vector<size_t> outer;  // lengths of the enclosing paths
  bool first = true;
  forEachStep(event.signature_, [&](char operation, std::string_view key) {
    if (operation == kClose) {
      text += '}';
      path.resize(outer.back());
      outer.pop_back();
      first = false;
      return;
    }
    if (!first) text += ',';
    first = operation == kOpen;
    text += jsonText(key) + (operation == kOpen ? ":{" : ":");
    if (operation == kOpen) {
      outer.push_back(path.size());
      path.append(key) += '.';
      return;
    }
    shape.between.push_back(std::move(text));
    text.clear();
    std::string name = path + std::string(key);
    for (char& c : name) c = c == 1 || c == 2 ? ' ' : c;  // these bytes delimit the gaps of a shape
    shape.gaps.push_back({SourceGap{operation}, std::move(name)});
  });
  shape.between.push_back(text + "}");
  const uint32_t id = builder_.sourceShape(shape);
  shapes_.emplace(event.signature_, id);
  builder_.keep(table, id, event.values_);
}

}  // namespace tracesmith::import
