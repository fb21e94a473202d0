// SPDX-License-Identifier: Apache-2.0
// Reads mangled names (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).

#include "tracesmith/analysis/kernel_names/function_name.hpp"
#include "tracesmith/analysis/kernel_names/name_bytes.hpp"

namespace tracesmith {
namespace {

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
    case 'x':
      return "long long";
    case 'y':
      return "unsigned long long";
    default:
      return {};
  }
}

/// Walks over a mangled name and writes what it can read. `open_` holds the constructs that an E
/// has yet to end: N a nested name without parts, n one with parts, I template arguments, J a pack,
/// L a literal, X an expression, F a function type.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string read() {
    while (at_ < text_.size()) {
      // After the name come the types of parameters.
      if (!out_.empty() && open_.empty() && text_[at_] != 'I') break;
      step();
    }
    for (const char c : open_) {
      if (c == 'I') out_ += '>';
    }
    return std::move(out_);
  }

 private:
  char within() const { return open_.empty() ? '\0' : open_.back(); }
  bool withinArguments() const { return within() == 'I' || within() == 'J' || within() == 'L'; }

  void step() {
    const char c = text_[at_];
    if (name_bytes::isDigit(c) &&
        !(within() == 'L' && (text_[at_ - 1] == 'E' || name_bytes::isLower(text_[at_ - 1])))) {
      return sourceName();
    }
    ++at_;
    switch (c) {
      case 'N':
        separate();
        open_ += 'N';
        return;
      case 'I':
        out_ += '<';
        open_ += 'I';
        return;
      case 'F':
      case 'J':
      case 'X':
        open_ += c;
        return;
      case 'E':
        return pop();
      case 'S':
        return substitution();
      case 'T':
        return templateParameter();
      case 'D':
        return dType();
      case 'L':
        if (!open_.empty()) open_ += 'L';
        return;
      case 'Z':
      case '_':
        return;
      default:
        break;
    }
    if (within() == 'L') return literal(c);
    if (const std::string_view type = builtinType(c); !type.empty() && withinArguments()) {
      separate();
      out_ += type;
    }
  }

  void pop() {
    if (open_.empty()) return;
    if (open_.back() == 'I') out_ += '>';
    open_.pop_back();
  }

  /// Writes the comma before an element of template arguments.
  void separate() {
    if (withinArguments() && !out_.empty() && out_.back() != '<' && out_.back() != ' ') {
      out_ += ", ";
    }
  }

  void part(std::string_view name) {
    if (within() == 'n') out_ += "::";
    if (within() == 'N') open_.back() = 'n';
    separate();
    out_ += name;
  }

  void sourceName() {
    size_t size = 0;
    for (; at_ < text_.size() && name_bytes::isDigit(text_[at_]); ++at_) {
      if (size < text_.size()) size = size * 10 + static_cast<size_t>(text_[at_] - '0');
    }
    const std::string_view name = text_.substr(at_, size);
    at_ += name.size();
    part(name.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : name);
  }

  /// The value of a literal, after the letter of its type or the name of its enumeration.
  void literal(char c) {
    std::string value;
    if (c == 'n') value += '-';
    if (name_bytes::isDigit(c)) value += c;
    if (at_ < text_.size() && text_[at_] == 'n') value += '-', ++at_;
    while (at_ < text_.size() && name_bytes::isDigit(text_[at_])) value += text_[at_++];
    if (value.empty()) return;
    separate();
    if (c == 'b') value = value == "0" ? "false" : "true";
    out_ += value;
  }

  /// Skips the number of a back reference, which ends with an underscore.
  void skipSequence() {
    while (at_ < text_.size() &&
           (name_bytes::isDigit(text_[at_]) || (text_[at_] >= 'A' && text_[at_] <= 'Z'))) {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '_') ++at_;
  }

  void substitution() {
    if (at_ < text_.size() && text_[at_] == 't') {
      ++at_;
      if (within() == 'N') part("std");
    } else if (at_ < text_.size() && name_bytes::isLower(text_[at_])) {
      ++at_;  // Sa, Ss and others: classes of the standard library
    } else {
      skipSequence();
    }
  }

  /// T_ and T0_ refer to arguments; Tn, Tt and Ty are constraints.
  void templateParameter() {
    if (at_ < text_.size() && name_bytes::isLower(text_[at_])) {
      ++at_;
    } else {
      skipSequence();
    }
  }

  /// DF16b, DF16_ and Dh are types; others, such as Dp, are left out.
  void dType() {
    const std::string_view rest = text_.substr(at_);
    std::string_view type;
    if (rest.starts_with("F16b")) {
      type = "bfloat16";
      at_ += 4;
    } else if (rest.starts_with("F16_")) {
      type = "half";
      at_ += 4;
    } else if (!rest.empty()) {
      if (rest[0] == 'h') type = "half";
      ++at_;
    }
    if (type.empty() || !withinArguments()) return;
    separate();
    out_ += type;
  }

  std::string_view text_;
  size_t at_ = 2;  // after "_Z"
  std::string open_;
  std::string out_;
};

}  // namespace

std::string readMangledName(std::string_view mangled) {
  std::string text = mangled.size() < 3 ? "" : Reader(mangled).read();
  return text.empty() ? std::string(mangled) : text;
}

}  // namespace tracesmith
