// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/standard_output.hpp"

#include <signal.h>
#include <unistd.h>

#include "tracesmith/cli/terminal/exit_code.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {

Output standardOutput() {
#ifdef SIGPIPE
  signal(SIGPIPE, SIG_DFL);
#endif
  return Output::toDescriptor(STDOUT_FILENO, "standard output");
}

int finishOutput(Output& out, int code) {
  const Status status = out.finish();
  if (status) return code;
  sayError(status.error());
  return kExitFailed;
}

}  // namespace tracesmith::cli
