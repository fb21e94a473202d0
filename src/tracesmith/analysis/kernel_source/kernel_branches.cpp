// SPDX-License-Identifier: Apache-2.0
// Finds code that is never executed: evaluates names with a single value, and skips branches that
// constant conditions exclude.
#include <algorithm>
#include <utility>

#include "tracesmith/analysis/kernel_source/kernel_parser.hpp"

namespace tracesmith::races {
namespace {

// Limit in tokens of the search for ends of statements
constexpr size_t kMostLookahead = 64u << 20;

}  // namespace

void KernelParser::countDeclarations() {
  for (size_t i = 1; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (t.kind != TokenKind::kWord) continue;
    const bool is_declared =
        (tokens_[i - 1].kind == TokenKind::kWord && isTypeWord(tokens_[i - 1].text, names_)) ||
        tokens_[i - 1].is("*") || tokens_[i - 1].is("&") || tokens_[i - 1].is("++") ||
        tokens_[i - 1].is("--");
    const bool is_set =
        i + 1 < tokens_.size() &&
        (isAssignment(tokens_[i + 1]) || tokens_[i + 1].is("++") || tokens_[i + 1].is("--"));
    if (i + 1 < tokens_.size() && tokens_[i + 1].is("[") && followsType(i)) {
      arrays_.insert(t.text);
    }
    if (is_declared || is_set) ++declared_[t.text];
  }
}

/// Finds names with a single value: `const int n = 3;`, if n is declared only once and not used
/// outside of the block of that declaration, where it would mean something else.
void KernelParser::findConstants() {
  // First and last occurrence.
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> said;
  std::vector<size_t> open;
  std::unordered_map<size_t, size_t> ends;  // ends of blocks
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].is("{")) open.push_back(i);
    if (tokens_[i].is("}") && !open.empty()) {
      ends[open.back()] = i;
      open.pop_back();
    }
    if (tokens_[i].kind != TokenKind::kWord) continue;
    said.try_emplace(tokens_[i].text, i, i).first->second.second = i;
  }
  open.clear();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].is("{")) open.push_back(i);
    if (tokens_[i].is("}") && !open.empty()) open.pop_back();
    if (!tokens_[i].is("const")) continue;
    size_t at = i + 1;
    while (at < tokens_.size() && tokens_[at].kind == TokenKind::kWord &&
           isTypeWord(tokens_[at].text, names_)) {
      ++at;
    }
    if (at + 1 >= tokens_.size() || tokens_[at].kind != TokenKind::kWord ||
        !tokens_[at + 1].is("=") || declared_[tokens_[at].text] != 1 ||
        parameters_.contains(tokens_[at].text)) {
      continue;
    }
    const auto [first, last] = said[tokens_[at].text];
    if (first != at || (!open.empty() && last > ends[open.back()])) continue;
    size_t end = at + 2;
    while (end < tokens_.size() && !tokens_[end].is(";") && !tokens_[end].is(",")) ++end;
    size_t type = i;
    while (type > 0 && tokens_[type - 1].kind == TokenKind::kWord &&
           isTypeWord(tokens_[type - 1].text, names_)) {
      --type;
    }
    auto value = valueOf(at + 2, end);
    if (value) value = constantAs(tokens_.subspan(type, at - type), *value);
    if (value) constants_[tokens_[at].text] = *value;
  }
}

/// Keeps in bits_ the parameters that have the caller's value everywhere: never redeclared,
/// changed, or passed on by address or reference.
void KernelParser::findFixedParameters() {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    const bool behind_type = i > 0 && tokens_[i - 1].kind == TokenKind::kWord &&
                             (tokens_[i - 1].is("auto") || isTypeWord(tokens_[i - 1].text, names_));
    const bool is_reference = (t.is("&") || t.is("&&")) && behind_type;  // in C++ for OpenCL
    const bool is_lambda = t.is("[") && i + 1 < tokens_.size() && tokens_[i + 1].is("&");
    if (is_reference || is_lambda || t.is("enum")) {  // an enum's names may hide a parameter
      bits_.clear();
      return;
    }
    if (t.kind == TokenKind::kWord && bits_.contains(t.text) && (isDeclared(i) || isChanged(i))) {
      bits_.erase(t.text);
    }
  }
}

/// True if the word is declared here under this name.
bool KernelParser::isDeclared(size_t word) const {
  static const std::unordered_set<std::string_view> kBeforeValues = {"return", "else", "case", "do",
                                                                     "sizeof"};
  if (followsType(word)) return true;
  if (word == 0) return false;
  const Token& before = tokens_[word - 1];
  if (before.is("*")) return !isProduct(word - 1);
  return before.kind == TokenKind::kWord && !kBeforeValues.contains(before.text);
}

