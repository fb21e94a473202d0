// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json_events.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tracesmith::import {
namespace {

constexpr size_t kMostWindowBytes = 1u << 30;
constexpr size_t kMostDamage = 1000;
constexpr size_t kLargeEventBytes = 4u << 20;  // what is not whole within this is no event
constexpr size_t kBoundaryBytes = 4096;        // that it takes to know one

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonEvents::JsonEvents(ByteSource& source, size_t window_bytes)
    : source_(source), window_bytes_(std::max<size_t>(window_bytes, 256)) {
  buffer_.resize(window_bytes_ + kJsonPadding);
}

/// Moves what is left to the front and reads on, so far as there is room; makes room where all of
/// it is taken.
Status JsonEvents::fill() {
  if (eof_) return {};
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == window_bytes_) {
    if (window_bytes_ >= kMostWindowBytes) {
      return fail(ErrorCode::kDamaged, "a single value takes more than 1 GiB");
    }
    window_bytes_ *= 2;
    buffer_.resize(window_bytes_ + kJsonPadding);
  }
  const size_t room = window_bytes_ - end_;
  const Result<size_t> got =
      source_.read({reinterpret_cast<uint8_t*>(buffer_.data()) + end_, room});
  if (!got) {
    if (got.error().code != ErrorCode::kDamaged) return tl::unexpected<Error>(got.error());
    // What had been unpacked is there; the rest of the file is not to be had.
    damage_.push_back({offset_ + end_, 0, got.error().message});
    eof_ = true;
  } else {
    end_ += *got;
    eof_ = *got == 0;  // what is wrong with packed data may be told behind the last of it
  }
  std::memset(buffer_.data() + end_, 0, kJsonPadding);
  return {};
}

/// To the next byte that is no space; false at the end of the document.
Result<bool> JsonEvents::skipSpace() {
  for (;;) {
    while (begin_ < end_ && isSpace(data()[begin_])) ++begin_;
    if (begin_ < end_) return true;
    if (eof_) return false;
    TS_CHECK_OK(fill());
  }
}

void JsonEvents::lose(size_t from, size_t to, std::string_view reason) {
  if (!damage_.empty() && damage_.back().bytes > 0 && from < to &&
      damage_.back().offset + damage_.back().bytes == offset_ + from) {
    damage_.back().bytes += to - from;  // it goes on
  } else if (damage_.size() < kMostDamage) {
    damage_.push_back({offset_ + from, to - from, std::string(reason)});
  } else {
    damage_.back().bytes += to - from;
    damage_.back().reason = "many more places";
  }
}

Status JsonEvents::run(const OnMember& on_member, const OnEvent& on_event) {
  TS_CHECK_OK(fill());
  if (end_ - begin_ >= 3 && std::memcmp(data() + begin_, "\xef\xbb\xbf", 3) == 0) begin_ += 3;
  TS_TRY(const bool something, skipSpace());
  if (!something) return fail(ErrorCode::kNotATrace, "holds nothing but spaces");
  if (data()[begin_] == '[') {
    ++begin_;
    bare_ = true;
    TS_CHECK_OK(eventArray(on_event));
    return behind();
  }
  if (data()[begin_] != '{') return fail(ErrorCode::kNotATrace, "is no JSON document");
  ++begin_;
  TS_CHECK_OK(members(on_member, on_event));
  return behind();
}

/// Reads to the end of the source: nothing may follow the document, and packed data has its
/// checksum there.
Status JsonEvents::behind() {
  if (stopped_) return {};
  TS_TRY(const bool more, skipSpace());
  if (!more) return {};
  uint64_t bytes = 0;
  const uint64_t place = offset_ + begin_;
  while (begin_ < end_ || !eof_) {
    bytes += end_ - begin_;
    begin_ = end_;
    TS_CHECK_OK(fill());
  }
  damage_.push_back({place, bytes, "behind the end of the document"});
  return {};
}

/// One past the end of the value that begins at begin_, which stays where it is: an offset from
/// begin_.
Result<uint64_t> JsonEvents::endOfValue() {
  size_t at = 0;
  size_t depth = 0;
  bool text = false;
  bool escaped = false;  // also where a read ends between the backslash and what it escapes
  for (;; ++at) {
    if (begin_ + at == end_) {
      if (eof_) return kNowhere;
      TS_CHECK_OK(fill());
      if (begin_ + at == end_) return kNowhere;
    }
    const char c = data()[begin_ + at];
    if (text) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        text = false;
        if (depth == 0) return at + 1;
      }
      continue;
    }
    if (c == '"') {
      text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // of what the value, a number, lies in
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || isSpace(c))) {
      return at;
    }
  }
}

