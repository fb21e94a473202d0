// SPDX-License-Identifier: Apache-2.0
// What stands at the other end of our streams: a person's terminal (width, colour) or a file or
// pipe, which gets plain text at full length.
#pragma once

namespace tracesmith::cli {

struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;      ///< standard output may carry ANSI colours
  bool err_colour = false;  ///< the same for standard error
  bool utf8 = false;        ///< the locale can show more than ASCII
  int width = 0;            ///< columns of standard output; 0: do not cut anything
};

/// Looks at the streams and at NO_COLOR (https://no-color.org), TERM, COLUMNS and the locale.
/// COLUMNS, when set, wins over what the terminal says, also for a pipe.
Terminal detectTerminal(bool no_colour);

/// Makes sure that file numbers 0 to 2 are taken, so that no file of ours ends up as someone's
/// standard error. What stands in for a closed stream refuses the transfer, so that a lost output
/// is noticed, and is closed again in programs that are started.
void guardStandardStreams();

}  // namespace tracesmith::cli
