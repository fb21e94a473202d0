// SPDX-License-Identifier: Apache-2.0
// Draws the interactive timeline as lines of styled text, for any terminal or test.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/export/browse/timeline_browser.hpp"
#include "tracesmith/export/browse/timeline_details.hpp"

namespace tracesmith {

struct ScreenPiece {
  enum class Look : uint8_t { kPlain, kDim, kBold, kItem, kSelected };
  std::string text;
  Look look = Look::kPlain;
  ItemKind kind{};      ///< of a kItem: its colour
  bool filled = false;  ///< a kItem with its colour as background
};
using ScreenLine = std::vector<ScreenPiece>;

struct ScreenSize {
  int lines = 0, columns = 0;
};

/// Which part of the screen shows rows.
struct ScreenLayout {
  size_t first_line = 2;  ///< below title and axis
  size_t rows = 1;
  size_t label_columns = 0;  ///< cells start after the label and a bar
  size_t cells = 1;
  size_t detail_lines = 0;
  bool legend = false;
};
ScreenLayout layoutFor(ScreenSize size);

/// `prompt`: replaces the last line, for text that is being typed; may be empty.
std::vector<ScreenLine> drawTimelineScreen(const TimelineBrowser& browser,
                                           const TimelineDetails& details, ScreenSize size,
                                           const TerminalStyle& style, const std::string& title,
                                           const std::string& prompt);

/// The keys.
std::vector<ScreenLine> drawHelpScreen(ScreenSize size, const TerminalStyle& style);
/// All details of the selection, with long values wrapped.
std::vector<ScreenLine> drawDetailsScreen(const TimelineBrowser& browser,
                                          const TimelineDetails& details, ScreenSize size,
                                          const TerminalStyle& style);

}  // namespace tracesmith
