// SPDX-License-Identifier: Apache-2.0
// Which names an export takes: a part of the name, or a shell's pattern for the whole of it.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

class NamePattern {
 public:
  NamePattern() = default;  ///< matches everything
  /// With none of * ? [ in it, the names that contain `text`; else those that it matches as a whole
  /// as a shell would match file names (a slash is a character like any other). Case counts.
  explicit NamePattern(std::string text)
      : text_(std::move(text)), glob_(text_.find_first_of("*?[") != std::string::npos) {}

  bool everything() const { return text_.empty(); }
  bool matches(std::string_view name) const;

 private:
  std::string text_;
  bool glob_ = false;
};

}  // namespace tracesmith
