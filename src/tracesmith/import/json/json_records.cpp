// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_records.hpp"

#include <algorithm>
#include <utility>

namespace tracesmith::import {
namespace {

constexpr int kMostRecordDepth = 8;
constexpr size_t kMostRecordValues = 512;
constexpr size_t kMostLayouts = 256;
constexpr size_t kMostLayoutBytes = 64u << 10;

const JsonToken kMissing;

}  // namespace

/// Collects the values of the object here. A list, or an object that is nested too deep, is one
/// value.
bool JsonRecords::flatten(const char*& at, const char* end, int depth) {
  at = skipSpaces(at + 1, end);
  while (at < end && *at != '}') {
    JsonToken key;
    if (*at != '"' || scanText(at, end, key) != JsonFault::kNone) return false;
    at = skipSpaces(at, end);
    if (at >= end || *at != ':') return false;
    at = skipSpaces(at + 1, end);
    if (at < end && *at == '{' && depth < kMostRecordDepth) {
      if (!flatten(at, end, depth + 1)) return false;
    } else {
      if (values_.size() >= kMostRecordValues) return false;
      begins_.push_back(at);
      if (scanValue(at, end, values_.emplace_back()) != JsonFault::kNone) return false;
      ends_.push_back(at);
    }
    at = skipSpaces(at, end);
    if (at < end && *at == ',') at = skipSpaces(at + 1, end);
  }
  if (at >= end) return false;
  ++at;
  return true;
}

bool JsonRecords::read(std::string_view raw) {
  raw_ = raw;
  values_.clear();
  begins_.clear();
  ends_.clear();
  current_ = nullptr;
  const char* at = raw.data();
  if (raw.empty() || raw.front() != '{' || !flatten(at, raw.data() + raw.size(), 0)) return false;
  current_ = layout(raw);
  return true;
}

JsonRecords::Layout* JsonRecords::layout(std::string_view raw) {
  const auto piece = [&](size_t i) {
    const char* const from = i == 0 ? raw.data() : ends_[i - 1];
    const char* const to = i == values_.size() ? raw.data() + raw.size() : begins_[i];
    return std::string_view(from, static_cast<size_t>(to - from));
  };
  for (size_t n = 0; n < layouts_.size(); ++n) {
    const Layout& known = layouts_[n];
    if (known.types.size() != values_.size()) continue;
    bool same = true;
    for (size_t i = 0; same && i <= values_.size(); ++i) {
      same = known.between[i] == piece(i) &&
             (i == values_.size() || known.types[i] == values_[i].type);
    }
    if (!same) continue;
    if (n == 0) return &layouts_[0];
    std::swap(layouts_[n], layouts_[n - 1]);  // move frequent layouts towards the front
    return &layouts_[n - 1];
  }
  Layout fresh;
  size_t bytes = 0;
  for (size_t i = 0; i <= values_.size(); ++i) {
    fresh.between.emplace_back(piece(i));
    bytes += fresh.between.back().size();
    if (i < values_.size()) fresh.types.push_back(values_[i].type);
  }
  pathsOf(raw, fresh);
  fresh.place.assign(static_cast<size_t>(fields_), -1);
  for (size_t i = 0; i < fresh.paths.size(); ++i) {
    const int field = field_of_(fresh.paths[i]);
    if (field >= 0) fresh.place[static_cast<size_t>(field)] = static_cast<int16_t>(i);
  }
  if (layouts_.size() >= kMostLayouts || bytes > kMostLayoutBytes) {
    other_ = std::move(fresh);
    return &other_;
  }
  layouts_.push_back(std::move(fresh));
  return &layouts_.back();
}

void JsonRecords::pathsOf(std::string_view raw, Layout& layout) const {
  std::vector<std::string> open;
  std::string key;
  const char* const end = raw.data() + raw.size();
  size_t value = 0;
  for (const char* at = raw.data() + 1; at < end;) {
    if (value < begins_.size() && at == begins_[value]) {
      std::string path;
      for (const std::string& part : open) path.append(part).append(".");
      layout.paths.push_back(path + key);
      at = ends_[value++];
    } else if (*at == '"') {
      JsonToken token;
      if (scanText(at, end, token) != JsonFault::kNone) return;
      key = token.raw;
    } else {
      if (*at == '{') open.push_back(key);
      if (*at == '}' && !open.empty()) open.pop_back();
      ++at;
    }
  }
}

const JsonToken& JsonRecords::operator[](int field) const {
  if (current_ == nullptr) return kMissing;
  const int16_t at = current_->place[static_cast<size_t>(field)];
  return at < 0 ? kMissing : values_[static_cast<size_t>(at)];
}

void JsonRecords::keep(TraceBuilder& builder, TableId table, std::string_view section,
                       std::span<const HeldField> held) {
  std::string room;
  if (current_ == nullptr || current_ == &other_) {  // whole record verbatim
    SourceShape shape;
    shape.between = {"{\"" + std::string(section) + "\":", "}"};
    shape.gaps = {{SourceGap::kJson, std::string(section)}};
    const int64_t kept = static_cast<int64_t>(builder.json(raw_));
    builder.keep(table, builder.sourceShape(shape), {&kept, 1});
    return;
  }
  const auto gapOf = [&](size_t i) {
    for (const HeldField& h : held) {
      if (current_->place[static_cast<size_t>(h.field)] == static_cast<int16_t>(i)) return h.gap;
    }
    return keptAs(current_->types[i]);
  };
  uint32_t id = 0;
  for (const Layout::Known& k : current_->known) {
    if (k.held == held.size() && k.section == section) id = k.shape;
  }
  if (id == 0) {
    SourceShape shape;
    shape.between = current_->between;
    shape.between.front().insert(0, "{\"" + std::string(section) + "\":");
    shape.between.back() += "}";
    for (size_t i = 0; i < values_.size(); ++i) {
      shape.gaps.push_back({gapOf(i), current_->paths[i]});
    }
    id = builder.sourceShape(shape);
    current_->known.push_back({std::string(section), held.size(), id});
  }
  std::vector<int64_t> kept;
  for (size_t i = 0; i < values_.size(); ++i) {
    const SourceGap gap = gapOf(i);
    if (!isKept(gap)) continue;
    switch (gap) {
      case SourceGap::kText:
        kept.push_back(static_cast<int64_t>(builder.text(textOf(values_[i], room))));
        break;
      case SourceGap::kJson:
        // A text with invalid characters is kept as JSON; the token does not include the quotes.
        kept.push_back(static_cast<int64_t>(builder.json(
            std::string_view(begins_[i], static_cast<size_t>(ends_[i] - begins_[i])))));
        break;
      default:
        kept.push_back(values_[i].value);
    }
  }
  builder.keep(table, id, kept);
}

}  // namespace tracesmith::import
