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

/// `path` below `root`, without dots: "/a/../../b" lies at root/b.
fs::path below(const std::string& root, std::string_view path) {
  return fs::path(root) / fs::path("/" + std::string(path)).lexically_normal().relative_path();
}

/// Makes the folders that the path leads through: an #include may name "a/../b.h", for which there
/// has to be an `a`.
std::error_code makeFolders(const std::string& root, std::string_view folder) {
  std::error_code ec;
  fs::path at = "/";
  for (const fs::path& part : fs::path("/" + std::string(folder)).relative_path()) {
    at /= part;
    fs::create_directories(below(root, at.string()), ec);
    if (ec) return ec;
  }
  return ec;
}

}  // namespace

Status layOutIncludedFile(const std::string& root, std::string_view path, ByteView content) {
  const fs::path to = below(root, path);
  const std::string folder = fs::path("/" + std::string(path)).parent_path().string();
  if (const std::error_code ec = makeFolders(root, folder)) {
    return fail(ErrorCode::kIo, "cannot make the folder of an included file: " + ec.message(),
                to.string());
  }
  std::FILE* file = std::fopen(to.c_str(), "wb");
  if (file == nullptr) return failErrno(errno, "cannot write an included file", to.string());
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (std::fclose(file) != 0 || !written) {
    return fail(ErrorCode::kIo, "cannot write an included file", to.string());
  }
  return {};
}

std::string optionsBelow(const std::string& root, std::string_view folder,
                         std::string_view options) {
  std::string out;
  const auto include = [&](const std::string& name) {
    const std::string whole = name.starts_with('/') ? name : std::string(folder) + "/" + name;
    const std::string path = below(root, whole).string();
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
