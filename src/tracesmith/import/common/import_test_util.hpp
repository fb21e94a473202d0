// SPDX-License-Identifier: Apache-2.0
// For tests: sources in memory, and real traces if they are available.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/byte_source.hpp"

namespace tracesmith::test {

/// A source that owns its text.
class TextSource : private std::string, public import::MemorySource {
 public:
  explicit TextSource(std::string_view text)
      : std::string(text), MemorySource(asBytes(static_cast<const std::string&>(*this))) {}
};

/// The JSON files below TRACESMITH_TEST_DATA/traces that hold traceEvents; empty if it is absent.
inline std::vector<std::string> realChromeTraces() {
  const char* data = std::getenv("TRACESMITH_TEST_DATA");
  std::vector<std::string> files;
  std::error_code ec;
  if (data == nullptr) return files;
  const std::filesystem::path root = std::filesystem::path(data) / "traces";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, ec)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json") && !path.ends_with(".json.gz")) continue;
    auto source = import::ByteSource::open(path);
    if (!source) continue;
    std::string head(1 << 20, '\0');
    const auto n = (*source)->read({reinterpret_cast<uint8_t*>(head.data()), head.size()});
    if (!n) continue;
    head.resize(*n);
    const size_t first = head.find_first_not_of(" \t\r\n");
    const bool bare = first != std::string::npos && head[first] == '[' &&
                      head.find("\"ph\"") != std::string::npos;
    if (bare || head.find("\"traceEvents\"") != std::string::npos) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tracesmith::test
