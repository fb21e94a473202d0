// SPDX-License-Identifier: Apache-2.0
// Selects names by a substring, or by a shell pattern for the whole name.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

class NamePattern {
 public:
  NamePattern() = default;  ///< matches everything
  /// If `text` contains none of * ? [, it matches names that contain it. Otherwise it is a shell
  /// pattern for the whole name, where a slash is an ordinary character. Matching is
  /// case-sensitive.
  explicit NamePattern(std::string text)
      : text_(std::move(text)), glob_(text_.find_first_of("*?[") != std::string::npos) {}

  bool everything() const { return text_.empty(); }
  bool matches(std::string_view name) const;

 private:
  std::string text_;
  bool glob_ = false;
};

}  // namespace tracesmith
