// SPDX-License-Identifier: Apache-2.0
// Finds the files that know a module's symbols: the module itself, as long as it is still the one
// that ran, and the debug information that was split off from it. Only local files; a debuginfod
// server is never asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tracesmith {

/// Why an address has no name.
enum class NoSymbol : uint8_t {
  kNone,         ///< it has one
  kNoModule,     ///< it lies in no module, and in no function that a just-in-time compiler named
  kTwoPrograms,  ///< made while running, in several processes: which one's it is nobody knows
  kKernelPage,   ///< [vdso] and its like have no file
  kDeleted,      ///< the file was removed, or replaced, while it was running
  kMissing,      ///< there is no such file here
  kChanged,      ///< the file is another one now: its build-id is not the one recorded
  kUnreadable,   ///< it cannot be opened, or is no ELF file
  kNoSymbols,    ///< the file knows no function there
  kNoReader,     ///< this TraceSmith was built without libdw
};
constexpr size_t kNoSymbolCount = 10;
const char* toString(NoSymbol why);

/// An open file; closes it.
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
  /// A regular file, and nothing that opening could wait for; errno says why not.
  static OpenFile regular(const std::string& path);

 private:
  int fd_ = -1;
};

struct FoundFile {
  OpenFile file;
  std::string path;
  NoSymbol why = NoSymbol::kNone;  ///< of a module that was not found: why
};

class ModuleFiles {
 public:
  /// Folders to look in before /usr/lib/debug.
  explicit ModuleFiles(std::vector<std::string> debug_dirs);

  /// The file of a module: at its path, or under its build-id or its name in a debug folder.
  /// `build_id`: in hexadecimal; "": the module has none, and neither may the file.
  FoundFile module(const std::string& path, const std::string& build_id) const;

  /// Debug information that was split off: by build-id, or else by the name and checksum of the
  /// module's .gnu_debuglink.
  FoundFile debugInformation(const std::string& module, const std::string& build_id,
                             const std::string& link, uint32_t link_crc) const;

 private:
  std::vector<std::string> dirs_;
};

/// The build-id of an ELF file in hexadecimal; "" when it has none. False: it is no ELF file.
bool readBuildId(int fd, std::string& build_id);

}  // namespace tracesmith
