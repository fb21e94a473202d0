// SPDX-License-Identifier: Apache-2.0
// A 32-bit program cannot load a 64-bit library, and its loader prints an error for each one in
// LD_PRELOAD. In such paths glibc replaces $PLATFORM by a name that 32-bit and 64-bit programs
// never share, on any distribution ($LIB is "lib" for either). Folders with these names lie beside
// the agents (agents/preload_folders.cmake).
#include "tracesmith/capture/launch/preload_path.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

/// Whether this machine's loader finds our libraries through the folders. Some loaders do not know
/// their platform: some sandboxes pass no AT_PLATFORM. The library loaded for this test does
/// nothing without TRACESMITH_PROCESS_LOG.
bool loaderKnowsFolders(const fs::path& folders) {
  void* const tried =
      dlopen((folders / "libtracesmith-process.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (tried == nullptr) return false;
  dlclose(tried);
  return true;
}

}  // namespace

Result<std::string> preloadPath(const std::string& library) {
  // Spaces and colons end an entry; a dollar sign starts a substitution.
  if (library.find_first_of(" \t\n\v\f\r:$") != std::string::npos) {
    return fail(ErrorCode::kUnsupported,
                "cannot be preloaded: LD_PRELOAD can hold no path with a space, a colon or a "
                "dollar sign; install it elsewhere, or name a link to its folder in "
                "TRACESMITH_AGENT_DIR",
                library);
  }
  const fs::path path = library;
  const fs::path folders = path.parent_path() / "$PLATFORM";
  const fs::path entry = folders / path.filename();
  std::error_code ec;
  if (!fs::exists(entry, ec) || !loaderKnowsFolders(folders)) return library;
  return entry.string();
}

}  // namespace tracesmith
