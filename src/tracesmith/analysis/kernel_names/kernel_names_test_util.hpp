// SPDX-License-Identifier: Apache-2.0
// Rows of CSV files with kernel names, for tests and the benchmark.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tracesmith {

/// The rows after the header line. A file that cannot be read has none.
inline std::vector<std::vector<std::string>> csvRows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (quoted && i + 1 < text.size() && text[i + 1] == '"') {
        row.back() += text[++i];
      } else {
        quoted = !quoted;
      }
    } else if (quoted) {
      row.back() += c;
    } else if (c == ',') {
      row.emplace_back();
    } else if (c == '\n') {
      rows.push_back(std::move(row));
      row.assign(1, {});
    } else if (c != '\r') {
      row.back() += c;
    }
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

}  // namespace tracesmith
