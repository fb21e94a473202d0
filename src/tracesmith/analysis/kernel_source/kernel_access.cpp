// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_source/kernel_access.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "tracesmith/analysis/kernel_source/kernel_function.hpp"

namespace tracesmith::races {
namespace {

using Part = std::span<const Token>;

bool has(Part part, std::string_view word) {
  return std::any_of(part.begin(), part.end(), [&](const Token& t) { return t.is(word); });
}

constexpr int kLongestChain = 100;

}  // namespace

/// A program for one choice of its undecided conditions.
class ProgramAccess::Unit {
 public:
  explicit Unit(const SourceTokens& source) : understood_(source.understood) {
    names_ = std::make_unique<SourceNames>();
    if (understood_) declarations(source.tokens);
  }

  bool understood() const { return understood_; }

  /// nullptr: no kernel has that name.
  const SourceFunction* find(std::string_view name) const {
    const auto it = functions_.find(name);
    return it == functions_.end() || !it->second.is_kernel ? nullptr : &it->second;
  }

  std::vector<ArgumentAccess> arguments(const SourceFunction& kernel, const ArgumentBytes& values,
                                        ParameterSet& decided_by) {
    FunctionEffects effects = *effectsFor(kernel.name);
    if (has_references_) effects.asked = 0;
    if (effects.asked != 0 && effects.understood && !values.empty()) {
      effects = effectsWith(kernel, values);
    }
    decided_by = 0;
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const Part parameter = kernel.parameters[i];
      const bool is_number =
          !parameter.empty() && constantAs(parameter.first(parameter.size() - 1), {}).has_value();
      if (is_number) decided_by |= effects.asked & parameterBit(i);
    }
    // A kernel's parameters point to memory that others can read.
    for (const ParameterSet put : effects.into) effects.lost |= put;
    std::vector<ArgumentAccess> all;
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      all.push_back(argument(kernel.parameters[i], parameterBit(i), effects));
    }
    return all;
  }

 private:
  void declarations(Part tokens) {
    size_t start = 0;
    for (size_t at = 0; at < tokens.size() && understood_;) {
      const Token& t = tokens[at];
      if (t.is(";")) {
        declaration(tokens.subspan(start, at - start));
        start = ++at;
      } else if (t.is("{")) {
        const size_t end = behind(tokens, at);
        if (function(tokens.subspan(start, at - start), tokens.subspan(at, end - at))) start = end;
        at = end;
      } else if (t.is("}") || t.is(")") || t.is("]")) {
        understood_ = false;
      } else if (t.is("(") || t.is("[")) {
        at = behind(tokens, at);
      } else {
        ++at;
      }
    }
  }

  /// Index after the bracket that closes the one at `at`.
  size_t behind(Part tokens, size_t at) {
    std::string open;
    for (; at < tokens.size(); ++at) {
      const Token& t = tokens[at];
      if (t.kind != TokenKind::kSign) continue;
      const char c = t.text[0];
      if (c == '(') open += ')';
      if (c == '[') open += ']';
      if (c == '{') open += '}';
      if (c != ')' && c != ']' && c != '}') continue;
      if (open.empty() || open.back() != c) break;
      open.pop_back();
      if (open.empty()) return at + 1;
    }
    understood_ = false;
    return tokens.size();
  }

  /// Collects the members of all structs together, because a name usually has one meaning.
  void members(Part part) {
    for (size_t at = 0; at + 1 < part.size(); ++at) {
      if (!part[at].is("{") || !has(part.first(at), "struct")) continue;
      const size_t end = behind(part, at);
      size_t start = at + 1;
      for (size_t i = at + 1; i < end; ++i) {
        if (!part[i].is(";")) continue;
        member(part.subspan(start, i - start));
        start = i + 1;
      }
      return;
    }
  }
  void member(Part declared) {
    // `global int *a, *b[2]`: the tokens before and after each name.
    for (size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].kind != TokenKind::kWord) continue;
      const bool is_name = i + 1 == declared.size() || declared[i + 1].is(",") ||
                           declared[i + 1].is("[") || declared[i + 1].is(":");
      if (!is_name) continue;
      const Part before = declared.first(i);
      const bool by_name =
          std::any_of(before.begin(), before.end(), [&](const Token& t) { return isPointer(t); });
      if (by_name || (i > 0 && (declared[i - 1].is("*") || declared[i - 1].is("restrict") ||
                                has(before, "*")))) {
        names_->member_pointers.insert(declared[i].text);
      }
      if (i + 1 < declared.size() && declared[i + 1].is("[")) {
        names_->member_arrays.insert(declared[i].text);
        if (i > 0 && has(before, "*")) names_->member_pointers.erase(declared[i].text);
      }
    }
  }

  /// `enum { A, B = 3 }` and `constant int n = 2;`.
  void constants(Part part) {
    const auto known = [&](std::string_view name) -> std::optional<Constant> {
      const auto it = names_->constants.find(name);
      return it == names_->constants.end() ? std::nullopt : std::optional(it->second);
    };
    const bool is_constant = has(part, "constant") || has(part, "__constant") || has(part, "const");
    if (is_constant && !has(part, "*") && !has(part, "{") && !has(part, "[")) {
      const auto equals =
          std::find_if(part.begin(), part.end(), [](const Token& t) { return t.is("="); });
      if (equals == part.begin() || equals == part.end() || has(part, ",")) return;
      const auto at = static_cast<size_t>(equals - part.begin());
      auto value = constantOf(part.subspan(at + 1), known);
      if (value) value = constantAs(part.first(at - 1), *value);
      if (value) names_->constants[part[at - 1].text] = *value;
      return;
    }
    const auto brace =
        std::find_if(part.begin(), part.end(), [](const Token& t) { return t.is("{"); });
    const auto at = static_cast<size_t>(brace - part.begin());
    if (brace == part.end() || !has(part.first(at), "enum")) return;
    std::optional<Constant> value = Constant{.whole = -1};
    const size_t end = behind(part, at);
    for (size_t i = at + 1; i + 1 < end; ++i) {
      if (part[i].kind != TokenKind::kWord) return;
      const std::string_view name = part[i++].text;
      size_t until = i;
      while (until + 1 < end && !part[until].is(",")) ++until;
      if (until > i && part[i].is("=")) {
        value = constantOf(part.subspan(i + 1, until - i - 1), known);
      } else if (value && value->whole < INT32_MAX) {
        ++value->whole;
      } else {
        value = {};
      }
      if (value) names_->constants[name] = *value;
      i = until;
    }
  }

  void declaration(Part part) {
    members(part);
    constants(part);
    if (has(part, "typedef")) {
      const std::string_view name = nameOfParameter(part.subspan(lastBrace(part)));
      names_->types.insert(name);
      if (has(part, "*") || has(part, "^")) pointers_.push_back(name);
      if (std::any_of(part.begin(), part.end(), [&](const Token& t) { return isPointer(t); })) {
        pointers_.push_back(name);
      }
      return;
    }
    for (const Token& t : part) {
      if (t.kind == TokenKind::kWord) names_->globals.insert(t.text);
    }
  }
  static size_t lastBrace(Part part) {
    size_t at = part.size();
    while (at > 0 && !part[at - 1].is("}")) --at;
    return at;
  }
  bool isPointer(const Token& type) const {
    return type.kind == TokenKind::kWord &&
           std::find(pointers_.begin(), pointers_.end(), type.text) != pointers_.end();
  }

  /// False: the braces are not the body of a function.
  bool function(Part head, Part braces) {
    if (has(head, "typedef") || has(head, "=")) return false;
    for (size_t at = 1; at < head.size(); ++at) {
      if (!head[at].is("(")) continue;
      const size_t end = behind(head, at);
      const Token& name = head[at - 1];
      if (name.kind != TokenKind::kWord || name.is("__attribute__")) {
        at = end - 1;
        continue;
      }
      SourceFunction f;
      f.name = name.text;
      f.is_kernel = has(head.first(at), "kernel") || has(head.first(at), "__kernel");
      f.body = braces.subspan(1, braces.size() - 2);
      parameters(head.subspan(at + 1, end - at - 2), f.parameters);
      for (const Part parameter : f.parameters) {
        has_references_ |= has(parameter, "&") || has(parameter, "&&");
      }
      const auto [it, is_new] = functions_.try_emplace(f.name, f);
      if (!is_new) ambiguous_.insert(f.name);  // overloaded
      return true;
    }
    return false;  // a struct
  }

  static void parameters(Part list, std::vector<Part>& out) {
    if (list.empty() || (list.size() == 1 && list[0].is("void"))) return;
    int open = 0;
    size_t start = 0;
    for (size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size() && (list[i].is("(") || list[i].is("["))) ++open;
      if (i < list.size() && (list[i].is(")") || list[i].is("]"))) --open;
      if (i < list.size() && !(open == 0 && list[i].is(","))) continue;
      out.push_back(list.subspan(start, i - start));
      start = i + 1;
    }
  }

  const FunctionEffects* effectsFor(std::string_view name) {
    static const FunctionEffects kUnknown{.understood = false};
    const auto function = functions_.find(name);
    if (function == functions_.end()) return nullptr;
    const auto [it, is_new] = effects_.try_emplace(name, kUnknown);  // for recursive functions
    if (!is_new || ambiguous_.contains(name) || chain_ >= kLongestChain) return &it->second;
    ++chain_;
    names_->effects = [this](std::string_view callee) { return effectsFor(callee); };
    const FunctionEffects found = effectsOf(function->second, *names_);
    --chain_;
    return &(effects_[name] = found);
  }

  /// Effects of one call with known argument values.
  FunctionEffects effectsWith(const SourceFunction& kernel, const ArgumentBytes& values) {
    SourceFunction called = kernel;
    for (size_t i = 0; i < std::min(values.size(), kernel.parameters.size()); ++i) {
      const Part parameter = kernel.parameters[i];
      if (values[i].empty() || parameter.empty()) continue;
      const auto value = constantOfBytes(parameter.first(parameter.size() - 1), values[i]);
      if (value) called.values[parameter.back().text] = *value;
    }
    names_->effects = [this](std::string_view callee) { return effectsFor(callee); };
    return effectsOf(called, *names_);
  }

  ArgumentAccess argument(Part parameter, ParameterSet bit, const FunctionEffects& effects) const {
    constexpr ArgumentAccess kNothing{false, false, true};
    constexpr ArgumentAccess kAnything{true, true, false};
    const auto is = [&](std::string_view a, std::string_view b) {
      return has(parameter, a) || has(parameter, b);
    };
    if (is("pipe", "...")) return kAnything;
    if (is("local", "__local")) return kNothing;
    if (is("constant", "__constant")) return {true, false, true};
    const bool is_image = std::any_of(parameter.begin(), parameter.end(), [](const Token& t) {
      return t.kind == TokenKind::kWord && t.text.substr(0, 5) == "image" && t.text.size() > 2 &&
             t.text.substr(t.text.size() - 2) == "_t";
    });
    if (is_image) {
      if (is("write_only", "__write_only")) return {false, true, true};
      return {true, is("read_write", "__read_write"), true};
    }
    const auto star = std::find_if(parameter.begin(), parameter.end(),
                                   [](const Token& t) { return t.is("*") || t.is("["); });
    const bool by_name = std::any_of(parameter.begin(), parameter.end(),
                                     [&](const Token& t) { return isPointer(t); });
    if (star == parameter.end() && !by_name) return kNothing;
    if (!effects.understood || (effects.lost & bit) != 0) {
      const bool is_const =
          !by_name && has(parameter.first(static_cast<size_t>(star - parameter.begin())), "const");
      return is_const ? ArgumentAccess{true, false, true} : kAnything;
    }
    ArgumentAccess access{(effects.read & bit) != 0, (effects.written & bit) != 0, true};
    access.reads_indirectly = (effects.read_deep & bit) != 0;
    access.writes_indirectly = (effects.written_deep & bit) != 0;
    return access;
  }

  bool understood_;
  bool has_references_ = false;  // some function may change its arguments: C++ for OpenCL
  std::unordered_map<std::string_view, SourceFunction> functions_;
  std::unordered_set<std::string_view> ambiguous_;
  std::unordered_map<std::string_view, FunctionEffects> effects_;
  std::vector<std::string_view> pointers_;  // pointer types
  std::unique_ptr<SourceNames> names_;
  int chain_ = 0;
};

