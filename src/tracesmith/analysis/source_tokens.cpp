// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/source_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

namespace tracesmith::races {
namespace {

constexpr size_t kMostOpenConditions = 4;
constexpr int kDeepestMacro = 64;

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The length of the sign at the start of `s`.
size_t signLength(std::string_view s) {
  static constexpr std::string_view kSigns[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                                "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                                "*=",  "/=",  "%=",  "&=", "|=", "^=", "##"};
  for (const std::string_view sign : kSigns) {
    if (s.substr(0, sign.size()) == sign) return sign.size();
  }
  return 1;
}

/// Appends the tokens of `s`, in which backslashes before line ends are gone. False: a comment or
/// text has no end.
bool split(std::string_view s, std::vector<Token>& out) {
  bool new_line = true;
  for (size_t at = 0; at < s.size();) {
    const char c = s[at];
    if (c == '\n') new_line = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    if (s.substr(at, 2) == "//") {
      at = std::min(s.find('\n', at), s.size());
      continue;
    }
    if (s.substr(at, 2) == "/*") {
      const size_t end = s.find("*/", at + 2);
      if (end == std::string_view::npos) return false;
      at = end + 2;
      continue;
    }
    size_t end = at + 1;
    TokenKind kind = TokenKind::kSign;
    if (isWordStart(c)) {
      kind = TokenKind::kWord;
      while (end < s.size() && isWordPart(s[end])) ++end;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && end < s.size() && std::isdigit(static_cast<unsigned char>(s[end])))) {
      kind = TokenKind::kNumber;
      while (end < s.size() &&
             (isWordPart(s[end]) || s[end] == '.' ||
              ((s[end] == '+' || s[end] == '-') && (s[end - 1] == 'e' || s[end - 1] == 'E') &&
               s.substr(at, 2) != "0x"))) {
        ++end;
      }
    } else if (c == '"' || c == '\'') {
      kind = TokenKind::kText;
      while (end < s.size() && s[end] != c && s[end] != '\n') end += s[end] == '\\' ? 2 : 1;
      if (end >= s.size() || s[end] != c) return false;
      ++end;
    } else {
      end = at + signLength(s.substr(at));
    }
    out.push_back({s.substr(at, end - at), kind, new_line});
    new_line = false;
    at = end;
  }
  return true;
}

struct Macro {
  std::vector<Token> body;
  std::vector<std::string_view> parameters;
  bool is_function = false;
  bool usable = true;
};

class Preprocessor {
 public:
  /// `choices`: of open conditions, by their order; more of them may turn up.
  Preprocessor(const std::vector<Token>& source, uint32_t choices, SourceTokens& out)
      : source_(source), choices_(choices), out_(out) {}

  void define(std::string_view name, std::vector<Token> body) {
    macros_[name] = {std::move(body), {}, false, true};
  }
  void undefine(std::string_view name) { macros_.erase(name); }

  void run() {
    size_t at = 0;
    while (at < source_.size() && out_.understood) {
      size_t end = at + 1;
      while (end < source_.size() && !source_[end].starts_line) ++end;
      if (source_[at].is("#")) {
        directive(at + 1, end);
        at = end;
        continue;
      }
      // A call of a macro may go on over lines: up to the next directive.
      while (end < source_.size() && !(source_[end].starts_line && source_[end].is("#"))) ++end;
      if (active()) {
        most_ = 1'000'000 + 8 * source_.size();
        expand({source_.data() + at, end - at}, 0, out_.tokens);
      }
      at = end;
    }
    if (!conditions_.empty()) out_.understood = false;
  }
  size_t openConditions() const { return open_.size(); }

 private:
  using Tokens = std::vector<Token>;
  struct View {
    const Token* data;
    size_t size;
  };
  struct Condition {
    bool active;  // this branch
    bool taken;   // some branch so far
    bool outer;
  };

  bool active() const { return conditions_.empty() || conditions_.back().active; }
  bool isDefined(std::string_view name) const { return macros_.count(name) != 0; }

