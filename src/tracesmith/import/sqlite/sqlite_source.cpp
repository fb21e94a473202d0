// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/sqlite/sqlite_source.hpp"

#include <charconv>
#include <cmath>

namespace tracesmith::import {
namespace {

// Used in patterns in addition to the letters of SourceGap.
constexpr char kNullLetter = '0';
// Shapes per table; further rows are kept as one text each.
constexpr size_t kMostTableShapes = 1024;

/// Appends `text` escaped for a JSON string. Keeps bytes that are not UTF-8, because readers of
/// sources repair them.
void appendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  appendEscaped(out, text);
  return out;
}

/// The shortest digits that read back as `value`. JSON has no infinity, but allows numbers that
/// overflow to it.
std::string realText(double value) {
  if (std::isinf(value)) return value < 0 ? "-1e999" : "1e999";
  if (std::isnan(value)) return "null";
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";  // keep it a real number
  return out;
}

std::string blobText(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "{\"blob\":\"";
  for (const char c : bytes) {
    out += kHex[static_cast<uint8_t>(c) >> 4];
    out += kHex[static_cast<uint8_t>(c) & 15];
  }
  return out += "\"}";
}

/// `value` in thousandths, if exact: such numbers are stored without text.
std::optional<int64_t> thousandths(double value) {
  if (!(std::fabs(value) < 9e12)) return std::nullopt;
  const int64_t n = std::llround(value * 1000);
  if (static_cast<double>(n) / 1000 != value || (n == 0 && std::signbit(value))) {
    return std::nullopt;
  }
  return n;
}

}  // namespace

SqliteSource::SqliteSource(TraceBuilder& builder, const SqliteTable& table, std::string_view name,
                           Held held)
    : builder_(builder), held_(held), opening_("{\"" + escaped(name) + "\":{") {
  for (const std::string& column : table.columns) keys_.push_back(escaped(column));
}

std::optional<SourceGap> SqliteSource::heldGap(int column, int64_t value,
                                               const Values& values) const {
  if (column == held_.start && value == values.start) return SourceGap::kTimeNanos;
  if (column == held_.end && value == values.end) return SourceGap::kEndNanos;
  if (value < 0) return std::nullopt;
  const auto number = static_cast<uint64_t>(value);
  if (column == held_.correlation && number == values.correlation) return SourceGap::kCorrelation;
  if (column == held_.bytes && number == values.bytes) return SourceGap::kBytes;
  return std::nullopt;
}

void SqliteSource::keep(TableId table, const SqliteRow& row, const Values& values) {
  keepAs(table, row, &values);
}

void SqliteSource::keepAlone(const SqliteRow& row) {
  keepAs(SourceRows::kNone, row, nullptr);
  builder_.added();
}

void SqliteSource::keepAs(TableId table, const SqliteRow& row, const Values* values) {
  pattern_.clear();
  kept_.clear();
  const auto text = [&](std::string_view t) {
    kept_.push_back(static_cast<int64_t>(builder_.text(t)));
  };
  const auto json = [&](std::string_view value) {
    kept_.push_back(static_cast<int64_t>(builder_.json(value)));
  };
  for (size_t i = 0; i < keys_.size(); ++i) {
    const int column = static_cast<int>(i);
    switch (row.type(column)) {
      case SqliteType::kNull:
        pattern_ += kNullLetter;
        break;
      case SqliteType::kInteger: {
        const int64_t value = row.integer(column);
        if (values != nullptr) {
          if (const auto gap = heldGap(column, value, *values)) {
            pattern_ += static_cast<char>(*gap);
            break;
          }
        }
        pattern_ += static_cast<char>(SourceGap::kInteger);
        kept_.push_back(value);
        break;
      }
      case SqliteType::kReal: {
        const double value = row.real(column);
        if (const auto n = thousandths(value)) {
          pattern_ += static_cast<char>(SourceGap::kDecimal);
          kept_.push_back(*n);
        } else {
          pattern_ += static_cast<char>(SourceGap::kJson);
          json(realText(value));
        }
        break;
      }
      case SqliteType::kText:
        pattern_ += static_cast<char>(SourceGap::kText);
        text(row.bytes(column));
        break;
      case SqliteType::kBlob:
        pattern_ += static_cast<char>(SourceGap::kJson);
        json(blobText(row.bytes(column)));
        break;
    }
  }
  uint32_t shape = last_shape_;
  if (shape == 0 || pattern_ != last_pattern_) {
    shape = shapeOf(pattern_);
    if (shape == 0) {
      kept_.clear();
      json(whole(row));
      builder_.keep(
          table, builder_.sourceShape({.between = {"", ""}, .gaps = {{SourceGap::kJson, "row"}}}),
          kept_);
      return;
    }
    last_pattern_ = pattern_;
    last_shape_ = shape;
  }
  builder_.keep(table, shape, kept_);
}

/// Returns 0 if there are too many shapes.
uint32_t SqliteSource::shapeOf(const std::string& pattern) {
  const auto known = shapes_.find(pattern);
  if (known != shapes_.end()) return known->second;
  if (shapes_.size() >= kMostTableShapes) return 0;
  SourceShape shape;
  std::string text = opening_;
  for (size_t i = 0; i < pattern.size(); ++i) {
    text += i == 0 ? "\"" : ",\"";
    text += keys_[i];
    text += "\":";
    if (pattern[i] == kNullLetter) {
      text += "null";
      continue;
    }
    shape.between.push_back(std::move(text));
    shape.gaps.push_back({SourceGap{pattern[i]}, keys_[i]});
    text.clear();
  }
  shape.between.push_back(text + "}}");
  return shapes_[pattern] = builder_.sourceShape(shape);
}

/// The row as one JSON text.
std::string SqliteSource::whole(const SqliteRow& row) {
  std::string out = opening_;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const int column = static_cast<int>(i);
    out += i == 0 ? "\"" : ",\"";
    out += keys_[i];
    out += "\":";
    switch (row.type(column)) {
      case SqliteType::kNull:
        out += "null";
        break;
      case SqliteType::kInteger:
        out += std::to_string(row.integer(column));
        break;
      case SqliteType::kReal:
        out += realText(row.real(column));
        break;
      case SqliteType::kText:
        out += '"';
        appendEscaped(out, row.bytes(column));
        out += '"';
        break;
      case SqliteType::kBlob:
        out += blobText(row.bytes(column));
        break;
    }
  }
  return out += "}}";
}

}  // namespace tracesmith::import
