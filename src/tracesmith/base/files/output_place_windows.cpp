// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/output_place.hpp"

#include <filesystem>

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

/// Names such as NUL, which are devices in every folder.
bool isDevice(const fs::path& path) { return fs::is_character_file(path) || fs::is_other(path); }

}  // namespace

// No folder lets all users create files that others cannot remove, so there is no owner to check.
Result<OutputPlace> findOutputPlace(const std::string& path) {
  OutputPlace place;
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);  // fails if there is nothing
  place.path = error ? path : resolved.string();
  place.exists = stat(place.path.c_str(), &place.entry) == 0;
  place.in_system = place.exists && isDevice(place.path);
  const bool names_folder = path.ends_with('/') || path.ends_with('\\');
  if (names_folder && !(place.exists && S_ISDIR(place.entry.st_mode))) {
    return fail(ErrorCode::kInvalidArgument, "names a folder, and a file is needed", path);
  }
  return place;
}

std::string parentFolderOf(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace tracesmith
