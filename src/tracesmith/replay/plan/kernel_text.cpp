// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/kernel_text.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace tracesmith {
namespace {

bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Removes comments and the content of quotes.
std::string withoutComments(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("//")) {
      i += rest.find('\n');
      if (rest.find('\n') == std::string_view::npos) break;
      out += '\n';
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      if (end == std::string_view::npos) break;
      i += end + 1;
      out += ' ';
    } else if (source[i] == '"' || source[i] == '\'') {
      out += source[i];
      size_t end = i + 1;
      while (end < source.size() && source[end] != source[i] && source[end] != '\n') {
        end += source[end] == '\\' ? 2 : 1;
      }
      if (end >= source.size()) break;
      out += source[end];
      i = end;
    } else {
      out += source[i];
    }
  }
  return out;
}

/// Moves preprocessor lines, with their continuation lines, from `text` to the result.
std::string takeDirectives(std::string& text) {
  std::string directives;
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    end = end == std::string::npos ? text.size() : end + 1;
    const size_t first = text.find_first_not_of(" \t", at);
    if (first < end && text[first] == '#') {
      while (end < text.size() && end - at >= 2 && text[end - 2] == '\\') {
        const size_t next = text.find('\n', end);
        end = next == std::string::npos ? text.size() : next + 1;
      }
      directives.append(text, at, end - at);
    } else {
      rest.append(text, at, end - at);
    }
    at = end;
  }
  text = std::move(rest);
  return directives;
}

/// The name of the function whose definition starts with `head` ("kernel void f(global int* a) ");
/// empty: none.
std::string functionName(std::string_view head) {
  std::string name;
  std::string word;
  int depth = 0;
  for (const char c : head) {
    if (c == '=' && depth == 0) return {};  // an array initialiser
    if (isWord(c)) {
      if (!word.empty() && word.back() == ' ') word.clear();
      word += c;
      continue;
    }
    if (c == '(' && depth++ == 0) {
      while (!word.empty() && word.back() == ' ') word.pop_back();
      if (!word.empty() && word != "__attribute__") name = word;
    }
    if (c == ')') --depth;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (!word.empty()) word += ' ';
    } else {
      word.clear();
    }
  }
  return name;
}

template <class F>
void forEachWord(std::string_view text, F&& f) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && isWord(text[end])) ++end;
    if (end > at) f(std::string(text.substr(at, end - at)));
    at = std::max(end, at + 1);
  }
}

}  // namespace

std::string kernelText(std::string_view source, std::string_view kernel) {
  std::string text = withoutComments(source);
  const std::string directives = takeDirectives(text);
  std::string out = directives;
  std::multimap<std::string, std::string_view> functions;
  size_t begin = 0;
  size_t head_end = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && depth++ == 0) head_end = i;
    if (text[i] == '}' && --depth < 0) return std::string(source);
    if (depth != 0 || (text[i] != '}' && text[i] != ';')) continue;
    const std::string_view part = std::string_view(text).substr(begin, i + 1 - begin);
    const std::string name =
        text[i] == '}' ? functionName(part.substr(0, head_end - begin)) : std::string();
    if (name.empty()) {
      out += part;
    } else {
      functions.emplace(name, part);
    }
    begin = i + 1;
  }
  if (depth != 0) return std::string(source);
  std::vector<std::string> reached = {std::string(kernel)};
  if (!functions.contains(reached.front())) return std::string(source);
  // Code that uses a macro may call the functions named in it.
  forEachWord(directives, [&](std::string word) { reached.push_back(std::move(word)); });
  while (!reached.empty()) {
    const std::string name = std::move(reached.back());
    reached.pop_back();
    for (auto [it, end] = functions.equal_range(name); it != end; it = functions.erase(it)) {
      out += it->second;
      forEachWord(it->second, [&](std::string word) { reached.push_back(std::move(word)); });
    }
  }
  return out;
}

}  // namespace tracesmith
