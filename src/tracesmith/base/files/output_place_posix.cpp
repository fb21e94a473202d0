// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/output_place.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

namespace tracesmith {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit

/// Pushes the names of `path` on a stack, the first one on top.
void pushNames(std::string_view path, std::vector<std::string>& names) {
  while (!path.empty()) {
    const size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
}

Result<std::string> targetOf(const std::string& link) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return failErrno(errno, "cannot read the symbolic link", link);
  return std::string(target.data(), static_cast<size_t>(length));
}

/// Whether any user can create files in the folder but rename and remove only their own.
bool isShared(const struct stat& folder) {
  return (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & 022) != 0;
}

/// Rejects entries of a shared folder that another user may have put there.
Status checkOwner(const std::string& folder_path, const std::string& path,
                  const struct stat& entry) {
  struct stat folder {};
  if (stat(folder_path.empty() ? "." : folder_path.c_str(), &folder) != 0) {
    return failErrno(errno, "cannot examine the folder", folder_path);
  }
  const bool is_ours =
      entry.st_uid == geteuid() || (S_ISLNK(entry.st_mode) && entry.st_uid == folder.st_uid);
  if (is_ours || !isShared(folder)) return {};
  return fail(
      ErrorCode::kPermission,
      (S_ISLNK(entry.st_mode) ? "is a symbolic link that belongs to user " : "belongs to user ") +
          std::to_string(entry.st_uid) +
          ", in a folder that all users may write to; choose another name for the output",
      path);
}

bool isInSystem(const std::string& path) {
  const auto is = [&](const char* folder) { return path.starts_with(folder); };
  return is("/proc/") || is("/sys/") || (is("/dev/") && !is("/dev/shm/"));
}

}  // namespace

Result<OutputPlace> findOutputPlace(const std::string& path) {
  OutputPlace place;
  std::vector<std::string> rest;
  pushNames(path, rest);
  std::string folder = path.starts_with('/') ? "/" : "";  // empty, or ends with a slash
  int links = 0;
  while (!rest.empty()) {
    const std::string name = rest.back();
    rest.pop_back();
    place.path = folder + name;
    if (lstat(place.path.c_str(), &place.entry) != 0) {
      if (errno != ENOENT) return failErrno(errno, "cannot examine the output", place.path);
      for (; !rest.empty(); rest.pop_back()) place.path += "/" + rest.back();
      break;
    }
    if (S_ISLNK(place.entry.st_mode)) {
      place.in_system = place.in_system || isInSystem(place.path);
      TS_CHECK_OK(checkOwner(folder, place.path, place.entry));
      if (++links > kMostLinks) {
        return fail(ErrorCode::kInvalidArgument, "leads through too many symbolic links", path);
      }
      TS_TRY(const std::string target, targetOf(place.path));
      if (target.starts_with('/')) folder = "/";
      pushNames(target, rest);
      place.path.clear();
    } else if (rest.empty() && !S_ISDIR(place.entry.st_mode)) {
      TS_CHECK_OK(checkOwner(folder, place.path, place.entry));
    } else {
      folder = place.path + "/";
    }
  }
  if (place.path.empty()) place.path = folder.empty() ? "." : folder;
  place.in_system = place.in_system || isInSystem(place.path);
  place.exists = stat(place.path.c_str(), &place.entry) == 0;
  if (path.ends_with('/') && !(place.exists && S_ISDIR(place.entry.st_mode))) {
    return fail(ErrorCode::kInvalidArgument, "names a folder, and a file is needed", path);
  }
  return place;
}

std::string parentFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace tracesmith
