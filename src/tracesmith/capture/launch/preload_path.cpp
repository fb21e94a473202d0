// SPDX-License-Identifier: Apache-2.0
// A 32-bit program cannot load a 64-bit library, and its loader prints an error for each one in
// LD_PRELOAD. In such paths glibc replaces $PLATFORM by a name that 32-bit and 64-bit programs
// never share, on any distribution ($LIB is "lib" for either). Folders with these names lie beside
// the agents (agents/preload_folders.cmake).
#include "tracesmith/capture/launch/preload_path.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/base/linux/private_directory.hpp"

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

/// Spaces and colons end an entry; a dollar sign starts a substitution.
bool fitsAnEntry(const std::string& path) {
  return path.find_first_of(" \t\n\v\f\r:$") == std::string::npos;
}

/// A link to `folder` by a path that fits. It stays: programs that outlive the recording start
/// others, which load the library through it.
Result<std::string> linkThatFits(const std::string& folder) {
  const std::string place = fmt::format("/tmp/tracesmith-{}", geteuid());
  bool made = false;
  TS_TRY(const PrivateDirectory links, PrivateDirectory::makeOrOpen(place, made));
  // Whoever a program becomes (su) can pass through.
  if (made && fchmod(links.fd(), 0711) != 0)
    return failErrno(errno, "cannot open to others", place);
  const std::string name = fmt::format("agents-{:016x}", hash64(asBytes(folder)));
  const std::string path = place + "/" + name;
  std::error_code ec;
  if (fs::read_symlink(path, ec) == folder) return path;
  links.removeFile(name);
  if (symlinkat(folder.c_str(), links.fd(), name.c_str()) == 0) return path;
  const int error = errno;  // EEXIST: another recording began at the same moment
  if (fs::read_symlink(path, ec) == folder) return path;
  return failErrno(error, "cannot make a link to " + folder, path);
}

}  // namespace

Result<std::string> pathForLists(const std::string& library) {
  if (fitsAnEntry(library)) return library;
  const fs::path path = library;
  TS_TRY(const std::string link, linkThatFits(path.parent_path().string()));
  return link + "/" + path.filename().string();
}

Result<std::string> preloadPath(const std::string& library) {
  TS_TRY(const fs::path path, pathForLists(library));
  const fs::path folders = path.parent_path() / "$PLATFORM";
  const fs::path entry = folders / path.filename();
  std::error_code ec;
  if (!fs::exists(entry, ec) || !loaderKnowsFolders(folders)) return path.string();
  return entry.string();
}

}  // namespace tracesmith
