// SPDX-License-Identifier: Apache-2.0
// A parser of expressions that keeps nothing of them but which pointers a value may come from. Of
// operators only those matter that reach memory: subscripts, ->, unary *, assignments, ++ and --;
// all others give what comes from any of their operands. Declarations read as expressions: of
// `global float* q = p`, q is what is assigned to.
#include "tracesmith/analysis/kernel_source/kernel_function.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tracesmith::races {
namespace {

constexpr int kDeepest = 200;
constexpr int kMostRounds = 10;
constexpr size_t kMostLookahead = 64u << 20;  // tokens, to find the ends of statements

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

  FunctionEffects run() {
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

 private:
  /// Where a value may come from, and what is written when it is assigned to.
  struct Value {
    ParameterSet from = 0;
    ParameterSet memory = 0;    // it lies where these point
    bool is_memory = false;     // it lies behind a pointer
    bool is_deep = false;       // it lies behind a pointer that lies in memory itself
    bool is_address = false;    // it is the address of (a part of) `variable`
    std::string_view variable;  // it is, or is a part of, this variable
    std::string_view member;    // that was named last
  };

  // --- variables: those that one pointer may point to share a set of what they may hold ---------

  struct Variable {
    std::string_view same_as;  // another one, or itself
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
  void unite(std::string_view a, std::string_view b) {
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
  /// An array of this function, or one in a struct: an element is a part of the variable.
  bool isArray(const Value& value) const {
    if (value.member.empty()) return arrays_.contains(value.variable);
    return names_.member_arrays.contains(value.member) &&
           !names_.member_pointers.contains(value.member);
  }
  /// It holds addresses of variables of this function, and nothing else.
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

  // --- code that is never executed --------------------------------------------------------------

  void countDeclarations() {
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
  /// Names that have one value: `const int n = 3;`, when nothing else is said of n.
  void findConstants() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
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

  /// Keeps in bits_ the parameters that have the caller's value everywhere: whose names are never
  /// declared again, changed, or handed out by address or reference.
  void findFixedParameters() {
    static const std::unordered_set<std::string_view> kBeforeValues = {"return", "else", "case",
                                                                       "do", "sizeof"};
    bool has_references = false;  // as C++ for OpenCL has
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      const bool behind_type =
          i > 0 && tokens_[i - 1].kind == TokenKind::kWord &&
          (tokens_[i - 1].is("auto") || isTypeWord(tokens_[i - 1].text, names_));
      has_references |= (t.is("&") || t.is("&&")) && behind_type;
      has_references |= t.is("[") && i + 1 < tokens_.size() && tokens_[i + 1].is("&");  // a lambda
      has_references |= t.is("enum");  // whose names may hide a parameter
      if (t.kind != TokenKind::kWord || !bits_.contains(t.text)) continue;
      size_t first = i, last = i;  // with the brackets around it
      while (first > 0 && tokens_[first - 1].is("(") && last + 1 < tokens_.size() &&
             tokens_[last + 1].is(")")) {
        --first;
        ++last;
      }
      const Token* const before = first > 0 ? &tokens_[first - 1] : nullptr;
      const Token* const after = last + 1 < tokens_.size() ? &tokens_[last + 1] : nullptr;
      const bool is_declared = (i > 0 && tokens_[i - 1].kind == TokenKind::kWord &&
                                !kBeforeValues.contains(tokens_[i - 1].text)) ||
                               (i > 0 && tokens_[i - 1].is("*") && !isProduct(i - 1)) ||
                               followsType(i);
      const bool is_changed =
          (before != nullptr && (before->is("++") || before->is("--") || before->is("&"))) ||
          (after != nullptr &&
           (isAssignment(*after) || after->is("++") || after->is("--") || after->is("[")));
      if (is_declared || is_changed) bits_.erase(t.text);
    }
    if (has_references) bits_.clear();
  }
  /// Whether a `*` stands between two numbers: what has no address cannot be followed.
  bool isProduct(size_t star) const {
    if (star == 0) return false;
    const Token& left = tokens_[star - 1];
    if (left.kind == TokenKind::kNumber || left.is(")") || left.is("]")) return true;
    return left.kind == TokenKind::kWord && !isTypeWord(left.text, names_);
  }

  /// `float name`, `global int* name`, `struct S name`.
  bool followsType(size_t name) const {
    size_t at = name;
    while (at > 0 && (tokens_[at - 1].is("*") || tokens_[at - 1].is("const"))) --at;
    if (at == 0 || tokens_[at - 1].kind != TokenKind::kWord) return false;
    return isTypeWord(tokens_[at - 1].text, names_) || (at > 1 && tokens_[at - 2].is("struct"));
  }

  std::optional<Constant> valueOf(size_t begin, size_t end) {
    return constantOf(
        tokens_.subspan(begin, end - begin), [&](std::string_view name) -> std::optional<Constant> {
          if (const auto it = bits_.find(name); it != bits_.end()) effects_.asked |= it->second;
          if (const auto it = constants_.find(name); it != constants_.end()) {
            return it->second;
          }
          const auto it = names_.constants.find(name);
          // A name of the function's own hides the one outside.
          const bool is_hidden = parameters_.contains(name) || declared_.contains(name);
          return it == names_.constants.end() || is_hidden ? std::nullopt
                                                           : std::optional(it->second);
        });
  }

  /// The place behind the statement at `at`.
  size_t behindStatement(size_t at, int depth = 0) {
    if (depth > kDeepest || (looked_ahead_ += 8) > kMostLookahead) {
      effects_.understood = false;
      return tokens_.size();
    }
    while (at + 1 < tokens_.size() && tokens_[at].is("__attribute__")) at = behindBracket(at + 1);
    if (at >= tokens_.size()) return at;
    const Token& t = tokens_[at];
    if (t.is("{")) return behindBracket(at);
    if (t.is("if") || t.is("while") || t.is("for") || t.is("switch")) {
      at = behindStatement(behindBracket(at + 1), depth + 1);
      const bool has_else = t.is("if") && at < tokens_.size() && tokens_[at].is("else");
      return has_else ? behindStatement(at + 1, depth + 1) : at;
    }
    if (t.is("do")) {
      at = behindStatement(at + 1, depth + 1);
      return std::min(behindBracket(at + 1) + 1, tokens_.size());
    }
    while (at < tokens_.size() && !tokens_[at].is(";")) {
      const bool opens = tokens_[at].is("(") || tokens_[at].is("[") || tokens_[at].is("{");
      at = opens ? behindBracket(at) : at + 1;
      ++looked_ahead_;
    }
    return std::min(at + 1, tokens_.size());
  }
  size_t behindBracket(size_t at) {
    const size_t end = behind(at);
    looked_ahead_ += end - std::min(at, end);
    return end;
  }
  /// False where something could jump into what lies between: then it is not dead after all.
  bool canBeDead(size_t begin, size_t end) const {
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

  /// Behind the head of an if or while whose condition is at [begin, end): leaves out the branch
  /// that a constant condition does not take.
  void leaveOutDeadBranch(bool is_if, size_t begin, size_t end) {
    const std::optional<Constant> condition = valueOf(begin, end);
    if (!condition || (condition->isTrue() && !is_if)) return;
    const size_t then_end = behindStatement(at_);
    if (!condition->isTrue()) {
      if (!canBeDead(at_, then_end)) return;
      at_ = then_end;
      if (is_if) accept("else");
      return;
    }
    if (then_end >= tokens_.size() || !tokens_[then_end].is("else")) return;
    const size_t else_end = behindStatement(then_end + 1);
    if (!canBeDead(then_end, else_end)) return;
    if (++nested_ > kDeepest) effects_.understood = false;
    while (at_ < then_end && effects_.understood) statement();
    --nested_;
    at_ = else_end;
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
        const size_t begin = at_;
        while (!isEnd() && !next(")") && effects_.understood) {
          if (!accept(";") && !accept(",")) progress();
        }
        const size_t end = at_;
        expect(")");
        if (word == "if" || word == "while") leaveOutDeadBranch(word == "if", begin, end);
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
    const size_t begin = at_;
    Value left = unary();
    ParameterSet others = 0;  // operands before the last one, which is what is assigned to
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
      if (!given.is_address && !compound) pointElsewhere(left, right);
      store(left, right);
      left = {.from = right | left.from};
    } else if (others != 0) {
      left = {.from = others | read(left)};
    }
    --depth_;
    return left;
  }

  /// A branch of a conditional expression; of one that is never taken nothing happens.
  ParameterSet branch(bool is_taken, bool with_commas) {
    const FunctionEffects before = effects_;
    const ParameterSet from = read(with_commas ? expression() : assignment());
    if (is_taken || !effects_.understood) return from;
    effects_ = before;
    return 0;
  }

  /// `q = &t`: whatever is put into the one may be got out of the other.
  ParameterSet pointTo(const Value& pointer, const Value& address) {
    if (!pointer.is_memory && pointer.member.empty() && isLocal(pointer.variable)) {
      to_locals_.insert(pointer.variable);
      unite(pointer.variable, address.variable);
      return 0;
    }
    escape(address);
    return setOf(address.variable);
  }
  void pointElsewhere(const Value& pointer, ParameterSet from) {
    if (from != 0 && !pointer.is_memory && pointer.member.empty()) {
      to_others_.insert(pointer.variable);
    }
  }
  /// Who has the address is not known: what the variable holds may go anywhere.
  void escape(const Value& address) {
    if (isLocal(address.variable)) escaped_.insert(address.variable);
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
    if (value.is_address) escape(value);
    (value.is_deep ? effects_.read_deep : effects_.read) |= value.memory;
    // What is read from memory may be a pointer: whoever follows it reaches deeper.
    return value.is_memory ? 0 : value.from;
  }

  void store(const Value& to, ParameterSet from) {
    (to.is_deep ? effects_.written_deep : effects_.written) |= to.memory;
    if (from == 0) return;
    if (!to.is_memory && !to.variable.empty() && !names_.globals.contains(to.variable)) {
      add(to.variable, from);
      return;
    }
    if (to.memory == 0 || to.is_deep || !to.is_memory) {
      effects_.lost |= from;  // anybody's
      return;
    }
    // Into what parameters point to: the caller knows what that is.
    for (size_t i = 0; i < effects_.into.size(); ++i) {
      if ((to.memory >> i & 1) == 0) continue;
      effects_.into[i] |= from;
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
      if (!of.is_memory && isLocal(of.variable)) {
        value = {.from = of.from, .is_address = true, .variable = of.variable};
      } else {
        // Of a parameter's own place nobody keeps track.
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

  /// What a pointer points to.
  Value behindPointer(const Value& pointer) {
    if (pointer.is_address || isToLocal(pointer)) {
      // It is the variable now, whatever that may hold, and no pointer to it.
      return {.from = setOf(pointer.variable), .variable = pointer.variable, .member = "*"};
    }
    if (pointer.is_memory) {
      // A pointer that lies in memory; memory that it leads to is counted to where it lies.
      (void)read(pointer);
      return {.from = pointer.memory, .memory = pointer.memory, .is_memory = true, .is_deep = true};
    }
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
    return {.from = setOf(name), .variable = name};
  }

  Value postfix(Value value) {
    while (effects_.understood && !isEnd()) {
      if (accept("[")) {
        const ParameterSet index = read(expression());
        expect("]");
        subscript(value, index);
      } else if (accept("->")) {
        value = behindPointer(value);
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
        effects_.understood = false;  // a call of a value: pointers to functions, blocks
      } else {
        break;
      }
    }
    return value;
  }

  void subscript(Value& value, ParameterSet index) {
    if (value.is_memory) {
      // An array in memory, unless the struct says that it is a pointer there.
      if (names_.member_pointers.contains(value.member)) {
        value = behindPointer(value);
      } else {
        value.from = value.memory;
      }
    } else if (isArray(value) && isLocal(value.variable)) {
      value.member = "[]";  // an element, which may be a pointer
    } else if (isToLocal(value)) {
      value = behindPointer(value);
    } else {
      const ParameterSet base = value.from != 0 || !value.variable.empty() ? value.from : index;
      value = {.from = base, .memory = base, .is_memory = true};
    }
  }

  Value call(std::string_view name) {
    std::vector<Value> given;
    std::vector<ParameterSet> arguments;
    expect("(");
    while (!isEnd() && !next(")") && effects_.understood) {
      if (accept(",")) continue;
      const size_t before = at_;
      given.push_back(assignment());
      const bool is_address = given.back().is_address || isToLocal(given.back());
      arguments.push_back(is_address ? setOf(given.back().variable) : read(given.back()));
      if (at_ == before) effects_.understood = false;
    }
    expect(")");
    ParameterSet all = 0;
    for (const ParameterSet a : arguments) all |= a;
    if (const FunctionEffects* known = names_.effects(name)) {
      return {.from = apply(*known, given, arguments)};
    }
    for (const Value& value : given) {
      // Functions of the language keep no addresses, but what they put there comes from the others.
      if (value.is_address && builtInOf(name) == BuiltIn::kOther) escape(value);
    }
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

  ParameterSet apply(const FunctionEffects& known, const std::vector<Value>& given,
                     const std::vector<ParameterSet>& arguments) {
    ParameterSet returned = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ParameterSet bit = parameterBit(i);
      const bool to_local = given[i].is_address || isToLocal(given[i]);
      if (!known.understood || (known.lost & bit) != 0) {
        effects_.lost |= arguments[i];
        if (to_local) escape(given[i]);
      }
      // Behind the address of a variable lies the variable, and memory only behind what it holds.
      const ParameterSet first = to_local ? 0 : arguments[i];
      if ((known.read & bit) != 0) effects_.read |= first;
      if ((known.written & bit) != 0) effects_.written |= first;
      ParameterSet& read_deep = to_local ? effects_.read : effects_.read_deep;
      ParameterSet& written_deep = to_local ? effects_.written : effects_.written_deep;
      if ((known.read_deep & bit) != 0) read_deep |= arguments[i];
      if ((known.written_deep & bit) != 0) written_deep |= arguments[i];
      if ((known.returned & bit) != 0) returned |= arguments[i];
      ParameterSet put = 0;
      for (size_t j = 0; j < arguments.size(); ++j) {
        if ((known.into[std::min<size_t>(i, 63)] & parameterBit(j)) != 0) put |= arguments[j];
      }
      if (put == 0) continue;
      if (to_local) {
        add(given[i].variable, put);
      } else if (arguments[i] == 0) {
        effects_.lost |= put;
      } else {
        for (size_t k = 0; k < effects_.into.size(); ++k) {
          if ((arguments[i] >> k & 1) != 0) effects_.into[k] |= put;
        }
      }
    }
    return returned;
  }

  std::span<const Token> tokens_;
  const SourceNames& names_;
  std::unordered_map<std::string_view, Variable> variables_;
  std::unordered_set<std::string_view> parameters_;
  std::unordered_set<std::string_view> arrays_;     // of this function
  std::unordered_set<std::string_view> to_locals_;  // were given the address of a variable
  std::unordered_set<std::string_view> to_others_;  // were given another pointer
  std::unordered_set<std::string_view> escaped_;    // their address is who knows where
  std::unordered_map<std::string_view, Constant> constants_;
  std::unordered_map<std::string_view, ParameterSet> bits_;  // of parameters that keep their value
  std::unordered_map<std::string_view, int> declared_;       // or set: how often
  size_t looked_ahead_ = 0;
  FunctionEffects effects_;
  size_t at_ = 0;
  int depth_ = 0;
  int nested_ = 0;
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
