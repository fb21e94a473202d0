// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_token.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tracesmith::import {
namespace {

constexpr uint64_t kMostWhole = INT64_MAX / 1000;
constexpr size_t kMostDepth = 1024;  // nesting depth of lists and objects

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The next quote, backslash, control character or non-ASCII byte; may be after `end`.
inline const char* plainEnd(const char* at) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(' ');
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Signed comparison: non-ASCII bytes are also below the space.
    const __m128i stop =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                     _mm_cmplt_epi8(bytes, space));
    const int mask = _mm_movemask_epi8(stop);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#else
  while (*at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ') ++at;
  return at;
#endif
}

/// Value of four hexadecimal digits; -1 if they are not.
int32_t hexadecimal(const char* digits, const char* end) {
  if (end - digits < 4) return -1;
  int32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    const char c = digits[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

bool isHighHalf(int32_t code) { return code >= 0xd800 && code < 0xdc00; }
bool isLowHalf(int32_t code) { return code >= 0xdc00 && code < 0xe000; }

/// `at` is after a backslash; on return it is after the escape. Sets `whole` to false for half a
/// surrogate pair.
JsonFault scanEscape(const char*& at, const char* end, bool& whole) {
  if (at >= end) return JsonFault::kIncomplete;
  const char c = *at;
  if (c != 'u') {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    if (kEscapes.find(c) == std::string_view::npos) return JsonFault::kSyntax;
    ++at;
    return JsonFault::kNone;
  }
  if (end - at < 5) return JsonFault::kIncomplete;
  const int32_t code = hexadecimal(at + 1, end);
  if (code < 0) return JsonFault::kSyntax;
  at += 5;
  if (isLowHalf(code)) whole = false;
  if (!isHighHalf(code)) return JsonFault::kNone;
  if (at + 2 <= end && at[0] == '\\' && at[1] == 'u' && isLowHalf(hexadecimal(at + 2, end))) {
    at += 6;
  } else {
    whole = false;
  }
  return JsonFault::kNone;
}

/// Length of the UTF-8 character here, which must be complete; 0: not UTF-8.
size_t characterBytes(const char* at, const char* end) {
  const auto c = static_cast<uint8_t>(*at);
  const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
  if (length == 0 || end - at < static_cast<std::ptrdiff_t>(length)) return 0;
  return simdjson::validate_utf8(at, length) ? length : 0;
}

JsonFault scanNumber(const char*& at, const char* end, JsonToken& token) {
  const char* const begin = at;
  const char* p = at;
  const bool negative = *p == '-';
  if (negative) ++p;
  const char* const first = p;
  uint64_t value = 0;
  for (; isDigit(*p); ++p) value = value * 10 + static_cast<uint64_t>(*p - '0');
  const auto digits = p - first;
  if (p < end && digits == 0) return JsonFault::kSyntax;
  if (digits > 1 && *first == '0') return JsonFault::kSyntax;
  token.type = JsonType::kInteger;
  bool small = digits <= 18;
  if (*p == '.' && p < end) {
    const char* const point = ++p;
    uint64_t fraction = 0;
    for (; isDigit(*p); ++p) {
      if (p - point < 3) fraction = fraction * 10 + static_cast<uint64_t>(*p - '0');
    }
    const auto decimals = p - point;
    if (p < end && decimals == 0) return JsonFault::kSyntax;
    token.type = JsonType::kDecimal;
    // Few enough digits that the thousandths fit; µs since 1970 have 16 digits.
    small = decimals <= 3 && (digits <= 15 || (digits == 16 && value < kMostWhole));
    constexpr std::array<uint64_t, 4> kScale = {1000, 100, 10, 1};
    if (small) value = value * 1000 + fraction * kScale[static_cast<size_t>(decimals)];
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    small = false;
    ++p;
    if (*p == '+' || *p == '-') ++p;
    const char* const exponent = p;
    while (isDigit(*p)) ++p;
    if (p < end && p == exponent) return JsonFault::kSyntax;
  }
  if (p >= end) return JsonFault::kIncomplete;  // more digits may follow
  if (!small || (negative && value == 0)) {
    token.type = JsonType::kOther;
    value = 0;
  }
  token.value = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  token.raw = {begin, static_cast<size_t>(p - begin)};
  at = p;
  return JsonFault::kNone;
}

JsonFault scanWord(const char*& at, const char* end, std::string_view word) {
  const std::string_view there(at, std::min<size_t>(word.size(), static_cast<size_t>(end - at)));
  if (there != word.substr(0, there.size())) return JsonFault::kSyntax;
  if (there.size() < word.size()) return JsonFault::kIncomplete;
  at += word.size();
  return JsonFault::kNone;
}

/// Length of a NaN or infinity as C, Python and JavaScript write them; 0: it is neither.
size_t noNumberBytes(const char* at, const char* end) {
  const std::string_view there(at, static_cast<size_t>(end - at));
  const size_t sign = there.starts_with('-') ? 1 : 0;
  for (const std::string_view word : {"NaN", "nan", "Infinity", "infinity", "Inf", "inf"}) {
    if (there.substr(sign).starts_with(word)) return sign + word.size();
  }
  return 0;
}

JsonFault scanPlain(const char*& at, const char* end, JsonToken& token, JsonMending* mended) {
  switch (*at) {
    case '"':
      return scanText(at, end, token, mended);
    case 't':
      return scanWord(at, end, "true");
    case 'f':
      return scanWord(at, end, "false");
    case 'n':
      return scanWord(at, end, "null");
    default:
      return scanNumber(at, end, token);
  }
}

/// Scans a list or object without recursion; each open bracket takes one bit.
JsonFault scanNested(const char*& at, const char* end, JsonMending* mended,
                     std::vector<std::string_view>& words) {
  std::array<bool, kMostDepth> object;
  size_t depth = 0;
  JsonToken part;
  bool value_next = true;  // else a comma or closing bracket
  for (;;) {
    at = skipSpaces(at, end);
    if (at >= end) return JsonFault::kIncomplete;
    const char c = *at;
    if (!value_next) {
      if (c == (object[depth - 1] ? '}' : ']')) {
        ++at;
        if (--depth == 0) return JsonFault::kNone;
        continue;
      }
      if (c != ',') return JsonFault::kSyntax;
      at = skipSpaces(at + 1, end);
      if (at >= end) return JsonFault::kIncomplete;
      if (*at == '}' || *at == ']') return JsonFault::kSyntax;
      value_next = true;
    } else if (c == '{' || c == '[') {
      if (depth == kMostDepth) return JsonFault::kDepth;
      object[depth++] = c == '{';
      at = skipSpaces(at + 1, end);
      if (at >= end) return JsonFault::kIncomplete;
      if (*at == (c == '{' ? '}' : ']')) {
        value_next = false;
        continue;
      }
    } else {
      const char* const plain = at;
      const JsonFault fault = scanPlain(at, end, part, mended);
      if (fault != JsonFault::kNone) {
        const size_t bytes = fault == JsonFault::kSyntax ? noNumberBytes(plain, end) : 0;
        if (bytes == 0) return fault;
        if (mended == nullptr) return JsonFault::kNumber;
        words.emplace_back(plain, bytes);
        at = plain + bytes;
      }
      value_next = false;
      continue;
    }
    if (!object[depth - 1]) continue;
    if (*at != '"') return JsonFault::kSyntax;
    if (const JsonFault fault = scanText(at, end, part, mended); fault != JsonFault::kNone) {
      return fault;
    }
    at = skipSpaces(at, end);
    if (at >= end) return JsonFault::kIncomplete;
    if (*at != ':') return JsonFault::kSyntax;
    ++at;
  }
}

/// Strips spaces, which may surround numbers in quotes: Ascend writes "17669.780\t".
std::string_view withoutSpaces(std::string_view text) {
  const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  const auto isEscaped = [](std::string_view two) {
    return two == "\\t" || two == "\\n" || two == "\\r";
  };
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty()) {
    if (isSpace(text.back())) {
      text.remove_suffix(1);
    } else if (text.size() >= 2 && isEscaped(text.substr(text.size() - 2))) {
      text.remove_suffix(2);
    } else {
      break;
    }
  }
  return text;
}

/// The parts of a JSON number.
struct NumberParts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
};

