// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json_events.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tracesmith::import {
namespace {

constexpr size_t kMostWindowBytes = 1u << 30;
constexpr size_t kMostDamage = 1000;
constexpr int kMostTries = 8;
constexpr size_t kSmallStepBytes = 16u << 10;
constexpr size_t kLargeEventBytes = 4u << 20;  // what is not whole within this is no event

bool isSpace(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonEvents::JsonEvents(ByteSource& source, size_t window_bytes)
    : source_(source), window_bytes_(std::max<size_t>(window_bytes, 256)) {
  buffer_.resize(kFront + window_bytes_ + simdjson::SIMDJSON_PADDING);
}

/// Moves what is left to the front and reads on, so far as there is room; makes room where all of
/// it is taken.
Status JsonEvents::fill() {
  if (eof_) return {};
  if (begin_ > kFront) {
    std::memmove(buffer_.data() + kFront, buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_ - kFront;
    end_ -= begin_ - kFront;
    begin_ = kFront;
  }
  if (end_ - kFront == window_bytes_) {
    if (window_bytes_ >= kMostWindowBytes) {
      return fail(ErrorCode::kDamaged, "a single value takes more than 1 GiB");
    }
    window_bytes_ *= 2;
    buffer_.resize(kFront + window_bytes_ + simdjson::SIMDJSON_PADDING);
  }
  const size_t room = kFront + window_bytes_ - end_;
  const Result<size_t> got = source_.read({buffer_.data() + end_, room});
  if (!got) {
    if (got.error().code != ErrorCode::kDamaged) return tl::unexpected<Error>(got.error());
    // What had been unpacked is there; the rest of the file is not to be had.
    damage_.push_back({offset_ + end_ - kFront, 0, got.error().message});
    eof_ = true;
    return {};
  }
  end_ += *got;
  eof_ = *got == 0;  // what is wrong with packed data may be told behind the last of it
  return {};
}

/// To the next byte that is no space; false at the end of the document.
bool JsonEvents::skipSpace() {
  for (;;) {
    while (begin_ < end_ && isSpace(data()[begin_])) ++begin_;
    if (begin_ < end_) return true;
    if (eof_ || !fill() || (begin_ == end_ && eof_)) return false;
  }
}

void JsonEvents::lose(size_t from, size_t to, std::string reason) {
  if (damage_.size() < kMostDamage) {
    damage_.push_back({offset_ + from - kFront, to - from, std::move(reason)});
  } else {
    damage_.back().bytes += to - from;
    damage_.back().reason = "many more places";
  }
}

Status JsonEvents::run(const OnMember& on_member, const OnEvent& on_event) {
  TS_CHECK_OK(fill());
  if (end_ - begin_ >= 3 && std::memcmp(data() + begin_, "\xef\xbb\xbf", 3) == 0) begin_ += 3;
  if (!skipSpace()) return fail(ErrorCode::kNotATrace, "holds nothing but spaces");
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
  if (stopped_ || !skipSpace()) return {};
  uint64_t bytes = 0;
  const size_t first = begin_;
  const uint64_t place = offset_ + first - kFront;
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
    const uint8_t c = data()[begin_ + at];
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
  auto cut = [&]() -> Status {
    if (!found) return fail(ErrorCode::kNotATrace, "is JSON without \"traceEvents\"");
    lose(begin_, end_, "the document ends here");
    begin_ = end_;
    return {};
  };
  for (;;) {
    if (!skipSpace()) return cut();
    const uint8_t c = data()[begin_];
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
    const std::string name(reinterpret_cast<const char*>(data() + begin_ + 1), name_bytes - 2);
    begin_ += name_bytes;
    if (!skipSpace() || data()[begin_] != ':') return cut();
    ++begin_;
    if (!skipSpace()) return cut();
    if (name == "traceEvents" && data()[begin_] == '[') {
      found = true;
      ++begin_;
      TS_CHECK_OK(eventArray(on_event));
      if (stopped_) return {};
      continue;
    }
    TS_TRY(const uint64_t bytes, endOfValue());
    if (bytes == kNowhere || bytes == 0) return cut();
    on_member(name, {reinterpret_cast<const char*>(data() + begin_), bytes});
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
  const auto* quote = static_cast<const uint8_t*>(
      std::memchr(data() + at + 1, '"', std::min<size_t>(to - at - 1, 256)));
  if (quote == nullptr) return false;
  at = static_cast<size_t>(quote - data()) + 1;
  while (at < to && isSpace(data()[at])) ++at;
  return at < to && data()[at] == ':';
}

/// The last comma in [from, to) that lies between two objects; 0: there is none.
size_t JsonEvents::lastBoundary(size_t from, size_t to) const {
  for (size_t at = to; at > from + 1; --at) {
    if (data()[at - 1] == ',' && betweenEvents(at - 1, from, to)) return at - 1;
  }
  return 0;
}

size_t JsonEvents::nextBoundary(size_t from, size_t to) const {
  for (size_t at = from; at < to; ++at) {
    const auto* comma = static_cast<const uint8_t*>(std::memchr(data() + at, ',', to - at));
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
    const uint8_t c = data()[at];
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
  std::string_view head(reinterpret_cast<const char*>(data() + from),
                        std::min<size_t>(to - from, 4096));
  head = head.substr(0, head.find('}'));
  const size_t phase = head.find("\"ph\"");
  if (phase == std::string_view::npos) return false;
  const size_t colon = head.find_first_not_of(" \t\r\n", phase + 4);
  if (colon == std::string_view::npos || head[colon] != ':') return false;
  const size_t quote = head.find_first_not_of(" \t\r\n", colon + 1);
  return quote != std::string_view::npos && head[quote] == '"';
}

/// Text that JSON does not allow costs itself, and not the file. False: there was none to mend.
bool JsonEvents::mendText(size_t from, size_t to, simdjson::error_code why) {
  bool text = false;
  uint64_t mended = 0;
  const size_t first = from;
  for (size_t i = from; i < to; ++i) {
    uint8_t& c = buffer_[i];
    if (why == simdjson::UTF8_ERROR) {
      if (c < 0x80) continue;
      // A sequence that is whole stays.
      const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
      if (length != 0 && i + length <= to &&
          simdjson::validate_utf8(reinterpret_cast<const char*>(&c), length)) {
        i += length - 1;
        continue;
      }
      c = '?';
      ++mended;
    } else if (text && c == '\\') {
      ++i;
    } else if (c == '"') {
      text = !text;
    } else if (text && c < 0x20) {
      c = ' ';
      ++mended;
    }
  }
  if (mended == 0) return false;
  lose(
      first, first,
      std::to_string(mended) + (why == simdjson::UTF8_ERROR
                                    ? " bytes from here on are no UTF-8; they read as '?'"
                                    : " control characters within texts from here on read as ' '"));
  return true;
}

/// Uses the events from begin_ on, as far as they are whole; sets `array_ended` behind the bracket
/// that closes them. False when more has to be read first.
bool JsonEvents::window(const OnEvent& on_event, bool& array_ended) {
  const bool alone = std::exchange(next_alone_, false);
  const bool to_the_end = eof_ && !tail_is_cut_ && !alone && reached() == end_;
  size_t end = to_the_end ? end_ : alone ? 0 : lastBoundary(begin_, reached());
  // Behind damage it goes on in small steps: each costs as much as it reaches.
  while (end == 0 && !alone && reached() < end_) {
    reach_ *= 4;
    end = lastBoundary(begin_, reached());
  }
  if (end == 0 && (eof_ || alone)) end = endOfObject(begin_, end_);
  if (end == 0) {
    if (!eof_) return false;
    lose(begin_, end_, "the document ends within an event");
    begin_ = end_;
    return true;
  }
  uint8_t* const first = buffer_.data() + begin_ - 1;
  const uint8_t saved[3] = {*first, buffer_[end], buffer_[end + 1]};
  *first = '[';
  buffer_[end] = ']';    // simdjson asks for one at the end, also behind what follows the array
  buffer_[end + 1] = 0;  // and looks at the byte behind it, where an event is cut
  const Used used = use(first, end - begin_ + 2, on_event);
  *first = saved[0];
  buffer_[end] = saved[1];
  buffer_[end + 1] = saved[2];

  if (used.error == simdjson::UNESCAPED_CHARS || used.error == simdjson::UTF8_ERROR) {
    if (mendText(begin_, end, used.error)) return true;
  }
  if (!used.error) {
    reach_ = std::min(4 * reach_, kMostWindowBytes);
    const size_t at = used.end == nullptr ? end + 1 : static_cast<size_t>(used.end - data());
    array_ended = at <= end;
    begin_ = std::min(at, end);
    return true;
  }
  if (used.events > 0 && used.failed != nullptr) {
    // The next window begins with the event that could not be used; it may merely be cut.
    begin_ = static_cast<size_t>(used.failed - data());
    return true;
  }
  if (used.events > 0) {  // what follows the last event is none
    const auto last = static_cast<size_t>(used.last - data());
    const size_t next = nextBoundary(last, end_);
    if (next != 0 || !to_the_end) {
      const size_t good = endOfObject(last, end_);
      const size_t to = next == 0 ? end : next;
      lose(good == 0 || good > to ? last : good, to, simdjson::error_message(used.error));
    } else {
      const size_t good = endOfObject(last, end_);
      const bool nothing =
          good == 0 || std::all_of(buffer_.begin() + static_cast<ptrdiff_t>(good),
                                   buffer_.begin() + static_cast<ptrdiff_t>(end),
                                   [](uint8_t c) { return isSpace(c) || c == ','; });
      lose(nothing ? end : good, end, "the document ends within its events");
    }
    begin_ = next == 0 ? end : next;
    return true;
  }
  if (used.failed == nullptr && to_the_end && !tail_is_cut_) {  // a text that is not closed
    tail_is_cut_ = true;
    return true;
  }
  // What looked like the end of an event may lie within it: then it is sound on its own.
  reach_ = kSmallStepBytes;
  const size_t one = endOfObject(begin_, std::min(end_, begin_ + kLargeEventBytes));
  if (one != 0 && one != end && !alone) {
    next_alone_ = true;
    return true;
  }
  if (one == 0 && !eof_ && end_ - begin_ < kLargeEventBytes) return false;
  size_t next = nextBoundary(begin_ + 1, end_);
  if (one != 0 && (next == 0 || one < next)) next = one;
  lose(begin_, next == 0 ? end_ : next, simdjson::error_message(used.error));
  begin_ = next == 0 ? end_ : next;
  return true;
}

JsonEvents::Used JsonEvents::use(const uint8_t* json, size_t bytes, const OnEvent& on_event) {
  Used used;
  simdjson::ondemand::document document;
  simdjson::ondemand::array array;
  used.error = parser_
                   .iterate(reinterpret_cast<const char*>(json), bytes,
                            buffer_.size() - static_cast<size_t>(json - data()))
                   .get(document);
  if (!used.error) used.error = document.get_array().get(array);
  if (used.error) return used;
  for (auto element : array) {
    simdjson::ondemand::value value;
    used.error = std::move(element).get(value);
    used.failed = nullptr;
    if (used.error) break;
    used.failed = reinterpret_cast<const uint8_t*>(value.raw_json_token().data());
    simdjson::ondemand::object event;
    used.error = value.get_object().get(event);
    if (!used.error) used.error = on_event(event);
    if (used.error || stopped_) break;
    used.last = used.failed;
    ++used.events;
    ++events_;
  }
  const char* at = nullptr;
  if (!used.error && document.current_location().get(at) == simdjson::SUCCESS) {
    used.end = reinterpret_cast<const uint8_t*>(at);
  }
  return used;
}

Status JsonEvents::eventArray(const OnEvent& on_event) {
  tail_is_cut_ = false;
  int tries = 0;
  for (bool ended = false; !ended;) {
    if (!skipSpace()) {
      if (!bare_) lose(end_, end_, "the document ends within its events");
      return {};
    }
    const uint8_t c = data()[begin_];
    if (c == ',' || c == ']') {
      ++begin_;
      if (c == ']') return {};
      continue;
    }
    const uint64_t before = offset_ + begin_;
    const bool enough = window(on_event, ended);
    if (stopped_) return {};
    tries = offset_ + begin_ == before ? tries + 1 : 0;
    if (enough &&
        tries > kMostTries) {  // of one place: what it is has been found in every other way
      lose(begin_, begin_ + 1, "what is here makes no sense");
      ++begin_;
    }
    if (!enough || (!ended && !eof_)) TS_CHECK_OK(fill());
  }
  return {};
}

}  // namespace tracesmith::import
