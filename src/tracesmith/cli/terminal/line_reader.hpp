// SPDX-License-Identifier: Apache-2.0
// Reads the lines that a person types at a prompt, or that a pipe provides.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "tracesmith/export/output/output.hpp"

namespace tracesmith::cli {

class LineReader {
 public:
  enum class Answer : uint8_t {
    kLine,       ///< `line` has the next line
    kCancelled,  ///< the person pressed Ctrl-C; what was typed is gone
    kEnd,        ///< the end of the input, or Ctrl-D
  };
  virtual ~LineReader() = default;
  /// Shows `prompt` if a person types. `line` has no newline.
  virtual Answer read(const char* prompt, std::string& line) = 0;
  /// Keeps `entry` in the history, if the reader has one.
  virtual void remember(const std::string& /*entry*/) {}
};

/// Lines of a stream, without editing. `in` and `out` must outlive it.
class PlainLineReader : public LineReader {
 public:
  PlainLineReader(std::istream& in, bool prompts, Output& out)
      : in_(in), prompts_(prompts), out_(out) {}

  Answer read(const char* prompt, std::string& line) override {
    if (prompts_) out_.write(prompt);
    (void)out_.flush();  // show the results before the next prompt
    if (std::getline(in_, line)) return Answer::kLine;
    if (prompts_) out_.put('\n');
    return Answer::kEnd;
  }

 private:
  std::istream& in_;
  bool prompts_;
  Output& out_;
};

}  // namespace tracesmith::cli