/// True if the variable is assigned here or its address is taken.
bool KernelParser::isChanged(size_t word) const {
  size_t first = word, last = word;  // including the surrounding brackets
  while (first > 0 && tokens_[first - 1].is("(") && last + 1 < tokens_.size() &&
         tokens_[last + 1].is(")")) {
    --first;
    ++last;
  }
  if (first > 0) {
    const Token& before = tokens_[first - 1];
    if (before.is("++") || before.is("--") || before.is("&")) return true;
  }
  if (last + 1 >= tokens_.size()) return false;
  const Token& after = tokens_[last + 1];
  return isAssignment(after) || after.is("++") || after.is("--") || after.is("[");
}

/// True if `*` is a multiplication: a value without an address cannot be followed.
bool KernelParser::isProduct(size_t star) const {
  if (star == 0) return false;
  const Token& left = tokens_[star - 1];
  if (left.kind == TokenKind::kNumber || left.is(")") || left.is("]")) return true;
  return left.kind == TokenKind::kWord && !isTypeWord(left.text, names_);
}

/// `float name`, `global int* name`, `struct S name`.
bool KernelParser::followsType(size_t name) const {
  size_t at = name;
  while (at > 0 && (tokens_[at - 1].is("*") || tokens_[at - 1].is("const"))) --at;
  if (at == 0 || tokens_[at - 1].kind != TokenKind::kWord) return false;
  return isTypeWord(tokens_[at - 1].text, names_) || (at > 1 && tokens_[at - 2].is("struct"));
}

std::optional<Constant> KernelParser::valueOf(size_t begin, size_t end) {
  return constantOf(
      tokens_.subspan(begin, end - begin), [&](std::string_view name) -> std::optional<Constant> {
        if (const auto it = bits_.find(name); it != bits_.end()) effects_.asked |= it->second;
        if (const auto it = constants_.find(name); it != constants_.end()) {
          return it->second;
        }
        const auto it = names_.constants.find(name);
        // A local name hides the outer one.
        const bool is_hidden = parameters_.contains(name) || declared_.contains(name);
        return it == names_.constants.end() || is_hidden ? std::nullopt : std::optional(it->second);
      });
}

/// Index after the statement at `at`.
size_t KernelParser::skipStatement(size_t at, int depth) {
  if (depth > kDeepest || (looked_ahead_ += 8) > kMostLookahead) {
    effects_.understood = false;
    return tokens_.size();
  }
  while (at + 1 < tokens_.size() && tokens_[at].is("__attribute__")) at = skipBracket(at + 1);
  if (at >= tokens_.size()) return at;
  const Token& t = tokens_[at];
  if (t.is("{")) return skipBracket(at);
  if (t.is("if") || t.is("while") || t.is("for") || t.is("switch")) {
    at = skipStatement(skipBracket(at + 1), depth + 1);
    const bool has_else = t.is("if") && at < tokens_.size() && tokens_[at].is("else");
    return has_else ? skipStatement(at + 1, depth + 1) : at;
  }
  if (t.is("do")) {
    at = skipStatement(at + 1, depth + 1);
    return std::min(skipBracket(at + 1) + 1, tokens_.size());
  }
  while (at < tokens_.size() && !tokens_[at].is(";")) {
    const bool opens = tokens_[at].is("(") || tokens_[at].is("[") || tokens_[at].is("{");
    at = opens ? skipBracket(at) : at + 1;
    ++looked_ahead_;
  }
  return std::min(at + 1, tokens_.size());
}

size_t KernelParser::skipBracket(size_t at) {
  const size_t end = behind(at);
  looked_ahead_ += end - std::min(at, end);
  return end;
}

/// False if a jump could enter the code in between, so that it is not dead.
bool KernelParser::canBeDead(size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    if (tokens_[i].is("case") || tokens_[i].is("default")) return false;
    const bool is_first = i == begin || tokens_[i - 1].is(";") || tokens_[i - 1].is("{") ||
                          tokens_[i - 1].is("}") || tokens_[i - 1].is(")") ||
                          tokens_[i - 1].is("else") || tokens_[i - 1].is("do");
    const bool label =
        is_first && i + 1 < end && tokens_[i].kind == TokenKind::kWord && tokens_[i + 1].is(":");
    if (label) return false;
  }
  return true;
}

/// After the head of an if or while whose condition is at [begin, end): skips the branch that a
/// constant condition excludes.
void KernelParser::skipDeadBranch(bool is_if, size_t begin, size_t end) {
  const std::optional<Constant> condition = valueOf(begin, end);
  if (!condition || (condition->isTrue() && !is_if)) return;
  const size_t then_end = skipStatement(at_);
  if (!condition->isTrue()) {
    if (!canBeDead(at_, then_end)) return;
    at_ = then_end;
    if (is_if) accept("else");
    return;
  }
  if (then_end >= tokens_.size() || !tokens_[then_end].is("else")) return;
  const size_t else_end = skipStatement(then_end + 1);
  if (!canBeDead(then_end, else_end)) return;
  if (++nested_ > kDeepest) effects_.understood = false;
  while (at_ < then_end && effects_.understood) statement();
  --nested_;
  at_ = else_end;
}

}  // namespace tracesmith::races
