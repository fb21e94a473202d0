// SPDX-License-Identifier: Apache-2.0
// What POSIX has in <unistd.h> and mingw-w64 lacks.
#pragma once

#include <sys/types.h>
#include_next <unistd.h>

#include <cstddef>

/// The position of the file stays. Two threads may not use both these and read() or write() on one
/// file.
ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset);
ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t offset);
int fsync(int fd);
int link(const char* from, const char* to);
int gethostname(char* name, size_t bytes);
/// 0, the owner that stat() says of every file.
inline int geteuid() { return 0; }
/// Only with signal 0: whether the process runs. ESRCH: it does not.
int kill(int pid, int signal);
char* mkdtemp(char* pattern);
