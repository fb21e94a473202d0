// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_source/kernel_function.hpp"

#include <algorithm>
#include <cctype>

#include "tracesmith/analysis/kernel_source/kernel_parser.hpp"

namespace tracesmith::races {
namespace {

constexpr int kMostRounds = 10;

bool isQualifier(std::string_view w) {
  static const std::unordered_set<std::string_view> kWords = {
      "const",      "volatile",     "restrict",  "__restrict",  "__restrict__", "global",
      "__global",   "local",        "__local",   "constant",    "__constant",   "private",
      "__private",  "generic",      "__generic", "struct",      "union",        "enum",
      "unsigned",   "signed",       "static",    "inline",      "register",     "extern",
      "kernel",     "__kernel",     "read_only", "__read_only", "write_only",   "__write_only",
      "read_write", "__read_write", "typedef",   "__inline",    "__inline__"};
  return kWords.contains(w);
}

bool isBinary(const Token& t) {
  static const std::unordered_set<std::string_view> kSigns = {
      "+",  "-",  "*",  "/",  "%", "<<", ">>", "<",  ">",
      "<=", ">=", "==", "!=", "&", "|",  "^",  "&&", "||"};
  return t.kind == TokenKind::kSign && kSigns.contains(t.text);
}

}  // namespace

KernelParser::KernelParser(const SourceFunction& function, const SourceNames& names)
    : tokens_(function.body), names_(names) {
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const std::string_view name = nameOfParameter(function.parameters[i]);
    parameters_.insert(name);
    bits_[name] = parameterBit(i);
    add(name, parameterBit(i));
  }
  countDeclarations();
  findFixedParameters();
  for (const auto& [name, value] : function.values) {
    if (bits_.contains(name)) constants_[name] = value;
  }
  findConstants();
}

FunctionEffects KernelParser::run() {
  for (int round = 0; round < kMostRounds; ++round) {
    grown_ = false;
    at_ = 0;
    while (!isEnd() && effects_.understood) statement();
    if (!grown_ || !effects_.understood) {
      for (const std::string_view name : escaped_) effects_.lost |= setOf(name);
      return effects_;
    }
  }
  effects_.understood = false;
  return effects_;
}

void KernelParser::statement() {
  declares_ = nextIsWord() && isTypeWord(tokens_[at_].text, names_);
  if (next("__attribute__")) {
    at_ = behind(++at_);
    return;
  }
  if (accept(";") || accept("{") || accept("}") || accept(":") || accept(",")) return;
  if (nextIsWord()) {
    const std::string_view word = tokens_[at_].text;
    if (word == "if" || word == "while" || word == "for" || word == "switch") {
      ++at_;
      expect("(");
      const size_t begin = at_;
      while (!isEnd() && !next(")") && effects_.understood) {
        if (!accept(";") && !accept(",")) progress();
      }
      const size_t end = at_;
      expect(")");
      if (word == "if" || word == "while") skipDeadBranch(word == "if", begin, end);
      return;
    }
    static const std::unordered_set<std::string_view> kPlain = {"else",     "do",      "break",
                                                                "continue", "default", "case"};
    if (kPlain.contains(word)) {
      ++at_;
      return;
    }
    if (word == "goto") {
      at_ += 2;
      return;
    }
    if (word == "return") {
      ++at_;
      if (!next(";")) effects_.returned |= read(expression());
      return;
    }
    if (word == "asm" || word == "__asm" || word == "__asm__" || word == "enqueue_kernel") {
      effects_.understood = false;
      return;
    }
  }
  progress();
}

/// Parses an expression for its effects.
void KernelParser::progress() {
  const size_t before = at_;
  // The result is unused: `p[i];` reads nothing observable, and `p[i] = 1` was handled.
  (void)read(expression());
  if (at_ == before) effects_.understood = false;
}

/// An expression with comma operators.
KernelParser::Value KernelParser::expression() {
  Value value = assignment();
  while (effects_.understood && accept(",")) {
    const ParameterSet before = read(value);
    // `float *p = a, *q = b`
    while (declares_ && depth_ == 0 && accept("*")) continue;
    value = assignment();
    value.from |= before;
  }
  return value;
}

KernelParser::Value KernelParser::assignment() {
  if (++depth_ > kDeepest) {
    effects_.understood = false;
    --depth_;
    return {};
  }
  const size_t begin = at_;
  Value left = unary();
  ParameterSet others = 0;  // operands before the last one, which is the assignment's target
  while (effects_.understood && !isEnd() && isBinary(tokens_[at_])) {
    ++at_;
    others |= read(left);
    left = unary();
  }
  if (next("?")) {
    const std::optional<Constant> condition = valueOf(begin, at_);
    ++at_;
    (void)read(left);
    const ParameterSet yes = branch(!condition || condition->isTrue(), true);
    expect(":");
    const ParameterSet no = branch(!condition || !condition->isTrue(), false);
    left = {.from = yes | no};
  } else if (!isEnd() && isAssignment(tokens_[at_])) {
    const bool compound = !tokens_[at_].is("=");
    ++at_;
    const Value given = next("{") ? Value{.from = braces()} : assignment();
    const ParameterSet right = given.is_address ? pointTo(left, given) : read(given);
    if (compound) (void)read(left);
    if (!given.is_address && !compound) reassignPointer(left, right);
    store(left, right);
    left = {.from = right | left.from};
  } else if (others != 0) {
    left = {.from = others | read(left)};
  }
  --depth_;
  return left;
}