ProgramAccess::ProgramAccess(std::string_view source, std::string_view options,
                             const IncludedFiles& files)
    : tokens_(tokensOfSource(source, options, files)) {
  for (const SourceTokens& tokens : tokens_) units_.emplace_back(tokens);
}
ProgramAccess::~ProgramAccess() = default;
ProgramAccess::ProgramAccess(ProgramAccess&&) noexcept = default;
ProgramAccess& ProgramAccess::operator=(ProgramAccess&&) noexcept = default;

KernelAccess ProgramAccess::kernel(std::string_view name, const ArgumentBytes& values) {
  KernelAccess all;
  ParameterSet decided_by = 0;
  for (Unit& unit : units_) {
    if (!unit.understood()) return {};
    const SourceFunction* function = unit.find(name);
    if (function == nullptr) continue;  // the program was not compiled this way
    ParameterSet asked = 0;
    const std::vector<ArgumentAccess> arguments = unit.arguments(*function, values, asked);
    decided_by |= asked;
    if (!all.is_known) {
      all = {.is_known = true, .arguments = arguments, .decided_by = {}};
      continue;
    }
    if (arguments.size() != all.arguments.size()) return {};
    for (size_t i = 0; i < arguments.size(); ++i) {
      all.arguments[i].reads |= arguments[i].reads;
      all.arguments[i].writes |= arguments[i].writes;
      all.arguments[i].is_sure &= arguments[i].is_sure;
      all.arguments[i].reads_indirectly |= arguments[i].reads_indirectly;
      all.arguments[i].writes_indirectly |= arguments[i].writes_indirectly;
    }
  }
  for (size_t i = 0; i < all.arguments.size(); ++i) {
    if ((decided_by & parameterBit(i)) != 0) all.decided_by.push_back(i);
  }
  return all;
}

}  // namespace tracesmith::races
