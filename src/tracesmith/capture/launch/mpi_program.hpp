// SPDX-License-Identifier: Apache-2.0
// Whether a command runs a program that uses MPI, whose agent is preloaded then.
#pragma once

#include <string>
#include <vector>

namespace tracesmith {

/// True if the command is one that starts the ranks of a job (mpirun and its like), if this process
/// is such a rank, or if the program's file names an MPI library. A script that starts such a
/// program is not recognised.
bool usesMpi(const std::vector<std::string>& command);

}  // namespace tracesmith
