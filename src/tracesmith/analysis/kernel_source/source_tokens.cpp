// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_source/source_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracesmith/analysis/kernel_source/constant_expression.hpp"
#include "tracesmith/base/build_options.hpp"

namespace tracesmith::races {
namespace {

constexpr size_t kMostOpenConditions = 4;
constexpr int kDeepestMacro = 64;
constexpr size_t kMostTokens = 16'000'000;  // including included files, each time they are included

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Length of the operator or punctuator at the start of `s`.
size_t signLength(std::string_view s) {
  static constexpr std::string_view kSigns[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                                "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                                "*=",  "/=",  "%=",  "&=", "|=", "^=", "##"};
  for (const std::string_view sign : kSigns) {
    if (s.substr(0, sign.size()) == sign) return sign.size();
  }
  return 1;
}

/// Appends the tokens of `s`, whose line continuations must have been removed. False: a comment or
/// literal is not terminated.
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

/// Removes line continuations, and zeros at the end of a source that was passed with them.
std::string joinContinuedLines(std::string_view source) {
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
  return joined;
}

struct Macro {
  std::vector<Token> body;
  std::vector<std::string_view> parameters;
  bool is_function = false;
  bool is_variadic = false;  // the last parameter takes all remaining arguments
  bool usable = true;
};

class Preprocessor {
 public:
  /// `choices`: for undecided conditions, in order; more may be found.
  Preprocessor(uint32_t choices, const IncludedFiles& files, std::vector<std::string> folders,
               SourceTokens& out)
      : choices_(choices), files_(files), folders_(std::move(folders)), out_(out) {}

  void define(std::string_view name, std::vector<Token> body) {
    macros_[name] = {std::move(body), {}, false, true};
  }
  void undefine(std::string_view name) { macros_.erase(name); }

  /// `folder`: the folder of the source.
  void run(const std::vector<Token>& source, const std::string& folder) {
    const size_t open_before = conditions_.size();
    source_tokens_ += source.size();
    if (source_tokens_ > kMostTokens) out_.understood = false;
    size_t at = 0;
    while (at < source.size() && out_.understood) {
      size_t end = at + 1;
      while (end < source.size() && !source[end].starts_line) ++end;
      if (source[at].is("#")) {
        directive({source.data() + at + 1, end - at - 1}, folder);
        at = end;
        continue;
      }
      // A macro call may span lines, up to the next directive.
      while (end < source.size() && !(source[end].starts_line && source[end].is("#"))) ++end;
      if (active()) {
        most_ = 1'000'000 + 8 * source_tokens_;
        expand({source.data() + at, end - at}, 0, out_.tokens);
      }
      at = end;
    }
    if (conditions_.size() != open_before) out_.understood = false;
  }
  size_t openConditions() const { return open_.size(); }

 private:
  using Tokens = std::vector<Token>;
  struct View {
    const Token* data;
    size_t size;
  };
  struct Condition {
    bool active;  // this branch is active
    bool taken;   // some branch was active
    bool outer;
  };

  bool active() const { return conditions_.empty() || conditions_.back().active; }
  bool isDefined(std::string_view name) const { return macros_.count(name) != 0; }

  void directive(View line, const std::string& folder) {
    if (line.size == 0) return;
    const std::string_view what = line.data[0].text;
    const View rest{line.data + 1, line.size - 1};
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
    } else if (what == "include") {
      include(rest, folder);
    } else if (what == "pragma") {
      if (rest.size > 0 && rest.data[0].is("once") && !file_.empty()) once_.insert(file_);
    } else if (what != "line" && what != "warning") {
      out_.understood = false;  // #error: the program was built, so these choices are wrong
    }
  }

  /// A path as in the recording: without dots.
  static std::string normalizedPath(const std::string& folder, const std::string& name) {
    const std::string path = name.starts_with('/') ? name : folder + "/" + name;
    return path.find("/.") == std::string::npos && path.find("//") == std::string::npos
               ? path
               : std::filesystem::path(path).lexically_normal().string();
  }

  /// The name in an #include, which may come from a macro.
  std::string nameOfInclude(View rest, bool& quoted) {
    Tokens tokens(rest.data, rest.data + rest.size);
    if (rest.size > 0 && rest.data[0].kind == TokenKind::kWord) {
      tokens.clear();
      most_ = 10'000;
      expand(rest, 0, tokens);
    }
    std::string name;
    quoted = !tokens.empty() && tokens[0].kind == TokenKind::kText;
    if (quoted) {
      name = tokens[0].text.substr(1, tokens[0].text.size() - 2);
    } else if (tokens.size() > 2 && tokens.front().is("<") && tokens.back().is(">")) {
      for (size_t i = 1; i + 1 < tokens.size(); ++i) name += tokens[i].text;
    }
    return name;
  }

  void include(View rest, const std::string& folder) {
    constexpr size_t kDeepestInclude = 64;
    bool quoted = false;
    const std::string name = nameOfInclude(rest, quoted);
    const size_t first = quoted ? 0 : 1;
    for (size_t i = first; i < folders_.size() + 2; ++i) {
      const std::string& in = i == 0                 ? folder
                              : i <= folders_.size() ? folders_[i - 1]
                                                     : files_.folder;
      constexpr size_t kWorkOfAFolder = 64;
      if (!mayContinue(kWorkOfAFolder)) return;
      const std::string path = normalizedPath(in, name);
      const auto file = files_.by_path.find(path);
      if (file == files_.by_path.end()) continue;
      if (once_.contains(path)) return;
      if (name.empty() || ++depth_ > kDeepestInclude || ++includes_ > 10'000) break;
      // Kept, because tokens point into it and repeated includes reuse it.
      auto [it, is_new] = read_.try_emplace(path);
      if (is_new) {
        out_.made.push_back(joinContinuedLines(file->second));
        if (!split(out_.made.back(), it->second)) out_.understood = false;
      }
      const std::string before = std::exchange(file_, path);
      run(it->second, path.substr(0, path.rfind('/')));
      file_ = before;
      --depth_;
      return;
    }
    out_.understood = false;
  }

  void defineFrom(View rest) {
    if (rest.size == 0 || rest.data[0].kind != TokenKind::kWord) {
      out_.understood = false;
      return;
    }
    Macro macro;
    size_t at = 1;
    // A bracket makes it a function-like macro only without a space before.
    if (rest.size > 1 && rest.data[1].is("(") &&
        rest.data[1].text.data() == rest.data[0].text.data() + rest.data[0].text.size()) {
      macro.is_function = true;
      for (at = 2; at < rest.size && !rest.data[at].is(")"); ++at) {
        if (rest.data[at].kind == TokenKind::kWord) macro.parameters.push_back(rest.data[at].text);
        if (!rest.data[at].is("...")) continue;
        // `name...` is named already.
        const bool has_name = !rest.data[at - 1].is("(") && !rest.data[at - 1].is(",");
        if (!has_name) macro.parameters.push_back("__VA_ARGS__");
        macro.is_variadic = true;
      }
      ++at;
      if (macro.parameters.size() > 64) macro.usable = false;
    }
    if (at < rest.size) macro.body.assign(rest.data + at, rest.data + rest.size);
    macros_[rest.data[0].text] = std::move(macro);
  }

  /// The value of a condition; if undecidable, the chosen value.
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
    std::string text;
    for (size_t i = 0; i < rest.size; ++i) {
      text.append(rest.data[i].text).append(" ");
      if (rest.data[i].is("defined")) {
        const size_t name = i + 1 < rest.size && rest.data[i + 1].is("(") ? i + 2 : i + 1;
        if (name >= rest.size) break;
        const std::string_view asked = rest.data[name].text;
        if (!isDefined(asked) && isCompilers(asked)) {
          tokens.push_back({asked, TokenKind::kWord, false});  // its value is unknown too
        } else {
          tokens.push_back({isDefined(asked) ? "1" : "0", TokenKind::kNumber, false});
        }
        i = name == i + 2 ? name + 1 : name;
      } else {
        tokens.push_back(rest.data[i]);
      }
    }
    Tokens expanded;
    most_ = 10'000 + expanded.size();
    expand({tokens.data(), tokens.size()}, 0, expanded);
    const std::optional<Constant> value =
        constantOf(expanded, [](std::string_view name) -> std::optional<Constant> {
          if (isCompilers(name)) return {};
          return Constant{};  // an undefined name is 0
        });
    if (!value) return choose(text);
    return value->isTrue();
  }

  /// True for a name that a compiler or the language's own header may define.
  static bool isCompilers(std::string_view name) {
    static constexpr std::string_view kPrefixes[] = {
        "__",    "cl_",   "CL_",     "CLK_",    "FP_",        "FLT_",     "DBL_",
        "HALF_", "M_",    "CHAR_",   "SCHAR_",  "UCHAR_",     "SHRT_",    "USHRT_",
        "INT_",  "UINT_", "LONG_",   "ULONG_",  "MAXFLOAT",   "HUGE_VAL", "INFINITY",
        "NAN",   "NULL",  "ATOMIC_", "memory_", "kernel_exec"};
    return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
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

  /// Counts steps and bytes produced. False: too many, so the source is hostile.
  bool mayContinue(size_t work) {
    work_ += work;
    if (work_ > 4'000'000 + 16 * source_tokens_) out_.understood = false;
    return out_.understood;
  }

  void expand(View in, int depth, Tokens& out) {
    for (size_t i = 0; i < in.size && out_.understood; ++i) {
      const Token& token = in.data[i];
      if (out.size() > most_ || depth > kDeepestMacro) out_.understood = false;
      if (!mayContinue(1)) return;
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
          out.push_back(token);  // not a call, unless text after the outer macro completes it
          if (depth > 0 && end >= in.size) out_.understood = false;
          continue;
        }
        if (!callOf(in, end, arguments)) return;
        i = end;
        if (macro.is_variadic) gatherRest(macro.parameters.size(), arguments);
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

  /// Splits the arguments of the call whose bracket is at `at`; sets `at` to the closing one.
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
        if (!mayContinue(1)) return false;
      }
    }
    out_.understood = false;
    return false;
  }

