// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/csv_reader.hpp"

namespace tracesmith::import {
namespace {

constexpr int kEnd = -1;

}  // namespace

int CsvReader::peek() {
  if (at_ == end_ && !ended_) {
    window_.resize(kWindowBytes);
    const Result<size_t> n = source_.read(window_);
    at_ = 0;
    end_ = n ? *n : 0;
    ended_ = end_ == 0;
    if (!n) problem_ = n.error().message;
  }
  return at_ < end_ ? window_[at_] : kEnd;
}

int CsvReader::get() {
  const int c = peek();
  if (c != kEnd) {
    ++at_;
    ++consumed_;
  }
  return c;
}

/// Reads a field up to a comma, the end of the line or that of the source; sets `end` to the one
/// found.
void CsvReader::field(std::string& out, int& end) {
  out.clear();
  const auto put = [&](int c) {
    if (out.size() < kLongestField) {
      out += static_cast<char>(c);
    } else {
      problem_ = "a field is longer than 1 MiB and was cut";
    }
  };
  bool quoted = false;
  if (peek() == '"') {
    get();
    quoted = true;
  }
  for (;;) {
    const int c = get();
    if (c == kEnd) {
      if (quoted && problem_.empty()) problem_ = "it ends inside quotes";
      end = kEnd;
      return;
    }
    if (quoted) {
      if (c != '"') {
        put(c);
      } else if (peek() == '"') {
        put(get());
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '\r' && peek() == '\n') continue;
    if (c == ',' || c == '\n') {
      end = c;
      return;
    }
    put(c);
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  problem_.clear();
  for (;;) {
    record_offset_ = consumed_;
    size_t count = 0;
    for (int end = ','; end == ',';) {
      const bool room = count < kMostFields;
      if (room && count == fields.size()) fields.emplace_back();
      field(room ? fields[count] : beyond_, end);
      if (room) {
        ++count;
      } else {
        problem_ = "a record has more than 4096 fields";
      }
      if (end == kEnd && count == 1 && fields[0].empty()) return false;
    }
    fields.resize(count);
    if (count > 1 || !fields[0].empty()) return true;
  }
}

}  // namespace tracesmith::import
