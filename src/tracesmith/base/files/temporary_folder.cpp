// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/temporary_folder.hpp"

#ifdef _WIN32
#include <filesystem>
#include <system_error>
#else
#include <stdlib.h>
#endif

namespace tracesmith {

std::string temporaryFolder() {
#ifdef _WIN32
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  return error ? "." : folder;
#else
  const char* const set = ::getenv("TMPDIR");
  return set != nullptr && *set == '/' ? set : "/tmp";
#endif
}

}  // namespace tracesmith
