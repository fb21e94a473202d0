// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/pickle_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "tracesmith/import/common/source_numbers.hpp"

namespace tracesmith::import {
namespace {

/// A value of one byte in the pickle takes 64 in memory.
constexpr size_t kMostPickleValues = 4u << 20;
/// Python's integers have no limit; converting one to decimal digits takes time squared.
constexpr size_t kLongestInteger = 64;
constexpr uint8_t kHighestProtocol = 5;

void appendUtf8(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Reads hexadecimal digits; nullopt unless there are that many.
std::optional<uint32_t> hexDigits(std::string_view text, size_t digits) {
  uint32_t value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return value;
}

/// Decimal digits of a little-endian two's complement integer.
std::string decimalOf(std::string_view bytes) {
  std::string number(bytes);
  const bool negative = !number.empty() && (static_cast<uint8_t>(number.back()) & 0x80) != 0;
  if (negative) {
    uint32_t carry = 1;
    for (char& c : number) {
      carry += static_cast<uint8_t>(~c);
      c = static_cast<char>(carry);
      carry >>= 8;
    }
  }
  std::string digits;
  while (!number.empty()) {
    uint32_t rest = 0;
    for (size_t i = number.size(); i-- > 0;) {
      rest = rest << 8 | static_cast<uint8_t>(number[i]);
      number[i] = static_cast<char>(rest / 10);
      rest %= 10;
    }
    digits += static_cast<char>('0' + rest);
    while (!number.empty() && number.back() == '\0') number.pop_back();
  }
  if (digits.empty()) digits = "0";
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// The character that stands for an escape of one letter, as in '\n'; 0: there is none.
char escapedLetter(char letter) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
  const size_t at = kLetters.find(letter);
  return at == std::string_view::npos ? '\0' : kMeanings[at];
}

}  // namespace

std::string_view Pickle::Reader::objectOpcode(uint8_t opcode) {
  switch (opcode) {
    case 'c':
      return "GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x81:
      return "NEWOBJ";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 0x92:
      return "NEWOBJ_EX";
    case 0x93:
      return "STACK_GLOBAL";
    case 0x97:
      return "NEXT_BUFFER";
    case 0x98:
      return "READONLY_BUFFER";
    default:
      return "";
  }
}

Status Pickle::Reader::run() {
  Step result = Step::kNext;
  while (result == Step::kNext) {
    opcode_at_ = at_;
    if (at_ == bytes_.size()) {
      result = failed("the pickle ends too early");
      break;
    }
    const auto opcode = static_cast<uint8_t>(bytes_[at_++]);
    if (const std::string_view name = objectOpcode(opcode); !name.empty()) {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("holds an object other than plain data (opcode {} at byte {}). Loading "
                      "such an object in Python can run code, so it is not read",
                      name, opcode_at_));
    }
    result = step(opcode);
  }
  to_.used_bytes_ = result == Step::kFailed ? opcode_at_ : at_;
  if (result == Step::kFailed) salvage();
  if (stack_.empty()) {
    return fail(ErrorCode::kNotATrace,
                "is a pickle without a value" +
                    (to_.problem_.empty() ? std::string() : ": " + to_.problem_));
  }
  to_.root_ = result == Step::kFailed ? stack_.front() : stack_.back();
  return {};
}

Pickle::Reader::Step Pickle::Reader::failed(std::string why) {
  to_.problem_ = std::move(why);
  return Step::kFailed;
}

void Pickle::Reader::salvage() {
  if (!stack_.empty()) {  // a container of which nothing but the start was read
    PickleValue& last = to_.values_[stack_.back()];
    const bool is_container = last.kind == PickleKind::kDict || last.kind == PickleKind::kList;
    last.is_cut = last.is_cut || (is_container && last.items.empty());
  }
  while (!marks_.empty()) {
    const size_t from = marks_.back();
    marks_.pop_back();
    if (from > 0) {
      PickleValue& around = to_.values_[stack_[from - 1]];
      if (around.kind == PickleKind::kDict && (stack_.size() - from) % 2 != 0) stack_.pop_back();
      add(stack_[from - 1], around.kind, from);
    }
    stack_.resize(std::min(stack_.size(), std::max<size_t>(from, 1)));
  }
  // What is left was to be added one by one: a dict, a key and its value, a list in that, and so
  // on.
  while (stack_.size() > 1) {
    const uint32_t last = stack_.back();
    const size_t before = stack_.size() - 2;
    const PickleKind kind = to_.values_[stack_[before]].kind;
    if (kind == PickleKind::kList) {
      add(stack_[before], kind, before + 1);
    } else if (before > 0 && to_.values_[stack_[before - 1]].kind == PickleKind::kDict) {
      add(stack_[before - 1], PickleKind::kDict, before);
      stack_.pop_back();
    }
    stack_.pop_back();
    to_.values_[last].is_cut = true;
  }
}

// --- Reading bytes ---------------------------------------------------------------------------

std::optional<std::string_view> Pickle::Reader::take(uint64_t bytes) {
  if (bytes > bytes_.size() - at_) return std::nullopt;
  const std::string_view taken = bytes_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

std::optional<uint64_t> Pickle::Reader::number(size_t bytes) {
  const std::optional<std::string_view> raw = take(bytes);
  if (!raw) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= uint64_t{static_cast<uint8_t>((*raw)[i])} << 8 * i;
  }
  return value;
}

std::optional<std::string_view> Pickle::Reader::counted(size_t length_bytes) {
  const std::optional<uint64_t> length = number(length_bytes);
  return length ? take(*length) : std::nullopt;
}

/// Up to the next line feed, which is not part of it.
std::optional<std::string_view> Pickle::Reader::line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// --- Values ----------------------------------------------------------------------------------

Pickle::Reader::Step Pickle::Reader::push(PickleValue value) {
  if (to_.values_.size() >= kMostPickleValues) {
    return failed(fmt::format("the pickle holds more than {} values", kMostPickleValues));
  }
  stack_.push_back(static_cast<uint32_t>(to_.values_.size()));
  to_.values_.push_back(std::move(value));
  return Step::kNext;
}

Pickle::Reader::Step Pickle::Reader::pushText(PickleKind kind,
                                              std::optional<std::string_view> text) {
  if (!text) return failed("the pickle ends within a text");
  return push({.kind = kind, .text = *text});
}

Pickle::Reader::Step Pickle::Reader::pushOwned(PickleKind kind, std::string text) {
  return push({.kind = kind, .text = to_.texts_.emplace_back(std::move(text))});
}

Pickle::Reader::Step Pickle::Reader::pushLong(std::optional<std::string_view> little_endian) {
  if (!little_endian) return failed("the pickle ends within an integer");
  const std::string_view raw = *little_endian;
  if (raw.size() > kLongestInteger) return failed("an integer of too many digits");
  if (raw.size() > sizeof(uint64_t)) {
    return pushOwned(PickleKind::kLargeInteger, decimalOf(raw));
  }
  uint64_t value = 0;
  for (size_t i = 0; i < raw.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(raw[i])} << 8 * i;
  }
  const bool negative = !raw.empty() && (static_cast<uint8_t>(raw.back()) & 0x80) != 0;
  if (negative && raw.size() < sizeof(uint64_t)) value |= ~uint64_t{0} << 8 * raw.size();
  return pushInteger(static_cast<int64_t>(value));
}

