// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/timeline_view.hpp"

#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "tracesmith/cli/terminal/exit_code.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/screen.hpp"
#include "tracesmith/export/browse/timeline_screen.hpp"

namespace tracesmith::cli {
namespace {

using KeyKind = ScreenKey::Kind;

constexpr std::pair<KeyKind, BrowserCommand> kSpecialKeys[] = {
    {KeyKind::kLeft, BrowserCommand::kPanLeft},
    {KeyKind::kRight, BrowserCommand::kPanRight},
    {KeyKind::kUp, BrowserCommand::kRowUp},
    {KeyKind::kDown, BrowserCommand::kRowDown},
    {KeyKind::kPageUp, BrowserCommand::kPageUp},
    {KeyKind::kPageDown, BrowserCommand::kPageDown},
    {KeyKind::kHome, BrowserCommand::kShowAll},
    {KeyKind::kEnd, BrowserCommand::kLastRow},
    {KeyKind::kEscape, BrowserCommand::kUnselect},
    {KeyKind::kTab, BrowserCommand::kNextItem},
    {KeyKind::kBackTab, BrowserCommand::kPreviousItem},
};
constexpr std::pair<char, BrowserCommand> kLetterKeys[] = {
    {'h', BrowserCommand::kPanLeft},   {'j', BrowserCommand::kRowDown},
    {'k', BrowserCommand::kRowUp},     {'+', BrowserCommand::kZoomIn},
    {'=', BrowserCommand::kZoomIn},    {'-', BrowserCommand::kZoomOut},
    {'0', BrowserCommand::kShowAll},   {'z', BrowserCommand::kZoomToSelection},
    {'.', BrowserCommand::kNextItem},  {',', BrowserCommand::kPreviousItem},
    {'l', BrowserCommand::kLongest},   {'g', BrowserCommand::kLargestGap},
    {'n', BrowserCommand::kNextMatch}, {'N', BrowserCommand::kPreviousMatch},
    {'f', BrowserCommand::kFold},      {'F', BrowserCommand::kFoldAll},
};

class TimelineView {
 public:
  TimelineView(const Trace& trace, TimelineRows rows, std::string title, Screen& screen,
               const TerminalStyle& style)
      : browser_(trace, std::move(rows)),
        details_(trace),
        title_(std::move(title)),
        screen_(screen),
        style_(style) {}

  void run() {
    resize();
    draw();
    for (;;) {
      const ScreenKey key = screen_.read();
      if (key.kind == KeyKind::kNone) continue;
      if (key.kind == KeyKind::kQuit) return;
      if (key.kind == KeyKind::kResize) {
        resize();
      } else if (page_ != Page::kTimeline) {
        page_ = Page::kTimeline;
      } else if (typed_) {
        type(key);
      } else if (key.kind == KeyKind::kText && key.text == "q") {
        return;
      } else {
        press(key);
      }
      draw();
    }
  }

 private:
  enum class Page : uint8_t { kTimeline, kKeyList, kDetails };

  void resize() {
    layout_ = layoutFor(screen_.size());
    browser_.resize(layout_.rows, layout_.cells);
  }

  void draw() {
    const ScreenSize size = screen_.size();
    switch (page_) {
      case Page::kKeyList:
        return screen_.show(drawHelpScreen(size, style_));
      case Page::kDetails:
        return screen_.show(drawDetailsScreen(browser_, details_, size, style_));
      case Page::kTimeline:
        return screen_.show(drawTimelineScreen(browser_, details_, size, style_, title_,
                                               typed_ ? "/" + *typed_ + "_" : ""));
    }
  }

  void press(const ScreenKey& key) {
    if (key.kind == KeyKind::kText) return letter(key.text);
    if (key.kind == KeyKind::kEnter) {
      page_ = Page::kDetails;
      return;
    }
    if (key.kind == KeyKind::kClick || key.kind == KeyKind::kWheelUp ||
        key.kind == KeyKind::kWheelDown) {
      return point(key);
    }
    for (const auto& [kind, command] : kSpecialKeys) {
      if (kind == key.kind) return browser_.apply(command);
    }
  }

  void letter(const std::string& text) {
    if (text == "?") page_ = Page::kKeyList;
    if (text == "/") typed_.emplace();
    for (const auto& [letter, command] : kLetterKeys) {
      if (text.size() == 1 && text[0] == letter) return browser_.apply(command);
    }
  }

  void point(const ScreenKey& key) {
    const int cell = key.column - static_cast<int>(layout_.label_columns) - 1;
    const int line = key.line - static_cast<int>(layout_.first_line);
    if (key.kind != KeyKind::kClick) {
      return browser_.zoomAt(static_cast<size_t>(cell < 0 ? 0 : cell),
                             key.kind == KeyKind::kWheelUp);
    }
    if (line < 0 || static_cast<size_t>(line) >= layout_.rows) return;
    browser_.click(static_cast<size_t>(line), cell < 0 ? layout_.cells : static_cast<size_t>(cell));
  }

  void type(const ScreenKey& key) {
    if (key.kind == KeyKind::kText) *typed_ += key.text;
    if (key.kind == KeyKind::kEscape) typed_.reset();
    if (key.kind == KeyKind::kBackspace) {
      while (!typed_->empty() && (static_cast<unsigned char>(typed_->back()) & 0xC0) == 0x80) {
        typed_->pop_back();
      }
      if (!typed_->empty()) typed_->pop_back();
    }
    if (key.kind != KeyKind::kEnter) return;
    const std::string text = *std::exchange(typed_, std::nullopt);
    browser_.search(text);
  }

  TimelineBrowser browser_;
  TimelineDetails details_;
  std::string title_;
  Screen& screen_;
  const TerminalStyle& style_;
  ScreenLayout layout_;
  Page page_ = Page::kTimeline;
  std::optional<std::string> typed_;  // the text of a search that is being typed
};

}  // namespace

int browseTimeline(const Trace& trace, const EventMatcher& matches, const std::string& title,
                   const Terminal& terminal) {
  TimelineRows rows = timelineRowsOf(trace, matches);
  if (rows.items == 0) {
    return failWith({ErrorCode::kNotFound,
                     "there is nothing to draw: no device work, API call or range matches", title});
  }
  int signal = 0;
  {
    const TerminalStyle style{
        .width = terminal.width, .colour = terminal.colour, .utf8 = terminal.utf8};
    Result<std::unique_ptr<Screen>> screen = Screen::open(terminal);
    if (!screen) return failWith(screen.error());
    TimelineView(trace, std::move(rows), title.substr(title.rfind('/') + 1), **screen, style).run();
    signal = (*screen)->signal();
  }
  if (signal != 0) std::raise(signal);
  return kExitOk;
}

}  // namespace tracesmith::cli
