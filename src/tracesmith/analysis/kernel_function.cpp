// SPDX-License-Identifier: Apache-2.0
// A parser of expressions that keeps nothing of them but which pointers a value may come from. Of
// operators only those matter that reach memory: subscripts, ->, unary *, assignments, ++ and --;
// all others give what comes from any of their operands. Declarations read as expressions: of
// `global float* q = p`, q is what is assigned to.
#include "tracesmith/analysis/kernel_function.hpp"

#include <algorithm>
#include <cctype>

namespace tracesmith::races {
namespace {

constexpr int kDeepest = 200;
constexpr int kMostRounds = 10;

bool startsWith(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

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

bool isAssignment(const Token& t) {
  return t.kind == TokenKind::kSign && t.text.size() >= 1 && t.text.back() == '=' && !t.is("==") &&
         !t.is("!=") && !t.is("<=") && !t.is(">=");
}

bool isBinary(const Token& t) {
  static const std::unordered_set<std::string_view> kSigns = {
      "+",  "-",  "*",  "/",  "%", "<<", ">>", "<",  ">",
      "<=", ">=", "==", "!=", "&", "|",  "^",  "&&", "||"};
  return t.kind == TokenKind::kSign && kSigns.contains(t.text);
}

/// What a function of the language does with the pointers it is given. kOther: no such function.
enum class BuiltIn : uint8_t { kOther, kNothing, kReads, kWrites, kBoth, kCopies };
BuiltIn builtInOf(std::string_view f) {
  if (startsWith(f, "atomic_load")) return BuiltIn::kReads;
  if (startsWith(f, "atomic_store") || f == "atomic_init" || startsWith(f, "atomic_flag_clear")) {
    return BuiltIn::kWrites;
  }
  if (startsWith(f, "atomic_") || startsWith(f, "atom_")) return BuiltIn::kBoth;
  if (startsWith(f, "vload") || startsWith(f, "read_image")) return BuiltIn::kReads;
  if (startsWith(f, "vstore")) return BuiltIn::kWrites;
  if (startsWith(f, "async_work_group_") || startsWith(f, "async_copy_")) return BuiltIn::kCopies;
  static const std::unordered_set<std::string_view> kWriting = {
      "fract",    "frexp",        "modf",         "remquo",        "sincos",
      "lgamma_r", "write_imagef", "write_imagei", "write_imageui", "write_imageh"};
  if (kWriting.contains(f)) return BuiltIn::kWrites;
  static const std::unordered_set<std::string_view> kNothing = {"prefetch",
                                                                "wait_group_events",
                                                                "printf",
                                                                "get_fence",
                                                                "barrier",
                                                                "mem_fence",
                                                                "work_group_barrier",
                                                                "sizeof",
                                                                "if",
                                                                "while",
                                                                "for",
                                                                "switch"};
  if (kNothing.contains(f) || startsWith(f, "get_image_")) return BuiltIn::kNothing;
  return BuiltIn::kOther;
}

class Parser {
 public:
  Parser(const SourceFunction& function, const SourceNames& names)
      : tokens_(function.body), names_(names) {
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      variables_[nameOfParameter(function.parameters[i])] |= parameterBit(i);
    }
  }

  FunctionEffects run() {
    for (int round = 0; round < kMostRounds; ++round) {
      grown_ = false;
      at_ = 0;
      while (!isEnd() && effects_.understood) statement();
      if (!grown_ || !effects_.understood) return effects_;
    }
    effects_.understood = false;
    return effects_;
  }

 private:
  /// Where a value may come from, and what is written when it is assigned to.
  struct Value {
    ParameterSet from = 0;
    ParameterSet memory = 0;    // it lies where these point
    bool is_memory = false;     // it lies behind a pointer or in an array
    std::string_view variable;  // it is, or is a part of, this variable
  };

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
  /// The place behind the bracket that closes the one at `at`.
  size_t behind(size_t at) const {
    int open = 0;
    for (; at < tokens_.size(); ++at) {
      const Token& t = tokens_[at];
      if (t.is("(") || t.is("[") || t.is("{")) ++open;
      if ((t.is(")") || t.is("]") || t.is("}")) && --open == 0) return at + 1;
    }
    return tokens_.size();
  }

  void statement() {
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
        while (!isEnd() && !next(")") && effects_.understood) {
          if (!accept(";") && !accept(",")) progress();
        }
        expect(")");
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
  /// An expression, for its effects.
  void progress() {
    const size_t before = at_;
    // Left as it is: `p[i];` reads nothing that anyone could see, and `p[i] = 1` was handled.
    (void)read(expression());
    if (at_ == before) effects_.understood = false;
  }

  /// With commas between.
  Value expression() {
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

  Value assignment() {
    if (++depth_ > kDeepest) {
      effects_.understood = false;
      --depth_;
      return {};
    }
    Value left = unary();
    ParameterSet others = 0;  // operands before the last one, which is what is assigned to
    while (effects_.understood && !isEnd() && isBinary(tokens_[at_])) {
      ++at_;
      others |= read(left);
      left = unary();
    }
    if (accept("?")) {
      (void)read(left);
      const ParameterSet yes = read(expression());
      expect(":");
      const ParameterSet no = read(assignment());
      left = {.from = yes | no};
    } else if (!isEnd() && isAssignment(tokens_[at_])) {
      const bool compound = !tokens_[at_].is("=");
      ++at_;
      const ParameterSet right = next("{") ? braces() : read(assignment());
      if (compound) (void)read(left);
      store(left, right);
      left = {.from = right | left.from};
    } else if (others != 0) {
      left = {.from = others | read(left)};
    }
    --depth_;
    return left;
  }

  ParameterSet braces() {
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

  /// The value is used; what it may come from.
  ParameterSet read(const Value& value) {
    effects_.read |= value.memory;
    return value.is_memory ? 0 : value.from;
  }

  void store(const Value& to, ParameterSet from) {
    effects_.written |= to.memory;
    if (from == 0) return;
    if (!to.is_memory && !to.variable.empty() && !names_.globals.contains(to.variable)) {
      ParameterSet& variable = variables_[to.variable];
      grown_ |= (variable | from) != variable;
      variable |= from;
    } else {
      effects_.lost |= from;  // a pointer that lies in memory, or is anybody's
    }
  }

  Value unary() {
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
      value = behindPointer(unary());
    } else if (t.is("&")) {
      ++at_;
      const Value of = unary();
      // What a variable that holds a pointer is changed to through another is not followed.
      if (!of.is_memory && !of.variable.empty()) effects_.lost |= of.from;
      value = {.from = of.memory | of.from};
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

  /// A type in brackets, with something behind it that it can be applied to.
  bool isCast() const {
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

  Value behindPointer(const Value& pointer) {
    const ParameterSet from = read(pointer);
    return {.from = from, .memory = from, .is_memory = true};
  }

  Value primary() {
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
    // Of words in a row the last is a name, those before are its type.
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
    // `float* const q`, `struct S* q`: a type and what follows it.
    while (next("*") && at_ > 0 && (isTypeWord(name, names_)) && !isEnd()) {
      ++at_;
      if (next("*")) continue;
      return nextIsWord() ? primary() : Value{};
    }
    if (next("(")) return call(name);
    const auto it = variables_.find(name);
    return {.from = it == variables_.end() ? 0 : it->second, .variable = name};
  }

  Value postfix(Value value) {
    while (effects_.understood && !isEnd()) {
      if (accept("[")) {
        const ParameterSet index = read(expression());
        expect("]");
        const ParameterSet from = value.is_memory ? value.memory : value.from;
        const ParameterSet base = from != 0 || !value.variable.empty() ? from : index;
        value = {.from = base, .memory = base, .is_memory = true};
      } else if (accept("->")) {
        value = behindPointer(value);
        if (nextIsWord()) ++at_;
      } else if (accept(".")) {
        if (!nextIsWord()) effects_.understood = false;
        ++at_;
      } else if (next("++") || next("--")) {
        ++at_;
        (void)read(value);
        store(value, 0);
        if (value.is_memory) return {};
      } else if (next("(")) {
        effects_.understood = false;  // a call of a value: pointers to functions, blocks
      } else {
        break;
      }
    }
    return value;
  }

  Value call(std::string_view name) {
    std::vector<ParameterSet> arguments;
    expect("(");
    while (!isEnd() && !next(")") && effects_.understood) {
      if (accept(",")) continue;
      const size_t before = at_;
      arguments.push_back(read(assignment()));
      if (at_ == before) effects_.understood = false;
    }
    expect(")");
    ParameterSet all = 0;
    for (const ParameterSet a : arguments) all |= a;
    if (const FunctionEffects* known = names_.effects(name))
      return {.from = apply(*known, arguments)};
    if (all == 0) return {};
    switch (builtInOf(name)) {
      case BuiltIn::kNothing:
        return {};
      case BuiltIn::kReads:
        effects_.read |= all;
        return {};
      case BuiltIn::kWrites:
        effects_.written |= all;
        return {};
      case BuiltIn::kBoth:
        effects_.read |= all;
        effects_.written |= all;
        return {};
      case BuiltIn::kCopies:
        effects_.written |= arguments[0];
        for (size_t i = 1; i < arguments.size(); ++i) effects_.read |= arguments[i];
        return {};
      case BuiltIn::kOther:
        break;
    }
    if (isTypeWord(name, names_) || startsWith(name, "as_") || startsWith(name, "convert_")) {
      return {.from = all};
    }
    effects_.lost |= all;
    return {.from = all};
  }

  ParameterSet apply(const FunctionEffects& known, const std::vector<ParameterSet>& arguments) {
    ParameterSet returned = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ParameterSet bit = parameterBit(i);
      if (!known.understood || (known.lost & bit) != 0) effects_.lost |= arguments[i];
      if ((known.read & bit) != 0) effects_.read |= arguments[i];
      if ((known.written & bit) != 0) effects_.written |= arguments[i];
      if ((known.returned & bit) != 0) returned |= arguments[i];
    }
    return returned;
  }

  std::span<const Token> tokens_;
  const SourceNames& names_;
  std::unordered_map<std::string_view, ParameterSet> variables_;
  FunctionEffects effects_;
  size_t at_ = 0;
  int depth_ = 0;
  bool grown_ = false;
  bool declares_ = false;
};

}  // namespace

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
  return Parser(function, names).run();
}

}  // namespace tracesmith::races
