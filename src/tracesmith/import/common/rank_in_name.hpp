// SPDX-License-Identifier: Apache-2.0
// The rank of a job that a file's name says it is of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tracesmith::import {

/// Whether a number can be that of a rank. Higher ones are ids or times.
constexpr bool isRank(int64_t number) { return number >= 0 && number < 10'000'000; }

/// The number after "rank" in a file's name: rank-3.json.gz, run_rank3.sbt, rank_003.json.
std::optional<uint32_t> rankInName(std::string_view path);

}  // namespace tracesmith::import
