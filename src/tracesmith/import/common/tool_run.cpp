// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/tool_run.hpp"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>

#include "tracesmith/base/files/temporary_folder.hpp"

namespace tracesmith::import {
namespace {

#ifdef _WIN32
constexpr char kBetweenFolders = ';';
constexpr const char* kProgramEnding = ".exe";
constexpr int kMayRun = 0;  // access() knows nothing else there
#else
constexpr char kBetweenFolders = ':';
constexpr const char* kProgramEnding = "";
constexpr int kMayRun = X_OK;
#endif
constexpr size_t kSaidBytes = 2048;  // bytes of a failed tool's output in the error

}  // namespace

std::string findTool(const std::string& name) {
  const char* set = ::getenv("PATH");
  std::string_view path = set == nullptr ? "" : set;
  while (!path.empty()) {
    const size_t end = path.find(kBetweenFolders);
    const std::string folder(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
    std::string file = (folder.empty() ? "." : folder) + "/" + name + kProgramEnding;
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(file.c_str(), kMayRun) == 0) {
      return file;
    }
  }
  return {};
}

std::string lastOutputOf(int fd) {
  std::string said;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    said.append(piece.data(), static_cast<size_t>(n));
    if (said.size() > 2 * kSaidBytes) said.erase(0, said.size() - kSaidBytes);
  }
  if (said.size() > kSaidBytes) said.erase(0, said.size() - kSaidBytes);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return said;
}

Result<WorkFolder> WorkFolder::create(const std::string& parent) {
  const std::string in = parent.empty() ? temporaryFolder() : parent;
  std::string path = in + "/tracesmith-work-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return failErrno(errno, "cannot create a directory", in);
  return WorkFolder(std::move(path));
}

WorkFolder::~WorkFolder() {
  std::error_code ec;
  if (!path_.empty()) std::filesystem::remove_all(path_, ec);
}

}  // namespace tracesmith::import
