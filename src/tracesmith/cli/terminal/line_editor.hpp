// SPDX-License-Identifier: Apache-2.0
// A prompt with line editing, history and completion, through libedit. A build without libedit has
// PlainLineReader only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/cli/terminal/line_history.hpp"
#include "tracesmith/cli/terminal/line_reader.hpp"

namespace tracesmith::cli {

/// Whether this build has the editor.
bool hasLineEditor();

struct Completion {
  size_t typed_bytes = 0;  ///< length of the unfinished word before the cursor, which is ASCII
  std::vector<std::string> words;  ///< what it may become; sorted, each at least as long
  bool ends_with_space = false;    ///< a space follows if there is only one word
};
using Completer = std::function<Completion(std::string_view before, std::string_view after)>;

/// The editor on standard input and output, which must be terminals; nullptr without libedit, or if
/// the terminal cannot be driven (TERM=dumb). `out`, through which the caller writes, is flushed
/// before each prompt and must outlive the result. Restores the terminal when a signal ends the
/// program.
std::unique_ptr<LineReader> openLineEditor(LineHistory history, Completer completer, Output& out);

}  // namespace tracesmith::cli
