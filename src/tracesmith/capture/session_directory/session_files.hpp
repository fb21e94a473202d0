// SPDX-License-Identifier: Apache-2.0
// The names of the files in a session directory.
#pragma once

#include <string_view>

namespace tracesmith {

constexpr const char* kSessionInfoName = "session.txt";

/// Whether a session creates files of exactly this name. No other file is ever removed from a
/// directory, so a wrong argument cannot destroy files.
bool isSessionFile(std::string_view name);

}  // namespace tracesmith
