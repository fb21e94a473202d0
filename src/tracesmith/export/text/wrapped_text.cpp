// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/wrapped_text.hpp"

#include <algorithm>

namespace tracesmith {

std::vector<std::string> wrapText(std::string_view text, int width, const TerminalStyle* cut) {
  constexpr std::string_view kSpace = " \t\n";
  std::vector<std::string> lines(1);
  int columns = 0;  // of the last line
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return lines;
    const std::string_view whole = text.substr(0, text.find_first_of(kSpace));
    text.remove_prefix(whole.size());
    const std::string word =
        cut != nullptr && width > 0 ? cutMiddle(whole, width, *cut) : std::string(whole);
    const int needed = displayWidth(word);
    if (columns > 0 && width > 0 && columns + 1 + needed > width) {
      lines.emplace_back();
      columns = 0;
    }
    if (columns > 0) {
      lines.back() += ' ';
      ++columns;
    }
    lines.back() += word;
    columns += needed;
  }
}

}  // namespace tracesmith