/// A branch of a conditional expression; a branch never taken has no effect.
ParameterSet KernelParser::branch(bool is_taken, bool with_commas) {
  const FunctionEffects before = effects_;
  const ParameterSet from = read(with_commas ? expression() : assignment());
  if (is_taken || !effects_.understood) return from;
  effects_ = before;
  return 0;
}

/// `q = &t`: values stored through one may be read through the other.
ParameterSet KernelParser::pointTo(const Value& pointer, const Value& address) {
  if (!pointer.is_memory && pointer.member.empty() && isLocal(pointer.variable)) {
    to_locals_.insert(pointer.variable);
    mergeVariables(pointer.variable, address.variable);
    return 0;
  }
  escape(address);
  return setOf(address.variable);
}

void KernelParser::reassignPointer(const Value& pointer, ParameterSet from) {
  if (from != 0 && !pointer.is_memory && pointer.member.empty()) {
    to_others_.insert(pointer.variable);
  }
}

/// The address is known elsewhere: the values of the variable may go anywhere.
void KernelParser::escape(const Value& address) {
  if (isLocal(address.variable)) escaped_.insert(address.variable);
}

ParameterSet KernelParser::braces() {
  ParameterSet from = 0;
  expect("{");
  while (!isEnd() && !next("}") && effects_.understood) {
    if (accept(",")) continue;
    if (accept(".")) {
      ++at_;
      accept("=");
      continue;
    }
    if (next("[")) {
      at_ = behind(at_);
      accept("=");
      continue;
    }
    if (++depth_ > kDeepest) effects_.understood = false;
    from |= next("{") ? braces() : read(assignment());
    --depth_;
  }
  expect("}");
  return from;
}

/// Marks the value as read; returns its possible origins.
ParameterSet KernelParser::read(const Value& value) {
  if (value.is_address) escape(value);
  (value.is_deep ? effects_.read_deep : effects_.read) |= value.memory;
  // A value read from memory may be a pointer; following it is a deep access.
  return value.is_memory ? 0 : value.from;
}

void KernelParser::store(const Value& to, ParameterSet from) {
  (to.is_deep ? effects_.written_deep : effects_.written) |= to.memory;
  if (from == 0) return;
  if (!to.is_memory && !to.variable.empty() && !names_.globals.contains(to.variable)) {
    add(to.variable, from);
    return;
  }
  if (to.memory == 0 || to.is_deep || !to.is_memory) {
    effects_.lost |= from;  // unknown memory
    return;
  }
  // The memory of parameters: the caller knows what that is.
  for (size_t i = 0; i < effects_.into.size(); ++i) {
    if ((to.memory >> i & 1) == 0) continue;
    effects_.into[i] |= from;
  }
}

KernelParser::Value KernelParser::unary() {
  if (isEnd()) {
    effects_.understood = false;
    return {};
  }
  if (++depth_ > kDeepest) {
    effects_.understood = false;
    --depth_;
    return {};
  }
  Value value;
  const Token& t = tokens_[at_];
  if (t.is("*")) {
    ++at_;
    value = dereference(unary());
  } else if (t.is("&")) {
    ++at_;
    const Value of = unary();
    if (!of.is_memory && isLocal(of.variable)) {
      value = {.from = of.from, .is_address = true, .variable = of.variable};
    } else {
      // The address of a parameter itself is not tracked.
      if (!of.is_memory && !of.variable.empty()) effects_.lost |= of.from;
      value = {.from = of.memory | of.from};
    }
  } else if (t.is("++") || t.is("--")) {
    ++at_;
    const Value of = unary();
    (void)read(of);
    store(of, 0);
    value = of;
  } else if (t.is("-") || t.is("+") || t.is("!") || t.is("~")) {
    ++at_;
    value = {.from = read(unary())};
  } else if (t.is("(") && isCast()) {
    at_ = behind(at_);
    value = next("{") ? Value{.from = braces()} : Value{.from = read(unary())};
  } else {
    value = postfix(primary());
  }
  --depth_;
  return value;
}

/// True for a type in brackets followed by an operand.
bool KernelParser::isCast() const {
  constexpr size_t kLongest = 32;
  bool type = false;
  int open = 1;
  for (size_t i = at_ + 1; i < tokens_.size() && i - at_ < kLongest; ++i) {
    const Token& t = tokens_[i];
    const Token& before = tokens_[i - 1];
    if (t.is("(")) ++open;
    if (t.is(")") && --open == 0) return type;
    if (t.kind == TokenKind::kText || isAssignment(t)) return false;
    if (t.kind != TokenKind::kWord) continue;
    if (!isTypeWord(t.text, names_) && !before.is("struct") && !before.is("union") &&
        !before.is("enum")) {
      return false;
    }
    type = true;
  }
  return false;
}

