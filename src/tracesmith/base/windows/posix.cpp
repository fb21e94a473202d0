// SPDX-License-Identifier: Apache-2.0
// Functions of POSIX that the C library of Windows lacks or has otherwise, by the calls of Windows.
// Paths are UTF-8, as the command's manifest (cli/windows) asks for.
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <windows.h>
// After <windows.h>, which it needs.
#include <bcrypt.h>
#include <direct.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tracesmith/base/windows/windows_file.hpp"

namespace {

HANDLE handleOf(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

int failWithLastError() {
  errno = tracesmith::windows::errnoOfLastError();
  return -1;
}

bool isFolder(const char* path) {
  const DWORD attributes = GetFileAttributesA(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

DWORD dispositionOf(int flags) {
  if ((flags & O_CREAT) == 0) return (flags & O_TRUNC) != 0 ? TRUNCATE_EXISTING : OPEN_EXISTING;
  if ((flags & O_EXCL) != 0) return CREATE_NEW;
  return (flags & O_TRUNC) != 0 ? CREATE_ALWAYS : OPEN_ALWAYS;
}

OVERLAPPED placeOf(off_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(static_cast<uint64_t>(offset));
  place.OffsetHigh = static_cast<DWORD>(static_cast<uint64_t>(offset) >> 32);
  return place;
}

/// Keeps the position of a file, which reading and writing elsewhere moves.
class KeptPosition {
 public:
  explicit KeptPosition(HANDLE file) : file_(file) {
    known_ = SetFilePointerEx(file, {}, &position_, FILE_CURRENT) != 0;
  }
  ~KeptPosition() {
    if (known_) SetFilePointerEx(file_, position_, nullptr, FILE_BEGIN);
  }
  KeptPosition(const KeptPosition&) = delete;
  KeptPosition& operator=(const KeptPosition&) = delete;

 private:
  HANDLE file_;
  LARGE_INTEGER position_{};
  bool known_ = false;
};

constexpr size_t kMostAtOnce = size_t{1} << 30;

}  // namespace

extern "C" {

/// In place of that of the C library, which opens a file so that nobody can remove or rename it
/// meanwhile, and changes the ends of lines.
int open(const char* path, int flags, ...) {
  const int kind = flags & O_ACCMODE;
  const DWORD access =
      (kind != O_WRONLY ? GENERIC_READ : 0u) | (kind != O_RDONLY ? GENERIC_WRITE : 0u);
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, (flags & O_CLOEXEC) == 0};
  const HANDLE file =
      CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited,
                  dispositionOf(flags), FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    failWithLastError();
    if (errno == EACCES && isFolder(path)) errno = EISDIR;
    return -1;
  }
  const int fd = _open_osfhandle(reinterpret_cast<intptr_t>(file),
                                 (flags & (O_APPEND | O_CLOEXEC)) | _O_BINARY);
  if (fd < 0) CloseHandle(file);
  return fd;
}

}  // extern "C"

ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  const HANDLE file = handleOf(fd);
  const KeptPosition kept(file);
  OVERLAPPED place = placeOf(offset);
  DWORD done = 0;
  if (ReadFile(file, buffer, static_cast<DWORD>(std::min(bytes, kMostAtOnce)), &done, &place) != 0)
    return done;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  return failWithLastError();
}

ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t offset) {
  const HANDLE file = handleOf(fd);
  const KeptPosition kept(file);
  OVERLAPPED place = placeOf(offset);
  DWORD done = 0;
  if (WriteFile(file, buffer, static_cast<DWORD>(std::min(bytes, kMostAtOnce)), &done, &place) != 0)
    return done;
  return failWithLastError();
}

int fsync(int fd) { return FlushFileBuffers(handleOf(fd)) != 0 ? 0 : failWithLastError(); }

int flock(int fd, int operation) {
  // The last possible byte: a lock of Windows keeps others from reading what it covers.
  OVERLAPPED place{};
  place.Offset = place.OffsetHigh = 0x7fffffff;
  if ((operation & LOCK_UN) != 0) {
    return UnlockFileEx(handleOf(fd), 0, 1, 0, &place) != 0 ? 0 : failWithLastError();
  }
  const DWORD flags = ((operation & LOCK_EX) != 0 ? LOCKFILE_EXCLUSIVE_LOCK : 0u) |
                      ((operation & LOCK_NB) != 0 ? LOCKFILE_FAIL_IMMEDIATELY : 0u);
  return LockFileEx(handleOf(fd), flags, 0, 1, 0, &place) != 0 ? 0 : failWithLastError();
}

int link(const char* from, const char* to) {
  return CreateHardLinkA(to, from, nullptr) != 0 ? 0 : failWithLastError();
}

int gethostname(char* name, size_t bytes) {
  auto size = static_cast<DWORD>(bytes);
  return GetComputerNameA(name, &size) != 0 ? 0 : failWithLastError();
}

int kill(int pid, int) {
  const HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(pid));
  if (process == nullptr) {
    errno = GetLastError() == ERROR_INVALID_PARAMETER ? ESRCH : EPERM;
    return -1;
  }
  const bool ended = WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
  CloseHandle(process);
  if (ended) errno = ESRCH;
  return ended ? -1 : 0;
}

int getentropy(void* buffer, size_t bytes) {
  const NTSTATUS status =
      BCryptGenRandom(nullptr, static_cast<PUCHAR>(buffer), static_cast<ULONG>(bytes),
                      BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  if (status >= 0) return 0;
  errno = EIO;
  return -1;
}

char* mkdtemp(char* pattern) {
  constexpr size_t kMarks = 6;
  char* const marks = pattern + std::strlen(pattern) - kMarks;
  for (int attempt = 0; attempt < 100; ++attempt) {
    unsigned number = 0;
    if (getentropy(&number, sizeof number) != 0) return nullptr;
    std::snprintf(marks, kMarks + 1, "%06x", number & 0xffffff);
    if (_mkdir(pattern) == 0) return pattern;
    if (errno != EEXIST) return nullptr;
  }
  return nullptr;
}
