// SPDX-License-Identifier: Apache-2.0
// Finds the files with a module's symbols: the module itself, provided that it is unchanged since
// the recording, and its separate debug information. Only local files; a debuginfod server is never
// contacted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tracesmith {

/// Why an address has no name.
enum class NoSymbol : uint8_t {
  kNone,         ///< it has one
  kNoModule,     ///< not in a module, nor in a function named by a just-in-time compiler
  kTwoPrograms,  ///< generated at run time at this address in several processes
  kKernelPage,   ///< [vdso] and its like have no file
  kDeleted,      ///< the file was removed or replaced while the program was running
  kMissing,      ///< the file does not exist here
  kChanged,      ///< the file has another build-id than the recorded one
  kUnreadable,   ///< cannot be opened, or is not an ELF file
  kNoSymbols,    ///< the file has no function at the address
  kNoReader,     ///< this build of TraceSmith has no libdw
};
constexpr size_t kNoSymbolCount = 10;
const char* toString(NoSymbol why);

/// An open file; the destructor closes it.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();
  int fd() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  explicit operator bool() const { return fd_ >= 0; }
  /// Opens a regular file; never waits. On failure errno gives the reason.
  static OpenFile regular(const std::string& path);

 private:
  int fd_ = -1;
};

struct FoundFile {
  OpenFile file;
  std::string path;
  NoSymbol why = NoSymbol::kNone;  ///< why the module was not found
};

class ModuleFiles {
 public:
  /// `debug_dirs`: folders to search before /usr/lib/debug.
  explicit ModuleFiles(std::vector<std::string> debug_dirs);

  /// The file of a module: at its path, or in a debug folder under its build-id or name.
  /// `build_id`: in hexadecimal; "" if the module has none, and then the file may have none either.
  FoundFile module(const std::string& path, const std::string& build_id) const;

  /// Separate debug information: by build-id, otherwise by the name and checksum in the module's
  /// .gnu_debuglink.
  FoundFile debugInformation(const std::string& module, const std::string& build_id,
                             const std::string& link, uint32_t link_crc) const;

 private:
  std::vector<std::string> dirs_;
};

/// Reads an ELF file's build-id in hexadecimal; "" when it has none. False: not an ELF file.
bool readBuildId(int fd, std::string& build_id);

}  // namespace tracesmith
