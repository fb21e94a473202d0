// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/file_identity.hpp"

#ifdef _WIN32
#include "tracesmith/base/windows/windows_file.hpp"
#else
#include <sys/stat.h>
#endif

namespace tracesmith {

std::optional<FileIdentity> identityOf(const std::string& path) {
#ifdef _WIN32
  const std::optional<windows::FileIndex> found = windows::fileIndexOf(path);
  if (!found) return std::nullopt;
  return FileIdentity{found->volume, found->index};
#else
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino)};
#endif
}

bool sameFile(const std::string& a, const std::string& b) {
  const std::optional<FileIdentity> first = identityOf(a);
  return first && first == identityOf(b);
}

}  // namespace tracesmith
