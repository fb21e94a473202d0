// SPDX-License-Identifier: Apache-2.0
// Parses expressions and tracks only which pointers a value may come from. Only operators that
// access memory matter: subscripts, ->, unary *, assignments, ++ and --. All others yield the union
// of their operands. Declarations are read as expressions: in `global float* q = p`, q is assigned
// to.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracesmith/analysis/kernel_source/kernel_function.hpp"

namespace tracesmith::races {

constexpr int kDeepest = 200;  // nesting depth of brackets and statements

inline bool startsWith(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

inline bool isAssignment(const Token& t) {
  return t.kind == TokenKind::kSign && t.text.size() >= 1 && t.text.back() == '=' && !t.is("==") &&
         !t.is("!=") && !t.is("<=") && !t.is(">=");
}

/// Analyses one function. Call run() once.
class KernelParser {
 public:
  KernelParser(const SourceFunction& function, const SourceNames& names);

  FunctionEffects run();

 private:
  /// Origin of a value, and what is written when it is assigned to.
  struct Value {
    ParameterSet from = 0;
    ParameterSet memory = 0;    // the value is stored where these point
    bool is_memory = false;     // the value is stored behind a pointer
    bool is_deep = false;       // the value is stored behind a pointer that is itself in memory
    bool is_address = false;    // the value is the address of (a part of) `variable`
    std::string_view variable;  // the value is, or is a part of, this variable
    std::string_view member;    // last member named
  };

  // --- variables: those that one pointer may point to share a set of possible values ----------

  struct Variable {
    std::string_view same_as;  // representative variable, possibly itself
    ParameterSet holds = 0;
  };
  Variable& rootOf(std::string_view name) {
    Variable* at = &variables_.try_emplace(name, Variable{name, 0}).first->second;
    while (at->same_as != name) {
      name = at->same_as;
      at = &variables_.find(name)->second;
    }
    return *at;
  }
  ParameterSet setOf(std::string_view name) {
    const auto it = variables_.find(name);
    return it == variables_.end() ? 0 : rootOf(name).holds;
  }
  void add(std::string_view name, ParameterSet from) {
    ParameterSet& holds = rootOf(name).holds;
    grown_ |= (holds | from) != holds;
    holds |= from;
  }
  void mergeVariables(std::string_view a, std::string_view b) {
    Variable& first = rootOf(a);
    Variable& second = rootOf(b);
    if (&first == &second) return;
    grown_ = true;
    first.holds |= second.holds;
    second.same_as = first.same_as;
  }
  bool isLocal(std::string_view name) const {
    return !name.empty() && !names_.globals.contains(name) && !parameters_.contains(name);
  }
  /// True for an array of this function or one in a struct: an element is part of the variable.
  bool isArray(const Value& value) const {
    if (value.member.empty()) return arrays_.contains(value.variable);
    return names_.member_arrays.contains(value.member) &&
           !names_.member_pointers.contains(value.member);
  }
  /// True if it holds only addresses of variables of this function.
  bool isToLocal(const Value& value) const {
    return value.member.empty() && to_locals_.contains(value.variable) &&
           !to_others_.contains(value.variable);
  }

  bool isEnd() const { return at_ >= tokens_.size(); }
  bool next(std::string_view sign) const { return !isEnd() && tokens_[at_].is(sign); }
  bool accept(std::string_view sign) {
    if (!next(sign)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) effects_.understood = false;
  }
  bool nextIsWord(size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() && tokens_[at_ + ahead].kind == TokenKind::kWord;
  }
  /// Index after the bracket that closes the one at `at`.
  size_t behind(size_t at) const {
    int open = 0;
    for (; at < tokens_.size(); ++at) {
      const Token& t = tokens_[at];
      if (t.is("(") || t.is("[") || t.is("{")) ++open;
      if ((t.is(")") || t.is("]") || t.is("}")) && --open == 0) return at + 1;
    }
    return tokens_.size();
  }

  // --- code that is never executed --------------------------------------------------------------

  void countDeclarations();
  void findConstants();

  void findFixedParameters();
  bool isDeclared(size_t word) const;
  bool isChanged(size_t word) const;
  bool isProduct(size_t star) const;

  bool followsType(size_t name) const;

  std::optional<Constant> valueOf(size_t begin, size_t end);

  size_t skipStatement(size_t at, int depth = 0);
  size_t skipBracket(size_t at);
  bool canBeDead(size_t begin, size_t end) const;

  void skipDeadBranch(bool is_if, size_t begin, size_t end);

  void statement();
  void progress();

  Value expression();

  Value assignment();

  ParameterSet branch(bool is_taken, bool with_commas);

  ParameterSet pointTo(const Value& pointer, const Value& address);
  void reassignPointer(const Value& pointer, ParameterSet from);
  void escape(const Value& address);

  ParameterSet braces();

  ParameterSet read(const Value& value);

  void store(const Value& to, ParameterSet from);

  Value unary();

  bool isCast() const;

  Value dereference(const Value& pointer);

  Value primary();

  Value postfix(Value value);

  void subscript(Value& value, ParameterSet index);

  Value call(std::string_view name);

  ParameterSet apply(const FunctionEffects& known, const std::vector<Value>& given,
                     const std::vector<ParameterSet>& arguments);

  std::span<const Token> tokens_;
  const SourceNames& names_;
  std::unordered_map<std::string_view, Variable> variables_;
  std::unordered_set<std::string_view> parameters_;
  std::unordered_set<std::string_view> arrays_;     // of this function
  std::unordered_set<std::string_view> to_locals_;  // were assigned the address of a variable
  std::unordered_set<std::string_view> to_others_;  // were assigned another pointer
  std::unordered_set<std::string_view> escaped_;    // their address is stored in an unknown place
  std::unordered_map<std::string_view, Constant> constants_;
  std::unordered_map<std::string_view, ParameterSet> bits_;  // for parameters that keep their value
  // Number of declarations and assignments.
  std::unordered_map<std::string_view, int> declared_;
  size_t looked_ahead_ = 0;
  FunctionEffects effects_;
  size_t at_ = 0;
  int depth_ = 0;
  int nested_ = 0;
  bool grown_ = false;
  bool declares_ = false;
};

}  // namespace tracesmith::races