  void directive(size_t at, size_t end) {
    if (at >= end) return;
    const std::string_view what = source_[at].text;
    const View rest{source_.data() + at + 1, end - at - 1};
    if (what == "if" || what == "ifdef" || what == "ifndef") {
      const bool outer = active();
      const bool on = outer && decide(what, rest);
      conditions_.push_back({on, on, outer});
      if (conditions_.size() > 1000) out_.understood = false;
    } else if (what == "elif" || what == "else" || what == "endif") {
      if (conditions_.empty()) {
        out_.understood = false;
        return;
      }
      Condition& c = conditions_.back();
      if (what == "endif") {
        conditions_.pop_back();
      } else if (what == "else") {
        c.active = c.outer && !c.taken;
        c.taken = true;
      } else {
        c.active = c.outer && !c.taken && decide("if", rest);
        c.taken |= c.active;
      }
    } else if (!active()) {
      return;
    } else if (what == "define") {
      defineFrom(rest);
    } else if (what == "undef") {
      if (rest.size > 0) undefine(rest.data[0].text);
    } else if (what != "pragma" && what != "line" && what != "warning") {
      out_.understood = false;  // #include, and #error: the program was built, so not like this
    }
  }

  void defineFrom(View rest) {
    if (rest.size == 0 || rest.data[0].kind != TokenKind::kWord) {
      out_.understood = false;
      return;
    }
    Macro macro;
    size_t at = 1;
    // Only without a space does a bracket make it a function.
    if (rest.size > 1 && rest.data[1].is("(") &&
        rest.data[1].text.data() == rest.data[0].text.data() + rest.data[0].text.size()) {
      macro.is_function = true;
      for (at = 2; at < rest.size && !rest.data[at].is(")"); ++at) {
        if (rest.data[at].kind == TokenKind::kWord) macro.parameters.push_back(rest.data[at].text);
        if (rest.data[at].is("...")) macro.usable = false;
      }
      ++at;
      if (macro.parameters.size() > 64) macro.usable = false;
    }
    if (at < rest.size) macro.body.assign(rest.data + at, rest.data + rest.size);
    macros_[rest.data[0].text] = std::move(macro);
  }

  /// What a condition says; of one that nobody here can decide, what was chosen.
  bool decide(std::string_view what, View rest) {
    if (what != "if") {
      if (rest.size == 0) return false;
      const bool defined = isDefined(rest.data[0].text);
      if (!defined && isCompilers(rest.data[0].text)) {
        return choose(std::string(rest.data[0].text)) == (what == "ifdef");
      }
      return defined == (what == "ifdef");
    }
    Tokens tokens;
    bool open = false;
    std::string text;
    for (size_t i = 0; i < rest.size; ++i) {
      text.append(rest.data[i].text).append(" ");
      if (rest.data[i].is("defined")) {
        const size_t name = i + 1 < rest.size && rest.data[i + 1].is("(") ? i + 2 : i + 1;
        if (name >= rest.size) break;
        open |= !isDefined(rest.data[name].text) && isCompilers(rest.data[name].text);
        tokens.push_back({isDefined(rest.data[name].text) ? "1" : "0", TokenKind::kNumber, false});
        i = name == i + 2 ? name + 1 : name;
      } else {
        tokens.push_back(rest.data[i]);
      }
    }
    Tokens expanded;
    most_ = 10'000 + expanded.size();
    expand({tokens.data(), tokens.size()}, 0, expanded);
    for (const Token& t : expanded) open |= t.kind == TokenKind::kWord && isCompilers(t.text);
    size_t at = 0;
    const std::optional<int64_t> value = evaluate(expanded, at, 0, 0);
    if (open || !value || at != expanded.size()) return choose(text);
    return *value != 0;
  }

  /// A name that a compiler may define.
  static bool isCompilers(std::string_view name) {
    return name.substr(0, 2) == "__" || name.substr(0, 3) == "cl_" || name.substr(0, 3) == "CL_";
  }

  bool choose(const std::string& text) {
    auto it = std::find(open_.begin(), open_.end(), text);
    if (it == open_.end()) {
      if (open_.size() == kMostOpenConditions) {
        out_.understood = false;
        return false;
      }
      it = open_.insert(open_.end(), text);
    }
    return (choices_ >> (it - open_.begin()) & 1) != 0;
  }

