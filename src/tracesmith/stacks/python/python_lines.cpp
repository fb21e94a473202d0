// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_lines.hpp"

namespace tracesmith::stacks {
namespace {

// Each entry is a byte 1kkkkuuu (kind, units - 1), followed by the operands of the kind, in bytes
// below 128:
//
//   0 to 9   column: a byte xyyy -> start column kind * 8 + x, end column that + y; same line
//   10 to 12 one line, kind - 10 lines further; start and end column in a byte each
//   13       signed line offset, nothing else
//   14       signed line offset, lines to the end, start and end column + 1 (0: none)
//   15       no location
//
// Numbers have six bits a byte, the lowest first; bit 6 marks that more bytes follow. Signed
// numbers have their sign in bit 0.
constexpr uint32_t kFirstOneLine = 10;
constexpr uint32_t kLineOnly = 13;
constexpr uint32_t kLong = 14;
constexpr uint32_t kNone = 15;

class Reader {
 public:
  explicit Reader(ByteView table) : table_(table) {}
  bool done() const { return at_ == table_.size(); }
  bool failed() const { return failed_; }

  uint32_t first() {
    const uint32_t b = byte();
    if ((b & 0x80) == 0) failed_ = true;
    return b & 0x7f;
  }
  int32_t small() {
    const uint32_t b = byte();
    if ((b & 0x80) != 0) failed_ = true;
    return static_cast<int32_t>(b & 0x7f);
  }
  uint32_t number() {
    uint32_t value = 0;
    for (uint32_t shift = 0;; shift += 6) {
      const auto b = static_cast<uint32_t>(small());
      if (failed_) return 0;
      if (shift > 30 || (shift == 30 && (b & 0x3c) != 0)) {
        failed_ = true;
        return 0;
      }
      value |= (b & 0x3f) << shift;
      if ((b & 0x40) == 0) return value;
    }
  }
  int32_t signedNumber() {
    const uint32_t v = number();
    const auto magnitude = static_cast<int32_t>(v >> 1);
    return (v & 1) != 0 ? -magnitude : magnitude;
  }
  int32_t column() { return static_cast<int32_t>(number() & INT32_MAX) - 1; }

 private:
  uint32_t byte() {
    if (done()) {
      failed_ = true;
      return 0;
    }
    return table_[at_++];
  }

  ByteView table_;
  size_t at_ = 0;
  bool failed_ = false;
};

bool add(int32_t& line, int32_t more) { return !__builtin_add_overflow(line, more, &line); }

}  // namespace

bool visitPythonLocations(ByteView table, int32_t first_line,
                          const std::function<bool(const PythonLocation&)>& visit) {
  Reader reader(table);
  int32_t line = first_line;
  uint32_t place = 0;
  while (!reader.done()) {
    const uint32_t first = reader.first();
    const uint32_t kind = first >> 3;
    PythonLocation at{.begin = place, .end = place + (first & 7) + 1};
    bool sane = true;
    if (kind < kFirstOneLine) {
      const int32_t columns = reader.small();
      at.column = static_cast<int32_t>(kind) * 8 + (columns >> 4);
      at.end_column = at.column + (columns & 15);
      at.line = at.end_line = line;
    } else if (kind < kLineOnly) {
      sane = add(line, static_cast<int32_t>(kind - kFirstOneLine));
      at.line = at.end_line = line;
      at.column = reader.small();
      at.end_column = reader.small();
    } else if (kind != kNone) {
      sane = add(line, reader.signedNumber());
      at.line = at.end_line = line;
      if (kind == kLong) {
        sane = sane && add(at.end_line, static_cast<int32_t>(reader.number() & INT32_MAX));
        at.column = reader.column();
        at.end_column = reader.column();
      }
    }
    if (!sane || reader.failed()) return false;
    place = at.end;
    if (!visit(at)) return true;
  }
  return true;
}

PythonLocation pythonLocationOf(ByteView table, int32_t first_line, uint32_t place) {
  PythonLocation found;
  visitPythonLocations(table, first_line, [&](const PythonLocation& at) {
    if (place >= at.end) return true;
    found = at;
    return false;
  });
  return found;
}

}  // namespace tracesmith::stacks
