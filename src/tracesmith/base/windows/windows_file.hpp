// SPDX-License-Identifier: Apache-2.0
// What TraceSmith asks Windows for and POSIX has no name for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tracesmith::windows {

struct FileIndex {
  uint64_t volume = 0;
  uint64_t index = 0;
};

/// nullopt, with errno set: there is no such file, or it cannot be opened.
std::optional<FileIndex> fileIndexOf(const std::string& path);

/// Memory that programs could get now, in bytes; nullopt: it cannot be found out.
std::optional<uint64_t> availableMemoryBytes();

/// Memory that is installed, in bytes; nullopt: it cannot be found out.
std::optional<uint64_t> physicalMemoryBytes();

/// The width of the console that a descriptor writes to; 0: it is none.
int consoleColumns(int fd);

/// Makes standard input and output plain bytes, and consoles understand UTF-8 and escape sequences.
void prepareStandardStreams();

/// The errno of GetLastError().
int errnoOfLastError();

}  // namespace tracesmith::windows