/// Of LONG and INT: "123", or "123L".
Pickle::Reader::Step Pickle::Reader::pushDecimal(std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
    return failed("this is not an integer");
  }
  if (error == std::errc()) return pushInteger(value);
  if (digits.size() > kLongestInteger) return failed("an integer of too many digits");
  return push({.kind = PickleKind::kLargeInteger, .text = digits});
}

Pickle::Reader::Step Pickle::Reader::pushInt(std::string_view text) {
  if (text == "00" || text == "01") {  // how protocols 0 and 1 write False and True
    return push({.kind = PickleKind::kBool, .integer = text == "01" ? 1 : 0});
  }
  return pushDecimal(text);
}

Pickle::Reader::Step Pickle::Reader::pushFloat(std::string_view text) {
  const std::optional<double> value = realNumber(text);
  if (value) return push({.kind = PickleKind::kReal, .real = *value});
  for (const std::string_view odd : {"nan", "inf", "-inf"}) {
    if (text == odd) return push({.kind = PickleKind::kNone});  // JSON has no such numbers
  }
  return failed("this is not a number");
}

/// Of STRING, which Python 2 wrote: a text in quotes, with escapes.
Pickle::Reader::Step Pickle::Reader::pushQuoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') ||
      text.back() != text.front()) {
    return failed("a text without quotes");
  }
  text = text.substr(1, text.size() - 2);
  if (text.find('\\') == std::string_view::npos) return pushText(PickleKind::kText, text);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char letter = text[++i];
    if (letter == 'x') {
      const std::optional<uint32_t> code = hexDigits(text.substr(i + 1), 2);
      if (!code) return failed("a text with a broken escape");
      plain += static_cast<char>(*code);
      i += 2;
    } else if (const char meaning = escapedLetter(letter); meaning != '\0') {
      plain += meaning;
    } else {
      plain += '\\';
      plain += letter;
    }
  }
  return pushOwned(PickleKind::kText, std::move(plain));
}

