// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_source/constant_expression.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tracesmith::races {
namespace {

constexpr int kDeepestExpression = 64;

using Value = std::optional<Constant>;

double realOf(const Constant& c) { return c.is_real ? c.real : static_cast<double>(c.whole); }
Value truth(bool b) { return Constant{.whole = b ? 1 : 0}; }

/// Empty if the value depends on the type: beyond int it may wrap around or become a long, and a
/// negative unsigned is a large number.
Value wholeNumber(int64_t v, bool is_unsigned = false) {
  if (v > INT32_MAX || v < (is_unsigned ? 0 : INT32_MIN)) return {};
  return Constant{.whole = v, .is_unsigned = is_unsigned};
}

/// True if every floating-point type, including half, represents this number exactly.
bool isExact(double v) {
  constexpr double kLargest = 1024, kSteps = 1024;  // an 11-bit significand covers both limits
  const double magnitude = std::abs(v);
  if (magnitude > kLargest) return false;
  int exponent = 0;
  const double significand = std::frexp(magnitude, &exponent) * 2 * kSteps;
  return v == 0 || (exponent > -13 && significand == std::floor(significand));
}

/// Empty if some floating-point type may turn it into 0 or infinity.
Value realNumber(double v) {
  constexpr double kSmallest = 1e-4, kLargest = 6e4;  // range of half
  const double magnitude = std::abs(v);
  if (v != 0 && (magnitude < kSmallest || magnitude > kLargest)) return {};
  return Constant{.real = v, .is_real = true};
}

struct ScalarType {
  bool is_bool = false;
  bool is_unsigned = false;  // only if at least as wide as int: narrower types become int
  int64_t least = INT32_MIN;
  int64_t most = INT32_MAX;
};

bool isScalarType(const Token& t) {
  static const std::unordered_set<std::string_view> kTypes = {
      "bool", "char",  "uchar",  "short",  "ushort",   "int",  "uint",
      "long", "ulong", "size_t", "signed", "unsigned", "const"};
  return t.kind == TokenKind::kWord && kTypes.contains(t.text);
}

ScalarType scalarType(std::span<const Token> words) {
  const auto has = [&](std::string_view word) {
    return std::any_of(words.begin(), words.end(), [&](const Token& t) { return t.is(word); });
  };
  const bool is_unsigned = has("unsigned") || has("uchar") || has("ushort") || has("uint") ||
                           has("ulong") || has("size_t");
  if (has("bool")) return {.is_bool = true};
  if (has("char") || has("uchar")) {
    return {.least = is_unsigned ? 0 : INT8_MIN, .most = is_unsigned ? UINT8_MAX : INT8_MAX};
  }
  if (has("short") || has("ushort")) {
    return {.least = is_unsigned ? 0 : INT16_MIN, .most = is_unsigned ? UINT16_MAX : INT16_MAX};
  }
  return {.is_unsigned = is_unsigned};
}

Value castTo(const ScalarType& type, const Value& value) {
  if (!value) return {};
  if (type.is_bool) return truth(value->isTrue());
  if (value->is_real && std::abs(value->real) > INT32_MAX) return {};
  if (value->is_real && !isExact(value->real)) return {};  // 0.999999 may have become 1
  const int64_t whole =
      value->is_real ? static_cast<int64_t>(std::trunc(value->real)) : value->whole;
  if (whole < type.least || whole > type.most) return {};
  return wholeNumber(whole, type.is_unsigned);
}

Value numberOf(std::string_view text) {
  const bool hex = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
  const std::string_view digits = text.substr(hex ? 2 : 0);
  const bool octal = !hex && digits.size() > 1 && digits[0] == '0';
  int64_t whole = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, whole, hex ? 16 : octal ? 8 : 10);
  bool is_whole = parsed.ec == std::errc();
  bool is_unsigned = false;
  for (const char* c = parsed.ptr; is_whole && c != end; ++c) {
    is_unsigned |= *c == 'u' || *c == 'U';
    is_whole = *c == 'u' || *c == 'U' || *c == 'l' || *c == 'L';
  }
  if (is_whole) return wholeNumber(whole, is_unsigned);
  if (hex) return {};
  double real = 0;
  const auto as_real = std::from_chars(digits.data(), end, real);
  if (as_real.ec != std::errc()) return {};
  for (const char* c = as_real.ptr; c != end; ++c) {
    if (*c != 'f' && *c != 'F' && *c != 'h' && *c != 'H') return {};
  }
  return realNumber(real);
}

