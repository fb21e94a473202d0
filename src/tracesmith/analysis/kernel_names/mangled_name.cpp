// SPDX-License-Identifier: Apache-2.0
// Reads mangled names (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).

#include <algorithm>

#include "tracesmith/analysis/kernel_names/function_name.hpp"
#include "tracesmith/analysis/kernel_names/name_bytes.hpp"

namespace tracesmith {
namespace {

constexpr int kDeepest = 64;  // constructs within each other; real names have about 20

std::string_view builtinType(char c) {
  switch (c) {
    case 'a':
      return "signed char";
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "double";
    case 'e':
      return "long double";
    case 'f':
      return "float";
    case 'h':
      return "unsigned char";
    case 'i':
      return "int";
    case 'j':
      return "unsigned int";
    case 'l':
      return "long";
    case 'm':
      return "unsigned long";
    case 's':
      return "short";
    case 't':
      return "unsigned short";
    case 'v':
      return "void";
    case 'x':
      return "long long";
    case 'y':
      return "unsigned long long";
    default:
      return {};
  }
}

/// Descends through the grammar, one function for each construct, and writes what a reader needs.
/// Text that does not follow the grammar is skipped byte by byte.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string read() {
    name();
    return std::move(out_);
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char afterNext() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  bool atEnd() const { return at_ >= text_.size() || depth_ > kDeepest; }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view words) {
    if (!text_.substr(at_).starts_with(words)) return false;
    at_ += words.size();
    return true;
  }
  void write(std::string_view text) {
    if (muted_ == 0) out_ += text;
  }

  /// Calls f until the E that ends the construct, or the end of the text.
  template <class F>
  void untilE(F&& f) {
    ++depth_;
    while (!atEnd() && !take('E')) {
      const size_t before = at_;
      f();
      if (at_ == before) ++at_;
    }
    --depth_;
  }

  /// Like untilE, with commas between elements that write something.
  template <class F>
  void listUntilE(F&& element) {
    bool any = false;
    untilE([&] {
      const size_t before = out_.size();
      if (any) write(", ");
      const size_t begin = out_.size();
      element();
      if (out_.size() == begin) {
        out_.resize(before);
      } else {
        any = true;
      }
    });
  }

  template <class F>
  void muted(F&& f) {
    ++muted_;
    f();
    --muted_;
  }

  void name() {
    if (take('N')) return nestedName();
    if (take('Z')) return localName();
    if (take("St")) write("std::");
    if (next() == 'S') {
      backReference();
    } else {
      unqualifiedName();
    }
    if (take('I')) templateArguments();
  }

  void nestedName() {
    bool any = false;
    const auto separate = [&] {
      if (any) write("::");
      any = true;
    };
    untilE([&] {
      const char c = next();
      if (c == 'I') {
        ++at_;
        templateArguments();
      } else if (take("St")) {
        separate();
        write("std");
      } else if (c == 'S' || c == 'T') {
        backReference();
      } else if (c == 'B') {  // an ABI tag
        ++at_;
        muted([&] { sourceName(); });
      } else if (c == 'D' && (afterNext() == 't' || afterNext() == 'T')) {
        at_ += 2;
        expression();
      } else if (name_bytes::isDigit(c) || c == 'U' || isOperator()) {
        separate();
        unqualifiedName();
      } else {
        ++at_;  // qualifiers, constructors
      }
    });
  }

  /// Something within a function: "f()::" and the thing, with empty parentheses for any parameters.
  void localName() {
    ++depth_;
    if (!atEnd()) name();
    --depth_;
    muted([&] { untilE([&] { type(); }); });
    if (take('s')) return discriminator();
    if (take('d')) skipSequence();
    if (atEnd()) return;
    write("()::");
    ++depth_;
    name();
    --depth_;
    discriminator();
  }

  void discriminator() {
    if (!take('_')) return;
    while (name_bytes::isDigit(next()) || next() == '_') ++at_;
  }

  /// "cl" and the like; "St" and other capitals are something else.
  bool isOperator() const {
    return name_bytes::isLower(next()) && name_bytes::isLower(afterNext());
  }

  void unqualifiedName() {
    take('L');  // internal linkage
    if (name_bytes::isDigit(next())) return sourceName();
    if (next() == 'U') return unnamedType();
    if (!isOperator()) return;
    write(take("cl") ? "operator()" : "operator");
    if (take("cv")) return muted([&] { type(); });
    if (isOperator()) at_ += 2;
  }

  void sourceName() {
    size_t size = 0;
    for (; name_bytes::isDigit(next()); ++at_) {
      if (size < text_.size()) size = size * 10 + static_cast<size_t>(next() - '0');
    }
    const std::string_view name = text_.substr(std::min(at_, text_.size()), size);
    at_ += name.size();
    write(name.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : name);
  }