  /// C's expressions of whole numbers. Nothing where it is none.
  static std::optional<int64_t> evaluate(const Tokens& t, size_t& at, int least, int depth) {
    if (at >= t.size() || depth > kDeepestMacro) return {};
    std::optional<int64_t> left;
    const Token& first = t[at++];
    if (first.is("(")) {
      left = evaluate(t, at, 0, depth + 1);
      if (at >= t.size() || !t[at++].is(")")) return {};
    } else if (first.is("!") || first.is("-") || first.is("+") || first.is("~")) {
      left = evaluate(t, at, 100, depth + 1);
      if (left && first.is("!")) left = *left == 0;
      if (left && first.is("-")) left = static_cast<int64_t>(0 - static_cast<uint64_t>(*left));
      if (left && first.is("~")) left = ~*left;
    } else if (first.kind == TokenKind::kNumber) {
      const bool hex = first.text.size() > 2 && (first.text[1] == 'x' || first.text[1] == 'X');
      const std::string_view digits = first.text.substr(hex ? 2 : 0);
      int64_t value = 0;
      const auto parsed =
          std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
      for (const char* c = parsed.ptr; c != digits.data() + digits.size(); ++c) {
        if (*c != 'u' && *c != 'U' && *c != 'l' && *c != 'L') return {};
      }
      if (parsed.ec == std::errc()) left = value;
    } else if (first.kind == TokenKind::kWord) {
      left = 0;
    }
    static const std::map<std::string_view, int> kPlaces = {
        {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
        {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
        {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
    while (left && at < t.size()) {
      const auto place = kPlaces.find(t[at].text);
      if (place == kPlaces.end() || place->second <= least) break;
      const std::string_view op = t[at++].text;
      const std::optional<int64_t> right = evaluate(t, at, place->second, depth + 1);
      if (!right) return {};
      left = apply(op, *left, *right);
    }
    return left;
  }

  static std::optional<int64_t> apply(std::string_view op, int64_t a, int64_t b) {
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "&") return a & b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<<") return b < 0 || b > 62 ? 0 : static_cast<int64_t>(ua << ub);
    if (op == ">>") return b < 0 || b > 62 ? 0 : a >> b;
    if (op == "+") return static_cast<int64_t>(ua + ub);
    if (op == "-") return static_cast<int64_t>(ua - ub);
    if (op == "*") return static_cast<int64_t>(ua * ub);
    if (b == 0 || (a == INT64_MIN && b == -1)) return {};
    return op == "/" ? a / b : a % b;
  }

  void expand(View in, int depth, Tokens& out) {
    for (size_t i = 0; i < in.size && out_.understood; ++i) {
      const Token& token = in.data[i];
      if (out.size() > most_ || ++work_ > 4'000'000 + 16 * source_.size() ||
          depth > kDeepestMacro) {
        out_.understood = false;
        return;
      }
      const auto it = token.kind == TokenKind::kWord ? macros_.find(token.text) : macros_.end();
      const bool is_busy =
          it != macros_.end() && std::find(busy_.begin(), busy_.end(), token.text) != busy_.end();
      if (it == macros_.end() || is_busy) {
        out.push_back(token);
        continue;
      }
      const Macro& macro = it->second;
      std::vector<Tokens> arguments;
      if (macro.is_function) {
        size_t end = i + 1;
        if (end >= in.size || !in.data[end].is("(")) {
          out.push_back(token);  // not called, unless what follows the outer macro calls it
          if (depth > 0 && end >= in.size) out_.understood = false;
          continue;
        }
        if (!callOf(in, end, arguments)) return;
        i = end;
      }
      if (!macro.usable || (macro.is_function && !macro.parameters.empty() &&
                            arguments.size() != macro.parameters.size())) {
        out_.understood = false;
        return;
      }
      const Tokens replaced = substituted(macro, arguments, depth);
      busy_.push_back(token.text);
      expand({replaced.data(), replaced.size()}, depth + 1, out);
      busy_.pop_back();
    }
  }

  /// Splits the arguments of the call whose bracket is at `at`; leaves `at` at the closing one.
  bool callOf(View in, size_t& at, std::vector<Tokens>& arguments) {
    int open = 0;
    arguments.emplace_back();
    for (; at < in.size; ++at) {
      const Token& t = in.data[at];
      if (t.is("(") && open++ == 0) continue;
      if (t.is(")") && --open == 0) return true;
      if (t.is(",") && open == 1) {
        arguments.emplace_back();
      } else {
        arguments.back().push_back(t);
      }
    }
    out_.understood = false;
    return false;
  }

  Tokens substituted(const Macro& macro, const std::vector<Tokens>& arguments, int depth) {
    Tokens out;
    const auto argumentOf = [&](const Token& t) -> const Tokens* {
      const auto p = std::find(macro.parameters.begin(), macro.parameters.end(), t.text);
      return p == macro.parameters.end() || !macro.is_function || t.kind != TokenKind::kWord
                 ? nullptr
                 : &arguments[static_cast<size_t>(p - macro.parameters.begin())];
    };
    std::vector<std::optional<Tokens>> expanded(arguments.size());
    for (size_t i = 0; i < macro.body.size() && out_.understood; ++i) {
      const Token& t = macro.body[i];
      if (t.is("##") && !out.empty() && i + 1 < macro.body.size()) {
        const Token& next = macro.body[++i];
        const Tokens* argument = argumentOf(next);
        const Tokens plain = argument == nullptr ? Tokens{next} : *argument;
        if (plain.empty()) continue;
        out_.made.push_back(std::string(out.back().text) + std::string(plain.front().text));
        out.back().text = out_.made.back();
        out.insert(out.end(), plain.begin() + 1, plain.end());
        continue;
      }
      if (t.is("#") && macro.is_function && i + 1 < macro.body.size()) {
        out.push_back({"\"\"", TokenKind::kText, false});
        ++i;
        continue;
      }
      const Tokens* argument = argumentOf(t);
      if (argument == nullptr) {
        out.push_back(t);
      } else if (i + 1 < macro.body.size() && macro.body[i + 1].is("##")) {
        if (argument->empty()) out_.understood = false;  // pasted to nothing: rare
        out.insert(out.end(), argument->begin(), argument->end());
      } else {
        std::optional<Tokens>& once = expanded[static_cast<size_t>(argument - arguments.data())];
        if (!once) expand({argument->data(), argument->size()}, depth + 1, once.emplace());
        out.insert(out.end(), once->begin(), once->end());
      }
      if (out.size() > most_) out_.understood = false;
    }
    work_ += out.size();
    return out;
  }

  const Tokens& source_;
  const uint32_t choices_;
  SourceTokens& out_;
  std::unordered_map<std::string_view, Macro> macros_;
  std::vector<Condition> conditions_;
  std::vector<std::string> open_;
  std::vector<std::string_view> busy_;
  size_t most_ = 0;
  size_t work_ = 0;
};

/// Words of a command line; quotes and backslashes as compilers take them.
std::vector<std::string> wordsOf(std::string_view options) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (size_t i = 0; i < options.size(); ++i) {
    const char c = options[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '\\' && i + 1 < options.size()) {
      words.back() += options[++i];
    } else if (!quoted && (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0')) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

std::vector<SourceTokens> tokensOfSource(std::string_view source, std::string_view options) {
  std::vector<SourceTokens> all;
  const auto give_up = [] {
    std::vector<SourceTokens> none(1);
    none[0].understood = false;
    return none;
  };
  if (source.size() > kMostSourceBytes || options.size() > kMostSourceBytes) return give_up();
  // Backslashes at line ends join lines; with zeros at its end a source was handed over whole.
  std::string joined;
  joined.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool at_end = source[i] == '\\' && i + 1 < source.size() &&
                        (source[i + 1] == '\n' || source.substr(i + 1, 2) == "\r\n");
    if (at_end) {
      i += source[i + 1] == '\n' ? 1 : 2;
    } else if (source[i] != '\0') {
      joined += source[i];
    }
  }
  // Every choice keeps text of its own, for tokens point into it; a deque may not move without
  // copying.
  all.reserve(size_t{1} << kMostOpenConditions);
  for (uint32_t choices = 0, most = 1; choices < most; ++choices) {
    SourceTokens& out = all.emplace_back();
    out.made.push_back(joined);
    std::vector<Token> tokens;
    if (!split(out.made.back(), tokens)) return give_up();
    Preprocessor preprocessor(tokens, choices, out);
    const std::vector<std::string> words = wordsOf(options);
    for (size_t i = 0; i < words.size(); ++i) {
      const bool defines = words[i].rfind("-D", 0) == 0;
      if (!defines && words[i].rfind("-U", 0) != 0) continue;
      std::string text = words[i].substr(2);
      if (text.empty() && i + 1 < words.size()) text = words[++i];
      const size_t equals = std::min(text.find('='), text.size());
      out.made.push_back(text.substr(0, equals));
      const std::string_view name = out.made.back();
      if (!defines) {
        preprocessor.undefine(name);
        continue;
      }
      out.made.push_back(equals < text.size() ? text.substr(equals + 1) : "1");
      std::vector<Token> body;
      if (name.find('(') != std::string_view::npos || !split(out.made.back(), body)) {
        return give_up();
      }
      preprocessor.define(name, std::move(body));
    }
    preprocessor.run();
    if (out.tokens.size() * sizeof(Token) > (256u << 20)) out.understood = false;
    most = std::max(most, 1u << preprocessor.openConditions());
  }
  return all;
}

}  // namespace tracesmith::races
