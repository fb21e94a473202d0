// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/screen.hpp"

#ifdef TRACESMITH_NCURSES
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>
// term.h defines the terminal's capabilities as macros with ordinary names.
#undef lines
#undef columns
#endif

namespace tracesmith::cli {

#ifdef TRACESMITH_NCURSES
namespace {

constexpr int kWaitMs = 200;  // how late a signal is noticed that arrives just before a read
constexpr short kPlainPairs = 1;
constexpr short kFilledPairs = kPlainPairs + static_cast<short>(kItemKinds);
constexpr short kSelectedPair = kFilledPairs + static_cast<short>(kItemKinds);

volatile std::sig_atomic_t ending_signal = 0;

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Colours of kinds of items, in the order of ItemKind: of 256, and of the basic 8.
constexpr short kColours256[kItemKinds] = {250, 70,  170, 208, 39,  75,  143, 178, 44, 137,
                                           105, 204, 98,  29,  196, 109, 242, 67,  102};
constexpr short kColours8[kItemKinds] = {7, 2, 5, 3, 4, 4, 6, 3, 6, 3, 5, 5, 4, 2, 1, 6, 7, 4, 6};

std::string utf8Of(wint_t c) {
  const auto code = static_cast<uint32_t>(c);
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

class CursesScreen : public Screen {
 public:
  explicit CursesScreen(const Terminal& terminal) : terminal_(terminal) {}

  ~CursesScreen() override {
    if (screen_ != nullptr) {
      endwin();
      delscreen(screen_);
    }
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
      if (handling_) sigaction(kEndingSignals[i], &before_[i], nullptr);
    }
  }
  CursesScreen(const CursesScreen&) = delete;
  CursesScreen& operator=(const CursesScreen&) = delete;

  bool open() {
    std::setlocale(LC_CTYPE, "");
    // newterm() installs handlers of its own, which must not come back.
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
      sigaction(kEndingSignals[i], nullptr, &before_[i]);
    }
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) return false;
    handleSignals();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    wtimeout(stdscr, kWaitMs);
    set_escdelay(50);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
    coloured_ = terminal_.colour && has_colors();
    if (coloured_) makeColours();
    return true;
  }

  ScreenSize size() const override { return {getmaxy(stdscr), getmaxx(stdscr)}; }

  void show(const std::vector<ScreenLine>& lines) override {
    werase(stdscr);
    const ScreenSize at_most = size();
    for (int y = 0; y < at_most.lines && y < static_cast<int>(lines.size()); ++y) {
      wmove(stdscr, y, 0);
      for (const ScreenPiece& piece : lines[static_cast<size_t>(y)]) put(piece, y);
    }
    wrefresh(stdscr);
  }

  ScreenKey read() override {
    using K = ScreenKey::Kind;
    if (ending_signal != 0) return {K::kQuit, {}};
    wint_t c = 0;
    const int kind = wget_wch(stdscr, &c);
    if (ending_signal != 0 || (kind == ERR && terminalHasGone())) return {K::kQuit, {}};
    if (kind == ERR) return {};
    if (kind == KEY_CODE_YES) return special(static_cast<int>(c));
    switch (c) {
      case '\r':
      case '\n':
        return {K::kEnter, {}};
      case 27:
        return {K::kEscape, {}};
      case '\t':
        return {K::kTab, {}};
      case 8:
      case 127:
        return {K::kBackspace, {}};
      default:
        return {K::kText, utf8Of(c)};
    }
  }

  int signal() const override { return ending_signal; }