  /// A lambda, with its parameters, or a type without a name.
  void unnamedType() {
    ++at_;
    const bool lambda = take('l');
    if (!lambda && !take('t')) return;
    write(lambda ? "{lambda(" : "{unnamed type");
    if (lambda && next() == 'v') {
      muted([&] { untilE([&] { type(); }); });
    } else if (lambda) {
      listUntilE([&] { type(); });
    }
    write(lambda ? ")#" : "#");
    size_t number = 0;
    for (; name_bytes::isDigit(next()); ++at_) {
      number = (number * 10 + static_cast<size_t>(next() - '0')) % 100'000;
      if (afterNext() == '_') ++number;
    }
    take('_');
    write(std::to_string(number + 1));
    write("}");
  }

  void templateArguments() {
    write("<");
    listUntilE([&] { templateArgument(); });
    write(">");
  }

  void templateArgument() {
    if (take('L')) return literal();
    if (take('X')) return expression();
    if (take('J')) return listUntilE([&] { templateArgument(); });
    type();
  }

  void literal() {
    if (take("_Z")) {  // a function or an object
      ++depth_;
      if (!atEnd()) name();
      --depth_;
      return muted([&] { untilE([&] { type(); }); });
    }
    const bool is_bool = next() == 'b';
    const bool is_builtin = !builtinType(next()).empty();
    if (is_builtin) {
      ++at_;
    } else {
      write("(");
      type();
      write(")");
    }
    std::string value;
    if (take('n')) value += '-';
    while (!atEnd() && next() != 'E') value += text_[at_++];
    take('E');
    write(!is_bool ? std::string_view(value) : value == "0" ? "false" : "true");
  }

  /// Not written: what it computes is seldom short.
  void expression() {
    muted([&] {
      untilE([&] {
        if (take('L')) return literal();
        if (take('X')) return expression();
        if (take('I')) return templateArguments();
        if (take('N')) return nestedName();
        if (name_bytes::isDigit(next())) return sourceName();
        if (next() == 'S' || next() == 'T') return backReference();
        if (isOperator()) at_ += 2;
      });
    });
  }

  /// S_ and S0_ refer to something before, T_ and T0_ to template arguments; Sa and Ss are classes
  /// of the standard library, and Tn, Tt and Ty constraints.
  void backReference() {
    ++at_;
    if (name_bytes::isLower(next())) {
      ++at_;
    } else {
      skipSequence();
    }
  }

  void skipSequence() {
    while (name_bytes::isDigit(next()) || name_bytes::isUpper(next())) ++at_;
    take('_');
  }

  void type() {
    ++depth_;
    if (!atEnd()) typeWithin();
    --depth_;
  }

  void typeWithin() {
    const char c = next();
    const auto qualifies = [](char q) { return std::string_view("PROKVrGC").find(q) < 8; };
    if (qualifies(c)) {
      while (qualifies(next())) ++at_;
      return type();
    }
    if (const std::string_view builtin = builtinType(c); !builtin.empty()) {
      ++at_;
      return write(builtin);
    }
    switch (c) {
      case 'D':
        return dType();
      case 'A':
        for (++at_; name_bytes::isDigit(next());) ++at_;
        take('_');
        return type();
      case 'M':
        ++at_;
        type();
        return type();
      case 'F':
        ++at_;
        return muted([&] { untilE([&] { type(); }); });
      case 'S':
        if (afterNext() == 't') return name();
        [[fallthrough]];
      case 'T':
        backReference();
        if (take('I')) templateArguments();
        return;
      case 'u':
        ++at_;
        return sourceName();
      case 'U':
        if (afterNext() == 'l' || afterNext() == 't') return unnamedType();
        ++at_;
        return muted([&] { sourceName(); });
      default:
        if (c == 'N' || c == 'Z' || name_bytes::isDigit(c)) return name();
        ++at_;
    }
  }

  /// DF16b, DF16_ and Dh are numbers; Dv4_f is a vector, Dp a pack.
  void dType() {
    ++at_;
    if (take("F16b")) return write("bfloat16");
    if (take("F16_") || take('h')) return write("half");
    if (take('t') || take('T')) return expression();
    if (take('v')) {
      while (name_bytes::isDigit(next())) ++at_;
      take('_');
      return type();
    }
    if (take('p')) return type();
    if (!atEnd()) ++at_;
  }

  std::string_view text_;
  size_t at_ = 2;  // after "_Z"
  int depth_ = 0;
  int muted_ = 0;
  std::string out_;
};

}  // namespace

std::string readMangledName(std::string_view mangled) {
  std::string text = mangled.size() < 3 ? "" : Reader(mangled).read();
  return text.empty() ? std::string(mangled) : text;
}

}  // namespace tracesmith