/// Of UNICODE: Latin-1 with escapes for all other characters.
Pickle::Reader::Step Pickle::Reader::pushEscaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'u' || text[i + 1] == 'U');
    if (!escaped) {
      appendUtf8(static_cast<uint8_t>(text[i]), plain);
      continue;
    }
    const size_t digits = text[i + 1] == 'u' ? 4 : 8;
    const std::optional<uint32_t> code = hexDigits(text.substr(i + 2), digits);
    if (!code || *code > 0x10ffff) return failed("a text with a broken escape");
    appendUtf8(*code, plain);
    i += 1 + digits;
  }
  return pushOwned(PickleKind::kText, std::move(plain));
}

Pickle::Reader::Step Pickle::Reader::pushTuple(size_t items) {
  if (available() < items) return failed("a tuple of more values than there are");
  PickleValue tuple{.kind = PickleKind::kList};
  tuple.items.assign(stack_.end() - static_cast<ptrdiff_t>(items), stack_.end());
  stack_.resize(stack_.size() - items);
  return push(std::move(tuple));
}

/// A container of the values since the last mark.
Pickle::Reader::Step Pickle::Reader::pushMarked(PickleKind kind) {
  if (marks_.empty()) return failed("the end of a container without its start");
  const size_t items = available();
  if (kind == PickleKind::kDict && items % 2 != 0) return failed("a dict with a key and no value");
  marks_.pop_back();
  const Step done = pushTuple(items);
  if (done == Step::kNext) to_.values_[stack_.back()].kind = kind;
  return done;
}

