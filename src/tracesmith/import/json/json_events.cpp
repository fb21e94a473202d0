// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_events.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tracesmith/import/json/json_recovery.hpp"

namespace tracesmith::import {
namespace {

// Maximum length of a string of a trace. A larger event could not be kept as a whole.
constexpr size_t kLargestBytes = 16u << 20;
constexpr size_t kUsualEventBytes = 1u << 20;  // a larger one may be continuing damage

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Members that may follow the events of a document.
bool isKnownMember(std::string_view name) {
  constexpr std::array<std::string_view, 16> kNames = {"schemaVersion",
                                                       "traceName",
                                                       "displayTimeUnit",
                                                       "baseTimeNanoseconds",
                                                       "deviceProperties",
                                                       "distributedInfo",
                                                       "otherData",
                                                       "metadata",
                                                       "stackFrames",
                                                       "samples",
                                                       "systemTraceEvents",
                                                       "traceEvents",
                                                       "controllerTraceDataKey",
                                                       "powerTraceAsString",
                                                       "trace_id",
                                                       "hostMetadata"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("with_") || name.starts_with("record_") || name.ends_with("_version");
}

}  // namespace

JsonEvents::JsonEvents(ByteSource& source, size_t window_bytes, size_t largest_member)
    : source_(source),
      window_bytes_(std::max<size_t>(window_bytes, 256)),
      largest_member_(largest_member) {
  buffer_.resize(window_bytes_ + kJsonPadding);
}

/// Moves unused bytes to the front of the buffer and fills it; grows the buffer if it is full.
Status JsonEvents::fill() {
  if (eof_) return {};
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == window_bytes_) {
    if (window_bytes_ >= 4 * std::max(kLargestBytes, largest_member_)) {
      return fail(ErrorCode::kDamaged, "a value that is too large was not skipped");  // never
    }
    window_bytes_ *= 2;
    buffer_.resize(window_bytes_ + kJsonPadding);
  }
  const size_t room = window_bytes_ - end_;
  const Result<size_t> got =
      source_.read({reinterpret_cast<uint8_t*>(buffer_.data()) + end_, room});
  if (!got) {
    if (got.error().code != ErrorCode::kDamaged) return tl::unexpected<Error>(got.error());
    // Use what was unpacked; the rest of the file is not available.
    damage_.add(offset_ + end_, 0, got.error().message);
    eof_ = true;
  } else {
    end_ += *got;
    eof_ = *got == 0;  // an error in packed data may be reported after its last bytes
  }
  std::memset(buffer_.data() + end_, 0, kJsonPadding);
  return {};
}

/// Skips spaces; returns false at the end of the document.
Result<bool> JsonEvents::skipSpace() {
  for (;;) {
    while (begin_ < end_ && isSpace(data()[begin_])) ++begin_;
    if (begin_ < end_) return true;
    if (eof_) return false;
    TS_CHECK_OK(fill());
  }
}

/// Reads until twice as many bytes follow begin_. A value that is rescanned as it grows then costs
/// at most twice its bytes.
Status JsonEvents::more() {
  const size_t wanted = 2 * (end_ - begin_);
  do {
    TS_CHECK_OK(fill());
  } while (!eof_ && end_ - begin_ < wanted);
  return {};
}

/// Reads enough bytes after begin_ to decide whether an event follows.
Status JsonEvents::ahead() {
  while (!eof_ && end_ - begin_ < kBoundaryBytes) TS_CHECK_OK(fill());
  return {};
}

void JsonEvents::lose(size_t from, size_t to, std::string_view reason,
                      std::optional<uint64_t> events) {
  damage_.add(offset_ + from, to - from, reason, events);
}

Status JsonEvents::run(const OnMember& on_member, const OnEvent& on_event) {
  TS_CHECK_OK(fill());
  if (end_ - begin_ >= 3 && std::memcmp(data() + begin_, "\xef\xbb\xbf", 3) == 0) begin_ += 3;
  TS_TRY(const bool something, skipSpace());
  if (!something) return fail(ErrorCode::kNotATrace, "contains only spaces");
  if (data()[begin_] == '[') {
    ++begin_;
    bare_ = true;
    TS_CHECK_OK(eventArray(on_event));
    return behind(on_event);
  }
  if (data()[begin_] != '{') return fail(ErrorCode::kNotATrace, "is not a JSON document");
  ++begin_;
  TS_CHECK_OK(members(on_member, on_event));
  return behind(on_event);
}

/// Reads to the end of the source, because nothing may follow the document, and packed data has its
/// checksum there.
Status JsonEvents::behind(const OnEvent& on_event) {
  for (;;) {
    if (stopped_) return {};
    TS_TRY(const bool more, skipSpace());
    if (!more) return {};
    constexpr std::string_view kReason = "after the end of the document";
    if (!sound_) {
      // If events follow, what looked like the end of the document was part of the damage.
      TS_TRY(const bool events, passToEvent(kReason));
      if (events) TS_CHECK_OK(eventArray(on_event));
      continue;
    }
    while (begin_ < end_ || !eof_) {
      lose(begin_, end_, kReason);
      begin_ = end_;
      TS_CHECK_OK(fill());
    }
  }
}

/// Finds the extent of the value at begin_. The whole value stays in the buffer unless it is larger
/// than `most`.
Result<JsonEvents::Extent> JsonEvents::extentOfValue(size_t most) {
  Extent extent;
  size_t depth = 0;
  bool text = false;
  bool escaped = false;  // also if a read ends right after the backslash
  for (size_t at = 0;; ++at) {
    if (begin_ + at == end_) {
      if (at > most || extent.passed > 0) {
        extent.passed += at;
        extent.bytes = 0;
        begin_ += at;
        at = 0;
      }
      if (!eof_) TS_CHECK_OK(fill());
      if (begin_ + at == end_) return extent;
    }
    const char c = data()[begin_ + at];
    extent.bytes = at + 1;
    if (text) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        text = false;
        extent.ends = depth == 0;
      }
    } else if (c == '"') {
      text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) extent.bytes = at;  // bracket of the enclosing object: the value is a number
      extent.ends = depth == 0 || --depth == 0;
    } else if (depth == 0 && (c == ',' || isSpace(c))) {
      extent.bytes = at;
      extent.ends = true;
    }
    if (extent.ends) return extent;
  }
}

