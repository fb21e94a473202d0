// SPDX-License-Identifier: Apache-2.0
// The properties of the standard streams: a terminal (width, colour), or a file or pipe, which gets
// plain text at full length.
#pragma once

namespace tracesmith::cli {

struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;      ///< standard output may carry ANSI colours
  bool err_colour = false;  ///< the same for standard error
  bool utf8 = false;        ///< the locale can show more than ASCII
  int width = 0;            ///< columns of standard output; 0: unlimited
};

/// Examines the streams, NO_COLOR (https://no-color.org), TERM, COLUMNS and the locale. If COLUMNS
/// is set, it overrides the terminal's width, also for a pipe.
Terminal detectTerminal(bool no_colour);

/// The columns of the terminal that a descriptor writes to; 0: unknown.
int columnsOfTerminal(int fd);

/// Ensures that file descriptors 0 to 2 are open, so that no file opened later becomes standard
/// error. The substitute for a closed stream rejects reads and writes, so that lost output is
/// noticed. Started programs get the stream closed again. On Windows it also makes the streams
/// plain bytes, and the console understand UTF-8 and colours.
void guardStandardStreams();

}  // namespace tracesmith::cli
