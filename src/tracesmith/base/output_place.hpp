// SPDX-License-Identifier: Apache-2.0
// Where a file that is written to a path really lies: the path with its symbolic links followed,
// each one under the rule that keeps other users from choosing the place.
//
// - A link in a sticky folder that others may write to (/tmp) is followed only if it belongs to the
//   caller or to the folder's owner. The kernel has the same rule (fs.protected_symlinks), but for
//   the last name of a path alone, and not on every system.
// - A file in such a folder is replaced only if it belongs to the caller. The rule holds for root
//   too: root would give its data to a file that another user has opened, or chosen the mode of.
#pragma once

#include <sys/stat.h>

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct OutputPlace {
  std::string path;        ///< without links; nothing may be there yet
  bool exists = false;     ///< something is at `path`
  struct stat entry {};    ///< of what is there
  bool in_system = false;  ///< `path`, or a link on the way, lies in /proc, /sys or /dev
};

/// Follows the links of `path`. A missing folder is no error here: `exists` is false then.
/// kPermission: another user could have put a link or the file there, or a folder is closed to us;
/// kInvalidArgument: the links never end.
Result<OutputPlace> findOutputPlace(const std::string& path);

/// The folder of a path: "." for a name alone.
std::string parentFolderOf(const std::string& path);

}  // namespace tracesmith