Status JsonEvents::members(const OnMember& on_member, const OnEvent& on_event) {
  bool found = false;
  for (;;) {
    TS_TRY(const AtMember at, member(on_member, on_event, found));
    if (stopped_) return {};
    if (at == AtMember::kNext) continue;
    if (at == AtMember::kClosed && found) return {};
    // The rest cannot be parsed as members of the document. More events may follow, though.
    if (!found) return fail(ErrorCode::kNotATrace, "is JSON without \"traceEvents\"");
    TS_TRY(const bool events, passToEvent("the document ends here"));
    if (!events) return {};
    TS_CHECK_OK(eventArray(on_event));
  }
}

/// Reads one member of the document, or the comma before it.
Result<JsonEvents::AtMember> JsonEvents::member(const OnMember& on_member, const OnEvent& on_event,
                                                bool& found) {
  TS_TRY(const bool more, skipSpace());
  if (!more) return AtMember::kSenseless;
  const char c = data()[begin_];
  if (c == ',' || c == '}') {
    ++begin_;
    return c == ',' ? AtMember::kNext : AtMember::kClosed;
  }
  if (c != '"') return AtMember::kSenseless;
  TS_TRY(const Extent name_extent, extentOfValue(kLargestBytes));
  if (!name_extent.ends || name_extent.passed > 0) return AtMember::kSenseless;
  JsonMending mended;
  JsonToken name_token;
  const char* at = data() + begin_;
  if (scanText(at, data() + end_, name_token, &mended) != JsonFault::kNone) {
    return AtMember::kSenseless;
  }
  mend(mended);
  mended = {};
  const std::string name(name_token.raw);
  begin_ += name_extent.bytes;
  TS_TRY(const bool colon, skipSpace());
  if (!colon || data()[begin_] != ':') return AtMember::kSenseless;
  ++begin_;
  TS_TRY(const bool value, skipSpace());
  if (!value) return AtMember::kSenseless;
  if (name == "traceEvents" && data()[begin_] == '[') {
    found = true;
    ++begin_;
    TS_CHECK_OK(eventArray(on_event));
    return AtMember::kNext;
  }
  const uint64_t place = offset_ + begin_;
  TS_TRY(const Extent extent, extentOfValue(largest_member_));
  if (extent.passed > 0) {
    damage_.add(place, extent.passed + extent.bytes,
                "the member \"" + name + "\" is larger than " +
                    std::to_string(largest_member_ >> 20) + " MiB, or does not end",
                0);
    begin_ += extent.bytes;
    return extent.ends ? AtMember::kNext : AtMember::kSenseless;
  }
  if (!extent.ends || extent.bytes == 0) return AtMember::kSenseless;
  JsonToken value_token;
  at = data() + begin_;
  const JsonFault fault = scanValue(at, data() + end_, value_token, &mended);
  if (fault == JsonFault::kNone && at == data() + begin_ + extent.bytes) {
    mend(mended);
    // Texts are passed with their quotes, in JSON form like other values.
    on_member(name,
              value_token.text ? std::string_view(data() + begin_, extent.bytes) : value_token.raw);
  } else {
    const std::string_view why = describe(fault == JsonFault::kDepth ? fault : JsonFault::kSyntax);
    lose(begin_, begin_ + extent.bytes, "the member \"" + name + "\": " + std::string(why), 0);
  }
  begin_ += extent.bytes;
  return AtMember::kNext;
}

