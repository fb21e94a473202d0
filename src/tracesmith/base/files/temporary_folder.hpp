// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tracesmith {

/// $TMPDIR if it is an absolute path, else /tmp; on Windows the user's folder for such files.
std::string temporaryFolder();

/// The variable that sets it, for messages.
#ifdef _WIN32
inline constexpr const char* kTemporaryFolderVariable = "TEMP";
#else
inline constexpr const char* kTemporaryFolderVariable = "TMPDIR";
#endif

}  // namespace tracesmith
