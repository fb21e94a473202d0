// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/included_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include "tracesmith/base/build_options.hpp"

namespace tracesmith {

namespace fs = std::filesystem;

namespace {

/// `path` below `root`, without dots: "/a/../../b" becomes root/b. Calls entered(folder so far) for
/// each component; false stops the walk.
template <class Entered>
std::string below(std::string_view root, std::string_view path, Entered&& entered) {
  std::string at(root);
  while (!path.empty()) {
    const size_t length = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, length);
    path.remove_prefix(std::min(length + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (at.size() > root.size()) at.resize(at.rfind('/'));
      continue;
    }
    at.append(1, '/').append(part);
    if (!entered(at)) break;
  }
  return at;
}
std::string below(std::string_view root, std::string_view path) {
  return below(root, path, [](const std::string&) { return true; });
}

/// Creates all folders on the path: an #include may name "a/../b.h", which requires an `a`. Creates
/// a folder once for each time the path names it, so that the work is linear in a path of any
/// length.
std::error_code makeFolders(const std::string& root, std::string_view folder) {
  std::error_code ec;
  fs::create_directories(root, ec);
  if (ec) return ec;
  below(root, folder, [&](const std::string& at) {
    fs::create_directory(at, ec);  // no error if it exists
    return !ec;
  });
  return ec;
}

}  // namespace

Status layOutIncludedFile(const std::string& root, std::string_view path, ByteView content) {
  const std::string to = below(root, path);
  const std::string_view folder = path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  if (const std::error_code ec = makeFolders(root, folder)) {
    return fail(ErrorCode::kIo, "cannot create the folder of an included file: " + ec.message(),
                to);
  }
  std::FILE* file = std::fopen(to.c_str(), "wb");
  if (file == nullptr) return failErrno(errno, "cannot write an included file", to);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (std::fclose(file) != 0 || !written) {
    return fail(ErrorCode::kIo, "cannot write an included file", to);
  }
  return {};
}

std::string optionsBelow(const std::string& root, std::string_view folder,
                         std::string_view options) {
  std::string out;
  const auto include = [&](const std::string& name) {
    const std::string whole = name.starts_with('/') ? name : std::string(folder) + "/" + name;
    const std::string path = below(root, whole);
    const bool has_space = std::any_of(path.begin(), path.end(), BuildOptions::isSpace);
    out += has_space ? "-I\"" : "-I";
    for (const char c : path) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    if (has_space) out += '"';
  };
  BuildOptions given(options);
  for (BuildOption option; given.next(option);) {
    if (option.kind == BuildOptionKind::kFolder) {
      include(option.valueAs<std::string>());
    } else {
      out += option.text;
    }
    out += ' ';
  }
  include(std::string(folder));
  return out;
}

}  // namespace tracesmith