/// Records a repair: only the invalid text is lost, not the event.
void JsonEvents::mend(const JsonMending& mended) {
  const auto say = [&](uint64_t count, std::string_view what) {
    if (count > 0) lose(begin_, begin_, std::to_string(count) + std::string(what), 0);
  };
  say(mended.controls, " control characters in texts from here on were replaced by ' '");
  say(mended.bytes, " bytes from here on are not UTF-8; they were replaced by '?'");
  say(mended.numbers,
      " numbers from here on are invalid (NaN, infinity); they were replaced by null");
}

/// Whether another event starts inside the current one. That is a sign of continuing damage, such
/// as a text without an end.
bool JsonEvents::looksDamaged() {
  if (end_ - begin_ < std::max(kUsualEventBytes, 2 * searched_)) return false;
  searched_ = end_ - begin_;
  JsonRecovery search(true);
  const char* at = data() + begin_;
  return search.scan(at, data() + end_, eof_) == JsonRecovery::Found::kEvent;
}

/// Skips a damaged event. Its apparent end may be inside it, and its apparent content may be after
/// it.
Status JsonEvents::passEvent(std::string_view reason) {
  JsonRecovery recovery(true);
  for (;;) {
    const char* at = data() + begin_;
    const JsonRecovery::Found found = recovery.scan(at, data() + end_, eof_);
    const auto next = static_cast<size_t>(at - data());
    // If its brackets match, exactly one event was lost; otherwise the number is unknown.
    sound_ = found == JsonRecovery::Found::kEnd;
    const bool goes_on = found == JsonRecovery::Found::kNothing && !(eof_ && next == end_);
    lose(begin_, next, reason,
         sound_ || goes_on ? std::optional<uint64_t>(sound_ ? 1 : 0) : std::nullopt);
    begin_ = next;
    if (!goes_on) return {};
    TS_CHECK_OK(fill());
  }
}

Result<bool> JsonEvents::passToEvent(std::string_view reason) {
  JsonRecovery recovery(false);
  for (;;) {
    const char* at = data() + begin_;
    const bool found = recovery.scan(at, data() + end_, eof_) == JsonRecovery::Found::kEvent;
    const auto next = static_cast<size_t>(at - data());
    // No new entry is needed if the last damage already ends here.
    const std::vector<SourceDamage>& known = damage_.places();
    const bool said = next == begin_ && !known.empty() &&
                      known.back().offset + known.back().bytes == offset_ + begin_;
    if (!said) lose(begin_, next, reason);
    begin_ = next;
    if (found) return true;
    if (eof_ && begin_ == end_) return false;
    TS_CHECK_OK(fill());
  }
}

