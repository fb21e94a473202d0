// SPDX-License-Identifier: Apache-2.0
// The whole terminal as a screen, through ncurses. A build without ncurses has none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/cli/terminal/terminal.hpp"
#include "tracesmith/export/browse/timeline_screen.hpp"

namespace tracesmith::cli {

/// Whether this build has ncurses.
bool hasScreen();

struct ScreenKey {
  enum class Kind : uint8_t {
    kNone,  ///< nothing was pressed for a moment
    kText,  ///< `text` is one character in UTF-8
    kUp,
    kDown,
    kLeft,
    kRight,
    kHome,
    kEnd,
    kPageUp,
    kPageDown,
    kEnter,
    kEscape,
    kTab,
    kBackTab,
    kBackspace,
    kClick,  ///< at `line` and `column`
    kWheelUp,
    kWheelDown,
    kResize,
    kQuit,  ///< a signal, or the terminal has gone
  };
  Kind kind = Kind::kNone;
  std::string text;
  int line = 0, column = 0;
};

class Screen {
 public:
  /// Takes over the terminal on standard input and output until the result is destroyed. Signals
  /// that end a program become the key kQuit; signal() has the number. kUnsupported if the build
  /// has no ncurses, or if the terminal cannot be driven.
  static Result<std::unique_ptr<Screen>> open(const Terminal& terminal);

  virtual ~Screen() = default;
  virtual ScreenSize size() const = 0;
  virtual void show(const std::vector<ScreenLine>& lines) = 0;
  /// Waits for a key, but not long.
  virtual ScreenKey read() = 0;
  /// The signal that asked the program to end; 0: none.
  virtual int signal() const = 0;
};

}  // namespace tracesmith::cli