  /// Merges the arguments from the last parameter on, including commas.
  static void gatherRest(size_t parameters, std::vector<Tokens>& arguments) {
    while (arguments.size() < parameters) arguments.emplace_back();
    Tokens& rest = arguments[parameters - 1];
    for (size_t i = parameters; i < arguments.size(); ++i) {
      rest.push_back({",", TokenKind::kSign, false});
      rest.insert(rest.end(), arguments[i].begin(), arguments[i].end());
    }
    arguments.resize(parameters);
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
        if (plain.empty()) {
          // `, ## __VA_ARGS__` without arguments: remove the comma.
          if (next.is("__VA_ARGS__") && out.back().is(",")) out.pop_back();
          continue;
        }
        if (out.back().is(",")) {
          out.insert(out.end(), plain.begin(), plain.end());
          continue;
        }
        out_.made.push_back(std::string(out.back().text) + std::string(plain.front().text));
        out.back().text = out_.made.back();
        if (!mayContinue(out.back().text.size())) break;
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
        if (argument->empty()) out_.understood = false;  // pasted with nothing: rare
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

  const uint32_t choices_;
  const IncludedFiles& files_;
  const std::vector<std::string> folders_;  // folders of -I
  SourceTokens& out_;
  std::unordered_map<std::string_view, Macro> macros_;
  std::vector<Condition> conditions_;
  std::vector<std::string> open_;
  std::vector<std::string_view> busy_;
  std::map<std::string, Tokens> read_;    // included files
  std::unordered_set<std::string> once_;  // files with #pragma once
  std::string file_;                      // file being read; empty: the source itself
  size_t source_tokens_ = 0;
  size_t depth_ = 0;
  size_t includes_ = 0;
  size_t most_ = 0;
  size_t work_ = 0;
};

std::vector<BuildOption> optionsOf(std::string_view text) {
  std::vector<BuildOption> all;
  BuildOptions options(text);
  for (BuildOption option; options.next(option);) all.push_back(option);
  return all;
}

/// Folders of -I as absolute paths.
std::vector<std::string> foldersOf(const std::vector<BuildOption>& options,
                                   const std::string& own_folder) {
  std::vector<std::string> folders;
  for (const BuildOption& option : options) {
    if (option.kind != BuildOptionKind::kFolder) continue;
    const auto name = option.valueAs<std::string>();
    folders.push_back(name.starts_with('/') ? name : own_folder + "/" + name);
  }
  return folders;
}

}  // namespace

std::vector<SourceTokens> tokensOfSource(std::string_view source, std::string_view options,
                                         const IncludedFiles& files) {
  std::vector<SourceTokens> all;
  const auto give_up = [] {
    std::vector<SourceTokens> none(1);
    none[0].understood = false;
    return none;
  };
  if (source.size() > kMostSourceBytes || options.size() > kMostSourceBytes) return give_up();
  const std::string joined = joinContinuedLines(source);
  const std::vector<BuildOption> given = optionsOf(options);
  // Reserve, because tokens point into each choice's own text, and moving a deque may copy it.
  all.reserve(size_t{1} << kMostOpenConditions);
  for (uint32_t choices = 0, most = 1; choices < most; ++choices) {
    SourceTokens& out = all.emplace_back();
    out.made.push_back(joined);
    std::vector<Token> tokens;
    if (!split(out.made.back(), tokens)) return give_up();
    Preprocessor preprocessor(choices, files, foldersOf(given, files.folder), out);
    for (const BuildOption& option : given) {
      const bool defines = option.kind == BuildOptionKind::kDefine;
      if (!defines && option.kind != BuildOptionKind::kUndefine) continue;
      const auto text = option.valueAs<std::string>();
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
    preprocessor.run(tokens, files.folder);
    if (out.tokens.size() * sizeof(Token) > (256u << 20)) out.understood = false;
    most = std::max(most, 1u << preprocessor.openConditions());
  }
  return all;
}

}  // namespace tracesmith::races