/// Returns false if `text` is not a number, or something follows it.
bool splitNumber(std::string_view text, NumberParts& parts) {
  const auto takeDigits = [&] {
    size_t digits = 0;
    while (digits < text.size() && isDigit(text[digits])) ++digits;
    const std::string_view taken = text.substr(0, digits);
    text.remove_prefix(digits);
    return taken;
  };
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text.front()) == std::string_view::npos) return '\0';
    const char c = text.front();
    text.remove_prefix(1);
    return c;
  };
  parts.negative = take("-") != '\0';
  parts.whole = takeDigits();
  if (parts.whole.empty()) return false;
  if (take(".") != '\0') {
    parts.fraction = takeDigits();
    if (parts.fraction.empty()) return false;
  }
  if (take("eE") != '\0') {
    constexpr int kFarBeyond = 1'000'000;  // no 64-bit number has such an exponent
    const bool down = take("+-") == '-';
    const std::string_view digits = takeDigits();
    if (digits.empty()) return false;
    for (const char c : digits) {
      parts.exponent = std::min(parts.exponent * 10 + (c - '0'), kFarBeyond);
    }
    if (down) parts.exponent = -parts.exponent;
  }
  return text.empty();
}

/// Fast path of scaledInteger() with rounding, for the most common form: digits, a point, digits.
/// Returns false for other forms.
bool scaledPlain(std::string_view text, int zeros, int64_t& result) {
  constexpr std::ptrdiff_t kFewDigits = 15;
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  const char* const first = at;
  int64_t sum = 0;
  for (; at < end && isDigit(*at); ++at) {
    if (at - first >= kFewDigits) return false;
    sum = sum * 10 + (*at - '0');
  }
  if (at == first || end - at < 2 || *at != '.' || !isDigit(at[1])) return false;
  ++at;
  for (; zeros > 0; --zeros) sum = sum * 10 + (at < end && isDigit(*at) ? *at++ - '0' : 0);
  if (at < end && *at >= '5' && isDigit(*at)) ++sum;
  while (at < end && isDigit(*at)) ++at;
  if (at < end) return false;
  result = negative ? -sum : sum;
  return true;
}