bool Pickle::Reader::add(uint32_t container, PickleKind kind, size_t from) {
  PickleValue& to = to_.values_[container];
  const bool is_container = to.kind == PickleKind::kDict || to.kind == PickleKind::kList;
  to.is_cut = to.is_cut || !to_.problem_.empty();
  if (to.kind != kind || !is_container) return false;
  to.items.insert(to.items.end(), stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
  return true;
}

Pickle::Reader::Step Pickle::Reader::addMarked(PickleKind kind) {
  if (marks_.empty()) return failed("the end of a container without its start");
  const size_t from = marks_.back();
  if (from == 0) return failed("values without a container to add them to");
  if (kind == PickleKind::kDict && (stack_.size() - from) % 2 != 0) {
    return failed("a dict with a key and no value");
  }
  if (!add(stack_[from - 1], kind, from))
    return failed("values for something that cannot contain them");
  marks_.pop_back();
  stack_.resize(from);
  return Step::kNext;
}

Pickle::Reader::Step Pickle::Reader::store(std::optional<uint64_t> place) {
  if (!place) return failed("the pickle ends within a number");
  if (available() == 0) return failed("nothing to remember");
  memo_[*place] = stack_.back();
  return Step::kNext;
}

Pickle::Reader::Step Pickle::Reader::load(std::optional<uint64_t> place) {
  if (!place) return failed("the pickle ends within a number");
  const auto found = memo_.find(*place);
  if (found == memo_.end()) return failed("a reference to a value that was not stored");
  stack_.push_back(found->second);
  return Step::kNext;
}

// --- Opcodes ---------------------------------------------------------------------------------

Pickle::Reader::Step Pickle::Reader::scalar(uint8_t opcode) {
  const auto integer = [&](size_t bytes, bool is_signed) {
    const std::optional<uint64_t> value = number(bytes);
    if (!value) return failed("the pickle ends within an integer");
    return pushInteger(is_signed ? int64_t{static_cast<int32_t>(*value)}
                                 : static_cast<int64_t>(*value));
  };
  const auto ofLine = [&](Step (Reader::*push_line)(std::string_view)) {
    const std::optional<std::string_view> text = line();
    return text ? (this->*push_line)(*text) : failed("the pickle ends within a line");
  };
  switch (opcode) {
    case 'N':  // NONE
      return push({.kind = PickleKind::kNone});
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push({.kind = PickleKind::kBool, .integer = opcode == 0x88 ? 1 : 0});
    case 'I':  // INT
      return ofLine(&Reader::pushInt);
    case 'L':  // LONG
      return ofLine(&Reader::pushDecimal);
    case 'J':  // BININT
      return integer(4, true);
    case 'K':  // BININT1
      return integer(1, false);
    case 'M':  // BININT2
      return integer(2, false);
    case 0x8a:  // LONG1
      return pushLong(counted(1));
    case 0x8b:  // LONG4
      return pushLong(counted(4));
    case 'F':  // FLOAT
      return ofLine(&Reader::pushFloat);
    case 'G': {  // BINFLOAT, big-endian
      const std::optional<uint64_t> bits = number(8);
      if (!bits) return failed("the pickle ends within a number");
      return push(
          {.kind = PickleKind::kReal, .real = std::bit_cast<double>(__builtin_bswap64(*bits))});
    }
    case 'S':  // STRING
      return ofLine(&Reader::pushQuoted);
    case 'V':  // UNICODE
      return ofLine(&Reader::pushEscaped);
    case 'U':   // SHORT_BINSTRING
    case 0x8c:  // SHORT_BINUNICODE
      return pushText(PickleKind::kText, counted(1));
    case 'T':  // BINSTRING
    case 'X':  // BINUNICODE
      return pushText(PickleKind::kText, counted(4));
    case 0x8d:  // BINUNICODE8
      return pushText(PickleKind::kText, counted(8));
    case 'C':  // SHORT_BINBYTES
      return pushText(PickleKind::kBytes, counted(1));
    case 'B':  // BINBYTES
      return pushText(PickleKind::kBytes, counted(4));
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return pushText(PickleKind::kBytes, counted(8));
    default:
      return failed(fmt::format("0x{:02x} is no opcode", opcode));
  }
}

Pickle::Reader::Step Pickle::Reader::container(uint8_t opcode) {
  switch (opcode) {
    case '}':  // EMPTY_DICT
      return push({.kind = PickleKind::kDict});
    case ']':   // EMPTY_LIST
    case ')':   // EMPTY_TUPLE
    case 0x8f:  // EMPTY_SET
      return push({.kind = PickleKind::kList});
    case 'd':  // DICT
      return pushMarked(PickleKind::kDict);
    case 'l':   // LIST
    case 't':   // TUPLE
    case 0x91:  // FROZENSET
      return pushMarked(PickleKind::kList);
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return pushTuple(opcode - 0x84);
    case 'a':  // APPEND
      if (available() < 2) return failed("a value without a list to add it to");
      if (!add(stack_[stack_.size() - 2], PickleKind::kList, stack_.size() - 1)) {
        return failed("a value for something that is not a list");
      }
      stack_.pop_back();
      return Step::kNext;
    case 's':  // SETITEM
      if (available() < 3) return failed("a value without a dict to add it to");
      if (!add(stack_[stack_.size() - 3], PickleKind::kDict, stack_.size() - 2)) {
        return failed("a value for something that is not a dict");
      }
      stack_.resize(stack_.size() - 2);
      return Step::kNext;
    case 'e':   // APPENDS
    case 0x90:  // ADDITEMS
      return addMarked(PickleKind::kList);
    case 'u':  // SETITEMS
      return addMarked(PickleKind::kDict);
    default:
      return scalar(opcode);
  }
}

Pickle::Reader::Step Pickle::Reader::registers(uint8_t opcode) {
  const auto ofLine = [&]() -> std::optional<uint64_t> {
    const std::optional<std::string_view> text = line();
    uint64_t place = 0;
    if (!text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), place);
    return error == std::errc() && end == text->data() + text->size() ? std::optional(place)
                                                                      : std::nullopt;
  };
  switch (opcode) {
    case 'p':  // PUT
      return store(ofLine());
    case 'q':  // BINPUT
      return store(number(1));
    case 'r':  // LONG_BINPUT
      return store(number(4));
    case 0x94:  // MEMOIZE
      return store(memo_.size());
    case 'g':  // GET
      return load(ofLine());
    case 'h':  // BINGET
      return load(number(1));
    case 'j':  // LONG_BINGET
      return load(number(4));
    default:
      return container(opcode);
  }
}

Pickle::Reader::Step Pickle::Reader::step(uint8_t opcode) {
  switch (opcode) {
    case '.':  // STOP
      return available() > 0 && marks_.empty() ? Step::kStop
                                               : failed("the pickle ends without a value");
    case 0x80: {  // PROTO
      const std::optional<uint64_t> protocol = number(1);
      if (!protocol) return failed("the pickle ends too early");
      return *protocol <= kHighestProtocol
                 ? Step::kNext
                 : failed(fmt::format("protocol {} of pickle is not known", *protocol));
    }
    case 0x95: {  // FRAME: how many bytes follow, for readers of streams
      const std::optional<uint64_t> length = number(8);
      return length ? Step::kNext : failed("the pickle ends too early");
    }
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return Step::kNext;
    case '0':  // POP
      if (available() == 0) {
        if (marks_.empty()) return failed("nothing to remove");
        marks_.pop_back();
        return Step::kNext;
      }
      stack_.pop_back();
      return Step::kNext;
    case '1':  // POP_MARK
      if (marks_.empty()) return failed("the end of a container without its start");
      stack_.resize(marks_.back());
      marks_.pop_back();
      return Step::kNext;
    case '2':  // DUP
      if (available() == 0) return failed("nothing to repeat");
      stack_.push_back(stack_.back());
      return Step::kNext;
    default:
      return registers(opcode);
  }
}

}  // namespace tracesmith::import
