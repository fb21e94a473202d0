// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/module_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace tracesmith {
namespace {

constexpr std::string_view kDeletedSuffix = " (deleted)";

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string nameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// "DIR/.build-id/ab/cdef…", as used by distributions and debuggers.
std::string byBuildId(const std::string& dir, const std::string& build_id) {
  return dir + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2);
}

bool isHexadecimal(std::string_view text) {
  return text.size() > 2 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The checksum of .gnu_debuglink: CRC-32 as in IEEE 802.3 and zlib.
uint32_t checksumOf(int fd) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::vector<uint8_t> bytes(1u << 20);
  uint32_t crc = ~0u;
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(fd, bytes.data(), bytes.size(), at)) > 0; at += n) {
    for (ssize_t i = 0; i < n; ++i) {
      crc = table[(crc ^ bytes[static_cast<size_t>(i)]) & 0xff] ^ (crc >> 8);
    }
  }
  return ~crc;
}

}  // namespace

const char* toString(NoSymbol why) {
  switch (why) {
    case NoSymbol::kNone:
      return "named";
    case NoSymbol::kNoModule:
      return "in no module";
    case NoSymbol::kTwoPrograms:
      return "generated at run time, in several processes";
    case NoSymbol::kKernelPage:
      return "in a page of the kernel, which has no file";
    case NoSymbol::kDeleted:
      return "the file was removed or replaced while it was running";
    case NoSymbol::kMissing:
      return "there is no such file";
    case NoSymbol::kChanged:
      return "the file has changed since: its build-id differs";
    case NoSymbol::kUnreadable:
      return "the file cannot be read, or is not an ELF file";
    case NoSymbol::kNoSymbols:
      return "the file has no function there";
    case NoSymbol::kNoReader:
      return "this tracesmith was built without libdw";
  }
  return "";
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

OpenFile OpenFile::regular(const std::string& path) {
  // A trace may name any path: do not wait for pipes or devices.
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return file;
  struct stat facts {};
  if (::fstat(file.fd(), &facts) == 0 && S_ISREG(facts.st_mode)) return file;
  errno = EINVAL;
  return {};
}

ModuleFiles::ModuleFiles(std::vector<std::string> debug_dirs) : dirs_(std::move(debug_dirs)) {
  dirs_.emplace_back("/usr/lib/debug");
}

FoundFile ModuleFiles::module(const std::string& path, const std::string& build_id) const {
  FoundFile found;
  const bool deleted = path.ends_with(kDeletedSuffix);
  const std::string name =
      deleted ? path.substr(0, path.size() - kDeletedSuffix.size()) : std::string(path);
  if (path.starts_with('[') || path.starts_with("//anon")) {
    found.why = NoSymbol::kKernelPage;
    return found;
  }
  const auto take = [&](const std::string& candidate) {
    OpenFile file = OpenFile::regular(candidate);
    if (!file) {
      found.why = errno == ENOENT || errno == ENOTDIR ? NoSymbol::kMissing : NoSymbol::kUnreadable;
      return false;
    }
    std::string id;
    found.why = !readBuildId(file.fd(), id) ? NoSymbol::kUnreadable
                : id != build_id            ? NoSymbol::kChanged
                                            : NoSymbol::kNone;
    if (found.why != NoSymbol::kNone) return false;
    found.file = std::move(file);
    found.path = candidate;
    return true;
  };
  // A deleted file may have been restored unchanged: only the build-id tells.
  if ((!deleted || !build_id.empty()) && take(name)) return found;
  const NoSymbol why = deleted ? NoSymbol::kDeleted : found.why;
  if (isHexadecimal(build_id)) {
    for (const std::string& dir : dirs_) {
      const std::string by_id = byBuildId(dir, build_id);
      if (take(by_id) || take(by_id + ".debug") || take(dir + name) ||
          take(dir + "/" + nameOf(name))) {
        return found;
      }
    }
  }
  found.why = why;
  return found;
}

FoundFile ModuleFiles::debugInformation(const std::string& module, const std::string& build_id,
                                        const std::string& link, uint32_t link_crc) const {
  FoundFile found;
  const auto take = [&](const std::string& candidate) {
    OpenFile file = OpenFile::regular(candidate);
    std::string id;
    if (!file || !readBuildId(file.fd(), id) || id != build_id) return false;
    if (build_id.empty() && checksumOf(file.fd()) != link_crc) return false;
    found.file = std::move(file);
    found.path = candidate;
    return true;
  };
  if (isHexadecimal(build_id)) {
    for (const std::string& dir : dirs_) {
      if (take(byBuildId(dir, build_id) + ".debug")) return found;
    }
  }
  if (link.empty() || link.find('/') != std::string::npos) return found;
  const std::string folder = folderOf(module);
  if (take(folder + "/.debug/" + link)) return found;
  // A link with the module's own name would find the module itself.
  if (link != nameOf(module) && take(folder + "/" + link)) return found;
  for (const std::string& dir : dirs_) {
    if (take(dir + "/" + link) || take(dir + folder + "/" + link)) return found;
  }
  return found;
}

}  // namespace tracesmith