/// Computes a number times 10^`zeros` exactly. Remaining decimals are dropped, or `rounded` to the
/// nearest integer, halves away from zero. Returns false if it is not a number or does not fit in
/// 64 bits.
bool scaledInteger(const JsonToken& token, int zeros, bool rounded, int64_t& result) {
  NumberParts parts;
  if (!splitNumber(token.text ? withoutSpaces(token.raw) : token.raw, parts)) return false;
  const auto whole = static_cast<int64_t>(parts.whole.size());
  const int64_t digits = whole + static_cast<int64_t>(parts.fraction.size());
  const auto digit = [&](int64_t i) {
    return i < whole ? parts.whole[static_cast<size_t>(i)] - '0'
                     : parts.fraction[static_cast<size_t>(i - whole)] - '0';
  };
  const int64_t point = whole + parts.exponent + zeros;  // number of digits before it
  int64_t sum = 0;  // negative, because that range has one more value
  for (int64_t i = 0; i < point; ++i) {
    if (i >= digits && sum == 0) break;
    if (__builtin_mul_overflow(sum, 10, &sum)) return false;
    if (i < digits && __builtin_sub_overflow(sum, digit(i), &sum)) return false;
  }
  const bool up = rounded && point >= 0 && point < digits && digit(point) >= 5;
  if (up && __builtin_sub_overflow(sum, 1, &sum)) return false;
  if (!parts.negative && __builtin_sub_overflow(0, sum, &sum)) return false;
  result = sum;
  return true;
}

void appendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::string_view describe(JsonFault fault) {
  switch (fault) {
    case JsonFault::kNone:
      return "nothing";
    case JsonFault::kIncomplete:
      return "it does not end";
    case JsonFault::kControl:
      return "a control character within a text";
    case JsonFault::kUtf8:
      return "a text that is not UTF-8";
    case JsonFault::kNumber:
      return "a number that is NaN or infinite";
    case JsonFault::kDepth:
      return "lists and objects are nested deeper than 1,024 levels";
    case JsonFault::kSyntax:
      return "it is not JSON";
  }
  return "";
}

SourceGap keptAs(JsonType type) {
  switch (type) {
    case JsonType::kInteger:
      return SourceGap::kInteger;
    case JsonType::kDecimal:
      return SourceGap::kDecimal;
    case JsonType::kText:
      return SourceGap::kText;
    case JsonType::kOther:
      break;
  }
  return SourceGap::kJson;
}