Value applyReal(std::string_view op, double a, double b) {
  constexpr double kFarApart = 0.01;  // more than any rounding error of one number
  const bool exact = isExact(a) && isExact(b);
  if (!exact && std::abs(a - b) <= kFarApart * std::max(std::abs(a), std::abs(b))) return {};
  if (op == "==") return truth(a == b);
  if (op == "!=") return truth(a != b);
  if (op == "<") return truth(a < b);
  if (op == ">") return truth(a > b);
  if (op == "<=") return truth(a <= b);
  if (op == ">=") return truth(a >= b);
  if (!exact) return {};
  const auto exactly = [](double v) { return isExact(v) ? realNumber(v) : Value(); };
  if (op == "+") return exactly(a + b);
  if (op == "-") return exactly(a - b);
  if (op == "*") return exactly(a * b);
  if (op == "/" && b != 0) return exactly(a / b);
  return {};
}

Value applyInteger(std::string_view op, const Constant& left, const Constant& right) {
  const int64_t a = left.whole, b = right.whole;  // both within int: nothing below overflows
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  if (op == "<<" || op == ">>") {
    if (a < 0 || b < 0 || b > 30) return {};
    return wholeNumber(op == "<<" ? a << b : a >> b, left.is_unsigned);
  }
  if (is_unsigned && (a < 0 || b < 0)) return {};
  if (op == "==") return truth(a == b);
  if (op == "!=") return truth(a != b);
  if (op == "<") return truth(a < b);
  if (op == ">") return truth(a > b);
  if (op == "<=") return truth(a <= b);
  if (op == ">=") return truth(a >= b);
  if (op == "|") return wholeNumber(a | b, is_unsigned);
  if (op == "^") return wholeNumber(a ^ b, is_unsigned);
  if (op == "&") return wholeNumber(a & b, is_unsigned);
  if (op == "+") return wholeNumber(a + b, is_unsigned);
  if (op == "-") return wholeNumber(a - b, is_unsigned);
  if (op == "*") return wholeNumber(a * b, is_unsigned);
  if (b == 0) return {};
  return wholeNumber(op == "/" ? a / b : a % b, is_unsigned);
}

/// Result of `? :`; the type depends on both sides.
Value chosen(const Value& taken, const Value& other) {
  if (!taken || !other || taken->is_real != other->is_real) return {};
  if (taken->is_real) return taken;
  return wholeNumber(taken->whole, taken->is_unsigned || other->is_unsigned);
}

class Evaluator {
 public:
  Evaluator(std::span<const Token> tokens, const ConstantOfName& names)
      : tokens_(tokens), names_(names) {}

  Value all() {
    const Value value = expression(0, 0);
    return ok_ && at_ == tokens_.size() ? value : std::nullopt;
  }

 private:
  bool isEnd() const { return at_ >= tokens_.size(); }
  bool accept(std::string_view sign) {
    if (isEnd() || !tokens_[at_].is(sign)) return false;
    ++at_;
    return true;
  }
  std::nullopt_t wrong() {
    ok_ = false;
    return std::nullopt;
  }

