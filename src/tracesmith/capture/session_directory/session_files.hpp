// SPDX-License-Identifier: Apache-2.0
// The names of the files in a session directory.
#pragma once

#include <string_view>

namespace tracesmith {

constexpr const char* kSessionInfoName = "session.txt";
/// Start of the names of a flight recorder's older parts.
constexpr std::string_view kPartPrefix = "trace.sbt.past-";
/// Ending of the directory's name, after the output.
constexpr std::string_view kSessionSuffix = ".session";
/// There while ranks of the host can join the recording (launch/host_ranks.hpp).
constexpr const char* kOpenRanksName = "ranks.open";
/// The file of a rank that joined is PID.STARTTIME and this.
constexpr const char* kRankSuffix = ".rank";

/// Whether a session creates files of exactly this name. No other file is ever removed from a
/// directory, so a wrong argument cannot destroy files.
bool isSessionFile(std::string_view name);

}  // namespace tracesmith
