// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/function_name.hpp"

#include <array>
#include <cstdint>

namespace tracesmith {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kUnnamed = "<unnamed>";

/// The bytes that split a name, outside and inside of brackets; all others are skipped fast.
constexpr std::array<std::array<bool, 256>, 2> kIsSpecial = [] {
  std::array<std::array<bool, 256>, 2> is{};
  for (const char c : std::string_view("<>(){}[]: ")) is[0][static_cast<uint8_t>(c)] = true;
  for (const char c : std::string_view("<>(){}[]")) is[1][static_cast<uint8_t>(c)] = true;
  return is;
}();

class Splitter {
 public:
  explicit Splitter(std::string_view full) : full_(full), end_(full.size()) {}

  FunctionName split() {
    for (; at_ < full_.size() && !is_done_; ++at_) {
      const char c = full_[at_];
      if (!kIsSpecial[depth_ > 0 ? 1 : 0][static_cast<uint8_t>(c)]) continue;
      depth_ > 0 ? inside(c) : outside(c);
    }
    // Only a function has a result type before its name; other texts are several words.
    const bool is_function = has_parameters_ || begin_ == 0 || full_.starts_with("void ");
    if (name_ >= end_ || !is_function) return {{}, full_, {}, full_};
    return parts();
  }

 private:
  void inside(char c) {
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      ++depth_;
    } else if (c != '>' || full_[at_ - 1] != '-') {  // ->
      --depth_;
      if (depth_ == 0 && c == '>') close_ = at_;
    }
  }

  void outside(char c) {
    switch (c) {
      case '<':
        if (skips(kUnnamed)) return;
        if (arguments_ == 0 && at_ > name_) arguments_ = at_;
        ++depth_;
        return;
      case '(':
        return parenthesis();
      case '{':
      case '[':
        ++depth_;
        return;
      case ' ':
        begin_ = name_ = at_ + 1;
        arguments_ = 0;
        return;
      case ':':
        if (!skips("::")) return;
        name_ = at_ + 1;
        arguments_ = 0;
        return;
      default:
        return;
    }
  }

  void parenthesis() {
    if (skips(kAnonymous)) return;
    if (at_ > name_) {
      end_ = at_;
      has_parameters_ = is_done_ = true;
    } else if (at_ > 0 && full_[at_ - 1] == ' ') {  // Memcpy HtoD (Pinned -> Device)
      is_done_ = true;
    } else {
      ++depth_;
    }
  }

  /// Goes to the last byte of `text` if it starts here.
  bool skips(std::string_view text) {
    if (full_.substr(at_, text.size()) != text) return false;
    at_ += text.size() - 1;
    return true;
  }

  FunctionName parts() const {
    FunctionName out;
    out.head = full_.substr(begin_, end_ - begin_);
    out.scope = full_.substr(begin_, name_ - begin_);
    if (arguments_ == 0) {
      out.name = full_.substr(name_, end_ - name_);
      return out;
    }
    out.name = full_.substr(name_, arguments_ - name_);
    // A name that was cut has no closing bracket.
    const size_t last = close_ > arguments_ ? close_ : end_;
    out.template_arguments = full_.substr(arguments_ + 1, last - arguments_ - 1);
    return out;
  }

  std::string_view full_;
  size_t at_ = 0;
  size_t begin_ = 0;      // of the scope: after the result type
  size_t name_ = 0;       // after the last "::" outside of brackets
  size_t arguments_ = 0;  // the first '<' after name_, or 0
  size_t close_ = 0;      // the last '>' outside of brackets
  size_t end_;            // of the template arguments or the name
  int depth_ = 0;
  bool has_parameters_ = false;
  bool is_done_ = false;
};

}  // namespace

FunctionName splitFunctionName(std::string_view full) { return Splitter(full).split(); }

}  // namespace tracesmith
