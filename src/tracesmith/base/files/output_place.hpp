// SPDX-License-Identifier: Apache-2.0
// Finds where a file written to a path really lies: follows the path's symbolic links, and applies
// rules that keep other users from choosing the destination.
//
// - A link in a sticky folder that others may write to (/tmp) is followed only if it belongs to the
//   caller or to the folder's owner. The kernel has the same rule (fs.protected_symlinks), but only
//   for the last part of a path, and not on every system.
// - A file in such a folder is replaced only if it belongs to the caller. This also applies to
//   root: otherwise root would write its data to a file that another user has opened, or whose mode
//   another user has chosen.
#pragma once

#include <sys/stat.h>

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct OutputPlace {
  std::string path;        ///< without links; it may not exist yet
  bool exists = false;     ///< something is at `path`
  struct stat entry {};    ///< stat() of the existing file
  bool in_system = false;  ///< `path`, or a link on the way, lies in /proc, /sys or /dev
};

/// Follows the links of `path`. A missing folder is not an error; `exists` is then false.
/// kPermission: another user could have created the link or the file, or a folder is not
/// accessible. kInvalidArgument: too many links.
Result<OutputPlace> findOutputPlace(const std::string& path);

/// The folder of a path: "." for a plain file name.
std::string parentFolderOf(const std::string& path);

}  // namespace tracesmith
