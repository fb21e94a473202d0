// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/name_pattern.hpp"

#ifdef _WIN32
#include <tre/regex.h>
#else
#include <regex.h>
#endif

#include <array>
#include <cstddef>
#include <string>

namespace tracesmith {
namespace {

/// Whether "\1" to "\9" is in it. Outside of brackets a backslash takes the next character.
bool hasBackReference(std::string_view expression) {
  for (size_t i = 0; i + 1 < expression.size(); ++i) {
    if (expression[i] != '\\') continue;
    ++i;
    if (expression[i] >= '1' && expression[i] <= '9') return true;
  }
  return false;
}

}  // namespace

struct NamePattern::Compiled {
  regex_t expression{};
  bool valid = false;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) regfree(&expression);
  }
};

Result<NamePattern> NamePattern::parse(std::string_view expression, std::string_view where) {
  NamePattern pattern;
  if (expression.empty()) return pattern;
  const auto refuse = [&](const char* why) {
    return fail(
        ErrorCode::kInvalidArgument,
        "'" + std::string(expression) + "' is not a POSIX extended regular expression: " + why,
        std::string(where));
  };
  if (hasBackReference(expression)) return refuse("back references are not supported");
  if (expression.find('\0') != std::string_view::npos) return refuse("it has a zero byte");
  auto compiled = std::make_shared<Compiled>();
  const int code =
      regcomp(&compiled->expression, std::string(expression).c_str(), REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    std::array<char, 256> why{};
    regerror(code, &compiled->expression, why.data(), why.size());
    return refuse(why.data());
  }
  compiled->valid = true;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool NamePattern::matches(std::string_view name) const {
  return compiled_ == nullptr ||
         regexec(&compiled_->expression, std::string(name).c_str(), 0, nullptr, 0) == 0;
}

}  // namespace tracesmith