Status JsonEvents::resume(std::string_view reason) {
  TS_CHECK_OK(ahead());
  if (data()[begin_] == '{') return passEvent(reason);
  // Not an event: another kind of value, or no value at all.
  size_t next = begin_ + 1;
  std::optional<uint64_t> events;
  const char* at = data() + begin_;
  if (*at != '[' || !isEventAhead(at + 1, data() + end_)) {
    JsonToken token;
    const bool list = *at == '[';
    JsonFault fault = JsonFault::kSyntax;
    if (!list || offset_ + begin_ >= scanned_) {
      fault = scanValue(at, data() + end_, token);
      if (list && fault != JsonFault::kNone) scanned_ = offset_ + static_cast<size_t>(at - data());
    }
    if (fault == JsonFault::kNone) {
      next = static_cast<size_t>(at - data());
      reason = "a value that is not an event";
      events = 0;
    } else {
      while (next < end_ && data()[next] != '{' && data()[next] != ']' && data()[next] != ',') {
        ++next;
      }
      sound_ = false;
    }
  }
  lose(begin_, next, reason, events);
  begin_ = next;
  return {};
}

/// Whether the bracket at begin_ ends the list of events. After damage it may belong to an event
/// instead.
Result<bool> JsonEvents::endsList() {
  TS_CHECK_OK(ahead());
  const char* const end = data() + end_;
  const char* at = skipSpaces(data() + begin_ + 1, end);
  if (at == end) return true;
  const char* behind = at;
  while (behind < end && (*behind == ',' || isSpace(*behind))) ++behind;
  if (isEventAhead(behind, end)) return false;
  if (bare_ || sound_) return sound_;
  if (*at == '}') return eof_ && skipSpaces(at + 1, end) == end;
  if (*at != ',') return false;
  at = skipSpaces(at + 1, end);
  if (at == end || *at != '"') return false;
  JsonToken name;
  return scanText(at, end, name) == JsonFault::kNone && isKnownMember(name.raw);
}

Status JsonEvents::eventArray(const OnEvent& on_event) {
  JsonMending mended;
  bool mending = false;
  sound_ = true;
  for (;;) {
    TS_TRY(const bool any, skipSpace());
    if (!any) {
      if (!bare_) lose(end_, end_, "the document ends within its events");
      return {};
    }
    const char c = data()[begin_];
    if (c == ',') {
      ++begin_;
      continue;
    }
    if (c == ']') {
      TS_TRY(const bool ends, endsList());
      if (!ends) lose(begin_, begin_ + 1, "a bracket that closes nothing", 0);
      ++begin_;
      if (ends) return {};
      continue;
    }
    if (c == '{' && !sound_) {
      TS_CHECK_OK(ahead());
      if (!isEventAhead(data() + begin_, data() + end_)) {
        TS_CHECK_OK(passEvent("after a damaged event"));
        continue;
      }
    }
    const char* at = data() + begin_;
    const JsonFault fault = shapes_.parse(at, data() + end_, event_, mending ? &mended : nullptr);
    const bool unfinished = fault == JsonFault::kIncomplete && !eof_;
    if (fault == JsonFault::kNone) {
      on_event(event_);
      if (mending) mend(mended);
      if (mending) mended = {};
      mending = false;
      sound_ = true;
      searched_ = 0;
      if (stopped_) return {};
      begin_ = static_cast<size_t>(at - data());
      ++events_;
    } else if (unfinished && end_ - begin_ < kLargestBytes && !looksDamaged()) {
      TS_CHECK_OK(more());
    } else if (fault == JsonFault::kControl || fault == JsonFault::kUtf8 ||
               fault == JsonFault::kNumber) {
      mending = true;
    } else {
      if (mending) mend(mended);
      if (mending) mended = {};
      mending = false;
      const bool large = unfinished && end_ - begin_ >= kLargestBytes;
      searched_ = 0;
      TS_CHECK_OK(resume(large ? "an event of more than 16 MiB, or one that does not end"
                         : fault == JsonFault::kIncomplete && eof_
                             ? "the document ends within an event"
                             : describe(fault)));
    }
  }
}

}  // namespace tracesmith::import
