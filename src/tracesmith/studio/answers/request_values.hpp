// SPDX-License-Identifier: Apache-2.0
// Values that the page sends: in the query of an address, or as a JSON body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/what_if.hpp"
#include "tracesmith/studio/tiles/tile_set.hpp"

namespace tracesmith::studio {

/// The values of "/api/item?lane=1&item=5".
class QueryValues {
 public:
  explicit QueryValues(std::string_view target);

  std::string_view path() const { return path_; }
  /// Decoded; nullopt: it is not there.
  std::optional<std::string> text(std::string_view name) const;
  /// Fails if the value is there and no whole number from 0 to `most`.
  Result<std::optional<uint64_t>> number(std::string_view name, uint64_t most = INT64_MAX) const;
  /// The same, if it has to be there.
  Result<uint64_t> needNumber(std::string_view name, uint64_t most = INT64_MAX) const;

 private:
  std::string path_;
  std::vector<std::pair<std::string, std::string>> values_;
};

/// As JavaScript's encodeURIComponent().
std::string percentEncoded(std::string_view text);

/// {"tiles": [[lane, level, index], ...]}
Result<std::vector<TileKey>> tileKeysOf(const std::string& body);
/// {"ids": [1, 2, ...]}
Result<std::vector<uint32_t>> idsOf(const std::string& body);

struct SqlRequest {
  std::string sql;
  uint64_t limit = 0;
};
struct WhatIfRequest {
  WhatIfTexts texts;
  bool allow_unmatched = false;
};
/// {"scale": ["kernel=gemm:0.5"], "remove": [], "fuse": [], "bandwidth": [], "streams": 2,
/// "allow_unmatched": true}; what is missing stays as recorded.
Result<WhatIfRequest> whatIfRequestOf(const std::string& body);

/// {"sql": "SELECT ...", "limit": 1000}
Result<SqlRequest> sqlRequestOf(const std::string& body);

}  // namespace tracesmith::studio