/// The value that a pointer points to.
KernelParser::Value KernelParser::dereference(const Value& pointer) {
  if (pointer.is_address || isToLocal(pointer)) {
    // The result is the variable itself, with whatever it may hold.
    return {.from = setOf(pointer.variable), .variable = pointer.variable, .member = "*"};
  }
  if (pointer.is_memory) {
    // A pointer stored in memory; the memory it leads to is attributed to where the pointer is
    // stored.
    (void)read(pointer);
    return {.from = pointer.memory, .memory = pointer.memory, .is_memory = true, .is_deep = true};
  }
  const ParameterSet from = read(pointer);
  return {.from = from, .memory = from, .is_memory = true};
}

KernelParser::Value KernelParser::primary() {
  if (isEnd()) {
    effects_.understood = false;
    return {};
  }
  const Token& t = tokens_[at_];
  if (t.is("(")) {
    ++at_;
    Value value = expression();
    expect(")");
    return value;
  }
  if (t.kind == TokenKind::kNumber) {
    ++at_;
    return {};
  }
  if (t.kind == TokenKind::kText) {
    while (!isEnd() && tokens_[at_].kind == TokenKind::kText) ++at_;
    return {};
  }
  if (t.kind != TokenKind::kWord) {
    effects_.understood = false;
    return {};
  }
  // In a sequence of words the last one is a name, the others are its type.
  while (nextIsWord(1)) {
    if (tokens_[at_].is("__attribute__")) break;
    ++at_;
  }
  const std::string_view name = tokens_[at_++].text;
  if (name == "__attribute__") {
    if (next("(")) at_ = behind(at_);
    return isEnd() || !nextIsWord() ? Value{} : primary();
  }
  if (name == "sizeof" || name == "vec_step" || name == "typeof" || name == "__typeof__") {
    if (next("(")) {
      at_ = behind(at_);
    } else {
      effects_.understood = false;
    }
    return {};
  }
  // `float* const q`, `struct S* q`: skip the type.
  while (next("*") && at_ > 0 && (isTypeWord(name, names_)) && !isEnd()) {
    ++at_;
    if (next("*")) continue;
    return nextIsWord() ? primary() : Value{};
  }
  if (next("(")) return call(name);
  return {.from = setOf(name), .variable = name};
}

KernelParser::Value KernelParser::postfix(Value value) {
  while (effects_.understood && !isEnd()) {
    if (accept("[")) {
      const ParameterSet index = read(expression());
      expect("]");
      subscript(value, index);
    } else if (accept("->")) {
      value = dereference(value);
      if (nextIsWord()) value.member = tokens_[at_++].text;
    } else if (accept(".")) {
      if (!nextIsWord()) effects_.understood = false;
      if (!isEnd()) value.member = tokens_[at_].text;
      ++at_;
    } else if (next("++") || next("--")) {
      ++at_;
      (void)read(value);
      store(value, 0);
      if (value.is_memory) return {};
    } else if (next("(")) {
      effects_.understood = false;  // call through a value: function pointers, blocks
    } else {
      break;
    }
  }
  return value;
}

void KernelParser::subscript(Value& value, ParameterSet index) {
  if (value.is_memory) {
    // An array in memory, unless the struct declares a pointer there.
    if (names_.member_pointers.contains(value.member)) {
      value = dereference(value);
    } else {
      value.from = value.memory;
    }
  } else if (isArray(value) && isLocal(value.variable)) {
    value.member = "[]";  // an element, which may be a pointer
  } else if (isToLocal(value)) {
    value = dereference(value);
  } else {
    const ParameterSet base = value.from != 0 || !value.variable.empty() ? value.from : index;
    value = {.from = base, .memory = base, .is_memory = true};
  }
}

std::string_view nameOfParameter(std::span<const Token> parameter) {
  std::string_view name;
  for (size_t i = 0; i < parameter.size(); ++i) {
    if (parameter[i].is("[") && !name.empty()) break;
    if (parameter[i].is("__attribute__")) break;
    if (parameter[i].kind == TokenKind::kWord && !isQualifier(parameter[i].text)) {
      name = parameter[i].text;
    }
  }
  return name;
}

bool isTypeWord(std::string_view word, const SourceNames& names) {
  if (isQualifier(word) || names.types.contains(word)) return true;
  while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
    word.remove_suffix(1);
  }
  static const std::unordered_set<std::string_view> kTypes = {
      "void",          "bool",       "char",        "uchar",       "short",        "ushort",
      "int",           "uint",       "long",        "ulong",       "float",        "double",
      "half",          "size_t",     "event_t",     "ptrdiff_t",   "intptr_t",     "uintptr_t",
      "sampler_t",     "atomic_int", "atomic_uint", "atomic_long", "atomic_ulong", "atomic_float",
      "atomic_double", "atomic_flag"};
  return kTypes.contains(word);
}

FunctionEffects effectsOf(const SourceFunction& function, const SourceNames& names) {
  return KernelParser(function, names).run();
}

}  // namespace tracesmith::races
