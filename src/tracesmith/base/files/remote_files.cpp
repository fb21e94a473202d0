// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/remote_files.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace tracesmith {
namespace {

std::mutex g_mutex;
std::shared_ptr<RemoteFiles> g_files;

}  // namespace

void setRemoteFiles(std::shared_ptr<RemoteFiles> files) {
  const std::lock_guard lock(g_mutex);
  std::swap(g_files, files);
}

bool isRemote(std::string_view path) {
  const size_t end = path.find("://");
  if (end == std::string_view::npos || end < 2) return false;
  return std::all_of(path.begin(), path.begin() + static_cast<ptrdiff_t>(end), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ||
           c == ':';  // "simplecache::s3://..."
  });
}

Result<std::shared_ptr<RemoteFiles>> remoteFilesFor(const std::string& url) {
  const std::lock_guard lock(g_mutex);
  if (g_files != nullptr) return g_files;
  return fail(ErrorCode::kUnsupported,
              "URLs can be read in Python only, by tracesmith.fleet (docs/fleet.md)", url);
}

}  // namespace tracesmith
