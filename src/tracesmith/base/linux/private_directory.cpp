// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/private_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tracesmith {
namespace {

constexpr const char* kProbe = "owner.new";

/// The owner of files that we create in this directory. Some file systems (NFS with root_squash,
/// shared folders of virtual machines) give all files to one user.
uid_t ownerOfNewFiles(int directory) {
  const int fd =
      openat(directory, kProbe, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return geteuid();
  struct stat s {};
  const uid_t owner = fstat(fd, &s) == 0 ? s.st_uid : geteuid();
  close(fd);
  unlinkat(directory, kProbe, 0);
  return owner;
}

}  // namespace

int openWithin(int directory, const std::string& path, int flags) {
  const size_t slash = path.rfind('/');
  const std::string name =
      directory == AT_FDCWD || slash == std::string::npos ? path : path.substr(slash + 1);
  return openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
}

PrivateDirectory::Handle::~Handle() { close(fd); }

Result<PrivateDirectory> PrivateDirectory::openChecked(const std::string& path, bool made) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return fail(ErrorCode::kPermission,
                  "is not a directory but a file or a symbolic link; remove it, or choose another "
                  "name for the output",
                  path);
    }
    return failErrno(errno, "cannot open the directory", path);
  }
  PrivateDirectory directory;
  directory.handle_ = std::make_shared<const Handle>(fd);
  directory.path_ = path;
  struct stat s {};
  if (fstat(fd, &s) != 0) return failErrno(errno, "cannot examine the directory", path);
  const uid_t self = geteuid();
  if (s.st_uid != self && !(made && ownerOfNewFiles(fd) == s.st_uid)) {
    return fail(ErrorCode::kPermission,
                "belongs to user " + std::to_string(s.st_uid) + ", and this is user " +
                    std::to_string(self) + "; run this as that user, or choose another output",
                path);
  }
  if (made) return directory;
  if ((s.st_mode & 022) != 0) {
    return fail(ErrorCode::kPermission,
                "can be written by other users, so its files cannot be trusted; check its content, "
                "then `chmod 700` or remove it",
                path);
  }
  return directory;
}

Status PrivateDirectory::closeToOthers() const {
  struct stat s {};
  if (fstat(fd(), &s) != 0) return failErrno(errno, "cannot examine the directory", path_);
  // A directory that was just created has this mode already, even on file systems without modes.
  if ((s.st_mode & 07777) != 0700 && fchmod(fd(), 0700) != 0) {
    return failErrno(errno, "cannot close the directory to other users", path_);
  }
  return {};
}

bool PrivateDirectory::isAtItsPath() const {
  struct stat own {
  }, there{};
  return fstat(fd(), &own) == 0 && lstat(path_.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

Result<PrivateDirectory> PrivateDirectory::makeOrOpen(const std::string& path, bool& made) {
  made = mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return failErrno(errno, "cannot make the directory", path);
  return openChecked(path, made);
}

Result<PrivateDirectory> PrivateDirectory::open(const std::string& path) {
  return openChecked(path, false);
}

Result<int> PrivateDirectory::createFile(const std::string& name) const {
  (void)unlinkat(fd(), name.c_str(), 0);
  const int file =
      openat(fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return failErrno(errno, "cannot write", path_ + "/" + name);
  return file;
}

std::vector<std::string> PrivateDirectory::names() const {
  std::vector<std::string> names;
  // Open it again: a duplicated descriptor would share its position with other readers.
  const int again = openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const d = again < 0 ? nullptr : fdopendir(again);
  if (d == nullptr) {
    if (again >= 0) close(again);
    return names;
  }
  while (const dirent* e = readdir(d)) {
    const std::string_view name = e->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(d);
  return names;
}

bool PrivateDirectory::has(const std::string& name) const {
  struct stat s {};
  return fstatat(fd(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0;
}

void PrivateDirectory::removeFile(const std::string& name) const {
  (void)unlinkat(fd(), name.c_str(), 0);
}

}  // namespace tracesmith
