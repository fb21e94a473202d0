// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_list.hpp"

#include <algorithm>
#include <cstring>

namespace tracesmith::import {
namespace {

constexpr size_t kReadStep = 1u << 18;
constexpr size_t kLargestValue = 64u << 20;

}  // namespace

/// Appends more bytes to the buffer and drops those before begin_.
bool JsonList::fill() {
  if (eof_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_;
    at_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ >= kLargestValue) return false;
  if (buffer_.size() < end_ + kReadStep)
    buffer_.resize(std::max(buffer_.size() * 2, 2 * kReadStep));
  const Result<size_t> n =
      source_.read({reinterpret_cast<uint8_t*>(buffer_.data()) + end_, buffer_.size() - end_});
  if (!n) {
    damage.push_back({offset_ + end_, 0, n.error().message});
    eof_ = true;
    return false;
  }
  eof_ = *n == 0;
  end_ += *n;
  return *n > 0;
}

/// The next byte; -1 at the end.
int JsonList::peek() {
  if (at_ == end_ && !fill()) return -1;
  return at_ < end_ ? static_cast<uint8_t>(buffer_[at_]) : -1;
}

bool JsonList::skipSpace() {
  for (int c = peek();
       c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == 0xef || c == 0xbb || c == 0xbf;
       c = peek()) {
    ++at_;
    begin_ = at_;
  }
  begin_ = at_;
  return peek() >= 0;
}

std::string_view JsonList::value() {
  begin_ = at_;
  int depth = 0;
  bool text = false;
  for (;;) {
    const int c = peek();
    if (c < 0) return {};
    if (text) {
      if (c == '\\') {
        ++at_;
        if (peek() < 0) return {};
      } else if (c == '"') {
        text = false;
        if (depth == 0) {
          ++at_;
          break;
        }
      }
    } else if (c == '"') {
      text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) break;  // end of the object or list around a number
      if (--depth == 0) {
        ++at_;
        break;
      }
    } else if (depth == 0 && (c == ',' || c == ':' || c <= ' ')) {
      break;
    }
    ++at_;
  }
  return {buffer_.data() + begin_, at_ - begin_};
}

void JsonList::cut(const char* where) {
  if (!damage.empty()) return;
  const uint64_t from = offset_ + begin_;
  uint64_t rest = end_ - begin_;
  while (fill()) {  // to count the bytes
    begin_ = at_ = end_;
    rest = offset_ + end_ - from;
  }
  damage.push_back({from, rest, where});
}

void JsonList::run(const OnMember& on_member, const OnElement& on_element) {
  if (!skipSpace() || peek() != '{') return cut("this is not an object");
  ++at_;
  for (;;) {
    if (!skipSpace()) return cut("the document ends too early");
    if (peek() == '}') break;
    const std::string_view key = value();
    if (key.size() < 2 || key.front() != '"') return cut("this is not a member of an object");
    const std::string name(key.substr(1, key.size() - 2));
    if (!skipSpace() || peek() != ':') return cut("no value follows a key");
    ++at_;
    if (!skipSpace()) return cut("the document ends too early");
    const bool list = std::find(names_.begin(), names_.end(), name) != names_.end();
    if (!list || found_ || peek() != '[') {
      const std::string_view raw = value();
      if (raw.empty()) return cut("a value that does not end");
      on_member(name, raw);
    } else {
      found_ = true;
      ++at_;
      for (;;) {
        if (!skipSpace()) return cut("the list does not end");
        if (peek() == ']') break;
        const std::string_view raw = value();
        if (raw.empty()) return cut("an element of the list that does not end");
        if (raw.front() != '{') return cut("an element of the list that is not an object");
        if (!on_element(raw, offset_ + begin_)) return;
        if (!skipSpace()) return cut("the list does not end");
        if (peek() == ',') {
          ++at_;
        } else if (peek() != ']') {
          return cut("there is no comma between two elements of the list");
        }
      }
      ++at_;
    }
    if (!skipSpace()) return cut("the document ends too early");
    if (peek() == ',') {
      ++at_;
    } else if (peek() != '}') {
      return cut("there is no comma between two members");
    }
  }
  ++at_;
  if (skipSpace()) cut("this is after the end of the document");
}

}  // namespace tracesmith::import