  /// An unknown value is empty, and parsing continues: 0 && x is 0.
  Value expression(int least, int depth) {
    static const std::unordered_map<std::string_view, int> kPrecedence = {
        {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
        {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
        {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
    if (isEnd() || depth > kDeepestExpression) return wrong();
    Value left = operand(depth);
    while (ok_ && !isEnd()) {
      const auto place = kPrecedence.find(tokens_[at_].text);
      if (place == kPrecedence.end() || place->second <= least) break;
      ++at_;
      left = apply(place->first, left, expression(place->second, depth + 1));
    }
    if (least == 0 && ok_ && accept("?")) {
      const Value yes = expression(0, depth + 1);
      if (!accept(":")) return wrong();
      const Value no = expression(0, depth + 1);
      if (!left) return {};
      return left->isTrue() ? chosen(yes, no) : chosen(no, yes);
    }
    return left;
  }

  Value operand(int depth) {
    constexpr int kUnary = 100;
    const Token& first = tokens_[at_++];
    if (first.is("(")) {
      size_t type_end = at_;
      while (type_end < tokens_.size() && isScalarType(tokens_[type_end])) ++type_end;
      if (type_end > at_ && type_end < tokens_.size() && tokens_[type_end].is(")")) {
        const ScalarType type = scalarType(tokens_.subspan(at_, type_end - at_));
        at_ = type_end + 1;
        return castTo(type, expression(kUnary, depth + 1));
      }
      const Value value = expression(0, depth + 1);
      if (!accept(")")) return wrong();
      return value;
    }
    if (first.is("!") || first.is("-") || first.is("+") || first.is("~")) {
      const Value value = expression(kUnary, depth + 1);
      if (!value || first.is("+")) return value;
      if (first.is("!")) return truth(!value->isTrue());
      if (value->is_real) return first.is("-") ? realNumber(-value->real) : wrong();
      return wholeNumber(first.is("~") ? ~value->whole : -value->whole, value->is_unsigned);
    }
    if (first.kind == TokenKind::kNumber) return numberOf(first.text);
    if (first.kind != TokenKind::kWord) return wrong();
    const size_t behind_name = at_;
    skipAccess();
    return at_ == behind_name ? names_(first.text) : std::nullopt;
  }

  /// Skips the arguments of a call, subscripts and members.
  void skipAccess() {
    while (!isEnd()) {
      if (tokens_[at_].is(".") || tokens_[at_].is("->")) {
        at_ = std::min(at_ + 2, tokens_.size());
        continue;
      }
      if (!tokens_[at_].is("(") && !tokens_[at_].is("[")) return;
      int open = 0;
      do {
        const Token& t = tokens_[at_++];
        if (t.is("(") || t.is("[")) ++open;
        if (t.is(")") || t.is("]")) --open;
      } while (open > 0 && !isEnd());
      if (open > 0) ok_ = false;
    }
  }

  static Value apply(std::string_view op, const Value& a, const Value& b) {
    if (op == "||" || op == "&&") {
      const bool decides = op == "||";  // the left value that makes the right side irrelevant
      if ((a && a->isTrue() == decides) || (b && b->isTrue() == decides)) {
        return truth(decides);
      }
      return a && b ? truth(!decides) : std::nullopt;
    }
    if (!a || !b) return {};
    return a->is_real || b->is_real ? applyReal(op, realOf(*a), realOf(*b))
                                    : applyInteger(op, *a, *b);
  }

  std::span<const Token> tokens_;
  const ConstantOfName& names_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<Constant> constantOf(std::span<const Token> tokens, const ConstantOfName& names) {
  return Evaluator(tokens, names).all();
}

std::optional<Constant> constantAs(std::span<const Token> type, const Constant& value) {
  static const std::unordered_set<std::string_view> kQualifiers = {
      "const", "constant", "__constant", "static", "private", "__private"};
  static const std::unordered_set<std::string_view> kReals = {"half", "float", "double"};
  bool is_real = false, is_whole = false;
  for (const Token& word : type) {
    if (word.kind != TokenKind::kWord) return {};
    if (kQualifiers.contains(word.text)) continue;
    is_real |= kReals.contains(word.text);
    is_whole |= isScalarType(word);
    if (!kReals.contains(word.text) && !isScalarType(word)) return {};
  }
  if (is_real == is_whole) return {};
  if (is_whole) return castTo(scalarType(type), value);
  return value.is_real ? Value(value) : realNumber(static_cast<double>(value.whole));
}

std::optional<Constant> constantOfBytes(std::span<const Token> type,
                                        std::span<const uint8_t> bytes) {
  const auto has = [&](std::string_view word) {
    return std::any_of(type.begin(), type.end(), [&](const Token& t) { return t.is(word); });
  };
  const auto load = [&]<class T>(T number) {
    if (bytes.size() != sizeof number) return Value();
    std::memcpy(&number, bytes.data(), sizeof number);
    if constexpr (std::is_floating_point_v<T>) {
      // Devices may flush smaller numbers to 0, and compilers may assume that NaN and infinity
      // never occur.
      const Value real = std::isfinite(number) ? realNumber(number) : Value();
      return real ? constantAs(type, *real) : real;
    } else {
      if (!std::in_range<int32_t>(number)) return Value();
      return constantAs(type, {.whole = static_cast<int64_t>(number)});
    }
  };
  const bool is_unsigned = has("unsigned");
  // Not valid as arguments, or of unknown size.
  if (has("bool") || has("half") || has("size_t")) return {};
  if (has("double")) return load(double{});
  if (has("float")) return load(float{});
  if (has("uchar") || (has("char") && is_unsigned)) return load(uint8_t{});
  if (has("char")) return load(int8_t{});
  if (has("ushort") || (has("short") && is_unsigned)) return load(uint16_t{});
  if (has("short")) return load(int16_t{});
  if (has("ulong") || (has("long") && is_unsigned)) return load(uint64_t{});
  if (has("long")) return load(int64_t{});
  if (has("uint") || is_unsigned) return load(uint32_t{});
  return load(int32_t{});  // constantAs() returns nothing for types unknown to the language
}

}  // namespace tracesmith::races
