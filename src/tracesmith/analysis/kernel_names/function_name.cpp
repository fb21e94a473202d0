// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/function_name.hpp"

#include <array>
#include <cstdint>

namespace tracesmith {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kUnnamed = "<unnamed>";

/// The bytes that split a name; all others are skipped fast.
constexpr std::array<bool, 256> kIsSpecial = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view("<>(){}[]: ")) is[static_cast<uint8_t>(c)] = true;
  return is;
}();

bool startsAt(std::string_view text, size_t at, std::string_view what) {
  return text.substr(at, what.size()) == what;
}

}  // namespace

FunctionName splitFunctionName(std::string_view full) {
  size_t begin = 0;          // of the scope: after the result type
  size_t name = 0;           // after the last "::" outside of brackets
  size_t arguments = 0;      // the first '<' after `name`, or 0
  size_t end = full.size();  // of the template arguments or the name
  size_t close = 0;
  bool has_parameters = false;
  int depth = 0;
  for (size_t i = 0; i < full.size(); ++i) {
    const char c = full[i];
    if (!kIsSpecial[static_cast<uint8_t>(c)]) continue;
    if (c == '<') {
      if (depth == 0 && startsAt(full, i, kUnnamed)) {
        i += kUnnamed.size() - 1;
        continue;
      }
      if (depth == 0 && arguments == 0 && i > name) arguments = i;
      ++depth;
    } else if (c == '(' || c == '{' || c == '[') {
      if (depth == 0 && c == '(') {
        if (startsAt(full, i, kAnonymous)) {
          i += kAnonymous.size() - 1;
          continue;
        }
        if (i > name) {
          end = i;
          has_parameters = true;
          break;
        }
        if (i > 0 && full[i - 1] == ' ') return {{}, full, {}, full};  // Memcpy HtoD (Pinned)
      }
      ++depth;
    } else if (c == '>') {
      if (i > 0 && full[i - 1] == '-') continue;  // ->
      if (depth > 0) --depth;
      if (depth == 0) close = i;
    } else if (c == ')' || c == '}' || c == ']') {
      if (depth > 0) --depth;
    } else if (depth == 0 && c == ' ') {
      begin = name = i + 1;
      arguments = 0;
    } else if (depth == 0 && c == ':' && startsAt(full, i, "::")) {
      name = i + 2;
      arguments = 0;
      ++i;
    }
  }
  FunctionName out;
  // Only a function has a result type before its name; other texts are several words.
  const bool is_function = has_parameters || begin == 0 || full.starts_with("void ");
  if (name >= end || !is_function) return {{}, full, {}, full};
  out.head = full.substr(begin, end - begin);
  out.scope = full.substr(begin, name - begin);
  if (arguments == 0) {
    out.name = full.substr(name, end - name);
    return out;
  }
  out.name = full.substr(name, arguments - name);
  // A name that was cut has no closing bracket.
  const size_t last = close > arguments ? close : end;
  out.template_arguments = full.substr(arguments + 1, last - arguments - 1);
  return out;
}

}  // namespace tracesmith