JsonFault scanText(const char*& at, const char* end, JsonToken& token, JsonMending* mended) {
  const char* const begin = at + 1;
  const char* p = begin;
  bool escaped = false;
  bool whole = true;
  for (;;) {
    p = plainEnd(p);
    if (p >= end) return JsonFault::kIncomplete;
    const char c = *p;
    if (c == '"') break;
    if (c == '\\') {
      escaped = true;
      at = p++;
      if (const JsonFault fault = scanEscape(p, end, whole); fault != JsonFault::kNone) {
        return fault;
      }
    } else if (static_cast<uint8_t>(c) < ' ') {
      at = p;
      if (mended == nullptr) return JsonFault::kControl;
      *const_cast<char*>(p++) = ' ';  // NOLINT: repair requested by the caller
      ++mended->controls;
    } else if (const size_t bytes = characterBytes(p, end); bytes != 0) {
      p += bytes;
    } else if (end - p < 4) {
      return JsonFault::kIncomplete;
    } else {
      at = p;
      if (mended == nullptr) return JsonFault::kUtf8;
      *const_cast<char*>(p++) = '?';  // NOLINT: repair requested by the caller
      ++mended->bytes;
    }
  }
  token.raw = {begin, static_cast<size_t>(p - begin)};
  token.type = whole ? JsonType::kText : JsonType::kOther;
  token.text = true;
  token.escaped = escaped;
  at = p + 1;
  return JsonFault::kNone;
}

JsonFault scanValue(const char*& at, const char* end, JsonToken& token, JsonMending* mended) {
  if (at >= end) return JsonFault::kIncomplete;
  const char c = *at;
  token.text = false;
  token.escaped = false;
  if (c == '"') return scanText(at, end, token, mended);
  if (isDigit(c) || (c == '-' && (isDigit(at[1]) || at + 1 == end))) {
    return scanNumber(at, end, token);
  }
  const char* const begin = at;
  std::vector<std::string_view> words;  // NaN and infinities
  const JsonFault fault =
      c == '{' || c == '[' ? scanNested(at, end, mended, words) : scanPlain(at, end, token, mended);
  token.type = JsonType::kOther;
  token.text = false;
  token.escaped = false;
  token.raw = {begin, static_cast<size_t>(at - begin)};
  if (fault == JsonFault::kNone && !words.empty()) {
    std::string& text = mended->texts.emplace_back();
    const char* from = begin;
    for (const std::string_view word : words) {
      text.append(from, word.data()).append("null");
      from = word.data() + word.size();
    }
    text.append(from, at);
    mended->numbers += words.size();
    token.raw = text;
  }
  if (fault != JsonFault::kSyntax) return fault;
  if (const size_t bytes = noNumberBytes(begin, end); bytes != 0) {
    if (mended == nullptr) return JsonFault::kNumber;
    ++mended->numbers;
    token.raw = "null";
    at = begin + bytes;
    return JsonFault::kNone;
  }
  return fault;
}

std::string_view textOf(const JsonToken& token, std::string& room) {
  if (!token.escaped) return token.raw;
  room.clear();
  const std::string_view raw = token.raw;
  const char* const end = raw.data() + raw.size();
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      room += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c != 'u') {
      constexpr std::string_view kNames = "bfnrt";
      constexpr std::string_view kMeanings = "\b\f\n\r\t";
      const size_t known = kNames.find(c);
      room += known == std::string_view::npos ? c : kMeanings[known];
      continue;
    }
    int32_t code = hexadecimal(raw.data() + i + 1, end);
    if (code < 0) {
      room += "\\u";
      continue;
    }
    i += 4;
    if (isHighHalf(code) && raw.substr(i + 1, 2) == "\\u") {
      const int32_t low = hexadecimal(raw.data() + i + 3, end);
      if (isLowHalf(low)) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    const bool half = code >= 0xd800 && code < 0xe000;
    appendUtf8(room, half ? 0xfffd : static_cast<uint32_t>(code));
  }
  return room;
}

int64_t JsonToken::integer(int64_t missing) const {
  if (type == JsonType::kInteger) return value;
  int64_t whole = 0;
  return scaledInteger(*this, 0, false, whole) ? whole : missing;
}

bool JsonToken::nanoseconds(int64_t unit_ns, int64_t& ns) const {
  if (type == JsonType::kInteger) return !__builtin_mul_overflow(value, unit_ns, &ns);
  if (type == JsonType::kDecimal && unit_ns == 1000) {
    ns = value;
    return true;
  }
  const int zeros = unit_ns == 1000 ? 3 : 0;
  return scaledPlain(raw, zeros, ns) || scaledInteger(*this, zeros, true, ns);
}

}  // namespace tracesmith::import
