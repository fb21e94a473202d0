// SPDX-License-Identifier: Apache-2.0
// The names of the files that a session puts into its directory.
#pragma once

#include <string_view>

namespace tracesmith {

constexpr const char* kSessionInfoName = "session.txt";

/// Whether a session makes files of exactly this name. Nothing else is ever removed from a
/// directory, so that a wrong argument costs nobody a file.
bool isSessionFile(std::string_view name);

}  // namespace tracesmith