Status JsonEvents::members(const OnMember& on_member, const OnEvent& on_event) {
  bool found = false;
  // What is left makes no sense as members of a document.
  const auto cut = [&]() -> Status {
    if (!found) return fail(ErrorCode::kNotATrace, "is JSON without \"traceEvents\"");
    do {
      lose(begin_, end_, "the document ends here");
      begin_ = end_;
      TS_CHECK_OK(fill());
    } while (begin_ < end_);
    return {};
  };
  for (;;) {
    TS_TRY(const bool more, skipSpace());
    if (!more) return cut();
    const char c = data()[begin_];
    if (c == ',') {
      ++begin_;
      continue;
    }
    if (c == '}') {
      ++begin_;
      return found ? Status{} : cut();
    }
    if (c != '"') return cut();
    TS_TRY(const uint64_t name_bytes, endOfValue());
    if (name_bytes == kNowhere) return cut();
    const std::string name(data() + begin_ + 1, name_bytes - 2);
    begin_ += name_bytes;
    TS_TRY(const bool colon, skipSpace());
    if (!colon || data()[begin_] != ':') return cut();
    ++begin_;
    TS_TRY(const bool value, skipSpace());
    if (!value) return cut();
    if (name == "traceEvents" && data()[begin_] == '[') {
      found = true;
      ++begin_;
      TS_CHECK_OK(eventArray(on_event));
      if (stopped_) return {};
      continue;
    }
    TS_TRY(const uint64_t bytes, endOfValue());
    if (bytes == kNowhere || bytes == 0) return cut();
    JsonMending mended;
    JsonToken value_token;
    const char* at = data() + begin_;
    if (scanValue(at, data() + end_, value_token, &mended) == JsonFault::kNone &&
        at == data() + begin_ + bytes) {
      mend(mended);
      // A text stands with its quotes here, as any other value does.
      on_member(name,
                value_token.text ? std::string_view(data() + begin_, bytes) : value_token.raw);
    } else {
      lose(begin_, begin_ + bytes, "the member \"" + name + "\" is not JSON");
    }
    begin_ += bytes;
  }
}

/// Whether the comma lies between two objects, as seen from the text alone:  } , { "name" :
/// Within a text the quote would be escaped, and the end of a text is followed by no name.
bool JsonEvents::betweenEvents(size_t comma, size_t from, size_t to) const {
  size_t at = comma;
  while (at > from && isSpace(data()[at - 1])) --at;
  if (at == from || data()[at - 1] != '}') return false;
  at = comma + 1;
  while (at < to && isSpace(data()[at])) ++at;
  if (at == to || data()[at] != '{') return false;
  ++at;
  while (at < to && isSpace(data()[at])) ++at;
  if (at == to || data()[at] != '"') return false;
  const auto* quote = static_cast<const char*>(
      std::memchr(data() + at + 1, '"', std::min<size_t>(to - at - 1, 256)));
  if (quote == nullptr) return false;
  at = static_cast<size_t>(quote - data()) + 1;
  while (at < to && isSpace(data()[at])) ++at;
  return at < to && data()[at] == ':';
}

size_t JsonEvents::nextBoundary(size_t from, size_t to) const {
  for (size_t at = from; at < to; ++at) {
    const auto* comma = static_cast<const char*>(std::memchr(data() + at, ',', to - at));
    if (comma == nullptr) return 0;
    at = static_cast<size_t>(comma - data());
    if (!betweenEvents(at, from, to)) continue;
    if (hasPhase(at, to)) return at;
  }
  return 0;
}

/// One past the object that begins at `from`; 0: it does not end before `to`.
size_t JsonEvents::endOfObject(size_t from, size_t to) const {
  size_t depth = 0;
  bool text = false;
  for (size_t at = from; at < to; ++at) {
    const char c = data()[at];
    if (text) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        text = false;
      }
    } else if (c == '"') {
      text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) {
      return depth == 0 && at > from ? at + 1 : 0;
    }
  }
  return 0;
}

