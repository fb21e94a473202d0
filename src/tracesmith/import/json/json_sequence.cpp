// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_sequence.hpp"

#include <algorithm>
#include <cstring>

namespace tracesmith::import {

/// Reads at least as much as the unread part of the buffer, so that a large object is not scanned
/// from its start too often.
bool JsonSequence::fill() {
  if (eof_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_;
    end_ -= begin_;
    from_ = begin_ = 0;
  }
  const size_t wanted = end_ + std::max(step_bytes_, end_);
  if (buffer_.size() < wanted + kJsonPadding) buffer_.resize(wanted + kJsonPadding);
  const size_t before = end_;
  while (end_ < wanted && !eof_) {
    const Result<size_t> n =
        source_.read({reinterpret_cast<uint8_t*>(buffer_.data()) + end_, wanted - end_});
    if (!n) damage_.add(offset_ + end_, 0, n.error().message);
    eof_ = !n || *n == 0;
    end_ += n ? *n : 0;
  }
  std::fill_n(buffer_.begin() + static_cast<ptrdiff_t>(end_), kJsonPadding, '\0');
  return end_ > before;
}

/// False at the end of the file.
bool JsonSequence::skipSpaces() {
  for (;;) {
    while (begin_ < end_ && std::string_view(" \t\r\n\xef\xbb\xbf").find(buffer_[begin_]) !=
                                std::string_view::npos) {
      ++begin_;
    }
    if (begin_ < end_) return true;
    if (!fill()) return false;
  }
}

void JsonSequence::skipLine(std::string_view why) {
  const uint64_t start = offset_ + begin_;
  for (;;) {
    const char* const from = buffer_.data() + begin_;
    const void* const feed = std::memchr(from, '\n', end_ - begin_);
    if (feed != nullptr) {
      begin_ += static_cast<size_t>(static_cast<const char*>(feed) - from) + 1;
      break;
    }
    begin_ = end_;
    if (!fill()) break;
  }
  damage_.add(start, offset_ + begin_ - start, why, 1);
}

bool JsonSequence::next(std::string_view& raw) {
  while (skipSpaces()) {
    JsonToken token;
    const char* at = buffer_.data() + begin_;
    const JsonFault fault = scanValue(at, buffer_.data() + end_, token);
    if (fault == JsonFault::kIncomplete && end_ - begin_ < largest_ && fill()) continue;
    if (fault != JsonFault::kNone) {
      skipLine(fault == JsonFault::kIncomplete && !eof_ ? "an object that is too large"
                                                        : describe(fault));
      continue;
    }
    if (token.raw.empty() || token.raw.front() != '{') {
      skipLine("this is not an object");
      continue;
    }
    from_ = begin_;
    const auto length = static_cast<size_t>(at - buffer_.data()) - from_;
    begin_ = from_ + length;
    raw = {buffer_.data() + from_, length};
    return true;
  }
  return false;
}

}  // namespace tracesmith::import