 private:
  void handleSignals() {
    ending_signal = 0;
    struct sigaction action {};
    action.sa_handler = [](int number) { ending_signal = number; };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
      const bool ignored = before_[i].sa_handler == SIG_IGN;
      sigaction(kEndingSignals[i], ignored ? &before_[i] : &action, nullptr);
    }
    handling_ = true;
  }

  void makeColours() {
    start_color();
    const bool many = COLORS >= 256;
    const bool own = use_default_colors() == OK;
    for (size_t k = 0; k < kItemKinds; ++k) {
      const short colour = many ? kColours256[k] : kColours8[k];
      init_pair(static_cast<short>(kPlainPairs + static_cast<short>(k)), colour,
                own ? short{-1} : short{COLOR_BLACK});
      init_pair(static_cast<short>(kFilledPairs + static_cast<short>(k)), COLOR_BLACK, colour);
    }
    init_pair(kSelectedPair, COLOR_BLACK, many ? short{231} : short{COLOR_WHITE});
  }

  attr_t attributes(const ScreenPiece& piece, short& pair) const {
    using Look = ScreenPiece::Look;
    pair = 0;
    switch (piece.look) {
      case Look::kPlain:
        return A_NORMAL;
      case Look::kDim:
        return A_DIM;
      case Look::kBold:
        return A_BOLD;
      case Look::kSelected:
        if (!coloured_) return A_BOLD | A_UNDERLINE;
        pair = kSelectedPair;
        return A_BOLD;
      case Look::kItem:
        if (!coloured_) return piece.filled ? A_REVERSE : A_NORMAL;
        pair = static_cast<short>((piece.filled ? kFilledPairs : kPlainPairs) +
                                  static_cast<short>(piece.kind));
        return A_NORMAL;
    }
    return A_NORMAL;
  }

  void put(const ScreenPiece& piece, int y) {
    if (getcury(stdscr) != y) return;  // the line is full
    short pair = 0;
    const attr_t looks = attributes(piece, pair);
    wattr_set(stdscr, looks, pair, nullptr);
    const int left = getmaxx(stdscr) - getcurx(stdscr);
    std::string text = cutToWidth(printable(piece.text), left, {.utf8 = terminal_.utf8});
    if (!terminal_.utf8) {
      for (char& c : text) {
        if (static_cast<unsigned char>(c) >= 0x80) c = '?';
      }
    }
    waddstr(stdscr, text.c_str());
    wattr_set(stdscr, A_NORMAL, 0, nullptr);
  }

  static bool terminalHasGone() {
    pollfd in{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  }

  static ScreenKey special(int code) {
    using K = ScreenKey::Kind;
    switch (code) {
      case KEY_UP:
        return {K::kUp, {}};
      case KEY_DOWN:
        return {K::kDown, {}};
      case KEY_LEFT:
        return {K::kLeft, {}};
      case KEY_RIGHT:
        return {K::kRight, {}};
      case KEY_HOME:
        return {K::kHome, {}};
      case KEY_END:
        return {K::kEnd, {}};
      case KEY_PPAGE:
        return {K::kPageUp, {}};
      case KEY_NPAGE:
        return {K::kPageDown, {}};
      case KEY_ENTER:
        return {K::kEnter, {}};
      case KEY_BTAB:
        return {K::kBackTab, {}};
      case KEY_BACKSPACE:
        return {K::kBackspace, {}};
      case KEY_RESIZE:
        return {K::kResize, {}};
      case KEY_MOUSE:
        return mouse();
      default:
        return {};
    }
  }

  static ScreenKey mouse() {
    using K = ScreenKey::Kind;
    MEVENT event{};
    if (getmouse(&event) != OK) return {};
    const K kind = (event.bstate & BUTTON4_PRESSED) != 0   ? K::kWheelUp
                   : (event.bstate & BUTTON5_PRESSED) != 0 ? K::kWheelDown
                                                           : K::kClick;
    return {kind, {}, event.y, event.x};
  }

  Terminal terminal_;
  SCREEN* screen_ = nullptr;
  bool coloured_ = false;
  bool handling_ = false;
  struct sigaction before_[std::size(kEndingSignals)]{};
};

}  // namespace

bool hasScreen() { return true; }

Result<std::unique_ptr<Screen>> Screen::open(const Terminal& terminal) {
  const char* type = std::getenv("TERM");
  const std::string named = type != nullptr && *type != 0 ? type : "unset";
  int problem = 0;
  const bool known = setupterm(nullptr, STDOUT_FILENO, &problem) == OK;
  const bool driven = known && tigetstr("cup") != nullptr;
  if (known) del_curterm(cur_term);
  auto screen = std::make_unique<CursesScreen>(terminal);
  if (!driven || !screen->open()) {
    return fail(ErrorCode::kUnsupported,
                known ? "this terminal cannot move its cursor; leave out --interactive"
                      : "the terminal's description (terminfo) was not found; set TERM or "
                        "TERMINFO_DIRS, or leave out --interactive",
                "TERM=" + named);
  }
  return screen;
}

#else

bool hasScreen() { return false; }

Result<std::unique_ptr<Screen>> Screen::open(const Terminal&) {
  return fail(ErrorCode::kUnsupported,
              "this build has no ncurses; leave out --interactive, or build with libncurses-dev",
              "--interactive");
}

#endif

}  // namespace tracesmith::cli
