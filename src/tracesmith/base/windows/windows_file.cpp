// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/windows/windows_file.hpp"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cerrno>

namespace tracesmith::windows {

int errnoOfLastError() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
      return ENOENT;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_PRIVILEGE_NOT_HELD:
    case ERROR_WRITE_PROTECT:
      return EACCES;
    case ERROR_LOCK_VIOLATION:
      return EWOULDBLOCK;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
      return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return EPIPE;
    case ERROR_INVALID_FUNCTION:
    case ERROR_NOT_SUPPORTED:
      return ENOSYS;
    case ERROR_INVALID_PARAMETER:
      return EINVAL;
    default:
      return EIO;
  }
}

std::optional<FileIndex> fileIndexOf(const std::string& path) {
  // BACKUP_SEMANTICS: folders too.
  const HANDLE file = CreateFileA(path.c_str(), FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  BY_HANDLE_FILE_INFORMATION info{};
  const bool known = file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, &info) != 0;
  if (!known) errno = errnoOfLastError();
  if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
  if (!known) return std::nullopt;
  return FileIndex{info.dwVolumeSerialNumber,
                   uint64_t{info.nFileIndexHigh} << 32 | info.nFileIndexLow};
}

std::optional<uint64_t> availableMemoryBytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (GlobalMemoryStatusEx(&status) == 0) return std::nullopt;
  return status.ullAvailPhys;
}

std::optional<uint64_t> physicalMemoryBytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (GlobalMemoryStatusEx(&status) == 0) return std::nullopt;
  return status.ullTotalPhys;
}

namespace {

HANDLE handleOf(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

}  // namespace

int consoleColumns(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (GetConsoleScreenBufferInfo(handleOf(fd), &info) == 0) return 0;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

void prepareStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    (void)_setmode(fd, _O_BINARY);
    DWORD mode = 0;
    if (fd > 0 && GetConsoleMode(handleOf(fd), &mode) != 0) {
      SetConsoleMode(handleOf(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
  SetConsoleOutputCP(CP_UTF8);
  SetConsoleCP(CP_UTF8);
}

}  // namespace tracesmith::windows