/// Whether the object behind `from` says of itself, before any object within it ends, that it is an
/// event: "ph": "X". Objects within events look like events otherwise.
bool JsonEvents::hasPhase(size_t from, size_t to) const {
  std::string_view head(data() + from, std::min<size_t>(to - from, 4096));
  head = head.substr(0, head.find('}'));
  const size_t phase = head.find("\"ph\"");
  if (phase == std::string_view::npos) return false;
  const size_t colon = head.find_first_not_of(" \t\r\n", phase + 4);
  if (colon == std::string_view::npos || head[colon] != ':') return false;
  const size_t quote = head.find_first_not_of(" \t\r\n", colon + 1);
  return quote != std::string_view::npos && head[quote] == '"';
}

/// Text that JSON does not allow costs itself, and not the event.
void JsonEvents::mend(const JsonMending& mended) {
  const auto say = [&](uint64_t count, std::string_view what) {
    if (count > 0) lose(begin_, begin_, std::to_string(count) + std::string(what));
  };
  say(mended.controls, " control characters within texts from here on read as ' '");
  say(mended.bytes, " bytes from here on are no UTF-8; they read as '?'");
  say(mended.numbers, " numbers from here on are none (NaN, infinity); they read as null");
}

/// What looked like the end of the event may lie within it, and what looked like its inside behind
/// it: on it goes at the end of its brackets or where another begins, whichever comes first.
Status JsonEvents::resume(std::string_view reason) {
  size_t next = 0;
  if (data()[begin_] != '{') {
    // No event at all: a value of another kind, or what is none.
    const char* at = data() + begin_;
    JsonToken token;
    const JsonFault fault = scanValue(at, data() + end_, token);
    if (fault == JsonFault::kNone) {
      next = static_cast<size_t>(at - data());
    } else if (fault == JsonFault::kIncomplete && !eof_ && end_ - begin_ < kLargeEventBytes) {
      return fill();
    } else {
      next = begin_ + 1;
      while (next < end_ && data()[next] != '{' && data()[next] != ']') ++next;
    }
    lose(begin_, next, fault == JsonFault::kNone ? "a value that is no event" : reason);
    begin_ = next;
    return {};
  }
  // In growing steps: what it costs is what is lost.
  for (size_t reach = kBoundaryBytes; next == 0; reach *= 4) {
    const size_t to = std::min(end_, begin_ + reach);
    const size_t one = endOfObject(begin_, to);
    next = nextBoundary(begin_ + 1, one == 0 ? to : one);
    if (next == 0) next = one;
    if (to == end_) break;
  }
  if (next == 0 && !eof_ && end_ - begin_ < kLargeEventBytes) return fill();
  if (next == 0) {
    // The beginning of a boundary may be all that is there of it.
    next = eof_ ? end_ : std::max(begin_ + 1, end_ - std::min(end_, kBoundaryBytes));
  }
  lose(begin_, next, reason);
  begin_ = next;
  if (begin_ == end_ || end_ - begin_ <= kBoundaryBytes) TS_CHECK_OK(fill());
  return {};
}

Status JsonEvents::eventArray(const OnEvent& on_event) {
  JsonMending mended;
  bool mending = false;
  for (;;) {
    TS_TRY(const bool more, skipSpace());
    if (!more) {
      if (!bare_) lose(end_, end_, "the document ends within its events");
      return {};
    }
    const char c = data()[begin_];
    if (c == ',' || c == ']') {
      ++begin_;
      if (c == ']') return {};
      continue;
    }
    const char* at = data() + begin_;
    const JsonFault fault = shapes_.parse(at, data() + end_, event_, mending ? &mended : nullptr);
    if (fault == JsonFault::kNone) {
      on_event(event_);
      if (mending) mend(mended);
      if (mending) mended = {};
      mending = false;
      if (stopped_) return {};
      begin_ = static_cast<size_t>(at - data());
      ++events_;
    } else if (fault == JsonFault::kIncomplete && !eof_ && end_ - begin_ < kLargeEventBytes) {
      TS_CHECK_OK(fill());
    } else if (fault == JsonFault::kControl || fault == JsonFault::kUtf8 ||
               fault == JsonFault::kNumber) {
      mending = true;
    } else {
      if (mending) mend(mended);
      if (mending) mended = {};
      mending = false;
      TS_CHECK_OK(resume(fault == JsonFault::kIncomplete && eof_
                             ? "the document ends within an event"
                             : describe(fault)));
    }
  }
}

}  // namespace tracesmith::import
